/* SPDX-License-Identifier: Apache-2.0 */
/*
 * offset_files: files that begin with a table of where their samples are.
 *
 * Purpose: the shards of MDS and the chunks of LitData: u32 samples, u32 offsets[samples + 1] from
 * the beginning of the file, little-endian, then whatever is there. How many samples a file has,
 * and how large it is, is told by an index beside them, and held against the file. One that is
 * compressed as a whole has all that in what comes out of it, of which opening reads the table.
 * Memory: 4 bytes a sample. Threads: one builds; then it is immutable. Ownership:
 * sl_offset_files_close.
 */
#ifndef SL_OFFSET_FILES_H
#define SL_OFFSET_FILES_H

#include "dataset.h"
#include "file_list.h"

typedef struct sl_offset_files {
    sl_file_list list;
    uint32_t **tables;   /* of each file: its samples, and where each begins, and the last ends */
    uint64_t samples;    /* of all */
    uint64_t bytes;      /* of all samples; known when the tables are read */
    uint64_t told;       /* checksum of what an index tells besides */
    bool may_lack_table; /* the sizes that are told may be without the table's */
    bool front_to_back;  /* one is compressed; known when the tables are read */
} sl_offset_files;

/* What an index tells of a file. */
typedef struct sl_told_file {
    const char *path;
    uint64_t bytes, samples; /* of a compressed one: of what comes out */
    sl_packing packing;
    const char *unpacked;  /* of a compressed one: path that what comes out would have */
    uint64_t packed_bytes; /* of a compressed one, as it is; 0: not told */
} sl_told_file;

/* May be zero-initialised. */
void sl_offset_files_close(sl_offset_files *files);

/* A file, by what the index says of it; all is copied. Errors: NOMEM, CORRUPT (more samples than a
 * file can have). */
sluice_status sl_offset_files_add(sl_offset_files *files, const sl_told_file *told,
                                  sluice_error *error);
/*
 * Has those that are compressed kept unpacked in `folder` (unpacked_store.h), before tables are
 * read; NULL: leaves them. `hashes`: of what comes out of each file, as digest_list.h has them;
 * NULL: of none. Errors: those of sl_unpacked_store_take.
 */
sluice_status sl_offset_files_unpack(sl_offset_files *files, const char *folder,
                                     const char *const *hashes, sluice_error *error);
/* Reads all tables, several at a time. Errors: IO, CORRUPT (a file of another size or another
 * number of samples, offsets that are in no order or outside; damaged compressed data), UNSUPPORTED
 * (compressed in a way that is not known here; a table out of all proportion to its compressed
 * file), NOMEM. */
sluice_status sl_offset_files_read(sl_offset_files *files, sluice_error *error);

/* Adds the checksum of what an index tells of contents to the fingerprint. */
void sl_offset_files_tell(sl_offset_files *files, uint64_t checksum);

/* Bytes of a file, of a compressed one: that come out. */
uint64_t sl_offset_files_bytes(const sl_offset_files *files, uint32_t file);
/* How many samples a file has. */
uint64_t sl_offset_files_samples(const sl_offset_files *files, uint32_t file);
/* As ops->locate: refuses a sample of no bytes, or too many. */
sluice_status sl_offset_files_locate(const sl_offset_files *files, uint64_t index,
                                     sl_sample *sample, sl_place *lookup, sl_refusal *why);
/* Of names, sizes, where samples are, and what else was told; the tables were read. */
uint64_t sl_offset_files_fingerprint(const sl_offset_files *files);

#endif
