/* SPDX-License-Identifier: Apache-2.0 */
#include "unpack_brotli.h"

#include "memory.h"

#include <brotli/decode.h>

bool sl_brotli_is_there(void)
{
    return true;
}

static void *take(void *context, size_t bytes)
{
    (void)context;
    return sl_malloc(bytes);
}

static void give(void *context, void *memory)
{
    (void)context;
    sl_free(memory);
}

bool sl_brotli_unpack(sl_bytes packed, uint8_t *to, size_t size)
{
    size_t left = packed.size;
    size_t room = size;
    const uint8_t *from = packed.data;
    BrotliDecoderState *state = BrotliDecoderCreateInstance(take, give, NULL);
    if (state == NULL) {
        return false;
    }
    const BrotliDecoderResult result =
        BrotliDecoderDecompressStream(state, &left, &from, &room, &to, NULL);
    BrotliDecoderDestroyInstance(state);
    return result == BROTLI_DECODER_RESULT_SUCCESS && left == 0 && room == 0;
}
