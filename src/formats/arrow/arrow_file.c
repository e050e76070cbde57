/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrow_file: walks the messages of a stream, or the blocks of a file's footer, and records the
 * location of each batch.
 *
 * Runs on opening threads, with several files at a time. Invariant: a message's claims are checked
 * against the file before anything is read or allocated for it.
 */
#include "arrow_file.h"

#include "little_endian.h"
#include "memory.h"

#include <string.h>

#define STAGE    "dataset"
#define CONTINUE UINT32_MAX

/* Slots of the table Footer, and the size of a Block. */
enum { FOOTER_VERSION, FOOTER_SCHEMA, FOOTER_DICTIONARIES, FOOTER_BATCHES };
enum { BLOCK_BYTES = 24, MAGIC_BYTES = 6, TAIL_BYTES = 10 };

static const char magic[] = "ARROW1";
static const char cut_short[] = "the file is truncated";

typedef struct walker {
    sl_arrow_file *file;
    sl_arrow_reader reader;
    uint64_t seen; /* total size of the messages */
} walker;

void sl_arrow_file_close(sl_arrow_file *file)
{
    sl_handle_close(&file->kept);
    sl_arrow_schema_close(&file->schema);
    sl_free(file->places);
    sl_free(file->value_bytes);
    memset(file, 0, sizeof(*file));
}

/* ---- how it begins ---- */

bool sl_arrow_begins(const uint8_t *bytes, size_t size)
{
    sl_arrow_message message;
    if (size >= MAGIC_BYTES && memcmp(bytes, magic, MAGIC_BYTES) == 0) {
        return true;
    }
    if (size < 12 || sl_load32(bytes) != CONTINUE) {
        return false;
    }
    const uint32_t length = sl_load32(bytes + 4);
    sl_flatbuffer flat =
        sl_flatbuffer_of((sl_bytes){bytes + 8, length < size - 8 ? length : size - 8});
    /* if the message is longer, only its beginning was read, and its tables may be beyond */
    const sl_refusal refusal = sl_arrow_message_parse(&message, &flat);
    return refusal.text == NULL ? message.kind == SL_ARROW_SCHEMA
                                : length > size - 8 && length <= SL_FLATBUFFER_BYTES_MAX &&
                                      sl_load32(bytes + 8) < length;
}

/* ---- a message ---- */

/* Returns the size of a node's own values. */
static uint64_t node_bytes(const sl_arrow_batch *batch, const sl_arrow_node *node)
{
    uint64_t more;
    uint64_t bytes = 0;
    const uint32_t first = sl_arrow_batch_first(batch, node, &more);
    const uint32_t data = !node->coded && node->layout == SL_ARROW_AS_BYTES ? 2 : 1;
    for (uint64_t i = data; i < node->buffers + more; i++) {
        bytes += sl_arrow_batch_buffer(batch, (uint32_t)(first + i)).bytes;
    }
    return bytes;
}

static void add_bytes(sl_arrow_file *file, const sl_arrow_batch *batch)
{
    for (uint32_t i = 0; i < file->schema.count; i++) {
        file->value_bytes[i] += node_bytes(batch, &file->schema.nodes[i]);
    }
}

static sluice_status add_place(walker *w, const sl_arrow_place *place, sluice_error *error)
{
    sl_arrow_file *file = w->file;
    if (file->count == file->capacity) {
        const uint64_t capacity = file->capacity < 64 ? 64 : 2 * file->capacity;
        sl_arrow_place *places = sl_realloc_array(file->places, capacity, sizeof(*places));
        if (places == NULL) {
            return sl_error_file(error, SLUICE_NOMEM, STAGE, 0, w->reader.path, -1,
                                 "out of memory for %llu batches", (unsigned long long)capacity);
        }
        file->places = places;
        file->capacity = capacity;
    }
    file->places[file->count++] = *place;
    return SLUICE_OK;
}

