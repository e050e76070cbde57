/* SPDX-License-Identifier: Apache-2.0 */
/*
 * augment_text: steps of a recipe as text, STEP[:ARGUMENT...][+STEP...]. An argument is a number or
 * a word ("bicubic"), in the step's order, or NAME=VALUE. A list is NAME=VALUE:VALUE...; it is the
 * last argument, so without its name it consists of all remaining values. The steps of a group
 * follow it in parentheses: random_choice(random_grayscale:1+random_solarize:128:1). "timm:" and
 * one of timm's strings is that policy. The library's table of steps defines the valid arguments.
 * Main thread. Functions that return false have reported the error, or the recipe has it.
 */
#ifndef TOOL_AUGMENT_TEXT_H
#define TOOL_AUGMENT_TEXT_H

#include <sluice/augment.h>

#include <stdbool.h>
#include <stddef.h>

/* Maximum steps of a recipe, with all their arguments. */
enum { AUGMENT_TEXT_STEPS = 48, AUGMENT_TEXT_BYTES = 16384 };

/* Consecutive steps, each with its arguments and its group. */
struct augment_text {
    uint32_t count;
    const char *steps[AUGMENT_TEXT_STEPS];
    size_t used;
    char bytes[AUGMENT_TEXT_BYTES];
};

/* Splits `text` at the "+" outside parentheses, and adds its steps. A step with the name of one
 * of the first `replaceable` replaces it. */
bool augment_text_cut(struct augment_text *list, const char *text, uint32_t replaceable);
/* Adds one step as a printf-style text. */
bool augment_text_put(struct augment_text *list, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Returns whether the step is over the batch, a mix of its rows. */
bool augment_text_mixes(const char *step);
/* Adds the step to the recipe, with its arguments and group. */
bool augment_text_add(sluice_augment *recipe, const char *step);

#endif
