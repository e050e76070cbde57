/* SPDX-License-Identifier: Apache-2.0 */
/*
 * subvolumes: a dataset's samples, of which only those parts of tensors are read that a loader
 * takes.
 *
 * Purpose: the samples are those of the base, by the same numbers. What a random part of a tensor
 * is follows from (seed, epoch, sample, repetition) and the tensor's shape (subvolume.h), so it is
 * drawn when a sample is located for a visit; the sample is CUT then: its place are the pieces that
 * hold the parts, each with the head before the tensor that says what it is, if there is one. The
 * values that unpack gives are boxes around the parts (sl_value.whole). A sample is as the base has
 * it, and read whole, where one of its tensors cannot be located, has not got the part, is in
 * another object than the sample, or where that costs no more. A part is not all that its sample's
 * checksum covers, so it comes unchecked: sluice_dataset_verify is for that. Threads: as any
 * dataset. Ownership: holds a reference to the base. Memory: none for samples.
 */
#ifndef SL_SUBVOLUMES_H
#define SL_SUBVOLUMES_H

#include "dataset.h"

/*
 * Looks at the index entries of some samples, and blocks for that: from them follows what a sample
 * takes on average (info.bytes). `*dataset` NULL: none of them would be cut. What is taken of is
 * all that is wanted of samples. Errors: NOMEM.
 */
sluice_status sl_subvolumes_open(sl_dataset **dataset, sl_dataset *base, const sl_subvolumes *taken,
                                 sluice_error *error);

#endif
