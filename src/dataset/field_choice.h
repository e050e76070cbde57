/* SPDX-License-Identifier: Apache-2.0 */
/*
 * field_choice: parses field choices of users: "NAME=KEY" or "NAME=KEY:TYPE".
 *
 * Purpose: parses sluice_dataset_options.fields (sluice/dataset.h has the grammar) for formats
 * whose samples have their own keys, and checks names and shapes of fields. Threads: pure.
 */
#ifndef SL_FIELD_CHOICE_H
#define SL_FIELD_CHOICE_H

#include "value.h"

#define SL_CHOICE_KEY_BYTES 256U

typedef struct sl_field_choice {
    sl_field field; /* the name; all members, if typed */
    bool typed;     /* true if TYPE was given */
    char key[SL_CHOICE_KEY_BYTES];
} sl_field_choice;

/* Parses a choice. Errors: INVALID, with the reason. */
sluice_status sl_field_choice_parse(sl_field_choice *choice, const char *text, sluice_error *error);

/* ---- of any field ---- */

/* Returns whether a name has 1 to 31 bytes from '!' to '~', and a NUL. */
bool sl_field_name_ok(const char name[SL_FIELD_NAME_BYTES]);
/* Returns whether the fixed dimensions of a tensor allow a size that a sample can have. */
bool sl_tensor_fits(const sl_field *field);

#endif
