/* SPDX-License-Identifier: Apache-2.0 */
/* list_match: compares the values of a list, grouped by list_values, with the dataset's keys. */
#include "list_match.h"

#include "list_scan.h"
#include "list_values.h"
#include "memory.h"
#include "store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { ENOUGH = 8, FILTER = 1 << 13, LONG_BYTES = 1 << 26 };

/* A value to look up among the keys. */
typedef struct wanted {
    uint64_t hash;
    bool found;
    uint64_t folder; /* hash of the first folder of the image's key */
    uint64_t sample;
} wanted;

typedef struct matcher {
    const sl_dataset *dataset;
    sl_list_values values;
    wanted all[SL_LIST_GROUPS * SL_LIST_VALUES];
    uint32_t count;
    bool filter[FILTER]; /* true if a value's hash is the index, modulo FILTER */
} matcher;

static int list_match_compare(const void *a, const void *b)
{
    const uint64_t one = ((const wanted *)a)->hash;
    const uint64_t other = ((const wanted *)b)->hash;
    return (one > other) - (one < other);
}

static void collect_wanted(matcher *m)
{
    for (uint32_t i = 0; i < m->values.count; i++) {
        const sl_list_group *group = &m->values.groups[i];
        for (uint32_t k = 0; k < group->count; k++) {
            if (group->values[k].hash != 0) {
                m->all[m->count++] = (wanted){.hash = group->values[k].hash};
                m->filter[group->values[k].hash % FILTER] = true;
            }
        }
    }
    qsort(m->all, m->count, sizeof(*m->all), list_match_compare);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < m->count; i++) {
        if (kept == 0 || m->all[kept - 1].hash != m->all[i].hash) {
            m->all[kept++] = m->all[i];
        }
    }
    m->count = kept;
}

static wanted *list_match_find(matcher *m, uint64_t hash)
{
    const wanted key = {.hash = hash};
    return hash != 0 && m->filter[hash % FILTER]
               ? bsearch(&key, m->all, m->count, sizeof(key), list_match_compare)
               : NULL;
}

static void list_match_keys(matcher *m)
{
    char key[SL_PATH_BYTES];
    uint32_t left = m->count;
    for (uint64_t i = 0; left > 0 && i < m->dataset->info.samples; i++) {
        if (sl_dataset_key(m->dataset, i, key, sizeof(key), NULL) != SLUICE_OK) {
            continue;
        }
        wanted *w = list_match_find(m, sl_list_value_of(key, strlen(key)).hash);
        if (w != NULL && !w->found) {
            w->found = true;
            left--;
            w->sample = i;
            w->folder = sl_list_value_of(key, strcspn(key, "/")).hash;
        }
    }
}

/* ---- groups ---- */

static bool list_match_repeats(const sl_list_group *group)
{
    for (uint32_t i = 0; i < group->count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            if (group->values[i].hash == group->values[k].hash) {
                return true;
            }
        }
    }
    return false;
}

/*
 * Numbers are names only if they are many and all different, or if the list says that they are
 * images.
 */
static bool may_be_names(const matcher *m, const sl_list_group *group, uint32_t hits)
{
    static const char *const words[] = {"image", "img", "file", "path", "photo", "pic"};
    uint32_t numbers = 0;
    for (uint32_t i = 0; i < group->count; i++) {
        numbers += group->values[i].is_number;
    }
    if (numbers + 1 < group->count || group->count < 2) {
        return true;
    }
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcasestr(group->name, words[i]) != NULL) {
            return true;
        }
    }
    const uint64_t samples = m->dataset->info.samples;
    return hits >= (samples < ENOUGH ? samples : ENOUGH) && 2 * group->total >= samples &&
           !list_match_repeats(group);
}

static uint32_t list_match_hits(matcher *m, const sl_list_group *group, uint32_t *with_extension)
{
    uint32_t hits = 0;
    for (uint32_t i = 0; i < group->count; i++) {
        const wanted *w = list_match_find(m, group->values[i].hash);
        hits += w != NULL && w->found;
        *with_extension += w != NULL && w->found && group->values[i].is_picture;
    }
    return hits;
}

