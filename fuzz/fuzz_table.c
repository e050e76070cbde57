/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_table: any bytes as a table that lists images, or as a text that may do so. Input: one byte
 * (CSV, TSV, JSON Lines, a list, one cell, StyleGAN's pairs, or a text beside images), then the
 * bytes. */
#include "dataset_run.h"
#include "foreign.h"
#include "list_scan.h"
#include "table_cell.h"

#include <string.h>

enum { CSV, TSV, JSON_LINES, LIST, CELL, PAIRS, SCAN, MODES };

static const char *const names[] = {"a.csv", "a.tsv",        "a.jsonl",   "a.lst",
                                    "",      "dataset.json", "labels.txt"};

/* A text is recognized as the same kind of list each time, and its head by one table. */
static void run_scan(const char *path, const uint8_t *data, size_t size)
{
    const sl_list_images images = {.root = fuzz_suspect_folder(0),
                                   .folders = {"", "b"},
                                   .folder_count = 2,
                                   .count = 2,
                                   .extension = ".jpg"};
    const sl_mentions first = sl_list_scan(path, &images);
    const sl_mentions again = sl_list_scan(path, &images);
    fuzz_expect(first == again, "it stays the same");
    const char *kind = sl_foreign_kind(data, size);
    fuzz_expect(kind == NULL || kind == sl_foreign_or_known_kind(data, size), "one table");
}

/* A cell of a type must be a valid value of the corresponding field. */
static void run_cell(const uint8_t *data, size_t size)
{
    static const sluice_field_type types[] = {
        [SL_CELL_INT] = SLUICE_FIELD_INT,
        [SL_CELL_FLOAT] = SLUICE_FIELD_FLOAT,
        [SL_CELL_LIST] = SLUICE_FIELD_TENSOR,
        [SL_CELL_TEXT] = SLUICE_FIELD_BYTES,
    };
    sl_cell_buffer buffer = {0};
    sl_list_shape shape = {0};
    sl_value value;
    uint8_t *text = malloc(size + 1);
    fuzz_expect(text != NULL, "there is memory");
    memcpy(text, data, size);
    text[size] = '\0';
    if (size > 0 && memchr(text, 0, size) == NULL) {
        const sl_cell cell = {.kind = SL_CELL_WORDS, .text = {text, size}};
        const sl_cell_kind kind = sl_cell_look(&cell, &shape);
        const sl_field field = {.type = types[kind],
                                .dtype = SLUICE_F64,
                                .dims = shape.dims == 2 ? 2 : 1,
                                .shape = {0, shape.inner}};
        fuzz_expect(kind != SL_CELL_WORDS && kind != SL_CELL_ABSENT, "words are something");
        fuzz_expect(sl_cell_value(&cell, &field, &buffer, &value) == NULL && value.present,
                    "a cell is what it was taken for");
    }
    sl_cell_buffer_close(&buffer);
    free(text);
}

int fuzz_run(const uint8_t *data, size_t size)
{
    char path[512];
    if (size == 0 || size > FUZZ_INPUT_MAX)
        return 0;
    const unsigned mode = data[0] % MODES;
    if (mode == CELL) {
        run_cell(data + 1, size - 1);
        return 0;
    }
    (void)snprintf(path, sizeof(path), "%s/%s", fuzz_suspect_folder(0), names[mode]);
    fuzz_suspect_write(names[mode], data + 1, size - 1);
    if (mode == SCAN) {
        fuzz_suspect_write("a.jpg", data, 1);
        fuzz_suspect_write("c.jpg", data, 1);
        run_scan(path, data + 1, size - 1);
        return 0;
    }
    fuzz_dataset_run(path);
    return 0;
}

static const struct {
    uint8_t mode;
    const char *text;
} seeds[] = {
    {CSV, "path,label,n,x,box,text\na.jpg,cat,1,0.5,\"[[1,2,3,4]]\",\"a \"\"b\"\"\nc\"\n"
          "b.jpg,dog,,-1e3,[],\nc.jpg,cat,-5,nan,\"[[1,2,3,4],[5,6,7,8.5]]\",x\r\n"},
    {CSV, "\xef\xbb\xbfimage,class\r\na,1\r\nb,2\r\n"},
    {TSV, "file\tcaption\tids\na\t5\" nail\t[1,2]\nb\t\"a\tb\"\t[]\n"},
    {JSON_LINES,
     "{\"file_name\":\"a\",\"objects\":{\"bbox\":[[1,2,3,4]],\"id\":[1]},\"label\":\"x\"}\n"
     "\n{\"file_name\":\"b\",\"more\":{\"a\":{\"b\":null}},\"n\":1.5,\"ok\":true,\"label\":3}\r\n"},
    {LIST, "0\t1.000000\ta.jpg\n 7\t-3\tb c.jpg \r\n\n2\t0.5\td.jpg"},
    {LIST, "5\t4\t5\t640\t480\t1\t0.1\t2e-1\t.jpg\n6\t1.0\t2\ta"},
    {CELL, "-9223372036854775808"},
    {CELL, "+1.25e-3"},
    {CELL, "[[1,2],[3,4.5]]"},
    {PAIRS, "{\"labels\": [[\"a.jpg\", 3], [\"b/c.jpg\", [0, 1.5]], [\"d\", null]]}"},
    {SCAN, "a.jpg 3\nc.jpg 4\n"},
    {SCAN, "\xef\xbb\xbf[{\"name\": \"a.jpg\", \"x\": 1}, {\"name\": 'b/c.jpg'}]"},
};

size_t fuzz_seed(unsigned index, uint8_t *buffer)
{
    if (index >= sizeof(seeds) / sizeof(seeds[0]))
        return 0;
    buffer[0] = seeds[index].mode;
    memcpy(buffer + 1, seeds[index].text, strlen(seeds[index].text));
    return 1 + strlen(seeds[index].text);
}
