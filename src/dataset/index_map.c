/* SPDX-License-Identifier: Apache-2.0 */
#include "index_map.h"

#include "memory.h"
#include "search.h"

/* Up to this number, runs are kept as runs, even short ones. */
#define RUNS_FREE ((uint64_t)4096)

void sl_index_map_begin(sl_index_map *map)
{
    *map = (sl_index_map){.count = 0};
    sl_checksum_begin(&map->sum);
}

void sl_index_map_close(sl_index_map *map)
{
    sl_free(map->runs);
    sl_free(map->list);
    map->runs = NULL;
    map->list = NULL;
}

static bool append_list(sl_index_map *map, uint64_t first, uint64_t count)
{
    if (count > UINT64_MAX / 32 - map->count ||
        !sl_grow(&map->list, &map->list_capacity, map->count + count, sizeof(*map->list)) ||
        map->list == NULL) {
        return false;
    }
    for (uint64_t i = 0; i < count; i++) {
        map->list[map->count + i] = first + i;
    }
    return true;
}

/* Converts runs that are so short that plain numbers take less memory. */
static bool become_list(sl_index_map *map)
{
    if (!sl_grow(&map->list, &map->list_capacity, map->count + 1, sizeof(*map->list)) ||
        map->list == NULL) {
        return false;
    }
    for (uint64_t i = 0; i < map->run_count; i++) {
        const uint64_t end = i + 1 < map->run_count ? map->runs[i + 1].at : map->count;
        for (uint64_t at = map->runs[i].at; at < end; at++) {
            map->list[at] = map->runs[i].first + (at - map->runs[i].at);
        }
    }
    sl_free(map->runs);
    map->runs = NULL;
    map->run_count = 0;
    return true;
}

static bool append_run(sl_index_map *map, uint64_t first)
{
    if (!sl_grow(&map->runs, &map->run_capacity, map->run_count + 1, sizeof(*map->runs))) {
        return false;
    }
    map->runs[map->run_count++] = (sl_index_run){.first = first, .at = map->count};
    return true;
}

static void note_run(sl_index_map *map, uint64_t first, uint64_t count)
{
    if (map->last_count > 0 && map->last_first + map->last_count == first) {
        map->last_count += count;
        return;
    }
    if (map->last_count > 0) {
        sl_checksum_add_u64(&map->sum, map->last_first);
        sl_checksum_add_u64(&map->sum, map->last_count);
    }
    map->last_first = first;
    map->last_count = count;
}

bool sl_index_map_add(sl_index_map *map, uint64_t first, uint64_t count)
{
    const bool goes_on = map->last_count > 0 && map->last_first + map->last_count == first;
    if (count == 0) {
        return true;
    }
    if (map->list == NULL && map->run_count >= RUNS_FREE && 2 * map->run_count > map->count &&
        !become_list(map)) {
        return false;
    }
    if (map->list != NULL ? !append_list(map, first, count) : !goes_on && !append_run(map, first)) {
        return false;
    }
    note_run(map, first, count);
    map->count += count;
    return true;
}

void sl_index_map_finish(sl_index_map *map)
{
    if (map->list != NULL && map->count > 0) {
        uint64_t *fitting = sl_realloc_array(map->list, map->count, sizeof(*fitting));
        map->list = fitting != NULL ? fitting : map->list;
    } else if (map->run_count > 0) {
        sl_index_run *fitting = sl_realloc_array(map->runs, map->run_count, sizeof(*fitting));
        map->runs = fitting != NULL ? fitting : map->runs;
    }
}

static uint64_t find_run(const sl_index_map *map, uint64_t at)
{
    return sl_last_at_or_before(&map->runs->at, sizeof(*map->runs), map->run_count, at);
}

uint64_t sl_index_map_at(const sl_index_map *map, uint64_t at)
{
    if (map->list != NULL) {
        return map->list[at];
    }
    const sl_index_run *run = &map->runs[find_run(map, at)];
    return run->first + (at - run->at);
}

uint64_t sl_index_map_run(const sl_index_map *map, uint64_t at)
{
    if (map->list != NULL) {
        return 1;
    }
    const uint64_t run = find_run(map, at);
    const uint64_t end = run + 1 < map->run_count ? map->runs[run + 1].at : map->count;
    return end - at;
}

uint64_t sl_index_map_sum(const sl_index_map *map)
{
    sl_checksum_stream sum = map->sum;
    sl_checksum_add_u64(&sum, map->last_first);
    sl_checksum_add_u64(&sum, map->last_count);
    return sl_checksum_value(&sum);
}
