/* SPDX-License-Identifier: Apache-2.0 */
/* sluice info: describes a dataset, one sample of it, or this machine. */
#include "../command.h"
#include "about.h"
#include "column_set.h"
#include "data.h"
#include "exit_code.h"
#include "field_text.h"
#include "files.h"
#include "json.h"
#include "lengths.h"
#include "options.h"
#include "report.h"
#include "safe_text.h"
#include "system.h"
#include "units.h"

#include <sluice/common.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const uint64_t no_sample = UINT64_MAX;

struct info_args {
    uint64_t sample;
    struct data_folder folder;
    struct lengths_args lengths;
    bool system, formats, json;
    const char *dataset;
};

/* Sums file sizes, with one stat a file: an image folder's index has none. False: a file cannot
 * be queried, or samples are several files, which would have to be read. */
static bool sum_files(const sluice_dataset *dataset, uint64_t samples, uint64_t *bytes)
{
    sluice_sample_info sample = {.struct_size = sizeof sample};
    *bytes = 0;
    for (uint64_t i = 0; i < samples; i++) {
        if (sluice_dataset_get_sample(dataset, i, &sample, NULL) < 0) {
            return false;
        }
        int64_t size = sample.bytes == 0 ? files_size(sample.file) : -1;
        if (size < 0) {
            return false;
        }
        *bytes += (uint64_t)size;
    }
    return true;
}

static void write_array(struct json *json, int dtype, const int64_t *shape, uint32_t dims)
{
    json_text(json, "dtype", sluice_dtype_name((sluice_dtype)dtype));
    json_open_row(json, "shape");
    for (uint32_t i = 0; i < dims; i++) {
        if (shape[i] == 0) {
            json_null(json, NULL); /* varies between samples, or depends on the recipe */
        } else {
            json_signed(json, NULL, shape[i]);
        }
    }
    json_close_array(json);
}

static void write_fields(struct json *json, const sluice_dataset *dataset,
                         const sluice_dataset_info *info)
{
    struct column_spec spec;
    sluice_field field = SLUICE_FIELD_INIT;
    json_open_array(json, "fields");
    for (uint32_t i = 0; sluice_dataset_get_field(dataset, i, &field) == SLUICE_OK; i++) {
        json_open_object(json, NULL);
        json_text(json, "name", field.name);
        json_text(json, "type", field_type_name(&field));
        write_array(json, field.dtype, field.shape, field.dims);
        if (field_stored_name(&field)[0] != '\0') {
            json_text(json, "stored", field_stored_name(&field));
        }
        about_write_meaning(json, &field);
        json_close_object(json);
    }
    json_close_array(json);
    json_open_array(json, "columns");
    for (uint32_t i = 0; i < info->fields; i++) {
        if (column_natural(dataset, i, &spec)) {
            json_open_object(json, NULL);
            json_text(json, "name", spec.name);
            json_text(json, "kind", column_kind_name(spec.column.kind));
            write_array(json, spec.column.dtype, spec.column.shape, spec.column.dims);
            json_close_object(json);
        }
    }
    json_close_array(json);
}

static void print_dataset_json(const sluice_dataset *dataset, const sluice_dataset_info *info,
                               bool sized, const struct lengths_found *lengths)
{
    struct json json;
    char fingerprint[24];
    snprintf(fingerprint, sizeof fingerprint, "%016" PRIx64, info->fingerprint);
    json_begin(&json, stdout);
    json_open_object(&json, NULL);
    json_text(&json, "format", info->format);
    json_text(&json, "description", sluice_dataset_describe(dataset));
    json_unsigned(&json, "samples", info->samples);
    if (sized) {
        json_unsigned(&json, "bytes", info->bytes);
    } else {
        json_null(&json, "bytes");
    }
    json_unsigned(&json, "shards", info->shards);
    json_bool(&json, "front_to_back", info->front_to_back != 0);
    write_fields(&json, dataset, info);
    lengths_write(&json, lengths);
    about_write_left_out(&json, dataset);
    about_write_warnings(&json, dataset);
    json_unsigned(&json, "classes", info->classes);
    json_text(&json, "fingerprint", fingerprint);
    json_close_object(&json);
}

