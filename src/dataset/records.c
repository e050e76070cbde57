/* SPDX-License-Identifier: Apache-2.0 */
#include "records.h"

#include "memory.h"

#define STAGE "dataset"

static const sl_records *records_of(const sl_dataset *dataset)
{
    return (const sl_records *)(const void *)dataset;
}

static sluice_status records_locate(const sl_dataset *dataset, uint64_t index, sl_sample *sample,
                                    sl_place *lookup, sl_refusal *why)
{
    (void)lookup;
    (void)why;
    sl_file_set_locate(&records_of(dataset)->set, index, sample);
    return SLUICE_OK;
}

static sl_refusal records_unpack(const sl_dataset *dataset, const sl_sample *sample, sl_bytes bytes,
                                 sl_values *values)
{
    const sl_records *records = records_of(dataset);
    sl_raw_record record = {.bytes = bytes};
    if (bytes.size != sample->place.bytes) {
        return sl_refuse("the sample is truncated", 0);
    }
    record.links = sl_file_set_links(&records->set, sample, &record.link_count);
    return records->reader->unpack(records, &record, values);
}

static sl_piece records_piece(const sl_dataset *dataset, const sl_sample *sample, uint32_t number)
{
    return sl_file_set_piece(&records_of(dataset)->set, sample, number);
}

static void records_close(sl_dataset *dataset)
{
    sl_records *records = (sl_records *)(void *)dataset;
    sl_objects_close(records->base.objects);
    sl_file_set_close(&records->set);
    sl_free(records);
}

static const sl_dataset_ops records_ops = {
    .locate = records_locate,
    .piece = records_piece,
    .unpack = records_unpack,
    .close = records_close,
};

/*
 * Reads from the walked file from now on, without opening it again. If that fails, reading reports
 * it.
 */
static void read_walked_file(sl_records *records)
{
    sl_open_file *lone = &records->set.lone;
    sl_objects *objects = records->base.objects;
    sl_pin pin;
    if (lone->handle.store == NULL) {
        return;
    }
    sl_open_file *before = sl_store_offer_file(lone);
    if (sl_objects_pin(objects, 0, (sl_pin_how){.direct = false}, &pin, NULL) == SLUICE_OK) {
        sl_objects_unpin(objects, &pin);
    }
    (void)sl_store_offer_file(before);
    sl_handle_close(&lone->handle);
}

static sluice_status records_open_files(sl_records *records, const char *const *paths, size_t count,
                                        const sluice_dataset_options *options, sluice_error *error)
{
    sl_file_set *set = &records->set;
    set->split = options->split;
    set->omissions = &records->base.omissions;
    sluice_status status =
        sl_file_set_open(set, &records->reader->files, paths, count, options->unpacked_dir, error);
    if (status == SLUICE_OK && set->samples == 0) {
        status = sl_error_file(error, SLUICE_INVALID, STAGE, 0, set->list.files[0].path, -1,
                               "no samples: %s", records->reader->empty);
    }
    if (status == SLUICE_OK) {
        status = sl_file_list_objects(&set->list, &records->base.objects, error);
    }
    if (status == SLUICE_OK) {
        sl_file_set_describe(set, &records->base.info);
        records->base.pieces = sl_file_set_pieces(set);
        read_walked_file(records);
        status = records->reader->find_fields(records, options, error);
    }
    return status;
}

sluice_status sl_records_open(sl_dataset **dataset, const sl_record_reader *reader,
                              const char *const *paths, size_t count,
                              const sluice_dataset_options *options, sluice_error *error)
{
    sl_records *records = sl_dataset_new(reader->bytes, &records_ops, reader->format, error);
    if (records == NULL) {
        return SLUICE_NOMEM;
    }
    records->reader = reader;
    return sl_dataset_opened(dataset, &records->base,
                             records_open_files(records, paths, count, options, error));
}
