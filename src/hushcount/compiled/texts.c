/* Texts in one buffer: numbered as they are met, sorted, found. Called by texts.py, which says what each is for.
 *
 * Text n lies in buffer[edges[n]] up to buffer[edges[n + 1]]. A table has slots, a power of two of them, less than half
 * of them taken: the upper half of a value's hash and its number plus one; zero where it is empty. As in passes.c,
 * nothing is allocated here: who numbers stops at the first row that needs more room, and is called again with it. */

#include <stdint.h>
#include <string.h>

#define API __attribute__((visibility("default")))
#define ROWS 16
#define AHEAD 64

static inline uint64_t mixed(uint64_t state, uint64_t word)
{
    state = (state ^ word) * 0x9FB21C651E98DF25ULL;
    return state ^ state >> 32;
}

/* Seeded, so that nobody can make many texts fall into one slot. No answer depends on it. */
static uint64_t hash_of(const uint8_t *text, int64_t length, uint64_t seed)
{
    uint64_t state = mixed(seed, (uint64_t)length), word = 0;
    for (; length >= 8; text += 8, length -= 8) {
        memcpy(&word, text, 8);
        state = mixed(state, word);
    }
    if (length > 0) {
        word = 0;
        memcpy(&word, text, (size_t)length);
        state = mixed(state, word);
    }
    return mixed(state, seed);
}

static inline uint64_t slot_of(uint64_t hash, int64_t number)
{
    return (hash & 0xFFFFFFFF00000000ULL) | (uint64_t)(number + 1);
}

static inline void put(uint64_t mask, uint64_t *slots, uint64_t hash, int64_t number)
{
    uint64_t place = hash & mask;
    while (slots[place])
        place = (place + 1) & mask;
    slots[place] = slot_of(hash, number);
}

/* sizes: rows that are numbered, which are all unless a new text finds no room; texts known; texts that may be known;
 * bytes that may be taken. */
API void hush_number_texts(int64_t rows, const uint8_t *bytes, const int64_t *offsets, uint64_t seed, uint64_t mask,
                           uint64_t *slots, int64_t *sizes, int64_t *edges, uint8_t *buffer, int32_t *numbers)
{
    uint64_t hashes[AHEAD];
    sizes[0] = 0;
    for (int64_t first = 0; first < rows; first += AHEAD) {
        const int64_t last = first + AHEAD < rows ? first + AHEAD : rows;
        for (int64_t row = first; row < last; row++) {
            hashes[row - first] = hash_of(bytes + offsets[row], offsets[row + 1] - offsets[row], seed);
            __builtin_prefetch(slots + (hashes[row - first] & mask));
        }
        /* Tables of millions of texts lie in memory and not in a cache: what a row needs is asked for ahead of it. */
        for (int64_t row = first; row < last; row++)
            __builtin_prefetch(edges + (uint32_t)slots[hashes[row - first] & mask]);
        for (int64_t row = first; row < last; row++) {
            const uint32_t number = (uint32_t)slots[hashes[row - first] & mask];
            __builtin_prefetch(buffer + edges[number ? number - 1 : 0]);
        }
        for (int64_t row = first; row < last; row++) {
            const uint8_t *const text = bytes + offsets[row];
            const int64_t length = offsets[row + 1] - offsets[row];
            const uint64_t hash = hashes[row - first];
            uint64_t place = hash & mask;
            int64_t number = -1;
            for (; slots[place]; place = (place + 1) & mask) {
                const int64_t known = (int64_t)(uint32_t)slots[place] - 1;
                if (slots[place] >> 32 == hash >> 32 && edges[known + 1] - edges[known] == length &&
                    memcmp(buffer + edges[known], text, (size_t)length) == 0) {
                    number = known;
                    break;
                }
            }
            if (number < 0) {
                number = sizes[1];
                if (number == sizes[2] || length > sizes[3] - edges[number])
                    return;
                memcpy(buffer + edges[number], text, (size_t)length);
                edges[number + 1] = edges[number] + length;
                slots[place] = slot_of(hash, number);
                sizes[1]++;
            }
            numbers[row] = (int32_t)number;
            sizes[0]++;
        }
    }
}

