/* SPDX-License-Identifier: Apache-2.0 */
#include "mask_pairs.h"

#include "beside.h"
#include "error.h"
#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAGE "dataset"

static int compare_text(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
    const int order = memcmp(a, b, a_bytes < b_bytes ? a_bytes : b_bytes);
    return order != 0 ? order : (a_bytes > b_bytes) - (a_bytes < b_bytes);
}

static int mask_compare_keys(const void *a, const void *b)
{
    const sl_mask_key *one = a;
    const sl_mask_key *other = b;
    const int order = compare_text(one->path, one->bytes, other->path, other->bytes);
    if (order != 0) {
        return order;
    }
    return one->rank != other->rank ? (one->rank > other->rank) - (one->rank < other->rank)
                                    : strcmp(one->path, other->path);
}

static sluice_status mask_add_keys(sl_mask_pairs *pairs, int kind, const char *path,
                                   sluice_error *error)
{
    const char *const *suffixes = pairs->places->names[kind].suffixes;
    const size_t stem = sl_beside_stem(path);
    const bool is_png = sl_ends_with(path, ".png") || sl_ends_with(path, ".PNG");
    const bool is_gif = !sl_beside_is_picture(path);
    for (uint32_t i = 0; i < SL_PAIR_SUFFIXES && suffixes[i] != NULL; i++) {
        if (!sl_beside_ends(path, stem, suffixes[i])) {
            continue;
        }
        if (!sl_grow(&pairs->keys[kind], &pairs->capacity[kind], pairs->count[kind] + 1,
                     sizeof(*pairs->keys[kind]))) {
            return sl_no_memory(error, STAGE, "for the names of masks");
        }
        pairs->keys[kind][pairs->count[kind]++] =
            (sl_mask_key){.path = path,
                          .bytes = (uint32_t)(stem - strlen(suffixes[i])),
                          .rank = 3 * i + (is_gif ? 2 : !is_png)};
    }
    return SLUICE_OK;
}

static sluice_status mask_make_keys(sl_mask_pairs *pairs, int kind, const sl_name_tree *tree,
                                    sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    for (uint64_t i = 0; status == SLUICE_OK && i < tree->count; i++) {
        status = mask_add_keys(pairs, kind, sl_name_tree_path(tree, i), error);
    }
    if (pairs->count[kind] > 1) {
        qsort(pairs->keys[kind], pairs->count[kind], sizeof(*pairs->keys[kind]), mask_compare_keys);
    }
    return status;
}

static sluice_status mask_list(sl_name_tree *tree, const sl_mask_places *places, const char *folder,
                               bool (*takes)(const char *name), sluice_error *error)
{
    char path[2 * SL_PATH_BYTES];
    (void)snprintf(path, sizeof(path), "%s/%s", places->root, folder);
    return sl_name_tree_open(tree, path, places->deep, takes, error);
}

sluice_status sl_mask_pairs_open(sl_mask_pairs *pairs, const sl_mask_places *places,
                                 sluice_error *error)
{
    pairs->places = places;
    sluice_status status =
        mask_list(&pairs->pictures, places, places->pictures, sl_beside_is_picture, error);
    for (int kind = 0; status == SLUICE_OK && kind < SL_MASK_KINDS; kind++) {
        const char *folder = places->masks[kind];
        const bool shares = kind != SL_MASK && strcmp(folder, places->masks[SL_MASK]) == 0;
        if (folder[0] == '\0') {
            continue;
        }
        if (!shares) {
            status = mask_list(&pairs->trees[kind], places, folder, sl_mask_is_named, error);
        }
        status = status == SLUICE_OK
                     ? mask_make_keys(pairs, kind, &pairs->trees[shares ? SL_MASK : kind], error)
                     : status;
    }
    return status;
}

void sl_mask_pairs_close(sl_mask_pairs *pairs)
{
    sl_name_tree_close(&pairs->pictures);
    for (int kind = 0; kind < SL_MASK_KINDS; kind++) {
        sl_name_tree_close(&pairs->trees[kind]);
        sl_free(pairs->keys[kind]);
    }
}

const char *sl_mask_pairs_find(const sl_mask_pairs *pairs, int kind, const char *picture)
{
    const size_t stem = sl_beside_stem(picture);
    const size_t ending = strlen(pairs->places->names->picture);
    uint64_t low = 0;
    uint64_t high = pairs->count[kind];
    if (ending > 0 && !sl_beside_ends(picture, stem, pairs->places->names->picture)) {
        return NULL;
    }
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        const sl_mask_key *key = &pairs->keys[kind][middle];
        if (compare_text(key->path, key->bytes, picture, stem - ending) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    const sl_mask_key *key = low < pairs->count[kind] ? &pairs->keys[kind][low] : NULL;
    return key != NULL && compare_text(key->path, key->bytes, picture, stem - ending) == 0
               ? key->path
               : NULL;
}

const char *sl_mask_pairs_picture(const sl_mask_pairs *pairs, const char *stem)
{
    return sl_name_tree_find_stem(&pairs->pictures, stem, strlen(stem));
}
