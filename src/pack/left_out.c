/* SPDX-License-Identifier: Apache-2.0 */
/*
 * left_out: the lists of rejected samples beside shards. One owner. A list is on disk before its
 * shard.
 */
#include "left_out.h"

#include "dataset.h"
#include "error.h"
#include "file.h"
#include "memory.h"
#include "option_text.h"
#include "rejected.h"
#include "shard_format.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STAGE      "pack"
#define ID_LINE    "id=%016" PRIx64 "\n"
#define LINE_BYTES (SL_REJECTED_BYTES + 32) /* a position precedes it */

static sluice_status left_out_fail(const char *path, const char *what, sluice_error *error)
{
    return sl_error_file(error, SLUICE_IO, STAGE, errno, path, -1, "cannot %s", what);
}

static sluice_status left_out_no_memory(sluice_error *error)
{
    return sl_no_memory(error, STAGE, "for the rejected samples");
}

static sluice_status left_out_begin(sl_left_out *left_out, uint32_t number, sluice_error *error)
{
    int fd = -1;
    (void)snprintf(left_out->name, sizeof(left_out->name), SL_LEFT_OUT_FORMAT, number);
    sluice_status status =
        sl_output_name(left_out->output, left_out->name, true, left_out->path, error);
    if (status == SLUICE_OK) {
        status = sl_output_create(left_out->output, left_out->name, &fd, error);
    }
    if (status < 0) {
        return status;
    }
    left_out->file = sl_rejected_open(fd);
    if (left_out->file == NULL) {
        status = left_out_fail(left_out->path, "write the file", error);
        (void)close(fd);
        sl_output_discard(left_out->output, left_out->name);
    }
    if (status == SLUICE_OK && fprintf(left_out->file, ID_LINE, left_out->shard_id) < 0) {
        status = left_out_fail(left_out->path, "write the file", error);
    }
    return status;
}

sluice_status sl_left_out_add(sl_left_out *left_out, uint32_t number, uint64_t position,
                              const char *key, const sluice_error *reason, sluice_error *error)
{
    assert(strlen(key) <= SL_KEY_MAX);
    sluice_status status =
        left_out->file == NULL ? left_out_begin(left_out, number, error) : SLUICE_OK;
    if (status < 0) {
        return status;
    }
    char *line = sl_malloc(SL_REJECTED_BYTES);
    if (line == NULL) {
        return left_out_no_memory(error);
    }
    (void)sl_rejected_format(line, key, reason);
    const bool good = fprintf(left_out->file, "%" PRIu64 "\t%s\n", position, line) > 0;
    sl_free(line);
    left_out->count++;
    return good ? SLUICE_OK : left_out_fail(left_out->path, "write the file", error);
}

sluice_status sl_left_out_publish(sl_left_out *left_out, sluice_error *error)
{
    if (left_out->file == NULL) {
        return SLUICE_OK;
    }
    if (fflush(left_out->file) != 0) {
        return left_out_fail(left_out->path, "write the file", error);
    }
    sluice_status status =
        sl_output_sync(left_out->output, left_out->name, fileno(left_out->file), error);
    if (status == SLUICE_OK) {
        status = sl_output_publish(left_out->output, left_out->name, error);
    }
    if (status == SLUICE_OK) {
        (void)fclose(left_out->file);
        *left_out = (sl_left_out){.output = left_out->output, .shard_id = left_out->shard_id};
    }
    return status;
}

void sl_left_out_close(sl_left_out *left_out)
{
    if (left_out->file != NULL) {
        (void)fclose(left_out->file);
        sl_output_discard(left_out->output, left_out->name);
    }
    left_out->file = NULL;
}

/* Returns the n-th tab-separated part of a line; "" if there are fewer. */
static const char *left_out_part(const char *line, unsigned n)
{
    while (n > 0 && *line) {
        n -= *line == '\t';
        line++;
    }
    return line;
}

static void left_out_describe(const char *line, sluice_error *earliest)
{
    const char *key = left_out_part(line, 1);
    const char *reason = left_out_part(line, 4);
    sl_error_set(earliest, SLUICE_CORRUPT, STAGE,
                 "\"%.*s\" was rejected by an earlier run (%.*s): continue with " SL_OPTION(
                     "on_bad") " skip, or fix it and start over",
                 (int)strcspn(key, "\t"), key, (int)strcspn(reason, "\n"), reason);
}

/* Returns whether the line is complete, and its position. */
static bool left_out_parse(const char *line, uint64_t *position)
{
    char *end;
    *position = strtoull(line, &end, 10);
    const size_t length = strlen(line);
    return *end == '\t' && *left_out_part(line, 4) != '\0' && line[length - 1] == '\n';
}

/* Opens the file, and allocates its lines. END: it does not exist. */
static sluice_status open_lines(const sl_left_out_file *file, FILE **lines, char **line,
                                sluice_error *error)
{
    char name[32];
    char path[SL_OUTPUT_PATH_BYTES];
    int fd;
    sluice_error reason;
    (void)snprintf(name, sizeof(name), SL_LEFT_OUT_FORMAT, file->number);
    sluice_status status = sl_output_name(file->output, name, false, path, error);
    if (status < 0) {
        return status;
    }
    status = sl_file_open((sl_file_name){STAGE, path}, &fd, NULL, &reason);
    if (status < 0) {
        if (error != NULL && reason.sys_errno != ENOENT) {
            *error = reason;
        }
        return reason.sys_errno == ENOENT ? SLUICE_END : status;
    }
    *lines = fdopen(fd, "r");
    *line = sl_malloc(LINE_BYTES);
    if (*lines != NULL && *line != NULL) {
        return SLUICE_OK;
    }
    sl_free(*line);
    if (*lines != NULL) {
        (void)fclose(*lines);
    } else {
        (void)close(fd);
    }
    return left_out_no_memory(error);
}

/* Returns whether the first line is this pack's. */
static bool left_out_is_ours(const sl_left_out_file *file, FILE *lines, char *line)
{
    char wanted[32];
    (void)snprintf(wanted, sizeof(wanted), ID_LINE, file->shard_id);
    return fgets(line, LINE_BYTES, lines) != NULL && strcmp(line, wanted) == 0;
}

sluice_status sl_left_out_read(const sl_left_out_file *file, uint64_t *count,
                               sluice_error *earliest, FILE *to, sluice_error *error)
{
    FILE *lines;
    char *line;
    uint64_t position;
    uint64_t next = file->first;
    *count = 0;
    const sluice_status status = open_lines(file, &lines, &line, error);
    if (status != SLUICE_OK) {
        return status;
    }
    bool good = left_out_is_ours(file, lines, line);
    bool written = true;
    while (good && written && fgets(line, LINE_BYTES, lines) != NULL) {
        good = left_out_parse(line, &position) && position >= next && position < file->end;
        if (good && *count == 0 && earliest != NULL) {
            left_out_describe(line, earliest);
        }
        written = !good || to == NULL || fputs(left_out_part(line, 1), to) >= 0;
        *count += good;
        next = position + 1;
    }
    good = good && !ferror(lines);
    sl_free(line);
    (void)fclose(lines);
    if (!written) {
        return left_out_fail(file->output->path, "write " SL_REJECTED_NAME, error);
    }
    return good ? SLUICE_OK : SLUICE_END;
}
