/* SPDX-License-Identifier: Apache-2.0 */
/*
 * joined: joins several datasets into one.
 *
 * Purpose: the samples of all parts in order, of any formats. Fields, places and values are those
 * of the parts. This module finds a sample's part (binary search), converts numbers between global
 * and local, and sorts values into the order of its own fields. Parts that are joined datasets are
 * replaced by their parts, so that a + b + c has one level. Objects: those of all parts, one after
 * another, in its own set; parts that read from the same objects (two subsets of a dataset) share
 * their numbers. Labels: those of the parts or, if classes are joined by name (class_union.h),
 * mapped by the part's map. Maps of nested joined datasets are composed. Walk of a sample: locate
 * asks the part for the place of sample index - first, and converts its object's number; the
 * object's bytes are read like any other's; learn and unpack pass them to the part with its own
 * numbers, and mark the values' buffer with the part whose tags it now holds. Memory: about 100
 * bytes per part. Threads: as for any dataset. Ownership: holds a reference to each.
 */
#ifndef SL_JOINED_H
#define SL_JOINED_H

#include "class_union.h"
#include "dataset.h"

#define SL_JOINED_MAX 65536U

/* Fields by name. */
typedef struct sl_field_names {
    const char *const *names; /* NULL: all fields, which must be equal in all parts */
    uint32_t count;
} sl_field_names;

typedef struct sl_joined_options {
    sl_field_names fields;
    const sl_class_request *labels; /* NULL: class names must be equal, in the same order */
} sl_joined_options;

/*
 * Joins datasets. Fields are in the order of the given names, or of the first part. Errors: INVALID
 * (fields or class names differ, too many parts), UNSUPPORTED (datasets nested more than
 * SL_DATASET_DEPTH_MAX deep), NOMEM; with labels, also those of sl_class_union_make.
 */
sluice_status sl_joined_open(sl_dataset **dataset, sl_dataset *const *parts, uint32_t count,
                             const sl_joined_options *options, sluice_error *error);

/*
 * Gives a joined dataset, which must not be in use yet, an order of its own, from sources whose
 * samples are its samples in order. Takes ownership of `mix`. A mix cannot be part of another
 * dataset.
 */
void sl_joined_mix(sl_dataset *dataset, sl_mix *mix);

/* ---- joined_fields.c ---- */

/*
 * Finds the fields common to `count` parts, selected by `names`; `field` has SL_FIELDS_MAX entries.
 */
sluice_status sl_joined_fields(sl_field *fields, uint32_t *field_count, sl_dataset *const *parts,
                               uint32_t count, sl_field_names names, sluice_error *error);
/* Checks class names. INVALID: several parts have class names, and they differ. */
sluice_status sl_joined_classes(sl_dataset *const *parts, uint32_t count, sluice_error *error);
/*
 * Checks `joined`, whose fields are known, if it has no label field that can be renumbered.
 * INVALID: renumbering was requested (`labels`, which may be NULL), or the classes of label lists
 * differ.
 */
sluice_status sl_joined_no_label(const sl_dataset *joined, sl_dataset *const *parts, uint32_t count,
                                 const sl_class_request *labels, sluice_error *error);
/* Returns whether each sample has a list of labels, as with annotations. */
bool sl_joined_has_class_lists(const sl_dataset *joined);

#endif
