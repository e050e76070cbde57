/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_loader: runs whole epochs through a loader with batches on the device. Every batch of every
 * dtype and layout must equal that of a loader with host memory, byte for byte, also in the
 * caller's own memory, and while a second loader with another order and dtype uses the same device.
 * An interposed layer counts how often the consumer's driver calls wait for the device: never. */
#include "gpu.h"
#include "loader_setup.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OUTPUTS = 3, PER_CLASS = 40 };

/* ---- calls that wait for the device, by thread ---- */

static _Thread_local bool is_consumer;
static atomic_ullong consumer_waits, other_waits;
static sl_cuda_driver counted;
static const sl_cuda_driver *real;

const sl_cuda_driver *__real_sl_cuda_driver_get(sluice_error *error);
const sl_cuda_driver *__wrap_sl_cuda_driver_get(sluice_error *error);

/* Relaxed: read after the threads that count have been joined. */
static void count(void)
{
    atomic_fetch_add_explicit(is_consumer ? &consumer_waits : &other_waits, 1,
                              memory_order_relaxed);
}

static sl_cu_result stream_synchronize(sl_cu_stream stream)
{
    count();
    return real->stream_synchronize(stream);
}

static sl_cu_result event_synchronize(sl_cu_event event)
{
    count();
    return real->event_synchronize(event);
}

/* These calls wait for the device, or may. */
static sl_cu_result memory_alloc(sl_cu_address *memory, size_t bytes)
{
    count();
    return real->memory_alloc(memory, bytes);
}

static sl_cu_result memory_free(sl_cu_address memory)
{
    count();
    return real->memory_free(memory);
}

static sl_cu_result host_register(void *memory, size_t bytes, unsigned flags)
{
    count();
    return real->host_register(memory, bytes, flags);
}

static sl_cu_result module_load(sl_cu_module *module, const void *image)
{
    count();
    return real->module_load(module, image);
}

const sl_cuda_driver *__wrap_sl_cuda_driver_get(sluice_error *error)
{
    const sl_cuda_driver *driver = __real_sl_cuda_driver_get(error);
    if (driver == NULL) {
        return NULL;
    }
    if (real == NULL) { /* main makes the first call, before threads start */
        counted = *driver;
        counted.stream_synchronize = stream_synchronize;
        counted.event_synchronize = event_synchronize;
        counted.memory_alloc = memory_alloc;
        counted.memory_free = memory_free;
        counted.host_register = host_register;
        counted.module_load = module_load;
        real = driver;
    }
    return &counted;
}

/* ---- comparison ---- */

static const char *const fields[] = {"image", "label", "index", "mask", "status"};

static uint64_t field_bytes_wrong(const gpu *g, const sluice_batch *ours, const sluice_batch *host,
                                  const char *field)
{
    sluice_tensor a = SLUICE_TENSOR_INIT;
    sluice_tensor b = SLUICE_TENSOR_INIT;
    uint64_t wrong = 0;
    if (sluice_batch_tensor(ours, field, &a) != SLUICE_OK ||
        sluice_batch_tensor(host, field, &b) != SLUICE_OK || a.size_bytes != b.size_bytes ||
        a.dtype != b.dtype || a.device_type != SLUICE_DEVICE_TYPE_CUDA) {
        gpu_die("the tensors of \"%s\" differ in kind", field);
    }
    uint8_t *got = malloc(a.size_bytes);
    if (got == NULL) {
        gpu_die("out of memory");
    }
    gpu_download(g, got, (sl_cu_address)(uintptr_t)a.data, a.size_bytes);
    for (uint64_t i = 0; i < a.size_bytes; i++) {
        wrong += got[i] != ((const uint8_t *)b.data)[i];
    }
    free(got);
    return wrong;
}

typedef struct pair {
    sluice_loader *ours, *host;
    uint64_t batches, wrong;
    const sl_cu_address *outputs; /* or NULL */
} pair;

static bool is_output(const pair *p, const sluice_batch *batch)
{
    sluice_tensor image = SLUICE_TENSOR_INIT;
    sluice_batch_tensor(batch, "image", &image);
    for (int i = 0; i < OUTPUTS; i++) {
        if (p->outputs[i] == (sl_cu_address)(uintptr_t)image.data) {
            return true;
        }
    }
    return false;
}

static bool compare_next(const gpu *g, pair *p)
{
    sluice_batch *ours = NULL;
    sluice_batch *host = NULL;
    is_consumer = true;
    const sluice_status status = sluice_loader_next(p->ours, &ours, -1);
    if (status == SLUICE_OK && sluice_batch_wait(ours, g->stream) != SLUICE_OK) {
        gpu_die("the stream cannot wait for a batch");
    }
    is_consumer = false;
    if (sluice_loader_next(p->host, &host, -1) != status) {
        gpu_die("one loader ends before the other: %s", sluice_status_name(status));
    }
    if (status != SLUICE_OK) {
        gpu_expect(status == SLUICE_END, "the epoch ends with %s", sluice_status_name(status));
        return false;
    }
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        p->wrong += field_bytes_wrong(g, ours, host, fields[i]);
    }
    gpu_expect(p->outputs == NULL || is_output(p, ours), "a batch is not in the memory given");
    is_consumer = true;
    if (sluice_batch_release_on(ours, g->stream) != SLUICE_OK) {
        gpu_die("a batch cannot be released");
    }
    is_consumer = false;
    sluice_batch_release(host);
    p->batches++;
    return true;
}

