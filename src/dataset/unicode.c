/* SPDX-License-Identifier: Apache-2.0 */
#include "unicode.h"

#include <string.h>

/* Code points first..last in steps of `step`, which fold to themselves plus `add`. */
typedef struct fold_range {
    uint32_t first, last, step, add;
} fold_range;

/* From Unicode's CaseFolding.txt, status C: two-byte letters and up to full-width ones. */
static const fold_range ranges[] = {
    {'A', 'Z', 1, 32},       {0xC0, 0xD6, 1, 32},   {0xD8, 0xDE, 1, 32},    {0x100, 0x12E, 2, 1},
    {0x132, 0x136, 2, 1},    {0x139, 0x147, 2, 1},  {0x14A, 0x176, 2, 1},   {0x179, 0x17D, 2, 1},
    {0x391, 0x3A1, 1, 32},   {0x3A3, 0x3AB, 1, 32}, {0x3D8, 0x3EE, 2, 1},   {0x400, 0x40F, 1, 80},
    {0x410, 0x42F, 1, 32},   {0x460, 0x480, 2, 1},  {0x48A, 0x4BE, 2, 1},   {0x4C1, 0x4CD, 2, 1},
    {0x4D0, 0x52E, 2, 1},    {0x531, 0x556, 1, 48}, {0x1E00, 0x1E94, 2, 1}, {0x1EA0, 0x1EFE, 2, 1},
    {0xFF21, 0xFF3A, 1, 32},
};

static uint32_t case_fold_name(uint32_t point)
{
    for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++) {
        const fold_range *range = &ranges[i];
        if (point >= range->first && point <= range->last &&
            (point - range->first) % range->step == 0) {
            return point + range->add;
        }
    }
    return point;
}

static bool continues(unsigned char byte)
{
    return (byte & 0xC0) == 0x80;
}

/* Decodes one code point of two or three bytes; 0: other bytes. */
static uint32_t case_fold_decode(const unsigned char *p, size_t *length)
{
    if ((p[0] & 0xE0) == 0xC0 && continues(p[1])) {
        *length = 2;
        return ((uint32_t)(p[0] & 0x1F) << 6) | (p[1] & 0x3Fu);
    }
    if ((p[0] & 0xF0) == 0xE0 && continues(p[1]) && continues(p[2])) {
        *length = 3;
        return ((uint32_t)(p[0] & 0x0F) << 12) | ((uint32_t)(p[1] & 0x3F) << 6) | (p[2] & 0x3Fu);
    }
    return 0;
}

/* Encodes a code point; folding never changes its encoded length. */
static void case_fold_encode(uint32_t point, size_t length, char *to)
{
    if (length == 2) {
        to[0] = (char)(0xC0 | (point >> 6));
    } else {
        to[0] = (char)(0xE0 | (point >> 12));
        to[1] = (char)(0x80 | ((point >> 6) & 0x3F));
    }
    to[length - 1] = (char)(0x80 | (point & 0x3F));
}

void sl_case_fold(const char *name, char *folded)
{
    const unsigned char *p = (const unsigned char *)name;
    while (*p) {
        size_t length = 1;
        uint32_t point = *p < 0x80 ? 0 : case_fold_decode(p, &length);
        if (point != 0) {
            case_fold_encode(case_fold_name(point), length, folded);
        } else {
            *folded = (char)(*p < 0x80 ? case_fold_name(*p) : *p);
        }
        folded += length;
        p += length;
    }
    *folded = '\0';
}

/* ---- UTF-8 ---- */

/* Returns the size of the character at `at`; 0: not UTF-8. */
static size_t sign_bytes(sl_bytes text, size_t at)
{
    const uint8_t first = text.data[at];
    const size_t bytes = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (first == 0 || (first >= 0x80 && first < 0xc2) || first > 0xf4 || bytes > text.size - at) {
        return 0;
    }
    for (size_t i = 1; i < bytes; i++) {
        if ((text.data[at + i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    const uint8_t second = bytes > 1 ? text.data[at + 1] : 0;
    const bool wrong = (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
                       (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
    return wrong ? 0 : bytes;
}

bool sl_is_utf8(sl_bytes text)
{
    for (size_t at = 0; at < text.size;) {
        const size_t bytes = sign_bytes(text, at);
        if (bytes == 0) {
            return false;
        }
        at += bytes;
    }
    return true;
}
