/* SPDX-License-Identifier: Apache-2.0 */
/*
 * COCO's annotations: a JSON file that lists images, annotations and categories. A sample is an
 * image, in the order of the file, with what was annotated of it as lists. The dataset itself is
 * listed.h's. While it is opened annotations are kept one by one, about 100 bytes each, since those
 * of an image do not lie together.
 */
#include "coco_pictures.h"
#include "coco_segmentation.h"
#include "json_walk.h"
#include "listed.h"
#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAGE       "dataset"
#define CLASSES_MAX 65536

/* What is kept of an image, and of an annotation, until all are known. */
enum { IMAGE_FILE, IMAGE_ID, IMAGE_COLUMNS };
enum {
    OF_IMAGE,
    OF_CATEGORY,
    OF_BOX,
    OF_AREA,
    OF_CROWD,
    OF_KEYPOINTS,
    OF_CAPTION,
    OF_SHAPES,
    OF_COLUMNS
};

static const sl_field image_columns[IMAGE_COLUMNS] = {
    [IMAGE_FILE] = {.type = SLUICE_FIELD_BYTES},
    [IMAGE_ID] = {.type = SLUICE_FIELD_INT},
};

static const sl_field annotation_columns[OF_COLUMNS] = {
    [OF_IMAGE] = {.type = SLUICE_FIELD_INT},     [OF_CATEGORY] = {.type = SLUICE_FIELD_INT},
    [OF_BOX] = {.type = SLUICE_FIELD_BYTES},     [OF_AREA] = {.type = SLUICE_FIELD_FLOAT},
    [OF_CROWD] = {.type = SLUICE_FIELD_INT},     [OF_KEYPOINTS] = {.type = SLUICE_FIELD_BYTES},
    [OF_CAPTION] = {.type = SLUICE_FIELD_BYTES}, [OF_SHAPES] = {.type = SLUICE_FIELD_BYTES},
};

enum {
    PICTURE,
    ID,
    BOXES,
    LABELS,
    CROWD,
    AREA,
    KEYPOINTS,
    SHAPES,
    CAPTION,
    CAPTIONS,
    KEY,
    SOURCES
};

static const sl_source_column all_sources[SOURCES] = {
    [PICTURE] = {.name = "image", .field = {.type = SLUICE_FIELD_IMAGE}},
    [ID] = {.name = "image_id", .field = {.type = SLUICE_FIELD_INT}},
    [BOXES] =
        {.name = "boxes",
         .field = {.type = SLUICE_FIELD_TENSOR, .dtype = SLUICE_F32, .dims = 2, .shape = {0, 4}}},
    [LABELS] = {.name = "labels",
                .field = {.type = SLUICE_FIELD_TENSOR, .dtype = SLUICE_I64, .dims = 1}},
    [CROWD] = {.name = "iscrowd",
               .field = {.type = SLUICE_FIELD_TENSOR, .dtype = SLUICE_U8, .dims = 1}},
    [AREA] = {.name = "area",
              .field = {.type = SLUICE_FIELD_TENSOR, .dtype = SLUICE_F32, .dims = 1}},
    [KEYPOINTS] = {.name = "keypoints",
                   .field = {.type = SLUICE_FIELD_TENSOR, .dtype = SLUICE_F32, .dims = 2}},
    [SHAPES] = {.name = SL_COCO_SEGMENTATION, .field = {.type = SLUICE_FIELD_TEXT}, .asked = true},
    [CAPTION] = {.name = "caption", .field = {.type = SLUICE_FIELD_TEXT}},
    [CAPTIONS] = {.name = "captions", .field = {.type = SLUICE_FIELD_TEXT}},
    [KEY] = {.name = "key", .field = {.type = SLUICE_FIELD_TEXT}},
};

/* An image's identity and its number, for finding it. */
typedef struct identity {
    int64_t id;
    uint64_t sample;
} identity;

typedef struct capacity {
    uint8_t *data;
    size_t bytes;
} capacity;

/* While a dataset is opened. */
typedef struct opener {
    const char *path;
    sl_listed *own;
    sl_side_columns images, annotations;
    uint64_t counts[OF_COLUMNS]; /* annotations that have it */
    size_t keypoint_bytes;       /* of an annotation; 0: not known yet */
    bool other_keypoints;        /* annotations differ in that */
    json_t *names;               /* categories: an object, from their numbers */
    int64_t highest;             /* of them */
    sl_source_column sources[SOURCES];
    uint32_t what[SOURCES]; /* that each source is */
    identity *identities;   /* by id */
    uint64_t *begins;       /* annotations of each sample, in `order` */
    uint64_t *order;
    capacity capacity;
} opener;

