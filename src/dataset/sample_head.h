/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_head: the sizes of a sample's pictures, by its first bytes.
 *
 * Purpose: packed shards have them in the head of each record, which is some 100 bytes of as many
 * kilobytes. A head has no checksum of its own: a caller that cannot do with a wrong size checks
 * the sample, which is read in pieces for that.
 * Threads: any; blocks. Memory: the caller's buffer; nothing is allocated.
 */
#ifndef SL_SAMPLE_HEAD_H
#define SL_SAMPLE_HEAD_H

#include "dataset.h"

/*
 * Reads the first bytes of a located sample: presence, width and height of the pictures that are
 * wanted, and in `*sum` what sl_sample_head_check compares. AGAIN: they do not tell, and all of the
 * sample has to be read. Errors: IO, CORRUPT (it ends before).
 */
sluice_status sl_sample_head_read(const sl_dataset *dataset, const sl_sample *sample,
                                  sl_buffer buffer, sl_values *values, uint64_t *sum,
                                  sluice_error *error);
/* Reads the sample, in pieces of the buffer's size. Errors: CORRUPT (it does not match `sum`), IO,
 * CANCELED. */
sluice_status sl_sample_head_check(const sl_dataset *dataset, const sl_sample *sample,
                                   sl_buffer buffer, uint64_t sum, sluice_error *error);

#endif
