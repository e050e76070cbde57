/* SPDX-License-Identifier: Apache-2.0 */
/*
 * over: what datasets over other datasets have in common.
 *
 * Purpose: subsets, joined datasets, windows and parts of volumes have samples that are other
 * datasets' (their inner ones). Each says only where a sample and an object come from, by an
 * sl_over; that an operation is passed on to there, with the numbers that are valid there, is
 * written once, here. A dataset's own table takes of these what it does not do itself.
 * Threads, errors: those of the operation (dataset.h); nothing here has a state.
 */
#ifndef SL_OVER_H
#define SL_OVER_H

#include "dataset.h"

/* Where a sample, or an object, comes from. */
typedef struct sl_inner {
    const sl_dataset *of;
    uint64_t index;        /* the sample's number there */
    uint32_t first_object; /* the number here of the object that is 0 there */
    const uint8_t *fields; /* the number there of each field; NULL: the same */
} sl_inner;

/* Pure, from any thread. */
struct sl_over {
    sl_inner (*sample)(const sl_dataset *dataset, uint64_t index);
    /* `index` is not set. */
    sl_inner (*object)(const sl_dataset *dataset, uint32_t object);
    /* How many samples from `index` on follow one another in one inner dataset, too. NULL: all that
     * are there. */
    uint64_t (*run)(const sl_dataset *dataset, uint64_t index);
    bool several; /* there may be several inner datasets */
};

/*
 * Zeros of `bytes`, which begin with a dataset over `of`: its info, fields and objects, one
 * reference, of `depth` one more. `of` is the caller's to reference. NULL: no memory, which `error`
 * says.
 */
void *sl_over_new(size_t bytes, const sl_dataset_ops *ops, const sl_over *over,
                  const sl_dataset *of, sluice_error *error);

/* The dataset that has what was said about opening it (omissions, warnings): the one that a subset,
 * windows or parts of volumes are of, at whatever depth. */
const sl_dataset *sl_over_source(const sl_dataset *dataset);

static inline sl_inner sl_inner_of_sample(const sl_dataset *dataset, uint64_t index)
{
    return dataset->over->sample(dataset, index);
}

static inline sl_inner sl_inner_of_object(const sl_dataset *dataset, uint32_t object)
{
    return dataset->over->object(dataset, object);
}

/* A located sample, by the numbers of where it comes from. */
sl_sample sl_inner_sample(const sl_inner *inner, const sl_sample *sample);

/* ---- operations that are passed on ---- */

sluice_status sl_over_locate(const sl_dataset *dataset, uint64_t index, sl_sample *sample,
                             sl_place *lookup, sl_refusal *why);
sl_piece sl_over_piece(const sl_dataset *dataset, const sl_sample *sample, uint32_t number);
sl_refusal sl_over_learn(const sl_dataset *dataset, const sl_place *lookup, sl_bytes bytes);
/* Of datasets whose fields are in the same order there. */
sl_refusal sl_over_unpack(const sl_dataset *dataset, const sl_sample *sample, sl_bytes bytes,
                          sl_values *values);
/* Likewise. */
sl_refusal sl_over_unpack_head(const sl_dataset *dataset, const sl_sample *sample, sl_bytes head,
                               sl_values *values, uint64_t *sum);
sluice_status sl_over_key(const sl_dataset *dataset, uint64_t index, char *key, size_t bytes);
/* These two of datasets over one other. */
const char *sl_over_class_name(const sl_dataset *dataset, int64_t label);
bool sl_over_has_folder(const sl_dataset *dataset, uint64_t device, uint64_t inode);
/* UNSUPPORTED of samples whose dataset has no sl_tensor_ops. */
extern const sl_tensor_ops sl_over_tensors;

#endif
