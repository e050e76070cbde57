/* SPDX-License-Identifier: Apache-2.0 */
/*
 * beside: finds the image that belongs to an annotation, a label file or a mask, by its name.
 *
 * Purpose: annotations name their image by a path, or by their own name: a.xml, a.txt and
 * a_mask.png belong to a.jpg. This module knows names, and asks the store which files exist. The
 * format decides which folders are searched, in which order, and what several matches or none mean.
 * Paths: a name that begins with a slash stands alone; any other is relative to a folder. A path
 * that does not fit into SL_PATH_BYTES belongs to no file; it is never truncated to one that does.
 * Threads: any. Functions that take a folder block while the store answers; the others are pure.
 * Memory: the caller's buffers; a walk takes 6 kB of stack for each level.
 */
#ifndef SL_BESIDE_H
#define SL_BESIDE_H

#include "store.h"
#include "view.h"

/* ---- names ---- */

/* Returns whether a name is that of an image that can be a sample of a folder. */
bool sl_beside_is_picture(const char *name);
/*
 * Returns whether a name is that of an image of any kind, including kinds that are not read. Tables
 * use sl_media_names_picture, which knows more kinds but not .dcm; each list determines how many
 * files are counted as left out.
 */
bool sl_beside_is_image(const char *name);
/* Returns the length of a path without its extension. */
size_t sl_beside_stem(const char *path);
/*
 * Returns whether the first `bytes` of a path end with `suffix`, with more before it in the last
 * component.
 */
bool sl_beside_ends(const char *path, size_t bytes, const char *suffix);

/* ---- paths ---- */

/* Writes FOLDER/PLACE/NAME and `ending`, where `place` may be "". False: too long. */
bool sl_beside_path(char path[SL_PATH_BYTES], const char *folder, const char *place, sl_bytes name,
                    const char *ending);
/* Copies a path without the slashes at its end. False: empty or too long. */
bool sl_beside_clean(const char *path, char clean[SL_PATH_BYTES]);
/* Finds the component of a path before `*end`, which is its length at first, from the last to the
 * first. Then `*end` is before that component. Returns its length; 0 between two slashes. */
size_t sl_beside_component(const char *path, size_t *end, const char **at);
/* Divides a path at its component of `bytes` at `at`: `root` receives the path before it, `others`
 * the path from there on, with `other` in place of the component. False: too long. */
bool sl_beside_swap(const char *path, const char *at, size_t bytes, const char *other,
                    char root[SL_PATH_BYTES], char others[SL_PATH_BYTES]);

/* ---- files ---- */

typedef enum sl_beside_letters { SL_BESIDE_SMALL, SL_BESIDE_ANY_CASE } sl_beside_letters;

/* Finds the first image STEM.EXTENSION in FOLDER/PLACE, by the extensions that images of folders
 * have: those in small letters before those in capitals. `name` receives its name from there. */
bool sl_beside_find_image(const char *folder, const char *place, sl_bytes stem,
                          sl_beside_letters letters, char name[SL_PATH_BYTES]);
/* Returns whether a folder contains a folder that is neither hidden nor a system's. */
bool sl_beside_has_folders(const char *path);

/*
 * Returns the annotation to try after this one while the folder of all images is searched: each of
 * the first SL_BESIDE_FIRST, then about 1,024 in equal steps.
 */
enum { SL_BESIDE_FIRST = 64, SL_BESIDE_SAMPLED = 1024 };
static inline uint64_t sl_beside_next(uint64_t number, uint64_t count)
{
    return number < SL_BESIDE_FIRST ? number + 1 : number + 1 + count / SL_BESIDE_SAMPLED;
}

/* ---- a walk through the first files of a folder ---- */

typedef enum sl_beside_step {
    SL_BESIDE_SKIP,   /* neither a file that matters nor a folder */
    SL_BESIDE_FOLLOW, /* a folder, unless the listing says that it is a file */
    SL_BESIDE_COUNT,  /* a file that matters */
    SL_BESIDE_STOP    /* the walk can end */
} sl_beside_step;

/* Stops after `files_max` files that matter. Follows 8 folders of each folder, 4 levels down. */
typedef struct sl_beside_walk {
    const char *folder;
    bool deep; /* true if sub-folders are followed */
    int files_max;
    /* Receives each entry that is neither hidden nor special; `below` is its folder's path, from
     * `folder` on. */
    sl_beside_step (*see)(void *ctx, const char *below, const sl_store_entry *entry);
    void *ctx;
} sl_beside_walk;

/* Does nothing if the folder does not exist; one that cannot be listed ends early. */
void sl_beside_look(const sl_beside_walk *walk);

#endif
