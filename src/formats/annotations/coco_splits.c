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

static const char detection[] = "instances_";

/* Extracts "instances_val2017" from "annotations/instances_val2017.json". */
static void name_file(const char *path, char stem[STEM_BYTES])
{
    const char *name = sl_path_name(path);
    const char *dot = strrchr(name, '.');
    (void)snprintf(stem, STEM_BYTES, "%.*s",
                   (int)(dot != NULL ? (size_t)(dot - name) : strlen(name)), name);
}

/* Extracts "val2017" from that. */
static const char *split_of_stem(const char *stem)
{
    const char *line = strrchr(stem, '_');
    return line != NULL ? line + 1 : stem;
}

static bool names_split(const char *stem, const char *wanted)
{
    return strcmp(split_of_stem(stem), wanted) == 0 || sl_split_means(stem, wanted);
}

/*
 * Returns whether two stems belong to the same split for different tasks: "captions_train2017" and
 * "instances_train2017".
 */
static bool is_beside_instances(const char *stem, const char *instances)
{
    const char *split = instances + sizeof(detection) - 1;
    const size_t bytes = strlen(stem);
    const size_t tail = strlen(split);
    return bytes > tail + 1 && stem[bytes - tail - 1] == '_' &&
           strcmp(stem + bytes - tail, split) == 0;
}

/*
 * Chooses the instances file of a split and counts the files for other tasks. False: the files
 * belong to several splits, or there is no instances file.
 */
static bool choose_instances(const char *const *stems, const char *const *paths, uint32_t count,
                             const char *wanted, uint32_t *number, sl_omissions *passed)
{
    char reason[96];
    uint32_t chosen = count;
    for (uint32_t i = 0; i < count && chosen == count; i++) {
        const bool has_instances = strncmp(stems[i], detection, sizeof(detection) - 1) == 0;
        chosen = has_instances && names_split(stems[i], wanted) ? i : count;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (chosen == count ||
            (names_split(stems[i], wanted) && !is_beside_instances(stems[i], stems[chosen]))) {
            return false;
        }
    }
    (void)snprintf(reason, sizeof(reason), "annotation files of the split beside %.48s.json",
                   stems[chosen]);
    for (uint32_t i = 0; i < count; i++) {
        if (i != chosen && names_split(stems[i], wanted)) {
            sl_omit(passed, SL_OMITTED_THINGS, reason, paths[i]);
        }
    }
    *number = chosen;
    return true;
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
        if (strcmp(split_of_stem(stems[i]), wanted) == 0) {
            *number = i;
            found++;
        }
    }
    return found == 1  ? SLUICE_OK
           : found > 1 ? refuse_several_files(stems, count, wanted, error)
                       : sl_split_choose(stems, count, wanted, number, error);
}

/* Finds a file with this stem. True: it exists. */
static bool find_stem(const char *const *stems, uint32_t count, const char *wanted,
                      uint32_t *number)
{
    uint32_t i = 0;
    while (i < count && strcmp(stems[i], wanted) != 0) {
        i++;
    }
    *number = i;
    return i < count;
}

sluice_status sl_coco_choose_split(const char *const *paths, uint32_t count, const char *wanted,
                                   uint32_t *number, sl_omissions *passed, sluice_error *error)
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
    const bool found = find_stem(names, count, wanted, number) ||
                       choose_instances(names, paths, count, wanted, number, passed);
    const sluice_status status =
        found ? SLUICE_OK : choose_stem(names, count, wanted, number, error);
    if (status == SLUICE_INVALID && error != NULL) {
        sl_error_set_path(error, paths[0]);
    }
    sl_free((void *)names);
    sl_free(stems);
    return status;
}
