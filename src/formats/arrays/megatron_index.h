/* SPDX-License-Identifier: Apache-2.0 */
/*
 * megatron_index: parses an .idx file of Megatron-LM (megatron/core/datasets/indexed_dataset.py).
 *
 * Purpose: provides dtype, lengths and offsets of the sequences in the .bin file beside it. Layout,
 * little-endian: "MMIDIDX\0\0", u64 version (1), u8 dtype, u64 sequences, u64 entries of the
 * document table; i32 elements of each sequence; i64 offset of each sequence in bytes; i64 for each
 * document; and for multimodal sets, i8 for each sequence, which is ignored. Threads: pure.
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

/* Returns whether a file begins like an index. */
bool sl_megatron_is(const uint8_t *bytes, size_t size);
/* Parses the head of an index of `file_bytes`, and checks that this size fits. */
sl_refusal sl_megatron_parse(sl_megatron_head *head, const uint8_t *bytes, uint64_t file_bytes);

/*
 * Finds sequence `number` in the .bin file by the tables that follow the head (lengths, then
 * offsets). `tables` points behind the head. Rejects sequences outside a file of `bin_bytes`.
 */
sl_refusal sl_megatron_sequence_at(const sl_megatron_head *head, const uint8_t *tables,
                                   uint64_t number, uint64_t bin_bytes, sl_extent *sequence);

#endif
