/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_set: the files of a dataset that are as they are, each with an index.
 *
 * Purpose: what formats have in common whose samples are byte ranges of files that have no index.
 * What they are as a dataset is in records.h. Paths are files or folders of them; files are opened
 * by as many threads as help, and their indexes come from the store, from what another tool left
 * beside them, or by walking. Processes that open the same files at the same time share the
 * walking, as far as the store can be written to. Threads: one opens it; then it is immutable.
 * Ownership: sl_file_set_close.
 */
#ifndef SL_FILE_SET_H
#define SL_FILE_SET_H

#include "dataset.h"
#include "file_index.h"
#include "file_list.h"
#include "store.h"

#define SL_FILE_LOOK_BYTES 512U

/* What a format's files are. */
typedef struct sl_file_kind {
    sl_index_kind index;
    const char *plural, *suffix; /* "tar archives", ".tar" */
    /* Whether a file of this name is one, in a folder. */
    bool (*is_named)(const char *name);
    /* Whether a folder beside them is not a reason to ask what is meant; NULL: none is. */
    bool (*skips_folder)(const char *name);
    /* Whether a file that begins with these bytes is one, whatever its name: SL_FILE_LOOK_BYTES, or
     * all that it has. NULL: the name alone tells. */
    bool (*begins)(sl_bytes head);
    /* An index that another tool left beside the file. NULL: none does. */
    bool (*load)(sl_file_index *index, const sl_open_file *file);
    sluice_status (*walk)(sl_file_index *index, const sl_open_file *file, sluice_error *error);
    /* How a file that begins so (SL_PACKING_LOOK_BYTES) is compressed, if it is walked by unpacking
     * it: processors do that, and no more files at once are walked than there are, up to 16. NULL:
     * none is. */
    sl_packing (*packing)(sl_bytes head);
} sl_file_kind;

typedef struct sl_file_set {
    const sl_file_kind *kind;
    sl_file_list list;
    sl_file_index *indexes; /* one of each file */
    uint64_t samples, bytes;
    bool front_to_back;       /* one of the files is compressed as a whole */
    const char *unpacked_dir; /* while it is opened; may be in a folder of files */
    const char *split;        /* likewise: the split to open; NULL: there may be one alone */
    sl_omissions
        *omissions; /* likewise: where files that are left out are counted; NULL: nowhere */
    /* While it is opened: the only file, which was walked, of a kind that is never compressed;
     * closed: there are several. The opener may take it over. */
    sl_open_file lone;
} sl_file_set;

/* Whether a path is a file of the kind. Of folders the table of formats asks for names. */
bool sl_file_set_probe(const sl_file_kind *kind, sl_look *look);

/*
 * Files in the order of the paths, those of a folder in the order of their names. Compressed ones
 * are kept unpacked in `unpacked_dir` (unpacked_store.h), NULL: are walked as they are. `set` is
 * all zero except for `split` and `omissions`. Errors: INVALID (none; a folder that holds folders,
 * too; files of several splits), IO, NOMEM, those of unpacking
 * and those of walking, of the first file that has one; they name the compressed file.
 */
sluice_status sl_file_set_open(sl_file_set *set, const sl_file_kind *kind, const char *const *paths,
                               size_t count, const char *unpacked_dir, sluice_error *error);
/* Lists the files, for formats that have their own indexes: of the kind what tells files apart is
 * used. Errors: INVALID, IO, NOMEM. */
sluice_status sl_file_set_list(sl_file_set *set, const sl_file_kind *kind, const char *const *paths,
                               size_t count, sluice_error *error);
/* A zero-initialised set may be closed. */
void sl_file_set_close(sl_file_set *set);

/* A sample's place, in pieces if it has links; facts[0] is its number in its file. */
void sl_file_set_locate(const sl_file_set *set, uint64_t index, sl_sample *sample);
/* Of a sample that was located: its links, and where a piece of it is. */
const sl_index_link *sl_file_set_links(const sl_file_set *set, const sl_sample *sample,
                                       uint32_t *count);
sl_piece sl_file_set_piece(const sl_file_set *set, const sl_sample *sample, uint32_t number);
/* Pieces that a sample has, at most; 0: none has some. */
uint32_t sl_file_set_pieces(const sl_file_set *set);
/* Keeps `count` samples of a file, from `first` on, which has to have them. Call describe then. */
void sl_file_set_keep(sl_file_set *set, uint32_t file, uint64_t first, uint64_t count);
/* Fills in samples, bytes, shards, front_to_back and the fingerprint, which is of names, sizes and
 * offsets. */
void sl_file_set_describe(const sl_file_set *set, sluice_dataset_info *info);

#endif
