/* SPDX-License-Identifier: Apache-2.0 */
/* shard_schema: rules of fields that their makers and their bytes share. Private to shard_*.c. */
#ifndef SL_SHARD_SCHEMA_H
#define SL_SHARD_SCHEMA_H

#include "shard_format.h"

#include <stdbool.h>

/* 1 to 31 bytes from '!' to '~', and a NUL. */
bool sl_field_name_ok(const char name[SL_FIELD_NAME_BYTES]);
bool sl_field_name_taken(const sl_schema *schema, const char *name);
/* Whether the fixed dimensions of a tensor alone leave it a size that a record can have. */
bool sl_tensor_fits(const sl_field *field);
/* Fills in what follows from fields and version. */
void sl_schema_complete(sl_schema *schema);

#endif
