/* SPDX-License-Identifier: Apache-2.0 */
#include "utf8.h"

/* Bytes of the character that begins at `at`; 0: not UTF-8. */
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
