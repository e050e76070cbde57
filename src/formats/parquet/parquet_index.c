/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_index: fills the index of one leaf in one row group, page by page.
 *
 * Several threads, each with its own group. Invariant: each slot is given a size, by a page or as
 * absent, before the group is done.
 */
#include "parquet_index.h"

#include "little_endian.h"
#include "memory.h"
#include "parquet_pages.h"
#include "search.h"
#include "store.h"

#include <stddef.h>
#include <stdlib.h>

#define STAGE "dataset"

/*
 * After a value larger than this, only the next length is read; otherwise also the data around it.
 */
enum { LOOK_MAX = 4096, LOOK_BYTES = 64 << 10, LENGTH_BYTES = 4 };
/* Bytes of a page that contain its first list level. */
enum { FIRST_BYTES = 32 };

sluice_status sl_parquet_index_open(sl_parquet_index *index, const sl_parquet_leaf *leaf,
                                    uint64_t slots, uint64_t rows, sluice_error *error)
{
    const bool possible = slots < SIZE_MAX / 16 && rows < SIZE_MAX / 16;
    index->slots = slots;
    index->length_bytes = leaf->type == SL_PARQUET_BYTES ? LENGTH_BYTES : 0;
    index->cells = possible ? sl_calloc((size_t)slots + 1, sizeof(*index->cells)) : NULL;
    index->sizes = possible ? sl_calloc((size_t)slots + 1, sizeof(*index->sizes)) : NULL;
    index->starts =
        possible && rows > 0 ? sl_calloc((size_t)rows + 1, sizeof(*index->starts)) : NULL;
    return index->cells != NULL && index->sizes != NULL && (rows == 0 || index->starts != NULL)
               ? SLUICE_OK
               : sl_error_set(error, SLUICE_NOMEM, STAGE,
                              "out of memory for an index of %llu values",
                              (unsigned long long)slots);
}

void sl_parquet_index_close(sl_parquet_index *index)
{
    sl_free(index->cells);
    sl_free(index->sizes);
    sl_free(index->starts);
    sl_free(index->ranges.of);
    *index = (sl_parquet_index){0};
}

/* ---- ranges ---- */

static bool follows(const sl_parquet_range *last, const sl_parquet_range *range)
{
    return last->where == SL_PARQUET_EXACT && range->where == SL_PARQUET_EXACT &&
           last->file == range->file;
}

static bool add_range(sl_parquet_ranges *to, const sl_parquet_range *range)
{
    if (to->count > 0 && follows(&to->of[to->count - 1], range)) {
        return true;
    }
    if (to->count == to->capacity) {
        const uint32_t capacity = to->capacity < 8 ? 8 : to->capacity + to->capacity / 2;
        sl_parquet_range *grown =
            to->count < UINT32_MAX / 2 ? sl_realloc_array(to->of, capacity, sizeof(*grown)) : NULL;
        if (grown == NULL) {
            return false;
        }
        to->of = grown;
        to->capacity = capacity;
    }
    to->of[to->count++] = *range;
    return true;
}

sluice_status sl_parquet_index_add(sl_parquet_index *index, const sl_parquet_ranges *found,
                                   sluice_error *error)
{
    for (uint32_t i = 0; i < found->count; i++) {
        if (!add_range(&index->ranges, &found->of[i])) {
            return sl_error_set(error, SLUICE_NOMEM, STAGE, "out of memory for an index");
        }
    }
    return SLUICE_OK;
}

uint32_t sl_parquet_index_find(const sl_parquet_index *index, uint64_t slot)
{
    const sl_parquet_range *of = index->ranges.of;
    return (uint32_t)sl_last_at_or_before(&of->first, sizeof(*of), index->ranges.count, slot);
}

/* ---- filling ---- */

typedef struct filler {
    sl_parquet_index *index;
    const sl_parquet_place *place;
    const sl_parquet_leaf *leaf;
    const sl_parquet_chunk *chunk;
    sl_parquet_ranges *found;
    uint64_t slot, end; /* extent in the index */
    uint32_t file;
    sl_parquet_walk walk;
    bool has_dictionary;
    sl_parquet_page dictionary;
    uint64_t look_at; /* file offset of the bytes in `looked` */
    size_t look_bytes;
    uint8_t looked[LOOK_BYTES];
} filler;

