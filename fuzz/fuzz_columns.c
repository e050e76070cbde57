/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_columns: any bytes as requested columns, of any struct_size: they fail with a reason, or are
 * bound to the fields of a dataset, with arrays of the size that their shapes give.
 *
 * An input is records of RECORD bytes: a sluice_column, then bytes for its pointers (field, name,
 * recipe, follows and mirror, mixes and fields besides its own), which cannot come from a file. */
#include "fuzz.h"

#include "columns.h"
#include "dtype.h"

#include <stddef.h>
#include <string.h>

enum { RECORD = sizeof(sluice_column) + 5, RECORDS_MAX = 80 };

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
    {.name = "boxes", .type = SLUICE_FIELD_TENSOR, .dtype = SLUICE_F32, .dims = 2, .shape = {0, 4}},
    {.name = "map", .type = SLUICE_FIELD_TENSOR, .dtype = SLUICE_BOOL, .dims = 2},
};
enum { FIELDS = sizeof(fields) / sizeof(*fields) };

/* Returns a name that a column may give; the first one is the most common. */
static const char *name_of(uint8_t byte)
{
    static const char *const others[] = {
        NULL, "", "a", "a.offsets", "index", "no name", "thirty-one-letters-and-one-more-."};
    const size_t count = sizeof(others) / sizeof(*others);
    return byte < count ? others[byte] : fields[byte % FIELDS].name;
}

enum { MIRRORS = 3 };
/* From these values on, the last byte chooses fields besides a column's own. */
enum { MEDIA = 0xD0, LABELLED = 0xE0, SHAPED = 0xF0 };
/* The value at which a column that cannot have a mask has one. */
enum { MASKED = 0xFF };
static const uint32_t mirrors[MIRRORS] = {1, 0, 2};

static void add(sluice_columns *columns, const uint8_t *record, sluice_augment *const *recipes)
{
    sluice_column column;
    memcpy(&column, record, sizeof(column));
    const uint8_t *pointers = record + sizeof(column);
    column.field = name_of((uint8_t)(pointers[0] + 8));
    column.name = name_of(pointers[1]);
    column.mixes = name_of(pointers[4] < MEDIA ? pointers[4] : 0);
    column.recipe = recipes[pointers[2] % 3];
    column.shapes = name_of(pointers[4] >= SHAPED ? pointers[4] : 0);
    column.labels = name_of(pointers[4] >= LABELLED && pointers[4] < SHAPED ? pointers[3] : 0);
    column.crowds = name_of(pointers[4] > LABELLED && pointers[4] < SHAPED ? pointers[3] : 0);
    column.mask =
        column.kind == SLUICE_COLUMN_PACKED || pointers[3] == MASKED ? name_of(pointers[3]) : NULL;
    column.media = name_of(pointers[4] >= MEDIA && pointers[4] < LABELLED ? pointers[3] : 0);
    column.follows = name_of(pointers[3] < 0xF0 ? (uint8_t)(pointers[3] / 16) : 0);
    column.mirror = pointers[3] % 16 == 1 ? mirrors : NULL;
    if (column.mirror != NULL && column.mirror_count > MIRRORS && column.mirror_count <= 256) {
        column.mirror_count = MIRRORS; /* no memory follows */
    }
    if (column.struct_size > sizeof(column)) {
        column.struct_size = sizeof(column); /* no memory follows */
    } else if (column.struct_size > _Alignof(sluice_column)) {
        column.struct_size &= ~(uint32_t)(_Alignof(sluice_column) - 1); /* no partial pointer */
    }
    const uint32_t before = columns->count;
    const sluice_status status = sluice_columns_add(columns, &column);
    sluice_error error = SLUICE_ERROR_INIT;
    fuzz_expect(columns->count == before + (status == SLUICE_OK), "a refused column is not added");
    if (status != SLUICE_OK) {
        fuzz_expect(sluice_columns_get_error(columns, &error) < 0 && error.text[0] != '\0',
                    "a refusal has a reason");
    }
}

static void check_part(const sl_part *part)
{
    uint64_t bytes = sl_dtype_bytes(part->dtype);
    fuzz_expect(bytes > 0 && part->dims < SLUICE_TENSOR_DIMS_MAX, "a dtype, and room for rows");
    if (part->role == SL_PART_SIZED) { /* height and width belong to the batch */
        fuzz_expect(part->element_bytes > 0 && part->row_bytes % part->element_bytes == 0, "sized");
        return;
    }
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

int fuzz_run(const uint8_t *data, size_t size)
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
    columns->first_error.status = SLUICE_OK; /* then bind without the rejected ones */
    bind(columns);
    sluice_augment_destroy(recipes[1]);
    sluice_augment_destroy(recipes[2]);
    sluice_columns_destroy(columns);
    return 0;
}

