/* SPDX-License-Identifier: Apache-2.0 */
#include "yolo_look.h"

#include "hidden.h"
#include "pair_look.h"
#include "store.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Files and folders that are looked at, and how deep those may be nested. */
enum { LOOKED_AT = 64, FOLDERS_LOOKED_AT = 8, DEEP = 4 };

typedef struct looker {
    char folders[FOLDERS_LOOKED_AT][NAME_MAX + 1]; /* in the one that is looked at */
    int folder_count, looked_at;
    bool has_labels, has_pictures, has_others;
} looker;

bool sl_yolo_is_label_named(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot != NULL && strcasecmp(dot, ".txt") == 0;
}

/* Lists of classes, and what people write about a dataset. */
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

static sluice_status yolo_look_at(void *ctx, const sl_store_entry *entry, sluice_error *error)
{
    (void)error;
    looker *l = ctx;
    const char *name = entry->name;
    if (sl_name_is_hidden(name) || entry->kind == SL_ENTRY_OTHER || is_about(name)) {
        return SLUICE_OK;
    }
    const bool is_picture = sl_pair_is_image(name);
    const bool is_label = sl_yolo_is_label_named(name);
    if (entry->kind != SL_ENTRY_FOLDER && (is_picture || is_label || strchr(name, '.') != NULL)) {
        l->looked_at++;
        l->has_pictures = l->has_pictures || is_picture;
        l->has_labels = l->has_labels || is_label;
        l->has_others = l->has_others || sl_ends_with(name, ".json") || sl_ends_with(name, ".xml");
    } else if (entry->kind != SL_ENTRY_FILE && l->folder_count < FOLDERS_LOOKED_AT) {
        (void)snprintf(l->folders[l->folder_count++], sizeof(l->folders[0]), "%s", name);
    }
    return l->looked_at == LOOKED_AT ? SLUICE_END : SLUICE_OK;
}

static void yolo_look_in(looker *l, const char *folder, int depth, bool deep)
{
    char path[SL_PATH_BYTES];
    char folders[FOLDERS_LOOKED_AT][NAME_MAX + 1];
    l->folder_count = 0;
    if (!sl_store_has_folder(folder)) {
        return;
    }
    (void)sl_store_list((sl_file_name){"dataset", folder}, yolo_look_at, l, NULL);
    const int count = l->folder_count;
    memcpy(folders, l->folders, sizeof(folders));
    for (int i = 0; i < count && l->looked_at < LOOKED_AT && deep && depth < DEEP; i++) {
        if (sl_path_join(path, folder, folders[i])) {
            yolo_look_in(l, path, depth + 1, deep);
        }
    }
}

bool sl_yolo_has_labels(const char *folder, bool deep)
{
    looker l = {.folder_count = 0};
    yolo_look_in(&l, folder, 0, deep);
    return l.has_labels && !l.has_pictures && !l.has_others;
}

bool sl_yolo_has_pictures(const char *folder, bool deep)
{
    looker l = {.folder_count = 0};
    yolo_look_in(&l, folder, 0, deep);
    return l.has_pictures;
}
