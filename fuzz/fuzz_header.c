/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_header: any bytes as a JPEG's header. What our reader takes libjpeg takes too, and
 * understands the same by it.
 */
#include "fuzz.h"

#include "jpeg_header.h"
#include "jpeg_make.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* a copy of exact size, so that a read past its end is seen */
    uint8_t *copy = malloc(size > 0 ? size : 1);
    fuzz_expect(copy != NULL, "a megabyte of memory");
    memcpy(copy, data, size);
    bool taken;
    const char *difference = jpeg_header_difference((sl_bytes){copy, size}, &taken);
    fuzz_expect(difference == NULL, difference);
    free(copy);
    return 0;
}

static const jpeg_options kinds[] = {
    {0},
    {.colour = JPEG_GREY, .restart_interval = 3},
    {.colour = JPEG_GREY, .h_factor = 2, .v_factor = 3},
    {.h_factor = 1, .v_factor = 1, .orientation = 6},
    {.h_factor = 2, .v_factor = 1, .restart_interval = 1},
    {.h_factor = 1, .v_factor = 2, .quality = 1},
    {.h_factor = 4, .v_factor = 1},
    {.colour = JPEG_RGB},
    {.colour = JPEG_CMYK},
    {.progressive = true},
    {.separate_scans = true},
};
enum { KINDS = sizeof(kinds) / sizeof(*kinds) };

size_t fuzz_seed(unsigned index, uint8_t *buffer)
{
    if (index >= KINDS)
        return 0;
    jpeg_file file = jpeg_make_pattern(9, 7, index, &kinds[index]);
    memcpy(buffer, file.data, file.size);
    const size_t size = file.size;
    jpeg_free(&file);
    return size;
}
