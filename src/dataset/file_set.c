/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_set: lists the files, then opens an index for each.
 *
 * The opener's thread lists; sl_open_many's threads call file_set_open_file, each for its own
 * files: entries of `indexes` and `opened` have one writer. Only the number of files being unpacked
 * is shared, under the opener's mutex. Once sl_file_set_open returns, nothing changes.
 */
#include "file_set.h"

#include "checksum.h"
#include "clock.h"
#include "cpu.h"
#include "index_store.h"
#include "memory.h"
#include "minmax.h"
#include "open_many.h"
#include "splits.h"
#include "stop.h"
#include "store.h"
#include "thread.h"
#include "unpacked_store.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STAGE "dataset"

/* ---- recognising files ---- */

bool sl_file_set_probe(const sl_file_kind *kind, sl_look *look)
{
    return sl_look_is_file(look) &&
           (kind->is_named(sl_path_name(look->path)) ||
            (kind->begins != NULL && kind->begins(sl_look_head(look, SL_FILE_LOOK_BYTES))));
}

/* ---- which ---- */

static bool is_for_unpacked(const sl_file_set *set, const sl_store_facts *facts)
{
    sl_store_facts own;
    return set->unpacked_dir != NULL && sl_store_stat(set->unpacked_dir, &own) == 0 &&
           own.device == facts->device && own.identity.inode == facts->identity.inode;
}

/*
 * Returns whether a file is a companion of dataset files that carries no further data: it is read
 * with them, or left by their writer.
 */
static bool is_companion(const char *name)
{
    static const char *const suffixes[] = {".idx", ".index", ".sluice-index", ".md", ".crc"};
    if (name[0] == '_' || strcmp(name, "LICENSE") == 0) {
        return true; /* Spark's _SUCCESS, _metadata */
    }
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        if (sl_ends_with(name, suffixes[i])) {
            return true;
        }
    }
    return false;
}

/*
 * Returns the reason for a file beside the others: img2dataset writes 00017.parquet and
 * 00017_stats.json beside 00017.tar.
 */
static const char *reason_beside(const char *name)
{
    const char *end = name + strspn(name, "0123456789");
    const bool is_note =
        end > name && (strcmp(end, ".parquet") == 0 || strcmp(end, "_stats.json") == 0);
    return is_note ? "notes of img2dataset beside its archives"
                   : "files beside those of the dataset";
}

/* A folder that is being listed. */
typedef struct lister {
    sl_file_set *set;
    const char *folder;
} lister;

/* Rejects class folders beside files: it is ambiguous which are meant. */
static sluice_status file_set_add_entry(void *ctx, const sl_store_entry *entry, sluice_error *error)
{
    char path[SL_PATH_BYTES];
    sl_store_facts facts = {.kind = SL_ENTRY_UNKNOWN};
    const lister *l = ctx;
    sl_file_set *set = l->set;
    const char *name = entry->name;
    if (name[0] == '.') {
        return SLUICE_OK;
    }
    if (!sl_path_join(path, l->folder, name)) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, l->folder, -1,
                             "the path of a file in it is too long");
    }
    if (entry->kind != SL_ENTRY_FILE && sl_store_stat(path, &facts) == 0 &&
        facts.kind == SL_ENTRY_FOLDER) {
        if ((set->kind->skips_folder != NULL && set->kind->skips_folder(name)) ||
            is_for_unpacked(set, &facts)) {
            return SLUICE_OK;
        }
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, l->folder, -1,
                             "the folder contains %s and the folder \"%.256s\": name the %s "
                             "(%.256s/*%s) or that folder",
                             set->kind->plural, name, strrchr(set->kind->plural, ' ') + 1,
                             l->folder, set->kind->suffix);
    }
    if (set->kind->is_named(name)) {
        return sl_file_list_add(&set->list, path, error);
    }
    if (set->omissions != NULL && !is_companion(name)) {
        sl_omit(set->omissions, SL_OMITTED_THINGS, reason_beside(name), path);
    }
    return SLUICE_OK;
}

