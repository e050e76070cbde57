/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coco: opens COCO annotations, a JSON file that lists images, annotations and categories.
 *
 * A sample is an image, in file order, with its annotations as lists. The dataset itself is that of
 * listed.h. While opening, annotations are kept one by one, about 100 bytes each, since those of an
 * image are not adjacent.
 */
#include "coco_opener.h"
#include "coco_pictures.h"
#include "coco_segmentation.h"
#include "coco_splits.h"
#include "meanings.h"
#include "memory.h"
#include "store.h"
#include "text_file.h"
#include "unlisted.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAGE       "dataset"
#define CLASSES_MAX 65536

static const sl_field image_columns[SL_COCO_IMAGE_COLUMNS] = {
    [SL_COCO_IMAGE_FILE] = {.type = SLUICE_FIELD_BYTES},
    [SL_COCO_IMAGE_ID] = {.type = SLUICE_FIELD_INT},
    [SL_COCO_IMAGE_NAME] = {.type = SLUICE_FIELD_BYTES},
    [SL_COCO_IMAGE_FROM_URL] = {.type = SLUICE_FIELD_INT},
    [SL_COCO_IMAGE_WIDTH] = {.type = SLUICE_FIELD_INT},
    [SL_COCO_IMAGE_HEIGHT] = {.type = SLUICE_FIELD_INT},
};

static const sl_field annotation_columns[SL_COCO_OF_COLUMNS] = {
    [SL_COCO_OF_IMAGE] = {.type = SLUICE_FIELD_INT},
    [SL_COCO_OF_CATEGORY] = {.type = SLUICE_FIELD_INT},
    [SL_COCO_OF_BOX] = {.type = SLUICE_FIELD_BYTES},
    [SL_COCO_OF_AREA] = {.type = SLUICE_FIELD_FLOAT},
    [SL_COCO_OF_CROWD] = {.type = SLUICE_FIELD_INT},
    [SL_COCO_OF_KEYPOINTS] = {.type = SLUICE_FIELD_BYTES},
    [SL_COCO_OF_CAPTION] = {.type = SLUICE_FIELD_BYTES},
    [SL_COCO_OF_SHAPES] = {.type = SLUICE_FIELD_BYTES},
    [SL_COCO_OF_SEGMENT] = {.type = SLUICE_FIELD_INT},
};

static const sl_field panoptic_columns[] = {{.type = SLUICE_FIELD_INT},
                                            {.type = SLUICE_FIELD_BYTES}};

static const sl_source_column all_sources[SL_COCO_SOURCES] = {
    [SL_COCO_PICTURE] = {.name = "image",
                         .field = {.type = SLUICE_FIELD_IMAGE, .meaning = SL_MEANS_IMAGE(BY_SIZE)}},
    [SL_COCO_PANOPTIC] = {.name = "panoptic",
                          .field = {.type = SLUICE_FIELD_IMAGE, .meaning = SL_MEANS_MASK}},
    [SL_COCO_ID] = {.name = "image_id", .field = {.type = SLUICE_FIELD_INT}},
    [SL_COCO_SEGMENTS] = {.name = "segment_ids",
                          .field = {.type = SLUICE_FIELD_TENSOR,
                                    .dtype = SLUICE_I64,
                                    .dims = 1,
                                    .meaning = SL_MEANS_PER_BOX}},
    [SL_COCO_BOXES] = {.name = "boxes",
                       .field = {.type = SLUICE_FIELD_TENSOR,
                                 .dtype = SLUICE_F32,
                                 .dims = 2,
                                 .shape = {0, 4},
                                 .meaning = SL_MEANS_BOXES(XYWH, PIXELS, BY_SIZE)}},
    [SL_COCO_LABELS] = {.name = "labels",
                        .field = {.type = SLUICE_FIELD_TENSOR,
                                  .dtype = SLUICE_I64,
                                  .dims = 1,
                                  .meaning = SL_MEANS_PER_BOX}},
    [SL_COCO_CROWD] = {.name = "iscrowd",
                       .field = {.type = SLUICE_FIELD_TENSOR,
                                 .dtype = SLUICE_U8,
                                 .dims = 1,
                                 .meaning = SL_MEANS_PER_BOX}},
    [SL_COCO_AREA] = {.name = "area",
                      .field = {.type = SLUICE_FIELD_TENSOR,
                                .dtype = SLUICE_F32,
                                .dims = 1,
                                .meaning = SL_MEANS_PER_BOX}},
    [SL_COCO_KEYPOINTS] = {.name = "keypoints",
                           .field = {.type = SLUICE_FIELD_TENSOR,
                                     .dtype = SLUICE_F32,
                                     .dims = 2,
                                     .meaning = SL_MEANS_POINTS(INDICES, BY_SIZE)}},
    [SL_COCO_SHAPES] = {.name = SL_COCO_SEGMENTATION,
                        .field = {.type = SLUICE_FIELD_TEXT, .meaning = SL_MEANS_SHAPES(BY_SIZE)},
                        .asked = true},
    [SL_COCO_CAPTION] = {.name = "caption", .field = {.type = SLUICE_FIELD_TEXT}},
    [SL_COCO_CAPTIONS] = {.name = "captions", .field = {.type = SLUICE_FIELD_TEXT}},
    [SL_COCO_WIDTH] = {.name = "width",
                       .field = {.type = SLUICE_FIELD_INT, .meaning = SL_MEANS_WIDTH}},
    [SL_COCO_HEIGHT] = {.name = "height",
                        .field = {.type = SLUICE_FIELD_INT, .meaning = SL_MEANS_HEIGHT}},
    [SL_COCO_KEY] = {.name = "key", .field = {.type = SLUICE_FIELD_TEXT}},
};

