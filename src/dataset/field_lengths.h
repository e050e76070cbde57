/* SPDX-License-Identifier: Apache-2.0 */
/*
 * field_lengths: finds the length of a tensor in each sample, as cheaply as the format allows.
 *
 * Purpose: packing documents by length needs all lengths before it reads any document. A tensor of
 * fixed shape has a known length. A format that can locate a tensor's elements (sl_tensor_ops) is
 * asked for their size. Samples of other formats are read entirely, once for all requested fields,
 * also if they are joined with datasets that can be asked. Unreadable: a sample that is damaged or
 * unsupported (CORRUPT, UNSUPPORTED) fails every time and for everyone. Other errors (IO, NOMEM)
 * may be transient, and always end reading. Threads: the caller's and those of open_many.h or
 * scan.h; blocks. Memory: does not grow with the number of samples.
 */
#ifndef SL_FIELD_LENGTHS_H
#define SL_FIELD_LENGTHS_H

#include "dataset.h"

#include <sluice/sequences.h>

#define SL_LENGTHS_WISHES 2U /* maximum number of fields per request */

/* The length of an unreadable sample. */
#define SL_LENGTH_UNREADABLE UINT64_MAX

typedef struct sl_lengths_wish {
    uint32_t field; /* a field whose source is not NONE */
    /*
     * Receives the lengths of samples [first, first + count), in elements. Any thread, several at
     * once; each sample is passed at least once. If it is passed again, the later value counts.
     */
    void (*take)(void *ctx, uint64_t first, uint32_t count, const uint64_t *lengths);
    void *ctx;
} sl_lengths_wish;

/* The unreadable sample with the smallest number. */
typedef struct sl_unreadable {
    bool found;
    uint64_t first;
    sluice_error error; /* its error; `sample` is set */
} sl_unreadable;

/* Returns the source for a field of the dataset, by number. */
sluice_lengths_source sl_field_lengths_source(const sl_dataset *dataset, uint32_t field);
/*
 * Implements sluice_dataset_read_lengths for `count` fields. `options` has its full size. Observes
 * the thread's stop (stop.h), and options->should_stop while samples are read. `unreadable` NULL:
 * an unreadable sample is an error; otherwise its length is SL_LENGTH_UNREADABLE. After an error,
 * some lengths may have been passed.
 */
sluice_status sl_field_lengths_read(const sl_dataset *dataset, const sl_lengths_wish *wishes,
                                    uint32_t count, const sluice_scan_options *options,
                                    sl_unreadable *unreadable, sluice_error *error);

/*
 * Implements sl_lengths_wish.take: writes lengths to `ctx`, an array of uint64_t for all samples.
 */
void sl_lengths_keep(void *ctx, uint64_t first, uint32_t count, const uint64_t *lengths);

#endif