static sluice_status take_schema(walker *w, const sl_flat_table *table, int version, uint64_t at,
                                 sluice_error *error)
{
    sl_arrow_file *file = w->file;
    const sl_refusal refusal = sl_arrow_schema_parse(&file->schema, table, version);
    if (refusal.text != NULL) {
        return sl_arrow_refuse(&w->reader, at, refusal, error);
    }
    file->value_bytes = sl_calloc((size_t)file->schema.count + 1, sizeof(*file->value_bytes));
    return file->value_bytes != NULL ? SLUICE_OK
                                     : sl_error_file(error, SLUICE_NOMEM, STAGE, 0, w->reader.path,
                                                     -1, "out of memory for its columns");
}

/* Takes a batch or dictionary that was read. */
static sluice_status take_message(walker *w, const sl_arrow_message *message,
                                  const sl_arrow_place *place, sluice_error *error)
{
    sl_arrow_file *file = w->file;
    if (message->kind != SL_ARROW_BATCH && message->kind != SL_ARROW_DICTIONARY) {
        return sl_arrow_corrupt(&w->reader, place->metadata,
                                "a second schema follows the first one", error);
    }
    file->lz4 = file->lz4 || message->batch.codec == SL_ARROW_LZ4;
    file->zstd = file->zstd || message->batch.codec == SL_ARROW_ZSTD;
    if (message->kind == SL_ARROW_BATCH) {
        const sl_refusal refusal =
            sl_arrow_batch_check(&message->batch, &file->schema, message->body_bytes);
        if (refusal.text != NULL) {
            return sl_arrow_refuse(&w->reader, place->metadata, refusal, error);
        }
        file->rows += message->batch.rows; /* both below 2^63 */
        if (file->rows > INT64_MAX) {
            return sl_arrow_corrupt(&w->reader, place->metadata, "it has impossibly many rows",
                                    error);
        }
        add_bytes(file, &message->batch);
    }
    return add_place(w, place, error);
}

/*
 * Finds the message at prefix `at`: `place` except for the body's size; metadata_bytes 0: the end.
 */
static sluice_status find_message(walker *w, uint64_t at, sl_arrow_place *place,
                                  sluice_error *error)
{
    uint8_t prefix[8] = {0};
    sl_arrow_reader *reader = &w->reader;
    const uint64_t left = reader->file.bytes - at;
    if (left < 4) {
        return sl_arrow_corrupt(reader, at, cut_short, error);
    }
    const sluice_status status = sl_arrow_read(reader, at, prefix, left < 8 ? 4 : 8, error);
    if (status < 0) {
        return status;
    }
    const bool marked = sl_load32(prefix) == CONTINUE;
    const uint64_t head = marked ? 8 : 4;
    if (left < head) {
        return sl_arrow_corrupt(reader, at, cut_short, error);
    }
    const uint32_t length = sl_load32(prefix + head - 4);
    if (length > left - head) {
        return sl_arrow_corrupt(
            reader, at,
            at > 0 || marked ? cut_short : "it does not begin like an Arrow stream or file", error);
    }
    place->metadata = at + head;
    place->metadata_bytes = length;
    place->body = place->metadata + length;
    return SLUICE_OK;
}

static sluice_status read_message(walker *w, sl_arrow_place *place, sl_arrow_message *message,
                                  sluice_error *error)
{
    const sluice_status status = sl_arrow_read_message(&w->reader, place, message, error);
    if (status < 0) {
        return status;
    }
    if (message->body_bytes > w->reader.file.bytes - place->body) {
        return sl_arrow_corrupt(
            &w->reader, place->metadata,
            "the file is truncated: a batch is longer than the rest of the file", error);
    }
    place->body_bytes = message->body_bytes;
    place->batch = message->kind == SL_ARROW_BATCH;
    return SLUICE_OK;
}

/* ---- streams ---- */

/* Checks that nothing follows the end mark: another stream would be lost. */
static sluice_status check_end(const walker *w, uint64_t at, sluice_error *error)
{
    return w->reader.file.bytes - at < 8
               ? SLUICE_OK
               : sl_arrow_corrupt(&w->reader, at,
                                  "unexpected data after the end of the stream: split concatenated "
                                  "streams into separate files",
                                  error);
}

