/* SPDX-License-Identifier: Apache-2.0 */
/*
 * windows: ranges of one long tensor, as a dataset of its own.
 *
 * Purpose: a sample of this dataset is a window: `span` elements of the base's tensor `field`,
 * starting every `stride` elements, within one of the base's samples; order, ranks and cursor see
 * only windows. A window's bytes are located by reading only the base's index, and nothing else is
 * read. A sample shorter than `span` has no window; elements left over at a sample's end belong to
 * none. The base's format must be able to locate a field (locate_field). Windows come without their
 * sample's checksum: use sluice_dataset_verify to check it. Memory: 8 bytes per sample of the base
 * up to 2^20 samples, then 8 MiB; none if all samples except a shorter last one are alike. Threads:
 * as for any dataset. Ownership: holds a reference to the base. For a mix: its weights are shares
 * of windows, and the windows of each source are numbered together.
 */
#ifndef SL_WINDOWS_H
#define SL_WINDOWS_H

#include "dataset.h"

typedef struct sl_window_shape {
    uint32_t field;
    uint64_t span, stride; /* elements, at least 1 */
} sl_window_shape;

/*
 * Looks at one sample of each run of samples that are stored alike (sl_tensor_ops.range), which
 * means every index entry if they differ, and blocks for that. If sizes are known without I/O
 * (sl_tensor_ops.field_bytes), no file is read. Errors: INVALID (no window at all, or in a source
 * of a mix; a window of more than 2^31 - 1 bytes; more than 2^63 bytes in total), UNSUPPORTED (the
 * format cannot locate the field; more than 2^30 entries to look at), IO, CORRUPT, NOMEM.
 */
sluice_status sl_windows_open(sl_dataset **dataset, sl_dataset *base, const sl_window_shape *shape,
                              sluice_error *error);

/*
 * Returns the number of each source's first window, and the end, for windows of a mix; otherwise
 * NULL.
 */
const uint64_t *sl_windows_sources(const sl_dataset *dataset);
/*
 * Gives windows of a mix, which must not be in use yet, their order: the base's mix, recounted by
 * these numbers (plan/mixing.h). Takes ownership of `mix`.
 */
void sl_windows_mix(sl_dataset *dataset, sl_mix *mix);

#endif
