/* Texts in one buffer: numbered as they are met, sorted, found. Called by texts.py, which says what each is for.
 *
 * Text n lies in buffer[edges[n]] up to buffer[edges[n + 1]]. A table has slots, a power of two of them, less than half
 * of them taken: the upper half of a value's hash and its number plus one; zero where it is empty. As in passes.c,
 * nothing is allocated here: who numbers stops at the first row that needs more room, and is called again with it. */

#include "machine.h"

#define ROWS 16
#define AHEAD 64
#define SHORT 15
#define LONG 0xFF00000000000000ULL
/* So many texts stay in a cache. */
#define FEW 4096

/* Both halves of a product with a secret number: whoever does not know it cannot say which words undo each other. */
static inline uint64_t mixed(uint64_t state, uint64_t word, uint64_t secret)
{
    const unsigned __int128 product = (unsigned __int128)(state ^ word) * (secret | 1);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t word_at(const uint8_t *text)
{
    uint64_t word;
    memcpy(&word, text, 8);
    return word;
}

/* A short text as a whole, as most are: its bytes, zeros, and its length in the last byte. Of a longer one the last byte
 * is LONG, and nothing else counts. */
struct cell {
    uint64_t first, second;
};

/* What of a word is within a text: at 8 + n where n bytes are, n negative or beyond the word included. */
static const uint64_t WITHIN[] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFFFF, 0xFFFFFF, 0xFFFFFFFF, 0xFFFFFFFFFF, 0xFFFFFFFFFFFF, 0xFFFFFFFFFFFFFF,
    UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};

/* Of short texts no branch depends on the length: it would be guessed wrong as often as lengths change. `room` is how
 * many bytes may be read, those of other texts included. */
static inline struct cell cell_of(const uint8_t *text, int64_t length, int64_t room)
{
    struct cell cell = {0, LONG};
    if (length > SHORT)
        return cell;
    cell.second = 0;
    if (room <= SHORT) {
        memcpy(&cell, text, (size_t)length);
    } else {
        cell.first = word_at(text) & WITHIN[8 + length];
        cell.second = word_at(text + 8) & WITHIN[length];
    }
    cell.second |= (uint64_t)length << 56;
    return cell;
}

static inline int is_long(struct cell cell)
{
    return cell.second >= LONG;
}

/* Whether two texts of one length of at least eight bytes are equal. */
static inline int equal(const uint8_t *one, const uint8_t *other, int64_t length)
{
    for (int64_t place = 0; place < length - 8; place += 8)
        if (word_at(one + place) != word_at(other + place))
            return 0;
    return word_at(one + length - 8) == word_at(other + length - 8);
}

