/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces unpack_brotli.c in builds without libbrotlidec. */
#include "unpack_brotli.h"

#include <stddef.h>

bool sl_brotli_is_there(void)
{
    return false;
}

bool sl_brotli_unpack(sl_bytes packed, uint8_t *to, size_t size)
{
    (void)packed;
    (void)to;
    (void)size;
    return false;
}

sl_brotli *sl_brotli_open(void)
{
    return NULL;
}

void sl_brotli_close(sl_brotli *brotli)
{
    (void)brotli;
}

sl_refusal sl_brotli_run(sl_brotli *brotli, sl_unpack_step *step, bool *ended)
{
    (void)brotli;
    (void)step;
    *ended = false;
    return sl_refuse_unknown("built without libbrotlidec", 0);
}
