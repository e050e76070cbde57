/* SPDX-License-Identifier: Apache-2.0 */
#include "hsv.h"

#include <math.h>

float sl_hsv_factor(double factor)
{
    double least = 0;
    double most = INFINITY;
    for (int x = 1; x < 256; x++) {
        const double whole = floor(x * factor);
        const double low = whole / x;
        const double high = (whole + 1) / x;
        least = low > least ? low : least;
        most = high < most ? high : most;
    }
    return (float)((least + most) / 2);
}

static int32_t hsv_largest(int32_t a, int32_t b, int32_t c)
{
    const int32_t larger = a > b ? a : b;
    return larger > c ? larger : c;
}

/* Returns an entry of OpenCV's tables; the smallest divisor, where there is none, gives 0 times it,
 * 0. */
static int32_t hsv_divided(int32_t by, int32_t x)
{
    return (int32_t)lrintf((float)by / (float)(x > 1 ? x : 1));
}

/* Returns H, 0 to 179, of a pixel whose chroma is C. */
static int32_t hsv_hue(const uint8_t *pixel, int32_t most, int32_t chroma)
{
    const int32_t red = pixel[0];
    const int32_t green = pixel[1];
    const int32_t blue = pixel[2];
    int32_t sixths = red - green + 4 * chroma;
    if (red == most) {
        sixths = green - blue;
    } else if (green == most) {
        sixths = blue - red + 2 * chroma;
    }
    const int32_t sum = sixths * hsv_divided(SL_HSV_HUE, chroma) + SL_HSV_UNIT / 2;
    const int32_t hue = (sum + SL_HSV_TURN * SL_HSV_UNIT) / SL_HSV_UNIT - SL_HSV_TURN;
    return hue < 0 ? hue + SL_HSV_TURN : hue;
}

static float hsv_scaled(int32_t x, float factor)
{
    return fminf(truncf((float)x * factor), 255.0F);
}

void sl_hsv_pixel(uint8_t *pixel, const sl_hsv_change *change)
{
    /* The places of V, of the smallest, and of the one between, by sextant. */
    static const uint8_t orders[6][3] = {{0, 2, 1}, {1, 2, 0}, {1, 0, 2},
                                         {2, 0, 1}, {2, 1, 0}, {0, 1, 2}};
    const int32_t most = hsv_largest(pixel[0], pixel[1], pixel[2]);
    const int32_t chroma = most + hsv_largest(-pixel[0], -pixel[1], -pixel[2]);
    const int32_t saturation =
        (chroma * hsv_divided(SL_HSV_SATURATION, most) + SL_HSV_UNIT / 2) / SL_HSV_UNIT;
    const int32_t hue = (hsv_hue(pixel, most, chroma) + change->hue) % SL_HSV_TURN;
    const float value = hsv_scaled(most, change->value);
    const float s = hsv_scaled(saturation, change->saturation) * SL_HSV_LEAST;
    const float v = value * SL_HSV_LEAST;
    const float sixths = (float)hue * SL_HSV_SIXTH;
    const int sextant = (int)sixths;
    const float part = sixths - (float)sextant;
    const float grade = sextant % 2 != 0 ? part : 1.0F - part;
    pixel[orders[sextant][0]] = (uint8_t)value;
    pixel[orders[sextant][1]] = (uint8_t)(v * (1.0F - s) * 255.0F);
    pixel[orders[sextant][2]] = (uint8_t)(v * fmaf(-s, grade, 1.0F) * 255.0F);
}