enum { IMAGES, ANNOTATIONS, CATEGORIES, LISTS };

static const char *const of_image[] = {"id", "file_name", NULL};
static const char *const of_annotation[] = {"image_id", "category_id", "bbox",    "area",
                                            "iscrowd",  "keypoints",   "caption", NULL};
static const char *const of_category[] = {"id", "name", NULL};

static const sl_json_list lists[LISTS] = {
    [IMAGES] = {"images", of_image},
    [ANNOTATIONS] = {"annotations", of_annotation},
    [CATEGORIES] = {"categories", of_category},
};

/* Before its lists a file may say at length what it is. */
#define LOOK_BYTES ((uint64_t)64 << 20)

static bool coco_probe(const char *path)
{
    const size_t bytes = strlen(path);
    return bytes > 5 && strcmp(path + bytes - 5, ".json") == 0 &&
           sl_json_lists(path, lists, LISTS, LOOK_BYTES);
}

static bool coco_is_file(const char *name)
{
    return sl_ends_with(name, ".json");
}

/* What the files of COCO itself are called, and others after them. */
static const char *words(const char *name)
{
    static const char *const of[][2] = {
        {"instances", "boxes and classes"},
        {"person_keypoints", "keypoints"},
        {"keypoints", "keypoints"},
        {"captions", "captions"},
        {"image_info", "only pictures' names"},
        {"stuff", "classes of stuff"},
        {"panoptic", "segments"},
    };
    for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
        if (strncmp(name, of[i][0], strlen(of[i][0])) == 0) {
            return of[i][1];
        }
    }
    return NULL;
}

static sluice_status coco_no_memory(sluice_error *error)
{
    return sl_error_set(error, SLUICE_NOMEM, STAGE, "out of memory for annotations");
}

/* ---- what the file has ---- */

static sl_value text_value(const json_t *text)
{
    return (sl_value){
        .present = text != NULL,
        .bytes = {(const uint8_t *)json_string_value(text), json_string_length(text)}};
}

static sluice_status add_image(opener *o, const sl_json_element *element, sluice_error *error)
{
    const json_t *id = sl_json_member(element->value, "id");
    const json_t *file = sl_json_member(element->value, "file_name");
    if (!json_is_integer(id) || !json_is_string(file)) {
        return sl_json_refuse(element, "an image has to have an integer id, and a file_name",
                              error);
    }
    const sl_value name = text_value(file);
    const sl_value number = {.present = true, .integer = json_integer_value(id)};
    const sl_refusal why = sl_listed_check_path(o->own, name.bytes);
    if (why.text != NULL) {
        return sl_json_refuse(element, why.text, error);
    }
    const sluice_status status = sl_side_columns_put(&o->images, IMAGE_FILE, &name, error);
    return status == SLUICE_OK ? sl_side_columns_put(&o->images, IMAGE_ID, &number, error) : status;
}

static sluice_status add_category(opener *o, const sl_json_element *element, sluice_error *error)
{
    char key[32];
    const json_t *id = sl_json_member(element->value, "id");
    const json_t *name = sl_json_member(element->value, "name");
    const int64_t number = json_integer_value(id);
    if (!json_is_integer(id) || !json_is_string(name)) {
        return sl_json_refuse(element, "a category has to have an integer id, and a name", error);
    }
    const int64_t reach = number < 0 ? INT64_MAX : number; /* then none has a name */
    o->highest = reach > o->highest ? reach : o->highest;
    (void)snprintf(key, sizeof(key), "%lld", (long long)number);
    return json_object_set_new(o->names, key, json_string(json_string_value(name))) == 0
               ? SLUICE_OK
               : coco_no_memory(error);
}

static bool coco_make_space(capacity *all, size_t bytes)
{
    if (bytes <= all->bytes) {
        return true;
    }
    uint8_t *data = sl_realloc_array(all->data, 2 * bytes, 1);
    if (data != NULL) {
        *all = (capacity){data, 2 * bytes};
    }
    return data != NULL;
}

