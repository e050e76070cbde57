/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow_message.h"

#include "little_endian.h"

#include <assert.h>

/* Slots of the tables. */
enum { MESSAGE_VERSION, MESSAGE_KIND, MESSAGE_HEADER, MESSAGE_BODY };
enum { BATCH_ROWS, BATCH_NODES, BATCH_BUFFERS, BATCH_COMPRESSION, BATCH_VIEWS };
enum { DICTIONARY_ID, DICTIONARY_DATA, DICTIONARY_DELTA };
enum { COMPRESSION_CODEC, COMPRESSION_METHOD };
/* Sizes of the structs. */
enum { NODE_BYTES = 16, BUFFER_BYTES = 16, VIEW_BYTES = 8 };

static const char damaged[] = "a message is damaged";

static sl_refusal parse_batch(sl_arrow_batch *batch, const sl_flat_table *table)
{
    const int64_t rows = sl_flat_number(table, BATCH_ROWS, 8, 0);
    if (rows < 0) {
        return sl_refuse(damaged, 0);
    }
    batch->rows = (uint64_t)rows;
    batch->nodes = sl_flat_vector_of(table, BATCH_NODES, NODE_BYTES);
    batch->buffers = sl_flat_vector_of(table, BATCH_BUFFERS, BUFFER_BYTES);
    batch->views = sl_flat_vector_of(table, BATCH_VIEWS, VIEW_BYTES);
    batch->codec = SL_ARROW_PLAIN;
    if (sl_flat_has(table, BATCH_COMPRESSION)) {
        const sl_flat_table coding = sl_flat_child(table, BATCH_COMPRESSION);
        const int64_t codec = sl_flat_number(&coding, COMPRESSION_CODEC, 1, 0);
        if (codec < 0 || codec > 1 || sl_flat_number(&coding, COMPRESSION_METHOD, 1, 0) != 0) {
            return sl_refuse_unknown("unknown compression", 0);
        }
        batch->codec = codec == 0 ? SL_ARROW_LZ4 : SL_ARROW_ZSTD;
    }
    return sl_accept();
}

static sl_refusal parse_header(sl_arrow_message *message, const sl_flat_table *header)
{
    switch (message->kind) {
    case SL_ARROW_SCHEMA:
        message->schema = *header;
        return sl_accept();
    case SL_ARROW_BATCH:
        return parse_batch(&message->batch, header);
    case SL_ARROW_DICTIONARY: {
        const sl_flat_table data = sl_flat_child(header, DICTIONARY_DATA);
        message->dictionary = sl_flat_number(header, DICTIONARY_ID, 8, 0);
        message->delta = sl_flat_number(header, DICTIONARY_DELTA, 1, 0) != 0;
        return data.of != NULL ? parse_batch(&message->batch, &data) : sl_refuse(damaged, 0);
    }
    default:
        return sl_refuse_unknown(
            "it contains messages that are not part of a table (such as tensors)", 0);
    }
}

sl_refusal sl_arrow_message_parse(sl_arrow_message *message, sl_flatbuffer *flat)
{
    const sl_flat_table table = sl_flat_root(flat);
    const int64_t version = sl_flat_number(&table, MESSAGE_VERSION, 2, 0);
    const int64_t kind = sl_flat_number(&table, MESSAGE_KIND, 1, 0);
    const int64_t body = sl_flat_number(&table, MESSAGE_BODY, 8, 0);
    const sl_flat_table header = sl_flat_child(&table, MESSAGE_HEADER);
    if (flat->damaged || header.of == NULL || kind < SL_ARROW_SCHEMA || body < 0) {
        return sl_refuse(damaged, 0);
    }
    if (version < SL_ARROW_V4 || version > SL_ARROW_V5) {
        return sl_refuse_unknown("unsupported version of its metadata: only 4 and 5 are", 0);
    }
    *message =
        (sl_arrow_message){.kind = kind < SL_ARROW_OTHER ? (sl_arrow_kind)kind : SL_ARROW_OTHER,
                           .version = (int)version,
                           .body_bytes = (uint64_t)body};
    const sl_refusal refusal = parse_header(message, &header);
    return flat->damaged ? sl_refuse(damaged, 0) : refusal;
}

