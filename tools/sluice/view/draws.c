/* SPDX-License-Identifier: Apache-2.0 */
#include "draws.h"

#include "exit_code.h"
#include "marks.h"
#include "report.h"
#include "source.h"

#include <stdio.h>

static int loader_failed(sluice_loader *loader, sluice_status status)
{
    sluice_error error = SLUICE_ERROR_INIT;
    if (sluice_loader_get_error(loader, &error) < 0) {
        return report_error(&error, NULL);
    }
    report("the loader stopped: %s", sluice_status_name(status));
    return report_exit_code(status);
}

/* Takes the text below row `row`, from the first draw. */
static sluice_status take_facts(struct view *view, const sluice_batch *batch, uint32_t row)
{
    sluice_tensor index = SLUICE_TENSOR_INIT;
    sluice_tensor state = SLUICE_TENSOR_INIT;
    sluice_sample_info sample = SLUICE_SAMPLE_INFO_INIT;
    sluice_status status = sluice_batch_tensor(batch, "index", &index);
    if (status >= 0) {
        status = sluice_batch_tensor(batch, "status", &state);
    }
    if (status < 0) {
        return status;
    }
    const int64_t number = *(const int64_t *)index.data;
    const uint8_t is = *(const uint8_t *)state.data;
    const bool known =
        is == SLUICE_ROW_OK &&
        sluice_dataset_get_sample(view->dataset, (uint64_t)number, &sample, NULL) >= 0;
    view->rows[row] =
        (struct view_row){.sample = number, .label = known ? sample.label : -1, .status = is};
    for (uint32_t i = 0; status >= 0 && i < view->value_count; i++) {
        status = values_describe(batch, &view->values[i], view_text(view, row, i), VALUE_SHOWN);
    }
    return status;
}

/* Takes the size of the image in a batch of one row; sizes may vary. */
static sluice_status take_size(const sluice_batch *batch, const char *name,
                               const sluice_tensor *image, struct picture_size *size)
{
    char sizes_name[64];
    sluice_tensor sizes = SLUICE_TENSOR_INIT;
    *size = (struct picture_size){.width = (uint64_t)image->shape[2],
                                  .height = (uint64_t)image->shape[1]};
    if (image->dims > 2) {
        return SLUICE_OK;
    }
    snprintf(sizes_name, sizeof sizes_name, "%s.sizes", name);
    const sluice_status status = sluice_batch_tensor(batch, sizes_name, &sizes);
    if (status == SLUICE_OK) {
        const int32_t *sides = sizes.data;
        *size = (struct picture_size){.width = (uint64_t)sides[1], .height = (uint64_t)sides[0]};
    }
    return status;
}

/* Takes row `row` of draw `draw` from a batch of one sample. */
static sluice_status take_row(struct view *view, const sluice_batch *batch, uint32_t row,
                              uint32_t draw)
{
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; i < view->picture_count && status >= 0; i++) {
        sluice_tensor image = SLUICE_TENSOR_INIT;
        struct picture_size size = {.width = 0};
        status = sluice_batch_tensor(batch, view->pictures[i], &image);
        if (status == SLUICE_OK) {
            status = take_size(batch, view->pictures[i], &image, &size);
        }
        if (status < 0) {
            return status;
        }
        const struct sheet_place at = {row, draw, i};
        sheet_put_tile(&view->sheet, at, image.data, size.width, size.height);
        status = marks_draw(view, batch, at, size);
    }
    if (view->args->source && status >= 0) {
        status = source_outline(view, batch, row, draw);
    }
    return draw == 0 && status >= 0 ? take_facts(view, batch, row) : status;
}

typedef sluice_status take(struct view *view, const sluice_batch *batch, uint32_t row,
                           uint32_t draw);

static sluice_status take_source(struct view *view, const sluice_batch *batch, uint32_t row,
                                 uint32_t draw)
{
    (void)draw;
    return source_take(view, batch, row);
}

/* Takes each row that is shown from an epoch of the loader. */
static int take_rows(struct view *view, uint64_t epoch, take *take_one, uint32_t draw)
{
    sluice_status status = sluice_loader_start_epoch(view->loader, epoch);
    const uint64_t rows = view->count * view->spacing;
    for (uint64_t i = 0; status >= 0 && i + view->spacing <= rows; i++) {
        sluice_batch *batch = NULL;
        status = sluice_loader_next(view->loader, &batch, -1);
        if (status == SLUICE_OK && i % view->spacing == 0) {
            status = take_one(view, batch, (uint32_t)(i / view->spacing), draw);
        }
        if (status >= 0) {
            sluice_batch_release(batch);
        }
    }
    return status < 0 ? loader_failed(view->loader, status) : TOOL_FINE;
}

/* Opens a loader in place of the previous one. */
static int open_loader(struct view *view, const struct column_set *set,
                       const struct column_look *look)
{
    const struct view_args *args = view->args;
    struct column_source source;
    sluice_loader_options options = args->options;
    report_warnings(view->loader);
    sluice_loader_close(view->loader);
    view->loader = NULL;
    int code = column_set_make(set, look, &source, &options);
    if (code != TOOL_FINE) {
        return code;
    }
    options.batch_size = 1;
    options.max_sample_bytes = args->folder.max_sample;
    options.world_size = view->ranks;
    options.quarantine_path = reasons_begin(&view->reasons);
    options.shuffle = SLUICE_SHUFFLE_NONE;
    options.on_bad_sample = SLUICE_BAD_MASK;
    options.end_epoch = args->draws;
    sluice_error error = SLUICE_ERROR_INIT;
    if (sluice_loader_open(&view->loader, view->open, source.recipe, &options, &error) < 0) {
        code = report_error(&error, NULL);
    }
    column_source_free(&source);
    return code;
}

static int take_sources(struct view *view)
{
    static struct column_set set;
    struct column_look look = view->look;
    look.shape.steps = NULL;
    source_set_up(view, view->columns, &set);
    const int code = open_loader(view, &set, &look);
    return code == TOOL_FINE ? take_rows(view, 0, take_source, 0) : code;
}

static int take_draw(struct view *view, uint32_t draw)
{
    struct column_look look = view->look;
    look.shape.first = view->steps != NULL ? draw + 1 : 0;
    const bool opens = draw == 0 || view->steps != NULL;
    const int code = opens ? open_loader(view, view->columns, &look) : TOOL_FINE;
    const uint64_t epoch = view->steps == NULL ? draw : 0;
    return code == TOOL_FINE ? take_rows(view, epoch, take_row, draw) : code;
}

int draws_take(struct view *view)
{
    int code = view->args->source ? take_sources(view) : TOOL_FINE;
    for (uint32_t draw = 0; code == TOOL_FINE && draw < view->args->draws; draw++) {
        code = take_draw(view, draw);
    }
    return code;
}
