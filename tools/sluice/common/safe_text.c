/* SPDX-License-Identifier: Apache-2.0 */
#include "safe_text.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

size_t utf8_decode(const char *text, uint32_t *point)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *bytes = (const unsigned char *)text;
    const size_t length = bytes[0] < 0x80             ? 1
                          : (bytes[0] & 0xe0) == 0xc0 ? 2
                          : (bytes[0] & 0xf0) == 0xe0 ? 3
                          : (bytes[0] & 0xf8) == 0xf0 ? 4
                                                      : 0;
    *point = bytes[0];
    if (length < 2) {
        return length;
    }
    *point &= 0x7fU >> length;
    for (size_t i = 1; i < length; i++) {
        if ((bytes[i] & 0xc0) != 0x80) {
            return 0; /* the final NUL ends here too */
        }
        *point = *point << 6 | (bytes[i] & 0x3fU);
    }
    const bool wrong =
        *point < least[length] || *point > 0x10ffff || (*point >= 0xd800 && *point <= 0xdfff);
    return wrong ? 0 : length;
}

const char *safe_text(char *safe, size_t bytes, const char *text)
{
    size_t used = 0;
    while (*text != '\0') {
        char escaped[20] = "";
        uint32_t point;
        const size_t found = utf8_decode(text, &point);
        const size_t taken = found > 0 ? found : 1;
        size_t length = taken;
        if (found == 0 || SAFE_TEXT_IS_CONTROL(point)) {
            length = 0;
            for (size_t i = 0; i < taken; i++) {
                length += (size_t)snprintf(escaped + length, sizeof escaped - length, "\\x%02x",
                                           (unsigned char)text[i]);
            }
        }
        if (used + length + 1 > bytes) {
            break;
        }
        memcpy(safe + used, escaped[0] != '\0' ? escaped : text, length);
        used += length;
        text += taken;
    }
    safe[used] = '\0';
    return safe;
}
