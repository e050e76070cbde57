/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coco_opener: the state of opening COCO annotations: images and annotations in file order
 * (coco_read.c), then each image's sample (coco_samples.c).
 *
 * Memory: the opener's; coco.c, which creates it, releases it. Threads: one owner.
 */
#ifndef SL_COCO_OPENER_H
#define SL_COCO_OPENER_H

#include "coco_ids.h"
#include "json_walk.h"
#include "listed.h"

/* Values kept of an image, and of an annotation, until all are read. */
enum {
    SL_COCO_IMAGE_FILE,
    SL_COCO_IMAGE_ID,
    SL_COCO_IMAGE_NAME,     /* the id, if it is a text */
    SL_COCO_IMAGE_FROM_URL, /* 1: the file name is the end of a URL */
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
    SL_COCO_OF_SEGMENT, /* panoptic: the segment's id */
    SL_COCO_OF_COLUMNS
};

/* Sources of a sample's values. */
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

/* Lists of the file. */
enum { SL_COCO_IMAGES, SL_COCO_ANNOTATIONS, SL_COCO_CATEGORIES, SL_COCO_LISTS };

/* Category ids below this are marked by one bit each. */
enum { SL_COCO_COMMON_IDS = 4096 };

/* An image's id and its number, for lookups. */
typedef struct sl_coco_identity {
    int64_t id;
    uint64_t sample;
} sl_coco_identity;

/* The first annotation that lacks a member which others have. */
typedef struct sl_coco_lack {
    bool met;
    uint64_t element;
    char id[48]; /* " (id 7)", or "" */
} sl_coco_lack;

/* Buffer for one value at a time; grows. */
typedef struct sl_coco_space {
    uint8_t *data;
    size_t bytes;
} sl_coco_space;

/* State while a dataset is opened. */
typedef struct sl_coco_opener {
    const char *path;
    sl_listed *own;
    sl_side_columns images, annotations;
    uint64_t image_counts[SL_COCO_IMAGE_COLUMNS]; /* number of images with each value */
    uint64_t counts[SL_COCO_OF_COLUMNS];          /* number of annotations with each value */
    sl_coco_lack lacks[SL_COCO_OF_COLUMNS];
    sl_coco_ids image_ids, category_ids;
    sl_side_columns panoptic; /* image ids and names of segments files */
    uint64_t *panoptic_of; /* row of each sample in `panoptic`, plus 1; NULL: not a panoptic file */
    uint64_t lvis_lists;   /* number of images with LVIS's lists of categories */
    char prefix[SL_PATH_BYTES];   /* panoptic: prefix of image paths, relative to the annotations */
    char segments[SL_PATH_BYTES]; /* panoptic: folder of the segments files */
    bool short_urls;              /* true if names from URLs are reduced to their last part */
    size_t keypoint_bytes;        /* size of an annotation's keypoints; 0: none */
    json_t *skeletons;  /* an object: number of points of each category that specifies it */
    json_t *names;      /* names of categories: an object, by their numbers */
    int64_t *positions; /* for categories with text ids: position in the list, or -1 */
    uint64_t position_count, position_capacity;
    uint64_t categories; /* length of the list of categories */
    json_t *met; /* an object: first occurrence of each category in annotations, as [text, offset],
                    by the category's number */
    uint64_t common[SL_COCO_COMMON_IDS / 64]; /* one bit for each low number in `met` */
    int64_t highest;                          /* highest of these numbers */
    sl_source_column sources[SL_COCO_SOURCES];
    uint32_t what[SL_COCO_SOURCES]; /* kind of each source */
    char why[400];                  /* text of an error */
    sl_coco_identity *identities;   /* sorted by id */
    uint64_t *begins;               /* index into `order` of each sample's first annotation */
    uint64_t *order;
    sl_coco_space space;
} sl_coco_opener;

/* Makes space for `bytes`. False: no memory. */
bool sl_coco_make_space(sl_coco_space *all, size_t bytes);
sluice_status sl_coco_no_memory(sluice_error *error);

extern const sl_json_list sl_coco_lists[SL_COCO_LISTS];
/* Keeps an element; a callback of sl_json_visitor with an opener. */
sluice_status sl_coco_visit(void *ctx, uint32_t list, const sl_json_element *element,
                            sluice_error *error);
/*
 * Records a category's occurrence; `segment` is negative if the element itself has it. Errors:
 * NOMEM.
 */
sluice_status sl_coco_meet_category(sl_coco_opener *o, const sl_json_element *element, int segment,
                                    int64_t number, sluice_error *error);
/*
 * Numbers the labels by category, once all elements are kept; checks the points of each annotation.
 * Errors: CORRUPT, NOMEM.
 */
sluice_status sl_coco_number_labels(sl_coco_opener *o, sluice_error *error);
sluice_status sl_coco_check_keypoints(sl_coco_opener *o, sluice_error *error);
/* Checks that all annotations have a member if some do. Errors: CORRUPT. */
sluice_status sl_coco_check_lacks(const sl_coco_opener *o, uint32_t column, const char *name,
                                  sluice_error *error);
/* Returns the file of an image, relative to the folder of images. */
sl_bytes sl_coco_image_file(const sl_coco_opener *o, uint64_t sample);
/* Joins the sorted annotations of a sample, and keeps the values of its fields. */
sluice_status sl_coco_keep_sample(sl_coco_opener *o, uint64_t sample, sluice_error *error);

#endif
