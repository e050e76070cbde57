/* SPDX-License-Identifier: Apache-2.0 */
/* document_lengths: arrays that several threads fill, each its own part, and one thread then
 * reads. */
#include "document_lengths.h"

#include "dtype.h"
#include "error.h"
#include "large_pages.h"
#include "memory.h"
#include "minmax.h"
#include "stop.h"

#include <stdatomic.h>

#define STAGE "loader"

/* Replaces the length of an unreadable sample. */
#define UNREADABLE UINT32_MAX

/* What threads fill. */
typedef struct length_array {
    uint32_t *array;
    _Atomic uint64_t too_long; /* first document that is too long; UINT64_MAX: none */
} length_array;

/* State of an opening. */
typedef struct reading {
    const sl_document_fields *fields;
    sl_document_lengths *made;
    uint64_t samples;
    uint32_t *patches; /* of each document; NULL: there are no media */
} reading;

static int32_t opening_is_stopped(void *user)
{
    sluice_error ignored;
    (void)user;
    return sl_stop_check(STAGE, &ignored) != SLUICE_OK;
}

/* ---- reading them ---- */

static void note_too_long(length_array *to, uint64_t document)
{
    /* Relaxed: looked at once all threads have ended. */
    uint64_t known = atomic_load_explicit(&to->too_long, memory_order_relaxed);
    while (document < known &&
           !atomic_compare_exchange_weak_explicit(&to->too_long, &known, document,
                                                  memory_order_relaxed, memory_order_relaxed)) {
    }
}

static void narrow_lengths(void *ctx, uint64_t first, uint32_t count, const uint64_t *lengths)
{
    length_array *to = ctx;
    for (uint32_t i = 0; i < count; i++) {
        to->array[first + i] = (uint32_t)lengths[i];
        if (lengths[i] >= UNREADABLE && lengths[i] != SL_LENGTH_UNREADABLE) {
            note_too_long(to, first + i);
        }
    }
}

static const char *name_of_lengths_field(const reading *r, uint32_t field)
{
    return r->made->dataset->fields[field].name;
}

/* Makes an error name document `number`. */
static sluice_status blame_document(sluice_status status, uint64_t number, sluice_error *error)
{
    error->sample = (int64_t)number;
    return status;
}

static sluice_status refuse_too_long(const reading *r, uint32_t field, uint64_t document,
                                     sluice_error *error)
{
    return blame_document(sl_error_set(error, SLUICE_UNSUPPORTED, STAGE,
                                       "document %llu of \"%s\" has more than 2^32 - 2 elements",
                                       (unsigned long long)document,
                                       name_of_lengths_field(r, field)),
                          document, error);
}

static sluice_status read_arrays(const reading *r, sluice_error *error)
{
    const sluice_scan_options options = {.struct_size = sizeof(options),
                                         .should_stop = opening_is_stopped};
    const uint32_t count = r->patches != NULL ? 2 : 1;
    length_array to[SL_LENGTHS_WISHES] = {{r->made->elements, UINT64_MAX},
                                          {r->patches, UINT64_MAX}};
    const sl_lengths_wish wishes[SL_LENGTHS_WISHES] = {{r->fields->tokens, narrow_lengths, &to[0]},
                                                       {r->fields->media, narrow_lengths, &to[1]}};
    const sluice_status status =
        sl_field_lengths_read(r->made->dataset, wishes, count, &options,
                              r->fields->unit > 0 ? &r->made->first : NULL, error);
    for (uint32_t i = 0; i < count && status == SLUICE_OK; i++) {
        /* Relaxed: the threads have been joined. */
        const uint64_t too_long = atomic_load_explicit(&to[i].too_long, memory_order_relaxed);
        if (too_long != UINT64_MAX) {
            return refuse_too_long(r, wishes[i].field, too_long, error);
        }
    }
    return status;
}

/* ---- documents left out ---- */

static bool is_document_unreadable(const reading *r, uint64_t document)
{
    return r->made->elements[document] == UNREADABLE ||
           (r->patches != NULL && r->patches[document] == UNREADABLE);
}

/* Makes unreadable samples, and those of their units, empty. */
static void leave_out_units(const reading *r)
{
    sl_document_lengths *made = r->made;
    const uint32_t unit = r->fields->unit;
    for (uint64_t first = 0; first < r->samples; first += unit) {
        const uint64_t end = sl_min_u64(first + unit, r->samples);
        uint64_t bad = 0;
        for (uint64_t i = first; i < end; i++) {
            bad += is_document_unreadable(r, i);
        }
        for (uint64_t i = first; bad > 0 && i < end; i++) {
            made->elements[i] = 0;
            if (r->patches != NULL) {
                r->patches[i] = 0;
            }
            made->left_out++;
        }
        made->unreadable += bad;
    }
}

/* ---- media ---- */

static sluice_status refuse_space(const reading *r, uint64_t i, uint64_t more, sluice_error *error)
{
    const uint64_t elements = r->made->elements[i];
    const uint64_t all = elements + more;
    return blame_document(
        sl_error_set(error, SLUICE_INVALID, STAGE,
                     "the document has %llu \"%s\" and %llu \"%s\", which take %llu elements of a "
                     "row, but a row has %llu: choose a larger length, or leave the document out",
                     (unsigned long long)elements, name_of_lengths_field(r, r->fields->tokens),
                     (unsigned long long)r->patches[i], name_of_lengths_field(r, r->fields->media),
                     (unsigned long long)all, (unsigned long long)r->fields->length),
        i, error);
}

