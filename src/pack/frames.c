/* SPDX-License-Identifier: Apache-2.0 */
#include "frames.h"

#include "error.h"
#include "frame.h"
#include "memory.h"
#include "minmax.h"

#include <sluice/writer.h>

#include <assert.h>

#define STAGE "pack"

static bool has_blobs(const sl_field *field)
{
    return field->type != SLUICE_FIELD_INT && field->type != SLUICE_FIELD_FLOAT;
}

uint64_t sl_frames_ask(sl_record_plan *plan, int32_t zstd_level)
{
    uint64_t open = 0;
    for (uint32_t i = 0; i < plan->schema->field_count; i++) {
        const sl_field *field = &plan->schema->fields[i];
        const bool never = field->compression == SLUICE_COMPRESSION_NEVER || !has_blobs(field);
        const bool asked = field->compression == SLUICE_COMPRESSION_ALWAYS || zstd_level > 0;
        plan->levels[i] = 0;
        if (never) {
            continue;
        }
        if (asked) {
            plan->levels[i] = zstd_level > 0 ? zstd_level : SL_FRAMES_LEVEL;
        } else if (zstd_level == SLUICE_ZSTD_AUTO) {
            open |= UINT64_C(1) << i;
        }
    }
    return open;
}

static sluice_status frames_measure(sl_frames *frames, sl_bytes blob, uint64_t *packed,
                                    sluice_error *error)
{
    const size_t bound = sl_frame_bound(blob.size);
    if (bound > frames->capacity) {
        sl_free(frames->memory);
        frames->memory = sl_malloc(bound);
        frames->capacity = frames->memory != NULL ? bound : 0;
    }
    if (frames->memory == NULL) {
        return sl_no_memory(error, STAGE, "compressing %zu bytes", blob.size);
    }
    size_t size = 0;
    const sluice_status status = sl_frame_pack(blob, SL_FRAMES_LEVEL, frames->memory, &size, error);
    *packed = sl_min_u64(size, blob.size);
    return status;
}

sluice_status sl_frames_add(sl_frames *frames, const sl_record *record, sluice_error *error)
{
    const uint64_t open = frames->open & ~record->pictures;
    frames->samples++;
    frames->bytes += record->bytes;
    for (uint32_t i = 0; i < record->fields; i++) {
        const sl_bytes blob = record->blobs[i];
        uint64_t packed = blob.size;
        if ((open >> i & 1) == 0) {
            continue;
        }
        if (blob.size >= SL_RECORD_FRAME_MIN) {
            const sluice_status status = frames_measure(frames, blob, &packed, error);
            if (status < 0) {
                return status;
            }
        }
        frames->plain[i] += blob.size;
        frames->packed[i] += packed;
    }
    return SLUICE_OK;
}

uint64_t sl_frames_decide(const sl_frames *frames)
{
    uint64_t paying = 0;
    for (uint32_t i = 0; i < SL_FIELDS_MAX; i++) {
        const bool measured = (frames->open >> i & 1) != 0 && frames->plain[i] > 0;
        const bool pays = measured && frames->packed[i] <= frames->plain[i] - frames->plain[i] / 4;
        paying |= (uint64_t)pays << i;
    }
    return paying;
}

uint64_t sl_frames_bytes(const sl_frames *frames, uint64_t paying)
{
    uint64_t bytes = frames->bytes;
    for (uint32_t i = 0; i < SL_FIELDS_MAX; i++) {
        bytes -= (paying >> i & 1) != 0 ? frames->plain[i] - frames->packed[i] : 0;
    }
    return bytes;
}

void sl_frames_close(sl_frames *frames)
{
    sl_free(frames->memory);
    *frames = (sl_frames){0};
}

void sl_frames_settle(sl_record_plan *plan, sl_schema *schema, uint64_t open, uint64_t paying)
{
    assert(plan->schema == schema);
    for (uint32_t i = 0; i < schema->field_count; i++) {
        if ((open >> i & 1) != 0) {
            plan->levels[i] = (paying >> i & 1) != 0 ? SL_FRAMES_LEVEL : 0;
        }
        schema->fields[i].compression =
            plan->levels[i] != 0 ? SLUICE_COMPRESSION_ALWAYS : SLUICE_COMPRESSION_NEVER;
    }
}
