/* SPDX-License-Identifier: Apache-2.0 */
/* A child that was forked while other threads open the chunk cache can open it, too. */
#include "chunk_cache.h"
#include "test.h"
#include "test_folder.h"
#include "thread.h"

#include <stdatomic.h>
#include <stdio.h>
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
