/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dataset: the code common to all datasets: references, fields by name, locating samples, and
 * calling the format's ops.
 *
 * Any thread, since a dataset is immutable once opened.
 */
#include "dataset.h"

#include "cpu.h"
#include "dtype.h"
#include "memory.h"
#include "minmax.h"
#include "name_list.h"
#include "packed_value.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define STAGE "dataset"
/* Number of concurrent reads from a store by threads that read by themselves. */
#define REMOTE_THREADS 32U

void *sl_dataset_new(size_t bytes, const sl_dataset_ops *ops, const char *format,
                     sluice_error *error)
{
    sl_dataset *made = sl_calloc(1, bytes);
    if (made == NULL) {
        (void)sl_no_memory(error, STAGE, "opening a dataset");
        return NULL;
    }
    made->ops = ops;
    made->info.struct_size = sizeof(made->info);
    (void)snprintf(made->info.format, sizeof(made->info.format), "%s", format);
    atomic_init(&made->references, 1);
    return made;
}

sluice_status sl_dataset_opened(sl_dataset **dataset, sl_dataset *made, sluice_status status)
{
    if (status < 0) {
        sl_dataset_close(made);
        return status;
    }
    *dataset = made;
    return SLUICE_OK;
}

sl_dataset *sl_dataset_ref(sl_dataset *dataset)
{
    /* relaxed: the caller already holds a reference, so this publishes nothing */
    atomic_fetch_add_explicit(&dataset->references, 1, memory_order_relaxed);
    return dataset;
}

sl_dataset *sl_dataset_share(const sl_dataset *dataset)
{
    sl_dataset *own;
    memcpy(&own, &dataset, sizeof(own)); // NOLINT(bugprone-sizeof-expression): the pointer
    return sl_dataset_ref(own);
}

const sl_memo *sl_dataset_find_memo(const sl_dataset *dataset, uint64_t key)
{
    /* acquire: the memo's contents were written before it was published */
    const sl_memo *memo = atomic_load_explicit(&dataset->memos, memory_order_acquire);
    while (memo != NULL && memo->key != key) {
        memo = memo->next;
    }
    return memo;
}

void sl_dataset_keep(sl_dataset *dataset, sl_memo *memo)
{
    /* relaxed: the exchange acquires what it finds */
    memo->next = atomic_load_explicit(&dataset->memos, memory_order_relaxed);
    /* release: publishes the memo to sl_dataset_find_memo; acquire: the memos below it */
    while (!atomic_compare_exchange_weak_explicit(&dataset->memos, &memo->next, memo,
                                                  memory_order_acq_rel, memory_order_relaxed)) {
    }
}

static void close_memos(sl_dataset *dataset)
{
    /* acquire: pairs with the release in sl_dataset_keep */
    sl_memo *memo = atomic_load_explicit(&dataset->memos, memory_order_acquire);
    while (memo != NULL) {
        sl_memo *next = memo->next;
        memo->close(memo);
        memo = next;
    }
}

bool sl_dataset_is_remote(const sl_dataset *dataset)
{
    const sl_places places =
        dataset->objects != NULL ? sl_objects_places(dataset->objects) : SL_PLACES_LOCAL;
    return places == SL_PLACES_REMOTE || places == SL_PLACES_MIXED;
}

uint32_t sl_dataset_threads(const sl_dataset *dataset)
{
    const uint32_t processors = sl_cpu_count();
    return sl_dataset_is_remote(dataset) ? sl_max_u32(processors, REMOTE_THREADS) : processors;
}

void sl_dataset_close(sl_dataset *dataset)
{
    if (dataset == NULL) {
        return;
    }
    /* release: this thread's uses precede the close; acquire: the last one sees those of all */
    uint32_t before = atomic_fetch_sub_explicit(&dataset->references, 1, memory_order_acq_rel);
    assert(before > 0);
    if (before == 1) {
        close_memos(dataset);
        sl_omissions_close(&dataset->omissions);
        sl_warnings_close(&dataset->warnings);
        dataset->ops->close(dataset);
    }
}

const char *sl_dataset_class_name(const sl_dataset *dataset, int64_t label)
{
    return dataset->ops->class_name != NULL ? dataset->ops->class_name(dataset, label) : NULL;
}

