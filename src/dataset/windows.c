/* SPDX-License-Identifier: Apache-2.0 */
/*
 * windows: the ops of a dataset of windows. Any thread: immutable once opened. Locating a window
 * only reads the index.
 */
#include "windows.h"

#include "checksum.h"
#include "dtype.h"
#include "error.h"
#include "memory.h"
#include "over.h"
#include "search.h"

#include <string.h>

#define STAGE      "dataset"
#define GROUPS_MAX ((uint64_t)1 << 20)
/* Limit on samples whose sizes are looked up one by one, which takes minutes. */
#define LOOKUPS_MAX  ((uint64_t)1 << 30)
#define WINDOW_BYTES 0x7fffffffU

typedef struct windows {
    sl_dataset base; /* the dataset itself */
    sl_dataset *of;  /* dataset from which windows are cut */
    sl_window_shape shape;
    uint32_t element_bytes, window_bytes;
    uint64_t group;   /* number of `of`'s samples in a group */
    uint64_t *starts; /* first window of each group, and the end; NULL with `each` */
    uint64_t groups;
    uint64_t each;     /* number of windows in every sample except the last; 0: varies */
    uint64_t *sources; /* for a mix: first window of each source, and the end; NULL */
    sl_mix *mix;       /* base.mix; NULL */
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

/* Returns how many samples from `index` on, before `end`, have the same number of windows. */
static uint64_t alike_from(const windows *own, uint64_t index, uint64_t end)
{
    uint64_t count = 1;
    if (!own->of->tensors->range(own->of, index, &count)) {
        return 1;
    }
    return count < end - index ? count : end - index;
}

/* ---- one window ---- */

/* Returns the group of window `index`. */
static uint64_t windows_find_group(const windows *own, uint64_t index)
{
    return sl_last_at_or_before(own->starts, sizeof(*own->starts), own->groups, index);
}

static sluice_status place_field(const windows *own, uint64_t sample, sl_place *place,
                                 sl_place *lookup, sl_refusal *why)
{
    return own->of->tensors->locate_field(own->of, sample, own->shape.field, place, lookup, why);
}

/* Cuts window `number` out of its sample's field. */
static void windows_cut(const windows *own, uint64_t number, sl_place *place)
{
    place->offset += number * own->shape.stride * own->element_bytes;
    place->bytes = own->window_bytes;
}

/*
 * Searches a group, run after run of samples. An index that differs from when it was counted is
 * corrupt.
 */
static sluice_status search(const windows *own, uint64_t group, uint64_t left, sl_sample *sample,
                            sl_place *lookup, sl_refusal *why)
{
    const uint64_t samples = own->of->info.samples;
    uint64_t index = group * own->group;
    const uint64_t end = samples - index < own->group ? samples : index + own->group;
    while (index < end) {
        sluice_status status = place_field(own, index, &sample->place, lookup, why);
        if (status != SLUICE_OK) {
            return status;
        }
        const uint64_t each = count_in(own, sample->place.bytes);
        const uint64_t alike = alike_from(own, index, end);
        if (left < alike * each) {
            sample->facts[0] = index + left / each;
            if (sample->facts[0] != index) {
                status = place_field(own, sample->facts[0], &sample->place, lookup, why);
            }
            if (status == SLUICE_OK) {
                windows_cut(own, left % each, &sample->place);
            }
            return status;
        }
        left -= alike * each;
        index += alike;
    }
    *why = sl_refuse("the index was modified since it was opened", 0);
    return SLUICE_CORRUPT;
}

static sluice_status windows_locate(const sl_dataset *dataset, uint64_t index, sl_sample *sample,
                                    sl_place *lookup, sl_refusal *why)
{
    const windows *own = windows_of(dataset);
    *sample = (sl_sample){.index = index};
    if (own->each != 0) {
        sample->facts[0] = index / own->each;
        const sluice_status status =
            place_field(own, sample->facts[0], &sample->place, lookup, why);
        if (status == SLUICE_OK) {
            windows_cut(own, index % own->each, &sample->place);
        }
        return status;
    }
    const uint64_t group = windows_find_group(own, index);
    return search(own, group, index - own->starts[group], sample, lookup, why);
}

static sl_refusal windows_unpack(const sl_dataset *dataset, const sl_sample *sample, sl_bytes bytes,
                                 sl_values *values)
{
    (void)sample;
    const windows *own = windows_of(dataset);
    if (bytes.size != own->window_bytes) {
        return sl_refuse("the window is truncated", 0);
    }
    sl_value *value = &values->of[own->shape.field];
    *value = (sl_value){.present = true, .bytes = bytes};
    value->shape[0] = own->shape.span;
    return sl_accept();
}

static void close_windows(sl_dataset *dataset)
{
    windows *own = (windows *)(void *)dataset;
    sl_dataset_close(own->of);
    sl_mix_close(own->mix);
    sl_free(own->starts);
    sl_free(own->sources);
    sl_free(own);
}

static sl_inner windows_object(const sl_dataset *dataset, uint32_t object)
{
    (void)object;
    return (sl_inner){.of = windows_of(dataset)->of};
}

/* a window is not another dataset's sample */
static const sl_over windows_over = {.object = windows_object};

static const sl_dataset_ops windows_ops = {
    .locate = windows_locate,
    .learn = sl_over_learn,
    .unpack = windows_unpack,
    .class_name = sl_over_class_name,
    .close = close_windows,
};

/* ---- opening ---- */

/* Counts the windows of a sample; reads its index entry if necessary. */
static sluice_status count_sample(const windows *own, uint64_t index, uint64_t *count,
                                  sluice_error *error)
{
    sl_place place;
    uint64_t bytes;
    const sl_tensor_ops *tensors = own->of->tensors;
    if (tensors->kept_bytes != NULL) {
        tensors->kept_bytes(own->of, own->shape.field, &index, 1, &bytes);
        *count = count_in(own, bytes);
        return SLUICE_OK;
    }
    if (sl_dataset_field_bytes(own->of, index, own->shape.field, &bytes)) {
        *count = count_in(own, bytes);
        return SLUICE_OK;
    }
    const sluice_status status =
        sl_dataset_find_field(own->of, index, own->shape.field, &place, error);
    *count = status == SLUICE_OK ? count_in(own, place.bytes) : 0;
    return status;
}

/* Checks the number of samples before any lookup: a sparse file can claim any number. */
static sluice_status check_lookups(const windows *own, sluice_error *error)
{
    uint64_t lookups = 0;
    uint64_t count = 0;
    for (uint64_t i = 0; i < own->of->info.samples; i += count) {
        lookups += own->of->tensors->range(own->of, i, &count) ? 1 : count;
    }
    if (lookups <= LOOKUPS_MAX) {
        return SLUICE_OK;
    }
    return sl_error_set(error, SLUICE_UNSUPPORTED, STAGE,
                        "windows are counted by looking up %llu samples, whose sizes differ; "
                        "the limit is 2^30: concatenate short samples",
                        (unsigned long long)lookups);
}

/*
 * Records where the windows of groups begin that start in a run of samples; `before`: number of
 * windows before the run.
 */
static void note_starts(windows *own, uint64_t index, uint64_t alike, uint64_t each,
                        uint64_t before)
{
    uint64_t group = (index + own->group - 1) / own->group;
    for (; group < own->groups && group * own->group < index + alike; group++) {
        own->starts[group] = before + (group * own->group - index) * each;
    }
}

/* Counts run after run of samples; `*sum`: total windows. */
static sluice_status count_all(windows *own, uint64_t *sum, sluice_error *error)
{
    const uint64_t samples = own->of->info.samples;
    const sl_mix *mix = own->of->mix;
    bool same = true; /* true if all so far are equal, except for a shorter last one */
    uint32_t source = 0;
    uint64_t alike = 0;
    for (uint64_t i = 0; i < samples; i += alike) {
        uint64_t each = 0;
        const sluice_status status = count_sample(own, i, &each, error);
        if (status != SLUICE_OK) {
            return status;
        }
        own->each = i == 0 ? each : own->each;
        same = same && (each == own->each || (i + 1 == samples && each < own->each));
        alike = alike_from(own, i, samples);
        note_starts(own, i, alike, each, *sum);
        for (; mix != NULL && mix->first[source] < i + alike; source++) {
            own->sources[source] = *sum + (mix->first[source] - i) * each;
        }
        *sum += alike * each; /* at most the number of bytes */
    }
    if (mix != NULL) {
        own->sources[mix->sources] = *sum;
    }
    own->starts[own->groups] = *sum;
    own->each = same ? own->each : 0;
    if (own->each != 0) {
        sl_free(own->starts);
        own->starts = NULL;
    }
    return SLUICE_OK;
}

/* Checks that each source with a turn has a window. */
static sluice_status check_sources(const windows *own, sluice_error *error)
{
    const sl_mix *mix = own->of->mix;
    uint32_t source = 0;
    while (mix != NULL && source < mix->sources &&
           own->sources[source] < own->sources[source + 1]) {
        source++;
    }
    if (mix == NULL || source == mix->sources) {
        return SLUICE_OK;
    }
    sl_place place;
    char path[SL_PATH_BYTES];
    const sluice_status status =
        sl_dataset_find_field(own->of, mix->first[source], own->shape.field, &place, error);
    if (status < 0) {
        return status;
    }
    const bool known =
        sl_objects_path(own->of->objects, place.object, path, sizeof(path)) == SLUICE_OK;
    return sl_error_file(
        error, SLUICE_INVALID, STAGE, 0, known ? path : NULL, -1,
        "a window of \"%s\" has %llu elements, more than any sample of dataset %u of the mix",
        own->of->fields[own->shape.field].name, (unsigned long long)own->shape.span, source + 1);
}

static sluice_status take_sum(windows *own, uint64_t sum, sluice_error *error)
{
    sluice_dataset_info *info = &own->base.info;
    const char *name = own->of->fields[own->shape.field].name;
    if (sum == 0) {
        return sl_error_set(error, SLUICE_INVALID, STAGE,
                            "a window of \"%s\" has %llu elements, more than any sample", name,
                            (unsigned long long)own->shape.span);
    }
    info->samples = sum;
    if (__builtin_mul_overflow(sum, own->window_bytes, &info->bytes) || info->bytes > INT64_MAX) {
        return sl_error_set(error, SLUICE_INVALID, STAGE,
                            "%llu windows of \"%s\" of %u bytes exceed 2^63 bytes",
                            (unsigned long long)sum, name, own->window_bytes);
    }
    return SLUICE_OK;
}

static sluice_status windows_count(windows *own, sluice_error *error)
{
    uint64_t sum = 0;
    sluice_status status = check_lookups(own, error);
    if (status == SLUICE_OK) {
        status = count_all(own, &sum, error);
    }
    if (status == SLUICE_OK) {
        status = take_sum(own, sum, error);
    }
    return status == SLUICE_OK ? check_sources(own, error) : status;
}

/* a different cut makes a different dataset */
static uint64_t windows_fingerprint(const windows *own)
{
    sl_checksum_stream stream;
    sl_checksum_begin(&stream);
    sl_checksum_add_u64(&stream, own->of->info.fingerprint);
    sl_checksum_add_u64(&stream, own->shape.field);
    sl_checksum_add_u64(&stream, own->shape.span);
    sl_checksum_add_u64(&stream, own->shape.stride);
    return sl_checksum_value(&stream);
}

static sluice_status windows_measure(windows *own, sluice_error *error)
{
    const sl_field *field = &own->of->fields[own->shape.field];
    if (own->of->tensors == NULL) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, STAGE,
                            "windows of \"%s\" cannot be read from a dataset of this format",
                            field->name);
    }
    own->element_bytes = (uint32_t)sl_dtype_bytes(field->dtype);
    if (own->shape.span > WINDOW_BYTES / own->element_bytes) {
        return sl_error_set(error, SLUICE_INVALID, STAGE,
                            "a window of \"%s\" has more than 2^31 - 1 bytes", field->name);
    }
    own->window_bytes = (uint32_t)own->shape.span * own->element_bytes;
    const uint64_t samples = own->of->info.samples;
    own->group = (samples - 1) / GROUPS_MAX + 1;
    own->groups = (samples - 1) / own->group + 1;
    own->starts = sl_calloc((size_t)own->groups + 1, sizeof(*own->starts));
    if (own->of->mix != NULL) {
        own->sources = sl_calloc((size_t)own->of->mix->sources + 1, sizeof(*own->sources));
    }
    return own->starts != NULL && (own->of->mix == NULL || own->sources != NULL)
               ? SLUICE_OK
               : sl_no_memory(error, STAGE, "for windows");
}

sluice_status sl_windows_open(sl_dataset **dataset, sl_dataset *base, const sl_window_shape *shape,
                              sluice_error *error)
{
    windows *own = sl_over_new(sizeof(*own), &windows_ops, &windows_over, base, error);
    if (own == NULL) {
        return SLUICE_NOMEM;
    }
    own->base.whole_objects = base->whole_objects;
    own->of = sl_dataset_ref(base);
    own->shape = *shape;
    sluice_status status = windows_measure(own, error);
    if (status == SLUICE_OK) {
        status = windows_count(own, error);
    }
    if (status != SLUICE_OK) {
        sl_dataset_close(&own->base);
        return status;
    }
    own->base.info.fingerprint = windows_fingerprint(own);
    *dataset = &own->base;
    return SLUICE_OK;
}

const uint64_t *sl_windows_sources(const sl_dataset *dataset)
{
    return windows_of(dataset)->sources;
}

void sl_windows_mix(sl_dataset *dataset, sl_mix *mix)
{
    windows *own = (windows *)(void *)dataset;
    own->mix = mix;
    own->base.mix = mix;
}
