/* SPDX-License-Identifier: Apache-2.0 */
#include "packed_sources.h"

#include "error.h"
#include "fnv.h"
#include "memory.h"
#include "minmax.h"
#include "mixing.h"

#include <stdio.h>
#include <string.h>

#define STAGE "loader"

/* Bytes of a path in a message, whose end says most; and sources named by a notice. */
enum { NAME_BYTES = 120, NAMED_SOURCES = 2 };
/* Lengths that are looked up at a time. */
enum { NUMBERS = 256 };

/* ---- names of sources ---- */

static const char *end_of_path(const char *path)
{
    const size_t bytes = strlen(path);
    return bytes < NAME_BYTES ? path : path + bytes - (NAME_BYTES - 1);
}

/* Finds the file of the source's first document, without reading it. */
static void find_source_path(const sl_packed_wanted *wanted, uint64_t first, char *path)
{
    const sl_dataset *dataset = wanted->dataset;
    sl_sample sample;
    sl_place lookup;
    sl_refusal why;
    const sluice_status status = sl_dataset_locate(dataset, first, &sample, &lookup, &why);
    const uint32_t object = status == SLUICE_OK ? sample.place.object : lookup.object;
    if (sl_objects_path(dataset->objects, object, path, SL_PATH_BYTES) != SLUICE_OK) {
        (void)snprintf(path, SL_PATH_BYTES, "of %llu documents from %llu on",
                       (unsigned long long)dataset->info.samples, (unsigned long long)first);
    }
}

/* Makes an error about one source name it. */
static sluice_status blame_source(const sl_packed_sources *own, const sl_packed_wanted *wanted,
                                  uint32_t source, sluice_status status, sluice_error *error)
{
    char path[SL_PATH_BYTES];
    char text[sizeof(error->text)];
    if (own->count == 1 || (status != SLUICE_INVALID && status != SLUICE_UNSUPPORTED)) {
        return status;
    }
    const int64_t sample = error->sample;
    memcpy(text, error->text, sizeof(text));
    find_source_path(wanted, own->documents[source], path);
    (void)sl_error_set(error, status, STAGE, "dataset %u of the mix (%s): %s", source + 1,
                       end_of_path(path), text);
    error->sample = sample;
    return status;
}

/* ---- empty documents ---- */

static uint64_t empty_of(const sl_packed_sources *own, uint32_t source)
{
    return sl_packing_facts_of(own->packings[source])->empty;
}

/* Lists the sources with empty documents, as far as they fit in a message. */
static void list_empty(const sl_packed_sources *own, const sl_packed_wanted *wanted, char *list,
                       size_t bytes)
{
    char path[SL_PATH_BYTES];
    uint32_t named = 0;
    size_t at = 0;
    list[0] = '\0';
    /* otherwise empty ones include those left out */
    const bool tells = own->count > 1 && own->lengths.left_out == 0;
    for (uint32_t i = 0; i < own->count && tells; i++) {
        if (empty_of(own, i) == 0) {
            continue;
        }
        if (named == NAMED_SOURCES) {
            (void)snprintf(list + at, bytes - at, "; and others");
            return;
        }
        find_source_path(wanted, own->documents[i], path);
        at += (size_t)snprintf(list + at, bytes - at, "%s %llu of dataset %u of the mix (%s)",
                               named > 0 ? ";" : ":", (unsigned long long)empty_of(own, i), i + 1,
                               end_of_path(path));
        named++;
    }
}

static void tell_left_out(const sl_packed_sources *own, const sl_packed_wanted *wanted,
                          sl_notices *notices)
{
    const sl_document_lengths *lengths = &own->lengths;
    if (lengths->left_out > 0) {
        sl_notices_add(
            notices,
            "packed sequences: %llu of %llu documents of \"%s\" cannot be read and "
            "are left out%s: the first is sample %llu: %s",
            (unsigned long long)lengths->unreadable, (unsigned long long)own->documents[own->count],
            wanted->dataset->fields[wanted->fields.tokens].name,
            lengths->left_out > lengths->unreadable ? ", with the others of their units" : "",
            (unsigned long long)lengths->first.first, lengths->first.error.text);
    }
}

static void tell_empty(const sl_packed_sources *own, const sl_packed_wanted *wanted,
                       sl_notices *notices)
{
    char list[(NAMED_SOURCES + 1) * (NAME_BYTES + 64)];
    uint64_t empty = 0;
    for (uint32_t i = 0; i < own->count; i++) {
        empty += empty_of(own, i);
    }
    empty -= own->lengths.left_out;
    if (empty > 0) {
        list_empty(own, wanted, list, sizeof(list));
        sl_notices_add(notices,
                       "packed sequences: %llu of %llu documents of \"%s\" have no elements and "
                       "are left out%s",
                       (unsigned long long)empty, (unsigned long long)own->documents[own->count],
                       wanted->dataset->fields[wanted->fields.tokens].name, list);
    }
}

/* ---- lengths ---- */

