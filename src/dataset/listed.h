/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listed: images in files of their own, listed by a table or by annotations.
 *
 * Purpose: the common dataset of such formats. A sample is one file, which is read whole, or an
 * image with related files (a mask), which are read together (read_files.h). Other data of a sample
 * are in columns in memory. Opening the list does not look at the images. A missing image is a bad
 * sample when it is read, and its error has the path. So is an image that leads out of the boundary
 * by a link, except the first one, which is checked when opening. Names that lead out are errors.
 * Memory: 9 bytes per file and its path, and for the other fields as in side_columns.h. Threads:
 * one builds it; then it is immutable. Ownership: sl_dataset_close.
 */
#ifndef SL_LISTED_H
#define SL_LISTED_H

#include "dataset.h"
#include "json_file.h"
#include "side_columns.h"
#include "source_columns.h"

/* Number of the side column of paths; the other side columns follow. */
#define SL_LISTED_PATHS 0U
/* Limit on files of a sample besides its image. */
#define SL_LISTED_FILES_MAX 8U

typedef struct sl_listed_folder {
    uint64_t device, inode;
} sl_listed_folder;

typedef struct sl_listed {
    sl_dataset base;
    char *root;            /* root of relative paths */
    sl_boundary *boundary; /* boundary of images; NULL: anywhere */
    uint32_t depth;        /* depth of `root` below the boundary */
    char why[512];         /* text about a path that leads out of it */
    sl_side_columns side;
    uint32_t source[SL_FIELDS_MAX + 1]; /* source of each side column */
    uint32_t side_of[SL_FIELDS_MAX];    /* side column of each field */
    bool is_file[SL_FIELDS_MAX];        /* true if the field is a file's bytes */
    uint8_t file_of[SL_FIELDS_MAX];     /* number of the file: 0 is the image, the others as in
                                           `file_side` */
    uint32_t files; /* number of files besides the image; a sample may lack some */
    uint32_t file_side[SL_LISTED_FILES_MAX]; /* side columns of their paths */
    sl_listed_folder
        folders[2]; /* a file created in or below these folders would become a sample */
    uint32_t folder_count;
    uint32_t key_skips; /* length of the part of relative paths before the key */
    json_t *classes;    /* an array of names; NULL: none has one */
    json_t *occurring;  /* the classes that occur; NULL: all */
    uint32_t labels;    /* side column of label numbers; 0: no label field */
    sl_field fields[SL_FIELDS_MAX];
} sl_listed;

/* The sources to choose from. */
typedef struct sl_listed_sources {
    const sl_source_column *of;
    uint32_t count;
    uint32_t picture; /* source of the image file */
    uint32_t key;     /* source of its path, a text; SL_FIELD_NONE: none */
    uint32_t files;   /* bit i: source i, below 32, has paths of files of its own */
} sl_listed_sources;

/*
 * Creates an empty dataset. `root` is the folder of `path`, or `path` itself if `folder`. Errors:
 * NOMEM.
 */
sluice_status sl_listed_new(sl_listed **listed, const char *path, bool folder, sluice_error *error);
/*
 * Finds the fields and makes their side columns; call once, before rows are added. Errors name
 * `path` and are those of sl_source_fields_find.
 */
sluice_status sl_listed_choose(sl_listed *own, const sl_listed_sources *sources,
                               const sluice_dataset_options *options, const char *path,
                               sluice_error *error);
/*
 * Returns why a file with that path cannot or must not exist: a text of `own`, valid until the next
 * call.
 */
sl_refusal sl_listed_check_path(sl_listed *own, sl_bytes path);
/* Adds a path to the side column of paths. Errors: NOMEM. */
sluice_status sl_listed_put_path(sl_listed *own, sl_bytes path, sluice_error *error);
/* Makes the dataset depend on the contents of a folder. Errors: IO. */
sluice_status sl_listed_add_folder(sl_listed *own, const char *path, sluice_error *error);
/*
 * Computes values that depend on classes and columns: the number of classes, and the fingerprint.
 */
void sl_listed_sum(sl_listed *own);
/*
 * Completes the dataset once all columns have all rows. Errors: INVALID (no rows, too many; the
 * first image is outside), NOMEM.
 */
sluice_status sl_listed_finish(sl_listed *own, const char *path, sluice_error *error);

#endif
