/* Passes over people's lists and over texts, as machine code.
 *
 * Every function here has a twin in NumPy or plain Python, which says what it is for and is used where this file could
 * not be compiled; both give the same integers. So: whole numbers of 64 bits, in one place of 128, which the callers
 * keep from overflowing, and of doubles only conversion, quotient, root, product and sum, each rounded once, in the
 * order written. The build says -ffp-contract=off and never -ffast-math; a machine that computes in longer registers
 * does not compile this.
 *
 * People are compressed rows: person j holds ids[offsets[j]] up to ids[offsets[j + 1]]. Nothing is allocated or kept
 * here: results and room to work in are the caller's. */

#include <math.h>

#include "machine.h"

/* Pairs that are looked at later. */
#define AHEAD 16
/* Where nothing else is done meanwhile. */
#define FAR_AHEAD 64

/* ---- encoded pairs: engines/pairs.py ---- */

/* For each item how often it is there in all, at most `cap` times in each pair; with a stride of zero one number of
 * times stands for all. */
API void hush_count_pairs(int64_t pairs, const int32_t *ids, const int64_t *times, int64_t stride, int64_t cap,
                          int64_t *counts)
{
    for (int64_t pair = 0; pair < pairs; pair++) {
        __builtin_prefetch(counts + ids[pair + FAR_AHEAD < pairs ? pair + FAR_AHEAD : pair], 1);
        counts[ids[pair]] += times[pair * stride] < cap ? times[pair * stride] : cap;
    }
}

/* Keys ascend. How many different ones there are, and how many people. */
API void hush_split_sizes(int64_t rows, const int64_t *keys, int64_t bits, int64_t *found)
{
    int64_t pairs = rows > 0, persons = rows > 0;
    for (int64_t row = 1; row < rows; row++) {
        pairs += keys[row] != keys[row - 1];
        persons += keys[row] >> bits != keys[row - 1] >> bits;
    }
    found[0] = pairs;
    found[1] = persons;
}

/* Keys ascend. Each different one once: its item, and, if that is wanted, how often it is there; and where the keys of
 * each person begin. */
API void hush_split_keys(int64_t rows, const int64_t *keys, int64_t bits, int64_t counted, int32_t *ids, int64_t *times,
                         int64_t *people, int64_t *starts)
{
    const int64_t mask = ((int64_t)1 << bits) - 1;
    int64_t pairs = 0, persons = 0;
    for (int64_t row = 0; row < rows; row++) {
        if (row > 0 && keys[row] == keys[row - 1]) {
            if (counted)
                times[pairs - 1]++;
            continue;
        }
        if (row == 0 || keys[row] >> bits != keys[row - 1] >> bits) {
            people[persons] = keys[row] >> bits;
            starts[persons++] = pairs;
        }
        if (counted)
            times[pairs] = 1;
        ids[pairs++] = (int32_t)(keys[row] & mask);
    }
}

/* Keys of people, each with the number that they are above an origin, and of items. The smallest and the largest of
 * these numbers, those of before included: of somebody below the origin it is larger than any. */
static inline __attribute__((always_inline)) void
join_keys(int64_t rows, const void *people, const int wide, uint64_t origin, const int32_t *items, int64_t *keys,
          uint64_t *ends)
{
    uint64_t least = ends[0], most = ends[1];
    for (int64_t row = 0; row < rows; row++) {
        const int64_t person = wide ? ((const int64_t *)people)[row] : ((const int32_t *)people)[row];
        const uint64_t number = (uint64_t)person - origin;
        least = number < least ? number : least;
        most = number > most ? number : most;
        keys[row] = (int64_t)(number << 32 | (uint32_t)items[row]);
    }
    ends[0] = least;
    ends[1] = most;
}

CLONED API void hush_join_keys(int64_t rows, const void *people, int64_t wide, uint64_t origin, const int32_t *items,
                               int64_t *keys, uint64_t *ends)
{
    if (wide)
        join_keys(rows, people, 1, origin, items, keys, ends);
    else
        join_keys(rows, people, 0, origin, items, keys, ends);
}

