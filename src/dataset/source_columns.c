/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_columns: chooses columns and gives them field names and types. Pure, called by the thread
 * that opens a dataset.
 */
#include "source_columns.h"

#include "dtype.h"
#include "error.h"
#include "field_choice.h"
#include "meaning.h"
#include "name_list.h"

#include <stdio.h>
#include <string.h>

#define STAGE "dataset"

/* ---- names ---- */

static uint32_t source_columns_find_column(const sl_source_column *columns, uint32_t count,
                                           const char *name)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(columns[i].name, name) == 0) {
            return i;
        }
    }
    return SL_FIELD_NONE;
}

/* Returns the column that is renamed to "image"; NONE. */
static uint32_t usual_image(const sl_source_column *columns, uint32_t count)
{
    uint32_t found = SL_FIELD_NONE;
    if (source_columns_find_column(columns, count, "image") != SL_FIELD_NONE) {
        return SL_FIELD_NONE;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (columns[i].refused == NULL && columns[i].field.type == SLUICE_FIELD_IMAGE) {
            if (found != SL_FIELD_NONE) {
                return SL_FIELD_NONE;
            }
            found = i;
        }
    }
    return found;
}

static uint32_t usual_label(const sl_source_column *columns, uint32_t count)
{
    static const char *const names[] = {"class", "cls", "fine_label", "target", "labels", "y"};
    if (source_columns_find_column(columns, count, "label") != SL_FIELD_NONE) {
        return SL_FIELD_NONE;
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const uint32_t found = source_columns_find_column(columns, count, names[i]);
        if (found != SL_FIELD_NONE && columns[found].refused == NULL &&
            columns[found].field.type == SLUICE_FIELD_INT) {
            return found;
        }
    }
    return SL_FIELD_NONE;
}

static void source_columns_set_name(sl_field *field, const char *name)
{
    const size_t bytes = strlen(name);
    const char *from = bytes < sizeof(field->name) ? name : name + bytes - sizeof(field->name) + 1;
    memset(field->name, 0, sizeof(field->name));
    memcpy(field->name, from, strlen(from));
    for (char *at = field->name; *at != '\0'; at++) {
        if (*at < '!' || *at > '~') {
            *at = '_';
        }
    }
    if (field->name[0] == '\0') {
        field->name[0] = '_';
    }
}

