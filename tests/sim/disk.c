/* SPDX-License-Identifier: Apache-2.0 */
#include "disk.h"

#include "store.h"
#include "world.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FILES_MAX = 64, PATH_MAX_BYTES = 128 };

/* Longest wait of the library before a retry (retry.h). */
#define MOMENT_NS UINT64_C(64000000)
#define DEVICE_NS UINT64_C(1000000000)

typedef struct disk_file {
    char path[PATH_MAX_BYTES];
    uint8_t *bytes;
    uint64_t size;
} disk_file;

static struct {
    disk_file files[FILES_MAX];
    uint32_t count, handles, hung;
    bool ever_hung;
    sim_disk_how how;
} disk;

/* ---- files ---- */

static void load_file(const char *from, const char *to)
{
    if (disk.count == FILES_MAX) {
        sim_fail("more than %d files", FILES_MAX);
    }
    disk_file *file = &disk.files[disk.count++];
    struct stat found;
    FILE *in = fopen(from, "rb");
    if (in == NULL || fstat(fileno(in), &found) != 0) {
        sim_fail("cannot read %s", from);
    }
    (void)snprintf(file->path, sizeof(file->path), "%s", to);
    file->size = (uint64_t)found.st_size;
    file->bytes = malloc(file->size + 1);
    if (file->bytes == NULL || fread(file->bytes, 1, file->size, in) != file->size) {
        sim_fail("cannot read %s", from);
    }
    (void)fclose(in);
}

void sim_disk_load(const char *folder, const char *name)
{
    DIR *open = opendir(folder);
    const struct dirent *entry;
    while (open != NULL && (entry = readdir(open)) != NULL) { // NOLINT(concurrency-mt-unsafe)
        char from[512];
        char to[PATH_MAX_BYTES];
        struct stat found;
        (void)snprintf(from, sizeof(from), "%s/%s", folder, entry->d_name);
        if (snprintf(to, sizeof(to), SIM_SCHEME "%s/%s", name, entry->d_name) >= (int)sizeof(to)) {
            sim_fail("too long: %s", entry->d_name);
        }
        if (stat(from, &found) == 0 && S_ISREG(found.st_mode)) {
            load_file(from, to);
        }
    }
    if (open == NULL) {
        sim_fail("cannot list %s", folder);
    }
    (void)closedir(open);
}

static disk_file *find_file(const char *path)
{
    for (uint32_t i = 0; i < disk.count; i++) {
        if (strcmp(disk.files[i].path, path) == 0) {
            return &disk.files[i];
        }
    }
    return NULL;
}

static bool is_folder_of(const char *path, const disk_file *file)
{
    const size_t length = strlen(path);
    return strncmp(file->path, path, length) == 0 && file->path[length] == '/';
}

static bool is_folder(const char *path)
{
    for (uint32_t i = 0; i < disk.count; i++) {
        if (is_folder_of(path, &disk.files[i])) {
            return true;
        }
    }
    return false;
}

uint8_t *sim_disk_bytes(const char *path, uint64_t *bytes)
{
    const disk_file *file = find_file(path);
    if (file == NULL) {
        sim_fail("no file %s", path);
    }
    *bytes = file->size;
    return file->bytes;
}

void sim_disk_set(const sim_disk_how *how)
{
    disk.how = *how;
    disk.hung = 0;
}

uint32_t sim_disk_hung(void)
{
    return disk.hung;
}

uint32_t sim_disk_handles(void)
{
    return disk.handles;
}

/* ---- what goes wrong ---- */

static void take_time(uint64_t most_ns)
{
    if (most_ns > 0) {
        sim_sleep(sim_draw_next(sim_run_draw()) % most_ns);
    }
}

/* Returns 0 or -errno. */
static int draw_failure(void)
{
    static const int moments[] = {EAGAIN, EINTR, EBUSY, ENOMEM};
    static const int devices[] = {EIO, ESTALE, ETIMEDOUT, EREMOTEIO};
    sim_draw *draw = sim_run_draw();
    if (disk.how.hangs > 0 && sim_chance(draw, disk.how.hang_permille)) {
        disk.how.hangs--;
        disk.hung++;
        disk.ever_hung = true;
        sim_sleep(disk.how.hang_ns);
    }
    if (disk.how.moments > 0 && sim_chance(draw, disk.how.moment_permille)) {
        disk.how.moments--;
        sim_excuse(MOMENT_NS);
        return -moments[sim_below(draw, 4)];
    }
    if (disk.how.devices > 0 && sim_chance(draw, disk.how.device_permille)) {
        disk.how.devices--;
        sim_excuse(DEVICE_NS);
        return -devices[sim_below(draw, 4)];
    }
    return 0;
}

