/* SPDX-License-Identifier: Apache-2.0 */
/*
 * splits: recognises splits by name, so that training and test files are not joined by mistake.
 *
 * Purpose: a folder often contains the files of all splits of a dataset, named
 * train-00000-of-00010, test-00000-of-00001, ..., or a sub-folder for each, and training on all of
 * them is never intended. Threads: pure.
 */
#ifndef SL_SPLITS_H
#define SL_SPLITS_H

#include "file_list.h"
#include "omissions.h"

#include <stdbool.h>

typedef enum sl_split {
    SL_SPLIT_NONE,
    SL_SPLIT_TRAIN,
    SL_SPLIT_VALIDATION,
    SL_SPLIT_TEST,
    SL_SPLIT_OTHER /* of images without labels */
} sl_split;

/*
 * Returns the split of a name by its first word for one, in upper or lower case: "x_train.npy",
 * "val2017", "Test-01". NONE: no such word.
 */
sl_split sl_split_of(const char *name);
/* Returns whether a name is only that of a split: "train", "val2017", "test_1". */
bool sl_split_is(const char *name);

/*
 * Returns whether a name is that of a split or fold, followed at most by a number or a single
 * letter: "train", "trainA", "fold1", "subset-02".
 */
bool sl_split_is_part(const char *name);
/*
 * Returns whether all words of a name are those of splits or of their companions: "holdout",
 * "public_test", "extra". Beside a training split it is a split too; alone it may be anything.
 */
bool sl_split_is_beside(const char *name);

/*
 * Returns whether two names differ only in the word of their split, and one is of training: "train"
 * and "val", "seg_train" and "seg_test", "train2017" and "val2017".
 */
bool sl_splits_are_siblings(const char *a, const char *b);

/*
 * Finds the split `wanted` (sluice_dataset_options.split) among the names of a dataset's splits,
 * and stores its number. An equal name takes precedence. Otherwise a word for a kind of split
 * ("train", "val", "validation", "test") stands for the only name of that kind: "val" for
 * "val2017". A name of two kinds ("trainval", "test-dev") has no such word, except that "trainval"
 * finds "trainval2012". INVALID, with the names: none matches, or several do. The caller adds the
 * file to `error`.
 */
sluice_status sl_split_choose(const char *const *names, uint32_t count, const char *wanted,
                              uint32_t *number, sluice_error *error);

/* Returns whether `wanted` is a word for the kinds of split of the name, as above. */
bool sl_split_means(const char *name, const char *wanted);
/*
 * Returns whether two names may be parts of one split, since they are equal up to its word:
 * "train-a" and "train-b", not "cats-train" and "dogs-train".
 */
bool sl_splits_are_parts(const char *a, const char *b);

/*
 * Returns the length of a file name before its number "-00000-of-00002", which a hash may follow.
 * 0: no number.
 */
size_t sl_split_before_number(const char *name);

/*
 * Selects a split among the files of a folder by their names: "train" is the split of
 * train-00000-of-00002.parquet, "cats-train" that of cats-train.arrow. Keeps the files of the split
 * `wanted` (as sl_split_choose, but a word stands for all parts of a split) and counts the others
 * in `omissions`. NULL: all files must belong to one split. Errors: INVALID, with the names of the
 * splits.
 */
sluice_status sl_split_files(sl_file_list *files, const char *folder, const char *wanted,
                             sl_omissions *omissions, sluice_error *error);

#endif
