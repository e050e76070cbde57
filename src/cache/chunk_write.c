/* SPDX-License-Identifier: Apache-2.0 */
/* chunk_write: writes a chunk to a part, which is renamed when it is complete. */
#include "checksum.h"
#include "chunk_cache.h"
#include "chunk_state.h"
#include "error.h"
#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define STAGE "cache"

enum { BEGIN_TRIES = 4 };

struct sl_chunk_part {
    sl_cached_object *object; /* counted in its uses */
    uint64_t chunk, cost;
    int fd;
    struct stat facts; /* of the empty file */
    char name[SL_CHUNK_NAME_BYTES], part_name[SL_CHUNK_NAME_BYTES];
};

static uint64_t part_cost(const sl_cached_object *object, uint64_t chunk)
{
    return sl_chunk_cost(sl_chunk_bytes_of(object->bytes, chunk) + strlen(object->address) +
                         strlen(object->etag) + SL_CHUNK_FOOTER);
}

static sluice_status part_failed(const sl_chunk_part *part, int failed, const char *what,
                                 sluice_error *error)
{
    char path[SL_CHUNK_ADDRESS_MAX];
    sl_chunk_cache *cache = part->object->cache;
    sl_chunk_cache_turn_off(cache, failed);
    (void)snprintf(path, sizeof(path), "%s/chunks-1/%s", cache->folder.path, part->part_name);
    return sl_error_file(error, SLUICE_IO, STAGE, -failed, path, -1, "%s", what);
}

/* ---- beginning ---- */

static bool name_exists(const sl_chunk_part *part)
{
    struct stat facts;
    return fstatat(part->object->cache->folder.fd, part->name, &facts, AT_SYMLINK_NOFOLLOW) == 0;
}

/*
 * Locks a part that was just opened. Returns 0, or -errno: EAGAIN, another writer has it; ESTALE,
 * its writer renamed or dropped it just before.
 */
static int part_lock(sl_chunk_part *part)
{
    const int failed = sl_chunk_lock(part->fd, F_WRLCK, 0);
    if (failed < 0) {
        return failed;
    }
    if (fstat(part->fd, &part->facts) != 0) {
        return -errno;
    }
    if (!S_ISREG(part->facts.st_mode)) {
        return -ELOOP;
    }
    return sl_chunk_folder_has(&part->object->cache->folder, part->part_name, &part->facts)
               ? 0
               : -ESTALE;
}

/* Opens and locks the part. Returns 0, or -errno as above. */
static int part_open(sl_chunk_part *part)
{
    enum { FLAGS = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC };
    const sl_chunk_folder *folder = &part->object->cache->folder;
    int failed = -ESTALE;
    for (int i = 0; i < BEGIN_TRIES && failed == -ESTALE; i++) {
        part->fd = openat(folder->fd, part->part_name, FLAGS, 0600);
        if (part->fd >= 0) {
            failed = part_lock(part);
        } else if (errno == ENOENT) {
            const int made = sl_chunk_folder_again(folder);
            failed = made < 0 ? made : -ESTALE;
        } else {
            failed = -errno;
        }
        if (failed < 0 && part->fd >= 0) {
            (void)close(part->fd);
            part->fd = -1;
        }
    }
    return failed == -ESTALE ? -EAGAIN : failed;
}

/* Closes the part and releases the lock, even if a forked child has the description open. */
static void part_close(sl_chunk_part *part)
{
    sl_chunk_cache *cache = part->object->cache;
    if (part->fd >= 0) {
        (void)sl_chunk_lock(part->fd, F_UNLCK, 0);
        (void)close(part->fd);
    }
    /* relaxed: an independent number; a thread that sees it late skips a chunk */
    atomic_fetch_sub_explicit(&cache->coming, part->cost, memory_order_relaxed);
    const sl_chunk_left left = {.fd = -1, .object = part->object};
    sl_lock(&cache->mutex);
    (void)sl_chunk_cache_settle(&left);
    sl_unlock(&cache->mutex);
    sl_free(part);
    sl_chunk_cache_close(cache);
}

void sl_chunk_drop(sl_chunk_part *part)
{
    const sl_chunk_folder *folder = &part->object->cache->folder;
    if (part->fd >= 0 && sl_chunk_folder_has(folder, part->part_name, &part->facts)) {
        (void)unlinkat(folder->fd, part->part_name, 0);
    }
    part_close(part);
}

static sl_chunk_part *part_new(sl_cached_object *object, uint64_t chunk)
{
    sl_chunk_cache *cache = object->cache;
    sl_chunk_part *part = sl_calloc(1, sizeof(*part));
    if (part == NULL) {
        return NULL;
    }
    *part = (sl_chunk_part){
        .object = object, .chunk = chunk, .cost = part_cost(object, chunk), .fd = -1};
    sl_chunk_name(sl_chunk_key_of(object, chunk), "", part->name);
    sl_chunk_name(sl_chunk_key_of(object, chunk), SL_CHUNK_PART, part->part_name);
    sl_lock(&cache->mutex);
    object->uses++;
    sl_unlock(&cache->mutex);
    sl_chunk_cache_hold(cache);
    return part;
}

