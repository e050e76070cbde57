/* SPDX-License-Identifier: Apache-2.0 */
/*
 * megatron_places: the locations of the sequences in Megatron-LM's .bin files, in a third of the
 * indexes' memory.
 *
 * Purpose: writers store sequences back to back, so offsets follow from lengths: memory keeps all
 * lengths, and the offset of every SL_MEGATRON_BLOCK-th sequence. A file with gaps keeps the offset
 * of every sequence. Empty sequences are left out. Threads: filled by one; then constant, for any.
 * Memory: 4 bytes per sequence and 8 per block; in a file with gaps, 8 more per sequence. Units:
 * bytes.
 */
#ifndef SL_MEGATRON_PLACES_H
#define SL_MEGATRON_PLACES_H

#include "error.h"
#include "megatron_index.h"
#include "view.h"

#define SL_MEGATRON_BLOCK 64U

/* The part of `places` that belongs to a file. */
typedef struct sl_megatron_file {
    uint64_t first;  /* number of its first sequence over all files */
    uint64_t offset; /* index into `places` */
    uint64_t
        each; /* sequences per entry of `places`: SL_MEGATRON_BLOCK, or 1 in a file with gaps */
} sl_megatron_file;

typedef struct sl_megatron_places {
    uint64_t count; /* number of non-empty sequences */
    uint64_t bytes; /* total size of the sequences */
    uint64_t
        expected; /* number of files, set by the opener before the first to estimate sizes; or 0 */
    uint32_t *sizes;
    uint64_t *places;
    sl_megatron_file *files;
    uint64_t size_capacity, place_count, place_capacity, file_count, file_capacity;
} sl_megatron_places;

/* Releases `places`, which may be zeroed. */
void sl_megatron_places_close(sl_megatron_places *places);

/*
 * Adds the sequences of the index `path`; `tables` points behind its head. Errors: NOMEM; those of
 * sl_megatron_sequence_at.
 */
sluice_status sl_megatron_places_add(sl_megatron_places *places, const sl_megatron_head *head,
                                     const uint8_t *tables, uint64_t bin_bytes, const char *path,
                                     sluice_error *error);

/* Ends the adding: releases unused reserved memory. */
void sl_megatron_places_end(sl_megatron_places *places);

/* Returns sequence `index` < count of file number `file`. Takes about 20 ns. */
sl_extent sl_megatron_places_at(const sl_megatron_places *places, uint32_t file, uint64_t index);

#endif
