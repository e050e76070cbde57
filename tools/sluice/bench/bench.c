/* SPDX-License-Identifier: Apache-2.0 */
/* sluice bench: the command line. */
#include "../command.h"
#include "accelerator.h"
#include "args.h"
#include "data.h"
#include "exit_code.h"
#include "interrupt.h"
#include "options.h"
#include "outcome.h"
#include "output_file.h"
#include "pipeline.h"
#include "presets.h"
#include "report.h"
#include "sample_classes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t default_batch = 256, default_prefetch = 4;

/* Main thread only, like the whole command line. */
static struct bench_args args = {
    .size = 224,
    .repeats = 5,
    .ahead = 2,
    .area_min = PIPELINE_AREA_MIN,
    .area_max = PIPELINE_AREA_MAX,
    .padding = PIPELINE_PADDING,
    .preset = -1,
    /* Not given: -1. */
    .options = {.struct_size = sizeof args.options, .last_batch = -1, .shuffle = -1},
    .folder = DATA_FOLDER_INIT,
    .ranks = RANKS_GIVEN_INIT,
    .rank_wait_s = 60,
};

static bool has_steps(void)
{
    return args.step_s > 0 || args.preset >= 0 || args.supply_ratio > 0;
}

static uint64_t choose_batch(void)
{
    if (args.options.batch_size > 0) {
        return args.options.batch_size;
    }
    return args.preset >= 0 ? preset_get(args.preset)->batch : default_batch;
}

static bool is_in_host(void)
{
    return args.options.device == NULL || strcmp(args.options.device, "host") == 0;
}

/* Adds the batches that the steps in progress hold in host memory to the loader's own. */
static uint64_t choose_prefetch(void)
{
    if (args.options.prefetch > 0 || !has_steps()) {
        return args.options.prefetch;
    }
    return default_prefetch + (is_in_host() ? args.ahead : 0);
}

/* Chooses the widest shuffle that the dataset supports. */
static int choose_shuffle(const sluice_dataset *dataset)
{
    sluice_dataset_info info = {.struct_size = sizeof info};
    if (args.options.shuffle >= 0) {
        return args.options.shuffle;
    }
    return sluice_dataset_get_info(dataset, &info) == SLUICE_OK && info.front_to_back != 0
               ? SLUICE_SHUFFLE_SHARDS
               : SLUICE_SHUFFLE_FULL;
}

static void fill_options(sluice_loader_options *options, const sluice_dataset *dataset)
{
    *options = args.options;
    options->batch_size = (uint32_t)choose_batch();
    options->prefetch = (uint32_t)choose_prefetch();
    options->shuffle = choose_shuffle(dataset);
    if (options->last_batch < 0) { /* small folders work; but steps should be equal */
        options->last_batch = has_steps() ? SLUICE_LAST_DROP : SLUICE_LAST_SHORT;
    }
    options->max_sample_bytes = args.folder.max_sample;
    options->quarantine_path = NULL; /* only the measured run has one */
}

static int make_columns(const struct column_set *columns, struct column_source *source,
                        sluice_loader_options *options)
{
    const struct column_look look = {.shape = {.kind = (enum pipeline)args.pipeline,
                                               .size = (uint32_t)args.size,
                                               .area_min = args.area_min,
                                               .area_max = args.area_max,
                                               .padding = (uint32_t)args.padding,
                                               .steps = args.augment},
                                     .dtype = args.options.dtype,
                                     .layout = args.options.layout};
    if (args.yardstick != NULL && column_set_picture(columns, 0) == NULL) {
        report("--yardstick decodes images, but no column has images: leave it out");
        return TOOL_USAGE;
    }
    return column_set_make(columns, &look, source, options);
}

