/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the columns that were asked for, or the dataset's natural ones, to the library's. Main
 * thread; recipes belong to the set until it is freed.
 */
#include "column_set.h"

#include "exit_code.h"
#include "report.h"

#include <stdio.h>
#include <string.h>

int column_set_parse(struct column_set *set, const struct option_list *texts)
{
    *set = (struct column_set){.asked = texts->count > 0};
    for (size_t i = 0; i < texts->count; i++) {
        char fault[400];
        if (!column_spec_parse(texts->at[i], &set->specs[i], fault, sizeof fault)) {
            report("--column %s: %s", texts->at[i], fault);
            return TOOL_USAGE;
        }
        set->count++;
    }
    return TOOL_FINE;
}

/* ---- natural columns ---- */

/* A field's own column, whatever it is called. */
static bool describe_natural(const sluice_field *field, struct column_spec *spec)
{
    column_spec_clear(spec);
    memcpy(spec->name, field->name, sizeof spec->name);
    memcpy(spec->field, field->name, sizeof spec->field);
    spec->dtype = field->dtype;
    if (field->role == SLUICE_ROLE_WIDTH || field->role == SLUICE_ROLE_HEIGHT) {
        return false; /* they say how the image was annotated */
    }
    switch ((sluice_field_type)field->type) {
    case SLUICE_FIELD_IMAGE:
        spec->kind = SLUICE_COLUMN_IMAGE;
        break;
    case SLUICE_FIELD_INT:
    case SLUICE_FIELD_FLOAT:
        spec->kind = SLUICE_COLUMN_NUMBER;
        return true;
    case SLUICE_FIELD_TENSOR:
        spec->kind = SLUICE_COLUMN_TENSOR;
        break;
    default:
        return false;
    }
    spec->dims = field->dims;
    bool fixed = field->dims < SLUICE_TENSOR_DIMS_MAX;
    for (uint32_t i = 0; i < field->dims; i++) {
        spec->shape[i] = field->shape[i];
        fixed = fixed && field->shape[i] != 0;
    }
    return fixed || spec->kind == SLUICE_COLUMN_IMAGE;
}

/* A mask beside its image, which no loader takes unasked: by its role, or by its name in formats
 * that know no roles. */
static bool is_mask(const sluice_dataset *dataset, const sluice_field *field)
{
    sluice_field other = SLUICE_FIELD_INIT;
    if (field->type != SLUICE_FIELD_IMAGE ||
        (field->role != SLUICE_ROLE_MASK && strcmp(field->name, "mask") != 0 &&
         strcmp(field->name, "instances") != 0 && strcmp(field->name, "train_ids") != 0)) {
        return false;
    }
    for (uint32_t i = 0; sluice_dataset_get_field(dataset, i, &other) == SLUICE_OK; i++) {
        if (other.type == SLUICE_FIELD_IMAGE && other.role != SLUICE_ROLE_MASK &&
            strcmp(other.name, field->name) != 0) {
            return true;
        }
    }
    return false;
}

static bool is_fact(const char *name)
{
    return strcmp(name, "index") == 0 || strcmp(name, "mask") == 0 || strcmp(name, "status") == 0;
}

bool column_natural(const sluice_dataset *dataset, uint32_t number, struct column_spec *spec)
{
    sluice_field field = SLUICE_FIELD_INIT;
    sluice_field other = SLUICE_FIELD_INIT;
    if (sluice_dataset_get_field(dataset, number, &field) != SLUICE_OK ||
        !describe_natural(&field, spec) || is_mask(dataset, &field)) {
        return false;
    }
    if (!is_fact(field.name)) {
        return true;
    }
    char name[sizeof spec->name];
    struct column_spec of_other;
    snprintf(name, sizeof name, "field.%.25s", field.name);
    for (uint32_t i = 0; sluice_dataset_get_field(dataset, i, &other) == SLUICE_OK; i++) {
        if (strcmp(other.name, name) == 0 && describe_natural(&other, &of_other)) {
            return false;
        }
    }
    memcpy(spec->name, name, sizeof spec->name);
    return true;
}

int column_set_complete(struct column_set *set, const sluice_dataset *dataset)
{
    sluice_dataset_info info = SLUICE_DATASET_INFO_INIT;
    if (set->asked) {
        return TOOL_FINE;
    }
    if (sluice_dataset_get_info(dataset, &info) < 0) {
        report("the dataset does not say what it holds; please report this as a bug");
        return TOOL_FAILED;
    }
    for (uint32_t i = 0; i < info.fields && set->count < OPTION_LIST_MAX; i++) {
        if (column_natural(dataset, i, &set->specs[set->count])) {
            set->count++;
        }
    }
    return TOOL_FINE;
}

