/* SPDX-License-Identifier: Apache-2.0 */
/* sluice pack: packs a dataset into shards. */
#include "clock.h"
#include "command.h"
#include "data.h"
#include "exit_code.h"
#include "field_text.h"
#include "files.h"
#include "interrupt.h"
#include "json.h"
#include "options.h"
#include "part.h"
#include "progress.h"
#include "report.h"
#include "safe_text.h"
#include "units.h"

#include <sluice/writer.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct pack_args {
    sluice_pack_options options;
    struct data_folder folder;
    bool verbose, json, join;
    const char *zstd, *tensor, *given; /* part */
    struct part part;
    sluice_field flat; /* with `tensor`: the field in the source files */
    char **sources;
    size_t source_count;
    const char *out;
};

/* The reasons why JPEGs were stored unchanged. */
struct kept_reason {
    const char *key, *text;
    size_t at; /* offset of the count in sluice_pack_result */
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

/* Returns the number of other JPEGs without a faster form; 0 with the option to keep all. */
static uint64_t kept_fast(const struct pack_args *args, const sluice_pack_result *result)
{
    uint64_t count = args->options.keep_bytes ? 0 : result->jpegs_kept;
    for (int i = 0; !args->options.keep_bytes && i < KEPT_REASONS; i++) {
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

/* Counts samples that cannot be re-tiled, and names them if requested; reports those that should
 * have been. */
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
            printf(", %" PRIu64 " stored unchanged", result->jpegs_kept);
        }
        printf(": %s became %s (%+.1f %%)\n", before, after,
               100.0 * ((double)result->jpeg_bytes_after / (double)result->jpeg_bytes_before - 1));
    }
    if (kept_fast(args, result) > 0) {
        printf("%" PRIu64 " JPEGs stored unchanged, since re-tiling would not speed up decoding\n",
               kept_fast(args, result));
    }
    for (int i = 0; !args->options.keep_bytes && i < KEPT_REASONS; i++) {
        if (kept_count(result, i) > 0) {
            printf("%" PRIu64 " JPEGs stored unchanged, %ssince they %s\n", kept_count(result, i),
                   args->options.jpeg_metadata == SLUICE_JPEG_METADATA_DROP
                       ? "with their metadata, "
                       : "",
                   kept_reasons[i].text);
        }
    }
}

/* Prints the space that decoded images take; bench measures the time they save. */
static void print_decoded(const sluice_pack_result *result)
{
    char before[32];
    char after[32];
    if (result->decoded == 0) {
        return;
    }
    units_format_bytes(before, sizeof before, result->decoded_bytes_before);
    units_format_bytes(after, sizeof after, result->decoded_bytes_after);
    printf("%" PRIu64
           " images stored as pixels: %s became %s (%.1f times as much to store and read)\n",
           result->decoded, before, after,
           (double)result->decoded_bytes_after / (double)result->decoded_bytes_before);
}

/* Prints which changes were lossy. */
static void print_resized(const struct pack_args *args, const sluice_pack_result *result)
{
    char before[32];
    char after[32];
    if (result->resized == 0) {
        return;
    }
    units_format_bytes(before, sizeof before, result->resized_bytes_before);
    units_format_bytes(after, sizeof after, result->resized_bytes_after);
    printf("%" PRIu64 " images downscaled, to at most %" PRIu32
           " pixels: %s became %s (%+.1f %%); their pixels are not those of the source\n",
           result->resized, args->options.max_side, before, after,
           100.0 *
               ((double)result->resized_bytes_after / (double)result->resized_bytes_before - 1));
}

