/* SPDX-License-Identifier: Apache-2.0 */
/* A listing by ranges of keys. A range is (from, end]; a request without a range lists all keys. */
#include "listing.h"

#include "key_ranges.h"
#include "page_request.h"

#include "checksum.h"
#include "clock.h"
#include "error.h"
#include "memory.h"
#include "minmax.h"
#include "stop.h"
#include "thread.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LOOK_NS UINT64_C(50000000)

enum { LANES = 16, KEY_BYTES = SL_URL_BYTES, BEYOND_MOST = 6, MISSES_MOST = 3, IDLE_MOST = 100 };

/* A range of names, relative to the folder, listed by consecutive requests. */
typedef struct lane {
    sl_page_request request;
    bool used;
    char *from;  /* names after this one; NULL: all, or from the token on */
    char *end;   /* up to this name, inclusive; NULL: all */
    char *at;    /* the last name seen; NULL: none yet */
    char *key;   /* of the request: the folder's key and `from` */
    char *token; /* continues the range; NULL: begins it */
    uint64_t pages;
    uint64_t seen;       /* hash of an earlier token */
    uint32_t idle;       /* consecutive pages without a new name */
    struct lane *parent; /* lane from whose range this one was cut, until its first page */
    uint32_t misses;     /* cuts that found nothing */
    bool is_cut;         /* since its last page */
} lane;

typedef struct lister {
    const sl_url *folder;
    sl_folder_listing *listing;
    const char *begins; /* of the names; NULL: all */
    sl_page_group group;
    sl_key_alphabet alphabet;
    uint64_t pages;
    uint64_t checked; /* names when doubles were last dropped */
    lane *lanes;      /* LANES of them */
    char first[KEY_BYTES];
    int failed;
} lister;

/* ---- lanes ---- */

static void close_lane(lister *l, lane *ended)
{
    for (uint32_t i = 0; i < LANES; i++) {
        if (l->lanes[i].parent == ended) {
            l->lanes[i].parent = NULL;
        }
    }
    sl_free(ended->from);
    sl_free(ended->end);
    sl_free(ended->at);
    sl_free(ended->key);
    sl_free(ended->token);
    ended->from = ended->end = ended->at = ended->key = ended->token = NULL;
    ended->used = false;
}

static lane *free_lane(lister *l)
{
    for (uint32_t i = 0; i < LANES; i++) {
        if (!l->lanes[i].used) {
            return &l->lanes[i];
        }
    }
    return NULL;
}

static bool listing_copy_text(char **to, const char *text)
{
    sl_free(*to);
    *to = sl_strdup(text);
    return *to != NULL;
}

/* Cuts the part after `middle` off a lane, for a new lane. */
static void cut_lane(lister *l, lane *of, const char *middle)
{
    lane *made = free_lane(l);
    char *end = sl_strdup(middle);
    if (made == NULL || end == NULL) {
        sl_free(end);
        return;
    }
    const size_t prefix = strlen(l->folder->key);
    const size_t bytes = prefix + strlen(middle) + 1;
    made->from = sl_strdup(middle);
    made->key = sl_malloc(bytes);
    if (made->from == NULL || made->key == NULL) {
        close_lane(l, made);
        sl_free(end);
        return;
    }
    (void)snprintf(made->key, bytes, "%s%s", l->folder->key, middle);
    made->end = of->end;
    of->end = end;
    made->used = true;
    made->pages = made->idle = 0;
    made->parent = of;
    made->misses = 0;
    made->is_cut = false;
    of->is_cut = true;
}

/* ---- cutting ---- */

static size_t same_bytes(const char *a, const char *b)
{
    size_t same = 0;
    while (a[same] == b[same] && a[same] != '\0') {
        same++;
    }
    return same;
}

/* Returns the lane whose range is likely the longest: few cuts missed, and its ends differ
 * early. */
static lane *longest_lane(lister *l)
{
    lane *best = NULL;
    size_t best_same = SIZE_MAX;
    for (uint32_t i = 0; i < LANES; i++) {
        lane *one = &l->lanes[i];
        if (!one->used || one->at == NULL || one->end == NULL || one->is_cut ||
            one->misses >= MISSES_MOST) {
            continue;
        }
        const size_t same = same_bytes(one->at, one->end);
        if (same < best_same) {
            best = one;
            best_same = same;
        }
    }
    return best;
}