/* Returns whether the name of the part belongs to a link or a folder, and so cannot be used. */
static bool is_foreign_name(int failed)
{
    return failed == -ELOOP || failed == -EISDIR || failed == -ENXIO;
}

sluice_status sl_chunk_begin(sl_cached_object *object, uint64_t chunk, sl_chunk_part **part,
                             sluice_error *error)
{
    sl_chunk_cache *cache = object->cache;
    *part = NULL;
    if (chunk >= sl_cached_object_chunks(object) || !sl_chunk_cache_is_on(cache) ||
        sl_chunk_cache_space(cache) < part_cost(object, chunk)) {
        return SLUICE_END;
    }
    sl_chunk_part *made = part_new(object, chunk);
    if (made == NULL) {
        return sl_no_memory(error, STAGE, "for a chunk");
    }
    sl_chunk_count_in(&cache->coming, made->cost);
    int failed = name_exists(made) ? -EEXIST : part_open(made);
    if (failed == 0 && name_exists(made)) { /* created since then */
        failed = -EEXIST;
    }
    if (failed == 0 && ftruncate(made->fd, 0) != 0) { /* left by a writer that was killed */
        failed = -errno;
    }
    if (failed == 0) {
        *part = made;
        return SLUICE_OK;
    }
    sluice_status status = failed == -EAGAIN ? SLUICE_AGAIN : SLUICE_END;
    if (failed != -EAGAIN && failed != -EEXIST && !is_foreign_name(failed)) {
        status = part_failed(made, failed, "cannot create the file of a chunk", error);
    }
    sl_chunk_drop(made);
    return status;
}

/* ---- keeping ---- */

/* Returns 0, or -errno. */
static int write_all(int fd, const uint8_t *bytes, size_t count, uint64_t offset)
{
    size_t done = 0;
    while (done < count) {
        const ssize_t wrote = pwrite(fd, bytes + done, count - done, (off_t)(offset + done));
        if (wrote == 0 || (wrote < 0 && errno != EINTR)) {
            return wrote < 0 ? -errno : -ENOSPC;
        }
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    return 0;
}

static int write_whole_part(const sl_chunk_part *part, const void *bytes, size_t count)
{
    const sl_cached_object *object = part->object;
    uint8_t encoded[SL_CHUNK_TAIL_MAX];
    sl_chunk_tail tail = {.chunk = part->chunk,
                          .bytes = count,
                          .object_bytes = object->bytes,
                          .sum = sl_checksum(bytes, count)};
    (void)snprintf(tail.address, sizeof(tail.address), "%s", object->address);
    (void)snprintf(tail.etag, sizeof(tail.etag), "%s", object->etag);
    const size_t length = sl_chunk_tail_encode(&tail, encoded);
    const int failed = write_all(part->fd, bytes, count, 0);
    return failed < 0 ? failed : write_all(part->fd, encoded, length, count);
}

/*
 * Renames the part, under the ledger's lock. Returns 0, or -errno: ENOENT, the folder was removed.
 */
static int rename_part(void *ctx)
{
    const sl_chunk_part *part = ctx;
    const sl_chunk_folder *folder = &part->object->cache->folder;
    if (!sl_chunk_folder_has(folder, part->part_name, &part->facts)) {
        return -ENOENT;
    }
    return renameat(folder->fd, part->part_name, folder->fd, part->name) == 0 ? 0 : -errno;
}

/* Renames and counts the part. Returns 0, or -errno as above; ENOSPC. */
static int name_part(sl_chunk_part *part)
{
    sl_chunk_cache *cache = part->object->cache;
    struct stat facts;
    const int failed = sl_chunk_ledger_add(&cache->ledger, part->cost, rename_part, part);
    if (failed == 0 && fstat(part->fd, &facts) == 0) {
        sl_lock(&cache->mutex);
        sl_chunk_know(&cache->known,
                      sl_chunk_file_hash(sl_chunk_key_of(part->object, part->chunk), &facts));
        sl_unlock(&cache->mutex);
    }
    return failed;
}

sluice_status sl_chunk_keep(sl_chunk_part *part, const void *bytes, size_t count,
                            sluice_error *error)
{
    sl_chunk_cache *cache = part->object->cache;
    const uint64_t expected = sl_chunk_bytes_of(part->object->bytes, part->chunk);
    if (count != expected) {
        sl_chunk_drop(part);
        return sl_error_set(error, SLUICE_INVALID, STAGE,
                            "wrong size for a chunk of %llu bytes: %zu bytes",
                            (unsigned long long)expected, count);
    }
    int failed = write_whole_part(part, bytes, count);
    if (failed < 0) {
        const sluice_status status =
            part_failed(part, failed, "cannot write the file of a chunk", error);
        sl_chunk_drop(part);
        return status;
    }
    failed = name_part(part);
    if (failed < 0) {
        const bool passes =
            failed == -ENOSPC || failed == -ENOENT || failed == -EAGAIN || failed == -ECANCELED;
        const sluice_status status =
            passes ? SLUICE_END
                   : part_failed(part, failed, "cannot rename the file of a chunk", error);
        sl_chunk_drop(part);
        return status;
    }
    sl_chunk_count_in(&cache->written_bytes, count);
    part_close(part);
    return SLUICE_OK;
}