/* Keys in any order: a person in the upper half, the number of an item in the lower. How many each person has, from the
 * one with number `first` on. */
API void hush_count_rows(int64_t rows, const int64_t *keys, int64_t first, int64_t *counts)
{
    for (int64_t row = 0; row < rows; row++)
        counts[(keys[row] >> 32) - first]++;
}

/* From how many rows each person has, in two halves of all rows or in one: where each half puts a person's rows, and
 * who has any, where their lists begin, and where the last ends. How many people that are is told. */
API void hush_begin_lists(int64_t people, int64_t halves, int64_t *first, int64_t *second, int64_t *codes,
                          int64_t *offsets, int64_t *found)
{
    int64_t row = 0, count = 0;
    for (int64_t person = 0; person < people; person++) {
        const int64_t begin = row;
        row += first[person];
        first[person] = begin;
        if (halves > 1) {
            const int64_t rows = second[person];
            second[person] = row;
            row += rows;
        }
        codes[count] = person;
        offsets[count] = begin;
        count += row > begin;
    }
    offsets[count] = row;
    *found = count;
}

/* The place of each key's item, put where the list of its person goes on. */
API void hush_place_rows(int64_t rows, const int64_t *keys, int64_t first, const int32_t *places, int64_t *next,
                         int32_t *ids)
{
    for (int64_t row = 0; row < rows; row++) {
        if (row + AHEAD < rows)
            __builtin_prefetch(places + (uint32_t)keys[row + AHEAD]);
        ids[next[(keys[row] >> 32) - first]++] = places[(uint32_t)keys[row]];
    }
}

/* A list no longer than this is sorted by counting. */
#define SHORT 32

/* Each value goes where the number of smaller ones says; several are compared at once, and nothing is guessed. Behind
 * the first of equal values the places of the others stay open, and are filled with it. None is below zero. */
static inline void sort_short(int32_t *values, int64_t count)
{
    int32_t all[SHORT], sorted[SHORT];
    if (count < 2)
        return;
    for (int number = 0; number < SHORT; number++) {
        all[number] = number < count ? values[number] : INT32_MAX;
        sorted[number] = -1;
    }
    for (int64_t number = 0; number < count; number++) {
        int32_t smaller = 0;
        for (int other = 0; other < SHORT; other++)
            smaller += all[other] < values[number];
        sorted[smaller] = values[number];
    }
    for (int64_t number = 0; number < count; number++)
        values[number] = sorted[number] = sorted[number] < 0 ? sorted[number - 1] : sorted[number];
}

/* The values no larger than the given one first, and how many: each changes places with the first that is larger, and
 * nothing is guessed (Lomuto's way). */
static inline int64_t parted(int32_t *values, int64_t count, int32_t most)
{
    int64_t first = 0;
    for (int64_t row = 0; row < count; row++) {
        const int32_t value = values[row];
        values[row] = values[first];
        values[first] = value;
        first += value <= most;
    }
    return first;
}

/* Quicksort, the pivot by chance, so that no order is a bad one. No value is below zero. */
CLONED static void sort_list(int32_t *values, int64_t count, uint64_t *chance)
{
    while (count > SHORT) {
        *chance = *chance * 6364136223846793005ULL + 1442695040888963407ULL;
        const int32_t pivot = values[(int64_t)((*chance >> 33) % (uint64_t)count)];
        const int64_t below = parted(values, count, pivot - 1);
        if (below == 0) {
            /* The smallest, perhaps many times over: all of them are where they belong. */
            const int64_t equal = parted(values, count, pivot);
            values += equal;
            count -= equal;
            continue;
        }
        /* The shorter side first, so that calls within calls are few. */
        if (below < count - below) {
            sort_list(values, below, chance);
            values += below;
            count -= below;
        } else {
            sort_list(values + below, count - below, chance);
            count = below;
        }
    }
    sort_short(values, count);
}

