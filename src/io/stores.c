/* SPDX-License-Identifier: Apache-2.0 */
/* The table of stores, and nothing else (store.h says why). */
#include "store.h"

const sl_store *const sl_stores[] = {&sl_store_http, &sl_store_https, &sl_store_s3,
                                     &sl_store_gs,   &sl_store_hf,    &sl_store_local};
