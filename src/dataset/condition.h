/* SPDX-License-Identifier: Apache-2.0 */
/*
 * condition: parses and evaluates conditions that select samples by their numeric fields.
 *
 *     condition  = and { ("or" | "||") and }
 *     and        = not { ("and" | "&&") not }
 *     not        = ("not" | "!") not | "(" condition ")" | comparison
 *     comparison = NAME ("==" | "=" | "!=" | "<" | "<=" | ">" | ">=") value
 *                | NAME ["not"] "in" "(" value { "," value } ")"
 *     value      = NUMBER | "NAME OF A CLASS" (of the field "label")
 *
 * NAME is an integer or float field. Integers are compared exactly. A sample that lacks the field
 * fails every comparison of it.
 * Threads: immutable once made. Ownership: sl_condition_close.
 */
#ifndef SL_CONDITION_H
#define SL_CONDITION_H

#include "dataset.h"

typedef struct sl_condition sl_condition;

/* Parses a condition. Errors: INVALID (with the cause and the character's number), NOMEM. */
sluice_status sl_condition_make(sl_condition **condition, const char *text,
                                const sl_dataset *dataset, sluice_error *error);
void sl_condition_close(sl_condition *condition); /* NULL is a no-op */
/* Returns the fields that the condition needs. */
uint64_t sl_condition_fields(const sl_condition *condition);
bool sl_condition_holds(const sl_condition *condition, const sl_values *values);

#endif
