/* SPDX-License-Identifier: Apache-2.0 */
/* columns: entry points of sluice/columns.h: check requests and keep a copy. */
#include "columns.h"

#include "api.h"
#include "error.h"
#include "memory.h"
#include "natural_columns.h"
#include "options.h"

#include <math.h>
#include <string.h>

sluice_status sluice_columns_create(sluice_columns **columns)
{
    if (columns == NULL) {
        return SLUICE_INVALID;
    }
    *columns = sl_calloc(1, sizeof(**columns));
    return *columns != NULL ? SLUICE_OK : SLUICE_NOMEM;
}

void sluice_columns_destroy(sluice_columns *columns)
{
    for (uint32_t i = 0; columns != NULL && i < columns->count; i++) {
        sl_recipe_release(&columns->requests[i].recipe);
    }
    sl_free(columns);
}

sluice_status sluice_columns_get_error(const sluice_columns *columns, sluice_error *error)
{
    if (columns == NULL || !sl_api_can_tell(error)) {
        return SLUICE_INVALID;
    }
    if (columns->first_error.status != SLUICE_OK) {
        sl_error_copy_out(error, &columns->first_error);
    }
    return (sluice_status)columns->first_error.status;
}

/* ---- what can be checked without a dataset ---- */

#define TINY 1e-20 /* 0 if 0 is the default */