static void cut_bounded(lister *l)
{
    char middle[KEY_BYTES];
    lane *of = longest_lane(l);
    while (of != NULL && free_lane(l) != NULL) {
        if (sl_key_middle(&l->alphabet, of->at, of->end, middle, sizeof(middle)) &&
            strcmp(middle, of->at) > 0) {
            cut_lane(l, of, middle);
        }
        of->is_cut = true;
        of = longest_lane(l);
    }
}

/* Guesses keys after a page if the end is unknown, the nearest last, so that each one cuts the
 * range before it. */
static void cut_unbounded(lister *l, lane *of, const char *first)
{
    char beyond[KEY_BYTES];
    for (uint32_t step = BEYOND_MOST; step > 0; step--) {
        if (free_lane(l) != NULL &&
            sl_key_beyond(&l->alphabet, first, of->at, step - 1, beyond, sizeof(beyond)) &&
            strcmp(beyond, of->at) > 0 && (of->end == NULL || strcmp(beyond, of->end) < 0)) {
            cut_lane(l, of, beyond);
        }
    }
}

static void cut_ranges(lister *l)
{
    if (!sl_provider_of(l->folder->scheme)->lists_ranges) {
        return;
    }
    sl_key_alphabet_rank(&l->alphabet);
    for (uint32_t i = 0; i < LANES; i++) {
        lane *one = &l->lanes[i];
        if (one->used && one->at != NULL && one->end == NULL && !one->is_cut) {
            cut_unbounded(l, one, l->first);
            one->is_cut = true;
        }
    }
    cut_bounded(l);
}

/* ---- pages ---- */

/* Compares names; folders sort with the slash of their keys. */
static int compare_with(const sl_entries *entries, const sl_named_entry *entry, const char *name)
{
    const char *own = sl_entries_name(entries, entry);
    const size_t bytes = strlen(own);
    if (entry->kind != SL_ENTRY_FOLDER || strncmp(own, name, bytes) != 0) {
        return strcmp(own, name);
    }
    return (int)(uint8_t)'/' - (int)(uint8_t)name[bytes];
}

/* Drops the names after the range's end; returns whether there were any. */
static bool keep_range(sl_entries *entries, uint64_t from, const char *end)
{
    uint64_t kept = from;
    for (uint64_t i = from; i < entries->count; i++) {
        if (end == NULL || compare_with(entries, &entries->entries[i], end) <= 0) {
            entries->entries[kept++] = entries->entries[i];
        }
    }
    const bool beyond = kept < entries->count;
    entries->count = kept;
    return beyond;
}

/* Stores the first and last name of a page, for cuts. False: no memory. */
static bool note_names(lister *l, lane *of, uint64_t from)
{
    const sl_entries *entries = &l->listing->entries;
    const char *first = NULL;
    const char *last = NULL;
    for (uint64_t i = from; i < entries->count; i++) {
        const char *name = sl_entries_name(entries, &entries->entries[i]);
        sl_key_alphabet_add(&l->alphabet, name);
        first = first == NULL || strcmp(name, first) < 0 ? name : first;
        last = last == NULL || strcmp(name, last) > 0 ? name : last;
    }
    if (last == NULL) {
        return true;
    }
    (void)snprintf(l->first, sizeof(l->first), "%s", first);
    return listing_copy_text(&of->at, last);
}

/* ---- listings that do not end ---- */

static int endless(const char *reason)
{
    sl_store_set_reason(reason);
    return -EBADMSG;
}

/* Brent's cycle detection: compares each token with that of a page whose number is a power of
 * two, so one hash is enough for any number of pages. */
static int check_token(lane *of, const char *token)
{
    const uint64_t hash = sl_checksum(token, strlen(token));
    const bool again =
        (of->token != NULL && strcmp(token, of->token) == 0) || (of->pages > 0 && hash == of->seen);
    of->pages++;
    if ((of->pages & (of->pages - 1)) == 0) {
        of->seen = hash;
    }
    return again ? endless("its listing does not advance: a page names an earlier one as the next")
                 : 0;
}

