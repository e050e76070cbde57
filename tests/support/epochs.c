/* SPDX-License-Identifier: Apache-2.0 */
#include "epochs.h"
#include "test.h"

#include <stdio.h>

static sluice_loader *open_loader(const epochs *what, sluice_dataset *dataset)
{
    sluice_columns *columns = NULL;
    sluice_loader *loader = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    assert_int_equal(sluice_columns_create(&columns), SLUICE_OK);
    if (what->key != NULL) {
        assert_int_equal(sluice_columns_number(columns, what->key, SLUICE_I64), SLUICE_OK);
    }
    if (what->column != NULL) {
        assert_int_equal(sluice_columns_ragged(columns, what->column, what->most), SLUICE_OK);
    }
    options.columns = columns;
    options.batch_size = 4;
    options.workers = 3;
    options.last_batch = SLUICE_LAST_SHORT;
    if (sluice_loader_open(&loader, dataset, NULL, &options, &error) != SLUICE_OK) {
        fail_msg("%s", error.text);
    }
    sluice_columns_destroy(columns);
    sluice_dataset_close(dataset);
    return loader;
}

static const void *part_of(sluice_batch *batch, const char *column, const char *part)
{
    char name[128];
    sluice_tensor tensor = SLUICE_TENSOR_INIT;
    (void)snprintf(name, sizeof(name), "%s%s", column, part);
    assert_int_equal(sluice_batch_tensor(batch, name, &tensor), SLUICE_OK);
    return tensor.data;
}

static void take_batch(const epochs *what, sluice_batch *batch, unsigned seen[EPOCHS_KEYS])
{
    const int64_t *keys = part_of(batch, what->key != NULL ? what->key : "index", "");
    const int64_t *ends = NULL;
    const uint8_t *bytes = NULL;
    if (what->column != NULL) {
        ends = part_of(batch, what->column, ".offsets");
        bytes = part_of(batch, what->column, "");
    }
    for (uint32_t row = 0; row < sluice_batch_rows(batch); row++) {
        assert_in_range(keys[row], 0, EPOCHS_KEYS - 1);
        seen[keys[row]]++;
        if (what->column != NULL) {
            what->look(keys[row], bytes + (size_t)ends[row] * what->element,
                       (size_t)(ends[row + 1] - ends[row]) * what->element);
        }
    }
}

void epochs_run(const epochs *what, sluice_dataset *dataset)
{
    sluice_loader *loader = open_loader(what, dataset);
    for (uint64_t epoch = 0; epoch < 3; epoch++) {
        unsigned seen[EPOCHS_KEYS] = {0};
        sluice_batch *batch = NULL;
        assert_int_equal(sluice_loader_start_epoch(loader, epoch), SLUICE_OK);
        while (sluice_loader_next(loader, &batch, -1) == SLUICE_OK) {
            take_batch(what, batch, seen);
            sluice_batch_release(batch);
        }
        for (int64_t key = 0; key < EPOCHS_KEYS; key++) {
            const bool wanted = what->is_key != NULL ? what->is_key(key) : key < what->keys;
            assert_int_equal(seen[key], wanted);
        }
    }
    sluice_loader_close(loader);
}
