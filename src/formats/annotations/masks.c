/* SPDX-License-Identifier: Apache-2.0 */
/*
 * masks: folders of images beside folders of label masks: a sample is an image and its mask, which
 * are read together.
 *
 * The dataset itself is that of listed.h; one thread opens it.
 */
#include "beside.h"
#include "listed.h"
#include "mask_pairs.h"
#include "meanings.h"
#include "memory.h"
#include "text_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAGE "dataset"

enum { LIST_BYTES_MAX = 64 << 20 };

enum { PICTURE, MASK, INSTANCES, TRAIN_IDS, KEY, SOURCES };

static const sl_source_column all_sources[SOURCES] = {
    [PICTURE] = {.name = "image", .field = {.type = SLUICE_FIELD_IMAGE}},
    [MASK] = {.name = "mask", .field = {.type = SLUICE_FIELD_IMAGE, .meaning = SL_MEANS_MASK}},
    [INSTANCES] = {.name = "instances",
                   .field = {.type = SLUICE_FIELD_IMAGE, .meaning = SL_MEANS_MASK}},
    [TRAIN_IDS] = {.name = "train_ids",
                   .field = {.type = SLUICE_FIELD_IMAGE, .meaning = SL_MEANS_MASK}},
    [KEY] = {.name = "key", .field = {.type = SLUICE_FIELD_TEXT}},
};

/* State while a dataset is opened. */
typedef struct opener {
    sl_mask_places places;
    sl_mask_pairs pairs;
    sl_omissions passed; /* files skipped in the folder of images */
    const char *path;
    sl_text_file file;   /* the list, if the path is one */
    const char **chosen; /* images, relative to their folder, in sample order */
    uint64_t count, capacity;
    sl_listed *own;
    sl_source_column sources[SOURCES];
    uint32_t what[SOURCES]; /* kind of each source */
} opener;

static sluice_status masks_refuse(const opener *o, sluice_error *error, const char *why)
{
    return sl_error_file(error, SLUICE_INVALID, STAGE, 0, o->path, -1, "%s", why);
}

/* ---- which images ---- */

static sluice_status masks_choose(opener *o, const char *picture, sluice_error *error)
{
    if (!sl_grow(&o->chosen, &o->capacity, o->count + 1, sizeof(*o->chosen))) {
        return sl_no_memory(error, STAGE, "for a list of images");
    }
    o->chosen[o->count++] = picture;
    return SLUICE_OK;
}

static sluice_status masks_take_line(opener *o, char *line, uint64_t number, sluice_error *error)
{
    char *rest = NULL;
    const char *name = strtok_r(line, " \t\r", &rest);
    if (name == NULL) {
        return SLUICE_OK;
    }
    if (strtok_r(NULL, " \t\r", &rest) != NULL) {
        return sl_error_file(
            error, SLUICE_CORRUPT, STAGE, 0, o->path, sl_text_file_offset(&o->file, line),
            "line %llu: expected only the name of an image", (unsigned long long)number);
    }
    const char *picture = sl_mask_pairs_picture(&o->pairs, name);
    return picture != NULL ? masks_choose(o, picture, error)
                           : sl_error_file(error, SLUICE_INVALID, STAGE, 0, o->path,
                                           sl_text_file_offset(&o->file, line),
                                           "line %llu: no image \"%.256s\" in \"%.256s/%.64s\"",
                                           (unsigned long long)number, name, o->places.root,
                                           o->places.pictures);
}

static sluice_status masks_read_list(opener *o, sluice_error *error)
{
    uint64_t number = 0;
    sluice_status status = sl_text_file_read(&o->file, o->path, LIST_BYTES_MAX, error);
    const char *end = o->file.text + o->file.size;
    for (char *line = o->file.text; status == SLUICE_OK && line < end;) {
        char *next = line + strcspn(line, "\n") + 1;
        next[-1] = '\0';
        status = masks_take_line(o, line, ++number, error);
        line = next;
    }
    return status == SLUICE_OK && o->count == 0 ? masks_refuse(o, error, "the list is empty")
                                                : status;
}

static sluice_status masks_find_pictures(opener *o, sluice_error *error)
{
    if (o->places.is_list) {
        return masks_read_list(o, error);
    }
    const sl_mask_places *p = &o->places;
    sluice_status status =
        sl_name_tree_check_splits(&o->pairs.pictures, o->path, p->root, p->pictures, error);
    for (uint64_t i = 0; status == SLUICE_OK && i < o->pairs.pictures.count; i++) {
        status = masks_choose(o, sl_name_tree_path(&o->pairs.pictures, i), error);
    }
    return status;
}

/* ---- their masks ---- */

