/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the hits that policies would have had with all possible choices, a plain LRU, and the
 * formula. */
#include "caching.h"

#include "permutation.h"
#include "test.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum { USES_MOST = 4, CHUNKS = 3 };

static void assert_near(double found, double expected, double off)
{
    assert_true(fabs(found - expected) <= off);
}

static void find(const sl_chunk_uses *uses, sl_chunk_hits *hits)
{
    sluice_error error;
    assert_int_equal(sl_chunk_hits_find(uses, hits, &error), SLUICE_OK);
}

/* ---- the optimum ---- */

enum { SIZE_LEAST = 8 };

/* The reads of two epochs and the chunk sizes. */
typedef struct sequence {
    uint32_t chunks[2 * USES_MOST], bytes[2 * USES_MOST];
    uint32_t count; /* per epoch */
    uint32_t sizes[CHUNKS], space;
} sequence;

static uint32_t held(const sequence *uses, uint32_t set)
{
    uint32_t bytes = 0;
    for (uint32_t chunk = 0; chunk < CHUNKS; chunk++) {
        bytes += (set >> chunk & 1) * uses->sizes[chunk];
    }
    return bytes;
}

/* Returns the fewest bytes that the second epoch downloads from use `at` on, over all choices. */
static uint32_t best(const sequence *uses, uint32_t at, uint32_t set)
{
    if (at == 2 * uses->count) {
        return 0;
    }
    const uint32_t chunk = UINT32_C(1) << uses->chunks[at];
    const bool counts = at >= uses->count;
    if ((set & chunk) != 0) {
        return best(uses, at + 1, set);
    }
    uint32_t least = best(uses, at + 1, set) + (counts ? uses->bytes[at] : 0);
    for (uint32_t left = 0; left < UINT32_C(1) << CHUNKS; left++) {
        if ((left & ~set) == 0 && held(uses, left | chunk) <= uses->space) {
            const uint32_t cost =
                best(uses, at + 1, left | chunk) + (counts ? uses->sizes[uses->chunks[at]] : 0);
            least = cost < least ? cost : least;
        }
    }
    return least;
}

/* The cached chunks, most recently used first. */
typedef struct stack {
    uint32_t chunks[CHUNKS + 1], depth, set;
} stack;

static void to_front(stack *s, uint32_t chunk)
{
    uint32_t place = 0;
    while (place < s->depth && s->chunks[place] != chunk) {
        place++;
    }
    s->depth += place == s->depth;
    for (; place > 0; place--) {
        s->chunks[place] = s->chunks[place - 1];
    }
    s->chunks[0] = chunk;
    s->set |= UINT32_C(1) << chunk;
}

static uint32_t lru_download(const sequence *uses)
{
    stack s = {.depth = 0};
    uint32_t downloaded = 0;
    for (uint32_t at = 0; at < 2 * uses->count; at++) {
        const uint32_t chunk = uses->chunks[at];
        downloaded += at >= uses->count && (s.set >> chunk & 1) == 0 ? uses->sizes[chunk] : 0;
        to_front(&s, chunk);
        while (held(uses, s.set) > uses->space) {
            s.set &= ~(UINT32_C(1) << s.chunks[--s.depth]);
        }
    }
    return downloaded;
}

static double share(uint32_t downloaded, uint32_t bytes)
{
    return downloaded < bytes ? 1 - (double)downloaded / bytes : 0;
}

/* `once`: an epoch reads no byte of a chunk twice, and whole chunks fill the cache exactly, so that
 * the optimum can be reached. */
static void expect_best(const sequence *uses, bool once)
{
    const sl_chunk_uses all = {.first_epoch = uses->chunks,
                               .second_epoch = uses->chunks + uses->count,
                               .bytes_second = uses->bytes + uses->count,
                               .chunk_bytes = uses->sizes,
                               .first_count = uses->count,
                               .second_count = uses->count,
                               .chunks = CHUNKS,
                               .space = uses->space};
    sl_chunk_hits hits;
    uint32_t bytes = 0;
    find(&all, &hits);
    for (uint32_t i = uses->count; i < 2 * uses->count; i++) {
        bytes += uses->bytes[i];
    }
    const double reached = share(best(uses, 0, 0), bytes);
    assert_true(hits.optimum >= reached - 1e-9);
    if (once) {
        assert_near(hits.optimum, reached, 1e-9);
    }
    assert_near(hits.lru, share(lru_download(uses), bytes), 1e-9);
}

