/* SPDX-License-Identifier: Apache-2.0 */
/* sluice pack: a dataset into shards. */
#include "clock.h"
#include "command.h"
#include "data.h"
#include "exit_code.h"
#include "interrupt.h"
#include "json.h"
#include "options.h"
#include "progress.h"
#include "report.h"
#include "units.h"

#include <sluice/writer.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct pack_args {
    uint64_t shard_bytes, workers, seed, zstd_level, tile_mcus;
    int on_bad, metadata;
    bool case_duplicates;
    bool keep_order, keep_bytes, overwrite, no_verify, verbose, json;
    const char *dataset, *out;
};

/* Why JPEGs were stored as they are. */
struct kept_reason {
    const char *key, *text;
    size_t at; /* of the count in sluice_pack_result */
};

static const struct kept_reason kept_reasons[] = {
    {"large_mcu", "do not fit into one scan", offsetof(sluice_pack_result, kept_large_mcu)},
    {"incomplete", "lack scans", offsetof(sluice_pack_result, kept_incomplete)},
    {"unusual", "are unusual", offsetof(sluice_pack_result, kept_unusual)},
    {"different", "came out different", offsetof(sluice_pack_result, kept_different)},
};
enum { KEPT_REASONS = sizeof kept_reasons / sizeof kept_reasons[0] };

static uint64_t kept_count(const sluice_pack_result *result, int reason)
{
    uint64_t count;
    memcpy(&count, (const char *)result + kept_reasons[reason].at, sizeof count);
    return count;
}

/* Of the others nothing is faster to decode, unless they were to be kept anyway. */
static uint64_t kept_fast(const struct pack_args *args, const sluice_pack_result *result)
{
    uint64_t count = args->keep_bytes ? 0 : result->jpegs_kept;
    for (int i = 0; !args->keep_bytes && i < KEPT_REASONS; i++) {
        count -= kept_count(result, i);
    }
    return count;
}

struct pack_run {
    const struct pack_args *args;
    struct progress progress;
};

static void on_progress(void *user, const sluice_pack_progress *progress)
{
    struct pack_run *this = user;
    progress_update(&this->progress, progress->samples_done, progress->samples_total);
}

/* What cannot be re-tiled is counted, and named when asked for; what should have been is reported.
 */
static void on_kept(void *user, const sluice_error *reason)
{
    const struct pack_run *this = user;
    if (reason->status == SLUICE_INTERNAL) {
        (void)report_error(reason, "please report this bug");
    } else if (this->args->verbose) {
        (void)report_error(reason, NULL);
    }
}

static void json_jpegs(struct json *json, const struct pack_args *args,
                       const sluice_pack_result *result)
{
    json_open_object(json, "jpegs");
    json_unsigned(json, "retiled", result->jpegs_retiled);
    json_unsigned(json, "kept", result->jpegs_kept);
    json_open_object(json, "kept_because");
    json_unsigned(json, "fast", kept_fast(args, result));
    for (int i = 0; i < KEPT_REASONS; i++) {
        json_unsigned(json, kept_reasons[i].key, kept_count(result, i));
    }
    json_close_object(json);
    json_unsigned(json, "bytes_before", result->jpeg_bytes_before);
    json_unsigned(json, "bytes_after", result->jpeg_bytes_after);
    json_close_object(json);
}

static void print_jpegs(const struct pack_args *args, const sluice_pack_result *result)
{
    char before[32];
    char after[32];
    units_format_bytes(before, sizeof before, result->jpeg_bytes_before);
    units_format_bytes(after, sizeof after, result->jpeg_bytes_after);
    if (result->jpegs_retiled > 0) {
        printf("%" PRIu64 " JPEGs re-tiled without loss", result->jpegs_retiled);
        if (result->jpegs_kept > 0) {
            printf(", %" PRIu64 " stored as they are", result->jpegs_kept);
        }
        printf(": %s became %s (%+.1f %%)\n", before, after,
               100.0 * ((double)result->jpeg_bytes_after / (double)result->jpeg_bytes_before - 1));
    }
    if (kept_fast(args, result) > 0) {
        printf("%" PRIu64 " JPEGs stored as they are, since nothing is decoded faster\n",
               kept_fast(args, result));
    }
    for (int i = 0; !args->keep_bytes && i < KEPT_REASONS; i++) {
        if (kept_count(result, i) > 0) {
            printf("%" PRIu64 " JPEGs stored as they are, %ssince they %s\n", kept_count(result, i),
                   args->metadata == SLUICE_JPEG_METADATA_DROP ? "with their metadata, " : "",
                   kept_reasons[i].text);
        }
    }
}

