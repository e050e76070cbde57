/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unpack: runs an unpack from start to end. The calling thread writes, in order; prepare has the
 * workers.
 */
#include "unpack.h"

#include "clock.h"
#include "error.h"
#include "file.h"
#include "memory.h"
#include "rejected.h"
#include "sample_names.h"
#include "stop.h"
#include "tar_writer.h"
#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STAGE        "unpack"
#define PROGRESS_NS  200000000u
#define BUDGET_BYTES ((uint64_t)256 << 20)
#define PATH_BYTES   ((size_t)2 * SL_NAME_BYTES)

typedef struct unpack {
    const sl_dataset *dataset;
    const sluice_unpack_options *options;
    sl_suffixes suffixes;
    sl_sample_names names;
    sl_target target;
    sl_tar_writer tar;
    sl_prepare *prepare;
    FILE *rejected; /* NULL: no sample was rejected */
    uint64_t reported_ns;
    sluice_unpack_result result;
    sl_sample_name name; /* of the current sample */
} unpack;

static bool is_tar(const unpack *u)
{
    return u->options->form == SLUICE_UNPACK_TAR;
}

static void unpack_path_of(const unpack *u, const char *name, char path[PATH_BYTES])
{
    (void)snprintf(path, PATH_BYTES, "%s/%s", u->target.part, name);
}

static sluice_status unpack_fail(const unpack *u, const char *name, const char *what,
                                 sluice_error *error)
{
    const int reason = errno;
    char path[PATH_BYTES];
    unpack_path_of(u, name, path);
    return sl_error_file(error, SLUICE_IO, STAGE, reason, path, -1, "cannot %s", what);
}

/* ---- files ---- */

static sluice_status unpack_make_folder(const unpack *u, const char *name, sluice_error *error)
{
    return mkdirat(u->target.fd, name, 0777) == 0 || errno == EEXIST
               ? SLUICE_OK
               : unpack_fail(u, name, "create the folder", error);
}

/* Creates the folders in a name; a safe name stays within the output folder. */
static sluice_status make_folders(const unpack *u, sluice_error *error)
{
    char folder[SL_NAME_BYTES];
    const char *base = u->name.base;
    sluice_status status = SLUICE_OK;
    for (const char *slash = strchr(base, '/'); status == SLUICE_OK && slash != NULL;
         slash = strchr(slash + 1, '/')) {
        const size_t bytes = (size_t)(slash - base);
        if (!sl_name_set_has(&u->names.taken, SL_NAME_FOLDER, base, bytes)) {
            (void)snprintf(folder, sizeof(folder), "%.*s", (int)bytes, base);
            status = unpack_make_folder(u, folder, error);
        }
    }
    return status;
}

static sluice_status write_file(const unpack *u, const char *name, const sl_member *member,
                                sluice_error *error)
{
    char path[PATH_BYTES];
    const int fd =
        openat(u->target.fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0) {
        return unpack_fail(u, name, "create the file", error);
    }
    unpack_path_of(u, name, path);
    const sl_file_name file = {STAGE, path};
    sluice_status status = sl_file_write(fd, file, member->head.data, member->head.size, 0, error);
    if (status == SLUICE_OK) {
        status = sl_file_write(fd, file, member->bytes.data, member->bytes.size, member->head.size,
                               error);
    }
    if (close(fd) != 0 && status == SLUICE_OK) {
        status = unpack_fail(u, name, "write the file", error);
    }
    return status;
}

static sluice_status write_files(unpack *u, const sl_named *named, sluice_error *error)
{
    char path[SL_NAME_BYTES];
    const sl_members *members = named->members;
    sl_sample_names_choose(&u->names, named, &u->name);
    sluice_status status = make_folders(u, error);
    for (uint32_t i = 0; status == SLUICE_OK && i < members->count; i++) {
        sl_sample_names_path(&u->name, members, i, path);
        status = write_file(u, path, &members->of[i], error);
    }
    u->result.bytes += members->bytes;
    return status;
}

/* ---- archives ---- */

/* Returns the size of the sample in an archive, under its current name. */
static uint64_t member_bytes(const unpack *u, const sl_members *members)
{
    char path[SL_NAME_BYTES];
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < members->count; i++) {
        const sl_member *member = &members->of[i];
        sl_sample_names_path(&u->name, members, i, path);
        bytes += sl_tar_member_bytes(path, (uint64_t)member->head.size + member->bytes.size);
    }
    return bytes;
}

static bool unpack_is_full(const unpack *u, const sl_members *members)
{
    const uint64_t bytes = sl_tar_archive_bytes(u->tar.bytes + member_bytes(u, members));
    const uint64_t most = u->options->shard_samples;
    return bytes > u->options->shard_bytes || (most > 0 && u->tar.samples >= most);
}

static sluice_status end_archive(unpack *u, sluice_error *error)
{
    const sluice_status status = sl_tar_writer_finish(&u->tar, error);
    u->result.bytes += u->tar.bytes;
    return status;
}