/* Returns whether a list of numbers is one slot, since its elements are adjacent. */
static bool is_number_list(const sl_parquet_leaf *leaf)
{
    return leaf->max_rep > 0 && leaf->type != SL_PARQUET_BYTES;
}

/* Returns the stored size of an element. */
static uint32_t number_bytes(const sl_parquet_leaf *leaf)
{
    return leaf->type == SL_PARQUET_INT32 || leaf->type == SL_PARQUET_FLOAT ? 4 : 8;
}

static sluice_status parquet_index_fail(const filler *f, uint64_t offset, sluice_status status,
                                        const char *why, sluice_error *error)
{
    return sl_error_file(error, status, STAGE, 0, f->place->from.name.path, (int64_t)offset,
                         "column \"%s\": %s", f->leaf->name, why);
}

static sluice_status parquet_index_read_at(const filler *f, void *to, size_t bytes, uint64_t offset,
                                           sluice_error *error)
{
    return sl_handle_read(&f->place->from, to, bytes, offset, error);
}

/* Finds the length at `at` within bytes read from the file; NULL: not contained. */
static const uint8_t *find_length(const uint8_t *bytes, size_t size, uint64_t from, uint64_t at)
{
    return at >= from && at - from + LENGTH_BYTES <= size ? bytes + (at - from) : NULL;
}

/*
 * Reads the length at `at`: from bytes already read, or from the file, alone or with the data
 * behind it.
 */
static sluice_status parquet_index_look(filler *f, uint64_t at, uint64_t end, bool alone,
                                        uint32_t *length, sluice_error *error)
{
    const sl_parquet_walk *w = &f->walk;
    if (end - at < LENGTH_BYTES) {
        return parquet_index_fail(f, at, SLUICE_CORRUPT, "a page has too few values", error);
    }
    const uint8_t *found = find_length(w->window, w->window_bytes, w->window_at, at);
    if (found == NULL) {
        found = find_length(f->looked, f->look_bytes, f->look_at, at);
    }
    if (found == NULL) {
        size_t wanted = alone ? LENGTH_BYTES : sizeof(f->looked);
        wanted = end - at < wanted ? (size_t)(end - at) : wanted;
        f->look_bytes = 0;
        const sluice_status status = parquet_index_read_at(f, f->looked, wanted, at, error);
        if (status < 0) {
            return status;
        }
        f->look_at = at;
        f->look_bytes = wanted;
        found = f->looked;
    }
    *length = sl_load32(found);
    return SLUICE_OK;
}

/* Adjacent values, each with its length in front. */
typedef struct run {
    uint64_t at, end;
    bool was_large;  /* true if the previous value was large */
    uint64_t offset; /* offset of the current value */
    uint32_t size;
} run;

static sluice_status parquet_index_step(filler *f, run *r, sluice_error *error)
{
    const sluice_status status =
        parquet_index_look(f, r->at, r->end, r->was_large, &r->size, error);
    if (status < 0) {
        return status;
    }
    r->offset = r->at + LENGTH_BYTES;
    if (r->size > r->end - r->offset || r->size > INT32_MAX) {
        return parquet_index_fail(f, r->at, SLUICE_CORRUPT, "a value is longer than its page",
                                  error);
    }
    r->at = r->offset + r->size;
    r->was_large = r->size > LOOK_MAX;
    return SLUICE_OK;
}

/* Unpacks the body of a page to `to`. */
static sluice_status parquet_index_load(const filler *f, const sl_parquet_page *page, uint8_t *to,
                                        sluice_error *error)
{
    const size_t plain =
        page->kind == SL_PARQUET_DATA_2 ? (size_t)page->rep_bytes + page->def_bytes : 0;
    uint8_t *stored = sl_malloc((size_t)page->bytes + 1);
    if (stored == NULL) {
        return parquet_index_fail(f, page->offset, SLUICE_NOMEM, "out of memory for a page", error);
    }
    sluice_status status = parquet_index_read_at(f, stored, page->bytes, page->offset, error);
    if (status == SLUICE_OK) {
        memcpy(to, stored, plain);
        status =
            sl_page_unpack(NULL, page->compressed ? (sl_page_codec)f->walk.codec : SL_PAGE_PLAIN,
                           (sl_bytes){stored + plain, page->bytes - plain}, to + plain,
                           page->unpacked - plain, NULL);
        if (status < 0) {
            status = parquet_index_fail(f, page->offset, SLUICE_CORRUPT,
                                        "a page cannot be unpacked", error);
        }
    }
    sl_free(stored);
    return status;
}

