/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sluice/sequences.h: the lengths of a field's samples, and the result of packing them into rows.
 *
 *     uint64_t *lengths = calloc(info.samples, sizeof(*lengths));
 *     sluice_packing_options options = SLUICE_PACKING_OPTIONS_INIT;
 *     sluice_packing_report report = SLUICE_PACKING_REPORT_INIT;
 *     options.length = 2048;
 *     options.cut = SLUICE_CUT_LONG;
 *     status = sluice_dataset_read_lengths(dataset, "tokens", lengths, NULL, &error);
 *     status = sluice_packing_count(lengths, info.samples, &options, &report, &error);
 *
 * A document is a sample with a length in elements (tokens). A row has pieces of one or more
 * documents back to back, at most `length` elements. The rows are a function of the lengths, the
 * seed and the options; which documents share a row does not depend on the epoch. docs/sequences.md
 * explains packing.
 * Threads: any thread may call every function.
 */
#ifndef SLUICE_SEQUENCES_H
#define SLUICE_SEQUENCES_H

#include <sluice/columns.h>
#include <sluice/common.h>
#include <sluice/dataset.h>
#include <sluice/datasets.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The source of a field's lengths. */
typedef enum sluice_lengths_source {
    SLUICE_LENGTHS_NONE = 0,  /* not a tensor of at least one dimension */
    SLUICE_LENGTHS_KNOWN = 1, /* known since the dataset was opened, like those of a tensor of fixed
                                 shape */
    SLUICE_LENGTHS_INDEX = 2, /* the index, or each sample's header; no whole sample is read */
    SLUICE_LENGTHS_SAMPLES = 3 /* every sample, read whole; in a joined dataset or a mix, those of
                                  the datasets that need it */
} sluice_lengths_source;

/* Returns a field's sluice_lengths_source; NONE if there is no such field. Reads the first sample's
 * index entry (in joined datasets, one of each), and may block for that. */
SLUICE_API int32_t sluice_dataset_lengths_source(const sluice_dataset *dataset, const char *field);

/*
 * Writes each sample's number of elements in `field`, a tensor (with several dimensions: its number
 * of rows), to `lengths`, which has space for one number per sample; 0 if a sample lacks the field.
 * For a tensor of fixed shape every sample gets the first dimension; which samples lack it is not
 * checked. Blocks: reads what sluice_dataset_lengths_source says. `options` may be NULL; workers,
 * on_progress and max_sample_bytes apply to samples read whole. Errors: INVALID (unknown field, or
 * another type), IO, CORRUPT, UNSUPPORTED (a sample's), CANCELED, NOMEM.
 */
SLUICE_API sluice_status sluice_dataset_read_lengths(const sluice_dataset *dataset,
                                                     const char *field, uint64_t *lengths,
                                                     const sluice_scan_options *options,
                                                     sluice_error *error) SLUICE_MUST_CHECK;

typedef struct sluice_packing_options {
    uint32_t struct_size;
    int32_t cut;            /* a sluice_cut [NONE] */
    uint64_t length;        /* elements of a row: 1 to 2^24, a multiple of `align` */
    uint64_t seed;          /* seed of the order of documents */
    uint32_t max_documents; /* largest number of pieces of a row, up to 65536 [32] */
    uint32_t align;         /* each piece's length is rounded up to a multiple of it [1] */
    uint32_t unit;   /* consecutive documents that share a row, not with SPLIT; must divide the
                        number of documents [1] */
    uint32_t window; /* documents packed together, at most 65536 [8192] */
    int32_t (*should_stop)(void *user); /* not 0: ends with CANCELED; may be NULL */
    void *user;
} sluice_packing_options;

#define SLUICE_PACKING_OPTIONS_INIT                                     \
    {                                                                   \
        sizeof(sluice_packing_options), 0, 0, 0, 0, 0, 0, 0, NULL, NULL \
    }

/* The result of packing. All tokens are in rows. */
typedef struct sluice_packing_report {
    uint32_t struct_size;
    uint32_t most_documents; /* largest number of pieces in a row */
    uint64_t documents;
    uint64_t tokens;           /* elements of all documents */
    uint64_t targets;          /* tokens followed by another in their document */
    uint64_t rows;             /* of `length` elements each */
    uint64_t pieces;           /* pieces of documents, in all rows */
    uint64_t align_padding;    /* elements after pieces, up to a multiple of `align` */
    uint64_t end_padding;      /* elements after the last piece of each row */
    uint64_t cut;              /* documents in more than one piece */
    uint64_t empty;            /* empty documents, which are in no row */
    uint64_t closed;           /* rows with max_documents pieces and space left */
    uint64_t longest;          /* elements of the longest document */
    uint64_t longest_document; /* its number; the smallest of several */
} sluice_packing_report;

#define SLUICE_PACKING_REPORT_INIT                                           \
    {                                                                        \
        sizeof(sluice_packing_report), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 \
    }

/*
 * Packs documents of these lengths and reports the result. Blocks: about 0.15 s of CPU time for a
 * million documents, on several threads. INVALID: an option is out of range; a document is longer
 * than a row and `cut` is NONE (the text names the longest one, and what to change); `unit` does
 * not divide the documents; a unit has both empty and other documents; there are no elements.
 * CANCELED; NOMEM.
 */
SLUICE_API sluice_status sluice_packing_count(const uint64_t *lengths, uint64_t documents,
                                              const sluice_packing_options *options,
                                              sluice_packing_report *report,
                                              sluice_error *error) SLUICE_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
