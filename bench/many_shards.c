/* SPDX-License-Identifier: Apache-2.0 */
/*
 * many_shards: quickly makes a packed dataset of very many shards, for docs/scale.md.
 *   many_shards FOLDER SHARDS SAMPLES KIND
 * The writer writes one shard of SAMPLES in FOLDER/template; all others are its bytes with another
 * number, and the manifest has a row for each. KIND:
 *   int      one number per sample: all have the same size, so there is no index
 *   bytes    16 to 79 bytes per sample: an index block per 503 samples
 *   tokens   one tensor per shard, for SAMPLES windows of 8 elements. It has zeros, which are holes
 *            in the file: 10 G windows take 8 KiB of disk per shard
 */
#include "checksum.h"
#include "memory.h"
#include "shard_format.h"

#include <sluice/sluice.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BYTES_LEAST = 16, BYTES_SPREAD = 64, WINDOW = 8 };
#define HOLE_BYTES 4096u

typedef enum kind { INT, BYTES, TOKENS } sample_kind;

typedef struct shard_template {
    uint8_t *bytes;
    size_t size;
    sl_shard_header header;
} shard_template;

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void check(sluice_status status, const sluice_error *error)
{
    if (status != SLUICE_OK) {
        (void)fprintf(stderr, "many_shards: %s\n", error->text);
        exit(1);
    }
}

static void add_sample(sluice_writer *writer, sample_kind kind, uint64_t number, void *capacity)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_value value = SLUICE_VALUE_INIT;
    value.integer = (int64_t)number;
    if (kind == BYTES) {
        value.data = capacity;
        value.bytes = BYTES_LEAST + number * 7919 % BYTES_SPREAD;
    }
    check(sluice_writer_add_values(writer, &value, 1, &error), &error);
}

static void add_tokens(sluice_writer *writer, uint64_t windows)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_value value = SLUICE_VALUE_INIT;
    value.shape[0] = (int64_t)(windows * WINDOW);
    value.bytes = windows * WINDOW * sizeof(uint16_t);
    void *zeros = calloc(1, value.bytes);
    if (zeros == NULL) {
        die("memory");
    }
    value.data = zeros;
    check(sluice_writer_add_values(writer, &value, 1, &error), &error);
    free(zeros);
}

static void write_template(const char *folder, uint64_t samples, sample_kind kind)
{
    static const char *const names[] = {"number", "bytes", "tokens"};
    static const int32_t types[] = {SLUICE_FIELD_INT, SLUICE_FIELD_BYTES, SLUICE_FIELD_TENSOR};
    sluice_field field = SLUICE_FIELD_INIT;
    (void)snprintf(field.name, sizeof(field.name), "%s", names[kind]);
    field.type = types[kind];
    field.compression = SLUICE_COMPRESSION_NEVER;
    if (kind == TOKENS) {
        field.dtype = SLUICE_U16;
        field.dims = 1;
    }
    sluice_writer_options options = SLUICE_WRITER_OPTIONS_INIT;
    options.fields = &field;
    options.field_count = 1;
    options.shard_bytes = (uint64_t)1 << 40;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_writer *writer = NULL;
    check(sluice_writer_open(&writer, folder, &options, &error), &error);
    uint8_t capacity[BYTES_LEAST + BYTES_SPREAD] = {1, 2, 3};
    for (uint64_t i = 0; kind != TOKENS && i < samples; i++) {
        add_sample(writer, kind, i, capacity);
    }
    if (kind == TOKENS) {
        add_tokens(writer, samples);
    }
    check(sluice_writer_finish(writer, &error), &error);
}

static void load_template(shard_template *t, const char *folder)
{
    char path[4096];
    struct stat facts;
    (void)snprintf(path, sizeof(path), "%s/shard-000000.sluice", folder);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &facts) != 0) {
        die(path);
    }
    t->size = (size_t)facts.st_size;
    t->bytes = sl_malloc(t->size);
    if (t->bytes == NULL || pread(fd, t->bytes, t->size, 0) != (ssize_t)t->size) {
        die(path);
    }
    (void)close(fd);
    const sl_refusal refusal = sl_shard_header_decode(&t->header, t->bytes);
    if (refusal.text != NULL) {
        (void)fprintf(stderr, "many_shards: %s\n", refusal.text);
        exit(1);
    }
}

