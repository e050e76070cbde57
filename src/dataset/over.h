/* SPDX-License-Identifier: Apache-2.0 */
/*
 * over: common code of datasets over other datasets.
 *
 * Purpose: the samples of subsets, joined datasets, windows and parts of volumes come from other
 * (inner) datasets. Each such dataset only describes where a sample or object comes from, with an
 * sl_over. Forwarding of operations with converted numbers is implemented once, here. A dataset's
 * own table uses these functions for operations that it does not implement. Threads, errors: those
 * of the operation (dataset.h); nothing here has state.
 */
#ifndef SL_OVER_H
#define SL_OVER_H

#include "dataset.h"

/* The origin of a sample or object. */
typedef struct sl_inner {
    const sl_dataset *of;
    uint64_t index;        /* the sample's number in the inner dataset */
    uint32_t first_object; /* the number here of the inner dataset's object 0 */
    const uint8_t *fields; /* the inner number of each field; NULL: the same */
} sl_inner;

/* Functions are pure and may be called from any thread. */
struct sl_over {
    sl_inner (*sample)(const sl_dataset *dataset, uint64_t index);
    /* does not set `index` */
    sl_inner (*object)(const sl_dataset *dataset, uint32_t object);
    /*
     * Returns how many samples from `index` on are consecutive in one inner dataset. NULL: all
     * remaining ones.
     */
    uint64_t (*run)(const sl_dataset *dataset, uint64_t index);
    bool several; /* true if there may be several inner datasets */
};

/*
 * Returns `bytes` zeroed bytes that begin with a dataset over `of`: with its info, fields and
 * objects, one reference, and a `depth` one higher. The caller adds the reference to `of`. NULL: no
 * memory, as reported in `error`.
 */
void *sl_over_new(size_t bytes, const sl_dataset_ops *ops, const sl_over *over,
                  const sl_dataset *of, sluice_error *error);

/*
 * Returns the dataset with the omissions and warnings of opening: the base of a subset, of windows
 * or of parts of volumes, at any depth.
 */
const sl_dataset *sl_over_source(const sl_dataset *dataset);

static inline sl_inner sl_inner_of_sample(const sl_dataset *dataset, uint64_t index)
{
    return dataset->over->sample(dataset, index);
}

static inline sl_inner sl_inner_of_object(const sl_dataset *dataset, uint32_t object)
{
    return dataset->over->object(dataset, object);
}

/* Converts a located sample to the numbers of its inner dataset. */
sl_sample sl_inner_sample(const sl_inner *inner, const sl_sample *sample);

/* ---- operations that are passed on ---- */

sluice_status sl_over_locate(const sl_dataset *dataset, uint64_t index, sl_sample *sample,
                             sl_place *lookup, sl_refusal *why);
sl_piece sl_over_piece(const sl_dataset *dataset, const sl_sample *sample, uint32_t number);
sl_refusal sl_over_learn(const sl_dataset *dataset, const sl_place *lookup, sl_bytes bytes);
/* For datasets whose inner fields have the same order. */
sl_refusal sl_over_unpack(const sl_dataset *dataset, const sl_sample *sample, sl_bytes bytes,
                          sl_values *values);
/* Likewise. */
sl_refusal sl_over_unpack_head(const sl_dataset *dataset, const sl_sample *sample, sl_bytes head,
                               sl_values *values, uint64_t *sum);
sluice_status sl_over_key(const sl_dataset *dataset, uint64_t index, char *key, size_t bytes);
/* These two are for datasets over a single one. */
const char *sl_over_class_name(const sl_dataset *dataset, int64_t label);
bool sl_over_has_folder(const sl_dataset *dataset, uint64_t device, uint64_t inode);
/* UNSUPPORTED for samples whose dataset has no sl_tensor_ops. */
extern const sl_tensor_ops sl_over_tensors;

#endif
