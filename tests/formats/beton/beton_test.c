/* SPDX-License-Identifier: Apache-2.0 */
/* Tests FFCV's .beton files through the public interface, with a file assembled here: the contents
 * of a sample, every sample once per epoch, and truncated files. test_beton.py (Python) covers more
 * kinds of fields, row layouts and damage. */
#include "epochs.h"
#include "photo_folder.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A row: int at 0, image at 8, int at 24 (21 rounded up), text at 32, array at 48. */
enum { FIELDS = 5, FIELD = 1041, ROWS = 24 + FIELDS * FIELD, ROW = 56, SAMPLES = 9 };
enum { PAGE = 1024, START = 6 * PAGE, TABLE = 8 * PAGE, ALLOCATIONS = 3 * SAMPLES };
enum { WIDTH = 3, HEIGHT = 2, PIXELS = WIDTH * HEIGHT * 3, FILE_BYTES = TABLE + 24 * ALLOCATIONS };

static char root[256];
static uint8_t file[FILE_BYTES];
static size_t allocations;

static void put(uint8_t *to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        to[i] = (uint8_t)(value >> (8 * i));
    }
}

static void put_field(unsigned number, uint8_t kind, const char *name)
{
    uint8_t *field = file + 24 + (size_t)number * FIELD;
    field[0] = kind;
    for (size_t i = 0; name[i] != '\0'; i++) {
        field[1 + i] = (uint8_t)name[i]; /* a name of 16 bytes has no NUL */
    }
}

static void allocate(uint64_t sample, uint64_t at, uint64_t bytes)
{
    /* From last to first: the table may have any order. */
    uint8_t *row = file + TABLE + 24 * (ALLOCATIONS - 1 - allocations++);
    put(row, sample, 8);
    put(row + 8, at, 8);
    put(row + 16, bytes, 8);
}

/* Sample i has label 10 i, pixels of i, the number -i, a text of i letters, and (i, i + 1). */
static uint64_t put_sample(unsigned i, uint64_t at)
{
    uint8_t *row = file + ROWS + (size_t)i * ROW;
    put(row, (uint64_t)10 * i, 8);
    row[8] = 1;
    put(row + 9, WIDTH, 2);
    put(row + 11, HEIGHT, 2);
    put(row + 13, at, 8);
    memset(file + at, (int)i, PIXELS);
    allocate(i, at, PIXELS);
    at += PIXELS;
    put(row + 24, (uint64_t) - (int64_t)i, 8);
    put(row + 32, at, 8);
    put(row + 40, i + 1, 8);
    memset(file + at, 'a' + (int)i, i);
    file[at + i] = 0;
    allocate(i, at, i + 1);
    at += i + 1;
    put(row + 48, at, 8);
    put(file + at, i, 2);
    put(file + at + 2, i + 1, 2);
    allocate(i, at, 4);
    return at + 4;
}

static void make_file(void)
{
    static const char dtype[] = "[[\"\", \"<u2\"]]";
    uint64_t at = START;
    put(file, 2, 2);
    put(file + 2, FIELDS, 2);
    put(file + 4, PAGE, 4);
    put(file + 8, SAMPLES, 8);
    put(file + 16, TABLE, 8);
    put_field(0, 1, "y");
    put_field(1, 2, "covariate");
    put_field(2, 1, "sixteen_letters_");
    put_field(3, 5, "text");
    put_field(4, 4, "pair");
    uint8_t *arguments = file + 24 + (size_t)4 * FIELD + 17;
    put(arguments, 2, 8);
    put(arguments + 256, sizeof(dtype) - 1, 8);
    memcpy(arguments + 264, dtype, sizeof(dtype) - 1);
    for (unsigned i = 0; i < SAMPLES; i++) {
        at = put_sample(i, i == 5 ? START + PAGE : at);
    }
}

static void path_of(char *path, size_t bytes)
{
    (void)snprintf(path, bytes, "%s/a.beton", root);
}

static sluice_status open_file(size_t bytes, sluice_dataset **dataset, sluice_error *error)
{
    char path[512];
    const char *given = path;
    path_of(path, sizeof(path));
    write_file(path, file, (uint32_t)bytes);
    return sluice_dataset_open(dataset, &given, 1, NULL, error);
}

