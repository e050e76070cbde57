/* SPDX-License-Identifier: Apache-2.0 */
#include "lengths.h"

#include "exit_code.h"
#include "progress.h"
#include "report.h"
#include "safe_text.h"
#include "units.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { USUAL_DOCUMENTS = 32 };

static const char *const cut_words[] = {"none", "long", "split"};
/* Samples measured without a request: at most some tenths of a second. */
static const uint64_t unasked_samples = 1U << 17;

/* ---- which field ---- */

/* Returns true for a tokenizer's output: one dimension of whole numbers, any length, no other
 * meaning. */
static bool is_tokens(const sluice_field *field)
{
    const char *dtype = sluice_dtype_name((sluice_dtype)field->dtype);
    return field->type == SLUICE_FIELD_TENSOR && field->dims == 1 && field->shape[0] == 0 &&
           (dtype[0] == 'i' || dtype[0] == 'u') && field->role == SLUICE_ROLE_NONE &&
           field->per_box == 0;
}

/* Finds the first such field; returns how many there are. */
static uint32_t find_tokens(const sluice_dataset *dataset, char name[32])
{
    uint32_t count = 0;
    sluice_field field = SLUICE_FIELD_INIT;
    for (uint32_t i = 0; sluice_dataset_get_field(dataset, i, &field) == SLUICE_OK; i++) {
        if (is_tokens(&field) && count++ == 0) {
            snprintf(name, sizeof(field.name), "%s", field.name);
        }
    }
    return count;
}

bool lengths_are_asked(const struct lengths_args *args)
{
    return args->field != NULL || args->rows != NULL;
}

/* Sets found->field; "": none found, and none was requested. */
static int choose_field(const sluice_dataset *dataset, const struct lengths_args *args,
                        struct lengths_found *found)
{
    char name[32] = "";
    const uint32_t count = find_tokens(dataset, name);
    if (args->field != NULL) {
        if (strlen(args->field) >= sizeof(found->field)) {
            report("--lengths %s: a field's name has at most 31 characters", SAFE(args->field));
            return TOOL_USAGE;
        }
        snprintf(found->field, sizeof(found->field), "%s", args->field);
    } else if (count == 1) {
        snprintf(found->field, sizeof(found->field), "%s", name);
    } else if (args->rows != NULL) {
        report(count == 0 ? "--pack-length: no field of the dataset looks like tokens: choose a "
                            "tensor of any length with --lengths FIELD"
                          : "--pack-length: several fields look like tokens: choose one with "
                            "--lengths FIELD");
        return TOOL_USAGE;
    }
    return TOOL_FINE;
}

/* ---- options ---- */

static int read_row_lengths(const struct lengths_args *args, struct lengths_found *found)
{
    const char *text = args->rows;
    while (text != NULL) {
        char number[24];
        const char *comma = strchr(text, ',');
        const size_t size = comma != NULL ? (size_t)(comma - text) : strlen(text);
        uint64_t *length = &found->packing[found->packings].length;
        if (found->packings == PACK_LENGTHS_MAX || size >= sizeof(number)) {
            break;
        }
        snprintf(number, sizeof(number), "%.*s", (int)size, text);
        if (!units_parse_count(number, length) || *length == 0) {
            break;
        }
        found->packings++;
        text = comma != NULL ? comma + 1 : NULL;
    }
    if (text == NULL) {
        return TOOL_FINE;
    }
    report("--pack-length %s: expected up to %d numbers of tokens, as 2048,8192", SAFE(args->rows),
           PACK_LENGTHS_MAX);
    return TOOL_USAGE;
}

static int read_options(const struct lengths_args *args, struct lengths_found *found)
{
    if (args->rows == NULL && (args->align > 0 || args->max_documents > 0 || args->cut >= 0)) {
        report("--align, --max-documents and --cut go with --pack-length N");
        return TOOL_USAGE;
    }
    found->args = *args;
    found->args.align = args->align > 0 ? args->align : 1;
    found->args.max_documents = args->max_documents > 0 ? args->max_documents : USUAL_DOCUMENTS;
    found->args.cut = args->cut >= 0 ? args->cut : SLUICE_CUT_NONE;
    return read_row_lengths(args, found);
}

