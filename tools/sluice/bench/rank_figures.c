/* SPDX-License-Identifier: Apache-2.0 */
#include "rank_figures.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void rank_figures_write(const struct rank_figures *figures, char *text, size_t bytes)
{
    snprintf(text, bytes, "%d %" PRIu64 " %.17g %.17g %.17g %.17g %.17g %.17g\n%s\n%s\n",
             (int)figures->failed, figures->samples, figures->seconds, figures->rows_per_s,
             figures->delivered_per_s, figures->cpu_ms, figures->first_batch_ms,
             figures->peak_rss_mib, figures->machine, figures->verdict);
}

/* Reads one line of `text`, cut to `bytes`; returns the rest, or NULL. */
static const char *read_line(const char *text, char *line, size_t bytes)
{
    const char *end = strchr(text, '\n');
    if (end == NULL) {
        return NULL;
    }
    snprintf(line, bytes, "%.*s", (int)(end - text), text);
    return end + 1;
}

bool rank_figures_read(const char *text, struct rank_figures *figures)
{
    int failed = 0;
    int length = 0;
    *figures = (struct rank_figures){0};
    const int numbers = sscanf( // NOLINT(cert-err34-c): counted
        text, "%d %" SCNu64 " %lg %lg %lg %lg %lg %lg%n", &failed, &figures->samples,
        &figures->seconds, &figures->rows_per_s, &figures->delivered_per_s, &figures->cpu_ms,
        &figures->first_batch_ms, &figures->peak_rss_mib, &length);
    figures->failed = failed != 0;
    if (numbers != 8 || text[length] != '\n') {
        return false;
    }
    const char *rest = read_line(text + length + 1, figures->machine, sizeof figures->machine);
    return rest != NULL && read_line(rest, figures->verdict, sizeof figures->verdict) != NULL;
}