static sluice_status walk_stream(walker *w, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    uint64_t next = 0;
    for (uint64_t at = 0; status == SLUICE_OK && (at == 0 || at < w->reader.file.bytes);
         at = next) {
        sl_arrow_place place = {.metadata = 0};
        sl_arrow_message message = {.version = 0};
        status = find_message(w, at, &place, error);
        if (status == SLUICE_OK && place.metadata_bytes == 0 && at > 0) {
            return check_end(w, place.body, error);
        }
        if (status == SLUICE_OK) {
            status = read_message(w, &place, &message, error);
        }
        if (status < 0) {
            return status;
        }
        if (at > 0) {
            status = take_message(w, &message, &place, error);
        } else if (message.kind == SL_ARROW_SCHEMA) {
            status = take_schema(w, &message.schema, message.version, place.metadata, error);
        } else {
            status = sl_arrow_corrupt(&w->reader, at, "it does not begin with a schema", error);
        }
        next = place.body + place.body_bytes;
    }
    return status;
}

/* ---- files ---- */

/* Counts bytes, since overlapping blocks could claim any number of rows. */
static sluice_status arrow_file_count_bytes(walker *w, const sl_arrow_place *place,
                                            sluice_error *error)
{
    w->seen += place->metadata_bytes + place->body_bytes;
    return w->seen <= w->reader.file.bytes
               ? SLUICE_OK
               : sl_arrow_corrupt(&w->reader, place->metadata, "its batches overlap", error);
}

/* Walks a block; its metadata are read into the footer's buffer, so `block` is a copy. */
static sluice_status walk_block(walker *w, const uint8_t *block, sluice_error *error)
{
    sl_arrow_place place = {.metadata = 0};
    sl_arrow_message message = {.version = 0};
    const uint64_t at = sl_load64(block);
    const uint32_t metadata = sl_load32(block + 8);
    if (at > w->reader.file.bytes || metadata > w->reader.file.bytes - at) {
        return sl_arrow_corrupt(&w->reader, w->reader.file.bytes - TAIL_BYTES,
                                "a batch is outside the file", error);
    }
    sluice_status status = find_message(w, at, &place, error);
    if (status < 0) {
        return status;
    }
    if (place.metadata_bytes == 0 || place.body - at > metadata) {
        return sl_arrow_corrupt(&w->reader, at,
                                "this message differs from its description in the footer", error);
    }
    place.body = at + metadata;
    status = read_message(w, &place, &message, error);
    if (status == SLUICE_OK) {
        status = arrow_file_count_bytes(w, &place, error);
    }
    return status == SLUICE_OK ? take_message(w, &message, &place, error) : status;
}

/* Copies the blocks, those of dictionaries first, since batches need them. NULL: no memory. */
static uint8_t *copy_blocks(const sl_flat_table *footer, uint32_t *count)
{
    const sl_flat_vector of[] = {sl_flat_vector_of(footer, FOOTER_DICTIONARIES, BLOCK_BYTES),
                                 sl_flat_vector_of(footer, FOOTER_BATCHES, BLOCK_BYTES)};
    const size_t first = (size_t)of[0].count * BLOCK_BYTES;
    const size_t second = (size_t)of[1].count * BLOCK_BYTES;
    uint8_t *copy = sl_malloc(first + second + 1);
    if (copy != NULL && first > 0) {
        memcpy(copy, of[0].data, first);
    }
    if (copy != NULL && second > 0) {
        memcpy(copy + first, of[1].data, second);
    }
    *count = of[0].count + of[1].count;
    return copy;
}

static sluice_status walk_blocks(walker *w, const sl_flat_table *footer, sluice_error *error)
{
    uint32_t count = 0;
    sluice_status status = SLUICE_OK;
    uint8_t *blocks = copy_blocks(footer, &count);
    if (blocks == NULL) {
        return sl_error_file(error, SLUICE_NOMEM, STAGE, 0, w->reader.path, -1,
                             "out of memory for its footer");
    }
    if (w->reader.flat.damaged) {
        status = sl_arrow_corrupt(&w->reader, footer->at, "the footer is damaged", error);
    }
    for (uint32_t i = 0; status == SLUICE_OK && i < count; i++) {
        status = walk_block(w, blocks + (size_t)i * BLOCK_BYTES, error);
    }
    sl_free(blocks);
    return status;
}