/* Sort each list; how many different items each has. */
API void hush_sort_lists(int64_t people, const int64_t *offsets, uint64_t seed, int32_t *ids, int64_t *held)
{
    uint64_t chance = seed;
    for (int64_t person = 0; person < people; person++) {
        const int64_t first = offsets[person], last = offsets[person + 1];
        sort_list(ids + first, last - first, &chance);
        int64_t count = last > first;
        for (int64_t row = first + 1; row < last; row++)
            count += ids[row] != ids[row - 1];
        held[person] = count;
    }
}

/* Sorted lists without repeats: their items once, one list behind the other, and how often each was there. */
API void hush_drop_repeats(int64_t people, const int64_t *offsets, const int32_t *ids, int32_t *distinct,
                           int64_t *times)
{
    int64_t pairs = 0;
    for (int64_t person = 0; person < people; person++)
        for (int64_t row = offsets[person]; row < offsets[person + 1]; row++) {
            if (row > offsets[person] && ids[row] == ids[row - 1]) {
                times[pairs - 1]++;
                continue;
            }
            distinct[pairs] = ids[row];
            times[pairs++] = 1;
        }
}

/* ---- clipped sums: engines/clipping.py ---- */

/* Sums of so many doubles, each a whole number up to 2^41, are exact. */
#define EXACT 2048

static void flush(int64_t clips, double *parts, int64_t *lost)
{
    for (int64_t clip = 0; clip < clips; clip++) {
        lost[clip] += (int64_t)parts[clip];
        parts[clip] = 0;
    }
}

/* `limits` ascend within each segment; those of segment s are limits[firsts[s]] up to limits[firsts[s + 1]], and leasts[s]
 * is the smallest of all segments up to s. They are whole numbers below 2^62; `parts` has room for one number of each, and
 * is zero. From the last segment on: what a person has up to one is no more than up to the next. */
CLONED API void hush_losses(int64_t people, const int64_t *offsets, const int32_t *ids, const int64_t *squares,
                            const int32_t *of_item, int64_t segments, const int64_t *firsts, const int64_t *leasts,
                            const int64_t *limits, const double *restrict wide, int64_t unit, int64_t grain,
                            double below_one, int64_t *sums, double *restrict parts, int64_t *lost)
{
    const double all = (double)(unit + grain), one = (double)unit, few = (double)grain;
    int64_t added = 0;
    for (int64_t person = 0; person < people; person++) {
        const int64_t first = offsets[person], last = offsets[person + 1];
        int64_t norm = 0;
        memset(sums, 0, (size_t)segments * sizeof *sums);
        for (int64_t pair = first; pair < last; pair++) {
            norm += squares[ids[pair]];
            sums[of_item[ids[pair]]] += squares[ids[pair]];
        }
        for (int64_t segment = segments - 1; segment >= 0 && norm > leasts[segment]; segment--) {
            const int64_t clips = firsts[segment], end = firsts[segment + 1];
            const double whole = (double)norm;
            int64_t over = clips;
            for (int64_t clip = clips; clip < end; clip++)
                over += limits[clip] < norm;
            /* No branches: several clips are taken at once. */
            for (int64_t clip = clips; clip < over; clip++) {
                const double kept = floor(sqrt(wide[clip] / whole) * below_one * one);
                parts[clip] += all - (kept < few ? few : kept);
            }
            norm -= sums[segment];
        }
        if (++added == EXACT) {
            flush(firsts[segments], parts, lost);
            added = 0;
        }
    }
    flush(firsts[segments], parts, lost);
}