/* Checks that each image has a mask that can be decoded. */
static sluice_status masks_check(const opener *o, sluice_error *error)
{
    uint64_t missing = 0;
    const char *first = NULL;
    for (uint64_t i = 0; i < o->count; i++) {
        const char *mask = sl_mask_pairs_find(&o->pairs, SL_MASK, o->chosen[i]);
        if (mask != NULL && !sl_beside_is_picture(mask)) {
            return sl_error_file(
                error, SLUICE_INVALID, STAGE, 0, o->path, -1,
                "the mask \"%.256s\" is a GIF, which cannot be decoded: convert such masks to PNG",
                mask);
        }
        first = mask == NULL && missing == 0 ? o->chosen[i] : first;
        missing += mask == NULL;
    }
    if (missing == 0) {
        return SLUICE_OK;
    }
    return sl_error_file(error, SLUICE_INVALID, STAGE, 0, o->path, -1,
                         "%llu of %llu images have no mask in \"%.200s/%.128s\", such as "
                         "\"%.256s\": move them to a separate folder",
                         (unsigned long long)missing, (unsigned long long)o->count, o->places.root,
                         o->places.masks[SL_MASK], first);
}

static int compare_pointers(const void *a, const void *b)
{
    const char *one = *(const char *const *)a;
    const char *other = *(const char *const *)b;
    return (one > other) - (one < other);
}

/* Counts the masks of a kind that belong to no image. */
static sluice_status masks_count_unused(opener *o, int kind, sluice_error *error)
{
    const sl_mask_pairs *pairs = &o->pairs;
    const char **used = (const char **)sl_calloc(o->count + 1, sizeof(*used));
    size_t count = 0;
    if (used == NULL) {
        return sl_no_memory(error, STAGE, "for a list of images");
    }
    for (uint64_t i = 0; i < o->count; i++) {
        used[count] = sl_mask_pairs_find(pairs, kind, o->chosen[i]);
        count += used[count] != NULL;
    }
    qsort((void *)used, count, sizeof(*used), compare_pointers);
    for (uint64_t i = 0; i < pairs->count[kind]; i++) {
        const char *mask = pairs->keys[kind][i].path;
        const bool is_whole = pairs->keys[kind][i].rank < 3; /* the longest key of a mask */
        if (is_whole &&
            bsearch(&mask, (const void *)used, count, sizeof(*used), compare_pointers) == NULL) {
            sl_omit(&o->own->base.omissions, SL_OMITTED_IMAGES,
                    "masks that no image of the dataset has", mask);
        }
    }
    sl_free((void *)used);
    return SLUICE_OK;
}

/*
 * Counts skipped files and, unless a list chooses, unused masks: files that a list does not name
 * belong to other splits.
 */
static sluice_status masks_count_left_out(opener *o, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    sl_omissions_join(&o->own->base.omissions, &o->passed);
    for (int kind = 0; status == SLUICE_OK && kind < SL_MASK_KINDS && !o->places.is_list; kind++) {
        status = o->pairs.count[kind] > 0 ? masks_count_unused(o, kind, error) : SLUICE_OK;
    }
    return status;
}

static bool masks_have(const opener *o, int kind)
{
    bool found = false;
    for (uint64_t i = 0; i < o->count && !found; i++) {
        const char *mask = sl_mask_pairs_find(&o->pairs, kind, o->chosen[i]);
        found = mask != NULL && sl_beside_is_picture(mask);
    }
    return found;
}

/* ---- fields and samples ---- */

static sluice_status masks_choose_fields(opener *o, const sluice_dataset_options *options,
                                         sluice_error *error)
{
    sl_listed_sources sources = {.of = o->sources, .picture = PICTURE};
    for (uint32_t i = 0; i < SOURCES; i++) {
        const bool is_mask = i >= MASK && i <= TRAIN_IDS;
        if (is_mask && !masks_have(o, (int)(i - MASK))) {
            continue;
        }
        sources.files |= is_mask ? 1U << sources.count : 0;
        o->what[sources.count] = i;
        o->sources[sources.count] = all_sources[i];
        sources.key = sources.count++; /* the last source */
    }
    return sl_listed_choose(o->own, &sources, options, o->path, error);
}

/* Checks a path, relative to the root of both folders. */
static sluice_status masks_check_path(const opener *o, const char *folder, const char *name,
                                      char path[SL_PATH_BYTES], sluice_error *error)
{
    const int length = snprintf(path, SL_PATH_BYTES, "%s/%s", folder, name);
    if (length < 0 || length >= SL_PATH_BYTES) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, o->path, -1,
                             "the path of \"%.256s\" is too long", name);
    }
    const sl_refusal why =
        sl_listed_check_path(o->own, (sl_bytes){(const uint8_t *)path, (size_t)length});
    return why.text != NULL ? masks_refuse(o, error, why.text) : SLUICE_OK;
}

static sluice_status masks_keep_sample(opener *o, const char *picture, sluice_error *error)
{
    char path[SL_PATH_BYTES];
    sluice_status status = masks_check_path(o, o->places.pictures, picture, path, error);
    if (status < 0) {
        return status;
    }
    status = sl_listed_put_path(o->own, (sl_bytes){(const uint8_t *)path, strlen(path)}, error);
    for (uint32_t i = 1; status == SLUICE_OK && i < o->own->side.count; i++) {
        const int kind = (int)(o->what[o->own->source[i]] - MASK);
        const char *mask = sl_mask_pairs_find(&o->pairs, kind, picture);
        sl_value value = {.present = mask != NULL && sl_beside_is_picture(mask)};
        if (value.present) {
            status = masks_check_path(o, o->places.masks[kind], mask, path, error);
            value.bytes = (sl_bytes){(const uint8_t *)path, strlen(path)};
        }
        status =
            status == SLUICE_OK ? sl_side_columns_put(&o->own->side, i, &value, error) : status;
    }
    return status;
}

