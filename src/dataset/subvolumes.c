/* SPDX-License-Identifier: Apache-2.0 */
/*
 * subvolumes: the ops of a dataset whose samples are cut to the parts a loader takes. Any thread:
 * immutable once opened.
 *
 * Its samples keep their byte ranges in the pieces of their place.
 */
#include "subvolumes.h"

#include "error.h"
#include "memory.h"
#include "over.h"

#include <assert.h>
#include <string.h>

#define STAGE "dataset"
/* smaller samples gain nothing */
#define SAMPLE_LEAST ((uint64_t)64 << 10)
/* The cost of reading parts of a sample must be below this fraction of it. */
enum { COST_MOST = 4, COST_OF = 5 };
/* Number of samples looked at when opening. */
#define LOOKS UINT64_C(64)

typedef struct subvolumes {
    sl_dataset base; /* the dataset itself */
    sl_dataset *of;  /* dataset from which parts are taken */
    sl_subvolumes taken;
} subvolumes;

/* One tensor of a sample, and the part that is read. */
typedef struct tensor {
    uint64_t offset; /* offset of its elements in the object */
    sl_tensor_form form;
    sl_box box;
} tensor;

static const subvolumes *subvolumes_of(const sl_dataset *dataset)
{
    return (const subvolumes *)(const void *)dataset;
}

/* ---- one sample ---- */

/* Facts of a cut sample: offset and size of each tensor's elements. */
static uint32_t bytes_fact(uint32_t number)
{
    return SL_SUBVOLUMES_MAX + number;
}
_Static_assert(sizeof((sl_sample){0}.facts) == sizeof(uint64_t) * 2 * SL_SUBVOLUMES_MAX,
               "two facts per tensor");

static bool subvolumes_describe(const subvolumes *own, uint64_t index, uint32_t number,
                                uint64_t bytes, tensor *found)
{
    const sl_subvolume *taken = &own->taken.of[number];
    return sl_dataset_form(own->of, index, taken->field, bytes, &found->form) &&
           found->form.head_bytes <= found->offset &&
           sl_subvolume_box(taken, found->form.shape, &found->box);
}

/* Restores the location of a cut sample's tensor without any I/O. */
static void recall(const subvolumes *own, const sl_sample *sample, uint32_t number, tensor *found)
{
    const uint64_t bytes = sample->facts[bytes_fact(number)];
    found->offset = sample->facts[number];
    const bool known = subvolumes_describe(own, sample->index, number, bytes, found);
    assert(known);
    (void)known;
}

static uint32_t pieces_of(const tensor *t)
{
    return t->box.pieces + (t->form.head_bytes > 0);
}

/* Locates part `number` of a sample: OK, AGAIN (a lookup must come first), or not available. */
static sluice_status find_tensor(const subvolumes *own, uint64_t index, uint32_t number,
                                 sl_sample *cut, sl_place *lookup, tensor *found)
{
    sl_place place;
    sl_refusal why;
    const sluice_status status = own->of->tensors->locate_field(
        own->of, index, own->taken.of[number].field, &place, lookup, &why);
    if (status != SLUICE_OK) {
        return status;
    }
    found->offset = place.offset;
    if (place.object != cut->place.object ||
        !subvolumes_describe(own, index, number, place.bytes, found)) {
        return SLUICE_UNSUPPORTED;
    }
    cut->facts[number] = place.offset;
    cut->facts[bytes_fact(number)] = place.bytes;
    return SLUICE_OK;
}

static sl_piece piece(const sl_dataset *dataset, const sl_sample *sample, uint32_t number);

