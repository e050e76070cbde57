/* SPDX-License-Identifier: Apache-2.0 */
/*
 * beton_file: reads the rows and the allocation table of a file, and checks them against each
 * other.
 *
 * One thread opens; then it is immutable.
 */
#include "beton_file.h"

#include "little_endian.h"
#include "memory.h"
#include "store.h"

#include <string.h>

#define STAGE       "dataset"
#define CHUNK_BYTES ((size_t)1 << 20)

typedef struct reader {
    sl_beton_file *file;
    sl_handle from;
} reader;

static sluice_status beton_file_fail(const reader *r, sl_refusal why, uint64_t offset,
                                     sluice_error *error)
{
    return sl_error_file(error, why.status, STAGE, 0, r->from.name.path,
                         (int64_t)(offset + why.offset), "%s", why.text);
}

/* ---- header ---- */

static sluice_status beton_file_read_columns(const reader *r, sluice_error *error)
{
    sl_beton_file *file = r->file;
    const size_t bytes = (size_t)file->head.columns * SL_BETON_FIELD;
    uint8_t *fields = sl_malloc(bytes);
    file->columns = sl_calloc(file->head.columns, sizeof(*file->columns));
    sluice_status status = fields == NULL || file->columns == NULL
                               ? sl_no_memory(error, STAGE, "opening a dataset")
                               : sl_handle_read(&r->from, fields, bytes, SL_BETON_HEAD, error);
    if (status == SLUICE_OK) {
        const sl_refusal why = sl_beton_columns_parse(&file->head, file->columns, fields);
        status = why.text != NULL ? beton_file_fail(r, why, 0, error) : SLUICE_OK;
    }
    sl_free(fields);
    for (uint32_t i = 0; status == SLUICE_OK && i < file->head.columns; i++) {
        file->pictures += file->columns[i].kind == SL_BETON_PICTURE;
    }
    return status;
}

static sluice_status beton_file_read_head(const reader *r, sluice_error *error)
{
    uint8_t bytes[SL_BETON_HEAD];
    const sluice_status status = sl_handle_read(&r->from, bytes, sizeof(bytes), 0, error);
    if (status < 0) {
        return status;
    }
    const sl_refusal why = sl_beton_head_parse(&r->file->head, bytes, r->file->file.bytes);
    return why.text != NULL ? beton_file_fail(r, why, 0, error) : beton_file_read_columns(r, error);
}

/* ---- rows ---- */

/* Allocates what a file of this size can contain. */
static sluice_status beton_file_make_space(const reader *r, sluice_error *error)
{
    sl_beton_file *file = r->file;
    const sl_beton_head *head = &file->head;
    const uint64_t most = head->row_bytes + (uint64_t)file->pictures * sizeof(*file->sizes);
    if (file->pictures > 0 && head->table_rows / file->pictures < head->samples) {
        return beton_file_fail(
            r, sl_refuse("its allocation table has fewer rows than there are images", 0),
            head->table_at, error);
    }
    const bool possible =
        head->samples < SIZE_MAX / 2 / most && sl_memory_has_space(head->samples * most);
    file->rows = possible ? sl_malloc(head->samples * head->row_bytes) : NULL;
    file->sizes =
        possible ? sl_calloc(head->samples * file->pictures + 1, sizeof(*file->sizes)) : NULL;
    return file->rows != NULL && file->sizes != NULL
               ? SLUICE_OK
               : sl_error_file(error, SLUICE_NOMEM, STAGE, 0, r->from.name.path, -1,
                               "out of memory for the rows of %llu samples",
                               (unsigned long long)head->samples);
}

/* Checks that images are within the pages, before more is read. */
static sluice_status check_pictures(const reader *r, uint64_t first, uint64_t count,
                                    sluice_error *error)
{
    const sl_beton_file *file = r->file;
    const sl_beton_head *head = &file->head;
    for (uint64_t i = first; i < first + count; i++) {
        for (uint32_t c = 0; c < head->columns; c++) {
            sl_extent piece;
            if (file->columns[c].kind == SL_BETON_PICTURE &&
                sl_beton_piece_of(&file->columns[c], sl_beton_file_row(file, i), 0, &piece) &&
                (piece.offset < head->rows_at + head->samples * head->row_bytes ||
                 piece.offset >= head->table_at)) {
                return sl_error_file(
                    error, SLUICE_CORRUPT, STAGE, 0, r->from.name.path,
                    (int64_t)(head->rows_at + i * head->row_bytes + file->columns[c].at),
                    "the image of sample %llu is outside the pages", (unsigned long long)i);
            }
        }
    }
    return SLUICE_OK;
}

static sluice_status beton_file_read_rows(const reader *r, sluice_error *error)
{
    const sl_beton_head *head = &r->file->head;
    const uint64_t step = CHUNK_BYTES / head->row_bytes + 1;
    sluice_status status = SLUICE_OK;
    for (uint64_t i = 0; status == SLUICE_OK && i < head->samples; i += step) {
        const uint64_t count = head->samples - i < step ? head->samples - i : step;
        const uint64_t at = i * head->row_bytes;
        status = sl_handle_read(&r->from, r->file->rows + at, count * head->row_bytes,
                                head->rows_at + at, error);
        if (status == SLUICE_OK) {
            status = check_pictures(r, i, count, error);
        }
    }
    return status;
}

