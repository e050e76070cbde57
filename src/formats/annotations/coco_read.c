/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coco_read: processes the elements of the file: keeps each value, or rejects it with its location.
 *
 * Runs on the opener's thread.
 */
#include "coco_opener.h"
#include "coco_segmentation.h"
#include "memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define STAGE "dataset"

static const char *const of_image[] = {
    "id",    "file_name", "coco_url",         "flickr_url",
    "width", "height",    "neg_category_ids", "not_exhaustive_category_ids",
    NULL};
static const char *const of_annotation[] = {
    "id",        "image_id", "category_id",   "bbox",      "area", "iscrowd",
    "keypoints", "caption",  "segments_info", "file_name", NULL};
static const char *const of_category[] = {"id", "name", "keypoints", NULL};

const sl_json_list sl_coco_lists[SL_COCO_LISTS] = {
    [SL_COCO_IMAGES] = {"images", of_image},
    [SL_COCO_ANNOTATIONS] = {"annotations", of_annotation},
    [SL_COCO_CATEGORIES] = {"categories", of_category},
};

/* An annotation, or one segment of a panoptic annotation. */
typedef struct part {
    const sl_json_element *element;
    const json_t *value;
    int64_t image;
    int segment; /* number of the segment; -1: the annotation itself */
} part;

sluice_status sl_coco_no_memory(sluice_error *error)
{
    return sl_error_set(error, SLUICE_NOMEM, STAGE, "out of memory for annotations");
}

bool sl_coco_make_space(sl_coco_space *all, size_t bytes)
{
    if (bytes <= all->bytes) {
        return true;
    }
    uint8_t *data = sl_realloc_array(all->data, 2 * bytes, 1);
    if (data != NULL) {
        *all = (sl_coco_space){data, 2 * bytes};
    }
    return data != NULL;
}

static sl_value text_value(const json_t *text)
{
    return (sl_value){
        .present = text != NULL,
        .bytes = {(const uint8_t *)json_string_value(text), json_string_length(text)}};
}

/* ---- refusals ---- */

/* Writes the beginning of a value as in the file. */
static void show_value(const json_t *value, char shown[64])
{
    const size_t most = 60;
    const size_t bytes =
        json_dumpb(value, shown, most, JSON_ENCODE_ANY | JSON_COMPACT | JSON_ENSURE_ASCII);
    (void)snprintf(shown + (bytes < most ? bytes : most), 4, "%s", bytes > most ? "..." : "");
}

/* Fails with "KEY is VALUE: expected ...". */
static sluice_status refuse_member(sl_coco_opener *o, const sl_json_element *element,
                                   const char *key, const json_t *value, const char *expected,
                                   sluice_error *error)
{
    char shown[64];
    if (value == NULL) {
        (void)snprintf(o->why, sizeof(o->why), "it has no %s: expected %s", key, expected);
    } else {
        show_value(value, shown);
        (void)snprintf(o->why, sizeof(o->why), "its %s is %s: expected %s", key, shown, expected);
    }
    return sl_json_refuse(element, o->why, error);
}

static sluice_status refuse_of_part(sl_coco_opener *o, const part *p, const char *key,
                                    const char *expected, sluice_error *error)
{
    char named[64];
    (void)snprintf(named, sizeof(named), "%s", key);
    if (p->segment >= 0) {
        (void)snprintf(named, sizeof(named), "segments_info[%d].%s", p->segment, key);
    }
    return refuse_member(o, p->element, named, sl_json_member(p->value, key), expected, error);
}

static sluice_status take_id(sl_coco_opener *o, sl_coco_ids *ids, const part *p, const char *key,
                             int64_t *number, sluice_error *error);

/* ---- images ---- */

/* Reads an image's width or height, for which 0 and null mean unknown; false: another value. */
static bool coco_take_extent(const json_t *image, const char *name, sl_value *value)
{
    const json_t *member = sl_json_member(image, name);
    int64_t number = 0;
    const bool fine =
        member == NULL || (sl_coco_whole(member, &number) && number >= 0 && number <= INT32_MAX);
    *value = (sl_value){.present = number > 0, .integer = number};
    return fine;
}

