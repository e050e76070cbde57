/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WebDataset's tar archives. Opening needs an index of each (tar_index.h), from the cache or by
 * walking, by as many threads as help; then a sample is a stretch of one archive, whose headers say
 * what it holds (tar_fields.h).
 */
#include "checksum.h"
#include "cpu.h"
#include "dataset.h"
#include "memory.h"
#include "tar_cache.h"
#include "tar_fields.h"
#include "tar_walk.h"
#include "tar_wds2idx.h"
#include "thread.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define STAGE "dataset"

enum { OPENERS_MAX = 32, FILES_MAX = 1 << 24 };

typedef struct tar_file {
    char *path; /* owned */
    sl_tar_index index;
    uint64_t first; /* number of its first sample */
} tar_file;

typedef struct tars {
    sl_dataset base;
    sl_tar_fields fields;
    tar_file *files;
    uint32_t count, room;
} tars;

static const tars *tars_of(const sl_dataset *dataset)
{
    return (const tars *)(const void *)dataset;
}

/* ---- ops ---- */

/* Files without a sample share their first number with the next one: the last of them has it. */
static uint32_t find_file(const tars *own, uint64_t index)
{
    uint32_t low = 0;
    uint32_t high = own->count - 1;
    while (low < high) {
        const uint32_t middle = low + (high - low + 1) / 2;
        if (own->files[middle].first <= index) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

static sluice_status locate(const sl_dataset *dataset, uint64_t index, sl_sample *sample,
                            sl_place *lookup, sl_refusal *why)
{
    (void)lookup;
    (void)why;
    const tars *own = tars_of(dataset);
    const uint32_t number = find_file(own, index);
    const tar_file *file = &own->files[number];
    const uint64_t local = index - file->first;
    *sample = (sl_sample){.place = {.offset = file->index.offsets[local],
                                    .bytes = file->index.bytes[local],
                                    .object = number}};
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

static const char *class_name(const sl_dataset *dataset, int64_t label)
{
    (void)dataset;
    (void)label;
    return NULL;
}

static void close_tars(sl_dataset *dataset)
{
    tars *own = (tars *)(void *)dataset;
    sl_objects_close(own->base.objects);
    for (uint32_t i = 0; i < own->count; i++) {
        sl_tar_index_close(&own->files[i].index);
        sl_free(own->files[i].path);
    }
    sl_free(own->files);
    sl_free(own);
}

static const sl_dataset_ops tars_ops = {
    .locate = locate,
    .unpack = unpack,
    .class_name = class_name,
    .close = close_tars,
};

static sluice_status path_of(void *ctx, uint32_t number, char *path, size_t bytes)
{
    const tars *own = ctx;
    const int length = snprintf(path, bytes, "%s", own->files[number].path);
    return length >= 0 && (size_t)length < bytes ? SLUICE_OK : SLUICE_INVALID;
}

static uint64_t bytes_of(void *ctx, uint32_t number)
{
    const tars *own = ctx;
    return own->files[number].index.file_bytes;
}

/* ---- what is one ---- */

static bool ends_with(const char *text, const char *suffix)
{
    const size_t length = strlen(text);
    const size_t tail = strlen(suffix);
    return length > tail && strcmp(text + length - tail, suffix) == 0;
}

/* By its name; compressed ones, too, so that they are refused by name and not overlooked. */
static bool is_named_tar(const char *name)
{
    static const char *const suffixes[] = {".tar",     ".tar.gz", ".tgz",    ".tar.zst",
                                           ".tar.bz2", ".tar.xz", ".tar.lz4"};
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        if (name[0] != '.' && ends_with(name, suffixes[i])) {
            return true;
        }
    }
    return false;
}

static bool begins_as_tar(const char *path)
{
    uint8_t block[SL_TAR_BLOCK];
    FILE *file = fopen(path, "rbe");
    if (file == NULL) {
        return false;
    }
    const bool is_tar =
        fread(block, 1, sizeof(block), file) == sizeof(block) && sl_tar_is_header(block);
    (void)fclose(file);
    return is_tar;
}

/* NULL at the end. */
static const char *next_name(DIR *folder)
{
    const struct dirent *entry = readdir(folder); // NOLINT(concurrency-mt-unsafe): our own stream
    return entry != NULL ? entry->d_name : NULL;
}

static bool holds_tars(const char *path)
{
    bool found = false;
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return false;
    }
    for (const char *name; !found && (name = next_name(folder)) != NULL;) {
        found = is_named_tar(name);
    }
    (void)closedir(folder);
    return found;
}

static bool probe(const char *path)
{
    struct stat facts;
    if (stat(path, &facts) != 0) {
        return false;
    }
    if (S_ISDIR(facts.st_mode)) {
        return holds_tars(path);
    }
    return S_ISREG(facts.st_mode) && (is_named_tar(path) || begins_as_tar(path));
}

/* ---- which ---- */

static sluice_status add_file(tars *own, const char *path, sluice_error *error)
{
    if (own->count == own->room) {
        const uint32_t room = own->room < 16 ? 16 : own->room + own->room / 2;
        tar_file *files =
            room > FILES_MAX ? NULL : sl_realloc_array(own->files, room, sizeof(*files));
        if (files == NULL) {
            return sl_error_file(error, SLUICE_NOMEM, STAGE, 0, path, -1, "no room for %u archives",
                                 room);
        }
        own->files = files;
        own->room = room;
    }
    char *copy = sl_strdup(path);
    if (copy == NULL) {
        return sl_error_file(error, SLUICE_NOMEM, STAGE, 0, path, -1, "no memory for a path");
    }
    own->files[own->count++] = (tar_file){.path = copy};
    return SLUICE_OK;
}

/* Folders of classes beside archives: it is not to be guessed which are meant. */
static sluice_status add_entry(tars *own, const char *folder, const char *name, sluice_error *error)
{
    char path[SL_PATH_BYTES];
    struct stat facts;
    const int length = snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (name[0] == '.') {
        return SLUICE_OK;
    }
    if (length < 0 || (size_t)length >= sizeof(path)) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, folder, -1,
                             "the path of a file in it is too long");
    }
    if (stat(path, &facts) == 0 && S_ISDIR(facts.st_mode)) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, folder, -1,
                             "holds tar archives and the folder \"%.256s\": name the archives "
                             "(%.256s/*.tar) or that folder",
                             name, folder);
    }
    return is_named_tar(name) ? add_file(own, path, error) : SLUICE_OK;
}

