/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sluice view: samples as the training loop sees them, on a contact sheet. Each row is a sample,
 * each column another epoch's augmentation of it.
 */
#include "../command.h"
#include "data.h"
#include "exit_code.h"
#include "interrupt.h"
#include "json.h"
#include "options.h"
#include "pipeline.h"
#include "report.h"
#include "sheet.h"

#include <sluice/dataset.h>
#include <sluice/loader.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 256, DRAWS_MAX = 64, PIXELS_MAX = 100000000, KEY_SHOWN = 480 };

struct view_args {
    uint64_t samples, draws, size, seed;
    int pipeline;
    bool case_duplicates;
    bool exact, json;
    const char *dataset, *out;
};

/* What is known of a row after its first draw. */
struct row {
    int64_t sample, label;
    uint8_t status; /* a sluice_row */
};

struct view {
    const struct view_args *args;
    const sluice_dataset *dataset;
    sluice_loader *loader;
    uint32_t count; /* samples shown */
    struct row *rows;
    struct sheet sheet;
};

static int loader_failed(sluice_loader *loader, sluice_status status)
{
    sluice_error error = SLUICE_ERROR_INIT;
    if (sluice_loader_get_error(loader, &error) < 0) {
        return report_error(&error, NULL);
    }
    report("the loader stopped: %s", sluice_status_name(status));
    return report_exit_code(status);
}

/* Takes row `row` of draw `draw` from a batch of one sample. */
static sluice_status take_tile(struct view *view, const sluice_batch *batch, uint32_t row,
                               uint32_t draw)
{
    static const char *const fields[] = {"image", "label", "index", "status"};
    sluice_tensor tensors[4];
    for (int i = 0; i < 4; i++) {
        tensors[i] = (sluice_tensor)SLUICE_TENSOR_INIT;
        sluice_status status = sluice_batch_tensor(batch, fields[i], &tensors[i]);
        if (status < 0) {
            return status;
        }
    }
    const int64_t *label = tensors[1].data;
    const int64_t *index = tensors[2].data;
    const uint8_t *status = tensors[3].data;
    sheet_put_tile(&view->sheet, row, draw, tensors[0].data);
    view->rows[row] = (struct row){.sample = *index, .label = *label, .status = *status};
    return SLUICE_OK;
}

static int draw_column(struct view *view, uint32_t draw)
{
    sluice_status status = sluice_loader_start_epoch(view->loader, draw);
    for (uint32_t row = 0; status >= 0 && row < view->count; row++) {
        sluice_batch *batch = NULL;
        status = sluice_loader_next(view->loader, &batch, -1);
        if (status == SLUICE_OK) {
            status = take_tile(view, batch, row, draw);
            sluice_batch_release(batch);
        }
    }
    return status < 0 ? loader_failed(view->loader, status) : TOOL_FINE;
}

static void caption(const struct view *view, uint32_t row, char *text, size_t bytes)
{
    const struct row *shown = &view->rows[row];
    sluice_sample_info sample = {.struct_size = sizeof sample};
    const char *name = sluice_dataset_class_name(view->dataset, shown->label);
    const char *key = "";
    if (sluice_dataset_get_sample(view->dataset, (uint64_t)shown->sample, &sample, NULL) >= 0) {
        size_t length = strlen(sample.key); /* the end of a long one says more */
        key = sample.key + (length > KEY_SHOWN ? length - KEY_SHOWN : 0);
    }
    snprintf(text, bytes, "#%" PRId64 "  %" PRId64 " %s  %s%.*s", shown->sample, shown->label,
             name == NULL ? "-" : name, shown->status == SLUICE_ROW_OK ? "" : "BAD SAMPLE  ",
             KEY_SHOWN, key);
}

static void print_json(const struct view *view)
{
    struct json json;
    json_begin(&json, stdout);
    json_open_object(&json, NULL);
    json_text(&json, "file", view->args->out);
    json_unsigned(&json, "width", view->sheet.width);
    json_unsigned(&json, "height", view->sheet.height);
    json_unsigned(&json, "draws", view->args->draws);
    json_open_array(&json, "samples");
    for (uint32_t row = 0; row < view->count; row++) {
        json_open_object(&json, NULL);
        json_signed(&json, "sample", view->rows[row].sample);
        json_signed(&json, "label", view->rows[row].label);
        json_text(&json, "class", sluice_dataset_class_name(view->dataset, view->rows[row].label));
        json_bool(&json, "bad", view->rows[row].status != SLUICE_ROW_OK);
        json_close_object(&json);
    }
    json_close_array(&json);
    json_close_object(&json);
}

static int draw_sheet(struct view *view)
{
    for (uint32_t draw = 0; draw < view->args->draws; draw++) {
        int code = draw_column(view, draw);
        if (code != TOOL_FINE) {
            return code;
        }
    }
    for (uint32_t row = 0; row < view->count; row++) {
        char text[640];
        caption(view, row, text, sizeof text);
        sheet_put_caption(&view->sheet, row, text);
    }
    if (!sheet_write_png(&view->sheet, view->args->out)) {
        return TOOL_FAILED;
    }
    if (view->args->json) {
        print_json(view);
    } else {
        printf("%" PRIu32 " samples x %" PRIu64 " draws in %s (%" PRIu32 " x %" PRIu32 " pixels)\n",
               view->count, view->args->draws, view->args->out, view->sheet.width,
               view->sheet.height);
    }
    return TOOL_FINE;
}

