/* Hashes of cells, added up: 64 bits of the MD5 (RFC 1321) of each cell's text. Called by cells.py, which says what for.
 *
 * LANES texts are hashed at once, each in a lane of vectors that the compiler divides into what the machine has. As in
 * passes.c, nothing is allocated here. */

#include "machine.h"

/* Two vectors of eight: while one waits for its last step, the other is worked on. */
#define LANES 16
#define WORDS 16
#define BLOCK 64
/* A text of so many bytes is one block: behind it stand a bit and eight bytes of length. */
#define ONE_BLOCK 55

typedef uint32_t lanes __attribute__((vector_size(4 * LANES)));

/* floor(2^32 |sin(n + 1)|) */
static const uint32_t SINES[BLOCK] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a,
    0xa8304613, 0xfd469501, 0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be,
    0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821, 0xf61e2562, 0xc040b340,
    0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8,
    0x676f02d9, 0x8d2a4c8a, 0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c,
    0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70, 0x289b7ec6, 0xeaa127fa,
    0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92,
    0xffeff47d, 0x85845dd1, 0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1,
    0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
};
static const uint32_t BEGUN[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};

/* A step: f is the round's function of b, c and d, `word` what it takes of the block. */
#define STEP(f, a, b, c, d, number, word, turn)                                                                        \
    a += (f) + words[word] + SINES[number];                                                                            \
    a = (a << turn | a >> (32 - turn)) + b;

#define FOUR(f, number, w0, w1, w2, w3, t0, t1, t2, t3)                                                                \
    STEP(f(b, c, d), a, b, c, d, number, w0, t0)                                                                       \
    STEP(f(a, b, c), d, a, b, c, number + 1, w1, t1)                                                                   \
    STEP(f(d, a, b), c, d, a, b, number + 2, w2, t2)                                                                   \
    STEP(f(c, d, a), b, c, d, a, number + 3, w3, t3)

#define ROUND(f, number, by, from, t0, t1, t2, t3)                                                                     \
    FOUR(f, number, (from) % 16, (from + by) % 16, (from + 2 * by) % 16, (from + 3 * by) % 16, t0, t1, t2, t3)         \
    FOUR(f, number + 4, (from + 4 * by) % 16, (from + 5 * by) % 16, (from + 6 * by) % 16, (from + 7 * by) % 16, t0,    \
         t1, t2, t3)                                                                                                   \
    FOUR(f, number + 8, (from + 8 * by) % 16, (from + 9 * by) % 16, (from + 10 * by) % 16, (from + 11 * by) % 16, t0,  \
         t1, t2, t3)                                                                                                   \
    FOUR(f, number + 12, (from + 12 * by) % 16, (from + 13 * by) % 16, (from + 14 * by) % 16, (from + 15 * by) % 16,   \
         t0, t1, t2, t3)

#define CHOOSE(x, y, z) ((z) ^ ((x) & ((y) ^ (z))))
#define CHOOSE_LAST(x, y, z) ((y) ^ ((z) & ((x) ^ (y))))
#define PARITY(x, y, z) ((x) ^ (y) ^ (z))
#define BEYOND(x, y, z) ((y) ^ ((x) | ~(z)))

/* One block in every lane; `type` is a vector of lanes, or an integer for one lane by itself. */
#define TAKE_BLOCK(type, state, words)                                                                                 \
    do {                                                                                                               \
        type a = (state)[0], b = (state)[1], c = (state)[2], d = (state)[3];                                           \
        ROUND(CHOOSE, 0, 1, 0, 7, 12, 17, 22)                                                                          \
        ROUND(CHOOSE_LAST, 16, 5, 1, 5, 9, 14, 20)                                                                     \
        ROUND(PARITY, 32, 3, 5, 4, 11, 16, 23)                                                                         \
        ROUND(BEYOND, 48, 7, 0, 6, 10, 15, 21)                                                                         \
        (state)[0] += a;                                                                                               \
        (state)[1] += b;                                                                                               \
        (state)[2] += c;                                                                                               \
        (state)[3] += d;                                                                                               \
    } while (0)

/* The first eight bytes of a digest as a number, the first byte highest. */
static inline uint64_t beginning(uint32_t a, uint32_t b)
{
    return (uint64_t)__builtin_bswap32(a) << 32 | __builtin_bswap32(b);
}

/* Texts that wait for all lanes to be taken: word n of the text in lane m is words[n][m]. */
struct waiting {
    uint32_t words[WORDS][LANES];
    int taken;
    unsigned __int128 total;
};