/* Location in the file of the levels of lists, of the levels of presence, and of the values. */
typedef struct level_place {
    sl_extent reps, defs;
    uint64_t values;
} level_place;

/* Locates a block of levels that begins with its size, at `at`. */
static sluice_status place_sized(filler *f, const sl_parquet_page *page, uint64_t at,
                                 sl_extent *levels, sluice_error *error)
{
    uint32_t bytes = 0;
    const uint64_t end = page->offset + page->bytes;
    const sluice_status status = parquet_index_look(f, at, end, false, &bytes, error);
    if (status < 0) {
        return status;
    }
    *levels = (sl_extent){at + LENGTH_BYTES, bytes};
    return levels->offset + bytes <= end
               ? SLUICE_OK
               : parquet_index_fail(f, page->offset, SLUICE_CORRUPT,
                                    "a page's levels are longer than the page", error);
}

static sluice_status place_levels(filler *f, const sl_parquet_page *page, level_place *levels,
                                  sluice_error *error)
{
    const bool sized = page->kind == SL_PARQUET_DATA_1;
    sluice_status status = SLUICE_OK;
    levels->reps = (sl_extent){page->offset, page->rep_bytes};
    if (sized && f->leaf->max_rep > 0) {
        status = place_sized(f, page, page->offset, &levels->reps, error);
    }
    const uint64_t at = levels->reps.offset + levels->reps.bytes;
    levels->defs = (sl_extent){at, page->def_bytes};
    if (status == SLUICE_OK && sized && f->leaf->max_def > 0) {
        status = place_sized(f, page, at, &levels->defs, error);
    }
    levels->values = levels->defs.offset + levels->defs.bytes;
    return status;
}

static bool next_present(const filler *f, sl_levels *levels, bool *present)
{
    uint32_t level = 0;
    *present = true;
    if (f->leaf->max_def == 0) {
        return true;
    }
    if (!sl_levels_next(levels, &level) || level > f->leaf->max_def) {
        return false;
    }
    *present = level == f->leaf->max_def;
    return true;
}

/* Steps to the next of values that have a fixed size and no lengths. */
static sluice_status step_fixed(const filler *f, run *r, uint32_t bytes, sluice_error *error)
{
    if (bytes > r->end - r->at) {
        return parquet_index_fail(f, r->at, SLUICE_CORRUPT, "a page has too few values", error);
    }
    r->offset = r->at;
    r->size = bytes;
    r->at += bytes;
    return SLUICE_OK;
}

/* A page that is being processed, with its levels in memory. */
typedef struct open_page {
    const sl_parquet_page *page;
    sl_levels reps, defs;
    run r;
} open_page;

static sluice_status fill_values(filler *f, open_page *p, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; status == SLUICE_OK && i < p->page->values; i++, f->slot++) {
        bool present;
        f->index->sizes[f->slot] = SL_PARQUET_NULL_SIZE;
        if (!next_present(f, &p->defs, &present)) {
            status = parquet_index_fail(f, p->page->offset, SLUICE_CORRUPT,
                                        "a page's levels are damaged", error);
        } else if (present) {
            status = f->index->length_bytes > 0 ? parquet_index_step(f, &p->r, error)
                                                : step_fixed(f, &p->r, f->leaf->type_bytes, error);
            f->index->cells[f->slot] = p->r.offset;
            f->index->sizes[f->slot] = p->r.size;
        }
    }
    return status;
}

