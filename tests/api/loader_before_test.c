/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares batches of a small image folder and of shards in the format's first version, in all
 * dtypes and layouts, with their original checksums: no change to the library may change them.
 *
 *   loader_before_test FOLDER           the test; FOLDER: tests/data/before
 *   loader_before_test FOLDER --print   prints the table below for this build
 */
#include "test.h"

#include <sluice/sluice.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { SIDE = 40, EPOCHS = 2, DTYPES = 4, LAYOUTS = 2, RECIPES = 3, DATASETS = 3 };

static const char *root;
static const char *const datasets[DATASETS] = {"photos", "packed", "pixels"};

/* By dataset, recipe (train, evaluation, padded crop), dtype and layout. */
static const uint64_t expected[DATASETS][RECIPES][DTYPES][LAYOUTS] = {
    {{{0xb37917781e563b72, 0x5b2b0df49ec27a37},
      {0x210df1d2d46e6fe4, 0x8ae6da65e274cd90},
      {0xddeaf0f07b851956, 0x1972f6d4f5c70359},
      {0xb348d18cdd8bb470, 0x97bbb53c3e4f8852}},
     {{0x54e7293964036a7b, 0x660d38361abe1fca},
      {0xb6528870035d85b5, 0x1fdcaea1bc9535dc},
      {0x96cd06a3a0e33097, 0x4737b53e68be1fef},
      {0x41a384090a1ff510, 0xdb1f0cafb2d2deb0}},
     {{0xf4d02ae666bf5e4b, 0x531c80892e7563ed},
      {0x4020be5f72b997f1, 0xbfec2171ae7d3331},
      {0x79ccc69f5f071cdf, 0x6a98b89d9a709fb2},
      {0x9a75428d92ab26bd, 0xa604fcf2a8307734}}},
    {{{0xe2b94437fcc5cbed, 0x8a4bf851c08b47a2},
      {0xeccfeda99507d700, 0x7e465c3f0a9ef155},
      {0x2de5a03c840c0978, 0xea3cbf4906873aa7},
      {0xdf531cbf82990219, 0xf7c38a556a13ef25}},
     {{0x2456fc5825535d42, 0x0e9e248eb29ebb2e},
      {0x60e7ff23e6c16115, 0x94d4d7aa8dfdcb58},
      {0x0a147460e9830682, 0x3a7b7b624e8cf170},
      {0x4c4403fe6598a617, 0x899e0fddb9519cba}},
     {{0xd73ce312abff7009, 0x0408fff0b6004d72},
      {0xc9056ff1e5c3d167, 0x08a14f6bdc549876},
      {0x0d1b41e70fece5b6, 0x05a1266f1569f8d0},
      {0xbfe8b19b3fea9e88, 0xd1ac182e72d2f981}}},
    {{{0x88fa527c0288c46e, 0x9218d539eb5b0a17},
      {0xb993357bc8462003, 0x0d6e2353940cc339},
      {0x129f4a32cb0f4ac9, 0x8b98737f714cbabd},
      {0x96be9b0ba69f2035, 0x4977d7f20087a8bc}},
     {{0xb6a7d053a83ea268, 0xe58966cb603284e4},
      {0x6b894250a459c7f9, 0xbff5c53362bdefa9},
      {0x89641f0a194b0674, 0x4404dbac4199d264},
      {0x52f107813e13c19d, 0x9afa0b8fe179295f}},
     {{0x8b2125a25542fa05, 0xcb2291ac43e3863c},
      {0x15d43f5a2f7b06ad, 0x7277442d812aa1c0},
      {0xaa72ca69ff93f499, 0x636508c5b5c98e3b},
      {0x013e04f0e50b8d58, 0xdf6a0aed7bee3c2f}}},
};

static void must(sluice_status status)
{
    if (status < 0) {
        (void)fprintf(stderr, "%s\n", sluice_status_name(status));
        abort();
    }
}

static sluice_dataset *open_dataset(const char *name)
{
    char path[1024];
    (void)snprintf(path, sizeof(path), "%s/%s", root, name);
    const char *paths[] = {path};
    sluice_dataset *dataset = NULL;
    must(sluice_dataset_open(&dataset, paths, 1, NULL, NULL));
    return dataset;
}

