/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_set: the uncompressed or compressed files of a dataset, each with an index.
 *
 * Purpose: common code of formats whose samples are byte ranges of files without an index;
 * records.h makes datasets of them. Paths are files or folders of files. Several threads open them.
 * Indexes come from the store, from another tool's index beside the file, or from walking the file.
 * Processes that open the same files at the same time share the walking if the store is writable.
 * Threads: one opens it; then it is immutable. Ownership: sl_file_set_close.
 */
#ifndef SL_FILE_SET_H
#define SL_FILE_SET_H

#include "dataset.h"
#include "file_index.h"
#include "file_list.h"
#include "store.h"

#define SL_FILE_LOOK_BYTES 512U

/* Description of a format's files. */
typedef struct sl_file_kind {
    sl_index_kind index;
    const char *plural, *suffix; /* "tar archives", ".tar" */
    /* Returns whether a file in a folder belongs, by its name. */
    bool (*is_named)(const char *name);
    /* Returns whether a sub-folder may be ignored, although it is beside files; NULL: never. */
    bool (*skips_folder)(const char *name);
    /*
     * Returns whether a file belongs by its first SL_FILE_LOOK_BYTES, or all bytes it has, under
     * any name. NULL: only the name counts.
     */
    bool (*begins)(sl_bytes head);
    /* Loads an index that another tool left beside the file. NULL: none. */
    bool (*load)(sl_file_index *index, const sl_open_file *file);
    sluice_status (*walk)(sl_file_index *index, const sl_open_file *file, sluice_error *error);
    /*
     * Returns the compression of a file by its first SL_PACKING_LOOK_BYTES, if walking must unpack
     * it. That needs CPUs, so at most as many such files are walked at once as there are CPUs, up
     * to 16. NULL: never compressed.
     */
    sl_packing (*packing)(sl_bytes head);
} sl_file_kind;

typedef struct sl_file_set {
    const sl_file_kind *kind;
    sl_file_list list;
    sl_file_index *indexes; /* one per file */
    uint64_t samples, bytes;
    bool front_to_back;       /* true if one of the files is compressed as a whole */
    const char *unpacked_dir; /* used while opening; may be in a folder of files */
    const char *split;        /* used while opening: the split to open; NULL: only one may exist */
    sl_omissions *omissions; /* used while opening: counters of left-out files; NULL: not counted */
    /*
     * Used while opening: the only file, after walking it, if its kind is never compressed; closed:
     * several files. The opener may take it over.
     */
    sl_open_file lone;
} sl_file_set;

/* Returns whether a path is a file of the kind. For folders, the table of formats checks names. */
bool sl_file_set_probe(const sl_file_kind *kind, sl_look *look);

/*
 * Opens the files in path order, and files of a folder in name order. Compressed files are kept
 * unpacked in `unpacked_dir` (unpacked_store.h); NULL: walked in compressed form. `set` is zeroed
 * except for `split` and `omissions`. Errors: INVALID (no files; a folder that also contains
 * folders; files of several splits), IO, NOMEM, those of unpacking and of walking, for the first
 * file that fails, by the name of the compressed file.
 */
sluice_status sl_file_set_open(sl_file_set *set, const sl_file_kind *kind, const char *const *paths,
                               size_t count, const char *unpacked_dir, sluice_error *error);
/*
 * Lists the files, for formats with their own indexes; uses only the parts of `kind` that recognise
 * files. Errors: INVALID, IO, NOMEM.
 */
sluice_status sl_file_set_list(sl_file_set *set, const sl_file_kind *kind, const char *const *paths,
                               size_t count, sluice_error *error);
/* Releases `set`, which may be zero-initialised. */
void sl_file_set_close(sl_file_set *set);

/* Locates a sample, in pieces if it has links; facts[0] is its number in its file. */
void sl_file_set_locate(const sl_file_set *set, uint64_t index, sl_sample *sample);
/* Returns the links of a located sample, or the location of one of its pieces. */
const sl_index_link *sl_file_set_links(const sl_file_set *set, const sl_sample *sample,
                                       uint32_t *count);
sl_piece sl_file_set_piece(const sl_file_set *set, const sl_sample *sample, uint32_t number);
/* Returns the maximum number of pieces of a sample; 0: none has pieces. */
uint32_t sl_file_set_pieces(const sl_file_set *set);
/*
 * Keeps only `count` samples of a file, from `first` on, which must exist. Call describe
 * afterwards.
 */
void sl_file_set_keep(sl_file_set *set, uint32_t file, uint64_t first, uint64_t count);
/* Sets samples, bytes, shards, front_to_back and the fingerprint of names, sizes and offsets. */
void sl_file_set_describe(const sl_file_set *set, sluice_dataset_info *info);

#endif
