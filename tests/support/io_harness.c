/* SPDX-License-Identifier: Apache-2.0 */
#include "io_harness.h"

#include "clock.h"
#include "error.h"
#include "photo_folder.h"
#include "test.h"
#include "thread.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAIT_NS TEST_PATIENCE_NS
#define MIB     ((uint64_t)1 << 20)

TEST_OWN_MEMORY static uint64_t word_at(uint32_t file, uint64_t number)
{
    uint64_t x = (number + 1) * UINT64_C(0x9e3779b97f4a7c15) + file * UINT64_C(0x1234567);
    x ^= x >> 29;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    return x ^ x >> 32;
}

uint8_t io_byte(uint32_t file, uint64_t offset)
{
    return (uint8_t)(word_at(file, offset / 8) >> (offset % 8 * 8));
}

TEST_OWN_MEMORY void io_fill(uint32_t file, uint64_t offset, uint8_t *to, size_t bytes)
{
    to -= offset % 8;
    for (uint64_t at = offset - offset % 8; at < offset + bytes; at += 8, to += 8) {
        const uint64_t word = word_at(file, at / 8);
        memcpy(to, &word, 8);
    }
}

bool io_same(uint32_t file, uint64_t offset, const uint8_t *data, size_t bytes)
{
    uint8_t wanted[8 + 4096 + 8];
    for (size_t done = 0, count; done < bytes; done += count) {
        count = bytes - done < 4096 ? bytes - done : 4096;
        io_fill(file, offset + done, wanted + 8, count);
        if (memcmp(data + done, wanted + 8, count) != 0) {
            return false;
        }
    }
    return true;
}

void io_path(const io_harness *h, uint32_t file, char *path, size_t bytes)
{
    (void)snprintf(path, bytes, "%s/%u", h->folder, file);
}

void io_make_file(io_harness *h, uint32_t file, uint64_t bytes)
{
    char path[128];
    io_path(h, file, path, sizeof(path));
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    uint8_t block[65536];
    for (uint64_t at = 0; at < bytes; at += sizeof(block)) {
        const size_t count = bytes - at < sizeof(block) ? (size_t)(bytes - at) : sizeof(block);
        io_fill(file, at, block, count);
        assert_int_equal(fwrite(block, 1, count, out), count);
    }
    assert_int_equal(fclose(out), 0);
}

/* Returns the n-th lookup of item `tag`. */
static sl_fetch_item lookup_of(uint64_t tag, uint32_t n)
{
    return (sl_fetch_item){.offset = (tag + n) * IO_LOOKUP_BYTES,
                           .bytes = IO_LOOKUP_BYTES,
                           .object = IO_LOOKUP_FILE,
                           .lookup = true};
}

/* All pieces have the same size, except the last, which takes the rest. */
static sl_piece piece_of(void *ctx, const sl_fetch_item *item, uint32_t number)
{
    const io_harness *h = ctx;
    const uint32_t each = item->bytes / h->pieces;
    const uint64_t places = h->piece_span - item->bytes;
    return (sl_piece){.offset = (item->offset + (uint64_t)number * 7919) % places,
                      .bytes = number + 1 < h->pieces ? each : item->bytes - number * each,
                      .count = 1};
}

static sluice_status next(void *ctx, sl_fetch_item *item)
{
    io_harness *h = ctx;
    sl_lock(&h->mutex);
    sluice_status status = h->asked < h->available ? SLUICE_OK : SLUICE_END;
    if (status == SLUICE_OK) {
        *item = h->items[h->asked];
        if (h->lookups > 0) {
            *item = lookup_of(h->asked, 1);
        }
        item->tag = h->asked++;
    }
    sl_unlock(&h->mutex);
    return status;
}

static sluice_status learn(void *ctx, sl_fetch_item *item, sl_bytes bytes, sl_failure *failure)
{
    io_harness *h = ctx;
    const uint64_t tag = item->tag;
    const uint64_t n = item->offset / IO_LOOKUP_BYTES - tag;
    bool right = bytes.size == IO_LOOKUP_BYTES && item->object == IO_LOOKUP_FILE;
    right = right && io_same(IO_LOOKUP_FILE, item->offset, bytes.data, bytes.size);
    sl_lock(&h->mutex);
    h->wrong += right ? 0 : 1;
    sl_unlock(&h->mutex);
    if (h->lookup_bad > 0 && tag % h->lookup_bad == 0) {
        failure->text = "not to be found";
        return SLUICE_CORRUPT;
    }
    *item = n < h->lookups ? lookup_of(tag, (uint32_t)n + 1) : h->items[tag];
    return SLUICE_OK;
}

