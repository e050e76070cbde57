/* SPDX-License-Identifier: Apache-2.0 */
/* caption: the words that a sheet has of its dataset, its rows and its tiles. Main thread. */
#ifndef TOOL_CAPTION_H
#define TOOL_CAPTION_H

#include "view_job.h"

enum { CAPTION_BYTES = 640, CAPTION_STEPS_BYTES = 2400 };

/* Below a whole picture. */
#define CAPTION_SOURCE "picture"

/* "8 of 5000 samples, in epochs 0 to 5": what a sheet shows. */
void caption_sheet(const struct view *view, char *text, size_t bytes);
/* "#7  2 tench": number, label and class of row `row`. */
void caption_title(const struct view *view, uint32_t row, char *text, size_t bytes);
/* The key of its sample; of a long one the end. */
void caption_key(const struct view *view, uint32_t row, char *text, size_t bytes);
/* Both: "#7  2 tench  n01440764/7.jpg". */
void caption_row(const struct view *view, uint32_t row, char *text, size_t bytes);
/* "corrupt: not a picture": why row `row` is bad; empty if it is not. */
void caption_reason(const struct view *view, uint32_t row, char *text, size_t bytes);
/* "epoch 3", or with several pictures "epoch 3: small"; with --each-step "3 random_flip". Empty if
 * each row has one tile. */
void caption_tile(const struct view *view, uint64_t draw, uint32_t picture, char *text,
                  size_t bytes);
/* "1 random_resized_crop:224:224, 2 random_flip": which picture shows what. */
void caption_steps(const struct view *view, char *text, size_t bytes);

#endif
