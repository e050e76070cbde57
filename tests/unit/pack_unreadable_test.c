/* SPDX-License-Identifier: Apache-2.0 */
/* Tests verify, and pack's reading back, on shards that the disk returns only in part: nothing that
 * could not be read is reported good. */
#include "pack_setup.h"
#include "packed.h"
#include "shard_bytes.h"
#include "test.h"
#include "unpack.h"

#include <sluice/sluice.h>

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, SAMPLES = 1200, NEVER = -1, ALWAYS = 0 };

/* Selects the reads that fail with EIO: whole pages from this byte of a file on, except for the
 * first `spared` of them. */
static off_t broken_from = NEVER;
static _Atomic int spared;

/* Reads that fail once each, one in so many (0: none): a thread's next read is its retry, which
 * succeeds. Also, the inodes of files that always fail. */
static int blink_every, blink_error;
static _Atomic int blinks;
static _Thread_local bool blinked;
static ino_t dead_inode;

static bool is_dead(int fd)
{
    struct stat facts;
    return dead_inode != 0 && fstat(fd, &facts) == 0 && facts.st_ino == dead_inode;
}

/* The linker chose these names (--wrap).
 * NOLINTBEGIN(*-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming) */
ssize_t __real_pread(int fd, void *to, size_t bytes, off_t offset);
ssize_t __wrap_pread(int fd, void *to, size_t bytes, off_t offset);

ssize_t __wrap_pread(int fd, void *to, size_t bytes, off_t offset)
{
    if (broken_from != NEVER && offset >= broken_from && bytes % PAGE == 0 &&
        atomic_fetch_sub_explicit(&spared, 1, memory_order_relaxed) <= 0) {
        errno = EIO;
        return -1;
    }
    blinked = blink_every > 0 && !blinked &&
              atomic_fetch_add_explicit(&blinks, 1, memory_order_relaxed) % blink_every == 0;
    if (blinked) {
        errno = blink_error;
        return -1;
    }
    if (is_dead(fd)) {
        errno = EIO;
        return -1;
    }
    return __real_pread(fd, to, bytes, offset);
}

int __wrap_clock_nanosleep(clockid_t clock, int flags, const struct timespec *until,
                           struct timespec *left);

/* Retries failed reads without a delay. */
int __wrap_clock_nanosleep(clockid_t clock, int flags, const struct timespec *until,
                           struct timespec *left)
{
    (void)clock;
    (void)flags;
    (void)until;
    (void)left;
    return 0;
}

/* NOLINTEND(*-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming) */

typedef struct findings {
    uint64_t count, io, with_sample, unseen;
} findings;

/* Runs on a worker's thread, so it must not assert. */
static void note_finding(void *user, const sluice_error *finding)
{
    findings *f = user;
    f->count++;
    f->io += finding->status == SLUICE_IO && finding->sys_errno == EIO;
    f->with_sample += finding->sample >= 0;
    f->unseen += strstr(finding->text, "could not be checked") != NULL;
}

/* Reads from byte `from` on fail, except for the first `first` of them. */
static sluice_verify_result verify(const char *path, off_t from, int first, findings *seen)
{
    sluice_dataset *dataset;
    const sluice_verify_options options = {
        .struct_size = sizeof(options), .workers = 2, .on_finding = note_finding, .user = seen};
    sluice_verify_result result = SLUICE_VERIFY_RESULT_INIT;
    memset(seen, 0, sizeof(*seen));
    assert_int_equal(sluice_dataset_open(&dataset, &path, 1, NULL, NULL), SLUICE_OK);
    atomic_store_explicit(&spared, first, memory_order_relaxed);
    broken_from = from;
    assert_int_equal(sluice_dataset_verify(dataset, &options, &result, NULL), SLUICE_OK);
    broken_from = NEVER;
    assert_int_equal(result.bad, seen->count);
    sluice_dataset_info info = {.struct_size = sizeof(info)};
    assert_int_equal(sluice_dataset_get_info(dataset, &info), SLUICE_OK);
    assert_int_equal(seen->unseen, result.samples != info.samples);
    sluice_dataset_close(dataset);
    return result;
}

