/* SPDX-License-Identifier: Apache-2.0 */
/*
 * meaning: compares, checks and describes the meanings of fields (sluice/dataset.h).
 *
 * Purpose: readers and writers set the meaning of a field; shards store it, joined datasets must
 * agree on it, and users read it. Threads: pure.
 */
#ifndef SL_MEANING_H
#define SL_MEANING_H

#include "error.h"
#include "value.h"

/* True if nothing is known. */
bool sl_meaning_is_empty(const sl_meaning *meaning);
/* True if both are equal. */
bool sl_meaning_is_same(const sl_meaning *a, const sl_meaning *b);

/*
 * Returns the name of the field that field `number` refers to, including an unspecified reference
 * with only one candidate. "": none.
 */
const char *sl_meaning_target(const sl_field *fields, uint32_t count, uint32_t number);

/*
 * Returns why field `number` cannot have its meaning, because of its type or of the field that it
 * refers to: a literal text, which says what to write. NULL: it can.
 */
const char *sl_meaning_refuse(const sl_field *fields, uint32_t count, uint32_t number);
/*
 * Does the same for all fields, and rejects ambiguous meanings: `of` is empty and several fields
 * could be meant, or the orientation in which an image was annotated depends on missing fields. For
 * fields that a user describes. INVALID: names the field.
 */
sluice_status sl_meanings_check(const sl_field *fields, uint32_t count, sluice_error *error);
/*
 * Removes meanings that no longer hold for a selection of a dataset's fields, since they refer to a
 * field that was not chosen.
 */
void sl_meanings_keep(sl_field *fields, uint32_t count);

/* Returns a checksum of the meanings of all fields. 0: none is known. */
uint64_t sl_meanings_sum(const sl_field *fields, uint32_t count);

/*
 * Describes the field's meaning: "boxes, xywh in pixels, of the upright image". "": unknown.
 * Truncates a text that does not fit.
 */
void sl_meaning_text(const sl_field *field, char *text, size_t bytes);

#endif