/*
 * Rank 0 of W ranks with batches of one row sees samples 0, W, 2W, ... in the dataset's order: with
 * W = samples / rows these are evenly spaced over the whole dataset.
 */
static int open_loader(struct view *view, sluice_dataset *dataset, uint64_t samples)
{
    const struct view_args *args = view->args;
    int code = TOOL_FAILED;
    const struct pipeline_shape shape = {.kind = (enum pipeline)args->pipeline,
                                         .size = (uint32_t)args->size,
                                         .area_min = PIPELINE_AREA_MIN,
                                         .area_max = PIPELINE_AREA_MAX};
    sluice_augment *recipe = pipeline_recipe(&shape, &code);
    if (recipe == NULL) {
        return code;
    }
    uint64_t world = samples / view->count;
    sluice_loader_options options;
    sluice_loader_options_init(&options);
    options.batch_size = 1;
    options.world_size = world > UINT32_MAX ? UINT32_MAX : (uint32_t)world;
    options.shuffle = SLUICE_SHUFFLE_NONE;
    options.on_bad_sample = SLUICE_BAD_MASK;
    options.seed = args->seed;
    options.exact = args->exact;
    options.end_epoch = args->draws;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_status status = sluice_loader_open(&view->loader, dataset, recipe, &options, &error);
    sluice_augment_destroy(recipe);
    return status < 0 ? report_error(&error, NULL) : TOOL_FINE;
}

static int show(struct view *view, sluice_dataset *dataset)
{
    const struct view_args *args = view->args;
    sluice_dataset_info info = {.struct_size = sizeof info};
    if (sluice_dataset_get_info(dataset, &info) < 0) {
        report("the dataset does not say what it holds; please report this as a bug");
        return TOOL_FAILED;
    }
    view->count = (uint32_t)(args->samples < info.samples ? args->samples : info.samples);
    view->rows = calloc(view->count, sizeof *view->rows);
    if (view->rows == NULL ||
        !sheet_create(&view->sheet, view->count, (uint32_t)args->draws, (uint32_t)args->size)) {
        report("no memory for a sheet of this size; ask for fewer samples or draws");
        return TOOL_FAILED;
    }
    int code = open_loader(view, dataset, info.samples);
    return code == TOOL_FINE ? draw_sheet(view) : code;
}

static int run(const struct view_args *args)
{
    if (args->samples * args->draws * args->size * args->size > PIXELS_MAX) {
        report("a sheet of more than %d pixels is too large; ask for fewer samples or draws, or a "
               "smaller --size",
               PIXELS_MAX);
        return TOOL_USAGE;
    }
    int code;
    sluice_dataset *dataset = data_open(args->dataset, args->case_duplicates, &code);
    if (dataset == NULL) {
        return code;
    }
    interrupt_say("\nsluice view: interrupted, nothing was written\n");
    struct view view = {.args = args, .dataset = dataset};
    code = show(&view, dataset);
    sluice_loader_close(view.loader);
    sheet_free(&view.sheet);
    free(view.rows);
    sluice_dataset_close(dataset);
    return code;
}

int view_main(int argc, char **argv)
{
    struct view_args args = {.samples = 8, .draws = 6, .size = 224, .out = "sluice-view.png"};
    struct option_row rows[] = {
        {"samples", 'n', OPTION_COUNT, &args.samples, .min = 1, .max = ROWS_MAX, .metavar = "N",
         .help = "rows: samples, evenly spaced over the dataset [8]"},
        {"draws", 'k', OPTION_COUNT, &args.draws, .min = 1, .max = DRAWS_MAX, .metavar = "K",
         .help = "columns: epochs, each with its own augmentation [6]"},
        {"size", 0, OPTION_COUNT, &args.size, .min = 16, .max = 1024, .metavar = "PIXELS",
         .help = "side of a picture [224]"},
        {"pipeline", 'p', OPTION_CHOICE, &args.pipeline, .choices = pipeline_words,
         .help = "random crops and flips, or the centre [train]"},
        {"seed", 0, OPTION_COUNT, &args.seed, .max = UINT64_MAX, .metavar = "S",
         .help = "of the augmentation, as in training [0]"},
        {"exact", 0, OPTION_FLAG, &args.exact,
         .help = "decode at full size also what becomes much smaller"},
        {"output", 'o', OPTION_TEXT, &args.out, .metavar = "FILE",
         .help = "the PNG to write [sluice-view.png]"},
        DATA_CASE_ROW(args.case_duplicates),
        {"json", 0, OPTION_FLAG, &args.json, .help = "print what was drawn as JSON"},
        {.name = NULL},
    };
    struct command_usage usage = {
        .arguments = "DATASET",
        .summary =
            "Draws samples as the training loop sees them: each row is a sample, each column\n"
            "what another epoch makes of it; number, label, class and key stand below.",
        .examples = "  sluice view photos -o sheet.png\n"
                    "  sluice view packed --samples 16 --draws 4 --seed 7 -o sheet.png\n"
                    "  sluice view packed --pipeline eval --draws 1 -o eval.png\n",
        .rows = rows,
        .operands_min = 1,
        .operands_max = 1,
    };
    int code = options_parse(&usage, argc, argv);
    if (code != OPTIONS_GO_ON) {
        return code;
    }
    args.dataset = usage.operands[0];
    return run(&args);
}