/* Returns whether errors, shells and JSON can contain the name unquoted. */
static bool columns_is_name(const char *name, size_t capacity)
{
    size_t length = 0;
    for (; name[length] != '\0'; length++) {
        const char c = name[length];
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (length == capacity - 1 ||
            !(letter || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.' || c == '/')) {
            return false;
        }
    }
    return length > 0;
}

static bool columns_takes(const sluice_column *c, const sluice_option *option)
{
    return option->kinds == 0 || (option->kinds & (UINT32_C(1) << c->kind)) != 0;
}

/* Returns a member that is set although the kind does not take it; NULL: none. */
static const char *superfluous(const sluice_column *c)
{
    const sluice_option *option;
    for (uint32_t i = 0; (option = sl_option_at(SLUICE_OPTIONS_COLUMN, i)) != NULL; i++) {
        if (!columns_takes(c, option) && !sl_option_is_zero(option, c)) {
            return option->name;
        }
    }
    if (c->recipe != NULL && c->kind != SLUICE_COLUMN_IMAGE) {
        return "recipe";
    }
    if (c->mirror != NULL && c->kind != SLUICE_COLUMN_POINTS) {
        return "mirror";
    }
    return c->dims != 0 && c->kind != SLUICE_COLUMN_TENSOR ? "shape" : NULL;
}

static bool shape_is_good(const sluice_column *c)
{
    bool good = c->dims <= SLUICE_TENSOR_DIMS_MAX;
    for (uint32_t i = 0; good && i < c->dims; i++) {
        good = c->shape[i] > 0;
    }
    return good;
}

static bool field_is_good(const char *field)
{
    return field != NULL && field[0] != '\0' &&
           strnlen(field, SL_FIELD_NAME_BYTES) < SL_FIELD_NAME_BYTES;
}

static bool mirror_is_good(const sluice_column *c)
{
    bool seen[SL_MIRROR_MAX] = {false};
    if (c->mirror_count > SL_MIRROR_MAX || (c->mirror == NULL) != (c->mirror_count == 0)) {
        return false;
    }
    for (uint32_t i = 0; i < c->mirror_count; i++) {
        if (c->mirror[i] >= c->mirror_count || seen[c->mirror[i]]) {
            return false;
        }
        seen[c->mirror[i]] = true;
    }
    return true;
}

#define FIM_SPM_DEFAULT 0.5

static sl_document_rule rule_of(const sluice_column *c)
{
    return (sl_document_rule){.ids = c->ids,
                              .id = {[SL_ID_BOS] = c->bos,
                                     [SL_ID_EOS] = c->eos,
                                     [SL_ID_FIM_PREFIX] = c->fim_prefix,
                                     [SL_ID_FIM_MIDDLE] = c->fim_middle,
                                     [SL_ID_FIM_SUFFIX] = c->fim_suffix},
                              .fim_rate = c->fim_rate,
                              .fim_spm = c->fim_rate == 0    ? 0
                                         : c->fim_spm == 0   ? FIM_SPM_DEFAULT
                                         : c->fim_spm < TINY ? 0
                                                             : c->fim_spm};
}

/* Returns whether each id has its bit, without which it would be ignored. */
static bool ids_are_good(const sluice_column *c)
{
    const sl_document_rule rule = rule_of(c);
    bool with_bits = c->ids < 1U << SL_IDS;
    for (uint32_t i = 0; i < SL_IDS; i++) {
        with_bits = with_bits && (rule.id[i] == 0 || sl_rule_has(&rule, i));
    }
    return with_bits && (c->ids == 0 || c->kind == SLUICE_COLUMN_PACKED);
}

/* Returns whether an id of FIM equals another id in rows. */
static bool shares_fim_id(const sl_document_rule *rule)
{
    for (uint32_t i = SL_ID_FIM_PREFIX; i <= SL_ID_FIM_SUFFIX; i++) {
        for (uint32_t k = 0; k < i; k++) {
            if (sl_rule_has(rule, k) && rule->id[k] == rule->id[i]) {
                return true;
            }
        }
    }
    return false;
}

/* Returns the error in the ids of FIM; NULL if they are valid or not needed. */
static const char *fim_fault(const sluice_column *c)
{
    const uint32_t all = SLUICE_ID_FIM_PREFIX | SLUICE_ID_FIM_MIDDLE | SLUICE_ID_FIM_SUFFIX;
    if (c->fim_rate == 0) {
        return (c->ids & all) != 0 || c->fim_spm != 0
                   ? "fim_spm, fim_prefix, fim_middle and fim_suffix need a fim_rate above 0"
                   : NULL;
    }
    if ((c->ids & all) != all) {
        return "fim_rate needs fim_prefix, fim_middle and fim_suffix";
    }
    const sl_document_rule rule = rule_of(c);
    return shares_fim_id(&rule) ? "fim_prefix, fim_middle and fim_suffix must differ from each "
                                  "other, from bos and from eos"
                                : NULL;
}

/* Returns the first error in a column that can be checked here; NULL if there is none. */
static const char *fault_of(const sluice_columns *columns, const sluice_column *c)
{
    if (!sl_columns_have_kind(c->kind)) {
        return "unknown kind";
    }
    if (columns->count == SL_COLUMNS_MAX) {
        return "a batch can have at most 64 columns";
    }
    if (c->kind == SLUICE_COLUMN_GEOMETRY && (c->field != NULL || c->name == NULL)) {
        return "a geometry has no field, and needs a name";
    }
    if (c->kind != SLUICE_COLUMN_GEOMETRY && !field_is_good(c->field)) {
        return "field must be a name of 1 to 31 bytes";
    }
    if (!columns_is_name(c->name != NULL ? c->name : c->field, SL_COLUMN_NAME_BYTES)) {
        return "name (by default that of the field) must be 1 to 31 letters, digits, _, -, . or /";
    }
    if (c->mixes != NULL && !columns_is_name(c->mixes, SL_COLUMN_NAME_BYTES)) {
        return "mixes must be the name of a column";
    }
    if (c->follows != NULL && !columns_is_name(c->follows, SL_COLUMN_NAME_BYTES)) {
        return "follows must be the name of a column";
    }
    if ((c->shapes != NULL && !field_is_good(c->shapes)) ||
        (c->labels != NULL && !field_is_good(c->labels)) ||
        (c->crowds != NULL && !field_is_good(c->crowds)) ||
        (c->mask != NULL && !field_is_good(c->mask))) {
        return "shapes, labels, crowds and mask must be names of fields";
    }
    if (c->media != NULL && !field_is_good(c->media)) {
        return "media must be the name of a field";
    }
    if (!mirror_is_good(c)) {
        return "mirror must be a permutation of 0 to mirror_count - 1, at most 256";
    }
    if (c->kind == SLUICE_COLUMN_IMAGE && c->recipe == NULL && c->sizes == SLUICE_SIZES_ONE) {
        return "an image needs a recipe";
    }
    if (!ids_are_good(c)) {
        return "ids must have the bit of each given id, and only a packed column has ids";
    }
    if (fim_fault(c) != NULL) {
        return fim_fault(c);
    }
    if (c->reserved != 0 || c->reserved_end != 0 || c->reserved_ids != 0) {
        return "reserved must be 0";
    }
    if ((c->sizes == SLUICE_SIZES_ONE && c->max_width != 0) ||
        (c->max_width == 0) != (c->max_height == 0)) {
        return "max_width and max_height must be set together, and only for images of variable "
               "size";
    }
    if (!shape_is_good(c)) {
        return "a shape must have at most 8 dimensions, each at least 1";
    }
    if (c->length == 0 &&
        (c->kind == SLUICE_COLUMN_WINDOW || c->kind == SLUICE_COLUMN_ONE_HOT ||
         c->kind == SLUICE_COLUMN_INSTANCES || c->kind == SLUICE_COLUMN_PACKED || c->padded != 0)) {
        return "this kind needs a length";
    }
    return NULL;
}

static sluice_status columns_refuse(sluice_columns *columns, const sluice_column *c,
                                    const char *why, const char *name)
{
    sluice_error *error = columns->first_error.status == SLUICE_OK ? &columns->first_error : NULL;
    return sl_error_set(error, SLUICE_INVALID, "columns", "column %u (\"%.31s\"): %s%s",
                        columns->count,
                        c->name != NULL    ? c->name
                        : c->field != NULL ? c->field
                                           : "",
                        name != NULL ? name : "", why);
}

/* Copies a checked name; NULL: "". */
static void copy_name(char *to, const char *name)
{
    if (name != NULL) {
        memcpy(to, name, strlen(name) + 1);
    }
}

#define IGNORED 255 /* the value of torchvision, and of VOC's masks */

/* Keeps the options of columns that follow an image. */
static void keep_followed(sl_column_request *request, const sluice_column *c)
{
    request->fill = c->fill;
    request->background = c->background;
    request->ignore = c->ignore == 0 ? IGNORED : fabs(c->ignore) < TINY ? 0 : c->ignore;
    request->is_of_shapes = c->labels != NULL || c->crowds != NULL || c->background != 0 ||
                            c->ignore != 0 || c->overlap != 0;
    request->overlap = (sluice_column_overlap)c->overlap;
    request->interpolation = (sluice_column_interpolation)c->interpolation;
    request->channels = c->channels;
    request->boxes = (sl_box_rule){.format = (sluice_box_format)c->box_format,
                                   .out_format = (sluice_box_format)c->out_format,
                                   .out_relative = c->out_relative != 0,
                                   .at_least_one = c->at_least_one != 0,
                                   .min_size = c->min_size != 0 ? c->min_size : SL_BOX_SIZE_MIN,
                                   .min_area = c->min_area != 0 ? c->min_area : SL_BOX_AREA_MIN,
                                   .min_visibility = c->min_visibility,
                                   .max_aspect = c->max_aspect};
    request->coordinates = (sluice_coordinates)c->relative;
    request->orientation = (sluice_orientation)c->orientation;
    request->padded = c->padded != 0;
    request->point_values = c->point_values;
    request->mirror_count = c->mirror_count;
    for (uint32_t i = 0; i < c->mirror_count; i++) {
        request->mirror[i] = (uint8_t)c->mirror[i];
    }
    copy_name(request->follows, c->follows);
    copy_name(request->shapes, c->shapes);
    copy_name(request->labels, c->labels);
    copy_name(request->crowds, c->crowds);
}

static void columns_keep(sluice_columns *columns, const sluice_column *c)
{
    sl_column_request *request = &columns->requests[columns->count++];
    *request = (sl_column_request){
        .kind = (sluice_column_kind)c->kind,
        .dtype = c->dtype,
        .layout = (sluice_layout)c->layout,
        .length = c->length,
        .stride = c->stride,
        .offset = c->offset,
        .part = (sluice_column_part)c->part,
        .truncates = c->too_long == SLUICE_TOO_LONG_TRUNCATE,
        .may_miss = c->missing == SLUICE_MISSING_BLANK,
        .dims = c->dims,
        .sizes = (sluice_column_sizes)c->sizes,
        .max_width = c->max_width,
        .max_height = c->max_height,
        .max_documents = c->max_documents,
        .align = c->align,
        .unit = c->unit,
        .cut = (sluice_cut)c->cut,
        .pad = c->pad,
        .rule = rule_of(c),
        .per_token = c->per_token,
        .media_length = c->media_length,
    };
    copy_name(request->media, c->media);
    request->smoothing = c->smoothing;
    request->partner = c->partner;
    copy_name(request->mask, c->mask);
    keep_followed(request, c);
    copy_name(request->mixes, c->mixes);
    memcpy(request->shape, c->shape, sizeof(request->shape));
    copy_name(request->field, c->field);
    copy_name(request->name, c->name != NULL ? c->name : c->field);
    if (c->recipe != NULL) {
        request->recipe = *c->recipe;
        sl_recipe_hold(&request->recipe);
    }
}

sluice_status sluice_columns_add(sluice_columns *columns, const sluice_column *column)
{
    if (columns == NULL) {
        return SLUICE_INVALID;
    }
    sluice_column full = SLUICE_COLUMN_INIT;
    sluice_error error;
    sl_error_clear(&error);
    if (column == NULL) {
        return columns_refuse(columns, &full, "column is NULL", NULL);
    }
    if (sl_api_read_struct(&full, sizeof(full), column, "sluice_column", &error) != SLUICE_OK) {
        return columns_refuse(columns, &full, error.text, NULL);
    }
    const char *fault = fault_of(columns, &full);
    if (fault != NULL) {
        return columns_refuse(columns, &full, fault, NULL);
    }
    if (sl_options_check(SLUICE_OPTIONS_COLUMN, &full, "columns", &error) != SLUICE_OK) {
        return columns_refuse(columns, &full, error.text, NULL);
    }
    const char *too_much = superfluous(&full);
    if (too_much != NULL) {
        return columns_refuse(columns, &full, " cannot be used with a column of this kind",
                              too_much);
    }
    columns_keep(columns, &full);
    return SLUICE_OK;
}

/* ---- what a loader takes that is asked for none ---- */

sluice_status sluice_dataset_natural_column(const sluice_dataset *dataset, uint32_t field,
                                            sluice_column *column)
{
    const sl_dataset *own = sl_api_const_dataset(dataset);
    if (own == NULL || column == NULL || !sl_api_is_tagged(column) || field >= own->info.fields) {
        return SLUICE_INVALID;
    }
    const sl_field *of = &own->fields[field];
    const sl_natural_column found = sl_natural_column_of(own->fields, own->info.fields, field);
    if (found.kind == 0 || found.name == NULL || found.picture != NULL) {
        return SLUICE_END;
    }
    sluice_column full = SLUICE_COLUMN_INIT;
    full.kind = (int32_t)found.kind;
    full.field = of->name;
    full.name = found.name;
    full.dtype = found.kind == SLUICE_COLUMN_IMAGE ? 0 : (int32_t)of->dtype;
    if (found.kind == SLUICE_COLUMN_TENSOR) {
        full.dims = of->dims;
        memcpy(full.shape, of->shape, sizeof(full.shape));
    }
    return sl_api_write_struct(column, &full, sizeof(full));
}

/* ---- common requests ---- */

#define COLUMN(of, from) .struct_size = sizeof(sluice_column), .kind = (of), .field = (from)

sluice_status sluice_columns_image(sluice_columns *columns, const char *field,
                                   const sluice_augment *recipe, sluice_dtype dtype,
                                   sluice_layout layout)
{
    const sluice_column column = {COLUMN(SLUICE_COLUMN_IMAGE, field), .recipe = recipe,
                                  .dtype = (int32_t)dtype, .layout = (int32_t)layout};
    return sluice_columns_add(columns, &column);
}

sluice_status sluice_columns_number(sluice_columns *columns, const char *field, sluice_dtype dtype)
{
    const sluice_column column = {COLUMN(SLUICE_COLUMN_NUMBER, field), .dtype = (int32_t)dtype};
    return sluice_columns_add(columns, &column);
}

sluice_status sluice_columns_one_hot(sluice_columns *columns, const char *field, uint64_t classes,
                                     sluice_dtype dtype)
{
    const sluice_column column = {COLUMN(SLUICE_COLUMN_ONE_HOT, field), .length = classes,
                                  .dtype = (int32_t)dtype};
    return sluice_columns_add(columns, &column);
}

sluice_status sluice_columns_tensor(sluice_columns *columns, const char *field)
{
    const sluice_column column = {COLUMN(SLUICE_COLUMN_TENSOR, field)};
    return sluice_columns_add(columns, &column);
}

sluice_status sluice_columns_window(sluice_columns *columns, const char *field, uint64_t length,
                                    uint64_t stride, sluice_dtype dtype)
{
    const sluice_column column = {COLUMN(SLUICE_COLUMN_WINDOW, field), .length = length,
                                  .stride = stride, .dtype = (int32_t)dtype};
    return sluice_columns_add(columns, &column);
}

sluice_status sluice_columns_ragged(sluice_columns *columns, const char *field, uint64_t length)
{
    const sluice_column column = {COLUMN(SLUICE_COLUMN_RAGGED, field), .length = length};
    return sluice_columns_add(columns, &column);
}

sluice_status sluice_columns_padded(sluice_columns *columns, const char *field, uint64_t length)
{
    const sluice_column column = {COLUMN(SLUICE_COLUMN_PADDED, field), .length = length};
    return sluice_columns_add(columns, &column);
}