/* Ends the current archive if it is full, and begins one if necessary. */
static sluice_status have_archive(unpack *u, const sl_named *named, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    if (u->tar.fd >= 0 && unpack_is_full(u, named->members)) {
        status = end_archive(u, error);
        if (status == SLUICE_OK) {
            status = sl_sample_names_next_archive(&u->names, error);
        }
        sl_sample_names_choose(&u->names, named, &u->name);
    }
    if (status == SLUICE_OK && u->tar.fd < 0) {
        status =
            sl_tar_writer_begin(&u->tar, u->target.fd, u->target.part, u->result.archives++, error);
    }
    return status;
}

static sluice_status write_members(unpack *u, const sl_named *named, sluice_error *error)
{
    char path[SL_NAME_BYTES];
    const sl_members *members = named->members;
    sl_sample_names_choose(&u->names, named, &u->name);
    sluice_status status = have_archive(u, named, error);
    for (uint32_t i = 0; status == SLUICE_OK && i < members->count; i++) {
        const sl_member *member = &members->of[i];
        sl_sample_names_path(&u->name, members, i, path);
        status = sl_tar_writer_add(&u->tar, path, member->head, member->bytes, error);
    }
    u->tar.samples++;
    return status;
}

/* ---- samples ---- */

static sluice_status reject(unpack *u, const sl_prepared *prepared, sluice_error *error)
{
    char *line = sl_malloc(SL_REJECTED_BYTES);
    if (line == NULL) {
        return sl_no_memory(error, STAGE, "for " SL_REJECTED_NAME);
    }
    bool good = true;
    if (u->rejected == NULL) {
        const int fd = openat(u->target.fd, SL_REJECTED_NAME,
                              O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        u->rejected = fd >= 0 ? sl_rejected_open(fd) : NULL;
        if (u->rejected == NULL) {
            sl_file_close(fd);
        }
        good = u->rejected != NULL && fputs(SL_REJECTED_HEADING, u->rejected) >= 0;
    }
    (void)sl_rejected_format(line, prepared->key, &prepared->error);
    good = good && fprintf(u->rejected, "%s\n", line) > 0;
    sl_free(line);
    u->result.rejected++;
    return good ? SLUICE_OK : unpack_fail(u, SL_REJECTED_NAME, "write the file", error);
}

static sluice_status close_rejected(unpack *u, sluice_error *error)
{
    FILE *file = u->rejected;
    u->rejected = NULL;
    return file == NULL || fclose(file) == 0
               ? SLUICE_OK
               : unpack_fail(u, SL_REJECTED_NAME, "write the file", error);
}

static sluice_status unpack_write_one(unpack *u, const sl_prepared *prepared, sluice_error *error)
{
    if (prepared->status < 0) {
        if (prepared->fatal || u->options->on_bad == SLUICE_PACK_BAD_FAIL) {
            if (error != NULL) {
                *error = prepared->error;
            }
            return prepared->status;
        }
        return reject(u, prepared, error);
    }
    const sl_members *members = prepared->made;
    const sl_named named = {.key = prepared->key, .number = prepared->position, .members = members};
    sluice_status status =
        is_tar(u) ? write_members(u, &named, error) : write_files(u, &named, error);
    if (status == SLUICE_OK) {
        status = sl_sample_names_take(&u->names, &named, &u->name, error);
    }
    u->result.samples++;
    u->result.files += members->count;
    u->result.renamed += u->name.renamed;
    return status;
}

static void report_progress(unpack *u, uint64_t done, bool always)
{
    const uint64_t now = sl_now_ns();
    if (u->options->on_progress == NULL || (!always && now - u->reported_ns < PROGRESS_NS)) {
        return;
    }
    u->reported_ns = now;
    const sluice_unpack_progress progress = {
        .struct_size = sizeof(progress),
        .archives = u->result.archives,
        .samples_done = done,
        .samples_total = u->dataset->info.samples,
        .bytes_written = u->result.bytes + (u->tar.fd >= 0 ? u->tar.bytes : 0),
        .rejected = u->result.rejected,
    };
    u->options->on_progress(u->options->user, &progress);
}

static sluice_status unpack_check_stop(const unpack *u, sluice_error *error)
{
    const bool stop = sl_stop_ask();
    if (!sl_target_is_ours(&u->target)) { /* a callback's child has returned from it */
        return sl_error_set(error, SLUICE_STATE, STAGE,
                            "the unpack belongs to the process that began it, not to a fork");
    }
    return stop ? sl_error_set(error, SLUICE_CANCELED, STAGE, "stopped: nothing was written")
                : SLUICE_OK;
}

static sluice_status unpack_write_all(unpack *u, sluice_error *error)
{
    const sl_members_config members = {.dataset = u->dataset, .suffixes = &u->suffixes};
    const sl_prepare_config config = {.dataset = u->dataset,
                                      .job = &sl_members_job,
                                      .config = &members,
                                      .copies = true,
                                      .keep_order = true,
                                      .leave_unread_out =
                                          u->options->on_bad == SLUICE_PACK_BAD_SKIP_ALL,
                                      .workers = u->options->workers,
                                      .end = u->dataset->info.samples,
                                      .budget_bytes = BUDGET_BYTES,
                                      .max_sample_bytes = u->options->max_sample_bytes};
    sluice_status status = sl_prepare_open(&u->prepare, &config, error);
    for (uint64_t position = 0; status == SLUICE_OK && position < config.end; position++) {
        sl_prepared *prepared;
        status = sl_prepare_next(u->prepare, &prepared, error);
        if (status < 0) {
            break;
        }
        status = unpack_write_one(u, prepared, error);
        sl_prepare_done(u->prepare, prepared);
        report_progress(u, position + 1, false);
        status = status == SLUICE_OK ? unpack_check_stop(u, error) : status;
    }
    sl_prepare_close(u->prepare);
    u->prepare = NULL;
    if (status == SLUICE_OK) {
        status = sl_objects_finish(u->dataset->objects, error);
    }
    if (status == SLUICE_OK && u->tar.fd >= 0) {
        status = end_archive(u, error);
    }
    return status;
}

/* ---- the whole ---- */

/*
 * Creates the folders of all classes, also of those without samples, so that classes keep their
 * numbers.
 */
static sluice_status make_class_folders(const unpack *u, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; status == SLUICE_OK && i < u->names.folder_count; i++) {
        if (u->names.folders[i][0] != '\0') {
            status = unpack_make_folder(u, u->names.folders[i], error);
        }
        status = status == SLUICE_OK ? unpack_check_stop(u, error) : status;
    }
    return status;
}