/* Prints the parts; only the first one does. */
static void print_parts(const struct pack_args *args, const sluice_pack_result *result)
{
    if (args->part.parts == 1 || args->part.part != 0) {
        return;
    }
    if (result->cut_for_parts != 0) {
        printf("shards of 256MiB would be fewer than the %" PRIu32
               " processes: they are smaller, so that each process has some (--shard-size "
               "overrides this)\n",
               args->part.parts);
    }
    if (result->idle_parts > 0) {
        const uint32_t shards = args->part.parts - result->idle_parts;
        printf("%" PRIu32 " of %" PRIu32
               " processes ha%s nothing to do, since there %s only %" PRIu32 " shard%s%s\n",
               result->idle_parts, args->part.parts, result->idle_parts == 1 ? "s" : "ve",
               shards == 1 ? "is" : "are", shards, shards == 1 ? "" : "s",
               args->options.shard_bytes > 0 ? ": a smaller --shard-size makes more" : "");
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
        json_unsigned(&json, "decoded", result->decoded);
        json_unsigned(&json, "decoded_bytes_before", result->decoded_bytes_before);
        json_unsigned(&json, "decoded_bytes_after", result->decoded_bytes_after);
        json_unsigned(&json, "resized", result->resized);
        json_unsigned(&json, "resized_bytes_before", result->resized_bytes_before);
        json_unsigned(&json, "resized_bytes_after", result->resized_bytes_after);
        json_bool(&json, "verified", !args->options.skip_verify && result->was_complete == 0);
        json_bool(&json, "was_complete", result->was_complete != 0);
        json_unsigned(&json, "part", args->part.part);
        json_unsigned(&json, "parts", args->part.parts);
        json_unsigned(&json, "idle_parts", result->idle_parts);
        json_bool(&json, "cut_for_parts", result->cut_for_parts != 0);
        json_bool(&json, "complete", result->complete != 0);
        json_real(&json, "seconds", seconds);
        json_close_object(&json);
        return;
    }
    char bytes[32];
    units_format_bytes(bytes, sizeof bytes, result->bytes);
    if (result->was_complete != 0) {
        printf("%" PRIu64 " samples in %" PRIu32 " shard%s, %s, were in %s already: nothing was "
               "written or verified; `sluice verify` does that\n",
               result->samples, result->shards, result->shards == 1 ? "" : "s", bytes,
               SAFE(args->out));
        return;
    }
    if (args->part.parts > 1) {
        printf("part %" PRIu32 " of %" PRIu32 ": ", args->part.part, args->part.parts);
    }
    printf("%" PRIu64 " samples in %" PRIu32 " shard%s, %s, in %s (%.1f s%s)%s\n", result->samples,
           result->shards, result->shards == 1 ? "" : "s", bytes, SAFE(args->out), seconds,
           args->options.skip_verify ? ", not verified" : ", verified",
           args->options.append && result->complete != 0   ? ", added"
           : args->part.parts > 1 && result->complete != 0 ? "; all parts are complete and joined"
                                                           : "");
    print_parts(args, result);
    print_jpegs(args, result);
    print_decoded(result);
    print_resized(args, result);
    if (result->resumed_samples > 0) {
        printf("%" PRIu64 " samples were taken over from an interrupted run\n",
               result->resumed_samples);
    }
    if (result->rejected > 0) {
        printf("%" PRIu64 " bad samples were left out%s: see %s/rejected.tsv\n", result->rejected,
               result->complete != 0 ? "" : ", listed when all parts are joined", SAFE(args->out));
    }
}

/* Returns whether OUT has files from which a later run can resume (docs/format.md, "How the
 * files come about"). */
static bool has_begun(const struct pack_args *args)
{
    char journal[4096];
    const int length = snprintf(journal, sizeof journal, "%s/pack.journal", args->out);
    return length > 0 && (size_t)length < sizeof journal && files_size(journal) >= 0;
}

static const char *same_command(const struct pack_args *args)
{
    return args->options.overwrite ? "the same command without --overwrite" : "the same command";
}

#define SKIP_ALL "--on-bad skip-all leaves out what cannot be read"

