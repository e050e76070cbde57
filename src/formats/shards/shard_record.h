/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shard_record: one sample as a shard of version 2 stores it, to and from values.
 *
 * A record is its head (checksum, presence, a cell for each field) and the blobs of its fields. Of
 * a schema the head's size is known, so that the only blob of a record is at a place that needs
 * no reading. Decoding takes untrusted bytes. Threads: pure; nothing is allocated.
 */
#ifndef SL_SHARD_RECORD_H
#define SL_SHARD_RECORD_H

#include "shard_format.h"

#define SL_RECORD_FIXED_BYTES   16u /* checksum, presence */
#define SL_CELL_BYTES           8u
#define SL_CELL_IMAGE_BYTES     16u
#define SL_CELL_DIMENSION_BYTES 4u
#define SL_RECORD_HEAD_MAX \
    (SL_RECORD_FIXED_BYTES + (SL_CELL_BYTES + SL_CELL_DIMENSION_BYTES * 8u) * SL_FIELDS_MAX)

/*
 * Writes the head of values whose bytes are as they are to be stored: schema->head_bytes, of which
 * the checksum is left 0.
 */
void sl_record_head_encode(const sl_schema *schema, const sl_values *values, uint8_t *head);
/* What a sample adds to the identity of its shard: these sums are added up. */
uint64_t sl_record_identity(uint64_t number_in_shard, uint64_t checksum);
/* Presence, width and height of the pictures that are wanted, and the checksum of the bytes from
 * the 8th on, by the head of a record of `bytes`. The checksum is not checked. */
sl_refusal sl_record_head_decode(const sl_schema *schema, sl_bytes head, uint64_t bytes,
                                 sl_values *values, uint64_t *sum);
/* Checks all of a record and gives every field's value; spans are in `record`. */
sl_refusal sl_record_decode(const sl_schema *schema, sl_bytes record, sl_values *values);

#endif