/*
 * Recognises annotations in an encoding other than UTF-8 too, so that an error can name the
 * encoding.
 */
static bool is_wide(sl_look *look)
{
    char head[SL_LOOK_BYTES + 1];
    const sl_bytes raw = sl_look_head(look, SL_LOOK_BYTES);
    if (sl_text_encoding(raw.data, raw.size) == NULL) {
        return false;
    }
    (void)sl_text_of_look(look, head, SL_LOOK_BYTES);
    return strstr(head, "\"images\"") != NULL || strstr(head, "\"annotations\"") != NULL ||
           strstr(head, "\"categories\"") != NULL;
}

static bool coco_probe(sl_look *look)
{
    return sl_ends_with(look->path, ".json") &&
           (sl_json_lists(look, sl_coco_lists, SL_COCO_LISTS) || is_wide(look));
}

/*
 * Returns whether the file is more than a list of categories, which Label Studio writes beside YOLO
 * labels (notes.json).
 */
static bool coco_is_whole(sl_look *look)
{
    return coco_probe(look) && !sl_json_lacks(look, &sl_coco_lists[SL_COCO_IMAGES]);
}

static bool coco_is_file(const char *name)
{
    return sl_ends_with(name, ".json");
}

/* Describes a file by its name, if it is named like one of COCO's own files. */
static const char *words(const char *name)
{
    static const char *const of[][2] = {
        {"instances", "boxes and classes"}, {"person_keypoints", "keypoints"},
        {"keypoints", "keypoints"},         {"captions", "captions"},
        {"image_info", "only image names"}, {"stuff", "stuff classes"},
        {"panoptic", "segments"},
    };
    for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
        if (strncmp(name, of[i][0], strlen(of[i][0])) == 0) {
            return of[i][1];
        }
    }
    return NULL;
}

/* ---- whose annotations are whose ---- */

static int compare_ids(const void *a, const void *b)
{
    const int64_t left = ((const sl_coco_identity *)a)->id;
    const int64_t right = ((const sl_coco_identity *)b)->id;
    const uint64_t first = ((const sl_coco_identity *)a)->sample;
    const uint64_t second = ((const sl_coco_identity *)b)->sample;
    return left != right ? (left > right) - (left < right) : (first > second) - (first < second);
}

static sluice_status refuse_twice(const sl_coco_opener *o, const sl_coco_identity *of,
                                  sluice_error *error)
{
    char id[80];
    sl_value name;
    (void)sl_side_columns_get(&o->images, SL_COCO_IMAGE_NAME, of->sample, &name);
    (void)snprintf(id, sizeof(id), "%lld", (long long)of->id);
    if (name.present) {
        (void)snprintf(id, sizeof(id), "\"%.*s\"",
                       (int)(name.bytes.size < 64 ? name.bytes.size : 64),
                       (const char *)name.bytes.data);
    }
    return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, o->path, -1,
                         "two images have the id %s: elements %llu and %llu of \"images\"", id,
                         (unsigned long long)of[-1].sample, (unsigned long long)of->sample);
}

