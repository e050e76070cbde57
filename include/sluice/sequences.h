/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sluice/sequences.h: how long the samples of a field are, and what packing them into rows gives.
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
 * documents back to back, `length` elements at most. The rows are a function of the lengths, the
 * seed and the options; which documents share a row does not depend on the epoch. docs/sequences.md
 * says how documents are packed.
 * Threads: every function may be called from any thread.
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

/* What the lengths of a field are read from. */
typedef enum sluice_lengths_source {
    SLUICE_LENGTHS_NONE = 0,   /* not a tensor of one dimension or more */
    SLUICE_LENGTHS_KNOWN = 1,  /* nothing: they are known since the dataset was opened, as those of
                                  a tensor of a fixed shape */
    SLUICE_LENGTHS_INDEX = 2,  /* the index, or the head of each sample; no whole sample */
    SLUICE_LENGTHS_SAMPLES = 3 /* every sample, whole; of a joined dataset or a mix, those of the
                                  datasets for which this holds */
} sluice_lengths_source;

/* Returns a sluice_lengths_source of a field; NONE also where there is no such field. Looks at the
 * first sample's index entry, of joined datasets at one of each, and may block for that. */
SLUICE_API int32_t sluice_dataset_lengths_source(const sluice_dataset *dataset, const char *field);

/*
 * Writes how many elements each sample has under `field`, a tensor (of several dimensions: how many
 * rows), to `lengths`, space for as many as the dataset has samples; 0 where a sample lacks the
 * field. A tensor of a fixed shape has its first dimension in every sample; which ones lack it is
 * not looked at. Blocks: reads what
 * sluice_dataset_lengths_source says. `options` may be NULL; workers, on_progress and
 * max_sample_bytes are for samples that are read whole. Errors: INVALID (no such field, or another
 * kind of field), IO, CORRUPT, UNSUPPORTED (of a sample), CANCELED, NOMEM.
 */
SLUICE_API sluice_status sluice_dataset_read_lengths(const sluice_dataset *dataset,
                                                     const char *field, uint64_t *lengths,
                                                     const sluice_scan_options *options,
                                                     sluice_error *error) SLUICE_MUST_CHECK;

typedef struct sluice_packing_options {
    uint32_t struct_size;
    int32_t cut;            /* a sluice_cut [NONE] */
    uint64_t length;        /* elements of a row: 1 to 2^24, a multiple of `align` */
    uint64_t seed;          /* draws the order of documents */
    uint32_t max_documents; /* most pieces of a row, at most 65536; a row with so many ends [32] */
    uint32_t align;         /* each piece's length is rounded up to a multiple of it [1] */
    uint32_t unit;          /* consecutive documents that share a row, not with SPLIT; the number of
                               documents must be a multiple of it [1] */
    uint32_t window;        /* documents that are packed together, at most 65536 [8192] */
    int32_t (*should_stop)(void *user); /* not 0 ends with CANCELED; may be NULL */
    void *user;
} sluice_packing_options;

#define SLUICE_PACKING_OPTIONS_INIT                                     \
    {                                                                   \
        sizeof(sluice_packing_options), 0, 0, 0, 0, 0, 0, 0, NULL, NULL \
    }

/* What packing gives. All tokens are in rows. */
typedef struct sluice_packing_report {
    uint32_t struct_size;
    uint32_t most_documents; /* pieces in the row that has the most */
    uint64_t documents;
    uint64_t tokens;           /* elements of all documents */
    uint64_t targets;          /* tokens that have a next one in their document */
    uint64_t rows;             /* of `length` elements each */
    uint64_t pieces;           /* of documents, in all rows */
    uint64_t align_padding;    /* elements behind pieces, up to a multiple of `align` */
    uint64_t end_padding;      /* elements behind the last piece of each row */
    uint64_t cut;              /* documents in more than one piece */
    uint64_t empty;            /* documents of no elements, which are in no row */
    uint64_t closed;           /* rows with space left that have max_documents pieces */
    uint64_t longest;          /* elements of the longest document */
    uint64_t longest_document; /* its number; of several the smallest */
} sluice_packing_report;

#define SLUICE_PACKING_REPORT_INIT                                           \
    {                                                                        \
        sizeof(sluice_packing_report), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 \
    }

/*
 * Packs documents of these lengths, and reports what comes of it. Blocks: about 0.15 s of CPU time
 * for a million documents, on several threads. Errors: INVALID: an option out of its range, a
 * document that is longer than a row where `cut` is NONE (the text names the longest one, and what
 * to change), documents that `unit` does not divide, a unit in which some documents are empty, no
 * element at all; CANCELED; NOMEM.
 */
SLUICE_API sluice_status sluice_packing_count(const uint64_t *lengths, uint64_t documents,
                                              const sluice_packing_options *options,
                                              sluice_packing_report *report,
                                              sluice_error *error) SLUICE_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
