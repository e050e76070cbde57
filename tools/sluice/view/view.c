/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sluice view: samples as the training loop sees them, on a contact sheet. Each row is a sample,
 * each of its images another epoch's augmentation of it. The other columns of a row are text on the
 * sheet, and, if the sheet is a PNG, also on stdout. Main thread.
 */
#include "../command.h"
#include "draws.h"
#include "exit_code.h"
#include "followers.h"
#include "interrupt.h"
#include "marks.h"
#include "pipeline.h"
#include "report.h"
#include "sheet_file.h"
#include "source.h"
#include "view_job.h"
#include "view_report.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 256, DRAWS_MAX = 64, DRAWS_PRESET = 6, DRAWS_UNSET = 0 };
/* Limit of sluice_loader_options.world_size. */
enum { WORLD_MAX = 1 << 20 };
enum { PIXELS_MAX = 100000000 }; /* of all tiles */

static struct column_look look_of(const struct view_args *args)
{
    return (struct column_look){.shape = {.kind = (enum pipeline)args->pipeline,
                                          .size = (uint32_t)args->size,
                                          .area_min = PIPELINE_AREA_MIN,
                                          .area_max = PIPELINE_AREA_MAX,
                                          .padding = (uint32_t)args->padding,
                                          .steps = args->augment,
                                          .unmixed = true},
                                .bytes = true};
}

static bool is_text(const sluice_dataset *dataset, const char *name)
{
    sluice_field field = SLUICE_FIELD_INIT;
    for (uint32_t i = 0; sluice_dataset_get_field(dataset, i, &field) == SLUICE_OK; i++) {
        if (strcmp(field.name, name) == 0) {
            return field.type == SLUICE_FIELD_TEXT;
        }
    }
    return false;
}

/* Sorts columns into drawn ones and those written below. A plain label is always shown. */
static int sort_columns(struct view *view, const struct column_set *set,
                        const struct column_look *look)
{
    for (uint32_t i = 0; i < set->count; i++) {
        const struct column_spec *spec = &set->specs[i];
        if (spec->column.kind == SLUICE_COLUMN_IMAGE) {
            view->sides[view->picture_count] = column_side(spec, look);
            view->pictures[view->picture_count++] = spec->name;
        } else if (marks_are_drawn_only(spec)) {
            continue;
        } else if (set->asked || strcmp(spec->name, "label") != 0) {
            view->values[view->value_count++] = (struct values_source){
                .column = spec->name,
                .is_text = is_text(view->dataset, spec->field),
                .is_padded = spec->column.kind == SLUICE_COLUMN_PADDED || spec->column.padded != 0,
                .is_drawn = marks_are_drawn(spec),
                .in_legend = marks_are_of_boxes(view, set, spec),
            };
        }
    }
    marks_find(view, set);
    if (view->picture_count == 0) {
        report("there is nothing to draw: %s",
               set->asked ? "no --column is of kind image" : "the dataset has no images");
        return TOOL_USAGE;
    }
    return TOOL_FINE;
}

static int too_large(void)
{
    report("a sheet of more than %d pixels is too large; ask for fewer samples or draws, or a "
           "smaller --size",
           PIXELS_MAX);
    return TOOL_USAGE;
}

static int make_space(struct view *view)
{
    const struct sheet_plan plan = {.rows = view->count,
                                    .draws = (uint32_t)view->args->draws,
                                    .group = view->picture_count,
                                    .sides = view->sides};
    const struct sheet_plan whole = {
        .rows = view->count, .draws = 1, .group = 1, .sides = view->sides};
    if (sheet_pixels(&plan) > PIXELS_MAX) {
        return too_large();
    }
    view->rows = calloc(view->count, sizeof *view->rows);
    view->texts = calloc((size_t)view->count * view->value_count + 1, sizeof *view->texts);
    view->legends = calloc((size_t)view->count * view->args->draws * view->legend_count + 1,
                           sizeof *view->legends);
    view->layout.tops = calloc(view->count, sizeof *view->layout.tops);
    if (view->rows == NULL || view->texts == NULL || view->legends == NULL ||
        view->layout.tops == NULL || !sheet_create(&view->sheet, &plan) ||
        (view->args->source && !sheet_create(&view->sources, &whole))) {
        report("out of memory for a sheet of this size; ask for fewer samples or draws");
        return TOOL_FAILED;
    }
    return TOOL_FINE;
}

