/* SPDX-License-Identifier: Apache-2.0 */
#include "tar_make.h"

#include <stdio.h>
#include <string.h>

size_t tar_put(uint8_t *to, const char *name, const void *payload, size_t bytes)
{
    const size_t padded = (bytes + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
    uint32_t sum = 0;
    memset(to, 0, TAR_BLOCK + padded);
    (void)snprintf((char *)to, 100, "%s", name);
    (void)snprintf((char *)to + 124, 12, "%011o", (unsigned)bytes & 07777777U);
    memset(to + 148, ' ', 8);
    to[156] = '0';
    (void)snprintf((char *)to + 257, 6, "ustar");
    for (size_t i = 0; i < TAR_BLOCK; i++) {
        sum += to[i];
    }
    (void)snprintf((char *)to + 148, 8, "%06o", sum & 0777777U);
    memcpy(to + TAR_BLOCK, payload, bytes);
    return TAR_BLOCK + padded;
}

size_t tar_put_end(uint8_t *to)
{
    memset(to, 0, (size_t)2 * TAR_BLOCK);
    return (size_t)2 * TAR_BLOCK;
}