/* Seeded, so that nobody can make many texts fall into one slot. No answer depends on it. */
static inline uint64_t hash_of(const uint8_t *text, int64_t length, struct cell cell, uint64_t seed)
{
    if (!is_long(cell))
        return mixed(mixed(mixed(~seed, cell.first, seed), cell.second, seed), ~seed, seed);
    uint64_t state = mixed(~seed, (uint64_t)length, seed);
    for (int64_t place = 0; place < length - 8; place += 8)
        state = mixed(state, word_at(text + place), seed);
    return mixed(mixed(state, word_at(text + length - 8), seed), ~seed, seed);
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
                           uint64_t *slots, int64_t *sizes, struct cell *known, int64_t *edges, uint8_t *buffer,
                           int32_t *numbers)
{
    uint64_t hashes[AHEAD];
    struct cell cells[AHEAD];
    sizes[0] = 0;
    for (int64_t first = 0; first < rows; first += AHEAD) {
        const int64_t last = first + AHEAD < rows ? first + AHEAD : rows;
        for (int64_t row = first; row < last; row++) {
            const uint8_t *const text = bytes + offsets[row];
            const int64_t length = offsets[row + 1] - offsets[row];
            const struct cell cell = cell_of(text, length, offsets[rows] - offsets[row]);
            cells[row - first] = cell;
            hashes[row - first] = hash_of(text, length, cell, seed);
            __builtin_prefetch(slots + (hashes[row - first] & mask));
        }
        /* Tables of many texts lie in memory and not in a cache: what a row needs is asked for ahead of it. */
        for (int64_t row = first; row < last && sizes[1] > FEW; row++) {
            const uint32_t number = (uint32_t)slots[hashes[row - first] & mask];
            __builtin_prefetch(known + (number ? number - 1 : 0));
            if (is_long(cells[row - first]))
                __builtin_prefetch(edges + number);
        }
        for (int64_t row = first; row < last; row++) {
            const uint8_t *const text = bytes + offsets[row];
            const int64_t length = offsets[row + 1] - offsets[row];
            const uint64_t hash = hashes[row - first];
            const struct cell cell = cells[row - first];
            uint64_t place = hash & mask;
            int64_t number = -1;
            for (; slots[place]; place = (place + 1) & mask) {
                const int64_t other = (int64_t)(uint32_t)slots[place] - 1;
                if (slots[place] >> 32 != hash >> 32 || known[other].first != cell.first ||
                    known[other].second != cell.second)
                    continue;
                if (!is_long(cell) || (edges[other + 1] - edges[other] == length &&
                                       equal(buffer + edges[other], text, length))) {
                    number = other;
                    break;
                }
            }
            if (number < 0) {
                number = sizes[1];
                if (number == sizes[2] || length > sizes[3] - edges[number])
                    return;
                memcpy(buffer + edges[number], text, (size_t)length);
                edges[number + 1] = edges[number] + length;
                known[number] = cell;
                slots[place] = slot_of(hash, number);
                sizes[1]++;
            }
            numbers[row] = (int32_t)number;
            sizes[0]++;
        }
    }
}

