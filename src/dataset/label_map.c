/* SPDX-License-Identifier: Apache-2.0 */
#include "label_map.h"

#include "checksum.h"
#include "memory.h"

#include <stddef.h>

static void label_map_drop(sl_label_map *map)
{
    sl_free(map->from);
    sl_free(map->to);
    sl_free(map);
}

sl_label_map *sl_label_map_new(uint32_t count, bool sparse)
{
    sl_label_map *map = sl_calloc(1, sizeof(*map));
    const size_t capacity = count > 0 ? count : 1;
    if (map == NULL) {
        return NULL;
    }
    atomic_init(&map->references, 1);
    map->sparse = sparse;
    map->count = count;
    map->from = sparse ? sl_calloc(capacity, sizeof(*map->from)) : NULL;
    map->to = sl_calloc(capacity, sizeof(*map->to));
    if (map->to == NULL || (sparse && map->from == NULL)) {
        label_map_drop(map);
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        map->to[i] = SL_LABEL_UNKNOWN;
    }
    return map;
}

sl_label_map *sl_label_map_ref(sl_label_map *map)
{
    if (map != NULL) {
        /* relaxed: the caller already holds a reference */
        atomic_fetch_add_explicit(&map->references, 1, memory_order_relaxed);
    }
    return map;
}

void sl_label_map_drop(sl_label_map *map)
{
    /* acquire and release: all uses by others precede the free, which is by the last drop */
    if (map != NULL && atomic_fetch_sub_explicit(&map->references, 1, memory_order_acq_rel) == 1) {
        label_map_drop(map);
    }
}

static int32_t find_sparse(const sl_label_map *map, int64_t label)
{
    uint32_t low = 0;
    uint32_t high = map->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (map->from[middle] < label) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < map->count && map->from[low] == label ? map->to[low] : SL_LABEL_UNKNOWN;
}

int32_t sl_label_map_find(const sl_label_map *map, int64_t label)
{
    if (label == SL_LABEL_NONE) {
        return SL_LABEL_NONE;
    }
    if (map->sparse) {
        return find_sparse(map, label);
    }
    return label >= 0 && label < map->count ? map->to[label] : SL_LABEL_UNKNOWN;
}

bool sl_label_map_is_identity(const sl_label_map *map)
{
    bool same = !map->sparse;
    for (uint32_t i = 0; same && i < map->count; i++) {
        same = map->to[i] == (int32_t)i;
    }
    return same;
}

sl_label_map *sl_label_map_first(const sl_label_map *map, uint32_t count)
{
    sl_label_map *made = sl_label_map_new(count, false);
    for (uint32_t i = 0; made != NULL && i < count; i++) {
        made->to[i] = map->to[i];
    }
    return made;
}

sl_label_map *sl_label_map_compose(const sl_label_map *first, const sl_label_map *then)
{
    sl_label_map *made = sl_label_map_new(first->count, first->sparse);
    for (uint32_t i = 0; made != NULL && i < made->count; i++) {
        made->to[i] = first->to[i] >= 0 ? sl_label_map_find(then, first->to[i]) : first->to[i];
        if (made->sparse) {
            made->from[i] = first->from[i];
        }
    }
    return made;
}

uint64_t sl_label_map_sum(const sl_label_map *map)
{
    sl_checksum_stream stream;
    sl_checksum_begin(&stream);
    sl_checksum_add_u64(&stream, map->sparse ? 1 : 0);
    for (uint32_t i = 0; i < map->count; i++) {
        sl_checksum_add_u64(&stream, map->sparse ? (uint64_t)map->from[i] : i);
        sl_checksum_add_u64(&stream, (uint64_t)(int64_t)map->to[i]);
    }
    return sl_checksum_value(&stream);
}

/* ---- names ---- */

sl_class_names *sl_class_names_new(char **names, uint32_t count)
{
    sl_class_names *made = sl_calloc(1, sizeof(*made));
    if (made != NULL) {
        atomic_init(&made->references, 1);
        made->names = names;
        made->count = count;
    }
    return made;
}

sl_class_names *sl_class_names_ref(sl_class_names *names)
{
    if (names != NULL) {
        /* relaxed: the caller already holds a reference */
        atomic_fetch_add_explicit(&names->references, 1, memory_order_relaxed);
    }
    return names;
}

void sl_class_names_drop(sl_class_names *names)
{
    /* acquire and release: all uses by others precede the free, which is by the last drop */
    if (names == NULL ||
        atomic_fetch_sub_explicit(&names->references, 1, memory_order_acq_rel) > 1) {
        return;
    }
    for (uint32_t i = 0; i < names->count; i++) {
        sl_free(names->names[i]);
    }
    sl_free((void *)names->names);
    sl_free(names);
}
