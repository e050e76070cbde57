/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of a GPU step is PTX that the toolkit's assembler accepts. `tool_gpu_kernel_test
 * PTXAS`; without an assembler it is skipped. */
#include "../../tools/sluice/bench/gpu_kernel.h"

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

int main(int argc, char **argv)
{
    char file[] = "/tmp/sluice-ptx-XXXXXX";
    char entry[64];
    snprintf(entry, sizeof entry, ".entry %s(", gpu_spin_name);
    if (strstr(gpu_spin_ptx, entry) == NULL) {
        printf("the kernel is not called %s\n", gpu_spin_name);
        return 1;
    }
    if (argc < 2 || access(argv[1], X_OK) != 0) {
        printf("skipped: no ptxas here\n");
        return 77;
    }
    const int fd = mkstemp(file);
    const ssize_t length = (ssize_t)strlen(gpu_spin_ptx);
    const bool written = fd >= 0 && write(fd, gpu_spin_ptx, (size_t)length) == length;
    const bool refused =
        !written || assemble(argv[1], file, "sm_75") != 0 || assemble(argv[1], file, "sm_90") != 0;
    if (fd >= 0) {
        close(fd);
        unlink(file);
    }
    return refused ? 1 : 0;
}