static sluice_augment *make_recipe(int kind, bool floating)
{
    static const float mean[] = {0.485F, 0.456F, 0.406F};
    static const float deviation[] = {0.229F, 0.224F, 0.225F};
    sluice_augment *recipe = NULL;
    must(sluice_augment_create(&recipe));
    if (kind == 0) {
        must(sluice_augment_random_resized_crop(recipe, SIDE, SIDE, 0.08, 1.0, 0.75, 4.0 / 3));
        must(sluice_augment_color_jitter(recipe, 0.4, 0.4, 0.4));
    } else if (kind == 1) {
        must(sluice_augment_resize_center_crop(recipe, SIDE + 5, SIDE, SIDE - 7));
    } else {
        must(sluice_augment_random_crop(recipe, SIDE, SIDE, 4));
    }
    if (kind != 1) {
        must(sluice_augment_random_flip(recipe, 0.5));
    }
    if (floating) {
        must(sluice_augment_normalize(recipe, mean, deviation, 3));
    }
    return recipe;
}

static void add_tensor(XXH3_state_t *hash, const sluice_batch *batch, const char *name)
{
    sluice_tensor tensor = SLUICE_TENSOR_INIT;
    must(sluice_batch_tensor(batch, name, &tensor));
    (void)XXH3_64bits_update(hash, tensor.data, tensor.size_bytes);
}

static void add_epoch(XXH3_state_t *hash, sluice_loader *loader, uint64_t epoch)
{
    sluice_batch *batch = NULL;
    must(sluice_loader_start_epoch(loader, epoch));
    sluice_status status = sluice_loader_next(loader, &batch, -1);
    for (; status == SLUICE_OK; status = sluice_loader_next(loader, &batch, -1)) {
        add_tensor(hash, batch, "image");
        add_tensor(hash, batch, "label");
        add_tensor(hash, batch, "index");
        add_tensor(hash, batch, "mask");
        add_tensor(hash, batch, "status");
        sluice_batch_release(batch);
    }
    must(status);
}

/* All batches of EPOCHS epochs. */
static uint64_t hash_of(int data, int kind, int32_t dtype, int32_t layout, uint32_t workers)
{
    sluice_dataset *dataset = open_dataset(datasets[data]);
    sluice_augment *recipe = make_recipe(kind, dtype != SLUICE_U8);
    sluice_loader_options options;
    sluice_loader_options_init(&options);
    options.batch_size = 5;
    options.seed = 11;
    options.workers = workers;
    options.dtype = dtype;
    options.layout = layout;
    options.last_batch = SLUICE_LAST_PAD;
    options.on_bad_sample = SLUICE_BAD_MASK; /* small images have no padded crop */
    sluice_loader *loader = NULL;
    must(sluice_loader_open(&loader, dataset, recipe, &options, NULL));
    XXH3_state_t hash;
    (void)XXH3_64bits_reset(&hash);
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        add_epoch(&hash, loader, epoch);
    }
    sluice_loader_close(loader);
    sluice_augment_destroy(recipe);
    sluice_dataset_close(dataset);
    return XXH3_64bits_digest(&hash);
}

static void check(int data, int kind, uint32_t workers)
{
    uint64_t got[DTYPES][LAYOUTS];
    for (int32_t i = 0; i < DTYPES * LAYOUTS; i++) {
        got[i / LAYOUTS][i % LAYOUTS] = hash_of(data, kind, i / LAYOUTS, i % LAYOUTS, workers);
    }
    assert_memory_equal(got, expected[data][kind], sizeof(got));
}

TEST(batches_are_as_before)
{
    for (int data = 0; data < DATASETS; data++) {
        for (int kind = 0; kind < RECIPES; kind++) {
            check(data, kind, 1 + (uint32_t)kind);
        }
    }
}

static void print_table(void)
{
    for (int data = 0; data < DATASETS; data++) {
        printf("    {");
        for (int kind = 0; kind < RECIPES; kind++) {
            printf("%s{", kind > 0 ? "\n     " : "");
            for (int32_t dtype = 0; dtype < DTYPES; dtype++) {
                printf("%s{0x%016llx, 0x%016llx}", dtype > 0 ? ",\n      " : "",
                       (unsigned long long)hash_of(data, kind, dtype, 0, 2),
                       (unsigned long long)hash_of(data, kind, dtype, 1, 2));
            }
            printf("}%s", kind < RECIPES - 1 ? "," : "");
        }
        printf("},\n");
    }
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        (void)printf("usage: %s FOLDER [--print]\n", argv[0]);
        return 2;
    }
    root = argv[1];
    if (argc == 3 && strcmp(argv[2], "--print") == 0) {
        print_table();
        return 0;
    }
    return test_run(NULL, NULL);
}
