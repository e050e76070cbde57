/* SPDX-License-Identifier: Apache-2.0 */
/*
 * example_steps: values from a feature_list of a tf.train.SequenceExample, from all of its steps or
 * from one. Threads: pure. No allocation.
 */
#ifndef SL_EXAMPLE_STEPS_H
#define SL_EXAMPLE_STEPS_H

#include "example_fields.h"

/*
 * Makes the value of a tensor or text from all steps, except for its offset. Returns NULL, or why
 * it cannot.
 */
const char *sl_example_steps_take(const sl_field *field, const sl_example_field *of, sl_bytes list,
                                  sl_value *value);
/*
 * Finds the Feature of of->element; its kind is NONE if there are fewer. Returns NULL, or why the
 * list is bad.
 */
const char *sl_example_steps_find(const sl_example_field *of, sl_bytes list,
                                  sl_feature_list *found);

#endif
