/* SPDX-License-Identifier: Apache-2.0 */
#include "entries.h"

#include "memory.h"

#include <stdlib.h>
#include <string.h>

static bool entries_add_text(sl_entries *entries, const void *text, size_t bytes, uint32_t *at)
{
    const uint64_t needed = entries->text_bytes + bytes + 1;
    if (needed > UINT32_MAX || !sl_grow(&entries->text, &entries->text_capacity, needed, 1)) {
        return false;
    }
    *at = (uint32_t)entries->text_bytes;
    if (bytes > 0) {
        memcpy(entries->text + *at, text, bytes);
    }
    entries->text[*at + bytes] = '\0';
    entries->text_bytes = needed;
    return true;
}

static bool is_unnameable(sl_bytes name)
{
    return name.size == 0 ||
           (name.data[0] == '.' && (name.size == 1 || (name.size == 2 && name.data[1] == '.')));
}

bool sl_entries_add(sl_entries *entries, const sl_entry_facts *facts)
{
    sl_named_entry entry = {
        .bytes = facts->bytes, .modified_s = facts->modified_s, .kind = (uint8_t)facts->kind};
    if (!sl_grow(&entries->entries, &entries->capacity, entries->count + 1,
                 sizeof(*entries->entries)) ||
        !entries_add_text(entries, facts->name.data, facts->name.size, &entry.name) ||
        !entries_add_text(entries, facts->etag, strlen(facts->etag), &entry.etag)) {
        return false;
    }
    entries->found = true;
    entries->has_dots = entries->has_dots || is_unnameable(facts->name);
    entries->entries[entries->count++] = entry;
    return true;
}

const char *sl_entries_name(const sl_entries *entries, const sl_named_entry *entry)
{
    return entries->text + entry->name;
}

const char *sl_entries_etag(const sl_entries *entries, const sl_named_entry *entry)
{
    return entries->text + entry->etag;
}

static int compare_entries(const void *a, const void *b, void *text)
{
    const sl_named_entry *first = a;
    const sl_named_entry *second = b;
    const int order = strcmp((const char *)text + first->name, (const char *)text + second->name);
    return order != 0 ? order : (int)first->kind - (int)second->kind;
}

void sl_entries_sort(sl_entries *entries)
{
    if (entries->count < 2) {
        return;
    }
    qsort_r(entries->entries, entries->count, sizeof(*entries->entries), compare_entries,
            entries->text);
    uint64_t kept = 1;
    for (uint64_t i = 1; i < entries->count; i++) {
        if (compare_entries(&entries->entries[kept - 1], &entries->entries[i], entries->text) !=
            0) {
            entries->entries[kept++] = entries->entries[i];
        }
    }
    entries->count = kept;
}

/* Compares like strcmp the entry's name with `name`. */
static int compare_name(const sl_entries *entries, const sl_named_entry *entry, sl_bytes name)
{
    const char *own = sl_entries_name(entries, entry);
    const int order = strncmp(own, (const char *)name.data, name.size);
    return order != 0 ? order : (own[name.size] != '\0');
}

const sl_named_entry *sl_entries_find(const sl_entries *entries, sl_bytes name)
{
    uint64_t low = 0;
    uint64_t high = entries->count;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (compare_name(entries, &entries->entries[middle], name) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < entries->count && compare_name(entries, &entries->entries[low], name) == 0
               ? &entries->entries[low]
               : NULL;
}

uint64_t sl_entries_memory(const sl_entries *entries)
{
    return entries->text_capacity + entries->capacity * sizeof(*entries->entries);
}

void sl_entries_close(sl_entries *entries)
{
    sl_free(entries->text);
    sl_free(entries->entries);
    *entries = (sl_entries){.count = 0};
}
