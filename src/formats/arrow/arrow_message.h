/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrow_message: parses the messages of Arrow streams and files.
 *
 * Purpose: a message has metadata, a flatbuffer, and a body with the buffers of a batch. The
 * metadata are checked against the schema and the body's size. Source: Message.fbs. Threads: pure.
 * No allocation.
 */
#ifndef SL_ARROW_MESSAGE_H
#define SL_ARROW_MESSAGE_H

#include "arrow_schema.h"

/* Numbers of the union MessageHeader. */
typedef enum sl_arrow_kind {
    SL_ARROW_SCHEMA = 1,
    SL_ARROW_DICTIONARY = 2,
    SL_ARROW_BATCH = 3,
    SL_ARROW_OTHER = 4 /* this number or a higher one */
} sl_arrow_kind;

typedef enum sl_arrow_codec { SL_ARROW_PLAIN = 0, SL_ARROW_LZ4, SL_ARROW_ZSTD } sl_arrow_codec;

/* Arrays of `rows` rows, in record batches and dictionaries. */
typedef struct sl_arrow_batch {
    uint64_t rows;
    sl_arrow_codec codec;
    sl_flat_vector nodes, buffers, views; /* inside the metadata */
} sl_arrow_batch;

typedef struct sl_arrow_message {
    sl_arrow_kind kind;
    int version;
    uint64_t body_bytes;
    sl_flat_table schema; /* for SCHEMA */
    sl_arrow_batch batch; /* for DICTIONARY and BATCH */
    int64_t dictionary;   /* for DICTIONARY */
    bool delta;           /* for DICTIONARY: true if it is added to the existing one */
} sl_arrow_message;

/*
 * Parses a message. Rejects damaged ones, metadata versions other than 4 and 5, and unknown
 * compression.
 */
sl_refusal sl_arrow_message_parse(sl_arrow_message *message, sl_flatbuffer *flat);

/*
 * Checks that a batch has the arrays of the schema's nodes, that its buffers are within
 * `body_bytes`, and that all columns have the batch's length.
 */
sl_refusal sl_arrow_batch_check(const sl_arrow_batch *batch, const sl_arrow_schema *schema,
                                uint64_t body_bytes);
/* Checks the same for a dictionary, whose values have the type of the node that it encodes. */
sl_refusal sl_arrow_dictionary_check(const sl_arrow_batch *batch, const sl_arrow_node *node,
                                     uint64_t body_bytes);

/* Returns the number of values in a node's array of a checked batch, and of nulls. */
uint64_t sl_arrow_batch_length(const sl_arrow_batch *batch, uint32_t node, uint64_t *nulls);
/*
 * Returns the number of a node's first buffer; `*more`: number of buffers beyond those of its type.
 */
uint32_t sl_arrow_batch_first(const sl_arrow_batch *batch, const sl_arrow_node *node,
                              uint64_t *more);
sl_extent sl_arrow_batch_buffer(const sl_arrow_batch *batch, uint32_t number);

#endif