API void hush_clipped(int64_t people, const int64_t *offsets, const int32_t *ids, const int64_t *amplitudes,
                      int64_t limit, double below_one, int64_t *total)
{
    for (int64_t person = 0; person < people; person++) {
        const int64_t first = offsets[person], last = offsets[person + 1];
        int64_t norm = 0;
        for (int64_t pair = first; pair < last; pair++)
            norm += amplitudes[ids[pair]] * amplitudes[ids[pair]];
        if (norm <= limit) {
            for (int64_t pair = first; pair < last; pair++)
                total[ids[pair]] += amplitudes[ids[pair]];
            continue;
        }
        const double factor = sqrt((double)limit / (double)norm) * below_one;
        for (int64_t pair = first; pair < last; pair++)
            total[ids[pair]] += (int64_t)((double)amplitudes[ids[pair]] * factor);
    }
}

/* ---- tables of chances: mechanisms/ladders/tables.py ---- */

/* The recursion, for each sum from the smallest weight to below `sums`, or until a sum and all that follow are certain.
 * `table` is zero; `place` and `part` have room for one number of each sum. How many sums there are is told. */
API void hush_climbed(int64_t rungs, const int64_t *weights, int64_t count, const double *places, const double *bounds,
                      double shrink, int64_t sums, double *table, int64_t *place, double *part, int64_t *made)
{
    int64_t least = weights[0], many = weights[0], certain = 0, sum;
    for (int64_t rung = 1; rung < rungs; rung++) {
        least = weights[rung] < least ? weights[rung] : least;
        many = weights[rung] > many ? weights[rung] : many;
    }
    memset(place, 0, (size_t)sums * sizeof *place);
    memset(part, 0, (size_t)sums * sizeof *part);
    for (sum = least; sum < sums && certain <= many; sum++) {
        double found = INFINITY;
        for (int64_t rung = 0; rung < rungs; rung++) {
            if (weights[rung] > sum)
                continue;
            const int64_t before = sum - weights[rung];
            const double *bound = bounds + rung * count + place[before];
            const double allowed = bound[0] + part[before] * (bound[1] - bound[0]);
            found = allowed < found ? allowed : found;
        }
        found = found >= 1 ? 1 : found * shrink;
        /* The last place that is not above it, but one with another behind it. */
        int64_t low = 0, high = count - 1;
        while (high - low > 1) {
            const int64_t middle = (low + high) / 2;
            if (places[middle] <= found)
                low = middle;
            else
                high = middle;
        }
        table[sum] = found;
        place[sum] = low;
        part[sum] = (found - places[low]) / (places[low + 1] - places[low]);
        certain = found >= 1 ? certain + 1 : 0;
    }
    made[0] = sum;
}

/* ---- the steepest curve: noise/steepest.py ---- */

typedef unsigned __int128 wide;

/* (1 - e) / (1 + e) for the powers e of a factor below one, rounded to nearest. Powers are whole numbers of 2^-96 that
 * are rounded down, and are taken to 2^-64. The factor has 96 bits, in two words. */
API void hush_tangents(int64_t count, uint64_t high, uint64_t low, double *tangents)
{
    const wide one = (wide)1 << 64;
    wide power = (wide)1 << 96;
    for (int64_t place = 0; place < count; place++) {
        const wide small = power >> 32, below = one - small, above = one + small;
        if (below == 0) {
            tangents[place] = 0;
        } else {
            /* A quotient of more than 60 bits, and whether anything is left: what rounding needs to know. */
            const int shift = 62 + __builtin_clzll((unsigned long long)below);
            const wide whole = below << shift, quotient = whole / above;
            tangents[place] = ldexp((double)((uint64_t)quotient | (quotient * above != whole)), -shift);
        }
        const uint64_t first = (uint64_t)(power >> 64), second = (uint64_t)power;
        const wide middle = ((wide)second * low >> 64) + (wide)second * high + (wide)first * low;
        power = (middle + ((wide)first * high << 64)) >> 32;
    }
}

/* ---- bounded lists: engines/bounding.py ---- */

/* Whether an item is one of those with a bit: of millions of items bits stay in a cache where bytes do not. */
static inline int64_t has_bit(const uint8_t *bits, int32_t id)
{
    return bits[id >> 3] >> (id & 7) & 1;
}