static sluice_status unpack_finish(unpack *u, sluice_error *error)
{
    sluice_status status = close_rejected(u, error);
    if (status == SLUICE_OK && u->result.samples == 0) {
        status = sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, u->target.path, -1,
                               "every sample was rejected: `verify` names them");
    }
    if (status == SLUICE_OK) {
        report_progress(u, u->dataset->info.samples, true);
        status = sl_target_finish(&u->target, error);
    }
    return status;
}

static sluice_status unpack_open_all(unpack *u, const char *path, sluice_error *error)
{
    const sluice_unpack_form form = (sluice_unpack_form)u->options->form;
    const bool class_folders = form == SLUICE_UNPACK_FOLDER && u->dataset->info.classes > 0 &&
                               sl_suffixes_find_picture(u->dataset, form) != SL_FIELD_NONE;
    sl_suffixes_make(&u->suffixes, u->dataset, form, class_folders);
    sluice_status status =
        sl_target_open(&u->target, path, u->options->overwrite != 0, u->dataset, error);
    if (status == SLUICE_OK) {
        const sl_naming naming = {.dataset = u->dataset,
                                  .form = form,
                                  .class_folders = class_folders,
                                  .others = u->suffixes.others,
                                  .folder_bytes = strlen(u->target.part)};
        status = sl_sample_names_open(&u->names, &naming, error);
    }
    if (status == SLUICE_OK) {
        status = sl_tar_writer_open(&u->tar, error);
    }
    return status == SLUICE_OK ? make_class_folders(u, error) : status;
}

sluice_status sl_unpack(const sl_dataset *dataset, const char *path,
                        const sluice_unpack_options *options, sluice_unpack_result *result,
                        sluice_error *error)
{
    unpack *u = sl_calloc(1, sizeof(*u));
    if (u == NULL) {
        return sl_no_memory(error, STAGE, "unpacking");
    }
    u->dataset = dataset;
    u->options = options;
    u->target.fd = -1;
    u->tar.fd = -1;
    u->result.struct_size = sizeof(u->result);
    sl_stop stop;
    sl_stop_begin(&stop, options->should_stop, options->user);
    sl_stop_set_everywhere(&stop, false);
    sluice_status status = unpack_open_all(u, path, error);
    if (status == SLUICE_OK) {
        sl_stop_set_everywhere(&stop, true);
        status = unpack_write_all(u, error);
        sl_stop_set_everywhere(&stop, false);
    }
    if (status == SLUICE_OK) {
        status = unpack_finish(u, error);
    }
    if (status == SLUICE_CANCELED && sl_stop_requested()) { /* wherever it was noticed */
        status = unpack_check_stop(u, error);
    }
    sl_stop_end(&stop);
    u->result.renamed_classes = u->names.renamed_classes;
    u->result.labels_differ = u->names.labels_differ;
    *result = u->result;
    (void)close_rejected(u, NULL);
    sl_tar_writer_close(&u->tar);
    sl_sample_names_close(&u->names);
    sl_target_close(&u->target);
    sl_free(u);
    return status;
}
