/* SPDX-License-Identifier: Apache-2.0 */
/* Tests tables that list images: cells, rows across the window's end, and a table cut at every
 * byte. python/tests/test_table.py reads tables written by Python's csv and json. */
#include "error.h"
#include "table_columns.h"
#include "test_folder.h"

#include <sluice/sluice.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH = 512, WINDOW = 1 << 20 };

static sl_cell words(const char *text)
{
    return (sl_cell){.kind = SL_CELL_WORDS, .text = {(const uint8_t *)text, strlen(text)}};
}

TEST(cells_are_known)
{
    static const struct {
        const char *text;
        sl_cell_kind kind;
    } cells[] = {
        {"0", SL_CELL_INT},
        {"-9223372036854775808", SL_CELL_INT},
        {"9223372036854775807", SL_CELL_INT},
        {"+5", SL_CELL_INT},
        {"9223372036854775808", SL_CELL_TEXT},
        {"-9223372036854775809", SL_CELL_TEXT},
        {"-", SL_CELL_TEXT},
        {"+-1", SL_CELL_TEXT},
        {"1.5", SL_CELL_FLOAT},
        {"1e3", SL_CELL_FLOAT},
        {"-INF", SL_CELL_FLOAT},
        {"infinity", SL_CELL_TEXT},
        {"0x1p3", SL_CELL_TEXT},
        {" 1", SL_CELL_TEXT},
        {"1e400", SL_CELL_TEXT},
        {"-1e400", SL_CELL_TEXT},
        {"1e-400", SL_CELL_FLOAT},
        {".", SL_CELL_TEXT},
        {"[]", SL_CELL_LIST},
        {"[1, 2.5]", SL_CELL_LIST},
        {"[[1], [2]]", SL_CELL_LIST},
        {"[[1], [2, 3]]", SL_CELL_TEXT},
        {"[[]]", SL_CELL_TEXT},
        {"[[1], 2]", SL_CELL_TEXT},
        {"[1", SL_CELL_TEXT},
    };
    for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++) {
        sl_list_shape shape;
        const sl_cell cell = words(cells[i].text);
        assert_int_equal(sl_cell_look(&cell, &shape), cells[i].kind);
    }
}

TEST(cells_become_values)
{
    sl_value value;
    sl_cell_buffer buffer = {0};
    const sl_field whole = {.type = SLUICE_FIELD_INT};
    const sl_field number = {.type = SLUICE_FIELD_FLOAT};
    const sl_field boxes = {
        .type = SLUICE_FIELD_TENSOR, .dtype = SLUICE_I32, .dims = 2, .shape = {0, 2}};
    const sl_cell lowest = words("-9223372036854775808");
    const sl_cell tenth = words("0.1");
    const sl_cell list = words("[[1,2],[3,-4]]");
    const sl_cell wide = words("[[1,4294967296]]");
    const sl_cell none = {0};
    const int32_t wanted[] = {1, 2, 3, -4};
    assert_null(sl_cell_value(&lowest, &whole, &buffer, &value));
    assert_true(value.present && value.integer == INT64_MIN);
    assert_non_null(sl_cell_value(&tenth, &whole, &buffer, &value));
    assert_null(sl_cell_value(&tenth, &number, &buffer, &value));
    assert_true(value.number == 0.1);
    assert_null(sl_cell_value(&list, &boxes, &buffer, &value));
    assert_int_equal(value.bytes.size, sizeof(wanted));
    assert_memory_equal(value.bytes.data, wanted, sizeof(wanted));
    assert_non_null(sl_cell_value(&wide, &boxes, &buffer, &value));
    assert_null(sl_cell_value(&none, &boxes, &buffer, &value));
    assert_false(value.present);
    sl_cell_buffer_close(&buffer);
}