API void hush_keep_allowed(int64_t people, const int64_t *offsets, const int32_t *ids, const uint8_t *allowed,
                           uint8_t *keep, int64_t *held)
{
    for (int64_t person = 0; person < people; person++) {
        int64_t count = 0;
        for (int64_t pair = offsets[person]; pair < offsets[person + 1]; pair++) {
            keep[pair] = (uint8_t)has_bit(allowed, ids[pair]);
            count += keep[pair];
        }
        held[person] = count;
    }
}

/* The kept ids one behind the other, by other numbers; `count` of them have room. Whether a pair is kept is hard to
 * guess: what is not is written, too, and the next one over it. */
API void hush_keep_ids(int64_t pairs, const int32_t *ids, const uint8_t *keep, const int32_t *numbers, int64_t count,
                       int32_t *kept)
{
    int64_t done = 0;
    for (int64_t pair = 0; pair < pairs && done < count; pair++) {
        kept[done] = numbers[ids[pair]];
        done += keep[pair];
    }
}

/* Which items some people hold. */
API void hush_items_of(int64_t people, const int64_t *who, const int64_t *offsets, const int32_t *ids, uint8_t *found)
{
    for (int64_t one = 0; one < people; one++)
        for (int64_t pair = offsets[who[one]]; pair < offsets[who[one] + 1]; pair++)
            found[ids[pair]] = 1;
}

#define PRIME_1 0x9E3779B185EBCA87ULL
#define PRIME_2 0xC2B2AE3D27D4EB4FULL
#define PRIME_3 0x165667B19E3779F9ULL
#define PRIME_4 0x85EBCA77C2B2AE63ULL
#define PRIME_5 0x27D4EB2F165667C5ULL

static inline uint64_t turned(uint64_t word, int bits)
{
    return word << bits | word >> (64 - bits);
}

static inline uint64_t finished(uint64_t state)
{
    state = (state ^ state >> 33) * PRIME_2;
    state = (state ^ state >> 29) * PRIME_3;
    return state ^ state >> 32;
}

/* The value that stands at a place once all are sorted (Hoare's selection); changes the order of `values`. */
static int64_t selected(int64_t *values, int64_t count, int64_t place)
{
    int64_t low = 0, high = count - 1;
    while (low < high) {
        const int64_t pivot = values[low + (high - low) / 2];
        int64_t left = low, right = high;
        while (left <= right) {
            while (values[left] < pivot)
                left++;
            while (pivot < values[right])
                right--;
            if (left <= right) {
                const int64_t swapped = values[left];
                values[left++] = values[right];
                values[right--] = swapped;
            }
        }
        if (place <= right)
            high = right;
        else if (place >= left)
            low = left;
        else
            break;
    }
    return values[place];
}

/* `hashes` and `order` have room for the longest list. */
API void hush_keep_smallest(int64_t people, const int64_t *offsets, const int32_t *ids, const int64_t *held,
                            int64_t limit, const uint64_t *starts, const uint64_t *things, uint8_t *keep,
                            int64_t *hashes, int64_t *order)
{
    for (int64_t person = 0; person < people; person++) {
        if (held[person] <= limit)
            continue;
        const int64_t first = offsets[person], last = offsets[person + 1];
        int64_t count = 0;
        for (int64_t pair = first; pair < last; pair++) {
            __builtin_prefetch(things + ids[pair + AHEAD < last ? pair + AHEAD : pair]);
            if (keep[pair])
                hashes[count++] =
                    (int64_t)finished(turned(starts[person] ^ things[ids[pair]], 27) * PRIME_1 + PRIME_4);
        }
        memcpy(order, hashes, (size_t)count * sizeof *order);
        const int64_t worst = selected(order, count, limit - 1);
        int64_t equal = limit;
        for (int64_t number = 0; number < count; number++)
            equal -= hashes[number] < worst;
        count = 0;
        for (int64_t pair = first; pair < last; pair++) {
            if (!keep[pair])
                continue;
            const int64_t hash = hashes[count++];
            keep[pair] = hash < worst || (hash == worst && equal-- > 0);
        }
    }
}

