/* SPDX-License-Identifier: Apache-2.0 */
#include "splits.h"

#include "error.h"
#include "view.h"

#include <string.h>

#define STAGE "dataset"

/* "train" of train-00000-of-00002.parquet; false: its name begins with no split's. */
static bool split_of(const char *path, sl_bytes *split)
{
    static const char *const words[] = {"train", "test", "validation", "valid", "val", "dev"};
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    *split = (sl_bytes){(const uint8_t *)name, strcspn(name, "-._")};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strlen(words[i]) == split->size && memcmp(words[i], name, split->size) == 0) {
            return true;
        }
    }
    return false;
}

/* A folder often has the files of all splits: nobody means to train on all of them. */
sluice_status sl_splits_check(const sl_listed_file *files, uint32_t count, const char *suffix,
                              sluice_error *error)
{
    sl_bytes first;
    sl_bytes split;
    if (!split_of(files[0].path, &first)) {
        return SLUICE_OK;
    }
    for (uint32_t i = 1; i < count; i++) {
        if (split_of(files[i].path, &split) &&
            (split.size != first.size || memcmp(split.data, first.data, first.size) != 0)) {
            return sl_error_file(error, SLUICE_INVALID, STAGE, 0, files[i].path, -1,
                                 "the files are of several splits, %.*s and %.*s: name those that "
                                 "are meant (FOLDER/%.*s-*%s)",
                                 (int)first.size, (const char *)first.data, (int)split.size,
                                 (const char *)split.data, (int)first.size,
                                 (const char *)first.data, suffix);
        }
    }
    return SLUICE_OK;
}
