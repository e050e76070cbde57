/* SPDX-License-Identifier: Apache-2.0 */
#include "exif.h"

#include <stdbool.h>
#include <string.h>

enum {
    MARKER_STUFFED = 0x00,
    FIRST_SEGMENT = 0xC0,
    MARKER_RST0 = 0xD0,
    MARKER_SOI = 0xD8,
    MARKER_EOI = 0xD9,
    MARKER_SOS = 0xDA,
    MARKER_APP1 = 0xE1,
    TAG_ORIENTATION = 0x0112,
    ENTRY_BYTES = 12,
    INLINE_BYTES = 4
};

/* The types of TIFF, and the BigTIFF type that Pillow accepts in both. */
enum {
    TIFF_BYTE = 1,
    TIFF_ASCII = 2,
    TIFF_SHORT = 3,
    TIFF_LONG = 4,
    TIFF_RATIONAL = 5,
    TIFF_SBYTE = 6,
    TIFF_UNDEFINED = 7,
    TIFF_SSHORT = 8,
    TIFF_SLONG = 9,
    TIFF_SRATIONAL = 10,
    TIFF_FLOAT = 11,
    TIFF_DOUBLE = 12,
    TIFF_IFD = 13,
    TIFF_LONG8 = 16
};

/* Bytes of an element; 0: no such type. */
static const uint8_t type_bytes[TIFF_LONG8 + 1] = {
    [TIFF_BYTE] = 1,     [TIFF_ASCII] = 1,     [TIFF_SHORT] = 2,     [TIFF_LONG] = 4,
    [TIFF_RATIONAL] = 8, [TIFF_SBYTE] = 1,     [TIFF_UNDEFINED] = 1, [TIFF_SSHORT] = 2,
    [TIFF_SLONG] = 4,    [TIFF_SRATIONAL] = 8, [TIFF_FLOAT] = 4,     [TIFF_DOUBLE] = 8,
    [TIFF_IFD] = 4,      [TIFF_LONG8] = 8};

static const char signature[6] = "Exif\0";

typedef struct tiff {
    sl_bytes bytes;
    bool big_endian;
} tiff;

static bool inside(sl_bytes bytes, size_t offset, size_t count)
{
    return offset <= bytes.size && count <= bytes.size - offset;
}

/* Reads `count` bytes as a number. */
static uint64_t exif_load(const tiff *file, size_t offset, size_t count)
{
    uint64_t value = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t k = file->big_endian ? i : count - 1 - i;
        value = value << 8 | file->bytes.data[offset + k];
    }
    return value;
}

static uint32_t exif_load16(const tiff *file, size_t offset)
{
    return (uint32_t)exif_load(file, offset, 2);
}

static uint32_t exif_load32(const tiff *file, size_t offset)
{
    return (uint32_t)exif_load(file, offset, 4);
}

static double exif_ratio(const tiff *file, size_t offset, bool is_signed)
{
    const uint32_t above = exif_load32(file, offset);
    const uint32_t below = exif_load32(file, offset + 4);
    if (below == 0) {
        return 0;
    }
    return is_signed ? (double)(int32_t)above / (int32_t)below : (double)above / below;
}

/* Returns the first element as a number; 0 for texts and bytes. */
static double exif_value(const tiff *file, uint32_t type, size_t offset)
{
    const uint64_t bits = exif_load(file, offset, type_bytes[type]);
    float single = 0;
    double real = 0;
    switch (type) {
    case TIFF_SHORT:
    case TIFF_LONG:
    case TIFF_IFD:
    case TIFF_LONG8:
    case TIFF_SBYTE: /* negative values become large here, and just as invalid */
    case TIFF_SSHORT:
    case TIFF_SLONG:
        return (double)bits;
    case TIFF_RATIONAL:
    case TIFF_SRATIONAL:
        return exif_ratio(file, offset, type == TIFF_SRATIONAL);
    case TIFF_FLOAT:
        memcpy(&single, &(uint32_t){(uint32_t)bits}, sizeof(single));
        return (double)single;
    case TIFF_DOUBLE:
        memcpy(&real, &bits, sizeof(real));
        return real;
    default:
        return 0;
    }
}

