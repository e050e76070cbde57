/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_ptx PTXAS: checks that the toolkit's assembler accepts the PTX kernels (of a GPU step and of
 * this folder's checks), in a version that every driver accepts. Skipped without an assembler. */
#include "../../tools/sluice/bench/gpu_kernel.h"
#include "kernels.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int assemble(const char *ptxas, const char *file, const char *architecture)
{
    const pid_t child = fork();
    if (child == 0) {
        execl(ptxas, ptxas, "-arch", architecture, file, "-o", "/dev/null", (char *)NULL);
        _exit(127);
    }
    int status = -1;
    waitpid(child, &status, 0);
    printf("%s: %s\n", architecture, status == 0 ? "fine" : "refused");
    return status;
}

/* From CUDA 12.0, the oldest driver that the library accepts. */
static bool is_old(const char *ptx)
{
    static const char word[] = ".version ";
    return strncmp(ptx, word, sizeof(word) - 1) == 0 && strtod(ptx + sizeof(word) - 1, NULL) <= 8.0;
}

static bool assembles(const char *ptxas, const char *ptx)
{
    static const char *const architectures[] = {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90"};
    char file[] = "/tmp/sluice-ptx-XXXXXX";
    const int fd = mkstemp(file);
    const ssize_t length = (ssize_t)strlen(ptx);
    bool fine = fd >= 0 && write(fd, ptx, (size_t)length) == length;
    for (size_t i = 0; fine && i < sizeof(architectures) / sizeof(architectures[0]); i++) {
        fine = assemble(ptxas, file, architectures[i]) == 0;
    }
    if (fd >= 0) {
        close(fd);
        unlink(file);
    }
    return fine;
}

int main(int argc, char **argv)
{
    char entry[64];
    snprintf(entry, sizeof entry, ".entry %s(", gpu_spin_name);
    if (strstr(gpu_spin_ptx, entry) == NULL) {
        printf("the kernel is not called %s\n", gpu_spin_name);
        return 1;
    }
    if (!is_old(gpu_spin_ptx) || !is_old(gpu_kernels_ptx)) {
        printf("a version of PTX that old drivers refuse\n");
        return 1;
    }
    if (argc < 2 || access(argv[1], X_OK) != 0) {
        printf("skipped: no ptxas here\n");
        return 77;
    }
    return assembles(argv[1], gpu_spin_ptx) && assembles(argv[1], gpu_kernels_ptx) ? 0 : 1;
}
