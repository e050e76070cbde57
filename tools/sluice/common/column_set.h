/* SPDX-License-Identifier: Apache-2.0 */
/*
 * column_set: the columns of a batch as a command was asked for them (--column, repeated), or by
 * default the natural ones of a dataset, and what a loader has to be given for them. Main thread.
 * Functions that can fail return an exit code and have reported why.
 */
#ifndef TOOL_COLUMN_SET_H
#define TOOL_COLUMN_SET_H

#include "column_spec.h"
#include "options.h"
#include "pipeline.h"

#include <sluice/loader.h>

struct column_set {
    bool asked; /* false: the natural ones */
    uint32_t count;
    struct column_spec specs[OPTION_LIST_MAX];
};

/* Of the pictures whose column does not say otherwise. */
struct column_look {
    struct pipeline_shape shape; /* `normalize` is of no use: floating pictures are normalised */
    int dtype, layout;
    bool bytes; /* u8 and nhwc, whatever columns ask for: to be looked at */
};

/* What sluice_loader_open is given. A zeroed one may be freed. */
struct column_source {
    sluice_augment *recipe;  /* NULL: it has none to be given */
    sluice_columns *columns; /* NULL: the natural ones */
};

/* The row of the option table that commands with columns have. */
#define COLUMN_ROW(list)                                             \
    {                                                                \
        "column", 'c', OPTION_LIST, &(list),                         \
            .metavar = "COLUMN", .common = true,                     \
            .help = "NAME[=FIELD]:KIND[,...]; repeatable [defaults]" \
    }

/* Reads what was asked for; an empty list: nothing. */
int column_set_parse(struct column_set *set, const struct option_list *texts);

/* The column that field `number` has when none are asked for; its dtype and shape are filled in (0:
 * as the recipe says). False: it has none. */
bool column_natural(const sluice_dataset *dataset, uint32_t number, struct column_spec *spec);

/* Fills in the natural columns where nothing was asked for. */
int column_set_complete(struct column_set *set, const sluice_dataset *dataset);

/* The first image column at or behind number `from`; NULL: there is none. */
const struct column_spec *column_set_picture(const struct column_set *set, uint32_t from);

/* Side of an image column's pictures, pixels. */
uint32_t column_side(const struct column_spec *spec, const struct column_look *look);

/* The pipeline of an image column. False: reported. */
bool column_shape(const struct column_spec *spec, const struct column_look *look,
                  struct pipeline_shape *made);

/* Whether a picture of it is mixed with others of its batch, where that is not left out. */
bool column_set_mixes(const struct column_set *set, const struct column_look *look);

/* Makes what the loader is given, and sets `columns`, `dtype` and `layout` of its options. */
int column_set_make(const struct column_set *set, const struct column_look *look,
                    struct column_source *source, sluice_loader_options *options);
void column_source_free(struct column_source *source);

#endif
