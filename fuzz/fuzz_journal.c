/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_journal: a pack that resumes in a folder where an earlier part left any bytes. Input: the
 * number of a file of the state (FILES), then its bytes; all other files are as part 0 of 2 left
 * them. If the pack publishes a dataset, it must verify and have all samples; otherwise there must
 * be a reason. A changed file is rebuilt or rejected, never joined. */
#include "dataset_run.h"

#include "photo_folder.h"

#include <sluice/sluice.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_ROOM = 4096, FILES_MOST = 8, FILE_ROOM = 1 << 18, PARTS = 2 };

/* The files that part 0 left. */
static struct {
    char source[PATH_ROOM / 4], folder[PATH_ROOM / 4];
    uint32_t files;
    struct {
        char name[256];
        size_t bytes;
        uint8_t data[FILE_ROOM];
    } of[FILES_MOST];
    uint64_t samples;
} state;

static sluice_status pack_part(uint32_t part, sluice_error *error)
{
    const char *path = state.source;
    sluice_dataset *dataset = NULL;
    sluice_pack_options options = SLUICE_PACK_OPTIONS_INIT;
    sluice_pack_result result = SLUICE_PACK_RESULT_INIT;
    options.part = part;
    options.parts = PARTS;
    options.workers = 1;
    options.keep_bytes = 1;
    options.on_bad = SLUICE_PACK_BAD_SKIP;
    fuzz_expect(sluice_dataset_open(&dataset, &path, 1, NULL, NULL) == SLUICE_OK,
                "the source opens");
    sluice_dataset_info info = {.struct_size = sizeof(info)};
    fuzz_expect(sluice_dataset_get_info(dataset, &info) == SLUICE_OK, "info is available");
    state.samples = info.samples;
    const sluice_status status = sluice_pack(dataset, state.folder, &options, &result, error);
    sluice_dataset_close(dataset);
    return status;
}

static void keep_file(const char *name)
{
    char path[PATH_ROOM];
    fuzz_expect(state.files < FILES_MOST, "few files are left behind");
    (void)snprintf(path, sizeof(path), "%s/%s", state.folder, name);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t got = read(fd, state.of[state.files].data, FILE_ROOM);
    fuzz_expect(fd >= 0 && got > 0 && got < FILE_ROOM, "a small file");
    (void)close(fd);
    (void)snprintf(state.of[state.files].name, sizeof(state.of[0].name), "%s", name);
    state.of[state.files++].bytes = (size_t)got;
}

static int by_name(const void *one, const void *other)
{
    return strcmp(one, other);
}

static void make_state(void)
{
    if (state.files > 0)
        return;
    (void)snprintf(state.source, sizeof(state.source), "%s", fuzz_suspect_folder(0));
    static uint8_t manifest[FUZZ_INPUT_MAX];
    fuzz_suspect_write(FUZZ_MANIFEST, manifest, fuzz_dataset_file(0, FUZZ_MANIFEST, manifest));
    (void)snprintf(state.folder, sizeof(state.folder), "%s/packed", fuzz_suspect_folder(0));
    fuzz_expect(pack_part(0, NULL) == SLUICE_OK, "a part is packed");
    DIR *folder = opendir(state.folder);
    fuzz_expect(folder != NULL, "the folder exists");
    for (const struct dirent *entry;
         (entry = readdir(folder)) != NULL;) { /* NOLINT(concurrency-mt-unsafe) */
        if (entry->d_name[0] != '.')
            keep_file(entry->d_name);
    }
    (void)closedir(folder);
    qsort(state.of, state.files, sizeof(state.of[0]), by_name);
    fuzz_expect(state.files >= 3, "a journal, a shard and a part");
}

static void write_file_of(const char *name, const uint8_t *data, size_t bytes)
{
    char path[PATH_ROOM];
    (void)snprintf(path, sizeof(path), "%s/%s", state.folder, name);
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    fuzz_expect(fd >= 0 && write(fd, data, bytes) == (ssize_t)bytes, "a file can be written");
    (void)close(fd);
}

/* Checks that a published dataset is complete. */
static void expect_whole(void)
{
    const char *path = state.folder;
    sluice_dataset *dataset = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    char manifest[PATH_ROOM];
    (void)snprintf(manifest, sizeof(manifest), "%s/" FUZZ_MANIFEST, state.folder);
    if (access(manifest, F_OK) != 0)
        return; /* no dataset is published */
    fuzz_expect(sluice_dataset_open(&dataset, &path, 1, NULL, &error) == SLUICE_OK,
                "the packed dataset opens");
    sluice_dataset_info info = {.struct_size = sizeof(info)};
    fuzz_expect(sluice_dataset_get_info(dataset, &info) == SLUICE_OK, "info is available");
    fuzz_expect(info.samples == state.samples, "no sample is lost");
    sluice_verify_options options = {.struct_size = sizeof(options), .workers = 1};
    sluice_verify_result result = {.struct_size = sizeof(result)};
    fuzz_expect(sluice_dataset_verify(dataset, &options, &result, &error) == SLUICE_OK,
                "the packed dataset verifies");
    sluice_dataset_close(dataset);
}

int fuzz_run(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    make_state();
    remove_tree(state.folder);
    fuzz_expect(mkdir(state.folder, 0700) == 0, "a folder can be made");
    for (uint32_t i = 0; i < state.files; i++)
        write_file_of(state.of[i].name, state.of[i].data, state.of[i].bytes);
    write_file_of(state.of[data[0] % state.files].name, data + 1, size - 1);
    sluice_error error = SLUICE_ERROR_INIT;
    const sluice_status status = pack_part(1, &error);
    fuzz_expect(status >= 0 || error.text[0] != '\0', "an error has a text");
    expect_whole();
    return 0;
}

size_t fuzz_seed(unsigned index, uint8_t *buffer)
{
    make_state();
    if (index >= state.files)
        return 0;
    buffer[0] = (uint8_t)index;
    memcpy(buffer + 1, state.of[index].data, state.of[index].bytes);
    return 1 + state.of[index].bytes;
}
