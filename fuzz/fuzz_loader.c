/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_loader: any bytes as a dataset, from opening it to the batches of an epoch. Input:
 * HEAD_BYTES that choose the kind of file and the loader's options, then the file. An epoch must
 * have the announced number of rows, and each bad sample is a masked row, a replaced one, or an
 * error with a reason. */
#include "dataset_run.h"

#include "seal_shard.h"
#include "tar_make.h"

#include <sluice/sluice.h>

#include <stdlib.h>
#include <string.h>

enum { HEAD_BYTES = 3, SIDE = 8, KIND_SHARD = 0, KIND_TAR, KIND_ROWS, KINDS };
/* Steps beyond what any dataset makes of a megabyte are not requested. */
enum { STEPS_MOST = 600 };

static const char *const names[KINDS] = {FUZZ_SHARD, "a.tar", "rows.npy"};

/* Writes the file into an otherwise empty folder, without earlier files. */
static void make_path(char path[4096], unsigned kind)
{
    const char *folder = fuzz_suspect_folder(0);
    (void)snprintf(path, 4096, "%s/%s", folder, names[kind]);
}

static sluice_loader_options options_of(const uint8_t *head)
{
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    options.batch_size = 1 + head[1] % 4;
    options.workers = 1 + (head[1] >> 2 & 1);
    options.on_bad_sample = head[1] >> 3 & 3;
    if (options.on_bad_sample > SLUICE_BAD_MASK)
        options.on_bad_sample = SLUICE_BAD_MASK;
    options.last_batch = (head[1] >> 5) % 5;
    options.shuffle = head[2] & 3;
    options.prefetch = 2;
    options.seed = head[2] >> 3;
    options.whole_samples = head[2] >> 2 & 1;
    options.memory_bytes = (uint64_t)96 << 20;
    options.max_sample_bytes = 1 << 20;
    options.max_pixels = 1 << 18;
    return options;
}

static sluice_loader *open_loader(sluice_dataset *dataset, const sluice_loader_options *options,
                                  bool pictures)
{
    sluice_augment *recipe = NULL;
    sluice_loader *loader = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    if (pictures) {
        fuzz_expect(sluice_augment_create(&recipe) == SLUICE_OK &&
                        sluice_augment_random_resized_crop(recipe, SIDE, SIDE, 0.1, 1.0, 0.75,
                                                           1.33) == SLUICE_OK,
                    "a recipe");
    }
    const sluice_status status = sluice_loader_open(&loader, dataset, recipe, options, &error);
    fuzz_expect((status == SLUICE_OK) == (loader != NULL), "a loader, or a reason");
    fuzz_expect(status == SLUICE_OK || error.text[0] != '\0', "an error has a text");
    sluice_augment_destroy(recipe);
    return loader;
}

/* Reads a whole batch, so that a sanitizer detects missing or uninitialized memory. */
static void read_batch(const sluice_batch *batch)
{
    volatile uint8_t sum = 0;
    for (uint32_t i = 0; i < sluice_batch_columns(batch); i++) {
        sluice_tensor tensor = SLUICE_TENSOR_INIT;
        if (sluice_batch_get_column(batch, i, &tensor) != SLUICE_OK)
            continue;
        for (uint64_t k = 0; k < tensor.size_bytes; k++)
            sum = (uint8_t)(sum + ((const uint8_t *)tensor.data)[k]);
    }
}

static void run_epoch(sluice_loader *loader)
{
    sluice_batch *batch = NULL;
    uint64_t steps = 0;
    sluice_status status = sluice_loader_start_epoch(loader, 3);
    while (status == SLUICE_OK && steps < STEPS_MOST) {
        status = sluice_loader_next(loader, &batch, -1);
        if (status == SLUICE_OK) {
            read_batch(batch);
            sluice_batch_release(batch);
            steps++;
        }
    }
    if (status == SLUICE_END) {
        fuzz_expect(steps == sluice_loader_steps(loader), "an epoch has the steps that it says");
    } else if (status != SLUICE_OK) {
        sluice_error error = SLUICE_ERROR_INIT;
        (void)sluice_loader_get_error(loader, &error);
        fuzz_expect(status != SLUICE_INTERNAL, "no data are a bug");
        fuzz_expect(error.text[0] != '\0', "an error has a text");
    }
}