static uint32_t orientation_of_value(double value)
{
    for (uint32_t orientation = 2; orientation <= 8; orientation++) {
        if (value == orientation) {
            return orientation;
        }
    }
    return 1;
}

/*
 * Returns the orientation in a directory, as Pillow reads it: the first element of an entry of any
 * numeric type and any count, and the last of several such entries. An entry whose elements end
 * outside of the block ends the directory; one of an unknown type, or without elements, is skipped.
 */
static uint32_t orientation_in_directory(const tiff *file, size_t directory)
{
    const uint32_t entries = exif_load16(file, directory);
    uint32_t orientation = 1;
    for (uint32_t i = 0; i < entries; i++) {
        const size_t entry = directory + 2 + (size_t)i * ENTRY_BYTES;
        if (!inside(file->bytes, entry, ENTRY_BYTES)) {
            break;
        }
        const uint32_t type = exif_load16(file, entry + 2);
        const uint64_t unit = type <= TIFF_LONG8 ? type_bytes[type] : 0;
        const uint64_t bytes = unit * exif_load32(file, entry + 4);
        const size_t at = bytes > INLINE_BYTES ? exif_load32(file, entry + 8) : entry + 8;
        if (!inside(file->bytes, at, bytes)) {
            break;
        }
        if (bytes > 0 && exif_load16(file, entry) == TAG_ORIENTATION) {
            orientation = orientation_of_value(exif_value(file, type, at));
        }
    }
    return orientation;
}

/* Returns the orientation in the first directory of a TIFF file. The magic number after the byte
 * order mark may have the other byte order. */
static uint32_t orientation_in_tiff(sl_bytes bytes)
{
    tiff file = {bytes, false};
    if (bytes.size < 8 || (memcmp(bytes.data, "II", 2) != 0 && memcmp(bytes.data, "MM", 2) != 0) ||
        (memcmp(bytes.data + 2, "*\0", 2) != 0 && memcmp(bytes.data + 2, "\0*", 2) != 0)) {
        return 1;
    }
    file.big_endian = bytes.data[0] == 'M';
    const size_t directory = exif_load32(&file, 4);
    return inside(bytes, directory, 2) ? orientation_in_directory(&file, directory) : 1;
}

uint32_t sl_exif_orientation_of_block(sl_bytes block)
{
    if (block.size >= sizeof(signature) && memcmp(block.data, signature, sizeof(signature)) == 0) {
        block.data += sizeof(signature);
        block.size -= sizeof(signature);
    }
    return orientation_in_tiff(block);
}

/* Returns whether a marker has no segment. */
static bool is_single(uint32_t marker)
{
    return marker == 0x01 || (marker >= MARKER_RST0 && marker <= MARKER_SOI);
}

/* Returns the offset of the next marker's FF, after junk, fill bytes and markers without a
 * segment. */
static size_t next_segment(sl_bytes jpeg, size_t at)
{
    while (inside(jpeg, at, 2)) {
        const uint32_t marker = jpeg.data[at + 1];
        if (jpeg.data[at] != 0xFF || marker == 0xFF) {
            at++;
        } else if (marker == MARKER_STUFFED || is_single(marker)) {
            at += 2;
        } else {
            return at;
        }
    }
    return jpeg.size;
}

uint32_t sl_exif_orientation(sl_bytes jpeg)
{
    size_t at = next_segment(jpeg, 2);
    while (inside(jpeg, at, 4)) {
        const uint32_t marker = jpeg.data[at + 1];
        const size_t length = (size_t)jpeg.data[at + 2] << 8 | jpeg.data[at + 3];
        if (marker < FIRST_SEGMENT || marker == MARKER_SOS || marker == MARKER_EOI || length < 2 ||
            !inside(jpeg, at + 2, length)) {
            return 1;
        }
        if (marker == MARKER_APP1 && length >= 2 + sizeof(signature) &&
            memcmp(jpeg.data + at + 4, signature, sizeof(signature)) == 0) {
            const size_t head = 2 + sizeof(signature);
            return orientation_in_tiff((sl_bytes){jpeg.data + at + 2 + head, length - head});
        }
        at = next_segment(jpeg, at + 2 + length);
    }
    return 1;
}
