/* SPDX-License-Identifier: Apache-2.0 */
#include "safe_text.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The longest character is 4 bytes, and no byte needs more than this. */
#define ESCAPE_BYTES 4U

static uint32_t safe_text_length_of(uint8_t lead)
{
    return lead < 0x80             ? 1
           : (lead & 0xe0) == 0xc0 ? 2
           : (lead & 0xf0) == 0xe0 ? 3
           : (lead & 0xf8) == 0xf0 ? 4
                                   : 0;
}

/* Returns the length of the UTF-8 sequence at `at`; 0 if invalid (overlong, a surrogate, cut). */
static uint32_t safe_text_decode(const uint8_t *at, size_t left, uint32_t *point)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const uint32_t length = safe_text_length_of(at[0]);
    *point = at[0];
    if (length < 2) {
        return length;
    }
    if (length > left) {
        return 0;
    }
    *point &= 0x7fU >> length;
    for (uint32_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            return 0;
        }
        *point = *point << 6 | (at[i] & 0x3fU);
    }
    const bool surrogate = *point >= 0xd800 && *point <= 0xdfff;
    return *point < least[length] || *point > 0x10ffff || surrogate ? 0 : length;
}

static bool is_control(uint32_t point)
{
    return point < 0x20 || (point >= 0x7f && point < 0xa0);
}

/* Writes `count` bytes as \xNN; returns the length. */
static size_t safe_text_escape(char *out, const uint8_t *from, size_t count)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < count; i++) {
        const char escaped[] = {'\\', 'x', digits[from[i] >> 4], digits[from[i] & 15]};
        memcpy(out + i * ESCAPE_BYTES, escaped, ESCAPE_BYTES);
    }
    return count * ESCAPE_BYTES;
}

size_t sl_safe_text(char *out, size_t bytes, const char *text, size_t length)
{
    const uint8_t *from = (const uint8_t *)text;
    size_t left = strnlen(text, length);
    size_t total = 0;
    size_t kept = 0;
    while (left > 0) {
        char piece[4 * ESCAPE_BYTES];
        uint32_t point;
        const size_t found = safe_text_decode(from, left, &point);
        const size_t taken = found > 0 ? found : 1;
        size_t made = taken;
        if (found == 0 || is_control(point)) {
            made = safe_text_escape(piece, from, taken);
        } else {
            memcpy(piece, from, taken);
        }
        if (kept == total && kept + made < bytes) { /* nothing was left out before */
            memcpy(out + kept, piece, made);
            kept += made;
        }
        total += made;
        from += taken;
        left -= taken;
    }
    if (bytes > 0) {
        out[kept] = '\0';
    }
    return total;
}