static sluice_status sort_images(sl_coco_opener *o, sluice_error *error)
{
    const sl_side_column *ids = &o->images.of[SL_COCO_IMAGE_ID];
    o->identities = sl_calloc(ids->rows + 1, sizeof(*o->identities));
    if (o->identities == NULL) {
        return sl_coco_no_memory(error);
    }
    for (uint64_t i = 0; i < ids->rows; i++) {
        o->identities[i] = (sl_coco_identity){(int64_t)ids->cells[i], i};
    }
    qsort(o->identities, ids->rows, sizeof(*o->identities), compare_ids);
    for (uint64_t i = 1; i < ids->rows; i++) {
        if (o->identities[i].id == o->identities[i - 1].id) {
            return refuse_twice(o, &o->identities[i], error);
        }
    }
    return SLUICE_OK;
}

/* Returns the sample of an image id, or the number of samples if the id is not listed. */
static uint64_t sample_of_id(const sl_coco_opener *o, int64_t id)
{
    uint64_t low = 0;
    const uint64_t count = o->images.of[SL_COCO_IMAGE_ID].rows;
    uint64_t high = count;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (o->identities[middle].id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < count && o->identities[low].id == id ? o->identities[low].sample : count;
}

static uint64_t sample_of(const sl_coco_opener *o, uint64_t annotation)
{
    return sample_of_id(o, (int64_t)o->annotations.of[SL_COCO_OF_IMAGE].cells[annotation]);
}

/* Sorts the annotations by sample, then by file order. */
static sluice_status sort_annotations(sl_coco_opener *o, sluice_error *error)
{
    const uint64_t samples = o->images.of[SL_COCO_IMAGE_ID].rows;
    const uint64_t count = o->annotations.of[SL_COCO_OF_IMAGE].rows;
    o->begins = sl_calloc(samples + 2, sizeof(*o->begins));
    o->order = sl_calloc(count + 1, sizeof(*o->order));
    if (o->begins == NULL || o->order == NULL) {
        return sl_coco_no_memory(error);
    }
    for (uint64_t i = 0; i < count; i++) {
        o->begins[sample_of(o, i) + 1]++;
    }
    for (uint64_t i = 1; i <= samples + 1; i++) {
        o->begins[i] += o->begins[i - 1];
    }
    for (uint64_t i = 0; i < count; i++) {
        o->order[o->begins[sample_of(o, i)]++] = i;
    }
    sl_omit_many(&o->own->base.omissions, SL_OMITTED_THINGS,
                 "annotations of images that \"images\" does not list", NULL,
                 count - o->begins[samples - 1]);
    /* each entry now begins where the next one did */
    memmove(o->begins + 1, o->begins, (samples + 1) * sizeof(*o->begins));
    o->begins[0] = 0;
    return SLUICE_OK;
}

/* Finds the segments file of each sample. */
static sluice_status sort_panoptic(sl_coco_opener *o, sluice_error *error)
{
    const uint64_t samples = o->images.of[SL_COCO_IMAGE_ID].rows;
    const sl_side_column *ids = &o->panoptic.of[0];
    if (ids->rows == 0) {
        return SLUICE_OK;
    }
    o->panoptic_of = sl_calloc(samples + 1, sizeof(*o->panoptic_of));
    if (o->panoptic_of == NULL) {
        return sl_coco_no_memory(error);
    }
    for (uint64_t i = 0; i < ids->rows; i++) {
        const uint64_t sample = sample_of_id(o, (int64_t)ids->cells[i]);
        if (sample < samples && o->panoptic_of[sample] != 0) {
            return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, o->path, -1,
                                 "elements %llu and %llu of \"annotations\" have the same image: a "
                                 "panoptic file must have one annotation per image",
                                 (unsigned long long)o->panoptic_of[sample] - 1,
                                 (unsigned long long)i);
        }
        o->panoptic_of[sample] = i + 1;
    }
    return SLUICE_OK;
}

/* ---- fields ---- */