static int file_set_compare_paths(const void *a, const void *b)
{
    return strcmp(((const sl_listed_file *)a)->path, ((const sl_listed_file *)b)->path);
}

/* Adds a path: a file, or a folder of files, which are sorted by name. */
static sluice_status file_set_add_path(sl_file_set *set, const char *path, sluice_error *error)
{
    sl_store_facts facts;
    if (sl_store_offers_file(path)) {
        return sl_file_list_add(&set->list, path, error);
    }
    sluice_status status = sl_store_find((sl_file_name){STAGE, path}, &facts, error);
    if (status < 0 || facts.kind != SL_ENTRY_FOLDER) {
        return status < 0 ? status : sl_file_list_add(&set->list, path, error);
    }
    if (is_for_unpacked(set, &facts)) {
        return sl_error_file(
            error, SLUICE_INVALID, STAGE, 0, path, -1,
            "the folder for unpacked files contains the %s themselves: choose another",
            strrchr(set->kind->plural, ' ') + 1);
    }
    sl_file_list *list = &set->list;
    const uint32_t first = list->count;
    lister l = {set, path};
    status = sl_store_list((sl_file_name){STAGE, path}, file_set_add_entry, &l, error);
    if (status == SLUICE_OK && list->count > first) {
        qsort(list->files + first, list->count - first, sizeof(*list->files),
              file_set_compare_paths);
    }
    return status;
}

/* ---- their indexes ---- */

/* Limit on files unpacked at once: each takes memory and a CPU. */
enum { UNPACKING_MAX = 16 };

typedef struct opener {
    sl_file_set *set;
    char folder[SL_PATH_BYTES]; /* folder of the cache */
    uint32_t first;             /* number of the file to begin with */
    bool *opened;               /* per file; written by its own thread */
    pthread_mutex_t mutex;      /* guards the members below */
    pthread_cond_t changed;
    uint32_t unpacking; /* number of further files that may be unpacked now */
} opener;

/* Returns a file's packing; none if it cannot be read, which reading it reports. */
static sl_packing packing_of(const sl_file_kind *kind, const sl_open_file *file)
{
    uint8_t head[SL_PACKING_LOOK_BYTES];
    const uint64_t bytes = file->identity.bytes;
    const size_t some = bytes < sizeof(head) ? (size_t)bytes : sizeof(head);
    return kind->packing != NULL && sl_handle_read(&file->handle, head, some, 0, NULL) == SLUICE_OK
               ? kind->packing((sl_bytes){head, some})
               : SL_PACKING_NONE;
}

static sluice_status file_set_walk(opener *o, sl_file_index *index, const sl_open_file *file,
                                   sluice_error *error)
{
    const sl_file_kind *kind = o->set->kind;
    if (packing_of(kind, file) == SL_PACKING_NONE) {
        return kind->walk(index, file, error);
    }
    sl_lock(&o->mutex);
    bool stopped = false;
    while (o->unpacking == 0 && !stopped) {
        stopped = sl_stop_wait(&o->changed, &o->mutex);
    }
    if (stopped) {
        sl_unlock(&o->mutex);
        return sl_stop_check(STAGE, error);
    }
    o->unpacking--;
    sl_unlock(&o->mutex);
    const sluice_status status = kind->walk(index, file, error);
    sl_lock(&o->mutex);
    o->unpacking++;
    sl_cond_broadcast(
        &o->changed); /* the woken thread may be about to stop, and would wake nobody */
    sl_unlock(&o->mutex);
    return status;
}

/* Checks after the walk that the file was not modified since the walk began. */
static sluice_status file_set_settle(sl_file_index *index, const sl_open_file *file,
                                     sluice_error *error)
{
    sluice_status status = sl_open_file_check(file, error);
    if (status == SLUICE_OK) {
        status = sl_handle_sample(&file->handle, &index->file, error);
    }
    if (status < 0) {
        sl_file_index_close(index);
    }
    return status;
}

