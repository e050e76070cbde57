/* SPDX-License-Identifier: Apache-2.0 */
#include "hidden.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

/*
 * Indexed by their first two letters, in lower case: these distinguish most names, and there may be
 * a million.
 */
static const struct {
    char first, second;
    const char *name;
} system_names[] = {
    {'_', '_', "__MACOSX"},
    {'_', '_', "__pycache__"},
    {'@', 'e', "@eaDir"},
    {'@', 'r', "@Recycle"},
    {'@', 'r', "@Recently-Snapshot"},
    {'#', 'r', "#recycle"},
    {'#', 's', "#snapshot"},
    {'$', 'r', "$RECYCLE.BIN"},
    {'s', 'y', "System Volume Information"},
    {'l', 'o', "lost+found"},
    {'t', 'h', "Thumbs.db"},
    {'e', 'h', "ehthumbs.db"},
    {'d', 'e', "desktop.ini"},
    {'i', 'c', "Icon\r"},
    {'n', 'e', "Network Trash Folder"},
    {'~', 's', "~snapshot"},
    {'@', 't', "@tmp"},
    {'c', 'v', "CVS"},
};

/* Names of tools; other folders that begin with a dot may be the origin of an archive. */
static const char *const dotted_names[] = {".ipynb_checkpoints",
                                           ".AppleDouble",
                                           ".Trashes",
                                           ".Spotlight-V100",
                                           ".fseventsd",
                                           ".TemporaryItems",
                                           ".thumbnails",
                                           ".git",
                                           ".svn",
                                           ".hg",
                                           ".snapshot",
                                           ".DS_Store"};

static int to_small(char letter)
{
    return letter >= 'A' && letter <= 'Z' ? letter + ('a' - 'A') : letter;
}

/* Decides by the first two letters only. */
static bool may_be_system(const char *name)
{
    const int first = to_small(name[0]);
    if (first == '\0' || (first >= '0' && first <= '9') || name[1] == '\0') {
        return false;
    }
    return strchr("_eryhsoctv", to_small(name[1])) != NULL;
}

static bool is_system(const char *name, size_t bytes)
{
    const int first = to_small(name[0]);
    const int second = to_small(name[1]);
    for (size_t i = 0; i < sizeof(system_names) / sizeof(system_names[0]); i++) {
        if (system_names[i].first == first && system_names[i].second == second &&
            strlen(system_names[i].name) == bytes &&
            strncasecmp(system_names[i].name, name, bytes) == 0) {
            return true;
        }
    }
    return false;
}

bool sl_name_is_hidden(const char *name)
{
    return name[0] == '.' || (may_be_system(name) && is_system(name, strlen(name)));
}

static bool is_dotted(const char *name, size_t bytes)
{
    bool found = false;
    for (size_t i = 0; i < sizeof(dotted_names) / sizeof(dotted_names[0]) && !found; i++) {
        found = strlen(dotted_names[i]) == bytes && strncmp(dotted_names[i], name, bytes) == 0;
    }
    return found;
}

bool sl_path_is_hidden(const char *path)
{
    for (;;) {
        const char *slash = strchr(path, '/');
        if (path[0] == '.' || may_be_system(path)) {
            const size_t bytes = slash != NULL ? (size_t)(slash - path) : strlen(path);
            if (path[0] == '.' ? is_dotted(path, bytes) : is_system(path, bytes)) {
                return true;
            }
        }
        if (slash == NULL) {
            return false;
        }
        path = slash + 1;
    }
}