/* Fills the rows of a page of number lists; f->slot is the row after the open one. */
static sluice_status fill_lists(filler *f, open_page *p, sluice_error *error)
{
    const uint32_t item = number_bytes(f->leaf);
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; status == SLUICE_OK && i < p->page->values; i++) {
        uint32_t rep = 0;
        uint32_t def = 0;
        const bool good = sl_levels_next(&p->reps, &rep) && sl_levels_next(&p->defs, &def) &&
                          rep <= 1 && def <= f->leaf->max_def;
        if (!good || (rep == 0 ? f->slot == f->end : i == 0)) {
            return parquet_index_fail(f, p->page->offset, SLUICE_CORRUPT,
                                      "a page's levels are damaged", error);
        }
        if (rep == 0) {
            f->index->cells[f->slot] = p->r.at;
            f->index->sizes[f->slot++] = def + 1U >= f->leaf->item_def ? 0 : SL_PARQUET_NULL_SIZE;
        }
        uint32_t *size = &f->index->sizes[f->slot - 1];
        if (def == f->leaf->max_def) {
            status = step_fixed(f, &p->r, item, error);
            *size += *size != SL_PARQUET_HAS_NULL ? item : 0;
        } else if (def >= f->leaf->item_def) {
            *size = SL_PARQUET_HAS_NULL;
        }
    }
    return status;
}

static sluice_status fill_exact(filler *f, const sl_parquet_page *page, sluice_error *error)
{
    level_place place;
    sluice_status status = place_levels(f, page, &place, error);
    if (status < 0) {
        return status;
    }
    const size_t bytes = (size_t)(place.values - page->offset);
    uint8_t *memory = sl_malloc(bytes + 1);
    if (memory == NULL) {
        return parquet_index_fail(f, page->offset, SLUICE_NOMEM, "out of memory for levels", error);
    }
    open_page p = {.page = page, .r = {.at = place.values, .end = page->offset + page->bytes}};
    status = parquet_index_read_at(f, memory, bytes, page->offset, error);
    sl_levels_begin(&p.reps,
                    (sl_bytes){memory + (place.reps.offset - page->offset), place.reps.bytes},
                    sl_levels_width(f->leaf->max_rep));
    sl_levels_begin(&p.defs,
                    (sl_bytes){memory + (place.defs.offset - page->offset), place.defs.bytes},
                    sl_levels_width(f->leaf->max_def));
    if (status == SLUICE_OK) {
        status = is_number_list(f->leaf) ? fill_lists(f, &p, error) : fill_values(f, &p, error);
    }
    sl_free(memory);
    return status;
}

static sl_page_pick pick_of(const filler *f, const sl_parquet_page *page)
{
    return (sl_page_pick){
        .codec = page->compressed ? (uint8_t)f->walk.codec : SL_PAGE_PLAIN,
        .max_level = page->kind == SL_PARQUET_DICTIONARY ? 0 : f->leaf->max_def,
        .has_reps = f->leaf->max_rep > 0,
        .sized_levels = page->kind == SL_PARQUET_DATA_1 && f->leaf->max_def > 0,
        .rep_bytes = page->rep_bytes,
        .plain_bytes = page->kind == SL_PARQUET_DATA_2 ? page->rep_bytes + page->def_bytes : 0,
        .bytes = page->unpacked};
}

/* Reads the number of the dictionary value for each slot. */
static sluice_status parquet_index_read_numbers(filler *f, const sl_parquet_page *page,
                                                sl_bytes body, sluice_error *error)
{
    sl_levels defs;
    sl_levels numbers;
    sl_bytes levels;
    size_t begin;
    const sl_page_pick pick = pick_of(f, page);
    if (sl_page_split(&pick, body, &levels, &begin).text != NULL || begin >= body.size) {
        /* the width of the numbers takes a byte */
        return parquet_index_fail(f, page->offset, SLUICE_CORRUPT,
                                  "a page's levels are longer than the page", error);
    }
    sl_levels_begin(&defs, levels, sl_levels_width(f->leaf->max_def));
    sl_levels_begin(&numbers, (sl_bytes){body.data + begin + 1, body.size - begin - 1},
                    body.data[begin] <= 32 ? body.data[begin] : 32);
    for (uint32_t i = 0; i < page->values; i++, f->slot++) {
        bool present;
        uint32_t number = 0;
        if (!next_present(f, &defs, &present) ||
            (present && (!sl_levels_next(&numbers, &number) || number >= f->dictionary.values))) {
            return parquet_index_fail(f, page->offset, SLUICE_CORRUPT, "a page is damaged", error);
        }
        f->index->cells[f->slot] = number;
        f->index->sizes[f->slot] = present ? 0 : SL_PARQUET_NULL_SIZE;
    }
    return SLUICE_OK;
}

