/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The step that makes rows of packed sequences the loader's samples, and their row of orders.
 * Opening only.
 *
 * The loader's dataset becomes one of pieces (pieces.h), by the packings of its sources
 * (packed_sources.h), which it owns. A row has as many members as the fullest one has pieces, which
 * may be far fewer than max_documents: the loader's tables have so many jobs a row.
 */
#include "opening.h"

#include "dtype.h"
#include "error.h"
#include "option_text.h"
#include "packed_order.h"
#include "packed_sources.h"
#include "pieces.h"

#define STAGE "loader"

/* ---- conflicts with packed sequences ---- */

static sluice_status check_packing(const sl_loader_opening *opening, sluice_error *error)
{
    const sluice_loader *loader = opening->loader;
    const sluice_loader_options *o = &opening->options;
    const char *why = NULL;
    if (loader->dataset->info.front_to_back != 0) {
        why = "cannot be used with a dataset that can only be read from front to back: pack it";
    } else if (o->shuffle != SLUICE_SHUFFLE_FULL && o->shuffle != SLUICE_SHUFFLE_NONE) {
        why = "need option " SL_OPTION("shuffle") " full or none";
    } else if (o->on_bad_sample == SLUICE_BAD_REPLACE) {
        why = "cannot be used with option " SL_OPTION(
            "on_bad_sample") " replace, since replacing a document changes its row: choose fail or "
                             "mask";
    } else if (loader->partners.count > 0) {
        why = "cannot be used with option " SL_OPTION(
            "partners") ": a row has documents, not partner samples";
    }
    return why == NULL ? SLUICE_OK
                       : sl_error_set(error, SLUICE_UNSUPPORTED, STAGE, "packed sequences %s", why);
}

/* ---- opening ---- */

/* Returns the packing requested by the loader's columns and options. */
static sl_packed_wanted packed_wanted_of(const sl_loader_opening *opening)
{
    const sluice_loader *loader = opening->loader;
    const sl_packed_shape *rows = &loader->columns.packed;
    const bool masks = opening->options.on_bad_sample == SLUICE_BAD_MASK;
    static const sl_packing_cut cuts[] = {[SLUICE_CUT_NONE] = SL_PACKING_CUT_NONE,
                                          [SLUICE_CUT_LONG] = SL_PACKING_CUT_LONG,
                                          [SLUICE_CUT_SPLIT] = SL_PACKING_CUT_SPLIT};
    return (sl_packed_wanted){.dataset = loader->dataset,
                              .fields = {.tokens = rows->field,
                                         .media = rows->media,
                                         .per_token = rows->per_token,
                                         .length = rows->length,
                                         .unit = masks ? rows->unit : 0},
                              .shape = {.length = rows->length,
                                        .max_documents = rows->max_documents,
                                        .align = rows->align,
                                        .unit = rows->unit,
                                        .window = SL_PACKING_WINDOW,
                                        .cut = cuts[rows->cut]},
                              .rule = rows->rule,
                              .seed = opening->options.seed,
                              .shuffled = opening->options.shuffle == SLUICE_SHUFFLE_FULL};
}

static sluice_status open_pieces(sl_loader_opening *opening, sl_packed_sources *sources,
                                 sluice_error *error)
{
    sluice_loader *loader = opening->loader;
    const uint32_t field = loader->columns.packed.field;
    const uint64_t element = sl_dtype_bytes(loader->dataset->fields[field].dtype);
    const bool whole = loader->columns.packed.whole;
    sl_pieces_shape shape = {
        .field = field,
        .whole = whole,
        .mix = sources->mix,
        .find = sl_packed_sources_find,
        .ctx = sources,
        .close = sl_packed_sources_end,
        .piece_bytes = loader->dataset->tensors != NULL && !whole && sources->rule.fim_rate == 0
                           ? sources->tokens / sources->pieces * element + element
                           : 0};
    sl_dataset *pieces = NULL;
    if (__builtin_mul_overflow(sources->rows[sources->count], sources->most, &shape.samples)) {
        return sl_error_set(error, SLUICE_INVALID, STAGE, "there are too many rows");
    }
    const sluice_status status = sl_pieces_open(&pieces, loader->dataset, &shape, error);
    if (status == SLUICE_OK) {
        loader->packing = sources;
        loader->columns.members = sources->most;
        sl_dataset_close(loader->dataset);
        loader->dataset = pieces;
    }
    return status;
}

