/* SPDX-License-Identifier: Apache-2.0 */
#include "pack_parts.h"

#include "shard_bytes.h"
#include "test.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Does nothing: only a power failure would show a difference, and the test would wait for the disk.
 * The linker's --wrap prescribes the name. */
/* NOLINTNEXTLINE(*-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)
 */
int __wrap_fsync(int fd);
/* NOLINTNEXTLINE(*-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)
 */
int __wrap_fsync(int fd)
{
    (void)fd;
    return 0;
}

void parts_make(parts_rig *f, uint64_t shard_bytes)
{
    sluice_pack_options options = pack_options();
    options.shard_bytes = shard_bytes;
    pack_setup_make(&f->setup, 3, 8, true);
    temporary_directory(f->work, sizeof(f->work));
    (void)snprintf(f->whole, sizeof(f->whole), "%s/whole", f->work);
    (void)snprintf(f->path, sizeof(f->path), "%s/parts", f->work);
    assert_int_equal(pack_run(&f->setup, f->whole, &options, NULL, NULL), SLUICE_OK);
}

void parts_remove(parts_rig *f)
{
    remove_tree(f->work);
    pack_setup_remove(&f->setup);
}

sluice_pack_options parts_options(uint32_t part, uint32_t parts)
{
    sluice_pack_options options = pack_options();
    options.part = part;
    options.parts = parts;
    return options;
}

void parts_expect_whole(const parts_rig *f, const char *what, uint32_t number)
{
    if (!folders_equal(f->path, f->whole)) {
        fail_msg("%s %u: not as one process packs it", what, number);
    }
    const char *path = f->path;
    sluice_dataset *dataset;
    assert_int_equal(sluice_dataset_open(&dataset, &path, 1, NULL, NULL), SLUICE_OK);
    sluice_dataset_close(dataset);
}

int parts_wait_for(pid_t child)
{
    int result;
    assert_int_equal(waitpid(child, &result, 0), child);
    return result;
}

void parts_copy_file(const char *from, const char *to, const char *name)
{
    file_bytes file;
    file_load(&file, from, name);
    (void)snprintf(file.path, sizeof(file.path), "%s/%s", to, name);
    file_store(&file, file.size);
    file_free(&file);
}

void parts_move_file(const char *folder, const char *name, const char *to)
{
    char path[600];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    assert_int_equal(rename(path, to), 0);
}

uint64_t parts_samples_of(const char *path, uint64_t *fingerprint)
{
    sluice_dataset *dataset;
    sluice_dataset_info info = {.struct_size = sizeof(info)};
    sluice_error error = SLUICE_ERROR_INIT;
    if (sluice_dataset_open(&dataset, &path, 1, NULL, &error) != SLUICE_OK) {
        fail_msg("%s: %s", error.file, error.text);
    }
    assert_int_equal(sluice_dataset_get_info(dataset, &info), SLUICE_OK);
    if (fingerprint != NULL) {
        *fingerprint = info.fingerprint;
    }
    sluice_verify_options options = {.struct_size = sizeof(options)};
    sluice_verify_result result = {.struct_size = sizeof(result)};
    assert_int_equal(sluice_dataset_verify(dataset, &options, &result, NULL), SLUICE_OK);
    assert_int_equal(result.bad, 0);
    sluice_dataset_close(dataset);
    return info.samples;
}

uint64_t parts_lines_of(const char *folder, const char *name)
{
    file_bytes file;
    uint64_t lines = 0;
    file_load(&file, folder, name);
    for (size_t i = 0; i < file.size; i++) {
        lines += file.data[i] == '\n';
    }
    file_free(&file);
    return lines;
}
