/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TFRecords of tf.train.Example and SequenceExample. Opening needs an index of each file
 * (tfrecord_index.h) and a look at some records, for which fields there are (example_fields.h);
 * then a sample is a record.
 */
#include "example_fields.h"
#include "file.h"
#include "file_set.h"
#include "look_around.h"
#include "memory.h"
#include "tfrecord_index.h"

#include <stdio.h>
#include <string.h>

#define STAGE "dataset"

typedef struct tfrecords {
    sl_dataset base;
    sl_example_fields fields;
    sl_file_set set;
} tfrecords;

static const tfrecords *records_of(const sl_dataset *dataset)
{
    return (const tfrecords *)(const void *)dataset;
}

/* ---- ops ---- */

static sluice_status locate(const sl_dataset *dataset, uint64_t index, sl_sample *sample,
                            sl_place *lookup, sl_refusal *why)
{
    (void)lookup;
    (void)why;
    sl_file_set_locate(&records_of(dataset)->set, index, sample);
    return SLUICE_OK;
}

static sl_refusal unpack(const sl_dataset *dataset, const sl_sample *sample, sl_bytes bytes,
                         sl_values *values)
{
    sl_bytes example;
    if (bytes.size != sample->place.bytes) {
        return sl_refuse("the record is cut short", 0);
    }
    const sl_refusal refusal = sl_tfrecord_open(bytes, &example);
    return refusal.text != NULL ? refusal
                                : sl_example_fields_unpack(&records_of(dataset)->fields, example,
                                                           SL_TFRECORD_HEAD, values);
}

static void close_records(sl_dataset *dataset)
{
    tfrecords *own = (tfrecords *)(void *)dataset;
    sl_objects_close(own->base.objects);
    sl_file_set_close(&own->set);
    sl_free(own);
}

static const sl_dataset_ops tfrecords_ops = {
    .locate = locate,
    .unpack = unpack,
    .close = close_records,
};

/* ---- what is one ---- */

static size_t digits_before(const char *begin, const char *end)
{
    const char *at = end;
    while (at > begin && at[-1] >= '0' && at[-1] <= '9') {
        at--;
    }
    return (size_t)(end - at);
}

/* "NAME-00000-of-01024". */
static bool is_numbered(const char *name)
{
    const char *end = name + strlen(name);
    const size_t all = digits_before(name, end);
    if (all < 5 || (size_t)(end - name) < all + 4 || memcmp(end - all - 4, "-of-", 4) != 0) {
        return false;
    }
    end -= all + 4;
    const size_t number = digits_before(name, end);
    return number >= 5 && (size_t)(end - name) > number + 1 && end[-(ptrdiff_t)number - 1] == '-';
}

/* By its name; compressed ones, too, so that they are refused by name and not overlooked. */
static bool is_named(const char *name)
{
    static const char *const suffixes[] = {".tfrecord",      ".tfrecords",     ".tfrec",
                                           ".tfrecord.gz",   ".tfrecords.gz",  ".tfrec.gz",
                                           ".tfrecord.zlib", ".tfrecords.zlib"};
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        if (sl_ends_with(name, suffixes[i])) {
            return true;
        }
    }
    return is_numbered(name);
}

static bool begins(sl_bytes head)
{
    uint64_t length;
    return head.size >= SL_TFRECORD_HEAD && sl_tfrecord_head(head.data, &length);
}

static bool is_of_indexes(const char *name)
{
    return strcmp(name, "idx") == 0 || strcmp(name, "idx_files") == 0;
}

static const sl_file_kind tfrecord_files = {
    .index = SL_INDEX_TFRECORD,
    .plural = "TFRecord files",
    .suffix = ".tfrecord",
    .is_named = is_named,
    .skips_folder = is_of_indexes,
    .begins = begins,
    .load = sl_tfrecord_idx_load,
    .walk = sl_tfrecord_walk,
};

static bool probe(const char *path)
{
    return sl_file_set_probe(&tfrecord_files, path);
}

/* ---- fields ---- */