static inline __attribute__((always_inline)) void hash_waiting(struct waiting *all)
{
    lanes words[WORDS], state[4];
    memcpy(words, all->words, sizeof words);
    for (int n = 0; n < 4; n++)
        state[n] = (lanes){0} + BEGUN[n];
    TAKE_BLOCK(lanes, state, words);
    for (int lane = 0; lane < all->taken; lane++)
        all->total += beginning(state[0][lane], state[1][lane]);
    all->taken = 0;
}

/* The words of a text that is one block, with a bit behind it and its length, in a lane of its own. */
static inline __attribute__((always_inline)) void take_lane(struct waiting *all, const uint32_t *words)
{
    for (int n = 0; n < WORDS; n++)
        all->words[n][all->taken] = words[n];
    if (++all->taken == LANES)
        hash_waiting(all);
}

/* Bytes from BLOCK - length on: those of a text, a bit behind it, and zeros. */
static const uint8_t WITHIN[2 * BLOCK] = {[0 ... BLOCK - 1] = 0xFF}, BEHIND[2 * BLOCK] = {[BLOCK] = 0x80};

/* A text that is one block; `room` is how many bytes may be read, those of other texts included. */
static inline __attribute__((always_inline)) void add_short(struct waiting *all, const uint8_t *text, int64_t length,
                                                            int64_t room)
{
    uint8_t block[BLOCK] = {0};
    uint32_t words[WORDS];
    memcpy(block, text, room < BLOCK ? (size_t)length : BLOCK);
    /* No branch and no copy depends on the length: it would be guessed wrong as often as lengths change. */
    for (int n = 0; n < BLOCK; n++)
        block[n] = (block[n] & WITHIN[BLOCK - length + n]) | BEHIND[BLOCK - length + n];
    memcpy(words, block, BLOCK);
    words[14] = (uint32_t)length << 3;
    take_lane(all, words);
}

static void add_long(struct waiting *all, const uint8_t *text, int64_t length)
{
    uint32_t state[4], words[WORDS];
    uint8_t last[2 * BLOCK] = {0};
    memcpy(state, BEGUN, sizeof state);
    int64_t place = 0;
    for (; place + BLOCK <= length; place += BLOCK) {
        memcpy(words, text + place, BLOCK);
        TAKE_BLOCK(uint32_t, state, words);
    }
    const int64_t left = length - place, padded = left > ONE_BLOCK ? 2 * BLOCK : BLOCK;
    const uint64_t bits = (uint64_t)length << 3;
    memcpy(last, text + place, (size_t)left);
    last[left] = 0x80;
    memcpy(last + padded - 8, &bits, 8);
    for (int64_t block = 0; block < padded; block += BLOCK) {
        memcpy(words, last + block, BLOCK);
        TAKE_BLOCK(uint32_t, state, words);
    }
    all->total += beginning(state[0], state[1]);
}

static void tell(struct waiting *all, uint64_t *total)
{
    total[0] = (uint64_t)all->total;
    total[1] = (uint64_t)(all->total >> 64);
}

CLONED API void hush_add_texts(int64_t rows, const uint8_t *bytes, const int64_t *offsets, uint64_t *total)
{
    struct waiting all = {.taken = 0, .total = (unsigned __int128)total[1] << 64 | total[0]};
    for (int64_t row = 0; row < rows; row++) {
        const int64_t length = offsets[row + 1] - offsets[row];
        if (length > ONE_BLOCK)
            add_long(&all, bytes + offsets[row], length);
        else
            add_short(&all, bytes + offsets[row], length, offsets[rows] - offsets[row]);
    }
    hash_waiting(&all);
    tell(&all, total);
}

static inline void push(uint64_t *text, uint64_t byte)
{
    text[2] = text[2] << 8 | text[1] >> 56;
    text[1] = text[1] << 8 | text[0] >> 56;
    text[0] = text[0] << 8 | byte;
}

/* Integers by their decimal digits. */
CLONED API void hush_add_integers(int64_t rows, const int64_t *values, uint64_t *total)
{
    struct waiting all = {.taken = 0, .total = (unsigned __int128)total[1] << 64 | total[0]};
    for (int64_t row = 0; row < rows; row++) {
        const int minus = values[row] < 0;
        uint64_t left = minus ? 0 - (uint64_t)values[row] : (uint64_t)values[row];
        /* Three words of text, in registers: from the last digit on, each before what is there. */
        uint64_t text[3] = {0x80};
        uint32_t words[WORDS] = {0}, length = 0;
        do {
            push(text, '0' + left % 10);
            length++;
        } while (left /= 10);
        if (minus) {
            push(text, '-');
            length++;
        }
        memcpy(words, text, sizeof text);
        words[14] = length << 3;
        take_lane(&all, words);
    }
    hash_waiting(&all);
    tell(&all, total);
}