static sluice_status path_of(void *ctx, uint32_t file, char *path, size_t bytes)
{
    const io_harness *h = ctx;
    char local[128];
    io_path(h, file, local, sizeof(local));
    (void)snprintf(path, bytes, "%s%s", h->scheme != NULL ? h->scheme : "", local);
    return SLUICE_OK;
}

static bool pieces_match(io_harness *h, const sl_fetch_item *item, const sl_bytes *bytes)
{
    bool same = bytes->size == item->bytes;
    size_t at = 0;
    for (uint32_t i = 0; same && i < h->pieces; i++) {
        const sl_piece piece = piece_of(h, item, i);
        same = io_same(item->object, piece.offset, bytes->data + at, piece.bytes);
        at += piece.bytes;
    }
    return same;
}

static bool bytes_match(const io_harness *h, const sl_fetch_item *item, const sl_bytes *bytes,
                        size_t wanted)
{
    bool same = bytes->size == wanted;
    if (same && !h->zeros) {
        same = io_same(item->object, item->offset, bytes->data, bytes->size);
    }
    for (size_t i = 0; same && h->zeros && i < bytes->size; i++) {
        same = bytes->data[i] == io_byte(item->object, item->offset + i) || bytes->data[i] == 0;
    }
    volatile uint8_t sum = 0; /* the padding must be readable */
    for (size_t i = 0; i < 64; i++) {
        sum = (uint8_t)(sum + bytes->data[bytes->size + i]);
    }
    return same;
}

static void deliver(void *ctx, const sl_fetch_item *item, sluice_status status,
                    const sl_fetch_bytes *bytes, const sluice_error *error)
{
    io_harness *h = ctx;
    const sl_fetch_item *asked = &h->items[item->tag];
    if (h->deliver_ns > 0) {
        sl_sleep_until_ns(sl_now_ns() + h->deliver_ns);
    }
    size_t wanted = asked->bytes;
    if (status == SLUICE_OK && wanted == 0) {
        wanted = bytes->bytes.size; /* whole files, whose sizes the test knows */
    }
    bool right =
        status != SLUICE_OK || (h->pieces > 0 ? pieces_match(h, item, &bytes->bytes)
                                              : bytes_match(h, item, &bytes->bytes, wanted));
    right = right &&
            (h->lookups > 0 || (item->offset == asked->offset && item->object == asked->object));
    right = right && (status == SLUICE_OK ||
                      (error != NULL && error->status == (int)status && error->text[0] != '\0'));
    sl_lock(&h->mutex);
    if (item->sequence != SL_INSERTED && status != SLUICE_CANCELED) {
        right = right && item->sequence < h->credit && item->sequence == item->tag;
    }
    h->wrong += right ? 0 : 1;
    io_result *result = &h->results[item->tag];
    result->delivered++;
    result->status = status;
    if (error != NULL) {
        result->error = *error;
    }
    if (status == SLUICE_OK && h->release != IO_RELEASE_NOW) {
        h->held[h->held_count++] = bytes->handle;
    }
    h->delivered++;
    sl_cond_broadcast(&h->changed);
    sl_unlock(&h->mutex);
    if (status == SLUICE_OK && h->release == IO_RELEASE_NOW) {
        sl_fetch_release(h->fetch, &bytes->handle, 1);
    }
}

void io_harness_init(io_harness *h, sluice_io_backend backend)
{
    memset(h, 0, sizeof(*h));
    const char *root = getenv("TMPDIR");
    (void)snprintf(h->folder, sizeof(h->folder), "%.40s/sluice-io-XXXXXX",
                   root != NULL ? root : "/tmp");
    assert_non_null(mkdtemp(h->folder));
    sl_mutex_init(&h->mutex);
    sl_cond_init(&h->changed);
    sl_budget_init(&h->budget, UINT64_MAX);
    h->config = (sl_fetch_config){.backend = backend,
                                  .cache = SL_CACHE_BUFFERED,
                                  .depth = 16,
                                  .threads = 4,
                                  .lookahead = 64,
                                  .inserts = 4,
                                  .arena_bytes = 4 * MIB,
                                  .max_sample_bytes = 4 * MIB,
                                  .stall_warn_ns = TEST_PATIENCE_NS / 2,
                                  .stall_fail_ns = TEST_PATIENCE_NS / 2,
                                  .merge_gap_bytes = 16384,
                                  .merge_bytes = 256 << 10,
                                  .budget = &h->budget};
}

