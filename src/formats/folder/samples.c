/* SPDX-License-Identifier: Apache-2.0 */
/*
 * samples: the dataset of an unpacked WebDataset, where a sample is several files.
 *
 * One thread opens; then it is immutable.
 */
#include "samples.h"

#include "checksum.h"
#include "folder_shape.h"
#include "little_endian.h"
#include "member_fields.h"
#include "memory.h"
#include "read_files.h"
#include "sample_list.h"
#include "text_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define STAGE "dataset"

typedef struct samples {
    sl_dataset base;
    sl_sample_list list;
    sl_member_fields fields;
    uint32_t field_of[SL_SAMPLE_SPELLINGS_MAX]; /* by spelling */
    char *root;
} samples;

static const samples *samples_of(const sl_dataset *dataset)
{
    return (const samples *)(const void *)dataset;
}

/* ---- ops ---- */

static sluice_status samples_locate(const sl_dataset *dataset, uint64_t index, sl_sample *sample,
                                    sl_place *lookup, sl_refusal *why)
{
    (void)lookup;
    (void)why;
    *sample = (sl_sample){.place = {.object = (uint32_t)index},
                          .files = samples_of(dataset)->list.items[index].count};
    return SLUICE_OK;
}

static sl_refusal samples_refuse_part(const samples *own, uint32_t field, uint32_t part,
                                      const char *text)
{
    sl_refusal why = sl_refuse(text, 0);
    why.field = own->fields.fields[field].name;
    why.file = part;
    return why;
}

static sl_refusal samples_take_part(const samples *own, uint32_t field, uint32_t part,
                                    sl_bytes bytes, sl_values *values)
{
    sl_value *value = &values->of[field];
    if (value->present) {
        return samples_refuse_part(own, field, part, "two files of the sample map to it");
    }
    if (own->fields.fields[field].type == SLUICE_FIELD_TEXT) {
        const char *refused = sl_text_take(&bytes);
        if (refused != NULL) {
            return samples_refuse_part(own, field, part, refused);
        }
    }
    *value = (sl_value){.present = true, .bytes = bytes, .file = (uint8_t)part};
    return sl_member_fields_read(&own->fields, field, value)
               ? sl_accept()
               : samples_refuse_part(own, field, part, "not a whole number");
}

/* Unpacks the parts, which are stored back to back, followed by their sizes. */
static sl_refusal take_parts(const samples *own, const sl_sample_item *item, sl_bytes bytes,
                             sl_values *values)
{
    const size_t tail = (size_t)item->count * SL_OBJECT_SIZE_BYTES;
    size_t at = 0;
    if (bytes.size < tail) {
        return sl_refuse("the sample is truncated", 0);
    }
    const size_t end = bytes.size - tail;
    for (uint32_t i = 0; i < item->count; i++) {
        const uint64_t size = sl_load64(bytes.data + end + (size_t)i * SL_OBJECT_SIZE_BYTES);
        const uint32_t field = own->field_of[own->list.parts[item->first + i]];
        if (size > end - at) {
            return sl_refuse("the sample is truncated", 0);
        }
        if (sl_values_want(values, field)) {
            const sl_bytes part = {bytes.data + at, (size_t)size};
            const sl_refusal why = samples_take_part(own, field, i, part, values);
            if (why.text != NULL) {
                return why;
            }
        }
        at += (size_t)size;
    }
    return sl_accept();
}

static sl_refusal samples_unpack(const sl_dataset *dataset, const sl_sample *sample, sl_bytes bytes,
                                 sl_values *values)
{
    const samples *own = samples_of(dataset);
    const uint32_t key = own->fields.key;
    for (uint32_t i = 0; i < own->fields.count; i++) {
        values->of[i] = (sl_value){.present = false};
    }
    const sl_refusal why = take_parts(own, &own->list.items[sample->index], bytes, values);
    if (why.text == NULL && sl_values_want(values, key)) {
        if (sl_sample_list_key(&own->list, sample->index, values->buffer, sizeof(values->buffer)) !=
            SLUICE_OK) {
            return sl_refuse("its key is too long", 0);
        }
        values->of[key] = (sl_value){
            .present = true, .bytes = {(const uint8_t *)values->buffer, strlen(values->buffer)}};
    }
    return why;
}

