/* SPDX-License-Identifier: Apache-2.0 */
#include "fence.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

fence fence_open(size_t bytes)
{
    fence f = {.page = (size_t)sysconf(_SC_PAGESIZE)};
    f.bytes = (bytes + f.page - 1) / f.page * f.page;
    uint8_t *memory = mmap(NULL, f.bytes + 2 * f.page, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, f.page, PROT_NONE) != 0 ||
        mprotect(memory + f.page + f.bytes, f.page, PROT_NONE) != 0) {
        perror("fence");
        abort();
    }
    f.block = memory + f.page;
    return f;
}

uint8_t *fence_place(const fence *f, size_t bytes, bool end)
{
    return end ? f->block + f->bytes - bytes : f->block;
}

void fence_close(fence *f)
{
    (void)munmap(f->block - f->page, f->bytes + 2 * f->page);
}
