/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_shard: any bytes as a shard file. Input: one byte that says which checksums to correct first
 * (otherwise no mutation would pass them), then the file. */
#include "dataset_run.h"

#include "seal_shard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int fuzz_run(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    uint8_t seals = data[0];
    size_t bytes = size - 1;
    uint8_t *file = malloc(size);
    fuzz_expect(file != NULL, "a megabyte of memory");
    memcpy(file, data + 1, bytes);
    fuzz_seal_shard(file, bytes, seals);
    char path[4096];
    snprintf(path, sizeof(path), "%s/" FUZZ_SHARD, fuzz_suspect_folder(0));
    fuzz_suspect_write(FUZZ_SHARD, file, bytes);
    free(file);
    fuzz_dataset_run(path);
    return 0;
}

size_t fuzz_seed(unsigned index, uint8_t *buffer)
{
    /* all checksums corrected, or none */
    if (index >= 2 * FUZZ_DATASETS)
        return 0;
    buffer[0] = index < FUZZ_DATASETS ? FUZZ_SEALS : 0;
    return 1 + fuzz_dataset_file(index % FUZZ_DATASETS, FUZZ_SHARD, buffer + 1);
}
