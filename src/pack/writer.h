/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer: the sample-by-sample writer of <sluice/writer.h>.
 *
 * Threads: one owner. Owns its output folder (and its lock) and the series in it.
 */
#ifndef SL_WRITER_H
#define SL_WRITER_H

#include "record.h"

#include <sluice/writer.h>

/* `options` is full-size, its defaults filled in. */
sluice_status sl_writer_open(sluice_writer **out, const char *path,
                             const sluice_writer_options *options, sluice_error *error);
/* `input->zstd_level` is the writer's own business. */
sluice_status sl_writer_add(sluice_writer *writer, const sl_record_input *input,
                            sluice_error *error);
/* Frees in any case. */
sluice_status sl_writer_finish(sluice_writer *writer, sluice_error *error);
void sl_writer_abort(sluice_writer *writer);

#endif
