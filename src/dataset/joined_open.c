/* SPDX-License-Identifier: Apache-2.0 */
/*
 * joined_open: makes a joined dataset, or a mix, from other datasets. Runs on the opener's thread.
 *
 * Joined datasets are replaced by their parts, so that there is one level of parts.
 */
#include "checksum.h"
#include "class_union.h"
#include "error.h"
#include "joined_parts.h"
#include "memory.h"
#include "over.h"

#include <stdio.h>
#include <string.h>

#define STAGE      "dataset"
#define BYTES_MOST ((uint64_t)INT64_MAX)

typedef sl_joined joined;
typedef sl_joined_part part;

/* ---- parts ---- */

/* Counts the parts, including those of joined datasets. */
static uint32_t count_parts(sl_dataset *const *given, uint32_t count)
{
    uint64_t parts = 0;
    for (uint32_t i = 0; i < count; i++) {
        parts += given[i]->ops == &sl_joined_ops ? sl_joined_of(given[i])->count : 1;
    }
    return parts <= SL_JOINED_MAX ? (uint32_t)parts : UINT32_MAX;
}

static void map_fields(joined *own, part *p)
{
    for (uint32_t i = 0; i < own->base.info.fields; i++) {
        p->from[i] = (uint8_t)sl_dataset_field(p->of, own->fields[i].name);
        p->reorders = p->reorders || p->from[i] != i;
    }
}

/*
 * Returns the map of a part's labels, limited to its classes; the part itself detects a label
 * outside. NULL: labels are unchanged.
 */
static sluice_status fit_labels(const sl_dataset *of, sl_label_map *labels, sl_label_map **fitting,
                                sluice_error *error)
{
    const uint32_t classes = of->info.classes;
    *fitting = NULL;
    if (labels == NULL || (classes > 0 && sl_label_map_is_identity(labels))) {
        return SLUICE_OK;
    }
    const bool longer = classes > 0 && !labels->sparse && labels->count > classes;
    *fitting = longer ? sl_label_map_first(labels, classes) : sl_label_map_ref(labels);
    return *fitting != NULL ? SLUICE_OK : sl_no_memory(error, STAGE, "for labels");
}

static sluice_status joined_add_part(joined *own, sl_dataset *of, sl_label_map *labels,
                                     sluice_error *error)
{
    part *p = &own->parts[own->count++];
    sluice_dataset_info *info = &own->base.info;
    *p = (part){.of = sl_dataset_ref(of), .first = info->samples};
    const sluice_status status = fit_labels(of, labels, &p->labels, error);
    if (status < 0) {
        return status;
    }
    map_fields(own, p);
    sl_unchecked_join(&own->base.unchecked, &of->unchecked);
    own->base.sums_are_of_files = own->base.sums_are_of_files || of->sums_are_of_files;
    own->base.whole_objects = own->base.whole_objects || of->whole_objects;
    own->base.shares_pages = own->base.shares_pages || of->shares_pages;
    info->front_to_back = info->front_to_back | of->info.front_to_back;
    own->base.pieces = of->pieces > own->base.pieces ? of->pieces : own->base.pieces;
    own->base.head_bytes =
        of->head_bytes > own->base.head_bytes ? of->head_bytes : own->base.head_bytes;
    if (of->depth >= own->base.depth) {
        own->base.depth = of->depth + 1;
    }
    if (own->base.depth > SL_DATASET_DEPTH_MAX) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, STAGE,
                            "datasets are nested %u deep: join them in one call", own->base.depth);
    }
    const bool known = of->info.bytes > 0 && (info->bytes > 0 || own->count == 1);
    if (of->info.samples > BYTES_MOST - info->samples ||
        (known && of->info.bytes > BYTES_MOST - info->bytes)) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, STAGE,
                            "the datasets have more than 2^63 samples or bytes in total");
    }
    info->samples += of->info.samples;
    info->bytes = known ? info->bytes + of->info.bytes : 0;
    return SLUICE_OK;
}

/* Composes a part's inner label map with an outer one. */
static sluice_status joined_compose(sl_label_map *there, sl_label_map *here, sl_label_map **made,
                                    sluice_error *error)
{
    if (there == NULL || here == NULL) {
        *made = sl_label_map_ref(there == NULL ? here : there);
        return SLUICE_OK;
    }
    *made = sl_label_map_compose(there, here);
    return *made != NULL ? SLUICE_OK : sl_no_memory(error, STAGE, "for labels");
}

