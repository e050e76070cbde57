/* SPDX-License-Identifier: Apache-2.0 */
#include "coco_pictures.h"

#include "annotated.h"
#include "memory.h"
#include "store.h"

#include <stdio.h>
#include <string.h>

#define STAGE "dataset"

/* From the folder of annotations; a star is the split. */
static const char *const places[] = {"",          "images",      "*",        "../*",
                                     "../images", "../images/*", "images/*", ".."};

enum { PLACES = sizeof(places) / sizeof(places[0]), SPLIT_BYTES = 256, NAMED = 160 };

/* "val2017" of "annotations/instances_val2017.json": what is between the last '_' and the dot. */
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
    sl_store_facts facts;
    const bool absolute = name.data[0] == '/';
    const int length = snprintf(path, sizeof(path), "%s/%.*s", absolute ? "" : folder,
                                (int)name.size, (const char *)name.data);
    return length > 0 && (size_t)length < sizeof(path) && sl_store_stat(path, &facts) == 0;
}

/* `place` with the split, and the folder that it means. */
static bool name_place(const char *root, const char *way, const char *split, char *place,
                       char folder[SL_PATH_BYTES])
{
    const size_t before = strcspn(way, "*");
    (void)snprintf(place, SPLIT_BYTES + 16, "%.*s%s", (int)before, way,
                   way[before] == '*' ? split : "");
    const int length =
        snprintf(folder, SL_PATH_BYTES, "%s%s%s", root, place[0] != '\0' ? "/" : "", place);
    return length > 0 && length < SL_PATH_BYTES;
}

static sluice_status coco_pictures_refuse(const char *path, sl_bytes first, const char *split,
                                          sluice_error *error)
{
    return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1,
                         "its first picture, \"%.*s\", is not in any of the folders that were "
                         "looked in, from its own: ., images, %s, ../%s, ../images, ../images/%s, "
                         "images/%s, ..: move the pictures or the annotations",
                         (int)(first.size < NAMED ? first.size : NAMED), (const char *)first.data,
                         split, split, split, split);
}

/* Of pictures that are there, but not where a list may name them. */
static sluice_status refuse_place(const sl_listed *own, const char *path, sl_bytes first,
                                  sluice_error *error)
{
    char why[512];
    sl_boundary_explain(own->boundary, first, why, sizeof(why));
    return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1, "its first picture, %s", why);
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

sluice_status sl_coco_find_pictures(sl_listed *own, const char *path, sl_bytes first, bool anywhere,
                                    sluice_error *error)
{
    char split[SPLIT_BYTES];
    char place[SPLIT_BYTES + 16];
    char folder[SL_PATH_BYTES];
    bool met = false; /* but outside */
    find_split(path, split);
    for (size_t i = 0; i < PLACES; i++) {
        bool inside = true;
        if (!name_place(own->root, places[i], split, place, folder) ||
            !coco_pictures_has_file(folder, first)) {
            continue;
        }
        const sluice_status status =
            anywhere ? SLUICE_OK : sl_annotated_bound(own, own->root, place, &inside, error);
        if (status < 0) {
            return status;
        }
        inside = inside && sl_boundary_has_name(own->boundary, first, own->depth);
        if (inside) {
            return use_folder(own, path, folder, error);
        }
        met = true;
    }
    return met ? refuse_place(own, path, first, error)
               : coco_pictures_refuse(path, first, split, error);
}
