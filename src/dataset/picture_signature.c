/* SPDX-License-Identifier: Apache-2.0 */
#include "picture_signature.h"

bool sl_begins_picture(sl_bytes bytes)
{
    static const struct {
        uint8_t offset, size;
        const char *bytes;
    } known[] = {
        {0, 3, "\xff\xd8\xff"}, {0, 8, "\x89PNG\r\n\x1a\n"}, {8, 4, "WEBP"}, {0, 4, "GIF8"},
        {0, 2, "BM"},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (bytes.size > (size_t)known[i].offset + known[i].size &&
            memcmp(bytes.data + known[i].offset, known[i].bytes, known[i].size) == 0) {
            return true;
        }
    }
    return false;
}
