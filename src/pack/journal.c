/* SPDX-License-Identifier: Apache-2.0 */
#include "journal.h"

#include "checksum.h"
#include "dataset.h"
#include "error.h"
#include "file.h"
#include "jpeg_retile.h"
#include "memory.h"
#include "rejected.h"
#include "shard_format.h"
#include "tile_interval.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STAGE           "pack"
#define LINE_BYTES      (SL_REJECTED_BYTES + 64) /* a checksum and a position before it */
#define CHECKSUM_DIGITS 16
#define HEAD_LINES      2u
#define FRAMED_NAME     "framed="

/* What happens to JPEGs, pictures of other sizes than asked for apart. */
static void head_of_jpegs(const sl_pack_parameters *p, char *head, size_t room)
{
    if (p->keep_bytes || p->raw) {
        (void)snprintf(head, room, "\tjpeg=%s", p->raw ? "decoded" : "kept");
        return;
    }
    const size_t length = (size_t)snprintf(head, room, "\tjpeg=retiled\tmetadata=%s",
                                           p->drop_metadata ? "drop" : "keep");
    if (p->tile_mcus > 0) {
        (void)snprintf(head + length, room - length, "\ttile=%" PRIu32 "mcu", p->tile_mcus);
    } else {
        /* an automatic choice is known by what it aims at, and by its rule */
        (void)snprintf(head + length, room - length, "\ttile=%upx\tform=%d", SL_TILE_PIXELS,
                       SL_JPEG_FASTEST_RULE);
    }
}

void sl_journal_head(const sl_pack_parameters *p, char head[SL_JOURNAL_HEAD_BYTES])
{
    (void)snprintf(head, SL_JOURNAL_HEAD_BYTES,
                   "sluice-pack 2\tdataset=%016" PRIx64 "\tsamples=%" PRIu64
                   "\tshard_bytes=%" PRIu64 "\tseed=%" PRIu64 "\torder=%s\tzstd_level=%" PRId32,
                   p->fingerprint, p->samples, p->shard_bytes, p->seed,
                   p->keep_order ? "kept" : "shuffled", p->zstd_level);
    size_t length = strlen(head);
    head_of_jpegs(p, head + length, SL_JOURNAL_HEAD_BYTES - length);
    length = strlen(head);
    if (p->max_side > 0) {
        (void)snprintf(head + length, SL_JOURNAL_HEAD_BYTES - length,
                       "\tmax_side=%" PRIu32 "\tquality=%" PRIu32, p->max_side, p->quality);
        length = strlen(head);
    }
    if (p->raw_share > 0) {
        /* as a whole number, which no locale writes otherwise */
        (void)snprintf(head + length, SL_JOURNAL_HEAD_BYTES - length, "\traw_share=%" PRIu64 "e-18",
                       (uint64_t)(p->raw_share * 1e18));
    }
}

static sluice_status fail(const sl_journal *journal, const char *what, sluice_error *error)
{
    return sl_error_file(error, SLUICE_IO, STAGE, errno, journal->path, -1, "cannot %s", what);
}

static sluice_status open_stream(sl_journal *journal, sluice_error *error)
{
    journal->file = fopen(journal->path, "r+e");
    return journal->file != NULL ? SLUICE_OK : fail(journal, "open the journal", error);
}

static sluice_status begin(sl_journal *journal, const sl_output *output, sluice_error *error)
{
    *journal = (sl_journal){.output = output};
    return sl_output_name(output, SL_JOURNAL_NAME, false, journal->path, error);
}

sluice_status sl_journal_create(sl_journal *journal, const sl_output *output,
                                const sl_journal_begin *beginning, sluice_error *error)
{
    int fd = -1;
    char line[SL_JOURNAL_HEAD_BYTES + 40];
    int length = snprintf(line, sizeof(line), "%s\n" FRAMED_NAME "%016" PRIx64 "\n",
                          beginning->head, beginning->framed);
    sluice_status status = begin(journal, output, error);
    if (status == SLUICE_OK) {
        status = sl_output_create(output, SL_JOURNAL_NAME, &fd, error);
    }
    if (status == SLUICE_OK) {
        status =
            sl_file_write(fd, (sl_file_name){STAGE, journal->path}, line, (size_t)length, 0, error);
    }
    if (status == SLUICE_OK) {
        status = sl_output_sync(output, SL_JOURNAL_NAME, fd, error);
    }
    if (status == SLUICE_OK) {
        status = sl_output_publish(output, SL_JOURNAL_NAME, error);
    }
    if (status < 0) {
        sl_output_discard(output, SL_JOURNAL_NAME);
    }
    sl_file_close(fd);
    if (status == SLUICE_OK) {
        status = open_stream(journal, error);
    }
    if (status == SLUICE_OK && fseeko(journal->file, 0, SEEK_END) != 0) {
        status = fail(journal, "read the journal", error);
    }
    return status;
}

