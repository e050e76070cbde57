/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_lanes: two lanes over the intervals of a region. Pure except for the given scratch. A lane's
 * blocks are linked once, in the order of a scan; a shorter chunk cuts the chain and restores it.
 * False as soon as an interval does not match the header.
 */
#include "jpeg_lanes.h"

#include "minmax.h"

#include <assert.h>
#include <string.h>

enum { LANES = 2, CHUNK_MCUS = 8 };

/* The shared state of both lanes. */
typedef struct work {
    const sl_jpeg_area *area;
    const sl_jpeg_tiles *tiles;
    sl_bytes bytes;
    uint32_t chunk;       /* maximum MCUs of a chunk: at most a row */
    uint32_t first[3];    /* block of each component in a lane's memory */
    uint32_t block_count; /* of a chunk */
    /* the next interval to assign: the search is at this MCU row */
    uint32_t row;
    uint32_t next; /* no interval before this one is needed any more */
} work;

/* A chunk's blocks are stored component by component, each row by row, as wide as a chunk, so
 * that adjacent blocks of the image are adjacent in memory. */
typedef struct lane {
    sl_huffman_stream stream;
    sl_huffman_block *blocks;
    sl_huffman_block *last[CHUNK_MCUS]; /* of each MCU of a chunk, in decoding order */
    uint8_t *unstuffed;
    uint16_t prediction[3];
    uint64_t mcu;  /* the chunk's first, counted through the picture */
    uint64_t end;  /* one past the last needed MCU of the interval */
    uint32_t size; /* MCUs of the chunk */
    bool whole;    /* `end` is the interval's end */
    bool active;
    size_t bytes; /* of the interval */
} lane;

static sl_huffman_block *block_at(const work *w, const lane *l, uint32_t component, uint32_t row,
                                  uint32_t column)
{
    const size_t width = (size_t)w->area->planes[component].across * w->chunk;
    return l->blocks + w->first[component] + row * width + column;
}

/* Returns the block after those of a chunk. */
static sl_huffman_block *end_block(const work *w, const lane *l)
{
    return l->blocks + w->block_count;
}

/* Links the blocks of MCU `m` of a chunk after `before`, in an interleaved scan's order. */
static sl_huffman_block *link_mcu(const work *w, const lane *l, uint32_t m,
                                  sl_huffman_block *before)
{
    for (uint32_t c = 0; c < w->area->components; c++) {
        const sl_jpeg_plane *plane = &w->area->planes[c];
        const sl_huffman_entry *table = plane->tables->dc;
        for (uint32_t v = 0; v < plane->down; v++) {
            sl_huffman_block *block = block_at(w, l, c, v, m * plane->across);
            for (uint32_t h = 0; h < plane->across; h++, block++) {
                before->next = block;
                before->next_table = table;
                before = block;
            }
        }
    }
    return before;
}

static void link_blocks(const work *w, lane *l)
{
    sl_huffman_block *end = end_block(w, l);
    sl_huffman_block *before = end; /* its successor is overwritten */
    for (uint32_t m = 0; m < w->chunk; m++) {
        before = link_mcu(w, l, m, before);
        l->last[m] = before;
    }
    *end = (sl_huffman_block){.next_table = w->area->stop->ac, .next = end};
}

static void cut_chain(const work *w, lane *l)
{
    sl_huffman_block *last = l->last[l->size - 1];
    last->next = end_block(w, l);
    last->next_table = w->area->stop->ac;
}

static void mend_chain(const work *w, lane *l)
{
    if (l->size < w->chunk) {
        sl_huffman_block *last = l->last[l->size - 1];
        last->next = block_at(w, l, 0, 0, l->size * w->area->planes[0].across);
        last->next_table = w->area->planes[0].tables->dc;
    }
}

/* Zeroes the blocks that the lane's chunk uses, row by row. */
static void clear_blocks(const work *w, const lane *l)
{
    for (uint32_t c = 0; c < w->area->components; c++) {
        const sl_jpeg_plane *plane = &w->area->planes[c];
        for (uint32_t v = 0; v < plane->down; v++) {
            sl_huffman_block *row = block_at(w, l, c, v, 0);
            for (uint32_t i = 0; i < l->size * plane->across; i++) {
                sl_huffman_clear(&row[i]);
            }
        }
    }
}

