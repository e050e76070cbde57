/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack_setup: an image folder with good and bad files to pack, and byte-for-byte comparison of
 * folders. Functions abort on failure unless stated otherwise.
 */
#ifndef SL_PACK_SETUP_H
#define SL_PACK_SETUP_H

#include "dataset.h"
#include "photo_folder.h"

#include <sluice/writer.h>

#include <stdbool.h>

/* Below what the public API accepts, so that few photos make many shards. */
#define PACK_SHARD_BYTES 24576

typedef struct pack_setup {
    photo_folder photos;
    sl_dataset *dataset;
    uint32_t bad; /* files that cannot be packed: GIF, empty, junk, absent, too large */
} pack_setup;

/* Makes `classes` x `per_class` photos, and five bad files if `bad`. */
void pack_setup_make(pack_setup *setup, uint32_t classes, uint32_t per_class, bool bad);
void pack_setup_remove(pack_setup *setup);

/* Returns options: one worker, small shards, skip bad samples. */
sluice_pack_options pack_options(void);
/* Packs with sl_pack. Returns its status and error. */
sluice_status pack_run(const pack_setup *setup, const char *path,
                       const sluice_pack_options *options, sluice_pack_result *result,
                       sluice_error *error);

/* Counts names in a folder that `wanted` accepts (NULL: all but "." and ".."). */
uint32_t count_names(const char *folder, bool (*wanted)(const char *name));
bool is_temporary(const char *name);
bool is_shard(const char *name);
/* True if both folders hold the same files with the same bytes. Prints differences to stderr. */
bool folders_equal(const char *a, const char *b);
/* True if `whole` has every file of `part` with the same bytes, except hidden files and files of an
 * unfinished pack. */
bool folder_is_part_of(const char *part, const char *whole);

#endif