/* ---- the table ---- */

/* Checks a size against the row or the field's type, which also give it, except for images. */
static sl_refusal beton_file_check_size(const sl_beton_column *column, const sl_extent *piece,
                                        uint64_t bytes)
{
    return piece->bytes == 0 || piece->bytes == bytes || column->source.refused != NULL
               ? sl_accept()
               : sl_refuse("a size in its allocation table differs from that of the field or row",
                           16);
}

static sl_refusal take_allocation(sl_beton_file *file, const uint8_t *allocation)
{
    const uint64_t sample = sl_load64(allocation);
    const uint64_t at = sl_load64(allocation + 8);
    const uint64_t bytes = sl_load64(allocation + 16);
    sl_refusal why = sl_accept();
    if (sample >= file->head.samples) {
        return sl_refuse("its allocation table has a sample out of range", 0);
    }
    if (bytes > UINT32_MAX) {
        return sl_refuse("its allocation table has bytes out of range of any page", 16);
    }
    for (uint32_t c = 0; why.text == NULL && c < file->head.columns; c++) {
        const sl_beton_column *column = &file->columns[c];
        sl_extent piece;
        /* an item without bytes may share the offset of the next one */
        if (bytes == 0 || !sl_beton_piece_of(column, sl_beton_file_row(file, sample), 0, &piece) ||
            piece.offset != at) {
            continue;
        }
        if (column->kind != SL_BETON_PICTURE) {
            why = beton_file_check_size(column, &piece, bytes);
            continue;
        }
        uint32_t *size = &file->sizes[sample * file->pictures + column->picture];
        *size = bytes > *size ? (uint32_t)bytes : *size;
    }
    return why;
}

static sluice_status beton_file_read_table(const reader *r, sluice_error *error)
{
    const sl_beton_head *head = &r->file->head;
    const uint64_t step = CHUNK_BYTES / SL_BETON_ALLOCATION;
    sluice_status status = SLUICE_OK;
    uint8_t *bytes = sl_malloc(step * SL_BETON_ALLOCATION);
    if (bytes == NULL) {
        return sl_no_memory(error, STAGE, "for an allocation table");
    }
    for (uint64_t i = 0; status == SLUICE_OK && i < head->table_rows; i += step) {
        const uint64_t count = head->table_rows - i < step ? head->table_rows - i : step;
        const uint64_t at = head->table_at + i * SL_BETON_ALLOCATION;
        status = sl_handle_read(&r->from, bytes, count * SL_BETON_ALLOCATION, at, error);
        for (uint64_t k = 0; status == SLUICE_OK && k < count; k++) {
            const sl_refusal why = take_allocation(r->file, bytes + k * SL_BETON_ALLOCATION);
            status = why.text != NULL ? beton_file_fail(r, why, at + k * SL_BETON_ALLOCATION, error)
                                      : SLUICE_OK;
        }
    }
    sl_free(bytes);
    return status;
}

/* ---- the file ---- */

sluice_status sl_beton_file_open(sl_beton_file *file, const char *path, sluice_error *error)
{
    reader r = {.file = file};
    *file = (sl_beton_file){.rows = NULL};
    sluice_status status = sl_handle_open(&r.from, (sl_file_name){STAGE, path}, &file->file, error);
    if (status < 0) {
        return status;
    }
    status = beton_file_read_head(&r, error);
    if (status == SLUICE_OK) {
        status = beton_file_make_space(&r, error);
    }
    if (status == SLUICE_OK) {
        status = beton_file_read_rows(&r, error);
    }
    if (status == SLUICE_OK) {
        status = beton_file_read_table(&r, error);
    }
    sl_handle_close(&r.from);
    return status;
}

void sl_beton_file_close(sl_beton_file *file)
{
    sl_free(file->columns);
    sl_free(file->rows);
    sl_free(file->sizes);
    *file = (sl_beton_file){.rows = NULL};
}

bool sl_beton_file_alike(const sl_beton_file *a, const sl_beton_file *b)
{
    bool same = a->head.columns == b->head.columns;
    for (uint32_t i = 0; same && i < a->head.columns; i++) {
        const sl_source_column *one = &a->columns[i].source;
        const sl_source_column *other = &b->columns[i].source;
        same = a->columns[i].kind == b->columns[i].kind && strcmp(one->name, other->name) == 0 &&
               (one->refused == NULL) == (other->refused == NULL) &&
               one->field.dtype == other->field.dtype && one->field.dims == other->field.dims &&
               memcmp(one->field.shape, other->field.shape, sizeof(one->field.shape)) == 0;
    }
    return same;
}

const uint8_t *sl_beton_file_row(const sl_beton_file *file, uint64_t sample)
{
    return file->rows + sample * file->head.row_bytes;
}

bool sl_beton_file_piece(const sl_beton_file *file, uint64_t sample, uint32_t column,
                         sl_extent *piece)
{
    const sl_beton_column *of = &file->columns[column];
    const uint32_t allocated =
        of->kind == SL_BETON_PICTURE ? file->sizes[sample * file->pictures + of->picture] : 0;
    return sl_beton_piece_of(of, sl_beton_file_row(file, sample), allocated, piece);
}
