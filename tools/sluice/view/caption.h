/* SPDX-License-Identifier: Apache-2.0 */
/* caption: what stands above the pictures of a row, and above those of all. Main thread. */
#ifndef TOOL_CAPTION_H
#define TOOL_CAPTION_H

#include "view_job.h"

enum { CAPTION_BYTES = 640, CAPTION_STEPS_BYTES = 2400 };

/* "#7  2 tench  n01440764/7.jpg": number, label, class and key of row `row`. */
void caption_row(const struct view *view, uint32_t row, char *text, size_t bytes);
/* "1 random_resized_crop:224:224, 2 random_flip": which picture shows what. */
void caption_steps(const struct view *view, char *text, size_t bytes);

#endif