/* Returns the elements that rows add to a document. */
static uint32_t extra_of_document(const sl_packed_sources *own, uint64_t document)
{
    return sl_document_extra(&own->rule, own->seed, document);
}

static bool adds_elements(const sl_packed_sources *own)
{
    return sl_document_extra_most(&own->rule) > 0;
}

/* Finds the space of documents of the dataset in a row. */
static void spaces_of(const sl_packed_sources *own, const uint64_t *documents, uint32_t count,
                      uint64_t *spaces)
{
    const uint32_t *kept = own->lengths.spaces;
    if (kept == NULL) {
        sl_document_lengths_of(&own->lengths, documents, count, spaces);
    }
    for (uint32_t i = 0; kept != NULL && i < count; i++) {
        spaces[i] = kept[documents[i]];
    }
    for (uint32_t i = 0; adds_elements(own) && i < count; i++) {
        spaces[i] += spaces[i] > 0 ? extra_of_document(own, documents[i]) : 0;
    }
}

/* Does the same for documents by their numbers in a source. */
static void lengths_in_rows(const void *ctx, const uint64_t *documents, uint32_t count,
                            uint64_t *lengths)
{
    const sl_packed_source *source = ctx;
    uint64_t numbers[NUMBERS];
    for (uint32_t done = 0; done < count; done += NUMBERS) {
        const uint32_t some = sl_min_u32(count - done, NUMBERS);
        for (uint32_t i = 0; i < some; i++) {
            numbers[i] = source->first + documents[done + i];
        }
        spaces_of(source->all, numbers, some, lengths + done);
    }
}

static sl_packing_lengths lengths_of_source(const sl_packed_sources *own, uint32_t i)
{
    const sl_packed_source *source = &own->of[i];
    const uint64_t documents = own->documents[i + 1] - source->first;
    const uint32_t *array =
        own->lengths.spaces != NULL ? own->lengths.spaces : own->lengths.elements;
    return array != NULL && !adds_elements(own)
               ? sl_packing_lengths_of_array(array + source->first, documents)
               : (sl_packing_lengths){documents, lengths_in_rows, source};
}

/* ---- opening ---- */

/* A document may be too long only because of the added elements. */
static sluice_status tell_extra(const sl_packed_sources *own, const sl_packed_wanted *wanted,
                                sluice_status status, sluice_error *error)
{
    enum { KEPT_BYTES = 300 };
    const uint32_t extra = sl_document_extra_most(&own->rule);
    if (status == SLUICE_INVALID && extra > 0) {
        const bool media = wanted->fields.media != SL_FIELD_NONE;
        sl_error_add(error, KEPT_BYTES, " (lengths count %s%u added to each document%s)",
                     own->rule.fim_rate > 0 ? "up to " : "", extra,
                     media ? ", and the space of its media, which prevent cutting" : "");
    }
    return status;
}

/* Documents that were left out count as empty, which may be all of a source. */
static sluice_status tell_unreadable(const sl_packed_sources *own, uint32_t source,
                                     sluice_status status, sluice_error *error)
{
    enum { KEPT_BYTES = 200 };
    const sl_document_lengths *lengths = &own->lengths;
    uint64_t i = own->documents[source];
    if (status != SLUICE_INVALID || lengths->left_out == 0) {
        return status;
    }
    while (i < own->documents[source + 1] && lengths->elements[i] == 0) {
        i++;
    }
    if (i == own->documents[source + 1]) {
        sl_error_add(error, KEPT_BYTES,
                     " (those that cannot be read count as empty: the first is sample %llu: %s)",
                     (unsigned long long)lengths->first.first, lengths->first.error.text);
    }
    return status;
}

static sluice_status pack_source(sl_packed_sources *own, const sl_packed_wanted *wanted, uint32_t i,
                                 sluice_error *error)
{
    const sl_packing_source source = {.lengths = lengths_of_source(own, i),
                                      .seed = own->count == 1 ? wanted->seed
                                                              : sl_packed_mix_seed(wanted->seed, i),
                                      .shuffled = wanted->shuffled};
    const sluice_status status = sl_packing_open(&own->packings[i], &wanted->shape, &source, error);
    return tell_unreadable(own, i, tell_extra(own, wanted, status, error), error);
}

static sluice_status take_source(sl_packed_sources *own, uint32_t i, sluice_error *error)
{
    const sl_packing_facts *facts = sl_packing_facts_of(own->packings[i]);
    own->rows[i + 1] = own->rows[i] + facts->rows;
    own->most = (uint32_t)sl_max_u64(own->most, facts->most_pieces);
    own->pieces += facts->pieces;
    own->tokens += facts->tokens;
    own->bytes += facts->documents * sl_document_lengths_bytes(&own->lengths) +
                  sl_packing_bytes(own->packings[i]);
    own->hash = own->count == 1 ? facts->hash : sl_fnv1a(own->hash, facts->hash) | 1;
    own->lengths_hash =
        own->count == 1 ? facts->lengths_hash : sl_fnv1a(own->lengths_hash, facts->lengths_hash);
    return own->rows[i + 1] >= own->rows[i]
               ? SLUICE_OK
               : sl_error_set(error, SLUICE_INVALID, STAGE, "too many rows");
}

