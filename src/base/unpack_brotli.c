/* SPDX-License-Identifier: Apache-2.0 */
#include "unpack_brotli.h"

#include "memory.h"

#include <brotli/decode.h>

bool sl_brotli_is_there(void)
{
    return true;
}

static void *unpack_brotli_take(void *context, size_t bytes)
{
    (void)context;
    return sl_malloc(bytes);
}

static void unpack_brotli_give(void *context, void *memory)
{
    (void)context;
    sl_free(memory);
}

bool sl_brotli_unpack(sl_bytes packed, uint8_t *to, size_t size)
{
    size_t left = packed.size;
    size_t capacity = size;
    const uint8_t *from = packed.data;
    BrotliDecoderState *state =
        BrotliDecoderCreateInstance(unpack_brotli_take, unpack_brotli_give, NULL);
    if (state == NULL) {
        return false;
    }
    const BrotliDecoderResult result =
        BrotliDecoderDecompressStream(state, &left, &from, &capacity, &to, NULL);
    BrotliDecoderDestroyInstance(state);
    return result == BROTLI_DECODER_RESULT_SUCCESS && left == 0 && capacity == 0;
}

/* ---- piece by piece ---- */

sl_brotli *sl_brotli_open(void)
{
    return BrotliDecoderCreateInstance(unpack_brotli_take, unpack_brotli_give, NULL);
}

void sl_brotli_close(sl_brotli *brotli)
{
    if (brotli != NULL) {
        BrotliDecoderDestroyInstance(brotli);
    }
}

static bool is_shortage(BrotliDecoderErrorCode code)
{
    return code <= BROTLI_DECODER_ERROR_ALLOC_CONTEXT_MODES &&
           code >= BROTLI_DECODER_ERROR_ALLOC_BLOCK_TYPE_TREES;
}

sl_refusal sl_brotli_run(sl_brotli *brotli, sl_unpack_step *step, bool *ended)
{
    size_t left = step->in.size;
    const uint8_t *from = step->in.data;
    const BrotliDecoderResult result =
        BrotliDecoderDecompressStream(brotli, &left, &from, &step->capacity, &step->to, NULL);
    step->in = (sl_bytes){from, left};
    *ended = result == BROTLI_DECODER_RESULT_SUCCESS;
    if (result != BROTLI_DECODER_RESULT_ERROR) {
        return sl_accept();
    }
    const BrotliDecoderErrorCode code = BrotliDecoderGetErrorCode(brotli);
    return is_shortage(code)
               ? (sl_refusal){.text = "out of memory for Brotli", .status = SLUICE_NOMEM}
               : sl_refuse(BrotliDecoderErrorString(code), 0);
}
