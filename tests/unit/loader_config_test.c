/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loader's options: the meaning of 0, the limits of each range, rejected values and their
 * messages, and settings derived from the options and the dataset.
 */
#include "config.h"
#include "cpu.h"
#include "read_arena.h"
#include "test.h"

#include <string.h>

#define MIB       (UINT64_C(1) << 20)
#define SECOND_NS UINT64_C(1000000000)
#define ROW_BYTES UINT64_C(150528) /* 224 x 224 x 3 */

/* Large enough for any batch, small enough for the page cache. */
static sl_dataset dataset_of(uint64_t samples, uint64_t bytes)
{
    return (sl_dataset){.info = {.samples = samples, .bytes = bytes, .shards = 1}};
}

/* Makes the configuration as a loader does. */
static sluice_status make(sl_config *config, const sluice_loader_options *options,
                          const sl_dataset *dataset, sluice_error *error)
{
    const sluice_status status = sl_config_make(config, options, dataset, error);
    return status == SLUICE_OK
               ? sl_config_check_epoch(config, sl_dataset_epoch_samples(dataset), error)
               : status;
}

static sl_config made_with(const sluice_loader_options *options, uint64_t samples, uint64_t bytes,
                           bool pictures)
{
    const sl_dataset dataset = dataset_of(samples, bytes);
    sluice_error error = SLUICE_ERROR_INIT;
    sl_config config;
    const sluice_status status = make(&config, options, &dataset, &error);
    if (status != SLUICE_OK) {
        fail_msg("refused: %s", error.text);
    }
    sl_config_use_columns(&config, &dataset, &(sl_config_columns){pictures, ROW_BYTES, 1});
    return config;
}

static sl_config made(const sluice_loader_options *options, uint64_t samples, uint64_t bytes)
{
    return made_with(options, samples, bytes, true);
}

static void refused(const sluice_loader_options *options, uint64_t samples, const char *words)
{
    const sl_dataset dataset = dataset_of(samples, 0);
    sluice_error error = SLUICE_ERROR_INIT;
    sl_config config;
    assert_int_equal(make(&config, options, &dataset, &error), SLUICE_INVALID);
    assert_int_equal(error.status, SLUICE_INVALID);
    assert_string_equal(error.stage, "loader");
    if (strstr(error.text, words) == NULL) {
        fail_msg("'%s' does not say '%s'", error.text, words);
    }
}

/* ---- defaults ---- */

TEST(zero_is_the_default)
{
    const sluice_loader_options nothing = SLUICE_LOADER_OPTIONS_INIT;
    const sl_config config = made(&nothing, 1000, 0);
    const sluice_loader_options *o = &config.options;
    assert_int_equal(o->batch_size, 256);
    assert_int_equal(o->workers, sl_cpu_count() < 1024 ? sl_cpu_count() : 1024);
    assert_int_equal(o->prefetch, 4);
    assert_int_equal(o->device_slots, 3);
    assert_int_equal(o->rank, 0);
    assert_int_equal(o->world_size, 1);
    assert_int_equal(o->block_samples, 64);
    assert_int_equal(o->window_blocks, 16);
    assert_int_equal(o->io_depth, 32);
    assert_int_equal(o->io_threads, 8);
    assert_int_equal(o->read_buffer_bytes, 32 * MIB);
    assert_int_equal(o->max_sample_bytes, 64 * MIB);
    assert_int_equal(o->max_pixels, 100000000);
    assert_true(o->memory_bytes == UINT64_MAX);
    assert_int_equal(o->stall_warn_ns, 30 * SECOND_NS);
    assert_int_equal(o->stall_fail_ns, 120 * SECOND_NS);
    assert_true(o->end_epoch == UINT64_MAX);
    assert_string_equal(o->device, "host");
    assert_int_equal(o->shuffle, SLUICE_SHUFFLE_FULL);
    assert_int_equal(o->on_bad_sample, SLUICE_BAD_FAIL);
    assert_null(o->outputs);
    assert_int_equal(o->ignore_index, -1);
}

TEST(labels_that_are_ignored_have_32_bits)
{
    static const int64_t good[] = {-100, 255, INT32_MIN, INT32_MAX};
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        options.ignore_index = good[i];
        assert_int_equal(made(&options, 1000, 0).options.ignore_index, good[i]);
    }
    options.ignore_index = (int64_t)INT32_MAX + 1;
    refused(&options, 1000, "ignore_index");
    options.ignore_index = (int64_t)INT32_MIN - 1;
    refused(&options, 1000, "ignore_index");
}

