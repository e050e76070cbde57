/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_options: any bytes as the loader's options, of any struct_size: refused with a reason, or in
 * range.
 */
#include "fuzz.h"

#include "api.h"
#include "config.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* what a caller's struct may be: larger than ours, with the rest of the input as its tail */
    static _Alignas(uint64_t) uint8_t given[2 * sizeof(sluice_loader_options)];
    if (size < sizeof(uint32_t))
        return 0;
    memset(given, 0, sizeof(given));
    memcpy(given, data, size < sizeof(given) ? size : sizeof(given));
    uint32_t struct_size;
    memcpy(&struct_size, given, sizeof(struct_size));
    struct_size %= sizeof(given) + 1;
    memcpy(given, &struct_size, sizeof(struct_size));

    sluice_loader_options options;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_status status =
        sl_api_read_struct(&options, sizeof(options), given, "sluice_loader_options", &error);
    /* pointers cannot come from a file */
    options.device = NULL;
    options.quarantine_path = NULL;
    void *blocks[64] = {NULL}; /* as many as there may be: addresses are only compared */
    memcpy(blocks, given, sizeof(blocks) < sizeof(given) ? sizeof(blocks) : sizeof(given));
    options.outputs = options.outputs != NULL ? blocks : NULL;
    sl_dataset dataset = {.info = {.samples = 1000, .bytes = 1 << 20, .shards = 1}};
    sl_config config;
    if (status == SLUICE_OK)
        status = sl_config_make(&config, &options, &dataset, &error);
    if (status != SLUICE_OK) {
        fuzz_expect(status < 0 && error.text[0] != '\0', "a refusal has a reason");
        return 0;
    }
    fuzz_expect(config.options.batch_size >= 1 && config.options.batch_size <= 65536, "batch_size");
    fuzz_expect(config.options.rank < config.options.world_size, "rank < world_size");
    fuzz_expect(config.options.prefetch >= 2 && config.options.prefetch <= 64, "prefetch");
    fuzz_expect(config.options.workers >= 1 && config.options.workers <= 1024, "workers");
    return 0;
}

size_t fuzz_seed(unsigned index, uint8_t *buffer)
{
    sluice_loader_options options;
    sluice_loader_options_init(&options);
    switch (index) {
    case 0:
        break;
    case 1:
        options.batch_size = 64;
        options.workers = 3;
        options.rank = 1;
        options.world_size = 4;
        options.shuffle = SLUICE_SHUFFLE_BLOCK;
        break;
    case 2:
        options.struct_size = 16; /* an older header */
        break;
    case 3:
        memset(&options.outputs, 1, sizeof(options.outputs)); /* any but NULL */
        options.output_count = 3;
        break;
    default:
        return 0;
    }
    memcpy(buffer, &options, sizeof(options));
    return sizeof(options);
}
