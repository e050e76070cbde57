/* SPDX-License-Identifier: Apache-2.0 */
#include "coco_pictures.h"

#include "annotated.h"
#include "beside.h"
#include "memory.h"
#include "store.h"

#include <stdio.h>
#include <string.h>

#define STAGE "dataset"

/* Image folders, relative to the annotations; a star stands for the split. */
static const char *const places[] = {"",          "images",      "*",        "../*",
                                     "../images", "../images/*", "images/*", ".."};

enum { PLACES = sizeof(places) / sizeof(places[0]), SPLIT_BYTES = 256, NAMED = 160 };
enum { PLACE_BYTES = SPLIT_BYTES + 16 };

/*
 * Finds "val2017" in "annotations/instances_val2017.json": the part between the last '_' and the
 * dot.
 */
static void find_split(const char *path, char split[SPLIT_BYTES])
{
    const char *name = sl_path_name(path);
    const char *line = strrchr(name, '_');
    const char *from = line != NULL ? line + 1 : name;
    (void)snprintf(split, SPLIT_BYTES, "%.*s", (int)strcspn(from, "."), from);
}

static bool coco_pictures_has_file(const char *folder, sl_bytes name)
{
    char path[SL_PATH_BYTES];
    return sl_beside_path(path, folder, "", name, "") && sl_store_has(path);
}

/* Writes a place with its star replaced by `star`. */
static void name_place(const char *pattern, const char *star, char place[PLACE_BYTES])
{
    const size_t before = strcspn(pattern, "*");
    const bool has_star = pattern[before] == '*';
    (void)snprintf(place, PLACE_BYTES, "%.*s%s%s", (int)before, pattern, has_star ? star : "",
                   has_star ? pattern + before + 1 : "");
}

static sluice_status coco_pictures_refuse(const char *path, sl_bytes first, const char *split,
                                          sluice_error *error)
{
    return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1,
                         "neither its first image, \"%.*s\", nor any later one is in the folders "
                         "searched (relative to the annotations): ., images, %s, ../%s, ../images, "
                         "../images/%s, images/%s, ..: move the images or the annotations",
                         (int)(first.size < NAMED ? first.size : NAMED), (const char *)first.data,
                         split, split, split, split);
}

/* Rejects images that exist, but outside the folder in which a list may name them. */
static sluice_status refuse_place(const sl_listed *own, const char *path, sl_bytes first,
                                  sluice_error *error)
{
    char why[512];
    sl_boundary_explain(own->boundary, first, why, sizeof(why));
    return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1, "its image %s", why);
}

static sluice_status use_folder(sl_listed *own, const char *path, const char *folder,
                                sluice_error *error)
{
    char *copy = sl_strdup(folder);
    if (copy == NULL) {
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "out of memory for annotations");
    }
    sl_free(own->root);
    own->root = copy;
    return sl_boundary_check(own->boundary, path, folder, error);
}

/* ---- files of segments ---- */

/*
 * Folders of segments, relative to the annotations; a star stands for the name of the annotations.
 */
static const char *const segment_places[] = {"*/", "../*/", ""};

/* Writes the last component of the annotations' path, without its extension. */
static void name_stem(const char *path, char stem[SPLIT_BYTES])
{
    const char *name = sl_path_name(path);
    const char *dot = strrchr(name, '.');
    (void)snprintf(stem, SPLIT_BYTES, "%.*s",
                   (int)(dot != NULL ? (size_t)(dot - name) : strlen(name)), name);
}

static bool has_segments(const sl_coco_opener *o, const char *place)
{
    char folder[SL_PATH_BYTES];
    const int length = snprintf(folder, sizeof(folder), "%s/%s", o->own->root, place);
    for (uint64_t i = 0;
         length < SL_PATH_BYTES && i < o->panoptic.of[1].rows && i < SL_BESIDE_FIRST; i++) {
        sl_value name;
        (void)sl_side_columns_get(&o->panoptic, 1, i, &name);
        if (coco_pictures_has_file(folder, name.bytes)) {
            return true;
        }
    }
    return false;
}

static sluice_status find_segments(sl_coco_opener *o, sluice_error *error)
{
    char stem[SPLIT_BYTES];
    name_stem(o->path, stem);
    for (size_t i = 0; i < sizeof(segment_places) / sizeof(segment_places[0]); i++) {
        name_place(segment_places[i], stem, o->segments);
        if (has_segments(o, o->segments)) {
            return SLUICE_OK;
        }
    }
    return sl_error_file(
        error, SLUICE_INVALID, STAGE, 0, o->path, -1,
        "the PNGs of segments of these panoptic annotations are not in any folder searched "
        "(relative to the annotations): %s, ../%s, .: unpack %s.zip there",
        stem, stem, stem);
}

