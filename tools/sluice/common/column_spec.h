/* SPDX-License-Identifier: Apache-2.0 */
/*
 * column_spec: one column of a batch, asked for as text: NAME[=FIELD]:KIND[,KEY=VALUE...]
 *
 *     image:image,size=160,crop=random,padding=4,dtype=f16,layout=nchw
 *     target=label:one_hot,length=10,dtype=f32,mixes=image,smoothing=0.1
 *     tokens:window,length=1025,stride=1024,dtype=i32
 *     boxes:boxes,min-visibility=0.3
 *     where:geometry,follows=image
 *
 * NAME is the column's, FIELD the dataset's; without FIELD it is NAME. A geometry is of no field.
 * Kinds are those of sluice/columns.h, keys the members of sluice_column that the kind takes, in
 * any order, each once; an image has the options of `sluice bench` for its recipe. What is left out
 * has the library's default, of an image that of the command line. Pure.
 */
#ifndef TOOL_COLUMN_SPEC_H
#define TOOL_COLUMN_SPEC_H

#include <sluice/columns.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    COLUMN_NAME_BYTES = 32,
    COLUMN_STEPS_BYTES = 2048,
    COLUMN_MIRROR_MAX = 256,
    COLUMN_WORD_NONE = -1
};
#define COLUMN_COUNT_NONE UINT64_MAX

/* Words that were not given are COLUMN_WORD_NONE, counts COLUMN_COUNT_NONE, parts of an area 0. */
struct column_spec {
    char name[COLUMN_NAME_BYTES];
    char field[COLUMN_NAME_BYTES]; /* of a geometry "" */
    int kind;                      /* a sluice_column_kind */
    int crop;                      /* an enum pipeline */
    int dtype;                     /* a sluice_dtype */
    int layout, part, too_long, missing;
    uint64_t size, padding; /* of an image, pixels */
    uint64_t length, stride, offset;
    double area_min, area_max;
    char mixes[COLUMN_NAME_BYTES];    /* of a one_hot, an image column; "": not given */
    char follows[COLUMN_NAME_BYTES];  /* an image column, or boxes; "": not given */
    char shapes[COLUMN_NAME_BYTES];   /* of boxes, a field; "": not given */
    char labels[COLUMN_NAME_BYTES];   /* of a mask, likewise */
    char crowds[COLUMN_NAME_BYTES];   /* of boxes, or a mask, likewise */
    double smoothing;                 /* of a one_hot, 0 to 1 */
    char augment[COLUMN_STEPS_BYTES]; /* of an image, further steps (pipeline.h); "": not given */
    uint32_t dims;                    /* of shape; 0: not given */
    int64_t shape[SLUICE_TENSOR_DIMS_MAX];
    uint32_t mirror_count, mirror[COLUMN_MIRROR_MAX]; /* of points */
    sluice_column follower; /* what else masks, boxes and points take; no pointers are set */
};

/* All but name and field, which are "", as not given. */
void column_spec_clear(struct column_spec *spec);

/* False: `fault` is a sentence that names the part that is wrong, cut to `bytes` (1 or more). */
bool column_spec_parse(const char *text, struct column_spec *spec, char *fault, size_t bytes);

/* "image", "one_hot", ... */
const char *column_kind_name(int kind);

#endif