static bool coco_is_there(const sl_coco_opener *o, uint32_t what)
{
    const uint64_t all = o->annotations.of[SL_COCO_OF_IMAGE].rows;
    switch (what) {
    case SL_COCO_BOXES:
    case SL_COCO_CROWD:
        return o->counts[SL_COCO_OF_BOX] > 0;
    case SL_COCO_PANOPTIC:
    case SL_COCO_SEGMENTS:
        return o->panoptic.of[0].rows > 0;
    case SL_COCO_LABELS:
        return o->counts[SL_COCO_OF_CATEGORY] > 0;
    case SL_COCO_AREA:
        return all > 0 && o->counts[SL_COCO_OF_AREA] == all;
    case SL_COCO_KEYPOINTS:
        return o->keypoint_bytes > 0;
    case SL_COCO_SHAPES:
        return o->counts[SL_COCO_OF_SHAPES] > 0;
    case SL_COCO_CAPTION:
    case SL_COCO_CAPTIONS:
        return o->counts[SL_COCO_OF_CAPTION] > 0;
    case SL_COCO_WIDTH:
        return o->image_counts[SL_COCO_IMAGE_WIDTH] > 0;
    case SL_COCO_HEIGHT:
        return o->image_counts[SL_COCO_IMAGE_HEIGHT] > 0;
    default:
        return true;
    }
}

static sluice_status coco_choose_fields(sl_coco_opener *o, const sluice_dataset_options *options,
                                        sluice_error *error)
{
    sl_listed_sources sources = {.of = o->sources, .picture = SL_COCO_PICTURE};
    for (uint32_t i = 0; i < SL_COCO_SOURCES; i++) {
        if (coco_is_there(o, i)) {
            o->what[sources.count] = i;
            o->sources[sources.count] = all_sources[i];
            if (i == SL_COCO_KEYPOINTS) {
                o->sources[sources.count].field.shape[1] = o->keypoint_bytes / sizeof(float);
            }
            if (i == SL_COCO_ID && o->image_ids.has_texts) {
                o->sources[sources.count].field.type = SLUICE_FIELD_TEXT;
            }
            sources.files |= i == SL_COCO_PANOPTIC ? 1U << sources.count : 0;
            sources.key = sources.count++; /* the last source */
        }
    }
    return sl_listed_choose(o->own, &sources, options, o->path, error);
}

/* Names the classes by number; a number without a category becomes its own name. */
static sluice_status name_classes(sl_coco_opener *o, sluice_error *error)
{
    if (json_object_size(o->names) == 0 || o->highest >= CLASSES_MAX) {
        return SLUICE_OK;
    }
    o->own->classes = json_array();
    for (int64_t i = 0; i <= o->highest; i++) {
        char key[32];
        (void)snprintf(key, sizeof(key), "%lld", (long long)i);
        json_t *name = json_object_get(o->names, key);
        name = name != NULL ? json_incref(name) : json_string(key);
        if (json_array_append_new(o->own->classes, name) != 0) {
            return sl_coco_no_memory(error);
        }
    }
    return SLUICE_OK;
}

/* ---- opening ---- */

/* Checks the annotations as a whole. */
static sluice_status coco_check_all(sl_coco_opener *o, sluice_error *error)
{
    const uint64_t all = o->annotations.of[SL_COCO_OF_IMAGE].rows;
    const uint64_t areas = o->counts[SL_COCO_OF_AREA];
    sluice_status status = sl_coco_check_lacks(o, SL_COCO_OF_BOX, "bbox", error);
    status = status == SLUICE_OK ? sl_coco_check_lacks(o, SL_COCO_OF_CATEGORY, "category_id", error)
                                 : status;
    status = status == SLUICE_OK ? sl_coco_number_labels(o, error) : status;
    status = status == SLUICE_OK ? sl_coco_check_keypoints(o, error) : status;
    if (areas > 0 && areas < all) {
        sl_omit(&o->own->base.omissions, SL_OMITTED_THINGS, "fields that some annotations lack",
                "area");
        sl_warnings_add(&o->own->base.warnings,
                        "field \"area\" is left out: element %llu of \"annotations\"%s has no "
                        "area; %llu of %llu have none",
                        (unsigned long long)o->lacks[SL_COCO_OF_AREA].element,
                        o->lacks[SL_COCO_OF_AREA].id, (unsigned long long)(all - areas),
                        (unsigned long long)all);
    }
    sl_omit_many(&o->own->base.omissions, SL_OMITTED_THINGS,
                 "lists of neg_category_ids and not_exhaustive_category_ids of images", NULL,
                 o->lvis_lists);
    return status;
}

