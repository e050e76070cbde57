/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_list: a feature_list of a tf.train.SequenceExample, and values from its steps.
 *
 * Purpose: reads FeatureList.feature = 1, a Feature (feature.h) per step. A step without values may
 * be of any kind. Threads: pure. No allocation.
 */
#ifndef SL_STEP_LIST_H
#define SL_STEP_LIST_H

#include "feature.h"
#include "number_list.h"
#include "packed_value.h"
#include "wire.h"

/* The meaning of a list. */
typedef enum sl_steps_kind {
    SL_STEPS_I64, /* these three: the values of all steps, without gaps */
    SL_STEPS_F32,
    SL_STEPS_BYTES,
    SL_STEPS_TEXT, /* a JSON array of each step's text, null for a step without a value */
    SL_STEPS_KINDS
} sl_steps_kind;

typedef struct sl_step_facts {
    uint64_t steps;
    uint64_t least, most; /* numbers per step, or bytes; without steps UINT64_MAX and 0 */
    uint64_t bytes;       /* size of the output */
} sl_step_facts;

/* Reads the next step. False: no more, or damage; then `*why` is the error, a literal. */
bool sl_step_next(sl_wire *steps, sl_feature_list *step, const char **why);

/* Examines a whole list. Returns the error, a literal, or NULL. */
const char *sl_steps_look(sl_steps_kind kind, sl_bytes list, sl_step_facts *facts);
/* Writes the output, of the size counted by sl_steps_look. False: the size differs. */
bool sl_steps_read(sl_steps_kind kind, sl_bytes list, void *to, uint64_t bytes);

/* Packing of values that are such a list, by kind (packed_value.h). */
extern const sl_value_packing sl_value_packing_steps[SL_STEPS_KINDS];

#endif