static bool source_columns_is_taken(const sl_source_fields *fields, const char *name)
{
    for (uint32_t i = 0; i < fields->count; i++) {
        if (strcmp(fields->fields[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static sluice_status source_columns_refuse(const char *path, sluice_status status, const char *name,
                                           const char *why, sluice_error *error)
{
    return sl_error_file(error, status, STAGE, 0, path, -1, "column \"%.256s\": %s", name, why);
}

/* ---- all of them ---- */

/* Rejects a column, and lists others that could be opened instead if the reason does not. */
static sluice_status refuse_unless_chosen(const sl_source_column *columns, uint32_t count,
                                          uint32_t number, const char *path, sluice_error *error)
{
    static const char option[] = "the option fields";
    sl_name_list others;
    const char *why = columns[number].refused;
    sl_name_list_begin(&others);
    for (uint32_t i = 0; i < count; i++) {
        if (columns[i].refused == NULL && !columns[i].asked) {
            sl_name_list_add(&others, columns[i].name);
        }
    }
    return strstr(why, option) != NULL || others.names == 0
               ? source_columns_refuse(path, SLUICE_UNSUPPORTED, columns[number].name, why, error)
               : sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0, path, -1,
                               "column \"%.256s\": %s; choose the fields to read (" SL_OPTION(
                                   "the option fields") ") among the others: %s",
                               columns[number].name, why, others.text);
}

static sluice_status source_columns_find_all(sl_source_fields *fields,
                                             const sl_source_column *columns, uint32_t count,
                                             const char *path, sluice_error *error)
{
    const uint32_t image = usual_image(columns, count);
    const uint32_t label = usual_label(columns, count);
    for (uint32_t i = 0; i < count; i++) {
        sl_field field = columns[i].field;
        if (columns[i].asked) {
            continue;
        }
        if (columns[i].refused != NULL) {
            return refuse_unless_chosen(columns, count, i, path, error);
        }
        if (fields->count == SL_FIELDS_MAX) {
            return sl_error_file(
                error, SLUICE_UNSUPPORTED, STAGE, 0, path, -1,
                "it has more than %u columns: choose the fields to read (" SL_OPTION(
                    "the option fields") ")",
                SL_FIELDS_MAX);
        }
        source_columns_set_name(&field, i == image   ? "image"
                                        : i == label ? "label"
                                                     : columns[i].name);
        if (source_columns_is_taken(fields, field.name)) {
            return source_columns_refuse(
                path, SLUICE_UNSUPPORTED, columns[i].name,
                "another column has the same field name: choose the fields to read (" SL_OPTION(
                    "the option fields") ")",
                error);
        }
        fields->column[fields->count] = i;
        fields->fields[fields->count++] = field;
    }
    return SLUICE_OK;
}

/* ---- those that are chosen ---- */

static bool source_columns_is_same(const sl_field *a, const sl_field *b)
{
    if (a->type != b->type || a->type != SLUICE_FIELD_TENSOR) {
        return a->type == b->type;
    }
    return a->dtype == b->dtype && a->dims == b->dims &&
           memcmp(a->shape, b->shape, a->dims * sizeof(a->shape[0])) == 0;
}

/* Adapts `field` to the choice. Returns NULL, or why it cannot. */
static const char *source_columns_fit(sl_field *field, const sl_source_column *column,
                                      const sl_field_choice *choice)
{
    *field = column->field;
    if (column->refused != NULL && !(column->typed && choice->typed)) {
        return column->refused;
    }
    if (!choice->typed || source_columns_is_same(&choice->field, &column->field)) {
        return NULL;
    }
    if (!sl_type_is_blob(column->field.type)) {
        return "the column has a different type";
    }
    if (!sl_type_is_blob(choice->field.type) && choice->field.type != SLUICE_FIELD_TENSOR) {
        return "it contains bytes, not numbers";
    }
    *field = choice->field;
    return NULL;
}

static sluice_status source_columns_refuse_key(const char *path, const char *key,
                                               const sl_source_column *columns, uint32_t count,
                                               sluice_error *error)
{
    char why[320];
    sl_name_list known;
    sl_name_list_begin(&known);
    for (uint32_t i = 0; i < count; i++) {
        sl_name_list_add(&known, columns[i].name);
    }
    (void)snprintf(why, sizeof(why), "no column has this name: the columns are %s", known.text);
    return source_columns_refuse(path, SLUICE_INVALID, key, why, error);
}

static sluice_status source_columns_choose(sl_source_fields *fields,
                                           const sl_source_column *columns, uint32_t count,
                                           const sl_field_choice *choice, const char *path,
                                           sluice_error *error)
{
    sl_field field;
    const uint32_t column = source_columns_find_column(columns, count, choice->key);
    if (column == SL_FIELD_NONE) {
        return source_columns_refuse_key(path, choice->key, columns, count, error);
    }
    const char *why = source_columns_fit(&field, &columns[column], choice);
    if (why == NULL && source_columns_is_taken(fields, choice->field.name)) {
        why = "two fields would have this name";
    }
    if (why != NULL && why == columns[column].refused && columns[column].asked) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1,
                             "column \"%.256s\": it contains %s, which cannot be a field",
                             choice->key, why);
    }
    if (why != NULL) {
        return source_columns_refuse(path, SLUICE_INVALID, choice->key, why, error);
    }
    memcpy(field.name, choice->field.name, sizeof(field.name));
    fields->column[fields->count] = column;
    fields->fields[fields->count++] = field;
    return SLUICE_OK;
}

/* ---- what they mean ---- */

/* Replaces the column that a meaning refers to by the field made from it. */
static void source_columns_follow(sl_source_fields *fields, const sl_source_column *columns,
                                  uint32_t number)
{
    sl_meaning *meaning = &fields->fields[number].meaning;
    for (uint32_t i = 0; i < fields->count; i++) {
        if (i != number && strcmp(columns[fields->column[i]].name, meaning->of) == 0) {
            memcpy(meaning->of, fields->fields[i].name, sizeof(meaning->of));
            return;
        }
    }
    meaning->of[0] = '\0';
    meaning->per_box = false;
}

static void source_columns_keep_meaning(sl_source_fields *fields, const sl_source_column *columns)
{
    for (uint32_t i = 0; i < fields->count; i++) {
        if (fields->fields[i].meaning.of[0] != '\0') {
            source_columns_follow(fields, columns, i);
        }
    }
    sl_meanings_keep(fields->fields, fields->count);
}

sluice_status sl_source_fields_find(sl_source_fields *fields, const sl_source_column *columns,
                                    uint32_t count, const sluice_dataset_options *options,
                                    const char *path, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    fields->count = 0;
    if (options->field_count > SL_FIELDS_MAX) {
        return sl_error_set(error, SLUICE_INVALID, STAGE, "at most %u fields can be chosen",
                            SL_FIELDS_MAX);
    }
    if (options->field_count == 0) {
        status = source_columns_find_all(fields, columns, count, path, error);
    }
    for (uint32_t i = 0; status == SLUICE_OK && i < options->field_count; i++) {
        sl_field_choice choice;
        status = sl_field_choice_parse(&choice, options->fields[i], error);
        if (status == SLUICE_OK) {
            status = source_columns_choose(fields, columns, count, &choice, path, error);
        }
    }
    if (status == SLUICE_OK && fields->count == 0) {
        return sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0, path, -1,
                             "it has no column that can be a field");
    }
    if (status == SLUICE_OK) {
        source_columns_keep_meaning(fields, columns);
    }
    return status;
}

bool sl_source_chosen(const char *name, const sluice_dataset_options *options)
{
    for (uint32_t i = 0; i < options->field_count; i++) {
        sl_field_choice choice;
        if (sl_field_choice_parse(&choice, options->fields[i], NULL) == SLUICE_OK &&
            strcmp(choice.key, name) == 0) {
            return true;
        }
    }
    return options->field_count == 0;
}

bool sl_source_element_chosen(const char *name, const sluice_dataset_options *options)
{
    const size_t bytes = strlen(name);
    for (uint32_t i = 0; i < options->field_count; i++) {
        sl_field_choice choice;
        if (sl_field_choice_parse(&choice, options->fields[i], NULL) == SLUICE_OK &&
            strncmp(choice.key, name, bytes) == 0 && choice.key[bytes] == '.' &&
            choice.key[bytes + 1] >= '0' && choice.key[bytes + 1] <= '9') {
            return true;
        }
    }
    return options->field_count == 0;
}

sl_refusal sl_source_value(const sl_field *field, sl_value *value)
{
    if (sl_type_is_media(field->type)) {
        value->codec = SL_CODEC_BY_BYTES;
    }
    if (field->type != SLUICE_FIELD_TENSOR) {
        return sl_accept();
    }
    uint64_t step = sl_dtype_bytes(field->dtype);
    for (uint32_t i = 0; i < field->dims; i++) {
        step *= field->shape[i] > 0 ? field->shape[i] : 1;
        value->shape[i] = field->shape[i];
    }
    const bool open = field->dims > 0 && field->shape[0] == 0;
    if (open ? value->bytes.size % step != 0 : value->bytes.size != step) {
        return sl_refuse("size does not match the tensor's shape", value->offset);
    }
    if (open) {
        value->shape[0] = value->bytes.size / step;
    }
    return sl_accept();
}
