/* SPDX-License-Identifier: Apache-2.0 */
/*
 * joined: several datasets as one.
 *
 * Purpose: the samples of all parts, counted on, of whatever formats they are. Fields, places and
 * values are the parts' own; this only finds the part that a sample is of (a binary search), makes
 * numbers local on the way in and global on the way out, and puts values in the order of its own
 * fields. Parts that are joined datasets themselves are taken apart, so that a + b + c is one.
 * Objects: those of all parts, one behind the other, in a set of its own. Parts that read from the
 * same one (two subsets of a dataset) share their numbers in it.
 * Labels: what they are in the parts, or, where classes are joined by their names (class_union.h),
 * what the part's map says, on the way out. Maps of joined datasets that are taken apart are
 * composed.
 * Walk of a sample: locate asks the part for the place of sample index - first, whose object is
 * counted on; that object's bytes are read like any other's; learn and unpack hand them to the part
 * with its own numbers, and the values' buffer learns whose tags it keeps from now on.
 * Memory: some 100 bytes a part. Threads: as any dataset. Ownership: holds a reference to each.
 */
#ifndef SL_JOINED_H
#define SL_JOINED_H

#include "class_union.h"
#include "dataset.h"

#define SL_JOINED_MAX 65536U

/* Fields by name. */
typedef struct sl_field_names {
    const char *const *names; /* NULL: all, which must be the same everywhere */
    uint32_t count;
} sl_field_names;

typedef struct sl_joined_options {
    sl_field_names fields;
    const sl_class_request *labels; /* NULL: names of classes must be the same, in the same order */
} sl_joined_options;

/*
 * Fields are in the order of their names, or of the first part's. Errors: INVALID (fields or names
 * of classes that differ, too many parts), UNSUPPORTED (more than SL_DATASET_DEPTH_MAX datasets
 * over one another), NOMEM; with labels, also those of sl_class_union_make.
 */
sluice_status sl_joined_open(sl_dataset **dataset, sl_dataset *const *parts, uint32_t count,
                             const sl_joined_options *options, sluice_error *error);

/*
 * Gives a joined dataset that nobody else has yet an order of its own, of sources whose samples are
 * its samples, in their order. It owns `mix` from then on. A mix can be part of no other dataset.
 */
void sl_joined_mix(sl_dataset *dataset, sl_mix *mix);

/* ---- joined_fields.c ---- */

/* The fields that `count` parts have in common, by `names`; SL_FIELDS_MAX of space. */
sluice_status sl_joined_fields(sl_field *fields, uint32_t *field_count, sl_dataset *const *parts,
                               uint32_t count, sl_field_names names, sluice_error *error);
/* INVALID: classes have names in several of them, and others. */
sluice_status sl_joined_classes(sl_dataset *const *parts, uint32_t count, sluice_error *error);
/* `joined`, whose fields are known, has no field of a label that could be renumbered. INVALID: that
 * was asked for (`labels`, which may be NULL), or classes of lists of labels differ. */
sluice_status sl_joined_no_label(const sl_dataset *joined, sl_dataset *const *parts, uint32_t count,
                                 const sl_class_request *labels, sluice_error *error);
/* Whether each sample has a list of labels, as annotations have it. */
bool sl_joined_has_class_lists(const sl_dataset *joined);

#endif
