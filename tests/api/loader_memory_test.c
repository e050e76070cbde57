/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that the steady state allocates nothing, neither through the library's counter nor
 * elsewhere (libjpeg, zstd, libc): this program replaces malloc and counts. Also checks a loader's
 * use of the machine: it works in little address space, and small files that are, or claim to be,
 * large images do not make it exceed its memory. */
#include "jpeg_make.h"
#include "loader_setup.h"
#include "png_make.h"
#include "test.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

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

enum { CLASSES = 4, PHOTOS = 80, ROWS_FEW = 8192, ROWS_MANY = 65536, ROW_SLOTS = 8 };
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

static void steady_state_of(sluice_loader *loader)
{
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

static void steady_state(const char *path, int32_t backend)
{
    sluice_loader_options options = setup_options();
    options.workers = 2;
    options.io_backend = backend;
    options.dtype = SLUICE_F32;
    options.layout = SLUICE_NCHW;
    steady_state_of(setup_loader(path, &options));
}

static void folder_allocates_nothing(void **state)
{
    steady_state(photos.path, SLUICE_IO_PREAD);
}

static void pack_photos(char packed[300])
{
    temporary_directory(packed, 300);
    sluice_dataset *dataset = setup_dataset(photos.path);
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sluice_pack(dataset, packed, NULL, NULL, &error), SLUICE_OK);
    sluice_dataset_close(dataset);
}

static void shards_allocate_nothing(void **state)
{
    char packed[300];
    pack_photos(packed);
    steady_state(packed, SLUICE_IO_PREAD);
    steady_state(packed, SLUICE_IO_AUTO);
    remove_tree(packed);
}

/* Depth maps and masks with a palette, interlaced or not, larger than their columns. */
static void masks_allocate_nothing(void **state)
{
    enum { MASKS = 24, SIDE = 90 };
    char folder[256];
    char path[400];
    temporary_directory(folder, sizeof(folder));
    (void)snprintf(path, sizeof(path), "%s/a", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    for (uint32_t i = 0; i < MASKS; i++) {
        png_options options = {.is_grey = true, .depth = 16, .interlaced = i % 2 == 1};
        if (i % 3 == 0) {
            options = (png_options){.colour = 3, .depth = 4};
        }
        png_file file = png_make(SIDE + i, SIDE + i % 5, i, &options);
        (void)snprintf(path, sizeof(path), "%s/a/%02u.png", folder, i);
        write_file(path, file.data, (uint32_t)file.size);
        png_make_free(&file);
    }
    sluice_columns *columns = NULL;
    sluice_column column = SLUICE_COLUMN_INIT;
    column.kind = SLUICE_COLUMN_TENSOR;
    column.field = "image";
    column.dtype = SLUICE_F32;
    column.part = SLUICE_PART_RANDOM;
    column.dims = 2;
    column.shape[0] = column.shape[1] = SIDE;
    assert_int_equal(sluice_columns_create(&columns), SLUICE_OK);
    assert_int_equal(sluice_columns_add(columns, &column), SLUICE_OK);
    sluice_loader_options options = setup_options();
    sluice_loader *loader = NULL;
    sluice_dataset *dataset = setup_dataset(folder);
    options.workers = 2;
    options.columns = columns;
    assert_int_equal(sluice_loader_open(&loader, dataset, NULL, &options, NULL), SLUICE_OK);
    sluice_dataset_close(dataset);
    sluice_columns_destroy(columns);
    steady_state_of(loader);
    remove_tree(folder);
}

/* Returns the memory that a loader with `batch` rows per slot reports, and the memory it requested
 * from the heap. */
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

/* Everything that grows with the rows is included in memory_bytes. */
static void tables_of_rows_are_counted(void **state)
{
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
    /* A row is one byte each of the tensor, index, mask and status; slabs are rounded up to 2
     * MiB. */
    const uint64_t slots = (uint64_t)(ROWS_MANY - ROWS_FEW) * ROW_SLOTS * (1 + 8 + 1 + 1);
    const uint64_t rounding = (uint64_t)4 << 20;
    assert_in_range(told[1] - told[0] - slots, heap[1] - heap[0] - rounding,
                    heap[1] - heap[0] + rounding);
    remove_tree(folder);
}

/* ---- of the machine ---- */

#define MIB (UINT64_C(1) << 20)
/* As include/sluice/loader.h states: enough for two workers, plus the memory not counted in
 * memory_bytes. */
#define ADDRESSES   (1024 * MIB)
#define NOT_COUNTED (8 * MIB)
/* The images below would need more than this. */
#define UNBOUNDED (48 * MIB)

enum { CROP = 224, SIDE = 3000, CLAIMED = 9000, KINDS = 7 };
enum { LESS, MORE, BROKEN };

/* Returns the exit code of a child that runs `run`. */
static int in_child(int (*run)(const char *path), const char *path)
{
    int result = 0;
    (void)fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(run(path));
    }
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFEXITED(result));
    return WEXITSTATUS(result);
}

static sluice_augment *whole_pictures(uint32_t size)
{
    sluice_augment *recipe;
    if (sluice_augment_create(&recipe) != SLUICE_OK ||
        sluice_augment_random_resized_crop(recipe, size, size, 1.0, 1.0, 1.0, 1.0) != SLUICE_OK) {
        abort();
    }
    return recipe;
}

