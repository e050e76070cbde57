/* SPDX-License-Identifier: Apache-2.0 */
#include "opening_store.h"

#include "checksum.h"
#include "index_store.h"
#include "little_endian.h"
#include "memory.h"
#include "thread.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const uint8_t opening_magic[8] = "SLUICERO";

enum {
    HEAD_BYTES = 40,
    RANGE_BYTES = 16,
    SUM_BYTES = 8,
    BYTES_MOST = 1 << 20,
    FILE_MOST = 2 << 20
};

typedef struct kept_range {
    uint64_t offset, length;
} kept_range;

/* ---- names ---- */

static bool opening_name_file(const sl_object *object, const sl_file_identity *identity,
                              char name[SL_PATH_BYTES], char folder[SL_PATH_BYTES])
{
    sl_checksum_stream stream;
    if (identity->sample == 0 || !sl_index_store_folder(folder, SL_PATH_BYTES)) {
        return false;
    }
    sl_checksum_begin(&stream);
    sl_checksum_add(&stream, object->printed, strlen(object->printed));
    sl_checksum_add_u64(&stream, identity->inode);
    sl_checksum_add_u64(&stream, (uint64_t)identity->changed_ns);
    sl_checksum_add_u64(&stream, identity->bytes);
    const size_t bytes = strlen(folder);
    const int own = snprintf(folder + bytes, SL_PATH_BYTES - bytes, "/opened");
    const int length = snprintf(name, SL_PATH_BYTES, "%.4000s/%016llx.sluice-opened", folder,
                                (unsigned long long)sl_checksum_value(&stream));
    return own > 0 && bytes + (size_t)own < SL_PATH_BYTES - 64 && length > 0 &&
           length < SL_PATH_BYTES - 64;
}

/* ---- reading ---- */

/* Reads a kept file into memory from sl_malloc; NULL: the user has no such file. */
static uint8_t *opening_read_kept(const char *name, size_t *size)
{
    struct stat facts;
    const int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (fd < 0) {
        return NULL;
    }
    const bool wanted = fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) &&
                        (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0 &&
                        (facts.st_uid == geteuid() || facts.st_uid == 0) &&
                        facts.st_size >= HEAD_BYTES + SUM_BYTES && facts.st_size <= FILE_MOST;
    *size = wanted ? (size_t)facts.st_size : 0;
    uint8_t *bytes = wanted ? sl_malloc(*size) : NULL;
    if (bytes != NULL && pread(fd, bytes, *size, 0) != (ssize_t)*size) {
        sl_free(bytes);
        bytes = NULL;
    }
    (void)close(fd);
    return bytes;
}

static bool head_fits(const uint8_t *bytes, size_t size, const sl_file_identity *identity)
{
    return memcmp(bytes, opening_magic, sizeof(opening_magic)) == 0 &&
           sl_load64(bytes + 8) == identity->inode &&
           sl_load64(bytes + 16) == (uint64_t)identity->changed_ns &&
           sl_load64(bytes + 24) == identity->bytes && sl_load64(bytes + 32) <= SL_OBJECT_WINDOWS &&
           sl_load64(bytes + size - SUM_BYTES) == sl_checksum(bytes, size - SUM_BYTES);
}

static void take_ranges(sl_object *object, const uint8_t *bytes, size_t size)
{
    const uint64_t count = sl_load64(bytes + 32);
    size_t at = HEAD_BYTES + (size_t)count * RANGE_BYTES;
    sl_lock(&object->mutex);
    for (uint64_t i = 0; i < count; i++) {
        const uint8_t *range = bytes + HEAD_BYTES + i * RANGE_BYTES;
        const kept_range kept = {sl_load64(range), sl_load64(range + 8)};
        if (at > size - SUM_BYTES || kept.length == 0 || kept.length > size - SUM_BYTES - at) {
            break;
        }
        sl_object_put_window_locked(object, bytes + at, kept.offset, (size_t)kept.length);
        at += (size_t)kept.length;
    }
    sl_unlock(&object->mutex);
}

