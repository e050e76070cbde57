/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yolo: opens YOLO labels, a text file per image with one object per line.
 *
 * A sample is an image, with its objects as lists. The dataset itself is that of listed.h. Several
 * threads read the files; until all are read, an object takes 20 bytes, and 4 for each number of
 * its points.
 */
#include "listed.h"
#include "meanings.h"
#include "memory.h"
#include "open_many.h"
#include "repeats.h"
#include "yolo_files.h"

#include <stdio.h>
#include <string.h>

#define STAGE "dataset"

enum { PICTURE, BOXES, LABELS, KEYPOINTS, KEY, SOURCES };

static const sl_source_column all_sources[SOURCES] = {
    [PICTURE] = {.name = "image",
                 .field = {.type = SLUICE_FIELD_IMAGE, .meaning = SL_MEANS_IMAGE(UPRIGHT)}},
    [BOXES] = {.name = "boxes",
               .field = {.type = SLUICE_FIELD_TENSOR,
                         .dtype = SLUICE_F32,
                         .dims = 2,
                         .shape = {0, 4},
                         .meaning = SL_MEANS_BOXES(CXCYWH, RELATIVE, UPRIGHT)}},
    [LABELS] = {.name = "labels",
                .field = {.type = SLUICE_FIELD_TENSOR,
                          .dtype = SLUICE_I64,
                          .dims = 1,
                          .meaning = SL_MEANS_PER_BOX}},
    [KEYPOINTS] = {.name = "keypoints",
                   .field = {.type = SLUICE_FIELD_TENSOR,
                             .dtype = SLUICE_F32,
                             .dims = 2,
                             .meaning = SL_MEANS_POINTS(RELATIVE, UPRIGHT)}},
    [KEY] = {.name = "key", .field = {.type = SLUICE_FIELD_TEXT}},
};

/* State while a dataset is opened. */
typedef struct opener {
    sl_yolo_files files;
    sl_yolo_page *pages; /* one per image */
    sl_repeats repeats;  /* repeated label files */
    uint32_t *entries;   /* entry in columns of each image whose label file is its first occurrence;
                            NULL: no file repeats */
    uint32_t used;       /* number of entries */
    sl_listed *own;
    sl_source_column sources[SOURCES];
    uint32_t what[SOURCES]; /* kind of each source */
    uint64_t missing;       /* number of images without a label file */
    uint64_t unlabelled;    /* the first of these images */
    uint8_t *buffer;        /* buffer for a list of a sample */
    uint64_t capacity;
} opener;

static sluice_status yolo_no_memory(sluice_error *error)
{
    return sl_error_set(error, SLUICE_NOMEM, STAGE, "out of memory for labels");
}

/* ---- label files ---- */

static bool yolo_path_of(const void *ctx, uint32_t number, char path[SL_PATH_BYTES])
{
    const sl_yolo_files *files = ctx;
    return sl_yolo_files_label(files, number, path);
}

static sluice_status yolo_read_page(void *ctx, uint32_t number, sluice_error *error)
{
    char path[SL_PATH_BYTES];
    const opener *o = ctx;
    if (!sl_yolo_files_label(&o->files, number, path)) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, o->files.path, -1,
                             "the path of a label file is too long");
    }
    const sluice_status status = sl_boundary_check(o->files.boundary, o->files.path, path, error);
    return status == SLUICE_OK && o->repeats.first[number] == number
               ? sl_yolo_labels_read(&o->pages[number], &o->files.yaml.rules, path, error)
               : status;
}

static sluice_status yolo_read_pages(opener *o, sluice_error *error)
{
    char path[SL_PATH_BYTES] = "";
    const uint64_t count = o->files.count;
    if (count > UINT32_MAX - 1) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, o->files.path, -1,
                             "more than 2^32 - 2 images");
    }
    o->pages = sl_calloc(count, sizeof(*o->pages));
    if (o->pages == NULL) {
        return yolo_no_memory(error);
    }
    if (o->files.yaml.rules.classes == 0) {
        o->files.yaml.rules.classes = SL_YOLO_CLASSES_MAX;
    }
    sluice_status status =
        sl_repeats_find(&o->repeats, (uint32_t)count, yolo_path_of, &o->files, error);
    status = status == SLUICE_OK ? sl_open_many((uint32_t)count, yolo_read_page, o, error) : status;
    uint64_t missing = 0;
    for (uint64_t i = 0; status == SLUICE_OK && i < count; i++) {
        const bool is_there = o->pages[o->repeats.first[i]].is_there;
        o->unlabelled = !is_there && missing == 0 ? i : o->unlabelled;
        missing += !is_there;
    }
    o->missing = missing;
    if (status < 0 || missing < count) {
        return status;
    }
    const bool is_stray = o->files.stray[0] != '\0';
    (void)sl_yolo_files_label(&o->files, 0, path);
    return sl_error_file(
        error, SLUICE_INVALID, STAGE, 0, o->files.path, -1,
        "none of its %llu images has a label file: the first one's would be \"%.512s\"%s%.200s%s",
        (unsigned long long)count, path,
        is_stray ? "; the existing label files have other names, such as \"" : "", o->files.stray,
        is_stray ? "\"" : "");
}