/* Prints "i64", "u8 size x size x 3": the size is the recipe's. */
static void print_array(const struct column_spec *spec)
{
    printf("%s", sluice_dtype_name((sluice_dtype)spec->column.dtype));
    for (uint32_t i = 0; i < spec->column.dims; i++) {
        printf("%s", i > 0 ? " x " : " ");
        if (spec->column.shape[i] == 0) {
            printf("size");
        } else {
            printf("%" PRId64, spec->column.shape[i]);
        }
    }
    printf("\n");
}

/* Prints a line for each field, then one for each default column. */
static void print_fields(const sluice_dataset *dataset, const sluice_dataset_info *info)
{
    struct column_spec spec;
    sluice_field field = SLUICE_FIELD_INIT;
    uint32_t columns = 0;
    for (uint32_t i = 0; sluice_dataset_get_field(dataset, i, &field) == SLUICE_OK; i++) {
        char text[192];
        char meaning[192];
        field_describe(&field, text, sizeof text);
        sluice_field_get_meaning(&field, meaning, sizeof meaning);
        const bool known = meaning[0] != '\0';
        printf("%-12s %-12s %s%s%s%s\n", i == 0 ? "fields" : "", SAFE(field.name), SAFE(text),
               known ? " (" : "", SAFE(meaning), known ? ")" : "");
    }
    for (uint32_t i = 0; i < info->fields; i++) {
        if (column_natural(dataset, i, &spec)) {
            printf("%-12s %-12s %-7s ", columns++ == 0 ? "columns" : "", SAFE(spec.name),
                   column_kind_name(spec.column.kind));
            print_array(&spec);
        }
    }
    if (columns == 0) {
        printf("columns      no defaults: choose some (--column of bench, view)\n");
    }
}

/* Finds the first field of the type and role; without a role, a tensor with a value for each box.
 * Fills in `*field`. */
static bool find_field(const sluice_dataset *dataset, int type, int role, sluice_field *field)
{
    bool found = false;
    for (uint32_t i = 0; !found && sluice_dataset_get_field(dataset, i, field) == SLUICE_OK; i++) {
        found =
            field->type == type && field->role == role &&
            (type != SLUICE_FIELD_TENSOR || (field->per_box != 0) == (role == SLUICE_ROLE_NONE));
    }
    return found;
}

/* Prints the fields that follow the image, by their meaning. A mask must be requested: as an
 * image it would be cropped independently. */
static void print_followers(const sluice_dataset *dataset)
{
    sluice_field image = SLUICE_FIELD_INIT;
    sluice_field field = SLUICE_FIELD_INIT;
    if (!find_field(dataset, SLUICE_FIELD_IMAGE, SLUICE_ROLE_NONE, &image)) {
        return;
    }
    if (find_field(dataset, SLUICE_FIELD_TENSOR, SLUICE_ROLE_BOXES, &field) &&
        field.box_format != SLUICE_BOX_AUTO) {
        printf("boxes        follow the image: --column %s:image --column %s:boxes\n",
               SAFE(image.name), SAFE(field.name));
        if (find_field(dataset, SLUICE_FIELD_TENSOR, SLUICE_ROLE_NONE, &field)) {
            printf("             --column %s:ragged (of bench; view draws them by itself)\n",
                   SAFE(field.name));
        }
    }
    if (find_field(dataset, SLUICE_FIELD_IMAGE, SLUICE_ROLE_MASK, &field)) {
        printf("masks        follow the image: --column %s:image --column classes=%s:mask,fill=255 "
               "(of bench);\n             without that they would be images, each with a crop of "
               "its own, and fail\n",
               SAFE(image.name), SAFE(field.name));
    }
}