static const char *advice_for(const struct pack_args *args, const sluice_error *error, char *text,
                              size_t bytes)
{
    switch (error->status) {
    case SLUICE_CORRUPT:
    case SLUICE_UNSUPPORTED:
        return error->sample >= 0 ? "--on-bad skip leaves such samples out and lists them" : NULL;
    case SLUICE_NOMEM:
        return "give fewer --workers";
    case SLUICE_STATE:
        if (args->join || args->options.append || args->part.parts > 1) {
            return NULL; /* the text has the remedy */
        }
        if (strstr(error->text, "another process") != NULL) {
            return "wait for it, or name another folder";
        }
        return strstr(error->text, "overwrite") != NULL
                   ? "or name another folder"
                   : "name another folder, or give --overwrite to start over";
    case SLUICE_IO:
        if (!has_begun(args)) {
            return error->sample >= 0 ? SKIP_ALL : NULL;
        }
        snprintf(text, bytes, "once that is fixed, %s resumes the pack%s%s", same_command(args),
                 error->sample >= 0 ? "; " : "", error->sample >= 0 ? SKIP_ALL : "");
        return text;
    default:
        return NULL;
    }
}

static int pack(const sluice_dataset *dataset, const struct pack_args *args)
{
    struct pack_run this = {.args = args};
    sluice_pack_options options = args->options;
    options.workers = options.workers > 0 ? options.workers : part_workers(&args->part);
    options.part = args->part.part;
    options.parts = args->part.parts;
    options.max_sample_bytes = args->folder.max_sample;
    options.on_progress = on_progress;
    options.on_kept = on_kept;
    options.user = &this;
    sluice_label_options labels;
    const bool joins = data_labels(&args->folder, &labels);
    labels.file = NULL; /* the file was applied when the source was opened */
    options.labels = args->options.append && joins ? &labels : NULL;
    sluice_pack_result result = {.struct_size = sizeof result};
    sluice_error error = SLUICE_ERROR_INIT;
    progress_begin(&this.progress, "samples");
    double start = clock_seconds();
    sluice_status status = sluice_pack(dataset, args->out, &options, &result, &error);
    progress_end(&this.progress);
    interrupt_settle();
    if (status < 0) {
        char advice[200];
        return report_error(&error, advice_for(args, &error, advice, sizeof advice));
    }
    print_result(args, &result, clock_seconds() - start);
    return TOOL_FINE;
}

static void on_interrupt(void *user)
{
    const struct pack_args *args = user;
    if (has_begun(args)) {
        report_note("interrupted; %s resumes the pack", same_command(args));
    } else {
        report_note("interrupted before anything was packed");
    }
}

/* Opens files without metadata. */
static sluice_dataset *open_flat(const struct pack_args *args, int *code)
{
    const sluice_dataset_options options = {
        .struct_size = sizeof options, .flat = &args->flat, .split = args->folder.options.split};
    sluice_dataset *dataset = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    if (!data_use_remote(&args->folder, code)) {
        return NULL;
    }
    if (sluice_dataset_open(&dataset, (const char *const *)args->sources, args->source_count,
                            &options, &error) < 0) {
        *code = report_error(&error, NULL);
        return NULL;
    }
    return dataset;
}

/* Joins the parts of a pack. */
static int join(const struct pack_args *args)
{
    sluice_pack_result result = {.struct_size = sizeof result};
    sluice_error error = SLUICE_ERROR_INIT;
    const double start = clock_seconds();
    if (sluice_pack_join(args->out, &result, &error) < 0) {
        return report_error(&error, NULL);
    }
    if (args->json) {
        print_result(args, &result, clock_seconds() - start);
        return TOOL_FINE;
    }
    char bytes[32];
    units_format_bytes(bytes, sizeof bytes, result.bytes);
    printf("%" PRIu64 " samples in %" PRIu32 " shard%s, %s, in %s: %s\n", result.samples,
           result.shards, result.shards == 1 ? "" : "s", bytes, SAFE(args->out),
           result.was_complete != 0 ? "joined already" : "joined");
    if (result.rejected > 0) {
        printf("%" PRIu64 " bad samples were left out: see %s/rejected.tsv\n", result.rejected,
               SAFE(args->out));
    }
    return TOOL_FINE;
}

