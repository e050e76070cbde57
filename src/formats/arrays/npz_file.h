/* SPDX-License-Identifier: Apache-2.0 */
/*
 * npz_file: lists the arrays of an .npz file without reading them.
 *
 * Purpose: opening reads the archive's directory and the header of each member, in a few small
 * reads. Threads: any; a file that was read is immutable. Ownership: sl_npz_file_close. Memory: 500
 * bytes per array and a file descriptor, until it is closed.
 */
#ifndef SL_NPZ_FILE_H
#define SL_NPZ_FILE_H

#include "dataset.h"
#include "file_list.h"
#include "npz_array.h"

typedef struct sl_npz_entry {
    char name[SL_SOURCE_NAME_BYTES];
    sl_zip_member member; /* the member, entered (sl_zip_enter) */
    sl_npy npy;
    const char *refused; /* string literal: why the member cannot be a field; NULL: it can */
} sl_npz_entry;

typedef struct sl_npz_file {
    sl_handle handle; /* open until the file is closed */
    sl_file_identity file;
    uint32_t count;
    sl_npz_entry *entries;
    uint8_t *directory;
} sl_npz_file;

/*
 * Reads a file's directory and headers. Errors, with file and offset: IO, CORRUPT (not an archive,
 * damaged), UNSUPPORTED (more than 1024 members, long names), NOMEM. After an error, nothing needs
 * closing.
 */
sluice_status sl_npz_file_read(sl_npz_file *file, const char *path, sluice_error *error);
/* Releases `file`, which may be zero-initialised. */
void sl_npz_file_close(sl_npz_file *file);

/*
 * Loads a member: the bytes of its array, unpacked and verified by checksum; the caller frees them
 * (sl_free). Errors: IO, CORRUPT, UNSUPPORTED (2^32 compressed bytes or more), NOMEM.
 */
sluice_status sl_npz_file_load(const sl_npz_file *file, const sl_npz_entry *entry, uint8_t **data,
                               sluice_error *error);
/* Reads a whole stored member to verify its checksum, and reports findings: IO, CORRUPT, NOMEM. */
void sl_npz_file_check(const sl_zip_member *member, const sl_listed_file *of,
                       sl_findings *findings);

#endif