static sluice_status samples_key_of(const sl_dataset *dataset, uint64_t index, char *key,
                                    size_t bytes)
{
    return sl_sample_list_key(&samples_of(dataset)->list, index, key, bytes);
}

static bool samples_has_folder(const sl_dataset *dataset, uint64_t device, uint64_t inode)
{
    const sl_sample_list *list = &samples_of(dataset)->list;
    bool found = false;
    for (uint64_t i = 0; i < list->dir_count && !found; i++) {
        found = list->dirs[i].device == device && list->dirs[i].inode == inode;
    }
    return found;
}

static void close_samples(sl_dataset *dataset)
{
    samples *own = (samples *)(void *)dataset;
    sl_objects_close(own->base.objects);
    sl_sample_list_close(&own->list);
    sl_free(own->root);
    sl_free(own);
}

static const sl_dataset_ops samples_ops = {
    .locate = samples_locate,
    .unpack = samples_unpack,
    .key = samples_key_of,
    .has_folder = samples_has_folder,
    .close = close_samples,
};

/* ---- objects ---- */

static sluice_status file_path(void *ctx, uint32_t object, uint32_t file, char *path, size_t bytes)
{
    const samples *own = ctx;
    const int length = snprintf(path, bytes, "%s/", own->root);
    if (length < 0 || (size_t)length >= bytes) {
        return SLUICE_INVALID;
    }
    return sl_sample_list_path(&own->list, object, file, path + length, bytes - (size_t)length);
}

static sluice_status samples_path_of(void *ctx, uint32_t object, char *path, size_t bytes)
{
    return file_path(ctx, object, 0, path, bytes);
}

static uint32_t samples_files_of(void *ctx, uint32_t object)
{
    const samples *own = ctx;
    return own->list.items[object].count;
}

/* ---- whether it is one ---- */

/* A folder name: letters, a number, and a possible suffix. */
typedef struct numbered {
    size_t before; /* length before the number */
    size_t end;    /* length up to the number's end */
    uint64_t number;
} numbered;

static bool samples_parse(const char *name, numbered *parts)
{
    char *end;
    parts->before = strcspn(name, "0123456789");
    parts->number = strtoull(name + parts->before, &end, 10);
    parts->end = (size_t)(end - name);
    return parts->end > parts->before;
}

/*
 * Returns whether class folders are named only by numbers ("00017"), or by a prefix and consecutive
 * numbers ("part-00017"), unlike classes. Unpacked classes without names ("class-00000003") are
 * classes.
 */
static bool are_numbered(const sl_folder_list *list)
{
    numbered first = {.before = 0};
    uint64_t lowest = UINT64_MAX;
    uint64_t highest = 0;
    for (uint32_t i = 0; i < list->class_count; i++) {
        numbered own;
        const char *name = sl_folder_text(list, list->classes[i]);
        const char *one = sl_folder_text(list, list->classes[0]);
        if (!samples_parse(name, &own) || strncasecmp(name, "class", strlen("class")) == 0) {
            return false;
        }
        first = i == 0 ? own : first;
        if (own.before != first.before || memcmp(name, one, own.before) != 0 ||
            strcmp(name + own.end, one + first.end) != 0) {
            return false;
        }
        lowest = own.number < lowest ? own.number : lowest;
        highest = own.number > highest ? own.number : highest;
    }
    const bool only_numbers =
        first.before == 0 && sl_folder_text(list, list->classes[0])[first.end] == '\0';
    return only_numbers || highest - lowest < 2 * (uint64_t)list->class_count + 8;
}

static bool is_one(const sl_sample_list *found, const sl_folder_list *list)
{
    const uint64_t pictures = list->file_count > 0 ? list->file_count : found->count;
    const bool has_company = found->with_company > 0 && 2 * found->with_company >= pictures;
    const bool has_classes = 2 * found->with_class >= pictures;
    const bool has_folders = list->file_count > 0 && !list->flat;
    /* class folders with captions */
    if (has_folders && sl_folder_shape_has_repeats(list) && 2 * list->captions >= pictures) {
        return false;
    }
    return has_company &&
           (!has_folders || has_classes || list->class_count == 1 || are_numbered(list));
}