/* Returns at most the last `parts` components of a URL's path; empty: none. */
static sl_bytes end_of_url(const char *url, int parts)
{
    const char *host = strstr(url, "://");
    const char *path = host != NULL ? strchr(host + 3, '/') : NULL;
    if (path == NULL) {
        return (sl_bytes){.size = 0};
    }
    const char *end = path + strcspn(path, "?#");
    const char *begin = end;
    while (begin > path + 1 && (begin[-1] != '/' || --parts > 0)) {
        begin--;
    }
    return (sl_bytes){(const uint8_t *)begin, (size_t)(end - begin)};
}

/*
 * Takes the file name. LVIS identifies images by URLs that end like COCO's folders:
 * train2017/000000000009.jpg.
 */
static sluice_status take_name(sl_coco_opener *o, const sl_json_element *element, sl_value *values,
                               sluice_error *error)
{
    static const char *const urls[] = {"coco_url", "flickr_url"};
    const json_t *file = sl_json_member(element->value, "file_name");
    values[SL_COCO_IMAGE_FILE] = text_value(file);
    if (file != NULL) {
        return json_is_string(file) ? SLUICE_OK
                                    : refuse_member(o, element, "file_name", file, "a text", error);
    }
    for (int i = 0; i < 2 && values[SL_COCO_IMAGE_FILE].bytes.size == 0; i++) {
        const char *url = json_string_value(sl_json_member(element->value, urls[i]));
        if (url != NULL) {
            values[SL_COCO_IMAGE_FILE] =
                (sl_value){.present = true, .bytes = end_of_url(url, 2 - i)};
        }
    }
    if (values[SL_COCO_IMAGE_FILE].bytes.size == 0) {
        return sl_json_refuse(
            element, "an image must have a file_name, or a coco_url that ends with it", error);
    }
    values[SL_COCO_IMAGE_FROM_URL] = (sl_value){.present = true, .integer = 1};
    return SLUICE_OK;
}

static sluice_status take_image(sl_coco_opener *o, const sl_json_element *element,
                                sl_value values[SL_COCO_IMAGE_COLUMNS], sluice_error *error)
{
    static const char *const extents[] = {"width", "height"};
    const json_t *id = sl_json_member(element->value, "id");
    const part whole = {.element = element, .value = element->value, .segment = -1};
    sl_value *number = &values[SL_COCO_IMAGE_ID];
    number->present = true;
    sluice_status status = take_id(o, &o->image_ids, &whole, "id", &number->integer, error);
    status = status == SLUICE_OK ? take_name(o, element, values, error) : status;
    if (status < 0) {
        return status;
    }
    if (json_is_string(id)) {
        values[SL_COCO_IMAGE_NAME] = text_value(id);
    }
    for (uint32_t i = 0; i < 2; i++) {
        if (!coco_take_extent(element->value, extents[i], &values[SL_COCO_IMAGE_WIDTH + i])) {
            return refuse_member(o, element, extents[i], sl_json_member(element->value, extents[i]),
                                 "a whole number of pixels", error);
        }
    }
    const sl_refusal why = sl_listed_check_path(o->own, values[SL_COCO_IMAGE_FILE].bytes);
    return why.text == NULL ? SLUICE_OK : sl_json_refuse(element, why.text, error);
}

static sluice_status add_image(sl_coco_opener *o, const sl_json_element *element,
                               sluice_error *error)
{
    sl_value values[SL_COCO_IMAGE_COLUMNS] = {{.present = false}};
    sluice_status status = take_image(o, element, values, error);
    o->lvis_lists += sl_json_member(element->value, "neg_category_ids") != NULL ||
                     sl_json_member(element->value, "not_exhaustive_category_ids") != NULL;
    for (uint32_t i = 0; status == SLUICE_OK && i < SL_COCO_IMAGE_COLUMNS; i++) {
        o->image_counts[i] += values[i].present;
        status = sl_side_columns_put(&o->images, i, &values[i], error);
    }
    return status;
}

/* ---- categories ---- */

