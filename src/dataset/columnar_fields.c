/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columnar_fields: opens a columnar table: turns lists into columns and columns into fields, and
 * applies the policy for large ones. See columnar_fields.h.
 */
#include "columnar_fields.h"

#include "memory.h"
#include "object_columns.h"

#include <stdio.h>
#include <string.h>

#define STAGE "dataset"

/* Limits of the policy: total size of a column's values, and average size per row. */
#define LITTLE_BYTES    ((uint64_t)1 << 20)
#define LARGE_ROW_BYTES ((uint64_t)4096)
#define FIRST_ROW_BYTES ((uint64_t)64)

/* ---- columns ---- */

sluice_status sl_columnar_columns_open(sl_columnar_columns *columns, uint32_t capacity,
                                       sluice_error *error)
{
    columns->count = 0;
    columns->source = sl_calloc((size_t)capacity + 1, sizeof(*columns->source));
    columns->of = sl_calloc((size_t)capacity + 1, sizeof(*columns->of));
    return columns->source != NULL && columns->of != NULL
               ? SLUICE_OK
               : sl_no_memory(error, STAGE, "for a schema");
}

void sl_columnar_columns_close(sl_columnar_columns *columns)
{
    sl_free(columns->source);
    sl_free(columns->of);
    *columns = (sl_columnar_columns){0};
}

/* ---- lists ---- */

bool sl_columnar_list_wanted(const sl_columnar_columns *columns, uint32_t number,
                             const sluice_dataset_options *options)
{
    const sl_source_column *source = &columns->source[number];
    return columns->of[number].is_list && source->refused == NULL &&
           source->field.type == SLUICE_FIELD_IMAGE &&
           sl_source_element_chosen(source->name, options);
}

/* Replaces the column at `number` by `added` columns, one per position. */
static bool columnar_fields_widen(sl_columnar_columns *columns, uint32_t number, uint32_t added)
{
    const size_t capacity = (size_t)columns->count + added;
    sl_source_column *source =
        sl_realloc_array(columns->source, capacity + 1, sizeof(*columns->source));
    columns->source = source != NULL ? source : columns->source;
    sl_columnar_column *of = sl_realloc_array(columns->of, capacity + 1, sizeof(*columns->of));
    columns->of = of != NULL ? of : columns->of;
    if (source == NULL || of == NULL) {
        return false;
    }
    const sl_source_column list = source[number];
    const sl_columnar_column place = of[number];
    const size_t behind = columns->count - number - 1;
    memmove(&source[number + added], &source[number + 1], behind * sizeof(*source));
    memmove(&of[number + added], &of[number + 1], behind * sizeof(*of));
    for (uint32_t i = 0; i < added; i++) {
        source[number + i] = list;
        of[number + i] = place;
        of[number + i].element = i;
    }
    columns->count += added - 1; /* 0 removes it */
    return true;
}

/* Spreads a list; `*number` becomes that of the column after it. */
static sluice_status spread_list(sl_columnar_columns *columns, uint32_t *number, uint32_t elements,
                                 bool keep, sluice_error *error)
{
    char name[SL_SOURCE_NAME_BYTES];
    memcpy(name, columns->source[*number].name, sizeof(name));
    if (!columnar_fields_widen(columns, *number, elements + keep)) {
        return sl_no_memory(error, STAGE, "for a schema");
    }
    for (uint32_t i = 0; i < elements; i++) {
        (void)snprintf(columns->source[*number + i].name, sizeof(name), "%.*s.%u",
                       (int)sizeof(name) - 12, name, i);
    }
    *number += elements + keep;
    if (keep) {
        sl_source_column *kept = &columns->source[*number - 1];
        kept->refused =
            kept->field.type == SLUICE_FIELD_IMAGE
                ? "it is a list of images: choose images by position, NAME.0, NAME.1, ..."
                : "no field type fits its contents (a list of structures other than images)";
    }
    return SLUICE_OK;
}

sluice_status sl_columnar_spread(sl_columnar_columns *columns,
                                 const sluice_dataset_options *options, const uint32_t *longest,
                                 sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; status == SLUICE_OK && i < columns->count;) {
        if (!columns->of[i].is_list || columns->source[i].refused != NULL) {
            i++;
            continue;
        }
        uint32_t most =
            sl_columnar_list_wanted(columns, i, options) ? longest[columns->of[i].of] : 0;
        /* columns that cannot be fields are only needed to report that they exist */
        most = most < SL_FIELDS_MAX ? most : SL_FIELDS_MAX + 1;
        status = spread_list(columns, &i, most, options->field_count > 0, error);
    }
    return status;
}

/* ---- fields ---- */

