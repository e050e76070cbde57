/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Missing memory: open detects it before touching any of it, also with a device that needs pinned
 * slots; a copy of the dataset yields to required memory.
 */
#include "loader_setup.h"
#include "populate.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB UINT64_C(1048576)

enum {
    RECORD = 4096,
    RECORDS = 384,
    BATCH = 256
}; /* 1.5 MiB, more than a sixteenth of little
    * memory */

static char folder[256], path[300];
static uint64_t available, touched;

uint64_t __wrap_sl_memory_available(void); // NOLINT: names are ld's
uint64_t __wrap_sl_memory_available(void)  // NOLINT
{
    return available > touched ? available - touched : 0;
}

/* Touched memory is no longer available. */
void __real_sl_populate_open(sl_populate *populate, const sl_populate_config *config); // NOLINT
void __wrap_sl_populate_open(sl_populate *populate, const sl_populate_config *config); // NOLINT
void __wrap_sl_populate_open(sl_populate *populate, const sl_populate_config *config)  // NOLINT
{
    for (uint32_t i = 0; i < config->count; i++) {
        touched += config->ranges[i].bytes;
    }
    __real_sl_populate_open(populate, config);
}

static sluice_status open_loader(sluice_loader **loader, const sluice_loader_options *options,
                                 sluice_error *error)
{
    sluice_field field = SLUICE_FIELD_INIT;
    field.type = SLUICE_FIELD_TENSOR;
    field.dims = 1;
    field.shape[0] = RECORD;
    const sluice_dataset_options flat = {.struct_size = sizeof(flat), .flat = &field};
    const char *list[] = {path};
    sluice_dataset *dataset = NULL;
    touched = 0;
    *error = (sluice_error)SLUICE_ERROR_INIT;
    assert_int_equal(sluice_dataset_open(&dataset, list, 1, &flat, error), SLUICE_OK);
    const sluice_status status = sluice_loader_open(loader, dataset, NULL, options, error);
    sluice_dataset_close(dataset);
    return status;
}

static sluice_loader_options options_on(const char *device)
{
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    options.batch_size = BATCH;
    options.device = device;
    return options;
}

/* Returns the memory of a loader without a copy. */
static uint64_t needed_by(sluice_loader_options options)
{
    sluice_loader *loader = NULL;
    sluice_error error;
    sluice_loader_stats stats = SLUICE_LOADER_STATS_INIT;
    options.resident_bytes = 1;
    available = UINT64_MAX / 2;
    assert_int_equal(open_loader(&loader, &options, &error), SLUICE_OK);
    assert_int_equal(sluice_loader_get_stats(loader, &stats), SLUICE_OK);
    sluice_loader_close(loader);
    return stats.memory_bytes;
}

TEST(nothing_is_touched_in_vain)
{
    static const char *const devices[] = {"host", "cuda:0"};
    for (int i = 0; i < 2; i++) {
        const sluice_loader_options options = options_on(devices[i]);
        sluice_loader *loader = NULL;
        sluice_error error;
        const uint64_t needed = needed_by(options);
        available = needed - 1;
        assert_int_equal(open_loader(&loader, &options, &error), SLUICE_NOMEM);
        assert_non_null(strstr(error.text, "are available"));
        assert_int_equal(touched, 0);
        available = needed; /* the memory of pinned slots is not checked again */
        assert_int_equal(open_loader(&loader, &options, &error), SLUICE_OK);
        sluice_loader_close(loader);
    }
}

/* Checks the rows of an epoch, and that the copy provided all of it in the end. */
static void expect_rows(sluice_loader *loader)
{
    sluice_batch *batch;
    for (uint64_t epoch = 0; epoch < 3; epoch++) {
        uint64_t rows = 0;
        assert_int_equal(sluice_loader_start_epoch(loader, epoch), SLUICE_OK);
        while (sluice_loader_next(loader, &batch, -1) == SLUICE_OK) {
            rows += sluice_batch_rows(batch);
            sluice_batch_release(batch);
        }
        assert_int_equal(rows, RECORDS);
    }
}

static uint64_t memory_of(sluice_loader *loader)
{
    sluice_loader_stats stats = SLUICE_LOADER_STATS_INIT;
    assert_int_equal(sluice_loader_get_stats(loader, &stats), SLUICE_OK);
    return stats.memory_bytes;
}

TEST(a_copy_gives_way)
{
    sluice_loader_options options = options_on("host");
    sluice_loader *loader = NULL;
    sluice_error error;
    options.last_batch = SLUICE_LAST_SHORT;
    const uint64_t needed = needed_by(options);
    available = needed + MIB;
    assert_true(available / 16 > (uint64_t)RECORD * RECORDS); /* it would normally make a copy */
    assert_int_equal(open_loader(&loader, &options, &error), SLUICE_OK);
    assert_int_equal(memory_of(loader), needed);
    expect_rows(loader);
    sluice_loader_close(loader);
    available = needed + 2 * MIB;
    assert_int_equal(open_loader(&loader, &options, &error), SLUICE_OK);
    assert_int_equal(memory_of(loader), needed + 2 * MIB);
    expect_rows(loader);
    sluice_loader_close(loader);
}

TEST(a_copy_that_was_asked_for_does_not)
{
    sluice_loader_options options = options_on("host");
    sluice_loader *loader = NULL;
    sluice_error error;
    const uint64_t needed = needed_by(options);
    options.resident_bytes = 16 * MIB;
    available = needed + MIB;
    assert_int_equal(open_loader(&loader, &options, &error), SLUICE_NOMEM);
    assert_non_null(strstr(error.text, "resident_bytes"));
    options.memory_bytes = needed; /* rules out a copy */
    assert_int_equal(open_loader(&loader, &options, &error), SLUICE_OK);
    assert_int_equal(memory_of(loader), needed);
    sluice_loader_close(loader);
    options.memory_bytes = 0;
    options.resident_bytes = MIB; /* the dataset is larger */
    assert_int_equal(open_loader(&loader, &options, &error), SLUICE_OK);
    assert_int_equal(memory_of(loader), needed);
    sluice_loader_close(loader);
}

static int make_data(void **state)
{
    static const uint8_t data[RECORD * RECORDS];
    temporary_directory(folder, sizeof(folder));
    (void)snprintf(path, sizeof(path), "%s/data", folder);
    write_file(path, data, sizeof(data));
    return 0;
}

static int remove_data(void **state)
{
    remove_tree(folder);
    return 0;
}

TEST_GROUP(make_data, remove_data)
