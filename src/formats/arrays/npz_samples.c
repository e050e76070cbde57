/* SPDX-License-Identifier: Apache-2.0 */
/*
 * npz_samples: .npz files as samples.
 *
 * Opening records the locations of stored arrays in the files that it looks at: 48 bytes per array.
 */
#include "memory.h"
#include "name_table.h"
#include "npz.h"
#include "open_many.h"
#include "store.h"
#include "thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAGE "dataset"

/*
 * Number of files that opening looks at: all, or this many, evenly spread; and the average file
 * size from which parts are worth reading.
 */
enum { LOOKS = 4096, LOOKS_LARGE = 65536 };
#define LARGE_BYTES ((uint64_t)1 << 20)

typedef struct npz {
    sl_dataset base;
    sl_npz_fields fields;
    sl_file_list list;
    sl_npz_place *places; /* of field f of file i: places[i x fields + f]; NULL: none */
} npz;

static const npz *npz_of(const sl_dataset *dataset)
{
    return (const npz *)(const void *)dataset;
}

/* ---- ops ---- */

static sluice_status npz_samples_locate(const sl_dataset *dataset, uint64_t index,
                                        sl_sample *sample, sl_place *lookup, sl_refusal *why)
{
    (void)lookup;
    (void)why;
    const uint64_t bytes = npz_of(dataset)->list.files[index].file.bytes;
    /* for an empty file, one byte beyond its end is requested, so that it is a bad sample */
    *sample =
        (sl_sample){.place = {.bytes = bytes > 0 ? (uint32_t)bytes : 1, .object = (uint32_t)index}};
    return SLUICE_OK;
}

static const sl_npz_place *npz_samples_place_of(const npz *own, uint64_t index, uint32_t field)
{
    return own->places != NULL ? &own->places[index * own->fields.count + field] : NULL;
}

static sluice_status npz_samples_locate_field(const sl_dataset *dataset, uint64_t index,
                                              uint32_t field, sl_place *place, sl_place *lookup,
                                              sl_refusal *why)
{
    const npz *own = npz_of(dataset);
    const sl_npz_place *found = npz_samples_place_of(own, index, field);
    if (found == NULL || found->head_bytes == 0) {
        *lookup = (sl_place){.object = (uint32_t)index};
        *why = sl_refuse_unknown("the byte range is unknown for numbers, for compressed arrays, "
                                 "and in files not sampled at opening",
                                 0);
        why->field = own->fields.fields[field].name;
        return SLUICE_UNSUPPORTED;
    }
    *place = (sl_place){.offset = found->data, .bytes = found->bytes, .object = (uint32_t)index};
    return SLUICE_OK;
}

static bool form(const sl_dataset *dataset, uint64_t index, uint32_t field, uint64_t bytes,
                 sl_tensor_form *form)
{
    const npz *own = npz_of(dataset);
    const sl_npz_place *found = npz_samples_place_of(own, index, field);
    *form = (sl_tensor_form){.head_bytes = found != NULL ? found->head_bytes : 0};
    for (uint32_t i = 0; found != NULL && i < own->fields.fields[field].dims; i++) {
        form->shape[i] = found->shape[i];
    }
    return found != NULL && bytes == found->bytes;
}

static sl_refusal npz_samples_check_head(const sl_dataset *dataset, uint64_t index, uint32_t field,
                                         sl_bytes head)
{
    const npz *own = npz_of(dataset);
    return sl_npz_check_head(&own->fields, field, npz_samples_place_of(own, index, field), head);
}

static bool npz_samples_range(const sl_dataset *dataset, uint64_t index, uint64_t *count)
{
    (void)dataset;
    (void)index;
    *count = 1;
    return false;
}

static sl_refusal npz_samples_unpack(const sl_dataset *dataset, const sl_sample *sample,
                                     sl_bytes bytes, sl_values *values)
{
    if (bytes.size != sample->place.bytes) {
        return sl_refuse("the file is truncated", 0);
    }
    return sl_npz_unpack(&npz_of(dataset)->fields, bytes, values);
}

