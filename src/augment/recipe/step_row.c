/* SPDX-License-Identifier: Apache-2.0 */
/* Functions shared by several steps_*.c files. Pure. */
#include "step_row.h"

#include "error.h"

const char *const sl_resize_words[] = {"nearest", "bilinear", "bicubic", "lanczos", NULL};
const char *const sl_pad_words[] = {"constant", "edge", "reflect", "symmetric", NULL};

void sl_step_size_given(const double *arguments, uint32_t *width, uint32_t *height)
{
    *width = (uint32_t)arguments[0];
    *height = (uint32_t)arguments[1];
}

void sl_step_size_unknown(const double *arguments, uint32_t *width, uint32_t *height)
{
    (void)arguments;
    *width = *height = 0;
}

uint32_t sl_step_two_operations(const double *arguments)
{
    (void)arguments;
    return 2;
}

sluice_status sl_draw_padding(sl_drawing *drawing, const sl_padding *p)
{
    const uint64_t width = (uint64_t)drawing->width + p->left + p->right;
    const uint64_t height = (uint64_t)drawing->height + p->top + p->bottom;
    if (width == drawing->width && height == drawing->height) {
        return SLUICE_OK;
    }
    if (width > INT32_MAX / 2 || height > INT32_MAX / 2) {
        return sl_error_set(drawing->error, SLUICE_UNSUPPORTED, "augment",
                            "an image of %u x %u is too large to be padded", drawing->width,
                            drawing->height);
    }
    if (p->mode == SL_PAD_CONSTANT) {
        return sl_draw_crop(drawing, -(int64_t)p->left, -(int64_t)p->top, (uint32_t)width,
                            (uint32_t)height, p->fill);
    }
    return sl_draw_border(drawing, p->left, p->top, (uint32_t)width, (uint32_t)height, p->mode);
}
