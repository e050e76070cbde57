/* SPDX-License-Identifier: Apache-2.0 */
/*
 * offset_files: files that begin with a table of sample offsets.
 *
 * Purpose: the shards of MDS and the chunks of LitData have u32 samples, u32 offsets[samples + 1]
 * from the file's beginning, little-endian, then the data. An index beside them has the number of
 * samples and the size of each file, which must match. In a file that is compressed as a whole, all
 * of this refers to the unpacked data; opening reads the table from there. Memory: 4 bytes per
 * sample. Threads: one builds; then it is immutable. Ownership: sl_offset_files_close.
 */
#ifndef SL_OFFSET_FILES_H
#define SL_OFFSET_FILES_H

#include "dataset.h"
#include "file_list.h"

typedef struct sl_offset_files {
    sl_file_list list;
    uint32_t **tables;   /* for each file: number of samples, offset of each sample, and the last
                            one's end */
    uint64_t samples;    /* total over all files */
    uint64_t bytes;      /* total size of the samples; valid once the tables are read */
    uint64_t told;       /* checksum of other data in an index */
    bool may_lack_table; /* true if the sizes in the index may omit the table */
    bool front_to_back;  /* true if a file is compressed; valid once the tables are read */
} sl_offset_files;

/* Description of a file in an index. */
typedef struct sl_told_file {
    const char *path;
    uint64_t bytes, samples; /* for a compressed file: of the unpacked data */
    sl_packing packing;
    const char *unpacked;  /* for a compressed file: path of the unpacked file */
    uint64_t packed_bytes; /* for a compressed file: its own size; 0: not given */
} sl_told_file;

/* Releases `files`, which may be zero-initialised. */
void sl_offset_files_close(sl_offset_files *files);

/*
 * Adds a file by its index entry, which is copied. Errors: NOMEM, CORRUPT (more samples than a file
 * can have).
 */
sluice_status sl_offset_files_add(sl_offset_files *files, const sl_told_file *told,
                                  sluice_error *error);
/*
 * Unpacks compressed files into `folder` and keeps them there (unpacked_store.h); call before the
 * tables are read. NULL: does nothing. `hashes`: of the unpacked data of each file, as in
 * digest_list.h; NULL: none. Errors: those of sl_unpacked_store_take.
 */
sluice_status sl_offset_files_unpack(sl_offset_files *files, const char *folder,
                                     const char *const *hashes, sluice_error *error);
/*
 * Reads all tables, several at a time. Errors: IO, CORRUPT (wrong file size or number of samples,
 * offsets out of order or range; damaged compressed data), UNSUPPORTED (unknown compression; a
 * table out of proportion to its compressed file), NOMEM.
 */
sluice_status sl_offset_files_read(sl_offset_files *files, sluice_error *error);

/* Adds the checksum of an index's description of contents to the fingerprint. */
void sl_offset_files_tell(sl_offset_files *files, uint64_t checksum);

/* Returns a file's size; for a compressed file, the unpacked size. */
uint64_t sl_offset_files_bytes(const sl_offset_files *files, uint32_t file);
/* Returns the number of samples in a file. */
uint64_t sl_offset_files_samples(const sl_offset_files *files, uint32_t file);
/* Implements ops->locate; rejects empty and too large samples. */
sluice_status sl_offset_files_locate(const sl_offset_files *files, uint64_t index,
                                     sl_sample *sample, sl_place *lookup, sl_refusal *why);
/*
 * Returns the fingerprint of names, sizes, sample offsets and the added checksums; call after the
 * tables were read.
 */
uint64_t sl_offset_files_fingerprint(const sl_offset_files *files);

#endif
