/* SPDX-License-Identifier: Apache-2.0 */
/* sluice bench: how fast batches come out of a dataset, and what each image costs. */
#include "bench_report.h"
#include "bench_run.h"
#include "command.h"
#include "data.h"
#include "full_decode.h"
#include "interrupt.h"
#include "memory_peak.h"
#include "options.h"
#include "pipeline.h"
#include "report.h"

#include <math.h>
#include <stdbool.h>

struct bench_args {
    uint64_t size, batch, workers, epochs, seed;
    double seconds, step_s, area_min, area_max;
    int pipeline, dtype, layout, io, cache, shuffle, on_bad;
    bool case_duplicates;
    bool exact, json;
    const char *dataset, *yardstick;
};

struct bench_data {
    sluice_dataset *dataset, *yardstick; /* the same one unless --yardstick names another */
};

/* Words in the order of the library's enums. */
static const char *const dtype_words[] = {"u8", "f32", "f16", "bf16", NULL};
static const char *const layout_words[] = {"nhwc", "nchw", NULL};
static const char *const io_words[] = {"auto", "uring", "pread", NULL};
static const char *const cache_words[] = {"auto", "buffered", "direct", "drop", NULL};
static const char *const shuffle_words[] = {"full", "block", "none", NULL};
static const char *const on_bad_words[] = {"fail", "replace", "mask", NULL};

static void fill_options(const struct bench_args *args, sluice_loader_options *options)
{
    sluice_loader_options_init(options);
    options->batch_size = (uint32_t)args->batch;
    options->workers = (uint32_t)args->workers;
    options->dtype = args->dtype;
    options->layout = args->layout;
    options->seed = args->seed;
    options->shuffle = args->shuffle;
    options->last_batch = SLUICE_LAST_SHORT; /* so that small folders work */
    options->on_bad_sample = args->on_bad;
    options->io_backend = args->io;
    options->page_cache = args->cache;
    options->exact = args->exact;
}

/* Rounds of the yardstick stand on both sides of the measured run, so that drift shows. */
static void run_yardstick(struct full_decode *yardstick)
{
    for (int round = 0; round < 2 && !interrupt_pending(); round++) {
        full_decode_round(yardstick);
    }
}

static void print_figures(const struct bench_args *args, const struct bench_figures *figures)
{
    if (args->json) {
        bench_report_json(figures);
    } else {
        bench_report_text(figures);
    }
}

static int measure(const struct bench_args *args, struct bench_plan *plan,
                   struct full_decode *yardstick)
{
    struct bench_warm_up warm_up;
    struct bench_result result;
    int code = bench_warm_up(plan, &warm_up);
    if (code != TOOL_FINE) {
        return code;
    }
    double peak_mib = memory_peak_mib();
    bench_choose_length(plan, &warm_up);
    run_yardstick(yardstick);
    memory_peak_reset();
    code = bench_measure(plan, &result);
    peak_mib = fmax(peak_mib, memory_peak_mib());
    if (code == TOOL_FINE) {
        run_yardstick(yardstick);
        struct bench_figures figures = {
            .dataset = args->dataset,
            .plan = plan,
            .warm_up = &warm_up,
            .result = &result,
            .yardstick = yardstick,
            .peak_rss_mib = peak_mib,
            .processors = (uint32_t)data_processors(),
        };
        print_figures(args, &figures);
        code = result.interrupted ? TOOL_INTERRUPTED : TOOL_FINE;
    }
    emulated_free(&result.emulated);
    return code;
}

static int bench(const struct bench_args *args, const struct bench_data *data)
{
    sluice_dataset_info info = {.struct_size = sizeof info};
    if (sluice_dataset_get_info(data->yardstick, &info) < 0) {
        report("the dataset does not say what it holds; please report this as a bug");
        return TOOL_FAILED;
    }
    struct full_decode yardstick;
    full_decode_begin(&yardstick, data->yardstick, info.samples);
    int code = TOOL_FAILED;
    const struct pipeline_shape shape = {.kind = (enum pipeline)args->pipeline,
                                         .size = (uint32_t)args->size,
                                         .area_min = args->area_min,
                                         .area_max = args->area_max,
                                         .normalize = args->dtype != SLUICE_U8};
    sluice_augment *recipe = pipeline_recipe(&shape, &code);
    if (recipe == NULL) {
        return code;
    }
    struct bench_plan plan = {.dataset = data->dataset, .recipe = recipe, .epochs = args->epochs};
    plan.seconds = args->seconds;
    plan.step_s = args->step_s;
    fill_options(args, &plan.options);
    code = measure(args, &plan, &yardstick);
    sluice_augment_destroy(recipe);
    return code;
}

