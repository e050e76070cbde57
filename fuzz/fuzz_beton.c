/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_beton: any bytes as an FFCV .beton file: header, fields, rows, allocation table, and the
 * resulting samples. Input: the file from its header on. The upper half of its first byte selects
 * whether the offsets in the header are corrected, so that later parts are reached. */
#include "beton_header.h"
#include "dataset_run.h"
#include "little_endian.h"

#include <string.h>

enum { FIELDS = 3, SAMPLES = 3, PAGE = 4096, START = PAGE, FIELD = 1041 };

/* Gives the header a version, table and number of samples that are possible for a file of this
 * size. */
static void seal_head(uint8_t *file, size_t size)
{
    if (size < SL_BETON_HEAD)
        return;
    const uint32_t fields = sl_load16(file + 2) % 5 + 1;
    const size_t rows = SL_BETON_HEAD + (size_t)fields * FIELD;
    sl_store16(file, 2);
    sl_store16(file + 2, (uint16_t)fields);
    if (rows >= size)
        return;
    const uint64_t allocations = sl_load64(file + 16) % 16;
    if (allocations * SL_BETON_ALLOCATION < size - rows)
        sl_store64(file + 16, size - allocations * SL_BETON_ALLOCATION);
    sl_store64(file + 8, sl_load64(file + 8) % 8 + 1);
}

static void expect_columns(const sl_beton_head *head, const sl_beton_column *columns)
{
    uint64_t end = 0;
    for (uint32_t i = 0; i < head->columns; i++) {
        const sl_field *field = &columns[i].source.field;
        fuzz_expect(columns[i].at >= end, "parts of a row follow one another");
        end = columns[i].at + (uint64_t)8;
        fuzz_expect(end <= head->row_bytes, "and lie in it");
        fuzz_expect(field->dims <= SLUICE_TENSOR_DIMS_MAX, "dimensions");
        fuzz_expect(memchr(columns[i].source.name, 0, SL_SOURCE_NAME_BYTES) != NULL, "names end");
        if (field->type == SLUICE_FIELD_TENSOR && columns[i].source.refused == NULL) {
            fuzz_expect(columns[i].bytes > 0 && columns[i].bytes < UINT32_MAX,
                        "an array has bytes");
        }
    }
}

static void run_head(const uint8_t *file, size_t size)
{
    static sl_beton_column columns[SL_SOURCE_COLUMNS_MAX];
    sl_beton_head head;
    if (size < SL_BETON_HEAD)
        return;
    sl_refusal refusal = sl_beton_head_parse(&head, file, size);
    fuzz_expect(refusal.text == NULL || refusal.status < 0, "a refusal has a status");
    if (refusal.text != NULL)
        return;
    fuzz_expect(head.rows_at <= head.table_at && head.table_at <= size, "places lie in the file");
    refusal = sl_beton_columns_parse(&head, columns, file + SL_BETON_HEAD);
    fuzz_expect(refusal.offset <= size, "a refusal points into the file");
    if (refusal.text != NULL)
        return;
    fuzz_expect(head.samples * head.row_bytes <= head.table_at - head.rows_at, "rows lie there");
    expect_columns(&head, columns);
}

int fuzz_run(const uint8_t *data, size_t size)
{
    static char path[512];
    if (size < 1)
        return 0;
    if (path[0] == '\0')
        (void)snprintf(path, sizeof(path), "%s/a.beton", fuzz_suspect_folder(0));
    uint8_t *copy = malloc(size);
    fuzz_expect(copy != NULL, "memory");
    memcpy(copy, data + 1, size - 1);
    if ((data[0] & 1) != 0)
        seal_head(copy, size - 1);
    run_head(copy, size - 1);
    fuzz_suspect_write("a.beton", copy, size - 1);
    fuzz_dataset_run(path);
    free(copy);
    return 0;
}

/* ---- seeds ---- */

/* Images (raw or encoded), numbers, bytes and texts; arrays. */
static const uint8_t kinds[][FIELDS] = {{2, 1, 3}, {5, 4, 2}, {0, 1, 6}};

static size_t put_piece(uint8_t *file, uint64_t at, uint8_t kind, unsigned sample)
{
    static const uint8_t jpeg[] = {0xff, 0xd8, 0xff, 0xe0, 0, 2, 0xff, 0xd9};
    if (kind == 2 && sample == 0) {
        memset(file + at, 7, 12); /* 2 x 2 raw pixels */
        return 12;
    }
    memcpy(file + at, kind == 5 ? (const uint8_t *)"{\"a\":1}" : jpeg, 8);
    return 8;
}

static void put_part(uint8_t *part, uint8_t kind, uint64_t at, uint64_t bytes, unsigned sample)
{
    if (kind == 2) {
        part[0] = sample == 0;
        sl_store16(part + 1, 2);
        sl_store16(part + 3, 2);
        sl_store64(part + 5, at);
    } else {
        sl_store64(part, kind < 2 ? sample : at);
        if (kind == 3 || kind == 5)
            sl_store64(part + 8, bytes);
    }
}

static void put_fields(uint8_t *file, const uint8_t *of)
{
    static const char dtype[] = "[[\"\", \"<f4\"]]";
    for (uint32_t i = 0; i < FIELDS; i++) {
        uint8_t *field = file + SL_BETON_HEAD + (size_t)i * FIELD;
        field[0] = of[i];
        field[1] = (uint8_t)('a' + i);
        if (of[i] == 4 || of[i] == 6) {
            sl_store64(field + 17, 2); /* two floats */
            sl_store64(field + 17 + 256, sizeof(dtype) - 1);
            memcpy(field + 17 + 264, dtype, sizeof(dtype) - 1);
        }
    }
}

size_t fuzz_seed(unsigned index, uint8_t *buffer)
{
    static sl_beton_column columns[FIELDS];
    sl_beton_head head;
    uint8_t *file = buffer + 1;
    uint64_t at = START;
    uint64_t table = START + PAGE;
    if (index >= 2 * sizeof(kinds) / sizeof(kinds[0]))
        return 0;
    const uint8_t *of = kinds[index / 2];
    memset(buffer, 0, 1 + START + PAGE);
    buffer[0] = (uint8_t)(index % 2);
    sl_store16(file, 2);
    sl_store16(file + 2, FIELDS);
    sl_store32(file + 4, PAGE);
    sl_store64(file + 8, SAMPLES);
    sl_store64(file + 16, table);
    put_fields(file, of);
    fuzz_expect(sl_beton_head_parse(&head, file, table).text == NULL &&
                    sl_beton_columns_parse(&head, columns, file + SL_BETON_HEAD).text == NULL,
                "a seed is sound");
    for (unsigned sample = 0; sample < SAMPLES; sample++) {
        uint8_t *row = file + head.rows_at + sample * head.row_bytes;
        for (uint32_t i = 0; i < FIELDS; i++) {
            const size_t bytes = of[i] < 2 ? 0 : put_piece(file, at, of[i], sample);
            put_part(row + columns[i].at, of[i], at, bytes, sample);
            if (bytes > 0) {
                sl_store64(file + table, sample);
                sl_store64(file + table + 8, at);
                sl_store64(file + table + 16, bytes);
                table += SL_BETON_ALLOCATION;
            }
            at += bytes;
        }
    }
    return 1 + table;
}
