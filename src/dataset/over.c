/* SPDX-License-Identifier: Apache-2.0 */
#include "over.h"

void *sl_over_new(size_t bytes, const sl_dataset_ops *ops, const sl_over *over,
                  const sl_dataset *of, sluice_error *error)
{
    sl_dataset *made = sl_dataset_new(bytes, ops, "", error);
    if (made != NULL) {
        made->over = over;
        made->info = of->info;
        made->fields = of->fields;
        made->objects = of->objects;
        made->depth = of->depth + 1;
    }
    return made;
}

const sl_dataset *sl_over_source(const sl_dataset *dataset)
{
    while (dataset->over != NULL && !dataset->over->several) {
        dataset = sl_inner_of_object(dataset, 0).of;
    }
    return dataset;
}

sl_sample sl_inner_sample(const sl_inner *inner, const sl_sample *sample)
{
    sl_sample there = *sample;
    there.index = inner->index;
    there.place.object -= inner->first_object;
    return there;
}

/* Converts a result to the numbers of this dataset: the place, or the lookup on failure. */
static sluice_status place_here(const sl_inner *inner, sluice_status status, sl_place *place,
                                sl_place *lookup)
{
    sl_place *found = status == SLUICE_OK ? place : lookup;
    found->object += inner->first_object;
    return status;
}

sluice_status sl_over_locate(const sl_dataset *dataset, uint64_t index, sl_sample *sample,
                             sl_place *lookup, sl_refusal *why)
{
    const sl_inner inner = sl_inner_of_sample(dataset, index);
    const sluice_status status = sl_dataset_locate(inner.of, inner.index, sample, lookup, why);
    return place_here(&inner, status, &sample->place, lookup);
}

sl_piece sl_over_piece(const sl_dataset *dataset, const sl_sample *sample, uint32_t number)
{
    const sl_inner inner = sl_inner_of_sample(dataset, sample->index);
    const sl_sample there = sl_inner_sample(&inner, sample);
    return inner.of->ops->piece(inner.of, &there, number);
}

sl_refusal sl_over_learn(const sl_dataset *dataset, const sl_place *lookup, sl_bytes bytes)
{
    const sl_inner inner = sl_inner_of_object(dataset, lookup->object);
    sl_place there = *lookup;
    there.object -= inner.first_object;
    return inner.of->ops->learn(inner.of, &there, bytes);
}

sl_refusal sl_over_unpack_head(const sl_dataset *dataset, const sl_sample *sample, sl_bytes head,
                               sl_values *values, uint64_t *sum)
{
    const sl_inner inner = sl_inner_of_sample(dataset, sample->index);
    const sl_sample there = sl_inner_sample(&inner, sample);
    return inner.of->ops->unpack_head != NULL
               ? inner.of->ops->unpack_head(inner.of, &there, head, values, sum)
               : sl_refuse_unknown("the sample has no head", 0);
}

sl_refusal sl_over_unpack(const sl_dataset *dataset, const sl_sample *sample, sl_bytes bytes,
                          sl_values *values)
{
    const sl_inner inner = sl_inner_of_sample(dataset, sample->index);
    const sl_sample there = sl_inner_sample(&inner, sample);
    return sl_dataset_unpack_part(inner.of, &there, bytes, values);
}

sluice_status sl_over_key(const sl_dataset *dataset, uint64_t index, char *key, size_t bytes)
{
    const sl_inner inner = sl_inner_of_sample(dataset, index);
    return sl_dataset_key(inner.of, inner.index, key, bytes, NULL);
}

const char *sl_over_class_name(const sl_dataset *dataset, int64_t label)
{
    return sl_dataset_class_name(sl_inner_of_object(dataset, 0).of, label);
}

bool sl_over_has_folder(const sl_dataset *dataset, uint64_t device, uint64_t inode)
{
    const sl_dataset *of = sl_inner_of_object(dataset, 0).of;
    return of->ops->has_folder != NULL && of->ops->has_folder(of, device, inode);
}

/* ---- tensors ---- */

static uint32_t field_there(const sl_inner *inner, uint32_t field)
{
    return inner->fields != NULL ? inner->fields[field] : field;
}

static sluice_status over_locate_field(const sl_dataset *dataset, uint64_t index, uint32_t field,
                                       sl_place *place, sl_place *lookup, sl_refusal *why)
{
    const sl_inner inner = sl_inner_of_sample(dataset, index);
    if (inner.of->tensors == NULL) {
        *lookup = (sl_place){.object = inner.first_object};
        *why = sl_refuse_unknown(
            "parts of a field cannot be read separately from a dataset of this format", 0);
        why->field = dataset->fields[field].name;
        return SLUICE_UNSUPPORTED;
    }
    const sluice_status status = inner.of->tensors->locate_field(
        inner.of, inner.index, field_there(&inner, field), place, lookup, why);
    return place_here(&inner, status, place, lookup);
}

static bool over_field_bytes(const sl_dataset *dataset, uint64_t index, uint32_t field,
                             uint64_t *bytes)
{
    const sl_inner inner = sl_inner_of_sample(dataset, index);
    return sl_dataset_field_bytes(inner.of, inner.index, field_there(&inner, field), bytes);
}

static bool over_form(const sl_dataset *dataset, uint64_t index, uint32_t field, uint64_t bytes,
                      sl_tensor_form *form)
{
    const sl_inner inner = sl_inner_of_sample(dataset, index);
    return sl_dataset_form(inner.of, inner.index, field_there(&inner, field), bytes, form);
}

static sl_refusal over_check_head(const sl_dataset *dataset, uint64_t index, uint32_t field,
                                  sl_bytes head)
{
    const sl_inner inner = sl_inner_of_sample(dataset, index);
    return inner.of->tensors->check_head(inner.of, inner.index, field_there(&inner, field), head);
}

static bool over_range(const sl_dataset *dataset, uint64_t index, uint64_t *count)
{
    const sl_inner inner = sl_inner_of_sample(dataset, index);
    bool same = true;
    *count = 1;
    if (inner.of->tensors != NULL) {
        same = inner.of->tensors->range(inner.of, inner.index, count);
    }
    if (dataset->over->run != NULL) {
        const uint64_t run = dataset->over->run(dataset, index);
        *count = *count < run ? *count : run;
        same = same || *count == 1;
    }
    return same;
}

const sl_tensor_ops sl_over_tensors = {.locate_field = over_locate_field,
                                       .field_bytes = over_field_bytes,
                                       .form = over_form,
                                       .check_head = over_check_head,
                                       .range = over_range};