/* Writes the file's name, without ".npz". */
static sluice_status npz_samples_key_of(const sl_dataset *dataset, uint64_t index, char *key,
                                        size_t bytes)
{
    const char *path = npz_of(dataset)->list.files[index].path;
    const char *name = sl_path_name(path);
    const size_t length = strlen(name) - (sl_ends_with(name, ".npz") ? strlen(".npz") : 0);
    if (length >= bytes) {
        return SLUICE_INVALID;
    }
    memcpy(key, name, length);
    key[length] = '\0';
    return SLUICE_OK;
}

static void close_npz(sl_dataset *dataset)
{
    npz *own = (npz *)(void *)dataset;
    sl_objects_close(own->base.objects);
    sl_file_list_close(&own->list);
    sl_free(own->places);
    sl_free(own);
}

static const sl_dataset_ops npz_ops = {
    .locate = npz_samples_locate,
    .unpack = npz_samples_unpack,
    .key = npz_samples_key_of,
    .close = close_npz,
};

static const sl_tensor_ops npz_tensors = {.locate_field = npz_samples_locate_field,
                                          .form = form,
                                          .check_head = npz_samples_check_head,
                                          .range = npz_samples_range};

/* ---- fields ---- */

/* An array as found in all files that were looked at. */
typedef struct column {
    sl_source_column source;
    sluice_dtype dtype;
    uint64_t order;  /* the first file that has it, and its position in that file */
    uint32_t number; /* its number in the notes */
} column;

/* The location of an array in a file. */
typedef struct note {
    uint32_t file, column;
    sl_npz_place place;
} note;

typedef struct looker {
    const sl_file_list *list;
    uint64_t looks;
    pthread_mutex_t mutex; /* guards the members below */
    column columns[SL_SOURCE_COLUMNS_MAX];
    uint32_t count;
    sl_name_table names; /* names of the columns */
    bool too_many, no_memory;
    note *notes;
    uint64_t note_count, note_capacity;
    uint64_t failed; /* number of the first file whose look failed; UINT64_MAX: none */
    uint64_t good;
    sluice_error error;
} looker;

static uint64_t file_of(const looker *look, uint64_t number)
{
    return look->looks > 1 ? (look->list->count - 1) * number / (look->looks - 1) : 0;
}

/* Joins the shapes: dimensions that differ become variable. */
static void npz_samples_join(column *known, const column *other)
{
    sl_field *a = &known->source.field;
    const sl_field *b = &other->source.field;
    known->order = known->order < other->order ? known->order : other->order;
    if (known->source.refused != NULL || other->source.refused != NULL) {
        known->source.refused =
            known->source.refused != NULL ? known->source.refused : other->source.refused;
    } else if (known->dtype != other->dtype || a->dims != b->dims) {
        known->source.refused =
            "its dtype or number of dimensions differs between files: save it the same way in all "
            "files, or leave it out (" SL_OPTION("the option fields") ")";
    }
    for (uint32_t i = 0; known->source.refused == NULL && i < a->dims; i++) {
        a->shape[i] = a->shape[i] == b->shape[i] ? a->shape[i] : 0;
    }
}

/* Returns the column's number, adding it if new. */
static uint32_t npz_samples_add_column(looker *look, const column *found)
{
    const uint32_t known = sl_name_table_find(&look->names, found->source.name);
    if (known != SL_NAME_NONE) {
        npz_samples_join(&look->columns[known], found);
        return known;
    }
    if (look->count == SL_SOURCE_COLUMNS_MAX) {
        look->too_many = true;
        return 0;
    }
    column *added = &look->columns[look->count];
    *added = *found;
    added->number = look->count;
    if (!sl_name_table_add(&look->names, added->source.name, added->number)) {
        look->no_memory = true;
        return 0;
    }
    return look->count++;
}

static void add_note(looker *look, const note *found)
{
    if (!sl_grow(&look->notes, &look->note_capacity, look->note_count + 1, sizeof(*look->notes))) {
        look->no_memory = true;
        return;
    }
    look->notes[look->note_count++] = *found;
}

