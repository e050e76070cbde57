/* SPDX-License-Identifier: Apache-2.0 */
#include "kept_listing.h"

#include "memory.h"

#include <string.h>

#define BYTES_MAX ((size_t)4 << 20)
enum { ENTRIES_MAX = 65536, BYTES_MIN = 4096 };

/* Returns false if memory is short or the limit would be exceeded. */
static bool make_space_for(sl_kept_listing *listing, size_t more)
{
    const size_t wanted = listing->bytes + more;
    if (wanted <= listing->capacity) {
        return true;
    }
    const size_t twice = 2 * wanted < BYTES_MAX ? 2 * wanted : BYTES_MAX;
    const size_t capacity = wanted < BYTES_MIN ? BYTES_MIN : twice;
    char *names = wanted <= BYTES_MAX ? sl_realloc_array(listing->names, capacity, 1) : NULL;
    if (names == NULL) {
        return false;
    }
    listing->names = names;
    listing->capacity = capacity;
    return true;
}

sluice_status sl_kept_listing_add(void *ctx, const sl_store_entry *entry, sluice_error *error)
{
    (void)error;
    sl_kept_listing *listing = ctx;
    const size_t length = strlen(entry->name) + 1;
    if (listing->count == ENTRIES_MAX || !make_space_for(listing, length + 1)) {
        sl_kept_listing_close(listing);
        listing->is_too_large = true;
        return SLUICE_END;
    }
    listing->names[listing->bytes] = (char)entry->kind;
    memcpy(listing->names + listing->bytes + 1, entry->name, length);
    listing->bytes += length + 1;
    listing->count++;
    return SLUICE_OK;
}

sluice_status sl_kept_listing_show(const sl_kept_listing *listing, sl_store_visit visit, void *ctx,
                                   sluice_error *error)
{
    sl_listing shown = {.visit = visit, .ctx = ctx, .error = error};
    const char *at = listing->names;
    for (uint32_t i = 0; i < listing->count; i++) {
        const sl_entry_kind kind = (sl_entry_kind)at[0];
        if (!sl_listing_show(&shown, at + 1, kind)) {
            break;
        }
        at += strlen(at + 1) + 2;
    }
    return shown.status;
}

void sl_kept_listing_close(sl_kept_listing *listing)
{
    sl_free(listing->names);
    *listing = (sl_kept_listing){.folder = listing->folder};
}
