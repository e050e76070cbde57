/* SPDX-License-Identifier: Apache-2.0 */
/* sluice verify: reads a whole dataset and checks it. */
#include "about.h"
#include "clock.h"
#include "command.h"
#include "data.h"
#include "exit_code.h"
#include "interrupt.h"
#include "json.h"
#include "options.h"
#include "outcome.h"
#include "part.h"
#include "progress.h"
#include "report.h"
#include "safe_text.h"
#include "units.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

struct verify_args {
    sluice_verify_options options;
    struct data_folder folder;
    bool json;
    const char *dataset, *given; /* part */
    struct part part;
};

/* The state of the callbacks. */
struct listener {
    pthread_mutex_t lock; /* guards the JSON: an interrupt completes it */
    struct progress progress;
    struct json json;
    bool as_json;
};

static void write_finding(struct json *json, const sluice_error *finding)
{
    json_open_object(json, NULL);
    json_text(json, "status", sluice_status_name((sluice_status)finding->status));
    json_signed(json, "sample", finding->sample);
    json_text(json, "file", finding->file);
    json_signed(json, "offset", finding->offset);
    json_text(json, "text", finding->text);
    json_close_object(json);
}

static void on_finding(void *user, const sluice_error *found)
{
    const sluice_error own = report_own_words(found);
    const sluice_error *finding = &own;
    struct listener *listener = user;
    if (listener->as_json) {
        pthread_mutex_lock(&listener->lock);
        write_finding(&listener->json, finding);
        pthread_mutex_unlock(&listener->lock);
        return;
    }
    char text[1400];
    sluice_error_format(finding, text, sizeof text);
    progress_end(&listener->progress);
    printf("%s\n", SAFE(text));
    fflush(stdout);
}

static void on_progress(void *user, uint64_t done, uint64_t total)
{
    struct listener *listener = user;
    progress_update(&listener->progress, done, total);
}

/* Closes the JSON after the findings so far. */
static void close_json(struct listener *listener, int code)
{
    if (listener->as_json) {
        json_close_array(&listener->json);
        outcome_write(&listener->json, code);
        json_close_object(&listener->json);
    }
}

static void on_interrupt(void *user)
{
    struct listener *listener = user;
    pthread_mutex_lock(&listener->lock); /* never unlocked: no findings follow */
    close_json(listener, TOOL_INTERRUPTED);
}

static void print_result(struct listener *listener, const struct verify_args *args,
                         const sluice_dataset *dataset, const sluice_verify_result *result,
                         double seconds)
{
    if (listener->as_json) {
        struct json *json = &listener->json;
        json_close_array(json);
        json_unsigned(json, "samples", result->samples);
        json_unsigned(json, "bytes", result->bytes);
        json_unsigned(json, "bad", result->bad);
        json_unsigned(json, "unreadable", result->unreadable);
        json_text(json, "unchecked", result->unchecked);
        json_unsigned(json, "undecoded", result->undecoded);
        json_unsigned(json, "part", args->part.part);
        json_unsigned(json, "parts", args->part.parts);
        json_real(json, "seconds", seconds);
        about_write_left_out(json, dataset);
        json_close_object(json);
        return;
    }
    char bytes[32];
    units_format_bytes(bytes, sizeof bytes, result->bytes);
    if (args->part.parts > 1) {
        printf("part %" PRIu32 " of %" PRIu32 ": ", args->part.part, args->part.parts);
    }
    printf("%" PRIu64 " samples, %s read in %.1f s: ", result->samples, bytes, seconds);
    if (result->bad == 0) {
        printf("all good");
    } else if (result->unreadable == 0) {
        printf("%" PRIu64 " bad", result->bad);
    } else {
        printf("%" PRIu64 " bad, %" PRIu64 " unreadable (unreadable samples may be good)",
               result->bad - result->unreadable, result->unreadable);
    }
    if (result->unchecked[0] != '\0') {
        printf(" (structure only: %s)", SAFE(result->unchecked));
    }
    if (result->undecoded > 0) {
        printf("; pixels of %" PRIu64 " image%s were not read: --decode does that",
               result->undecoded, result->undecoded == 1 ? "" : "s");
    }
    printf("\n");
    about_print_left_out(dataset);
}