static sluice_status take_id(sl_coco_opener *o, sl_coco_ids *ids, const part *p, const char *key,
                             int64_t *number, sluice_error *error)
{
    const json_t *value = sl_json_member(p->value, key);
    switch (sl_coco_ids_take(ids, value, number)) {
    case SL_COCO_ID_FINE:
        return SLUICE_OK;
    case SL_COCO_ID_WRONG:
        return refuse_of_part(o, p, key, "an integer or a text", error);
    case SL_COCO_ID_MIXED:
        return refuse_of_part(o, p, key,
                              json_is_string(value) ? "an integer, like other ids of its kind"
                                                    : "a text, like other ids of its kind",
                              error);
    default:
        return sl_coco_no_memory(error);
    }
}

/* Records the position in the list of the category with the text id `number`. */
static bool put_position(sl_coco_opener *o, int64_t number, int64_t position)
{
    const uint64_t needed = (uint64_t)number + 1;
    if (!sl_grow(&o->positions, &o->position_capacity, needed, sizeof(*o->positions))) {
        return false;
    }
    for (; o->position_count < needed; o->position_count++) {
        o->positions[o->position_count] = -1;
    }
    o->positions[number] = position;
    return true;
}

static sluice_status name_category(sl_coco_opener *o, const sl_json_element *element,
                                   int64_t number, sluice_error *error)
{
    char key[32];
    const json_t *points = sl_json_member(element->value, "keypoints");
    const char *name = json_string_value(sl_json_member(element->value, "name"));
    const int64_t reach = number < 0 ? INT64_MAX : number; /* then no category has a name */
    o->highest = reach > o->highest ? reach : o->highest;
    (void)snprintf(key, sizeof(key), "%lld", (long long)number);
    if (points != NULL && !json_is_array(points)) {
        return refuse_member(o, element, "keypoints", points, "a list of names", error);
    }
    const char *known = json_string_value(json_object_get(o->names, key));
    if (known != NULL && strcmp(known, name) != 0) {
        (void)snprintf(o->why, sizeof(o->why),
                       "two categories have the same id: \"%.100s\" and \"%.100s\"", known, name);
        return sl_json_refuse(element, o->why, error);
    }
    if (json_array_size(points) > 0 &&
        json_object_set_new(o->skeletons, key, json_integer((json_int_t)json_array_size(points))) !=
            0) {
        return sl_coco_no_memory(error);
    }
    return json_object_set_new(o->names, key, json_string(name)) == 0 ? SLUICE_OK
                                                                      : sl_coco_no_memory(error);
}

static sluice_status add_category(sl_coco_opener *o, const sl_json_element *element,
                                  sluice_error *error)
{
    int64_t number;
    const part whole = {.element = element, .value = element->value, .segment = -1};
    const json_t *id = sl_json_member(element->value, "id");
    const json_t *name = sl_json_member(element->value, "name");
    if (!json_is_string(name)) {
        return refuse_member(o, element, "name", name, "a text", error);
    }
    sluice_status status = take_id(o, &o->category_ids, &whole, "id", &number, error);
    if (status == SLUICE_OK && json_is_string(id)) {
        const int64_t position = (int64_t)o->categories;
        status = put_position(o, number, position) ? SLUICE_OK : sl_coco_no_memory(error);
        number = position;
    }
    o->categories++;
    return status == SLUICE_OK ? name_category(o, element, number, error) : status;
}

/* ---- annotations ---- */

/* Reads a list of numbers as floats into the buffer. */
static sluice_status take_floats(sl_coco_opener *o, const part *p, const char *key,
                                 const char *expected, sl_value *value, sluice_error *error)
{
    const json_t *list = sl_json_member(p->value, key);
    const size_t count = json_array_size(list);
    *value = (sl_value){.present = list != NULL};
    if (list != NULL && !json_is_array(list)) {
        return refuse_of_part(o, p, key, expected, error);
    }
    if (!sl_coco_make_space(&o->space, count * sizeof(float) + 1)) {
        return sl_coco_no_memory(error);
    }
    for (size_t i = 0; i < count; i++) {
        const json_t *number = json_array_get(list, i);
        const float rounded = (float)json_number_value(number);
        if (!json_is_number(number) || !isfinite(rounded)) {
            return refuse_of_part(o, p, key, expected, error);
        }
        memcpy(o->space.data + i * sizeof(rounded), &rounded, sizeof(rounded));
    }
    value->bytes = (sl_bytes){o->space.data, count * sizeof(float)};
    return SLUICE_OK;
}

