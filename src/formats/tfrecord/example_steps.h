/* SPDX-License-Identifier: Apache-2.0 */
/*
 * example_steps: values from a feature_list of a tf.train.SequenceExample, of all of its steps or
 * of one. Threads: pure. No allocation.
 */
#ifndef SL_EXAMPLE_STEPS_H
#define SL_EXAMPLE_STEPS_H

#include "example_fields.h"

/* The value of a tensor or text of all steps, but for its offset. NULL, or why it cannot be that.
 */
const char *sl_example_steps_take(const sl_field *field, const sl_example_field *of, sl_bytes list,
                                  sl_value *value);
/* The Feature of of->element; of kind NONE where there are fewer. NULL, or why the list is bad. */
const char *sl_example_steps_find(const sl_example_field *of, sl_bytes list,
                                  sl_feature_list *found);

#endif
