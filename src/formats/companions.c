/* SPDX-License-Identifier: Apache-2.0 */
/* Lists files that need a companion file, by their names. Any thread. */
#include "companions.h"

#include "store.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* A kind of file and the companions it needs. */
typedef struct companion {
    const char *begin, *end; /* prefix and suffix of the file's name; "" matches any */
    const char *needs[4]; /* suffixes that replace `end`, or whole names if they begin with '='; one
                             of them is enough */
    const char *what;     /* description of the file */
    const char *advice;
} companion;

#define COPY_IT "copy it from the dataset's origin"

static const companion companions[] = {
    {"", ".mds", {"=index.json"}, "an MDS shard", COPY_IT},
    {"", ".mds.zstd", {"=index.json"}, "an MDS shard", COPY_IT},
    {"", ".mds.zst", {"=index.json"}, "an MDS shard", COPY_IT},
    {"", ".mds.gz", {"=index.json"}, "an MDS shard", COPY_IT},
    {"", ".mds.br", {"=index.json"}, "an MDS shard", COPY_IT},
    {"", ".mds.snappy", {"=index.json"}, "an MDS shard", COPY_IT},
    {"chunk-", ".bin", {"=index.json"}, "a LitData chunk", COPY_IT},
    {"",
     ".bin",
     {".idx"},
     "the token file of a Megatron-LM indexed dataset, or plain numbers",
     "copy the index beside it, or open it as flat numbers and give their type and shape"},
    {"",
     ".idx",
     {".bin", ".rec", ".tar", ".tfrecord"},
     "an index (of Megatron-LM, MXNet or DALI)",
     "open the file that it indexes, with the index beside it"},
    {"", ".tfindex", {".tfrecord", "", ".tfrecords"}, "an index of TFRecord files", COPY_IT},
    {"", "state.json", {"=data-00000-of-00001.arrow"}, "metadata of a saved dataset", COPY_IT},
    {"",
     "dataset_info.json",
     {"=data-00000-of-00001.arrow"},
     "metadata of a Hugging Face dataset",
     COPY_IT},
    {"", "lock.mdb", {"=data.mdb"}, "the lock file of an LMDB environment", COPY_IT},
    {"", "_stats.json", {".tar", ".parquet", ".tfrecord"}, "metadata of img2dataset", COPY_IT},
    {"", ".sluice-index", {""}, "an index kept by sluice", "open the file that it indexes"},
};

static bool begins_and_ends(const char *name, const companion *rule)
{
    const size_t begin = strlen(rule->begin);
    const size_t end = strlen(rule->end);
    const size_t length = strlen(name);
    return length >= begin + end && strncmp(name, rule->begin, begin) == 0 &&
           strcmp(name + length - end, rule->end) == 0;
}

/* Writes the name of a companion. */
static void name_of(char needed[NAME_MAX + 1], const char *name, const companion *rule,
                    const char *need)
{
    const int stem = (int)(strlen(name) - strlen(rule->end));
    (void)snprintf(needed, NAME_MAX + 1, "%.*s%s", need[0] == '=' ? 0 : stem, name,
                   need[0] == '=' ? need + 1 : need);
}

static bool companions_is_there(const char *folder, const char *name)
{
    char path[SL_PATH_BYTES];
    return sl_path_join(path, folder, name) && sl_store_has_file(path);
}

bool sl_companion_is_missing(const char *folder, const char *name, char *why, size_t bytes)
{
    const companion *rule = companions;
    const companion *end = rule + sizeof(companions) / sizeof(companions[0]);
    while (rule < end && !begins_and_ends(name, rule)) {
        rule++;
    }
    if (rule == end || strlen(name) > NAME_MAX) {
        return false;
    }
    char names[300] = "";
    size_t used = 0;
    for (size_t i = 0; i < 4 && rule->needs[i] != NULL; i++) {
        char needed[NAME_MAX + 1];
        name_of(needed, name, rule, rule->needs[i]);
        if (companions_is_there(folder, needed)) {
            return false;
        }
        const int more = used < sizeof(names) ? snprintf(names + used, sizeof(names) - used,
                                                         "%s%.80s", i > 0 ? " or " : "", needed)
                                              : 0;
        used += more > 0 ? (size_t)more : 0;
    }
    (void)snprintf(why, bytes, "\"%.100s\" is %s, and %s is missing: %s", name, rule->what, names,
                   rule->advice);
    return true;
}

bool sl_companion_of_path(const char *path, char *why, size_t bytes)
{
    char folder[SL_PATH_BYTES];
    const char *name = sl_path_name(path);
    const size_t length = (size_t)(name - path);
    if (length >= sizeof(folder)) {
        return false;
    }
    (void)snprintf(folder, sizeof(folder), "%.*s", length > 0 ? (int)length : 1,
                   length > 0 ? path : ".");
    return sl_companion_is_missing(folder, name, why, bytes);
}