/* Returns whether a page has names after all earlier ones; if pages have no order, any names. */
static bool brings_names(const lister *l, const lane *of, uint64_t from)
{
    const sl_entries *entries = &l->listing->entries;
    if (of->at == NULL || !sl_provider_of(l->folder->scheme)->lists_ranges) {
        return entries->count > from;
    }
    bool brings = false;
    for (uint64_t i = from; i < entries->count && !brings; i++) {
        brings = strcmp(sl_entries_name(entries, &entries->entries[i]), of->at) > 0;
    }
    return brings;
}

/* Drops duplicates if pages have no order, once there are twice as many names as the last time:
 * pages with the same names again then add none. */
static int check_doubles(lister *l)
{
    sl_entries *entries = &l->listing->entries;
    const uint64_t before = l->checked;
    if (sl_provider_of(l->folder->scheme)->lists_ranges ||
        entries->count < 2 * before + IDLE_MOST) {
        return 0;
    }
    sl_entries_sort(entries);
    l->checked = entries->count;
    return entries->count > before
               ? 0
               : endless("its listing does not advance: pages repeat the same names");
}

static int check_progress(const lister *l, lane *of, uint64_t from, const sl_page_end *end)
{
    of->idle = brings_names(l, of, from) ? 0 : of->idle + 1;
    if (!end->more) {
        return 0;
    }
    if (of->idle >= IDLE_MOST) {
        return endless("its listing does not advance: 100 pages in a row have no new name");
    }
    return end->token != NULL ? check_token(of, end->token) : 0;
}

static int add_page(lister *l, lane *of)
{
    sl_entries *entries = &l->listing->entries;
    const sl_provider *provider = sl_provider_of(l->folder->scheme);
    const uint64_t from = entries->count;
    sl_page_end end;
    sluice_error error;
    if (provider->page(l->folder, &of->request.exchange, entries, &end, &error) < 0) {
        sl_store_set_reason(error.text);
        return error.status == SLUICE_NOMEM ? -ENOMEM : -EBADMSG;
    }
    const int stuck = check_progress(l, of, from, &end);
    if (stuck < 0) {
        sl_free(end.token);
        return stuck;
    }
    l->pages++;
    const bool beyond = keep_range(entries, from, of->end);
    const bool more = end.more && !beyond;
    if (of->parent != NULL) {
        of->parent->misses += entries->count == from;
        of->parent = NULL;
    }
    sl_free(of->token);
    of->token = end.token;
    of->is_cut = false;
    if (!note_names(l, of, from)) {
        return -ENOMEM;
    }
    if (!more) {
        close_lane(l, of);
        return 0;
    }
    return check_doubles(l);
}

/* ---- requests ---- */

static sl_page_state lane_state(lister *l, const lane *of)
{
    sl_lock(&l->group.mutex);
    const sl_page_state state = of->request.state;
    sl_unlock(&l->group.mutex);
    return state;
}

static int start_lanes(lister *l)
{
    int failed = 0;
    for (uint32_t i = 0; i < LANES && failed == 0; i++) {
        lane *one = &l->lanes[i];
        const sl_page_state state = lane_state(l, one);
        const bool is_due = state == SL_PAGE_IDLE ||
                            (state == SL_PAGE_LATER && one->request.again_ns <= sl_now_ns());
        if (one->used && is_due) {
            const sl_page_ask ask = {.begins = l->begins,
                                     .start_after = one->token == NULL ? one->key : NULL,
                                     .token = one->token};
            failed = sl_page_start(&one->request, &l->group, l->folder, &ask);
        }
    }
    return failed;
}

/* Returns one lane whose request has ended; NULL: none. Waits for a short while. */
static lane *wait_for_lane(lister *l)
{
    lane *ended = NULL;
    const uint64_t until = sl_now_ns() + LOOK_NS;
    bool in_time = true;
    sl_lock(&l->group.mutex);
    while (ended == NULL && in_time) {
        for (uint32_t i = 0; i < LANES && ended == NULL; i++) {
            const bool has = l->lanes[i].used && l->lanes[i].request.state == SL_PAGE_ENDED;
            ended = has ? &l->lanes[i] : NULL;
        }
        in_time = ended != NULL || sl_cond_wait_until(&l->group.changed, &l->group.mutex, until);
    }
    sl_unlock(&l->group.mutex);
    return ended;
}