static sluice_status arrow_file_read_footer(walker *w, uint64_t *at, sluice_error *error)
{
    uint8_t tail[TAIL_BYTES];
    const uint64_t bytes = w->reader.file.bytes;
    if (bytes < (uint64_t)2 * TAIL_BYTES) {
        return sl_arrow_corrupt(&w->reader, 0, cut_short, error);
    }
    const sluice_status status =
        sl_arrow_read(&w->reader, bytes - TAIL_BYTES, tail, TAIL_BYTES, error);
    if (status < 0) {
        return status;
    }
    const uint32_t length = sl_load32(tail);
    if (memcmp(tail + 4, magic, MAGIC_BYTES) != 0 || length > bytes - TAIL_BYTES) {
        return sl_arrow_corrupt(&w->reader, bytes - TAIL_BYTES,
                                "it does not end with a footer like an Arrow file: it is truncated",
                                error);
    }
    *at = bytes - TAIL_BYTES - length;
    return sl_arrow_read_flat(&w->reader, *at, length, error);
}

static sluice_status walk_file(walker *w, sluice_error *error)
{
    uint64_t at = 0;
    sluice_status status = arrow_file_read_footer(w, &at, error);
    if (status < 0) {
        return status;
    }
    const sl_flat_table footer = sl_flat_root(&w->reader.flat);
    const sl_flat_table schema = sl_flat_child(&footer, FOOTER_SCHEMA);
    const int64_t version = sl_flat_number(&footer, FOOTER_VERSION, 2, 0);
    if (version < SL_ARROW_V4 || version > SL_ARROW_V5 || w->reader.flat.damaged) {
        return sl_arrow_corrupt(&w->reader, at,
                                "the footer is damaged, or has an unsupported version", error);
    }
    status = take_schema(w, &schema, (int)version, at, error);
    return status == SLUICE_OK ? walk_blocks(w, &footer, error) : status;
}

/* ---- batches that are read again ---- */

sluice_status sl_arrow_file_batch(const sl_arrow_file *file, const sl_arrow_place *place,
                                  sl_arrow_body *body, sl_arrow_message *message,
                                  sluice_error *error)
{
    const sluice_status status = sl_arrow_read_message(body->reader, place, message, error);
    if (status < 0) {
        return status;
    }
    const sl_refusal refusal =
        message->kind == SL_ARROW_BATCH && message->body_bytes == place->body_bytes
            ? sl_arrow_batch_check(&message->batch, &file->schema, place->body_bytes)
            : sl_refuse("the file is being modified", 0);
    body->schema = &file->schema;
    body->batch = &message->batch;
    body->at = place->body;
    return refusal.text == NULL ? SLUICE_OK
                                : sl_arrow_refuse(body->reader, place->metadata, refusal, error);
}

/* ---- both ---- */

static sluice_status arrow_file_walk(walker *w, sluice_error *error)
{
    uint8_t head[MAGIC_BYTES];
    w->file->file = w->reader.file;
    if (w->reader.file.bytes < sizeof(head)) {
        return sl_arrow_corrupt(&w->reader, 0, cut_short, error);
    }
    const sluice_status status = sl_arrow_read(&w->reader, 0, head, sizeof(head), error);
    if (status < 0) {
        return status;
    }
    if (memcmp(head, "FEA1", 4) == 0) {
        return sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0, w->reader.path, 0,
                             "unsupported Feather version 1: rewrite it as version 2 "
                             "(pyarrow.feather.write_feather)");
    }
    return memcmp(head, magic, MAGIC_BYTES) == 0 ? walk_file(w, error) : walk_stream(w, error);
}

sluice_status sl_arrow_file_open(sl_arrow_file *file, const char *path, sluice_error *error)
{
    walker w = {.file = file};
    memset(file, 0, sizeof(*file));
    sluice_status status = sl_arrow_reader_open(&w.reader, path, NULL, error);
    if (status == SLUICE_OK) {
        status = arrow_file_walk(&w, error);
        file->kept = w.reader.from;
        w.reader.is_borrowed = true;
        sl_arrow_reader_close(&w.reader);
    }
    if (status < 0) {
        sl_arrow_file_close(file);
    }
    return status;
}