API void hush_place_texts(int64_t texts, const uint8_t *buffer, const int64_t *edges, uint64_t seed, uint64_t mask,
                          uint64_t *slots)
{
    uint64_t hashes[AHEAD];
    for (int64_t first = 0; first < texts; first += AHEAD) {
        const int64_t last = first + AHEAD < texts ? first + AHEAD : texts;
        for (int64_t text = first; text < last; text++) {
            hashes[text - first] = hash_of(buffer + edges[text], edges[text + 1] - edges[text], seed);
            __builtin_prefetch(slots + (hashes[text - first] & mask), 1);
        }
        for (int64_t text = first; text < last; text++)
            put(mask, slots, hashes[text - first], text);
    }
}

/* As hush_number_texts; integers take no bytes. */
API void hush_number_integers(int64_t rows, const int64_t *values, uint64_t seed, uint64_t mask, uint64_t *slots,
                              int64_t *sizes, int64_t *known, int32_t *numbers)
{
    sizes[0] = 0;
    for (int64_t row = 0; row < rows; row++) {
        const uint64_t hash = mixed(mixed(seed, (uint64_t)values[row]), seed);
        uint64_t place = hash & mask;
        while (slots[place] && known[(uint32_t)slots[place] - 1] != values[row])
            place = (place + 1) & mask;
        if (!slots[place]) {
            if (sizes[1] == sizes[2])
                return;
            known[sizes[1]] = values[row];
            slots[place] = slot_of(hash, sizes[1]++);
        }
        numbers[row] = (int32_t)((uint32_t)slots[place] - 1);
        sizes[0]++;
    }
}

API void hush_place_integers(int64_t values, const int64_t *known, uint64_t seed, uint64_t mask, uint64_t *slots)
{
    for (int64_t value = 0; value < values; value++)
        put(mask, slots, mixed(mixed(seed, (uint64_t)known[value]), seed), value);
}

/* ---- order: bytes compared as numbers, a text before those that it begins ---- */

struct texts {
    const uint8_t *buffer;
    const int64_t *edges;
    int32_t *order;
    uint64_t *words; /* of the text at each place of the order: the eight bytes that are looked at, first byte highest */
    uint64_t chance;
};

static int compared(const uint8_t *one, int64_t length, const uint8_t *other, int64_t other_length)
{
    const int64_t shorter = length < other_length ? length : other_length;
    const int found = memcmp(one, other, (size_t)shorter);
    return found ? found : (length > other_length) - (length < other_length);
}

static int before(const struct texts *all, int32_t one, int32_t other)
{
    const int64_t *const edges = all->edges;
    return compared(all->buffer + edges[one], edges[one + 1] - edges[one], all->buffer + edges[other],
                    edges[other + 1] - edges[other]) < 0;
}

/* By their words, and by all that they are where these are equal. */
static void sort_few(struct texts *all, int64_t low, int64_t high)
{
    for (int64_t next = low + 1; next < high; next++) {
        const int32_t text = all->order[next];
        const uint64_t word = all->words[next];
        int64_t place = next;
        for (; place > low; place--) {
            const uint64_t other = all->words[place - 1];
            if (word > other || (word == other && !before(all, text, all->order[place - 1])))
                break;
            all->order[place] = all->order[place - 1];
            all->words[place] = other;
        }
        all->order[place] = text;
        all->words[place] = word;
    }
}

/* The eight bytes of each text from a depth on, zeros behind its end; whether any text goes on behind them. */
static int look(struct texts *all, int64_t low, int64_t high, int64_t depth)
{
    int more = 0;
    for (int64_t place = low; place < high; place++) {
        /* Texts lie anywhere in memory: they are asked for ahead. */
        if (place + 2 * ROWS < high)
            __builtin_prefetch(all->edges + all->order[place + 2 * ROWS]);
        if (place + ROWS < high)
            __builtin_prefetch(all->buffer + all->edges[all->order[place + ROWS]] + depth);
        const int64_t start = all->edges[all->order[place]], left = all->edges[all->order[place] + 1] - start - depth;
        uint64_t word = 0;
        if (left > 0)
            memcpy(&word, all->buffer + start + depth, left < 8 ? (size_t)left : 8);
        all->words[place] = __builtin_bswap64(word);
        more |= left > 8;
    }
    return more;
}

