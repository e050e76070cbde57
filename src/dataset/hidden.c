/* SPDX-License-Identifier: Apache-2.0 */
#include "hidden.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

/* By their first two letters, in small ones: most names are told apart by these, and there may be a
 * million. */
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
};

static int to_small(char letter)
{
    return letter >= 'A' && letter <= 'Z' ? letter + ('a' - 'A') : letter;
}

bool sl_name_is_hidden(const char *name)
{
    const int first = to_small(name[0]);
    if (first == '.') {
        return true;
    }
    if ((first >= '0' && first <= '9') || first == '\0') {
        return false;
    }
    const int second = to_small(name[1]);
    if (strchr("_eryhsoc", second) == NULL) {
        return false;
    }
    for (size_t i = 0; i < sizeof(system_names) / sizeof(system_names[0]); i++) {
        if (system_names[i].first == first && system_names[i].second == second &&
            strcasecmp(system_names[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}