static void print_dataset_text(const sluice_dataset *dataset, const sluice_dataset_info *info,
                               bool sized, const struct lengths_found *lengths)
{
    char bytes[48] = "not known without reading the files";
    char mean[32] = "?";
    if (sized) {
        units_format_bytes(bytes, sizeof bytes, info->bytes);
        units_format_bytes(mean, sizeof mean, info->bytes / info->samples);
    }
    printf("format       %s: %s\n", info->format, sluice_dataset_describe(dataset));
    printf("samples      %" PRIu64 "\nbytes        %s (%s a sample)\n", info->samples, bytes, mean);
    if (info->shards > 0) {
        printf("files        %" PRIu32 "\n", info->shards);
    }
    if (info->front_to_back != 0) {
        printf("reading      from front to back only, as some files are compressed: whatever reads "
               "them "
               "unpacks them once,\n             opening does where no index was kept; loaders "
               "shuffle files and windows (shuffle \"shards\"), or not at all\n");
    }
    print_fields(dataset, info);
    print_followers(dataset);
    lengths_print(lengths);
    about_print_left_out(dataset);
    printf("classes      %" PRIu32, info->classes);
    for (uint32_t label = 0; label < info->classes && label < 3; label++) {
        const char *name = sluice_dataset_class_name(dataset, label);
        printf("%s %s", label == 0 ? ":" : ",", name == NULL ? "?" : SAFE(name));
    }
    printf("%s\nfingerprint  %016" PRIx64 "\n", info->classes > 3 ? ", ..." : "",
           info->fingerprint);
}

static int show_dataset(const sluice_dataset *dataset, const struct info_args *args)
{
    sluice_dataset_info info = {.struct_size = sizeof info};
    struct lengths_found lengths;
    if (sluice_dataset_get_info(dataset, &info) < 0) {
        report("cannot read the dataset's properties: please report this as a bug");
        return TOOL_FAILED;
    }
    const int code = lengths_measure(dataset, &args->lengths, &lengths);
    if (code != TOOL_FINE) {
        return code;
    }
    bool sized = info.bytes > 0 || sum_files(dataset, info.samples, &info.bytes);
    if (args->json) {
        print_dataset_json(dataset, &info, sized, &lengths);
    } else {
        print_dataset_text(dataset, &info, sized, &lengths);
    }
    return TOOL_FINE;
}

static void print_sample_json(const sluice_dataset *dataset, uint64_t index,
                              const sluice_sample_info *sample)
{
    struct json json;
    json_begin(&json, stdout);
    json_open_object(&json, NULL);
    json_unsigned(&json, "sample", index);
    json_text(&json, "key", sample->key);
    json_text(&json, "file", sample->file);
    json_unsigned(&json, "offset", sample->offset);
    json_unsigned(&json, "bytes", sample->bytes);
    json_unsigned(&json, "width", sample->width);
    json_unsigned(&json, "height", sample->height);
    json_signed(&json, "label", sample->label);
    json_text(&json, "class", sluice_dataset_class_name(dataset, sample->label));
    json_close_object(&json);
}

static int show_sample(const sluice_dataset *dataset, const struct info_args *args)
{
    sluice_sample_info sample = {.struct_size = sizeof sample};
    sluice_error error = SLUICE_ERROR_INIT;
    if (sluice_dataset_get_sample(dataset, args->sample, &sample, &error) < 0) {
        return report_error(&error, NULL);
    }
    int64_t size = files_size(sample.file);
    if (sample.bytes == 0 && size > 0) {
        sample.bytes = (uint64_t)size; /* the whole file */
    }
    if (args->json) {
        print_sample_json(dataset, args->sample, &sample);
        return TOOL_FINE;
    }
    const char *name = sluice_dataset_class_name(dataset, sample.label);
    printf("sample  %" PRIu64 "\nkey     %s\nfile    %s\noffset  %" PRIu64 "\nbytes   %" PRIu64
           "\n",
           args->sample, SAFE(sample.key), SAFE(sample.file), sample.offset, sample.bytes);
    if (sample.width > 0) {
        printf("size    %" PRIu32 " x %" PRIu32 " pixels\n", sample.width, sample.height);
    } else {
        printf("size    not known without reading\n");
    }
    printf("label   %" PRId64 "\nclass   %s\n", sample.label, name == NULL ? "(none)" : SAFE(name));
    return TOOL_FINE;
}

