/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrow_message: the messages that Arrow streams and files consist of.
 *
 * Purpose: a message is metadata, a flatbuffer, and a body, which has the buffers that a batch
 * consists of. What metadata say of a body is checked here against the schema and the body's size.
 * Source: Message.fbs. Threads: pure. No allocation.
 */
#ifndef SL_ARROW_MESSAGE_H
#define SL_ARROW_MESSAGE_H

#include "arrow_schema.h"

/* Numbers of the union MessageHeader. */
typedef enum sl_arrow_kind {
    SL_ARROW_SCHEMA = 1,
    SL_ARROW_DICTIONARY = 2,
    SL_ARROW_BATCH = 3,
    SL_ARROW_OTHER = 4 /* this one, or above */
} sl_arrow_kind;

typedef enum sl_arrow_codec { SL_ARROW_PLAIN = 0, SL_ARROW_LZ4, SL_ARROW_ZSTD } sl_arrow_codec;

/* Arrays of `rows` rows, of record batches and dictionaries. */
typedef struct sl_arrow_batch {
    uint64_t rows;
    sl_arrow_codec codec;
    sl_flat_vector nodes, buffers, views; /* they are in the metadata */
} sl_arrow_batch;

typedef struct sl_arrow_message {
    sl_arrow_kind kind;
    int version;
    uint64_t body_bytes;
    sl_flat_table schema; /* SCHEMA */
    sl_arrow_batch batch; /* DICTIONARY, BATCH */
    int64_t dictionary;   /* DICTIONARY */
    bool delta;           /* DICTIONARY: added to what there is */
} sl_arrow_message;

/* Refused: what is damaged, of another version than 4 and 5, compressed otherwise. */
sl_refusal sl_arrow_message_parse(sl_arrow_message *message, sl_flatbuffer *flat);

/* Whether a batch has the arrays of these nodes, and a body of `body_bytes` all of its buffers;
 * columns of other lengths than the batch are refused, too. */
sl_refusal sl_arrow_batch_check(const sl_arrow_batch *batch, const sl_arrow_schema *schema,
                                uint64_t body_bytes);
/* The same of a dictionary, whose values are as those of the node that is coded by it. */
sl_refusal sl_arrow_dictionary_check(const sl_arrow_batch *batch, const sl_arrow_node *node,
                                     uint64_t body_bytes);

/* Of a batch that was checked: the values in a node's array, and how many of them are null. */
uint64_t sl_arrow_batch_length(const sl_arrow_batch *batch, uint32_t node, uint64_t *nulls);
/* Number of a node's first buffer, and how many it has more than its type says. */
uint32_t sl_arrow_batch_first(const sl_arrow_batch *batch, const sl_arrow_node *node,
                              uint64_t *more);
sl_extent sl_arrow_batch_buffer(const sl_arrow_batch *batch, uint32_t number);

#endif