/* Checks that all samples can be read, regardless of the index's source. */
static sluice_status file_set_check_sizes(const sl_file_index *index, const char *path,
                                          sluice_error *error)
{
    for (uint64_t i = 0; i < index->samples; i++) {
        if (index->bytes[i] > SL_RECORD_BYTES_MAX) {
            return sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0, path,
                                 (int64_t)index->offsets[i],
                                 "the sample here has more than 2^31 - 1 bytes");
        }
    }
    return SLUICE_OK;
}

static sluice_status file_set_find_index(opener *o, sl_file_index *index, const sl_open_file *file,
                                         sluice_error *error)
{
    const sl_file_kind *kind = o->set->kind;
    if (sl_index_store_load(index, kind->index, file, o->folder) ||
        (kind->load != NULL && kind->load(index, file))) {
        return SLUICE_OK;
    }
    sluice_status status = file_set_walk(o, index, file, error);
    if (status == SLUICE_OK) {
        status = file_set_settle(index, file, error);
    }
    if (status == SLUICE_OK) {
        sl_index_store_keep(index, file->handle.name.path, o->folder);
    }
    return status;
}

/* Closes the file, or leaves it open for the opener, who looks at samples next. */
static void close_walked(sl_file_set *set, sl_open_file *file)
{
    if (set->list.count == 1 && set->kind->packing == NULL &&
        sl_handle_may_stay(&file->handle, 0)) {
        sl_handle_close(&set->lone.handle); /* from a first attempt */
        set->lone = *file;
    } else {
        sl_handle_close(&file->handle);
    }
}

/* Opens a file's index; all reads of the file use one handle. */
static sluice_status file_set_open_index(opener *o, sl_file_index *index, const char *path,
                                         sluice_error *error)
{
    sl_open_file file;
    sluice_status status = sl_open_file_open(&file, (sl_file_name){STAGE, path}, error);
    if (status < 0) {
        return status;
    }
    status = file_set_find_index(o, index, &file, error);
    close_walked(o->set, &file);
    return status == SLUICE_OK ? file_set_check_sizes(index, path, error) : status;
}

static sluice_status file_set_open_file(void *ctx, uint32_t number, sluice_error *error)
{
    opener *o = ctx;
    const uint32_t count = o->set->list.count;
    const uint32_t file = number < count - o->first ? number + o->first : number + o->first - count;
    const sl_listed_file *listed = &o->set->list.files[file];
    if (o->opened[file]) {
        return SLUICE_OK;
    }
    const sluice_status status =
        file_set_open_index(o, &o->set->indexes[file], listed->path, error);
    o->opened[file] = status == SLUICE_OK;
    if (status < 0 && error != NULL && listed->source != NULL) {
        sl_error_set_path(error, listed->source);
    }
    return status;
}

/*
 * Chooses the first file. The ranks of a run open the same files at the same time. Each begins with
 * a different one, so that it walks files the others have not reached, and finds the others'
 * results in the cache. No lock is needed, which would not work on every file system.
 */
static uint32_t choose_first(uint32_t count)
{
    const uint64_t own[] = {sl_now_ns(), (uint64_t)getpid()};
    return (uint32_t)(sl_checksum(own, sizeof(own)) % count);
}

/*
 * Opens the files. If several fail, the first one is reported, regardless of where opening began;
 * so the others are tried too.
 */
static sluice_status file_set_open_files(opener *o, sluice_error *error)
{
    const uint32_t count = o->set->list.count;
    o->first = choose_first(count);
    sluice_status status = sl_open_many(count, file_set_open_file, o, NULL);
    if (status < 0 && !sl_stop_requested()) {
        o->first = 0;
        status = sl_open_many(count, file_set_open_file, o, error);
    }
    return status;
}

