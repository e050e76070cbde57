/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sluice view: samples as the training loop sees them, on a contact sheet. Each row is a sample,
 * each column another epoch's augmentation of it. What else a row holds is text: on a page that a
 * browser shows, or, where the sheet is a PNG, on stdout.
 */
#include "../command.h"
#include "column_set.h"
#include "data.h"
#include "exit_code.h"
#include "files.h"
#include "interrupt.h"
#include "json.h"
#include "options.h"
#include "page.h"
#include "pipeline.h"
#include "reasons.h"
#include "report.h"
#include "safe_text.h"
#include "sheet.h"
#include "values.h"

#include <sluice/dataset.h>
#include <sluice/loader.h>

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { ROWS_MAX = 256, DRAWS_MAX = 64, KEY_SHOWN = 480, VALUE_SHOWN = 512 };
/* Of sluice_loader_options.world_size. */
enum { WORLD_MAX = 1 << 20 };
/* Of the pictures alone, and with what stands between them. */
enum { PIXELS_MAX = 100000000, SHEET_PIXELS_MAX = 2 * PIXELS_MAX };
enum { CAPTION_BYTES = 640, STEPS_SHOWN = 2400 };

struct view_args {
    uint64_t samples, draws, size, padding;
    int pipeline;
    struct data_folder folder;
    sluice_loader_options options;
    bool json, each_step;
    const char *dataset, *out, *augment;
    struct option_list columns;
};

/* What is known of a row after its first draw. */
struct row {
    int64_t sample, label;
    uint8_t status; /* a sluice_row */
};

struct view {
    const struct view_args *args;
    const sluice_dataset *dataset;
    sluice_dataset *open; /* the same, for loaders */
    sluice_loader *loader;
    uint32_t ranks; /* that rows are spread over */
    uint32_t count; /* samples shown */
    struct row *rows;
    struct sheet sheet;
    const char *pictures[OPTION_LIST_MAX]; /* the image columns' names */
    uint32_t sides[OPTION_LIST_MAX];
    uint32_t picture_count;
    struct values_source values[OPTION_LIST_MAX]; /* the other columns */
    uint32_t value_count;
    char (*texts)[VALUE_SHOWN]; /* count x value_count */
    uint64_t spacing;           /* the loader's rows that one shown stands for */
    struct reasons reasons;
    const struct column_set *columns;
    char (*steps)[PIPELINE_NAME_BYTES]; /* --each-step: what each draw but the first adds */
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

static char *text_of(const struct view *view, uint32_t row, uint32_t value)
{
    return view->texts[(size_t)row * view->value_count + value];
}

/* ---- taking ---- */

/* What stands below row `row`: of the first draw. */
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
        (struct row){.sample = number, .label = known ? sample.label : -1, .status = is};
    for (uint32_t i = 0; status >= 0 && i < view->value_count; i++) {
        status = values_describe(batch, &view->values[i], text_of(view, row, i), VALUE_SHOWN);
    }
    return status;
}

/* Takes row `row` of draw `draw` from a batch of one sample. */
static sluice_status take_row(struct view *view, const sluice_batch *batch, uint32_t row,
                              uint32_t draw)
{
    for (uint32_t i = 0; i < view->picture_count; i++) {
        sluice_tensor image = SLUICE_TENSOR_INIT;
        const sluice_status status = sluice_batch_tensor(batch, view->pictures[i], &image);
        if (status < 0) {
            return status;
        }
        sheet_put_tile(&view->sheet, row, draw, i, image.data);
    }
    return draw == 0 ? take_facts(view, batch, row) : SLUICE_OK;
}

static int draw_column(struct view *view, uint32_t draw)
{
    const uint64_t epoch = view->steps == NULL ? draw : 0;
    sluice_status status = sluice_loader_start_epoch(view->loader, epoch);
    const uint64_t rows = view->count * view->spacing;
    for (uint64_t i = 0; status >= 0 && i + view->spacing <= rows; i++) {
        sluice_batch *batch = NULL;
        status = sluice_loader_next(view->loader, &batch, -1);
        if (status == SLUICE_OK && i % view->spacing == 0) {
            status = take_row(view, batch, (uint32_t)(i / view->spacing), draw);
        }
        if (status >= 0) {
            sluice_batch_release(batch);
        }
    }
    return status < 0 ? loader_failed(view->loader, status) : TOOL_FINE;
}

