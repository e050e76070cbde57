/* SPDX-License-Identifier: Apache-2.0 */
/* Checks what annotations have together: labels, points, members that only some have. The opener's
 * thread, once all elements are kept. */
#include "coco_opener.h"

#include <stdio.h>
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

sluice_status sl_coco_number_labels(sl_coco_opener *o, sluice_error *error)
{
    const sl_side_column *labels = &o->annotations.of[SL_COCO_OF_CATEGORY];
    for (uint64_t i = 0; o->category_ids.has_texts && i < labels->rows; i++) {
        const uint64_t number = labels->cells[i];
        if (labels->state[i] == SL_SIDE_ABSENT) {
            continue;
        }
        if (number >= o->position_count || o->positions[number] < 0) {
            const char *text = NULL;
            json_t *known;
            const char *key;
            json_object_foreach(o->category_ids.texts, key, known)
            {
                text = (uint64_t)json_integer_value(known) == number ? key : text;
            }
            return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, o->path, -1,
                                 "annotation %llu: its category_id is \"%.100s\", which is not the "
                                 "id of one of the categories",
                                 (unsigned long long)i, text != NULL ? text : "");
        }
        labels->cells[i] = (uint64_t)o->positions[number];
    }
    return SLUICE_OK;
}

/* Points that the category of an annotation has; 0: it does not say. */
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

/* An annotation without points gets a row of zeros: these stay in proportion to what the file
 * holds, whatever the longest row claims. */
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
                         "%llu of %llu annotations have keypoints, %zu numbers each: the zeros of "
                         "the others would be many times the file; remove the keypoints, or put "
                         "them into a file of their own",
                         (unsigned long long)with, (unsigned long long)rows,
                         o->keypoint_bytes / sizeof(float));
}

/*
 * Annotations of a category have as many points as it has, where it says so; those of others have
 * as many as the first one. Rows are as long as the longest.
 */
sluice_status sl_coco_check_keypoints(sl_coco_opener *o, sluice_error *error)
{
    size_t loose = 0; /* of categories that do not say */
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
