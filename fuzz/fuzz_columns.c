/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_columns: any bytes as columns that are asked for, of any struct_size: refused with a reason,
 * or bound to the fields of a dataset with arrays of the size that their shapes say.
 *
 * An input is records of RECORD bytes: a sluice_column, then a byte for each of its pointers
 * (field, name, recipe), which cannot come from a file.
 */
#include "fuzz.h"

#include "columns.h"
#include "dtype.h"

#include <stddef.h>
#include <string.h>

enum { RECORD = sizeof(sluice_column) + 3, RECORDS_MAX = 80 };

static const sl_field fields[] = {
    {.name = "image", .type = SLUICE_FIELD_IMAGE},
    {.name = "label", .type = SLUICE_FIELD_INT},
    {.name = "score", .type = SLUICE_FIELD_FLOAT},
    {.name = "text", .type = SLUICE_FIELD_TEXT},
    {.name = "tokens", .type = SLUICE_FIELD_TENSOR, .dtype = SLUICE_U16, .dims = 1},
    {.name = "cube",
     .type = SLUICE_FIELD_TENSOR,
     .dtype = SLUICE_F32,
     .dims = 3,
     .shape = {4, 5, 6}},
    {.name = "open", .type = SLUICE_FIELD_TENSOR, .dtype = SLUICE_I32, .dims = 2, .shape = {0, 7}},
};
enum { FIELDS = sizeof(fields) / sizeof(*fields) };

/* The names that a column may give; the first is the most usual. */
static const char *name_of(uint8_t byte)
{
    static const char *const others[] = {
        NULL, "", "a", "a.offsets", "index", "no name", "thirty-one-letters-and-one-more-."};
    const size_t count = sizeof(others) / sizeof(*others);
    return byte < count ? others[byte] : fields[byte % FIELDS].name;
}

static void add(sluice_columns *columns, const uint8_t *record, sluice_augment *const *recipes)
{
    sluice_column column;
    memcpy(&column, record, sizeof(column));
    const uint8_t *pointers = record + sizeof(column);
    column.field = name_of((uint8_t)(pointers[0] + 8));
    column.name = name_of(pointers[1]);
    column.mixes = name_of((uint8_t)(pointers[0] / 2));
    column.recipe = recipes[pointers[2] % 3];
    if (column.struct_size > sizeof(column)) {
        column.struct_size = sizeof(column); /* nothing is there behind it */
    } else if (column.struct_size > _Alignof(sluice_column)) {
        column.struct_size &= ~(uint32_t)(_Alignof(sluice_column) - 1); /* no half a pointer */
    }
    const uint32_t before = columns->count;
    const sluice_status status = sluice_columns_add(columns, &column);
    sluice_error error = SLUICE_ERROR_INIT;
    fuzz_expect(columns->count == before + (status == SLUICE_OK), "a refused column is not there");
    if (status != SLUICE_OK) {
        fuzz_expect(sluice_columns_get_error(columns, &error) < 0 && error.text[0] != '\0',
                    "a refusal has a reason");
    }
}

static void check_part(const sl_part *part)
{
    uint64_t bytes = sl_dtype_bytes(part->dtype);
    fuzz_expect(bytes > 0 && part->dims < SLUICE_TENSOR_DIMS_MAX, "a dtype, and room for rows");
    for (uint32_t i = 0; i < part->dims; i++) {
        fuzz_expect(part->shape[i] > 0, "shapes are positive");
        bytes *= (uint64_t)part->shape[i];
    }
    if (part->role == SL_PART_RAGGED) {
        fuzz_expect(part->element_bytes == bytes && part->row_bytes % bytes == 0, "ragged");
    } else if (part->role != SL_PART_HIDDEN) {
        fuzz_expect(part->row_bytes == bytes, "a row is as large as its shape");
    }
}