const struct column_spec *column_set_picture(const struct column_set *set, uint32_t from)
{
    for (uint32_t i = from; i < set->count; i++) {
        if (set->specs[i].kind == SLUICE_COLUMN_IMAGE) {
            return &set->specs[i];
        }
    }
    return NULL;
}

/* ---- what a loader is given ---- */

uint32_t column_side(const struct column_spec *spec, const struct column_look *look)
{
    return spec->size != COLUMN_COUNT_NONE ? (uint32_t)spec->size : look->shape.size;
}

static int dtype_of(const struct column_spec *spec, const struct column_look *look)
{
    if (look->bytes) {
        return SLUICE_U8;
    }
    return spec->dtype != COLUMN_WORD_NONE ? spec->dtype : look->dtype;
}

static int layout_of(const struct column_spec *spec, const struct column_look *look)
{
    if (look->bytes) {
        return SLUICE_NHWC;
    }
    return spec->layout != COLUMN_WORD_NONE ? spec->layout : look->layout;
}

static const char *steps_of(const struct column_spec *spec, const struct column_look *look)
{
    return spec->augment[0] != '\0' ? spec->augment : look->shape.steps;
}

/* Whether an image column mixes the rows of a batch; NULL: any of them. False: one that was looked
 * at is wrong, which is reported. */
static bool picture_mixes(const struct column_set *set, const struct column_look *look,
                          const char *name, bool *mixes)
{
    *mixes = false;
    for (uint32_t i = 0; i < set->count && !*mixes; i++) {
        const struct column_spec *spec = &set->specs[i];
        if (spec->kind == SLUICE_COLUMN_IMAGE && (name == NULL || strcmp(spec->name, name) == 0)) {
            struct pipeline_shape shape = look->shape;
            shape.steps = steps_of(spec, look);
            if (!pipeline_mixes(&shape, mixes)) {
                return false;
            }
        }
    }
    return true;
}

bool column_set_mixes(const struct column_set *set, const struct column_look *look)
{
    bool mixes;
    return picture_mixes(set, look, NULL, &mixes) && mixes;
}

bool column_shape(const struct column_spec *spec, const struct column_look *look,
                  struct pipeline_shape *made)
{
    struct pipeline_shape shape = look->shape;
    shape.size = column_side(spec, look);
    shape.normalize = dtype_of(spec, look) != SLUICE_U8;
    shape.kind = spec->crop != COLUMN_WORD_NONE ? (enum pipeline)spec->crop : shape.kind;
    shape.area_min = spec->area_min > 0 ? spec->area_min : shape.area_min;
    shape.area_max = spec->area_max > 0 ? spec->area_max : shape.area_max;
    if (spec->padding != COLUMN_COUNT_NONE && shape.kind != PIPELINE_CROP) {
        report("--column %s: padding goes with crop=random", spec->name);
        return false;
    }
    if ((spec->area_min > 0 || spec->area_max > 0) && shape.kind != PIPELINE_TRAIN) {
        report("--column %s: area-min and area-max go with crop=rrc", spec->name);
        return false;
    }
    if (shape.area_min > shape.area_max) {
        report("--column %s: area-min %g is above area-max %g", spec->name, shape.area_min,
               shape.area_max);
        return false;
    }
    shape.steps = steps_of(spec, look);
    shape.padding = spec->padding != COLUMN_COUNT_NONE ? (uint32_t)spec->padding : shape.padding;
    *made = shape;
    return true;
}

/* The recipe of an image column. NULL: reported. */
static sluice_augment *recipe_of(const struct column_spec *spec, const struct column_look *look,
                                 int *code)
{
    struct pipeline_shape shape;
    *code = TOOL_USAGE;
    return column_shape(spec, look, &shape) ? pipeline_recipe(&shape, code) : NULL;
}

static uint64_t count_or_default(uint64_t count)
{
    return count == COLUMN_COUNT_NONE ? 0 : count;
}

static int32_t word_or_default(int word)
{
    return word == COLUMN_WORD_NONE ? 0 : word;
}