/* Keeps paths relative to the annotations, from where both images and segments are found. */
static sluice_status use_panoptic(sl_coco_opener *o, const char *place, sluice_error *error)
{
    sl_listed *own = o->own;
    uint32_t up = 0;
    uint32_t down = 0;
    for (const char *at = place; *at != '\0';) {
        const size_t length = strcspn(at, "/");
        const bool is_up = length == 2 && memcmp(at, "..", 2) == 0;
        up += is_up;
        down += !is_up;
        at += length + (at[length] == '/');
    }
    own->depth = own->depth + up > down ? own->depth + up - down : 0;
    (void)snprintf(o->prefix, sizeof(o->prefix), "%s%s", place, place[0] != '\0' ? "/" : "");
    own->key_skips = (uint32_t)strlen(o->prefix);
    return find_segments(o, error);
}

/* ---- images ---- */

/* A place where images may be. */
typedef struct coco_place {
    char place[PLACE_BYTES]; /* relative to the annotations */
    char folder[SL_PATH_BYTES];
} coco_place;

typedef struct coco_places {
    coco_place of[PLACES];
    size_t count;
    char split[SPLIT_BYTES];
} coco_places;

static void list_places(const sl_coco_opener *o, coco_places *found)
{
    find_split(o->path, found->split);
    for (size_t i = 0; i < PLACES; i++) {
        coco_place *next = &found->of[found->count];
        name_place(places[i], found->split, next->place);
        const bool fits =
            next->place[0] != '\0'
                ? sl_path_join(next->folder, o->own->root, next->place)
                : snprintf(next->folder, SL_PATH_BYTES, "%s", o->own->root) < SL_PATH_BYTES;
        /* a web server cannot be asked for a folder, only for the images in it */
        found->count +=
            fits && (sl_store_of(next->folder)->lists_nothing || sl_store_has_folder(next->folder));
    }
}

/* Finds the folder of all images by one of them. END: it is not in any place. */
static sluice_status find_by(sl_coco_opener *o, const coco_places *found, sl_bytes name,
                             bool anywhere, sluice_error *error)
{
    sl_listed *own = o->own;
    bool met = false; /* found, but outside */
    for (size_t i = 0; i < found->count; i++) {
        const coco_place *at = &found->of[i];
        bool inside = true;
        if (!coco_pictures_has_file(at->folder, name)) {
            continue;
        }
        sluice_status status =
            anywhere ? SLUICE_OK : sl_annotated_bound(own, own->root, at->place, &inside, error);
        if (status < 0) {
            return status;
        }
        if (inside && sl_boundary_has_name(own->boundary, name, own->depth)) {
            if (o->panoptic.of[0].rows == 0) {
                return use_folder(own, o->path, at->folder, error);
            }
            status = sl_boundary_check(own->boundary, o->path, at->folder, error);
            return status == SLUICE_OK ? use_panoptic(o, at->place, error) : status;
        }
        met = true;
    }
    return met ? refuse_place(own, o->path, name, error) : SLUICE_END;
}

sluice_status sl_coco_find_pictures(sl_coco_opener *o, bool anywhere, sluice_error *error)
{
    const uint64_t images = o->images.of[SL_COCO_IMAGE_FILE].rows;
    coco_places *found = sl_calloc(1, sizeof(*found));
    if (found == NULL) {
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "out of memory for annotations");
    }
    list_places(o, found);
    sluice_status status = SLUICE_END;
    for (uint64_t i = 0; status == SLUICE_END && i < images; i = sl_beside_next(i, images)) {
        for (int is_short = 0; status == SLUICE_END && is_short < 2; is_short++) {
            o->short_urls = is_short == 1;
            if (is_short == 0 || o->image_counts[SL_COCO_IMAGE_FROM_URL] > 0) {
                status = find_by(o, found, sl_coco_image_file(o, i), anywhere, error);
            }
        }
    }
    if (status == SLUICE_END) {
        status = coco_pictures_refuse(o->path, sl_coco_image_file(o, 0), found->split, error);
    }
    sl_free(found);
    return status;
}
