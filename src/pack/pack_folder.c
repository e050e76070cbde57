/* SPDX-License-Identifier: Apache-2.0 */
/* pack_folder: checks the existing contents of a pack's folder. */
#include "error.h"
#include "file.h"
#include "pack_state.h"
#include "shards.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define STAGE "pack"

sluice_status sl_pack_read_page(const sl_output *output, const char *name, char *path,
                                sl_manifest_header *header, sluice_error *error)
{
    uint8_t page[SL_PAGE_BYTES];
    int fd = -1;
    const sl_file_name file = {STAGE, path};
    sluice_status status = sl_output_name(output, name, false, path, error);
    if (status == SLUICE_OK) {
        status = sl_file_open(file, &fd, NULL, error);
    }
    if (status < 0) {
        return status;
    }
    status = sl_file_read(fd, file, page, sizeof(page), 0, error);
    sl_file_close(fd);
    if (status < 0) {
        return status;
    }
    sl_refusal refusal = sl_manifest_header_decode(header, page);
    return refusal.text != NULL ? sl_shards_refuse(error, refusal, path, 0) : SLUICE_OK;
}

/* Checks that each shard exists with the size in its row; adds up the sizes. */
static sluice_status measure_shards(const sl_dataset *dataset, uint64_t *bytes, sluice_error *error)
{
    *bytes = 0;
    for (uint32_t i = 0; i < sl_objects_count(dataset->objects); i++) {
        char path[SL_PATH_BYTES];
        struct stat status;
        uint64_t expected = sl_shards_of(dataset)->shards[i].row.file_bytes;
        (void)sl_objects_path(dataset->objects, i, path, sizeof(path));
        if (stat(path, &status) != 0 || (uint64_t)status.st_size != expected) {
            return sl_error_file(
                error, SLUICE_STATE, STAGE, 0, path, -1,
                "the folder contains a complete pack of this dataset, but this shard is missing or "
                "has another size: " SL_OPTION("overwrite") " to start over");
        }
        *bytes += expected;
    }
    return SLUICE_OK;
}

sluice_status sl_pack_clear_up(const sl_output *output, uint64_t pack_id, sluice_error *error)
{
    sl_journal journal = {0};
    const sluice_status status = sl_journal_read(output, &journal, NULL);
    const bool another = status == SLUICE_OK && sl_journal_pack_id(&journal) != pack_id;
    return another ? SLUICE_OK : sl_output_remove(output, SL_OUTPUT_PACKING, error);
}

/* Completes steps that an earlier run may have missed after the manifest existed. */
static sluice_status finish_up(const sl_output *output, uint64_t pack_id, sluice_error *error)
{
    sl_journal journal = {0};
    sluice_status status = sl_journal_read(output, &journal, NULL);
    if (status == SLUICE_OK && sl_journal_pack_id(&journal) == pack_id) {
        status = sl_pack_write_options(output, journal.head, error);
        return status == SLUICE_OK ? sl_pack_clear_up(output, pack_id, error) : status;
    }
    return sl_pack_clear_up(output, pack_id, error);
}

sluice_status sl_pack_take_finished(const sl_output *output, uint64_t pack_id,
                                    sluice_pack_result *result, sluice_error *error)
{
    char path[SL_OUTPUT_PATH_BYTES];
    sl_manifest_header header = {0};
    sluice_status status = sl_pack_read_page(output, SL_MANIFEST_NAME, path, &header, error);
    if (status < 0) {
        return status;
    }
    if (header.pack_id != pack_id) {
        return sl_error_file(
            error, SLUICE_STATE, STAGE, 0, path, -1,
            "the folder contains another packed dataset, or this one with other options: choose "
            "another folder, or " SL_OPTION("overwrite") " to replace it");
    }
    sl_dataset *packed;
    status = sl_shards_open_manifest(&packed, path, error);
    if (status < 0) {
        return status;
    }
    *result = (sluice_pack_result){.struct_size = sizeof(*result),
                                   .shards = packed->info.shards,
                                   .samples = packed->info.samples,
                                   .rejected = header.source_samples - header.samples,
                                   .resumed_samples = packed->info.samples,
                                   .was_complete = 1,
                                   .complete = 1};
    status = measure_shards(packed, &result->bytes, error);
    sl_dataset_close(packed);
    return status == SLUICE_OK ? finish_up(output, pack_id, error) : status;
}

bool sl_pack_is_joined(const sl_output *output, uint64_t pack_id, sluice_pack_result *result)
{
    char path[SL_OUTPUT_PATH_BYTES];
    sl_manifest_header header = {0};
    return faccessat(output->fd, SL_MANIFEST_NAME, F_OK, 0) == 0 &&
           sl_pack_read_page(output, SL_MANIFEST_NAME, path, &header, NULL) == SLUICE_OK &&
           pack_id == header.pack_id &&
           sl_pack_take_finished(output, pack_id, result, NULL) == SLUICE_OK;
}
