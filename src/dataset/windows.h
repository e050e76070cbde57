/* SPDX-License-Identifier: Apache-2.0 */
/*
 * windows: ranges of one long tensor, as a dataset of its own.
 *
 * Purpose: the sample of this dataset is a window: `span` elements of the base's tensor `field`,
 * one every `stride`, inside one of its samples; order, ranks and cursor know nothing else. Window
 * w's bytes are located without reading more than the base's index, and nothing but them is read.
 * A sample shorter than `span` has none; what is left at a sample's end is in none.
 * The base's format must know where a field is (locate_field). Since a window is not all that its
 * sample's checksum covers, it comes unchecked: sluice_dataset_verify is for that.
 * Memory: 8 bytes a sample of the base up to 2^20 of them, then 8 MiB; nothing where all samples
 * but a shorter last one are alike. Threads: as any dataset. Ownership: holds a reference to the
 * base.
 * Of a mix: windows are what its weights are shares of, and each source's are numbered together.
 */
#ifndef SL_WINDOWS_H
#define SL_WINDOWS_H

#include "dataset.h"

typedef struct sl_window_shape {
    uint32_t field;
    uint64_t span, stride; /* elements, 1 or more */
} sl_window_shape;

/*
 * Looks at one sample of each run of samples that are stored alike (sl_tensor_ops.range), so at
 * every index entry where they differ, and blocks for that; where their size is known without
 * reading (sl_tensor_ops.field_bytes), no file is touched. Errors: INVALID (no window at all, or of
 * a source of a mix, a window of more than 2^31 - 1 bytes, more than 2^63 bytes in all),
 * UNSUPPORTED (the format cannot tell where the field is; more than 2^30 entries would have to be
 * looked at), IO, CORRUPT, NOMEM.
 */
sluice_status sl_windows_open(sl_dataset **dataset, sl_dataset *base, const sl_window_shape *shape,
                              sluice_error *error);

/* Of windows of a mix: the number of each source's first window, and the end; else NULL. */
const uint64_t *sl_windows_sources(const sl_dataset *dataset);
/* Gives windows of a mix, which nobody else has yet, their order: the base's mix, counted again by
 * these numbers (plan/mixing.h). They own it from then on. */
void sl_windows_mix(sl_dataset *dataset, sl_mix *mix);

#endif
