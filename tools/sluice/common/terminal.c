/* SPDX-License-Identifier: Apache-2.0 */
#include "terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

bool terminal_can_draw(void)
{
    const char *kind = getenv("TERM"); // NOLINT(concurrency-mt-unsafe): nobody sets it here
    return isatty(STDERR_FILENO) == 1 && kind != NULL && *kind != '\0' && strcmp(kind, "dumb") != 0;
}

int terminal_columns(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
        return 80;
    }
    return size.ws_col;
}
