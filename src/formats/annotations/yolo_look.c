/* SPDX-License-Identifier: Apache-2.0 */
#include "yolo_look.h"

#include "beside.h"

#include <string.h>
#include <strings.h>

enum { LOOKED_AT = 64 };

typedef struct looker {
    bool has_labels, has_pictures, has_others;
} looker;

bool sl_yolo_is_label_named(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot != NULL && strcasecmp(dot, ".txt") == 0;
}

/* Returns whether a file is a list of classes or a text about the dataset. */
static bool is_about(const char *name)
{
    static const char *const names[] = {"classes.txt", "labels.txt",  "names.txt",
                                        "notes.txt",   "license.txt", "info.txt"};
    bool found = strncasecmp(name, "readme", strlen("readme")) == 0;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !found; i++) {
        found = strcasecmp(name, names[i]) == 0;
    }
    return found;
}

static sl_beside_step yolo_look_at(void *ctx, const char *below, const sl_store_entry *entry)
{
    (void)below;
    looker *l = ctx;
    const char *name = entry->name;
    if (is_about(name)) {
        return SL_BESIDE_SKIP;
    }
    const bool is_picture = sl_beside_is_image(name);
    const bool is_label = sl_yolo_is_label_named(name);
    if (entry->kind == SL_ENTRY_FOLDER || (!is_picture && !is_label && strchr(name, '.') == NULL)) {
        return SL_BESIDE_FOLLOW;
    }
    l->has_pictures = l->has_pictures || is_picture;
    l->has_labels = l->has_labels || is_label;
    l->has_others = l->has_others || sl_ends_with(name, ".json") || sl_ends_with(name, ".xml");
    return SL_BESIDE_COUNT;
}

static looker yolo_look_in(const char *folder, bool deep)
{
    looker l = {.has_labels = false};
    sl_beside_look(&(sl_beside_walk){
        .folder = folder, .deep = deep, .files_max = LOOKED_AT, .see = yolo_look_at, .ctx = &l});
    return l;
}

bool sl_yolo_has_labels(const char *folder, bool deep)
{
    const looker l = yolo_look_in(folder, deep);
    return l.has_labels && !l.has_pictures && !l.has_others;
}

bool sl_yolo_has_pictures(const char *folder, bool deep)
{
    return yolo_look_in(folder, deep).has_pictures;
}
