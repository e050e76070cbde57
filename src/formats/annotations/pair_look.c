/* SPDX-License-Identifier: Apache-2.0 */
#include "pair_look.h"

#include "beside.h"
#include "error.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { LOOKED_AT = 16 };

/* ---- a look at two folders ---- */

typedef struct looker {
    const sl_pair *pair;
    bool found, is_for_others;
} looker;

/* Returns whether an image with that stem exists, with any extension. */
static bool pair_has_picture(const sl_pair *pair, const char *below, const char *name, size_t stem)
{
    char folder[SL_PATH_BYTES];
    char found[SL_PATH_BYTES];
    char whole[NAME_MAX + 64];
    const int length =
        snprintf(whole, sizeof(whole), "%.*s%s", (int)stem, name, pair->kind->picture);
    return sl_path_join(folder, pair->root, pair->pictures) &&
           sl_beside_find_image(folder, below, (sl_bytes){(const uint8_t *)whole, (size_t)length},
                                SL_BESIDE_ANY_CASE, found);
}

static bool pair_belongs(const sl_pair *pair, const char *below, const char *name)
{
    const char *const *suffixes = pair->kind->suffixes;
    const size_t stem = sl_beside_stem(name);
    for (uint32_t i = 0; i < SL_PAIR_SUFFIXES && suffixes[i] != NULL; i++) {
        if (sl_beside_ends(name, stem, suffixes[i]) &&
            pair_has_picture(pair, below, name, stem - strlen(suffixes[i]))) {
            return true;
        }
    }
    return false;
}

static bool pair_holds(const sl_pair *pair, const char *below, const char *name)
{
    char folder[SL_PATH_BYTES];
    char path[SL_PATH_BYTES];
    return pair->kind->holds == NULL ||
           (sl_path_join(folder, pair->root, pair->others) &&
            sl_beside_path(path, folder, below, (sl_bytes){(const uint8_t *)name, strlen(name)},
                           "") &&
            pair->kind->holds(path));
}

static sl_beside_step pair_look_at(void *ctx, const char *below, const sl_store_entry *entry)
{
    looker *l = ctx;
    const char *name = entry->name;
    /* COCO annotations, which are looked for later, may have such folders beside them */
    l->is_for_others = l->is_for_others || (below[0] == '\0' && sl_ends_with(name, ".json"));
    if (!l->pair->kind->takes(name) || entry->kind == SL_ENTRY_FOLDER) {
        return SL_BESIDE_FOLLOW;
    }
    l->found = pair_belongs(l->pair, below, name) && pair_holds(l->pair, below, name);
    return l->found ? SL_BESIDE_STOP : SL_BESIDE_COUNT;
}

bool sl_pair_is(const sl_pair *pair)
{
    char folder[SL_PATH_BYTES];
    looker l = {.pair = pair};
    if (!sl_path_join(folder, pair->root, pair->others)) {
        return false;
    }
    sl_beside_look(&(sl_beside_walk){.folder = folder,
                                     .deep = pair->deep,
                                     .files_max = LOOKED_AT,
                                     .see = pair_look_at,
                                     .ctx = &l});
    return l.found && (pair->beside_json || !l.is_for_others);
}

/* ---- doubts ---- */

void sl_pair_search_begin(sl_pair_search *search)
{
    search->doubt = (sl_store_doubt){.sys_errno = 0};
    search->before = sl_store_note_doubts(&search->doubt);
}

sluice_status sl_pair_search_end(sl_pair_search *search, sluice_status status, sluice_error *error)
{
    (void)sl_store_note_doubts(search->before);
    return search->doubt.path[0] != '\0' && status != SLUICE_IO && status != SLUICE_NOMEM
               ? sl_error_file(error, SLUICE_IO, "dataset", search->doubt.sys_errno,
                               search->doubt.path, -1,
                               "cannot determine the format of the dataset%s", search->doubt.reason)
               : status;
}
