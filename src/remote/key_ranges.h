/* SPDX-License-Identifier: Apache-2.0 */
/*
 * key_ranges: where to cut a range of keys in two, without knowing the keys.
 *
 * Purpose: a listing by several requests at once begins at keys that are guessed from those seen so
 * far. Any guess is correct, since ranges are cut without gaps; a good one halves the work. A cut
 * has no slash and only bytes of ASCII, so that no folder lies on both sides of it. Threads: pure.
 */
#ifndef SL_KEY_RANGES_H
#define SL_KEY_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bytes that names seen so far consist of, in order. */
typedef struct sl_key_alphabet {
    bool has[128];
    uint8_t bytes[128], ranks[128];
    uint32_t count;
} sl_key_alphabet;

void sl_key_alphabet_add(sl_key_alphabet *alphabet, const char *name);
/* Ranks the bytes: call it after adding names and before cutting. */
void sl_key_alphabet_rank(sl_key_alphabet *alphabet);

/* Writes a key about half-way between `low` and `high` (exclusive). False: no such key is known. */
bool sl_key_middle(const sl_key_alphabet *alphabet, const char *low, const char *high, char *middle,
                   size_t bytes);
/* Writes a key beyond `last` for a range without a known end: the `step`th digit left of the place
 * where `first` and `last` of one page differ, counted up by one. False: no such key exists. */
bool sl_key_beyond(const sl_key_alphabet *alphabet, const char *first, const char *last,
                   uint32_t step, char *beyond, size_t bytes);

#endif
