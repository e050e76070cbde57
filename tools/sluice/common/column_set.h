/* SPDX-License-Identifier: Apache-2.0 */
/*
 * column_set: the columns of a batch as requested on the command line (--column, repeated), or a
 * dataset's default ones, and the arguments for a loader that follow. Main thread. Functions that
 * can fail return an exit code and have reported the error.
 */
#ifndef TOOL_COLUMN_SET_H
#define TOOL_COLUMN_SET_H

#include "column_spec.h"
#include "options.h"
#include "pipeline.h"

#include <sluice/loader.h>

struct column_set {
    bool asked; /* false: the default ones */
    uint32_t count;
    struct column_spec specs[OPTION_LIST_MAX];
};

/* Options of images whose column has none of its own. */
struct column_look {
    struct pipeline_shape shape; /* `normalize` is ignored: floating images are normalised */
    int dtype, layout;
    bool bytes; /* u8 and nhwc, regardless of the columns: for viewing */
};

/* The arguments of sluice_loader_open. A zeroed one may be freed. */
struct column_source {
    sluice_augment *recipe;  /* NULL: no recipe */
    sluice_columns *columns; /* NULL: the default ones */
};

/* The row of the option table for commands with columns. */
#define COLUMN_ROW(list)                                             \
    {                                                                \
        "column", 'c', OPTION_LIST, &(list),                         \
            .metavar = "COLUMN", .common = true,                     \
            .help = "NAME[=FIELD]:KIND[,...]; repeatable [defaults]" \
    }

/* Reads the requested columns; an empty list: none. */
int column_set_parse(struct column_set *set, const struct option_list *texts);

/* Finds the default column of field `number`, with its dtype and shape (0: depends on the
 * recipe). False: it has none. */
bool column_natural(const sluice_dataset *dataset, uint32_t number, struct column_spec *spec);

/* Fills in the default columns if none were requested. */
int column_set_complete(struct column_set *set, const sluice_dataset *dataset);

/* Returns the first image column from number `from` on; NULL: none. */
const struct column_spec *column_set_picture(const struct column_set *set, uint32_t from);

/* Returns the side of an image column's output, in pixels. */
uint32_t column_side(const struct column_spec *spec, const struct column_look *look);

/* Makes the pipeline of an image column. False: reported. */
bool column_shape(const struct column_spec *spec, const struct column_look *look,
                  struct pipeline_shape *made);

/* Returns whether an image of the column is mixed with others of its batch, unless mixing is
 * left out. */
bool column_set_mixes(const struct column_set *set, const struct column_look *look);

/* Makes the arguments for the loader, and sets `columns`, `dtype` and `layout` of its options. */
int column_set_make(const struct column_set *set, const struct column_look *look,
                    struct column_source *source, sluice_loader_options *options);
void column_source_free(struct column_source *source);

#endif
