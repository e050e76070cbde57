/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces unpack_lz4.c in builds without liblz4. */
#include "unpack_lz4.h"

bool sl_lz4_is_there(void)
{
    return false;
}

bool sl_lz4_unpack_block(sl_bytes packed, uint8_t *to, size_t size)
{
    (void)packed;
    (void)to;
    (void)size;
    return false;
}

bool sl_lz4_unpack_frame(sl_bytes packed, uint8_t *to, size_t size)
{
    return sl_lz4_unpack_block(packed, to, size);
}

bool sl_lz4_unpack_any(sl_bytes packed, uint8_t *to, size_t size)
{
    return sl_lz4_unpack_block(packed, to, size);
}
