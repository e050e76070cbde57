/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sluice/datasets.h: datasets made from other datasets.
 *
 * These functions return a dataset like any other: loaders read it, it can be verified and packed,
 * and sluice_dataset_close closes it. It keeps its sources alive, so they may be closed right
 * afterwards. Nothing is copied, and no sample is read unless stated. Loaders follow the same
 * rules: a batch depends only on what sluice/loader.h lists, a cursor resumes exactly, and a cursor
 * of another dataset (another part, another selection of samples) is INVALID.
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
 * How datasets with different classes are joined: by class names. Classes of the same name are one
 * class, whatever their labels, and the field "label" (an integer) is renumbered as samples are
 * read; -1, no class, stays. By default the joined classes are those of all datasets, in the order
 * in which they first appear: the labels of the first dataset are unchanged, and adding a dataset
 * at the end changes none of the others. If all have the same classes, nothing changes.
 *
 * A dataset without class names can be joined to others only if renaming says what its classes are:
 * their names are their numbers ("0", "1", ...), and a sample of any other class is bad. So is a
 * sample of a class named "".
 */
typedef struct sluice_label_options {
    uint32_t struct_size;
    uint32_t class_count;
    /* The joined dataset's class_count classes, in this order; each class of a dataset must be one
     * of them [the classes of all datasets] */
    const char *const *classes;
    /* Old and new names of rename_count classes, which are renamed before they are joined. Several
     * may get the same name; NULL means no class (-1). Other classes keep their names. INVALID: no
     * dataset has a class of an old name. */
    const char *const *rename_from;
    const char *const *rename_to;
    uint32_t rename_count;
    uint32_t allow_case_duplicates; /* 1: names in different datasets may differ only in case [0:
                                       INVALID, since "Cat" and "cat" are probably one class] */
    /* A JSON file instead of the members above: ["cat", "dog"] for `classes`, or {"kitty": "cat",
     * "background": null} for renaming. */
    const char *file;
} sluice_label_options;

#define SLUICE_LABEL_OPTIONS_INIT                                     \
    {                                                                 \
        sizeof(sluice_label_options), 0, NULL, NULL, NULL, 0, 0, NULL \
    }

typedef struct sluice_concat_options {
    uint32_t struct_size;
    uint32_t field_count;
    /* The joined dataset's field_count fields, in this order; all datasets must have them [all
     * fields, which must be the same in each dataset] */
    const char *const *fields;
    /* How to join different classes [NULL: all datasets must have the same, in the same order] */
    const sluice_label_options *labels;
} sluice_concat_options;

#define SLUICE_CONCAT_OPTIONS_INIT                   \
    {                                                \
        sizeof(sluice_concat_options), 0, NULL, NULL \
    }

/*
 * Joins `count` datasets of any formats into one: the samples of the first, then those of the
 * second, and so on; a dataset may be given several times. Their fields, in any order, must have
 * the same names, types and meanings (role, box_format, coordinates, orientation, per_box, `of`; an
 * unknown meaning differs from a known one). Tensors must agree in dtype and number of dimensions;
 * a size that differs becomes 0, varying. Images without boxes, points, shapes and masks may differ
 * in orientation, which is then unknown.
 *
 * Without `labels`, class names must agree as well; a dataset without class names can be joined to
 * any, and its samples whose label is not one of the classes are bad. A single dataset, with
 * `labels`, is that dataset with other classes. `options` may be NULL. Errors: INVALID (no dataset,
 * more than 65536, fields or classes that differ: the text names the first), UNSUPPORTED (nesting
 * deeper than 16, more than 2^24 classes), NOMEM; for `labels->file` also IO and CORRUPT.
 */
SLUICE_API sluice_status sluice_dataset_concat(sluice_dataset **joined,
                                               sluice_dataset *const *datasets, size_t count,
                                               const sluice_concat_options *options,
                                               sluice_error *error) SLUICE_MUST_CHECK;

/* How samples are scanned for their numbers. */
typedef struct sluice_scan_options {
    uint32_t struct_size;
    uint32_t workers; /* threads, at most 1024 [4 per CPU, at most 32] */
    /* Called several times a second by the calling thread; may be NULL. */
    void (*on_progress)(void *user, uint64_t samples_done, uint64_t samples_total);
    /* Called as often: anything but 0 ends the call with CANCELED; may be NULL. */
    int32_t (*should_stop)(void *user);
    void *user;
    uint64_t max_sample_bytes; /* largest sample, up to 2^31 - 1; UNSUPPORTED above it. Large
                                  samples are read one at a time [1 GiB] */
} sluice_scan_options;

#define SLUICE_SCAN_OPTIONS_INIT                            \
    {                                                       \
        sizeof(sluice_scan_options), 0, NULL, NULL, NULL, 0 \
    }

/*
 * Reads each sample's number in `field`: an int or float, or the first dimension of a tensor if
 * that varies. `values` has space for one int64_t (floats: double) per sample. `present`, if not
 * NULL, gets 1 per sample, or 0 if the sample lacks the field (its value is then 0). Blocks: reads
 * every sample once, whole, except in image folders, whose numbers are known. `options` may be
 * NULL. Errors: INVALID (unknown field, or not a number), IO, CORRUPT, UNSUPPORTED (a sample's),
 * CANCELED, NOMEM.
 */
