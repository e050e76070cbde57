/* SPDX-License-Identifier: Apache-2.0 */
/* datasets: entry points of sluice/datasets.h. */
#include "api.h"
#include "condition.h"
#include "error.h"
#include "joined.h"
#include "memory.h"
#include "mixing.h"
#include "scan.h"
#include "subset.h"

static sluice_status datasets_check_names(const char *const *names, uint32_t count,
                                          sluice_error *error)
{
    if ((names != NULL) != (count > 0) || count > SL_FIELDS_MAX) {
        return sl_error_set(error, SLUICE_INVALID, "api",
                            "fields must be 1 to %u names, and field_count their number",
                            SL_FIELDS_MAX);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (names[i] == NULL) {
            return sl_error_set(error, SLUICE_INVALID, "api", "a field is NULL");
        }
    }
    return SLUICE_OK;
}

/* Checks the datasets given to a call; INVALID if one is missing. */
static sluice_status check_datasets(sluice_dataset *const *datasets, size_t count,
                                    sluice_error *error)
{
    if (count > SL_JOINED_MAX) {
        return sl_error_set(error, SLUICE_INVALID, "api", "at most %u datasets can be joined",
                            SL_JOINED_MAX);
    }
    for (size_t i = 0; i < count; i++) {
        if (datasets == NULL || datasets[i] == NULL) {
            return sl_error_set(error, SLUICE_INVALID, "api", "dataset %zu is NULL", i + 1);
        }
    }
    return SLUICE_OK;
}

/* the public handle is the internal object */
static sl_dataset *const *own_datasets(sluice_dataset *const *datasets)
{
    return (sl_dataset *const *)(const void *)datasets;
}

static sluice_status datasets_join(sl_dataset **made, sl_dataset *const *datasets, uint32_t count,
                                   sl_field_names fields, const sluice_label_options *labels,
                                   sluice_error *error)
{
    sl_api_labels own;
    sluice_status status = sl_api_read_labels(&own, labels, error);
    if (status == SLUICE_OK) {
        const sl_joined_options options = {fields, own.labels};
        status = sl_joined_open(made, datasets, count, &options, error);
    }
    sl_api_close_labels(&own);
    return status;
}

sluice_status sluice_dataset_concat(sluice_dataset **joined, sluice_dataset *const *datasets,
                                    size_t count, const sluice_concat_options *options,
                                    sluice_error *error)
{
    sluice_error reason;
    sluice_concat_options own;
    sl_dataset *made = NULL;
    if (joined != NULL) {
        *joined = NULL;
    }
    if (sl_api_lacks(error, joined, "joined")) {
        return SLUICE_INVALID;
    }
    sluice_status status =
        sl_api_read_struct(&own, sizeof(own), options, "sluice_concat_options", &reason);
    if (status == SLUICE_OK) {
        status = check_datasets(datasets, count, &reason);
    }
    if (status == SLUICE_OK) {
        status = datasets_check_names(own.fields, own.field_count, &reason);
    }
    if (status == SLUICE_OK) {
        const sl_field_names names = {own.fields, own.field_count};
        status = datasets_join(&made, own_datasets(datasets), (uint32_t)count, names, own.labels,
                               &reason);
    }
    if (status < 0) {
        return sl_api_fail(error, &reason);
    }
    *joined = (sluice_dataset *)(void *)made;
    return SLUICE_OK;
}

/* ---- numbers ---- */

enum { SCAN_WORKERS_MAX = 1024 };

sluice_status sl_api_read_scan(sluice_scan_options *own, const sluice_scan_options *given,
                               sluice_error *error)
{
    const sluice_status status =
        sl_api_read_struct(own, sizeof(*own), given, "sluice_scan_options", error);
    if (status == SLUICE_OK &&
        (own->workers > SCAN_WORKERS_MAX || own->max_sample_bytes > SL_RECORD_BYTES_MAX)) {
        return sl_error_set(error, SLUICE_INVALID, "api",
                            "workers must be at most %d, max_sample_bytes at most 2^31 - 1",
                            SCAN_WORKERS_MAX);
    }
    return status;
}

typedef struct numbers {
    uint32_t field;
    int64_t *integers; /* or NULL, and: */
    double *floats;
    uint8_t *present; /* may be NULL */
    bool counts;      /* true if the field is a tensor whose rows are counted into `integers` */
} numbers;

static void datasets_take_number(void *ctx, uint64_t index, const sl_values *values)
{
    const numbers *to = ctx;
    const sl_value *value = &values->of[to->field];
    if (to->counts) {
        to->integers[index] = value->present ? (int64_t)value->shape[0] : 0;
    } else if (to->integers != NULL) {
        to->integers[index] = value->present ? value->integer : 0;
    } else {
        to->floats[index] = value->present ? value->number : 0;
    }
    if (to->present != NULL) {
        to->present[index] = value->present;
    }
}