static bool list_match_is_names(matcher *m, const sl_list_group *group)
{
    uint32_t pictures = 0;
    const uint32_t hits = list_match_hits(m, group, &pictures);
    const uint64_t half = (m->dataset->info.samples + 1) / 2;
    const uint32_t most = half < ENOUGH ? (uint32_t)half : ENOUGH;
    /* data files that name images need few rows, words of a text many */
    const uint32_t least = m->values.is_data && pictures == hits && most > 1 ? 2 : most;
    return hits >= least && 2 * hits >= group->count && may_be_names(m, group, hits);
}

static bool list_match_says_more(const matcher *m, const sl_list_group *names)
{
    uint64_t others = m->values.dropped;
    for (uint32_t i = 0; i < m->values.count; i++) {
        const sl_list_group *group = &m->values.groups[i];
        others += group != names && !group->has_digests ? group->total : 0;
    }
    return 2 * others >= names->total;
}

/* Returns whether another group contains the names of the folders of the images. */
static bool list_match_agrees(matcher *m, const sl_list_group *names)
{
    for (uint32_t i = 0; i < m->values.count; i++) {
        const sl_list_group *group = &m->values.groups[i];
        uint32_t found = 0;
        uint32_t same = 0;
        for (uint32_t k = 0; k < names->count && k < group->count && group != names; k++) {
            const wanted *w = list_match_find(m, names->values[k].hash);
            found += w != NULL && w->found;
            same += w != NULL && w->found && w->folder == group->values[k].hash;
        }
        if (found > 0 && same == found) {
            return true;
        }
    }
    return false;
}

static void tell_names(matcher *m, const sl_list_group *names, sl_list_match *match)
{
    char key[SL_PATH_BYTES];
    match->matches = true;
    match->says_more = list_match_says_more(m, names);
    match->agrees = list_match_agrees(m, names);
    match->is_bare = true;
    (void)snprintf(match->name, sizeof(match->name), "%s", names->first);
    for (uint32_t i = names->count; i-- > 0;) {
        const wanted *w = list_match_find(m, names->values[i].hash);
        match->is_bare = match->is_bare && !names->values[i].has_folder;
        if (w != NULL && w->found &&
            sl_dataset_key(m->dataset, w->sample, key, sizeof(key), NULL) == SLUICE_OK) {
            (void)snprintf(match->key, sizeof(match->key), "%.*s", SL_LIST_NAME_BYTES - 1, key);
            (void)snprintf(match->name, sizeof(match->name), "%s", names->values[i].text);
        }
    }
}

/* Counts the lines of a text that is longer than the part already read. */
static uint64_t list_match_lines(const char *path)
{
    uint64_t lines = 0;
    char *text = sl_malloc(LONG_BYTES);
    const size_t bytes = text != NULL ? sl_store_look(path, text, LONG_BYTES) : 0;
    for (size_t i = 0; i < bytes; i++) {
        lines += text[i] == '\n' || (text[i] != '\r' && i + 1 == bytes);
    }
    sl_free(text);
    return lines;
}

/*
 * Returns whether the list has one line per image, besides a possible header: labels may be listed
 * in the images' order.
 */
static bool list_match_counts(const matcher *m, bool is_cut)
{
    const uint64_t samples = m->dataset->info.samples;
    bool counts = m->values.lines == samples || m->values.lines == samples + 1;
    for (uint32_t i = 0; i < m->values.count && !is_cut; i++) {
        counts = counts || m->values.groups[i].total == samples;
    }
    return samples >= ENOUGH && counts;
}

void sl_list_match_find(const sl_dataset *dataset, const char *path, sl_list_match *match)
{
    *match = (sl_list_match){.matches = false};
    matcher *m = sl_calloc(1, sizeof(*m));
    size_t bytes = 0;
    char *text = m != NULL ? sl_list_text(path, &bytes, &match->is_cut) : NULL;
    if (text == NULL) {
        sl_free(m);
        return;
    }
    m->dataset = dataset;
    sl_list_values_read(&m->values, sl_path_name(path), text, bytes);
    collect_wanted(m);
    list_match_keys(m);
    if (match->is_cut) {
        m->values.lines = list_match_lines(path);
    }
    match->counts = list_match_counts(m, match->is_cut);
    for (uint32_t i = 0; i < m->values.count; i++) {
        if (!list_match_is_names(m, &m->values.groups[i])) {
            continue;
        }
        match->sorts = match->matches && m->values.is_keyed;
        if (!match->matches) {
            tell_names(m, &m->values.groups[i], match);
        }
    }
    sl_free(text);
    sl_free(m);
}
