/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coco_ids: the ids of COCO's images and categories, which are whole numbers or texts.
 *
 * Purpose: pycocotools compares ids as they are: 7 and 7.0 are the same id, "7" is another. A
 * number stays; texts are numbered in order of appearance. A file that mixes both for one kind of
 * id is rejected. Memory: the texts, once. Threads: one owner. Ownership: sl_coco_ids_close.
 */
#ifndef SL_COCO_IDS_H
#define SL_COCO_IDS_H

#include "json_file.h"

typedef struct sl_coco_ids {
    json_t *texts; /* an object that maps each text to its number */
    bool has_numbers, has_texts;
} sl_coco_ids;

typedef enum sl_coco_id_kind {
    SL_COCO_ID_FINE,
    SL_COCO_ID_WRONG,    /* neither a whole number nor a text */
    SL_COCO_ID_MIXED,    /* a different type from the ids before it */
    SL_COCO_ID_NO_MEMORY /* out of memory */
} sl_coco_id_kind;

void sl_coco_ids_close(sl_coco_ids *ids); /* `ids` may be zeroed */
sl_coco_id_kind sl_coco_ids_take(sl_coco_ids *ids, const json_t *value, int64_t *number);
/* Reads a whole number, which may be written as 7.0; false: another value. */
bool sl_coco_whole(const json_t *value, int64_t *number);

#endif