/* Takes the classes of the only labels that boxes have, for datasets without a label. */
static void find_box_classes(sl_columnar_fields *plan, const sl_columnar_columns *columns,
                             const sl_features *features)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < plan->fields.count; i++) {
        const char *column = columns->source[plan->fields.column[i]].name;
        const uint32_t classes = sl_features_classes(features, column);
        if (plan->fields.fields[i].meaning.per_box && classes > 0) {
            found++;
            plan->classes = classes;
            memcpy(plan->label_column, column, strlen(column) + 1);
        }
    }
    plan->classes = found == 1 ? plan->classes : 0;
}

static void columnar_fields_find_label(sl_columnar_fields *plan, const sl_columnar_columns *columns,
                                       const sl_features *features)
{
    plan->label = SL_FIELD_NONE;
    for (uint32_t i = 0; i < plan->fields.count; i++) {
        const char *column = columns->source[plan->fields.column[i]].name;
        const uint32_t classes = sl_features_classes(features, column);
        if (strcmp(plan->fields.fields[i].name, "label") == 0 && classes > 0 &&
            plan->fields.fields[i].type == SLUICE_FIELD_INT) {
            plan->label = i;
            plan->classes = classes;
            memcpy(plan->label_column, column, strlen(column) + 1);
        }
    }
    if (plan->label == SL_FIELD_NONE) {
        find_box_classes(plan, columns, features);
    }
}

sluice_status sl_columnar_fields_find(sl_columnar_fields *plan, const sl_columnar_columns *columns,
                                      const sl_features *features,
                                      const sluice_dataset_options *options, const char *path,
                                      sluice_error *error)
{
    const sluice_status status =
        sl_source_fields_find(&plan->fields, columns->source, columns->count, options, path, error);
    if (status < 0) {
        return status;
    }
    for (uint32_t i = 0; i < plan->fields.count; i++) {
        plan->of[i] = columns->of[plan->fields.column[i]].of;
        plan->element[i] = columns->of[plan->fields.column[i]].element;
        plan->large_of[i] = SL_FIELD_NONE;
    }
    sl_object_columns_mean(&plan->fields, columns->source);
    columnar_fields_find_label(plan, columns, features);
    return SLUICE_OK;
}

/* Number of columns that are named; the others are only counted. */
enum { NAMED_LEFT_OUT = 8 };

void sl_columnar_leave_out(const sl_columnar_columns *columns, sl_omissions *omissions)
{
    uint32_t named = 0;
    for (uint32_t i = 0; i < columns->count; i++) {
        const sl_source_column *column = &columns->source[i];
        char reason[sizeof(omissions->of[0].reason)];
        if (column->refused == NULL || !column->asked) {
            continue;
        }
        if (named++ < NAMED_LEFT_OUT) {
            (void)snprintf(reason, sizeof(reason), "columns that cannot be read: %.24s (%.36s)",
                           column->name, column->refused);
        }
        sl_omit(omissions, SL_OMITTED_THINGS,
                named <= NAMED_LEFT_OUT ? reason : "columns that cannot be read", column->name);
    }
}

/* ---- the policy ---- */

static bool columnar_fields_is_number(const sl_field *field)
{
    return field->type == SLUICE_FIELD_INT || field->type == SLUICE_FIELD_FLOAT;
}

/* Applies rules 2 and 3, by size. */
static bool columnar_fields_is_too_large(const sl_columnar_fields *plan,
                                         const sl_columnar_sizes *sizes, uint32_t field)
{
    const uint64_t bytes = sizes->bytes(sizes->ctx, plan->of[field]);
    const bool is_image = plan->fields.fields[field].type == SLUICE_FIELD_IMAGE;
    return !columnar_fields_is_number(&plan->fields.fields[field]) && bytes > LITTLE_BYTES &&
           (is_image || bytes / sizes->rows >= LARGE_ROW_BYTES);
}

/* Returns the largest field that rule 4 may apply to and that is not in `out`; NONE. */
static uint32_t next_largest(const sl_columnar_fields *plan, const sl_columnar_sizes *sizes,
                             const bool *out)
{
    uint64_t most = 0;
    uint32_t found = SL_FIELD_NONE;
    for (uint32_t i = 0; i < plan->fields.count; i++) {
        const uint64_t bytes = sizes->bytes(sizes->ctx, plan->of[i]);
        if (!out[i] && !columnar_fields_is_number(&plan->fields.fields[i]) && bytes >= most &&
            bytes / sizes->rows >= FIRST_ROW_BYTES) {
            most = bytes;
            found = i;
        }
    }
    return found;
}

/*
 * Applies rule 4: finds a field of the column, or NONE. Also NONE if that field is large anyway and
 * there is no other candidate: its storage then need not be examined.
 */