static void npz_samples_add_file(looker *look, const sl_npz_file *file, uint64_t number)
{
    for (uint32_t i = 0; i < file->count; i++) {
        const sl_npz_entry *entry = &file->entries[i];
        column found = {.dtype = entry->npy.dtype,
                        .order = number * SL_SOURCE_COLUMNS_MAX + i,
                        .source = {.refused = entry->refused}};
        memcpy(found.source.name, entry->name, sizeof(entry->name));
        if (entry->refused == NULL) {
            sl_npz_field(&found.source.field, &entry->npy, false);
        }
        note own = {.file = (uint32_t)file_of(look, number),
                    .column = npz_samples_add_column(look, &found)};
        if (entry->refused == NULL && sl_npz_place_of(&own.place, &entry->member, &entry->npy)) {
            add_note(look, &own);
        }
    }
    look->good++;
}

/*
 * Looks at a file. Skips bad files, unless all are bad; an unreadable file ends the look, since its
 * contents may matter.
 */
static sluice_status npz_samples_look_at(void *context, uint32_t number, sluice_error *error)
{
    looker *look = context;
    sl_npz_file file;
    const char *path = look->list->files[file_of(look, number)].path;
    const sluice_status status = sl_npz_file_read(&file, path, error);
    sl_lock(&look->mutex);
    if (status == SLUICE_OK) {
        npz_samples_add_file(look, &file, number);
    } else if (number < look->failed) {
        look->failed = number;
        look->error = *error;
    }
    sl_unlock(&look->mutex);
    if (status == SLUICE_OK) {
        sl_npz_file_close(&file);
    }
    return status == SLUICE_IO || status == SLUICE_NOMEM ? status : SLUICE_OK;
}

static int compare_columns(const void *a, const void *b)
{
    const uint64_t first = ((const column *)a)->order;
    const uint64_t second = ((const column *)b)->order;
    return first < second ? -1 : first > second;
}

/* Keeps the locations of the arrays that are fields. */
static sluice_status keep_places(npz *own, const looker *look, const sl_source_fields *fields,
                                 sluice_error *error)
{
    if (look->note_count == 0 && !look->no_memory) {
        return SLUICE_OK;
    }
    own->places = look->no_memory
                      ? NULL
                      : sl_calloc((size_t)own->list.count * fields->count, sizeof(*own->places));
    if (own->places == NULL) {
        return sl_no_memory(error, STAGE, "for the offsets of arrays");
    }
    for (size_t i = 0; i < look->note_count; i++) {
        const note *found = &look->notes[i];
        sl_npz_place *places = &own->places[(size_t)found->file * fields->count];
        for (uint32_t k = 0; k < fields->count; k++) {
            if (look->columns[fields->column[k]].number == found->column) {
                places[k] = found->place;
            }
        }
    }
    return SLUICE_OK;
}

static sluice_status npz_samples_choose_fields(npz *own, looker *look,
                                               const sluice_dataset_options *options,
                                               sluice_error *error)
{
    sl_source_fields fields;
    qsort(look->columns, look->count, sizeof(look->columns[0]), compare_columns);
    sl_source_column *columns = sl_calloc(look->count + 1, sizeof(*columns));
    if (columns == NULL) {
        return sl_no_memory(error, STAGE, "opening a dataset");
    }
    for (uint32_t i = 0; i < look->count; i++) {
        columns[i] = look->columns[i].source;
    }
    const sluice_status status = sl_source_fields_find(&fields, columns, look->count, options,
                                                       own->list.files[0].path, error);
    sl_free(columns);
    if (status < 0) {
        return status;
    }
    own->fields.count = fields.count;
    for (uint32_t i = 0; i < fields.count; i++) {
        const column *source = &look->columns[fields.column[i]];
        own->fields.fields[i] = fields.fields[i];
        own->fields.dtypes[i] = source->dtype;
        memcpy(own->fields.names[i], source->source.name, sizeof(source->source.name));
    }
    return keep_places(own, look, &fields, error);
}

