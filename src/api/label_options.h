/* SPDX-License-Identifier: Apache-2.0 */
/*
 * label_options: how classes are to be joined, as a caller says it and as the library takes it.
 *
 * Threads: pure. Ownership: what is borrowed is the caller's; sl_api_close_labels for a file.
 */
#ifndef SL_LABEL_OPTIONS_H
#define SL_LABEL_OPTIONS_H

#include "label_file.h"

#include <sluice/datasets.h>

typedef struct sl_api_labels {
    const sl_labels *labels; /* of below; NULL: nothing was said */
    sl_labels own;
    sl_label_file file;
} sl_api_labels;

/* Errors: INVALID, UNSUPPORTED (a newer struct), and those of the file. To be closed in any case.
 */
sluice_status sl_api_read_labels(sl_api_labels *to, const sluice_label_options *given,
                                 sluice_error *error);
void sl_api_close_labels(sl_api_labels *labels);

#endif