TEST(what_cannot_be_read_is_not_good)
{
    char folder[256];
    file_bytes shard;
    findings seen;
    temporary_directory(folder, sizeof(folder));
    packed_make(folder, &(packed_options){.samples = SAMPLES, .classes = 3});
    file_load(&shard, folder, "shard-000000.sluice");
    const off_t index = (off_t)get64(&shard, SHARD_INDEX_OFFSET_AT);
    file_free(&shard);
    assert_int_equal(verify(folder, NEVER, ALWAYS, &seen).bad, 0);
    /* Index blocks, always. */
    sluice_verify_result result = verify(folder, index, ALWAYS, &seen);
    assert_int_equal(result.samples, 0);
    assert_true(seen.io > 0);
    /* Index blocks, after the whole index was read and found good: each sample is reported. */
    result = verify(folder, index, 1, &seen);
    assert_int_equal(result.samples, SAMPLES);
    assert_int_equal(seen.with_sample, SAMPLES);
    assert_int_equal(seen.io, SAMPLES);
    /* The header. */
    result = verify(folder, 0, ALWAYS, &seen);
    assert_int_equal(result.samples, 0);
    assert_true(seen.io > 0);
    remove_tree(folder);
}

/* Another fault of a shard does not explain that its index is unreadable. */
TEST(a_blemish_is_no_excuse)
{
    char folder[256];
    file_bytes shard;
    findings seen;
    temporary_directory(folder, sizeof(folder));
    packed_make(folder, &(packed_options){.samples = SAMPLES, .classes = 3});
    file_load(&shard, folder, "shard-000000.sluice");
    const uint64_t index = get64(&shard, SHARD_INDEX_OFFSET_AT);
    assert_true(sample_at(&shard, SAMPLES) < index);
    file_store_byte(&shard, index - 1, 1); /* padding */
    file_free(&shard);
    assert_int_equal(verify(folder, NEVER, ALWAYS, &seen).bad, 1);
    const sluice_verify_result result = verify(folder, (off_t)index, 1, &seen);
    assert_int_equal(result.samples, SAMPLES);
    assert_int_equal(seen.with_sample, SAMPLES);
    assert_int_equal(seen.count, SAMPLES + 1);
    remove_tree(folder);
}

/* A missing shard is a finding of its own, and nothing in it is checked. */
TEST(what_is_gone_is_not_good)
{
    char folder[256];
    char shard[300];
    findings seen;
    temporary_directory(folder, sizeof(folder));
    packed_make(folder, &(packed_options){.samples = 60, .classes = 3, .shard_bytes = 12900});
    (void)snprintf(shard, sizeof(shard), "%s/shard-000001.sluice", folder);
    assert_int_equal(unlink(shard), 0);
    const sluice_verify_result result = verify(folder, NEVER, ALWAYS, &seen);
    assert_true(result.samples > 0 && result.samples < 60);
    assert_int_equal(result.bad, 2);
    remove_tree(folder);
}

TEST(a_pack_that_cannot_be_read_back_is_not_published)
{
    pack_setup setup;
    char work[256];
    char path[300];
    char manifest[340];
    sluice_error error = SLUICE_ERROR_INIT;
    const sluice_pack_options options = pack_options();
    pack_setup_make(&setup, 3, 8, false);
    temporary_directory(work, sizeof(work));
    (void)snprintf(path, sizeof(path), "%s/pack", work);
    (void)snprintf(manifest, sizeof(manifest), "%s/manifest.sluice", path);
    /* Headers can be read, indexes cannot. */
    atomic_store_explicit(&spared, ALWAYS, memory_order_relaxed);
    broken_from = (off_t)2 * PAGE;
    assert_int_equal(pack_run(&setup, path, &options, NULL, &error), SLUICE_IO);
    assert_int_equal(error.sys_errno, EIO);
    assert_non_null(strstr(error.file, "shard-"));
    assert_int_not_equal(access(manifest, F_OK), 0);
    assert_int_equal(count_names(path, is_temporary), 0);
    broken_from = NEVER;
    /* Only the reading is retried. */
    sluice_pack_result result;
    assert_int_equal(pack_run(&setup, path, &options, &result, &error), SLUICE_OK);
    assert_int_equal(result.resumed_samples, 24);
    assert_int_equal(access(manifest, F_OK), 0);
    remove_tree(work);
    pack_setup_remove(&setup);
}