/* Records the first annotation that lacks a member. */
static void note_lack(sl_coco_opener *o, uint32_t column, const sl_json_element *element)
{
    sl_coco_lack *lack = &o->lacks[column];
    if (!lack->met) {
        *lack = (sl_coco_lack){.met = true, .element = element->number};
        sl_json_name_id(element, lack->id, sizeof(lack->id));
    }
}

static sluice_status coco_put(sl_coco_opener *o, uint32_t column, const part *p,
                              const sl_value *value, sluice_error *error)
{
    o->counts[column] += value->present;
    if (!value->present) {
        note_lack(o, column, p->element);
    }
    return sl_side_columns_put(&o->annotations, column, value, error);
}

static sluice_status add_lists(sl_coco_opener *o, const part *p, sluice_error *error)
{
    sl_value value;
    sluice_status status = take_floats(o, p, "bbox", "a list of 4 numbers", &value, error);
    if (status == SLUICE_OK && value.present && value.bytes.size != 4 * sizeof(float)) {
        return refuse_of_part(o, p, "bbox", "a list of 4 numbers", error);
    }
    status = status == SLUICE_OK ? coco_put(o, SL_COCO_OF_BOX, p, &value, error) : status;
    status = status == SLUICE_OK
                 ? take_floats(o, p, "keypoints", "a list of numbers", &value, error)
                 : status;
    value.present = value.present && value.bytes.size > 0;
    return status == SLUICE_OK ? coco_put(o, SL_COCO_OF_KEYPOINTS, p, &value, error) : status;
}

/* Adds the shapes; called only if the field is chosen. */
static sluice_status add_shapes(sl_coco_opener *o, const part *p, sluice_error *error)
{
    size_t bytes = 0;
    const sl_bytes written = p->segment < 0 ? p->element->written : (sl_bytes){.size = 0};
    if (!sl_coco_make_space(&o->space, written.size + 1)) {
        return sl_coco_no_memory(error);
    }
    const char *why =
        written.size == 0 ? NULL : sl_coco_take_segmentation(written, o->space.data, &bytes);
    if (why != NULL) {
        return sl_json_refuse(p->element, why, error);
    }
    const sl_value value = {.present = bytes > 0, .bytes = {o->space.data, bytes}};
    return coco_put(o, SL_COCO_OF_SHAPES, p, &value, error);
}

/* Reads 0 or 1, as any kind of number or as a JSON word; false: another value. */
static bool take_crowd(const json_t *crowd, sl_value *value)
{
    const double number = json_is_boolean(crowd) ? json_is_true(crowd) : json_number_value(crowd);
    *value = (sl_value){.present = true, .integer = number == 1};
    return crowd == NULL ||
           ((json_is_boolean(crowd) || json_is_number(crowd)) && (number == 0 || number == 1));
}

static sluice_status take_numbers(sl_coco_opener *o, const part *p, sl_value *values,
                                  sluice_error *error)
{
    const json_t *category = sl_json_member(p->value, "category_id");
    const json_t *area = sl_json_member(p->value, "area");
    sl_value *label = &values[SL_COCO_OF_CATEGORY];
    label->present = category != NULL;
    sluice_status status =
        category != NULL ? take_id(o, &o->category_ids, p, "category_id", &label->integer, error)
                         : SLUICE_OK;
    status = status == SLUICE_OK && category != NULL
                 ? sl_coco_meet_category(o, p->element, p->segment, label->integer, error)
                 : status;
    if (status < 0) {
        return status;
    }
    values[SL_COCO_OF_AREA] =
        (sl_value){.present = area != NULL, .number = json_number_value(area)};
    if (area != NULL && (!json_is_number(area) || !isfinite((float)json_number_value(area)))) {
        return refuse_of_part(o, p, "area", "a number", error);
    }
    return take_crowd(sl_json_member(p->value, "iscrowd"), &values[SL_COCO_OF_CROWD])
               ? SLUICE_OK
               : refuse_of_part(o, p, "iscrowd", "0 or 1", error);
}

