/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer: the sample-by-sample writer of <sluice/writer.h>.
 *
 * Purpose: makes records as samples arrive and passes them to the series. While the choice of
 * frames (frames.h) is open, the first records are kept in memory, plain. Threads: one owner. In a
 * forked child it remains the parent's: calls fail, and abort frees the child's copy. Owns its
 * output folder (and its lock) and the series in it.
 */
#ifndef SL_WRITER_H
#define SL_WRITER_H

#include "record.h"

#include <sluice/writer.h>

/*
 * Opens a writer. `options` has its full size, with defaults applied, except for its fields: those
 * are `fields`.
 */
sluice_status sl_writer_open(sluice_writer **out, const char *path,
                             const sluice_writer_options *options, const sl_field *fields,
                             sluice_error *error);
const sl_schema *sl_writer_schema(const sluice_writer *writer);
/* Returns the writer's own values, to be filled in for the next add. */
sl_values *sl_writer_values(sluice_writer *writer);
/* Adds a sample with these values. */
sluice_status sl_writer_add(sluice_writer *writer, sluice_error *error);
/* Frees in any case. */
sluice_status sl_writer_finish(sluice_writer *writer, sluice_error *error);
void sl_writer_abort(sluice_writer *writer);

/* The default fields of a writer. */
enum { SL_STANDARD_IMAGE, SL_STANDARD_LABEL, SL_STANDARD_KEY, SL_STANDARD_FIELDS };
extern const sl_field sl_standard_fields[SL_STANDARD_FIELDS];

/* A sample of such a writer. */
typedef struct sl_picture_input {
    sl_bytes image;
    bool raw;               /* true: u8 RGB, width x height x 3 bytes */
    uint32_t width, height; /* raw only */
    int64_t label;
    const char *key;
} sl_picture_input;
/* Adds an image. STATE: the writer has custom fields. */
sluice_status sl_writer_add_picture(sluice_writer *writer, const sl_picture_input *input,
                                    sluice_error *error);

#endif
