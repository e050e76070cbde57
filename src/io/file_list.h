/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_list: the files of a dataset whose samples are counted on from one to the next.
 *
 * Purpose: which file a sample is in, and the files as objects, for formats whose files are
 * joined. Threads: one builds a list; then it is immutable. Ownership: sl_file_list_close.
 */
#ifndef SL_FILE_LIST_H
#define SL_FILE_LIST_H

#include "checksum.h"
#include "objects.h"

#include <stdint.h>

typedef struct sl_listed_file {
    char *path;            /* owned */
    char *name;            /* owned: of what it unpacks to; NULL: as its path ends */
    char *source;          /* owned: the file that it was unpacked from; NULL: it was not */
    sl_file_identity file; /* when it was looked at; until then of its size alone */
    uint64_t first;        /* number of its first sample */
    sl_packing packing;
    uint64_t unpacked; /* bytes that an index says come out of it, of which it also tells what has
                          no checksum; 0: none does */
} sl_listed_file;

typedef struct sl_file_list {
    sl_listed_file *files;
    uint32_t count, capacity;
} sl_file_list;

/* Adds a file, whose identity and first sample are the caller's to fill in. Errors: NOMEM. */
sluice_status sl_file_list_add(sl_file_list *list, const char *path, sluice_error *error);
/* May be zero-initialised. */
void sl_file_list_close(sl_file_list *list);

/* Whether none of the files from `first` on, which the list at `named_by` names, is outside of
 * the boundary by a link. By several threads, since it may have to be looked for. Errors: INVALID.
 */
sluice_status sl_file_list_check(const sl_file_list *list, uint32_t first,
                                 const sl_boundary *boundary, const char *named_by,
                                 sluice_error *error);

/* The file that a sample is in. */
uint32_t sl_file_list_find(const sl_file_list *list, uint64_t sample);
/* The files as objects, which have to be the same ones whenever they are opened, as far as they
 * were looked at; the list has to outlive them. Errors: NOMEM. */
sluice_status sl_file_list_objects(sl_file_list *list, sl_objects **objects, sluice_error *error);
/* Adds a file's name, without the folders, and its size to a fingerprint; of one that an index
 * tells of what it unpacks to: of that. */
void sl_file_list_sum(const sl_file_list *list, uint32_t file, sl_checksum_stream *stream);

#endif
