/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lmdb: opens LMDB files: folders with data.mdb, or such a file by itself.
 *
 * Opening walks the keys once (lmdb_index.h) and looks at some values to determine their kind
 * (lmdb_values.h). A sample is then a byte range of the file, read through the common queue;
 * nothing is mapped. The node or value-page header is read with it and reveals most changes to the
 * file.
 */
#include "dataset.h"
#include "file_list.h"
#include "lmdb_index.h"
#include "lmdb_values.h"
#include "look_around.h"
#include "memory.h"
#include "store.h"
#include "unicode.h"

#include <stdio.h>
#include <string.h>

#define STAGE "dataset"

typedef struct lmdb {
    sl_dataset base;
    sl_source_fields fields;
    sl_lmdb_columns columns;
    sl_file_list list;
    sl_lmdb_index *indexes; /* one per file */
    sl_side_columns labels; /* labels of text recognition */
} lmdb;

static const lmdb *lmdb_of(const sl_dataset *dataset)
{
    return (const lmdb *)(const void *)dataset;
}

/* ---- ops ---- */

static sluice_status lmdb_locate(const sl_dataset *dataset, uint64_t index, sl_sample *sample,
                                 sl_place *lookup, sl_refusal *why)
{
    const lmdb *self = lmdb_of(dataset);
    const uint32_t number = sl_file_list_find(&self->list, index);
    const sl_file_index *places = &self->indexes[number].places;
    const uint64_t local = index - self->list.files[number].first;
    *sample = (sl_sample){.place = {.offset = places->offsets[local],
                                    .bytes = places->bytes[local],
                                    .object = number}};
    if (sample->place.bytes <= SL_RECORD_BYTES_MAX) {
        return SLUICE_OK;
    }
    *lookup = (sl_place){.offset = sample->place.offset, .bytes = SL_LMDB_HEAD, .object = number};
    *why = sl_refuse_unknown("the value has more than 2^31 - 1 bytes", 0);
    return why->status;
}

static sl_refusal lmdb_value_of(const lmdb *self, const sl_sample *sample, sl_bytes bytes,
                                sl_bytes *value)
{
    if (bytes.size != sample->place.bytes) {
        return sl_refuse("the entry is truncated", 0);
    }
    return sl_lmdb_value(bytes, sample->place.offset,
                         self->indexes[sample->place.object].page_bytes, value);
}

/* State of unpacking a sample. */
typedef struct parts {
    const lmdb *self;
    const sl_sample *sample;
    sl_bytes stored, value;
    sl_datum datum;
} parts;

static sl_refusal lmdb_take(const parts *p, uint32_t number, sl_value *value)
{
    const lmdb *self = p->self;
    const sl_field *field = &self->fields.fields[number];
    const sl_lmdb_part part = self->columns.parts[self->fields.column[number]];
    sl_refusal why;
    if (part == SL_LMDB_LABEL) {
        why = sl_side_columns_get(&self->labels, 0, p->sample->index, value);
        return why.text == NULL && value->present ? sl_source_value(field, value) : why;
    }
    if (part == SL_LMDB_VALUE) {
        *value = (sl_value){.present = true,
                            .bytes = p->value,
                            .offset = (uint32_t)(p->value.data - p->stored.data)};
        return sl_source_value(field, value);
    }
    why = sl_lmdb_datum_value(&p->datum, part, field, value);
    if (value->bytes.size > 0) {
        value->offset = (uint32_t)(value->bytes.data - p->stored.data);
    }
    return why;
}

static sl_refusal lmdb_unpack(const sl_dataset *dataset, const sl_sample *sample, sl_bytes bytes,
                              sl_values *values)
{
    parts p = {.self = lmdb_of(dataset), .sample = sample, .stored = bytes};
    sl_refusal why = lmdb_value_of(p.self, sample, bytes, &p.value);
    if (why.text == NULL && p.self->columns.parts[0] != SL_LMDB_VALUE) {
        why = sl_datum_parse(&p.datum, p.value);
        why.offset += (uint32_t)(p.value.data - bytes.data);
    }
    for (uint32_t i = 0; why.text == NULL && i < p.self->fields.count; i++) {
        values->of[i] = (sl_value){.present = false};
        if (sl_values_want(values, i)) {
            why = lmdb_take(&p, i, &values->of[i]);
            why.field = p.self->fields.fields[i].name;
        }
    }
    return why;
}

/* Returns whether a key is text. Keys are for people, so others are not shown. */
static bool is_printable(sl_bytes key)
{
    for (size_t i = 0; i < key.size; i++) {
        if (key.data[i] < ' ' || key.data[i] == 0x7f) {
            return false;
        }
    }
    return sl_is_utf8(key);
}

