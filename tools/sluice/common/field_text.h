/* SPDX-License-Identifier: Apache-2.0 */
/* field_text: fields of samples as people write and read them: "u8:3x32x32", "tensor u16 [?]". */
#ifndef TOOL_FIELD_TEXT_H
#define TOOL_FIELD_TEXT_H

#include <sluice/dataset.h>

#include <stdbool.h>
#include <stddef.h>

/* Returns "image", "int", ...; never NULL. */
const char *field_type_name(const sluice_field *field);
/* Writes the type, for tensors also dtype and shape, and how values are stored. */
void field_describe(const sluice_field *field, char *text, size_t bytes);
/* Returns "plain", "zstd"; "" if it differs, or is unknown. */
const char *field_stored_name(const sluice_field *field);

/* Reads [NAME=]DTYPE:SHAPE, the shape as 3x32x32. False: reported. */
bool field_parse_tensor(const char *text, sluice_field *field);

#endif
