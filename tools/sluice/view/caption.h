/* SPDX-License-Identifier: Apache-2.0 */
/* caption: the texts of a sheet about its dataset, its rows and its tiles. Main thread. */
#ifndef TOOL_CAPTION_H
#define TOOL_CAPTION_H

#include "view_job.h"

enum { CAPTION_BYTES = 640, CAPTION_STEPS_BYTES = 2400 };

/* Label of a whole image. */
#define CAPTION_SOURCE "picture"

/* Writes "8 of 5000 samples, in epochs 0 to 5": the contents of a sheet. */
void caption_sheet(const struct view *view, char *text, size_t bytes);
/* Writes "#7  2 tench": number, label and class of row `row`. */
void caption_title(const struct view *view, uint32_t row, char *text, size_t bytes);
/* Writes the key of its sample; the end of a long one. */
void caption_key(const struct view *view, uint32_t row, char *text, size_t bytes);
/* Writes both: "#7  2 tench  n01440764/7.jpg". */
void caption_row(const struct view *view, uint32_t row, char *text, size_t bytes);
/* Writes "corrupt: not a picture": why row `row` is bad; empty if it is not. */
void caption_reason(const struct view *view, uint32_t row, char *text, size_t bytes);
/* Writes "epoch 3", or with several images "epoch 3: small"; with --each-step "3 random_flip".
 * Empty if each row has one tile. */
void caption_tile(const struct view *view, uint64_t draw, uint32_t picture, char *text,
                  size_t bytes);
/* Writes "1 random_resized_crop:224:224, 2 random_flip": the steps of each image. */
void caption_steps(const struct view *view, char *text, size_t bytes);

#endif
