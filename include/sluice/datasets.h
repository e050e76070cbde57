/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sluice/datasets.h: datasets that are made of others.
 *
 * These functions return a dataset like any other: it is read by loaders, verified, packed, and
 * closed by sluice_dataset_close. It keeps its sources alive, so they may be closed right
 * afterwards. Nothing is copied, and no sample is read but where it says so. The same rules hold
 * for what a loader makes of it: a batch depends on nothing but what sluice/loader.h says, a cursor
 * says where it is continued, and one of another dataset (another part, another choice of samples)
 * is refused.
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

/*
 * How datasets with other classes are joined: by the names of classes. Those of the same name are
 * one class, regardless of their labels, and the field "label" (an integer) is renumbered as
 * samples are read; -1, no class, stays. Without anything else the classes are those of all, in the
 * order in which they first appear: the labels of the first dataset stay what they are, and a
 * dataset that is added at the end changes none of the others. Where all have the same classes,
 * nothing changes.
 *
 * A dataset whose classes have no names goes along with others only where renaming says what they
 * are: they are called by their numbers ("0", "1", ...), and a sample of another one is bad. So is
 * one of a class whose name is "".
 */
typedef struct sluice_label_options {
    uint32_t struct_size;
    uint32_t class_count;
    /* Names of `class_count` classes: the joined dataset has these, in this order, and each class
     * of a dataset must be among them [the classes of all datasets] */
    const char *const *classes;
    /* Old and new names of `rename_count` classes, which are renamed before they are joined.
     * Several may become one; NULL means no class (-1). Other classes keep their names. INVALID: no
     * dataset has a class of an old name. */
    const char *const *rename_from;
    const char *const *rename_to;
    uint32_t rename_count;
    uint32_t allow_case_duplicates; /* 1: names of different datasets may differ in case only [0:
                                       INVALID, since "Cat" and "cat" are hardly two classes] */
    /* The same as JSON, instead of the members above: ["cat", "dog"] for `classes`, or {"kitty":
     * "cat", "background": null} for renaming. */
    const char *file;
} sluice_label_options;

#define SLUICE_LABEL_OPTIONS_INIT                                     \
    {                                                                 \
        sizeof(sluice_label_options), 0, NULL, NULL, NULL, 0, 0, NULL \
    }

typedef struct sluice_concat_options {
    uint32_t struct_size;
    uint32_t field_count;
    /* Names of `field_count` fields, which all of the datasets must have; the joined one has these
     * and no others, in this order [all, which must be the same everywhere] */
    const char *const *fields;
    /* How classes are joined that are not the same [NULL: they must be, in the same order] */
    const sluice_label_options *labels;
} sluice_concat_options;

#define SLUICE_CONCAT_OPTIONS_INIT                   \
    {                                                \
        sizeof(sluice_concat_options), 0, NULL, NULL \
    }

/*
 * Joins `count` datasets, of whatever formats, to one: the samples of the first, then those of the
 * second, and so on; the same one may be given several times. Their fields must agree in names and
 * types (tensors: in dtype and number of dimensions; a size that differs is 0, as where it differs
 * from sample to sample), in any order, and in what they mean (role, box_format, coordinates,
 * orientation, per_box, `of`): unknown and known meanings differ. Images without boxes,
 * points, shapes and masks beside them may have been annotated another way up; theirs is not known
 * then. So must agree, without `labels`, the names of their classes; a dataset without such names
 * goes along with any, and its samples whose label is not one of the classes are bad. One
 * dataset, with `labels`, is that dataset with other classes. `options` may be NULL. Errors:
 * INVALID (no dataset, more than 65536, fields or classes that differ: the text names the first),
 * UNSUPPORTED (more than 16 datasets made of one another, 2^24 classes), NOMEM; of `labels->file`
 * also IO and CORRUPT.
 */
SLUICE_API sluice_status sluice_dataset_concat(sluice_dataset **joined,
                                               sluice_dataset *const *datasets, size_t count,
                                               const sluice_concat_options *options,
                                               sluice_error *error) SLUICE_MUST_CHECK;

/* How samples are read for their numbers. */
typedef struct sluice_scan_options {
    uint32_t struct_size;
    uint32_t workers; /* threads, at most 1024 [four for each processor, 32 at most] */
    /* called several times a second by the calling thread; may be NULL */
    void (*on_progress)(void *user, uint64_t samples_done, uint64_t samples_total);
    /* asked as often: not 0 ends with CANCELED; may be NULL */
    int32_t (*should_stop)(void *user);
    void *user;
    uint64_t max_sample_bytes; /* a larger sample is refused (UNSUPPORTED), at most 2^31 - 1; of
                                  large ones one is read at a time [1 GiB] */
} sluice_scan_options;

#define SLUICE_SCAN_OPTIONS_INIT                            \
    {                                                       \
        sizeof(sluice_scan_options), 0, NULL, NULL, NULL, 0 \
    }

/*
 * Reads the number that each sample has under `field`, an integer or a float, or how many rows a
 * tensor has whose first dimension differs from sample to sample: to `values`, space for as many
 * int64_t, or double (of a float), as the dataset has samples; and to `present`, where that is not
 * NULL, 1 or, where a sample lacks it (its value is 0 then), 0. Blocks: every sample is read once,
 * whole, except in image folders, whose numbers are known. `options` may be NULL. Errors:
 * INVALID (no such field, or no number), IO, CORRUPT, UNSUPPORTED (of a sample), CANCELED, NOMEM.
 */