static sluice_status add_folder(tars *own, const char *path, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return sl_error_file(error, SLUICE_IO, STAGE, errno, path, -1, "cannot list the folder");
    }
    for (const char *name; status == SLUICE_OK && (name = next_name(folder)) != NULL;) {
        status = add_entry(own, path, name, error);
    }
    (void)closedir(folder);
    return status;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(((const tar_file *)a)->path, ((const tar_file *)b)->path);
}

/* A path: an archive, or a folder of them, which come in the order of their names. */
static sluice_status add_path(tars *own, const char *path, sluice_error *error)
{
    struct stat facts;
    if (stat(path, &facts) != 0) {
        return sl_error_file(error, SLUICE_IO, STAGE, errno, path, -1, "cannot open");
    }
    if (!S_ISDIR(facts.st_mode)) {
        return add_file(own, path, error);
    }
    const uint32_t first = own->count;
    const sluice_status status = add_folder(own, path, error);
    if (status == SLUICE_OK && own->count > first) {
        qsort(own->files + first, own->count - first, sizeof(*own->files), compare_paths);
    }
    return status;
}

/* ---- their indexes ---- */

typedef struct opener {
    tars *own;
    char folder[SL_PATH_BYTES]; /* of the cache */
    _Atomic uint32_t next;      /* file to be opened */
    pthread_mutex_t mutex;      /* guards what follows */
    uint32_t failed;            /* the first file that cannot be opened */
    sluice_error error;         /* its */
} opener;

static void open_files(void *argument)
{
    opener *o = argument;
    for (;;) {
        /* relaxed: the files themselves were there before the threads */
        const uint32_t number = atomic_fetch_add_explicit(&o->next, 1, memory_order_relaxed);
        if (number >= o->own->count) {
            return;
        }
        sluice_error error;
        tar_file *file = &o->own->files[number];
        sl_error_clear(&error);
        if (sl_tar_cache_load(&file->index, file->path, o->folder) ||
            sl_tar_wds2idx_load(&file->index, file->path)) {
            continue;
        }
        if (sl_tar_index_walk(&file->index, file->path, &error) == SLUICE_OK) {
            sl_tar_cache_store(&file->index, file->path, o->folder);
            continue;
        }
        sl_lock(&o->mutex);
        if (number < o->failed) {
            o->failed = number;
            o->error = error;
        }
        sl_unlock(&o->mutex);
        atomic_store_explicit(&o->next, o->own->count, memory_order_relaxed);
    }
}