/* A read that fails once makes no sample bad: nothing is skipped or reported. */
TEST(errors_that_pass)
{
    static const int errors[] = {EIO, ESTALE, EAGAIN};
    pack_setup setup;
    char work[256];
    char path[300];
    pack_setup_make(&setup, 3, 40, false);
    temporary_directory(work, sizeof(work));
    (void)snprintf(path, sizeof(path), "%s/out", work);
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        sluice_error error = SLUICE_ERROR_INIT;
        sluice_pack_result packed;
        sluice_unpack_result unpacked;
        findings seen;
        const sluice_pack_options options = pack_options();
        const sluice_unpack_options unpacking = {.struct_size = sizeof(unpacking),
                                                 .workers = 2,
                                                 .on_bad = SLUICE_PACK_BAD_SKIP,
                                                 .shard_bytes = 1 << 20};
        blink_every = 5;
        blink_error = errors[i];
        assert_int_equal(pack_run(&setup, path, &options, &packed, &error), SLUICE_OK);
        assert_int_equal(packed.rejected, 0);
        assert_int_equal(packed.samples, 120);
        assert_int_equal(verify(path, NEVER, ALWAYS, &seen).bad, 0);
        remove_tree(path);
        assert_int_equal(sl_unpack(setup.dataset, path, &unpacking, &unpacked, &error), SLUICE_OK);
        assert_int_equal(unpacked.rejected, 0);
        assert_int_equal(unpacked.samples, 120);
        blink_every = 0;
        remove_tree(path);
    }
    remove_tree(work);
    pack_setup_remove(&setup);
}

/* Data that stay unreadable end a pack even if bad samples are skipped: the sample may be good. */
TEST(errors_that_stay)
{
    pack_setup setup;
    char work[256];
    char path[300];
    char file[300];
    struct stat facts;
    findings seen;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_pack_result packed;
    sluice_unpack_result unpacked;
    sluice_pack_options options = pack_options();
    sluice_unpack_options unpacking = {.struct_size = sizeof(unpacking),
                                       .workers = 2,
                                       .on_bad = SLUICE_PACK_BAD_SKIP,
                                       .shard_bytes = 1 << 20};
    pack_setup_make(&setup, 2, 12, true); /* the bad ones: one of them is missing */
    temporary_directory(work, sizeof(work));
    (void)snprintf(path, sizeof(path), "%s/out", work);
    photo_folder_file(&setup.photos, 5, file, sizeof(file));
    assert_int_equal(stat(file, &facts), 0);
    dead_inode = facts.st_ino;
    assert_int_equal(options.on_bad, SLUICE_PACK_BAD_SKIP);
    assert_int_equal(pack_run(&setup, path, &options, NULL, &error), SLUICE_IO);
    assert_string_equal(error.file, file);
    assert_true(error.sample >= 0);
    options.on_bad = SLUICE_PACK_BAD_SKIP_ALL;
    assert_int_equal(pack_run(&setup, path, &options, &packed, &error), SLUICE_OK);
    assert_int_equal(packed.rejected, setup.bad + 1);
    remove_tree(path);
    assert_int_equal(sl_unpack(setup.dataset, path, &unpacking, &unpacked, &error), SLUICE_IO);
    assert_string_equal(error.file, file);
    unpacking.on_bad = SLUICE_PACK_BAD_SKIP_ALL;
    assert_int_equal(sl_unpack(setup.dataset, path, &unpacking, &unpacked, &error), SLUICE_OK);
    assert_true(unpacked.rejected >= 2);
    const sluice_verify_result result = verify(setup.photos.path, NEVER, ALWAYS, &seen);
    assert_int_equal(result.unreadable, 1);
    assert_int_equal(result.bad, setup.bad + 1);
    dead_inode = 0;
    remove_tree(work);
    pack_setup_remove(&setup);
}

static int32_t stop(void *user)
{
    (void)user;
    return 1;
}

TEST(what_was_stopped_has_no_result)
{
    char folder[256];
    const char *path = folder;
    sluice_dataset *dataset;
    sluice_error error = SLUICE_ERROR_INIT;
    const sluice_verify_options options = {.struct_size = sizeof(options), .should_stop = stop};
    sluice_verify_result result = SLUICE_VERIFY_RESULT_INIT;
    temporary_directory(folder, sizeof(folder));
    packed_make(folder, &(packed_options){.samples = SAMPLES, .classes = 3});
    assert_int_equal(sluice_dataset_open(&dataset, &path, 1, NULL, NULL), SLUICE_OK);
    assert_int_equal(sluice_dataset_verify(dataset, &options, &result, &error), SLUICE_CANCELED);
    assert_int_equal(error.status, SLUICE_CANCELED);
    assert_int_equal(result.samples, 0);
    sluice_dataset_close(dataset);
    remove_tree(folder);
}