/* A list of numbers as floats, in the space. NULL, or a literal: why it is none. */
static const char *take_floats(opener *o, const json_t *list, sl_value *value)
{
    const size_t count = json_array_size(list);
    *value = (sl_value){.present = list != NULL};
    if (list != NULL && !json_is_array(list)) {
        return "its bbox or keypoints are no list of numbers";
    }
    if (!coco_make_space(&o->capacity, count * sizeof(float) + 1)) {
        return "out of memory";
    }
    for (size_t i = 0; i < count; i++) {
        const float number = (float)json_number_value(json_array_get(list, i));
        if (!json_is_number(json_array_get(list, i))) {
            return "its bbox or keypoints are no list of numbers";
        }
        memcpy(o->capacity.data + i * sizeof(number), &number, sizeof(number));
    }
    value->bytes = (sl_bytes){o->capacity.data, count * sizeof(float)};
    return NULL;
}

static sluice_status coco_put(opener *o, uint32_t column, const sl_value *value,
                              sluice_error *error)
{
    o->counts[column] += value->present;
    return sl_side_columns_put(&o->annotations, column, value, error);
}

static sluice_status add_lists(opener *o, const sl_json_element *element, sluice_error *error)
{
    sl_value value;
    const char *why = take_floats(o, sl_json_member(element->value, "bbox"), &value);
    if (why != NULL || (value.present && value.bytes.size != 4 * sizeof(float))) {
        return sl_json_refuse(element, why != NULL ? why : "its bbox has not 4 numbers", error);
    }
    sluice_status status = coco_put(o, OF_BOX, &value, error);
    if (status < 0) {
        return status;
    }
    why = take_floats(o, sl_json_member(element->value, "keypoints"), &value);
    if (why != NULL) {
        return sl_json_refuse(element, why, error);
    }
    if (value.present) {
        o->keypoint_bytes = o->keypoint_bytes == 0 ? value.bytes.size : o->keypoint_bytes;
        o->other_keypoints |= value.bytes.size != o->keypoint_bytes || value.bytes.size == 0;
    }
    return coco_put(o, OF_KEYPOINTS, &value, error);
}

/* There only where the field is chosen. */
static sluice_status add_shapes(opener *o, const sl_json_element *element, sluice_error *error)
{
    size_t bytes = 0;
    if (!coco_make_space(&o->capacity, element->written.size + 1)) {
        return coco_no_memory(error);
    }
    const char *why = element->written.size == 0
                          ? NULL
                          : sl_coco_take_segmentation(element->written, o->capacity.data, &bytes);
    if (why != NULL) {
        return sl_json_refuse(element, why, error);
    }
    const sl_value value = {.present = bytes > 0, .bytes = {o->capacity.data, bytes}};
    return coco_put(o, OF_SHAPES, &value, error);
}

static sluice_status add_annotation(opener *o, const sl_json_element *element, sluice_error *error)
{
    const json_t *image = sl_json_member(element->value, "image_id");
    const json_t *category = sl_json_member(element->value, "category_id");
    const json_t *area = sl_json_member(element->value, "area");
    const json_t *crowd = sl_json_member(element->value, "iscrowd");
    const json_t *caption = sl_json_member(element->value, "caption");
    if (!json_is_integer(image) || (category != NULL && !json_is_integer(category)) ||
        (area != NULL && !json_is_number(area)) || (caption != NULL && !json_is_string(caption))) {
        return sl_json_refuse(element,
                              "an annotation has to have an integer image_id, and an integer "
                              "category_id, a number area, a text caption, if any",
                              error);
    }
    const sl_value values[OF_COLUMNS] = {
        [OF_IMAGE] = {.present = true, .integer = json_integer_value(image)},
        [OF_CATEGORY] = {.present = category != NULL, .integer = json_integer_value(category)},
        [OF_AREA] = {.present = area != NULL, .number = json_number_value(area)},
        [OF_CROWD] = {.present = true,
                      .integer = json_is_true(crowd) || json_integer_value(crowd) != 0},
        [OF_CAPTION] = text_value(caption),
    };
    sluice_status status = add_lists(o, element, error);
    status = status == SLUICE_OK ? add_shapes(o, element, error) : status;
    for (uint32_t i = 0; status == SLUICE_OK && i < OF_COLUMNS; i++) {
        if (i != OF_BOX && i != OF_KEYPOINTS && i != OF_SHAPES) {
            status = coco_put(o, i, &values[i], error);
        }
    }
    return status;
}

