/* SPDX-License-Identifier: Apache-2.0 */
/* Where libbrotlidec was not there when the library was built. */
#include "unpack_brotli.h"

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
