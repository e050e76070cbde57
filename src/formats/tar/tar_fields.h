/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar_fields: reads the values of samples in archives from their members (member_fields.h).
 *
 * Threads: pure; does not allocate.
 */
#ifndef SL_TAR_FIELDS_H
#define SL_TAR_FIELDS_H

#include "error.h"
#include "member_fields.h"
#include "tar_index.h"

/* A sample: its members, followed by the contents of those that are links. */
typedef struct sl_tar_record {
    sl_bytes bytes;
    const sl_index_link
        *links; /* `part`: number of the block in which a link begins, relative to the first */
    uint32_t link_count;
} sl_tar_record;

/* Unpacks a sample, whose bytes begin with its first member. */
sl_refusal sl_tar_fields_unpack(const sl_member_fields *fields, const sl_tar_record *record,
                                sl_values *values);

#endif