/* ---- batches ---- */

uint64_t sl_arrow_batch_length(const sl_arrow_batch *batch, uint32_t node, uint64_t *nulls)
{
    assert(node < batch->nodes.count);
    const uint8_t *from = batch->nodes.data + (size_t)node * NODE_BYTES;
    *nulls = sl_load64(from + 8);
    return sl_load64(from);
}

sl_extent sl_arrow_batch_buffer(const sl_arrow_batch *batch, uint32_t number)
{
    assert(number < batch->buffers.count);
    const uint8_t *from = batch->buffers.data + (size_t)number * BUFFER_BYTES;
    return (sl_extent){sl_load64(from), sl_load64(from + 8)};
}

static uint64_t more_of(const sl_arrow_batch *batch, uint32_t view)
{
    return sl_load64(batch->views.data + (size_t)view * VIEW_BYTES);
}

uint32_t sl_arrow_batch_first(const sl_arrow_batch *batch, const sl_arrow_node *node,
                              uint64_t *more)
{
    uint64_t first = node->buffer;
    for (uint32_t i = 0; i < node->views; i++) {
        first += more_of(batch, i);
    }
    *more = node->layout == SL_ARROW_AS_VIEWS && !node->coded ? more_of(batch, node->views) : 0;
    return (uint32_t)first;
}

static sl_refusal check_counts(const sl_arrow_batch *batch, uint64_t nodes, uint64_t buffers,
                               uint32_t views)
{
    static const char other[] = "the arrays of a batch do not match the schema";
    if (batch->nodes.count != nodes || batch->views.count < views) {
        return sl_refuse(other, 0);
    }
    for (uint32_t i = 0; i < views; i++) {
        const uint64_t more = more_of(batch, i);
        if (more > batch->buffers.count) {
            return sl_refuse(other, 0);
        }
        buffers += more; /* at most 2^32 times 2^32 */
    }
    return batch->buffers.count == buffers ? sl_accept() : sl_refuse(other, 0);
}

static sl_refusal check_buffers(const sl_arrow_batch *batch, uint64_t body_bytes)
{
    for (uint32_t i = 0; i < batch->buffers.count; i++) {
        const sl_extent buffer = sl_arrow_batch_buffer(batch, i);
        if (buffer.offset > body_bytes || buffer.bytes > body_bytes - buffer.offset) {
            return sl_refuse("a buffer of a batch is outside the batch", 0);
        }
    }
    for (uint32_t i = 0; i < batch->nodes.count; i++) {
        uint64_t nulls;
        const uint64_t length = sl_arrow_batch_length(batch, i, &nulls);
        if (length > INT64_MAX || nulls > length) {
            return sl_refuse("an array has an impossible length", 0);
        }
    }
    return sl_accept();
}

sl_refusal sl_arrow_batch_check(const sl_arrow_batch *batch, const sl_arrow_schema *schema,
                                uint64_t body_bytes)
{
    sl_refusal refusal = check_counts(batch, schema->count, schema->buffers, schema->views);
    if (refusal.text == NULL) {
        refusal = check_buffers(batch, body_bytes);
    }
    for (uint32_t i = 0; refusal.text == NULL && i < schema->count; i = schema->nodes[i].end) {
        uint64_t nulls;
        if (sl_arrow_batch_length(batch, i, &nulls) != batch->rows) {
            refusal = sl_refuse("the length of a column differs from its batch", 0);
        }
    }
    return refusal;
}

sl_refusal sl_arrow_dictionary_check(const sl_arrow_batch *batch, const sl_arrow_node *node,
                                     uint64_t body_bytes)
{
    const uint32_t views = node->layout == SL_ARROW_AS_VIEWS;
    const sl_refusal refusal = check_counts(batch, 1, views ? 2 : 3, views);
    return refusal.text == NULL ? check_buffers(batch, body_bytes) : refusal;
}