/* ---- showing ---- */

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

/* "1 random_resized_crop:224:224, 2 random_flip": which picture shows what. */
static void describe_steps(const struct view *view, char *text, size_t bytes)
{
    size_t used = (size_t)snprintf(text, bytes, "0 the picture");
    for (uint64_t i = 1; i < view->args->draws && used < bytes; i++) {
        used +=
            (size_t)snprintf(text + used, bytes - used, ", %" PRIu64 " %s", i, view->steps[i - 1]);
    }
}

static void print_captions(const struct view *view)
{
    if (view->steps != NULL) {
        char text[STEPS_SHOWN];
        describe_steps(view, text, sizeof text);
        printf("%s\n", SAFE(text));
    }
    for (uint32_t row = 0; row < view->count; row++) {
        char text[CAPTION_BYTES];
        caption(view, row, text, sizeof text);
        printf("%s\n", SAFE(text));
        for (uint32_t i = 0; i < view->value_count; i++) {
            printf("    %s: %s\n", SAFE(view->values[i].column), SAFE(text_of(view, row, i)));
        }
    }
}

/* The pictures of a row, between the caption and the values. */
static bool put_row(const struct view *view, struct page *page, uint32_t row)
{
    char text[CAPTION_BYTES];
    caption(view, row, text, sizeof text);
    page_put_text(page, "h2", text);
    const struct sheet_strip strip = sheet_row(&view->sheet, row);
    size_t bytes = 0;
    void *png = sheet_png(&view->sheet, strip, &bytes);
    if (png == NULL) {
        return false;
    }
    page_put_png(page, png, bytes, view->sheet.width, strip.height);
    free(png);
    for (uint32_t i = 0; i < view->value_count; i++) {
        snprintf(text, sizeof text, "%s: %s", view->values[i].column, text_of(view, row, i));
        page_put_text(page, "p", text);
    }
    return true;
}

/* False: reported. */
static bool make_page(const struct view *view, struct page *page)
{
    bool done = page_begin(page, view->args->dataset);
    if (done && view->steps != NULL) {
        char text[STEPS_SHOWN];
        describe_steps(view, text, sizeof text);
        page_put_text(page, "p", text);
    }
    for (uint32_t row = 0; done && row < view->count; row++) {
        if (!put_row(view, page, row)) {
            return false;
        }
    }
    if (!done || !page_end(page)) {
        report("out of memory for the page; ask for fewer samples or draws");
        return false;
    }
    return true;
}

static bool is_page(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot != NULL && (strcasecmp(dot, ".html") == 0 || strcasecmp(dot, ".htm") == 0);
}

static bool cannot_write(const char *path)
{
    char text[128] = "";
    report("cannot write %s: %s", path, strerror_r(errno, text, sizeof text));
    return false;
}

/* False: reported. */
static bool write_sheet(const struct view *view)
{
    const char *path = view->args->out;
    struct page page = {0};
    void *png = NULL;
    size_t size = 0;
    bool done = false;
    if (is_page(path)) {
        done = make_page(view, &page);
    } else {
        png = sheet_png(&view->sheet, sheet_whole(&view->sheet), &size);
        done = png != NULL;
    }
    if (done &&
        !(png != NULL ? files_write(path, png, size) : files_write(path, page.text, page.size))) {
        done = cannot_write(path);
    }
    free(png);
    page_free(&page);
    return done;
}

/* The sample's file, whole, where it can be told. */
static const char *file_of(const struct view *view, const struct row *shown,
                           sluice_sample_info *sample, const struct reason *reason)
{
    const bool known =
        sluice_dataset_get_sample(view->dataset, (uint64_t)shown->sample, sample, NULL) >= 0;
    return known ? sample->file : reason->file;
}

