/* SPDX-License-Identifier: Apache-2.0 */
/*
 * journal: writes and parses the journal of an unfinished pack. Pure except for the file.
 *
 * A journal is used only if it matches the parameters of the pack exactly.
 */
#include "journal.h"

#include "checksum.h"
#include "error.h"
#include "file.h"
#include "jpeg_retile.h"
#include "jpeg_tiles.h"
#include "shard_format.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define STAGE      "pack"
#define TEXT_BYTES (SL_JOURNAL_HEAD_BYTES + 256)
#define REST       "framed=%016" PRIx64 "\nshard_samples=%" PRIu64 "\n"
#define BASE       "after=%016" PRIx64 "\tshards=%" PRIu32 "\tpositions=%" PRIu64 "\n"

/* Writes what happens to JPEGs, except for images that are resized. */
static void head_of_jpegs(const sl_pack_parameters *p, char *head, size_t capacity)
{
    if (p->keep_bytes || p->raw) {
        (void)snprintf(head, capacity, "\tjpeg=%s", p->raw ? "decoded" : "kept");
        return;
    }
    const size_t length = (size_t)snprintf(head, capacity, "\tjpeg=retiled\tmetadata=%s",
                                           p->drop_metadata ? "drop" : "keep");
    if (p->tile_mcus > 0) {
        (void)snprintf(head + length, capacity - length, "\ttile=%" PRIu32 "mcu", p->tile_mcus);
    } else {
        /* an automatic choice is identified by its target and by its rule */
        (void)snprintf(head + length, capacity - length, "\ttile=%upx\tform=%d", SL_TILE_PIXELS,
                       SL_JPEG_FASTEST_RULE);
    }
}

