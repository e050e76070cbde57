/* SPDX-License-Identifier: Apache-2.0 */
#include "megatron_places.h"

#include "dtype.h"
#include "large_pages.h"
#include "little_endian.h"
#include "memory.h"
#include "minmax.h"

#include <stdbool.h>

#define STAGE "dataset"

enum { HOPED_MOST = 64 };

/* The index that is being added. */
typedef struct index_tables {
    const sl_megatron_head *head;
    const uint8_t *lengths, *offsets;
    uint64_t bin_bytes;
    uint64_t element; /* size of an element in bytes */
} index_tables;

void sl_megatron_places_close(sl_megatron_places *places)
{
    sl_free(places->sizes);
    sl_free(places->places);
    sl_free(places->files);
    *places = (sl_megatron_places){.count = 0};
}

/*
 * Makes space for `needed` items, or for `hoped` if memory suffices: an array that moves loses its
 * large pages.
 */
static bool make_space(void *array, uint64_t *capacity, uint64_t needed, uint64_t hoped,
                       size_t item_bytes)
{
    void **own = array;
    void *grown = NULL;
    if (needed <= *capacity) {
        return true;
    }
    if (hoped > needed && sl_memory_has_space(hoped * item_bytes)) {
        grown = sl_realloc_array(*own, hoped, item_bytes);
    }
    const uint64_t made = grown != NULL ? hoped : needed;
    grown = grown != NULL ? grown : sl_realloc_array(*own, needed, item_bytes);
    if (grown != NULL) {
        *own = grown;
        *capacity = made;
        sl_large_pages_ask(grown, made * item_bytes);
    }
    return grown != NULL;
}

/* Extrapolates the total of all files from those so far, to at most HOPED_MOST times `needed`. */
static uint64_t hoped_for(uint64_t needed, uint64_t files, uint64_t all)
{
    const uint64_t times = sl_min_u64(all / files + 1, HOPED_MOST);
    return needed < (uint64_t)1 << 40 ? needed * times : needed;
}

static sluice_status make_places(sl_megatron_places *own, uint64_t sequences, uint64_t each,
                                 const char *path, sluice_error *error)
{
    const uint64_t sizes = own->count + sequences + 1;
    const uint64_t places = own->place_count + sequences / each + 1;
    const uint64_t files = own->file_count + 1;
    if (sl_grow(&own->files, &own->file_capacity, files, sizeof(*own->files)) &&
        make_space(&own->sizes, &own->size_capacity, sizes, hoped_for(sizes, files, own->expected),
                   sizeof(*own->sizes)) &&
        make_space(&own->places, &own->place_capacity, places,
                   hoped_for(places, files, own->expected), sizeof(*own->places))) {
        return SLUICE_OK;
    }
    const unsigned long long all = own->count + sequences;
    return sl_error_file(error, SLUICE_NOMEM, STAGE, 0, path, -1,
                         "out of memory for %llu sequences", all);
}

/*
 * Reads sequence i like sl_megatron_sequence_at. False: the caller asks that function, for the
 * error.
 */
static inline bool read_sequence(const index_tables *t, uint64_t i, sl_extent *sequence)
{
    sequence->bytes = sl_load32(t->lengths + i * 4) * t->element;
    sequence->offset = sl_load64(t->offsets + i * 8);
    return sequence->bytes <= INT32_MAX && sequence->offset <= t->bin_bytes &&
           sequence->bytes <= t->bin_bytes - sequence->offset;
}

/*
 * Writes the sizes, and the offset of every `each`-th sequence. Returns the number of leading valid
 * sequences; `*dense`: true if the other offsets follow from these.
 */
static uint64_t take_sequences(sl_megatron_places *own, const index_tables *t, uint64_t each,
                               uint64_t *taken, bool *dense)
{
    uint32_t *sizes = own->sizes + own->count;
    uint64_t *places = own->places + own->place_count;
    uint64_t count = 0;
    uint64_t expected = 0;
    uint64_t i = 0;
    sl_extent sequence;
    *dense = true;
    for (; i < t->head->sequences && read_sequence(t, i, &sequence); i++) {
        if (sequence.bytes == 0) {
            continue;
        }
        if (count % each == 0) {
            places[count / each] = sequence.offset;
        } else {
            *dense = *dense && sequence.offset == expected;
        }
        expected = sequence.offset + sequence.bytes;
        sizes[count++] = (uint32_t)sequence.bytes;
    }
    *taken = count;
    return i;
}

static sluice_status refuse_sequence(const index_tables *t, uint64_t number, const char *path,
                                     sluice_error *error)
{
    sl_extent bad;
    const sl_refusal why = sl_megatron_sequence_at(t->head, t->lengths, number, t->bin_bytes, &bad);
    return sl_error_file(error, why.status, STAGE, 0, path,
                         (int64_t)(SL_MEGATRON_HEAD_BYTES + number * 4), "%s", why.text);
}

static void add_file(sl_megatron_places *own, uint64_t count, uint64_t each)
{
    own->files[own->file_count++] =
        (sl_megatron_file){.first = own->count, .offset = own->place_count, .each = each};
    for (uint64_t i = 0; i < count; i++) {
        own->bytes += own->sizes[own->count + i];
    }
    own->count += count;
    own->place_count += (count + each - 1) / each;
}

sluice_status sl_megatron_places_add(sl_megatron_places *places, const sl_megatron_head *head,
                                     const uint8_t *tables, uint64_t bin_bytes, const char *path,
                                     sluice_error *error)
{
    const index_tables t = {.head = head,
                            .lengths = tables,
                            .offsets = tables + head->sequences * 4,
                            .bin_bytes = bin_bytes,
                            .element = sl_dtype_bytes(head->dtype)};
    uint64_t count = 0;
    uint64_t each = SL_MEGATRON_BLOCK;
    bool dense = false;
    while (!dense) {
        const sluice_status status = make_places(places, head->sequences, each, path, error);
        if (status != SLUICE_OK) {
            return status;
        }
        const uint64_t good = take_sequences(places, &t, each, &count, &dense);
        if (good < head->sequences) {
            return refuse_sequence(&t, good, path, error);
        }
        each = dense ? each : 1;
    }
    add_file(places, count, each);
    return SLUICE_OK;
}

void sl_megatron_places_end(sl_megatron_places *places)
{
    uint32_t *sizes = sl_realloc_array(places->sizes, places->count + 1, sizeof(*sizes));
    uint64_t *begins = sl_realloc_array(places->places, places->place_count + 1, sizeof(*begins));
    places->sizes = sizes != NULL ? sizes : places->sizes;
    places->places = begins != NULL ? begins : places->places;
}

sl_extent sl_megatron_places_at(const sl_megatron_places *places, uint32_t file, uint64_t index)
{
    const sl_megatron_file *own = &places->files[file];
    const uint64_t block = (index - own->first) / own->each;
    uint64_t offset = places->places[own->offset + block];
    for (uint64_t i = own->first + block * own->each; i < index; i++) {
        offset += places->sizes[i];
    }
    return (sl_extent){offset, places->sizes[index]};
}
