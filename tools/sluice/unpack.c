/* SPDX-License-Identifier: Apache-2.0 */
/* sluice unpack: writes a dataset as files. */
#include "clock.h"
#include "command.h"
#include "data.h"
#include "exit_code.h"
#include "interrupt.h"
#include "json.h"
#include "options.h"
#include "progress.h"
#include "report.h"
#include "safe_text.h"
#include "units.h"

#include <sluice/unpack.h>

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

struct unpack_args {
    sluice_unpack_options options;
    struct data_folder folder;
    bool tar, json;
    const char *source, *out;
};

static void on_progress(void *user, const sluice_unpack_progress *progress)
{
    progress_update(user, progress->samples_done, progress->samples_total);
}

static void print_json(const struct unpack_args *args, const sluice_unpack_result *result,
                       double seconds)
{
    struct json json;
    json_begin(&json, stdout);
    json_open_object(&json, NULL);
    json_text(&json, "path", args->out);
    json_text(&json, "form", args->tar ? "tar" : "folder");
    json_unsigned(&json, "samples", result->samples);
    json_unsigned(&json, "rejected", result->rejected);
    json_unsigned(&json, "archives", result->archives);
    json_unsigned(&json, "files", result->files);
    json_unsigned(&json, "bytes", result->bytes);
    json_unsigned(&json, "renamed", result->renamed);
    json_unsigned(&json, "renamed_classes", result->renamed_classes);
    json_bool(&json, "labels_differ", result->labels_differ != 0);
    json_real(&json, "seconds", seconds);
    json_close_object(&json);
}

static void print_result(const struct unpack_args *args, const sluice_unpack_result *result,
                         double seconds)
{
    char bytes[32];
    if (args->json) {
        print_json(args, result, seconds);
        return;
    }
    units_format_bytes(bytes, sizeof bytes, result->bytes);
    printf("%" PRIu64 " samples as %" PRIu64 " files", result->samples, result->files);
    if (args->tar) {
        printf(" in %" PRIu32 " archive%s", result->archives, result->archives == 1 ? "" : "s");
    }
    printf(", %s, in %s (%.1f s)\n", bytes, SAFE(args->out), seconds);
    if (result->renamed > 0) {
        printf("%" PRIu64
               " samples are not named by their key, which is not a safe name here, or is taken\n",
               result->renamed);
    }
    if (result->renamed_classes > 0) {
        printf("%" PRIu32 " class folders are not named by their class\n", result->renamed_classes);
    }
    if (result->labels_differ != 0) {
        printf("read as an image folder, the classes get other numbers: by the order of the "
               "folders' names\n");
    }
    if (result->rejected > 0) {
        printf("%" PRIu64 " bad samples were left out: see %s/rejected.tsv\n", result->rejected,
               SAFE(args->out));
    }
}

static const char *advice_for(const sluice_error *error)
{
    switch (error->status) {
    case SLUICE_CORRUPT:
    case SLUICE_UNSUPPORTED:
        return error->sample >= 0 ? "--on-bad skip leaves such samples out and lists them" : NULL;
    case SLUICE_IO:
        return error->sample >= 0 ? "--on-bad skip-all leaves out what cannot be read" : NULL;
    case SLUICE_NOMEM:
        return "fewer --workers need less";
    case SLUICE_STATE:
        return strstr(error->text, "overwrite") != NULL ? "or name another folder" : NULL;
    default:
        return NULL;
    }
}

static int unpack(const sluice_dataset *dataset, const struct unpack_args *args)
{
    struct progress progress;
    sluice_unpack_options options = args->options;
    options.form = args->tar ? SLUICE_UNPACK_TAR : SLUICE_UNPACK_FOLDER;
    options.max_sample_bytes = args->folder.max_sample;
    options.on_progress = on_progress;
    options.user = &progress;
    sluice_unpack_result result = SLUICE_UNPACK_RESULT_INIT;
    sluice_error error = SLUICE_ERROR_INIT;
    progress_begin(&progress, "samples");
    const double start = clock_seconds();
    const sluice_status status = sluice_unpack(dataset, args->out, &options, &result, &error);
    progress_end(&progress);
    interrupt_settle();
    if (status < 0) {
        return report_error(&error, advice_for(&error));
    }
    print_result(args, &result, clock_seconds() - start);
    return TOOL_FINE;
}

static void on_interrupt(void *user)
{
    const struct unpack_args *args = user;
    report_note("interrupted; %s.part, if it exists, is incomplete: the same command removes it "
                "and starts over",
                SAFE(args->out));
}

static int run(struct unpack_args *args)
{
    int code = TOOL_FAILED;
    interrupt_end("\n", on_interrupt, args);
    sluice_dataset *dataset = data_open(args->source, &args->folder, &code);
    if (dataset == NULL) {
        return code;
    }
    code = unpack(dataset, args);
    sluice_dataset_close(dataset);
    return code;
}

int unpack_main(int argc, char **argv)
{
    struct unpack_args args = {.options = SLUICE_UNPACK_OPTIONS_INIT, .folder = DATA_FOLDER_INIT};
    const struct option_row rows[] = {
        OPTION_GROUP("Written files"),
        {"tar", 't', OPTION_FLAG, &args.tar, .common = true,
         .help = "write WebDataset tars instead of a folder"},
        {LIBRARY_ROW(UNPACK, args.options, "shard-size"), .letter = 's', .common = true},
        {LIBRARY_ROW(UNPACK, args.options, "shard-samples"), .common = true,
         .help = "samples per tar, at most [as many as fit]"},
        {LIBRARY_ROW(UNPACK, args.options, "overwrite")},
        OPTION_GROUP("Processing"),
        {LIBRARY_ROW(UNPACK, args.options, "workers"), .letter = 'w', .common = true},
        {LIBRARY_ROW(UNPACK, args.options, "on-bad"), .metavar = "ACTION", .common = true,
         .help = "at a bad sample: fail|skip|skip-all [fail]"},
        LIBRARY_ROWS(UNPACK, args.options),
        DATA_FOLDER_ROWS(args.folder),
        OPTION_GROUP("Output"),
        {"json", 0, OPTION_FLAG, &args.json, .common = true, .help = "print the result as JSON"},
        {.name = NULL},
    };
    struct command_usage usage = {
        .arguments = "DATASET OUT",
        .summary =
            "Turns a dataset back into ordinary files: a folder with a sub-folder per class,\n"
            "or tars for WebDataset. Images are copied as stored, raw pixels become PNG. OUT\n"
            "is a new or an empty folder; it appears when it is complete.",
        .examples = "  sluice unpack packed photos\n"
                    "  sluice unpack packed tars --tar --shard-samples 10000\n"
                    "  sluice unpack train-{000000..000146}.tar files --on-bad skip\n",
        .rows = rows,
        .operands_min = 2,
        .operands_max = 2,
    };
    const int code = options_parse(&usage, argc, argv);
    if (code != OPTIONS_GO_ON) {
        return code;
    }
    args.source = usage.operands[0];
    args.out = usage.operands[1];
    if (!args.tar && (args.options.shard_bytes > 0 || args.options.shard_samples > 0)) {
        report("--shard-size and --shard-samples need --tar: a folder has no shards");
        return TOOL_USAGE;
    }
    return run(&args);
}