void sl_journal_head(const sl_pack_parameters *p, char head[SL_JOURNAL_HEAD_BYTES])
{
    (void)snprintf(head, SL_JOURNAL_HEAD_BYTES,
                   "sluice-pack 3\tdataset=%016" PRIx64 "\tsamples=%" PRIu64
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
    if (p->append) {
        (void)snprintf(head + length, SL_JOURNAL_HEAD_BYTES - length, "\tappended");
        length = strlen(head);
    }
    if (p->joins_labels) {
        (void)snprintf(head + length, SL_JOURNAL_HEAD_BYTES - length, "\tlabels=%016" PRIx64,
                       p->labels);
        length = strlen(head);
    }
    if (p->raw_share > 0) {
        /* as an integer, which is the same in all locales */
        (void)snprintf(head + length, SL_JOURNAL_HEAD_BYTES - length, "\traw_share=%" PRIu64 "e-18",
                       (uint64_t)(p->raw_share * 1e18));
        length = strlen(head);
    }
    if (p->meaning != 0) {
        (void)snprintf(head + length, SL_JOURNAL_HEAD_BYTES - length, "\tmeaning=%016" PRIx64,
                       p->meaning);
    }
}

static bool appends(const char *head)
{
    return strstr(head, "\tappended") != NULL;
}

/* Explains which parameter differs. */
static sluice_status explain_difference(const char *path, const char *old, const char *wanted,
                                        sluice_error *error)
{
    size_t start = 0;
    size_t i = 0;
    while (old[i] && old[i] == wanted[i]) {
        start = old[i] == '\t' ? i + 1 : start;
        i++;
    }
    int old_length = (int)strcspn(old + start, "\t");
    int wanted_length = (int)strcspn(wanted + start, "\t");
    return sl_error_file(error, SLUICE_STATE, STAGE, 0, path, -1,
                         "the folder contains an unfinished pack with %.*s, not %.*s: give the "
                         "same dataset and options to continue, or %s",
                         old_length, old + start, wanted_length, wanted + start,
                         appends(old) ? "remove " SL_JOURNAL_NAME " to discard the data being added"
                                      : SL_OPTION("overwrite") " to start over");
}

static sluice_status journal_damaged(const char *path, sluice_error *error)
{
    return sl_error_file(
        error, SLUICE_STATE, STAGE, 0, path, -1,
        "the journal does not say how fields are stored and shards are split: " SL_OPTION(
            "overwrite") " to start over, or, when adding to a dataset, remove it");
}

/* Writes the lines after the first. */
static void format_rest(const sl_journal *journal, char text[TEXT_BYTES])
{
    const int length = snprintf(text, TEXT_BYTES, REST, journal->framed, journal->shard_samples);
    if (journal->before > 0) {
        (void)snprintf(text + length, TEXT_BYTES - (size_t)length, BASE, journal->after,
                       journal->shards, journal->before);
    }
}

static sluice_status parse_rest(const char *path, const char *text, sl_journal *journal,
                                sluice_error *error)
{
    char again[TEXT_BYTES];
    /* a number that is too large does not give the same text again. NOLINTNEXTLINE(cert-err34-c) */
    const int found = sscanf(text,
                             "framed=%" SCNx64 "\nshard_samples=%" SCNu64 "\nafter=%" SCNx64
                             "\tshards=%" SCNu32 "\tpositions=%" SCNu64,
                             &journal->framed, &journal->shard_samples, &journal->after,
                             &journal->shards, &journal->before);
    if (found != 2 && found != 5) {
        return journal_damaged(path, error);
    }
    format_rest(journal, again);
    const bool good = strcmp(again, text) == 0 && journal->shard_samples > 0 &&
                      appends(journal->head) == (journal->before > 0);
    return good ? SLUICE_OK : journal_damaged(path, error);
}

static sluice_status journal_parse(const char *path, char *text, sl_journal *journal,
                                   sluice_error *error)
{
    const size_t length = strcspn(text, "\n");
    const bool ended = text[length] == '\n';
    text[length] = '\0';
    if (journal->head[0] == '\0' && length > 0 && length < sizeof(journal->head)) {
        memcpy(journal->head, text, length + 1);
    }
    if (strcmp(text, journal->head) != 0) {
        return explain_difference(path, text, journal->head, error);
    }
    return ended ? parse_rest(path, text + length + 1, journal, error)
                 : journal_damaged(path, error);
}

uint64_t sl_journal_pack_id(const sl_journal *journal)
{
    return sl_checksum(journal->head, strlen(journal->head));
}

uint64_t sl_journal_shard_id(const sl_journal *journal)
{
    char text[TEXT_BYTES];
    if (journal->before == 0) {
        return sl_journal_pack_id(journal);
    }
    const int length = snprintf(text, sizeof(text), "%s\n" BASE, journal->head, journal->after,
                                journal->shards, journal->before);
    return sl_checksum(text, (size_t)length);
}

sluice_status sl_journal_read(const sl_output *output, sl_journal *journal, sluice_error *error)
{
    char path[SL_OUTPUT_PATH_BYTES];
    char text[TEXT_BYTES];
    int fd;
    sl_file_identity file = {0};
    sluice_error reason;
    sluice_status status = sl_output_name(output, SL_JOURNAL_NAME, false, path, error);
    if (status < 0) {
        return status;
    }
    status = sl_file_open((sl_file_name){STAGE, path}, &fd, &file, &reason);
    if (status < 0) {
        if (error != NULL && reason.sys_errno != ENOENT) {
            *error = reason;
        }
        return reason.sys_errno == ENOENT ? SLUICE_END : status;
    }
    const size_t length = file.bytes < sizeof(text) ? (size_t)file.bytes : sizeof(text) - 1;
    status = sl_file_read(fd, (sl_file_name){STAGE, path}, text, length, 0, error);
    sl_file_close(fd);
    text[status == SLUICE_OK ? length : 0] = '\0';
    return status == SLUICE_OK ? journal_parse(path, text, journal, error) : status;
}

static sluice_status write_text(const sl_output *output, const sl_journal *journal,
                                sluice_error *error)
{
    char rest[TEXT_BYTES];
    char text[TEXT_BYTES + SL_JOURNAL_HEAD_BYTES];
    format_rest(journal, rest);
    const int length = snprintf(text, sizeof(text), "%s\n%s", journal->head, rest);
    return sl_output_write(output, SL_JOURNAL_NAME, text, (size_t)length, error);
}

sluice_status sl_journal_create(const sl_output *output, sl_journal *journal, bool any_length,
                                sluice_error *error)
{
    sluice_status status = write_text(output, journal, error);
    if (status == SLUICE_OK) {
        status = sl_output_publish_new(output, SL_JOURNAL_NAME, error);
    }
    if (status < 0) {
        return status;
    }
    sl_journal there = *journal;
    status = sl_journal_read(output, &there, error);
    if (status == SLUICE_END) {
        return sl_error_file(error, SLUICE_STATE, STAGE, 0, output->path, -1,
                             "another process finished this pack meanwhile");
    }
    const bool same_length = any_length || there.shard_samples == journal->shard_samples;
    if (status == SLUICE_OK &&
        (there.framed != journal->framed || !same_length || there.after != journal->after)) {
        return sl_error_file(error, SLUICE_STATE, STAGE, 0, output->path, -1,
                             "another part of this pack has different first samples, or another "
                             "dataset to add to: is it the same source?");
    }
    journal->shard_samples = there.shard_samples;
    return status;
}
