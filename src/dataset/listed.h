/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listed: pictures that are in files of their own, listed by a table or by annotations.
 *
 * Purpose: the dataset that such formats have in common. A sample is one file, which is read whole,
 * or a picture and files that belong to it (a mask), which are read together (read_files.h); what
 * else is known of it are columns that are kept in memory. Nothing looks at the pictures when
 * the list is opened: one that is missing is a bad sample, which names its path, when it is read;
 * and so is one that is outside of the boundary by a link, but for the first one, which tells
 * that at once. Names that lead out are refused.
 * Memory: 9 bytes a file and its path, and what side_columns.h says of the other fields.
 * Threads: one builds it; then it is immutable. Ownership: sl_dataset_close.
 */
#ifndef SL_LISTED_H
#define SL_LISTED_H

#include "dataset.h"
#include "json_file.h"
#include "side_columns.h"
#include "source_columns.h"

/* Number of the side column of paths; others have the numbers behind it. */
#define SL_LISTED_PATHS 0U
/* Of a sample, besides its picture. */
#define SL_LISTED_FILES_MAX 8U

typedef struct sl_listed_folder {
    uint64_t device, inode;
} sl_listed_folder;

typedef struct sl_listed {
    sl_dataset base;
    char *root;            /* what paths are relative to */
    sl_boundary *boundary; /* where pictures have to be; NULL: anywhere */
    uint32_t depth;        /* of `root`, in folders below it */
    char why[512];         /* of a path that leads out of it */
    sl_side_columns side;
    uint32_t source[SL_FIELDS_MAX + 1]; /* that each side column is of */
    uint32_t side_of[SL_FIELDS_MAX];    /* the side column of each field */
    bool is_file[SL_FIELDS_MAX];        /* the field is a file's bytes */
    uint8_t file_of[SL_FIELDS_MAX];     /* which: 0 is the picture, the others as in `file_side` */
    uint32_t files;                     /* besides the picture; a sample may lack some */
    uint32_t file_side[SL_LISTED_FILES_MAX]; /* the side columns of their paths */
    sl_listed_folder folders[2]; /* a file that is made in them, or below, would be a sample's */
    uint32_t folder_count;
    uint32_t key_skips; /* bytes of relative paths that are before the key */
    json_t *classes;    /* an array of names; NULL: none have one */
    json_t *occurring;  /* those of them that occur; NULL: all do */
    uint32_t labels;    /* the side column of their numbers; 0: no field is */
    sl_field fields[SL_FIELDS_MAX];
} sl_listed;

/* What there is to choose from. */
typedef struct sl_listed_sources {
    const sl_source_column *of;
    uint32_t count;
    uint32_t picture; /* the file: an image */
    uint32_t key;     /* its path: a text; SL_FIELD_NONE: there is none */
    uint32_t files; /* bit i: source i, below 32, is a file of its own, and its values are paths */
} sl_listed_sources;

/* `root` is the folder of `path`, or `path` itself where `folder`. Errors: NOMEM. */
sluice_status sl_listed_new(sl_listed **listed, const char *path, bool folder, sluice_error *error);
/* Finds the fields, of which side columns are made; to be called once, before rows are put. `path`
 * is named in errors: those of sl_source_fields_find. */
sluice_status sl_listed_choose(sl_listed *own, const sl_listed_sources *sources,
                               const sluice_dataset_options *options, const char *path,
                               sluice_error *error);
/* Why there can be no file of that path, or must not be: a text of `own`, until the next call. */
sl_refusal sl_listed_check_path(sl_listed *own, sl_bytes path);
/* Adds a path to the side column of paths. Errors: NOMEM. */
sluice_status sl_listed_put_path(sl_listed *own, sl_bytes path, sluice_error *error);
/* Has the dataset be what is in that folder. Errors: IO. */
sluice_status sl_listed_add_folder(sl_listed *own, const char *path, sluice_error *error);
/* Finds what depends on the classes and the columns: their number, and the fingerprint. */
void sl_listed_sum(sl_listed *own);
/* Once all columns have all rows. Errors: INVALID (no rows, too many; the first picture is
 * outside), NOMEM. */
sluice_status sl_listed_finish(sl_listed *own, const char *path, sluice_error *error);

#endif