/* Enough to make 1 MiB, if they are small and no number is requested. */
TEST(small_batches_are_more)
{
    static const struct {
        uint32_t batch, asked;
        uint64_t row_bytes;
        uint32_t slots;
    } cases[] = {{16, 0, 4096, 16},   {16, 0, 8192, 8},  {16, 0, 16384, 4},
                 {16, 0, 1 << 30, 4}, {1, 0, 1, 16},     {1, 0, 0, 16},
                 {16, 6, 4096, 6},    {256, 0, 4096, 4}, {65536, 0, UINT64_MAX, 4}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
        options.batch_size = cases[i].batch;
        options.prefetch = cases[i].asked;
        const sl_dataset dataset = dataset_of(1 << 20, 0);
        sl_config config;
        assert_int_equal(make(&config, &options, &dataset, NULL), SLUICE_OK);
        sl_config_use_columns(&config, &dataset,
                              &(sl_config_columns){false, cases[i].row_bytes, 1});
        assert_int_equal(config.options.prefetch, cases[i].slots);
        assert_int_equal(config.inserts, config.options.prefetch * cases[i].batch);
    }
}

TEST(what_is_given_stays)
{
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    options.batch_size = 7;
    options.workers = 3;
    options.prefetch = 9;
    options.device_slots = 5;
    options.memory_bytes = 12345;
    options.end_epoch = 6;
    options.device = "cuda:1";
    options.seed = 99;
    const sl_config config = made(&options, 1000, 0);
    assert_int_equal(config.options.batch_size, 7);
    assert_int_equal(config.options.workers, 3);
    assert_int_equal(config.options.prefetch, 9);
    assert_int_equal(config.options.device_slots, 5);
    assert_int_equal(config.options.memory_bytes, 12345);
    assert_int_equal(config.options.end_epoch, 6);
    assert_string_equal(config.options.device, "cuda:1");
    assert_int_equal(config.options.seed, 99);
}

/* ---- ranges ---- */

#define MEMBER(member) \
#    member, offsetof(sluice_loader_options, member), sizeof(((sluice_loader_options *)0)->member)

static const struct range {
    const char *name;
    size_t offset, bytes;
    uint64_t low, high;
} ranges[] = {
    {MEMBER(batch_size), 1, 65536},
    {MEMBER(workers), 1, 1024},
    {MEMBER(prefetch), 2, 64},
    {MEMBER(device_slots), 2, 64},
    {MEMBER(dtype), SLUICE_U8, SLUICE_BF16},
    {MEMBER(layout), SLUICE_NHWC, SLUICE_NCHW},
    {MEMBER(world_size), 1, 1 << 20},
    {MEMBER(shuffle), SLUICE_SHUFFLE_FULL, SLUICE_SHUFFLE_SHARDS},
    {MEMBER(block_samples), 1, UINT32_MAX},
    {MEMBER(window_blocks), 1, UINT32_MAX},
    {MEMBER(last_batch), SLUICE_LAST_DROP, SLUICE_LAST_WRAP},
    {MEMBER(on_bad_sample), SLUICE_BAD_FAIL, SLUICE_BAD_MASK},
    {MEMBER(exif), SLUICE_EXIF_APPLY, SLUICE_EXIF_IGNORE},
    {MEMBER(io_backend), SLUICE_IO_AUTO, SLUICE_IO_PREAD},
    {MEMBER(page_cache), SLUICE_CACHE_AUTO, SLUICE_CACHE_DROP},
    {MEMBER(io_depth), 1, 512},
    {MEMBER(io_threads), 1, 64},
    {MEMBER(exact), 0, 1},
    {MEMBER(whole_samples), 0, 1},
    {MEMBER(any_numa_node), 0, 1},
    {MEMBER(level_rows), 0, 1},
    {MEMBER(read_buffer_bytes), MIB, UINT64_C(1) << 40},
    {MEMBER(max_sample_bytes), 1, 1024 * MIB},
    {MEMBER(max_pixels), 1, UINT64_C(1) << 32},
    {MEMBER(stall_warn_ns), 1, UINT64_C(1) << 62},
    {MEMBER(stall_fail_ns), 1, UINT64_C(1) << 62},
};
static const uint64_t samples_for_all = UINT64_C(1) << 40;

/* Returns options that are all default except one. */
static sluice_loader_options with(const struct range *range, uint64_t value)
{
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    const uint32_t narrow = (uint32_t)value;
    memcpy((char *)&options + range->offset,
           range->bytes == sizeof(narrow) ? (const void *)&narrow : (const void *)&value,
           range->bytes);
    return options;
}