/* Begins a chunk, which ends with the row of MCUs, or the last needed MCU. */
static void begin_chunk(const work *w, lane *l)
{
    const uint64_t left = l->end - l->mcu;
    const uint64_t in_row = w->tiles->mcus_across - l->mcu % w->tiles->mcus_across;
    uint64_t size = sl_min_u64(left, in_row);
    size = sl_min_u64(size, w->chunk);
    l->size = (uint32_t)size;
    clear_blocks(w, l);
    cut_chain(w, l);
    sl_huffman_aim(&l->stream, l->blocks, w->area->planes[0].tables);
}

/* Copies [at, end) to `out` without the zero bytes that follow FF; returns how many were written.
 */
static size_t unstuff(const uint8_t *at, const uint8_t *end, uint8_t *out)
{
    const uint8_t *start = out;
    while (at < end) {
        const uint8_t *mark = memchr(at, 0xFF, (size_t)(end - at));
        const uint8_t *stop = mark != NULL ? mark + 1 : end;
        memcpy(out, at, (size_t)(stop - at));
        out += stop - at;
        at = stop;
        if (mark != NULL && at < end && *at == 0) {
            at++;
        }
    }
    memset(out, 0, SL_HUFFMAN_PADDING);
    return (size_t)(out - start);
}

/* Returns the end of the last MCUs of the region before MCU `end`; at least one exists. */
static uint64_t last_needed(const work *w, uint64_t end)
{
    const sl_jpeg_area *area = w->area;
    const uint64_t across = w->tiles->mcus_across;
    uint64_t row = (end - 1) / across;
    uint64_t column = (end - 1) % across;
    if (row >= area->bottom) {
        row = area->bottom - 1;
        column = area->right - 1;
    } else if (column < area->left) {
        row--;
        column = area->right - 1;
    } else if (column >= area->right) {
        column = area->right - 1;
    }
    return row * across + column + 1;
}

/* Finds the next interval with an MCU of the region; false: none is left. */
static bool next_interval(work *w, uint32_t *interval)
{
    const sl_jpeg_area *area = w->area;
    const uint64_t across = w->tiles->mcus_across;
    for (; w->row < area->bottom; w->row++) {
        const uint64_t first = (w->row * across + area->left) / w->tiles->interval;
        const uint64_t last = (w->row * across + area->right - 1) / w->tiles->interval;
        const uint64_t found = sl_max_u64(first, w->next);
        if (found <= last) {
            *interval = (uint32_t)found;
            w->next = (uint32_t)found + 1;
            return true;
        }
    }
    return false;
}

static void begin_interval(const work *w, lane *l, uint32_t interval)
{
    const sl_jpeg_span span = w->tiles->spans[interval];
    const uint64_t count = (uint64_t)w->tiles->mcus_across * w->tiles->mcus_down;
    l->mcu = (uint64_t)interval * w->tiles->interval;
    uint64_t end = l->mcu + w->tiles->interval;
    end = sl_min_u64(end, count);
    l->end = last_needed(w, end);
    l->whole = l->end == end;
    l->bytes = unstuff(w->bytes.data + span.begin, w->bytes.data + span.end, l->unstuffed);
    memset(l->prediction, 0, sizeof(l->prediction));
    sl_huffman_begin(&l->stream, l->unstuffed, l->bytes, w->area->stop);
    begin_chunk(w, l);
}

/* Turns differences into DC values, modulo 2^16, for one component of the chunk. */
static void add_up(const work *w, lane *l, uint32_t component)
{
    const sl_jpeg_plane *plane = &w->area->planes[component];
    sl_huffman_block *rows[2] = {block_at(w, l, component, 0, 0),
                                 block_at(w, l, component, plane->down - 1, 0)};
    uint16_t value = l->prediction[component];
    for (uint32_t m = 0; m < l->size; m++) {
        for (uint32_t v = 0; v < plane->down; v++) {
            for (uint32_t h = 0; h < plane->across; h++, rows[v]++) {
                value = (uint16_t)(value + (uint16_t)rows[v]->values[0]);
                rows[v]->values[0] = (int16_t)value;
            }
        }
    }
    l->prediction[component] = value;
}

