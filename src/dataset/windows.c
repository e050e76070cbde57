/* SPDX-License-Identifier: Apache-2.0 */
#include "windows.h"

#include "checksum.h"
#include "dtype.h"
#include "error.h"
#include "memory.h"

#include <string.h>

#define STAGE        "dataset"
#define GROUPS_MAX   ((uint64_t)1 << 20)
#define WINDOW_BYTES 0x7fffffffU

typedef struct windows {
    sl_dataset base; /* as a dataset */
    sl_dataset *of;  /* that they are cut from */
    sl_window_shape shape;
    uint32_t element_bytes, window_bytes;
    uint64_t group;   /* samples of `of` in a group */
    uint64_t *starts; /* first window of each group, and the end */
    uint64_t groups;
    uint64_t each; /* windows of every sample but the last ones; 0: they differ */
} windows;

static const windows *windows_of(const sl_dataset *dataset)
{
    return (const windows *)(const void *)dataset;
}

static uint64_t count_in(const windows *own, uint64_t bytes)
{
    const uint64_t elements = bytes / own->element_bytes;
    return elements < own->shape.span ? 0 : (elements - own->shape.span) / own->shape.stride + 1;
}

/* ---- one window ---- */

/* The group that window `index` lies in. */
static uint64_t find_group(const windows *own, uint64_t index)
{
    uint64_t low = 0;
    uint64_t high = own->groups - 1;
    while (low < high) {
        const uint64_t middle = low + (high - low + 1) / 2;
        if (own->starts[middle] <= index) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

static sluice_status place_field(const windows *own, uint64_t sample, sl_place *place,
                                 sl_place *lookup, sl_refusal *why)
{
    return own->of->ops->locate_field(own->of, sample, own->shape.field, place, lookup, why);
}

/* Cuts window `number` out of its sample's field. */
static void cut(const windows *own, uint64_t number, sl_place *place)
{
    place->offset += number * own->shape.stride * own->element_bytes;
    place->bytes = own->window_bytes;
}

/* Sample after sample of a group: an index that no longer says what it did when it was counted is
 * corrupt. */
static sluice_status search(const windows *own, uint64_t group, uint64_t left, sl_sample *sample,
                            sl_place *lookup, sl_refusal *why)
{
    const uint64_t first = group * own->group;
    const uint64_t rest = own->of->info.samples - first;
    const uint64_t count = rest < own->group ? rest : own->group;
    for (uint64_t i = 0; i < count; i++) {
        const sluice_status status = place_field(own, first + i, &sample->place, lookup, why);
        if (status != SLUICE_OK) {
            return status;
        }
        const uint64_t here = count_in(own, sample->place.bytes);
        if (left < here) {
            sample->facts[0] = first + i;
            cut(own, left, &sample->place);
            return SLUICE_OK;
        }
        left -= here;
    }
    *why = sl_refuse("the index has changed since it was opened", 0);
    return SLUICE_CORRUPT;
}

static sluice_status locate(const sl_dataset *dataset, uint64_t index, sl_sample *sample,
                            sl_place *lookup, sl_refusal *why)
{
    const windows *own = windows_of(dataset);
    *sample = (sl_sample){.index = index};
    if (own->each != 0) {
        sample->facts[0] = index / own->each;
        const sluice_status status =
            place_field(own, sample->facts[0], &sample->place, lookup, why);
        if (status == SLUICE_OK) {
            cut(own, index % own->each, &sample->place);
        }
        return status;
    }
    const uint64_t group = find_group(own, index);
    return search(own, group, index - own->starts[group], sample, lookup, why);
}

static sl_refusal learn(const sl_dataset *dataset, const sl_place *lookup, sl_bytes bytes)
{
    const sl_dataset *of = windows_of(dataset)->of;
    return of->ops->learn(of, lookup, bytes);
}

static sl_refusal unpack(const sl_dataset *dataset, const sl_sample *sample, sl_bytes bytes,
                         sl_values *values)
{
    (void)sample;
    const windows *own = windows_of(dataset);
    if (bytes.size != own->window_bytes) {
        return sl_refuse("the window is cut short", 0);
    }
    sl_value *value = &values->of[own->shape.field];
    *value = (sl_value){.present = true, .bytes = bytes};
    value->shape[0] = own->shape.span;
    return sl_accept();
}

static const char *class_name(const sl_dataset *dataset, int64_t label)
{
    const sl_dataset *of = windows_of(dataset)->of;
    return of->ops->class_name(of, label);
}

static void close_windows(sl_dataset *dataset)
{
    windows *own = (windows *)(void *)dataset;
    sl_dataset_close(own->of);
    sl_free(own->starts);
    sl_free(own);
}

static const sl_dataset_ops windows_ops = {
    .locate = locate,
    .learn = learn,
    .unpack = unpack,
    .class_name = class_name,
    .close = close_windows,
};

/* ---- opening ---- */

/* Windows of a sample, reading its index entry where it has to be read. */
static sluice_status count_sample(const windows *own, uint64_t index, uint64_t *count,
                                  sluice_error *error)
{
    sl_place place;
    const sluice_status status =
        sl_dataset_find_field(own->of, index, own->shape.field, &place, error);
    *count = status == SLUICE_OK ? count_in(own, place.bytes) : 0;
    return status;
}

static sluice_status count_all(windows *own, sluice_error *error)
{
    const uint64_t samples = own->of->info.samples;
    uint64_t sum = 0;
    bool alike = true; /* all that came so far, but the latest, have `each` */
    uint64_t latest = 0;
    for (uint64_t i = 0; i < samples; i++) {
        if (i % own->group == 0) {
            own->starts[i / own->group] = sum;
        }
        alike = alike && (i == 0 || latest == own->each);
        const sluice_status status = count_sample(own, i, &latest, error);
        if (status != SLUICE_OK) {
            return status;
        }
        own->each = i == 0 ? latest : own->each;
        sum += latest;
    }
    own->starts[own->groups] = sum;
    own->each = alike && latest <= own->each ? own->each : 0;
    own->base.info.samples = sum;
    own->base.info.bytes = sum * own->window_bytes;
    if (sum == 0) {
        return sl_error_set(error, SLUICE_INVALID, STAGE,
                            "a window of \"%s\" has %llu elements, and no sample has as many",
                            own->of->fields[own->shape.field].name,
                            (unsigned long long)own->shape.span);
    }
    return SLUICE_OK;
}

/* The same dataset cut in another way is another dataset. */
static uint64_t fingerprint(const windows *own)
{
    sl_checksum_stream stream;
    sl_checksum_begin(&stream);
    sl_checksum_add_u64(&stream, own->of->info.fingerprint);
    sl_checksum_add_u64(&stream, own->shape.field);
    sl_checksum_add_u64(&stream, own->shape.span);
    sl_checksum_add_u64(&stream, own->shape.stride);
    return sl_checksum_value(&stream);
}

static sluice_status measure(windows *own, sluice_error *error)
{
    const sl_field *field = &own->of->fields[own->shape.field];
    if (own->of->ops->locate_field == NULL) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, STAGE,
                            "windows of \"%s\" cannot be read by themselves from a dataset of "
                            "this format",
                            field->name);
    }
    own->element_bytes = (uint32_t)sl_dtype_bytes(field->dtype);
    if (own->shape.span > WINDOW_BYTES / own->element_bytes) {
        return sl_error_set(error, SLUICE_INVALID, STAGE,
                            "a window of \"%s\" has 2^31 - 1 bytes at most", field->name);
    }
    own->window_bytes = (uint32_t)own->shape.span * own->element_bytes;
    const uint64_t samples = own->of->info.samples;
    own->group = (samples - 1) / GROUPS_MAX + 1;
    own->groups = (samples - 1) / own->group + 1;
    own->starts = sl_calloc((size_t)own->groups + 1, sizeof(*own->starts));
    return own->starts != NULL ? SLUICE_OK
                               : sl_error_set(error, SLUICE_NOMEM, STAGE, "no memory for windows");
}

sluice_status sl_windows_open(sl_dataset **dataset, sl_dataset *base, const sl_window_shape *shape,
                              sluice_error *error)
{
    windows *own = sl_calloc(1, sizeof(*own));
    if (own == NULL) {
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "no memory for windows");
    }
    own->base = (sl_dataset){.ops = &windows_ops,
                             .references = 1,
                             .info = base->info,
                             .fields = base->fields,
                             .objects = base->objects,
                             .whole_objects = base->whole_objects};
    own->of = sl_dataset_ref(base);
    own->shape = *shape;
    sluice_status status = measure(own, error);
    if (status == SLUICE_OK) {
        status = count_all(own, error);
    }
    if (status != SLUICE_OK) {
        sl_dataset_close(&own->base);
        return status;
    }
    own->base.info.fingerprint = fingerprint(own);
    *dataset = &own->base;
    return SLUICE_OK;
}