static sluice_status open_indexes(sl_file_set *set, sluice_error *error)
{
    opener *o = sl_calloc(1, sizeof(*o));
    bool *opened = sl_calloc(set->list.count, sizeof(*opened));
    set->indexes = sl_calloc(set->list.count, sizeof(*set->indexes));
    sluice_status status = SLUICE_NOMEM;
    if (o != NULL && opened != NULL && set->indexes != NULL) {
        const uint32_t processors = sl_cpu_count();
        o->set = set;
        o->opened = opened;
        o->unpacking = sl_min_u32(processors, UNPACKING_MAX);
        sl_mutex_init(&o->mutex);
        sl_cond_init(&o->changed);
        (void)sl_index_store_folder(o->folder, sizeof(o->folder));
        status = file_set_open_files(o, error);
        sl_cond_destroy(&o->changed);
        sl_mutex_destroy(&o->mutex);
    } else {
        (void)sl_no_memory(error, STAGE, "opening a dataset");
    }
    sl_free(opened);
    sl_free(o);
    return status;
}

/* ---- the set ---- */

static void count_samples(sl_file_set *set)
{
    set->samples = set->bytes = 0;
    for (uint32_t i = 0; i < set->list.count; i++) {
        const sl_file_index *index = &set->indexes[i];
        set->list.files[i].first = set->samples;
        set->list.files[i].file = index->file;
        set->list.files[i].packing = index->packing;
        set->front_to_back = set->front_to_back || index->packing != SL_PACKING_NONE;
        set->samples += index->samples;
        for (uint64_t k = 0; k < index->samples; k++) {
            set->bytes += index->bytes[k];
        }
        for (uint64_t k = 0; k < index->link_count; k++) {
            set->bytes += index->links[k].bytes;
        }
    }
}

sluice_status sl_file_set_list(sl_file_set *set, const sl_file_kind *kind, const char *const *paths,
                               size_t count, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    set->kind = kind;
    for (size_t i = 0; status == SLUICE_OK && i < count; i++) {
        status = file_set_add_path(set, paths[i], error);
    }
    if (status == SLUICE_OK && set->list.count == 0) {
        status = sl_error_file(error, SLUICE_INVALID, STAGE, 0, paths[0], -1,
                               "the folder contains no %s", kind->plural);
    }
    /* several paths were named one by one */
    if (status == SLUICE_OK && (set->split != NULL || (count == 1 && set->list.count > 1))) {
        sl_omissions nowhere = {.reasons = 0};
        status = sl_split_files(&set->list, paths[0], set->split,
                                set->omissions != NULL ? set->omissions : &nowhere, error);
        sl_omissions_close(&nowhere);
    }
    return status;
}

static sluice_status look_at_packing(void *ctx, uint32_t number, sluice_error *error)
{
    (void)error; /* an unreadable file is reported when it is walked */
    sl_file_set *set = ctx;
    sl_listed_file *file = &set->list.files[number];
    uint8_t head[SL_PACKING_LOOK_BYTES];
    const size_t bytes = sl_store_look(file->path, head, sizeof(head));
    file->packing = set->kind->packing((sl_bytes){head, bytes});
    return SLUICE_OK;
}

/* Unpacks compressed files to `folder`. */
static sluice_status file_set_unpack_files(sl_file_set *set, const char *folder,
                                           sluice_error *error)
{
    if (folder == NULL) {
        return SLUICE_OK;
    }
    const sluice_status status = sl_open_many(set->list.count, look_at_packing, set, error);
    const sl_unpacked_how how = {.folder = folder};
    return status == SLUICE_OK ? sl_unpacked_store_take(&set->list, &how, error) : status;
}

sluice_status sl_file_set_open(sl_file_set *set, const sl_file_kind *kind, const char *const *paths,
                               size_t count, const char *unpacked_dir, sluice_error *error)
{
    set->unpacked_dir = kind->packing != NULL ? unpacked_dir : NULL;
    sluice_status status = sl_file_set_list(set, kind, paths, count, error);
    if (status == SLUICE_OK) {
        status = file_set_unpack_files(set, set->unpacked_dir, error);
    }
    set->unpacked_dir = NULL;
    if (status == SLUICE_OK) {
        status = open_indexes(set, error);
    }
    if (status == SLUICE_OK) {
        count_samples(set);
    }
    return status;
}