API void hush_place_texts(int64_t texts, const struct cell *known, const uint8_t *buffer, const int64_t *edges,
                          uint64_t seed, uint64_t mask, uint64_t *slots)
{
    uint64_t hashes[AHEAD];
    for (int64_t first = 0; first < texts; first += AHEAD) {
        const int64_t last = first + AHEAD < texts ? first + AHEAD : texts;
        for (int64_t text = first; text < last; text++) {
            hashes[text - first] = hash_of(buffer + edges[text], edges[text + 1] - edges[text], known[text], seed);
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
        const uint64_t hash = mixed(mixed(~seed, (uint64_t)values[row], seed), ~seed, seed);
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
        put(mask, slots, mixed(mixed(~seed, (uint64_t)known[value], seed), ~seed, seed), value);
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
        if (left >= 8)
            word = word_at(all->buffer + start + depth);
        else if (left > 0)
            memcpy(&word, all->buffer + start + depth, (size_t)left);
        all->words[place] = __builtin_bswap64(word);
        more |= left > 8;
    }
    return more;
}

/* The texts whose words are no larger than the given one first; where they end. Each changes places with the first that
 * is larger, and nothing is guessed (Lomuto's way). */
static inline int64_t parted(struct texts *all, int64_t low, int64_t high, uint64_t most)
{
    for (int64_t place = low; place < high; place++) {
        const int32_t text = all->order[place];
        const uint64_t word = all->words[place];
        all->order[place] = all->order[low];
        all->words[place] = all->words[low];
        all->order[low] = text;
        all->words[low] = word;
        low += word <= most;
    }
    return low;
}

/* Three parts of what is from *first up to *last: words before the pivot, equal ones, and words behind it. */
static void part(struct texts *all, uint64_t pivot, int64_t *first, int64_t *last)
{
    if (pivot)
        *first = parted(all, *first, *last, pivot - 1);
    *last = parted(all, *first, *last, pivot);
}

/* Quicksort by words in three parts (Bentley and Sedgewick 1997), the pivot by chance, so that no order is a bad one.
 * The texts from `low` up to `high` agree in what is before `depth`; `more` says whether any goes on behind its word. */
static void sort_words(struct texts *all, int64_t low, int64_t high, int64_t depth, int more)
{
    while (high - low > ROWS) {
        all->chance = mixed(all->chance, (uint64_t)high, 0x9FB21C651E98DF25ULL);
        const uint64_t pivot = all->words[low + (int64_t)(all->chance % (uint64_t)(high - low))];
        int64_t first = low, last = high;
        part(all, pivot, &first, &last);
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

/* Begin to sort: whatever stands before found[0] in the order comes before whatever stands from there on, and both
 * sides can be sorted by themselves, from depth found[1] on, with found[2] as `more`. */
API void hush_part_texts(int64_t texts, const uint8_t *buffer, const int64_t *edges, int32_t *order, uint64_t *words,
                         int64_t *found)
{
    struct texts all = {buffer, edges, order, words, 0};
    for (int64_t text = 0; text < texts; text++)
        order[text] = (int32_t)text;
    int64_t depth = 0, first = 0, last = texts;
    int more = look(&all, 0, texts, 0);
    while (texts > ROWS) {
        /* The middle one of a few, which are sorted by insertion. */
        uint64_t some[2 * AHEAD];
        for (int64_t number = 0; number < 2 * AHEAD; number++) {
            const uint64_t word = words[texts / (2 * AHEAD) * number + texts % (2 * AHEAD) * number / (2 * AHEAD)];
            int64_t place = number;
            for (; place > 0 && some[place - 1] > word; place--)
                some[place] = some[place - 1];
            some[place] = word;
        }
        part(&all, some[AHEAD], &first, &last);
        if (!more || first > 0 || last < texts)
            break;
        depth += 8;
        more = look(&all, 0, texts, depth);
    }
    found[0] = texts / 2 - first < last - texts / 2 ? first : last;
    found[1] = depth;
    found[2] = more;
}

/* Sort the places from `low` up to `high`; the length of each, and where each text stands. */
API void hush_sort_texts(int64_t low, int64_t high, const uint8_t *buffer, const int64_t *edges, uint64_t seed,
                         int32_t *order, uint64_t *words, const int64_t *found, int64_t *lengths, int32_t *places)
{
    struct texts all = {buffer, edges, order, words, seed};
    sort_words(&all, low, high, found[1], found[2] != 0);
    for (int64_t place = low; place < high; place++) {
        if (place + ROWS < high) {
            __builtin_prefetch(edges + order[place + ROWS]);
            __builtin_prefetch(places + order[place + ROWS], 1);
        }
        lengths[place] = edges[order[place] + 1] - edges[order[place]];
        places[order[place]] = (int32_t)place;
    }
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

/* Texts in an order, from place `low` up to `high`, each where it begins by the new edges. */
API void hush_lay_texts(int64_t low, int64_t high, const uint8_t *buffer, const int64_t *edges, const int32_t *order,
                        const int64_t *new_edges, uint8_t *laid)
{
    for (int64_t place = low; place < high; place++) {
        if (place + 2 * ROWS < high)
            __builtin_prefetch(edges + order[place + 2 * ROWS]);
        if (place + ROWS < high)
            __builtin_prefetch(buffer + edges[order[place + ROWS]]);
        memcpy(laid + new_edges[place], buffer + edges[order[place]], (size_t)(new_edges[place + 1] - new_edges[place]));
    }
}

/* Texts that are wanted, one behind the other; new_edges[0] is zero. Neighbours are copied together. */
API void hush_keep_texts(int64_t texts, const uint8_t *wanted, const uint8_t *buffer, const int64_t *edges,
                         uint8_t *kept, int64_t *new_edges)
{
    int64_t number = 0;
    for (int64_t text = 0; text < texts; text++) {
        if (!wanted[text])
            continue;
        const int64_t first = text, begun = new_edges[number];
        for (; text < texts && wanted[text]; text++, number++)
            new_edges[number + 1] = begun + edges[text + 1] - edges[first];
        memcpy(kept + begun, buffer + edges[first], (size_t)(edges[text] - edges[first]));
    }
}