/* One column is compiled by itself. */
static inline __attribute__((always_inline)) void
add_lists(int64_t people, const int64_t *offsets, const int32_t *ids, const uint8_t *keep, const int64_t *held,
          const int64_t columns, const int64_t *weights, int64_t *total)
{
    for (int64_t person = 0; person < people; person++) {
        const int64_t *row = weights + held[person] * columns;
        /* Whoever has nothing left is passed by. */
        const int64_t last = held[person] ? offsets[person + 1] : 0;
        for (int64_t pair = offsets[person]; pair < last; pair++) {
            /* Of millions of items sums are far away: they are asked for ahead, those of the next people, too. */
            const int64_t *next = total + ids[pair + FAR_AHEAD < offsets[people] ? pair + FAR_AHEAD : pair] * columns;
            __builtin_prefetch(next, 1);
            __builtin_prefetch(next + columns - 1, 1);
            /* Whether a pair is kept is hard to guess: of one that is not, nothing is added. */
            const int64_t all = -(int64_t)keep[pair];
            int64_t *sums = total + ids[pair] * columns;
            for (int64_t column = 0; column < columns; column++)
                sums[column] += row[column] & all;
        }
    }
}

API void hush_add_rows(int64_t people, const int64_t *offsets, const int32_t *ids, const uint8_t *keep,
                       const int64_t *held, int64_t columns, const int64_t *weights, int64_t *total)
{
    if (columns == 1)
        add_lists(people, offsets, ids, keep, held, 1, weights, total);
    else
        add_lists(people, offsets, ids, keep, held, columns, weights, total);
}

/* Rows of sums that are wanted, moved together in their order. */
API void hush_keep_rows(int64_t rows, const uint8_t *wanted, int64_t columns, int64_t *total)
{
    int64_t *kept = total;
    for (int64_t row = 0; row < rows; row++)
        if (wanted[row]) {
            if (kept != total + row * columns)
                memcpy(kept, total + row * columns, (size_t)columns * sizeof *total);
            kept += columns;
        }
}

/* ---- sequential weightings: mechanisms/weighting/kernels.py ---- */

API void hush_fill_evenly(int64_t people, const int64_t *offsets, const int32_t *ids, int64_t *weights, int64_t cutoff,
                          int64_t budget)
{
    for (int64_t person = 0; person < people; person++) {
        const int64_t first = offsets[person], last = offsets[person + 1];
        int64_t open = last - first, left = budget, level = 0;
        while (open > 0) {
            level = left / open;
            int64_t still = 0;
            for (int64_t pair = first; pair < last; pair++) {
                const int64_t gap = cutoff - weights[ids[pair]];
                if (gap > level) {
                    still++;
                } else {
                    weights[ids[pair]] = cutoff;
                    left -= gap;
                }
            }
            if (still == open)
                break;
            open = still;
        }
        int64_t ones = left - level * open;
        for (int64_t pair = first; pair < last; pair++)
            if (weights[ids[pair]] < cutoff)
                weights[ids[pair]] += ones-- > 0 ? level + 1 : level;
    }
}

API void hush_fill_in_turn(int64_t people, const int64_t *offsets, const int32_t *ids, int64_t *weights, int64_t cutoff,
                           int64_t budget)
{
    for (int64_t person = 0; person < people; person++) {
        int64_t left = budget;
        for (int64_t pair = offsets[person]; pair < offsets[person + 1] && left > 0; pair++) {
            const int64_t gap = cutoff - weights[ids[pair]], step = gap < left ? gap : left;
            weights[ids[pair]] += step;
            left -= step;
        }
    }
}

