/* SPDX-License-Identifier: Apache-2.0 */
#include "share.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void bench_share_write(const struct bench_share *share, char *text, size_t bytes)
{
    snprintf(text, bytes, "%d %" PRIu64 " %.17g %.17g %.17g %.17g %.17g %.17g\n%s\n%s\n",
             (int)share->failed, share->samples, share->seconds, share->rows_per_s,
             share->delivered_per_s, share->cpu_ms, share->first_batch_ms, share->peak_rss_mib,
             share->machine, share->verdict);
}

/* One line of `text`, cut to `bytes`; returns what follows, or NULL. */
static const char *read_line(const char *text, char *line, size_t bytes)
{
    const char *end = strchr(text, '\n');
    if (end == NULL) {
        return NULL;
    }
    snprintf(line, bytes, "%.*s", (int)(end - text), text);
    return end + 1;
}

bool bench_share_read(const char *text, struct bench_share *share)
{
    int failed = 0;
    int length = 0;
    *share = (struct bench_share){0};
    const int numbers = sscanf( // NOLINT(cert-err34-c): counted
        text, "%d %" SCNu64 " %lg %lg %lg %lg %lg %lg%n", &failed, &share->samples, &share->seconds,
        &share->rows_per_s, &share->delivered_per_s, &share->cpu_ms, &share->first_batch_ms,
        &share->peak_rss_mib, &length);
    share->failed = failed != 0;
    if (numbers != 8 || text[length] != '\n') {
        return false;
    }
    const char *rest = read_line(text + length + 1, share->machine, sizeof share->machine);
    return rest != NULL && read_line(rest, share->verdict, sizeof share->verdict) != NULL;
}
