/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coco_samples: joins the annotations of an image to the lists of its sample. Runs on the opener's
 * thread.
 */
#include "coco_opener.h"
#include "coco_segmentation.h"
#include "error.h"

#include <string.h>

#define STAGE "dataset"

/* Returns one annotation's part of a list, of `size` bytes. */
static sl_bytes coco_part_of(const sl_coco_opener *o, uint32_t what, uint64_t annotation,
                             uint8_t number[8])
{
    static const uint32_t columns[SL_COCO_SOURCES] = {
        [SL_COCO_SEGMENTS] = SL_COCO_OF_SEGMENT, [SL_COCO_BOXES] = SL_COCO_OF_BOX,
        [SL_COCO_LABELS] = SL_COCO_OF_CATEGORY,  [SL_COCO_CROWD] = SL_COCO_OF_CROWD,
        [SL_COCO_AREA] = SL_COCO_OF_AREA,        [SL_COCO_KEYPOINTS] = SL_COCO_OF_KEYPOINTS};
    sl_value value;
    (void)sl_side_columns_get(&o->annotations, columns[what], annotation, &value);
    const float area = (float)value.number;
    switch (what) {
    case SL_COCO_LABELS:
    case SL_COCO_SEGMENTS:
        memcpy(number, &value.integer, sizeof(value.integer));
        return (sl_bytes){number, sizeof(value.integer)};
    case SL_COCO_CROWD:
        number[0] = (uint8_t)value.integer;
        return (sl_bytes){number, 1};
    case SL_COCO_AREA:
        memcpy(number, &area, sizeof(area));
        return (sl_bytes){number, sizeof(area)};
    default:
        return value.bytes;
    }
}

static bool join_parts(sl_coco_opener *o, uint32_t what, uint64_t sample, sl_value *value)
{
    size_t size = 0;
    *value = (sl_value){.present = true};
    for (uint64_t i = o->begins[sample]; i < o->begins[sample + 1]; i++) {
        uint8_t number[8];
        const sl_bytes part = coco_part_of(o, what, o->order[i], number);
        if (!sl_coco_make_space(&o->space, size + part.size + o->keypoint_bytes)) {
            return false;
        }
        if (part.size > 0) {
            memcpy(o->space.data + size, part.data, part.size);
        }
        size += part.size;
        if (what == SL_COCO_KEYPOINTS && part.size < o->keypoint_bytes) {
            /* points that were not annotated: (0, 0), not visible */
            memset(o->space.data + size, 0, o->keypoint_bytes - part.size);
            size += o->keypoint_bytes - part.size;
        }
    }
    value->bytes = (sl_bytes){o->space.data, size};
    return true;
}

static bool add_text(sl_coco_opener *o, sl_value *value, const void *text, size_t bytes)
{
    const size_t size = value->bytes.size + bytes;
    if (!sl_coco_make_space(&o->space, size)) {
        return false;
    }
    memcpy(o->space.data + value->bytes.size, text, bytes);
    value->bytes = (sl_bytes){o->space.data, size};
    return true;
}

/* Joins all shapes to a JSON array, with null for annotations that have none. */
static bool join_shapes(sl_coco_opener *o, uint64_t sample, sl_value *value)
{
    *value = (sl_value){.present = true};
    bool fine = add_text(o, value, "[", 1);
    for (uint64_t i = o->begins[sample]; fine && i < o->begins[sample + 1]; i++) {
        sl_value shapes;
        (void)sl_side_columns_get(&o->annotations, SL_COCO_OF_SHAPES, o->order[i], &shapes);
        fine = add_text(o, value, ",", i > o->begins[sample] ? 1 : 0) &&
               (shapes.present ? add_text(o, value, shapes.bytes.data, shapes.bytes.size)
                               : add_text(o, value, "null", 4));
    }
    return fine && add_text(o, value, "]", 1);
}

/* Takes the first caption, or all captions as JSON. */
static bool join_captions(sl_coco_opener *o, bool all, uint64_t sample, sl_value *value)
{
    json_t *list = json_array();
    *value = (sl_value){0};
    for (uint64_t i = o->begins[sample]; list != NULL && i < o->begins[sample + 1]; i++) {
        sl_value caption;
        (void)sl_side_columns_get(&o->annotations, SL_COCO_OF_CAPTION, o->order[i], &caption);
        if (caption.present) {
            *value = value->present ? *value : caption;
            (void)json_array_append_new(
                list, json_stringn((const char *)caption.bytes.data, caption.bytes.size));
        }
    }
    bool fine = list != NULL;
    if (all && value->present && fine) {
        const size_t bytes = json_dumpb(list, NULL, 0, JSON_COMPACT);
        fine = sl_coco_make_space(&o->space, bytes);
        value->bytes = (sl_bytes){o->space.data, fine ? bytes : 0};
        (void)json_dumpb(list, (char *)o->space.data, fine ? bytes : 0, JSON_COMPACT);
    }
    json_decref(list);
    return fine;
}