static sluice_status visit(void *ctx, uint32_t list, const sl_json_element *element,
                           sluice_error *error)
{
    opener *o = ctx;
    return list == IMAGES        ? add_image(o, element, error)
           : list == ANNOTATIONS ? add_annotation(o, element, error)
                                 : add_category(o, element, error);
}

/* ---- whose annotations are whose ---- */

static int compare_ids(const void *a, const void *b)
{
    const int64_t left = ((const identity *)a)->id;
    const int64_t right = ((const identity *)b)->id;
    return (left > right) - (left < right);
}

static sluice_status sort_images(opener *o, sluice_error *error)
{
    const sl_side_column *ids = &o->images.of[IMAGE_ID];
    o->identities = sl_calloc(ids->rows + 1, sizeof(*o->identities));
    if (o->identities == NULL) {
        return coco_no_memory(error);
    }
    for (uint64_t i = 0; i < ids->rows; i++) {
        o->identities[i] = (identity){(int64_t)ids->cells[i], i};
    }
    qsort(o->identities, ids->rows, sizeof(*o->identities), compare_ids);
    for (uint64_t i = 1; i < ids->rows; i++) {
        if (o->identities[i].id == o->identities[i - 1].id) {
            return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, o->path, -1,
                                 "two images have the id %lld", (long long)o->identities[i].id);
        }
    }
    return SLUICE_OK;
}

/* The sample of an annotation; as many as there are: of none, its image is not listed. */
static uint64_t sample_of(const opener *o, uint64_t annotation)
{
    const uint64_t count = o->images.of[IMAGE_ID].rows;
    const identity wanted = {.id = (int64_t)o->annotations.of[OF_IMAGE].cells[annotation]};
    const identity *found = bsearch(&wanted, o->identities, count, sizeof(wanted), compare_ids);
    return found != NULL ? found->sample : count;
}

/* Puts annotations in the order of samples, and of the file. */
static sluice_status sort_annotations(opener *o, sluice_error *error)
{
    const uint64_t samples = o->images.of[IMAGE_ID].rows;
    const uint64_t count = o->annotations.of[OF_IMAGE].rows;
    o->begins = sl_calloc(samples + 2, sizeof(*o->begins));
    o->order = sl_calloc(count + 1, sizeof(*o->order));
    if (o->begins == NULL || o->order == NULL) {
        return coco_no_memory(error);
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
    /* each begins now where the next one did */
    memmove(o->begins + 1, o->begins, (samples + 1) * sizeof(*o->begins));
    o->begins[0] = 0;
    return SLUICE_OK;
}

/* ---- fields ---- */

static bool coco_is_there(const opener *o, uint32_t what)
{
    const uint64_t all = o->annotations.of[OF_IMAGE].rows;
    switch (what) {
    case BOXES:
    case CROWD:
        return o->counts[OF_BOX] > 0;
    case LABELS:
        return all > 0 && o->counts[OF_CATEGORY] == all;
    case AREA:
        return all > 0 && o->counts[OF_AREA] == all;
    case KEYPOINTS:
        return all > 0 && o->counts[OF_KEYPOINTS] == all && !o->other_keypoints;
    case SHAPES:
        return o->counts[OF_SHAPES] > 0;
    case CAPTION:
    case CAPTIONS:
        return o->counts[OF_CAPTION] > 0;
    default:
        return true;
    }
}

static sluice_status coco_choose_fields(opener *o, const sluice_dataset_options *options,
                                        sluice_error *error)
{
    const uint64_t all = o->annotations.of[OF_IMAGE].rows;
    sl_listed_sources sources = {.of = o->sources, .picture = PICTURE};
    if (o->counts[OF_BOX] > 0 && o->counts[OF_BOX] != all) {
        return sl_error_file(
            error, SLUICE_CORRUPT, STAGE, 0, o->path, -1, "%llu of %llu annotations have no bbox",
            (unsigned long long)(all - o->counts[OF_BOX]), (unsigned long long)all);
    }
    for (uint32_t i = 0; i < SOURCES; i++) {
        if (coco_is_there(o, i)) {
            o->what[sources.count] = i;
            o->sources[sources.count] = all_sources[i];
            o->sources[sources.count].field.shape[1] =
                i == KEYPOINTS ? o->keypoint_bytes / sizeof(float) : all_sources[i].field.shape[1];
            sources.key = sources.count++; /* the last one */
        }
    }
    return sl_listed_choose(o->own, &sources, options, o->path, error);
}

/* Names by number; a number that no category has is its own name. */
static sluice_status name_classes(opener *o, sluice_error *error)
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
            return coco_no_memory(error);
        }
    }
    return SLUICE_OK;
}

