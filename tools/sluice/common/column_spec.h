/* SPDX-License-Identifier: Apache-2.0 */
/*
 * column_spec: one column of a batch, as text: NAME[=FIELD]:KIND[,KEY=VALUE...]
 *
 *     image:image,size=160,crop=random,padding=4,dtype=f16,layout=nchw
 *     target=label:one_hot,length=10,dtype=f32,mixes=image,smoothing=0.1
 *     tokens:window,length=1025,stride=1024,dtype=i32
 *     boxes:boxes,min-visibility=0.3
 *     where:geometry,follows=image
 *
 * NAME is the column's, FIELD the dataset's; FIELD defaults to NAME. A geometry has no field.
 * Kinds and keys, with their types and ranges, come from the library's table of options
 * (sluice/describe.h): a key is the Python keyword of a member of sluice_column, or its name, with
 * hyphens. In addition, an image takes the options of `sluice bench` for its recipe, and the two
 * lists shape and mirror are parsed here (column_values.h). Each key may be given once, in any
 * order. A member that is not given has the library's default, or for an image that of the command
 * line. Memory: a spec owns all of its texts, and may be copied. Pure.
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
    COLUMN_TEXTS_MAX = 16,
    COLUMN_MIRROR_MAX = 256,
    COLUMN_WORD_NONE = -1
};
#define COLUMN_COUNT_NONE UINT64_MAX

/* A string member of sluice_column. */
struct column_text {
    size_t offset;
    char at[COLUMN_NAME_BYTES];
};

struct column_spec {
    char name[COLUMN_NAME_BYTES];
    char field[COLUMN_NAME_BYTES]; /* "": the kind has none */
    sluice_column column;          /* kind and members; its pointers are NULL */
    uint64_t given;                /* a bit for each member that was given (column_spec_has) */
    uint32_t text_count;
    struct column_text texts[COLUMN_TEXTS_MAX];
    uint32_t mirror[COLUMN_MIRROR_MAX]; /* column.mirror_count of them */
    /* The recipe of an image. */
    int crop;                         /* an enum pipeline, or COLUMN_WORD_NONE */
    uint64_t size, padding;           /* pixels, or COLUMN_COUNT_NONE */
    double area_min, area_max;        /* 0: not given */
    char augment[COLUMN_STEPS_BYTES]; /* further steps (pipeline.h); "": not given */
};

/* Clears everything, including the kind. */
void column_spec_clear(struct column_spec *spec);

/* Parses a text. False: `fault` names the wrong part, cut to `bytes` (1 or more). */
bool column_spec_parse(const char *text, struct column_spec *spec, char *fault, size_t bytes);

/* Returns whether the member of this name was given, which its value 0 does not show. */
bool column_spec_has(const struct column_spec *spec, const char *member);

/* Returns the text at offsetof(sluice_column, member); "": not given. */
const char *column_spec_text(const struct column_spec *spec, size_t offset);
/* Sets a name, which must fit. */
void column_spec_set_text(struct column_spec *spec, size_t offset, const char *text);

/* Returns all members with their pointers, which live as long as the spec; without a recipe. */
sluice_column column_spec_column(const struct column_spec *spec);

/* Returns "image", "one_hot", ... */
const char *column_kind_name(int kind);

#endif
