/* SPDX-License-Identifier: Apache-2.0 */
/*
 * subvolumes: a dataset's samples, read only as far as a loader takes parts of their tensors.
 *
 * Purpose: the samples and their numbers are those of the base. A random part of a tensor follows
 * from (seed, epoch, sample, repetition) and the tensor's shape (subvolume.h), so it is drawn when
 * a sample is located for a visit. The sample is then CUT: its place consists of the pieces with
 * the parts, each with the head that describes the tensor, if there is one. unpack returns boxes
 * around the parts as values (sl_value.whole). A sample is read whole, as in the base, if one of
 * its tensors cannot be located, lacks the part, or is in another object than the sample, or if
 * that costs no more. Parts come without their sample's checksum: use sluice_dataset_verify to
 * check it. Threads: as for any dataset. Ownership: holds a reference to the base. Memory: none for
 * samples.
 */
#ifndef SL_SUBVOLUMES_H
#define SL_SUBVOLUMES_H

#include "dataset.h"

/*
 * Looks at the index entries of some samples, and blocks for that, to find the average size of a
 * sample (info.bytes). `*dataset` NULL: none of them would be cut. Only `taken` is wanted of
 * samples. Errors: NOMEM.
 */
sluice_status sl_subvolumes_open(sl_dataset **dataset, sl_dataset *base, const sl_subvolumes *taken,
                                 sluice_error *error);

#endif