/* ---- samples ---- */

/* One annotation's part of a list, `size` bytes of it. */
static sl_bytes coco_part_of(const opener *o, uint32_t what, uint64_t annotation, uint8_t number[8])
{
    static const uint32_t columns[SOURCES] = {[BOXES] = OF_BOX,
                                              [LABELS] = OF_CATEGORY,
                                              [CROWD] = OF_CROWD,
                                              [AREA] = OF_AREA,
                                              [KEYPOINTS] = OF_KEYPOINTS};
    sl_value value;
    (void)sl_side_columns_get(&o->annotations, columns[what], annotation, &value);
    const float area = (float)value.number;
    switch (what) {
    case LABELS:
        memcpy(number, &value.integer, sizeof(value.integer));
        return (sl_bytes){number, sizeof(value.integer)};
    case CROWD:
        number[0] = (uint8_t)value.integer;
        return (sl_bytes){number, 1};
    case AREA:
        memcpy(number, &area, sizeof(area));
        return (sl_bytes){number, sizeof(area)};
    default:
        return value.bytes;
    }
}

static bool join_parts(opener *o, uint32_t what, uint64_t sample, sl_value *value)
{
    size_t size = 0;
    *value = (sl_value){.present = true};
    for (uint64_t i = o->begins[sample]; i < o->begins[sample + 1]; i++) {
        uint8_t number[8];
        const sl_bytes part = coco_part_of(o, what, o->order[i], number);
        if (!coco_make_space(&o->capacity, size + part.size)) {
            return false;
        }
        memcpy(o->capacity.data + size, part.data, part.size);
        size += part.size;
    }
    value->bytes = (sl_bytes){o->capacity.data, size};
    return true;
}

static bool add_text(opener *o, sl_value *value, const void *text, size_t bytes)
{
    const size_t size = value->bytes.size + bytes;
    if (!coco_make_space(&o->capacity, size)) {
        return false;
    }
    memcpy(o->capacity.data + value->bytes.size, text, bytes);
    value->bytes = (sl_bytes){o->capacity.data, size};
    return true;
}

/* All as a JSON array; null of those that have none. */
static bool join_shapes(opener *o, uint64_t sample, sl_value *value)
{
    *value = (sl_value){.present = true};
    bool fine = add_text(o, value, "[", 1);
    for (uint64_t i = o->begins[sample]; fine && i < o->begins[sample + 1]; i++) {
        sl_value shapes;
        (void)sl_side_columns_get(&o->annotations, OF_SHAPES, o->order[i], &shapes);
        fine = add_text(o, value, ",", i > o->begins[sample] ? 1 : 0) &&
               (shapes.present ? add_text(o, value, shapes.bytes.data, shapes.bytes.size)
                               : add_text(o, value, "null", 4));
    }
    return fine && add_text(o, value, "]", 1);
}

/* The first caption, or all as JSON. */
static bool join_captions(opener *o, bool all, uint64_t sample, sl_value *value)
{
    json_t *list = json_array();
    *value = (sl_value){0};
    for (uint64_t i = o->begins[sample]; list != NULL && i < o->begins[sample + 1]; i++) {
        sl_value caption;
        (void)sl_side_columns_get(&o->annotations, OF_CAPTION, o->order[i], &caption);
        if (caption.present) {
            *value = value->present ? *value : caption;
            (void)json_array_append_new(
                list, json_stringn((const char *)caption.bytes.data, caption.bytes.size));
        }
    }
    bool fine = list != NULL;
    if (all && value->present && fine) {
        const size_t bytes = json_dumpb(list, NULL, 0, JSON_COMPACT);
        fine = coco_make_space(&o->capacity, bytes);
        value->bytes = (sl_bytes){o->capacity.data, fine ? bytes : 0};
        (void)json_dumpb(list, (char *)o->capacity.data, fine ? bytes : 0, JSON_COMPACT);
    }
    json_decref(list);
    return fine;
}

static bool coco_find_value(opener *o, uint32_t what, uint64_t sample, sl_value *value)
{
    if (what == ID) {
        (void)sl_side_columns_get(&o->images, IMAGE_ID, sample, value);
        return true;
    }
    if (what == SHAPES) {
        return join_shapes(o, sample, value);
    }
    return what == CAPTION || what == CAPTIONS ? join_captions(o, what == CAPTIONS, sample, value)
                                               : join_parts(o, what, sample, value);
}