/* Transforms the needed MCUs of the chunk into the planes. */
static void jpeg_lanes_transform(const work *w, const lane *l)
{
    const sl_jpeg_area *area = w->area;
    const uint32_t row = (uint32_t)(l->mcu / w->tiles->mcus_across);
    const uint32_t column = (uint32_t)(l->mcu % w->tiles->mcus_across);
    const uint32_t begin = sl_max_u32(column, area->left);
    const uint32_t end = sl_min_u32(column + l->size, area->right);
    if (row < area->top || begin >= end) {
        return;
    }
    for (uint32_t c = 0; c < area->components; c++) {
        const sl_jpeg_plane *plane = &area->planes[c];
        for (uint32_t v = 0; v < plane->down; v++) {
            const size_t sample_row = ((size_t)(row - area->top) * plane->down + v) * plane->size;
            const size_t sample_column = (size_t)(begin - area->left) * plane->across * plane->size;
            const sl_jpeg_blocks blocks = {
                .coefficients = block_at(w, l, c, v, (begin - column) * plane->across)->values,
                .pitch = sizeof(sl_huffman_block) / sizeof(int16_t),
                .count = (size_t)(end - begin) * plane->across,
                .quantizers = plane->quantizers,
                .samples = plane->samples + sample_row * plane->stride + sample_column,
                .stride = plane->stride};
            plane->idct(&blocks);
        }
    }
}

static bool finish_chunk(work *w, lane *l)
{
    mend_chain(w, l);
    for (uint32_t c = 0; c < w->area->components; c++) {
        add_up(w, l, c);
    }
    jpeg_lanes_transform(w, l);
    l->mcu += l->size;
    const uint64_t used = (sl_huffman_used(&l->stream) + 7) / 8;
    if (l->mcu < l->end) {
        begin_chunk(w, l);
        return used <= l->bytes;
    }
    if (used > l->bytes || (l->whole && used != l->bytes)) {
        return false;
    }
    uint32_t interval = 0;
    l->active = next_interval(w, &interval);
    if (l->active) {
        begin_interval(w, l, interval);
    }
    return true;
}

/* Computes where the blocks of a chunk are in a lane's memory. */
static void place_blocks(work *w)
{
    const uint32_t across = w->tiles->mcus_across;
    w->chunk = sl_min_u32(across, CHUNK_MCUS);
    for (uint32_t c = 0; c < w->area->components; c++) {
        const sl_jpeg_plane *plane = &w->area->planes[c];
        w->first[c] = w->block_count;
        w->block_count += plane->across * plane->down * w->chunk;
    }
}

static bool open_lane(const work *w, lane *l, size_t longest, sl_scratch *scratch)
{
    l->blocks = sl_scratch_take(scratch, ((size_t)w->block_count + 1) * sizeof(*l->blocks));
    l->unstuffed = sl_scratch_take(scratch, longest + SL_HUFFMAN_PADDING);
    if (l->blocks == NULL || l->unstuffed == NULL) {
        return false;
    }
    link_blocks(w, l);
    return true;
}

static size_t longest_span(const sl_jpeg_tiles *tiles)
{
    size_t longest = 0;
    for (uint32_t i = 0; i < tiles->count; i++) {
        const size_t size = tiles->spans[i].end - tiles->spans[i].begin;
        longest = sl_max_u64(size, longest);
    }
    return longest;
}

/* Runs the lanes with work left; false: none, or a bad stream. */
static bool run_active(const work *w, lane lanes[LANES], bool *ok)
{
    lane *a = lanes[0].active ? &lanes[0] : &lanes[1];
    lane *b = lanes[0].active && lanes[1].active ? &lanes[1] : NULL;
    if (!a->active) {
        return false;
    }
    *ok = sl_huffman_run(w->area->simd, &a->stream, b != NULL ? &b->stream : NULL);
    return *ok;
}

bool sl_jpeg_lanes_run(const sl_jpeg_area *area, const sl_jpeg_tiles *tiles, sl_bytes bytes,
                       sl_scratch *scratch)
{
    assert(area->left < area->right && area->right <= tiles->mcus_across);
    assert(area->top < area->bottom && area->bottom <= tiles->mcus_down);
    work w = {.area = area, .tiles = tiles, .bytes = bytes, .row = area->top};
    place_blocks(&w);
    lane lanes[LANES] = {{.active = false}};
    const size_t longest = longest_span(tiles);
    uint32_t interval = 0;
    for (int i = 0; i < LANES && next_interval(&w, &interval); i++) {
        if (!open_lane(&w, &lanes[i], longest, scratch)) {
            return false;
        }
        lanes[i].active = true;
        begin_interval(&w, &lanes[i], interval);
    }
    bool ok = true;
    while (ok && run_active(&w, lanes, &ok)) {
        for (int i = 0; i < LANES && ok; i++) {
            if (lanes[i].active && sl_huffman_at_end(&lanes[i].stream)) {
                ok = finish_chunk(&w, &lanes[i]);
            }
        }
    }
    return ok;
}