/* Sets slots to the locations of their values in an uncompressed dictionary. */
static sluice_status place_slots(filler *f, uint64_t first, run *values, sluice_error *error)
{
    const sl_parquet_page *page = &f->dictionary;
    run r = {.at = page->offset, .end = page->offset + page->bytes};
    for (uint32_t i = 0; i < page->values; i++) {
        const sluice_status status = parquet_index_step(f, &r, error);
        if (status < 0) {
            return status;
        }
        values[i] = r;
    }
    for (uint64_t slot = first; slot < f->slot; slot++) {
        if (f->index->sizes[slot] != SL_PARQUET_NULL_SIZE) {
            const run *found = &values[f->index->cells[slot]];
            f->index->cells[slot] = found->offset;
            f->index->sizes[slot] = found->size;
        }
    }
    return SLUICE_OK;
}

static sluice_status make_exact(filler *f, uint64_t first, sluice_error *error)
{
    /* each value takes at least its length */
    run *values = f->dictionary.values <= f->dictionary.bytes / LENGTH_BYTES
                      ? sl_calloc((size_t)f->dictionary.values + 1, sizeof(*values))
                      : NULL;
    if (values == NULL) {
        return parquet_index_fail(f, f->dictionary.offset, SLUICE_CORRUPT,
                                  "a dictionary has more values than its size allows", error);
    }
    const sluice_status status = place_slots(f, first, values, error);
    sl_free(values);
    return status;
}

static sluice_status fill_by_dictionary(filler *f, const sl_parquet_page *page, sluice_error *error)
{
    const uint64_t first = f->slot;
    if (!f->has_dictionary) {
        return parquet_index_fail(f, page->offset, SLUICE_CORRUPT, "its dictionary is missing",
                                  error);
    }
    uint8_t *body = sl_malloc((size_t)page->unpacked + 1);
    if (body == NULL) {
        return parquet_index_fail(f, page->offset, SLUICE_NOMEM, "out of memory for a page", error);
    }
    sluice_status status = parquet_index_load(f, page, body, error);
    if (status == SLUICE_OK) {
        status = parquet_index_read_numbers(f, page, (sl_bytes){body, page->unpacked}, error);
    }
    sl_free(body);
    return status == SLUICE_OK && !f->dictionary.compressed ? make_exact(f, first, error) : status;
}

static sluice_status fill_page(filler *f, const sl_parquet_page *page, sluice_error *error)
{
    sl_parquet_range range = {.first = f->slot, .file = f->file, .where = SL_PARQUET_EXACT};
    const bool by_dictionary = page->encoding == SL_PARQUET_PLAIN_DICTIONARY ||
                               page->encoding == SL_PARQUET_RLE_DICTIONARY;
    sluice_status status = SLUICE_OK;
    if (!is_number_list(f->leaf) && page->values > f->end - f->slot) {
        return parquet_index_fail(f, page->offset, SLUICE_CORRUPT, "a row group has too many rows",
                                  error);
    }
    if (!by_dictionary && page->encoding != SL_PARQUET_PLAIN) {
        return parquet_index_fail(
            f, page->offset, SLUICE_UNSUPPORTED,
            "single values cannot be read from its encoding (only from PLAIN and dictionaries)",
            error);
    }
    if (by_dictionary && (!f->has_dictionary || f->dictionary.compressed)) {
        range.where = SL_PARQUET_IN_DICTIONARY;
        range.offset = f->dictionary.offset;
        range.bytes = f->dictionary.bytes;
        range.pick = pick_of(f, &f->dictionary);
    } else if (!by_dictionary && page->compressed) {
        range.where = SL_PARQUET_IN_PAGE;
        range.offset = page->offset;
        range.bytes = page->bytes;
        range.pick = pick_of(f, page);
    }
    if (page->values > 0 && !add_range(f->found, &range)) {
        return parquet_index_fail(f, page->offset, SLUICE_NOMEM, "out of memory for an index",
                                  error);
    }
    if (by_dictionary) {
        status = fill_by_dictionary(f, page, error);
    } else if (range.where == SL_PARQUET_EXACT) {
        status = fill_exact(f, page, error);
    } else {
        f->slot += page->values;
    }
    return status;
}

