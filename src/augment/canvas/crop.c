/* SPDX-License-Identifier: Apache-2.0 */
#include "crop.h"

#include "resample.h"

#include <string.h>

static bool is_own_size(const sl_axis *axis)
{
    return axis->box_size == (double)axis->virtual_size &&
           axis->box_start == (double)axis->limit_start;
}

/* Finds the outputs [*begin, *end) of the axis that show pixels. */
static void find_shown(const sl_axis *axis, uint32_t *begin, uint32_t *end)
{
    const int64_t outputs = axis->outputs;
    const int64_t before = -(int64_t)axis->first;
    const int64_t until = before + axis->virtual_size;
    const int64_t first = before > 0 ? before : 0;
    const int64_t last = until < outputs ? until : outputs;
    *begin = first < last ? (uint32_t)first : 0;
    *end = first < last ? (uint32_t)last : 0;
}

static void crop_copy(const uint8_t *in, uint8_t *out, size_t pixels)
{
    memcpy(out, in, pixels * 3);
}

bool sl_crop_open(sl_crop *crop, sl_simd simd, const sl_image *view, const sl_mapping *mapping)
{
    sl_axis across;
    sl_axis down;
    sl_mapping_axes(mapping, view->denominator, &across, &down);
    if (!is_own_size(&across) || !is_own_size(&down)) {
        return false;
    }
    *crop = (sl_crop){.stride_bytes = (ptrdiff_t)view->stride_bytes, .width = mapping->width};
    crop->copy = mapping->flip_x ? sl_resample_kernels_for(simd)->mirror : crop_copy;
    find_shown(&across, &crop->left, &crop->right);
    find_shown(&down, &crop->top, &crop->bottom);
    if (crop->left == crop->right || crop->top == crop->bottom) {
        crop->top = crop->bottom = 0;
        return true;
    }
    const int64_t x = (int64_t)across.limit_start + across.first + crop->left - view->origin_x;
    const int64_t y = (int64_t)down.limit_start + down.first + crop->top - view->origin_y;
    crop->pixels = view->pixels + (size_t)y * view->stride_bytes + (size_t)x * 3;
    if (mapping->flip_x) {
        const uint32_t left = crop->left;
        crop->left = mapping->width - crop->right;
        crop->right = mapping->width - left;
    }
    if (mapping->flip_y) {
        const uint32_t top = crop->top;
        crop->pixels += (ptrdiff_t)(crop->bottom - top - 1) * crop->stride_bytes;
        crop->stride_bytes = -crop->stride_bytes;
        crop->top = mapping->height - crop->bottom;
        crop->bottom = mapping->height - top;
    }
    return true;
}

void sl_crop_row(const sl_crop *crop, uint32_t row, uint8_t *out)
{
    if (row < crop->top || row >= crop->bottom) {
        memset(out, 0, (size_t)crop->width * 3);
        return;
    }
    const size_t left = (size_t)crop->left * 3;
    const size_t right = (size_t)crop->right * 3;
    const size_t end = (size_t)crop->width * 3;
    if (left > 0) {
        memset(out, 0, left);
    }
    crop->copy(crop->pixels + (ptrdiff_t)(row - crop->top) * crop->stride_bytes, out + left,
               crop->right - crop->left);
    if (right < end) {
        memset(out + right, 0, end - right);
    }
}