static int bench(sluice_dataset *dataset, sluice_dataset *yardstick, struct column_set *columns,
                 const sluice_ranks *ranks)
{
    sluice_dataset_info info = {.struct_size = sizeof info};
    if (sluice_dataset_get_info(yardstick, &info) < 0) {
        report("cannot read the dataset's properties: please report this as a bug");
        return TOOL_FAILED;
    }
    struct bench_job job = {.args = &args,
                            .source = {.dataset = dataset},
                            .yardstick = yardstick,
                            .ranks = *ranks,
                            .samples = info.samples};
    struct column_source source = {NULL, NULL};
    uint32_t *classes = NULL;
    fill_options(&job.source.options, dataset);
    job.source.options.rank = ranks->rank;
    job.source.options.world_size = ranks->world_size;
    int code = sample_classes_take(dataset, &job.source.options, &classes);
    if (code == TOOL_FINE) {
        code = column_set_complete(columns, dataset);
    }
    if (code == TOOL_FINE) {
        code = make_columns(columns, &source, &job.source.options);
    }
    if (code != TOOL_FINE) {
        free(classes);
        return code;
    }
    job.source.recipe = source.recipe;
    job.setting = (struct bench_setting){.dataset = args.dataset,
                                         .options = &job.source.options,
                                         .columns = columns,
                                         .processors = (uint32_t)data_processors(),
                                         .pipeline = args.pipeline,
                                         .price_get = args.price_get};
    bench_setting_look(&job.setting, dataset);
    code = has_steps() ? bench_accelerate(&job) : bench_deliver(&job);
    column_source_free(&source);
    free(classes);
    return code;
}

/* ---- what does not go together ---- */

static int wrong(const char *message)
{
    report("%s", message);
    return TOOL_USAGE;
}

static int check_steps(void)
{
    if ((args.step_s > 0) + (args.preset >= 0) + (args.supply_ratio > 0) > 1) {
        return wrong("--step-ms, --accelerator and --supply-ratio each set the step: give one");
    }
    if (args.scale > 0 && args.preset < 0) {
        return wrong("--scale needs an --accelerator: give one");
    }
    if (args.options.batch_size > 0 && args.preset >= 0) {
        return wrong("--accelerator sets the batch: leave out --batch");
    }
    if (!has_steps() && (args.steps > 0 || args.supply)) {
        return wrong("--steps and --supply need steps: give --step-ms, --accelerator or "
                     "--supply-ratio");
    }
    if (has_steps() && is_in_host() && args.options.prefetch > 0 &&
        args.options.prefetch <= args.ahead) {
        return wrong("--prefetch must be above --ahead: each step in flight holds a batch");
    }
    if (has_steps() && args.options.last_batch == SLUICE_LAST_SHORT) {
        return wrong("training steps need full batches: give --last drop or --last pad");
    }
    if (args.steps > 0 && (args.epochs > 0 || args.seconds > 0)) {
        return wrong("give one of --steps, --epochs and --seconds");
    }
    if (has_steps() && args.yardstick != NULL) {
        return wrong("--yardstick does not work with training steps: leave one of them out");
    }
    return TOOL_FINE;
}

static int check_together(void)
{
    if (args.epochs > 0 && args.seconds > 0) {
        return wrong("give --epochs or --seconds, not both");
    }
    if (args.area_min > args.area_max) {
        report("--area-min %g is above --area-max %g: give a smaller one", args.area_min,
               args.area_max);
        return TOOL_USAGE;
    }
    if (args.options.device_slots > 0 && args.options.device == NULL) {
        return wrong("--device-slots needs a --device: give one");
    }
    return check_steps();
}

/* Reports at once why a device cannot be used, and resolves "auto". */
static int check_device(void)
{
    char text[320];
    if (args.options.device == NULL) {
        return TOOL_FINE;
    }
    if (strcmp(args.options.device, "auto") == 0) {
        const sluice_status first = sluice_device_get_text("cuda:0", text, sizeof text);
        args.options.device = first == SLUICE_OK ? "cuda:0" : "host";
    }
    sluice_status status = sluice_device_get_text(args.options.device, text, sizeof text);
    if (status == SLUICE_OK) {
        return TOOL_FINE;
    }
    report("--device %s: %s; `sluice devices` lists the devices", args.options.device, text);
    return status == SLUICE_INVALID ? TOOL_USAGE : TOOL_FAILED;
}

