/* SPDX-License-Identifier: Apache-2.0 */
/* checksum_avx2: the hash library compiled for AVX2 (by the compiler's option); checksum.c asks the
 * processor before it calls this. */
#include "checksum_twins.h"

#if defined(__AVX2__)

#    define XXH_INLINE_ALL
#    include <xxhash.h>

uint64_t sl_checksum_avx2(const void *data, size_t bytes)
{
    return XXH3_64bits(data, bytes);
}

void sl_checksum_add_avx2(void *state, const void *data, size_t bytes)
{
    (void)XXH3_64bits_update(state, data, bytes);
}

#endif
