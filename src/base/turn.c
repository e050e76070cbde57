/* SPDX-License-Identifier: Apache-2.0 */
/* Maps of the eight EXIF orientations. Pure. */
#include "turn.h"

#include "error.h"

#include <stdio.h>
#include <string.h>

static bool turns_columns(uint32_t orientation)
{
    return orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
}

static bool turns_rows(uint32_t orientation)
{
    return orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
}

static bool exchanges_axes(uint32_t orientation)
{
    return orientation >= 5;
}

uint32_t sl_turn_inverse(uint32_t orientation)
{
    return orientation == 6 ? 8 : orientation == 8 ? 6 : orientation;
}

void sl_turn_point(const sl_turn *turn, double point[2])
{
    const double x = turns_columns(turn->orientation) ? turn->width - point[0] : point[0];
    const double y = turns_rows(turn->orientation) ? turn->height - point[1] : point[1];
    const bool exchanged = exchanges_axes(turn->orientation);
    point[0] = exchanged ? y : x;
    point[1] = exchanged ? x : y;
}

void sl_turn_box(const sl_turn *turn, float box[4])
{
    double a[2] = {box[0], box[1]};
    double b[2] = {box[2], box[3]};
    sl_turn_point(turn, a);
    sl_turn_point(turn, b);
    for (size_t i = 0; i < 2; i++) {
        box[i] = (float)(a[i] < b[i] ? a[i] : b[i]);
        box[i + 2] = (float)(a[i] < b[i] ? b[i] : a[i]);
    }
}

void sl_turn_matrix(const sl_turn *turn, double to[9])
{
    const double x[3] = {turns_columns(turn->orientation) ? -1 : 1, 0,
                         turns_columns(turn->orientation) ? turn->width : 0};
    const double y[3] = {0, turns_rows(turn->orientation) ? -1 : 1,
                         turns_rows(turn->orientation) ? turn->height : 0};
    const double last[3] = {0, 0, 1};
    const bool exchanged = exchanges_axes(turn->orientation);
    memcpy(to, exchanged ? y : x, sizeof(x));
    memcpy(to + 3, exchanged ? x : y, sizeof(y));
    memcpy(to + 6, last, sizeof(last));
}

void sl_turn_before(const sl_turn *turn, const double matrix[9], double to[9])
{
    double own[9];
    sl_turn_matrix(turn, own);
    for (size_t i = 0; i < 9; i++) {
        const double *row = matrix + i / 3 * 3;
        to[i] = row[0] * own[i % 3] + row[1] * own[i % 3 + 3] + row[2] * own[i % 3 + 6];
    }
}

void sl_turn_pixels(const sl_turn *turn, const uint8_t *from, uint8_t *to, size_t bytes)
{
    const bool exchanged = exchanges_axes(turn->orientation);
    const uint32_t columns = exchanged ? turn->height : turn->width;
    const uint32_t rows = exchanged ? turn->width : turn->height;
    for (uint32_t row = 0; row < rows; row++) {
        for (uint32_t column = 0; column < columns; column++) {
            uint32_t x = exchanged ? row : column;
            uint32_t y = exchanged ? column : row;
            x = turns_columns(turn->orientation) ? turn->width - 1 - x : x;
            y = turns_rows(turn->orientation) ? turn->height - 1 - y : y;
            memcpy(to, from + ((size_t)y * turn->width + x) * bytes, bytes);
            to += bytes;
        }
    }
}

bool sl_turn_keeps_size(const sl_turn *turn)
{
    return !sl_turn_is_none(turn) &&
           (!exchanges_axes(turn->orientation) || turn->width == turn->height);
}

sluice_orientation sl_turn_by_size(const sl_turn *stored, int64_t width, int64_t height)
{
    const bool exchanged = exchanges_axes(stored->orientation);
    const bool as_stored = width == stored->width && height == stored->height;
    const bool as_upright =
        exchanged ? width == stored->height && height == stored->width : as_stored;
    if (as_stored && as_upright) {
        return sl_turn_is_none(stored) ? SLUICE_ORIENTATION_STORED : SLUICE_ORIENTATION_AUTO;
    }
    return as_stored    ? SLUICE_ORIENTATION_STORED
           : as_upright ? SLUICE_ORIENTATION_UPRIGHT
                        : SLUICE_ORIENTATION_BY_SIZE;
}

sluice_status sl_turn_refuse(const sl_turn *stored, const int64_t annotated[2], sluice_error *error)
{
    char upright[64] = "";
    if (exchanges_axes(stored->orientation)) {
        (void)snprintf(upright, sizeof(upright), " as stored, %u x %u upright", stored->height,
                       stored->width);
    }
    return sl_error_set(error, SLUICE_CORRUPT, "decode",
                        "the image is %u x %u (width x height)%s, but was annotated as %lld x %lld",
                        stored->width, stored->height, upright, (long long)annotated[0],
                        (long long)annotated[1]);
}
