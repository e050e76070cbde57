/* SPDX-License-Identifier: Apache-2.0 */
/*
 * field_choice: fields as users ask for them: "NAME=KEY" or "NAME=KEY:TYPE".
 *
 * Purpose: the words of sluice_dataset_options.fields (sluice/dataset.h has their grammar), for
 * formats whose samples have keys of their own; and what names and shapes any field may have.
 * Threads: pure.
 */
#ifndef SL_FIELD_CHOICE_H
#define SL_FIELD_CHOICE_H

#include "value.h"

#define SL_CHOICE_KEY_BYTES 256U

typedef struct sl_field_choice {
    sl_field field; /* its name; all of it, if it is typed */
    bool typed;     /* TYPE was given */
    char key[SL_CHOICE_KEY_BYTES];
} sl_field_choice;

/* Errors: INVALID, which says what is wrong. */
sluice_status sl_field_choice_parse(sl_field_choice *choice, const char *text, sluice_error *error);

/* ---- of any field ---- */

/* 1 to 31 bytes from '!' to '~', and a NUL. */
bool sl_field_name_ok(const char name[SL_FIELD_NAME_BYTES]);
/* Whether the fixed dimensions of a tensor alone leave it a size that a sample can have. */
bool sl_tensor_fits(const sl_field *field);

#endif
