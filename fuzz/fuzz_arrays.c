/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_arrays: any bytes as the header of a .npy file, or as a Megatron index. Input: one byte
 * (choice of format), then the file. */
#include "fuzz.h"

#include "dtype.h"
#include "megatron_index.h"
#include "npy_header.h"

#include <string.h>

static void run_npy(const uint8_t *file, size_t size)
{
    sl_npy npy;
    if (size < SL_NPY_PREFIX_BYTES)
        return;
    const uint64_t length = sl_npy_length(file);
    fuzz_expect(length == 0 || length >= SL_NPY_PREFIX_BYTES - 2, "a header has a length");
    if (length < SL_NPY_PREFIX_BYTES || length > size)
        return;
    uint8_t *copy = malloc(length); /* of exactly that size, for the sanitizer */
    fuzz_expect(copy != NULL, "memory");
    memcpy(copy, file, length);
    const sl_refusal refusal = sl_npy_parse(&npy, (sl_bytes){copy, length});
    fuzz_expect(refusal.text == NULL || refusal.status < 0, "a refusal has a status");
    fuzz_expect(refusal.offset <= length, "a refusal points into the header");
    if (refusal.text == NULL) {
        uint64_t bytes = sl_dtype_bytes(npy.dtype);
        fuzz_expect(bytes > 0 && npy.dims <= SL_NPY_DIMS_MAX, "an array has a type");
        for (uint32_t i = 0; i < npy.dims; i++)
            bytes *= npy.shape[i];
        fuzz_expect(bytes == npy.bytes && bytes <= INT64_MAX, "its size is that of its shape");
    }
    free(copy);
}

static void run_megatron(const uint8_t *file, size_t size)
{
    sl_megatron_head head;
    uint8_t *copy = malloc(size + 1);
    fuzz_expect(copy != NULL, "memory");
    memcpy(copy, file, size);
    const sl_refusal refusal = sl_megatron_parse(&head, copy, size);
    fuzz_expect(refusal.text == NULL || refusal.status < 0, "a refusal has a status");
    for (uint64_t i = 0; refusal.text == NULL && i < head.sequences; i++) {
        sl_extent sequence;
        const uint64_t bin = 1 << 20;
        if (sl_megatron_sequence_at(&head, copy + SL_MEGATRON_HEAD_BYTES, i, bin, &sequence).text ==
            NULL) {
            fuzz_expect(sequence.offset <= bin && sequence.bytes <= bin - sequence.offset,
                        "a sequence lies in its file");
        }
    }
    free(copy);
}

int fuzz_run(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    if (data[0] % 2 == 0) {
        run_npy(data + 1, size - 1);
    } else {
        run_megatron(data + 1, size - 1);
    }
    return 0;
}

static size_t npy_seed(uint8_t *file, uint8_t version, const char *text)
{
    const size_t head = version == 1 ? 10 : 12;
    const size_t bytes = strlen(text);
    memset(file, 0, head);
    (void)snprintf((char *)file, 7, "%s", "\x93NUMPY");
    file[6] = version;
    file[8] = (uint8_t)bytes;
    for (size_t i = 0; i < bytes; i++)
        file[head + i] = (uint8_t)text[i];
    return head + bytes;
}

size_t fuzz_seed(unsigned index, uint8_t *buffer)
{
    static const char *const texts[] = {
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }          \n",
        "{\"shape\": (7L,), \"fortran_order\": True, \"descr\": \"|u1\"}\n",
        "{'descr': [('a', '<i2')], 'fortran_order': False, 'shape': ()}\n",
    };
    uint8_t *file = buffer + 1;
    buffer[0] = index == 3;
    if (index < 3)
        return 1 + npy_seed(file, (uint8_t)(index + 1), texts[index]);
    if (index > 3)
        return 0;
    memset(file, 0, 128);
    (void)snprintf((char *)file, 8, "MMIDIDX");
    file[9] = 1;                        /* version */
    file[17] = 8;                       /* u16 */
    file[18] = 3;                       /* sequences */
    file[26] = 4;                       /* documents */
    file[34] = file[38] = file[42] = 5; /* elements */
    file[54] = 10;
    file[62] = 20;
    return 1 + SL_MEGATRON_HEAD_BYTES + (size_t)3 * 12 + (size_t)4 * 8;
}