static int show_formats(bool as_json)
{
    struct json json;
    sluice_format format = SLUICE_FORMAT_INIT;
    if (as_json) {
        json_begin(&json, stdout);
        json_open_object(&json, NULL);
        json_open_array(&json, "formats");
    }
    for (uint32_t i = 0; sluice_dataset_format(i, &format) == SLUICE_OK; i++) {
        if (as_json) {
            json_open_object(&json, NULL);
            json_text(&json, "name", format.name);
            json_text(&json, "files", format.files);
            json_bool(&json, "takes_fields", format.takes_fields != 0);
            json_bool(&json, "takes_split", format.takes_split != 0);
            json_close_object(&json);
        } else {
            printf("%-12s %s%s%s\n", format.name, format.files,
                   format.takes_fields != 0 ? "; --field selects fields" : "",
                   format.takes_split != 0 ? "; --split opens one of several" : "");
        }
    }
    if (as_json) {
        json_close_array(&json);
        json_close_object(&json);
    }
    return TOOL_FINE;
}

static int run(const struct info_args *args)
{
    if (args->system + args->formats + (args->dataset != NULL) != 1) {
        report("give a DATASET, --system or --formats, for example `sluice info photos`");
        return TOOL_USAGE;
    }
    const bool of_dataset = args->dataset != NULL && args->sample == no_sample;
    if (!of_dataset && lengths_are_asked(&args->lengths)) {
        report("--lengths and --pack-length show a DATASET: leave out --sample, --system and "
               "--formats");
        return TOOL_USAGE;
    }
    if (args->formats) {
        return show_formats(args->json);
    }
    if (args->system) {
        return system_show(args->json);
    }
    int code;
    sluice_dataset *dataset = data_open(args->dataset, &args->folder, &code);
    if (dataset == NULL) {
        return code;
    }
    code = args->sample == no_sample ? show_dataset(dataset, args) : show_sample(dataset, args);
    sluice_dataset_close(dataset);
    return code;
}

int info_main(int argc, char **argv)
{
    struct info_args args = {
        .sample = no_sample, .folder = DATA_FOLDER_INIT, .lengths = LENGTHS_ARGS_INIT};
    static const char *const cuts[] = {"none", "long", "split", NULL};
    const struct option_row rows[] = {
        OPTION_GROUP("Contents"),
        {"sample", 's', OPTION_COUNT, &args.sample, .max = no_sample - 1, .metavar = "N",
         .common = true, .help = "show sample N, from 0: location, size, label"},
        {"system", 0, OPTION_FLAG, &args.system, .common = true,
         .help = "show this machine: io_uring, memory, CPU, CUDA, rank"},
        {"formats", 0, OPTION_FLAG, &args.formats, .common = true,
         .help = "list the supported formats"},
        OPTION_GROUP("Sequences"),
        {"lengths", 0, OPTION_TEXT, &args.lengths.field, .metavar = "FIELD", .common = true,
         .help = "show lengths of FIELD [tokens, if in the index]"},
        {"pack-length", 0, OPTION_TEXT, &args.lengths.rows, .metavar = "N[,N]", .common = true,
         .help = "show what packing into rows of N tokens gives"},
        {"align", 0, OPTION_COUNT, &args.lengths.align, .min = 1, .max = 1 << 24, .metavar = "N",
         .help = "round each sample's length up to a multiple of N tokens [1]"},
        {"max-documents", 0, OPTION_COUNT, &args.lengths.max_documents, .min = 1, .max = 65536,
         .metavar = "N", .help = "most samples in a row [32]"},
        {"cut", 0, OPTION_CHOICE, &args.lengths.cut, .choices = cuts,
         .help = "samples to cut: longer than a row, or at each row's end [none]"},
        DATA_FOLDER_ROWS(args.folder),
        OPTION_GROUP("Output"),
        {"json", 0, OPTION_FLAG, &args.json, .common = true, .help = "print JSON"},
        {.name = NULL},
    };
    struct command_usage usage = {
        .arguments = "[DATASET]",
        .summary =
            "Shows the samples, fields and classes of a dataset and the format it was taken\n"
            "for, and how long token sequences are; or a sample of it, this machine, or the\n"
            "formats that sluice reads.",
        .examples = "  sluice info photos\n"
                    "  sluice info tokens --pack-length 2048,8192 --cut long\n"
                    "  sluice info --system\n",
        .rows = rows,
        .operands_max = 1,
    };
    int code = options_parse(&usage, argc, argv);
    if (code != OPTIONS_GO_ON) {
        return code;
    }
    args.lengths.max_sample = args.folder.max_sample;
    args.dataset = usage.operand_count > 0 ? usage.operands[0] : NULL;
    return run(&args);
}
