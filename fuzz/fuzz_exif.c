/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_exif: the EXIF orientation of any bytes is 1..8. */
#include "fuzz.h"

#include "exif.h"
#include "jpeg_make.h"

#include <string.h>

int fuzz_run(const uint8_t *data, size_t size)
{
    uint32_t orientation = sl_exif_orientation((sl_bytes){data, size});
    fuzz_expect(orientation >= 1 && orientation <= 8, "orientation is 1..8");
    return 0;
}

size_t fuzz_seed(unsigned index, uint8_t *buffer)
{
    if (index >= 32)
        return 0;
    jpeg_options options = {.orientation = (int)(index % 8) + 1,
                            .exif_big_endian = index / 8 % 2 == 1,
                            .exif_long = index >= 16};
    jpeg_file file = jpeg_make_pattern(8, 8, index, &options);
    /* the rest of the file does not matter to this parser */
    size_t size = file.size < 128 ? file.size : 128;
    memcpy(buffer, file.data, size);
    jpeg_free(&file);
    return size;
}
