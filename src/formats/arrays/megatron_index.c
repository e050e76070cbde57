/* SPDX-License-Identifier: Apache-2.0 */
#include "megatron_index.h"

#include "dtype.h"
#include "little_endian.h"

#include <string.h>

static const char magic[9] = "MMIDIDX\0";

enum { VERSION = 9, DTYPE = 17, SEQUENCES = 18, DOCUMENTS = 26 };

bool sl_megatron_is(const uint8_t *bytes, size_t size)
{
    return size >= SL_MEGATRON_HEAD_BYTES && memcmp(bytes, magic, sizeof(magic)) == 0;
}

static bool megatron_index_dtype_of(uint8_t code, sluice_dtype *dtype)
{
    static const sluice_dtype dtypes[] = {SLUICE_U8,  SLUICE_I8,  SLUICE_I16, SLUICE_I32,
                                          SLUICE_I64, SLUICE_F64, SLUICE_F32, SLUICE_U16};
    if (code < 1 || code > sizeof(dtypes) / sizeof(dtypes[0])) {
        return false;
    }
    *dtype = dtypes[code - 1];
    return true;
}

sl_refusal sl_megatron_parse(sl_megatron_head *head, const uint8_t *bytes, uint64_t file_bytes)
{
    const uint64_t most = (uint64_t)INT64_MAX / 32;
    if (file_bytes < SL_MEGATRON_HEAD_BYTES || !sl_megatron_is(bytes, SL_MEGATRON_HEAD_BYTES)) {
        return sl_refuse("not a Megatron-LM index", 0);
    }
    if (sl_load64(bytes + VERSION) != 1) {
        return sl_refuse_unknown("unsupported version: only 1 is", VERSION);
    }
    if (!megatron_index_dtype_of(bytes[DTYPE], &head->dtype)) {
        return sl_refuse_unknown("unknown dtype", DTYPE);
    }
    head->sequences = sl_load64(bytes + SEQUENCES);
    head->documents = sl_load64(bytes + DOCUMENTS);
    if (head->sequences > most || head->documents > most) {
        return sl_refuse("the number of sequences is out of range", SEQUENCES);
    }
    const uint64_t tables = head->sequences * 12 + head->documents * 8;
    const uint64_t rest = file_bytes - SL_MEGATRON_HEAD_BYTES;
    return rest == tables || rest == tables + head->sequences
               ? sl_accept()
               : sl_refuse("the file size does not match its header", SEQUENCES);
}

sl_refusal sl_megatron_sequence_at(const sl_megatron_head *head, const uint8_t *tables,
                                   uint64_t number, uint64_t bin_bytes, sl_extent *sequence)
{
    const uint32_t elements = sl_load32(tables + number * 4);
    const uint64_t size = sl_dtype_bytes(head->dtype);
    sequence->offset = sl_load64(tables + head->sequences * 4 + number * 8);
    sequence->bytes = elements * size;
    if (elements > INT32_MAX || sequence->offset > bin_bytes ||
        sequence->bytes > bin_bytes - sequence->offset) {
        return sl_refuse("a sequence is outside the .bin file", 0);
    }
    return sequence->bytes <= INT32_MAX
               ? sl_accept()
               : sl_refuse_unknown("a sequence has more than 2^31 - 1 bytes", 0);
}
