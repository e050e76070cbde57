/* SPDX-License-Identifier: Apache-2.0 */
#include "shards_run.h"

#include "dataset_run.h"
#include "dtype.h"
#include "photo_folder.h"

#include <stdio.h>
#include <string.h>

static char root[256];

static void remove_root(void)
{
    remove_tree(root);
}

static void make_root(void)
{
    if (root[0] == '\0') {
        temporary_directory(root, sizeof(root));
        (void)atexit(remove_root);
    }
}

void fuzz_shards_write(const char *name, const void *data, size_t size)
{
    char path[512];
    make_root();
    (void)snprintf(path, sizeof(path), "%s/%s", root, name);
    write_file(path, data, (uint32_t)size);
}

void fuzz_shards_open(void)
{
    make_root();
    fuzz_dataset_run(root);
}

sl_source_column *fuzz_shards_column(sl_sized_columns *columns, const char *name)
{
    fuzz_expect(sl_sized_columns_add(columns, "x", NULL) == SLUICE_OK, "there is memory");
    sl_source_column *source = &columns->sources[columns->count - 1];
    (void)snprintf(source->name, sizeof(source->name), "%s", name);
    return source;
}

static void look_at_value(const sl_field *field, const sl_value *value, const uint8_t *data,
                          size_t size)
{
    if (field->type == SLUICE_FIELD_INT || field->type == SLUICE_FIELD_FLOAT)
        return;
    fuzz_expect(value->bytes.data == data + value->offset, "offsets are right");
    fuzz_expect(value->bytes.size <= size && value->offset <= size - value->bytes.size,
                "values lie inside their sample");
    if (field->type == SLUICE_FIELD_IMAGE && value->codec == SL_CODEC_RAW) {
        fuzz_expect((uint64_t)value->width * value->height * 3 == value->bytes.size,
                    "raw pixels are as many as their size says");
    }
    if (field->type != SLUICE_FIELD_TENSOR)
        return;
    uint64_t wanted = sl_dtype_bytes(field->dtype);
    for (uint32_t i = 0; i < field->dims; i++) {
        fuzz_expect(field->shape[i] == 0 || value->shape[i] == field->shape[i], "shapes are kept");
        fuzz_expect(value->shape[i] == 0 || wanted <= UINT64_MAX / value->shape[i] ||
                        value->bytes.size == 0,
                    "shapes do not wrap around");
        wanted *= value->shape[i];
    }
    fuzz_expect(value->bytes.size == 0 || wanted == value->bytes.size,
                "an array has the size of its shape");
}

void fuzz_shards_sample(sl_sized_columns *columns, const uint8_t *data, size_t size)
{
    static sl_values values;
    static const sluice_dataset_options all = SLUICE_DATASET_OPTIONS_INIT;
    (void)sl_sized_columns_look(columns, (sl_bytes){data, size});
    if (sl_sized_columns_find(columns, &all, "x", NULL) == SLUICE_OK) {
        sl_values_begin(&values, SL_VALUES_ALL);
        const sl_refusal refusal =
            sl_sized_columns_unpack(columns, (sl_bytes){data, size}, &values);
        for (uint32_t i = 0; refusal.text == NULL && i < columns->fields.count; i++)
            look_at_value(&columns->fields.fields[i], &values.of[i], data, size);
    }
    sl_sized_columns_close(columns);
}
