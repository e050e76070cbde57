/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_list: the files of a dataset whose samples are numbered consecutively across files.
 *
 * Purpose: find a sample's file, and present the files as objects, for formats that join files.
 * Threads: one builds a list; then it is immutable. Ownership: sl_file_list_close.
 */
#ifndef SL_FILE_LIST_H
#define SL_FILE_LIST_H

#include "checksum.h"
#include "objects.h"

#include <stdint.h>

typedef struct sl_listed_file {
    char *path;            /* owned */
    char *name;            /* owned: name of its content when unpacked; NULL: the end of its path */
    char *source;          /* owned: the file that it was unpacked from; NULL: none */
    sl_file_identity file; /* identity when it was looked at; until then only its size */
    uint64_t first;        /* number of its first sample */
    sl_packing packing;
    /* unpacked size from the index, which then also reports what lacks a checksum; 0: no index
     * has it */
    uint64_t unpacked;
} sl_listed_file;

typedef struct sl_file_list {
    sl_listed_file *files;
    uint32_t count, capacity;
} sl_file_list;

/* Adds a file, whose identity and first sample are the caller's to fill in. Errors: NOMEM. */
sluice_status sl_file_list_add(sl_file_list *list, const char *path, sluice_error *error);
/* May be zero-initialised. */
void sl_file_list_close(sl_file_list *list);

/* Checks that no link leads a file from `first` on, which the list at `named_by` names, outside the
 * boundary. Uses several threads, since files may have to be opened. Errors: INVALID. */
sluice_status sl_file_list_check(const sl_file_list *list, uint32_t first,
                                 const sl_boundary *boundary, const char *named_by,
                                 sluice_error *error);

/* Returns the file of a sample. */
uint32_t sl_file_list_find(const sl_file_list *list, uint64_t sample);
/* Makes objects of the files. Each must be the same file whenever it is opened, as far as it was
 * looked at. The list must outlive them. Errors: NOMEM. */
sluice_status sl_file_list_objects(sl_file_list *list, sl_objects **objects, sluice_error *error);
/* Adds a file's name, without folders, and its size to a fingerprint; if an index has the unpacked
 * size, that size. */
void sl_file_list_sum(const sl_file_list *list, uint32_t file, sl_checksum_stream *stream);

#endif