API void hush_step_straight(int64_t people, const int64_t *offsets, const int32_t *ids, int64_t *weights,
                            int64_t cutoff, int64_t radius)
{
    const double reach = (double)radius;
    for (int64_t person = 0; person < people; person++) {
        const int64_t first = offsets[person], last = offsets[person + 1];
        double squares = 0, lost = 0; /* Kahan's sum */
        for (int64_t pair = first; pair < last; pair++) {
            const double gap = (double)(cutoff - weights[ids[pair]]);
            const double term = gap * gap - lost, sum = squares + term;
            lost = (sum - squares) - term;
            squares = sum;
        }
        const double norm = sqrt(squares), ratio = reach / norm;
        for (int64_t pair = first; pair < last; pair++) {
            int64_t *weight = weights + ids[pair];
            *weight = norm <= reach ? cutoff : *weight + (int64_t)((double)(cutoff - *weight) * ratio);
        }
    }
}

/* ---- keyed hashes of texts: engines/xxh64.py, noise/siphash.py ---- */

static inline uint64_t word_at(const uint8_t *place)
{
    uint64_t word;
    memcpy(&word, place, sizeof word);
    return word;
}

static inline uint64_t rounded(uint64_t lane, uint64_t word)
{
    return turned(lane + word * PRIME_2, 31) * PRIME_1;
}

static uint64_t xxh64(const uint8_t *place, int64_t length, uint64_t seed)
{
    const uint8_t *const end = place + length;
    uint64_t state = seed + PRIME_5;
    if (length >= 32) {
        uint64_t lanes[4] = {seed + PRIME_1 + PRIME_2, seed + PRIME_2, seed, seed - PRIME_1};
        for (; end - place >= 32; place += 32)
            for (int lane = 0; lane < 4; lane++)
                lanes[lane] = rounded(lanes[lane], word_at(place + 8 * lane));
        state = turned(lanes[0], 1) + turned(lanes[1], 7) + turned(lanes[2], 12) + turned(lanes[3], 18);
        for (int lane = 0; lane < 4; lane++)
            state = (state ^ rounded(0, lanes[lane])) * PRIME_1 + PRIME_4;
    }
    state += (uint64_t)length;
    for (; end - place >= 8; place += 8)
        state = turned(state ^ rounded(0, word_at(place)), 27) * PRIME_1 + PRIME_4;
    if (end - place >= 4) {
        uint32_t half;
        memcpy(&half, place, sizeof half);
        state = turned(state ^ half * PRIME_1, 23) * PRIME_2 + PRIME_3;
        place += 4;
    }
    for (; place < end; place++)
        state = turned(state ^ *place * PRIME_5, 11) * PRIME_1;
    return finished(state);
}

API void hush_hash_texts(int64_t texts, const uint8_t *buffer, const int64_t *starts, const int64_t *lengths,
                         uint64_t seed, uint64_t *hashes)
{
    for (int64_t text = 0; text < texts; text++)
        hashes[text] = xxh64(buffer + starts[text], lengths[text], seed);
}

/* Of words, or of vectors of them. */
#define TURN(word, bits) ((word) << (bits) | (word) >> (64 - (bits)))

#define SIP_ROUND(v)                                                                                                   \
    do {                                                                                                               \
        (v)[0] += (v)[1];                                                                                              \
        (v)[1] = TURN((v)[1], 13) ^ (v)[0];                                                                            \
        (v)[0] = TURN((v)[0], 32);                                                                                     \
        (v)[2] += (v)[3];                                                                                              \
        (v)[3] = TURN((v)[3], 16) ^ (v)[2];                                                                            \
        (v)[0] += (v)[3];                                                                                              \
        (v)[3] = TURN((v)[3], 21) ^ (v)[0];                                                                            \
        (v)[2] += (v)[1];                                                                                              \
        (v)[1] = TURN((v)[1], 17) ^ (v)[2];                                                                            \
        (v)[2] = TURN((v)[2], 32);                                                                                     \
    } while (0)

