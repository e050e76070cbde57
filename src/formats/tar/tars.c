/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tars: the record reader (records.h) of WebDataset's tar archives.
 *
 * A record is the byte range of an archive that holds all members of one sample. tar_index.h finds
 * it; tar_fields.h unpacks it by its headers.
 */
#include "file.h"
#include "records.h"
#include "store.h"
#include "tar_fields.h"
#include "tar_index.h"
#include "tar_left_out.h"
#include "tar_walk.h"
#include "tar_wds2idx.h"

#include <stdio.h>

typedef struct tar {
    sl_records records;
    sl_member_fields fields;
} tar;

static sl_refusal tar_unpack(const sl_records *records, const sl_raw_record *record,
                             sl_values *values)
{
    const tar *self = (const tar *)(const void *)records;
    const sl_tar_record own = {record->bytes, record->links, record->link_count};
    return sl_tar_fields_unpack(&self->fields, &own, values);
}

static void tar_describe(tar *self)
{
    sl_dataset *base = &self->records.base;
    const sl_file_list *list = &self->records.set.list;
    const bool one = list->count == 1;
    const bool packed = self->records.set.front_to_back;
    bool plain = false;
    (void)snprintf(base->kind, sizeof(base->kind),
                   "%s%star archive%s, whose files with the same name up to the first dot form a "
                   "sample (WebDataset)%s",
                   one ? "a " : "", packed ? "compressed " : "", one ? "" : "s",
                   packed ? "; slow to read: pack it" : "");
    for (uint32_t i = 0; i < list->count; i++) {
        sl_tar_left_out_add(&self->records.set.indexes[i], list->files[i].path, &base->omissions);
        plain = plain || list->files[i].packing == SL_PACKING_NONE;
    }
    if (plain) {
        sl_unchecked_add(&base->unchecked, "tars have no checksums");
    }
}

/* Makes fields of the extensions that walking found. */
static sluice_status tar_find_fields(sl_records *records, const sluice_dataset_options *options,
                                     sluice_error *error)
{
    tar *self = (tar *)(void *)records;
    const sl_file_set *set = &records->set;
    (void)options;
    const sluice_status status =
        sl_member_fields_make(&self->fields, set->indexes, set->list.count, error);
    records->base.info.fields = self->fields.count;
    records->base.fields = self->fields.fields;
    tar_describe(self);
    return status;
}

/* ---- recognising files ---- */

/*
 * Recognises archives by name, including those with unsupported compression, so that they are not
 * overlooked.
 */
static bool tar_is_named(const char *name)
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

static bool tar_begins(sl_bytes head)
{
    return head.size >= SL_TAR_BLOCK && sl_tar_is_header(head.data);
}

static const sl_record_reader tar_reader = {
    .format = "tar",
    .empty = "none of its files is named KEY.EXTENSION",
    .files = {.index = SL_INDEX_TAR,
              .plural = "tar archives",
              .suffix = ".tar",
              .is_named = tar_is_named,
              .begins = tar_begins,
              .load = sl_tar_wds2idx_load,
              .walk = sl_tar_index_walk,
              .packing = sl_packing_of},
    .bytes = sizeof(tar),
    .find_fields = tar_find_fields,
    .unpack = tar_unpack,
};

static bool tar_probe(sl_look *look)
{
    return sl_file_set_probe(&tar_reader.files, look);
}

static sluice_status tar_open(sl_dataset **dataset, const char *const *paths, size_t count,
                              const sluice_dataset_options *options, sluice_error *error)
{
    return sl_records_open(dataset, &tar_reader, paths, count, options, error);
}

SL_FORMAT(tars) = {
    .name = "tar",
    .files = "tar archives",
    .takes_split = true,
    .noted_suffix = ".tar",
    .probe = tar_probe,
    .is_named = tar_is_named,
    .open = tar_open,
};