/* With several ranks, only rank 0 prints and writes the files. */
static int check_ranks(const sluice_ranks *ranks)
{
    static char name[48];
    if (ranks->world_size == 1) {
        return TOOL_FINE;
    }
    if (has_steps() || args.yardstick != NULL) {
        return wrong("several ranks cannot run training steps or a --yardstick: leave them out, or "
                     "give --rank 0 --world-size 1, so that each process measures alone");
    }
    snprintf(name, sizeof name, "bench (rank %" PRIu32 ")", ranks->rank);
    report_set_command(name);
    if (ranks->rank != 0) {
        report_quiet();
        outcome_want_json(false);
        args.trace = NULL;
        args.report = NULL;
    }
    return TOOL_FINE;
}

static int run(void)
{
    static struct column_set columns;
    sluice_ranks ranks;
    int code = check_together();
    if (code == TOOL_FINE) {
        code = ranks_choose(&args.ranks, &ranks);
    }
    if (code == TOOL_FINE) {
        code = check_ranks(&ranks);
    }
    if (code == TOOL_FINE) {
        code = column_set_parse(&columns, &args.columns);
    }
    if (code == TOOL_FINE) {
        code = check_device();
    }
    if (code == TOOL_FINE &&
        !(output_file_is_writable(args.trace) && output_file_is_writable(args.report) &&
          output_file_is_writable(args.options.quarantine_path))) {
        code = TOOL_FAILED;
    }
    if (code != TOOL_FINE) {
        return code;
    }
    sluice_dataset *dataset = data_open(args.dataset, &args.folder, &code);
    if (dataset == NULL) {
        return code;
    }
    sluice_dataset *yardstick = dataset;
    if (args.yardstick != NULL) {
        struct data_folder folder = args.folder;
        folder.fields.count = 0; /* it may have another format */
        yardstick = data_open(args.yardstick, &folder, &code);
    }
    if (yardstick != NULL) {
        interrupt_catch();
        code = bench(dataset, yardstick, &columns, &ranks);
    }
    if (yardstick != dataset) {
        sluice_dataset_close(yardstick);
    }
    sluice_dataset_close(dataset);
    return code;
}