static sluice_status find_largest(const sl_columnar_fields *plan, const sl_columnar_sizes *sizes,
                                  uint32_t *found, sluice_error *error)
{
    bool out[SL_FIELDS_MAX] = {false};
    bool by_value = false;
    sluice_status status = SLUICE_OK;
    uint32_t field = SL_FIELD_NONE;
    uint32_t next = next_largest(plan, sizes, out);
    while (status == SLUICE_OK && !by_value && next != SL_FIELD_NONE) {
        field = next;
        for (uint32_t i = 0; i < plan->fields.count; i++) {
            out[i] = out[i] || plan->of[i] == plan->of[field];
        }
        next = next_largest(plan, sizes, out);
        if (next != SL_FIELD_NONE || !columnar_fields_is_too_large(plan, sizes, field)) {
            status = sizes->by_value(sizes->ctx, plan->of[field], &by_value, error);
        }
    }
    *found = by_value ? field : SL_FIELD_NONE;
    return status;
}

static sluice_status columnar_fields_is_large(const sl_columnar_fields *plan,
                                              const sl_columnar_columns *columns,
                                              const sl_columnar_sizes *sizes, uint32_t field,
                                              bool *large, sluice_error *error)
{
    const uint32_t of = plan->of[field];
    *large = columns->of[plan->fields.column[field]].is_list;
    if (*large || !columnar_fields_is_too_large(plan, sizes, field)) {
        return SLUICE_OK;
    }
    *large = sizes->by_page != NULL && sizes->by_page(sizes->ctx, of);
    return *large ? SLUICE_OK : sizes->by_value(sizes->ctx, of, large, error);
}

sluice_status sl_columnar_too_many(const char *path, sluice_error *error)
{
    return sl_error_file(
        error, SLUICE_UNSUPPORTED, STAGE, 0, path, -1,
        "more than %u of its columns are large: choose the fields to read (" SL_OPTION(
            "the option fields") ")",
        SL_COLUMNAR_LARGE_MAX);
}

/* Adds a large column, which all of its fields share; it may be a list. */
static sluice_status add_large(sl_columnar_fields *plan, uint32_t field, const char *path,
                               sluice_error *error)
{
    uint32_t i = 0;
    while (i < plan->large_count && plan->large[i].of != plan->of[field]) {
        i++;
    }
    if (i == SL_COLUMNAR_LARGE_MAX) {
        return sl_columnar_too_many(path, error);
    }
    if (i == plan->large_count) {
        plan->large[plan->large_count++] = (sl_columnar_large){plan->of[field], UINT32_MAX, 0};
    }
    sl_columnar_large *large = &plan->large[i];
    large->low = plan->element[field] < large->low ? plan->element[field] : large->low;
    large->high = plan->element[field] > large->high ? plan->element[field] : large->high;
    plan->large_of[field] = i;
    return SLUICE_OK;
}

static void add_side(sl_columnar_fields *plan, uint32_t field)
{
    plan->side_of[field] = plan->side_count;
    plan->side_column[plan->side_count] = plan->of[field];
    plan->side_fields[plan->side_count++] = plan->fields.fields[field];
}

/*
 * Checks the minimum size of columns to be kept against the limit, before hours are spent on
 * reading what cannot fit.
 */
static sluice_status columnar_fields_check_memory(const sl_columnar_fields *plan,
                                                  const sl_columnar_sizes *sizes,
                                                  sluice_error *error)
{
    uint64_t all = 0;
    const uint64_t rows = sizes->rows < UINT64_MAX / 16 ? sizes->rows : UINT64_MAX / 16;
    for (uint32_t i = 0; i < plan->side_count; i++) {
        const bool number = columnar_fields_is_number(&plan->side_fields[i]);
        const uint64_t least =
            (number ? 8 : 4) * rows; /* values that rows share take 4 bytes per row */
        const uint64_t bytes = number ? 0 : sizes->bytes(sizes->ctx, plan->side_column[i]);
        const uint64_t more = rows + (bytes > least ? bytes : least);
        all = more > UINT64_MAX - all ? UINT64_MAX : all + more;
    }
    return sl_memory_has_space(all)
               ? SLUICE_OK
               : sl_error_file(error, SLUICE_NOMEM, STAGE, 0, sizes->path, -1,
                               "the columns to be kept in memory need %llu MiB",
                               (unsigned long long)(all >> 20));
}

sluice_status sl_columnar_choose(sl_columnar_fields *plan, const sl_columnar_columns *columns,
                                 const sl_columnar_sizes *sizes, sluice_error *error)
{
    uint32_t first;
    sluice_status status = find_largest(plan, sizes, &first, error);
    for (uint32_t i = 0; status == SLUICE_OK && i < plan->fields.count; i++) {
        bool large = false;
        status = columnar_fields_is_large(plan, columns, sizes, i, &large, error);
        large = large ||
                (first != SL_FIELD_NONE && plan->fields.column[i] == plan->fields.column[first]);
        if (status == SLUICE_OK && large) {
            status = add_large(plan, i, sizes->path, error);
        } else if (status == SLUICE_OK) {
            add_side(plan, i);
        }
    }
    return status == SLUICE_OK ? columnar_fields_check_memory(plan, sizes, error) : status;
}
