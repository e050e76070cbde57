/* SPDX-License-Identifier: Apache-2.0 */
#include "store_fault.h"

#include "fnv.h"
#include "memory.h"
#include "store.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An open handle: the local file and its address. */
typedef struct opened {
    sl_handle local;
    bool replaced;
    char path[];
} opened;

/* Operations requested for an address. */
typedef struct asked {
    uint64_t path; /* hash of the address */
    store_fault_counts counts;
} asked;

enum { ADDRESSES_MAX = 8192 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
/* guarded by it */
static store_fault armed;
static uint32_t at, count, handles;
static store_fault_counts kinds;
static asked addresses[ADDRESSES_MAX];
static uint32_t address_count;
static bool struck;
static char what[SL_PATH_BYTES + 64], struck_path[SL_PATH_BYTES];

void store_fault_arm(store_fault fault, uint32_t number)
{
    armed = fault;
    at = number;
    count = 0;
    kinds = (store_fault_counts){0};
    address_count = 0;
    struck = false;
    what[0] = struck_path[0] = '\0';
}

uint32_t store_fault_count(void)
{
    return count;
}

store_fault_counts store_fault_count_kinds(void)
{
    return kinds;
}

int store_fault_struck(void)
{
    return struck;
}

const char *store_fault_what(void)
{
    return what;
}

uint32_t store_fault_handles(void)
{
    return handles;
}

static uint64_t hash_path(const char *path)
{
    uint64_t hash = SL_FNV1A_BEGIN;
    for (size_t i = 0; path[i] != '\0'; i++) {
        hash = sl_fnv1a(hash, (uint8_t)path[i]);
    }
    return hash;
}

static asked *find_address(const char *path)
{
    const uint64_t hash = hash_path(path);
    for (uint32_t i = address_count; i > 0; i--) { /* usually one of the last */
        if (addresses[i - 1].path == hash) {
            return &addresses[i - 1];
        }
    }
    return NULL;
}

store_fault_counts store_fault_count_of(const char *path)
{
    const asked *of = find_address(path);
    return of != NULL ? of->counts : (store_fault_counts){0};
}

static void count_operation(store_fault_counts *counts, const char *operation)
{
    counts->opens += strcmp(operation, "open") == 0;
    counts->stats += strcmp(operation, "stat") == 0 || strcmp(operation, "facts") == 0;
    counts->lists += strcmp(operation, "list") == 0;
    counts->reads += strcmp(operation, "read") == 0;
}

static void count_address(const char *path, const char *operation)
{
    asked *of = find_address(path);
    if (of == NULL && address_count < ADDRESSES_MAX) {
        of = &addresses[address_count++];
        *of = (asked){.path = hash_path(path)};
    }
    if (of != NULL) {
        count_operation(&of->counts, operation);
    }
}

static const char *local_path(const char *path)
{
    return path + strlen(STORE_FAULT_SCHEME);
}

/* Counts an operation; returns true if it must fail. */
static bool fails(const char *operation, const char *path)
{
    (void)pthread_mutex_lock(&mutex);
    bool now = armed != STORE_FAULT_NONE && count == at;
    count++;
    count_operation(&kinds, operation);
    count_address(path, operation);
    if (now) {
        struck = true;
        (void)snprintf(what, sizeof(what), "%s %s", operation, path);
        (void)snprintf(struck_path, sizeof(struck_path), "%s", path);
    }
    now = armed != STORE_FAULT_REPLACED &&
          (now || (armed == STORE_FAULT_STAYS && struck && strcmp(path, struck_path) == 0));
    (void)pthread_mutex_unlock(&mutex);
    return now;
}

static bool is_replaced(void)
{
    (void)pthread_mutex_lock(&mutex);
    const bool now = armed == STORE_FAULT_REPLACED && struck;
    (void)pthread_mutex_unlock(&mutex);
    return now;
}

static void disguise(sl_store_facts *facts)
{
    if (facts->kind == SL_ENTRY_FILE) {
        facts->identity.inode += 1000000007;
        facts->identity.modified_ns += 1000000000;
        facts->identity.changed_ns += 1000000000;
    }
}

static int fault_stat(const char *path, sl_store_facts *facts)
{
    if (fails("stat", path)) {
        return -STORE_FAULT_ERRNO;
    }
    const int failed = sl_store_local.stat(local_path(path), facts);
    if (failed == 0 && is_replaced()) {
        disguise(facts);
    }
    return failed;
}

/* A listing with only part of its entries. */
typedef struct part {
    sl_listing *whole;
    uint32_t left;
} part;

static sluice_status count_entry(void *ctx, const sl_store_entry *entry, sluice_error *error)
{
    (void)entry;
    (void)error;
    uint32_t *entries = ctx;
    (*entries)++;
    return SLUICE_OK;
}

static sluice_status show_part(void *ctx, const sl_store_entry *entry, sluice_error *error)
{
    (void)error;
    part *p = ctx;
    if (p->left == 0) {
        return SLUICE_END;
    }
    p->left--;
    return sl_listing_show(p->whole, entry->name, entry->kind) ? SLUICE_OK : SLUICE_CANCELED;
}

static int fault_list(const char *path, sl_listing *listing)
{
    const bool now = fails("list", path);
    if (!now || armed != STORE_FAULT_HALF_WAY) {
        return now ? -STORE_FAULT_ERRNO : sl_store_local.list(local_path(path), listing);
    }
    uint32_t entries = 0;
    sl_listing counting = {.visit = count_entry, .ctx = &entries};
    (void)sl_store_local.list(local_path(path), &counting);
    part p = {listing, entries / 2};
    sl_listing half = {.visit = show_part, .ctx = &p};
    const int failed = sl_store_local.list(local_path(path), &half);
    return failed < 0 || half.status == SLUICE_CANCELED ? failed : -STORE_FAULT_ERRNO;
}

static int fault_open(const char *path, const sl_open_how *how, sl_handle *handle,
                      sl_store_facts *facts)
{
    const sl_open_how plain = {.boundary = NULL}; /* there are no links to check */
    if (how->direct) {
        return -EINVAL;
    }
    if (fails("open", path)) {
        return -STORE_FAULT_ERRNO;
    }
    opened *own = sl_malloc(sizeof(*own) + strlen(path) + 1);
    if (own == NULL) {
        return -ENOMEM;
    }
    memcpy(own->path, path, strlen(path) + 1);
    own->local = (sl_handle){.store = &sl_store_local, .fd = -1};
    const int failed = sl_store_local.open(local_path(path), &plain, &own->local, facts);
    if (failed < 0) {
        sl_free(own);
        return failed;
    }
    own->replaced = is_replaced();
    if (own->replaced) {
        disguise(facts);
    }
    handle->own = own;
    (void)pthread_mutex_lock(&mutex);
    handles++;
    (void)pthread_mutex_unlock(&mutex);
    return 0;
}

static int fault_facts(const sl_handle *handle, sl_store_facts *facts)
{
    const opened *own = handle->own;
    if (fails("facts", own->path)) {
        return -STORE_FAULT_ERRNO;
    }
    const int failed = sl_store_local.facts(&own->local, facts);
    if (failed == 0 && own->replaced) {
        disguise(facts);
    }
    return failed;
}

static ssize_t fault_read_at(const sl_handle *handle, void *to, size_t bytes, uint64_t offset)
{
    const opened *own = handle->own;
    if (fails("read", own->path)) {
        return armed == STORE_FAULT_HALF_WAY ? 0 : -STORE_FAULT_ERRNO;
    }
    const ssize_t got = sl_store_local.read_at(&own->local, to, bytes, offset);
    for (ssize_t i = 0; own->replaced && i < got; i++) {
        ((uint8_t *)to)[i] ^= 0x5a;
    }
    return got;
}

static void fault_close(sl_handle *handle)
{
    opened *own = handle->own;
    sl_store_local.close(&own->local);
    sl_free(own);
    (void)pthread_mutex_lock(&mutex);
    handles--;
    (void)pthread_mutex_unlock(&mutex);
}

static int fault_real_path(const char *path, char *real)
{
    char local[SL_PATH_BYTES];
    if (fails("real_path", path)) {
        return -STORE_FAULT_ERRNO;
    }
    const int failed = sl_store_local.real_path(local_path(path), local);
    return failed < 0 ? failed
           : snprintf(real, SL_PATH_BYTES, STORE_FAULT_SCHEME "%s", local) < SL_PATH_BYTES
               ? 0
               : -ENAMETOOLONG;
}

static const sl_store fault_row = {.scheme = STORE_FAULT_SCHEME,
                                   .stat = fault_stat,
                                   .list = fault_list,
                                   .open = fault_open,
                                   .facts = fault_facts,
                                   .read_at = fault_read_at,
                                   .close = fault_close,
                                   .real_path = fault_real_path};

const sl_store *const sl_stores[] = {&fault_row, &sl_store_local};
