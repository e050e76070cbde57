/* SPDX-License-Identifier: Apache-2.0 */
/* Memory near a device: asks the kernel how it applied the requests. */
#include "numa.h"
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BYTES     ((size_t)4 << 20)
#define PCI_PATH  "/sys/bus/pci/devices"
#define NODE_BITS 1024

TEST(prefers_the_node)
{
    int mode = -1;
    unsigned long nodes[NODE_BITS / (8 * sizeof(unsigned long))] = {0};
    uint8_t *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    memset(memory, 1, BYTES);
    const int refused = sl_numa_prefer(memory, BYTES, 0);
    if (refused == ENOSYS || refused == EPERM) {
        munmap(memory, BYTES);
        print_message("memory policies are not allowed here\n");
        skip();
    }
    assert_int_equal(refused, 0);
    assert_int_equal(syscall(SYS_get_mempolicy, &mode, nodes, NODE_BITS, memory + BYTES - 1,
                             (unsigned long)MPOL_F_ADDR),
                     0);
    assert_int_equal(mode, MPOL_PREFERRED);
    assert_int_equal(nodes[0], 1);
    assert_int_equal(memory[BYTES / 2], 1);
    munmap(memory, BYTES);
}

TEST(refuses_nonsense)
{
    uint8_t byte = 0;
    assert_int_equal(sl_numa_prefer(&byte, 1, -1), EINVAL);
    assert_int_equal(sl_numa_prefer(&byte, 1, 100000), EINVAL);
    sl_processors none;
    assert_false(sl_numa_processors(-1, &none));
    assert_false(sl_numa_processors(100000, &none));
    assert_int_equal(sl_numa_of_pci(""), -1);
    assert_int_equal(sl_numa_of_pci("ffff:ff:1f.7"), -1);
    assert_int_equal(sl_numa_of_pci("a name that is longer than any PCI address can be"), -1);
}

/* Returns the output of `cat numa_node`. */
static int node_by_shell(const char *name)
{
    char path[300];
    int node = -2;
    snprintf(path, sizeof(path), PCI_PATH "/%.200s/numa_node", name);
    FILE *file = fopen(path, "re");
    if (file != NULL) {
        if (fscanf(file, "%d", &node) != 1) { /* NOLINT(cert-err34-c): the kernel wrote it */
            node = -2;
        }
        fclose(file);
    }
    return node;
}

static void make_capitals(char *text)
{
    for (char *at = text; *at != '\0'; at++) {
        if (*at >= 'a' && *at <= 'f') {
            *at = (char)(*at - 'a' + 'A');
        }
    }
}

/* The driver writes addresses in capital letters, the kernel in lower case. */
TEST(finds_the_node_of_a_device)
{
    DIR *folder = opendir(PCI_PATH);
    int devices = 0;
    for (struct dirent *entry = folder != NULL ? readdir(folder) : NULL; entry != NULL;
         entry = readdir(folder)) {
        const int node = node_by_shell(entry->d_name);
        if (entry->d_name[0] != '.' && node > -2) {
            make_capitals(entry->d_name);
            assert_int_equal(sl_numa_of_pci(entry->d_name), node);
            devices++;
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    if (devices == 0) {
        print_message("no PCI devices here\n");
        skip();
    }
}

/* All online CPUs belong to a node. A container may show fewer than exist. */
TEST(nodes_have_processors)
{
    uint32_t found = 0;
    for (int node = 0; node < NODE_BITS; node++) {
        sl_processors processors;
        if (sl_numa_processors(node, &processors)) {
            found += sl_processors_count(&processors);
        }
    }
    if (found == 0) {
        print_message("the kernel knows no nodes here\n");
        skip();
    }
    assert_true(found >= (uint32_t)sysconf(_SC_NPROCESSORS_ONLN));
}