/* Every position at which the window's end can cut a row. */
TEST(rows_cross_the_window)
{
    static const char row[] = "x.png,\"a\"\"b\r\nc\",12\r\n";
    enum { ROW = sizeof(row) - 1, ROWS = 4 };
    char *text = malloc(WINDOW + 4096);
    assert_non_null(text);
    for (size_t shift = 0; shift <= ROW; shift++) {
        /* a row of padding, so that the window ends within the second row after it */
        size_t used = (size_t)sprintf(text, "path,t,n\n");
        const size_t padding = WINDOW - shift - used - 5 - ROW;
        used += (size_t)sprintf(text + used, "p,");
        memset(text + used, 'y', padding);
        used += padding;
        used += (size_t)sprintf(text + used, ",1\n");
        for (int i = 0; i < ROWS; i++)
            used += (size_t)sprintf(text + used, "%s", row);
        write_file(test_path("a.csv"), text, (uint32_t)used);
        sl_table *table = NULL;
        bool more = false;
        assert_int_equal(sl_table_open(&table, test_path("a.csv"), NULL), SLUICE_OK);
        for (int i = 0; i <= ROWS; i++) {
            assert_int_equal(sl_table_next(table, &more, NULL), SLUICE_OK);
            assert_true(more);
            assert_int_equal(table->row_line, i == 0 ? 2 : 1 + 2 * i);
            assert_int_equal(table->cells[1].text.size, i == 0 ? padding : 6);
            assert_string_equal((const char *)table->cells[2].text.data, i == 0 ? "1" : "12");
        }
        assert_memory_equal(table->cells[1].text.data, "a\"b\r\nc", 6);
        assert_int_equal(sl_table_next(table, &more, NULL), SLUICE_OK);
        assert_false(more);
        sl_table_close(table);
    }
    free(text);
}

static sluice_dataset *open_table(const char *name, sluice_error *error)
{
    sluice_dataset *dataset = NULL;
    const char *path = test_path("%s", name);
    (void)!sluice_dataset_open(&dataset, &path, 1, NULL, error);
    return dataset;
}

static void cut_everywhere(const char *name, const char *text)
{
    for (size_t cut = 0; cut < strlen(text); cut++) {
        sluice_error error = SLUICE_ERROR_INIT;
        write_file(test_path("%s", name), text, (uint32_t)cut);
        sluice_dataset *dataset = open_table(name, &error);
        assert_true(dataset != NULL || (error.status < 0 && error.text[0] != '\0'));
        sluice_dataset_close(dataset);
    }
    write_file(test_path("%s", name), text, (uint32_t)strlen(text));
    sluice_dataset *dataset = open_table(name, NULL);
    sluice_dataset_info info = SLUICE_DATASET_INFO_INIT;
    assert_non_null(dataset);
    assert_int_equal(sluice_dataset_get_info(dataset, &info), SLUICE_OK);
    assert_int_equal(info.samples, 2);
    assert_int_equal(info.classes, 2);
    assert_string_equal(sluice_dataset_class_name(dataset, 0), "a");
    assert_null(sluice_dataset_class_name(dataset, 2));
    sluice_dataset_close(dataset);
}

TEST(tables_are_cut_short)
{
    cut_everywhere("a.csv", "path,label,box\nx.png,\"b\",\"[[1,2]]\"\r\ny.png,a,[]\r\n");
    cut_everywhere("a.jsonl", "{\"path\": \"x\", \"label\": \"b\", \"o\": {\"box\": [[1, 2]]}}\n"
                              "{\"path\": \"y\", \"label\": \"a\"}\n");
}

TEST(values_are_read)
{
    char text[8];
    int64_t label = -1;
    size_t size = 0;
    sluice_error error = SLUICE_ERROR_INIT;
    write_file(test_path("x.png"), "PNG", 3);
    write_file(test_path("a.csv"), "path,label\nx.png,7\nabsent,8\n", 28);
    sluice_dataset *dataset = open_table("a.csv", &error);
    assert_non_null(dataset);
    assert_int_equal(sluice_dataset_read(dataset, 0, "image", text, sizeof(text), &size, &error),
                     SLUICE_OK);
    assert_int_equal(size, 3);
    assert_memory_equal(text, "PNG", 3);
    assert_int_equal(sluice_dataset_read(dataset, 0, "label", &label, sizeof(label), &size, &error),
                     SLUICE_OK);
    assert_int_equal(label, 7);
    assert_int_equal(sluice_dataset_read(dataset, 1, "image", text, sizeof(text), &size, &error),
                     SLUICE_IO);
    assert_non_null(strstr(error.file, "/absent"));
    sluice_dataset_close(dataset);
}

