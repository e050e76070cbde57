/* SPDX-License-Identifier: Apache-2.0 */
/* shard_schema: rules for fields, shared by creating and decoding. Private to shard_*.c. */
#ifndef SL_SHARD_SCHEMA_H
#define SL_SHARD_SCHEMA_H

#include "shard_format.h"

#include <stdbool.h>

bool sl_field_name_taken(const sl_schema *schema, const char *name);
/* Sets the values derived from fields and version. */
void sl_schema_complete(sl_schema *schema);

#endif