#define SIP_ABSORB(v, block)                                                                                           \
    do {                                                                                                               \
        (v)[3] ^= (block);                                                                                             \
        SIP_ROUND(v);                                                                                                  \
        SIP_ROUND(v);                                                                                                  \
        (v)[0] ^= (block);                                                                                             \
    } while (0)

/* What is closed with a tag, and read. */
#define SIP_FINISH(v, word, tag, made)                                                                                 \
    do {                                                                                                               \
        (v)[word] ^= (tag);                                                                                            \
        SIP_ROUND(v);                                                                                                  \
        SIP_ROUND(v);                                                                                                  \
        SIP_ROUND(v);                                                                                                  \
        SIP_ROUND(v);                                                                                                  \
        (made) = (v)[0] ^ (v)[1] ^ (v)[2] ^ (v)[3];                                                                    \
    } while (0)

/* Two vectors of four: while one waits for its last step, the other is worked on. */
#define LANES 8

typedef uint64_t lanes __attribute__((vector_size(8 * LANES)));

/* The word of 64 bits that SipHash-2-4 gives for a message of three blocks: two of its own, and a last one of all. */
#define SIP_WORD(v, first, second, last, made)                                                                         \
    do {                                                                                                               \
        SIP_ABSORB(v, first);                                                                                          \
        SIP_ABSORB(v, second);                                                                                         \
        SIP_ABSORB(v, last);                                                                                           \
        SIP_FINISH(v, 2, 0xFF, made);                                                                                  \
    } while (0)

/* SipHash-2-4-128 of texts that stand one behind the other: low words and high words. */
API void hush_digest(int64_t texts, const uint8_t *buffer, const int64_t *lengths, uint64_t k0, uint64_t k1,
                     uint64_t *restrict low, uint64_t *restrict high)
{
    for (int64_t text = 0; text < texts; buffer += lengths[text], text++) {
        uint64_t v[4] = {0x736F6D6570736575ULL ^ k0, 0x646F72616E646F6DULL ^ k1 ^ 0xEE, 0x6C7967656E657261ULL ^ k0,
                         0x7465646279746573ULL ^ k1};
        const int64_t length = lengths[text], blocks = length / 8;
        uint64_t last = (uint64_t)length << 56;
        for (int64_t block = 0; block < blocks; block++)
            SIP_ABSORB(v, word_at(buffer + 8 * block));
        for (int64_t byte = 8 * blocks; byte < length; byte++)
            last |= (uint64_t)buffer[byte] << 8 * (byte - 8 * blocks);
        SIP_ABSORB(v, last);
        SIP_FINISH(v, 2, 0xEE, low[text]);
        SIP_FINISH(v, 1, 0xDD, high[text]);
    }
}

/* The words of SipHash-2-4 for messages of two blocks of their own and a last one, the same for all. */
CLONED API void hush_words(int64_t rows, const uint64_t *first, const uint64_t *second, uint64_t k0, uint64_t k1,
                           uint64_t last, uint64_t *words)
{
    const uint64_t begun[4] = {0x736F6D6570736575ULL ^ k0, 0x646F72616E646F6DULL ^ k1, 0x6C7967656E657261ULL ^ k0,
                               0x7465646279746573ULL ^ k1};
    const lanes all = last - (lanes){0};
    int64_t row = 0;
    for (; row + LANES <= rows; row += LANES) {
        lanes one, other, made, v[4];
        memcpy(&one, first + row, sizeof one);
        memcpy(&other, second + row, sizeof other);
        for (int word = 0; word < 4; word++)
            v[word] = begun[word] - (lanes){0};
        SIP_WORD(v, one, other, all, made);
        memcpy(words + row, &made, sizeof made);
    }
    for (; row < rows; row++) {
        uint64_t v[4] = {begun[0], begun[1], begun[2], begun[3]};
        SIP_WORD(v, first[row], second[row], last, words[row]);
    }
}
