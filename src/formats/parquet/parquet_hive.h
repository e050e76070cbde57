/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_hive: files in folders that are called KEY=VALUE, as Hive, Spark and pandas write them.
 *
 * Purpose: the folders' names are columns, which the files do not have: one for each key. Values
 * are decoded (%20); __HIVE_DEFAULT_PARTITION__ is a null. A key whose values are all whole numbers
 * is an int; the key "label" is else a class, its names sorted; other keys are texts. A key "split"
 * is a split. Threads: one opens; then it is immutable. Ownership: sl_hive_close.
 */
#ifndef SL_PARQUET_HIVE_H
#define SL_PARQUET_HIVE_H

#include "file_list.h"
#include "omissions.h"
#include "source_columns.h"

#define SL_HIVE_KEYS_MAX 8U
#define SL_HIVE_NULL     UINT32_MAX

typedef struct sl_hive_key {
    char name[SL_SOURCE_NAME_BYTES];
    char **values; /* decoded, sorted, each once */
    uint32_t value_count;
    uint32_t *of;    /* of each file: number of its value; NULL */
    bool is_integer; /* all values are */
    bool is_class;   /* a row's value is the number of its name */
} sl_hive_key;

typedef struct sl_hive {
    uint32_t count; /* 0: files are not in such folders */
    sl_hive_key keys[SL_HIVE_KEYS_MAX];
} sl_hive;

/* How files are chosen. */
typedef struct sl_hive_how {
    bool (*is_named)(const char *name); /* whether a file of this name is one */
    const char *split;                  /* NULL: there may be one alone */
    sl_omissions *omissions;
} sl_hive_how;

/* Whether a folder is called KEY=VALUE and holds a file, or another such folder, at once. */
bool sl_hive_is_part(const char *path, bool (*is_named)(const char *name));
/* Whether a folder holds such folders. */
bool sl_hive_is(const char *path, bool (*is_named)(const char *name));
/*
 * Lists the files below the folder `path`, in the order of their paths; `files` and `hive` are all
 * zero. Errors: INVALID (folders that are called otherwise, files beside such folders, other keys
 * in one place than in another; several splits, or none of the name), IO, NOMEM.
 */
sluice_status sl_hive_list(sl_hive *hive, sl_file_list *files, const char *path,
                           const sl_hive_how *how, sluice_error *error);
/* Of all zero is fine. */
void sl_hive_close(sl_hive *hive);

#endif
