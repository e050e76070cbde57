/* SPDX-License-Identifier: Apache-2.0 */
/*
 * joined: the ops of a joined dataset and of a mix. Any thread: immutable once opened.
 *
 * Global numbers are converted to local ones by the first sample, object and lookup of each part.
 */
#include "joined_parts.h"

#include "memory.h"
#include "over.h"
#include "search.h"

typedef sl_joined joined;
typedef sl_joined_part part;
typedef sl_joined_span span;

/* ---- finding ---- */

static const part *joined_part_of(const joined *own, uint64_t index)
{
    return &own->parts[sl_last_at_or_before(&own->parts->first, sizeof(part), own->count, index)];
}

static sl_inner inner_of(const joined *own, const part *p, uint64_t index)
{
    return (sl_inner){.of = p->of,
                      .index = index - p->first,
                      .first_object = own->spans[p->span].first,
                      .fields = p->from};
}

static sl_inner joined_sample(const sl_dataset *dataset, uint64_t index)
{
    const joined *own = sl_joined_of(dataset);
    return inner_of(own, joined_part_of(own, index), index);
}

static sl_inner joined_object(const sl_dataset *dataset, uint32_t object)
{
    const joined *own = sl_joined_of(dataset);
    const span *s = sl_joined_span_of(own, object);
    return (sl_inner){.of = own->parts[s->part].of, .first_object = s->first};
}

const sl_over sl_joined_over = {.sample = joined_sample, .object = joined_object, .several = true};

/* ---- taking apart ---- */

/* Converts wanted fields to the part's numbers. */
static uint64_t local_wanted(const joined *own, const part *p, uint64_t wanted)
{
    uint64_t local = 0;
    for (uint32_t i = 0; i < own->base.info.fields; i++) {
        local |= (wanted >> i & 1) << p->from[i];
    }
    return local;
}

static void put_in_order(const joined *own, const part *p, sl_values *values)
{
    sl_value was[SL_FIELDS_MAX];
    for (uint32_t i = 0; i < own->base.info.fields; i++) {
        if (sl_values_want(values, i)) {
            was[i] = values->of[p->from[i]];
        }
    }
    for (uint32_t i = 0; i < own->base.info.fields; i++) {
        if (sl_values_want(values, i)) {
            values->of[i] = was[i];
        }
    }
}

static sl_refusal unpack_reordered(const joined *own, const part *p, const sl_sample *local,
                                   sl_bytes bytes, sl_values *values)
{
    const uint64_t wanted = values->wanted;
    const uint32_t copied = values->copy.field;
    values->wanted = local_wanted(own, p, wanted);
    if (values->copy.to != NULL) {
        values->copy.field = p->from[copied];
    }
    const sl_refusal why = sl_dataset_unpack_part(p->of, local, bytes, values);
    values->wanted = wanted;
    values->copy.field = copied;
    if (why.text == NULL) {
        put_in_order(own, p, values);
    }
    return why;
}

static sl_refusal renumber(const joined *own, const part *p, sl_values *values)
{
    sl_value *label = &values->of[own->label];
    sl_refusal why = sl_accept();
    if (!sl_values_want(values, own->label) || !label->present) {
        return why;
    }
    const int32_t number = sl_label_map_find(p->labels, label->integer);
    if (number < SL_LABEL_NONE) {
        why = sl_refuse(
            number == SL_LABEL_NAMELESS
                ? "its class has no name by which it could be joined"
                : "label out of range, or its class has no name by which it could be joined",
            label->offset);
        why.field = own->fields[own->label].name;
    }
    label->integer = number;
    return why;
}

static sl_refusal joined_check_label(const joined *own, const sl_values *values)
{
    const sl_value *label = &values->of[own->label];
    sl_refusal why = sl_accept();
    if (sl_values_want(values, own->label) && label->present && label->integer != -1 &&
        sl_dataset_class_name(own->classes, label->integer) == NULL) {
        why = sl_refuse("not a class of the other joined datasets", label->offset);
        why.field = own->fields[own->label].name;
    }
    return why;
}

static sl_refusal joined_unpack(const sl_dataset *dataset, const sl_sample *sample, sl_bytes bytes,
                                sl_values *values)
{
    const joined *own = sl_joined_of(dataset);
    const part *p = joined_part_of(own, sample->index);
    const sl_inner inner = inner_of(own, p, sample->index);
    const sl_sample local = sl_inner_sample(&inner, sample);
    const sl_refusal why = p->reorders ? unpack_reordered(own, p, &local, bytes, values)
                                       : sl_dataset_unpack_part(p->of, &local, bytes, values);
    if (why.text == NULL && p->labels != NULL) {
        return renumber(own, p, values);
    }
    return why.text == NULL && p->checks_labels ? joined_check_label(own, values) : why;
}

