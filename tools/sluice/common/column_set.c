/* SPDX-License-Identifier: Apache-2.0 */
/* Turns the requested columns, or the dataset's default ones, into the library's. Main thread;
 * recipes belong to the set until it is freed. */
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

bool column_natural(const sluice_dataset *dataset, uint32_t number, struct column_spec *spec)
{
    sluice_column column = SLUICE_COLUMN_INIT;
    sluice_field field = SLUICE_FIELD_INIT;
    if (sluice_dataset_get_field(dataset, number, &field) != SLUICE_OK ||
        sluice_dataset_natural_column(dataset, number, &column) != SLUICE_OK) {
        return false;
    }
    column_spec_clear(spec);
    snprintf(spec->name, sizeof spec->name, "%s", column.name);
    snprintf(spec->field, sizeof spec->field, "%s", column.field);
    spec->column.kind = column.kind;
    spec->column.dtype = field.dtype;
    spec->column.dims = field.dims;
    memcpy(spec->column.shape, field.shape, sizeof spec->column.shape);
    return true;
}

int column_set_complete(struct column_set *set, const sluice_dataset *dataset)
{
    sluice_dataset_info info = SLUICE_DATASET_INFO_INIT;
    if (set->asked) {
        return TOOL_FINE;
    }
    if (sluice_dataset_get_info(dataset, &info) < 0) {
        report("cannot read the dataset's properties: please report this as a bug");
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
        if (set->specs[i].column.kind == SLUICE_COLUMN_IMAGE) {
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
    return column_spec_has(spec, "dtype") ? spec->column.dtype : look->dtype;
}

static int layout_of(const struct column_spec *spec, const struct column_look *look)
{
    if (look->bytes) {
        return SLUICE_NHWC;
    }
    return column_spec_has(spec, "layout") ? spec->column.layout : look->layout;
}

static const char *steps_of(const struct column_spec *spec, const struct column_look *look)
{
    return spec->augment[0] != '\0' ? spec->augment : look->shape.steps;
}

/* Returns whether an image column mixes the rows of a batch; NULL: any of them. False: an
 * examined one is wrong, which is reported. */
static bool picture_mixes(const struct column_set *set, const struct column_look *look,
                          const char *name, bool *mixes)
{
    *mixes = false;
    for (uint32_t i = 0; i < set->count && !*mixes; i++) {
        const struct column_spec *spec = &set->specs[i];
        if (spec->column.kind == SLUICE_COLUMN_IMAGE &&
            (name == NULL || strcmp(spec->name, name) == 0)) {
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

/* Returns the recipe of an image column. NULL: reported. */
static sluice_augment *recipe_of(const struct column_spec *spec, const struct column_look *look,
                                 int *code)
{
    struct pipeline_shape shape;
    *code = TOOL_USAGE;
    return column_shape(spec, look, &shape) ? pipeline_recipe(&shape, code) : NULL;
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

/* Finds the image that its labels follow; NULL: none, also if mixing is left out. False:
 * reported. */
static bool find_mixing(const struct column_set *set, const struct column_spec *spec,
                        const struct column_look *look, const char **name)
{
    bool left_out = false;
    const char *mixes = column_spec_text(spec, offsetof(sluice_column, mixes));
    *name = NULL;
    if (mixes[0] == '\0') {
        return true;
    }
    if (look->shape.unmixed && !picture_mixes(set, look, mixes, &left_out)) {
        return false;
    }
    *name = left_out ? NULL : mixes;
    return true;
}

static int add_column(sluice_columns *columns, const struct column_set *set,
                      const struct column_spec *spec, const struct column_look *look)
{
    sluice_column column = column_spec_column(spec);
    sluice_augment *recipe = NULL;
    if (look->shape.first > 0) { /* a repeated draw would depend on the number of steps */
        column.at_least_one = 0;
    }
    if (!find_mixing(set, spec, look, &column.mixes)) {
        return TOOL_USAGE;
    }
    if (spec->column.kind == SLUICE_COLUMN_IMAGE) {
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

/* Default images share one recipe. */
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