/* Writes non-zero data; the rest stays a hole. */
static void write_sparse(const char *path, const uint8_t *bytes, size_t size)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0 || ftruncate(fd, (off_t)size) != 0) {
        die(path);
    }
    for (size_t at = 0; at < size;) {
        size_t end = at;
        while (end < size) {
            const size_t piece = size - end < HOLE_BYTES ? size - end : HOLE_BYTES;
            if (bytes[end] == 0 && memcmp(bytes + end, bytes + end + 1, piece - 1) == 0) {
                break;
            }
            end += piece;
        }
        if (end > at && pwrite(fd, bytes + at, end - at, (off_t)at) != (ssize_t)(end - at)) {
            die(path);
        }
        at = end + HOLE_BYTES;
    }
    if (close(fd) != 0) {
        die(path);
    }
}

static sl_shard_row write_shard(const char *folder, shard_template *t, uint32_t number)
{
    char path[4096];
    const uint64_t positions = t->header.source_next - t->header.source_first;
    sl_shard_header header = t->header;
    header.number = number;
    header.source_first = number * positions;
    header.source_next = header.source_first + positions;
    sl_shard_header_encode(&header, t->bytes);
    (void)snprintf(path, sizeof(path), "%s/" SL_SHARD_NAME_FORMAT, folder, number);
    write_sparse(path, t->bytes, t->size);
    sl_shard_row row = sl_shard_row_of(&header);
    row.first = number * header.samples;
    return row;
}

static void write_manifest(const char *folder, const shard_template *t, const uint8_t *rows,
                           uint64_t shards)
{
    char path[4096];
    uint8_t page[SL_PAGE_BYTES];
    const sl_shard_header *shard = &t->header;
    const uint64_t bytes = shards * SL_SHARD_ROW_BYTES;
    const uint8_t *metadata = t->bytes + shard->meta_offset;
    const sl_manifest_header header = {.samples = shards * shard->samples,
                                       .data_bytes = shards * shard->data_bytes,
                                       .shards = shards,
                                       .rows_bytes = bytes,
                                       .rows_checksum = sl_checksum(rows, bytes),
                                       .meta_offset = SL_PAGE_BYTES + bytes,
                                       .meta_bytes = shard->meta_bytes,
                                       .meta_checksum = shard->meta_checksum,
                                       .file_bytes = SL_PAGE_BYTES + bytes + shard->meta_bytes,
                                       .source_samples = shards * shard->samples,
                                       .pack_id = shard->pack_id};
    sl_manifest_header_encode(&header, page);
    (void)snprintf(path, sizeof(path), "%s/" SL_MANIFEST_NAME, folder);
    FILE *file = fopen(path, "we");
    if (file == NULL || fwrite(page, 1, sizeof(page), file) != sizeof(page) ||
        fwrite(rows, 1, bytes, file) != bytes ||
        fwrite(metadata, 1, shard->meta_bytes, file) != shard->meta_bytes || fclose(file) != 0) {
        die(path);
    }
}

int main(int argc, char **argv)
{
    char path[4000];
    shard_template t;
    if (argc != 5) {
        (void)fprintf(stderr, "usage: many_shards FOLDER SHARDS SAMPLES int|bytes|tokens\n");
        return 2;
    }
    const uint32_t shards = (uint32_t)strtoul(argv[2], NULL, 10);
    const uint64_t samples = strtoull(argv[3], NULL, 10);
    const sample_kind kind = argv[4][0] == 'i' ? INT : argv[4][0] == 'b' ? BYTES : TOKENS;
    if (mkdir(argv[1], 0777) != 0 || shards == 0 || samples == 0) {
        die(argv[1]);
    }
    (void)snprintf(path, sizeof(path), "%s/template", argv[1]);
    write_template(path, samples, kind);
    load_template(&t, path);
    uint8_t *rows = sl_malloc((size_t)shards * SL_SHARD_ROW_BYTES);
    if (rows == NULL) {
        die("memory");
    }
    for (uint32_t i = 0; i < shards; i++) {
        const sl_shard_row row = write_shard(argv[1], &t, i);
        sl_shard_row_encode(&row, rows + (size_t)i * SL_SHARD_ROW_BYTES);
    }
    write_manifest(argv[1], &t, rows, shards);
    sl_free(rows);
    sl_free(t.bytes);
    return 0;
}
