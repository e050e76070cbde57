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

/* The kernel writes addresses in lower case. */
static char small(char letter)
{
    return (char)tolower((unsigned char)letter);
}

/* Reads a small file of the kernel as a string. Returns false if it does not exist or is longer. */
static bool numa_read_text(const char *path, char *text, size_t bytes)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t length = 0;
    if (fd < 0) {
        return false;
    }
    ssize_t got;
    while ((got = read(fd, text + length, bytes - length)) > 0) {
        length += (size_t)got;
    }
    close(fd);
    if (got < 0 || length == bytes) {
        return false;
    }
    text[length] = '\0';
    return true;
}

int sl_numa_of_pci(const char *pci)
{
    char path[96];
    char text[16];
    char lower[32];
    size_t length = 0;
    for (; pci[length] != '\0' && length < sizeof(lower) - 1; length++) {
        lower[length] = small(pci[length]);
    }
    lower[length] = '\0';
    snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/numa_node", lower);
    return numa_read_text(path, text, sizeof(text)) ? (int)strtol(text, NULL, 10) : -1;
}

bool sl_numa_processors(int node, sl_processors *processors)
{
    char path[96];
    char list[4096]; /* a page: the kernel returns no more */
    snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/cpulist", node);
    return numa_read_text(path, list, sizeof(list)) && sl_processors_parse(processors, list);
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
