/* SPDX-License-Identifier: Apache-2.0 */
#include "coco_splits.h"

#include "error.h"
#include "memory.h"
#include "name_list.h"
#include "splits.h"
#include "store.h"

#include <stdio.h>
#include <string.h>

#define STAGE "dataset"

enum { STEM_BYTES = 256 };

/* "instances_val2017" of "annotations/instances_val2017.json". */
static void name_file(const char *path, char stem[STEM_BYTES])
{
    const char *name = sl_path_name(path);
    const char *dot = strrchr(name, '.');
    (void)snprintf(stem, STEM_BYTES, "%.*s",
                   (int)(dot != NULL ? (size_t)(dot - name) : strlen(name)), name);
}

/* "val2017" of that. */
static const char *split_of_stem(const char *stem)
{
    const char *line = strrchr(stem, '_');
    return line != NULL ? line + 1 : stem;
}

static sluice_status refuse_several_files(const char *const *stems, uint32_t count,
                                          const char *wanted, sluice_error *error)
{
    sl_name_list known;
    sl_name_list_begin(&known);
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(split_of_stem(stems[i]), wanted) == 0) {
            sl_name_list_add(&known, stems[i]);
        }
    }
    return sl_error_set(error, SLUICE_INVALID, STAGE,
                        SL_OPTION("split") " \"%.64s\" may mean %s: write one of these names",
                        wanted, known.text);
}

static sluice_status choose_stem(const char *const *stems, uint32_t count, const char *wanted,
                                 uint32_t *number, sluice_error *error)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(stems[i], wanted) == 0) {
            *number = i;
            return SLUICE_OK;
        }
        if (strcmp(split_of_stem(stems[i]), wanted) == 0) {
            *number = i;
            found++;
        }
    }
    return found == 1  ? SLUICE_OK
           : found > 1 ? refuse_several_files(stems, count, wanted, error)
                       : sl_split_choose(stems, count, wanted, number, error);
}

sluice_status sl_coco_choose_split(const char *const *paths, uint32_t count, const char *wanted,
                                   uint32_t *number, sluice_error *error)
{
    char(*stems)[STEM_BYTES] = sl_calloc(count, sizeof(*stems));
    const char **names = (const char **)sl_calloc(count, sizeof(*names));
    if (stems == NULL || names == NULL) {
        sl_free((void *)names);
        sl_free(stems);
        return sl_no_memory(error, STAGE, "opening a dataset");
    }
    for (uint32_t i = 0; i < count; i++) {
        name_file(paths[i], stems[i]);
        names[i] = stems[i];
    }
    const sluice_status status = choose_stem(names, count, wanted, number, error);
    if (status == SLUICE_INVALID && error != NULL) {
        sl_error_set_path(error, paths[0]);
    }
    sl_free((void *)names);
    sl_free(stems);
    return status;
}