static sluice_status lmdb_read_key(const lmdb *self, uint64_t index, uint8_t *page, char *key,
                                   size_t bytes)
{
    sl_bytes found;
    const uint32_t number = sl_file_list_find(&self->list, index);
    const sl_lmdb_index *file = &self->indexes[number];
    const uint64_t local = index - self->list.files[number].first;
    const sl_lmdb_leaf *leaf = sl_lmdb_index_leaf(file, local);
    const sluice_status status = sl_objects_read(
        self->base.objects, number, leaf->page * file->page_bytes, page, file->page_bytes, NULL);
    if (status < 0) {
        return status;
    }
    const sl_refusal why =
        sl_lmdb_index_key(file, leaf, (sl_bytes){page, file->page_bytes}, local, &found);
    if (why.text != NULL) {
        return why.status;
    }
    if (!is_printable(found)) {
        return SLUICE_OK;
    }
    if (found.size >= bytes) {
        return SLUICE_INVALID;
    }
    memcpy(key, found.data, found.size);
    key[found.size] = '\0';
    return SLUICE_OK;
}

static sluice_status lmdb_key(const sl_dataset *dataset, uint64_t index, char *key, size_t bytes)
{
    uint8_t *page = sl_malloc(SL_LMDB_PAGE_MAX);
    const sluice_status status =
        page != NULL ? lmdb_read_key(lmdb_of(dataset), index, page, key, bytes) : SLUICE_NOMEM;
    sl_free(page);
    return status;
}

static void lmdb_close(sl_dataset *dataset)
{
    lmdb *self = (lmdb *)(void *)dataset;
    sl_objects_close(self->base.objects);
    for (uint32_t i = 0; self->indexes != NULL && i < self->list.count; i++) {
        sl_lmdb_index_close(&self->indexes[i]);
    }
    sl_free(self->indexes);
    sl_file_list_close(&self->list);
    sl_side_columns_close(&self->labels);
    sl_free(self);
}

static const sl_dataset_ops lmdb_ops = {
    .locate = lmdb_locate,
    .unpack = lmdb_unpack,
    .key = lmdb_key,
    .close = lmdb_close,
};

/* ---- paths ---- */

/* Writes the file of a path: itself, or data.mdb in a folder. False: too long. */
static bool lmdb_name_file(char name[SL_PATH_BYTES], const char *path)
{
    const char *in_folder = sl_store_has_folder(path) ? "/data.mdb" : "";
    const int length = snprintf(name, SL_PATH_BYTES, "%s%s", path, in_folder);
    return length >= 0 && (size_t)length < SL_PATH_BYTES;
}

static bool lmdb_probe(sl_look *look)
{
    char name[SL_PATH_BYTES];
    if (sl_look_is_folder(look)) {
        /* data.mdb claims the folder, so that errors in it are reported */
        return sl_path_join(name, look->path, "data.mdb") && sl_store_has_file(name);
    }
    const sl_bytes head = sl_look_head(look, SL_LMDB_META_BYTES);
    return head.size == SL_LMDB_META_BYTES && sl_lmdb_begins(head.data);
}

/* data.mdb is handled by `probe`, since lock.mdb is beside it */
static bool lmdb_is_file(const char *name)
{
    return sl_ends_with(name, ".lmdb") ||
           (sl_ends_with(name, ".mdb") && strcmp(name, "lock.mdb") != 0 &&
            strcmp(name, "data.mdb") != 0);
}

/* ---- fields ---- */

typedef struct looker {
    const lmdb *self;
    sl_lmdb_look look;
} looker;

static sl_refusal lmdb_look_at(void *ctx, const sl_sample *sample, sl_bytes bytes)
{
    looker *l = ctx;
    sl_bytes value;
    const sl_refusal why = lmdb_value_of(l->self, sample, bytes, &value);
    if (why.text == NULL) {
        sl_lmdb_look_at(&l->look, value);
    }
    return why;
}

static sluice_status lmdb_find_fields(lmdb *self, const sluice_dataset_options *options,
                                      sluice_error *error)
{
    looker l = {.self = self};
    const sluice_status status = sl_look_around(&self->base, lmdb_look_at, &l, error);
    if (status < 0) {
        return status;
    }
    bool text = true;
    for (uint32_t i = 0; i < self->list.count; i++) {
        text = text && self->indexes[i].text;
    }
    sl_field *label = &self->labels.of[0].field;
    label->type = text ? SLUICE_FIELD_TEXT : SLUICE_FIELD_BYTES;
    sl_lmdb_columns_make(&self->columns, &l.look, self->indexes[0].recognition ? label : NULL);
    return sl_source_fields_find(&self->fields, self->columns.of, self->columns.count, options,
                                 self->list.files[0].path, error);
}