/* What opening needs to find them. */
typedef struct looker {
    tfrecords *own;
    sl_field_choice choices[SL_FIELDS_MAX];
    uint32_t choice_count;
    sl_example_keys keys;
} looker;

static sl_refusal look_at(void *ctx, const sl_sample *sample, sl_bytes bytes)
{
    looker *look = ctx;
    sl_bytes example;
    (void)sample;
    sl_refusal why = sl_tfrecord_open(bytes, &example);
    if (why.text == NULL) {
        why = sl_example_look(&look->keys, look->choice_count > 0 ? look->choices : NULL,
                              look->choice_count, example);
        why.offset += SL_TFRECORD_HEAD;
    }
    return why;
}

static sluice_status find_fields(looker *look, const sluice_dataset_options *options,
                                 sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    if (options->field_count > SL_FIELDS_MAX) {
        return sl_error_set(error, SLUICE_INVALID, STAGE, "there can be %u fields at most",
                            SL_FIELDS_MAX);
    }
    for (uint32_t i = 0; status == SLUICE_OK && i < options->field_count; i++) {
        status = sl_field_choice_parse(&look->choices[i], options->fields[i], error);
        look->choice_count++;
    }
    if (status == SLUICE_OK) {
        status = sl_look_around(&look->own->base, look_at, look, error);
    }
    if (status < 0) {
        return status;
    }
    sl_example_fields *fields = &look->own->fields;
    status = look->choice_count > 0 ? sl_example_fields_choose(fields, &look->keys, look->choices,
                                                               look->choice_count, error)
                                    : sl_example_fields_find(fields, &look->keys, error);
    if (status < 0 && error != NULL) {
        sl_error_set_path(error, look->own->set.list.files[0].path);
    }
    return status;
}

/* ---- opening ---- */

static sluice_status open_set(tfrecords *own, const char *const *paths, size_t count,
                              sluice_error *error)
{
    sluice_status status = sl_file_set_open(&own->set, &tfrecord_files, paths, count, NULL, error);
    if (status == SLUICE_OK && own->set.samples == 0) {
        status = sl_error_file(error, SLUICE_INVALID, STAGE, 0, own->set.list.files[0].path, -1,
                               "no sample: the file is empty");
    }
    return status == SLUICE_OK ? sl_file_list_objects(&own->set.list, &own->base.objects, error)
                               : status;
}

static bool has_steps(const sl_example_fields *fields)
{
    bool found = false;
    for (uint32_t i = 0; i < fields->count; i++) {
        found = found || fields->of[i].in_lists;
    }
    return found;
}

static sluice_status open_all(tfrecords *own, const char *const *paths, size_t count,
                              const sluice_dataset_options *options, sluice_error *error)
{
    sluice_status status = open_set(own, paths, count, error);
    if (status < 0) {
        return status;
    }
    sluice_dataset_info *info = &own->base.info;
    sl_file_set_describe(&own->set, info);
    looker *look = sl_calloc(1, sizeof(*look));
    if (look == NULL) {
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "no memory for a dataset");
    }
    look->own = own;
    status = find_fields(look, options, error);
    sl_free(look);
    info->fields = own->fields.count;
    (void)snprintf(own->base.kind, sizeof(own->base.kind),
                   "%s, each of whose records is a sample (tf.train.%sExample)",
                   own->set.list.count == 1 ? "a TFRecord file" : "TFRecord files",
                   has_steps(&own->fields) ? "Sequence" : "");
    own->base.fields = own->fields.fields;
    return status;
}

static sluice_status open_records(sl_dataset **dataset, const char *const *paths, size_t count,
                                  const sluice_dataset_options *options, sluice_error *error)
{
    tfrecords *own = sl_dataset_new(sizeof(*own), &tfrecords_ops, "tfrecord", error);
    if (own == NULL) {
        return SLUICE_NOMEM;
    }
    return sl_dataset_opened(dataset, &own->base, open_all(own, paths, count, options, error));
}

SL_FORMAT(tfrecords) = {
    .name = "tfrecord",
    .files = "TFRecord files",
    .known = "TFRecords",
    .takes_fields = true,
    .probe = probe,
    .is_named = is_named,
    .open = open_records,
};