/* ---- seeds ---- */

/* `field`: its number in the table; `recipe`: as in the input. */
static size_t put(uint8_t *buffer, sluice_column column, uint8_t field, uint8_t recipe)
{
    const uint8_t pointers[] = {(uint8_t)(FIELDS * 2 - 8 + field), 0, recipe, 0, 0};
    column.struct_size = sizeof(column);
    memcpy(buffer, &column, sizeof(column));
    memcpy(buffer + sizeof(column), pointers, sizeof(pointers));
    return RECORD;
}

/* An image, columns that follow it, and columns that follow those. */
static size_t put_followers(uint8_t *buffer)
{
    enum { NOTHING = 0, THE_BOXES = 7 * 16, BOXES = 7, MAP = 8, OPEN = 6, IMAGE = 0, FOLLOWS = 2 };
    const struct {
        sluice_column column;
        uint8_t field, follows;
    } columns[] = {
        {{.kind = SLUICE_COLUMN_IMAGE, .dtype = SLUICE_U8}, IMAGE, NOTHING},
        {{.kind = SLUICE_COLUMN_MASK, .fill = 1}, MAP, NOTHING},
        {{.kind = SLUICE_COLUMN_BOXES, .length = 9, .at_least_one = 1, .min_visibility = 0.5},
         BOXES,
         NOTHING},
        {{.kind = SLUICE_COLUMN_PADDED, .length = 3}, OPEN, THE_BOXES},
    };
    size_t size = 0;
    for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++) {
        size += put(buffer + size, columns[i].column, columns[i].field, i == 0);
        buffer[size - FOLLOWS] = columns[i].follows;
    }
    return size;
}

/* Points of an image, and its geometry. */
static size_t put_points(uint8_t *buffer)
{
    enum { BOXES = 7, MIRROR = 1, NAMED = 2, PLACES = 2 };
    size_t size =
        put(buffer, (sluice_column){.kind = SLUICE_COLUMN_IMAGE, .dtype = SLUICE_F32}, 0, 1);
    size += put(buffer + size,
                (sluice_column){.kind = SLUICE_COLUMN_POINTS,
                                .length = 5,
                                .point_values = PLACES,
                                .mirror_count = MIRRORS - 1},
                BOXES, 0);
    buffer[size - 2] = MIRROR;
    size += put(buffer + size, (sluice_column){.kind = SLUICE_COLUMN_GEOMETRY}, 0, 0);
    buffer[size - 5] = (uint8_t)-8; /* no such field */
    buffer[size - 4] = NAMED;
    return size;
}

/* An image, a class map made from shapes, and boxes rebuilt from them. */
static size_t put_shapes(uint8_t *buffer)
{
    enum { BOXES = 7, TEXT = 3, TOKENS_NAMED = FIELDS + 4, TEXT_NAMED = 0xF6 };
    size_t size =
        put(buffer, (sluice_column){.kind = SLUICE_COLUMN_IMAGE, .dtype = SLUICE_U8}, 0, 1);
    size +=
        put(buffer + size,
            (sluice_column){
                .kind = SLUICE_COLUMN_MASK, .dtype = SLUICE_I32, .overlap = SLUICE_OVERLAP_IGNORE},
            TEXT, 0);
    buffer[size - 2] = TOKENS_NAMED;
    buffer[size - 1] = LABELLED + 1;
    size += put(buffer + size, (sluice_column){.kind = SLUICE_COLUMN_BOXES, .length = 4}, BOXES, 0);
    buffer[size - 1] = TEXT_NAMED;
    return size;
}

/* Packed rows with a second field of the documents. */
static size_t put_media(uint8_t *buffer)
{
    enum { TOKENS = 4, OPEN = 6 };
    const size_t size =
        put(buffer,
            (sluice_column){
                .kind = SLUICE_COLUMN_PACKED, .length = 24, .per_token = 2, .media_length = 40},
            TOKENS, 0);
    buffer[size - 2] = FIELDS + OPEN;
    buffer[size - 1] = MEDIA;
    return size;
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
    case 5:
        return put_followers(buffer);
    case 6:
        return put_points(buffer);
    case 7:
        return put_shapes(buffer);
    case 8:
        return put(buffer,
                   (sluice_column){.kind = SLUICE_COLUMN_PACKED,
                                   .length = 24,
                                   .align = 8,
                                   .max_documents = 4,
                                   .cut = SLUICE_CUT_LONG,
                                   .eos = 2,
                                   .ids = SLUICE_ID_EOS,
                                   .dtype = SLUICE_I32},
                   TOKENS, 0);
    case 9:
        return put_media(buffer);
    default:
        return 0;
    }
}
