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

/* Main thread only, like all of the command line. */
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

/* Batches in host memory are held by the steps under way, on top of the loader's own. */
static uint64_t choose_prefetch(void)
{
    if (args.options.prefetch > 0 || !has_steps()) {
        return args.options.prefetch;
    }
    return default_prefetch + (is_in_host() ? args.ahead : 0);
}

/* The widest that the dataset can be loaded with. */
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
    if (options->last_batch < 0) { /* small folders work; but steps are to be alike */
        options->last_batch = has_steps() ? SLUICE_LAST_DROP : SLUICE_LAST_SHORT;
    }
    options->max_sample_bytes = args.folder.max_sample;
    options->quarantine_path = NULL; /* it is of the measured run */
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
        report("--yardstick decodes pictures, and there are none among the columns");
        return TOOL_USAGE;
    }
    return column_set_make(columns, &look, source, options);
}

static int bench(sluice_dataset *dataset, sluice_dataset *yardstick, struct column_set *columns,
                 const sluice_ranks *ranks)
{
    sluice_dataset_info info = {.struct_size = sizeof info};
    if (sluice_dataset_get_info(yardstick, &info) < 0) {
        report("the dataset does not say what it holds; please report this as a bug");
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
                                         .pipeline = args.pipeline};
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
        return wrong("--scale makes the step of an --accelerator longer: give one");
    }
    if (args.options.batch_size > 0 && args.preset >= 0) {
        return wrong("an --accelerator has a batch of its own: leave out --batch");
    }
    if (!has_steps() && (args.steps > 0 || args.supply)) {
        return wrong("--steps and --supply need steps: give --step-ms, --accelerator or "
                     "--supply-ratio");
    }
    if (has_steps() && is_in_host() && args.options.prefetch > 0 &&
        args.options.prefetch <= args.ahead) {
        return wrong("the steps under way hold a batch each: --prefetch must be above --ahead");
    }
    if (has_steps() && args.options.last_batch == SLUICE_LAST_SHORT) {
        return wrong("steps are to be alike: --last drop or --last pad");
    }
    if (args.steps > 0 && (args.epochs > 0 || args.seconds > 0)) {
        return wrong("give one of --steps, --epochs and --seconds");
    }
    if (has_steps() && args.yardstick != NULL) {
        return wrong("--yardstick is compared with a delivery: give it without steps");
    }
    return TOOL_FINE;
}

static int check_together(void)
{
    if (args.epochs > 0 && args.seconds > 0) {
        return wrong("give --epochs or --seconds, not both");
    }
    if (args.area_min > args.area_max) {
        report("--area-min %g is above --area-max %g", args.area_min, args.area_max);
        return TOOL_USAGE;
    }
    if (args.options.device_slots > 0 && args.options.device == NULL) {
        return wrong("--device-slots are memory of a --device: give one");
    }
    return check_steps();
}

/* Says at once why a device cannot be used, and settles what "auto" is. */
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
    report("--device %s: %s; `sluice devices` lists what there is", args.options.device, text);
    return status == SLUICE_INVALID ? TOOL_USAGE : TOOL_FAILED;
}

