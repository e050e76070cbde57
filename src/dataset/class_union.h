/* SPDX-License-Identifier: Apache-2.0 */
/*
 * class_union: the classes of several datasets as one list, by their names.
 *
 * Purpose: classes of the same name are one, whatever their numbers were; each dataset gets a map
 * of its labels. The list is what was asked for, or has the classes in the order in which they
 * first appear: so the numbers of the first dataset stay, and one that comes last renumbers
 * nothing. A dataset without names has its classes called by their numbers ("7"), but only where
 * renaming says something of them: without it nobody knows what they are. Memory: some 100 bytes a
 * class, and 4 for each class of each dataset (subsets of one dataset that follow one another share
 * theirs). Threads: pure. Ownership: sl_class_union_close.
 */
#ifndef SL_CLASS_UNION_H
#define SL_CLASS_UNION_H

#include "dataset.h"
#include "label_map.h"

/* As the shard format takes them. */
#define SL_UNION_CLASSES_MAX (UINT32_C(1) << 24)

/* What is asked for; borrowed. */
typedef struct sl_class_request {
    const char *const *classes; /* `class_count` of them, none twice; NULL: those that there are */
    const char *const *from;    /* of `rename_count` classes: what they are called, none twice */
    const char *const *to;      /* and are to be called; NULL: their samples have no class */
    uint32_t class_count, rename_count;
    bool allow_case_duplicates; /* names of several datasets may differ in case only */
} sl_class_request;

/* All zero: empty. */
typedef struct sl_class_union {
    sl_class_names *names; /* NULL: all have the same classes, which stay what they are */
    sl_label_map **maps;   /* of each dataset */
    uint32_t count;        /* of datasets */
} sl_class_union;

/*
 * Errors: INVALID (names that make no sense; a class that is not among those asked for; names of
 * several datasets that differ in case only; a dataset without names of which nothing is said: the
 * text names the first), UNSUPPORTED (more than SL_UNION_CLASSES_MAX), NOMEM. It is to be closed in
 * any case.
 */
sluice_status sl_class_union_make(sl_class_union *made, sl_dataset *const *parts, uint32_t count,
                                  const sl_class_request *labels, sluice_error *error);
void sl_class_union_close(sl_class_union *made);

/* Of what is asked for, names that may differ in case only apart. */
uint64_t sl_class_request_sum(const sl_class_request *labels);

/* Whether both have one and the same list of classes: found without looking at all of it, so that
 * another list of the same names counts as another. */
bool sl_share_classes(const sl_dataset *a, const sl_dataset *b);

#endif