static int refused(const struct column_spec *spec, const sluice_columns *columns)
{
    sluice_error error = SLUICE_ERROR_INIT;
    if (sluice_columns_get_error(columns, &error) < 0) {
        return report_error(&error, NULL);
    }
    report("--column %s cannot be added", spec->name);
    return TOOL_FAILED;
}

/* What its labels follow; NULL: nothing, also where that is left out. False: reported. */
static bool find_mixing(const struct column_set *set, const struct column_spec *spec,
                        const struct column_look *look, const char **name)
{
    bool left_out = false;
    *name = NULL;
    if (spec->mixes[0] == '\0') {
        return true;
    }
    if (look->shape.unmixed && !picture_mixes(set, look, spec->mixes, &left_out)) {
        return false;
    }
    *name = left_out ? NULL : spec->mixes;
    return true;
}

static int add_column(sluice_columns *columns, const struct column_set *set,
                      const struct column_spec *spec, const struct column_look *look)
{
    sluice_column column = spec->follower;
    sluice_augment *recipe = NULL;
    column.kind = spec->kind;
    column.field = spec->kind == SLUICE_COLUMN_GEOMETRY ? NULL : spec->field;
    column.name = spec->name;
    column.follows = spec->follows[0] != '\0' ? spec->follows : NULL;
    column.shapes = spec->shapes[0] != '\0' ? spec->shapes : NULL;
    column.labels = spec->labels[0] != '\0' ? spec->labels : NULL;
    column.crowds = spec->crowds[0] != '\0' ? spec->crowds : NULL;
    column.mirror = spec->mirror_count > 0 ? spec->mirror : NULL;
    column.mirror_count = spec->mirror_count;
    if (look->shape.first > 0) { /* a draw that is made again would depend on how many steps */
        column.at_least_one = 0;
    }
    column.dtype = word_or_default(spec->dtype);
    column.length = count_or_default(spec->length);
    column.stride = count_or_default(spec->stride);
    column.offset = count_or_default(spec->offset);
    column.part = word_or_default(spec->part);
    column.too_long = word_or_default(spec->too_long);
    column.missing = word_or_default(spec->missing);
    column.smoothing = spec->smoothing;
    column.dims = spec->dims;
    memcpy(column.shape, spec->shape, sizeof column.shape);
    if (!find_mixing(set, spec, look, &column.mixes)) {
        return TOOL_USAGE;
    }
    if (spec->kind == SLUICE_COLUMN_IMAGE) {
        int code;
        recipe = recipe_of(spec, look, &code);
        if (recipe == NULL) {
            return code;
        }
        column.recipe = recipe;
        column.dtype = dtype_of(spec, look);
        column.layout = layout_of(spec, look);
    }
    const sluice_status status = sluice_columns_add(columns, &column);
    sluice_augment_destroy(recipe);
    return status < 0 ? refused(spec, columns) : TOOL_FINE;
}

static int make_asked(const struct column_set *set, const struct column_look *look,
                      struct column_source *source)
{
    if (sluice_columns_create(&source->columns) < 0) {
        report("out of memory for columns");
        return TOOL_FAILED;
    }
    for (uint32_t i = 0; i < set->count; i++) {
        const int code = add_column(source->columns, set, &set->specs[i], look);
        if (code != TOOL_FINE) {
            return code;
        }
    }
    return TOOL_FINE;
}

/* Natural pictures share the one recipe. */
static int make_natural(const struct column_set *set, const struct column_look *look,
                        struct column_source *source, sluice_loader_options *options)
{
    struct column_spec plain;
    int code = TOOL_FINE;
    if (column_set_picture(set, 0) == NULL) {
        return TOOL_FINE;
    }
    column_spec_clear(&plain);
    options->dtype = dtype_of(&plain, look);
    options->layout = layout_of(&plain, look);
    source->recipe = recipe_of(&plain, look, &code);
    return source->recipe == NULL ? code : TOOL_FINE;
}

int column_set_make(const struct column_set *set, const struct column_look *look,
                    struct column_source *source, sluice_loader_options *options)
{
    *source = (struct column_source){NULL, NULL};
    options->dtype = 0;
    options->layout = 0;
    const int code =
        set->asked ? make_asked(set, look, source) : make_natural(set, look, source, options);
    options->columns = source->columns;
    if (code != TOOL_FINE) {
        column_source_free(source);
    }
    return code;
}

void column_source_free(struct column_source *source)
{
    sluice_augment_destroy(source->recipe);
    sluice_columns_destroy(source->columns);
    *source = (struct column_source){NULL, NULL};
}