static const struct option_row rows[] = {
    OPTION_GROUP("What comes out"),
    COLUMN_ROW(args.columns),
    {LIBRARY_ROW(LOADER, args.options, "batch"), .letter = 'b', .common = true},
    {"size", 0, OPTION_COUNT, &args.size, .min = 16, .max = 2048, .metavar = "PIXELS",
     .common = true, .help = "side of the output images [224]"},
    {"pipeline", 'p', OPTION_CHOICE, &args.pipeline, .choices = pipeline_words, .metavar = "MODE",
     .common = true, .help = "image crop: train|eval|crop|none [train]"},
    AUGMENT_ROW(args.augment),
    {"area-min", 0, OPTION_REAL, &args.area_min, .low = 0.0001, .high = 1, .metavar = "PART",
     .help = "smallest random crop, as a fraction of the image area [0.08]"},
    {"area-max", 0, OPTION_REAL, &args.area_max, .low = 0.0001, .high = 1, .metavar = "PART",
     .help = "largest random crop, as a fraction of the image area [1]"},
    {"padding", 0, OPTION_COUNT, &args.padding, .max = 16384, .metavar = "PIXELS",
     .help = "black pixels added on each side for --pipeline crop [4]"},
    {LIBRARY_ROW(LOADER, args.options, "dtype")},
    {LIBRARY_ROW(LOADER, args.options, "layout")},
    {LIBRARY_ROW(LOADER, args.options, "exif")},
    {LIBRARY_ROW(LOADER, args.options, "exact")},
    {LIBRARY_ROW(LOADER, args.options, "buckets")},
    {LIBRARY_ROW(LOADER, args.options, "partners")},
    OPTION_GROUP("Order"),
    {LIBRARY_ROW(LOADER, args.options, "shuffle"), .metavar = "ORDER",
     .help = "full|block|none|shards [full; for compressed files: shards]"},
    {LIBRARY_ROW(LOADER, args.options, "seed")},
    {LIBRARY_ROW(LOADER, args.options, "last"), .metavar = "ACTION",
     .help = "partial last batch: drop|pad|short|repeat|wrap [short; steps: drop]"},
    {LIBRARY_ROW(LOADER, args.options, "block-samples")},
    {LIBRARY_ROW(LOADER, args.options, "window-blocks")},
    {LIBRARY_ROW(LOADER, args.options, "window-bytes")},
    {LIBRARY_ROW(LOADER, args.options, "episode-classes")},
    {LIBRARY_ROW(LOADER, args.options, "episode-samples")},
    {LIBRARY_ROW(LOADER, args.options, "episodes")},
    {LIBRARY_ROW(LOADER, args.options, "weights")},
    {LIBRARY_ROW(LOADER, args.options, "num-samples")},
    {LIBRARY_ROW(LOADER, args.options, "lengths")},
    {LIBRARY_ROW(LOADER, args.options, "length-groups")},
    {LIBRARY_ROW(LOADER, args.options, "repeat-samples")},
    {LIBRARY_ROW(LOADER, args.options, "level")},
    OPTION_GROUP("Length"),
    {"epochs", 'e', OPTION_COUNT, &args.epochs, .min = 1, .max = 1000000000, .metavar = "E",
     .help = "epochs to measure (with steps: per arm) [3s of them, at least 2]"},
    {"seconds", 't', OPTION_DURATION, &args.seconds, .low = 0.05, .high = 1e6, .metavar = "TIME",
     .common = true, .help = "time to measure in all, e.g. 5s [by --epochs]"},
    OPTION_GROUP("Training steps"),
    {"step-ms", 0, OPTION_DURATION, &args.step_s, .low = 1e-6, .high = 3600, .plain_factor = 1e-3,
     .metavar = "MS", .common = true, .help = "feed training steps of this length [no steps]"},
    {"accelerator", 0, OPTION_CHOICE, &args.preset, .choices = preset_words, .metavar = "MODEL",
     .help = "or the steps of a known MODEL, e.g. resnet50-h100 [no steps]"},
    {"scale", 0, OPTION_REAL, &args.scale, .low = 0.0001, .high = 1, .metavar = "PART",
     .help = "fraction of the --accelerator to feed: steps 1/PART as long [1]"},
    {"supply-ratio", 0, OPTION_REAL, &args.supply_ratio, .low = 0.01, .high = 100,
     .metavar = "RATIO",
     .help = "or steps that need 1/RATIO of the measured supply; implies --supply"},
    {"supply", 0, OPTION_FLAG, &args.supply,
     .help = "measure the supply in every repeat, to predict the utilisation"},
    {"steps", 0, OPTION_COUNT, &args.steps, .min = 1, .max = 10000000, .metavar = "N",
     .help = "steps per arm and repeat [3s of them, at least 30]"},
    {"repeats", 0, OPTION_COUNT, &args.repeats, .min = 1, .max = 1000, .metavar = "N",
     .help = "repeats of the three arms, interleaved [5]"},
    {"ahead", 0, OPTION_COUNT, &args.ahead, .max = BENCH_AHEAD_MAX, .metavar = "N",
     .help = "steps that the host may run ahead; 0: it waits for each [2]"},
    OPTION_GROUP("Reading"),
    {LIBRARY_ROW(LOADER, args.options, "io")},
    {LIBRARY_ROW(LOADER, args.options, "cache"), .metavar = "MODE",
     .help = "use of the page cache: auto|buffered|direct|drop [auto]"},
    {LIBRARY_ROW(LOADER, args.options, "io-depth")},
    {LIBRARY_ROW(LOADER, args.options, "io-threads")},
    {LIBRARY_ROW(LOADER, args.options, "whole-samples")},
    {LIBRARY_ROW(LOADER, args.options, "stall-warn")},
    {LIBRARY_ROW(LOADER, args.options, "stall-fail")},
    OPTION_GROUP("Threads and memory"),
    {LIBRARY_ROW(LOADER, args.options, "workers"), .letter = 'w', .common = true},
    {LIBRARY_ROW(LOADER, args.options, "prefetch"),
     .help = "batches in host memory [4, small: to 16; steps, no GPU: 4 + --ahead]"},
    {LIBRARY_ROW(LOADER, args.options, "memory")},
    {LIBRARY_ROW(LOADER, args.options, "read-buffer")},
    {LIBRARY_ROW(LOADER, args.options, "resident")},
    OPTION_GROUP("Bad samples"),
    {LIBRARY_ROW(LOADER, args.options, "on-bad"), .metavar = "ACTION",
     .help = "at a bad sample: fail|replace|mask [fail]"},
    {LIBRARY_ROW(LOADER, args.options, "quarantine"),
     .help = "append a line to FILE for each bad sample measured [none]"},
    {LIBRARY_ROW(LOADER, args.options, "max-pixels")},
    OPTION_GROUP("Device"),
    {LIBRARY_ROW(LOADER, args.options, "device"), .letter = 'd', .common = true},
    {LIBRARY_ROW(LOADER, args.options, "device-slots")},
    {LIBRARY_ROW(LOADER, args.options, "any-numa-node")},
    OPTION_GROUP("Several processes"),
    RANKS_ROWS(args.ranks),
    {"rank-files", 0, OPTION_TEXT, &args.rank_files, .metavar = "FOLDER",
     .help = "folder all machines share, where ranks meet [system temp folder]"},
    {"rank-wait", 0, OPTION_DURATION, &args.rank_wait_s, .low = 0.1, .high = 86400,
     .metavar = "TIME", .help = "time to wait for other ranks [60s]"},
    OPTION_GROUP("Other options of the loader"),
    LIBRARY_ROWS(LOADER, args.options),
    DATA_FOLDER_ROWS(args.folder),
    {"price-get", 0, OPTION_REAL, &args.price_get, .low = 0, .high = 1e6, .metavar = "PRICE",
     .help = "price of 1000 requests, to show that of an epoch, e.g. 0.0004 [none]"},
    OPTION_GROUP("Output"),
    {"yardstick", 0, OPTION_TEXT, &args.yardstick, .metavar = "DATASET",
     .help = "baseline images to decode, e.g. a packed DATASET's source [DATASET]"},
    {"json", 0, OPTION_FLAG, &args.json, .common = true, .help = "print the results as JSON"},
    {"report", 0, OPTION_TEXT, &args.report, .metavar = "FILE", .common = true,
     .help = "write an HTML page of results and plots [none]"},
    {"trace", 0, OPTION_TEXT, &args.trace, .metavar = "FILE",
     .help = "write a timeline of threads, slots, steps for ui.perfetto.dev [none]"},
    {.name = NULL},
};

