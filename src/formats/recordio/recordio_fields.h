/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recordio_fields: what the records of MXNet's RecordIO files are, by looking at some, and a
 * record's values.
 *
 * Purpose: nothing in a file says what its records hold. Those of im2rec and mx.recordio.pack begin
 * with an IRHeader (u32 flag, f32 label, u64 id, u64 id2; then `flag` f32 labels, if it is not 0),
 * and the rest is a picture, or what else was packed. All records are taken for such if of those
 * that are looked at most have a picture there, or nearly all begin as headers usually do: fields
 * "image" (or "data": bytes), "label" and "id". If not, they are bytes without a header: one field,
 * "image" or "data". Whoever chooses "label" or "id" says that there are headers; "record", a field
 * only where it is chosen, is the whole record, header or not. A label that is one number is an int
 * when it is a whole number in all of them, else a float; several are a tensor f32.
 * Threads: looking has one owner; what was found is immutable.
 */
#ifndef SL_RECORDIO_FIELDS_H
#define SL_RECORDIO_FIELDS_H

#include "recordio_index.h"
#include "source_columns.h"

/* Of the records that were looked at; all zero at first. */
typedef struct sl_recordio_looks {
    uint32_t records;                   /* all */
    uint32_t possible, headers, blank;  /* that can begin with a header; with a usual one; zeros */
    uint32_t plain_pictures;            /* records that begin as a picture */
    uint32_t contents, pictures;        /* behind headers: that are not empty, that are pictures */
    uint32_t numbers, whole, tensors;   /* labels */
    uint32_t labels_least, labels_most; /* of tensors */
} sl_recordio_looks;

typedef struct sl_recordio_fields {
    sl_source_fields source;
    bool headers;
} sl_recordio_fields;

/*
 * Whether a record is the header of a file of insightface's, record 0: a list of labels and no
 * picture. `*end`: number of the first record that is not a picture; those behind it say which
 * pictures an identity has.
 */
bool sl_recordio_is_file_header(const sl_recordio *record, uint64_t *end);
/* Whether a record is a header without a picture. */
bool sl_recordio_is_empty(const sl_recordio *record);

void sl_recordio_look(sl_recordio_looks *looks, const sl_recordio *record);
/* `path` is named in errors: those of sl_source_fields_find. */
sluice_status sl_recordio_fields_find(sl_recordio_fields *fields, const sl_recordio_looks *looks,
                                      const sluice_dataset_options *options, const char *path,
                                      sluice_error *error);
/* A record's values, those that are wanted. Spans are in the record. */
sl_refusal sl_recordio_fields_unpack(const sl_recordio_fields *fields, const sl_recordio *record,
                                     sl_values *values);

#endif