void sl_file_set_keep(sl_file_set *set, uint32_t file, uint64_t first, uint64_t count)
{
    sl_file_index *index = &set->indexes[file];
    assert(index->link_count == 0 && first <= index->samples && count <= index->samples - first);
    memmove(index->offsets, index->offsets + first, count * sizeof(*index->offsets));
    memmove(index->bytes, index->bytes + first, count * sizeof(*index->bytes));
    index->samples = count;
    count_samples(set);
}

void sl_file_set_close(sl_file_set *set)
{
    sl_handle_close(&set->lone.handle);
    for (uint32_t i = 0; set->indexes != NULL && i < set->list.count; i++) {
        sl_file_index_close(&set->indexes[i]);
    }
    sl_free(set->indexes);
    sl_file_list_close(&set->list);
}

void sl_file_set_locate(const sl_file_set *set, uint64_t index, sl_sample *sample)
{
    const uint32_t number = sl_file_list_find(&set->list, index);
    const sl_file_index *found = &set->indexes[number];
    const uint64_t local = index - set->list.files[number].first;
    *sample = (sl_sample){
        .place = {.offset = found->offsets[local], .bytes = found->bytes[local], .object = number},
        .facts = {local}};
    if (found->link_count > 0) {
        uint32_t count;
        const sl_index_link *links = sl_file_index_links(found, local, &count);
        sample->pieces = count > 0 ? count + 1 : 0;
        for (uint32_t i = 0; i < count; i++) {
            sample->place.bytes += links[i].bytes;
        }
    }
}

const sl_index_link *sl_file_set_links(const sl_file_set *set, const sl_sample *sample,
                                       uint32_t *count)
{
    const sl_file_index *index = &set->indexes[sample->place.object];
    *count = 0;
    return index->link_count > 0 ? sl_file_index_links(index, sample->facts[0], count) : NULL;
}

sl_piece sl_file_set_piece(const sl_file_set *set, const sl_sample *sample, uint32_t number)
{
    uint32_t count;
    const sl_file_index *index = &set->indexes[sample->place.object];
    const uint64_t local = sample->facts[0];
    const sl_index_link *links = sl_file_index_links(index, local, &count);
    return number == 0 ? (sl_piece){index->offsets[local], index->bytes[local], 1, 0}
                       : (sl_piece){links[number - 1].offset, links[number - 1].bytes, 1, 0};
}

uint32_t sl_file_set_pieces(const sl_file_set *set)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < set->list.count; i++) {
        const sl_file_index *index = &set->indexes[i];
        uint32_t own = 0;
        for (uint64_t k = 0; k < index->link_count; k++) {
            own = k > 0 && index->links[k].sample == index->links[k - 1].sample ? own + 1 : 1;
            most = own + 1 > most ? own + 1 : most;
        }
    }
    return most;
}

static uint64_t file_set_fingerprint(const sl_file_set *set)
{
    sl_checksum_stream stream;
    sl_checksum_begin(&stream);
    for (uint32_t i = 0; i < set->list.count; i++) {
        const sl_file_index *index = &set->indexes[i];
        sl_file_list_sum(&set->list, i, &stream);
        sl_checksum_add_u64(&stream, index->samples);
        sl_checksum_add(&stream, index->offsets, index->samples * sizeof(*index->offsets));
        for (uint64_t k = 0; k < index->link_count; k++) {
            sl_checksum_add_u64(&stream, index->links[k].offset);
        }
    }
    return sl_checksum_value(&stream);
}

void sl_file_set_describe(const sl_file_set *set, sluice_dataset_info *info)
{
    info->samples = set->samples;
    info->bytes = set->bytes;
    info->shards = set->list.count;
    info->front_to_back = set->front_to_back;
    info->fingerprint = file_set_fingerprint(set);
}
