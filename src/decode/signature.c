/* SPDX-License-Identifier: Apache-2.0 */
#include "signature.h"

#include <string.h>

typedef struct signature {
    const char *name;
    uint8_t offset, size;
    char bytes[12];
} signature;

/* More exact ones first. */
static const signature signatures[] = {
    {"GIF", 0, 4, "GIF8"},
    {"TIFF", 0, 4, {'I', 'I', '*', 0}},
    {"TIFF", 0, 4, {'M', 'M', 0, '*'}},
    {"JPEG 2000", 0, 8, {0, 0, 0, 12, 'j', 'P', ' ', ' '}},
    {"JPEG 2000", 0, 4, "\xff\x4f\xff\x51"},
    {"JPEG XL", 0, 8, {0, 0, 0, 12, 'J', 'X', 'L', ' '}},
    {"JPEG XL", 0, 2, "\xff\x0a"},
    {"AVIF", 4, 8, "ftypavif"},
    {"HEIF", 4, 8, "ftypheic"},
    {"HEIF", 4, 8, "ftypmif1"},
    {"gzip", 0, 2, "\x1f\x8b"},
    {"zip", 0, 4, "PK\x03\x04"},
    {"zstd", 0, 4, "\x28\xb5\x2f\xfd"},
    {"PDF", 0, 4, "%PDF"},
    {"HTML", 0, 9, "<!DOCTYPE"},
    {"HTML", 0, 9, "<!doctype"},
    {"HTML", 0, 5, "<html"},
    {"BMP", 0, 2, "BM"},
    {"netpbm", 0, 2, "P5"},
    {"netpbm", 0, 2, "P6"},
};

const char *sl_signature_name(sl_bytes bytes)
{
    for (size_t i = 0; i < sizeof(signatures) / sizeof(signatures[0]); i++) {
        const signature *known = &signatures[i];
        if (bytes.size >= (size_t)known->offset + known->size &&
            memcmp(bytes.data + known->offset, known->bytes, known->size) == 0) {
            return known->name;
        }
    }
    return NULL;
}