/* Returns how many bytes of a read precede the first dead byte; 0 with `*failed`: none. */
static uint64_t before_dead(const disk_file *file, uint64_t offset, uint64_t bytes, int *failed)
{
    uint64_t end = offset + bytes;
    *failed = 0;
    for (uint32_t i = 0; i < disk.how.dead_count; i++) {
        const sim_dead *dead = &disk.how.dead[i];
        if (dead->end > offset && dead->begin < end && strcmp(dead->path, file->path) == 0) {
            end = dead->begin > offset ? dead->begin : offset;
            *failed = -dead->sys_errno;
        }
    }
    return end - offset;
}

#if defined(__SANITIZE_ADDRESS__)
/* Memory held by a hanging read is never freed: LeakSanitizer, a separate library, calls this. */
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);

int __lsan_is_turned_off(void)
{
    return disk.ever_hung;
}
#endif

/* ---- the store ---- */

static void fill_facts(const disk_file *file, sl_store_facts *facts)
{
    *facts = (sl_store_facts){.kind = SL_ENTRY_FILE,
                              .identity = {.bytes = file->size,
                                           .inode = 1 + (uint64_t)(file - disk.files),
                                           .modified_ns = 1,
                                           .changed_ns = 1},
                              .device = 1};
}

static int disk_stat(const char *path, sl_store_facts *facts)
{
    const disk_file *file = find_file(path);
    if (file != NULL) {
        fill_facts(file, facts);
        return 0;
    }
    *facts = (sl_store_facts){.kind = SL_ENTRY_FOLDER, .device = 1};
    facts->identity.inode = 1000;
    return is_folder(path) ? 0 : -ENOENT;
}

static int disk_list(const char *path, sl_listing *listing)
{
    for (uint32_t i = 0; i < disk.count; i++) {
        if (is_folder_of(path, &disk.files[i]) &&
            !sl_listing_show(listing, disk.files[i].path + strlen(path) + 1, SL_ENTRY_FILE)) {
            return 0;
        }
    }
    return is_folder(path) ? 0 : -ENOENT;
}

static int disk_open(const char *path, const sl_open_how *how, sl_handle *handle,
                     sl_store_facts *facts)
{
    if (how->direct && disk.how.refuses_direct) {
        return -EINVAL;
    }
    take_time(disk.how.open_ns);
    disk_file *file = find_file(path);
    if (file == NULL) {
        return disk_stat(path, facts);
    }
    fill_facts(file, facts);
    handle->own = file;
    handle->fd = -1;
    disk.handles++;
    return 0;
}

static int disk_facts(const sl_handle *handle, sl_store_facts *facts)
{
    fill_facts(handle->own, facts);
    return 0;
}

static ssize_t disk_read_at(const sl_handle *handle, void *to, size_t bytes, uint64_t offset)
{
    const disk_file *file = handle->own;
    sim_draw *draw = sim_run_draw();
    take_time(disk.how.delay_ns);
    int failed = draw_failure();
    if (failed < 0) {
        sim_note("%llu us: %zu bytes at %llu: errno %d\n", (unsigned long long)(sim_now() / 1000),
                 bytes, (unsigned long long)offset, -failed);
        return failed;
    }
    if (offset >= file->size || bytes == 0) {
        sim_note("%llu us: %zu bytes at %llu: nothing\n", (unsigned long long)(sim_now() / 1000),
                 bytes, (unsigned long long)offset);
        return 0;
    }
    uint64_t count = bytes < file->size - offset ? bytes : file->size - offset;
    count = before_dead(file, offset, count, &failed);
    if (count > 1 && sim_chance(draw, disk.how.short_permille)) {
        count = 1 + sim_below(draw, (uint32_t)count);
        failed = 0;
    }
    sim_note("%llu us: %zu bytes at %llu: %llu\n", (unsigned long long)(sim_now() / 1000), bytes,
             (unsigned long long)offset, (unsigned long long)count);
    memcpy(to, file->bytes + offset, count);
    sim_excuse(count == 0 ? DEVICE_NS : 0);
    return count > 0 ? (ssize_t)count : failed;
}

static void disk_close(sl_handle *handle)
{
    handle->own = NULL;
    disk.handles--;
}

static int disk_real_path(const char *path, char *real)
{
    (void)snprintf(real, SL_PATH_BYTES, "%s", path);
    return 0;
}

static const sl_store disk_row = {.scheme = SIM_SCHEME,
                                  .stat = disk_stat,
                                  .list = disk_list,
                                  .open = disk_open,
                                  .facts = disk_facts,
                                  .read_at = disk_read_at,
                                  .close = disk_close,
                                  .real_path = disk_real_path};

const sl_store *const sl_stores[] = {&disk_row, &sl_store_local};
