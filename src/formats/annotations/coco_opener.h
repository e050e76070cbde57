/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coco_opener: what is known of COCO's annotations while their dataset is opened: images and
 * annotations as they come in the file (coco_read.c), then each image's sample (coco_samples.c).
 *
 * Memory: the opener's, given back by whoever opened it (coco.c). Threads: one owner.
 */
#ifndef SL_COCO_OPENER_H
#define SL_COCO_OPENER_H

#include "coco_ids.h"
#include "json_walk.h"
#include "listed.h"

/* What is kept of an image, and of an annotation, until all are known. */
enum {
    SL_COCO_IMAGE_FILE,
    SL_COCO_IMAGE_ID,
    SL_COCO_IMAGE_NAME,     /* the id, where it is a text */
    SL_COCO_IMAGE_FROM_URL, /* 1: the file is the end of a URL */
    SL_COCO_IMAGE_WIDTH,
    SL_COCO_IMAGE_HEIGHT,
    SL_COCO_IMAGE_COLUMNS
};
enum {
    SL_COCO_OF_IMAGE,
    SL_COCO_OF_CATEGORY,
    SL_COCO_OF_BOX,
    SL_COCO_OF_AREA,
    SL_COCO_OF_CROWD,
    SL_COCO_OF_KEYPOINTS,
    SL_COCO_OF_CAPTION,
    SL_COCO_OF_SHAPES,
    SL_COCO_OF_SEGMENT, /* panoptic: the id of the segment */
    SL_COCO_OF_COLUMNS
};

/* What a sample has. */
enum {
    SL_COCO_PICTURE,
    SL_COCO_PANOPTIC,
    SL_COCO_ID,
    SL_COCO_SEGMENTS,
    SL_COCO_BOXES,
    SL_COCO_LABELS,
    SL_COCO_CROWD,
    SL_COCO_AREA,
    SL_COCO_KEYPOINTS,
    SL_COCO_SHAPES,
    SL_COCO_CAPTION,
    SL_COCO_CAPTIONS,
    SL_COCO_WIDTH,
    SL_COCO_HEIGHT,
    SL_COCO_KEY,
    SL_COCO_SOURCES
};

/* The file's. */
enum { SL_COCO_IMAGES, SL_COCO_ANNOTATIONS, SL_COCO_CATEGORIES, SL_COCO_LISTS };

/* Ids of categories below this are marked by a bit each. */
enum { SL_COCO_COMMON_IDS = 4096 };

/* An image's identity and its number, for finding it. */
typedef struct sl_coco_identity {
    int64_t id;
    uint64_t sample;
} sl_coco_identity;

/* The first annotation without a member that others have. */
typedef struct sl_coco_lack {
    bool met;
    uint64_t element;
    char id[48]; /* " (id 7)", or "" */
} sl_coco_lack;

/* Grows, for one value at a time. */
typedef struct sl_coco_space {
    uint8_t *data;
    size_t bytes;
} sl_coco_space;

/* While a dataset is opened. */
typedef struct sl_coco_opener {
    const char *path;
    sl_listed *own;
    sl_side_columns images, annotations;
    uint64_t image_counts[SL_COCO_IMAGE_COLUMNS]; /* images that have it */
    uint64_t counts[SL_COCO_OF_COLUMNS];          /* annotations that have it */
    sl_coco_lack lacks[SL_COCO_OF_COLUMNS];
    sl_coco_ids image_ids, category_ids;
    sl_side_columns panoptic;     /* an image's id, and its file of segments */
    uint64_t *panoptic_of;        /* the row of each sample's, plus 1; NULL: not a panoptic file */
    uint64_t lvis_lists;          /* images with lists of categories that LVIS has */
    char prefix[SL_PATH_BYTES];   /* panoptic: of pictures' paths, from the annotations */
    char segments[SL_PATH_BYTES]; /* panoptic: of the files of segments */
    bool short_urls;              /* names from URLs are only their last part */
    size_t keypoint_bytes;        /* of an annotation; 0: it has none */
    json_t *skeletons;            /* an object: points of each category that says it */
    json_t *names;                /* categories: an object, from their numbers */
    int64_t *positions;           /* of categories with texts as ids: number in the list, or -1 */
    uint64_t position_count, position_capacity;
    uint64_t categories; /* of the list */
    json_t *met; /* by the number of each category that annotations have: where it was met first, as
                    [text, offset] */
    uint64_t common[SL_COCO_COMMON_IDS / 64]; /* of those: a bit for each low number */
    int64_t highest;                          /* of their numbers */
    sl_source_column sources[SL_COCO_SOURCES];
    uint32_t what[SL_COCO_SOURCES]; /* that each source is */
    char why[400];                  /* of a refusal */
    sl_coco_identity *identities;   /* by id */
    uint64_t *begins;               /* annotations of each sample, in `order` */
    uint64_t *order;
    sl_coco_space space;
} sl_coco_opener;

/* False: there is no memory for so many bytes. */
bool sl_coco_make_space(sl_coco_space *all, size_t bytes);
sluice_status sl_coco_no_memory(sluice_error *error);

extern const sl_json_list sl_coco_lists[SL_COCO_LISTS];
/* As sl_json_visitor has it, of an opener: keeps an element. */
sluice_status sl_coco_visit(void *ctx, uint32_t list, const sl_json_element *element,
                            sluice_error *error);
/* Notes where a category is met; `segment` is less than 0 where the element itself has it. Errors:
 * NOMEM. */
sluice_status sl_coco_meet_category(sl_coco_opener *o, const sl_json_element *element, int segment,
                                    int64_t number, sluice_error *error);
/* Once all elements are kept: labels of categories, and points of each annotation. Errors: CORRUPT,
 * NOMEM. */
sluice_status sl_coco_number_labels(sl_coco_opener *o, sluice_error *error);
sluice_status sl_coco_check_keypoints(sl_coco_opener *o, sluice_error *error);
/* Whether all annotations have a member, which is needed where some have it. Errors: CORRUPT. */
sluice_status sl_coco_check_lacks(const sl_coco_opener *o, uint32_t column, const char *name,
                                  sluice_error *error);
/* The file of an image, from the folder of pictures. */
sl_bytes sl_coco_image_file(const sl_coco_opener *o, uint64_t sample);
/* Once annotations are sorted: joins those of a sample, and keeps what its fields want. */
sluice_status sl_coco_keep_sample(sl_coco_opener *o, uint64_t sample, sluice_error *error);

#endif
