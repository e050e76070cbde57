/* SPDX-License-Identifier: Apache-2.0 */
/*
 * augment_text: steps of a recipe as text, STEP[:ARGUMENT...][+STEP...]. An argument is a number or
 * a word ("bicubic"), in the step's order, or NAME=VALUE. A list is NAME=VALUE:VALUE...; it is the
 * last argument, so without its name it is all that follows the others. The steps of a group stand
 * in parentheses behind it: random_choice(random_grayscale:1+random_solarize:128:1). "timm:" and a
 * string of timm's is that policy. What the library knows of its steps says what may stand there.
 * Main thread. Functions that return false have reported why, or the recipe holds the reason.
 */
#ifndef TOOL_AUGMENT_TEXT_H
#define TOOL_AUGMENT_TEXT_H

#include <sluice/augment.h>

#include <stdbool.h>
#include <stddef.h>

/* As many steps as a recipe has, with all their arguments. */
enum { AUGMENT_TEXT_STEPS = 48, AUGMENT_TEXT_BYTES = 16384 };

/* Steps side by side, each with its arguments and its group. */
struct augment_text {
    uint32_t count;
    const char *steps[AUGMENT_TEXT_STEPS];
    size_t used;
    char bytes[AUGMENT_TEXT_BYTES];
};

/* Cuts `text` at the "+" that are in no parentheses, and adds its steps. A step that is called as
 * one of the first `replaceable` takes its place. */
bool augment_text_cut(struct augment_text *list, const char *text, uint32_t replaceable);
/* Adds one step as a printf-style text. */
bool augment_text_put(struct augment_text *list, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Whether it is one over the batch, a mix of its rows. */
bool augment_text_mixes(const char *step);
/* Adds it to the recipe, with all that is in it. */
bool augment_text_add(sluice_augment *recipe, const char *step);

#endif