uint32_t sl_dataset_field(const sl_dataset *dataset, const char *name)
{
    for (uint32_t i = 0; i < dataset->info.fields; i++) {
        if (strcmp(dataset->fields[i].name, name) == 0) {
            return i;
        }
    }
    return SL_FIELD_NONE;
}

sluice_status sl_dataset_refuse_field(const sl_dataset *dataset, const char *name,
                                      sluice_error *error)
{
    sl_name_list known;
    return sl_error_set(error, SLUICE_INVALID, STAGE, "unknown field \"%.64s\": the fields are %s",
                        name, sl_name_list_fields(&known, dataset->fields, dataset->info.fields));
}

sluice_status sl_dataset_locate_at(const sl_dataset *dataset, sl_visit visit, uint64_t index,
                                   sl_sample *sample, sl_place *lookup, sl_refusal *why)
{
    assert(index < dataset->info.samples);
    sample->pieces = 0;
    sample->files = 0;
    sample->cut = false;
    const sluice_status status =
        dataset->ops->locate_at != NULL
            ? dataset->ops->locate_at(dataset, visit, index, sample, lookup, why)
            : dataset->ops->locate(dataset, index, sample, lookup, why);
    sample->index = index;
    sample->visit = visit;
    return status;
}

sluice_status sl_dataset_locate(const sl_dataset *dataset, uint64_t index, sl_sample *sample,
                                sl_place *lookup, sl_refusal *why)
{
    return sl_dataset_locate_at(dataset, (sl_visit){0}, index, sample, lookup, why);
}

sluice_status sl_dataset_learn(const sl_dataset *dataset, uint64_t index, sl_bytes bytes,
                               sl_sample *sample, sl_place *lookup, sl_refusal *why)
{
    const sl_place found = *lookup;
    const sl_visit visit = sample->visit;
    const sluice_status status = sl_dataset_locate_at(dataset, visit, index, sample, lookup, why);
    if (status != SLUICE_AGAIN || found.offset != lookup->offset ||
        found.object != lookup->object) {
        return status; /* a neighbour shares the lookup */
    }
    *why = dataset->ops->learn(dataset, lookup, bytes);
    return why->text != NULL ? why->status
                             : sl_dataset_locate_at(dataset, visit, index, sample, lookup, why);
}

bool sl_dataset_field_bytes(const sl_dataset *dataset, uint64_t index, uint32_t field,
                            uint64_t *bytes)
{
    return dataset->tensors != NULL && dataset->tensors->field_bytes != NULL &&
           dataset->tensors->field_bytes(dataset, index, field, bytes);
}

bool sl_dataset_form(const sl_dataset *dataset, uint64_t index, uint32_t field, uint64_t bytes,
                     sl_tensor_form *form)
{
    if (dataset->tensors != NULL && dataset->tensors->form != NULL) {
        return dataset->tensors->form(dataset, index, field, bytes, form);
    }
    const sl_field *of = &dataset->fields[field];
    uint64_t rest =
        bytes / sl_dtype_bytes(of->dtype); /* number of elements, divided by the known dimensions */
    uint64_t *open = NULL;
    *form = (sl_tensor_form){.head_bytes = 0};
    for (uint32_t i = 0; i < of->dims; i++) {
        form->shape[i] = of->shape[i];
        if (of->shape[i] != 0) {
            rest = rest % of->shape[i] == 0 ? rest / of->shape[i] : 0;
        } else if (open == NULL) {
            open = &form->shape[i];
        } else {
            return false;
        }
    }
    if (open != NULL) {
        *open = rest;
    }
    return open != NULL ? rest > 0 : rest == 1;
}

/* ---- for those who may block ---- */

sluice_status sl_dataset_refuse(const sl_dataset *dataset, uint32_t object, uint64_t offset,
                                sl_refusal refusal, sluice_error *error)
{
    char path[SL_PATH_BYTES];
    const bool known = sl_objects_file_path(dataset->objects, object, refusal.file, path,
                                            sizeof(path)) == SLUICE_OK;
    return sl_error_file(error, refusal.status, STAGE, 0, known ? path : NULL,
                         (int64_t)(offset + refusal.offset), "%s%s%s%s",
                         refusal.field != NULL ? "field \"" : "",
                         refusal.field != NULL ? refusal.field : "",
                         refusal.field != NULL ? "\": " : "", refusal.text);
}