/*
 * Spreads the rows. Rank 0 of W ranks with batches of one row sees samples 0, W, 2W, ... in the
 * dataset's order: with W = samples / rows these are evenly spaced over the whole dataset. W has a
 * limit; above it, only every nth row is shown. If files are read from front to back, the first
 * samples are shown, which need little unpacking.
 */
static void spread_rows(struct view *view, const sluice_dataset_info *info)
{
    const uint64_t apart = info->front_to_back != 0 ? 1 : info->samples / view->count;
    view->spacing = (apart + WORLD_MAX - 1) / WORLD_MAX;
    view->ranks = (uint32_t)(apart / view->spacing);
}

static int draw_sheet(struct view *view)
{
    const int code = draws_take(view);
    if (code != TOOL_FINE) {
        return code;
    }
    interrupt_settle();
    if (column_set_mixes(view->columns, &view->look)) {
        report_note("mixing (mixup, cutmix, timm_mix) is left out: images are shown one by one, "
                    "without the rest of their batch");
    }
    reasons_read(&view->reasons);
    if (!sheet_file_write(view)) {
        return TOOL_FAILED;
    }
    view_report_print(view);
    return TOOL_FINE;
}

static int show(struct view *view, sluice_dataset *dataset, struct column_set *set)
{
    sluice_dataset_info info = {.struct_size = sizeof info};
    if (sluice_dataset_get_info(dataset, &info) < 0) {
        report("cannot read the dataset's properties: please report this as a bug");
        return TOOL_FAILED;
    }
    view->samples = info.samples;
    view->count =
        (uint32_t)(view->args->samples < info.samples ? view->args->samples : info.samples);
    if (view->args->augment == NULL) { /* steps that mix images work with few samples */
        followers_add(set, dataset);
    }
    int code = column_set_complete(set, dataset);
    if (code == TOOL_FINE) {
        code = sort_columns(view, set, &view->look);
    }
    if (code == TOOL_FINE) {
        code = make_space(view);
    }
    if (code != TOOL_FINE) {
        return code;
    }
    if (view->args->source) {
        code = source_add_places(view, set);
    }
    if (code != TOOL_FINE) {
        return code;
    }
    spread_rows(view, &info);
    view->columns = set;
    view->open = dataset;
    return draw_sheet(view);
}

/* Chooses the pipeline whose steps are shown: the only image column's, or the common one if none
 * was requested. False: reported. */
static bool choose_shape(const struct view_args *args, const struct column_set *set,
                         struct pipeline_shape *shape)
{
    const struct column_look look = look_of(args);
    const struct column_spec *picture = column_set_picture(set, 0);
    if (!set->asked) {
        *shape = look.shape;
        return true;
    }
    if (picture == NULL || column_set_picture(set, (uint32_t)(picture - set->specs) + 1) != NULL) {
        report("--each-step shows the steps of one image: give one --column of kind image");
        return false;
    }
    return column_shape(picture, &look, shape);
}

/* Lists the steps of the pipeline; each draw shows one more. */
static int list_steps(struct view_args *args, const struct column_set *set,
                      char (*steps)[PIPELINE_NAME_BYTES], uint32_t most)
{
    struct pipeline_shape shape;
    if (args->draws != DRAWS_UNSET) {
        report("--each-step shows the steps of one epoch: leave out --draws");
        return TOOL_USAGE;
    }
    if (!choose_shape(args, set, &shape)) {
        return TOOL_USAGE;
    }
    const uint32_t count = pipeline_steps(&shape, steps, most);
    if (count == 0 && shape.kind == PIPELINE_NONE && shape.steps == NULL) {
        report("--each-step: the pipeline has no step");
    }
    args->draws = count + 1;
    return count > 0 && count <= most ? TOOL_FINE : TOOL_USAGE;
}

