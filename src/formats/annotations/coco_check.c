/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coco_check: checks annotations as a whole: labels, points, members that only some have.
 *
 * Runs on the opener's thread once all elements are kept.
 */
#include "coco_opener.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAGE "dataset"

sluice_status sl_coco_check_lacks(const sl_coco_opener *o, uint32_t column, const char *name,
                                  sluice_error *error)
{
    const uint64_t all = o->annotations.of[SL_COCO_OF_IMAGE].rows;
    const uint64_t count = o->counts[column];
    const sl_coco_lack *lack = &o->lacks[column];
    if (count == 0 || count == all) {
        return SLUICE_OK;
    }
    return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, o->path, -1,
                         "element %llu of \"annotations\"%s has no %s: %llu of %llu have none, and "
                         "all or none must have one",
                         (unsigned long long)lack->element, lack->id, name,
                         (unsigned long long)(all - count), (unsigned long long)all);
}

/* ---- labels ---- */

/* Returns whether a number was seen before, for numbers in the usual range. */
static bool was_met(sl_coco_opener *o, int64_t number)
{
    if (number < 0 || number >= SL_COCO_COMMON_IDS) {
        return false;
    }
    uint64_t *word = &o->common[number / 64];
    const uint64_t bit = (uint64_t)1 << (number % 64);
    const bool met = (*word & bit) != 0;
    *word |= bit;
    return met;
}

sluice_status sl_coco_meet_category(sl_coco_opener *o, const sl_json_element *element, int segment,
                                    int64_t number, sluice_error *error)
{
    char key[32];
    char id[48];
    char of[40] = "";
    if (was_met(o, number)) {
        return SLUICE_OK;
    }
    (void)snprintf(key, sizeof(key), "%lld", (long long)number);
    if (json_object_get(o->met, key) != NULL) {
        return SLUICE_OK;
    }
    if (segment >= 0) {
        (void)snprintf(of, sizeof(of), "segments_info[%d].", segment);
    }
    sl_json_name_id(element, id, sizeof(id));
    (void)snprintf(o->why, sizeof(o->why), "element %llu of \"%.64s\"%s: its %scategory_id",
                   (unsigned long long)element->number, element->list, id, of);
    o->met = o->met == NULL ? json_object() : o->met;
    json_t *where = json_pack("[sI]", o->why, (json_int_t)element->offset);
    return json_object_set_new(o->met, key, where) == 0 ? SLUICE_OK : sl_coco_no_memory(error);
}

/* Writes the id of a category as in the file, given its number here. */
static void write_id(const sl_coco_opener *o, int64_t number, char *text, size_t bytes)
{
    json_t *known;
    const char *key;
    (void)snprintf(text, bytes, "%lld", (long long)number);
    if (!o->category_ids.has_texts) {
        return;
    }
    json_object_foreach(o->category_ids.texts, key, known)
    {
        if (json_integer_value(known) == number) {
            (void)snprintf(text, bytes, "\"%.100s\"", key);
            return;
        }
    }
}

static bool has_category(const sl_coco_opener *o, const char *key, int64_t number)
{
    return o->category_ids.has_texts
               ? (uint64_t)number < o->position_count && o->positions[number] >= 0
               : o->categories == 0 || json_object_get(o->names, key) != NULL;
}

/* Checks that every category id of annotations exists, if the file has categories. */
static sluice_status coco_check_categories(const sl_coco_opener *o, sluice_error *error)
{
    const char *key;
    json_t *where;
    char id[128];
    int64_t first = INT64_MAX;
    int64_t unknown = 0;
    const char *text = NULL;
    json_object_foreach(o->met, key, where)
    {
        const int64_t number = strtoll(key, NULL, 10);
        const int64_t offset = json_integer_value(json_array_get(where, 1));
        if (offset < first && !has_category(o, key, number)) {
            first = offset;
            unknown = number;
            text = json_string_value(json_array_get(where, 0));
        }
    }
    if (text == NULL) {
        return SLUICE_OK;
    }
    write_id(o, unknown, id, sizeof(id));
    return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, o->path, first,
                         "%s is %s: none of the %llu \"categories\" has this id", text, id,
                         (unsigned long long)o->categories);
}