/* The first column is a field like the others. */
TEST(labels_come_first)
{
    int64_t label = -1;
    size_t size = 0;
    sluice_error error = SLUICE_ERROR_INIT;
    write_file(test_path("x.png"), "PNG", 3);
    write_file(test_path("c.csv"), "label,path\n7,x.png\n8,x.png\n", 27);
    sluice_dataset *dataset = open_table("c.csv", &error);
    assert_non_null(dataset);
    assert_int_equal(sluice_dataset_read(dataset, 0, "label", &label, sizeof(label), &size, &error),
                     SLUICE_OK);
    assert_int_equal(label, 7);
    sluice_dataset_close(dataset);
}

/* The error lists as many columns as fit. */
TEST(columns_are_listed_if_none_names_images)
{
    char text[1024];
    sluice_error error = SLUICE_ERROR_INIT;
    write_file(test_path("n.csv"), "one,two,three\n1,2,3\n", 20);
    assert_null(open_table("n.csv", &error));
    assert_int_equal(error.status, SLUICE_INVALID);
    assert_non_null(strstr(error.text, "\"one\", \"two\", \"three\""));
    size_t at = 0;
    for (int i = 0; i < 40; i++) {
        at +=
            (size_t)snprintf(text + at, sizeof(text) - at, "column%02d%c", i, i < 39 ? ',' : '\n');
    }
    write_file(test_path("n.csv"), text, (uint32_t)at);
    assert_null(open_table("n.csv", &error));
    assert_non_null(strstr(error.text, "\"column00\", \"column01\", \"column02\", \"column03\""));
}

/* Lists of im2rec: several labels are numbers, or the line is damaged. */
TEST(labels_of_a_list)
{
    static const struct {
        const char *line;
        sluice_status status;
    } lines[] = {{"0\t1\t2\tl.png\n", SLUICE_OK},
                 {"0\t1\t2.5\t-3\tl.png\n", SLUICE_OK},
                 {"0\t1\tcat\tl.png\n", SLUICE_CORRUPT},
                 {"0\t1\t[2]\tl.png\n", SLUICE_CORRUPT},
                 {"0\tl.png\n", SLUICE_CORRUPT}};
    write_file(test_path("l.png"), "PNG", 3);
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        bool more = false;
        sl_table *table = NULL;
        write_file(test_path("a.lst"), lines[i].line, (uint32_t)strlen(lines[i].line));
        sluice_status status = sl_table_open(&table, test_path("a.lst"), NULL);
        if (status == SLUICE_OK) {
            status = sl_table_next(table, &more, NULL);
            sl_table_close(table);
        }
        assert_int_equal(status, lines[i].status);
        assert_true(status < 0 || more);
    }
}

/* Every folder beside the table is searched, whatever order they are listed in. */
TEST(images_are_in_any_folder_beside_the_table)
{
    static const char *const folders[] = {"few", "more", "most"};
    for (size_t i = 0; i < 3; i++) {
        (void)mkdir(test_path("%s", folders[i]), 0700);
    }
    write_file(test_path("b.csv"), "path,label\nz.png,7\n", 19);
    for (size_t i = 0; i < 3; i++) {
        char bytes[8];
        size_t size = 0;
        sluice_error error = SLUICE_ERROR_INIT;
        write_file(test_path("%s/z.png", folders[i]), folders[i], 3);
        sluice_dataset *dataset = open_table("b.csv", &error);
        assert_non_null(dataset);
        assert_int_equal(
            sluice_dataset_read(dataset, 0, "image", bytes, sizeof(bytes), &size, &error),
            SLUICE_OK);
        assert_int_equal(size, 3);
        assert_memory_equal(bytes, folders[i], 3);
        sluice_dataset_close(dataset);
        assert_int_equal(unlink(test_path("%s/z.png", folders[i])), 0);
    }
}

int main(void)
{
    test_folder_make(NULL);
    const int failed = test_run(NULL, NULL);
    test_folder_remove(NULL);
    return failed;
}
