/* SPDX-License-Identifier: Apache-2.0 */
/*
 * class_union: merges the classes of several datasets into one list, by name.
 *
 * Purpose: classes with the same name are one, regardless of their numbers; each dataset gets a map
 * of its labels. The list is the requested one, or has the classes in order of first appearance, so
 * that the first dataset keeps its numbers, and a dataset added last renumbers nothing. The classes
 * of a dataset without names are named by their numbers ("7"), but only if renaming mentions them:
 * otherwise their meaning is unknown. Memory: about 100 bytes per class, and 4 for each class of
 * each dataset (adjacent subsets of one dataset share theirs). Threads: pure. Ownership:
 * sl_class_union_close.
 */
#ifndef SL_CLASS_UNION_H
#define SL_CLASS_UNION_H

#include "dataset.h"
#include "label_map.h"

/* the limit of the shard format */
#define SL_UNION_CLASSES_MAX (UINT32_C(1) << 24)

/* A request for classes; borrowed. */
typedef struct sl_class_request {
    const char *const
        *classes; /* `class_count` classes without duplicates; NULL: those of the datasets */
    const char *const *from; /* present names of `rename_count` classes, without duplicates */
    const char *const *to;   /* their new names; NULL: their samples have no class */
    uint32_t class_count, rename_count;
    bool allow_case_duplicates; /* true if names of several datasets may differ only in case */
} sl_class_request;

/* Zeroed: empty. */
typedef struct sl_class_union {
    sl_class_names *names; /* NULL: all datasets have the same classes, which stay unchanged */
    sl_label_map **maps;   /* one per dataset */
    uint32_t count;        /* number of datasets */
} sl_class_union;

/*
 * Merges classes. Errors: INVALID (invalid names; a class that was not requested; names of several
 * datasets that differ only in case; a dataset without class names that renaming does not cover:
 * names the first), UNSUPPORTED (more than SL_UNION_CLASSES_MAX), NOMEM. Close `made` in any case.
 */
sluice_status sl_class_union_make(sl_class_union *made, sl_dataset *const *parts, uint32_t count,
                                  const sl_class_request *labels, sluice_error *error);
void sl_class_union_close(sl_class_union *made);

/* Returns a checksum of the request, without allow_case_duplicates. */
uint64_t sl_class_request_sum(const sl_class_request *labels);

/*
 * Returns whether both use the very same list of classes. Does not compare all of it, so an equal
 * list elsewhere counts as different.
 */
bool sl_share_classes(const sl_dataset *a, const sl_dataset *b);

#endif
