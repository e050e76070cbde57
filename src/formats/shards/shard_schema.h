/* SPDX-License-Identifier: Apache-2.0 */
/* shard_schema: rules of fields that their makers and their bytes share. Private to shard_*.c. */
#ifndef SL_SHARD_SCHEMA_H
#define SL_SHARD_SCHEMA_H

#include "shard_format.h"

#include <stdbool.h>

bool sl_field_name_taken(const sl_schema *schema, const char *name);
/* Fills in what follows from fields and version. */
void sl_schema_complete(sl_schema *schema);

#endif