/* Cuts a sample that was located as a whole, if that pays; AGAIN: a lookup must come first. */
static sluice_status cut_sample(const subvolumes *own, sl_visit visit, uint64_t index,
                                sl_sample *sample, sl_place *lookup)
{
    uint64_t cost = 0;
    uint64_t bytes = 0;
    sl_sample cut = {
        .index = index, .visit = visit, .cut = true, .place = {.object = sample->place.object}};
    if (sample->place.bytes < SAMPLE_LEAST || sample->pieces > 0) {
        return SLUICE_OK;
    }
    for (uint32_t i = 0; i < own->taken.count; i++) {
        tensor found;
        const sluice_status status = find_tensor(own, index, i, &cut, lookup, &found);
        if (status != SLUICE_OK) {
            return status == SLUICE_AGAIN
                       ? status
                       : SLUICE_OK; /* reading the whole sample reports the error */
        }
        cost += found.box.cost + found.form.head_bytes;
        bytes += found.box.bytes + found.form.head_bytes;
        cut.pieces += pieces_of(&found);
    }
    if (cost > (uint64_t)sample->place.bytes * COST_MOST / COST_OF ||
        cut.pieces > own->base.pieces) {
        return SLUICE_OK;
    }
    cut.place.bytes = (uint32_t)bytes;
    cut.place.offset = piece(&own->base, &cut, 0).offset;
    *sample = cut;
    return SLUICE_OK;
}

static sluice_status locate_at(const sl_dataset *dataset, sl_visit visit, uint64_t index,
                               sl_sample *sample, sl_place *lookup, sl_refusal *why)
{
    const subvolumes *own = subvolumes_of(dataset);
    const sluice_status status = sl_dataset_locate(own->of, index, sample, lookup, why);
    return status == SLUICE_OK ? cut_sample(own, visit, index, sample, lookup) : status;
}

static sluice_status subvolumes_locate(const sl_dataset *dataset, uint64_t index, sl_sample *sample,
                                       sl_place *lookup, sl_refusal *why)
{
    return locate_at(dataset, (sl_visit){0}, index, sample, lookup, why);
}

static sl_piece piece(const sl_dataset *dataset, const sl_sample *sample, uint32_t number)
{
    const subvolumes *own = subvolumes_of(dataset);
    const sl_subvolume_key key = {own->taken.seed, sample->visit.epoch,
                                  sample->index + sample->visit.repetition};
    uint64_t begin[SLUICE_TENSOR_DIMS_MAX] = {0};
    uint32_t which = 0;
    tensor t;
    recall(own, sample, which, &t);
    while (number >= pieces_of(&t)) {
        number -= pieces_of(&t);
        recall(own, sample, ++which, &t);
    }
    const uint32_t head = t.form.head_bytes;
    if (head > 0 && number-- == 0) {
        return (sl_piece){.offset = t.offset - head, .bytes = head, .count = 1};
    }
    const sl_subvolume *taken = &own->taken.of[which];
    sl_subvolume_begin(taken, t.form.shape, &key, begin);
    sl_piece found = sl_subvolume_piece(taken, t.form.shape, &t.box, begin, number);
    found.offset += t.offset;
    return found;
}

/* ---- taking apart ---- */

/* Takes part `number`, whose bytes begin at `*at`; sets `*at` to its end. */
static sl_refusal subvolumes_take(const subvolumes *own, const sl_sample *sample, uint32_t number,
                                  sl_bytes bytes, size_t *at, sl_values *values)
{
    const uint32_t field = own->taken.of[number].field;
    sl_value *value = &values->of[field];
    tensor t;
    recall(own, sample, number, &t);
    const sl_bytes head = {bytes.data + *at, t.form.head_bytes};
    sl_refusal why = sl_accept();
    if (head.size > 0) {
        why = own->of->tensors->check_head(own->of, sample->index, field, head);
        why.offset += (uint32_t)*at;
        why.field = own->of->fields[field].name;
    }
    *at += head.size;
    *value = (sl_value){.present = true,
                        .offset = (uint32_t)*at,
                        .bytes = {bytes.data + *at, (size_t)t.box.bytes},
                        .whole = values->wholes[number]};
    memcpy(value->shape, t.box.shape, sizeof(value->shape));
    memcpy(values->wholes[number], t.form.shape, sizeof(values->wholes[number]));
    *at += (size_t)t.box.bytes;
    return why;
}