/* ---- fields and samples ---- */

static sluice_status yolo_choose_fields(opener *o, const sluice_dataset_options *options,
                                        sluice_error *error)
{
    const sl_yolo_rules *rules = &o->files.yaml.rules;
    sl_listed_sources sources = {.of = o->sources, .picture = PICTURE};
    for (uint32_t i = 0; i < SOURCES; i++) {
        if (i == KEYPOINTS && rules->points == 0) {
            continue;
        }
        o->what[sources.count] = i;
        o->sources[sources.count] = all_sources[i];
        if (i == KEYPOINTS) {
            o->sources[sources.count].field.shape[1] = (uint64_t)rules->points * rules->dims;
        }
        sources.key = sources.count++; /* the last source */
    }
    return sl_listed_choose(o->own, &sources, options, o->files.path, error);
}

static bool yolo_make_list(opener *o, uint32_t what, const sl_yolo_page *from, sl_value *value)
{
    const sl_yolo_rules *rules = &o->files.yaml.rules;
    if (what == KEYPOINTS) {
        const uint64_t numbers = from->count * rules->points * rules->dims;
        *value = (sl_value){
            .present = true,
            .bytes = {(const uint8_t *)from->points, (size_t)numbers * sizeof(*from->points)}};
        return true;
    }
    const size_t each = what == BOXES ? sizeof(from->objects->box) : sizeof(int64_t);
    if (!sl_grow(&o->buffer, &o->capacity, from->count * each + 1, 1)) {
        return false;
    }
    for (uint64_t i = 0; i < from->count; i++) {
        const int64_t label = from->objects[i].class;
        memcpy(o->buffer + i * each,
               what == BOXES ? (const void *)from->objects[i].box : (const void *)&label, each);
    }
    *value = (sl_value){.present = true, .bytes = {o->buffer, (size_t)from->count * each}};
    return true;
}

/* Keeps a list of a page, once if images share the page. */
static sluice_status yolo_keep_list(opener *o, uint32_t column, uint64_t sample, bool is_new,
                                    sluice_error *error)
{
    sl_value value;
    uint32_t entry;
    const uint32_t first = o->repeats.first[sample];
    sluice_status status = SLUICE_OK;
    if (is_new && !yolo_make_list(o, o->what[o->own->source[column]], &o->pages[first], &value)) {
        return yolo_no_memory(error);
    }
    if (o->entries == NULL) { /* no file repeats */
        return sl_side_columns_put(&o->own->side, column, &value, error);
    }
    if (is_new) {
        status = sl_side_columns_add_entry(&o->own->side, column, value.bytes, &entry, error);
    }
    return status == SLUICE_OK
               ? sl_side_columns_put_entry(&o->own->side, column, o->entries[first], error)
               : status;
}

static sluice_status yolo_keep_lists(opener *o, uint64_t sample, sluice_error *error)
{
    const uint32_t first = o->repeats.first[sample];
    const bool is_new = first == sample;
    sluice_status status = SLUICE_OK;
    if (o->repeats.found && o->entries == NULL) {
        o->entries = sl_calloc(o->files.count, sizeof(*o->entries));
        status = o->entries != NULL ? SLUICE_OK : yolo_no_memory(error);
    }
    if (status == SLUICE_OK && o->entries != NULL && is_new) {
        o->entries[first] = o->used++;
    }
    for (uint32_t i = 1; status == SLUICE_OK && i < o->own->side.count; i++) {
        status = yolo_keep_list(o, i, sample, is_new, error);
    }
    return status;
}