/* ---- measuring ---- */

static int compare_lengths(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left;
    const uint64_t b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

/* Returns the smallest length that `percent` of the samples do not exceed. */
static uint64_t nearest_rank(const uint64_t *sorted, uint64_t count, uint64_t percent)
{
    const uint64_t rank = count / 100 * percent + (count % 100 * percent + 99) / 100;
    return sorted[rank > 0 ? rank - 1 : 0];
}

/* Sorts the lengths. */
static void summarize(struct lengths_found *found, uint64_t *lengths)
{
    qsort(lengths, found->samples, sizeof(*lengths), compare_lengths);
    for (uint64_t i = 0; i < found->samples; i++) {
        found->tokens += lengths[i];
        found->empty += lengths[i] == 0;
    }
    found->median = nearest_rank(lengths, found->samples, 50);
    found->p99 = nearest_rank(lengths, found->samples, 99);
    found->longest = lengths[found->samples - 1];
    found->measured = true;
}

static int pack_lengths(struct lengths_found *found, const uint64_t *lengths)
{
    sluice_error error = SLUICE_ERROR_INIT;
    for (uint32_t i = 0; i < found->packings; i++) {
        sluice_packing_options options = SLUICE_PACKING_OPTIONS_INIT;
        options.length = found->packing[i].length;
        options.align = (uint32_t)found->args.align;
        options.max_documents = (uint32_t)found->args.max_documents;
        options.cut = found->args.cut;
        found->packing[i].report = (sluice_packing_report)SLUICE_PACKING_REPORT_INIT;
        if (sluice_packing_count(lengths, found->samples, &options, &found->packing[i].report,
                                 &error) < 0) {
            return report_error(&error, NULL);
        }
    }
    return TOOL_FINE;
}

static void lengths_progress(void *user, uint64_t done, uint64_t total)
{
    progress_update(user, done, total);
}

static sluice_status read_all(const sluice_dataset *dataset, const struct lengths_found *found,
                              uint64_t *lengths, sluice_error *error)
{
    struct progress progress;
    sluice_scan_options options = SLUICE_SCAN_OPTIONS_INIT;
    options.on_progress = lengths_progress;
    options.user = &progress;
    options.max_sample_bytes = found->args.max_sample;
    progress_begin(&progress, "samples");
    const sluice_status status =
        sluice_dataset_read_lengths(dataset, found->field, lengths, &options, error);
    progress_end(&progress);
    return status;
}

/* Measures; if nothing was requested, an error is only noted. */
static int measure(const sluice_dataset *dataset, bool asked, struct lengths_found *found)
{
    sluice_error error = SLUICE_ERROR_INIT;
    uint64_t *lengths = calloc(found->samples, sizeof(*lengths));
    if (lengths == NULL) {
        report("out of memory for the lengths of %" PRIu64 " samples", found->samples);
        return TOOL_FAILED;
    }
    int code = TOOL_FINE;
    if (read_all(dataset, found, lengths, &error) < 0) {
        if (asked) {
            code = report_error(&error, NULL);
        } else {
            report_note("the lengths of field %s cannot be read: %s", SAFE(found->field),
                        SAFE(error.text));
            found->field[0] = '\0';
        }
    } else {
        code = pack_lengths(found, lengths);
        summarize(found, lengths);
    }
    free(lengths);
    return code;
}

int lengths_measure(const sluice_dataset *dataset, const struct lengths_args *args,
                    struct lengths_found *found)
{
    sluice_dataset_info info = SLUICE_DATASET_INFO_INIT;
    memset(found, 0, sizeof(*found));
    (void)sluice_dataset_get_info(dataset, &info);
    found->samples = info.samples;
    int code = read_options(args, found);
    if (code == TOOL_FINE) {
        code = choose_field(dataset, args, found);
    }
    if (code != TOOL_FINE || found->field[0] == '\0') {
        return code;
    }
    found->source = sluice_dataset_lengths_source(dataset, found->field);
    const bool cheap = found->source != SLUICE_LENGTHS_SAMPLES && info.samples <= unasked_samples;
    const bool asked = lengths_are_asked(args);
    return asked || cheap ? measure(dataset, asked, found) : TOOL_FINE;
}

/* ---- output ---- */

static const char *source_text(int32_t source)
{
    return source == SLUICE_LENGTHS_SAMPLES ? "every sample was read"
           : source == SLUICE_LENGTHS_INDEX ? "from the index"
                                            : "nothing was read";
}

static double share(uint64_t part, uint64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}

static double padding_share(const struct lengths_packing *packing)
{
    const sluice_packing_report *r = &packing->report;
    return share(r->align_padding + r->end_padding, r->rows * packing->length);
}

static void print_packing(const struct lengths_packing *packing)
{
    const sluice_packing_report *r = &packing->report;
    printf("             rows of %" PRIu64 ": %" PRIu64 ", padding %.2f %%, %.2f %% of samples "
           "cut, %.2f %% of tokens trained\n",
           packing->length, r->rows, 100 * padding_share(packing),
           100 * share(r->cut, r->documents), 100 * share(r->targets, r->tokens));
    if (r->closed > 0) {
        printf("             %" PRIu64 " of these rows have space left, but %" PRIu32
               " samples already (--max-documents)\n",
               r->closed, r->most_documents);
    }
}

void lengths_print(const struct lengths_found *found)
{
    if (found->field[0] == '\0') {
        return;
    }
    if (!found->measured) {
        printf("lengths      of %s: shown by --lengths %s, which reads %s\n", SAFE(found->field),
               SAFE(found->field),
               found->source == SLUICE_LENGTHS_SAMPLES ? "every sample" : "the index");
        return;
    }
    printf("lengths      of %s: median %" PRIu64 ", p99 %" PRIu64 ", longest %" PRIu64 ", %" PRIu64
           " in all (%s)\n",
           SAFE(found->field), found->median, found->p99, found->longest, found->tokens,
           source_text(found->source));
    if (found->empty > 0) {
        printf("             %" PRIu64 " of %" PRIu64 " samples are empty\n", found->empty,
               found->samples);
    }
    if (found->packings > 0) {
        printf("packing      align %" PRIu64 ", at most %" PRIu64 " samples a row, cut %s\n",
               found->args.align, found->args.max_documents, cut_words[found->args.cut]);
    }
    for (uint32_t i = 0; i < found->packings; i++) {
        print_packing(&found->packing[i]);
    }
}

static void write_packing(struct json *json, const struct lengths_found *found,
                          const struct lengths_packing *packing)
{
    const sluice_packing_report *r = &packing->report;
    json_open_object(json, NULL);
    json_unsigned(json, "length", packing->length);
    json_unsigned(json, "align", found->args.align);
    json_unsigned(json, "max_documents", found->args.max_documents);
    json_text(json, "cut", cut_words[found->args.cut]);
    json_unsigned(json, "rows", r->rows);
    json_unsigned(json, "align_padding", r->align_padding);
    json_unsigned(json, "end_padding", r->end_padding);
    json_real(json, "padding_share", padding_share(packing));
    json_unsigned(json, "documents_cut", r->cut);
    json_unsigned(json, "rows_closed", r->closed);
    json_unsigned(json, "most_documents", r->most_documents);
    json_unsigned(json, "targets", r->targets);
    json_real(json, "trained_share", share(r->targets, r->tokens));
    json_close_object(json);
}

void lengths_write(struct json *json, const struct lengths_found *found)
{
    static const char *const sources[] = {"none", "known", "index", "samples"};
    if (!found->measured) {
        return;
    }
    json_open_object(json, "lengths");
    json_text(json, "field", found->field);
    json_text(json, "source", sources[found->source]);
    json_unsigned(json, "samples", found->samples);
    json_unsigned(json, "empty", found->empty);
    json_unsigned(json, "tokens", found->tokens);
    json_unsigned(json, "median", found->median);
    json_unsigned(json, "p99", found->p99);
    json_unsigned(json, "longest", found->longest);
    json_open_array(json, "packing");
    for (uint32_t i = 0; i < found->packings; i++) {
        write_packing(json, found, &found->packing[i]);
    }
    json_close_array(json);
    json_close_object(json);
}
