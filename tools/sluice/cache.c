/* SPDX-License-Identifier: Apache-2.0 */
/* sluice cache: lists, verifies, fills and empties the cache of remote data on a local disk. */
#include "command.h"
#include "data.h"
#include "exit_code.h"
#include "interrupt.h"
#include "json.h"
#include "options.h"
#include "outcome.h"
#include "progress.h"
#include "report.h"
#include "safe_text.h"
#include "units.h"

#include <sluice/remote.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct cache_args {
    struct data_folder folder;
    bool as_json;
    const char *what; /* the operand after the action; NULL: none */
};

/* The state of the callbacks. */
struct cache_run {
    struct progress progress;
    struct json json;
    bool as_json;
    uint64_t objects, chunks, bytes;
};

static int32_t should_stop(void *user)
{
    (void)user;
    return interrupt_pending();
}

static void on_progress(void *user, uint64_t done, uint64_t total)
{
    struct cache_run *run = user;
    progress_update(&run->progress, done, total);
}

static int fail(const sluice_error *error)
{
    return error->status == SLUICE_CANCELED && interrupt_pending() ? TOOL_INTERRUPTED
                                                                   : report_error(error, NULL);
}

/* ---- list ---- */

static void print_entry(const sluice_cache_entry *entry)
{
    char kept[32];
    char size[32];
    char when[32] = "";
    struct tm local;
    const time_t used = (time_t)entry->used_s;
    units_format_bytes(kept, sizeof kept, entry->kept_bytes);
    units_format_bytes(size, sizeof size, entry->object_bytes);
    if (localtime_r(&used, &local) != NULL) {
        (void)strftime(when, sizeof when, "%Y-%m-%d %H:%M", &local);
    }
    printf("%10s of %10s  %16s  %s\n", kept, size, when, SAFE(entry->address));
}

static int32_t on_entry(void *user, const sluice_cache_entry *entry)
{
    struct cache_run *run = user;
    run->objects++;
    run->chunks += entry->chunks;
    run->bytes += entry->kept_bytes;
    if (!run->as_json) {
        print_entry(entry);
        return 0;
    }
    json_open_object(&run->json, NULL);
    json_text(&run->json, "address", entry->address);
    json_unsigned(&run->json, "object_bytes", entry->object_bytes);
    json_unsigned(&run->json, "kept_bytes", entry->kept_bytes);
    json_unsigned(&run->json, "chunks", entry->chunks);
    json_signed(&run->json, "used_s", entry->used_s);
    json_close_object(&run->json);
    return 0;
}

static int list(const struct cache_args *args)
{
    struct cache_run run = {.as_json = args->as_json};
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_cache_options options = SLUICE_CACHE_OPTIONS_INIT;
    options.should_stop = should_stop;
    if (args->as_json) {
        json_begin(&run.json, stdout);
        json_open_object(&run.json, NULL);
        json_open_array(&run.json, "objects");
    }
    const sluice_status status =
        sluice_cache_list(args->folder.remote.cache, &options, on_entry, &run, &error);
    const int code = status < 0 ? fail(&error) : TOOL_FINE;
    if (args->as_json) {
        json_close_array(&run.json);
        json_unsigned(&run.json, "chunks", run.chunks);
        json_unsigned(&run.json, "bytes", run.bytes);
        if (code != TOOL_FINE) {
            outcome_write(&run.json, code);
        }
        json_close_object(&run.json);
    } else if (code == TOOL_FINE) {
        char bytes[32];
        units_format_bytes(bytes, sizeof bytes, run.bytes);
        printf("%" PRIu64 " object%s, %" PRIu64 " chunk%s, %s\n", run.objects,
               run.objects == 1 ? "" : "s", run.chunks, run.chunks == 1 ? "" : "s", bytes);
    }
    return code;
}

/* ---- verify and empty ---- */

static sluice_cache_options begin_work(struct cache_run *run)
{
    sluice_cache_options options = SLUICE_CACHE_OPTIONS_INIT;
    options.on_progress = on_progress;
    options.should_stop = should_stop;
    options.user = run;
    progress_begin(&run->progress, "bytes");
    return options;
}

static void write_result(const sluice_cache_result *result, bool damaged)
{
    struct json json;
    json_begin(&json, stdout);
    json_open_object(&json, NULL);
    json_unsigned(&json, "chunks", result->chunks);
    json_unsigned(&json, "bytes", result->bytes);
    if (damaged) {
        json_unsigned(&json, "damaged", result->damaged);
        json_unsigned(&json, "damaged_bytes", result->damaged_bytes);
    }
    json_close_object(&json);
}

static int verify(const struct cache_args *args)
{
    struct cache_run run = {.as_json = args->as_json};
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_cache_result result = SLUICE_CACHE_RESULT_INIT;
    const sluice_cache_options options = begin_work(&run);
    const sluice_status status =
        sluice_cache_verify(args->folder.remote.cache, &options, &result, &error);
    progress_end(&run.progress);
    if (status < 0) {
        return fail(&error);
    }
    if (args->as_json) {
        write_result(&result, true);
    } else {
        char bytes[32];
        units_format_bytes(bytes, sizeof bytes, result.bytes);
        printf("%" PRIu64 " chunk%s, %s: ", result.chunks + result.damaged,
               result.chunks + result.damaged == 1 ? "" : "s", bytes);
        if (result.damaged == 0) {
            printf("all good\n");
        } else {
            printf("%" PRIu64 " damaged, which %s removed\n", result.damaged,
                   result.damaged == 1 ? "was" : "were");
        }
    }
    return result.damaged > 0 ? TOOL_BAD_DATA : TOOL_FINE;
}

