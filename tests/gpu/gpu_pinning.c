/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_pinning: tests memory for both the device and the kernel's I/O. A slab of ours is registered
 * with CUDA, then with io_uring; a file is read into it by a fixed-buffer read, copied to the
 * device and back, and compared. The same for the driver's own memory, which io_uring may reject:
 * that is reported, not a failure, and so is a limit of locked memory. Prints the cost of
 * pinning. */
#include "clock.h"
#include "gpu.h"
#include "slab.h"

#include <errno.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

enum { READ_BYTES = 1 << 20, PART_BYTES = 4 << 20 };

/* Opens an unnamed file of random bytes, and stores them in `contents`. */
static int make_file(uint8_t *contents)
{
    uint64_t seed = 5;
    char path[] = "gpu_pinning.XXXXXX";
    for (size_t i = 0; i < READ_BYTES; i++) {
        contents[i] = (uint8_t)gpu_random(&seed);
    }
    const char *folder = getenv("TMPDIR");
    if (chdir(folder != NULL ? folder : "/tmp") != 0) {
        gpu_die("no folder for a temporary file");
    }
    const int file = mkstemp(path);
    if (file < 0 || unlink(path) != 0 || write(file, contents, READ_BYTES) != READ_BYTES) {
        gpu_die("a temporary file cannot be written");
    }
    return file;
}

/* Registers `memory` with the ring and reads the file into it. Returns 0 or an errno. */
static int read_fixed(struct io_uring *ring, int file, uint8_t *memory, size_t bytes)
{
    const struct iovec range = {memory, bytes};
    struct io_uring_cqe *done;
    int code = io_uring_register_buffers(ring, &range, 1);
    if (code != 0) {
        return -code;
    }
    struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
    io_uring_prep_read_fixed(sqe, file, memory, READ_BYTES, 0, 0);
    code = io_uring_submit_and_wait(ring, 1);
    if (code == 1) {
        code = io_uring_wait_cqe(ring, &done);
    }
    if (code == 0) {
        code = done->res == READ_BYTES ? 0 : -EIO;
        io_uring_cqe_seen(ring, done);
    }
    io_uring_unregister_buffers(ring);
    return -code;
}

/* True if the device sees the data that the ring read. */
static bool device_agrees(const gpu *g, const uint8_t *memory, const uint8_t *contents)
{
    uint8_t *back = malloc(READ_BYTES);
    const sl_cu_address copy = gpu_alloc(g, READ_BYTES);
    if (back == NULL) {
        gpu_die("out of memory");
    }
    gpu_upload(g, copy, memory, READ_BYTES);
    gpu_download(g, back, copy, READ_BYTES);
    const bool same = memcmp(back, contents, READ_BYTES) == 0;
    gpu_free(g, copy);
    free(back);
    return same;
}

typedef struct reading {
    struct io_uring ring;
    bool ready;
    int refusal; /* the latest errno */
    int file;
    uint8_t *contents;
} reading;

/* 1: works, 0: rejected; any data read is compared on the device. */
static int try_reading(const gpu *g, reading *r, uint8_t *memory, size_t bytes, const char *what)
{
    if (!r->ready) {
        return 0;
    }
    const int code = read_fixed(&r->ring, r->file, memory, bytes);
    r->refusal = code;
    if (code != 0) {
        printf("note: io_uring and %s: %s\n", what, strerror(code));
        return 0;
    }
    gpu_expect(device_agrees(g, memory, r->contents),
               "the device does not see the bytes read into %s", what);
    return 1;
}

/* Reports a time as ms per GiB. */
static double ms_per_gib(uint64_t ns, size_t bytes)
{
    return (double)ns * 1e-6 * 1024 * (double)MIB / (double)bytes;
}

static void check_slab(const gpu *g, reading *r, size_t bytes)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sl_slab slab;
    const uint64_t begin = sl_now_ns();
    if (sl_slab_open(&slab, bytes, NULL, &error) != SLUICE_OK) {
        gpu_die("%s", error.text);
    }
    const uint64_t touched = sl_now_ns();
    if (g->device->ops->slab_register(g->device, &slab, &error) != SLUICE_OK) {
        gpu_die("%s", error.text);
    }
    const uint64_t registered = sl_now_ns();
    printf("note: the slab is pinned as \"%s\"\n", g->device->pinning);
    gpu_figure("slab_touch_per_GiB", ms_per_gib(touched - begin, bytes), "ms");
    gpu_figure("slab_register_per_GiB", ms_per_gib(registered - touched, bytes), "ms");
    const bool ours = strcmp(g->device->pinning, "registered") == 0;
    gpu_figure("slab_is_registered", ours, "yes/no");
    /* Registers a part first: the limit on registered memory is the user's, not the memory's. */
    const int works = try_reading(g, r, slab.base, PART_BYTES, "the slab");
    const bool limited = r->refusal == ENOMEM; /* RLIMIT_MEMLOCK */
    gpu_figure("slab_in_io_uring", works, "yes/no");
    gpu_figure("whole_slab_in_io_uring", try_reading(g, r, slab.base, slab.bytes, "the whole slab"),
               "yes/no");
    gpu_expect(!ours || works == 1 || !r->ready || limited, "io_uring refuses the registered slab");
    g->device->ops->slab_unregister(g->device, &slab);
    sl_slab_close(&slab);
}

static void check_driver_memory(const gpu *g, reading *r, size_t bytes)
{
    void *memory = NULL;
    const uint64_t begin = sl_now_ns();
    if (g->cu->host_alloc(&memory, bytes, SL_CU_HOST_ALLOC_PORTABLE) != SL_CU_SUCCESS) {
        printf("note: the driver gives no pinned memory\n");
        return;
    }
    gpu_figure("driver_alloc_per_GiB", ms_per_gib(sl_now_ns() - begin, bytes), "ms");
    gpu_figure("driver_memory_in_io_uring",
               try_reading(g, r, memory, PART_BYTES, "the driver's memory"), "yes/no");
    GPU_MUST(g, host_free, memory);
}

int main(void)
{
    gpu g;
    gpu_open(&g);
    reading r = {.contents = malloc(READ_BYTES)};
    if (r.contents == NULL) {
        gpu_die("out of memory");
    }
    const int code = io_uring_queue_init(4, &r.ring, 0);
    r.ready = code == 0;
    if (!r.ready) {
        printf("note: no io_uring here: %s\n", strerror(-code));
    }
    r.file = make_file(r.contents);
    check_slab(&g, &r, 256 * MIB);
    check_driver_memory(&g, &r, 256 * MIB);
    if (r.ready) {
        io_uring_queue_exit(&r.ring);
    }
    close(r.file);
    free(r.contents);
    gpu_close(&g);
    return gpu_result();
}