sluice_status sl_coco_number_labels(sl_coco_opener *o, sluice_error *error)
{
    const sl_side_column *labels = &o->annotations.of[SL_COCO_OF_CATEGORY];
    const sluice_status status = coco_check_categories(o, error);
    for (uint64_t i = 0; status == SLUICE_OK && o->category_ids.has_texts && i < labels->rows;
         i++) {
        if (labels->state[i] != SL_SIDE_ABSENT) {
            labels->cells[i] = (uint64_t)o->positions[labels->cells[i]];
        }
    }
    return status;
}

/* ---- points ---- */

/* Returns the number of points of the annotation's category; 0: not specified. */
static uint64_t coco_skeleton(const sl_coco_opener *o, uint64_t annotation)
{
    char key[32];
    sl_value category;
    (void)sl_side_columns_get(&o->annotations, SL_COCO_OF_CATEGORY, annotation, &category);
    if (!category.present || json_object_size(o->skeletons) == 0) {
        return 0;
    }
    (void)snprintf(key, sizeof(key), "%lld", (long long)category.integer);
    return (uint64_t)json_integer_value(json_object_get(o->skeletons, key));
}

static sluice_status refuse_points(const sl_coco_opener *o, uint64_t annotation, size_t numbers,
                                   uint64_t wanted, sluice_error *error)
{
    return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, o->path, -1,
                         "element %llu of \"annotations\": its keypoints have %zu numbers: "
                         "expected %llu",
                         (unsigned long long)annotation, numbers, (unsigned long long)wanted);
}

/*
 * Limits the padding. An annotation without points gets a row of zeros, whose total must stay in
 * proportion to the file, however long the longest row is.
 */
static sluice_status check_keypoint_padding(const sl_coco_opener *o, uint64_t with,
                                            sluice_error *error)
{
    enum { BYTES_AN_ANNOTATION = 2048 };
    const uint64_t rows = o->annotations.of[SL_COCO_OF_KEYPOINTS].rows;
    const uint64_t without = rows - with;
    const uint64_t most = rows * BYTES_AN_ANNOTATION + 16 * with * o->keypoint_bytes;
    if (o->keypoint_bytes == 0 || without <= most / o->keypoint_bytes) {
        return SLUICE_OK;
    }
    return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, o->path, -1,
                         "%llu of %llu annotations have keypoints, %zu numbers each: padding the "
                         "others with zeros would take many times the file's size; remove the "
                         "keypoints, or move them to a separate file",
                         (unsigned long long)with, (unsigned long long)rows,
                         o->keypoint_bytes / sizeof(float));
}

/*
 * Checks the number of points of each annotation: that of its category if specified, otherwise that
 * of the first annotation without. Rows are as long as the longest.
 */
sluice_status sl_coco_check_keypoints(sl_coco_opener *o, sluice_error *error)
{
    size_t loose = 0; /* numbers of points in categories that do not specify it */
    uint64_t first_loose = 0;
    uint64_t with = 0;
    for (uint64_t i = 0; i < o->annotations.of[SL_COCO_OF_KEYPOINTS].rows; i++) {
        sl_value points;
        (void)sl_side_columns_get(&o->annotations, SL_COCO_OF_KEYPOINTS, i, &points);
        const size_t bytes = points.present ? points.bytes.size : 0;
        const uint64_t known = bytes > 0 ? coco_skeleton(o, i) : 0;
        if (bytes == 0) {
            continue;
        }
        with++;
        if (known == 0 && loose == 0) {
            loose = bytes;
            first_loose = i;
        }
        const uint64_t wanted = known > 0 ? 3 * known : loose / sizeof(float);
        if (bytes != wanted * sizeof(float)) {
            return refuse_points(o, i, bytes / sizeof(float), wanted, error);
        }
        o->keypoint_bytes = bytes > o->keypoint_bytes ? bytes : o->keypoint_bytes;
    }
    return loose == 0 || loose == o->keypoint_bytes
               ? check_keypoint_padding(o, with, error)
               : refuse_points(o, first_loose, loose / sizeof(float),
                               o->keypoint_bytes / sizeof(float), error);
}