static uint64_t read_back(const struct range *range, const sl_config *config)
{
    uint32_t narrow = 0;
    uint64_t value = 0;
    const char *at = (const char *)&config->options + range->offset;
    if (range->bytes == sizeof(narrow)) {
        memcpy(&narrow, at, sizeof(narrow));
        return narrow;
    }
    memcpy(&value, at, sizeof(value));
    return value;
}

TEST(the_ends_of_each_range)
{
    for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++) {
        const struct range *r = &ranges[i];
        const uint64_t widest = r->bytes == sizeof(uint32_t) ? UINT32_MAX : UINT64_MAX;
        sluice_loader_options options = with(r, r->low);
        sl_config config = made(&options, samples_for_all, 0);
        assert_true(read_back(r, &config) == r->low);
        options = with(r, r->high);
        config = made(&options, samples_for_all, 0);
        assert_true(read_back(r, &config) == r->high);
        if (r->low > 1) { /* 0 is the default */
            options = with(r, r->low - 1);
            refused(&options, samples_for_all, r->name);
        }
        if (r->high < widest) {
            options = with(r, r->high + 1);
            refused(&options, samples_for_all, r->name);
            options = with(r, widest); /* -1 for an enumerator */
            refused(&options, samples_for_all, r->name);
        }
    }
}

TEST(a_rank_is_below_the_world)
{
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    options.rank = 1;
    refused(&options, 1000, "rank");
    options.world_size = 2;
    assert_int_equal(made(&options, 1000, 0).options.rank, 1);
    options.rank = 2;
    refused(&options, 1000, "rank is out of range: 2, expected 0 to 1");
}

/* ---- options that depend on each other ---- */

TEST(an_epoch_has_a_batch)
{
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    options.batch_size = 10;
    options.world_size = 3;
    refused(&options, 29, "fewer than one global batch of 30");
    (void)made(&options, 30, 0);
    options.last_batch = SLUICE_LAST_PAD;
    (void)made(&options, 1, 0);
    options.last_batch = SLUICE_LAST_SHORT;
    (void)made(&options, 1, 0);
}

/* A substitute, or an index entry that is looked up again. */
TEST(an_insert_for_every_row)
{
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    assert_int_equal(made(&options, 1000, 0).inserts, 4 * 256);
    options.prefetch = 64;
    options.batch_size = 65536;
    assert_int_equal(made(&options, samples_for_all, 0).inserts, 64 * 65536);
}

TEST(outputs_and_their_count)
{
    static _Alignas(16) uint8_t memory[65][16];
    void *outputs[65];
    for (size_t i = 0; i < 65; i++) {
        outputs[i] = memory[i];
    }
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    options.output_count = 2;
    refused(&options, 1000, "outputs and output_count go together");
    options.outputs = outputs;
    assert_int_equal(made(&options, 1000, 0).options.prefetch, 2);
    options.output_count = 0;
    refused(&options, 1000, "outputs and output_count go together");
    options.output_count = 1;
    refused(&options, 1000, "output_count is out of range 2..64");
    options.output_count = 65;
    refused(&options, 1000, "output_count is out of range 2..64");
    options.output_count = 64;
    assert_int_equal(made(&options, 1000, 0).options.prefetch, 64);
    /* on a device they replace device_slots */
    options.device = "cuda:0";
    options.output_count = 5;
    const sl_config config = made(&options, 1000, 0);
    assert_int_equal(config.options.device_slots, 5);
    assert_int_equal(config.options.prefetch, 4);
}

TEST(addresses_of_outputs)
{
    static _Alignas(16) uint8_t memory[64];
    void *outputs[] = {memory, memory + 16, memory + 32};
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    options.outputs = outputs;
    options.output_count = 3;
    (void)made(&options, 1000, 0);
    outputs[1] = NULL;
    refused(&options, 1000, "address 1 is NULL");
    outputs[1] = memory + 17;
    refused(&options, 1000, "address 1 is not a multiple of 16");
    outputs[1] = memory + 24;
    refused(&options, 1000, "address 1 is not a multiple of 16");
    outputs[1] = memory + 16;
    outputs[2] = memory;
    refused(&options, 1000, "address 2 is a duplicate");
}

/* ---- derived settings ---- */

TEST(reads_are_merged_by_the_order)
{
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    sl_config config = made(&options, 1000, 0);
    assert_true(config.merge_bytes == MIB && config.merge_gap_bytes == 4096);
    options.shuffle = SLUICE_SHUFFLE_BLOCK;
    config = made(&options, 1000, 0);
    assert_true(config.merge_bytes == 4 * MIB && config.merge_gap_bytes == 65536);
    options.shuffle = SLUICE_SHUFFLE_NONE;
    config = made(&options, 1000, 0);
    assert_true(config.merge_bytes == MIB && config.merge_gap_bytes == 65536);
}

