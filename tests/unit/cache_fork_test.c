/* SPDX-License-Identifier: Apache-2.0 */
/* A child forked while other threads open the chunk cache can open it too. */
#include "chunk_cache.h"
#include "chunk_file.h"
#include "chunk_list.h"
#include "test.h"
#include "test_folder.h"
#include "thread.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FORKS = 30, PATIENCE_S = 60 };

TEST_GROUP(test_folder_make, test_folder_remove)

typedef struct opener {
    sl_thread thread;
    _Atomic bool stop;
    char folder[512];
} opener;

static void open_again_and_again(void *argument)
{
    opener *self = argument;
    while (!atomic_load_explicit(&self->stop, memory_order_relaxed)) {
        sluice_error error;
        sl_chunk_cache *cache;
        if (sl_chunk_cache_open(&cache, self->folder, 1 << 20, &error) == SLUICE_OK) {
            sl_chunk_cache_close(cache);
        }
    }
}

static int open_once(const char *folder)
{
    sluice_error error;
    sl_chunk_cache *cache;
    (void)alarm(PATIENCE_S); /* instead of hanging */
    const sluice_status status = sl_chunk_cache_open(&cache, folder, 1 << 20, &error);
    sl_chunk_cache_close(cache);
    return status == SLUICE_OK ? 0 : 1;
}

TEST(a_child_opens_what_its_parent_is_opening)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* a thread may hold its allocator's locks during the fork */
#endif
    static opener self;
    sluice_error error;
    (void)snprintf(self.folder, sizeof(self.folder), "%s", test_path("cache"));
    assert_int_equal(sl_thread_start(&self.thread, "opener", open_again_and_again, &self, &error),
                     SLUICE_OK);
    for (int i = 0; i < FORKS; i++) {
        int status = -1;
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            _exit(open_once(self.folder));
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    atomic_store_explicit(&self.stop, true, memory_order_relaxed);
    sl_thread_join(&self.thread);
}

/* Reports when it holds a chunk's part open, until it is killed. */
static void hold_part(const char *path, int say)
{
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    (void)alarm(PATIENCE_S);
    if (fd >= 0 && write(say, "", 1) == 1) {
        (void)pause();
    }
    _exit(1);
}

TEST(the_writer_of_a_folder_is_found)
{
    char part[512];
    char said;
    int ends[2];
    assert_int_equal(mkdir(test_path("kept"), 0700), 0);
    assert_int_equal(mkdir(test_path("kept2"), 0700), 0);
    (void)snprintf(part, sizeof(part), "%s/chunk" SL_CHUNK_PART, test_path("kept2"));
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        hold_part(part, ends[1]);
    }
    assert_int_equal(read(ends[0], &said, 1), 1);
    const long found = sl_chunk_find_writer(test_path("kept2"));
    const long other = sl_chunk_find_writer(test_path("kept"));
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    (void)close(ends[0]);
    (void)close(ends[1]);
    assert_int_equal(found, child);
    assert_int_equal(other, 0);
}