/* ---- opening ---- */

static sluice_status lmdb_add_file(lmdb *self, const char *path, sluice_error *error)
{
    char name[SL_PATH_BYTES];
    sluice_dataset_info *info = &self->base.info;
    if (!lmdb_name_file(name, path)) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1, "the path is too long");
    }
    sluice_status status = sl_file_list_add(&self->list, name, error);
    if (status < 0) {
        return status;
    }
    const uint32_t number = self->list.count - 1;
    sl_lmdb_index *index = &self->indexes[number];
    sl_listed_file *file = &self->list.files[number];
    file->first = info->samples;
    status = sl_lmdb_index_make(index, name, &self->labels, error);
    if (status < 0) {
        return status;
    }
    if (index->recognition != self->indexes[0].recognition) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, name, -1,
                             "either all files or none must have keys image-N and label-N");
    }
    file->file = index->places.file;
    info->samples += index->places.samples;
    for (uint64_t i = 0; i < index->places.samples; i++) {
        info->bytes += index->places.bytes[i];
    }
    return SLUICE_OK;
}

static uint64_t lmdb_fingerprint(const lmdb *self)
{
    sl_checksum_stream stream;
    sl_checksum_begin(&stream);
    for (uint32_t i = 0; i < self->list.count; i++) {
        const sl_file_index *places = &self->indexes[i].places;
        sl_file_list_sum(&self->list, i, &stream);
        sl_checksum_add_u64(&stream, self->indexes[i].transaction);
        sl_checksum_add_u64(&stream, places->samples);
        sl_checksum_add(&stream, places->offsets, places->samples * sizeof(*places->offsets));
    }
    return sl_checksum_value(&stream);
}

static void lmdb_describe(lmdb *self)
{
    uint64_t left_out = 0;
    char others[64] = "";
    for (uint32_t i = 0; i < self->list.count; i++) {
        left_out += self->indexes[i].left_out;
    }
    if (left_out > 0) {
        (void)snprintf(others, sizeof(others), ", %llu other entries are skipped",
                       (unsigned long long)left_out);
    }
    sl_unchecked_add(&self->base.unchecked, "LMDB has no checksums");
    (void)snprintf(self->base.kind, sizeof(self->base.kind), "LMDB, by its keys: %s%s",
                   self->columns.words, others);
}

static sluice_status lmdb_open_files(lmdb *self, const char *const *paths, size_t count,
                                     const sluice_dataset_options *options, sluice_error *error)
{
    static const sl_field label = {.name = "label", .type = SLUICE_FIELD_TEXT};
    self->indexes = sl_calloc(count, sizeof(*self->indexes));
    if (self->indexes == NULL) {
        return sl_no_memory(error, STAGE, "opening a dataset");
    }
    sluice_status status = sl_side_columns_open(&self->labels, &label, 1, error);
    for (size_t i = 0; status == SLUICE_OK && i < count; i++) {
        status = lmdb_add_file(self, paths[i], error);
    }
    sluice_dataset_info *info = &self->base.info;
    if (status == SLUICE_OK && info->samples == 0) {
        status = sl_error_file(error, SLUICE_INVALID, STAGE, 0, self->list.files[0].path, -1,
                               "no samples: no entry of the file can be one");
    }
    if (status == SLUICE_OK) {
        status = sl_file_list_objects(&self->list, &self->base.objects, error);
    }
    if (status == SLUICE_OK) {
        status = lmdb_find_fields(self, options, error);
    }
    if (status < 0) {
        return status;
    }
    info->fingerprint = lmdb_fingerprint(self);
    info->fields = self->fields.count;
    info->shards = self->list.count;
    self->base.fields = self->fields.fields;
    lmdb_describe(self);
    return SLUICE_OK;
}

static sluice_status lmdb_open(sl_dataset **dataset, const char *const *paths, size_t count,
                               const sluice_dataset_options *options, sluice_error *error)
{
    lmdb *self = sl_dataset_new(sizeof(*self), &lmdb_ops, "lmdb", error);
    if (self == NULL) {
        return SLUICE_NOMEM;
    }
    return sl_dataset_opened(dataset, &self->base,
                             lmdb_open_files(self, paths, count, options, error));
}

SL_FORMAT(lmdb) = {
    .name = "lmdb",
    .files = "LMDB files",
    .known = "LMDB",
    .takes_fields = true,
    .probe = lmdb_probe,
    .is_file = lmdb_is_file,
    .is_binary = true,
    .open = lmdb_open,
};