static bool has_lanes(const lister *l)
{
    bool used = false;
    for (uint32_t i = 0; i < LANES; i++) {
        used = used || l->lanes[i].used;
    }
    return used;
}

static bool has_enough(const lister *l)
{
    return l->listing->pages_most != 0 && l->pages >= l->listing->pages_most;
}

static int list_step(lister *l, bool cuts)
{
    if (sl_stop_requested()) {
        sl_store_set_reason("");
        return -ECANCELED;
    }
    if (cuts) {
        cut_ranges(l);
    }
    int failed = start_lanes(l);
    lane *ended = failed == 0 ? wait_for_lane(l) : NULL;
    if (ended == NULL) {
        return failed;
    }
    const int taken = sl_page_take(&ended->request);
    return taken > 0 ? add_page(l, ended) : taken;
}

static int open_lister(lister *l, const sl_url *folder, sl_folder_listing *listing)
{
    *l = (lister){.folder = folder, .listing = listing, .begins = listing->begins};
    l->lanes = sl_calloc(LANES, sizeof(*l->lanes));
    if (l->lanes == NULL) {
        return -ENOMEM;
    }
    sl_page_group_begin(&l->group);
    l->lanes[0].used = true;
    return 0;
}

static void close_lister(lister *l)
{
    for (uint32_t i = 0; i < LANES; i++) {
        sl_page_close(&l->lanes[i].request);
        close_lane(l, &l->lanes[i]);
    }
    sl_page_group_end(&l->group);
    sl_free(l->lanes);
}

/* ---- listings ---- */

static int read_first_page(const sl_url *folder, sl_folder_listing *listing)
{
    lister *l = sl_malloc(sizeof(*l));
    int failed = l != NULL ? open_lister(l, folder, listing) : -ENOMEM;
    if (failed < 0) {
        sl_free(l);
        return failed;
    }
    bool whole = false;
    while (failed == 0 && !whole) {
        failed = list_step(l, false);
        /* a first page may be empty, and others follow */
        whole = !l->lanes[0].used || (l->lanes[0].token != NULL && listing->entries.found);
    }
    if (failed == 0 && l->lanes[0].used) {
        listing->next = (sl_page_end){.more = true, .token = l->lanes[0].token};
        l->lanes[0].token = NULL;
    }
    close_lister(l);
    sl_free(l);
    if (failed == 0) {
        sl_entries_sort(&listing->entries);
    }
    return failed;
}

int sl_folder_listing_begin(const sl_url *folder, sl_folder_listing *listing)
{
    const int failed = read_first_page(folder, listing);
    if (failed == 0 && !listing->entries.found) {
        sl_store_set_reason("");
        return -ENOENT;
    }
    return failed;
}

int sl_folder_listing_find(const sl_url *folder, const char *name, sl_folder_listing *listing)
{
    return listing_copy_text(&listing->begins, name) ? read_first_page(folder, listing) : -ENOMEM;
}

int sl_folder_listing_finish(const sl_url *folder, sl_folder_listing *listing)
{
    if (!listing->next.more) {
        return 0;
    }
    lister *l = sl_malloc(sizeof(*l));
    int failed = l != NULL ? open_lister(l, folder, listing) : -ENOMEM;
    if (failed < 0) {
        sl_free(l);
        return failed;
    }
    l->lanes[0].token = listing->next.token;
    listing->next = (sl_page_end){.more = false};
    failed = note_names(l, &l->lanes[0], 0) ? 0 : -ENOMEM;
    while (failed == 0 && has_lanes(l) && !has_enough(l)) {
        failed = list_step(l, true);
    }
    listing->next.more = has_lanes(l);
    close_lister(l);
    sl_free(l);
    if (failed == 0) {
        sl_entries_sort(&listing->entries);
    }
    return failed;
}

void sl_folder_listing_close(sl_folder_listing *listing)
{
    sl_entries_close(&listing->entries);
    sl_free(listing->next.token);
    sl_free(listing->begins);
    *listing = (sl_folder_listing){.next = {.more = false}};
}
