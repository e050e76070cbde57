/* SPDX-License-Identifier: Apache-2.0 */
/*
 * field_lengths: how long a tensor is in each sample, read as cheaply as the format allows.
 *
 * Purpose: what packs documents by their lengths needs all of them before it reads any. A tensor of
 * a fixed shape has the length of that. A format that knows where a tensor's elements are
 * (sl_tensor_ops) is asked for that; the samples of others are read whole, once for all fields that
 * are asked for together, also where they are joined with datasets that are asked.
 * Unreadable: a sample that is damaged or of a kind that cannot be read (CORRUPT, UNSUPPORTED) is
 * so each time and for everybody. Other errors (IO, NOMEM) may not come again, and
 * always end reading. Threads: the caller's and those of open_many.h or scan.h; blocks. Memory:
 * none that grows with the samples.
 */
#ifndef SL_FIELD_LENGTHS_H
#define SL_FIELD_LENGTHS_H

#include "dataset.h"

#include <sluice/sequences.h>

#define SL_LENGTHS_WISHES 2U /* fields that are asked for together, at most */

/* The length of a sample that is unreadable. */
#define SL_LENGTH_UNREADABLE UINT64_MAX

typedef struct sl_lengths_wish {
    uint32_t field; /* whose source is not NONE */
    /* Receives the lengths of samples [first, first + count), in elements. Any thread, several at
     * once; each sample comes at least once. Where it comes again, that is later, and counts. */
    void (*take)(void *ctx, uint64_t first, uint32_t count, const uint64_t *lengths);
    void *ctx;
} sl_lengths_wish;

/* The unreadable sample of the smallest number. */
typedef struct sl_unreadable {
    bool found;
    uint64_t first;
    sluice_error error; /* what is wrong with it; `sample` is set */
} sl_unreadable;

/* Of a field of the dataset, by its number. */
sluice_lengths_source sl_field_lengths_source(const sl_dataset *dataset, uint32_t field);
/*
 * As sluice_dataset_read_lengths, of `count` fields. `options` is full-size. Works under the
 * thread's stop (stop.h), and options->should_stop where samples are read. `unreadable` NULL: an
 * unreadable sample is an error; else it has SL_LENGTH_UNREADABLE. After an error some lengths may
 * have been taken.
 */
sluice_status sl_field_lengths_read(const sl_dataset *dataset, const sl_lengths_wish *wishes,
                                    uint32_t count, const sluice_scan_options *options,
                                    sl_unreadable *unreadable, sluice_error *error);

/* For sl_lengths_wish.take: writes lengths to `ctx`, an array of uint64_t for all samples. */
void sl_lengths_keep(void *ctx, uint64_t first, uint32_t count, const uint64_t *lengths);

#endif