static int run(struct view_args *args)
{
    static struct column_set set;
    static struct view view;
    static char steps[DRAWS_MAX][PIPELINE_NAME_BYTES];
    int code = column_set_parse(&set, &args->columns);
    if (code != TOOL_FINE) {
        return code;
    }
    if (args->each_step && list_steps(args, &set, steps, DRAWS_MAX - 1) != TOOL_FINE) {
        return TOOL_USAGE;
    }
    args->draws = args->draws == DRAWS_UNSET ? DRAWS_PRESET : args->draws;
    if (args->samples * args->draws * args->size * args->size > PIXELS_MAX) {
        return too_large();
    }
    if (!sheet_file_is_writable(args->out)) {
        return TOOL_FAILED;
    }
    interrupt_end("\nsluice view: interrupted, nothing was written\n", NULL, NULL);
    sluice_dataset *dataset = data_open(args->dataset, &args->folder, &code);
    if (dataset == NULL) {
        return code;
    }
    view = (struct view){.args = args,
                         .dataset = dataset,
                         .reasons = {.fd = -1},
                         .look = look_of(args),
                         .steps = args->each_step ? steps : NULL};
    code = show(&view, dataset, &set);
    report_warnings(view.loader);
    sluice_loader_close(view.loader);
    reasons_end(&view.reasons);
    sheet_free(&view.sheet);
    sheet_free(&view.sources);
    free(view.rows);
    free(view.texts);
    free(view.legends);
    free(view.layout.tops);
    sluice_dataset_close(dataset);
    return code;
}

int view_main(int argc, char **argv)
{
    struct view_args args = {.samples = 8,
                             .draws = DRAWS_UNSET,
                             .size = 224,
                             .padding = PIPELINE_PADDING,
                             .folder = DATA_FOLDER_INIT,
                             .options = SLUICE_LOADER_OPTIONS_INIT,
                             .out = "sluice-view.png"};
    const struct option_row rows[] = {
        OPTION_GROUP("Contents"),
        {"samples", 'n', OPTION_COUNT, &args.samples, .min = 1, .max = ROWS_MAX, .metavar = "N",
         .common = true, .help = "rows: samples evenly spaced over the dataset [8]"},
        {"draws", 'k', OPTION_COUNT, &args.draws, .min = 1, .max = DRAWS_MAX, .metavar = "K",
         .common = true, .help = "columns: epochs, each augmented differently [6]"},
        COLUMN_ROW(args.columns),
        {"size", 0, OPTION_COUNT, &args.size, .min = 16, .max = 1024, .metavar = "PIXELS",
         .common = true, .help = "side of an image [224]"},
        {"pipeline", 'p', OPTION_CHOICE, &args.pipeline, .choices = pipeline_words,
         .metavar = "MODE", .common = true, .help = "image crop: train|eval|crop|none [train]"},
        {"padding", 0, OPTION_COUNT, &args.padding, .max = 16384, .metavar = "PIXELS",
         .help = "black pixels added on each side for --pipeline crop [4]"},
        AUGMENT_ROW(args.augment),
        {"each-step", 0, OPTION_FLAG, &args.each_step, .common = true,
         .help = "columns: the image after each step"},
        {"source", 0, OPTION_FLAG, &args.source, .common = true,
         .help = "also the whole image, with each draw's crop"},
        {LIBRARY_ROW(LOADER, args.options, "seed"), .common = true,
         .help = "seed of the augmentation, as in training [0]"},
        {LIBRARY_ROW(LOADER, args.options, "exact")},
        DATA_FOLDER_ROWS(args.folder),
        OPTION_GROUP("Output"),
        {"output", 'o', OPTION_TEXT, &args.out, .metavar = "FILE", .common = true,
         .help = "PNG, or an HTML page with text [sluice-view.png]"},
        {"json", 0, OPTION_FLAG, &args.json, .common = true, .help = "print the draws as JSON"},
        {.name = NULL},
    };
    struct command_usage usage = {
        .arguments = "DATASET",
        .summary = "Draws samples as the training loop sees them: a row per sample, a column per\n"
                   "epoch. Masks, boxes and points are drawn over the image that they follow.",
        .details =
            "Number, label, class, key and the other columns of a sample are shown beside its\n"
            "images. Several image columns are drawn side by side. For compressed tars, the\n"
            "first samples are shown.",
        .examples = "  sluice view photos -o sheet.html\n"
                    "  sluice view packed --samples 16 --draws 4 --seed 7 -o sheet.png\n"
                    "  sluice view packed --augment rand_augment --each-step\n",
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