/* Begins to fill an index, or to determine whether it can be exact. Errors: NOMEM. */
static filler *parquet_index_begin(const sl_parquet_place *place, uint32_t leaf,
                                   sluice_error *error)
{
    const sl_parquet *parquet = place->parquet;
    filler *f = sl_malloc(sizeof(*f));
    if (f == NULL) {
        (void)sl_no_memory(error, STAGE, "for an index");
        return NULL;
    }
    memset(f, 0,
           offsetof(filler,
                    looked)); /* clears all but the large buffer, since there may be many groups */
    f->place = place;
    f->leaf = &parquet->leaves[leaf];
    f->chunk = &parquet->chunks[(size_t)place->group * parquet->leaf_count + leaf];
    f->file = place->file;
    f->slot = place->first;
    f->end =
        place->first + (is_number_list(f->leaf) ? parquet->group_rows[place->group]
                                                : sl_parquet_slots(parquet, place->group, leaf));
    sl_parquet_walk_begin(&f->walk, &place->from, f->chunk);
    return f;
}

sluice_status sl_parquet_index_fill(sl_parquet_index *index, const sl_parquet_place *place,
                                    uint32_t leaf, sl_parquet_ranges *found, sluice_error *error)
{
    filler *f = parquet_index_begin(place, leaf, error);
    if (f == NULL) {
        return SLUICE_NOMEM;
    }
    f->index = index;
    f->found = found;
    sluice_status status = SLUICE_OK;
    while (status == SLUICE_OK) {
        sl_parquet_page page;
        status = sl_parquet_walk_next(&f->walk, f->chunk->values, &page, error);
        if (status == SLUICE_OK && page.kind == SL_PARQUET_DICTIONARY) {
            f->dictionary = page;
            f->has_dictionary = true;
        } else if (status == SLUICE_OK) {
            status = fill_page(f, &page, error);
        }
    }
    if (status == SLUICE_END) {
        status = f->slot == f->end ? SLUICE_OK
                                   : parquet_index_fail(f, f->chunk->offset, SLUICE_CORRUPT,
                                                        "a row group has too few rows", error);
    }
    sl_free(f);
    return status;
}

/* ---- what can be exact ---- */

/* Determines whether the first list of a page begins in it. */
static sluice_status begins_row(filler *f, const sl_parquet_page *page, bool *begins,
                                sluice_error *error)
{
    uint8_t head[FIRST_BYTES];
    level_place place;
    sl_levels reps;
    uint32_t rep = 1;
    sluice_status status = place_levels(f, page, &place, error);
    const size_t bytes = place.reps.bytes < FIRST_BYTES ? (size_t)place.reps.bytes : FIRST_BYTES;
    if (status == SLUICE_OK) {
        status = parquet_index_read_at(f, head, bytes, place.reps.offset, error);
    }
    if (status == SLUICE_OK) {
        sl_levels_begin(&reps, (sl_bytes){head, bytes}, sl_levels_width(f->leaf->max_rep));
        *begins = sl_levels_next(&reps, &rep) && rep == 0;
    }
    return status;
}

sluice_status sl_parquet_index_is_exact(const sl_parquet_place *place, uint32_t leaf, bool *exact,
                                        sluice_error *error)
{
    filler *f = parquet_index_begin(place, leaf, error);
    if (f == NULL) {
        return SLUICE_NOMEM;
    }
    sluice_status status = SLUICE_OK;
    *exact = f->chunk->codec == SL_PAGE_PLAIN;
    while (status == SLUICE_OK && *exact) {
        sl_parquet_page page;
        status = sl_parquet_walk_next(&f->walk, f->chunk->values, &page, error);
        if (status == SLUICE_OK) {
            *exact = page.kind != SL_PARQUET_DICTIONARY && page.encoding == SL_PARQUET_PLAIN &&
                     page.level_encoding == SL_PARQUET_RLE;
        }
        if (status == SLUICE_OK && *exact && is_number_list(f->leaf) && page.values > 0) {
            status = begins_row(f, &page, exact, error);
        }
    }
    sl_free(f);
    return status == SLUICE_END ? SLUICE_OK : status;
}