/* Waiting for storage is what most of it is: more threads than processors. */
static sluice_status open_indexes(tars *own, sluice_error *error)
{
    sl_thread threads[OPENERS_MAX] = {0};
    opener *o = sl_calloc(1, sizeof(*o));
    if (o == NULL) {
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "no memory for a dataset");
    }
    o->own = own;
    o->failed = UINT32_MAX;
    atomic_init(&o->next, 0);
    sl_mutex_init(&o->mutex);
    (void)sl_tar_cache_folder(o->folder, sizeof(o->folder));
    uint32_t wanted = 4 * sl_cpu_count();
    wanted = wanted < OPENERS_MAX ? wanted : OPENERS_MAX;
    wanted = wanted < own->count ? wanted : own->count;
    uint32_t started = 0;
    while (started + 1 < wanted &&
           sl_thread_start(&threads[started], "sluice-tar", open_files, o, NULL) == SLUICE_OK) {
        started++; /* this thread is one, too: where none can be had, it does it all */
    }
    open_files(o);
    for (uint32_t i = 0; i < started; i++) {
        sl_thread_join(&threads[i]);
    }
    sluice_status status = SLUICE_OK;
    if (o->failed != UINT32_MAX) {
        status = (sluice_status)o->error.status;
        if (error != NULL) {
            *error = o->error;
        }
    }
    sl_mutex_destroy(&o->mutex);
    sl_free(o);
    return status;
}

/* ---- opening ---- */

static uint64_t fingerprint(const tars *own)
{
    sl_checksum_stream stream;
    sl_checksum_begin(&stream);
    for (uint32_t i = 0; i < own->count; i++) {
        const tar_file *file = &own->files[i];
        const char *slash = strrchr(file->path, '/');
        const char *name = slash != NULL ? slash + 1 : file->path;
        sl_checksum_add(&stream, name, strlen(name) + 1);
        sl_checksum_add_u64(&stream, file->index.file_bytes);
        sl_checksum_add_u64(&stream, file->index.samples);
        sl_checksum_add(&stream, file->index.offsets,
                        file->index.samples * sizeof(*file->index.offsets));
    }
    return sl_checksum_value(&stream);
}

static sluice_status make_fields(tars *own, sluice_error *error)
{
    const sl_tar_index **indexes =
        (const sl_tar_index **)sl_calloc(own->count, sizeof(const sl_tar_index *));
    if (indexes == NULL) {
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "no memory for a dataset");
    }
    for (uint32_t i = 0; i < own->count; i++) {
        indexes[i] = &own->files[i].index;
    }
    const sluice_status status = sl_tar_fields_make(&own->fields, indexes, own->count, error);
    sl_free((void *)indexes);
    return status;
}

static sluice_status count_samples(tars *own, sluice_error *error)
{
    sluice_dataset_info *info = &own->base.info;
    for (uint32_t i = 0; i < own->count; i++) {
        tar_file *file = &own->files[i];
        file->first = info->samples;
        info->samples += file->index.samples;
        for (uint64_t k = 0; k < file->index.samples; k++) {
            info->bytes += file->index.bytes[k];
        }
    }
    if (info->samples > 0) {
        return SLUICE_OK;
    }
    return sl_error_file(error, SLUICE_INVALID, STAGE, 0, own->files[0].path, -1,
                         "no sample: none of its files is called KEY.EXTENSION");
}

static sluice_status open_all(tars *own, const char *const *paths, size_t count,
                              sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    for (size_t i = 0; status == SLUICE_OK && i < count; i++) {
        status = add_path(own, paths[i], error);
    }
    if (status == SLUICE_OK && own->count == 0) {
        status = sl_error_file(error, SLUICE_INVALID, STAGE, 0, paths[0], -1, "holds no archive");
    }
    if (status == SLUICE_OK) {
        status = open_indexes(own, error);
    }
    if (status == SLUICE_OK) {
        status = count_samples(own, error);
    }
    if (status == SLUICE_OK) {
        status = make_fields(own, error);
    }
    if (status < 0) {
        return status;
    }
    sluice_dataset_info *info = &own->base.info;
    info->struct_size = sizeof(*info);
    info->fingerprint = fingerprint(own);
    info->fields = own->fields.count;
    info->shards = own->count;
    (void)snprintf(own->base.kind, sizeof(own->base.kind),
                   "%s, whose files called alike up to their first dot are a sample (WebDataset)",
                   own->count == 1 ? "a tar archive" : "tar archives");
    memcpy(info->format, "tar", sizeof("tar"));
    own->base.fields = own->fields.fields;
    const sl_object_names names = {
        .ctx = own, .count = own->count, .path = path_of, .bytes = bytes_of};
    return sl_objects_open(&own->base.objects, &names, error);
}

static sluice_status open_tars(sl_dataset **dataset, const char *const *paths, size_t count,
                               const sluice_dataset_options *options, sluice_error *error)
{
    (void)options;
    tars *own = sl_calloc(1, sizeof(*own));
    if (own == NULL) {
        return sl_error_set(error, SLUICE_NOMEM, STAGE, "no memory for a dataset");
    }
    own->base.ops = &tars_ops;
    atomic_init(&own->base.references, 1);
    const sluice_status status = open_all(own, paths, count, error);
    if (status < 0) {
        sl_dataset_close(&own->base);
        return status;
    }
    *dataset = &own->base;
    return SLUICE_OK;
}

const sl_format sl_format_tars = {.name = "tar", .probe = probe, .open = open_tars};