static sluice_status coco_keep_sample(opener *o, uint64_t sample, sluice_error *error)
{
    sl_value value;
    (void)sl_side_columns_get(&o->images, IMAGE_FILE, sample, &value);
    const sl_refusal why = sl_listed_check_path(o->own, value.bytes); /* from its folder now */
    if (why.text != NULL) {
        return sl_error_file(error, why.status, STAGE, 0, o->path, -1,
                             "element %llu of \"images\": %s", (unsigned long long)sample,
                             why.text);
    }
    sluice_status status = sl_listed_put_path(o->own, value.bytes, error);
    for (uint32_t i = 1; status == SLUICE_OK && i < o->own->side.count; i++) {
        status = coco_find_value(o, o->what[o->own->source[i]], sample, &value)
                     ? sl_side_columns_put(&o->own->side, i, &value, error)
                     : coco_no_memory(error);
    }
    return status;
}

/* ---- opening ---- */

static sluice_status coco_find_pictures(opener *o, bool anywhere, sluice_error *error)
{
    sl_value first;
    (void)sl_side_columns_get(&o->images, IMAGE_FILE, 0, &first);
    return sl_coco_find_pictures(o->own, o->path, first.bytes, anywhere, error);
}

static sluice_status keep_all(opener *o, const sluice_dataset_options *options, sluice_error *error)
{
    const uint64_t samples = o->images.of[IMAGE_ID].rows;
    if (samples == 0) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, o->path, -1,
                             "no COCO annotations: it lists no \"images\"");
    }
    sluice_status status = coco_find_pictures(o, options->allow_outside != 0, error);
    status = status == SLUICE_OK ? coco_choose_fields(o, options, error) : status;
    status = status == SLUICE_OK ? name_classes(o, error) : status;
    status = status == SLUICE_OK ? sort_images(o, error) : status;
    status = status == SLUICE_OK ? sort_annotations(o, error) : status;
    for (uint64_t i = 0; status == SLUICE_OK && i < samples; i++) {
        status = coco_keep_sample(o, i, error);
    }
    return status;
}

static sluice_status coco_open_file(opener *o, const sluice_dataset_options *options,
                                    sluice_error *error)
{
    sl_json_list wanted[LISTS];
    const sl_json_visitor visitor = {.ctx = o, .lists = wanted, .count = LISTS, .visit = visit};
    memcpy(wanted, lists, sizeof(wanted));
    if (sl_coco_wants_segmentation(options)) {
        wanted[ANNOTATIONS].written = SL_COCO_SEGMENTATION;
    }
    o->names = json_object();
    sluice_status status = sl_listed_new(&o->own, o->path, false, error);
    if (status == SLUICE_OK) {
        status = sl_side_columns_open(&o->images, image_columns, IMAGE_COLUMNS, error);
    }
    if (status == SLUICE_OK) {
        status = sl_side_columns_open(&o->annotations, annotation_columns, OF_COLUMNS, error);
    }
    status = status == SLUICE_OK ? sl_json_walk(o->path, &visitor, error) : status;
    status = status == SLUICE_OK ? keep_all(o, options, error) : status;
    if (status < 0) {
        return status;
    }
    (void)snprintf(o->own->base.info.format, sizeof(o->own->base.info.format), "coco");
    sl_unchecked_add(&o->own->base.unchecked, "annotations have no checksums");
    (void)snprintf(o->own->base.kind, sizeof(o->own->base.kind),
                   "COCO's annotations, and the pictures that they list");
    return sl_listed_finish(o->own, o->path, error);
}

static sluice_status open_coco(sl_dataset **dataset, const char *const *paths, size_t count,
                               const sluice_dataset_options *options, sluice_error *error)
{
    if (count != 1) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, paths[1], -1,
                             "annotations cannot be joined: open one path");
    }
    opener o = {.path = paths[0]};
    const sluice_status status = coco_open_file(&o, options, error);
    sl_side_columns_close(&o.images);
    sl_side_columns_close(&o.annotations);
    json_decref(o.names);
    sl_free(o.identities);
    sl_free(o.begins);
    sl_free(o.order);
    sl_free(o.capacity.data);
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
    .takes_fields = true,
    .probe = coco_probe,
    .is_file = coco_is_file,
    .is_sure = coco_probe,
    .is_single = true,
    .words = words,
    .open = open_coco,
};