static sluice_status keep_all(sl_coco_opener *o, const sluice_dataset_options *options,
                              sluice_error *error)
{
    const uint64_t samples = o->images.of[SL_COCO_IMAGE_ID].rows;
    if (samples == 0) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, o->path, -1,
                             "not COCO annotations: no \"images\" list");
    }
    sluice_status status = coco_check_all(o, error);
    status =
        status == SLUICE_OK ? sl_coco_find_pictures(o, options->allow_outside != 0, error) : status;
    status = status == SLUICE_OK ? coco_choose_fields(o, options, error) : status;
    status = status == SLUICE_OK ? name_classes(o, error) : status;
    status = status == SLUICE_OK ? sort_images(o, error) : status;
    status = status == SLUICE_OK ? sort_annotations(o, error) : status;
    status = status == SLUICE_OK ? sort_panoptic(o, error) : status;
    for (uint64_t i = 0; status == SLUICE_OK && i < samples; i++) {
        status = sl_coco_keep_sample(o, i, error);
    }
    return status;
}

static sluice_status coco_open_file(sl_coco_opener *o, const sluice_dataset_options *options,
                                    sluice_error *error)
{
    sl_json_list wanted[SL_COCO_LISTS];
    const sl_json_visitor visitor = {
        .ctx = o, .lists = wanted, .count = SL_COCO_LISTS, .visit = sl_coco_visit};
    memcpy(wanted, sl_coco_lists, sizeof(wanted));
    if (sl_coco_wants_segmentation(options)) {
        wanted[SL_COCO_ANNOTATIONS].written = SL_COCO_SEGMENTATION;
    }
    o->names = json_object();
    o->skeletons = json_object();
    sluice_status status = sl_listed_new(&o->own, o->path, false, error);
    if (status == SLUICE_OK) {
        status = sl_side_columns_open(&o->images, image_columns, SL_COCO_IMAGE_COLUMNS, error);
    }
    if (status == SLUICE_OK) {
        status =
            sl_side_columns_open(&o->annotations, annotation_columns, SL_COCO_OF_COLUMNS, error);
    }
    status = status == SLUICE_OK ? sl_side_columns_open(&o->panoptic, panoptic_columns, 2, error)
                                 : status;
    status = status == SLUICE_OK ? sl_json_walk(o->path, &visitor, error) : status;
    status = status == SLUICE_OK ? keep_all(o, options, error) : status;
    if (status < 0) {
        return status;
    }
    (void)snprintf(o->own->base.info.format, sizeof(o->own->base.info.format), "coco");
    sl_unchecked_add(&o->own->base.unchecked, "annotations have no checksums");
    (void)snprintf(o->own->base.kind, sizeof(o->own->base.kind),
                   "COCO annotations, and the images that they list");
    status = sl_unlisted_count(o->own, error);
    return status == SLUICE_OK ? sl_listed_finish(o->own, o->path, error) : status;
}

static sluice_status open_coco(sl_dataset **dataset, const char *const *paths, size_t count,
                               const sluice_dataset_options *options, sluice_error *error)
{
    if (count != 1) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, paths[1], -1,
                             "annotations cannot be joined: open one path, or join the "
                             "datasets (" SL_OPTION("sluice_dataset_concat") ")");
    }
    uint32_t chosen;
    sl_omissions passed = {.reasons = 0}; /* a single file has none */
    sl_coco_opener o = {.path = paths[0]};
    sluice_status status = options->split != NULL ? sl_coco_choose_split(paths, 1, options->split,
                                                                         &chosen, &passed, error)
                                                  : SLUICE_OK;
    status = status == SLUICE_OK ? coco_open_file(&o, options, error) : status;
    sl_side_columns_close(&o.images);
    sl_side_columns_close(&o.annotations);
    sl_side_columns_close(&o.panoptic);
    sl_coco_ids_close(&o.image_ids);
    sl_coco_ids_close(&o.category_ids);
    json_decref(o.met);
    json_decref(o.names);
    json_decref(o.skeletons);
    sl_free(o.positions);
    sl_free(o.panoptic_of);
    sl_free(o.identities);
    sl_free(o.begins);
    sl_free(o.order);
    sl_free(o.space.data);
    if (status < 0) {
        sl_dataset_close(o.own != NULL ? &o.own->base : NULL);
        return status;
    }
    *dataset = &o.own->base;
    return SLUICE_OK;
}

SL_FORMAT(coco) = {
    .name = "coco",
    .files = "files of COCO annotations",
    .known = "COCO annotations (.json with images, annotations or categories)",
    .is_annotations = true,
    .has_annotations = true,
    .takes_fields = true,
    .probe = coco_probe,
    .is_file = coco_is_file,
    .is_sure = coco_probe,
    .is_whole = coco_is_whole,
    .is_single = true,
    .takes_split = true,
    .choose_split = sl_coco_choose_split,
    .words = words,
    .open = open_coco,
};
