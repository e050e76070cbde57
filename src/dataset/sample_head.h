/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_head: reads the sizes of a sample's images from its first bytes.
 *
 * Purpose: packed shards have them in the head of each record, about 100 bytes of 100 KB. A head
 * has no checksum of its own: a caller that depends on correct sizes checks the sample, which is
 * read in pieces for that. Threads: any; blocks. Memory: the caller's buffer; allocates nothing.
 */
#ifndef SL_SAMPLE_HEAD_H
#define SL_SAMPLE_HEAD_H

#include "dataset.h"

/*
 * Reads the first bytes of a located sample: presence, width and height of the wanted images, and
 * in `*sum` the value for sl_sample_head_check. AGAIN: they do not have these, and the whole sample
 * must be read. Errors: IO, CORRUPT (the sample is too short).
 */
sluice_status sl_sample_head_read(const sl_dataset *dataset, const sl_sample *sample,
                                  sl_buffer buffer, sl_values *values, uint64_t *sum,
                                  sluice_error *error);
/*
 * Reads the sample in pieces of the buffer's size. Errors: CORRUPT (it does not match `sum`), IO,
 * CANCELED.
 */
sluice_status sl_sample_head_check(const sl_dataset *dataset, const sl_sample *sample,
                                   sl_buffer buffer, uint64_t sum, sluice_error *error);

#endif
