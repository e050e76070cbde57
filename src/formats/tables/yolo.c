/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YOLO's labels: a text file for each picture, of a line an object. A sample is a picture, with its
 * objects as lists. The dataset itself is listed.h's. Files are read by several threads; until all
 * are, an object takes 20 bytes, and 4 for each number of its points.
 */
#include "listed.h"
#include "meanings.h"
#include "memory.h"
#include "open_many.h"
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

/* While a dataset is opened. */
typedef struct opener {
    sl_yolo_files files;
    sl_yolo_page *pages; /* one a picture */
    sl_listed *own;
    sl_source_column sources[SOURCES];
    uint32_t what[SOURCES]; /* that each source is */
    uint8_t *buffer;        /* for a list of a sample */
    uint64_t capacity;
} opener;

static sluice_status yolo_no_memory(sluice_error *error)
{
    return sl_error_set(error, SLUICE_NOMEM, STAGE, "out of memory for labels");
}

/* ---- label files ---- */

static sluice_status yolo_read_page(void *ctx, uint32_t number, sluice_error *error)
{
    char path[SL_PATH_BYTES];
    const opener *o = ctx;
    if (!sl_yolo_files_label(&o->files, number, path)) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, o->files.path, -1,
                             "the path of a label file is too long");
    }
    const sluice_status status = sl_boundary_check(o->files.boundary, o->files.path, path, error);
    return status == SLUICE_OK
               ? sl_yolo_labels_read(&o->pages[number], &o->files.yaml.rules, path, error)
               : status;
}

static sluice_status yolo_read_pages(opener *o, sluice_error *error)
{
    char path[SL_PATH_BYTES] = "";
    const uint64_t count = o->files.count;
    if (count > UINT32_MAX - 1) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, o->files.path, -1,
                             "more than 2^32 - 2 pictures");
    }
    o->pages = sl_calloc(count, sizeof(*o->pages));
    if (o->pages == NULL) {
        return yolo_no_memory(error);
    }
    if (o->files.yaml.rules.classes == 0) {
        o->files.yaml.rules.classes = SL_YOLO_CLASSES_MAX;
    }
    const sluice_status status = sl_open_many((uint32_t)count, yolo_read_page, o, error);
    bool found = false;
    for (uint64_t i = 0; status == SLUICE_OK && i < count && !found; i++) {
        found = o->pages[i].is_there;
    }
    if (status < 0 || found) {
        return status;
    }
    (void)sl_yolo_files_label(&o->files, 0, path);
    return sl_error_file(error, SLUICE_INVALID, STAGE, 0, o->files.path, -1,
                         "none of its %llu pictures has a label file: that of the first one would "
                         "be \"%.512s\"",
                         (unsigned long long)count, path);
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
        sources.key = sources.count++; /* the last one */
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

static sluice_status yolo_keep_sample(opener *o, uint64_t sample, sluice_error *error)
{
    const char *picture = sl_yolo_files_picture(&o->files, sample);
    const sl_bytes path = {(const uint8_t *)picture, strlen(picture)};
    const sl_refusal why = sl_listed_check_path(o->own, path);
    if (why.text != NULL) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, o->files.path, -1, "%s", why.text);
    }
    sluice_status status = sl_listed_put_path(o->own, path, error);
    for (uint32_t i = 1; status == SLUICE_OK && i < o->own->side.count; i++) {
        sl_value value;
        status = yolo_make_list(o, o->what[o->own->source[i]], &o->pages[sample], &value)
                     ? sl_side_columns_put(&o->own->side, i, &value, error)
                     : yolo_no_memory(error);
    }
    return status;
}

/* ---- opening ---- */

/* What is in folders is the dataset; what a list names has to be in its folder. */
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
    (void)snprintf(base->kind, sizeof(base->kind), "YOLO's labels, and their pictures");
    return sl_listed_finish(o->own, o->files.path, error);
}

static sluice_status open_yolo(sl_dataset **dataset, const char *const *paths, size_t count,
                               const sluice_dataset_options *options, sluice_error *error)
{
    if (count != 1) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, paths[1], -1,
                             "labels cannot be joined: open one path");
    }
    opener *o = sl_calloc(1, sizeof(*o));
    if (o == NULL) {
        return yolo_no_memory(error);
    }
    o->files.path = paths[0];
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
    sl_yolo_files_close(&o->files);
    sl_free(o->buffer);
    sl_free(o);
    return status;
}

SL_FORMAT(yolo) = {
    .name = "yolo",
    .files = "YOLO labels",
    .known = "YOLO labels (images and labels, a data.yaml, lists of pictures)",
    .takes_fields = true,
    .probe = sl_yolo_files_probe,
    .open = open_yolo,
};
