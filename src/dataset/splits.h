/* SPDX-License-Identifier: Apache-2.0 */
/*
 * splits: files of training and of testing are not to be one dataset by mistake.
 *
 * Purpose: a folder often has the files of all splits of a dataset, called train-00000-of-00010,
 * test-00000-of-00001, ..., or a sub-folder for each, and nobody means to train on all of them.
 * Threads: pure.
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
    SL_SPLIT_OTHER /* of pictures without labels */
} sl_split;

/* The split that a name is of by one of its words, in letters of any case: "x_train.npy",
 * "val2017", "Test-01". NONE: it has no such word; the first one counts. */
sl_split sl_split_of(const char *name);
/* Whether it is called after a split and nothing else: "train", "val2017", "test_1". */
bool sl_split_is(const char *name);

/* Whether it is a split's, or a fold's, with no more than a number or a single letter behind it:
 * "train", "trainA", "fold1", "subset-02". */
bool sl_split_is_part(const char *name);
/* Whether all its words are those of splits, or of what is beside them: "holdout", "public_test",
 * "extra". Beside a split of training it is one, too; alone it may be anything. */
bool sl_split_is_beside(const char *name);

/* Whether two names differ in the word of their split alone, and one is of training: "train" and
 * "val", "seg_train" and "seg_test", "train2017" and "val2017". */
bool sl_splits_are_siblings(const char *a, const char *b);

/*
 * Finds the split `wanted` (sluice_dataset_options.split) among the names of a dataset's splits,
 * and stores its number. The name `wanted` itself comes first. Otherwise a word for a kind of split
 * ("train", "val", "validation", "test") stands for the only name of that kind: "val" for
 * "val2017". A name of two kinds ("trainval", "test-dev") has no such word, except that "trainval"
 * finds "trainval2012". INVALID, with the names: none matches, or several do. The caller adds the
 * file to `error`.
 */
sluice_status sl_split_choose(const char *const *names, uint32_t count, const char *wanted,
                              uint32_t *number, sluice_error *error);

/* Whether `wanted` is a word for the kinds of split that the name is of, as above. */
bool sl_split_means(const char *name, const char *wanted);
/* Whether the names may be parts of one split: they begin alike, up to its word: "train-a" and
 * "train-b", not "cats-train" and "dogs-train". */
bool sl_splits_are_parts(const char *a, const char *b);

/* Length of a file's name before its number, "-00000-of-00002", behind which there may be a hash,
 * too. 0: it has none. */
size_t sl_split_before_number(const char *name);

/*
 * Splits among the files of a folder, which are called by them: "train" is the split of
 * train-00000-of-00002.parquet, "cats-train" that of cats-train.arrow. Keeps the files of the split
 * `wanted` (as sl_split_choose, but a word stands for all parts of a split) and counts the others
 * in `omissions`. NULL: all have to be of one split. Errors: INVALID, with the names of the splits.
 */
sluice_status sl_split_files(sl_file_list *files, const char *folder, const char *wanted,
                             sl_omissions *omissions, sluice_error *error);

#endif