/* Says which parameter is another one. */
static sluice_status explain_difference(const sl_journal *journal, const char *old,
                                        const char *wanted, sluice_error *error)
{
    size_t start = 0;
    size_t i = 0;
    while (old[i] && old[i] == wanted[i]) {
        start = old[i] == '\t' ? i + 1 : start;
        i++;
    }
    int old_length = (int)strcspn(old + start, "\t");
    int wanted_length = (int)strcspn(wanted + start, "\t");
    return sl_error_file(error, SLUICE_STATE, STAGE, 0, journal->path, -1,
                         "the folder holds an unfinished pack with %.*s, not %.*s: give the same "
                         "dataset and options to go on, or overwrite to start anew",
                         old_length, old + start, wanted_length, wanted + start);
}

/* The second line. */
static sluice_status read_framed(const sl_journal *journal, uint64_t *framed, sluice_error *error)
{
    const size_t name = strlen(FRAMED_NAME);
    char line[64];
    char again[64];
    if (fgets(line, sizeof(line), journal->file) == NULL || strncmp(line, FRAMED_NAME, name) != 0) {
        line[0] = '\0';
    }
    *framed = strtoull(line[0] ? line + name : "", NULL, 16);
    (void)snprintf(again, sizeof(again), FRAMED_NAME "%016" PRIx64 "\n", *framed);
    return strcmp(line, again) == 0
               ? SLUICE_OK
               : sl_error_file(error, SLUICE_STATE, STAGE, 0, journal->path, -1,
                               "the journal does not say how fields are stored: overwrite to start "
                               "anew");
}

sluice_status sl_journal_resume(sl_journal *journal, const sl_output *output,
                                sl_journal_begin *beginning, sluice_error *error)
{
    sluice_status status = begin(journal, output, error);
    if (status == SLUICE_OK) {
        status = open_stream(journal, error);
    }
    if (status < 0) {
        return status;
    }
    char line[SL_JOURNAL_HEAD_BYTES + 2];
    if (fgets(line, sizeof(line), journal->file) == NULL) {
        line[0] = '\0';
    }
    line[strcspn(line, "\n")] = '\0';
    return strcmp(line, beginning->head) == 0
               ? read_framed(journal, &beginning->framed, error)
               : explain_difference(journal, line, beginning->head, error);
}

/* Checks one line and reads its position; false when it is torn or damaged. */
static bool parse_line(const char *line, size_t length, uint64_t *position)
{
    if (length < CHECKSUM_DIGITS + 3 || line[length - 1] != '\n' || line[CHECKSUM_DIGITS] != '\t') {
        return false;
    }
    const char *rest = line + CHECKSUM_DIGITS + 1;
    size_t rest_length = length - CHECKSUM_DIGITS - 2;
    char digits[CHECKSUM_DIGITS + 1];
    (void)snprintf(digits, sizeof(digits), "%016" PRIx64, sl_checksum(rest, rest_length));
    char *end;
    *position = strtoull(rest, &end, 10);
    return memcmp(digits, line, CHECKSUM_DIGITS) == 0 && *end == '\t';
}

/* The n-th tab-separated part of a line; "" when there are fewer. */
static const char *part(const char *line, unsigned n)
{
    while (n > 0 && *line) {
        n -= *line == '\t';
        line++;
    }
    return line;
}

static void describe_rejection(const char *line, sluice_error *first)
{
    const char *key = part(line, 2);
    const char *reason = part(line, 5);
    sl_error_set(
        first, SLUICE_CORRUPT, STAGE,
        "\"%.*s\" was left out by an earlier run (%.*s): go on with on_bad = skip, or mend "
        "it and overwrite",
        (int)strcspn(key, "\t"), key, (int)strcspn(reason, "\n"), reason);
}