static sluice_status npz_samples_find_fields(npz *own, const sluice_dataset_options *options,
                                             sluice_error *error)
{
    looker *look = sl_calloc(1, sizeof(*look));
    if (look == NULL) {
        return sl_no_memory(error, STAGE, "opening a dataset");
    }
    look->list = &own->list;
    const uint64_t most =
        own->base.info.bytes / own->list.count >= LARGE_BYTES ? LOOKS_LARGE : LOOKS;
    look->looks = own->list.count < most ? own->list.count : most;
    look->failed = UINT64_MAX;
    sl_mutex_init(&look->mutex);
    sluice_status status = sl_open_many((uint32_t)look->looks, npz_samples_look_at, look, error);
    sl_mutex_destroy(&look->mutex);
    if (status < 0) {
        /* repeats the look, for its error */
    } else if (look->good == 0) {
        status = (sluice_status)look->error.status;
        if (error != NULL) {
            *error = look->error;
        }
    } else if (look->too_many) {
        status =
            sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0, own->list.files[0].path, -1,
                          "the files have more than %u different arrays", SL_SOURCE_COLUMNS_MAX);
    } else {
        status = npz_samples_choose_fields(own, look, options, error);
    }
    sl_name_table_close(&look->names);
    sl_free(look->notes);
    sl_free(look);
    return status;
}

/* ---- opening ---- */

static sluice_status npz_samples_measure(npz *own, sluice_error *error)
{
    for (uint32_t i = 0; i < own->list.count; i++) {
        sl_store_facts facts;
        sl_listed_file *file = &own->list.files[i];
        const sluice_status status =
            sl_store_find((sl_file_name){STAGE, file->path}, &facts, error);
        if (status < 0) {
            return status;
        }
        if (facts.kind != SL_ENTRY_FILE) {
            return sl_error_file(error, SLUICE_IO, STAGE, 0, file->path, -1, "not a regular file");
        }
        if (facts.identity.bytes > SL_RECORD_BYTES_MAX) {
            return sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0, file->path, -1,
                                 "the file has %llu bytes: a sample must have at most 2^31 - 1",
                                 (unsigned long long)facts.identity.bytes);
        }
        file->first = i;
        file->file = facts.identity;
        own->base.info.bytes += file->file.bytes;
    }
    return SLUICE_OK;
}

/* Computes the fingerprint of the fields and of the files' names and sizes. */
static uint64_t npz_samples_fingerprint(const npz *own)
{
    sl_checksum_stream stream;
    sl_checksum_begin(&stream);
    for (uint32_t i = 0; i < own->fields.count; i++) {
        sl_checksum_add(&stream, own->fields.fields[i].name, sizeof(own->fields.fields[i].name));
        sl_checksum_add(&stream, own->fields.names[i], strlen(own->fields.names[i]) + 1);
    }
    for (uint32_t i = 0; i < own->list.count; i++) {
        sl_file_list_sum(&own->list, i, &stream);
    }
    return sl_checksum_value(&stream);
}

static sluice_status npz_samples_open_all(npz *own, const char *kind,
                                          const sluice_dataset_options *options,
                                          sluice_error *error)
{
    sluice_status status = npz_samples_measure(own, error);
    if (status == SLUICE_OK) {
        status = npz_samples_find_fields(own, options, error);
    }
    if (status < 0) {
        return status;
    }
    sluice_dataset_info *info = &own->base.info;
    info->samples = own->list.count;
    info->fingerprint = npz_samples_fingerprint(own);
    info->fields = own->fields.count;
    (void)snprintf(own->base.kind, sizeof(own->base.kind), "%s", kind);
    own->base.fields = own->fields.fields;
    return sl_file_list_objects(&own->list, &own->base.objects, error);
}

sluice_status sl_npz_open_samples(sl_dataset **dataset, sl_file_set *set, const char *kind,
                                  const sluice_dataset_options *options, sluice_error *error)
{
    npz *own = sl_dataset_new(sizeof(*own), &npz_ops, "npz", error);
    if (own == NULL) {
        return SLUICE_NOMEM;
    }
    own->base.tensors = &npz_tensors;
    own->list = set->list;
    set->list = (sl_file_list){.count = 0};
    return sl_dataset_opened(dataset, &own->base, npz_samples_open_all(own, kind, options, error));
}