/* Adds the parts of `of`. `labels`: its map; NULL: unchanged. */
static sluice_status add_parts(joined *own, sl_dataset *of, sl_label_map *labels,
                               sluice_error *error)
{
    const joined *other = sl_joined_of(of);
    if (of->mix != NULL) {
        return sl_error_set(
            error, SLUICE_UNSUPPORTED, STAGE,
            "a mix has its own order, which would be lost: join its datasets instead");
    }
    if (of->ops != &sl_joined_ops) {
        return joined_add_part(own, of, labels, error);
    }
    sluice_status status = SLUICE_OK;
    sl_label_map *made = NULL;
    for (uint32_t i = 0; status == SLUICE_OK && i < other->count; i++) {
        const part *p = &other->parts[i];
        if (i == 0 || p->labels != p[-1].labels) {
            sl_label_map_drop(made);
            status = joined_compose(p->labels, labels, &made, error);
        }
        if (status == SLUICE_OK) {
            status = joined_add_part(own, p->of, made, error);
        }
    }
    sl_label_map_drop(made);
    return status;
}

/* ---- what it is ---- */

static uint32_t joined_find_label(const joined *own)
{
    const uint32_t label = sl_dataset_field(&own->base, "label");
    return label != SL_FIELD_NONE && own->fields[label].type == SLUICE_FIELD_INT ? label
                                                                                 : SL_FIELD_NONE;
}

/* Takes the class names from the first given dataset that has them. */
static void joined_take_classes(joined *own, sl_dataset *const *given, uint32_t count)
{
    uint32_t i = 0;
    while (i < count && given[i]->info.classes == 0) {
        i++;
    }
    if (i < count && given[i]->ops != &sl_joined_ops) {
        own->classes = given[i];
    } else if (i < count) { /* which is not kept, unlike its parts */
        own->classes = sl_joined_of(given[i])->classes;
        own->names = sl_class_names_ref(sl_joined_of(given[i])->names);
    }
}

/*
 * Sets the classes; without a label field, single or list, there are none, whatever the parts have.
 */
static void joined_find_classes(joined *own, sl_dataset *const *given, uint32_t count)
{
    if (own->names == NULL &&
        (own->label != SL_FIELD_NONE || sl_joined_has_class_lists(&own->base))) {
        joined_take_classes(own, given, count);
    }
    if (own->names != NULL) {
        own->base.info.classes = own->names->count;
    } else if (own->classes != NULL) {
        own->base.info.classes = own->classes->info.classes;
    }
    for (uint32_t i = 0; i < own->count; i++) {
        part *p = &own->parts[i];
        p->checks_labels = own->label != SL_FIELD_NONE && own->base.info.classes > 0 &&
                           p->of->info.classes == 0 && p->labels == NULL;
    }
}

/* Adds label maps to the fingerprint: other numbers or names are other data. */
static void add_labels(const joined *own, sl_checksum_stream *stream)
{
    if (own->names == NULL) {
        return;
    }
    sl_checksum_add(stream, "labels", sizeof("labels"));
    for (uint32_t i = 0; i < own->names->count; i++) {
        sl_checksum_add(stream, own->names->names[i], strlen(own->names->names[i]) + 1);
    }
    for (uint32_t i = 0; i < own->count; i++) {
        const sl_label_map *labels = own->parts[i].labels;
        sl_checksum_add_u64(stream, labels != NULL ? sl_label_map_sum(labels) : 0);
    }
}

static void joined_describe(joined *own)
{
    sluice_dataset_info *info = &own->base.info;
    const char *format = own->parts[0].of->info.format;
    sl_checksum_stream stream;
    sl_checksum_begin(&stream);
    sl_checksum_add(&stream, "joined", sizeof("joined"));
    for (uint32_t i = 0; i < own->count; i++) {
        const sluice_dataset_info *of = &own->parts[i].of->info;
        sl_checksum_add_u64(&stream, of->fingerprint);
        sl_checksum_add_u64(&stream, of->samples);
        format = strcmp(format, of->format) == 0 ? format : "mixed";
    }
    add_labels(own, &stream);
    info->fingerprint = sl_checksum_value(&stream);
    for (uint32_t i = 0; i < own->span_count; i++) {
        info->shards += own->parts[own->spans[i].part].of->info.shards;
    }
    (void)snprintf(info->format, sizeof(info->format), "%s", format);
    (void)snprintf(own->base.kind, sizeof(own->base.kind), "%u datasets joined, %s%s", own->count,
                   strcmp(format, "mixed") == 0 ? "of different formats" : "all of the format ",
                   strcmp(format, "mixed") == 0 ? "" : format);
}

/* Returns whether an earlier part belongs to the same dataset, as subsets do. */
static bool joined_is_repeated(const joined *own, uint32_t number, const sl_dataset *source)
{
    const sl_dataset *before = number > 0 ? sl_over_source(own->parts[number - 1].of) : NULL;
    bool found = before == source;
    for (uint32_t i = 0; i + 1 < number && !found; i++) {
        found = sl_over_source(own->parts[i].of) == source;
    }
    return found;
}