/* ---- opening ---- */

/* Computes the fingerprint of the keys and their parts. */
static uint64_t samples_fingerprint(const samples *own)
{
    char path[SL_PATH_BYTES];
    sl_checksum_stream stream;
    sl_checksum_begin(&stream);
    for (uint64_t i = 0; i < own->list.count; i++) {
        for (uint32_t k = 0; k < own->list.items[i].count; k++) {
            /* the path fits: this was checked when it was listed */
            (void)sl_sample_list_path(&own->list, i, k, path, sizeof(path));
            sl_checksum_add(&stream, path, strlen(path) + 1);
        }
        sl_checksum_add_u64(&stream, own->list.items[i].count);
    }
    return sl_checksum_value(&stream);
}

static void samples_describe(samples *own)
{
    char names[80] = "";
    char left_out[128] = "";
    const sl_seen_names *others = &own->list.left_out;
    if (others->count > 0) {
        sl_seen_names_write(others, names, sizeof(names));
        (void)snprintf(left_out, sizeof(left_out), ", without %llu other files (%s)",
                       (unsigned long long)others->count, names);
    }
    (void)snprintf(
        own->base.kind, sizeof(own->base.kind),
        "files, grouped into samples by their names up to the first dot (an unpacked WebDataset)%s",
        left_out);
}

static sluice_status samples_complete(samples *own, const char *root, sluice_error *error)
{
    const sl_file_index *index = &own->list.index;
    if (own->list.count > UINT32_MAX - 1) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, root, -1,
                             "more than 2^32 - 2 samples");
    }
    own->root = sl_strdup(root);
    if (own->root == NULL) {
        return sl_no_memory(error, STAGE, "opening a dataset");
    }
    const sluice_status status = sl_member_fields_make(&own->fields, index, 1, error);
    if (status < 0) {
        if (error != NULL) {
            sl_error_set_path(error, root);
        }
        return status;
    }
    for (uint32_t i = 0; i < own->list.spelling_count; i++) {
        own->field_of[i] =
            sl_member_fields_find(&own->fields, index->names[own->list.extension[i]]);
    }
    own->base.info.samples = own->list.count;
    own->base.info.fields = own->fields.count;
    own->base.info.fingerprint = samples_fingerprint(own);
    own->base.fields = own->fields.fields;
    own->base.whole_objects = true;
    sl_unchecked_add(&own->base.unchecked, "the files have no checksums");
    samples_describe(own);
    sl_omit_many(&own->base.omissions, SL_OMITTED_THINGS, "files of no sample",
                 own->list.left_out.names[0], own->list.left_out.count);
    sl_omit_many(&own->base.omissions, SL_OMITTED_THINGS, "hidden and system files and folders",
                 NULL, own->list.hidden);
    const sl_object_names names = {.ctx = own,
                                   .count = (uint32_t)own->list.count,
                                   .path = samples_path_of,
                                   .files = samples_files_of,
                                   .file_path = file_path};
    return sl_objects_open(&own->base.objects, &names, error);
}

sluice_status sl_samples_open(sl_dataset **dataset, const char *root, const sl_folder_list *list,
                              sluice_error *error)
{
    const bool recordings = list->file_count == 0;
    /* checks the counts first, so that folders with only images are not listed again */
    if (list->others == 0 || 2 * list->others < list->file_count ||
        (!list->flat && list->beside.count > 0 && list->file_count > 0)) {
        return SLUICE_END;
    }
    samples *own = sl_dataset_new(sizeof(*own), &samples_ops, "folder", error);
    if (own == NULL) {
        return SLUICE_NOMEM;
    }
    sluice_status status = sl_sample_list_open(&own->list, root, recordings, error);
    if (status == SLUICE_OK && !is_one(&own->list, list)) {
        status = SLUICE_END;
    }
    /* files that are not samples may have any name */
    if (status == SLUICE_UNSUPPORTED && list->file_count > 0 && !list->flat) {
        status = SLUICE_END;
    }
    status = status == SLUICE_OK ? samples_complete(own, root, error) : status;
    if (status == SLUICE_END) {
        sl_dataset_close(&own->base);
        return status;
    }
    return sl_dataset_opened(dataset, &own->base, status);
}
