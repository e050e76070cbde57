/* SPDX-License-Identifier: Apache-2.0 */
/* Tests numpy's .npy files with bytes from numpy's documentation: rows of one file and of several,
 * all versions, truncated files, and invalid headers. test_arrays.py (Python) reads files written
 * by numpy. */
#include "dataset_checks.h"
#include "test_folder.h"

#include <stdio.h>
#include <string.h>

enum { ROWS = 3, COLUMNS = 2, BYTES = ROWS * COLUMNS * 2 };

#define GOOD "{'descr': '<i2', 'fortran_order': False, 'shape': (3, 2), }"

static uint8_t file[4096];

/* Makes a file of this version and header, with an i16 array that begins at `first`. Returns its
 * size. */
static size_t make(unsigned version, const char *header, int first)
{
    const size_t length_bytes = version == 1 ? 2 : 4;
    const size_t used = 8 + length_bytes + strlen(header) + 1;
    const size_t data = (used + 63) / 64 * 64;
    const size_t length = data - 8 - length_bytes;
    memcpy(file, "\x93NUMPY", 6);
    file[6] = (uint8_t)version;
    file[7] = 0;
    for (size_t i = 0; i < length_bytes; i++) {
        file[8 + i] = (uint8_t)(length >> 8 * i);
    }
    memset(file + 8 + length_bytes, ' ', length);
    memcpy(file + 8 + length_bytes, header, strlen(header));
    file[data - 1] = '\n';
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        file[data + 2 * (size_t)i] = (uint8_t)(first + i);
        file[data + 2 * (size_t)i + 1] = (uint8_t)((first + i) >> 8);
    }
    return data + BYTES;
}

static int setup(void **state)
{
    test_folder_make(state);
    return 0;
}

TEST(rows_of_every_version)
{
    for (unsigned version = 1; version <= 3; version++) {
        write_file(test_path("a.npy"), file, (uint32_t)make(version, GOOD, 100));
        sluice_dataset *dataset = dataset_opened(test_path("a.npy"));
        sluice_field field = SLUICE_FIELD_INIT;
        dataset_expect(dataset, "npy", ROWS);
        assert_int_equal(sluice_dataset_get_field(dataset, 0, &field), SLUICE_OK);
        assert_int_equal(field.dtype, SLUICE_I16);
        for (int i = 0; i < ROWS; i++) {
            const int16_t row[COLUMNS] = {(int16_t)(100 + 2 * i), (int16_t)(101 + 2 * i)};
            dataset_expect_bytes(dataset, (uint64_t)i, field.name, row, sizeof(row));
        }
        sluice_dataset_close(dataset);
    }
}

TEST(rows_of_several_files)
{
    for (int i = 0; i < 3; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "%d.npy", i);
        write_file(test_path("%s", name), file, (uint32_t)make(1, GOOD, 1000 * i));
    }
    sluice_dataset *dataset = dataset_opened(test_path("{0..2}.npy"));
    sluice_field field = SLUICE_FIELD_INIT;
    dataset_expect(dataset, "npy", (uint64_t)3 * ROWS);
    assert_int_equal(sluice_dataset_get_field(dataset, 0, &field), SLUICE_OK);
    dataset_expect_bytes(dataset, 2 * ROWS + 1, field.name, ((int16_t[]){2002, 2003}), 4);
    sluice_dataset_close(dataset);
}

TEST(cut_short_anywhere)
{
    const size_t size = make(1, GOOD, 0);
    for (size_t bytes = 12; bytes < size; bytes++) {
        write_file(test_path("cut.npy"), file, (uint32_t)bytes);
        dataset_refused(test_path("cut.npy"), SLUICE_CORRUPT, "cut.npy", "");
    }
}

TEST(headers_that_are_refused)
{
    static const struct {
        const char *header;
        sluice_status status;
    } wrong[] = {
        {"{'descr': '<i2', 'fortran_order': False, 'shape': (3, 2), ", SLUICE_CORRUPT},
        {"['descr', '<i2']", SLUICE_CORRUPT},
        {"{'descr': '<i2', 'fortran_order': None, 'shape': (3, 2), }", SLUICE_CORRUPT},
        {"{'descr': '<i2', 'fortran_order': False, }", SLUICE_CORRUPT},
        {"{'descr': '<i2', 'fortran_order': False, 'shape': (3, -2), }", SLUICE_CORRUPT},
        {"{'descr': '<i2', 'fortran_order': False, 'shape': (4611686018427387904, 2), }",
         SLUICE_CORRUPT},
        {"{'descr': '<i2', 'fortran_order': False, 'shape': (4, 2), }", SLUICE_CORRUPT},
        {"{'descr': __import__('os'), 'fortran_order': False, 'shape': (3, 2), }", SLUICE_CORRUPT},
        {"{'descr': '<i2', 'fortran_order': False, 'shape': (0, 2), }", SLUICE_INVALID},
        {"{'descr': '<i2', 'fortran_order': True, 'shape': (3, 2), }", SLUICE_UNSUPPORTED},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (3, 2), }", SLUICE_UNSUPPORTED},
        {"{'descr': '>i2', 'fortran_order': False, 'shape': (3, 2), }", SLUICE_UNSUPPORTED},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        size_t size = make(1, wrong[i].header, 0);
        size -= wrong[i].status == SLUICE_INVALID ? BYTES : 0;
        write_file(test_path("bad.npy"), file, (uint32_t)size);
        dataset_refused(test_path("bad.npy"), wrong[i].status, "bad.npy", "");
    }
    write_file(test_path("bad.npy"), file, (uint32_t)make(4, GOOD, 0));
    dataset_refused(test_path("bad.npy"), SLUICE_UNSUPPORTED, "bad.npy", "");
}

TEST_GROUP(setup, test_folder_remove)
