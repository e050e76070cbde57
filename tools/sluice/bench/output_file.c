/* SPDX-License-Identifier: Apache-2.0 */
#include "output_file.h"

#include "files.h"
#include "report.h"

#include <errno.h>
#include <string.h>

static void report_failure(const char *path)
{
    report("%s: cannot be written: %s", path,
           strerror(errno)); // NOLINT(concurrency-mt-unsafe): other threads ask nothing
}

bool output_file_is_writable(const char *path)
{
    if (path == NULL || files_can_write(path)) {
        return true;
    }
    report_failure(path);
    return false;
}

FILE *output_file_open(const char *path)
{
    FILE *stream = fopen(path, "we");
    if (stream == NULL) {
        report_failure(path);
    }
    return stream;
}

bool output_file_close(FILE *stream, const char *path)
{
    const bool flushed = fflush(stream) == 0 && ferror(stream) == 0;
    if (!flushed) {
        report_failure(path);
    }
    if (fclose(stream) != 0 && flushed) {
        report_failure(path);
        return false;
    }
    return flushed;
}