sluice_status sl_dataset_check_order(const sl_dataset *dataset, const char *what,
                                     sluice_error *error)
{
    char path[SL_PATH_BYTES] = "";
    if (dataset->info.front_to_back == 0) {
        return SLUICE_OK;
    }
    for (uint32_t i = 0; i < sl_objects_count(dataset->objects); i++) {
        if (sl_objects_packed(dataset->objects, i).packing != SL_PACKING_NONE) {
            (void)sl_objects_path(dataset->objects, i, path, sizeof(path));
            break;
        }
    }
    return sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0, path, -1,
                         "it is compressed and can only be read front to back, so %s; or pack the "
                         "dataset (`sluice pack SOURCE PACKED`) and load the packed one, or give a "
                         "folder to keep it unpacked in (" SL_OPTION("unpacked_dir") ")",
                         what);
}

/* Reads a lookup and learns it. */
static sluice_status dataset_look_up(const sl_dataset *dataset, const sl_place *lookup,
                                     sluice_error *error)
{
    uint8_t *bytes = sl_malloc(lookup->bytes);
    if (bytes == NULL) {
        return sl_no_memory(error, STAGE, "for an index entry");
    }
    sluice_status status = sl_objects_read(dataset->objects, lookup->object, lookup->offset, bytes,
                                           lookup->bytes, error);
    if (status == SLUICE_OK) {
        const sl_refusal why =
            dataset->ops->learn(dataset, lookup, (sl_bytes){bytes, lookup->bytes});
        if (why.text != NULL) {
            status = sl_dataset_refuse(dataset, lookup->object, lookup->offset, why, error);
        }
    }
    sl_free(bytes);
    return status;
}

/* Locates a sample. If it cannot be located, `*sample` is where the problem was noticed. */
static sluice_status dataset_find(const sl_dataset *dataset, uint64_t index, sl_sample *sample,
                                  sluice_error *error)
{
    sl_place lookup;
    sl_refusal why;
    for (;;) {
        sluice_status status = sl_dataset_locate(dataset, index, sample, &lookup, &why);
        if (status == SLUICE_OK) {
            return status;
        }
        *sample = (sl_sample){.index = index, .place = lookup};
        if (status < 0) {
            return sl_dataset_refuse(dataset, lookup.object, lookup.offset, why, error);
        }
        status = dataset_look_up(dataset, &lookup, error);
        if (status < 0) {
            return status;
        }
    }
}

sluice_status sl_dataset_find_field(const sl_dataset *dataset, uint64_t index, uint32_t field,
                                    sl_place *place, sluice_error *error)
{
    sl_place lookup;
    sl_refusal why;
    for (;;) {
        sluice_status status =
            dataset->tensors->locate_field(dataset, index, field, place, &lookup, &why);
        if (status == SLUICE_OK) {
            return status;
        }
        if (status == SLUICE_AGAIN) {
            status = dataset_look_up(dataset, &lookup, error);
        } else {
            sl_dataset_refuse(dataset, lookup.object, lookup.offset, why, error);
        }
        if (status < 0) {
            if (error != NULL) {
                error->sample = (int64_t)index;
            }
            return status;
        }
    }
}

sluice_status sl_dataset_find(const sl_dataset *dataset, uint64_t index, sl_sample *sample,
                              sluice_error *error)
{
    if (index >= dataset->info.samples) {
        return sl_error_set(error, SLUICE_INVALID, STAGE,
                            "sample %llu is out of range: the dataset has %llu",
                            (unsigned long long)index, (unsigned long long)dataset->info.samples);
    }
    const sluice_status status = dataset_find(dataset, index, sample, error);
    if (status < 0 && error != NULL) {
        error->sample = (int64_t)index;
    }
    return status;
}

/* Rejects a size before memory is requested for it. */
static sluice_status dataset_refuse_size(const sl_dataset *dataset, uint32_t object, size_t size,
                                         sluice_error *error)
{
    char path[SL_PATH_BYTES];
    const bool known = sl_objects_path(dataset->objects, object, path, sizeof(path)) == SLUICE_OK;
    return sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0, known ? path : NULL, -1,
                         "the file has %zu bytes: a sample must have at most 2^31 - 1", size);
}