/* Of several ranks rank 0 speaks, and writes the files. */
static int check_ranks(const sluice_ranks *ranks)
{
    static char name[48];
    if (ranks->world_size == 1) {
        return TOOL_FINE;
    }
    if (has_steps() || args.yardstick != NULL) {
        return wrong("several ranks measure a delivery, without steps or a --yardstick; --rank 0 "
                     "--world-size 1 has each process measure by itself");
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
        folder.fields.count = 0; /* it may be of another format */
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
    COLUMN_ROW(args.columns),
    {"size", 0, OPTION_COUNT, &args.size, .min = 16, .max = 2048, .metavar = "PIXELS",
     .help = "side of the pictures that come out [224]"},
    {LIBRARY_ROW(LOADER, args.options, "batch"), .letter = 'b'},
    {LIBRARY_ROW(LOADER, args.options, "workers"), .letter = 'w'},
    {"epochs", 'e', OPTION_COUNT, &args.epochs, .min = 1, .max = 1000000000, .metavar = "E",
     .help = "epochs to measure, after one to warm up [3 s, at least 2]; with steps: in an arm"},
    {"seconds", 't', OPTION_DURATION, &args.seconds, .low = 0.05, .high = 1e6, .metavar = "TIME",
     .help = "time to measure instead: 10s, 500ms, 2m; with steps: of all arms"},
    {"pipeline", 'p', OPTION_CHOICE, &args.pipeline, .choices = pipeline_words,
     .help = "random resized crop and flip, centre crop, padded crop and flip, or none [train]"},
    {"area-min", 0, OPTION_REAL, &args.area_min, .low = 0.0001, .high = 1, .metavar = "PART",
     .help = "smallest random crop, as a part of the picture's area [0.08]"},
    {"area-max", 0, OPTION_REAL, &args.area_max, .low = 0.0001, .high = 1, .metavar = "PART",
     .help = "largest random crop; as --area-min for crops of one size [1]"},
    {"padding", 0, OPTION_COUNT, &args.padding, .max = 16384, .metavar = "PIXELS",
     .help = "black pixels on each side before --pipeline crop [4]"},
    AUGMENT_ROW(args.augment),
    {LIBRARY_ROW(LOADER, args.options, "last"),
     .help = "an epoch's last batch, where it is not full [short; with steps drop]"},
    {LIBRARY_ROW(LOADER, args.options, "shuffle"),
     .help = "order of an epoch [full; shards of what is compressed as a whole]"},
    {LIBRARY_ROW(LOADER, args.options, "quarantine"),
     .help = "append a line to FILE for each bad sample that the measured run meets"},
    {LIBRARY_ROW(LOADER, args.options, "prefetch"),
     .help = "batches in host memory [4; with steps and no GPU, 4 + --ahead]"},
    {LIBRARY_ROW(LOADER, args.options, "device"), .letter = 'd'},
    LIBRARY_ROWS(LOADER, args.options),
    {"step-ms", 0, OPTION_DURATION, &args.step_s, .low = 1e-6, .high = 3600, .plain_factor = 1e-3,
     .metavar = "MS",
     .help = "feed steps this long, in three ways; on an emulated accelerator or --device's GPU"},
    {"accelerator", 0, OPTION_CHOICE, &args.preset, .choices = preset_words,
     .help = "or steps with the batch and the length of a known model (no MLPerf result)"},
    {"scale", 0, OPTION_REAL, &args.scale, .low = 0.0001, .high = 1, .metavar = "PART",
     .help = "only this part of the --accelerator: steps 1/PART as long [1]"},
    {"supply-ratio", 0, OPTION_REAL, &args.supply_ratio, .low = 0.01, .high = 100,
     .metavar = "RATIO",
     .help = "or steps that need 1/RATIO of what the loader supplies; implies --supply"},
    {"supply", 0, OPTION_FLAG, &args.supply,
     .help = "measure the supply in every repeat, and compare with the utilisation it allows"},
    {"steps", 0, OPTION_COUNT, &args.steps, .min = 1, .max = 10000000, .metavar = "N",
     .help = "steps of each arm in each repeat [3 s, at least 30]"},
    {"repeats", 0, OPTION_COUNT, &args.repeats, .min = 1, .max = 1000, .metavar = "N",
     .help = "of the three arms, interleaved [5]"},
    {"ahead", 0, OPTION_COUNT, &args.ahead, .max = BENCH_AHEAD_MAX, .metavar = "N",
     .help = "steps that the host may be ahead of the accelerator; 0: it waits for each [2]"},
    {"yardstick", 0, OPTION_TEXT, &args.yardstick, .metavar = "DATASET",
     .help = "decode these images to compare with: what DATASET was packed from [DATASET]"},
    RANKS_ROWS(args.ranks),
    {"rank-files", 0, OPTION_TEXT, &args.rank_files, .metavar = "FOLDER",
     .help = "where ranks meet and leave their figures; one that all machines see "
             "[the system's temporary folder]"},
    {"rank-wait", 0, OPTION_DURATION, &args.rank_wait_s, .low = 0.1, .high = 86400,
     .metavar = "TIME", .help = "how long to wait for other ranks [60s]"},
    DATA_FOLDER_ROWS(args.folder),
    {"json", 0, OPTION_FLAG, &args.json, .help = "print the figures as JSON"},
    {"trace", 0, OPTION_TEXT, &args.trace, .metavar = "FILE",
     .help = "write what threads, slots and steps did, for ui.perfetto.dev"},
    {"report", 0, OPTION_TEXT, &args.report, .metavar = "FILE",
     .help = "write a page with figures, plots and a timeline (HTML, nothing else needed)"},
    {.name = NULL},
};

int bench_main(int argc, char **argv)
{
    args.options.workers = (uint32_t)data_processors();
    struct command_usage usage = {
        .arguments = "DATASET",
        .summary =
            "Measures how fast batches come out of a dataset and how much CPU an image costs,\n"
            "against a plain full decode of the same images in the same run. A warm-up is not\n"
            "counted. Ctrl-C ends the run and shows the figures so far. What a batch holds is\n"
            "said with --column; without pictures in it samples are counted, not images.\n\n"
            "With steps (--step-ms, --accelerator or --supply-ratio) it measures instead how much\n"
            "of the time the accelerator computes when it is fed on demand, by sluice, or not at\n"
            "all, in one run, and what waiting for data was won back.",
        .examples = "  sluice bench packed\n"
                    "  sluice bench photos --batch 64 --workers 2 --seconds 10s\n"
                    "  sluice bench packed --dtype f16 --layout nchw --json\n"
                    "  sluice bench packed --column image:image,size=160 --column label:number\n"
                    "  sluice bench photos --pipeline crop --padding 4 --size 32\n"
                    "  sluice bench packed --batch 128 --step-ms 90\n"
                    "  sluice bench packed --batch 64 --supply-ratio 1.3 --report bench.html\n"
                    "  sluice bench packed --device cuda:0 --step-ms 90 --trace bench.json\n"
                    "  sluice bench packed --accelerator resnet50-h100 --scale 0.25\n"
                    "  mpirun -n 4 sluice bench packed --workers 8\n",
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