TEST(a_sample_is_a_row_and_what_it_points_to)
{
    static const char *const names[FIELDS] = {"label", "image", "sixteen_letters_", "text", "pair"};
    sluice_dataset *dataset = NULL;
    sluice_dataset_info info = SLUICE_DATASET_INFO_INIT;
    assert_int_equal(open_file(FILE_BYTES, &dataset, NULL), SLUICE_OK);
    assert_int_equal(sluice_dataset_get_info(dataset, &info), SLUICE_OK);
    assert_string_equal(info.format, "beton");
    assert_int_equal(info.samples, SAMPLES);
    assert_int_equal(info.fields, FIELDS);
    for (uint32_t i = 0; i < FIELDS; i++) {
        sluice_field field = SLUICE_FIELD_INIT;
        assert_int_equal(sluice_dataset_get_field(dataset, i, &field), SLUICE_OK);
        assert_string_equal(field.name, names[i]);
    }
    for (unsigned i = 0; i < SAMPLES; i++) {
        int64_t number = 0;
        char text[32];
        uint8_t pixels[PIXELS];
        uint16_t pair[2];
        size_t bytes = 0;
        assert_int_equal(
            sluice_dataset_read(dataset, i, names[2], &number, sizeof(number), &bytes, NULL),
            SLUICE_OK);
        assert_int_equal(number, -(int64_t)i);
        assert_int_equal(sluice_dataset_read(dataset, i, "text", text, sizeof(text), &bytes, NULL),
                         SLUICE_OK);
        assert_int_equal(bytes, i);
        assert_true(i == 0 || text[i - 1] == (char)('a' + i));
        assert_int_equal(sluice_dataset_read(dataset, i, "pair", pair, sizeof(pair), &bytes, NULL),
                         SLUICE_OK);
        assert_int_equal(pair[1], i + 1);
        sluice_pixels wanted = SLUICE_PIXELS_INIT;
        wanted.buffer = pixels;
        wanted.capacity = sizeof(pixels);
        assert_int_equal(sluice_dataset_decode(dataset, i, "image", &wanted, NULL), SLUICE_OK);
        assert_int_equal(wanted.width, WIDTH);
        assert_int_equal(wanted.height, HEIGHT);
        assert_int_equal(pixels[PIXELS - 1], i);
    }
    sluice_dataset_close(dataset);
}

static bool is_label(int64_t label)
{
    return label % 10 == 0 && label < (int64_t)10 * SAMPLES;
}

TEST(each_sample_once_in_an_epoch)
{
    sluice_dataset *dataset = NULL;
    assert_int_equal(open_file(FILE_BYTES, &dataset, NULL), SLUICE_OK);
    epochs_run(&(epochs){.key = "label", .is_key = is_label}, dataset);
}

TEST(cut_short_anywhere)
{
    for (size_t bytes = 1; bytes < FILE_BYTES; bytes += bytes < TABLE - 8 ? 61 : 1) {
        sluice_dataset *dataset = NULL;
        sluice_error error = SLUICE_ERROR_INIT;
        assert_int_equal(open_file(bytes, &dataset, &error), SLUICE_CORRUPT);
        assert_null(dataset);
        assert_non_null(strstr(error.file, "a.beton"));
        assert_true(error.text[0] != '\0');
    }
}

TEST(pointers_that_lead_elsewhere)
{
    static const uint64_t places[] = {0,         ROWS,  ROWS + ROW, START - 1, START + PAGE - 8,
                                      TABLE - 4, TABLE, INT64_MAX,  UINT64_MAX};
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        sluice_dataset *dataset = NULL;
        sluice_error error = SLUICE_ERROR_INIT;
        uint8_t before[8];
        uint8_t *pointer = file + ROWS + (size_t)2 * ROW + 13;
        memcpy(before, pointer, 8);
        put(pointer, places[i], 8);
        assert_int_equal(open_file(FILE_BYTES, &dataset, &error), SLUICE_CORRUPT);
        assert_int_equal(error.offset, pointer - file - 5);
        memcpy(pointer, before, 8);
    }
}

/* The size would include the next object in the page: the allocation table shows the error. */
TEST(sizes_that_are_not_those_of_the_table)
{
    enum { DIGIT = 9 }; /* in [["", "<u2"]] */
    uint8_t *arguments = file + 24 + (size_t)4 * FIELD + 17;
    uint8_t *text_bytes = file + ROWS + (size_t)2 * ROW + 40;
    const struct {
        uint8_t *at, value;
        size_t row; /* first row of the table that does not fit */
    } wrong[] = {
        {arguments + 264 + DIGIT, '4', 0},
        {arguments + 264 + DIGIT, '8', 0},
        {arguments, 3, 0},
        {text_bytes, 4, ALLOCATIONS - 1 - 7},
        {text_bytes, 2, ALLOCATIONS - 1 - 7},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        sluice_dataset *dataset = NULL;
        sluice_error error = SLUICE_ERROR_INIT;
        const uint8_t before = *wrong[i].at;
        *wrong[i].at = wrong[i].value;
        assert_int_equal(open_file(FILE_BYTES, &dataset, &error), SLUICE_CORRUPT);
        assert_non_null(strstr(error.text, "a size in its allocation table"));
        assert_int_equal(error.offset, TABLE + 24 * wrong[i].row + 16);
        *wrong[i].at = before;
        assert_int_equal(open_file(FILE_BYTES, &dataset, &error), SLUICE_OK);
        sluice_dataset_close(dataset);
    }
}

int main(void)
{
    temporary_directory(root, sizeof(root));
    make_file();
    const int failed = test_run(NULL, NULL);
    remove_tree(root);
    return failed;
}
