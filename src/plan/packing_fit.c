/* SPDX-License-Identifier: Apache-2.0 */
/* packing_fit: bit n of a tree's lowest level represents n units of free space; bit k of the
 * level above is set if word k below is not zero. */
#include "packing_fit.h"

#include "error.h"
#include "memory.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

static uint32_t level_words(uint32_t space, uint32_t level)
{
    return (space >> (6 * (level + 1))) + 1;
}

sluice_status sl_packing_fit_open(sl_packing_fit *fit, uint32_t space, uint32_t rows,
                                  sluice_error *error)
{
    assert(space >= 1 && space <= 1U << 24);
    *fit = (sl_packing_fit){.space = space};
    bool good = true;
    do {
        fit->words[fit->levels] = sl_calloc(level_words(space, fit->levels), sizeof(uint64_t));
        good = good && fit->words[fit->levels] != NULL;
    } while (level_words(space, fit->levels++) > 1);
    fit->heads = sl_calloc((size_t)space + 1, sizeof(*fit->heads));
    fit->next = sl_calloc(rows, sizeof(*fit->next));
    return good && fit->heads != NULL && fit->next != NULL
               ? SLUICE_OK
               : sl_no_memory(error, "plan", "for packing rows of %u elements", space);
}

uint64_t sl_packing_fit_bytes(uint32_t space, uint32_t rows)
{
    uint64_t words = 0;
    uint32_t level = 0;
    do {
        words += level_words(space, level);
    } while (level_words(space, level++) > 1);
    return words * sizeof(uint64_t) + ((uint64_t)space + 1 + rows) * sizeof(uint32_t);
}

void sl_packing_fit_close(sl_packing_fit *fit)
{
    for (uint32_t i = 0; i < SL_PACKING_LEVELS; i++) {
        sl_free(fit->words[i]);
    }
    sl_free(fit->heads);
    sl_free(fit->next);
    *fit = (sl_packing_fit){.space = 0};
}

void sl_packing_fit_clear(sl_packing_fit *fit)
{
    for (uint32_t i = 0; i < fit->levels; i++) {
        memset(fit->words[i], 0, level_words(fit->space, i) * sizeof(uint64_t));
    }
}

static bool has_space(const sl_packing_fit *fit, uint32_t space)
{
    return (fit->words[0][space >> 6] >> (space & 63) & 1) != 0;
}

void sl_packing_fit_add(sl_packing_fit *fit, uint32_t row, uint32_t space)
{
    assert(space >= 1 && space <= fit->space);
    const bool has = has_space(fit, space);
    fit->next[row] = has ? fit->heads[space] : SL_PACKING_NO_ROW;
    fit->heads[space] = row;
    for (uint32_t i = 0; i < fit->levels && !has; i++) {
        uint64_t *word = &fit->words[i][space >> 6];
        const uint64_t before = *word;
        *word = before | UINT64_C(1) << (space & 63);
        if (before != 0) {
            return; /* the levels above have the bit already */
        }
        space >>= 6;
    }
}

static void remove_space(sl_packing_fit *fit, uint32_t space)
{
    for (uint32_t i = 0; i < fit->levels; i++) {
        fit->words[i][space >> 6] &= ~(UINT64_C(1) << (space & 63));
        if (fit->words[i][space >> 6] != 0) {
            return;
        }
        space >>= 6;
    }
}

uint32_t sl_packing_fit_least(const sl_packing_fit *fit, uint32_t need)
{
    assert(need >= 1);
    uint32_t at = need;
    for (uint32_t i = 0; i < fit->levels; i++) {
        /* the bits from `at` on, of the word of this level that has `at` */
        const bool inside = at >> 6 < level_words(fit->space, i);
        uint64_t word = inside ? fit->words[i][at >> 6] & (UINT64_MAX << (at & 63)) : 0;
        if (word == 0) {
            at = (at >> 6) + 1;
            continue;
        }
        at = (at & ~63U) + (uint32_t)__builtin_ctzll(word);
        while (i > 0) {
            i--;
            at = (at << 6) + (uint32_t)__builtin_ctzll(fit->words[i][at]);
        }
        return at;
    }
    return 0;
}

bool sl_packing_fit_pop(sl_packing_fit *fit, uint32_t space, uint32_t *row)
{
    if (!has_space(fit, space)) {
        return false;
    }
    *row = fit->heads[space];
    fit->heads[space] = fit->next[*row];
    if (fit->next[*row] == SL_PACKING_NO_ROW) {
        remove_space(fit, space);
    }
    return true;
}

uint32_t sl_packing_fit_take(sl_packing_fit *fit, uint32_t need, uint32_t *space)
{
    uint32_t row = SL_PACKING_NO_ROW;
    *space = sl_packing_fit_least(fit, need);
    return *space > 0 && sl_packing_fit_pop(fit, *space, &row) ? row : SL_PACKING_NO_ROW;
}