/* Takes the warnings and omissions of each dataset, once. */
static void joined_take_words(joined *own)
{
    for (uint32_t i = 0; i < own->count; i++) {
        const sl_dataset *source = sl_over_source(own->parts[i].of);
        const bool silent = source->omissions.reasons == 0 && source->warnings.count == 0;
        if (!silent && !joined_is_repeated(own, i, source)) {
            sl_omissions_join(&own->base.omissions, &source->omissions);
            sl_warnings_join(&own->base.warnings, &source->warnings);
        }
    }
}

static sluice_status joined_allocate(joined *own, uint32_t parts, sluice_error *error)
{
    if (parts > SL_JOINED_MAX) {
        return sl_error_set(error, SLUICE_INVALID, STAGE, "at most %u datasets can be joined",
                            SL_JOINED_MAX);
    }
    own->parts = sl_calloc(parts, sizeof(*own->parts));
    own->spans = sl_calloc(parts, sizeof(*own->spans));
    return own->parts != NULL && own->spans != NULL
               ? SLUICE_OK
               : sl_no_memory(error, STAGE, "for joined datasets");
}

/* Joins the labels, if they change. */
static sluice_status joined_join_labels(joined *own, sl_dataset *const *parts, uint32_t count,
                                        const sl_class_request *labels, sl_class_union *made,
                                        sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    if (own->label == SL_FIELD_NONE) {
        return sl_joined_no_label(&own->base, parts, count, labels, error);
    }
    if (labels == NULL) {
        return sl_joined_classes(parts, count, error);
    }
    status = sl_class_union_make(made, parts, count, labels, error);
    own->names = status == SLUICE_OK ? sl_class_names_ref(made->names) : NULL;
    return status;
}

static sluice_status joined_join(joined *own, sl_dataset *const *parts, uint32_t count,
                                 const sl_joined_options *options, sluice_error *error)
{
    sluice_dataset_info *info = &own->base.info;
    sl_class_union made = {.count = 0};
    sluice_status status = joined_allocate(own, count_parts(parts, count), error);
    if (status == SLUICE_OK) {
        status = sl_joined_fields(own->fields, &info->fields, parts, count, options->fields, error);
    }
    own->base.fields = own->fields;
    own->label = status == SLUICE_OK ? joined_find_label(own) : SL_FIELD_NONE;
    if (status == SLUICE_OK) {
        status = joined_join_labels(own, parts, count, options->labels, &made, error);
    }
    for (uint32_t i = 0; status == SLUICE_OK && i < count; i++) {
        status = add_parts(own, parts[i], made.maps != NULL ? made.maps[i] : NULL, error);
    }
    sl_class_union_close(&made);
    return status == SLUICE_OK ? sl_joined_objects(own, error) : status;
}

sluice_status sl_joined_open(sl_dataset **dataset, sl_dataset *const *parts, uint32_t count,
                             const sl_joined_options *options, sluice_error *error)
{
    *dataset = NULL;
    if (count == 0) {
        return sl_error_set(error, SLUICE_INVALID, STAGE, "no datasets to join");
    }
    joined *own = sl_dataset_new(sizeof(*own), &sl_joined_ops, "", error);
    if (own == NULL) {
        return SLUICE_NOMEM;
    }
    own->base.tensors = &sl_over_tensors;
    own->base.checks = &sl_joined_checks;
    own->base.over = &sl_joined_over;
    const sluice_status status = joined_join(own, parts, count, options, error);
    if (status < 0) {
        sl_dataset_close(&own->base);
        return status;
    }
    joined_find_classes(own, parts, count);
    joined_take_words(own);
    joined_describe(own);
    *dataset = &own->base;
    return SLUICE_OK;
}

/* a different schedule makes a different dataset */
static uint64_t mixed_fingerprint(const joined *own)
{
    const sl_mix *mix = own->mix;
    sl_checksum_stream stream;
    sl_checksum_begin(&stream);
    sl_checksum_add(&stream, "mix", sizeof("mix"));
    sl_checksum_add_u64(&stream, own->base.info.fingerprint);
    sl_checksum_add_u64(&stream, mix->epoch_samples);
    for (uint32_t i = 0; i < mix->sources; i++) {
        sl_checksum_add_u64(&stream, mix->first[i]);
    }
    for (uint32_t i = 0; i < mix->rows; i++) {
        sl_checksum_add_u64(&stream, mix->row[i].epoch);
        for (uint32_t k = 0; k < mix->sources; k++) {
            sl_checksum_add_u64(&stream, mix->row[i].share[k]);
        }
    }
    return sl_checksum_value(&stream);
}

void sl_joined_mix(sl_dataset *dataset, sl_mix *mix)
{
    joined *own = (joined *)(void *)dataset;
    own->mix = mix;
    own->base.mix = mix;
    own->base.info.fingerprint = mixed_fingerprint(own);
    (void)snprintf(own->base.kind, sizeof(own->base.kind),
                   "%u datasets mixed, %llu samples per epoch", mix->sources,
                   (unsigned long long)mix->epoch_samples);
}