sluice_status sl_journal_rewind(sl_journal *journal, uint64_t next, sluice_error *first,
                                sluice_error *error)
{
    char *line = sl_malloc(LINE_BYTES);
    if (line == NULL) {
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "no memory for the journal");
    }
    rewind(journal->file);
    journal->rejected = 0;
    off_t end = 0;
    uint64_t position = 0;
    uint32_t head = HEAD_LINES;
    while (fgets(line, LINE_BYTES, journal->file) != NULL) {
        size_t length = strlen(line);
        if (head == 0 && (!parse_line(line, length, &position) || position >= next)) {
            break;
        }
        if (head == 0 && journal->rejected == 0 && first != NULL) {
            describe_rejection(line, first);
        }
        journal->rejected += head == 0;
        end += (off_t)length;
        head -= head > 0;
    }
    sl_free(line);
    if (ferror(journal->file) || ftruncate(fileno(journal->file), end) != 0 ||
        fseeko(journal->file, end, SEEK_SET) != 0) {
        return fail(journal, "mend the journal", error);
    }
    return SLUICE_OK;
}

void sl_journal_close(sl_journal *journal)
{
    if (journal->file != NULL) {
        (void)fclose(journal->file);
    }
    journal->file = NULL;
}

sluice_status sl_journal_reject(sl_journal *journal, uint64_t position, const char *key,
                                const sluice_error *reason, sluice_error *error)
{
    assert(strlen(key) <= SL_KEY_MAX);
    char *line = sl_malloc(LINE_BYTES);
    if (line == NULL) {
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "no memory for the journal");
    }
    size_t length = (size_t)sprintf(line, "%" PRIu64 "\t", position);
    length += sl_rejected_format(line + length, key, reason);
    int written = fprintf(journal->file, "%016" PRIx64 "\t%s\n", sl_checksum(line, length), line);
    sl_free(line);
    journal->rejected++;
    return written > 0 ? SLUICE_OK : fail(journal, "write the journal", error);
}

sluice_status sl_journal_sync(sl_journal *journal, sluice_error *error)
{
    if (fflush(journal->file) != 0 || fdatasync(fileno(journal->file)) != 0) {
        return fail(journal, "sync the journal", error);
    }
    return SLUICE_OK;
}

/* The lines without checksum and position. */
static sluice_status copy_lines(sl_journal *journal, FILE *to, sluice_error *error)
{
    char *line = sl_malloc(LINE_BYTES);
    if (line == NULL) {
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "no memory for the journal");
    }
    rewind(journal->file);
    bool good = fputs(SL_REJECTED_HEADING, to) >= 0;
    for (uint32_t i = 0; good && i < HEAD_LINES; i++) {
        good = fgets(line, LINE_BYTES, journal->file) != NULL;
    }
    while (good && fgets(line, LINE_BYTES, journal->file) != NULL) {
        good = fputs(part(line, 2), to) >= 0;
    }
    sl_free(line);
    if (!good || ferror(journal->file) || fflush(to) != 0) {
        return fail(journal, "write " SL_REJECTED_NAME, error);
    }
    return SLUICE_OK;
}

sluice_status sl_journal_write_rejected(sl_journal *journal, sluice_error *error)
{
    const sl_output *output = journal->output;
    if (journal->rejected == 0) {
        return sl_output_remove_file(output, SL_REJECTED_NAME, error);
    }
    int fd = -1;
    sluice_status status = sl_output_create(output, SL_REJECTED_NAME, &fd, error);
    if (status < 0) {
        return status;
    }
    FILE *to = fdopen(fd, "w");
    if (to == NULL) {
        status = fail(journal, "write " SL_REJECTED_NAME, error);
        sl_file_close(fd);
    } else {
        status = copy_lines(journal, to, error);
        if (status == SLUICE_OK) {
            status = sl_output_sync(output, SL_REJECTED_NAME, fd, error);
        }
        (void)fclose(to);
    }
    if (status == SLUICE_OK) {
        status = sl_output_publish(output, SL_REJECTED_NAME, error);
    }
    if (status < 0) {
        sl_output_discard(output, SL_REJECTED_NAME);
    }
    return status;
}
