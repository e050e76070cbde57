/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer: the sample-by-sample writer of <sluice/writer.h>.
 *
 * Purpose: makes records as they come and hands them to the series. While it is open which fields
 * are to be frames (frames.h), the first records are kept in memory, plain.
 * Threads: one owner. In a forked child it is the parent's: calls are refused, and abort frees the
 * child's copy. Owns its output folder (and its lock) and the series in it.
 */
#ifndef SL_WRITER_H
#define SL_WRITER_H

#include "record.h"

#include <sluice/writer.h>

/* `options` is full-size, its defaults filled in, but for its fields: those are `fields`. */
sluice_status sl_writer_open(sluice_writer **out, const char *path,
                             const sluice_writer_options *options, const sl_field *fields,
                             sluice_error *error);
const sl_schema *sl_writer_schema(const sluice_writer *writer);
/* The writer's own, to be filled in for the next add. */
sl_values *sl_writer_values(sluice_writer *writer);
/* Adds what they hold. */
sluice_status sl_writer_add(sluice_writer *writer, sluice_error *error);
/* Frees in any case. */
sluice_status sl_writer_finish(sluice_writer *writer, sluice_error *error);
void sl_writer_abort(sluice_writer *writer);

/* The fields that a writer has when it is not told others. */
enum { SL_STANDARD_IMAGE, SL_STANDARD_LABEL, SL_STANDARD_KEY, SL_STANDARD_FIELDS };
extern const sl_field sl_standard_fields[SL_STANDARD_FIELDS];

/* A sample of such a writer. */
typedef struct sl_picture_input {
    sl_bytes image;
    bool raw;               /* u8 RGB, width x height x 3 bytes */
    uint32_t width, height; /* raw only */
    int64_t label;
    const char *key;
} sl_picture_input;
/* STATE: the writer was told other fields. */
sluice_status sl_writer_add_picture(sluice_writer *writer, const sl_picture_input *input,
                                    sluice_error *error);

#endif