static int run(struct pack_args *args)
{
    int code = TOOL_FAILED;
    interrupt_end("\n", on_interrupt, args);
    sluice_dataset *dataset = args->tensor != NULL
                                  ? open_flat(args, &code)
                                  : data_open(args->sources[0], &args->folder, &code);
    if (dataset == NULL) {
        return code;
    }
    code = pack(dataset, args);
    sluice_dataset_close(dataset);
    return code;
}

static bool parse_zstd(struct pack_args *args)
{
    const char *text = args->zstd == NULL ? "auto" : args->zstd;
    char *end;
    if (strcmp(text, "auto") == 0 || strcmp(text, "off") == 0) {
        args->options.zstd_level = text[0] == 'a' ? SLUICE_ZSTD_AUTO : SLUICE_ZSTD_OFF;
        return true;
    }
    const long level = strtol(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || level < 1 || level > 19) {
        report("--zstd %s: expected auto, off or a level from 1 to 19", text);
        return false;
    }
    args->options.zstd_level = (int32_t)level;
    return true;
}

/* Checks combinations of options. False: reported. */
static bool check(struct pack_args *args)
{
    const bool changes_jpegs =
        args->options.jpeg_metadata != SLUICE_JPEG_METADATA_KEEP || args->options.tile_mcus > 0;
    if (args->options.keep_bytes && changes_jpegs) {
        report("--keep-bytes stores JPEGs unchanged: leave out --metadata drop and --tile-mcus");
        return false;
    }
    if (args->options.raw && (args->options.keep_bytes || changes_jpegs)) {
        report("--raw stores no JPEGs: leave out --keep-bytes, --metadata drop and --tile-mcus");
        return false;
    }
    if (args->options.quality > 0 && args->options.max_side == 0) {
        report("--quality needs --max-side, which re-encodes images: give both");
        return false;
    }
    if (args->options.raw && args->options.raw_share > 0) {
        report("--raw stores the pixels of all samples: leave out --raw-share");
        return false;
    }
    if (args->join && (args->source_count > 0 || args->given != NULL)) {
        report("--join takes one folder, that of the parts, and no --part");
        return false;
    }
    if (args->options.append && (args->join || args->options.overwrite)) {
        report("--append adds to the dataset in OUT: leave out --overwrite and --join");
        return false;
    }
    if (!args->join && args->source_count == 0) {
        report("OUT is missing: write for example `sluice pack photos packed`");
        return false;
    }
    if (args->tensor == NULL && args->source_count > 1) {
        report("too many arguments: `%s` is not expected; only --tensor takes several files",
               args->sources[1]);
        return false;
    }
    return parse_zstd(args) &&
           (args->tensor == NULL || field_parse_tensor(args->tensor, &args->flat));
}

#define PACK_SUMMARY                                                             \
    "Packs a dataset into shards: a few large files with an index, which load\n" \
    "faster than many small ones. Images keep their pixels. The same command\n"  \
    "resumes an interrupted run."

#define PACK_DETAILS                                                                          \
    "JPEGs are re-tiled: rewritten losslessly, so that a crop can be decoded without the\n"   \
    "rest of the image. The same input and options give the same bytes. Under mpirun or\n"    \
    "srun each process packs a part, and the last process joins the parts; --part does the\n" \
    "same without a launcher, --part auto in the jobs of an array."

#define PACK_EXAMPLES                             \
    "  sluice pack photos packed\n"               \
    "  sluice pack photos small --max-side 512\n" \
    "  sluice pack --tensor tokens=u16:1024 --zstd off a.bin packed\n"