static sluice_status mix_rows(sl_packed_sources *own, const sl_mix *of, sluice_error *error)
{
    if (of == NULL) {
        return SLUICE_OK;
    }
    const sluice_status status = sl_mix_recount(&own->mix, of, own->rows, error);
    own->set = (sl_packed_mix){.mix = own->mix, .packings = own->packings};
    return status;
}

static sluice_status pack_all(sl_packed_sources *own, const sl_packed_wanted *wanted,
                              sluice_error *error)
{
    sluice_status status =
        sl_document_lengths_open(&own->lengths, wanted->dataset, &wanted->fields, error);
    own->hash = own->lengths_hash = SL_FNV1A_BEGIN;
    own->rule = wanted->rule;
    own->seed = wanted->seed;
    for (uint32_t i = 0; status == SLUICE_OK && i < own->count; i++) {
        status = pack_source(own, wanted, i, error);
        status = status == SLUICE_OK ? take_source(own, i, error)
                                     : blame_source(own, wanted, i, status, error);
    }
    own->rule_hash = sl_document_rule_hash(&own->rule, own->seed);
    own->hash = own->rule_hash != 0 ? sl_fnv1a(own->hash, own->rule_hash) | 1 : own->hash;
    own->per_token = wanted->fields.per_token;
    own->hash = own->per_token != 0 ? sl_fnv1a(own->hash, own->per_token) | 1 : own->hash;
    return status == SLUICE_OK ? mix_rows(own, wanted->dataset->mix, error) : status;
}

static bool set_sources(sl_packed_sources *own, const sl_dataset *dataset)
{
    const sl_mix *mix = dataset->mix;
    own->count = mix != NULL ? mix->sources : 1;
    own->packings = sl_calloc(own->count, sizeof(sl_packed_rows *));
    own->documents = sl_calloc((size_t)own->count + 1, sizeof(*own->documents));
    own->rows = sl_calloc((size_t)own->count + 1, sizeof(*own->rows));
    own->of = sl_calloc(own->count, sizeof(*own->of));
    if (own->packings == NULL || own->documents == NULL || own->rows == NULL || own->of == NULL) {
        return false;
    }
    own->documents[own->count] = dataset->info.samples;
    for (uint32_t i = 0; mix != NULL && i <= own->count; i++) {
        own->documents[i] = mix->first[i];
    }
    for (uint32_t i = 0; i < own->count; i++) {
        own->of[i] = (sl_packed_source){.all = own, .first = own->documents[i]};
    }
    return true;
}

sluice_status sl_packed_sources_open(sl_packed_sources **sources, const sl_packed_wanted *wanted,
                                     sl_notices *notices, sluice_error *error)
{
    *sources = NULL;
    sl_packed_sources *own = sl_calloc(1, sizeof(*own));
    if (own == NULL || !set_sources(own, wanted->dataset)) {
        sl_packed_sources_close(own);
        return sl_no_memory(error, STAGE, "for packed sequences");
    }
    const sluice_status status = pack_all(own, wanted, error);
    if (status != SLUICE_OK) {
        sl_packed_sources_close(own);
        return status;
    }
    tell_left_out(own, wanted, notices);
    tell_empty(own, wanted, notices);
    *sources = own;
    return SLUICE_OK;
}

void sl_packed_sources_close(sl_packed_sources *sources)
{
    if (sources == NULL) {
        return;
    }
    for (uint32_t i = 0; sources->packings != NULL && i < sources->count; i++) {
        sl_packing_close(sources->packings[i]);
    }
    sl_mix_close(sources->mix);
    sl_free(sources->packings);
    sl_free(sources->documents);
    sl_free(sources->rows);
    sl_free(sources->of);
    sl_document_lengths_close(&sources->lengths);
    sl_free(sources);
}

void sl_packed_sources_end(void *ctx)
{
    sl_packed_sources_close(ctx);
}

/* ---- finding ---- */

bool sl_packed_sources_find(const void *ctx, uint64_t number, sl_document_piece *piece)
{
    const sl_packed_sources *own = ctx;
    const uint64_t row = number / own->most;
    const uint32_t member = (uint32_t)(number % own->most);
    const uint32_t source = own->mix != NULL ? sl_packed_mix_source(own->mix, row) : 0;
    sl_packed_piece found;
    if (member >=
        sl_packing_pieces(own->packings[source], row - own->rows[source], member, 1, &found)) {
        return false;
    }
    const uint64_t document = own->documents[source] + found.document;
    const uint64_t elements = sl_document_lengths_at(&own->lengths, document);
    *piece = (sl_document_piece){.document = document, .first = found.first, .count = found.count};
    sl_document_measure(&own->rule, own->seed, elements + extra_of_document(own, document), piece);
    /* never cut, and the packing counted the space of its media */
    if (own->lengths.spaces != NULL) {
        piece->count = piece->length;
    }
    return true;
}
