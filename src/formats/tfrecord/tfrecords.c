/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tfrecords: the record reader (records.h) of TFRecord files with tf.train.Example and
 * SequenceExample.
 *
 * tfrecord_index.h handles framing and indexes; example_fields.h finds the fields by looking at
 * some records, and reads values.
 */
#include "example_fields.h"
#include "file.h"
#include "look_around.h"
#include "memory.h"
#include "records.h"
#include "tfrecord_index.h"

#include <stdio.h>
#include <string.h>

#define STAGE "dataset"

typedef struct tfrecord {
    sl_records records;
    sl_example_fields fields;
} tfrecord;

static sl_refusal tfrecord_unpack(const sl_records *records, const sl_raw_record *record,
                                  sl_values *values)
{
    const tfrecord *self = (const tfrecord *)(const void *)records;
    sl_bytes example;
    const sl_refusal why = sl_tfrecord_open(record->bytes, &example);
    return why.text != NULL
               ? why
               : sl_example_fields_unpack(&self->fields, example, SL_TFRECORD_HEAD, values);
}

/* ---- fields ---- */

/* State of looking at records. */
typedef struct looker {
    sl_field_choice choices[SL_FIELDS_MAX];
    uint32_t choice_count;
    sl_example_keys keys;
} looker;

static sl_refusal tfrecord_look(void *ctx, const sl_sample *sample, sl_bytes bytes)
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

static sluice_status tfrecords_parse_choices(looker *look, const sluice_dataset_options *options,
                                             sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    if (options->field_count > SL_FIELDS_MAX) {
        return sl_error_set(error, SLUICE_INVALID, STAGE, "at most %u fields are allowed",
                            SL_FIELDS_MAX);
    }
    for (uint32_t i = 0; status == SLUICE_OK && i < options->field_count; i++) {
        status = sl_field_choice_parse(&look->choices[i], options->fields[i], error);
        look->choice_count++;
    }
    return status;
}

static sluice_status look_for_fields(tfrecord *self, looker *look,
                                     const sluice_dataset_options *options, sluice_error *error)
{
    sl_example_fields *fields = &self->fields;
    sluice_status status = tfrecords_parse_choices(look, options, error);
    if (status == SLUICE_OK) {
        status = sl_look_around(&self->records.base, tfrecord_look, look, error);
    }
    if (status < 0) {
        return status;
    }
    status = look->choice_count > 0 ? sl_example_fields_choose(fields, &look->keys, look->choices,
                                                               look->choice_count, error)
                                    : sl_example_fields_find(fields, &look->keys, error);
    if (status < 0 && error != NULL) {
        sl_error_set_path(error, self->records.set.list.files[0].path);
    }
    return status;
}

static bool has_steps(const sl_example_fields *fields)
{
    bool found = false;
    for (uint32_t i = 0; i < fields->count; i++) {
        found = found || fields->of[i].in_lists;
    }
    return found;
}

static sluice_status tfrecord_find_fields(sl_records *records,
                                          const sluice_dataset_options *options,
                                          sluice_error *error)
{
    tfrecord *self = (tfrecord *)(void *)records;
    sl_dataset *base = &records->base;
    looker *look = sl_calloc(1, sizeof(*look));
    if (look == NULL) {
        return sl_no_memory(error, STAGE, "opening a dataset");
    }
    const sluice_status status = look_for_fields(self, look, options, error);
    sl_free(look);
    base->info.fields = self->fields.count;
    base->fields = self->fields.fields;
    (void)snprintf(base->kind, sizeof(base->kind),
                   "%s, each of whose records is a sample (tf.train.%sExample)",
                   records->set.list.count == 1 ? "a TFRecord file" : "TFRecord files",
                   has_steps(&self->fields) ? "Sequence" : "");
    return status;
}

/* ---- recognising files ---- */

static size_t digits_before(const char *begin, const char *end)
{
    const char *at = end;
    while (at > begin && at[-1] >= '0' && at[-1] <= '9') {
        at--;
    }
    return (size_t)(end - at);
}

/* Recognises "NAME-00000-of-01024". */
static bool tfrecord_is_numbered(const char *name)
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

/*
 * Recognises files by name, including compressed ones, so that they cause an error and are not
 * overlooked.
 */
static bool tfrecord_is_named(const char *name)
{
    static const char *const suffixes[] = {".tfrecord",      ".tfrecords",     ".tfrec",
                                           ".tfrecord.gz",   ".tfrecords.gz",  ".tfrec.gz",
                                           ".tfrecord.zlib", ".tfrecords.zlib"};
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        if (sl_ends_with(name, suffixes[i])) {
            return true;
        }
    }
    return tfrecord_is_numbered(name);
}

static bool tfrecord_begins(sl_bytes head)
{
    uint64_t length;
    return head.size >= SL_TFRECORD_HEAD && sl_tfrecord_head(head.data, &length);
}

static bool tfrecord_skips_folder(const char *name)
{
    return strcmp(name, "idx") == 0 || strcmp(name, "idx_files") == 0;
}

static const sl_record_reader tfrecord_reader = {
    .format = "tfrecord",
    .empty = "the file is empty",
    .files = {.index = SL_INDEX_TFRECORD,
              .plural = "TFRecord files",
              .suffix = ".tfrecord",
              .is_named = tfrecord_is_named,
              .skips_folder = tfrecord_skips_folder,
              .begins = tfrecord_begins,
              .load = sl_tfrecord_idx_load,
              .walk = sl_tfrecord_walk},
    .bytes = sizeof(tfrecord),
    .find_fields = tfrecord_find_fields,
    .unpack = tfrecord_unpack,
};

static bool tfrecord_probe(sl_look *look)
{
    return sl_file_set_probe(&tfrecord_reader.files, look);
}

static sluice_status tfrecord_open(sl_dataset **dataset, const char *const *paths, size_t count,
                                   const sluice_dataset_options *options, sluice_error *error)
{
    return sl_records_open(dataset, &tfrecord_reader, paths, count, options, error);
}

SL_FORMAT(tfrecords) = {
    .name = "tfrecord",
    .files = "TFRecord files",
    .known = "TFRecords",
    .takes_fields = true,
    .takes_split = true,
    .probe = tfrecord_probe,
    .is_named = tfrecord_is_named,
    .open = tfrecord_open,
};