static sl_refusal subvolumes_unpack(const sl_dataset *dataset, const sl_sample *sample,
                                    sl_bytes bytes, sl_values *values)
{
    const subvolumes *own = subvolumes_of(dataset);
    size_t at = 0;
    if (!sample->cut) {
        return own->of->ops->unpack(own->of, sample, bytes, values);
    }
    if (bytes.size != sample->place.bytes) {
        return sl_refuse("the parts of the sample are truncated", 0);
    }
    for (uint32_t i = 0; i < own->taken.count; i++) {
        const sl_refusal why = subvolumes_take(own, sample, i, bytes, &at, values);
        if (why.text != NULL) {
            return why;
        }
    }
    return sl_accept();
}

static sl_inner subvolumes_sample(const sl_dataset *dataset, uint64_t index)
{
    return (sl_inner){.of = subvolumes_of(dataset)->of, .index = index};
}

static sl_inner subvolumes_object(const sl_dataset *dataset, uint32_t object)
{
    (void)object;
    return subvolumes_sample(dataset, 0);
}

static const sl_over subvolumes_over = {.sample = subvolumes_sample, .object = subvolumes_object};

static void close_subvolumes(sl_dataset *dataset)
{
    subvolumes *own = (subvolumes *)(void *)dataset;
    sl_dataset_close(own->of);
    sl_free(own);
}

static const sl_dataset_ops subvolumes_ops = {
    .locate = subvolumes_locate,
    .locate_at = locate_at,
    .piece = piece,
    .learn = sl_over_learn,
    .unpack = subvolumes_unpack,
    .class_name = sl_over_class_name,
    .key = sl_over_key,
    .close = close_subvolumes,
};

/* ---- opening ---- */

/*
 * Returns the maximum number of pieces of the parts: those of the deepest split, and a head each.
 */
static uint32_t most_pieces(const sl_subvolumes *taken)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < taken->count; i++) {
        const sl_subvolume *part = &taken->of[i];
        uint64_t pieces = 1;
        for (uint32_t k = 0; k + 2 < part->dims && pieces <= SL_SUBVOLUME_PIECES_MAX; k++) {
            pieces *= part->shape[k] <= SL_SUBVOLUME_PIECES_MAX ? part->shape[k]
                                                                : SL_SUBVOLUME_PIECES_MAX;
        }
        sum += (uint32_t)(pieces < SL_SUBVOLUME_PIECES_MAX ? pieces : SL_SUBVOLUME_PIECES_MAX) + 1;
    }
    return sum;
}

/* Looks at some samples, evenly spread; returns how many are cut, and estimates info.bytes. */
static uint64_t subvolumes_look(subvolumes *own)
{
    sl_dataset *dataset = &own->base;
    const uint64_t samples = dataset->info.samples;
    const uint64_t mean = dataset->info.bytes / samples;
    const uint64_t looks = samples < LOOKS ? samples : LOOKS;
    uint64_t cut = 0;
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < looks; i++) {
        sl_sample sample;
        const uint64_t index = looks > 1 ? (samples - 1) / (looks - 1) * i : 0;
        const bool found = sl_dataset_find(dataset, index, &sample, NULL) == SLUICE_OK;
        cut += found && sample.cut;
        bytes += found ? sample.place.bytes : mean;
    }
    dataset->info.bytes = bytes / looks * samples;
    return cut;
}

sluice_status sl_subvolumes_open(sl_dataset **dataset, sl_dataset *base, const sl_subvolumes *taken,
                                 sluice_error *error)
{
    *dataset = NULL;
    if (base->tensors == NULL || base->whole_objects || base->pieces > 0) {
        return SLUICE_OK;
    }
    subvolumes *own = sl_over_new(sizeof(*own), &subvolumes_ops, &subvolumes_over, base, error);
    if (own == NULL) {
        return SLUICE_NOMEM;
    }
    own->base.pieces = most_pieces(taken);
    own->base.mix = base->mix;
    own->of = sl_dataset_ref(base);
    own->taken = *taken;
    if (subvolumes_look(own) == 0) {
        sl_dataset_close(&own->base);
        return SLUICE_OK;
    }
    *dataset = &own->base;
    return SLUICE_OK;
}