static sluice_status add_part(sl_coco_opener *o, const part *p, sluice_error *error)
{
    sl_value values[SL_COCO_OF_COLUMNS] = {
        [SL_COCO_OF_IMAGE] = {.present = true, .integer = p->image}};
    const json_t *caption = sl_json_member(p->value, "caption");
    sl_value *segment = &values[SL_COCO_OF_SEGMENT];
    if (caption != NULL && !json_is_string(caption)) {
        return refuse_of_part(o, p, "caption", "a text", error);
    }
    values[SL_COCO_OF_CAPTION] = text_value(caption);
    segment->present = p->segment >= 0;
    if (segment->present && !sl_coco_whole(sl_json_member(p->value, "id"), &segment->integer)) {
        return refuse_of_part(o, p, "id", "an integer", error);
    }
    sluice_status status = take_numbers(o, p, values, error);
    status = status == SLUICE_OK ? add_lists(o, p, error) : status;
    status = status == SLUICE_OK ? add_shapes(o, p, error) : status;
    for (uint32_t i = 0; status == SLUICE_OK && i < SL_COCO_OF_COLUMNS; i++) {
        if (i != SL_COCO_OF_BOX && i != SL_COCO_OF_KEYPOINTS && i != SL_COCO_OF_SHAPES) {
            status = coco_put(o, i, p, &values[i], error);
        }
    }
    return status;
}

/* ---- panoptic annotations: the segments of an image, and the file that has their pixels ---- */

static sluice_status add_segments(sl_coco_opener *o, const part *whole, const json_t *segments,
                                  sluice_error *error)
{
    const json_t *file = sl_json_member(whole->value, "file_name");
    if (!json_is_array(segments)) {
        return refuse_of_part(o, whole, "segments_info", "a list of segments", error);
    }
    if (!json_is_string(file)) {
        return refuse_of_part(o, whole, "file_name", "the name of a PNG of segments", error);
    }
    const sl_value name = text_value(file);
    const sl_refusal why = sl_listed_check_path(o->own, name.bytes);
    if (why.text != NULL) {
        return sl_json_refuse(whole->element, why.text, error);
    }
    const sl_value image = {.present = true, .integer = whole->image};
    sluice_status status = sl_side_columns_put(&o->panoptic, 0, &image, error);
    status = status == SLUICE_OK ? sl_side_columns_put(&o->panoptic, 1, &name, error) : status;
    for (size_t i = 0; status == SLUICE_OK && i < json_array_size(segments); i++) {
        const part segment = {whole->element, json_array_get(segments, i), whole->image, (int)i};
        status = json_is_object(segment.value)
                     ? add_part(o, &segment, error)
                     : refuse_of_part(o, whole, "segments_info", "a list of objects", error);
    }
    return status;
}

static sluice_status add_annotation(sl_coco_opener *o, const sl_json_element *element,
                                    sluice_error *error)
{
    part whole = {.element = element, .value = element->value, .segment = -1};
    const json_t *segments = sl_json_member(element->value, "segments_info");
    const sluice_status status = take_id(o, &o->image_ids, &whole, "image_id", &whole.image, error);
    if (status < 0) {
        return status;
    }
    const bool mixes = segments != NULL ? o->annotations.of[SL_COCO_OF_IMAGE].rows > 0 &&
                                              o->panoptic.of[0].rows == 0
                                        : o->panoptic.of[0].rows > 0;
    if (mixes) {
        return sl_json_refuse(element, "the file mixes panoptic annotations with others", error);
    }
    return segments != NULL ? add_segments(o, &whole, segments, error) : add_part(o, &whole, error);
}

sluice_status sl_coco_visit(void *ctx, uint32_t list, const sl_json_element *element,
                            sluice_error *error)
{
    sl_coco_opener *o = ctx;
    return list == SL_COCO_IMAGES        ? add_image(o, element, error)
           : list == SL_COCO_ANNOTATIONS ? add_annotation(o, element, error)
                                         : add_category(o, element, error);
}
