/* SPDX-License-Identifier: Apache-2.0 */
#include "terminal.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Relaxed: orders nothing, output goes to one descriptor. */
static atomic_bool bar_stands;

void terminal_put_bar(void)
{
    atomic_store_explicit(&bar_stands, true, memory_order_relaxed);
}

bool terminal_take_bar(void)
{
    return atomic_exchange_explicit(&bar_stands, false, memory_order_relaxed);
}

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
