/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coco_ids: the ids of COCO's images and categories, which are whole numbers or texts.
 *
 * Purpose: pycocotools takes ids as they are, so that 7 and 7.0 are the same id, and "7" is
 * another. A number stays; a text gets a number in the order of meeting. A file whose ids of one
 * kind are both is refused. Memory: the texts, once. Threads: one owner. Ownership:
 * sl_coco_ids_close.
 */
#ifndef SL_COCO_IDS_H
#define SL_COCO_IDS_H

#include "json_file.h"

typedef struct sl_coco_ids {
    json_t *texts; /* an object: the number of each text */
    bool has_numbers, has_texts;
} sl_coco_ids;

typedef enum sl_coco_id_kind {
    SL_COCO_ID_FINE,
    SL_COCO_ID_WRONG,    /* neither a whole number nor a text */
    SL_COCO_ID_MIXED,    /* not what the others are */
    SL_COCO_ID_NO_MEMORY /* no memory */
} sl_coco_id_kind;

void sl_coco_ids_close(sl_coco_ids *ids); /* all zero is fine */
sl_coco_id_kind sl_coco_ids_take(sl_coco_ids *ids, const json_t *value, int64_t *number);
/* A whole number, which may be written as 7.0; false: another value. */
bool sl_coco_whole(const json_t *value, int64_t *number);

#endif
