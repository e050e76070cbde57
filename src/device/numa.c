/* SPDX-License-Identifier: Apache-2.0 */
#include "numa.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NODES_MAX 1024
#define WORD_BITS (8 * sizeof(unsigned long))

/* The kernel writes addresses in small letters. */
static char small(char letter)
{
    return (char)tolower((unsigned char)letter);
}

int sl_numa_of_pci(const char *pci)
{
    char path[96];
    char text[16] = "";
    char lower[32];
    size_t length = 0;
    for (; pci[length] != '\0' && length < sizeof(lower) - 1; length++) {
        lower[length] = small(pci[length]);
    }
    lower[length] = '\0';
    snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/numa_node", lower);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return -1;
    }
    const ssize_t got = read(fd, text, sizeof(text) - 1);
    close(fd);
    return got > 0 ? (int)strtol(text, NULL, 10) : -1;
}

int sl_numa_prefer(void *memory, size_t bytes, int node)
{
    unsigned long mask[NODES_MAX / WORD_BITS] = {0};
    if (node < 0 || node >= NODES_MAX) {
        return EINVAL;
    }
    mask[(size_t)node / WORD_BITS] = 1UL << ((size_t)node % WORD_BITS);
    /* The C library has no mbind. */
    const long result = syscall(SYS_mbind, memory, bytes, MPOL_PREFERRED, mask,
                                (unsigned long)NODES_MAX + 1, MPOL_MF_MOVE);
    return result == 0 ? 0 : errno;
}
