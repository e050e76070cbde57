/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conversion kernels for tests that wrap the three functions: the library's own, or, if it is built
 * without them and SLUICE_TEST_KERNELS names tests/data/conversion.ptx.zst, that text as PTX and as
 * a fatbin that contains only PTX.
 */
#include "conversion_ptx.h"
#include "error.h"
#include "memory.h"

#include <stdlib.h>
#include <string.h>

bool __real_sl_conversion_has_images(void);
sluice_status __real_sl_conversion_unpack_fatbin(void **fatbin, sluice_error *error);
sluice_status __real_sl_conversion_unpack_ptx(char **ptx, sluice_error *error);
bool __wrap_sl_conversion_has_images(void);
sluice_status __wrap_sl_conversion_unpack_fatbin(void **fatbin, sluice_error *error);
sluice_status __wrap_sl_conversion_unpack_ptx(char **ptx, sluice_error *error);

/* Returns the text after `head_bytes`, in library memory; NULL: no text is available. */
static char *text_behind(size_t head_bytes)
{
    const char *file = getenv("SLUICE_TEST_KERNELS");
    if (file == NULL || __real_sl_conversion_has_images()) {
        return NULL;
    }
    char *text = conversion_ptx_unpack(file);
    char *placed = sl_malloc(head_bytes + strlen(text) + 1);
    if (placed != NULL) {
        memcpy(placed + head_bytes, text, strlen(text) + 1);
    }
    free(text);
    return placed;
}

bool __wrap_sl_conversion_has_images(void)
{
    return __real_sl_conversion_has_images() || getenv("SLUICE_TEST_KERNELS") != NULL;
}

sluice_status __wrap_sl_conversion_unpack_ptx(char **ptx, sluice_error *error)
{
    *ptx = text_behind(0);
    if (*ptx == NULL) {
        return __real_sl_conversion_unpack_ptx(ptx, error);
    }
    sl_error_clear(error);
    return SLUICE_OK;
}

sluice_status __wrap_sl_conversion_unpack_fatbin(void **fatbin, sluice_error *error)
{
    /* Header of the fatbin, and of its only part. */
    struct {
        uint32_t magic;
        uint16_t version, head_bytes;
        uint64_t bytes;
        uint16_t part_kind, part_version;
        uint32_t part_head_bytes;
        uint64_t part_bytes;
    } head = {.magic = 0xBA55ED50,
              .version = 1,
              .head_bytes = 16,
              .part_kind = 1, /* PTX */
              .part_version = 1,
              .part_head_bytes = 16};
    char *image = text_behind(sizeof(head));
    if (image == NULL) {
        return __real_sl_conversion_unpack_fatbin(fatbin, error);
    }
    head.part_bytes = strlen(image + sizeof(head)) + 1;
    head.bytes = head.part_bytes + head.part_head_bytes;
    memcpy(image, &head, sizeof(head));
    *fatbin = image;
    sl_error_clear(error);
    return SLUICE_OK;
}
