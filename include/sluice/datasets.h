/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sluice/datasets.h: datasets that are made of others.
 *
 * What is made here is a dataset as any other: it is read by loaders, verified, packed, and closed
 * by sluice_dataset_close. It keeps what it is made of, which may be closed right afterwards.
 * Nothing is copied, and no sample is read but where it says so. The same rules hold for what a
 * loader makes of it: a batch depends on nothing but what sluice/loader.h says, a cursor says where
 * it is continued, and one of another dataset (another part, another choice of samples) is refused.
 *
 * Threads: as in sluice/dataset.h.
 */
#ifndef SLUICE_DATASETS_H
#define SLUICE_DATASETS_H

#include <sluice/common.h>
#include <sluice/dataset.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sluice_concat_options {
    uint32_t struct_size;
    uint32_t field_count;
    /* Names of `field_count` fields, which all of the datasets must have; the joined one has these
     * and no others, in this order [all, which must be the same everywhere] */
    const char *const *fields;
} sluice_concat_options;

#define SLUICE_CONCAT_OPTIONS_INIT             \
    {                                          \
        sizeof(sluice_concat_options), 0, NULL \
    }

/*
 * Joins `count` datasets, of whatever formats, to one: the samples of the first, then those of the
 * second, and so on; the same one may be given several times. Their fields must agree in names and
 * types (tensors: in dtype and number of dimensions; a size that differs is 0, as where it differs
 * from sample to sample), in any order, and so must the names of their classes; a dataset without
 * such names goes along with any, and those of its labels that are none of the classes are bad
 * samples. `options` may be NULL. Errors: INVALID (no dataset, more than 65536, fields or classes
 * that differ: the text names the first), UNSUPPORTED (more than 16 datasets made of one another),
 * NOMEM.
 */
SLUICE_API sluice_status sluice_dataset_concat(sluice_dataset **joined,
                                               sluice_dataset *const *datasets, size_t count,
                                               const sluice_concat_options *options,
                                               sluice_error *error) SLUICE_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