sluice_status sl_loader_open_packing(sl_loader_opening *opening, sluice_error *error)
{
    sl_packed_sources *sources = NULL;
    sluice_status status = check_packing(opening, error);
    if (status == SLUICE_OK) {
        const sl_packed_wanted wanted = packed_wanted_of(opening);
        status = sl_packed_sources_open(&sources, &wanted, opening->loader->notices, error);
    }
    if (status == SLUICE_OK) {
        status = open_pieces(opening, sources, error);
        if (status != SLUICE_OK) {
            sl_packed_sources_close(sources);
        }
    }
    return status;
}

/* ---- the order ---- */

/* Returns the packing's order of rows, which also has the number of members of each. */
static sl_order make_packed_rows(const sl_order_source *source, uint64_t seed, uint64_t epoch);

static void packed_samples_of(const sl_order *order, uint64_t first, uint32_t count, uint64_t *rows)
{
    sl_packed_order.samples(order, first, count, rows);
}

static void packed_costs_of(const sl_order *order, uint64_t first, uint32_t count, uint64_t *costs)
{
    sl_packed_order.costs(order, first, count, costs);
}

static uint32_t packed_members(const sl_order *order, uint64_t position)
{
    return sl_packing_pieces(order->set, sl_order_sample(order, position), 0, 0, NULL);
}

static const sl_order_kind rows_of_pieces = {.name = "packed",
                                             .make = make_packed_rows,
                                             .samples = packed_samples_of,
                                             .members = packed_members,
                                             .costs = packed_costs_of};

static sl_order make_packed_rows(const sl_order_source *source, uint64_t seed, uint64_t epoch)
{
    sl_order order = sl_packed_order.make(source, seed, epoch);
    order.kind = &rows_of_pieces;
    return order;
}

/* What the hash covers besides seed and shuffle, which a cursor has separately. */
static const sl_order_part packing_parts[] = {
    {.name = "length", .bits = 10},
    {.name = "max_documents", .bits = 10},
    {.name = "align", .bits = 7, .usual = 1},
    {.name = "cut", .bits = 2, .usual = SL_PACKING_CUT_NONE},
    {.name = "unit", .bits = 6, .usual = 1},
    {.name = "lengths of documents", .bits = 12},
    {.name = "bos, eos or fim", .bits = 6},
    {.name = "per_token", .bits = 4},
};
enum { PACKING_PARTS = sizeof(packing_parts) / sizeof(packing_parts[0]) };
static const sl_order_table packing_table = {.number = 1,
                                             .what = "packing",
                                             .order = "packed",
                                             .count = PACKING_PARTS,
                                             .parts = packing_parts,
                                             .exact = true};

static uint64_t parts_of_packing(const sl_packed_sources *sources)
{
    const sl_packing_shape *shape = sl_packing_shape_of(sources->packings[0]); /* and the others */
    const uint64_t values[PACKING_PARTS] = {
        shape->length, shape->max_documents,  shape->align,       (uint64_t)shape->cut,
        shape->unit,   sources->lengths_hash, sources->rule_hash, sources->per_token,
    };
    return sl_order_parts_make(&packing_table, values);
}

static bool asks_packing(const sl_loader_opening *opening)
{
    return opening->loader->packing != NULL;
}

static sluice_status open_packed_rows(const sl_loader_opening *opening, sl_loader_order *order,
                                      sluice_error *error)
{
    const sl_packed_sources *sources = opening->loader->packing;
    (void)error;
    order->source.set = sources->packings[0];
    order->source.count = sources->rows[1];
    if (sources->mix != NULL) {
        order->source.kind = &sl_packed_mix_order;
        order->source.set = &sources->set;
        order->source.count = sources->mix->epoch_samples;
    }
    order->bytes = sources->bytes;
    order->hash = sources->hash;
    order->parts = parts_of_packing(sources);
    return SLUICE_OK;
}

extern const sl_order_row sl_packing_row_of_orders; /* orders.c */
const sl_order_row sl_packing_row_of_orders = {
    .kind = &rows_of_pieces,
    .option = "packed columns",
    .is_asked = asks_packing,
    .open = open_packed_rows,
    .table = &packing_table,
    .hashed = "packing: length, max_documents, align, cut, unit, bos, eos, fim or per_token of the "
              "column, seed, shuffle, or other lengths of documents",
};
