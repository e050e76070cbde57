/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar_fields: the values of samples in archives, from their members (member_fields.h).
 *
 * Threads: pure; without allocating.
 */
#ifndef SL_TAR_FIELDS_H
#define SL_TAR_FIELDS_H

#include "error.h"
#include "member_fields.h"
#include "tar_index.h"

/* Takes a sample's bytes apart: `bytes` begin with its first member. */
sl_refusal sl_tar_fields_unpack(const sl_member_fields *fields, sl_bytes bytes, sl_values *values);

#endif