static int code_of(const sluice_verify_result *result)
{
    if (result->bad == 0) {
        return TOOL_FINE;
    }
    return result->bad > result->unreadable ? TOOL_BAD_DATA : TOOL_UNREADABLE;
}

static int verify(const sluice_dataset *dataset, const struct verify_args *args,
                  struct listener *listener)
{
    sluice_verify_options options = args->options;
    options.workers = options.workers > 0 ? options.workers : part_workers(&args->part);
    options.part = args->part.part;
    options.parts = args->part.parts;
    options.max_sample_bytes = args->folder.max_sample;
    options.on_finding = on_finding;
    options.on_progress = on_progress;
    options.user = listener;
    sluice_verify_result result = {.struct_size = sizeof result};
    sluice_error error = SLUICE_ERROR_INIT;
    double start = clock_seconds();
    sluice_status status = sluice_dataset_verify(dataset, &options, &result, &error);
    interrupt_settle();
    progress_end(&listener->progress);
    int code = code_of(&result);
    if (status < 0) {
        code =
            report_error(&error, error.status == SLUICE_NOMEM ? "fewer --workers need less" : NULL);
        close_json(listener, code);
    } else {
        print_result(listener, args, dataset, &result, clock_seconds() - start);
    }
    return code;
}

static int run(const struct verify_args *args)
{
    struct listener listener = {.lock = PTHREAD_MUTEX_INITIALIZER, .as_json = args->json};
    if (args->json) {
        json_begin(&listener.json, stdout);
        json_open_object(&listener.json, NULL);
        json_open_array(&listener.json, "findings");
    }
    interrupt_end("\nsluice verify: interrupted before all was checked\n", on_interrupt, &listener);
    int code;
    sluice_dataset *dataset = data_open(args->dataset, &args->folder, &code);
    if (dataset == NULL) {
        interrupt_settle();
        close_json(&listener, code);
        return code;
    }
    progress_begin(&listener.progress, "samples");
    code = verify(dataset, args, &listener);
    sluice_dataset_close(dataset);
    return code;
}

int verify_main(int argc, char **argv)
{
    struct verify_args args = {.options = SLUICE_VERIFY_OPTIONS_INIT, .folder = DATA_FOLDER_INIT};
    const struct option_row rows[] = {
        OPTION_GROUP("Processing"),
        {LIBRARY_ROW(VERIFY, args.options, "decode"), .letter = 'd', .common = true},
        {LIBRARY_ROW(VERIFY, args.options, "workers"), .letter = 'w', .common = true},
        LIBRARY_ROWS(VERIFY, args.options),
        PART_ROW(args.given, false),
        DATA_FOLDER_ROWS(args.folder),
        OPTION_GROUP("Output"),
        {"json", 0, OPTION_FLAG, &args.json, .common = true,
         .help = "print findings and result as JSON"},
        {.name = NULL},
    };
    struct command_usage usage = {
        .arguments = "DATASET",
        .summary = "Reads a whole dataset and checks every checksum and the headers of images and\n"
                   "frames. Prints a line for each bad sample; exit code 3 if there is one.",
        .details =
            "Exit code 4: some samples could not be read, and no other is bad. The last line\n"
            "names data without a checksum (`structure only: ...`), and says how many images\n"
            "were not decoded. Lines `left out` count files that are not part of the dataset.\n"
            "Under mpirun or srun each process checks a part: `mpirun -n 4 sluice verify packed`.",
        .examples = "  sluice verify packed\n"
                    "  sluice verify photos --decode\n"
                    "  sluice verify packed --json\n",
        .rows = rows,
        .operands_min = 1,
        .operands_max = 1,
    };
    int code = options_parse(&usage, argc, argv);
    if (code != OPTIONS_GO_ON) {
        return code;
    }
    args.dataset = usage.operands[0];
    code = part_choose(args.given, &args.part);
    return code == TOOL_FINE ? run(&args) : code;
}