static sluice_status refuse_media_alone(const reading *r, uint64_t i, sluice_error *error)
{
    return blame_document(sl_error_set(error, SLUICE_INVALID, STAGE,
                                       "the document has %llu \"%s\" but no \"%s\", and rows have "
                                       "no documents without elements: leave it out",
                                       (unsigned long long)r->patches[i],
                                       name_of_lengths_field(r, r->fields->media),
                                       name_of_lengths_field(r, r->fields->tokens)),
                          i, error);
}

/* Adds the space that each document takes in a row. */
static sluice_status add_patches(const reading *r, sluice_error *error)
{
    const uint64_t per_token = r->fields->per_token;
    for (uint64_t i = 0; i < r->samples; i++) {
        const uint64_t elements = r->made->elements[i];
        const uint64_t patches = r->patches[i];
        const uint64_t more = per_token > 0 ? patches / per_token + (patches % per_token > 0) : 0;
        if (elements == 0 && patches > 0) {
            return refuse_media_alone(r, i, error);
        }
        if (elements + more > r->fields->length) {
            return refuse_space(r, i, more, error);
        }
        if (r->made->spaces != NULL) {
            r->made->spaces[i] = (uint32_t)(elements + more);
        }
    }
    return SLUICE_OK;
}

/* ---- opening ---- */

static sluice_status read_documents(const reading *r, sluice_error *error)
{
    sl_document_lengths *made = r->made;
    const sluice_status status = read_arrays(r, error);
    if (status != SLUICE_OK) {
        return status;
    }
    if (made->first.found) {
        leave_out_units(r);
    }
    if (made->left_out == r->samples) {
        *error = made->first.error;
        return (sluice_status)error->status;
    }
    return r->patches != NULL ? add_patches(r, error) : SLUICE_OK;
}

/* For random access. NULL: no memory. */
static uint32_t *make_array(uint64_t samples)
{
    uint32_t *array = sl_calloc(samples, sizeof(*array));
    if (array != NULL) {
        sl_large_pages_ask(array, samples * sizeof(*array));
    }
    return array;
}

static bool are_lengths_kept(const sl_dataset *dataset)
{
    return dataset->tensors != NULL && dataset->tensors->kept_bytes != NULL;
}

sluice_status sl_document_lengths_open(sl_document_lengths *lengths, const sl_dataset *dataset,
                                       const sl_document_fields *fields, sluice_error *error)
{
    const uint64_t element = sl_dtype_bytes(dataset->fields[fields->tokens].dtype);
    const bool media = fields->media != SL_FIELD_NONE;
    reading r = {.fields = fields, .made = lengths, .samples = dataset->info.samples};
    *lengths = (sl_document_lengths){
        .dataset = dataset, .field = fields->tokens, .shift = (uint32_t)__builtin_ctzll(element)};
    if (are_lengths_kept(dataset) && !media) {
        return SLUICE_OK;
    }
    lengths->elements = make_array(r.samples);
    r.patches = media ? make_array(r.samples) : NULL;
    lengths->spaces = media && fields->per_token > 0 ? make_array(r.samples) : NULL;
    const bool has_memory = lengths->elements != NULL && (!media || r.patches != NULL) &&
                            (!media || fields->per_token == 0 || lengths->spaces != NULL);
    const sluice_status status =
        has_memory ? read_documents(&r, error)
                   : sl_no_memory(error, STAGE, "for the lengths of %llu documents",
                                  (unsigned long long)r.samples);
    sl_free(r.patches);
    if (status != SLUICE_OK) {
        sl_document_lengths_close(lengths);
    }
    return status;
}

void sl_document_lengths_close(sl_document_lengths *lengths)
{
    sl_free(lengths->elements);
    sl_free(lengths->spaces);
    lengths->elements = lengths->spaces = NULL;
}

/* ---- asking ---- */

void sl_document_lengths_of(const sl_document_lengths *lengths, const uint64_t *documents,
                            uint32_t count, uint64_t *elements)
{
    const sl_dataset *dataset = lengths->dataset;
    if (lengths->elements != NULL) {
        for (uint32_t i = 0; i < count; i++) {
            elements[i] = lengths->elements[documents[i]];
        }
        return;
    }
    dataset->tensors->kept_bytes(dataset, lengths->field, documents, count, elements);
    for (uint32_t i = 0; i < count; i++) {
        elements[i] >>= lengths->shift;
    }
}

uint64_t sl_document_lengths_at(const sl_document_lengths *lengths, uint64_t document)
{
    uint64_t elements;
    sl_document_lengths_of(lengths, &document, 1, &elements);
    return elements;
}

uint64_t sl_document_lengths_bytes(const sl_document_lengths *lengths)
{
    return (lengths->elements != NULL ? sizeof(uint32_t) : 0) +
           (lengths->spaces != NULL ? sizeof(uint32_t) : 0);
}
