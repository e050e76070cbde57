/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack_setup: an image folder with good and bad files to pack, and folders compared byte for byte.
 * Functions abort on failure unless they say otherwise.
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
    uint32_t bad; /* files that no pack can take: GIF, empty, junk, absent, too large */
} pack_setup;

/* `classes` x `per_class` photos, and five bad files when `bad`. */
void pack_setup_make(pack_setup *setup, uint32_t classes, uint32_t per_class, bool bad);
void pack_setup_remove(pack_setup *setup);

/* One worker, small shards, skips bad samples. */
sluice_pack_options pack_options(void);
/* Packs with sl_pack. Gives status and error back. */
sluice_status pack_run(const pack_setup *setup, const char *path,
                       const sluice_pack_options *options, sluice_pack_result *result,
                       sluice_error *error);

/* Names in a folder that `wanted` likes (NULL: all but "." and ".."). */
uint32_t count_names(const char *folder, bool (*wanted)(const char *name));
bool is_temporary(const char *name);
bool is_shard(const char *name);
/* Both folders hold the same files with the same bytes. Says on stderr what differs. */
bool folders_equal(const char *a, const char *b);
/* Every file of `part` that is not hidden, but those of an unfinished pack only, is in `whole` with
 * the same bytes. */
bool folder_is_part_of(const char *part, const char *whole);

#endif
