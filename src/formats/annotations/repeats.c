/* SPDX-License-Identifier: Apache-2.0 */
#include "repeats.h"

#include "error.h"
#include "memory.h"
#include "open_many.h"

#include <stdlib.h>

#define STAGE "dataset"

typedef struct repeat_file {
    uint64_t device, inode;
    uint32_t number;
    bool is_there;
} repeat_file;

typedef struct repeat_job {
    repeat_file *files;
    bool (*path)(const void *ctx, uint32_t number, char path[SL_PATH_BYTES]);
    const void *ctx;
} repeat_job;

static sluice_status look_at_file(void *ctx, uint32_t number, sluice_error *error)
{
    (void)error;
    char path[SL_PATH_BYTES];
    sl_store_facts facts;
    const repeat_job *job = ctx;
    repeat_file *file = &job->files[number];
    file->number = number;
    if (job->path(job->ctx, number, path) && sl_store_stat(path, &facts) == 0) {
        file->is_there = true;
        file->device = facts.device;
        file->inode = facts.identity.inode;
    }
    return SLUICE_OK;
}

static int compare_files(const void *a, const void *b)
{
    const repeat_file *one = a;
    const repeat_file *other = b;
    if (one->device != other->device) {
        return one->device > other->device ? 1 : -1;
    }
    if (one->inode != other->inode) {
        return one->inode > other->inode ? 1 : -1;
    }
    return (one->number > other->number) - (one->number < other->number);
}

sluice_status sl_repeats_find(sl_repeats *repeats, uint32_t count,
                              bool (*path)(const void *ctx, uint32_t number,
                                           char path[SL_PATH_BYTES]),
                              const void *ctx, sluice_error *error)
{
    repeat_job job = {.path = path, .ctx = ctx};
    job.files = sl_calloc((size_t)count + 1, sizeof(*job.files));
    repeats->first = sl_calloc((size_t)count + 1, sizeof(*repeats->first));
    if (job.files == NULL || repeats->first == NULL) {
        sl_free(job.files);
        return sl_no_memory(error, STAGE, "for the names of annotations");
    }
    const sluice_status status = sl_open_many(count, look_at_file, &job, error);
    if (status == SLUICE_OK) {
        qsort(job.files, count, sizeof(*job.files), compare_files);
    }
    for (uint32_t i = 0; status == SLUICE_OK && i < count; i++) {
        const repeat_file *file = &job.files[i];
        const repeat_file *before = i > 0 ? file - 1 : NULL;
        const bool is_same = before != NULL && file->is_there && before->is_there &&
                             file->device == before->device && file->inode == before->inode;
        repeats->first[file->number] = is_same ? repeats->first[before->number] : file->number;
        repeats->found = repeats->found || is_same;
    }
    sl_free(job.files);
    return status;
}

void sl_repeats_close(sl_repeats *repeats)
{
    sl_free(repeats->first);
    *repeats = (sl_repeats){.first = NULL};
}
