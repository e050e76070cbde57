/* SPDX-License-Identifier: Apache-2.0 */
/*
 * records: a dataset whose samples are records of files that have no index of their own.
 *
 * Purpose: the common code of tar archives, TFRecords and RecordIO files. A format of records is an
 * sl_record_reader. It only knows how to recognise and walk a file (both in sl_file_kind), which
 * fields the records have, and how to unpack one.
 *
 * The steps of a sample:
 *   open    sl_records_open lists the files and gets an index of each: from the cache, from another
 *           tool's index beside it, or by walking it (file_set.h). Then the reader finds the
 *           fields, usually by looking at some records (look_around.h).
 *   locate  the file's index has the record's offset and size, without I/O. A record with links is
 *           read in pieces.
 *   read    any caller, usually a fetch thread, reads the record with its frame, nothing else.
 *   unpack  checks the size; then the reader checks the frame, and points the value of each wanted
 *           field into the bytes.
 *
 * Threads: one opens it; then it is immutable, and every op may be called from any thread. unpack
 * neither blocks nor allocates. Ownership: the dataset's; a reader owns nothing that must be freed.
 */
#ifndef SL_RECORDS_H
#define SL_RECORDS_H

#include "dataset.h"
#include "file_set.h"

typedef struct sl_records sl_records;

/* A record with all its bytes. */
typedef struct sl_raw_record {
    sl_bytes bytes;             /* those of its links are at the end, in order */
    const sl_index_link *links; /* file_index.h */
    uint32_t link_count;
} sl_raw_record;

typedef struct sl_record_reader {
    const char *format; /* sluice_dataset_info.format: "tfrecord" */
    const char *empty;  /* reason why there are no samples, if no file has any */
    sl_file_kind files;
    size_t bytes; /* of the format's own struct, which begins with an sl_records; zeroed */
    /*
     * Finds the fields, once: `base` has its ops, objects and info by now. Sets base.fields,
     * info.fields and base.kind, and adds to base.unchecked. Errors: the format's own.
     */
    sluice_status (*find_fields)(sl_records *records, const sluice_dataset_options *options,
                                 sluice_error *error);
    /* As sl_dataset_ops.unpack. */
    sl_refusal (*unpack)(const sl_records *records, const sl_raw_record *record, sl_values *values);
} sl_record_reader;

/* The part that such a format's dataset begins with. */
struct sl_records {
    sl_dataset base;
    const sl_record_reader *reader;
    sl_file_set set;
};

/* sl_format.open. Blocks. Errors: those of sl_file_set_open and find_fields; INVALID (there are no
 * samples). */
sluice_status sl_records_open(sl_dataset **dataset, const sl_record_reader *reader,
                              const char *const *paths, size_t count,
                              const sluice_dataset_options *options, sluice_error *error);

#endif
