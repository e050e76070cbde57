/* SPDX-License-Identifier: Apache-2.0 */
/* view_job: the arguments of `sluice view`, and the shared state of its parts while the sheet is
 * made: draws.h fills it, sheet_file.h and view_report.h show it. Main thread. */
#ifndef TOOL_VIEW_JOB_H
#define TOOL_VIEW_JOB_H

#include "column_set.h"
#include "data.h"
#include "options.h"
#include "reasons.h"
#include "sheet.h"
#include "values.h"

#include <sluice/dataset.h>
#include <sluice/loader.h>

#include <stdbool.h>
#include <stdint.h>

enum { VALUE_SHOWN = 512, LEGEND_SHOWN = 512 };

struct view_args {
    uint64_t samples, draws, size, padding;
    int pipeline;
    struct data_folder folder;
    sluice_loader_options options;
    bool json, each_step, source;
    const char *dataset, *out, *augment;
    struct option_list columns;
};

/* The facts about a row after its first draw. */
struct view_row {
    int64_t sample, label;
    uint8_t status; /* a sluice_row */
};

struct layout_box {
    uint32_t left, top, width, height;
};

/* Positions in a sheet that is one image (picture.h), pixels. */
struct layout {
    uint32_t width, height;                   /* of the whole sheet; 0: a page */
    uint32_t group_width, group_height;       /* of the tiles of a draw, with their labels */
    uint32_t across;                          /* groups side by side */
    struct layout_box source;                 /* the largest whole image, with its label */
    struct layout_box boxes[OPTION_LIST_MAX]; /* of a group's tiles, the largest */
    uint32_t *tops;                           /* of the first group of each row */
};

/* A column that is drawn over an image. */
struct view_mark {
    const struct column_spec *spec;
    uint32_t picture; /* its number */
    uint32_t legend;  /* its number, if it has one */
    struct values_source values;
};

struct view {
    const struct view_args *args;
    const sluice_dataset *dataset;
    sluice_dataset *open; /* the same, for loaders */
    sluice_loader *loader;
    uint32_t ranks;   /* ranks that rows are spread over */
    uint64_t samples; /* of the dataset */
    uint32_t count;   /* samples shown */
    struct view_row *rows;
    struct sheet sheet;
    struct sheet sources; /* --source: a tile for each row */
    struct layout layout;
    const char *pictures[OPTION_LIST_MAX]; /* the image columns' names */
    uint32_t sides[OPTION_LIST_MAX];
    uint32_t picture_count;
    struct values_source values[OPTION_LIST_MAX]; /* the other columns */
    uint32_t value_count;
    char (*texts)[VALUE_SHOWN]; /* count x value_count */
    struct view_mark marks[OPTION_LIST_MAX];
    uint32_t mark_count, legend_count;
    char (*legends)[LEGEND_SHOWN]; /* count x draws x legend_count: what colours mean */
    uint64_t spacing;              /* loader rows per shown row */
    struct reasons reasons;
    const struct column_set *columns;
    struct column_look look;            /* of the columns' images */
    char (*steps)[PIPELINE_NAME_BYTES]; /* --each-step: the step added by each draw but the first */
};

/* Returns the text of a column that is not drawn, for the first draw of row `row`. */
static inline char *view_text(const struct view *view, uint32_t row, uint32_t value)
{
    return view->texts[(size_t)row * view->value_count + value];
}

/* Returns the meaning of the colours of legend `number` in a draw of row `row`. */
static inline char *view_legend(const struct view *view, uint32_t row, uint64_t draw,
                                uint32_t number)
{
    return view->legends[(row * view->args->draws + draw) * view->legend_count + number];
}

#endif