/* Converts an `offset` in a sample's bytes to one in its object. */
static uint64_t dataset_offset_of(const sl_dataset *dataset, const sl_sample *sample,
                                  uint64_t offset)
{
    for (uint32_t i = 0; i < sample->pieces; i++) {
        const sl_piece piece = dataset->ops->piece(dataset, sample, i);
        const uint64_t bytes = sl_piece_bytes(&piece);
        if (offset < bytes) {
            return piece.offset + offset / piece.bytes * piece.stride + offset % piece.bytes;
        }
        offset -= bytes;
    }
    return sample->place.offset + offset;
}

static sluice_status dataset_read_place(const sl_dataset *dataset, const sl_sample *sample,
                                        uint8_t *to, sluice_error *error)
{
    const sl_place *place = &sample->place;
    sluice_status status = SLUICE_OK;
    if (sample->pieces == 0) {
        return sl_objects_read(dataset->objects, place->object, place->offset, to, place->bytes,
                               error);
    }
    for (uint32_t i = 0; status == SLUICE_OK && i < sample->pieces; i++) {
        const sl_piece piece = dataset->ops->piece(dataset, sample, i);
        for (uint32_t k = 0; status == SLUICE_OK && k < piece.count; k++) {
            status =
                sl_objects_read(dataset->objects, place->object,
                                piece.offset + (uint64_t)k * piece.stride, to, piece.bytes, error);
            to += piece.bytes;
        }
    }
    return status;
}

sluice_status sl_dataset_read(const sl_dataset *dataset, const sl_sample *sample, sl_buffer buffer,
                              size_t *size, sluice_error *error)
{
    const sl_place *place = &sample->place;
    sluice_status status = SLUICE_AGAIN;
    if (place->bytes == 0) {
        status = sl_objects_read_whole(dataset->objects, place->object, buffer.data,
                                       buffer.capacity, size, error);
        if (status == SLUICE_AGAIN && *size > SL_RECORD_BYTES_MAX) {
            status = dataset_refuse_size(dataset, place->object, *size, error);
        }
    } else {
        *size = place->bytes;
        if (place->bytes <= buffer.capacity) {
            status = dataset_read_place(dataset, sample, buffer.data, error);
        }
    }
    if (status < 0 && error != NULL) {
        error->sample = (int64_t)sample->index;
    }
    return status;
}

sluice_status sl_dataset_unpack(const sl_dataset *dataset, const sl_sample *sample, sl_bytes bytes,
                                sl_values *values, sluice_error *error)
{
    const sl_refusal why = dataset->ops->unpack(dataset, sample, bytes, values);
    if (why.text == NULL) {
        return SLUICE_OK;
    }
    const uint64_t offset = dataset_offset_of(dataset, sample, why.offset);
    sl_dataset_refuse(dataset, sample->place.object, offset - why.offset, why, error);
    if (error != NULL) {
        error->sample = (int64_t)sample->index;
    }
    return why.status;
}

sl_refusal sl_dataset_unpack_part(const sl_dataset *part, const sl_sample *sample, sl_bytes bytes,
                                  sl_values *values)
{
    if (part->depth == 0) {
        sl_value_buffers_own(&values->buffers, part);
    }
    return part->ops->unpack(part, sample, bytes, values);
}

void sl_sample_blame(const sl_dataset *dataset, const sl_sample *sample, const sl_value *value,
                     sluice_error *error)
{
    if (error == NULL || error->sample == (int64_t)sample->index) {
        return; /* already located */
    }
    char path[SL_PATH_BYTES];
    if (sl_objects_file_path(dataset->objects, sample->place.object,
                             value != NULL ? value->file : 0, path, sizeof(path)) == SLUICE_OK) {
        sl_error_set_path(error, path);
    }
    if (error->offset < 0 || (value != NULL && sl_is_compressed(value))) {
        error->offset = 0; /* offsets in unpacked data are not offsets of the file */
    }
    error->offset += (int64_t)dataset_offset_of(dataset, sample, value != NULL ? value->offset : 0);
    error->sample = (int64_t)sample->index;
}
