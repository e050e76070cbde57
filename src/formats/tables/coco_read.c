/* SPDX-License-Identifier: Apache-2.0 */
/* What the file has, element by element: kept, or refused with its place. The opener's thread. */
#include "coco_opener.h"
#include "coco_segmentation.h"
#include "memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define STAGE "dataset"

static const char *const of_image[] = {"id", "file_name", "width", "height", NULL};
static const char *const of_annotation[] = {"image_id", "category_id", "bbox",    "area",
                                            "iscrowd",  "keypoints",   "caption", NULL};
static const char *const of_category[] = {"id", "name", NULL};

const sl_json_list sl_coco_lists[SL_COCO_LISTS] = {
    [SL_COCO_IMAGES] = {"images", of_image},
    [SL_COCO_ANNOTATIONS] = {"annotations", of_annotation},
    [SL_COCO_CATEGORIES] = {"categories", of_category},
};

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

/* An image's width or height, of which 0 and null are unknown ones; false: it is neither. */
static bool take_extent(const json_t *image, const char *name, sl_value *value)
{
    const json_t *member = sl_json_member(image, name);
    const double number = json_number_value(member);
    *value = (sl_value){.present = number > 0};
    if (member == NULL) {
        return true;
    }
    if (!json_is_number(member) || number < 0 || number > INT32_MAX || number != floor(number)) {
        return false;
    }
    value->integer = (int64_t)number;
    return true;
}

static sluice_status add_image(sl_coco_opener *o, const sl_json_element *element,
                               sluice_error *error)
{
    const json_t *id = sl_json_member(element->value, "id");
    const json_t *file = sl_json_member(element->value, "file_name");
    if (!json_is_integer(id) || !json_is_string(file)) {
        return sl_json_refuse(element, "an image has to have an integer id, and a file_name",
                              error);
    }
    sl_value values[SL_COCO_IMAGE_COLUMNS] = {
        [SL_COCO_IMAGE_FILE] = text_value(file),
        [SL_COCO_IMAGE_ID] = {.present = true, .integer = json_integer_value(id)}};
    const sl_refusal why = sl_listed_check_path(o->own, values[SL_COCO_IMAGE_FILE].bytes);
    if (why.text != NULL) {
        return sl_json_refuse(element, why.text, error);
    }
    if (!take_extent(element->value, "width", &values[SL_COCO_IMAGE_WIDTH]) ||
        !take_extent(element->value, "height", &values[SL_COCO_IMAGE_HEIGHT])) {
        return sl_json_refuse(element,
                              "its width or height is not a whole number of pixels from 0 to "
                              "2147483647",
                              error);
    }
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; status == SLUICE_OK && i < SL_COCO_IMAGE_COLUMNS; i++) {
        o->image_counts[i] += values[i].present;
        status = sl_side_columns_put(&o->images, i, &values[i], error);
    }
    return status;
}

static sluice_status add_category(sl_coco_opener *o, const sl_json_element *element,
                                  sluice_error *error)
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
               : sl_coco_no_memory(error);
}

/* A list of numbers as floats, in the space. NULL, or a literal: why it is none. */
static const char *take_floats(sl_coco_opener *o, const json_t *list, sl_value *value)
{
    const size_t count = json_array_size(list);
    *value = (sl_value){.present = list != NULL};
    if (list != NULL && !json_is_array(list)) {
        return "its bbox or keypoints are no list of numbers";
    }
    if (!sl_coco_make_space(&o->space, count * sizeof(float) + 1)) {
        return "out of memory";
    }
    for (size_t i = 0; i < count; i++) {
        const float number = (float)json_number_value(json_array_get(list, i));
        if (!json_is_number(json_array_get(list, i))) {
            return "its bbox or keypoints are no list of numbers";
        }
        memcpy(o->space.data + i * sizeof(number), &number, sizeof(number));
    }
    value->bytes = (sl_bytes){o->space.data, count * sizeof(float)};
    return NULL;
}

static sluice_status coco_put(sl_coco_opener *o, uint32_t column, const sl_value *value,
                              sluice_error *error)
{
    o->counts[column] += value->present;
    return sl_side_columns_put(&o->annotations, column, value, error);
}

static sluice_status add_lists(sl_coco_opener *o, const sl_json_element *element,
                               sluice_error *error)
{
    sl_value value;
    const char *why = take_floats(o, sl_json_member(element->value, "bbox"), &value);
    if (why != NULL || (value.present && value.bytes.size != 4 * sizeof(float))) {
        return sl_json_refuse(element, why != NULL ? why : "its bbox has not 4 numbers", error);
    }
    sluice_status status = coco_put(o, SL_COCO_OF_BOX, &value, error);
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
    return coco_put(o, SL_COCO_OF_KEYPOINTS, &value, error);
}

/* There only where the field is chosen. */
static sluice_status add_shapes(sl_coco_opener *o, const sl_json_element *element,
                                sluice_error *error)
{
    size_t bytes = 0;
    if (!sl_coco_make_space(&o->space, element->written.size + 1)) {
        return sl_coco_no_memory(error);
    }
    const char *why = element->written.size == 0
                          ? NULL
                          : sl_coco_take_segmentation(element->written, o->space.data, &bytes);
    if (why != NULL) {
        return sl_json_refuse(element, why, error);
    }
    const sl_value value = {.present = bytes > 0, .bytes = {o->space.data, bytes}};
    return coco_put(o, SL_COCO_OF_SHAPES, &value, error);
}

static sluice_status add_annotation(sl_coco_opener *o, const sl_json_element *element,
                                    sluice_error *error)
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
    const sl_value values[SL_COCO_OF_COLUMNS] = {
        [SL_COCO_OF_IMAGE] = {.present = true, .integer = json_integer_value(image)},
        [SL_COCO_OF_CATEGORY] = {.present = category != NULL,
                                 .integer = json_integer_value(category)},
        [SL_COCO_OF_AREA] = {.present = area != NULL, .number = json_number_value(area)},
        [SL_COCO_OF_CROWD] = {.present = true,
                              .integer = json_is_true(crowd) || json_integer_value(crowd) != 0},
        [SL_COCO_OF_CAPTION] = text_value(caption),
    };
    sluice_status status = add_lists(o, element, error);
    status = status == SLUICE_OK ? add_shapes(o, element, error) : status;
    for (uint32_t i = 0; status == SLUICE_OK && i < SL_COCO_OF_COLUMNS; i++) {
        if (i != SL_COCO_OF_BOX && i != SL_COCO_OF_KEYPOINTS && i != SL_COCO_OF_SHAPES) {
            status = coco_put(o, i, &values[i], error);
        }
    }
    return status;
}

sluice_status sl_coco_visit(void *ctx, uint32_t list, const sl_json_element *element,
                            sluice_error *error)
{
    sl_coco_opener *o = ctx;
    return list == SL_COCO_IMAGES        ? add_image(o, element, error)
           : list == SL_COCO_ANNOTATIONS ? add_annotation(o, element, error)
                                         : add_category(o, element, error);
}