/* Runs two epochs. Returns the number of rows that are not images, or -1 on failure. */
static int run_loader(const char *path, const sluice_loader_options *options, uint32_t size)
{
    int bad = 0;
    sluice_loader *loader;
    sluice_batch *batch;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_augment *recipe = whole_pictures(size);
    sluice_dataset *dataset = setup_dataset(path);
    sluice_status status = sluice_loader_open(&loader, dataset, recipe, options, &error);
    for (uint64_t epoch = 0; status >= 0 && epoch < 2; epoch++) {
        status = sluice_loader_start_epoch(loader, epoch);
        while (status == SLUICE_OK &&
               (status = sluice_loader_next(loader, &batch, -1)) == SLUICE_OK) {
            sluice_tensor mask = SLUICE_TENSOR_INIT;
            if (sluice_batch_tensor(batch, "mask", &mask) != SLUICE_OK) {
                abort();
            }
            for (uint32_t i = 0; i < sluice_batch_rows(batch); i++) {
                bad += ((const uint8_t *)mask.data)[i] == 0;
            }
            sluice_batch_release(batch);
        }
    }
    if (status != SLUICE_END) {
        (void)fprintf(stderr, "%s: %s\n", sluice_status_name(status), error.text);
    }
    sluice_loader_close(loader);
    sluice_dataset_close(dataset);
    sluice_augment_destroy(recipe);
    return status == SLUICE_END ? bad : -1;
}

static int run_in_few_addresses(const char *path)
{
    const struct rlimit limit = {ADDRESSES, ADDRESSES};
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    options.workers = 2;
    options.batch_size = PHOTOS / 2;
    return setrlimit(RLIMIT_AS, &limit) == 0 && run_loader(path, &options, CROP) == 0 ? 0 : 1;
}

static void a_gibibyte_of_addresses_is_enough(void **state)
{
    char packed[300];
    pack_photos(packed);
    assert_int_equal(in_child(run_in_few_addresses, photos.path), 0);
    assert_int_equal(in_child(run_in_few_addresses, packed), 0);
    remove_tree(packed);
}

static uint64_t peak_bytes(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)usage.ru_maxrss * 1024;
}

/* One colour, so that a large image is a small file. */
static jpeg_file make_plain(const jpeg_options *how)
{
    const size_t bytes = (size_t)SIDE * SIDE * jpeg_channels(how);
    uint8_t *pixels = malloc(bytes);
    if (pixels == NULL) {
        abort();
    }
    memset(pixels, 100, bytes);
    const jpeg_file file = jpeg_make(pixels, SIDE, SIDE, how);
    free(pixels);
    return file;
}

/* A small image whose header claims a large one. */
static jpeg_file make_claim(const jpeg_options *how)
{
    jpeg_file file = jpeg_make_pattern(200, 160, 1, how);
    for (size_t at = 2; at + 9 < file.size;) {
        const uint8_t marker = file.data[at + 1];
        if (marker >= 0xC0 && marker <= 0xC2) { /* SOF0, SOF1, SOF2 */
            const uint8_t side[] = {CLAIMED >> 8, CLAIMED & 255};
            memcpy(file.data + at + 5, side, sizeof(side));
            memcpy(file.data + at + 7, side, sizeof(side));
            return file;
        }
        at += 2 + ((size_t)file.data[at + 2] << 8 | file.data[at + 3]);
    }
    abort();
}

static void write_and_free(const char *folder, uint32_t number, jpeg_file *file)
{
    char path[400];
    (void)snprintf(path, sizeof(path), "%s/%02u.jpg", folder, number);
    write_file(path, file->data, (uint32_t)file->size);
    jpeg_free(file);
}

static void make_hostile(char folder[256])
{
    static const jpeg_options kinds[KINDS] = {{0},
                                              {.colour = JPEG_GREY, .restart_interval = 1},
                                              {.colour = JPEG_CMYK},
                                              {.separate_scans = true},
                                              {.progressive = true},
                                              {.progressive = true, .h_factor = 1, .v_factor = 1},
                                              {.progressive = true, .colour = JPEG_YCCK}};
    temporary_directory(folder, 256);
    for (uint32_t i = 0; i < KINDS; i++) {
        jpeg_file plain = make_plain(&kinds[i]);
        jpeg_file claim = make_claim(&kinds[i]);
        write_and_free(folder, 2 * i, &plain);
        write_and_free(folder, 2 * i + 1, &claim);
    }
}

static uint64_t given; /* memory_bytes of the next run; 0: all available */

static int run_with_limit(const char *path)
{
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    options.workers = 2;
    options.batch_size = 2 * KINDS;
    options.on_bad_sample = SLUICE_BAD_MASK;
    options.read_buffer_bytes = 2 * MIB;
    options.memory_bytes = given;
    const uint64_t before = peak_bytes();
    if (run_loader(path, &options, 64) < 0) {
        return BROKEN;
    }
    return peak_bytes() - before > (given > 0 ? given : UNBOUNDED) + NOT_COUNTED ? MORE : LESS;
}

static void pictures_do_not_pass_the_limit(void **state)
{
    static const uint64_t limits[] = {12 * MIB, 16 * MIB, 32 * MIB, UNBOUNDED};
    char hostile[256];
    make_hostile(hostile);
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        given = limits[i];
        assert_int_equal(in_child(run_with_limit, hostile), LESS);
    }
    given = 0; /* without a limit, they use more */
    assert_int_equal(in_child(run_with_limit, hostile), MORE);
    remove_tree(hostile);
}

int main(void)
{
    if (!COUNTED) {
        printf("skipped: sanitizers replace malloc themselves\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        /* first: address space that malloc reserved for threads of other tests stays in use */
        cmocka_unit_test(a_gibibyte_of_addresses_is_enough),
        cmocka_unit_test(folder_allocates_nothing),
        cmocka_unit_test(shards_allocate_nothing),
        cmocka_unit_test(masks_allocate_nothing),
        cmocka_unit_test(tables_of_rows_are_counted),
        cmocka_unit_test(pictures_do_not_pass_the_limit),
    };
    photo_folder_make(&photos, CLASSES, PHOTOS / CLASSES);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    photo_folder_remove(&photos);
    return failed;
}