static sluice_status yolo_keep_sample(opener *o, uint64_t sample, sluice_error *error)
{
    const char *picture = sl_yolo_files_picture(&o->files, sample);
    const sl_bytes path = {(const uint8_t *)picture, strlen(picture)};
    const sl_refusal why = sl_listed_check_path(o->own, path);
    if (why.text != NULL) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, o->files.path, -1, "%s", why.text);
    }
    const sluice_status status = sl_listed_put_path(o->own, path, error);
    return status == SLUICE_OK ? yolo_keep_lists(o, sample, error) : status;
}

/* ---- opening ---- */

/*
 * Sets the boundary: files in folders belong to the dataset; files that a list names must be in its
 * folder.
 */
static sluice_status yolo_bound(opener *o, sluice_error *error)
{
    char path[2 * SL_PATH_BYTES];
    const sl_yolo_files *files = &o->files;
    sluice_status status = SLUICE_OK;
    o->own->boundary = o->files.boundary;
    o->files.boundary = NULL;
    for (int i = 0; status == SLUICE_OK && files->pictures[0] != '\0' && i < 2; i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", files->root,
                       i == 0 ? files->pictures : files->labels);
        status = sl_listed_add_folder(o->own, path, error);
    }
    o->own->key_skips = files->pictures[0] != '\0' ? (uint32_t)strlen(files->pictures) + 1 : 0;
    return status;
}

static sluice_status yolo_open_pages(opener *o, const sluice_dataset_options *options,
                                     sluice_error *error)
{
    sluice_status status = sl_yolo_files_open(&o->files, error);
    status = status == SLUICE_OK ? yolo_read_pages(o, error) : status;
    status = status == SLUICE_OK ? sl_listed_new(&o->own, o->files.root, true, error) : status;
    status = status == SLUICE_OK ? yolo_bound(o, error) : status;
    status = status == SLUICE_OK ? yolo_choose_fields(o, options, error) : status;
    for (uint64_t i = 0; status == SLUICE_OK && i < o->files.count; i++) {
        status = yolo_keep_sample(o, i, error);
        sl_yolo_page_close(&o->pages[i]);
    }
    if (status < 0) {
        return status;
    }
    sl_dataset *base = &o->own->base;
    o->own->classes = json_incref(o->files.yaml.names);
    (void)snprintf(base->info.format, sizeof(base->info.format), "yolo");
    sl_unchecked_add(&base->unchecked, "labels have no checksums");
    (void)snprintf(base->kind, sizeof(base->kind), "YOLO labels, and their images");
    sl_omissions_join(&base->omissions, &o->files.omissions);
    if (o->missing > o->files.count / 10) {
        sl_warnings_add(&base->warnings,
                        "%llu of %llu images have no label file, and so no objects: the first is "
                        "%.200s",
                        (unsigned long long)o->missing, (unsigned long long)o->files.count,
                        sl_yolo_files_picture(&o->files, o->unlabelled));
    }
    return sl_listed_finish(o->own, o->files.path, error);
}

static sluice_status open_yolo(sl_dataset **dataset, const char *const *paths, size_t count,
                               const sluice_dataset_options *options, sluice_error *error)
{
    if (count != 1) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, paths[1], -1,
                             "labels cannot be joined: open one path, or join the "
                             "datasets (" SL_OPTION("sluice_dataset_concat") ")");
    }
    opener *o = sl_calloc(1, sizeof(*o));
    if (o == NULL) {
        return yolo_no_memory(error);
    }
    o->files.path = paths[0];
    o->files.split = options->split;
    o->files.anywhere = options->allow_outside != 0;
    const sluice_status status = yolo_open_pages(o, options, error);
    if (status == SLUICE_OK) {
        *dataset = &o->own->base;
    } else {
        sl_dataset_close(o->own != NULL ? &o->own->base : NULL);
    }
    for (uint64_t i = 0; o->pages != NULL && i < o->files.count; i++) {
        sl_yolo_page_close(&o->pages[i]);
    }
    sl_free(o->pages);
    sl_free(o->entries);
    sl_repeats_close(&o->repeats);
    sl_yolo_files_close(&o->files);
    sl_free(o->buffer);
    sl_free(o);
    return status;
}

SL_FORMAT(yolo) = {
    .name = "yolo",
    .files = "YOLO labels",
    .known = "YOLO labels (images and labels, a data.yaml, lists of images)",
    .has_annotations = true,
    .takes_fields = true,
    .takes_split = true,
    .probe = sl_yolo_files_probe,
    .open = open_yolo,
};
