/* SPDX-License-Identifier: Apache-2.0 */
/*
 * meaning: what fields mean (sluice/dataset.h), compared, checked and put into words.
 *
 * Purpose: readers and writers set the meaning of a field; shards store it, joined datasets must
 * agree on it, and people read it. Threads: pure.
 */
#ifndef SL_MEANING_H
#define SL_MEANING_H

#include "error.h"
#include "value.h"

/* True if nothing is known. */
bool sl_meaning_is_empty(const sl_meaning *meaning);
/* True if both say the same. */
bool sl_meaning_is_same(const sl_meaning *a, const sl_meaning *b);

/* Returns the name of the field that field `number` is of, also where its meaning leaves that open
 * and just one can be meant. "": none. */
const char *sl_meaning_target(const sl_field *fields, uint32_t count, uint32_t number);

/*
 * Returns why the meaning of field `number` cannot be that of a field of its type, or refers to a
 * field that cannot have it: a literal sentence, which says what to write. NULL: it can.
 */
const char *sl_meaning_refuse(const sl_field *fields, uint32_t count, uint32_t number);
/*
 * As sl_meaning_refuse, of all fields. Also refuses a meaning that leaves something open: `of` is
 * empty and several fields could be meant, or which way up an image was annotated follows from
 * fields that do not exist. For fields that a user describes. INVALID: names the field.
 */
sluice_status sl_meanings_check(const sl_field *fields, uint32_t count, sluice_error *error);
/*
 * For a choice of some of a dataset's fields: removes meaning that is no longer true, since it
 * refers to a field that was not chosen.
 */
void sl_meanings_keep(sl_field *fields, uint32_t count);

/* Returns a checksum of what all fields mean. 0: nothing is known. */
uint64_t sl_meanings_sum(const sl_field *fields, uint32_t count);

/* Writes what the field means in words: "boxes, xywh in pixels, of the upright image". "": nothing
 * is known. Cuts what does not fit. */
void sl_meaning_text(const sl_field *field, char *text, size_t bytes);

#endif
