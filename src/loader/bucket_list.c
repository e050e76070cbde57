/* SPDX-License-Identifier: Apache-2.0 */
/* bucket_list: parses option buckets, and finds the nearest size of an image. Pure. */
#include "bucketing.h"

#include "error.h"

#include <stdlib.h>
#include <string.h>

enum { SIDE_MAX = 16384, SHOWN = 40 };

/* Reads a side, and moves past it. 0: invalid. */
static uint32_t read_number(const char **text)
{
    char *end = NULL;
    if (**text < '1' || **text > '9') {
        return 0;
    }
    const unsigned long side = strtoul(*text, &end, 10);
    *text = end;
    return side <= SIDE_MAX ? (uint32_t)side : 0;
}

/* Reads "832x1216", up to a comma or the end. */
static bool read_size(const char **text, sluice_size *size)
{
    size->width = read_number(text);
    if (size->width == 0 || **text != 'x') {
        return false;
    }
    (*text)++;
    size->height = read_number(text);
    return size->height > 0 && (**text == ',' || **text == '\0');
}

static sluice_status refuse_list(sluice_error *error, const char *at, const char *why)
{
    return sl_error_set(error, SLUICE_INVALID, "loader",
                        "option " SL_OPTION("buckets") ": at \"%.*s\": %s", SHOWN, at, why);
}

static bool bucket_list_is_there(const sl_bucketing *b, const sluice_size *size)
{
    for (uint32_t i = 0; i < b->count; i++) {
        if (b->sizes[i].width == size->width && b->sizes[i].height == size->height) {
            return true;
        }
    }
    return false;
}

sluice_status sl_bucketing_read(sl_bucketing *b, const char *text, sluice_error *error)
{
    b->count = 0;
    for (const char *at = text;;) {
        const char *begin = at;
        sluice_size size;
        if (!read_size(&at, &size)) {
            return refuse_list(
                error, begin,
                "expected sizes WIDTHxHEIGHT, 1 to 16384 pixels each, separated by commas");
        }
        if (bucket_list_is_there(b, &size)) {
            return refuse_list(error, begin, "this size occurs twice");
        }
        if (b->count == SL_BUCKETS_MAX) {
            return refuse_list(error, begin, "must be at most 64 sizes");
        }
        b->sizes[b->count++] = size;
        if (*at == '\0') {
            return SLUICE_OK;
        }
        at++;
    }
}

/* ---- the nearest ---- */

/* A ratio, 1 or more. */
typedef struct ratio {
    uint64_t over, under;
} ratio;

/* Returns the distance of two aspect ratios as their quotient: ordering by it equals ordering by
 * the difference of their logarithms, and whole numbers are the same on every machine. */
static ratio bucket_list_distance(const sluice_size *a, const sluice_size *b)
{
    const uint64_t left = (uint64_t)a->width * b->height;
    const uint64_t right = (uint64_t)a->height * b->width;
    return left > right ? (ratio){left, right} : (ratio){right, left};
}

/* Returns < 0, 0, > 0: a is less than, equal to, more than b. Compares continued fractions, since
 * products would have more than 64 bits. */
static int compare_ratios(ratio a, ratio b)
{
    for (int sign = 1;; sign = -sign) {
        const uint64_t whole_a = a.over / a.under;
        const uint64_t whole_b = b.over / b.under;
        if (whole_a != whole_b) {
            return whole_a < whole_b ? -sign : sign;
        }
        const uint64_t rest_a = a.over % a.under;
        const uint64_t rest_b = b.over % b.under;
        if (rest_a == 0 || rest_b == 0) {
            return rest_a == rest_b ? 0 : rest_a == 0 ? -sign : sign;
        }
        a = (ratio){a.under, rest_a};
        b = (ratio){b.under, rest_b};
    }
}

uint32_t sl_bucketing_nearest(const sl_bucketing *b, sluice_size size)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < b->count; i++) {
        const sluice_size *own = &b->sizes[i];
        const sluice_size *other = &b->sizes[best];
        const int order =
            compare_ratios(bucket_list_distance(&size, own), bucket_list_distance(&size, other));
        const uint64_t area = (uint64_t)own->width * own->height;
        if (order < 0 || (order == 0 && area > (uint64_t)other->width * other->height)) {
            best = i;
        }
    }
    return best;
}