static sluice_status datasets_read_numbers(const sl_dataset *dataset, const char *name, numbers *to,
                                           const sluice_scan_options *options, sluice_error *error)
{
    sluice_scan_options own;
    const sluice_status status = sl_api_read_scan(&own, options, error);
    if (status < 0) {
        return status;
    }
    to->field = sl_dataset_field(dataset, name);
    if (to->field == SL_FIELD_NONE) {
        return sl_dataset_refuse_field(dataset, name, error);
    }
    const sl_field *field = &dataset->fields[to->field];
    to->counts = field->type == SLUICE_FIELD_TENSOR && field->dims > 0 && field->shape[0] == 0;
    if (field->type != SLUICE_FIELD_INT && field->type != SLUICE_FIELD_FLOAT && !to->counts) {
        return sl_error_set(error, SLUICE_INVALID, "api", "field \"%.64s\" is not a number", name);
    }
    to->integers = field->type == SLUICE_FIELD_FLOAT ? NULL : to->integers;
    const sl_scan scan = {.dataset = dataset,
                          .wanted = UINT64_C(1) << to->field,
                          .take = datasets_take_number,
                          .ctx = to};
    return sl_scan_run(&scan, &own, error);
}

// NOLINTBEGIN(readability-non-const-parameter): written to, by way of `to`
sluice_status sluice_dataset_read_numbers(const sluice_dataset *dataset, const char *field,
                                          void *values, uint8_t *present,
                                          const sluice_scan_options *options, sluice_error *error)
// NOLINTEND(readability-non-const-parameter)
{
    sluice_error reason;
    if (sl_api_lacks(error, dataset, "dataset") || sl_api_lacks(error, field, "field") ||
        sl_api_lacks(error, values, "values")) {
        return SLUICE_INVALID;
    }
    numbers to = {.integers = values, .floats = values, .present = present};
    const sluice_status status =
        datasets_read_numbers(sl_api_const_dataset(dataset), field, &to, options, &reason);
    return status < 0 ? sl_api_fail(error, &reason) : status;
}

/* ---- subsets ---- */

/* A bit per sample; each step of the scan has words of its own. */
typedef struct marks {
    const sl_condition *condition;
    uint64_t *words;
} marks;

static void datasets_mark(void *ctx, uint64_t index, const sl_values *values)
{
    const marks *to = ctx;
    if (sl_condition_holds(to->condition, values)) {
        to->words[index / 64] |= UINT64_C(1) << index % 64;
    }
}

static sluice_status add_marked(sl_index_map *map, const uint64_t *words, uint64_t samples,
                                sluice_error *error)
{
    for (uint64_t i = 0; i < samples; i++) {
        if ((words[i / 64] >> i % 64 & 1) != 0 && !sl_index_map_add(map, i, 1)) {
            return sl_no_memory(error, "api", "for a list of samples");
        }
    }
    return SLUICE_OK;
}

static sluice_status choose_by_condition(sl_index_map *map, const sl_dataset *dataset,
                                         const sluice_subset_options *own, sluice_error *error)
{
    sluice_scan_options options;
    sl_condition *condition = NULL;
    const uint64_t samples = dataset->info.samples;
    sluice_status status = sl_api_read_scan(&options, own->scan, error);
    if (status == SLUICE_OK) {
        status = sl_condition_make(&condition, own->where, dataset, error);
    }
    if (status < 0) {
        return status;
    }
    marks to = {condition, sl_calloc(samples / 64 + 1, sizeof(*to.words))};
    const sl_scan scan = {.dataset = dataset,
                          .wanted = sl_condition_fields(condition),
                          .take = datasets_mark,
                          .ctx = &to};
    if (to.words == NULL) {
        sl_condition_close(condition);
        return sl_no_memory(error, "api", "for one bit per sample");
    }
    status = sl_scan_run(&scan, &options, error);
    if (status == SLUICE_OK) {
        status = add_marked(map, to.words, samples, error);
    }
    sl_free(to.words);
    sl_condition_close(condition);
    return status;
}

static sluice_status datasets_choose(sl_index_map *map, const sl_dataset *dataset,
                                     const sluice_subset_options *own, sluice_error *error)
{
    const uint64_t samples = dataset->info.samples;
    if (own->ranges != NULL) {
        return sl_subset_ranges(map, own->ranges, samples, error);
    }
    if (own->indices != NULL) {
        return sl_subset_indices(map, own->indices, own->index_count, samples, error);
    }
    return own->index_file != NULL ? sl_subset_index_file(map, own->index_file, samples, error)
                                   : choose_by_condition(map, dataset, own, error);
}

static sluice_status make_subset(sl_dataset **made, sl_dataset *dataset,
                                 const sluice_subset_options *options, sluice_error *error)
{
    sluice_subset_options own;
    sluice_status status =
        sl_api_read_struct(&own, sizeof(own), options, "sluice_subset_options", error);
    if (status < 0) {
        return status;
    }
    const int ways = (own.ranges != NULL) + (own.indices != NULL) + (own.index_file != NULL) +
                     (own.where != NULL);
    if (ways != 1 || own.reserved != 0 || (own.indices == NULL && own.index_count > 0)) {
        return sl_error_set(error, SLUICE_INVALID, "api",
                            "give exactly one of ranges, indices, index_file and where");
    }
    sl_index_map map;
    sl_index_map_begin(&map);
    status = datasets_choose(&map, dataset, &own, error);
    if (status == SLUICE_OK && map.count == 0) {
        status = sl_error_set(error, SLUICE_INVALID, "api",
                              "no samples selected: a dataset needs at least one");
    }
    if (status < 0) {
        sl_index_map_close(&map);
        return status;
    }
    return sl_subset_open(made, dataset, &map, error);
}

