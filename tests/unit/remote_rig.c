/* SPDX-License-Identifier: Apache-2.0 */
#include "remote_rig.h"

#include "hosts.h"
#include "kept.h"
#include "memory.h"
#include "philox.h"
#include "test.h"
#include "thread.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Replaces the library's function (ld --wrap). */
void __wrap_sl_remote_read_start(sl_remote_read *read);
void __wrap_sl_remote_read_cancel(sl_remote_read *read);
uint32_t __wrap_sl_hosts_get_stats(sl_host_stats *stats, uint32_t capacity);
sl_host *__wrap_sl_host_find(const char *host);
uint64_t __wrap_sl_host_gap_bytes(sl_host *host);
sl_chunk_state __wrap_sl_chunk_find(sl_cached_object *object, uint64_t chunk, sl_chunk_use *use);
void __wrap_sl_chunk_done(sl_cached_object *object, const sl_chunk_use *use);
void __wrap_sl_chunk_note(sl_cached_object *object, uint64_t bytes, bool hit);
int __wrap_sl_object_open(sl_object **object, const char *address, const sl_file_identity *known);
sl_cached_object *__wrap_sl_object_cached(sl_object *object);
void __wrap_sl_object_hold(sl_object *object);
void __wrap_sl_object_release(sl_object *object);

#define MIB ((uint64_t)1 << 20)

const uint64_t rig_sizes[RIG_FILES] = {20 * MIB, 100000, 1, 0, 70000, 300000};

uint64_t random_below(uint64_t limit)
{
    static uint64_t number;
    return sl_philox_u64(7, number++, 1) % limit;
}

/* ---- the network ---- */

rig_net net;

void net_reset(rig_mode mode)
{
    sl_lock(&net.mutex);
    assert_int_equal(net.count, 0);
    net.mode = mode;
    net.started = net.canceled = 0;
    net.bytes = 0;
    net.failure = 0;
    net.reason = "";
    net.claims = 0;
    sl_unlock(&net.mutex);
}

static void net_answer(sl_remote_read *read)
{
    read->object_bytes = UINT64_MAX;
    if (net.failure != 0) {
        read->result = net.failure;
        (void)snprintf(read->reason, sizeof(read->reason), "%s", net.reason);
        read->done(read);
        return;
    }
    if (read->whole && net.claims > 0) {
        net.claims--;
        read->object_bytes = net.claimed;
        read->result = -EFBIG;
        read->done(read);
        return;
    }
    const int fd = open(read->object->printed, O_RDONLY | O_CLOEXEC);
    struct stat found;
    if (fd < 0 || fstat(fd, &found) != 0) {
        read->result = -errno;
        (void)snprintf(read->reason, sizeof(read->reason), "404 NoSuchKey");
    } else {
        read->object_bytes = (uint64_t)found.st_size;
        read->result = pread(fd, read->buffer, read->bytes, (off_t)read->offset);
        if (read->whole && read->object_bytes > read->bytes) {
            read->result = -EFBIG;
        }
    }
    if (fd >= 0) {
        close(fd);
    }
    read->done(read);
}

static void *net_run(void *argument)
{
    sl_lock(&net.mutex);
    while (!net.ends) {
        if (net.count == 0 || net.mode == RIG_STALLED) {
            sl_cond_wait(&net.changed, &net.mutex);
            continue;
        }
        const uint32_t which = (uint32_t)(sl_philox_u64(1, net.draws++, 0) % net.count);
        sl_remote_read *read = net.pending[which];
        net.pending[which] = net.pending[--net.count];
        sl_unlock(&net.mutex);
        net_answer(read);
        sl_lock(&net.mutex);
    }
    sl_unlock(&net.mutex);
    return NULL;
}

void __wrap_sl_remote_read_start(sl_remote_read *read)
{
    sl_lock(&net.mutex);
    net.started++;
    net.bytes += read->bytes;
    const bool now = net.mode == RIG_AT_ONCE;
    if (!now) {
        if (net.count == RIG_PENDING) {
            abort();
        }
        net.pending[net.count++] = read;
        sl_cond_signal(&net.changed);
    }
    sl_unlock(&net.mutex);
    if (now) {
        net_answer(read);
    }
}

void __wrap_sl_remote_read_cancel(sl_remote_read *read)
{
    bool found = false;
    sl_lock(&net.mutex);
    for (uint32_t i = 0; i < net.count && !found; i++) {
        found = net.pending[i] == read;
        if (found) {
            net.pending[i] = net.pending[--net.count];
            net.canceled++;
        }
    }
    sl_unlock(&net.mutex);
    if (found) {
        read->result = -ECANCELED;
        read->done(read);
    }
}

uint32_t __wrap_sl_hosts_get_stats(sl_host_stats *stats, uint32_t capacity)
{
    stats[0] = (sl_host_stats){.host = "slow", .bytes = 1};
    stats[1] = (sl_host_stats){.host = "fast", .bytes = 2};
    return capacity < 2 ? capacity : 2;
}

sl_host *__wrap_sl_host_find(const char *host)
{
    static char hosts[2];
    return (sl_host *)&hosts[strcmp(host, "fast") == 0];
}

const uint64_t rig_gap_bytes = (uint64_t)96 << 10;

