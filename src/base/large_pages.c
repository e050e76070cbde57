/* SPDX-License-Identifier: Apache-2.0 */
#include "large_pages.h"

#include <stdint.h>
#include <sys/mman.h>

#define LARGE_PAGE ((uintptr_t)2 << 20)

void sl_large_pages_ask(void *memory, size_t bytes)
{
    /* The pages that lie wholly inside. */
    const uintptr_t begin = (uintptr_t)memory;
    const uintptr_t first = (begin + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
    const uintptr_t end = (begin + bytes) / LARGE_PAGE * LARGE_PAGE;
    if (bytes >= SL_LARGE_PAGES_LEAST && first < end) {
        (void)madvise((uint8_t *)memory + (first - begin), end - first, MADV_HUGEPAGE);
    }
}