sluice_status sluice_dataset_subset(sluice_dataset **subset, sluice_dataset *dataset,
                                    const sluice_subset_options *options, sluice_error *error)
{
    sluice_error reason;
    sl_dataset *made = NULL;
    if (subset != NULL) {
        *subset = NULL;
    }
    if (sl_api_lacks(error, subset, "subset") || sl_api_lacks(error, dataset, "dataset")) {
        return SLUICE_INVALID;
    }
    const sluice_status status = make_subset(&made, sl_api_dataset(dataset), options, &reason);
    if (status < 0) {
        return sl_api_fail(error, &reason);
    }
    *subset = (sluice_dataset *)(void *)made;
    return SLUICE_OK;
}

/* ---- mixes ---- */

static sluice_status make_weights(const sluice_mix_options *own, sl_dataset *const *datasets,
                                  uint32_t count, sl_mix **mix, sluice_error *error)
{
    static const uint64_t from_first[1] = {0};
    double *equal = NULL;
    uint64_t *sizes = sl_calloc(count, sizeof(*sizes));
    if (own->weights == NULL) {
        equal = sl_calloc(count, sizeof(*equal));
    }
    if (sizes == NULL || (own->weights == NULL && equal == NULL)) {
        sl_free(sizes);
        sl_free(equal);
        return sl_no_memory(error, "api", "for weights");
    }
    for (uint32_t i = 0; i < count; i++) {
        sizes[i] = datasets[i]->info.samples; /* their sum was checked when they were joined */
        if (equal != NULL) {
            equal[i] = 1;
        }
    }
    const sl_mix_weights weights = {.sources = count,
                                    .rows = own->weights != NULL ? own->row_count : 1,
                                    .weights = equal != NULL ? equal : own->weights,
                                    .epochs = own->epochs != NULL ? own->epochs : from_first,
                                    .sizes = sizes,
                                    .epoch_samples = own->epoch_samples};
    const sluice_status status = sl_mix_make(mix, &weights, error);
    sl_free(sizes);
    sl_free(equal);
    return status;
}

static sluice_status check_mix(const sluice_mix_options *own, sluice_error *error)
{
    enum { ROWS_MAX = 4096 };
    const bool rows = own->weights != NULL ? own->row_count >= 1 && own->row_count <= ROWS_MAX
                                           : own->row_count == 0 && own->epochs == NULL;
    if (!rows || (own->row_count > 1 && own->epochs == NULL) || own->reserved != 0 ||
        own->epoch_samples > INT64_MAX) {
        return sl_error_set(error, SLUICE_INVALID, "api",
                            "weights must have 1 to %d rows: row_count is their number, and epochs "
                            "the first epoch of each",
                            ROWS_MAX);
    }
    return datasets_check_names(own->fields, own->field_count, error);
}

static sluice_status make_mix(sl_dataset **made, sluice_dataset *const *datasets, size_t count,
                              const sluice_mix_options *options, sluice_error *error)
{
    sluice_mix_options own;
    sl_mix *mix = NULL;
    sluice_status status =
        sl_api_read_struct(&own, sizeof(own), options, "sluice_mix_options", error);
    if (status == SLUICE_OK) {
        status = check_datasets(datasets, count, error);
    }
    if (status == SLUICE_OK) {
        status = check_mix(&own, error);
    }
    if (status == SLUICE_OK) {
        const sl_field_names names = {own.fields, own.field_count};
        status =
            datasets_join(made, own_datasets(datasets), (uint32_t)count, names, own.labels, error);
    }
    if (status < 0) {
        return status;
    }
    status = make_weights(&own, own_datasets(datasets), (uint32_t)count, &mix, error);
    if (status < 0) {
        sl_dataset_close(*made);
        return status;
    }
    sl_joined_mix(*made, mix);
    return SLUICE_OK;
}

sluice_status sluice_dataset_mix(sluice_dataset **mix, sluice_dataset *const *datasets,
                                 size_t count, const sluice_mix_options *options,
                                 sluice_error *error)
{
    sluice_error reason;
    sl_dataset *made = NULL;
    if (mix != NULL) {
        *mix = NULL;
    }
    if (sl_api_lacks(error, mix, "mix")) {
        return SLUICE_INVALID;
    }
    const sluice_status status = make_mix(&made, datasets, count, options, &reason);
    if (status < 0) {
        return sl_api_fail(error, &reason);
    }
    *mix = (sluice_dataset *)(void *)made;
    return SLUICE_OK;
}