static void run_dataset(const char *path, const sluice_loader_options *options)
{
    sluice_dataset *dataset = NULL;
    if (sluice_dataset_open(&dataset, &path, 1, NULL, NULL) != SLUICE_OK)
        return;
    sluice_loader *loader = open_loader(dataset, options, true);
    if (loader == NULL)
        loader = open_loader(dataset, options, false);
    sluice_dataset_close(dataset);
    if (loader != NULL)
        run_epoch(loader);
    sluice_loader_close(loader);
}

int fuzz_run(const uint8_t *data, size_t size)
{
    char path[4096];
    if (size < HEAD_BYTES)
        return 0;
    const size_t bytes = size - HEAD_BYTES;
    const unsigned kind = data[0] % KINDS;
    uint8_t *file = malloc(size);
    fuzz_expect(file != NULL, "a megabyte of memory");
    memcpy(file, data + HEAD_BYTES, bytes);
    if (kind == KIND_SHARD)
        fuzz_seal_shard(file, bytes, data[0] / KINDS < 64 ? FUZZ_SEALS : 0);
    make_path(path, kind);
    fuzz_suspect_write(names[kind], file, bytes);
    free(file);
    const sluice_loader_options options = options_of(data);
    run_dataset(path, &options);
    return 0;
}

/* ---- seeds ---- */

static size_t tar_seed(uint8_t *file)
{
    size_t at = 0;
    for (unsigned i = 0; i < 5; i++) {
        char name[32];
        uint8_t pixels[SIDE * SIDE * 3 + 16];
        const size_t bytes =
            (size_t)snprintf((char *)pixels, sizeof(pixels), "P6 %d %d 255\n", SIDE, SIDE);
        memset(pixels + bytes, (int)i * 40, sizeof(pixels) - bytes);
        (void)snprintf(name, sizeof(name), "%u.json", i);
        at += tar_put(file + at, name, "{\"x\": 1}", 8);
        (void)snprintf(name, sizeof(name), "%u.cls", i);
        at += tar_put(file + at, name, i % 2 ? "1" : "0", 1);
        (void)snprintf(name, sizeof(name), "%u.bin", i);
        at += tar_put(file + at, name, pixels, sizeof(pixels));
    }
    return at + tar_put_end(file + at);
}

static size_t rows_seed(uint8_t *file)
{
    static const char head[] =
        "\x93NUMPY\1\0\x76\0{'descr': '<f4', 'fortran_order': False, 'shape': (9, 4), }";
    const size_t begin = 128;
    const size_t bytes = (size_t)9 * 4 * sizeof(float);
    memset(file, ' ', begin);
    memcpy(file, head, sizeof(head) - 1);
    file[begin - 1] = '\n';
    for (size_t i = 0; i < bytes; i++)
        file[begin + i] = (uint8_t)i;
    return begin + bytes;
}

size_t fuzz_seed(unsigned index, uint8_t *buffer)
{
    static const uint8_t ways[][2] = {{0x43, 0x02}, {0x6d, 0x0d}, {0x12, 0x43}};
    enum { WAYS = sizeof(ways) / sizeof(*ways), FILES = FUZZ_DATASETS + 2 };
    if (index >= WAYS * FILES)
        return 0;
    const unsigned file = index % FILES;
    memcpy(buffer + 1, ways[index / FILES], 2);
    buffer[0] = (uint8_t)(file < FUZZ_DATASETS ? KIND_SHARD : KIND_TAR + file - FUZZ_DATASETS);
    uint8_t *to = buffer + HEAD_BYTES;
    return HEAD_BYTES + (file < FUZZ_DATASETS    ? fuzz_dataset_file(file, FUZZ_SHARD, to)
                         : buffer[0] == KIND_TAR ? tar_seed(to)
                                                 : rows_seed(to));
}
