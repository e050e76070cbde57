/* SPDX-License-Identifier: Apache-2.0 */
/*
 * megatron_index: what a .idx file of Megatron-LM says (megatron/core/datasets/indexed_dataset.py).
 *
 * Purpose: dtype, lengths and places of the sequences in the .bin file beside it. Layout,
 * little-endian: "MMIDIDX\0\0", u64 version (1), u8 dtype, u64 sequences, u64 entries of the
 * documents' table; i32 elements of each sequence; i64 byte at which each begins; i64 for each
 * document; and, of multimodal sets, i8 for each sequence, which is not looked at.
 * Threads: pure.
 */
#ifndef SL_MEGATRON_INDEX_H
#define SL_MEGATRON_INDEX_H

#include "error.h"
#include "view.h"

#include <sluice/common.h>

#include <stdbool.h>
#include <stdint.h>

#define SL_MEGATRON_HEAD_BYTES 34U

typedef struct sl_megatron_head {
    sluice_dtype dtype;
    uint64_t sequences, documents;
} sl_megatron_head;

/* Whether a file begins like this. */
bool sl_megatron_is(const uint8_t *bytes, size_t size);
/* The head of a file of `file_bytes`, whose length must fit. */
sl_refusal sl_megatron_parse(sl_megatron_head *head, const uint8_t *bytes, uint64_t file_bytes);

/* Sequence `number`, in the .bin file, by the tables behind the head (lengths, then places).
 * `tables` begins behind the head. Refuses what does not lie in a file of `bin_bytes`. */
sl_refusal sl_megatron_sequence_at(const sl_megatron_head *head, const uint8_t *tables,
                                   uint64_t number, uint64_t bin_bytes, sl_extent *sequence);

#endif
