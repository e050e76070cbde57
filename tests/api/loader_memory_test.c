/* SPDX-License-Identifier: Apache-2.0 */
/* Steady state allocates nothing: not through the library's counter, and not behind its back
 * (libjpeg, zstd, libc), since this program replaces malloc and counts. */
#include "loader_setup.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#    define SANITIZED 1
#else
#    define SANITIZED 0
#endif

static _Atomic uint64_t heap_calls, heap_bytes;

#if !SANITIZED && defined(__GLIBC__)
#    define COUNTED 1

/* glibc's own entry points, for programs that replace malloc. */
extern void *__libc_malloc(size_t bytes);                 /* NOLINT */
extern void *__libc_calloc(size_t count, size_t bytes);   /* NOLINT */
extern void *__libc_realloc(void *memory, size_t bytes);  /* NOLINT */
extern void *__libc_memalign(size_t align, size_t bytes); /* NOLINT */

static void count(size_t bytes)
{
    atomic_fetch_add_explicit(&heap_calls, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&heap_bytes, bytes, memory_order_relaxed);
}

void *malloc(size_t bytes)
{
    count(bytes);
    return __libc_malloc(bytes);
}

void *calloc(size_t number, size_t bytes)
{
    count(number * bytes);
    return __libc_calloc(number, bytes);
}

void *realloc(void *memory, size_t bytes)
{
    count(bytes);
    return __libc_realloc(memory, bytes);
}

void *aligned_alloc(size_t align, size_t bytes)
{
    count(bytes);
    return __libc_memalign(align, bytes);
}

int posix_memalign(void **memory, size_t align, size_t bytes)
{
    count(bytes);
    *memory = __libc_memalign(align, bytes);
    return *memory == NULL ? ENOMEM : 0;
}
#else
#    define COUNTED 0
#endif

enum { ROWS_FEW = 8192, ROWS_MANY = 65536, ROW_SLOTS = 8 };
#define EPOCHS_WARM 2
#define EPOCHS      6

static photo_folder photos;

static void run_epoch(sluice_loader *loader, uint64_t epoch)
{
    assert_int_equal(sluice_loader_start_epoch(loader, epoch), SLUICE_OK);
    sluice_batch *batch;
    while (sluice_loader_next(loader, &batch, -1) == SLUICE_OK) {
        sluice_batch_release(batch);
    }
}

static uint64_t library_allocations(sluice_loader *loader)
{
    sluice_loader_stats stats = {.struct_size = sizeof(stats)};
    assert_int_equal(sluice_loader_get_stats(loader, &stats), SLUICE_OK);
    return stats.allocations;
}

static void steady_state(const char *path, int32_t backend)
{
    sluice_loader_options options = setup_options();
    options.workers = 2;
    options.io_backend = backend;
    options.dtype = SLUICE_F32;
    options.layout = SLUICE_NCHW;
    sluice_loader *loader = setup_loader(path, &options);
    for (uint64_t epoch = 0; epoch < EPOCHS_WARM; epoch++) {
        run_epoch(loader, epoch);
    }
    const uint64_t library = library_allocations(loader);
    const uint64_t heap = atomic_load_explicit(&heap_calls, memory_order_relaxed);
    for (uint64_t epoch = EPOCHS_WARM; epoch < EPOCHS; epoch++) {
        run_epoch(loader, epoch);
    }
    assert_int_equal(library_allocations(loader), library);
    assert_int_equal(atomic_load_explicit(&heap_calls, memory_order_relaxed), heap);
    sluice_loader_close(loader);
}

static void folder_allocates_nothing(void **state)
{
    (void)state;
    steady_state(photos.path, SLUICE_IO_PREAD);
}

static void shards_allocate_nothing(void **state)
{
    (void)state;
    char packed[300];
    temporary_directory(packed, sizeof(packed));
    sluice_dataset *dataset = setup_dataset(photos.path);
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sluice_pack(dataset, packed, NULL, NULL, &error), SLUICE_OK);
    sluice_dataset_close(dataset);
    steady_state(packed, SLUICE_IO_PREAD);
    steady_state(packed, SLUICE_IO_AUTO);
    remove_tree(packed);
}

/* What a loader of `batch` rows a slot says that it takes, and what it asked of the heap. */
static void open_rows(const char *path, uint32_t batch, uint64_t *told, uint64_t *heap)
{
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    options.batch_size = batch;
    options.prefetch = ROW_SLOTS;
    options.resident_bytes = 1;
    options.workers = 1;
    const uint64_t before = atomic_load_explicit(&heap_bytes, memory_order_relaxed);
    sluice_loader *loader = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_field field = SLUICE_FIELD_INIT;
    field.type = SLUICE_FIELD_TENSOR;
    field.dims = 1;
    field.shape[0] = 1;
    const sluice_dataset_options flat = {.struct_size = sizeof(flat), .flat = &field};
    sluice_dataset *dataset = NULL;
    assert_int_equal(sluice_dataset_open(&dataset, &path, 1, &flat, &error), SLUICE_OK);
    assert_int_equal(sluice_loader_open(&loader, dataset, NULL, &options, &error), SLUICE_OK);
    *heap = atomic_load_explicit(&heap_bytes, memory_order_relaxed) - before;
    sluice_loader_stats stats = SLUICE_LOADER_STATS_INIT;
    assert_int_equal(sluice_loader_get_stats(loader, &stats), SLUICE_OK);
    *told = stats.memory_bytes;
    sluice_loader_close(loader);
    options.memory_bytes = *told;
    assert_int_equal(sluice_loader_open(&loader, dataset, NULL, &options, &error), SLUICE_OK);
    sluice_loader_close(loader);
    options.memory_bytes = *told - 1;
    assert_int_equal(sluice_loader_open(&loader, dataset, NULL, &options, &error), SLUICE_NOMEM);
    sluice_dataset_close(dataset);
}

/* All that grows with the rows is in memory_bytes. */
static void tables_of_rows_are_counted(void **state)
{
    (void)state;
    static const uint8_t data[ROWS_MANY];
    char folder[256];
    char path[300];
    uint64_t told[2];
    uint64_t heap[2];
    temporary_directory(folder, sizeof(folder));
    (void)snprintf(path, sizeof(path), "%s/bytes", folder);
    write_file(path, data, sizeof(data));
    open_rows(path, ROWS_FEW, &told[0], &heap[0]);
    open_rows(path, ROWS_MANY, &told[1], &heap[1]);
    /* A row is a byte of the tensor, index, mask and status; slabs are rounded up to 2 MiB. */
    const uint64_t slots = (uint64_t)(ROWS_MANY - ROWS_FEW) * ROW_SLOTS * (1 + 8 + 1 + 1);
    const uint64_t rounding = (uint64_t)4 << 20;
    assert_in_range(told[1] - told[0] - slots, heap[1] - heap[0] - rounding,
                    heap[1] - heap[0] + rounding);
    remove_tree(folder);
}

int main(void)
{
    if (!COUNTED) {
        printf("skipped: sanitizers replace malloc themselves\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folder_allocates_nothing),
        cmocka_unit_test(shards_allocate_nothing),
        cmocka_unit_test(tables_of_rows_are_counted),
    };
    photo_folder_make(&photos, 4, 20);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    photo_folder_remove(&photos);
    return failed;
}