void io_harness_destroy(io_harness *h)
{
    if (h->fetch != NULL) {
        io_close(h);
    }
    assert_int_equal(sl_budget_used(&h->budget), 0);
    remove_tree(h->folder);
    sl_cond_destroy(&h->changed);
    sl_mutex_destroy(&h->mutex);
}

uint32_t io_add(io_harness *h, uint32_t file, uint64_t offset, uint32_t bytes)
{
    assert_true(h->count < IO_ITEMS_MAX);
    h->items[h->count] = (sl_fetch_item){.offset = offset, .bytes = bytes, .object = file};
    h->available = h->count + 1;
    return h->count++;
}

void io_release_held(io_harness *h)
{
    for (;;) {
        sl_lock(&h->mutex);
        bool some = h->held_count > 0;
        uint32_t handle = some ? h->held[--h->held_count] : 0;
        sl_unlock(&h->mutex);
        if (!some) {
            return;
        }
        sl_fetch_release(h->fetch, &handle, 1);
    }
}

static void *release_later(void *argument)
{
    io_harness *h = argument;
    while (atomic_load(&h->running) != 0) {
        io_release_held(h);
        sl_sleep_until_ns(sl_now_ns() + 50000);
    }
    return NULL;
}

void io_open(io_harness *h)
{
    const sl_fetch_source source = {
        .ctx = h, .next = next, .learn = learn, .piece = piece_of, .deliver = deliver};
    const sl_object_names names = {
        .ctx = h, .count = h->files > 0 ? h->files : IO_FILES, .path = path_of, .bytes = h->bytes};
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sl_objects_open(&h->objects, &names, NULL), SLUICE_OK);
    h->config.objects = h->objects;
    sluice_status status = sl_fetch_open(&h->fetch, &h->config, &source, &error);
    if (status != SLUICE_OK) {
        print_message("open: %s\n", error.text);
    }
    assert_int_equal(status, SLUICE_OK);
    if (h->release == IO_RELEASE_LATER) {
        atomic_store(&h->running, 1);
        assert_int_equal(pthread_create(&h->releaser, NULL, release_later, h), 0);
    }
}

void io_close(io_harness *h)
{
    if (atomic_exchange(&h->running, 0) != 0) {
        assert_int_equal(pthread_join(h->releaser, NULL), 0);
    }
    io_release_held(h);
    sl_fetch_close(h->fetch);
    h->pins_left = sl_objects_pins(h->objects);
    sl_objects_close(h->objects);
    h->fetch = NULL;
    h->held_count = 0;
}

void io_give_credit(io_harness *h, uint64_t credit)
{
    sl_lock(&h->mutex);
    h->credit = credit;
    sl_unlock(&h->mutex);
    sl_fetch_credit(h->fetch, credit);
}

bool io_wait(io_harness *h, uint32_t count)
{
    uint64_t deadline = sl_now_ns() + WAIT_NS;
    bool late = false;
    sl_lock(&h->mutex);
    while (h->delivered < count && !late) {
        late = !sl_cond_wait_until(&h->changed, &h->mutex, deadline);
    }
    bool enough = h->delivered >= count;
    sl_unlock(&h->mutex);
    return enough;
}

void io_run_all(io_harness *h)
{
    io_give_credit(h, h->count);
    sl_fetch_wake(h->fetch);
    assert_true(io_wait(h, h->count));
}

void io_restart(io_harness *h)
{
    sl_fetch_restart(h->fetch);
    sl_lock(&h->mutex);
    memset(h->results, 0, sizeof(h->results));
    h->asked = 0;
    h->delivered = 0;
    h->credit = 0;
    sl_unlock(&h->mutex);
}

void io_expect(io_harness *h, sluice_status status, uint32_t count)
{
    uint32_t found = 0;
    sl_lock(&h->mutex);
    uint32_t wrong = h->wrong;
    uint32_t asked = h->asked;
    sl_unlock(&h->mutex);
    assert_int_equal(wrong, 0);
    for (uint32_t i = 0; i < h->count; i++) {
        assert_int_equal(h->results[i].delivered, i < asked ? 1 : 0);
        found += i < asked && h->results[i].status == status ? 1 : 0;
    }
    assert_int_equal(found, count);
}

sl_fetch_stats io_stats(io_harness *h)
{
    sl_fetch_stats stats;
    sl_fetch_get_stats(h->fetch, &stats);
    return stats;
}

int io_in_child(int (*test)(void *argument), void *argument)
{
    (void)fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(test(argument));
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}