static int run(const struct bench_args *args)
{
    if (args->epochs > 0 && args->seconds > 0) {
        report("give --epochs or --seconds, not both");
        return TOOL_USAGE;
    }
    if (args->area_min > args->area_max) {
        report("--area-min %g is above --area-max %g", args->area_min, args->area_max);
        return TOOL_USAGE;
    }
    int code;
    struct bench_data data = {.dataset = data_open(args->dataset, args->case_duplicates, &code)};
    if (data.dataset == NULL) {
        return code;
    }
    data.yardstick = data.dataset;
    if (args->yardstick != NULL) {
        data.yardstick = data_open(args->yardstick, args->case_duplicates, &code);
    }
    if (data.yardstick != NULL) {
        interrupt_catch();
        code = bench(args, &data);
    }
    if (data.yardstick != data.dataset) {
        sluice_dataset_close(data.yardstick);
    }
    sluice_dataset_close(data.dataset);
    return code;
}

int bench_main(int argc, char **argv)
{
    struct bench_args args = {.size = 224, .batch = 256};
    args.workers = data_processors();
    args.area_min = PIPELINE_AREA_MIN;
    args.area_max = PIPELINE_AREA_MAX;
    struct option_row rows[] = {
        {"size", 0, OPTION_COUNT, &args.size, .min = 16, .max = 2048, .metavar = "PIXELS",
         .help = "side of the pictures that come out [224]"},
        {"batch", 'b', OPTION_COUNT, &args.batch, .min = 1, .max = 65536, .metavar = "ROWS",
         .help = "rows of a batch; an epoch's last may be shorter [256]"},
        {"workers", 'w', OPTION_COUNT, &args.workers, .min = 1, .max = 1024, .metavar = "N",
         .help = "decoding threads [the processors]"},
        {"epochs", 'e', OPTION_COUNT, &args.epochs, .min = 1, .max = 1000000000, .metavar = "E",
         .help = "epochs to measure, after one to warm up [3 s, at least 2]"},
        {"seconds", 't', OPTION_DURATION, &args.seconds, .low = 0.05, .high = 1e6,
         .metavar = "TIME", .help = "time to measure instead: 10s, 500ms, 2m"},
        {"pipeline", 'p', OPTION_CHOICE, &args.pipeline, .choices = pipeline_words,
         .help = "random resized crop and flip, or resize and centre crop [train]"},
        {"area-min", 0, OPTION_REAL, &args.area_min, .low = 0.0001, .high = 1, .metavar = "PART",
         .help = "smallest random crop, as a part of the picture's area [0.08]"},
        {"area-max", 0, OPTION_REAL, &args.area_max, .low = 0.0001, .high = 1, .metavar = "PART",
         .help = "largest random crop; as --area-min for crops of one size [1]"},
        {"dtype", 0, OPTION_CHOICE, &args.dtype, .choices = dtype_words,
         .help = "of the pictures; floating ones are normalised [u8]"},
        {"layout", 0, OPTION_CHOICE, &args.layout, .choices = layout_words,
         .help = "channels last or first [nhwc]"},
        {"io", 0, OPTION_CHOICE, &args.io, .choices = io_words,
         .help = "how files are read [auto]"},
        {"cache", 0, OPTION_CHOICE, &args.cache, .choices = cache_words,
         .help = "use of the page cache [auto]"},
        {"shuffle", 0, OPTION_CHOICE, &args.shuffle, .choices = shuffle_words,
         .help = "order of an epoch [full]"},
        {"on-bad", 0, OPTION_CHOICE, &args.on_bad, .choices = on_bad_words,
         .help = "what a bad sample does [fail]"},
        {"exact", 0, OPTION_FLAG, &args.exact,
         .help = "decode at full size also what becomes much smaller"},
        {"step-ms", 0, OPTION_DURATION, &args.step_s, .low = 1e-6, .high = 3600,
         .plain_factor = 1e-3, .metavar = "MS",
         .help = "emulate an accelerator that takes this long a step"},
        {"seed", 0, OPTION_COUNT, &args.seed, .max = UINT64_MAX, .metavar = "S",
         .help = "of order and augmentation [0]"},
        {"yardstick", 0, OPTION_TEXT, &args.yardstick, .metavar = "DATASET",
         .help = "decode these images to compare with: what DATASET was packed from [DATASET]"},
        DATA_CASE_ROW(args.case_duplicates),
        {"json", 0, OPTION_FLAG, &args.json, .help = "print the figures as JSON"},
        {.name = NULL},
    };
    struct command_usage usage = {
        .arguments = "DATASET",
        .summary =
            "Measures how fast batches come out of a dataset and how much CPU an image costs,\n"
            "against a plain full decode of the same images in the same run. A warm-up is not\n"
            "counted. Ctrl-C ends the run and shows the figures so far.",
        .examples = "  sluice bench packed\n"
                    "  sluice bench photos --batch 64 --workers 2 --seconds 10s\n"
                    "  sluice bench packed --dtype f16 --layout nchw --json\n"
                    "  sluice bench packed --batch 128 --step-ms 90\n",
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
