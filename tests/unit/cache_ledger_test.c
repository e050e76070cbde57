/* SPDX-License-Identifier: Apache-2.0 */
/* Tests a ledger that another process removes after it was opened and before it is locked. */
#include "chunk_ledger.h"
#include "test_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COST = 4096, QUOTA = 1 << 20, BYTE_CHANGE = 0 };

static const sl_chunk_folder *folder;
static uint32_t removals; /* how often the ledger is removed before it is locked */
static uint32_t named;    /* chunks that were named */

int __real_sl_chunk_lock(int fd, short type, off_t byte);
int __wrap_sl_chunk_lock(int fd, short type, off_t byte);

int __wrap_sl_chunk_lock(int fd, short type, off_t byte)
{
    if (type == F_WRLCK && byte == BYTE_CHANGE && removals > 0) {
        removals--;
        assert_int_equal(unlinkat(folder->fd, "ledger", 0), 0);
    }
    return __real_sl_chunk_lock(fd, type, byte);
}

static int name_chunk(void *ctx)
{
    (void)ctx;
    named++;
    return 0;
}

/* Adds a chunk while the ledger is removed `times` times. */
static int add_chunk(sl_chunk_ledger *ledger, uint32_t times)
{
    removals = times;
    const int failed = sl_chunk_ledger_add(ledger, COST, name_chunk, NULL);
    assert_int_equal(removals, 0);
    return failed;
}

TEST_WITH(a_removed_ledger_is_opened_again, test_folder_make, test_folder_remove)
{
    sl_chunk_folder opened;
    sl_chunk_ledger ledger;
    sl_chunk_count count;
    assert_int_equal(sl_chunk_folder_open(&opened, test_path("cache"), true, NULL), SLUICE_OK);
    folder = &opened;
    assert_int_equal(sl_chunk_ledger_open(&ledger, folder, QUOTA), 0);
    assert_int_equal(add_chunk(&ledger, 0), 0);
    for (uint32_t times = 1; times <= 2; times++) {
        assert_int_equal(add_chunk(&ledger, times), 0);
        assert_true(sl_chunk_ledger_read(&ledger, &count));
        assert_int_equal(count.kept, COST); /* the new ledger found no files to count */
        assert_int_equal(faccessat(folder->fd, "ledger", F_OK, 0), 0);
    }
    assert_int_equal(named, 3);
    assert_int_equal(add_chunk(&ledger, 3), -EAGAIN); /* the last attempt failed */
    assert_int_equal(named, 3);
    assert_int_equal(add_chunk(&ledger, 0), 0);
    sl_chunk_ledger_close(&ledger);
    sl_chunk_folder_close(&opened);
}
