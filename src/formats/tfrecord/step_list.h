/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_list: a feature_list of a tf.train.SequenceExample, and what is made of its steps.
 *
 * Purpose: FeatureList.feature = 1, a Feature (feature.h) for each step. A step
 * without values may be of any kind. Threads: pure. No allocation.
 */
#ifndef SL_STEP_LIST_H
#define SL_STEP_LIST_H

#include "feature.h"
#include "number_list.h"
#include "packed_value.h"
#include "wire.h"

/* What a list means. */
typedef enum sl_steps_kind {
    SL_STEPS_I64, /* these three: the values of all steps, one behind the other */
    SL_STEPS_F32,
    SL_STEPS_BYTES,
    SL_STEPS_TEXT, /* a JSON array with each step's text, null for a step without a value */
    SL_STEPS_KINDS
} sl_steps_kind;

typedef struct sl_step_facts {
    uint64_t steps;
    uint64_t least, most; /* numbers of a step, or bytes; without steps UINT64_MAX and 0 */
    uint64_t bytes;       /* of what is meant */
} sl_step_facts;

/* The next step. False: there is none, or `*why`, a literal then, says what is wrong with it. */
bool sl_step_next(sl_wire *steps, sl_feature_list *step, const char **why);

/* Looks at all of a list. NULL, or what is wrong with it: a literal. */
const char *sl_steps_look(sl_steps_kind kind, sl_bytes list, sl_step_facts *facts);
/* Writes what is meant: as many bytes as sl_steps_look counted. False: they are not so many. */
bool sl_steps_read(sl_steps_kind kind, sl_bytes list, void *to, uint64_t bytes);

/* Values that are such a list, by its kind (packed_value.h). */
extern const sl_value_packing sl_value_packing_steps[SL_STEPS_KINDS];

#endif