/* A read buffer for one and a half windows of block shuffle, with samples of average size. */
TEST(the_read_buffer_holds_a_window)
{
    const uint64_t samples = 100000;
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    options.shuffle = SLUICE_SHUFFLE_BLOCK;
    assert_int_equal(made(&options, samples, 0).options.read_buffer_bytes, 32 * MIB);
    assert_int_equal(made(&options, samples, samples * 100000).options.read_buffer_bytes,
                     UINT64_C(1024) * 100000 * 3 / 2);
    assert_int_equal(made(&options, samples, samples * 100000000).options.read_buffer_bytes,
                     1024 * MIB);
    /* at most the number of samples */
    options.batch_size = 8;
    assert_int_equal(made(&options, 500, UINT64_C(500) * 100000).options.read_buffer_bytes,
                     UINT64_C(500) * 100000 * 3 / 2);
    options.read_buffer_bytes = 5 * MIB;
    assert_int_equal(made(&options, 500, UINT64_C(500) * 100000).options.read_buffer_bytes,
                     5 * MIB);
}

static sluice_loader_options made_of_members(const sluice_loader_options *options, uint32_t members,
                                             uint64_t samples, uint64_t bytes)
{
    const sl_dataset dataset = dataset_of(samples, bytes);
    sluice_error error = SLUICE_ERROR_INIT;
    sl_config config;
    assert_int_equal(make(&config, options, &dataset, &error), SLUICE_OK);
    sl_config_use_columns(&config, &dataset, &(sl_config_columns){true, ROW_BYTES, members});
    assert_true(config.first_bytes <= config.options.read_buffer_bytes);
    return config.options;
}

/* For rows of several samples, counts those of all slots. */
TEST(the_read_buffer_counts_the_samples_of_rows)
{
    const uint64_t samples = 10000;
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    options.batch_size = 16;
    assert_int_equal(made_of_members(&options, 9, samples, samples * MIB).read_buffer_bytes,
                     UINT64_C(4) * 16 * 9 * MIB);
    assert_int_equal(made_of_members(&options, 1, samples, samples * MIB).read_buffer_bytes,
                     32 * MIB);
    assert_int_equal(made_of_members(&options, 9, samples, samples * 1000).read_buffer_bytes,
                     32 * MIB);
    assert_int_equal(made_of_members(&options, 9, samples, 0).read_buffer_bytes, 32 * MIB);
    assert_int_equal(made_of_members(&options, 9, samples, samples * 4 * MIB).read_buffer_bytes,
                     1024 * MIB);
    options.memory_bytes = 400 * MIB;
    assert_int_equal(made_of_members(&options, 9, samples, samples * MIB).read_buffer_bytes,
                     100 * MIB);
    options.read_buffer_bytes = 7 * MIB;
    assert_int_equal(made_of_members(&options, 9, samples, samples * MIB).read_buffer_bytes,
                     7 * MIB);
}

TEST(how_far_ahead_is_read)
{
    const uint64_t samples = 100000;
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    /* A folder does not know its sizes: a few samples for each read in flight. */
    assert_int_equal(made(&options, samples, 0).lookahead, 128);
    options.io_depth = 7;
    assert_int_equal(made(&options, samples, 0).lookahead, 7 * 4);
    /* Half of the buffer; a small sample that is read alone takes one unit of it. */
    assert_int_equal(made(&options, samples, samples * 100000).lookahead, 32 * MIB / 200000);
    assert_int_equal(made(&options, samples, samples * 10).lookahead,
                     32 * MIB / (2 * SL_ARENA_UNIT));
    /* In order, neighbouring samples are read together. */
    options.shuffle = SLUICE_SHUFFLE_NONE;
    assert_int_equal(made(&options, samples, samples * 1000).lookahead, 32 * MIB / 2000);
    assert_int_equal(made(&options, samples, samples * 10).lookahead, 65536);
    assert_int_equal(made(&options, samples, samples * 50000000).lookahead, 7 * 4);
    /* A window must fit in the buffer whole. */
    options.shuffle = SLUICE_SHUFFLE_BLOCK;
    options.read_buffer_bytes = 64 * MIB;
    assert_int_equal(made(&options, samples, samples * 100000).lookahead, 64 * MIB / 100000);
}