static sl_refusal joined_unpack_head(const sl_dataset *dataset, const sl_sample *sample,
                                     sl_bytes head, sl_values *values, uint64_t *sum)
{
    const joined *own = sl_joined_of(dataset);
    const part *p = joined_part_of(own, sample->index);
    const uint64_t wanted = values->wanted;
    values->wanted = p->reorders ? local_wanted(own, p, wanted) : wanted;
    const sl_refusal why = sl_over_unpack_head(dataset, sample, head, values, sum);
    values->wanted = wanted;
    if (why.text == NULL && p->reorders) {
        put_in_order(own, p, values);
    }
    return why;
}

/* ---- checking ---- */

static sluice_status joined_check_object(const sl_dataset *dataset, uint32_t object,
                                         sl_findings *findings)
{
    const sl_inner inner = joined_object(dataset, object);
    const sl_check_ops *checks = inner.of->checks;
    return checks != NULL ? checks->check_object(inner.of, object - inner.first_object, findings)
                          : SLUICE_OK;
}

/*
 * Returns the check ops of objects that only one part uses. If several parts read from objects, no
 * sum covers all samples, and there is no first sample.
 */
static const sl_check_ops *sole_checks(const joined *own, const span *s)
{
    return s->shared ? NULL : own->parts[s->part].of->checks;
}

static bool sums_up(const joined *own, const span *s)
{
    const sl_check_ops *checks = sole_checks(own, s);
    return checks != NULL && checks->sum != NULL;
}

static uint64_t first_of_object(const sl_dataset *dataset, uint32_t object)
{
    const joined *own = sl_joined_of(dataset);
    const span *s = sl_joined_span_of(own, object);
    const part *p = &own->parts[s->part];
    const sl_check_ops *checks = sole_checks(own, s);
    if (checks == NULL || checks->first_of_object == NULL) {
        return UINT64_MAX;
    }
    const uint64_t first = checks->first_of_object(p->of, object - s->first);
    return first != UINT64_MAX ? p->first + first : UINT64_MAX;
}

static uint64_t joined_sum(const sl_dataset *dataset, const sl_sample *sample, sl_bytes bytes)
{
    const joined *own = sl_joined_of(dataset);
    const part *p = joined_part_of(own, sample->index);
    if (!sums_up(own, &own->spans[p->span])) {
        return 0;
    }
    const sl_inner inner = inner_of(own, p, sample->index);
    const sl_sample local = sl_inner_sample(&inner, sample);
    return p->of->checks->sum(p->of, &local, bytes);
}

static sl_refusal joined_check_sum(const sl_dataset *dataset, uint32_t object, uint64_t sum,
                                   uint64_t count)
{
    const joined *own = sl_joined_of(dataset);
    const span *s = sl_joined_span_of(own, object);
    const sl_dataset *of = own->parts[s->part].of;
    return sums_up(own, s) ? of->checks->check_sum(of, object - s->first, sum, count) : sl_accept();
}

const sl_check_ops sl_joined_checks = {.check_object = joined_check_object,
                                       .first_of_object = first_of_object,
                                       .sum = joined_sum,
                                       .check_sum = joined_check_sum};

static const char *joined_class_name(const sl_dataset *dataset, int64_t label)
{
    const joined *own = sl_joined_of(dataset);
    if (own->names != NULL) {
        return label >= 0 && label < own->names->count ? own->names->names[label] : NULL;
    }
    return own->classes != NULL ? sl_dataset_class_name(own->classes, label) : NULL;
}

static bool joined_has_folder(const sl_dataset *dataset, uint64_t device, uint64_t inode)
{
    const joined *own = sl_joined_of(dataset);
    for (uint32_t i = 0; i < own->span_count; i++) {
        const sl_dataset *of = own->parts[own->spans[i].part].of;
        if (of->ops->has_folder != NULL && of->ops->has_folder(of, device, inode)) {
            return true;
        }
    }
    return false;
}

static void close_joined(sl_dataset *dataset)
{
    joined *own = (joined *)(void *)dataset;
    if (own->owns_objects) {
        sl_objects_close(own->base.objects);
    }
    for (uint32_t i = 0; i < own->count; i++) {
        sl_dataset_close(own->parts[i].of);
        sl_label_map_drop(own->parts[i].labels);
    }
    sl_class_names_drop(own->names);
    sl_mix_close(own->mix);
    sl_free(own->parts);
    sl_free(own->spans);
    sl_free(own);
}

const sl_dataset_ops sl_joined_ops = {
    .locate = sl_over_locate,
    .piece = sl_over_piece,
    .learn = sl_over_learn,
    .unpack = joined_unpack,
    .unpack_head = joined_unpack_head,
    .class_name = joined_class_name,
    .key = sl_over_key,
    .has_folder = joined_has_folder,
    .close = close_joined,
};