void sl_opening_store_load(sl_object *object)
{
    char name[SL_PATH_BYTES];
    char folder[SL_PATH_BYTES];
    sl_file_identity identity;
    size_t size = 0;
    sl_lock(&object->mutex);
    const bool asks = !object->remembers;
    object->remembers = true;
    sl_unlock(&object->mutex);
    if (!asks || !sl_object_facts(object, &identity) ||
        !opening_name_file(object, &identity, name, folder)) {
        return;
    }
    uint8_t *bytes = opening_read_kept(name, &size);
    if (bytes != NULL && head_fits(bytes, size, &identity)) {
        take_ranges(object, bytes, size);
    }
    sl_free(bytes);
}

/* ---- writing ---- */

/* Encodes into memory from sl_malloc; NULL: nothing new, too much, or no memory. */
static uint8_t *encode_locked(sl_object *object, size_t *size)
{
    uint64_t total = 0;
    uint64_t count = 0;
    bool is_new = false;
    for (uint32_t i = 0; i < SL_OBJECT_WINDOWS; i++) {
        const sl_object_window *window = &object->windows[i];
        total += window->high - window->low;
        count += window->high > window->low;
        is_new = is_new || (window->high > window->low && !window->kept);
    }
    *size = HEAD_BYTES + (size_t)count * RANGE_BYTES + (size_t)total + SUM_BYTES;
    uint8_t *bytes = is_new && total <= BYTES_MOST ? sl_malloc(*size) : NULL;
    if (bytes == NULL) {
        return NULL;
    }
    uint8_t *range = bytes + HEAD_BYTES;
    uint8_t *to = range + count * RANGE_BYTES;
    for (uint32_t i = 0; i < SL_OBJECT_WINDOWS; i++) {
        sl_object_window *window = &object->windows[i];
        const uint64_t length = window->high - window->low;
        if (length > 0) {
            sl_store64(range, window->offset + window->low);
            sl_store64(range + 8, length);
            memcpy(to, window->data + window->low, (size_t)length);
            range += RANGE_BYTES;
            to += length;
            window->kept = true;
        }
    }
    memcpy(bytes, opening_magic, sizeof(opening_magic));
    sl_store64(bytes + 8, object->identity.inode);
    sl_store64(bytes + 16, (uint64_t)object->identity.changed_ns);
    sl_store64(bytes + 24, object->identity.bytes);
    sl_store64(bytes + 32, count);
    sl_store64(to, sl_checksum(bytes, *size - SUM_BYTES));
    return bytes;
}

static void opening_write_kept(const char *name, const uint8_t *bytes, size_t size)
{
    /* Threads may keep the same object at once. Relaxed: each gets a different number. */
    static atomic_uint count;
    char temporary[SL_PATH_BYTES + 64];
    (void)snprintf(temporary, sizeof(temporary), "%s.%ld.%u", name, (long)getpid(),
                   atomic_fetch_add_explicit(&count, 1, memory_order_relaxed));
    (void)unlink(temporary); /* left by a killed process with the same number */
    const int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        return;
    }
    const bool written =
        sl_file_write(fd, (sl_file_name){"dataset", temporary}, bytes, size, 0, NULL) >= 0;
    if (close(fd) != 0 || !written || rename(temporary, name) != 0) {
        (void)unlink(temporary);
    }
}

void sl_opening_store_keep(sl_object *object)
{
    char name[SL_PATH_BYTES];
    char folder[SL_PATH_BYTES];
    sl_file_identity identity;
    size_t size = 0;
    if (!sl_object_facts(object, &identity) ||
        !opening_name_file(object, &identity, name, folder)) {
        return;
    }
    sl_lock(&object->mutex);
    uint8_t *bytes = object->remembers ? encode_locked(object, &size) : NULL;
    sl_unlock(&object->mutex);
    if (bytes != NULL && sl_index_store_make_folder(folder)) {
        opening_write_kept(name, bytes, size);
    }
    sl_free(bytes);
}