static int empty(const struct cache_args *args)
{
    struct cache_run run = {.as_json = args->as_json};
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_cache_result result = SLUICE_CACHE_RESULT_INIT;
    const sluice_cache_options options = begin_work(&run);
    const sluice_status status =
        sluice_cache_empty(args->folder.remote.cache, args->what, &options, &result, &error);
    progress_end(&run.progress);
    if (status < 0) {
        return fail(&error);
    }
    if (args->as_json) {
        write_result(&result, false);
    } else {
        char bytes[32];
        units_format_bytes(bytes, sizeof bytes, result.bytes);
        printf("removed %" PRIu64 " chunk%s, %s\n", result.chunks, result.chunks == 1 ? "" : "s",
               bytes);
    }
    return TOOL_FINE;
}

/* ---- fill ---- */

static void print_filled(const struct cache_args *args, const sluice_cache_result *result)
{
    char kept[32];
    char fetched[32];
    char left[32];
    if (args->as_json) {
        struct json json;
        json_begin(&json, stdout);
        json_open_object(&json, NULL);
        json_unsigned(&json, "chunks", result->chunks);
        json_unsigned(&json, "bytes", result->bytes);
        json_unsigned(&json, "fetched_bytes", result->fetched_bytes);
        json_unsigned(&json, "left_bytes", result->left_bytes);
        json_close_object(&json);
        return;
    }
    units_format_bytes(kept, sizeof kept, result->bytes);
    units_format_bytes(fetched, sizeof fetched, result->fetched_bytes);
    units_format_bytes(left, sizeof left, result->left_bytes);
    printf("%s of the dataset in %" PRIu64 " chunk%s, %s of them read now", kept, result->chunks,
           result->chunks == 1 ? "" : "s", fetched);
    printf(result->left_bytes > 0 ? "; the cache has no space for %s\n" : "\n", left);
}

static int fill(const struct cache_args *args)
{
    int code = TOOL_FAILED;
    struct cache_run run = {.as_json = args->as_json};
    sluice_dataset *dataset = data_open(args->what, &args->folder, &code);
    if (dataset == NULL) {
        return code;
    }
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_cache_result result = SLUICE_CACHE_RESULT_INIT;
    const sluice_cache_options options = begin_work(&run);
    const sluice_status status = sluice_cache_fill(dataset, &options, &result, &error);
    progress_end(&run.progress);
    sluice_dataset_close(dataset);
    if (status < 0) {
        return fail(&error);
    }
    print_filled(args, &result);
    return TOOL_FINE;
}

/* ---- the command ---- */

static const struct action {
    const char *name;
    int (*run)(const struct cache_args *args);
    int least, most; /* operands after the name */
} actions[] = {
    {"list", list, 0, 0},
    {"verify", verify, 0, 0},
    {"fill", fill, 1, 1},
    {"empty", empty, 0, 1},
};

static const struct action *find_action(const char *name)
{
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        if (strcmp(actions[i].name, name) == 0) {
            return &actions[i];
        }
    }
    return NULL;
}

int cache_main(int argc, char **argv)
{
    struct cache_args args = {.folder = DATA_FOLDER_INIT};
    const struct option_row rows[] = {
        OPTION_GROUP("Cache"),
        {LIBRARY_ROW(REMOTE, args.folder.remote, "remote-cache"), .letter = 'c', .common = true,
         .help = "the cache's folder [$SLUICE_REMOTE_CACHE]"},
        DATA_FOLDER_ROWS(args.folder),
        OPTION_GROUP("Output"),
        {"json", 0, OPTION_FLAG, &args.as_json, .common = true, .help = "print the result as JSON"},
        {.name = NULL},
    };
    struct command_usage usage = {
        .arguments = "ACTION [DATASET|PREFIX]",
        .summary =
            "Manages the cache of remote data on a local disk. `list` shows its objects,\n"
            "`verify` checks all checksums and removes damaged chunks (exit code 3), `fill`\n"
            "DATASET reads a whole dataset into it before a run, and `empty` [PREFIX] removes\n"
            "everything, or the addresses that begin with PREFIX.",
        .details = "Options of datasets are for `fill`.",
        .examples = "  sluice cache fill s3://bucket/train -c /nvme/sluice\n"
                    "  sluice cache list -c /nvme/sluice\n"
                    "  sluice cache empty s3://bucket/train/\n",
        .rows = rows,
        .operands_min = 1,
        .operands_max = 2,
    };
    const int code = options_parse(&usage, argc, argv);
    if (code != OPTIONS_GO_ON) {
        return code;
    }
    const struct action *action = find_action(usage.operands[0]);
    if (action == NULL) {
        report("unknown action `%s`: write list, verify, fill or empty", SAFE(usage.operands[0]));
        return TOOL_USAGE;
    }
    if (usage.operand_count - 1 > action->most) {
        report("`%s` takes no `%s`", action->name, SAFE(usage.operands[1]));
        return TOOL_USAGE;
    }
    if (usage.operand_count - 1 < action->least) {
        report("`%s` needs a DATASET: %s", action->name, "sluice cache fill s3://bucket/train");
        return TOOL_USAGE;
    }
    args.what = usage.operand_count > 1 ? usage.operands[1] : NULL;
    interrupt_catch();
    return action->run(&args);
}
