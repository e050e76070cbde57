/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_hive: files in folders named KEY=VALUE, as Hive, Spark and pandas write them.
 *
 * Purpose: each key in folder names becomes a column, which the files lack. Values are decoded
 * (%20); __HIVE_DEFAULT_PARTITION__ is a null. A key whose values are all whole numbers is an int.
 * Otherwise the key "label" is a class with sorted names, and other keys are texts. A key "split"
 * selects splits. Threads: one opens; then it is immutable. Ownership: sl_hive_close.
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
    char **values; /* decoded, sorted, without duplicates */
    uint32_t value_count;
    uint32_t *of;    /* number of each file's value; NULL: none */
    bool is_integer; /* true if all values are integers */
    bool is_class;   /* true if a row's value is the number of its name */
} sl_hive_key;

typedef struct sl_hive {
    uint32_t count; /* 0: files are not in such folders */
    sl_hive_key keys[SL_HIVE_KEYS_MAX];
} sl_hive;

/* How files are chosen. */
typedef struct sl_hive_how {
    bool (*is_named)(const char *name); /* decides by name whether a file belongs */
    const char *split;                  /* NULL: only one split may exist */
    sl_omissions *omissions;
} sl_hive_how;

/*
 * Returns whether a folder is named KEY=VALUE and directly contains a file or another such folder.
 */
bool sl_hive_is_part(const char *path, bool (*is_named)(const char *name));
/* Returns whether a folder contains such folders. */
bool sl_hive_is(const char *path, bool (*is_named)(const char *name));
/*
 * Lists the files below the folder `path` in path order; `files` and `hive` are zeroed. Errors:
 * INVALID (folders with other names, files beside such folders, keys that differ between places,
 * several splits, or no split of that name), IO, NOMEM.
 */
sluice_status sl_hive_list(sl_hive *hive, sl_file_list *files, const char *path,
                           const sl_hive_how *how, sluice_error *error);
/* Releases `hive`, which may be zeroed. */
void sl_hive_close(sl_hive *hive);

#endif
