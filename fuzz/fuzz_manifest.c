/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_manifest: any bytes as the manifest beside a sound shard. Input: one byte (which checksums
 * to correct, which dataset), then the file. */
#include "dataset_run.h"

#include "little_endian.h"
#include "shard_format.h"

#include <stdlib.h>
#include <string.h>

enum { SEAL_HEADER = 1, SEAL_ROWS = 2, SEAL_META = 4, SEALS = 8 };
/* Bytes of a manifest's header: docs/format.md, section 8. */
enum { ROWS_BYTES = 56, ROWS_SUM = 64, META_OFFSET = 72, META_BYTES = 80, META_SUM = 88 };
enum { PAGE_SUM = SL_PAGE_BYTES - 8 };

int fuzz_run(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    uint8_t seals = data[0] % SEALS;
    size_t bytes = size - 1;
    uint8_t *file = malloc(size);
    fuzz_expect(file != NULL, "a megabyte of memory");
    memcpy(file, data + 1, bytes);
    if (bytes >= SL_PAGE_BYTES) {
        if (seals & SEAL_ROWS)
            fuzz_seal(file, bytes, SL_PAGE_BYTES, sl_load64(file + ROWS_BYTES), ROWS_SUM);
        if (seals & SEAL_META) {
            fuzz_seal(file, bytes, sl_load64(file + META_OFFSET), sl_load64(file + META_BYTES),
                      META_SUM);
        }
        if (seals & SEAL_HEADER)
            fuzz_seal(file, bytes, 0, PAGE_SUM, PAGE_SUM);
    }
    const char *folder = fuzz_suspect_folder(data[0] / SEALS % FUZZ_DATASETS);
    fuzz_suspect_write(FUZZ_MANIFEST, file, bytes);
    free(file);
    fuzz_dataset_run(folder);
    return 0;
}

size_t fuzz_seed(unsigned index, uint8_t *buffer)
{
    if (index >= 2 * FUZZ_DATASETS)
        return 0;
    unsigned dataset = index % FUZZ_DATASETS;
    buffer[0] = (uint8_t)(dataset * SEALS + (index < FUZZ_DATASETS ? SEALS - 1 : 0));
    return 1 + fuzz_dataset_file(dataset, FUZZ_MANIFEST, buffer + 1);
}