static uint32_t draw(uint32_t *state, uint32_t below)
{
    *state = *state * 1664525 + 1013904223;
    return (*state >> 8) % below;
}

TEST(no_choice_downloads_less_than_the_optimum)
{
    uint32_t random = 1;
    for (int round = 0; round < TEST_AMOUNT(400, 60); round++) {
        const bool once = round % 2 == 0;
        sequence uses = {.count = 1 + draw(&random, USES_MOST),
                         .space = once ? SIZE_LEAST * (1 + draw(&random, CHUNKS))
                                       : 1 + draw(&random, CHUNKS * SIZE_LEAST)};
        for (uint32_t i = 0; i < CHUNKS; i++) {
            uses.sizes[i] = once ? SIZE_LEAST : SIZE_LEAST + draw(&random, 8);
        }
        for (uint32_t i = 0; i < 2 * uses.count; i++) {
            uses.chunks[i] = draw(&random, CHUNKS);
            uses.bytes[i] = 1 + draw(&random, once ? SIZE_LEAST / USES_MOST : SIZE_LEAST);
        }
        expect_best(&uses, once);
    }
}

TEST(chunks_that_are_read_most_are_worth_most)
{
    const uint32_t first[] = {0, 1, 2};
    const uint32_t second[] = {0, 1, 2};
    const uint32_t bytes[] = {10, 20, 70};
    const uint32_t sizes[] = {80, 80, 80};
    const sl_chunk_uses uses = {first, second, bytes, sizes, 3, 3, 3, 160};
    sl_chunk_hits hits;
    find(&uses, &hits);
    assert_near(hits.optimum, 0.9, 1e-9);
    assert_near(hits.lru, 0, 0);
}

TEST(without_space_or_uses_nothing_hits)
{
    const uint32_t chunk = 0;
    const uint32_t bytes = 5;
    sl_chunk_hits hits;
    find(&(sl_chunk_uses){&chunk, &chunk, &bytes, &bytes, 1, 1, 1, 0}, &hits);
    assert_near(hits.optimum + hits.lru, 0, 0);
    find(&(sl_chunk_uses){.chunks = 0, .space = 1}, &hits);
    assert_near(hits.optimum + hits.lru, 0, 0);
}

/* ---- each chunk once an epoch ---- */

/* No policy hits more than the fraction c that the cache holds; LRU hits c + (1 - c) ln(1 - c). */
TEST(once_an_epoch_follows_the_law)
{
    enum { MANY = 20000 };
    uint32_t *uses = calloc(3 * (size_t)MANY, sizeof(*uses));
    assert_non_null(uses);
    const sl_permutation one = sl_permutation_make(MANY, 1);
    const sl_permutation two = sl_permutation_make(MANY, 2);
    for (uint32_t i = 0; i < MANY; i++) {
        uses[i] = (uint32_t)sl_permutation_apply(&one, i);
        uses[MANY + i] = (uint32_t)sl_permutation_apply(&two, i);
        uses[2 * MANY + i] = 8;
    }
    for (int tenths = 1; tenths < 10; tenths++) {
        const double c = tenths / 10.0;
        const uint32_t *bytes = uses + (size_t)2 * MANY;
        sl_chunk_hits hits;
        find(&(sl_chunk_uses){uses, uses + MANY, bytes, bytes, MANY, MANY, MANY,
                              MANY / 10 * (uint64_t)tenths * 8},
             &hits);
        assert_near(hits.optimum, c, 1e-9);
        assert_near(hits.lru, c + (1 - c) * log(1 - c), 0.02);
    }
    free(uses);
}