static void print_result(const struct pack_args *args, const sluice_pack_result *result,
                         double seconds)
{
    if (args->json) {
        struct json json;
        json_begin(&json, stdout);
        json_open_object(&json, NULL);
        json_text(&json, "path", args->out);
        json_unsigned(&json, "samples", result->samples);
        json_unsigned(&json, "rejected", result->rejected);
        json_unsigned(&json, "shards", result->shards);
        json_unsigned(&json, "bytes", result->bytes);
        json_unsigned(&json, "resumed_samples", result->resumed_samples);
        json_jpegs(&json, args, result);
        json_bool(&json, "verified", !args->no_verify && result->was_complete == 0);
        json_bool(&json, "was_complete", result->was_complete != 0);
        json_real(&json, "seconds", seconds);
        json_close_object(&json);
        return;
    }
    char bytes[32];
    units_format_bytes(bytes, sizeof bytes, result->bytes);
    if (result->was_complete != 0) {
        printf("%" PRIu64 " samples in %" PRIu32 " shard%s, %s, were in %s already: nothing was "
               "written or verified; `sluice verify` does that\n",
               result->samples, result->shards, result->shards == 1 ? "" : "s", bytes, args->out);
        return;
    }
    printf("%" PRIu64 " samples in %" PRIu32 " shard%s, %s, in %s (%.1f s%s)\n", result->samples,
           result->shards, result->shards == 1 ? "" : "s", bytes, args->out, seconds,
           args->no_verify ? ", not verified" : ", verified");
    print_jpegs(args, result);
    if (result->resumed_samples > 0) {
        printf("%" PRIu64 " samples were taken over from an interrupted run\n",
               result->resumed_samples);
    }
    if (result->rejected > 0) {
        printf("%" PRIu64 " bad samples were left out: see %s/rejected.tsv\n", result->rejected,
               args->out);
    }
}

static const char *advice_for(const sluice_error *error)
{
    switch (error->status) {
    case SLUICE_CORRUPT:
    case SLUICE_UNSUPPORTED:
        return "--on-bad skip leaves such samples out and lists them";
    case SLUICE_NOMEM:
        return "fewer --workers need less";
    case SLUICE_STATE:
        return "name another folder, or give --overwrite to start anew";
    case SLUICE_IO:
        return "once that is mended, the same command goes on where this one stopped";
    default:
        return NULL;
    }
}

static int pack(const sluice_dataset *dataset, const struct pack_args *args)
{
    struct pack_run this = {.args = args};
    sluice_pack_options options = SLUICE_PACK_OPTIONS_INIT;
    options.workers = (uint32_t)args->workers;
    options.shard_bytes = args->shard_bytes;
    options.seed = args->seed;
    options.keep_order = args->keep_order;
    options.overwrite = args->overwrite;
    options.on_bad = args->on_bad;
    options.skip_verify = args->no_verify;
    options.zstd_level = (int32_t)args->zstd_level;
    options.keep_bytes = args->keep_bytes;
    options.jpeg_metadata = args->metadata;
    options.tile_mcus = (uint32_t)args->tile_mcus;
    options.on_progress = on_progress;
    options.on_kept = on_kept;
    options.user = &this;
    sluice_pack_result result = {.struct_size = sizeof result};
    sluice_error error = SLUICE_ERROR_INIT;
    progress_begin(&this.progress, "samples");
    double start = clock_seconds();
    sluice_status status = sluice_pack(dataset, args->out, &options, &result, &error);
    progress_end(&this.progress);
    if (status < 0) {
        return report_error(&error, advice_for(&error));
    }
    print_result(args, &result, clock_seconds() - start);
    return TOOL_FINE;
}