static void swap(struct texts *all, int64_t one, int64_t other)
{
    const int32_t text = all->order[one];
    const uint64_t word = all->words[one];
    all->order[one] = all->order[other];
    all->words[one] = all->words[other];
    all->order[other] = text;
    all->words[other] = word;
}

/* Quicksort by words in three parts (Bentley and Sedgewick 1997), the pivot by chance, so that no order is a bad one.
 * The texts from `low` up to `high` agree in what is before `depth`; `more` says whether any goes on behind its word. */
static void sort_words(struct texts *all, int64_t low, int64_t high, int64_t depth, int more)
{
    while (high - low > ROWS) {
        all->chance = mixed(all->chance, (uint64_t)high);
        const uint64_t pivot = all->words[low + (int64_t)(all->chance % (uint64_t)(high - low))];
        int64_t first = low, last = high;
        for (int64_t place = low; place < last;) {
            if (all->words[place] < pivot)
                swap(all, first++, place++);
            else if (all->words[place] > pivot)
                swap(all, place, --last);
            else
                place++;
        }
        if (more && first == low && last == high) {
            /* Nothing was told apart: no call within a call, however long they go on alike. */
            depth += 8;
            more = look(all, low, high, depth);
            continue;
        }
        /* The equal ones: by their next words. Where none goes on they are nine at the most, one of each length. */
        if (more && last - first > ROWS)
            sort_words(all, first, last, depth + 8, look(all, first, last, depth + 8));
        else
            sort_few(all, first, last);
        /* The shorter side first, so that calls within calls are few. */
        if (first - low < high - last) {
            sort_words(all, low, first, depth, more);
            low = last;
        } else {
            sort_words(all, last, high, depth, more);
            high = first;
        }
    }
    sort_few(all, low, high);
}

API void hush_sort_texts(int64_t texts, const uint8_t *buffer, const int64_t *edges, uint64_t seed, int32_t *order,
                         uint64_t *words)
{
    struct texts all = {buffer, edges, order, words, seed};
    for (int64_t text = 0; text < texts; text++)
        order[text] = (int32_t)text;
    sort_words(&all, 0, texts, 0, look(&all, 0, texts, 0));
}

/* Where each of some texts stands among others that are in order; -1 where it is not. */
API void hush_find_texts(int64_t sought, const uint8_t *bytes, const int64_t *starts, int64_t texts,
                         const uint8_t *buffer, const int64_t *edges, int64_t *places)
{
    for (int64_t one = 0; one < sought; one++) {
        const uint8_t *const text = bytes + starts[one];
        const int64_t length = starts[one + 1] - starts[one];
        int64_t low = 0, high = texts;
        while (low < high) {
            const int64_t middle = low + (high - low) / 2;
            if (compared(buffer + edges[middle], edges[middle + 1] - edges[middle], text, length) < 0)
                low = middle + 1;
            else
                high = middle;
        }
        places[one] = low < texts && compared(buffer + edges[low], edges[low + 1] - edges[low], text, length) == 0
                          ? low
                          : -1;
    }
}

/* Texts in an order, one behind the other; new_edges[0] is zero. */
API void hush_lay_texts(int64_t texts, const uint8_t *buffer, const int64_t *edges, const int32_t *order, uint8_t *laid,
                        int64_t *new_edges)
{
    for (int64_t place = 0; place < texts; place++) {
        if (place + 2 * ROWS < texts)
            __builtin_prefetch(edges + order[place + 2 * ROWS]);
        if (place + ROWS < texts)
            __builtin_prefetch(buffer + edges[order[place + ROWS]]);
        const int64_t start = edges[order[place]], length = edges[order[place] + 1] - start;
        memcpy(laid + new_edges[place], buffer + start, (size_t)length);
        new_edges[place + 1] = new_edges[place] + length;
    }
}
