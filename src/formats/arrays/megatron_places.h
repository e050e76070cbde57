/* SPDX-License-Identifier: Apache-2.0 */
/*
 * megatron_places: where each sequence of Megatron-LM's .bin files is, in a third of what the
 * indexes take.
 *
 * Purpose: writers put one sequence behind the other, so that a file's places follow from lengths:
 * the place of every SL_MEGATRON_BLOCK-th sequence is kept, and the lengths of all. A file with
 * gaps keeps the place of each sequence. Empty sequences are left out.
 * Threads: filled by one; then constant, for any. Memory: 4 bytes a sequence, and 8 a block, or of
 * a file with gaps 8 a sequence. Units: bytes.
 */
#ifndef SL_MEGATRON_PLACES_H
#define SL_MEGATRON_PLACES_H

#include "error.h"
#include "megatron_index.h"
#include "view.h"

#define SL_MEGATRON_BLOCK 64U

/* A file's part of `places`. */
typedef struct sl_megatron_file {
    uint64_t first;  /* its first sequence, of all files' */
    uint64_t offset; /* in `places` */
    uint64_t each;   /* sequences of a place: SL_MEGATRON_BLOCK, or 1 where there are gaps */
} sl_megatron_file;

typedef struct sl_megatron_places {
    uint64_t count;    /* sequences, none of them empty */
    uint64_t bytes;    /* of all of them */
    uint64_t expected; /* files, set by the opener before the first: for guessing sizes; or 0 */
    uint32_t *sizes;
    uint64_t *places;
    sl_megatron_file *files;
    uint64_t size_capacity, place_count, place_capacity, file_count, file_capacity;
} sl_megatron_places;

/* Zeroed places may be closed. */
void sl_megatron_places_close(sl_megatron_places *places);

/*
 * Adds the sequences of the index `path`, `tables` being what is behind its head. Errors: NOMEM;
 * those of sl_megatron_sequence_at.
 */
sluice_status sl_megatron_places_add(sl_megatron_places *places, const sl_megatron_head *head,
                                     const uint8_t *tables, uint64_t bin_bytes, const char *path,
                                     sluice_error *error);

/* All are added: gives back the space that was hoped to be filled. */
void sl_megatron_places_end(sl_megatron_places *places);

/* Sequence `index` < count, in its file, which has the number `file`. Takes some 20 ns. */
sl_extent sl_megatron_places_at(const sl_megatron_places *places, uint32_t file, uint64_t index);

#endif
