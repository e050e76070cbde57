/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_parquet: any bytes as a Parquet file. All its rows are read as a dataset, and each column of
 * byte arrays also as one too large for memory, which small files do not have, or as lists of
 * images. */
#include "fuzz.h"

#include "dataset.h"
#include "format_table.h"
#include "memory.h"
#include "parquet_lists.h"
#include "parquet_reads.h"
#include "store.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ROWS_ASKED = 64, ELEMENTS_ASKED = 3 };

static int file = -1;
static char path[64];
static sl_handle handle;          /* the same, by its path */
static volatile uint8_t last_sum; /* so that the summed bytes must be read */

static void write_file(const uint8_t *data, size_t size)
{
    if (file < 0) {
        file = memfd_create("parquet", MFD_CLOEXEC);
        fuzz_expect(file >= 0, "a file in memory");
        snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
        const sl_file_name name = {"fuzz", path};
        fuzz_expect(sl_handle_open(&handle, name, NULL, NULL) == SLUICE_OK, "opened by its path");
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

/* The position given for each row's values must be inside the file. The values can be extracted
 * from it or not; the result must be in the bytes read or in the buffer. */
static void check_rows(const sl_parquet_read *read, uint64_t rows, uint64_t size)
{
    static sl_value_buffers buffers;
    for (uint64_t row = 0; row < rows && row < ROWS_ASKED; row++) {
        const sl_extent extent = sl_parquet_read_find(read, row);
        fuzz_expect(extent.offset <= size && extent.bytes <= size - extent.offset,
                    "a value, or its page, lies in the file");
        uint8_t *stored = malloc((size_t)extent.bytes + 1);
        fuzz_expect(stored != NULL, "memory");
        fuzz_expect(pread(file, stored, extent.bytes, (off_t)extent.offset) ==
                        (ssize_t)extent.bytes,
                    "it can be read");
        for (uint32_t i = read->low; i <= read->high; i++) {
            sl_value value;
            sl_extent alone;
            const sl_columnar_bytes from = {extent, {stored, extent.bytes}, &buffers};
            if (sl_parquet_read_value(read, row, i, &from, &value).text == NULL && value.present &&
                value.bytes.size > 0) {
                const bool in_capacity = sl_value_buffers_have(&buffers, value.bytes.data);
                fuzz_expect(in_capacity ||
                                (value.bytes.data >= stored &&
                                 value.bytes.data + value.bytes.size <= stored + extent.bytes),
                            "it lies there");
                fuzz_expect(sl_parquet_read_extent(read, row, i, &alone) == !in_capacity &&
                                (in_capacity || (alone.offset == extent.offset + value.offset &&
                                                 alone.bytes == value.bytes.size)),
                            "and is found alone, where it can be");
            }
        }
        free(stored);
    }
    sl_value_buffers_close(&buffers);
}

/* The leaf of the paths beside the leaf of bytes: any leaf in the same lists may be used. */
static uint32_t guide_of(const sl_parquet *parquet, uint32_t leaf)
{
    const uint32_t other = leaf + 1 < parquet->leaf_count ? leaf + 1 : leaf;
    return parquet->leaves[other].max_rep == 1 ? other : leaf;
}

/* Accepts any byte array; for other types, only values stored unconverted. */
static bool fill(sl_parquet_read *read, const sl_parquet *parquet)
{
    uint32_t longest;
    bool exact = true;
    sl_parquet_ranges found = {.of = NULL};
    const bool arrays = parquet->leaves[read->leaf].type == SL_PARQUET_BYTES;
    const sl_parquet_place place = {.from = handle, .parquet = parquet};
    const bool lists = arrays && parquet->leaves[read->leaf].max_rep > 0;
    const uint64_t rows = parquet->group_rows[0];
    const uint64_t slots = arrays ? sl_parquet_slots(parquet, 0, read->leaf) : rows;
    const bool whole = sl_parquet_index_is_exact(&place, read->leaf, &exact, NULL) == SLUICE_OK;
    if (!arrays && (!whole || !exact)) {
        return false;
    }
    fuzz_expect(sl_parquet_index_open(&read->index, &parquet->leaves[read->leaf], slots,
                                      lists ? rows : 0, NULL) == SLUICE_OK,
                "memory");
    bool good = true;
    if (read->index.starts != NULL) {
        read->index.starts[rows] = slots;
        const sl_parquet_list list = {
            .leaf = read->leaf, .guide = guide_of(parquet, read->leaf), .index = read->index};
        good = sl_parquet_lists_read(&list, &place, 0, &longest, NULL) == SLUICE_OK;
    }
    good =
        good && sl_parquet_index_fill(&read->index, &place, read->leaf, &found, NULL) == SLUICE_OK;
    good = good && sl_parquet_index_add(&read->index, &found, NULL) == SLUICE_OK;
    sl_free(found.of);
    return good;
}

static void run_index(uint64_t size)
{
    sl_parquet parquet = {.file.bytes = size};
    if (sl_parquet_read_footer(&parquet, &handle, NULL) == SLUICE_OK) {
        for (uint32_t leaf = 0; leaf < parquet.leaf_count && leaf < 8; leaf++) {
            sl_parquet_read read = {.leaf = leaf, .high = ELEMENTS_ASKED};
            const uint8_t type = parquet.leaves[leaf].type;
            const uint8_t max_rep = parquet.leaves[leaf].max_rep;
            const bool arrays = type == SL_PARQUET_BYTES;
            if (max_rep > 1 || parquet.group_count == 0 ||
                (!arrays && max_rep == 0 && type != SL_PARQUET_FIXED))
                continue;
            read.high = arrays && max_rep > 0 ? ELEMENTS_ASKED : 0;
            if (fill(&read, &parquet)) {
                check_rows(&read, parquet.group_rows[0], size);
            }
            sl_parquet_index_close(&read.index);
        }
    }
    sl_parquet_close(&parquet);
}

int fuzz_run(const uint8_t *data, size_t size)
{
    write_file(data, size);
    run_dataset();
    run_index(size);
    return 0;
}

/* Files made by python/tests/parquets.py: tests/data/parquet. */
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
