/* SPDX-License-Identifier: Apache-2.0 */
#include "mix.h"

#include "memory.h"

#include <stddef.h>

uint64_t sl_mix_epochs(const sl_mix *mix)
{
    const uint64_t most = UINT64_C(1) << 63;
    return most / mix->epoch_samples;
}

void sl_mix_close(sl_mix *mix)
{
    if (mix == NULL) {
        return;
    }
    for (uint32_t i = 0; mix->row != NULL && i < mix->rows; i++) {
        if (!mix->borrowed) {
            sl_free(mix->row[i].share);
            sl_free(mix->row[i].source);
            sl_free(mix->row[i].rank);
        }
        sl_free(mix->row[i].before);
    }
    sl_free(mix->row);
    sl_free(mix->first);
    sl_free(mix);
}
