/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow_places.h"

#include "memory.h"

#include <string.h>

enum { ROOM_MIN = 256 };

void sl_arrow_places_close(sl_arrow_places *places)
{
    sl_free(places->offsets);
    sl_free(places->bytes);
    sl_free(places->starts);
    memset(places, 0, sizeof(*places));
}

const char *sl_arrow_lack_text(sl_arrow_lack lack)
{
    static const char *const texts[SL_ARROW_LACK_COUNT] = {
        [SL_ARROW_LACKS_WHOLE] = "its list contains a null",
        [SL_ARROW_LACKS_SHAPE] = "the number of elements of its list does not match its shape",
        [SL_ARROW_LACKS_PICTURE] =
            "it is not in the file, which has only its path: save the dataset with embedded images "
            "(save_to_disk of Hugging Face's datasets), or open their folder"};
    return texts[lack];
}

/* ---- adding ---- */

static uint64_t wider(uint64_t capacity)
{
    return capacity < ROOM_MIN ? ROOM_MIN : capacity + capacity / 2;
}

bool sl_arrow_places_begin(sl_arrow_places *places)
{
    if (places->rows == places->row_capacity) {
        const uint64_t capacity = wider(places->row_capacity);
        uint64_t *starts = sl_realloc_array(places->starts, capacity, sizeof(*starts));
        if (starts == NULL) {
            return false;
        }
        places->starts = starts;
        places->row_capacity = capacity;
    }
    places->starts[places->rows++] = places->count;
    return true;
}

static bool arrow_places_widen(sl_arrow_places *places)
{
    const uint64_t capacity = wider(places->capacity);
    uint64_t *offsets = sl_realloc_array(places->offsets, capacity, sizeof(*offsets));
    places->offsets = offsets != NULL ? offsets : places->offsets;
    uint32_t *bytes = sl_realloc_array(places->bytes, capacity, sizeof(*bytes));
    places->bytes = bytes != NULL ? bytes : places->bytes;
    places->capacity = offsets != NULL && bytes != NULL ? capacity : places->capacity;
    return offsets != NULL && bytes != NULL;
}

bool sl_arrow_places_put(sl_arrow_places *places, uint64_t offset, uint64_t bytes)
{
    if (places->count == places->capacity && !arrow_places_widen(places)) {
        return false;
    }
    places->offsets[places->count] = offset;
    places->bytes[places->count++] = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
    return true;
}

bool sl_arrow_places_lack(sl_arrow_places *places, sl_arrow_lack lack)
{
    return sl_arrow_places_put(places, UINT64_MAX - (uint64_t)lack, 0);
}

/* ---- finding ---- */

static void values_of(const sl_arrow_places *places, uint64_t row, uint64_t *begin, uint64_t *end)
{
    *begin = row;
    *end = row + 1;
    if (places->lists) {
        *begin = places->starts[row];
        *end = row + 1 < places->rows ? places->starts[row + 1] : places->count;
    }
}

sl_extent sl_arrow_places_reach(const sl_arrow_places *places, uint64_t row, uint32_t low,
                                uint32_t high)
{
    uint64_t begin;
    uint64_t end;
    sl_extent reach = {0, 0};
    values_of(places, row, &begin, &end);
    const uint64_t last = begin + high + 1;
    end = last < end ? last : end;
    for (uint64_t i = begin + low; i < end; i++) {
        const uint64_t from = places->offsets[i];
        const uint64_t to = from + places->bytes[i];
        const uint64_t before = reach.offset + reach.bytes;
        if (places->bytes[i] == 0) {
            continue;
        }
        if (reach.bytes == 0) {
            reach = (sl_extent){from, to - from};
        } else {
            reach.offset = from < reach.offset ? from : reach.offset;
            reach.bytes = (to > before ? to : before) - reach.offset;
        }
    }
    return reach;
}

bool sl_arrow_places_have(const sl_arrow_places *places, uint64_t row, uint32_t element,
                          sl_extent *value, sl_arrow_lack *lack)
{
    uint64_t begin;
    uint64_t end;
    values_of(places, row, &begin, &end);
    *lack = SL_ARROW_LACKS;
    if (element >= end - begin) {
        return false;
    }
    const uint64_t code = UINT64_MAX - places->offsets[begin + element];
    if (code < SL_ARROW_LACK_COUNT) {
        *lack = (sl_arrow_lack)code;
        return false;
    }
    *value = (sl_extent){places->offsets[begin + element], places->bytes[begin + element]};
    return true;
}