SLUICE_API sluice_status sluice_dataset_read_numbers(const sluice_dataset *dataset,
                                                     const char *field, void *values,
                                                     uint8_t *present,
                                                     const sluice_scan_options *options,
                                                     sluice_error *error) SLUICE_MUST_CHECK;

/* Which samples a subset has: exactly one of `ranges`, `indices`, `index_file` and `where`. */
typedef struct sluice_subset_options {
    uint32_t struct_size;
    uint32_t reserved; /* 0 */
    /* "0:1000,5000:,7": each BEGIN:END (the end not included; left out: the first, the last; with a
     * minus: counted from the end) or a number, in this order. One that is outside is refused. */
    const char *ranges;
    /* `index_count` numbers of samples, in this order, also several times (copied). */
    const uint64_t *indices;
    uint64_t index_count;
    /* The same, from a file: .npy of one dimension of whole numbers, or text, a number a line. */
    const char *index_file;
    /*
     * A condition that the numbers of a sample meet, in the order of the dataset: "score > 0.5 and
     * not (label in (3, 7) or label == \"dog\")". Comparisons (==, !=, <, <=, >, >=) of fields that
     * are integers or floats with numbers, `in` and `not in` with several; of the field "label"
     * also with names of classes, in quotation marks; joined by and, or, not and parentheses. A
     * sample that lacks the field meets no comparison. Reads samples as sluice_dataset_read_numbers
     * does.
     */
    const char *where;
    const sluice_scan_options *scan; /* how; may be NULL */
} sluice_subset_options;

#define SLUICE_SUBSET_OPTIONS_INIT                                        \
    {                                                                     \
        sizeof(sluice_subset_options), 0, NULL, NULL, 0, NULL, NULL, NULL \
    }

/*
 * Makes a dataset of some samples of `dataset`. It keeps 16 bytes for each run of numbers that
 * follow one another, or 8 for each sample where that is less; a subset of a subset is one of the
 * whole. Its stored bytes (sluice_dataset_info) are an estimate, and verify looks at its samples,
 * not at what else is in their files; where only checksums of whole files cover samples, its result
 * says so (`unchecked`). Errors: INVALID (none or several ways to choose; no sample left; a number
 * or range outside; a condition that makes no sense: the text says where), IO, CORRUPT,
 * UNSUPPORTED, CANCELED, NOMEM.
 */
SLUICE_API sluice_status sluice_dataset_subset(sluice_dataset **subset, sluice_dataset *dataset,
                                               const sluice_subset_options *options,
                                               sluice_error *error) SLUICE_MUST_CHECK;

typedef struct sluice_mix_options {
    uint32_t struct_size;
    uint32_t field_count;      /* as in sluice_concat_options */
    const char *const *fields; /* likewise */
    /*
     * `row_count` rows of a weight for each dataset, not below 0, one of them above 0: how often
     * its samples come, in any unit [one row: all the same]. They are taken exactly where they are
     * in the ratio of whole numbers with a sum of at most 65536 (0.7 and 0.3: 7 of 10), else as
     * multiples of 1/65536 of their sum, at least one for each that is not 0.
     */
    const double *weights;
    /* Of each row the epoch from which on it holds: 0, then ascending; of one row it may be NULL */
    const uint64_t *epochs;
    uint32_t row_count;
    uint32_t reserved;                  /* 0 */
    uint64_t epoch_samples;             /* of an epoch [as many as all datasets have together] */
    const sluice_label_options *labels; /* as in sluice_concat_options */
} sluice_mix_options;

#define SLUICE_MIX_OPTIONS_INIT                                        \
    {                                                                  \
        sizeof(sluice_mix_options), 0, NULL, NULL, NULL, 0, 0, 0, NULL \
    }

/*
 * Joins datasets as sluice_dataset_concat does, to one with an order of its own: at each position
 * of a run stands a sample of the dataset whose turn it is by the weights. After any number of
 * positions, from the first epoch with these weights on, a dataset has come within less than one
 * sample of its share. Its samples come in an order that a loader's `shuffle` says (SHUFFLE_FULL: a
 * permutation of them), which is another each time that they are used up: none comes again before
 * all of them have come, and an epoch goes on where the one before ended: for 2^63 positions, so a
 * mix has 2^63 / epoch_samples epochs. A sample that comes again in an epoch is augmented
 * differently, and other random parts of tensors are taken. The mix of samples in
 * each global batch is near the weights, regardless of the number of ranks; a rank's own batch is
 * some rows of it.
 *
 * A cursor goes with its mix: one of other weights, datasets or epoch_samples is refused. A batch's
 * "index" is the sample's number in all datasets together, and so are those that
 * sluice_dataset_read and the others take; sluice_dataset_info counts these. A mix cannot be
 * joined, mixed, or chosen from again.
 *
 * With window columns the mix is of windows: the weights are shares of windows, however many of
 * them a sample has, and an epoch has as many as all datasets have together, or epoch_samples of
 * them. A loader of a dataset without a window is INVALID. With packed columns the mix is of rows
 * in the same way: each dataset is packed by itself.
 *
 * Errors: as sluice_dataset_concat; INVALID: weights that make no sense, or for an epoch beyond the
 * last.
 */
SLUICE_API sluice_status sluice_dataset_mix(sluice_dataset **mix, sluice_dataset *const *datasets,
                                            size_t count, const sluice_mix_options *options,
                                            sluice_error *error) SLUICE_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
