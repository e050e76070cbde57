/* SPDX-License-Identifier: Apache-2.0 */
/*
 * field_lengths: how long a tensor is in each sample, read as cheaply as the format allows.
 *
 * Purpose: what packs documents by their lengths needs all of them before it reads any. A format
 * that knows where a tensor's elements are (sl_tensor_ops) is asked for that; the samples of others
 * are read whole, also where they are joined with datasets that are asked. Threads: the caller's
 * and those of open_many.h or scan.h; blocks. Memory: the caller's 8 bytes a sample.
 */
#ifndef SL_FIELD_LENGTHS_H
#define SL_FIELD_LENGTHS_H

#include "dataset.h"

#include <sluice/sequences.h>

/* Of a field of the dataset, by its number. */
sluice_lengths_source sl_field_lengths_source(const sl_dataset *dataset, uint32_t field);
/* As sluice_dataset_read_lengths, of a field whose source is not NONE. `options` is full-size.
 * Works under the thread's stop (stop.h), and options->should_stop where samples are read. */
sluice_status sl_field_lengths_read(const sl_dataset *dataset, uint32_t field, uint64_t *lengths,
                                    const sluice_scan_options *options, sluice_error *error);

#endif