static void write_reason(const struct view *view, struct json *json, const struct row *shown)
{
    sluice_sample_info sample = SLUICE_SAMPLE_INFO_INIT;
    struct reason reason;
    if (shown->status == SLUICE_ROW_OK || !reasons_find(&view->reasons, shown->sample, &reason)) {
        json_null(json, "error");
        return;
    }
    json_open_object(json, "error");
    json_text(json, "status", reason.status);
    json_text(json, "file", file_of(view, shown, &sample, &reason));
    json_signed(json, "offset", reason.offset);
    json_text(json, "text", reason.text);
    json_close_object(json);
}

static void print_reasons(const struct view *view)
{
    for (uint32_t row = 0; row < view->count; row++) {
        const struct row *shown = &view->rows[row];
        sluice_sample_info sample = SLUICE_SAMPLE_INFO_INIT;
        struct reason reason;
        if (shown->status != SLUICE_ROW_OK) {
            if (!reasons_find(&view->reasons, shown->sample, &reason)) {
                reason = (struct reason){.text = "no reason is known"};
            }
            printf("bad: sample %" PRId64 ", %s: %s\n", shown->sample,
                   SAFE(file_of(view, shown, &sample, &reason)), SAFE(reason.text));
        }
    }
}

static void write_row(const struct view *view, struct json *json, uint32_t row)
{
    const struct row *shown = &view->rows[row];
    json_open_object(json, NULL);
    json_signed(json, "sample", shown->sample);
    json_signed(json, "label", shown->label);
    json_text(json, "class", sluice_dataset_class_name(view->dataset, shown->label));
    json_bool(json, "bad", shown->status != SLUICE_ROW_OK);
    write_reason(view, json, shown);
    json_open_object(json, "values");
    for (uint32_t i = 0; i < view->value_count; i++) {
        json_text(json, view->values[i].column, text_of(view, row, i));
    }
    json_close_object(json);
    json_close_object(json);
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
    json_open_array(&json, "pictures");
    for (uint32_t i = 0; i < view->picture_count; i++) {
        json_text(&json, NULL, view->pictures[i]);
    }
    json_close_array(&json);
    json_open_array(&json, "steps");
    for (uint64_t i = 1; view->steps != NULL && i < view->args->draws; i++) {
        json_text(&json, NULL, view->steps[i - 1]);
    }
    json_close_array(&json);
    json_open_array(&json, "samples");
    for (uint32_t row = 0; row < view->count; row++) {
        write_row(view, &json, row);
    }
    json_close_array(&json);
    json_close_object(&json);
}

static int open_loader(struct view *view, uint32_t draw);

static int draw_sheet(struct view *view)
{
    for (uint32_t draw = 0; draw < view->args->draws; draw++) {
        int code = draw == 0 || view->steps != NULL ? open_loader(view, draw) : TOOL_FINE;
        code = code == TOOL_FINE ? draw_column(view, draw) : code;
        if (code != TOOL_FINE) {
            return code;
        }
    }
    interrupt_settle();
    reasons_read(&view->reasons);
    if (!write_sheet(view)) {
        return TOOL_FAILED;
    }
    if (view->args->json) {
        print_json(view);
    } else {
        printf("%" PRIu32 " samples x %" PRIu64 " draws in %s (%" PRIu32 " x %" PRIu32 " pixels)\n",
               view->count, view->args->draws, SAFE(view->args->out), view->sheet.width,
               view->sheet.height);
        if (!is_page(view->args->out)) {
            print_captions(view);
        }
        print_reasons(view);
    }
    return TOOL_FINE;
}

/* ---- opening ---- */

