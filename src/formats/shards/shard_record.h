/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shard_record: encodes and decodes one sample of a version 2 shard.
 *
 * A record has a head (checksum, presence, a cell for each field) and the blobs of its fields. The
 * schema determines the head's size, so the location of a record's only blob is known without
 * reading. Decoding takes untrusted bytes. Threads: pure; allocates nothing.
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
 * Writes the head, schema->head_bytes, for values whose bytes are in stored form; leaves the
 * checksum 0.
 */
void sl_record_head_encode(const sl_schema *schema, const sl_values *values, uint8_t *head);
/* Returns what a sample adds to the identity of its shard, which is the sum over all samples. */
uint64_t sl_record_identity(uint64_t number_in_shard, uint64_t checksum);
/*
 * Decodes the head of a record of `bytes`: presence, width and height of the wanted images, and the
 * checksum of the bytes from the 8th on, which is not verified.
 */
sl_refusal sl_record_head_decode(const sl_schema *schema, sl_bytes head, uint64_t bytes,
                                 sl_values *values, uint64_t *sum);
/* Checks a whole record and returns every field's value; spans point into `record`. */
sl_refusal sl_record_decode(const sl_schema *schema, sl_bytes record, sl_values *values);

#endif