uint64_t __wrap_sl_host_gap_bytes(sl_host *host)
{
    return host == __wrap_sl_host_find("fast") ? rig_gap_bytes : 1;
}

/* ---- the cache: chunks of one object, as files ---- */

rig_cache cache;

struct sl_cached_object {
    int unused;
};
sl_cached_object rig_cached_object;

sl_chunk_state __wrap_sl_chunk_find(sl_cached_object *object, uint64_t chunk, sl_chunk_use *use)
{
    assert_ptr_equal(object, &rig_cached_object);
    cache.looks++;
    sl_chunk_state state = cache.states[chunk];
    if (state == SL_CHUNK_COMING && cache.looks > 40) {
        state = cache.states[chunk] = SL_CHUNK_HERE;
    }
    if (state == SL_CHUNK_HERE) {
        cache.used++;
        const uint64_t begin = chunk * SL_CHUNK_BYTES;
        const uint64_t bytes = rig_sizes[0] > begin ? rig_sizes[0] - begin : 0;
        *use = (sl_chunk_use){.fd = cache.fds[chunk],
                              .entry = (uint32_t)chunk,
                              .bytes = (uint32_t)(bytes < SL_CHUNK_BYTES ? bytes : SL_CHUNK_BYTES)};
    }
    return state;
}

void __wrap_sl_chunk_done(sl_cached_object *object, const sl_chunk_use *use)
{
    assert_int_equal(use->fd, cache.fds[use->entry]);
    cache.done++;
}

void __wrap_sl_chunk_note(sl_cached_object *object, uint64_t bytes, bool hit)
{
    *(hit ? &cache.hits : &cache.misses) += bytes;
}

/* ---- objects and their store ---- */

static _Atomic uint32_t objects;

int __wrap_sl_object_open(sl_object **object, const char *address, const sl_file_identity *known)
{
    const char *path = address + strlen(RIG_SCHEME);
    if (strstr(path, "refused") != NULL) {
        sl_store_set_reason("the address is not one");
        return -EINVAL;
    }
    *object = sl_calloc(1, sizeof(**object));
    (*object)->printed = sl_malloc(strlen(path) + 1);
    memcpy((*object)->printed, path, strlen(path) + 1);
    atomic_init(&(*object)->holders, 1);
    atomic_fetch_add(&objects, 1);
    return 0;
}

sl_cached_object *__wrap_sl_object_cached(sl_object *object)
{
    return object->cached;
}

void __wrap_sl_object_hold(sl_object *object)
{
    atomic_fetch_add(&object->holders, 1);
}

void __wrap_sl_object_release(sl_object *object)
{
    if (object != NULL && atomic_fetch_sub(&object->holders, 1) == 1) {
        sl_free(object->printed);
        sl_free(object);
        atomic_fetch_sub(&objects, 1);
    }
}

static int fake_stat(const char *path, sl_store_facts *facts)
{
    return sl_store_local.stat(path + strlen(RIG_SCHEME), facts);
}

static int fake_list(const char *path, sl_listing *listing)
{
    return sl_store_local.list(path + strlen(RIG_SCHEME), listing);
}

static int fake_open(const char *path, const sl_open_how *how, sl_handle *handle,
                     sl_store_facts *facts)
{
    sl_object *object = NULL;
    int failed = how->direct ? -EINVAL : fake_stat(path, facts);
    if (failed == 0) {
        failed = __wrap_sl_object_open(&object, path, NULL);
    }
    handle->own = object;
    return failed;
}

static int fake_facts(const sl_handle *handle, sl_store_facts *facts)
{
    return sl_store_local.stat(((sl_object *)handle->own)->printed, facts);
}

static ssize_t fake_read_at(const sl_handle *handle, void *to, size_t bytes, uint64_t offset)
{
    abort(); /* blocking threads must not be used */
}

static void fake_close(sl_handle *handle)
{
    __wrap_sl_object_release(handle->own);
}

static int fake_real_path(const char *path, char *real)
{
    (void)snprintf(real, SL_PATH_BYTES, "%s", path);
    return 0;
}

const sl_store rig_row = {.scheme = RIG_SCHEME,
                          .stat = fake_stat,
                          .list = fake_list,
                          .open = fake_open,
                          .facts = fake_facts,
                          .read_at = fake_read_at,
                          .close = fake_close,
                          .real_path = fake_real_path,
                          .remote = true};
const sl_store *const sl_stores[] = {&rig_row, &sl_store_local};

uint32_t rig_objects(void)
{
    return atomic_load(&objects);
}

void rig_path(const io_harness *h, uint32_t file, char *path, size_t bytes)
{
    char local[128];
    io_path(h, file, local, sizeof(local));
    (void)snprintf(path, bytes, RIG_SCHEME "%s", local);
}

void rig_net_start(void)
{
    sl_mutex_init(&net.mutex);
    sl_cond_init(&net.changed);
    assert_int_equal(pthread_create(&net.thread, NULL, net_run, NULL), 0);
}

void rig_net_stop(void)
{
    sl_lock(&net.mutex);
    net.ends = true;
    sl_cond_signal(&net.changed);
    sl_unlock(&net.mutex);
    assert_int_equal(pthread_join(net.thread, NULL), 0);
}