/* ---- opening ---- */

static void masks_describe(const opener *o)
{
    sl_dataset *base = &o->own->base;
    (void)snprintf(base->info.format, sizeof(base->info.format), "masks");
    (void)snprintf(base->kind, sizeof(base->kind),
                   "the images in \"%.80s\", each with its mask in \"%.80s\"", o->places.pictures,
                   o->places.masks[SL_MASK]);
}

static sluice_status masks_bound(opener *o, bool anywhere, sluice_error *error)
{
    char path[2 * SL_PATH_BYTES];
    if (o->places.is_list) {
        return anywhere ? SLUICE_OK
                        : sl_boundary_open(&o->own->boundary, o->places.root, "", error);
    }
    sluice_status status = SLUICE_OK;
    for (int i = 0; status == SLUICE_OK && i < 2; i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", o->places.root,
                       i == 0 ? o->places.pictures : o->places.masks[SL_MASK]);
        status = sl_listed_add_folder(o->own, path, error);
    }
    return status;
}

static sluice_status masks_open_pairs(opener *o, const sluice_dataset_options *options,
                                      sluice_error *error)
{
    sl_pair_search search;
    sl_look look;
    sl_pair_search_begin(&search);
    sl_look_begin(&look, o->path);
    sluice_status status = sl_mask_places_find(&look, &o->places)
                               ? SLUICE_OK
                               : masks_refuse(o, error, "the masks no longer exist");
    status = sl_pair_search_end(&search, status, error);
    if (status < 0) {
        return status;
    }
    if (!o->places.is_list) {
        o->pairs.pictures.omissions = &o->passed;
        o->pairs.pictures.others = "files of image folders that are not images";
    }
    status = sl_mask_pairs_open(&o->pairs, &o->places, error);
    status = status == SLUICE_OK ? masks_find_pictures(o, error) : status;
    status = status == SLUICE_OK ? masks_check(o, error) : status;
    status = status == SLUICE_OK ? sl_listed_new(&o->own, o->places.root, true, error) : status;
    status = status == SLUICE_OK ? masks_bound(o, options->allow_outside != 0, error) : status;
    status = status == SLUICE_OK ? masks_choose_fields(o, options, error) : status;
    if (status < 0) {
        return status;
    }
    o->own->key_skips = (uint32_t)strlen(o->places.pictures) + 1;
    for (uint64_t i = 0; status == SLUICE_OK && i < o->count; i++) {
        status = masks_keep_sample(o, o->chosen[i], error);
    }
    masks_describe(o);
    status = status == SLUICE_OK ? masks_count_left_out(o, error) : status;
    return status == SLUICE_OK ? sl_listed_finish(o->own, o->path, error) : status;
}

static sluice_status open_masks(sl_dataset **dataset, const char *const *paths, size_t count,
                                const sluice_dataset_options *options, sluice_error *error)
{
    if (count != 1) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, paths[1], -1,
                             "folders of masks cannot be joined: open one path, or join the "
                             "datasets (" SL_OPTION("sluice_dataset_concat") ")");
    }
    opener *o = sl_calloc(1, sizeof(*o));
    if (o == NULL) {
        return sl_no_memory(error, STAGE, "opening a dataset");
    }
    o->path = paths[0];
    const sluice_status status = masks_open_pairs(o, options, error);
    if (status == SLUICE_OK) {
        *dataset = &o->own->base;
    } else {
        sl_dataset_close(o->own != NULL ? &o->own->base : NULL);
    }
    sl_mask_pairs_close(&o->pairs);
    sl_text_file_close(&o->file);
    sl_omissions_close(&o->passed);
    sl_free((void *)o->chosen);
    sl_free(o);
    return status;
}

static bool masks_probe(sl_look *look)
{
    sl_mask_places places;
    return sl_mask_places_find(look, &places);
}

/* Finds the folder of a split's images, from which its masks are found too. */
static bool masks_find_split(const char *path, const char *wanted, char *place)
{
    sl_mask_places places;
    sl_look look;
    (void)wanted;
    sl_look_begin_folder(&look, path);
    if (!sl_mask_places_find(&look, &places) || places.is_list) {
        return false;
    }
    const size_t length = strlen(places.root);
    const bool is_root = strncmp(path, places.root, length) == 0 &&
                         path[length + strspn(path + length, "/")] == '\0';
    return is_root && sl_path_join(place, places.root, places.pictures) &&
           sl_store_has_folder(place);
}

SL_FORMAT(masks) = {
    .name = "masks",
    .files = "folders of images and masks",
    .known = "folders of images beside folders of masks (images, masks)",
    .has_annotations = true,
    .needs_pictures = true,
    .takes_fields = true,
    .find_split = masks_find_split,
    .probe = masks_probe,
    .open = open_masks,
};