/* Rows per task: as many as fit into 32 KiB, at most 64. */
TEST(small_samples_go_together)
{
    const sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    const uint64_t samples = 100000;
    assert_int_equal(made(&options, samples, 0).task_rows, 1);
    assert_int_equal(made(&options, samples, samples * 10).task_rows, 64);
    assert_int_equal(made(&options, samples, samples * 512).task_rows, 64);
    assert_int_equal(made(&options, samples, samples * 1024).task_rows, 32);
    assert_int_equal(made(&options, samples, samples * 32768).task_rows, 1);
    assert_int_equal(made(&options, samples, samples * 1000000).task_rows, 1);
}

TEST(small_samples_stay_in_memory)
{
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    const uint64_t samples = 1000;
    assert_true(made(&options, samples, samples * 32767).resident_bytes > 0);
    assert_true(made(&options, samples, samples * 32767).resident_bytes <= 1024 * MIB);
    assert_int_equal(made(&options, samples, samples * 32768).resident_bytes, 0);
    assert_true(made_with(&options, samples, samples * 32768, false).resident_bytes > 0);
    assert_true(made_with(&options, samples, samples << 20, false).resident_bytes > 0);
    assert_int_equal(made(&options, samples, 0).resident_bytes, 0);
    options.resident_bytes = 12345;
    assert_int_equal(made(&options, samples, samples * 1000).resident_bytes, 12345);
    options.page_cache = SLUICE_CACHE_BUFFERED;
    assert_int_equal(made(&options, samples, samples * 1000).resident_bytes, 0);
    options.page_cache = SLUICE_CACHE_AUTO;
    options.io_depth = 2;
    assert_int_equal(made(&options, samples, samples * 1000).resident_bytes, 12345);
    options.io_depth = 1; /* its reads would compete */
    assert_int_equal(made(&options, samples, samples * 1000).resident_bytes, 0);
}

/* Several large samples fit into the read buffer, and samples above the average size are not too
 * large. */
TEST(large_samples_have_capacity)
{
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    options.batch_size = 8;
    sluice_loader_options filled = made(&options, 100, UINT64_C(100) * 8 * MIB).options;
    assert_true(filled.read_buffer_bytes == 32 * MIB && filled.max_sample_bytes == 64 * MIB);
    filled = made(&options, 100, UINT64_C(100) * 140 * MIB).options;
    assert_true(filled.read_buffer_bytes == 560 * MIB && filled.max_sample_bytes == 560 * MIB);
    filled = made(&options, 100, UINT64_C(100) * 1000 * MIB).options;
    assert_true(filled.read_buffer_bytes == 1024 * MIB && filled.max_sample_bytes == 1024 * MIB);
    options.memory_bytes = UINT64_C(1000) * MIB;
    assert_int_equal(made(&options, 100, UINT64_C(100) * 140 * MIB).options.read_buffer_bytes,
                     250 * MIB);
    options.max_sample_bytes = 5 * MIB;
    assert_int_equal(made(&options, 100, UINT64_C(100) * 140 * MIB).options.max_sample_bytes,
                     5 * MIB);
}

/* In whole huge pages: the memory for reads in flight of a first batch. */
TEST(what_a_first_batch_needs)
{
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    const uint64_t samples = 100000;
    assert_int_equal(made(&options, samples, samples * 10).first_bytes, 2 * MIB);
    assert_int_equal(made(&options, samples, samples * 100000).first_bytes, 4 * MIB);
    assert_int_equal(made(&options, samples, samples * 50000000).first_bytes, 191 * MIB);
    options.batch_size = 2;
    assert_int_equal(made(&options, samples, samples * 100000).first_bytes, 2 * MIB);
}

TEST(the_page_cache)
{
    static const struct {
        sluice_page_cache asked;
        sl_cache_mode mode;
    } modes[] = {{SLUICE_CACHE_BUFFERED, SL_CACHE_BUFFERED},
                 {SLUICE_CACHE_DIRECT, SL_CACHE_DIRECT},
                 {SLUICE_CACHE_DROP, SL_CACHE_DROP},
                 {SLUICE_CACHE_AUTO, SL_CACHE_AUTO}};
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
        options.page_cache = (int32_t)modes[i].asked;
        assert_int_equal(made(&options, 1000, 1 << 20).cache, modes[i].mode);
    }
    /* Whether AUTO leaves the data read in the page cache. */
    options.page_cache = SLUICE_CACHE_AUTO;
    assert_true(made(&options, 1000, 1 << 20).fills);
    assert_false(made(&options, 1000, UINT64_MAX / 2).fills);
}