/* Two loaders with the same options, one of them on the device. */
static void pair_open(pair *p, const char *path, sluice_loader_options *options)
{
    void *blocks[OUTPUTS];
    options->device = "host";
    p->host = setup_loader(path, options);
    for (int i = 0; i < OUTPUTS && p->outputs != NULL; i++) {
        blocks[i] = (void *)(uintptr_t)p->outputs[i]; /* NOLINT(performance-no-int-to-ptr) */
    }
    options->device = "cuda:0";
    options->outputs = p->outputs != NULL ? blocks : NULL;
    options->output_count = p->outputs != NULL ? OUTPUTS : 0;
    p->ours = setup_loader(path, options);
    options->outputs = NULL;
    options->output_count = 0;
}

static void pair_start(const pair *p, uint64_t epoch)
{
    if (sluice_loader_start_epoch(p->ours, epoch) != SLUICE_OK ||
        sluice_loader_start_epoch(p->host, epoch) != SLUICE_OK) {
        gpu_die("an epoch does not start");
    }
}

static void pair_close(const pair *p, const sluice_loader_options *options, const char *how)
{
    sluice_loader_close(p->ours);
    sluice_loader_close(p->host);
    gpu_expect(p->wrong == 0 && p->batches > 0,
               "dtype %d, layout %d%s: %llu bytes of %llu batches are wrong", options->dtype,
               options->layout, how, (unsigned long long)p->wrong, (unsigned long long)p->batches);
}

static void compare(const gpu *g, const char *path, sluice_loader_options *options,
                    const sl_cu_address *outputs)
{
    pair p = {.outputs = outputs};
    pair_open(&p, path, options);
    for (uint64_t epoch = 0; epoch < 2; epoch++) {
        pair_start(&p, epoch);
        while (compare_next(g, &p)) {
        }
    }
    pair_close(&p, options, outputs != NULL ? ", own memory" : "");
}

/* Each loader gives the same as alone, which equals the host's. */
static void compare_two(const gpu *g, const char *path)
{
    sluice_loader_options options[2] = {setup_options(), setup_options()};
    pair pairs[2] = {{.outputs = NULL}, {.outputs = NULL}};
    options[0].dtype = SLUICE_F16;
    options[0].layout = SLUICE_NCHW;
    options[1].dtype = SLUICE_F32;
    options[1].layout = SLUICE_NHWC;
    options[1].seed += 1;
    options[1].batch_size += 3;
    for (int i = 0; i < 2; i++) {
        pair_open(&pairs[i], path, &options[i]);
    }
    for (uint64_t epoch = 0; epoch < 3; epoch++) {
        bool more[2] = {true, true};
        pair_start(&pairs[0], epoch);
        pair_start(&pairs[1], epoch);
        while (more[0] || more[1]) {
            for (int i = 0; i < 2; i++) {
                more[i] = more[i] && compare_next(g, &pairs[i]);
            }
        }
    }
    pair_close(&pairs[0], &options[0], ", beside another loader");
    pair_close(&pairs[1], &options[1], ", beside another loader");
    gpu_figure("two_loaders_batches", (double)(pairs[0].batches + pairs[1].batches), "batches");
}

static void compare_all(const gpu *g, const char *path)
{
    static const sluice_dtype dtypes[] = {SLUICE_U8, SLUICE_F32, SLUICE_F16, SLUICE_BF16};
    sluice_loader_options options = setup_options();
    const size_t batch_bytes = (size_t)options.batch_size * SETUP_SIZE * SETUP_SIZE * 3 * 4;
    sl_cu_address outputs[OUTPUTS];
    for (int i = 0; i < OUTPUTS; i++) {
        outputs[i] = gpu_alloc(g, batch_bytes);
    }
    for (size_t i = 0; i < sizeof(dtypes) / sizeof(dtypes[0]); i++) {
        options.dtype = (int32_t)dtypes[i];
        for (options.layout = SLUICE_NHWC; options.layout <= SLUICE_NCHW; options.layout++) {
            compare(g, path, &options, NULL);
            if (g->device->converts) {
                compare(g, path, &options, outputs);
            }
        }
    }
    for (int i = 0; i < OUTPUTS; i++) {
        gpu_free(g, outputs[i]);
    }
}

/* A kernel that wrote there would end the process. */
static void refuse_host_memory(const char *path)
{
    sluice_loader_options options = setup_options();
    static _Alignas(256) uint8_t host[OUTPUTS][8 * SETUP_SIZE * SETUP_SIZE * 3];
    void *blocks[OUTPUTS];
    for (int i = 0; i < OUTPUTS; i++) {
        blocks[i] = host[i];
    }
    sluice_loader *loader = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    options.device = "cuda:0";
    options.outputs = blocks;
    options.output_count = OUTPUTS;
    const sluice_status status = setup_loader_status(&loader, path, &options, &error);
    gpu_expect(status == SLUICE_INVALID, "outputs in host memory: %s, \"%s\"",
               sluice_status_name(status), error.text);
    sluice_loader_close(loader);
}

int main(void)
{
    gpu g;
    photo_folder folder;
    gpu_open(&g);
    photo_folder_make(&folder, 2, PER_CLASS);
    compare_all(&g, folder.path);
    compare_two(&g, folder.path);
    if (g.device->converts) {
        refuse_host_memory(folder.path);
    }
    photo_folder_remove(&folder);
    const double waits = (double)atomic_load_explicit(&consumer_waits, memory_order_relaxed);
    gpu_figure("consumer_waits_for_device", waits, "calls");
    gpu_figure("other_waits_for_device",
               (double)atomic_load_explicit(&other_waits, memory_order_relaxed), "calls");
    gpu_expect(waits == 0, "next, wait and release_on waited for the device %.0f times", waits);
    gpu_close(&g);
    return gpu_result();
}
