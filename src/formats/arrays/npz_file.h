/* SPDX-License-Identifier: Apache-2.0 */
/*
 * npz_file: what arrays an .npz file has, told without reading them.
 *
 * Purpose: for opening: the archive's directory and the header of each member are read, by some
 * small reads. Threads: any; a file read is immutable. Ownership: sl_npz_file_close. Memory: of a
 * file while it is looked at, 500 bytes an array, and its descriptor.
 */
#ifndef SL_NPZ_FILE_H
#define SL_NPZ_FILE_H

#include "dataset.h"
#include "file_list.h"
#include "npz_array.h"

typedef struct sl_npz_entry {
    char name[SL_SOURCE_NAME_BYTES];
    sl_zip_member member; /* entered */
    sl_npy npy;
    const char *refused; /* literal: no array that could be a field, and why; NULL: it is one */
} sl_npz_entry;

typedef struct sl_npz_file {
    sl_handle handle; /* open until the file is closed */
    sl_file_identity file;
    uint32_t count;
    sl_npz_entry *entries;
    uint8_t *directory;
} sl_npz_file;

/* Errors, naming file and offset: IO, CORRUPT (no archive, damaged), UNSUPPORTED (more than 1024
 * members, long names), NOMEM; nothing is left to be closed then. */
sluice_status sl_npz_file_read(sl_npz_file *file, const char *path, sluice_error *error);
/* May be zero-initialised. */
void sl_npz_file_close(sl_npz_file *file);

/* All that a member of a file holds, unpacked and its checksum right; the caller frees it
 * (sl_free): its array's bytes. Errors: IO, CORRUPT, UNSUPPORTED (2^32 bytes that are compressed),
 * NOMEM. */
sluice_status sl_npz_file_load(const sl_npz_file *file, const sl_npz_entry *entry, uint8_t **data,
                               sluice_error *error);
/* Reads all of a stored member, for its checksum, and reports what it finds: IO, CORRUPT, NOMEM. */
void sl_npz_file_check(const sl_zip_member *member, const sl_listed_file *of,
                       sl_findings *findings);

#endif