SLUICE_API sluice_status sluice_dataset_read_numbers(const sluice_dataset *dataset,
                                                     const char *field, void *values,
                                                     uint8_t *present,
                                                     const sluice_scan_options *options,
                                                     sluice_error *error) SLUICE_MUST_CHECK;

/* The samples of a subset: exactly one of `ranges`, `indices`, `index_file` and `where`. */
typedef struct sluice_subset_options {
    uint32_t struct_size;
    uint32_t reserved; /* 0 */
    /* Ranges and numbers, in this order: "0:1000,5000:,7". BEGIN:END excludes END; either may be
     * omitted (the first, the last) or negative (counted from the end). INVALID: out of range. */
    const char *ranges;
    /* The numbers of index_count samples, in this order; they may repeat. Copied. */
    const uint64_t *indices;
    uint64_t index_count;
    /* A file of such numbers: a 1-dimensional .npy of integers, or text with a number per line. */
    const char *index_file;
    /*
     * A condition on a sample's numbers: "score > 0.5 and not (label in (3, 7) or label ==
     * \"dog\")". Samples stay in the dataset's order. Compares int and float fields with numbers
     * (==, !=, <, <=, >, >=, `in`, `not in`), and the field "label" with class names in quotation
     * marks as well; joins comparisons with and, or, not and parentheses. A sample that lacks the
     * field fails every comparison. Reads samples as sluice_dataset_read_numbers does.
     */
    const char *where;
    const sluice_scan_options *scan; /* how to scan samples for `where`; may be NULL */
} sluice_subset_options;

#define SLUICE_SUBSET_OPTIONS_INIT                                        \
    {                                                                     \
        sizeof(sluice_subset_options), 0, NULL, NULL, 0, NULL, NULL, NULL \
    }

/*
 * Makes a dataset of some samples of `dataset`. It takes 16 bytes per run of consecutive numbers,
 * or 8 per sample if that is less; a subset of a subset refers to the original. Its stored bytes
 * (sluice_dataset_info) are an estimate. Verify checks its samples, not the rest of their files; if
 * only checksums of whole files cover samples, the result says so (`unchecked`). Errors: INVALID
 * (no selection or several; no sample left; a number or range out of range; an invalid condition:
 * the text says where), IO, CORRUPT, UNSUPPORTED, CANCELED, NOMEM.
 */
SLUICE_API sluice_status sluice_dataset_subset(sluice_dataset **subset, sluice_dataset *dataset,
                                               const sluice_subset_options *options,
                                               sluice_error *error) SLUICE_MUST_CHECK;

typedef struct sluice_mix_options {
    uint32_t struct_size;
    uint32_t field_count;      /* as in sluice_concat_options */
    const char *const *fields; /* as in sluice_concat_options */
    /*
     * row_count rows of one weight per dataset, each at least 0 and one above 0: how often the
     * dataset's samples occur, in any unit [one row, all equal]. Weights in the ratio of whole
     * numbers with a sum of at most 65536 (0.7 and 0.3: 7 of 10) are exact. Others are rounded to
     * multiples of 1/65536 of their sum, at least one for each weight that is not 0.
     */
    const double *weights;
    /* Each row's first epoch: 0, then ascending; may be NULL for one row. */
    const uint64_t *epochs;
    uint32_t row_count;
    uint32_t reserved;                  /* 0 */
    uint64_t epoch_samples;             /* samples of an epoch [the sum of all datasets'] */
    const sluice_label_options *labels; /* as in sluice_concat_options */
} sluice_mix_options;

#define SLUICE_MIX_OPTIONS_INIT                                        \
    {                                                                  \
        sizeof(sluice_mix_options), 0, NULL, NULL, NULL, 0, 0, 0, NULL \
    }

/*
 * Joins datasets like sluice_dataset_concat, with an order of its own: the weights decide which
 * dataset's turn each position of a run is. After any number of positions, counted from the first
 * epoch with the current weights, each dataset has had its share to within less than one sample. A
 * dataset's samples occur in the order of the loader's `shuffle` (SHUFFLE_FULL: a permutation), a
 * new one each time they are used up: no sample repeats before all others have occurred, and an
 * epoch resumes where the previous one ended. This lasts for 2^63 positions, so a mix has 2^63 /
 * epoch_samples epochs. A sample that occurs twice in an epoch is augmented differently, and gets
 * other random parts of tensors. Each global batch is close to the weights, regardless of the
 * number of ranks; a rank's own batch is some of its rows.
 *
 * A cursor belongs to its mix: with other weights, datasets or epoch_samples it is INVALID. A
 * batch's "index" numbers the samples of all datasets together, as do sluice_dataset_read and the
 * other functions; sluice_dataset_info counts these. A mix cannot be joined, mixed or selected
 * from.
 *
 * With window columns the mix is of windows: weights are fractions of windows, however many a
 * sample has, and an epoch has as many windows as all datasets together, or epoch_samples. INVALID:
 * a dataset without a window. With packed columns the mix is likewise of rows, and each dataset is
 * packed separately.
 *
 * Errors: as sluice_dataset_concat; INVALID: invalid weights, or weights for an epoch beyond the
 * last.
 */
SLUICE_API sluice_status sluice_dataset_mix(sluice_dataset **mix, sluice_dataset *const *datasets,
                                            size_t count, const sluice_mix_options *options,
                                            sluice_error *error) SLUICE_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
