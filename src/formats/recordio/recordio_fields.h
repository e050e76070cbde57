/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recordio_fields: finds the contents of records in MXNet's RecordIO files from a few of them, and
 * reads a record's values.
 *
 * Purpose: the files do not describe their records. Records of im2rec and mx.recordio.pack begin
 * with an IRHeader (u32 flag, f32 label, u64 id, u64 id2; then `flag` f32 labels if it is not 0),
 * followed by an image or other packed data. All records are assumed to have headers if an image
 * follows in most of those looked at, or if nearly all begin like usual headers. The fields are
 * then "image" (or "data": bytes), "label" and "id". Otherwise records are bytes without a header,
 * with one field "image" or "data". Choosing "label" or "id" declares that there are headers;
 * "record", a field only if chosen, is the whole record, with any header. A single label is an int
 * if it is a whole number in all records, else a float; several labels are an f32 tensor. Threads:
 * looking has one owner; the result is immutable.
 */
#ifndef SL_RECORDIO_FIELDS_H
#define SL_RECORDIO_FIELDS_H

#include "recordio_index.h"
#include "source_columns.h"

/* Counts over the records looked at; all zero at first. */
typedef struct sl_recordio_looks {
    uint32_t records; /* all records */
    uint32_t possible, headers,
        blank; /* records that can begin with a header; with a usual header; with zeros */
    uint32_t plain_pictures;            /* records that begin like an image */
    uint32_t contents, pictures;        /* contents after headers: not empty; images */
    uint32_t numbers, whole, tensors;   /* labels */
    uint32_t labels_least, labels_most; /* smallest and largest number of labels in tensors */
} sl_recordio_looks;

typedef struct sl_recordio_fields {
    sl_source_fields source;
    bool headers;
} sl_recordio_fields;

/*
 * Returns whether a record is the file header of insightface, record 0: a list of labels and no
 * image. `*end`: number of the first record that is not an image; the records from there on say
 * which images an identity has.
 */
bool sl_recordio_is_file_header(const sl_recordio *record, uint64_t *end);
/* Returns whether a record is a header without an image. */
bool sl_recordio_is_empty(const sl_recordio *record);

void sl_recordio_look(sl_recordio_looks *looks, const sl_recordio *record);
/* Finds the fields. Errors name `path` and are those of sl_source_fields_find. */
sluice_status sl_recordio_fields_find(sl_recordio_fields *fields, const sl_recordio_looks *looks,
                                      const sluice_dataset_options *options, const char *path,
                                      sluice_error *error);
/* Unpacks the wanted values of a record. Spans point into the record. */
sl_refusal sl_recordio_fields_unpack(const sl_recordio_fields *fields, const sl_recordio *record,
                                     sl_values *values);

#endif
