/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>

#include "cached_pages.h"
#include "test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

cached_pages cached_pages_of(const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat facts = {.st_size = 0};
    assert_true(fd >= 0 && fstat(fd, &facts) == 0 && facts.st_size > 0);
    const size_t bytes = (size_t)facts.st_size;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    cached_pages found = {.all = (bytes + page - 1) / page};
    unsigned char *in_core = calloc(found.all, 1);
    void *mapped = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    assert_true(in_core != NULL && mapped != MAP_FAILED);
    assert_int_equal(mincore(mapped, bytes, in_core), 0);
    for (uint64_t i = 0; i < found.all; i++) {
        found.cached += in_core[i] & 1;
    }
    assert_int_equal(munmap(mapped, bytes), 0);
    free(in_core);
    close(fd);
    return found;
}

void cached_pages_fill(const char *path)
{
    char block[4096];
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && fsync(fd) == 0);
    ssize_t got;
    while ((got = read(fd, block, sizeof(block))) > 0) {
    }
    assert_int_equal(got, 0);
    close(fd);
}

bool cached_pages_can_go(const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0);
    close(fd);
    const bool gone = cached_pages_of(path).cached == 0;
    cached_pages_fill(path);
    return gone;
}
