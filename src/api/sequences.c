/* SPDX-License-Identifier: Apache-2.0 */
#include "api.h"

#include "error.h"
#include "field_lengths.h"
#include "packing.h"
#include "scan.h"
#include "stop.h"

#include <string.h>

enum { USUAL_DOCUMENTS = 32 };

int32_t sluice_dataset_lengths_source(const sluice_dataset *dataset, const char *field)
{
    if (dataset == NULL || field == NULL) {
        return SLUICE_LENGTHS_NONE;
    }
    const sl_dataset *own = sl_api_const_dataset(dataset);
    const uint32_t number = sl_dataset_field(own, field);
    return number == SL_FIELD_NONE ? (int32_t)SLUICE_LENGTHS_NONE
                                   : (int32_t)sl_field_lengths_source(own, number);
}

// NOLINTBEGIN(readability-non-const-parameter): written to, by way of the wish
static sluice_status read_lengths(const sl_dataset *dataset, const char *name, uint64_t *lengths,
                                  const sluice_scan_options *options, sluice_error *error)
// NOLINTEND(readability-non-const-parameter)
{
    sluice_scan_options own;
    sl_stop stop;
    sluice_status status = sl_api_read_scan(&own, options, error);
    if (status < 0) {
        return status;
    }
    const uint32_t field = sl_dataset_field(dataset, name);
    if (field == SL_FIELD_NONE) {
        return sl_dataset_refuse_field(dataset, name, error);
    }
    if (sl_field_lengths_source(dataset, field) == SLUICE_LENGTHS_NONE) {
        return sl_error_set(
            error, SLUICE_INVALID, "api",
            "field \"%.64s\" has no length per sample: expected a tensor of at least one dimension",
            name);
    }
    sl_stop_begin(&stop, own.should_stop, own.user);
    const sl_lengths_wish wish = {field, sl_lengths_keep, lengths};
    status = sl_field_lengths_read(dataset, &wish, 1, &own, NULL, error);
    sl_stop_end(&stop);
    return status;
}

sluice_status sluice_dataset_read_lengths(const sluice_dataset *dataset, const char *field,
                                          uint64_t *lengths, const sluice_scan_options *options,
                                          sluice_error *error)
{
    sluice_error reason;
    if (sl_api_lacks(error, dataset, "dataset") || sl_api_lacks(error, field, "field") ||
        sl_api_lacks(error, lengths, "lengths")) {
        return SLUICE_INVALID;
    }
    const sluice_status status =
        read_lengths(sl_api_const_dataset(dataset), field, lengths, options, &reason);
    return status < 0 ? sl_api_fail(error, &reason) : status;
}

/* ---- packing ---- */

static void given_lengths(const void *ctx, const uint64_t *documents, uint32_t count,
                          uint64_t *lengths)
{
    const uint64_t *given = ctx;
    for (uint32_t i = 0; i < count; i++) {
        lengths[i] = given[documents[i]];
    }
}

static uint32_t or_usual(uint32_t given, uint32_t usual)
{
    return given != 0 ? given : usual;
}

static void fill_report(sluice_packing_report *report, const sl_packing_facts *facts)
{
    *report = (sluice_packing_report){.struct_size = sizeof(*report),
                                      .most_documents = facts->most_pieces,
                                      .documents = facts->documents,
                                      .tokens = facts->tokens,
                                      .targets = facts->tokens - (facts->documents - facts->empty),
                                      .rows = facts->rows,
                                      .pieces = facts->pieces,
                                      .align_padding = facts->align_padding,
                                      .end_padding = facts->end_padding,
                                      .cut = facts->cut,
                                      .empty = facts->empty,
                                      .closed = facts->closed,
                                      .longest = facts->longest,
                                      .longest_document = facts->longest_document};
}

static sluice_status count_packing(const uint64_t *lengths, uint64_t documents,
                                   const sluice_packing_options *options,
                                   sluice_packing_report *report, sluice_error *error)
{
    sluice_packing_options own;
    sl_stop stop;
    sl_packed_rows *packing = NULL;
    sluice_status status =
        sl_api_read_struct(&own, sizeof(own), options, "sluice_packing_options", error);
    if (status < 0) {
        return status;
    }
    if (own.cut < SLUICE_CUT_NONE || own.cut > SLUICE_CUT_SPLIT) {
        return sl_error_set(error, SLUICE_INVALID, "api", "packing: cut %d is not a sluice_cut",
                            own.cut);
    }
    const sl_packing_shape shape = {.length = own.length,
                                    .max_documents = or_usual(own.max_documents, USUAL_DOCUMENTS),
                                    .align = or_usual(own.align, 1),
                                    .unit = or_usual(own.unit, 1),
                                    .window = or_usual(own.window, SL_PACKING_WINDOW),
                                    .cut = (sl_packing_cut)own.cut};
    const sl_packing_source source = {
        .lengths = {documents, given_lengths, lengths}, .seed = own.seed, .shuffled = true};
    sl_stop_begin(&stop, own.should_stop, own.user);
    status = sl_packing_open(&packing, &shape, &source, error);
    sl_stop_end(&stop);
    if (status == SLUICE_OK) {
        fill_report(report, sl_packing_facts_of(packing));
    }
    sl_packing_close(packing);
    return status;
}

sluice_status sluice_packing_count(const uint64_t *lengths, uint64_t documents,
                                   const sluice_packing_options *options,
                                   sluice_packing_report *report, sluice_error *error)
{
    sluice_error reason;
    sluice_packing_report made;
    if (sl_api_lacks(error, lengths, "lengths") || sl_api_lacks(error, options, "options") ||
        sl_api_lacks(error, report, "report") ||
        sl_api_is_untagged(error, report, "sluice_packing_report")) {
        return SLUICE_INVALID;
    }
    const sluice_status status = count_packing(lengths, documents, options, &made, &reason);
    return status < 0 ? sl_api_fail(error, &reason)
                      : sl_api_write_struct(report, &made, sizeof(made));
}
