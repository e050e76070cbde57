/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_parquet: any bytes as a Parquet file. All its rows are read as a dataset's, and each column
 * of byte arrays also as one that is too large for memory, which small files do not have.
 */
#include "fuzz.h"

#include "dataset.h"
#include "memory.h"
#include "parquet_index.h"
#include "parquet_pages.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ROWS_ASKED = 64 };

static int file = -1;
static char path[64];
static volatile uint8_t last_sum; /* so that what was summed up has to be read */

static void write_file(const uint8_t *data, size_t size)
{
    if (file < 0) {
        file = memfd_create("parquet", MFD_CLOEXEC);
        fuzz_expect(file >= 0, "a file in memory");
        snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    }
    fuzz_expect(ftruncate(file, 0) == 0 && pwrite(file, data, size, 0) == (ssize_t)size, "written");
}

static void read_rows(const sl_dataset *dataset)
{
    for (uint64_t i = 0; i < dataset->info.samples && i < ROWS_ASKED; i++) {
        sl_stored_sample *sample;
        sluice_error error;
        sl_error_clear(&error);
        const sluice_status status =
            sl_dataset_read_sample(dataset, i, SL_VALUES_ALL, &sample, &error);
        fuzz_expect(status == SLUICE_OK || (status < 0 && error.text[0] != '\0'), "a reason");
        for (uint32_t f = 0; status == SLUICE_OK && f < dataset->info.fields; f++) {
            const sl_bytes bytes = sample->values.of[f].bytes;
            uint8_t sum = 0;
            for (size_t k = 0; sample->values.of[f].present && k < bytes.size; k++)
                sum ^= bytes.data[k];
            last_sum = sum;
        }
        sl_dataset_free_sample(sample);
    }
}

static void run_dataset(void)
{
    const char *paths[] = {path};
    const sluice_dataset_options options = {.struct_size = sizeof(options)};
    sl_dataset *dataset = NULL;
    sluice_error error;
    sl_error_clear(&error);
    const sluice_status status = sl_format_parquet.open(&dataset, paths, 1, &options, &error);
    fuzz_expect(status == SLUICE_OK || (status < 0 && error.text[0] != '\0'), "a reason");
    if (status == SLUICE_OK) {
        read_rows(dataset);
        sl_dataset_close(dataset);
    }
}

/* Where each row is said to be is in the file, or a page of it, which can be opened. */
static void check_rows(const sl_parquet_index *index, uint64_t size)
{
    sl_value_room room = {.data = NULL};
    for (uint64_t row = 0; row < index->rows && row < ROWS_ASKED; row++) {
        const sl_parquet_stretch *stretch = sl_parquet_index_find(index, row);
        if (index->sizes[row] == SL_PARQUET_NULL_SIZE)
            continue;
        if (stretch->where == SL_PARQUET_EXACT) {
            fuzz_expect(index->cells[row] >= 4 && index->cells[row] <= size &&
                            index->sizes[row] <= size - index->cells[row],
                        "a value lies in the file");
            continue;
        }
        fuzz_expect(stretch->offset <= size && stretch->bytes <= size - stretch->offset,
                    "a page lies in the file");
        uint8_t *stored = malloc((size_t)stretch->bytes + 1);
        fuzz_expect(stored != NULL, "memory");
        fuzz_expect(pread(file, stored, stretch->bytes, (off_t)stretch->offset) ==
                        (ssize_t)stretch->bytes,
                    "it can be read");
        sl_page_pick pick = stretch->pick;
        sl_bytes body;
        sl_bytes value;
        pick.row = stretch->where == SL_PARQUET_IN_PAGE ? (uint32_t)(row - stretch->first)
                                                        : (uint32_t)index->cells[row];
        if (sl_page_open(&pick, (sl_bytes){stored, stretch->bytes}, &room, row, &body).text ==
                NULL &&
            sl_page_find(&pick, body, &value).text == NULL) {
            fuzz_expect(value.data >= body.data && value.size <= body.size, "it lies in the page");
        }
        free(stored);
    }
    sl_value_room_close(&room);
}

static void run_index(uint64_t size)
{
    sl_parquet parquet = {.bytes = 0};
    if (sl_parquet_read(&parquet, file, path, NULL) == SLUICE_OK) {
        for (uint32_t leaf = 0; leaf < parquet.leaf_count && leaf < 8; leaf++) {
            sl_parquet_index index = {.rows = 0};
            sl_parquet_stretches found = {.of = NULL};
            const sl_parquet_place place = {.fd = file, .path = path, .parquet = &parquet};
            if (parquet.leaves[leaf].type != SL_PARQUET_BYTES || parquet.leaves[leaf].max_rep > 0 ||
                parquet.group_count == 0)
                continue;
            fuzz_expect(sl_parquet_index_open(&index, parquet.group_rows[0], NULL) == SLUICE_OK,
                        "memory");
            if (sl_parquet_index_fill(&index, &place, leaf, &found, NULL) == SLUICE_OK &&
                sl_parquet_index_add(&index, &found, NULL) == SLUICE_OK) {
                check_rows(&index, size);
            }
            sl_free(found.of);
            sl_parquet_index_close(&index);
        }
    }
    sl_parquet_close(&parquet);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    write_file(data, size);
    run_dataset();
    run_index(size);
    return 0;
}

/* Files that python/tests/parquets.py made: tests/data/parquet. */
size_t fuzz_seed(unsigned index, uint8_t *buffer)
{
    char name[4096];
    snprintf(name, sizeof(name), "%s/%u.parquet", FUZZ_PARQUETS, index);
    FILE *seed = fopen(name, "rb");
    if (seed == NULL)
        return 0;
    const size_t size = fread(buffer, 1, FUZZ_INPUT_MAX, seed);
    fclose(seed);
    return size;
}