/* Finds the segments file, relative to the annotations. */
static bool find_panoptic(sl_coco_opener *o, uint64_t sample, sl_value *value)
{
    sl_value name;
    *value = (sl_value){.present = false};
    if (o->panoptic_of[sample] == 0) {
        return true;
    }
    (void)sl_side_columns_get(&o->panoptic, 1, o->panoptic_of[sample] - 1, &name);
    const bool fine = add_text(o, value, o->segments, strlen(o->segments)) &&
                      add_text(o, value, name.bytes.data, name.bytes.size);
    value->present = true;
    return fine;
}

static bool coco_find_value(sl_coco_opener *o, uint32_t what, uint64_t sample, sl_value *value)
{
    if (what == SL_COCO_ID) {
        (void)sl_side_columns_get(&o->images,
                                  o->image_ids.has_texts ? SL_COCO_IMAGE_NAME : SL_COCO_IMAGE_ID,
                                  sample, value);
        return true;
    }
    if (what == SL_COCO_PANOPTIC) {
        return find_panoptic(o, sample, value);
    }
    if (what == SL_COCO_WIDTH || what == SL_COCO_HEIGHT) {
        (void)sl_side_columns_get(
            &o->images, what == SL_COCO_WIDTH ? SL_COCO_IMAGE_WIDTH : SL_COCO_IMAGE_HEIGHT, sample,
            value);
        return true;
    }
    if (what == SL_COCO_SHAPES) {
        return join_shapes(o, sample, value);
    }
    return what == SL_COCO_CAPTION || what == SL_COCO_CAPTIONS
               ? join_captions(o, what == SL_COCO_CAPTIONS, sample, value)
               : join_parts(o, what, sample, value);
}

sl_bytes sl_coco_image_file(const sl_coco_opener *o, uint64_t sample)
{
    sl_value file;
    sl_value url;
    (void)sl_side_columns_get(&o->images, SL_COCO_IMAGE_FILE, sample, &file);
    (void)sl_side_columns_get(&o->images, SL_COCO_IMAGE_FROM_URL, sample, &url);
    sl_bytes name = file.bytes;
    const uint8_t *slash = o->short_urls && url.present ? memrchr(name.data, '/', name.size) : NULL;
    if (slash != NULL) {
        name.size -= (size_t)(slash + 1 - name.data);
        name.data = slash + 1;
    }
    return name;
}

/*
 * Writes an image's path relative to the dataset's root into the opener's buffer; size 0: no
 * memory.
 */
static sl_bytes coco_write_path(sl_coco_opener *o, uint64_t sample)
{
    const sl_bytes name = sl_coco_image_file(o, sample);
    if (o->prefix[0] == '\0' || name.data[0] == '/') {
        return name;
    }
    sl_value path = {.present = true};
    const bool fine = add_text(o, &path, o->prefix, strlen(o->prefix)) &&
                      add_text(o, &path, name.data, name.size);
    return fine ? path.bytes : (sl_bytes){.size = 0};
}

sluice_status sl_coco_keep_sample(sl_coco_opener *o, uint64_t sample, sluice_error *error)
{
    const sl_bytes path = coco_write_path(o, sample);
    if (path.size == 0) {
        return sl_coco_no_memory(error);
    }
    const sl_refusal why =
        sl_listed_check_path(o->own, path); /* relative to its folder from here on */
    if (why.text != NULL) {
        return sl_error_file(error, why.status, STAGE, 0, o->path, -1,
                             "element %llu of \"images\": %s", (unsigned long long)sample,
                             why.text);
    }
    sluice_status status = sl_listed_put_path(o->own, path, error);
    for (uint32_t i = 1; status == SLUICE_OK && i < o->own->side.count; i++) {
        sl_value value;
        status = coco_find_value(o, o->what[o->own->source[i]], sample, &value)
                     ? sl_side_columns_put(&o->own->side, i, &value, error)
                     : sl_coco_no_memory(error);
    }
    return status;
}
