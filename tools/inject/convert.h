/* SPDX-License-Identifier: Apache-2.0 */
/* convert: converts one CUPTI record to one of ours. Pure. */
#ifndef INJECT_CONVERT_H
#define INJECT_CONVERT_H

#include "idle_format.h"

enum convert_result {
    CONVERT_RECORD, /* `*to` was set */
    CONVERT_OTHER,  /* of a kind that was not requested */
    CONVERT_ODD     /* without times: CUPTI could not collect them */
};

enum convert_result convert_record(const void *cupti_record, struct idle_record *to);

#endif