static struct column_look look_of(const struct view_args *args)
{
    return (struct column_look){.shape = {.kind = (enum pipeline)args->pipeline,
                                          .size = (uint32_t)args->size,
                                          .area_min = PIPELINE_AREA_MIN,
                                          .area_max = PIPELINE_AREA_MAX,
                                          .padding = (uint32_t)args->padding,
                                          .steps = args->augment},
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

/* Sorts columns into those that are drawn and those that are written below. A plain label is there
 * anyway. */
static int sort_columns(struct view *view, const struct column_set *set,
                        const struct column_look *look)
{
    for (uint32_t i = 0; i < set->count; i++) {
        const struct column_spec *spec = &set->specs[i];
        if (spec->kind == SLUICE_COLUMN_IMAGE) {
            view->sides[view->picture_count] = column_side(spec, look);
            view->pictures[view->picture_count++] = spec->name;
        } else if (set->asked || strcmp(spec->name, "label") != 0) {
            view->values[view->value_count++] = (struct values_source){
                .column = spec->name,
                .is_text = is_text(view->dataset, spec->field),
                .is_padded = spec->kind == SLUICE_COLUMN_PADDED,
            };
        }
    }
    if (view->picture_count == 0) {
        report("there is nothing to draw: %s",
               set->asked ? "no --column is of kind image" : "the dataset has no pictures");
        return TOOL_USAGE;
    }
    return TOOL_FINE;
}

/* Opens the loader of draw `draw`, in the place of the one before. */
static int open_loader(struct view *view, uint32_t draw)
{
    const struct view_args *args = view->args;
    struct column_look look = look_of(args);
    struct column_source source;
    sluice_loader_options options = args->options;
    look.shape.first = view->steps != NULL ? draw + 1 : 0;
    sluice_loader_close(view->loader);
    view->loader = NULL;
    int code = column_set_make(view->columns, &look, &source, &options);
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
    if (sheet_pixels(&plan) > SHEET_PIXELS_MAX) {
        return too_large();
    }
    view->rows = calloc(view->count, sizeof *view->rows);
    view->texts = calloc((size_t)view->count * view->value_count + 1, sizeof *view->texts);
    if (view->rows == NULL || view->texts == NULL || !sheet_create(&view->sheet, &plan)) {
        report("out of memory for a sheet of this size; ask for fewer samples or draws");
        return TOOL_FAILED;
    }
    return TOOL_FINE;
}

/*
 * Rank 0 of W ranks with batches of one row sees samples 0, W, 2W, ... in the dataset's order: with
 * W = samples / rows these are evenly spaced over the whole dataset. W has a limit; above it, only
 * each so-many-th of the rows is shown. Of what is read from front to back it is the first samples,
 * which need not be unpacked for long.
 */
static void spread_rows(struct view *view, const sluice_dataset_info *info)
{
    const uint64_t apart = info->front_to_back != 0 ? 1 : info->samples / view->count;
    view->spacing = (apart + WORLD_MAX - 1) / WORLD_MAX;
    view->ranks = (uint32_t)(apart / view->spacing);
}

static int show(struct view *view, sluice_dataset *dataset, struct column_set *set)
{
    const struct column_look look = look_of(view->args);
    sluice_dataset_info info = {.struct_size = sizeof info};
    if (sluice_dataset_get_info(dataset, &info) < 0) {
        report("the dataset does not say what it holds; please report this as a bug");
        return TOOL_FAILED;
    }
    view->count =
        (uint32_t)(view->args->samples < info.samples ? view->args->samples : info.samples);
    int code = column_set_complete(set, dataset);
    if (code == TOOL_FINE) {
        code = sort_columns(view, set, &look);
    }
    if (code == TOOL_FINE) {
        code = make_space(view);
    }
    if (code != TOOL_FINE) {
        return code;
    }
    spread_rows(view, &info);
    view->columns = set;
    view->open = dataset;
    return draw_sheet(view);
}

/* The steps of the pipeline, of which each draw shows one more. */
static int list_steps(struct view_args *args, char (*steps)[PIPELINE_NAME_BYTES], uint32_t most)
{
    if (args->columns.count > 0) {
        report("--each-step shows the steps of --pipeline and --augment: it does not go with "
               "--column");
        return TOOL_USAGE;
    }
    const struct column_look look = look_of(args);
    const uint32_t count = pipeline_steps(&look.shape, steps, most);
    args->draws = count + 1;
    return count > 0 && count <= most ? TOOL_FINE : TOOL_USAGE;
}

static int run(struct view_args *args)
{
    static struct column_set set;
    static struct view view;
    static char steps[DRAWS_MAX][PIPELINE_NAME_BYTES];
    if (args->each_step && list_steps(args, steps, DRAWS_MAX - 1) != TOOL_FINE) {
        return TOOL_USAGE;
    }
    if (args->samples * args->draws * args->size * args->size > PIXELS_MAX) {
        return too_large();
    }
    int code = column_set_parse(&set, &args->columns);
    if (code != TOOL_FINE) {
        return code;
    }
    if (!files_can_write(args->out)) {
        (void)cannot_write(args->out);
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
                         .steps = args->each_step ? steps : NULL};
    code = show(&view, dataset, &set);
    sluice_loader_close(view.loader);
    reasons_end(&view.reasons);
    sheet_free(&view.sheet);
    free(view.rows);
    free(view.texts);
    sluice_dataset_close(dataset);
    return code;
}

int view_main(int argc, char **argv)
{
    struct view_args args = {.samples = 8,
                             .draws = 6,
                             .size = 224,
                             .padding = PIPELINE_PADDING,
                             .folder = DATA_FOLDER_INIT,
                             .options = SLUICE_LOADER_OPTIONS_INIT,
                             .out = "sluice-view.png"};
    const struct option_row rows[] = {
        {"samples", 'n', OPTION_COUNT, &args.samples, .min = 1, .max = ROWS_MAX, .metavar = "N",
         .help = "rows: samples, evenly spaced over the dataset; of compressed tars the first [8]"},
        {"draws", 'k', OPTION_COUNT, &args.draws, .min = 1, .max = DRAWS_MAX, .metavar = "K",
         .help = "columns: epochs, each with its own augmentation [6]"},
        COLUMN_ROW(args.columns),
        {"size", 0, OPTION_COUNT, &args.size, .min = 16, .max = 1024, .metavar = "PIXELS",
         .help = "side of a picture [224]"},
        {"pipeline", 'p', OPTION_CHOICE, &args.pipeline, .choices = pipeline_words,
         .help = "random crops and flips, the centre, or padded random crops [train]"},
        {"padding", 0, OPTION_COUNT, &args.padding, .max = 16384, .metavar = "PIXELS",
         .help = "black pixels on each side before --pipeline crop [4]"},
        AUGMENT_ROW(args.augment),
        {"each-step", 0, OPTION_FLAG, &args.each_step,
         .help = "columns: the picture after each step, instead of epochs"},
        {LIBRARY_ROW(LOADER, args.options, "seed"),
         .help = "of the augmentation, as in training [0]"},
        {LIBRARY_ROW(LOADER, args.options, "exact")},
        {"output", 'o', OPTION_TEXT, &args.out, .metavar = "FILE",
         .help = "a PNG of the pictures, or a page with the text, FILE.html [sluice-view.png]"},
        DATA_FOLDER_ROWS(args.folder),
        {"json", 0, OPTION_FLAG, &args.json, .help = "print what was drawn as JSON"},
        {.name = NULL},
    };
    struct command_usage usage = {
        .arguments = "DATASET",
        .summary =
            "Draws samples as the training loop sees them: each row is a sample, each column\n"
            "what another epoch makes of it. Number, label, class, key and what else was asked\n"
            "for stand on the page (FILE.html), or are printed. Several image columns stand side\n"
            "by side.",
        .examples =
            "  sluice view photos -o sheet.html\n"
            "  sluice view packed --samples 16 --draws 4 --seed 7 -o sheet.png\n"
            "  sluice view packed --pipeline eval --draws 1 -o eval.png\n"
            "  sluice view packed --augment rand_augment+random_erasing:1 --each-step\n"
            "  sluice view packed --column image:image --column small=image:image,size=64\n",
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
