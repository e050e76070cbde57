/* SPDX-License-Identifier: Apache-2.0 */
#include "annotated.h"

#include "store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define STAGE "dataset"

/* Usual names of image folders, which may be beside annotations in any location. */
static const char *const usual[] = {"images", "Images", "JPEGImages"};

/* Maximum number of folders from the annotations up to the dataset's folder. */
enum { UP_MAX = 2 };
static const char *const ups[UP_MAX + 1] = {"", "/..", "/../.."};

/* A relative path, split up. */
typedef struct way {
    uint32_t up, down;  /* number of folders up and down */
    const char *folder; /* first folder down, up to a slash; "": none */
} way;

static way take_apart(const char *place)
{
    way w = {.folder = ""};
    while (place[0] != '\0') {
        const size_t length = strcspn(place, "/");
        if (length == 2 && memcmp(place, "..", 2) == 0) {
            w.up++;
        } else if (length > 1 || (length == 1 && place[0] != '.')) {
            w.folder = w.down == 0 ? place : w.folder;
            w.down++;
        }
        place += length + (place[length] == '/');
    }
    return w;
}

static const char *annotated_find_usual(const way *w)
{
    const size_t length = strcspn(w->folder, "/");
    for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++) {
        if (strlen(usual[i]) == length && memcmp(usual[i], w->folder, length) == 0) {
            return usual[i];
        }
    }
    return NULL;
}

/* Returns how many folders up the dataset's folder is. */
static uint32_t count_up(const char *folder)
{
    char real[SL_PATH_BYTES];
    if (sl_store_real_path(folder, real) != 0) {
        return 0;
    }
    for (uint32_t up = 1; up <= UP_MAX; up++) {
        char *slash = strrchr(real, '/');
        if (strncasecmp(slash + 1, "annotation", strlen("annotation")) == 0) {
            return up;
        }
        if (slash == real) {
            break;
        }
        *slash = '\0';
    }
    return 0;
}

sluice_status sl_annotated_bound(sl_listed *own, const char *folder, const char *place,
                                 bool *inside, sluice_error *error)
{
    char path[SL_PATH_BYTES];
    const way w = take_apart(place);
    const char *below = "";
    uint32_t up = count_up(folder);
    *inside = w.up <= up;
    own->depth = *inside ? up - w.up + w.down : 0;
    if (!*inside && annotated_find_usual(&w) != NULL && w.up <= UP_MAX) {
        *inside = true;
        below = annotated_find_usual(&w);
        up = w.up;
        own->depth = w.down - 1;
    }
    const int length = snprintf(path, sizeof(path), "%s%s", folder, ups[up]);
    if (length < 0 || (size_t)length >= sizeof(path)) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, folder, -1, "the path is too long");
    }
    sl_boundary_close(own->boundary);
    return sl_boundary_open(&own->boundary, path, below, error);
}