static void bind(const sluice_columns *columns)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sl_column_set set;
    const sl_columns_config config = {.asked = columns, .fields = fields, .field_count = FIELDS};
    const sluice_status status = sl_columns_bind(&set, &config, &error);
    if (status != SLUICE_OK) {
        fuzz_expect(status < 0 && error.text[0] != '\0', "a refusal has a reason");
        return;
    }
    fuzz_expect(set.count == columns->count && set.part_count <= SL_PARTS_MAX, "all columns");
    for (uint32_t i = 0; i < set.part_count; i++) {
        check_part(&set.parts[i]);
        for (uint32_t k = 0; k < i; k++) {
            fuzz_expect(set.parts[i].role == SL_PART_HIDDEN ||
                            set.parts[k].role == SL_PART_HIDDEN ||
                            strcmp(set.parts[i].name, set.parts[k].name) != 0,
                        "names are unique");
        }
    }
    sl_columns_close(&set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sluice_columns *columns = NULL;
    sluice_augment *recipes[3] = {NULL, NULL, NULL}; /* none, one with geometry, one without */
    fuzz_expect(sluice_columns_create(&columns) == SLUICE_OK, "memory");
    fuzz_expect(sluice_augment_create(&recipes[1]) == SLUICE_OK, "memory");
    fuzz_expect(sluice_augment_create(&recipes[2]) == SLUICE_OK, "memory");
    fuzz_expect(sluice_augment_random_crop(recipes[1], 32, 24, 4) == SLUICE_OK, "a recipe");
    for (size_t i = 0; i < RECORDS_MAX && (i + 1) * RECORD <= size; i++) {
        add(columns, data + i * RECORD, recipes);
    }
    bind(columns);
    columns->first_error.status = SLUICE_OK; /* and what is there without those refused */
    bind(columns);
    sluice_augment_destroy(recipes[1]);
    sluice_augment_destroy(recipes[2]);
    sluice_columns_destroy(columns);
    return 0;
}

/* ---- seeds ---- */

/* `field` is its number in the table; `recipe` as in the input. */
static size_t put(uint8_t *buffer, sluice_column column, uint8_t field, uint8_t recipe)
{
    const uint8_t pointers[] = {(uint8_t)(FIELDS * 2 - 8 + field), 0, recipe};
    column.struct_size = sizeof(column);
    memcpy(buffer, &column, sizeof(column));
    memcpy(buffer + sizeof(column), pointers, sizeof(pointers));
    return RECORD;
}

size_t fuzz_seed(unsigned index, uint8_t *buffer)
{
    enum { IMAGE, LABEL, SCORE, TEXT, TOKENS, CUBE, OPEN };
    size_t size = 0;
    switch (index) {
    case 0:
        size += put(buffer, (sluice_column){.kind = SLUICE_COLUMN_IMAGE, .dtype = SLUICE_F16},
                    IMAGE, 1);
        size += put(buffer + size, (sluice_column){.kind = SLUICE_COLUMN_NUMBER}, LABEL, 0);
        size += put(buffer + size, (sluice_column){.kind = SLUICE_COLUMN_NUMBER}, SCORE, 0);
        return size;
    case 1:
        size += put(buffer, (sluice_column){.kind = SLUICE_COLUMN_RAGGED, .length = 9}, TEXT, 0);
        size +=
            put(buffer + size, (sluice_column){.kind = SLUICE_COLUMN_PADDED, .length = 3}, OPEN, 0);
        size += put(buffer + size, (sluice_column){.kind = SLUICE_COLUMN_ONE_HOT, .length = 5},
                    LABEL, 0);
        return size;
    case 2:
        return put(buffer,
                   (sluice_column){.kind = SLUICE_COLUMN_TENSOR,
                                   .part = SLUICE_PART_RANDOM,
                                   .dims = 3,
                                   .shape = {2, 2, 6}},
                   CUBE, 0);
    case 3:
        return put(buffer,
                   (sluice_column){.kind = SLUICE_COLUMN_WINDOW,
                                   .length = 8,
                                   .stride = 4,
                                   .offset = 1,
                                   .dtype = SLUICE_I32},
                   TOKENS, 0);
    case 4:
        size += put(buffer,
                    (sluice_column){.kind = SLUICE_COLUMN_TENSOR,
                                    .part = SLUICE_PART_CENTER,
                                    .dtype = SLUICE_U16,
                                    .dims = 2,
                                    .shape = {5, 7}},
                    IMAGE, 0);
        return size;
    default:
        return 0;
    }
}
