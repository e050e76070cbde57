/* SPDX-License-Identifier: Apache-2.0 */
/*
 * field_rules: what names and shapes fields may have, of whatever format they are. Threads: pure.
 */
#ifndef SL_FIELD_RULES_H
#define SL_FIELD_RULES_H

#include "value.h"

/* 1 to 31 bytes from '!' to '~', and a NUL. */
bool sl_field_name_ok(const char name[SL_FIELD_NAME_BYTES]);
/* Whether the fixed dimensions of a tensor alone leave it a size that a sample can have. */
bool sl_tensor_fits(const sl_field *field);

#endif
