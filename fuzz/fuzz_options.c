/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_options: any bytes as the loader's options, of any struct_size: rejected with a reason, or
 * in range.
 *
 * Pointers cannot come from a file. The bytes after the struct determine them: one for the device,
 * then one for each output. fuzz_columns covers requests with `columns`. */
#include "fuzz.h"

#include "api.h"
#include "config.h"

#include <stdbool.h>
#include <string.h>

/* Size of a caller's struct: it may be larger than ours. */
enum { GIVEN = 2 * sizeof(sluice_loader_options), OUTPUTS = 64 };

static const char *device_of(uint8_t byte)
{
    static const char *const devices[] = {NULL, "host", "cuda:0", ""};
    return devices[byte % 4];
}

/* Sets addresses, which are only compared: most are valid. */
static void fill_outputs(void **outputs, const uint8_t *bytes)
{
    static _Alignas(16) uint8_t memory[OUTPUTS * 16];
    for (size_t i = 0; i < OUTPUTS; i++) {
        outputs[i] = memory + i * 16;
        switch (bytes[i]) {
        case 1:
            outputs[i] = NULL;
            break;
        case 2:
            outputs[i] = memory + i * 16 + 8;
            break;
        case 3:
            outputs[i] = outputs[i / 2];
            break;
        default:
            break;
        }
    }
}

static bool is_output(const void *output)
{
    return output != NULL && (uintptr_t)output % 16 == 0;
}

/* Checks that there is a batch for each output, with writable memory. */
static void check_outputs(const sluice_loader_options *o)
{
    fuzz_expect(o->output_count >= 2 && o->output_count <= OUTPUTS, "output_count");
    fuzz_expect(o->device_slots == o->output_count, "a batch for each output");
    fuzz_expect(strcmp(o->device, "host") != 0 || o->prefetch == o->output_count,
                "a slot for each output in host memory");
    for (uint32_t i = 0; i < o->output_count; i++) {
        fuzz_expect(is_output(o->outputs[i]), "an output that can be used");
        for (uint32_t k = 0; k < i; k++) {
            fuzz_expect(o->outputs[i] != o->outputs[k], "outputs are distinct");
        }
    }
}

static void check_made(const sl_config *config)
{
    const sluice_loader_options *o = &config->options;
    fuzz_expect(o->batch_size >= 1 && o->batch_size <= 65536, "batch_size");
    fuzz_expect(o->rank < o->world_size, "rank < world_size");
    fuzz_expect(o->prefetch >= 2 && o->prefetch <= 64, "prefetch");
    fuzz_expect(o->workers >= 1 && o->workers <= 1024, "workers");
    fuzz_expect(config->lookahead >= 1 && config->inserts >= 1, "room to read ahead");
    fuzz_expect((o->outputs == NULL) == (o->output_count == 0), "outputs go with output_count");
    if (o->outputs != NULL) {
        check_outputs(o);
    }
}

int fuzz_run(const uint8_t *data, size_t size)
{
    static _Alignas(uint64_t) uint8_t given[GIVEN];
    uint8_t pointers[1 + OUTPUTS] = {0};
    if (size < sizeof(uint32_t)) {
        return 0;
    }
    memset(given, 0, sizeof(given));
    memcpy(given, data, size < sizeof(given) ? size : sizeof(given));
    if (size > sizeof(given)) {
        const size_t more = size - sizeof(given);
        memcpy(pointers, data + sizeof(given), more < sizeof(pointers) ? more : sizeof(pointers));
    }
    uint32_t struct_size;
    memcpy(&struct_size, given, sizeof(struct_size));
    struct_size %= sizeof(given) + 1;
    memcpy(given, &struct_size, sizeof(struct_size));

    sluice_loader_options options;
    void *outputs[OUTPUTS];
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_status status =
        sl_api_read_struct(&options, sizeof(options), given, "sluice_loader_options", &error);
    options.device = device_of(pointers[0]);
    options.quarantine_path = NULL;
    options.columns = NULL;
    fill_outputs(outputs, pointers + 1);
    options.outputs = options.outputs != NULL ? outputs : NULL;
    sl_dataset dataset = {.info = {.samples = 1000, .bytes = 1 << 20, .shards = 1}};
    sl_config config;
    if (status == SLUICE_OK) {
        status = sl_config_make(&config, &options, &dataset, &error);
    }
    if (status != SLUICE_OK) {
        fuzz_expect(status < 0 && error.text[0] != '\0', "a refusal has a reason");
        return 0;
    }
    check_made(&config);
    sl_config_use_columns(&config, &dataset,
                          &(sl_config_columns){.row_bytes = struct_size, .members = 1});
    check_made(&config);
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
    memset(buffer, 0, GIVEN + 1 + OUTPUTS);
    memcpy(buffer, &options, sizeof(options));
    return GIVEN + 1 + OUTPUTS;
}