static int run(const struct pack_args *args)
{
    int code;
    sluice_dataset *dataset = data_open(args->dataset, args->case_duplicates, &code);
    if (dataset == NULL) {
        return code;
    }
    interrupt_say("\nsluice pack: interrupted; the same command goes on where this one stopped\n");
    code = pack(dataset, args);
    sluice_dataset_close(dataset);
    return code;
}

int pack_main(int argc, char **argv)
{
    static const char *const on_bad[] = {"fail", "skip", NULL};   /* as sluice_pack_on_bad */
    static const char *const metadata[] = {"keep", "drop", NULL}; /* as sluice_jpeg_metadata */
    struct pack_args args = {0};
    struct option_row rows[] = {
        {"shard-size", 's', OPTION_BYTES, &args.shard_bytes, .min = UINT64_C(1) << 20,
         .max = UINT64_C(1) << 40, .metavar = "BYTES", .help = "size of a shard file [256MiB]"},
        {"workers", 'w', OPTION_COUNT, &args.workers, .min = 1, .max = 1024, .metavar = "N",
         .help = "threads; the shards do not depend on it [the processors]"},
        {"seed", 0, OPTION_COUNT, &args.seed, .max = UINT64_MAX, .metavar = "S",
         .help = "of the order in which samples are written [0]"},
        {"keep-order", 0, OPTION_FLAG, &args.keep_order,
         .help = "write in the dataset's order [shuffled: no class runs in a shard]"},
        {"keep-bytes", 0, OPTION_FLAG, &args.keep_bytes,
         .help = "store JPEGs as they are [re-tiled without loss]"},
        {"metadata", 0, OPTION_CHOICE, &args.metadata, .choices = metadata,
         .help = "of re-tiled JPEGs: EXIF (but for the orientation), ICC profiles, ... [keep]"},
        {"tile-mcus", 0, OPTION_COUNT, &args.tile_mcus, .min = 1, .max = 65535, .metavar = "N",
         .help = "MCUs (8 to 32 pixels wide) between restart markers [chosen for each picture]"},
        {"on-bad", 0, OPTION_CHOICE, &args.on_bad, .choices = on_bad,
         .help = "stop at a bad sample, or leave it out and list it in rejected.tsv [fail]"},
        {"overwrite", 0, OPTION_FLAG, &args.overwrite,
         .help = "remove what an earlier pack left in OUT and start anew"},
        {"no-verify", 0, OPTION_FLAG, &args.no_verify, .help = "do not read back what was written"},
        {"zstd", 'z', OPTION_COUNT, &args.zstd_level, .min = 1, .max = 19, .metavar = "LEVEL",
         .help = "compress fields other than JPEGs [stored plain]"},
        DATA_CASE_ROW(args.case_duplicates),
        {"verbose", 'v', OPTION_FLAG, &args.verbose,
         .help = "name each JPEG that is stored as it is, and say why"},
        {"json", 0, OPTION_FLAG, &args.json, .help = "print the result as JSON"},
        {.name = NULL},
    };
    struct command_usage usage = {
        .arguments = "DATASET OUT",
        .summary =
            "Packs a dataset into shards: few large files with an index, which are read far\n"
            "faster than many small ones. JPEGs are re-tiled: rewritten without loss, so that a\n"
            "crop can be decoded without the rest. The same input and options give the same\n"
            "bytes. A run that was interrupted is continued by the same command.",
        .examples = "  sluice pack photos packed\n"
                    "  sluice pack photos packed --shard-size 1GiB --on-bad skip\n"
                    "  sluice pack photos packed --keep-order --json\n",
        .rows = rows,
        .operands_min = 2,
        .operands_max = 2,
    };
    int code = options_parse(&usage, argc, argv);
    if (code != OPTIONS_GO_ON) {
        return code;
    }
    if (args.keep_bytes && (args.metadata != SLUICE_JPEG_METADATA_KEEP || args.tile_mcus > 0)) {
        report(
            "--keep-bytes stores JPEGs as they are: --metadata drop and --tile-mcus change them");
        return TOOL_USAGE;
    }
    args.dataset = usage.operands[0];
    args.out = usage.operands[1];
    return run(&args);
}