int bench_main(int argc, char **argv)
{
    args.options.workers = (uint32_t)data_processors();
    struct command_usage usage = {
        .arguments = "DATASET",
        .summary = "Measures how fast batches come out of a dataset, how much CPU an image costs,\n"
                   "and which stage limits. With --step-ms it measures how long an accelerator\n"
                   "would wait for data between training steps. Ctrl-C shows the results so far.",
        .details =
            "CPU per image is compared with a plain full decode of the same images. A warm-up is\n"
            "not counted. --column sets what a batch holds; without images in it, samples are\n"
            "counted.\n"
            "\n"
            "Training steps are fed in three ways (arms), in turn: on demand, by sluice, and from\n"
            "a batch in memory. They run on the GPU of --device, or on an emulated accelerator.\n"
            "Under mpirun, srun or torchrun each process measures its share of the dataset.",
        .examples = "  sluice bench photos\n"
                    "  sluice bench photos --step-ms 90 --batch 128 --seconds 10s\n"
                    "  sluice bench packed --column image:image,size=160 --column label:number\n",
        .rows = rows,
        .operands_min = 1,
        .operands_max = 1,
    };
    int code = options_parse(&usage, argc, argv);
    if (code != OPTIONS_GO_ON) {
        return code;
    }
    args.dataset = usage.operands[0];
    return run();
}
