/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WebDataset's tar archives. Opening needs an index of each (tar_index.h); then a sample is a
 * stretch of one archive, whose headers say what it holds (tar_fields.h).
 */
#include "file_set.h"
#include "memory.h"
#include "store.h"
#include "tar_fields.h"
#include "tar_index.h"
#include "tar_walk.h"
#include "tar_wds2idx.h"

#include <stdio.h>
#include <string.h>

#define STAGE "dataset"

typedef struct tars {
    sl_dataset base;
    sl_member_fields fields;
    sl_file_set set;
} tars;

static const tars *tars_of(const sl_dataset *dataset)
{
    return (const tars *)(const void *)dataset;
}

/* ---- ops ---- */

static sluice_status locate(const sl_dataset *dataset, uint64_t index, sl_sample *sample,
                            sl_place *lookup, sl_refusal *why)
{
    (void)lookup;
    (void)why;
    sl_file_set_locate(&tars_of(dataset)->set, index, sample);
    return SLUICE_OK;
}

static sl_refusal unpack(const sl_dataset *dataset, const sl_sample *sample, sl_bytes bytes,
                         sl_values *values)
{
    if (bytes.size != sample->place.bytes) {
        return sl_refuse("the sample is cut short", 0);
    }
    return sl_tar_fields_unpack(&tars_of(dataset)->fields, bytes, values);
}

static void close_tars(sl_dataset *dataset)
{
    tars *own = (tars *)(void *)dataset;
    sl_objects_close(own->base.objects);
    sl_file_set_close(&own->set);
    sl_free(own);
}

static const sl_dataset_ops tars_ops = {
    .locate = locate,
    .unpack = unpack,
    .close = close_tars,
};

/* ---- what is one ---- */

/* By its name; also those that are compressed in a way that is refused, so that they are not
 * overlooked. */
static bool is_named_tar(const char *name)
{
    static const char *const suffixes[] = {".tar",  ".tar.gz",  ".tgz",    ".tar.zst", ".tzst",
                                           ".tbz2", ".tar.bz2", ".tar.xz", ".tar.lz4"};
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        if (sl_ends_with(name, suffixes[i])) {
            return true;
        }
    }
    return false;
}

static bool begins(sl_bytes head)
{
    return head.size >= SL_TAR_BLOCK && sl_tar_is_header(head.data);
}

static sl_packing packing(const char *path)
{
    uint8_t first[SL_PACKING_LOOK_BYTES];
    const size_t there = sl_store_look(path, first, sizeof(first));
    return sl_packing_of((sl_bytes){first, there});
}

static const sl_file_kind tar_files = {
    .index = SL_INDEX_TAR,
    .plural = "tar archives",
    .suffix = ".tar",
    .is_named = is_named_tar,
    .begins = begins,
    .load = sl_tar_wds2idx_load,
    .walk = sl_tar_index_walk,
    .packing = packing,
};

static bool probe(const char *path)
{
    return sl_file_set_probe(&tar_files, path);
}

/* ---- opening ---- */

static sluice_status make_fields(tars *own, sluice_error *error)
{
    const sl_file_index **indexes =
        (const sl_file_index **)sl_calloc(own->set.list.count, sizeof(const sl_file_index *));
    if (indexes == NULL) {
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "no memory for a dataset");
    }
    for (uint32_t i = 0; i < own->set.list.count; i++) {
        indexes[i] = &own->set.indexes[i];
    }
    const sluice_status status =
        sl_member_fields_make(&own->fields, indexes, own->set.list.count, error);
    sl_free((void *)indexes);
    return status;
}

static sluice_status open_all(tars *own, const char *const *paths, size_t count,
                              const sluice_dataset_options *options, sluice_error *error)
{
    sluice_status status =
        sl_file_set_open(&own->set, &tar_files, paths, count, options->unpacked_dir, error);
    if (status == SLUICE_OK && own->set.samples == 0) {
        status = sl_error_file(error, SLUICE_INVALID, STAGE, 0, own->set.list.files[0].path, -1,
                               "no sample: none of its files is called KEY.EXTENSION");
    }
    if (status == SLUICE_OK) {
        status = make_fields(own, error);
    }
    if (status < 0) {
        return status;
    }
    const bool one = own->set.list.count == 1;
    const bool packed = own->set.front_to_back;
    sluice_dataset_info *info = &own->base.info;
    sl_file_set_describe(&own->set, info);
    info->fields = own->fields.count;
    (void)snprintf(own->base.kind, sizeof(own->base.kind),
                   "%s%star archive%s, whose files called alike up to their first dot are a sample "
                   "(WebDataset)%s",
                   one ? "a " : "", packed ? "compressed " : "", one ? "" : "s",
                   packed ? "; slow to read: pack it" : "");
    own->base.fields = own->fields.fields;
    for (uint32_t i = 0; i < own->set.list.count; i++) {
        if (own->set.list.files[i].packing == SL_PACKING_NONE) {
            sl_unchecked_add(&own->base.unchecked, "tars have no checksums");
            break;
        }
    }
    return sl_file_list_objects(&own->set.list, &own->base.objects, error);
}

static sluice_status open_tars(sl_dataset **dataset, const char *const *paths, size_t count,
                               const sluice_dataset_options *options, sluice_error *error)
{
    tars *own = sl_dataset_new(sizeof(*own), &tars_ops, "tar", error);
    if (own == NULL) {
        return SLUICE_NOMEM;
    }
    return sl_dataset_opened(dataset, &own->base, open_all(own, paths, count, options, error));
}

SL_FORMAT(tars) = {
    .name = "tar",
    .files = "tar archives",
    .probe = probe,
    .is_named = is_named_tar,
    .open = open_tars,
};
