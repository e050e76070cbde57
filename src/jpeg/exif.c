/* SPDX-License-Identifier: Apache-2.0 */
#include "exif.h"

#include <stdbool.h>
#include <string.h>

enum {
    FIRST_SEGMENT = 0xC0,
    MARKER_RST0 = 0xD0,
    MARKER_SOS = 0xDA,
    MARKER_APP1 = 0xE1,
    TIFF_SHORT = 3,
    TAG_ORIENTATION = 0x0112,
    ENTRY_BYTES = 12
};

static const char signature[6] = "Exif\0";

typedef struct tiff {
    sl_bytes bytes;
    bool big_endian;
} tiff;

static bool inside(sl_bytes bytes, size_t offset, size_t count)
{
    return offset <= bytes.size && count <= bytes.size - offset;
}

static uint32_t exif_load16(const tiff *file, size_t offset)
{
    const uint8_t *p = file->bytes.data + offset;
    return file->big_endian ? (uint32_t)p[0] << 8 | p[1] : (uint32_t)p[1] << 8 | p[0];
}

static uint32_t exif_load32(const tiff *file, size_t offset)
{
    uint32_t first = exif_load16(file, offset);
    uint32_t second = exif_load16(file, offset + 2);
    return file->big_endian ? first << 16 | second : second << 16 | first;
}

/* The orientation in the first directory of a TIFF file. */
static uint32_t orientation_in_tiff(sl_bytes bytes)
{
    tiff file = {bytes, false};
    if (bytes.size < 8 ||
        (memcmp(bytes.data, "II*\0", 4) != 0 && memcmp(bytes.data, "MM\0*", 4) != 0)) {
        return 1;
    }
    file.big_endian = bytes.data[0] == 'M';
    size_t directory = exif_load32(&file, 4);
    if (!inside(bytes, directory, 2)) {
        return 1;
    }
    uint32_t entries = exif_load16(&file, directory);
    for (uint32_t i = 0; i < entries; i++) {
        size_t entry = directory + 2 + (size_t)i * ENTRY_BYTES;
        if (!inside(bytes, entry, ENTRY_BYTES)) {
            return 1;
        }
        if (exif_load16(&file, entry) == TAG_ORIENTATION) {
            uint32_t value = exif_load16(&file, entry + 8);
            bool usable =
                exif_load16(&file, entry + 2) == TIFF_SHORT && exif_load32(&file, entry + 4) == 1;
            return usable && value >= 1 && value <= 8 ? value : 1;
        }
    }
    return 1;
}

/* Markers that open a segment with a length, before the scan. */
static bool has_segment(uint32_t marker)
{
    return marker >= FIRST_SEGMENT && (marker < MARKER_RST0 || marker > MARKER_SOS);
}

uint32_t sl_exif_orientation_of_block(sl_bytes block)
{
    if (block.size >= sizeof(signature) && memcmp(block.data, signature, sizeof(signature)) == 0) {
        block.data += sizeof(signature);
        block.size -= sizeof(signature);
    }
    return orientation_in_tiff(block);
}

uint32_t sl_exif_orientation(sl_bytes jpeg)
{
    size_t at = 2;
    while (inside(jpeg, at, 4) && jpeg.data[at] == 0xFF) {
        uint32_t marker = jpeg.data[at + 1];
        if (marker == 0xFF) { /* a fill byte */
            at++;
            continue;
        }
        size_t length = (size_t)jpeg.data[at + 2] << 8 | jpeg.data[at + 3];
        if (!has_segment(marker) || length < 2 || !inside(jpeg, at + 2, length)) {
            return 1;
        }
        if (marker == MARKER_APP1 && length >= 2 + sizeof(signature) &&
            memcmp(jpeg.data + at + 4, signature, sizeof(signature)) == 0) {
            size_t head = 2 + sizeof(signature);
            return orientation_in_tiff((sl_bytes){jpeg.data + at + 2 + head, length - head});
        }
        at += 2 + length;
    }
    return 1;
}