static int pack_or_join(struct pack_args *args)
{
    if (args->join) {
        args->options.skip_verify = 1; /* the parts verified, or did not */
        return join(args);
    }
    part_note_array(args->given);
    const int code = part_choose(args->given, &args->part);
    if (code == TOOL_FINE && args->part.parts > 1 && args->options.overwrite) {
        report("--overwrite does not work with several processes: remove %s first",
               SAFE(args->out));
        return TOOL_USAGE;
    }
    return code == TOOL_FINE ? run(args) : code;
}

int pack_main(int argc, char **argv)
{
    struct pack_args args = {.options = SLUICE_PACK_OPTIONS_INIT, .folder = DATA_FOLDER_INIT};
    const struct option_row rows[] = {
        OPTION_GROUP("Shards"),
        {LIBRARY_ROW(PACK, args.options, "shard-size"), .letter = 's', .common = true},
        {LIBRARY_ROW(PACK, args.options, "keep-order"), .common = true,
         .help = "write in dataset order [shuffled]"},
        {LIBRARY_ROW(PACK, args.options, "seed")},
        {LIBRARY_ROW(PACK, args.options, "append")},
        {LIBRARY_ROW(PACK, args.options, "overwrite"), .common = true,
         .help = "remove an earlier pack's output, and start over"},
        {LIBRARY_ROW(PACK, args.options, "no-verify")},
        OPTION_GROUP("Images"),
        {LIBRARY_ROW(PACK, args.options, "max-side"), .common = true,
         .help = "downscale larger images (lossy) [off]"},
        {LIBRARY_ROW(PACK, args.options, "quality")},
        {LIBRARY_ROW(PACK, args.options, "raw")},
        {LIBRARY_ROW(PACK, args.options, "raw-share")},
        {LIBRARY_ROW(PACK, args.options, "keep-bytes"), .common = true},
        {LIBRARY_ROW(PACK, args.options, "metadata")},
        {LIBRARY_ROW(PACK, args.options, "tile-mcus")},
        OPTION_GROUP("Other data"),
        {"zstd", 'z', OPTION_TEXT, &args.zstd, .metavar = "auto|off|LEVEL",
         .help = "compress non-image data: if worthwhile, never, at 1..19 [auto]"},
        {"tensor", 0, OPTION_TEXT, &args.tensor, .metavar = "TYPE",
         .help = "pack files of raw tensors of this TYPE: [NAME=]DTYPE:SHAPE"},
        OPTION_GROUP("Processing"),
        {LIBRARY_ROW(PACK, args.options, "workers"), .letter = 'w', .common = true},
        {LIBRARY_ROW(PACK, args.options, "on-bad"), .metavar = "ACTION", .common = true,
         .help = "at a bad sample: fail|skip|skip-all [fail]"},
        LIBRARY_ROWS(PACK, args.options),
        PART_ROW(args.given, true),
        {"join", 0, OPTION_FLAG, &args.join,
         .help = "join the parts in OUT, if the last process did not"},
        DATA_FOLDER_ROWS(args.folder),
        OPTION_GROUP("Output"),
        {"verbose", 'v', OPTION_FLAG, &args.verbose,
         .help = "name each JPEG that is stored unchanged, with the reason"},
        {"json", 0, OPTION_FLAG, &args.json, .common = true, .help = "print the result as JSON"},
        {.name = NULL},
    };
    struct command_usage usage = {
        .arguments = "DATASET OUT | --tensor TYPE FILE ... OUT | --join OUT",
        .summary = PACK_SUMMARY,
        .details = PACK_DETAILS,
        .examples = PACK_EXAMPLES,
        .rows = rows,
        .operands_min = 1,
        .operands_max = 1 << 20,
    };
    int code = options_parse(&usage, argc, argv);
    if (code != OPTIONS_GO_ON) {
        return code;
    }
    args.sources = usage.operands;
    args.source_count = (size_t)usage.operand_count - 1;
    args.out = usage.operands[usage.operand_count - 1];
    return check(&args) ? pack_or_join(&args) : TOOL_USAGE;
}
