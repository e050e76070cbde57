/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_training: batches in GPU memory, and a training step that never makes the host wait for
 * them.
 *
 *     cuda_training [--graph] [--epochs N] [--batch N] [--repeat N] DATASET
 *
 * The "training" is a kernel that sums the mean of every class. Note the order of calls in train():
 * next, wait, kernel, release_on. None of them waits for the GPU: the device keeps the order, so
 * the host can queue the next step.
 *
 * --graph replays the step as a CUDA graph. A graph stores addresses, so images must arrive at the
 * same ones repeatedly: the program passes its own memory to the loader (options.outputs), and
 * makes one graph for each block of it. Labels are copied to a fixed address. Waiting for a batch
 * and releasing it stay outside the graph.
 *
 * --repeat reads each image that many times, in one kernel, as a larger model would. Under `sluice
 * idle`, the program reports when it waited for data, so that causes of idle time can be separated.
 *
 * Like the library, the program opens the CUDA driver at run time, so it builds without a CUDA
 * toolkit. Your programs include cuda.h or use the CUDA runtime: sluice_batch_wait takes a
 * cudaStream_t. Exit code 77: no CUDA device is available.
 */
#include <dlfcn.h>
#include <sluice/sluice.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SIDE = 224, VALUES = 3 * SIDE * SIDE, CLASSES = 1000, OUTPUTS = 3, EXIT_NO_GPU = 77 };

/* ---- the step: one block of threads sums one image, `laps` times ---- */

static const char step_ptx[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry class_means(.param .u64 images, .param .u64 labels, .param .u64 sums,\n"
    "                            .param .u64 counts, .param .u32 values, .param .u32 classes,\n"
    "                            .param .u32 laps)\n"
    "{\n"
    "  .reg .pred %p; .reg .b16 %h; .reg .f32 %v, %sum, %n; .reg .b32 %i, %row, %end, %step;\n"
    "  .reg .b32 %lap;\n"
    "  .reg .b64 %at, %label, %classes, %wide;\n"
    "  mov.u32 %row, %ctaid.x;\n"
    "  ld.param.u64 %at, [labels];\n"
    "  mul.wide.u32 %wide, %row, 8;\n"
    "  add.s64 %at, %at, %wide;\n"
    "  ld.global.u64 %label, [%at];\n"
    "  ld.param.u32 %end, [classes];\n"
    "  cvt.u64.u32 %classes, %end;\n"
    "  setp.ge.u64 %p, %label, %classes;\n" /* -1, a row to skip, is a large number here */
    "  @%p bra DONE;\n"
    "  ld.param.u32 %end, [values];\n"
    "  ld.param.u64 %at, [images];\n"
    "  mul.wide.u32 %wide, %row, %end;\n"
    "  shl.b64 %wide, %wide, 1;\n"
    "  add.s64 %at, %at, %wide;\n" /* the first value of this row's image */
    "  mov.u32 %step, %ntid.x;\n"
    "  mov.f32 %sum, 0f00000000;\n"
    "  ld.param.u32 %lap, [laps];\n"
    "LAP:\n"
    "  mov.u32 %i, %tid.x;\n"
    "NEXT:\n"
    "  setp.ge.u32 %p, %i, %end;\n"
    "  @%p bra LAPPED;\n"
    "  mul.wide.u32 %wide, %i, 2;\n"
    "  add.s64 %wide, %at, %wide;\n"
    "  ld.global.b16 %h, [%wide];\n"
    "  cvt.f32.f16 %v, %h;\n"
    "  add.f32 %sum, %sum, %v;\n"
    "  add.u32 %i, %i, %step;\n"
    "  bra NEXT;\n"
    "LAPPED:\n"
    "  sub.u32 %lap, %lap, 1;\n"
    "  setp.ne.u32 %p, %lap, 0;\n"
    "  @%p bra LAP;\n"
    "  cvt.rn.f32.u32 %n, %end;\n"
    "  div.rn.f32 %sum, %sum, %n;\n"
    "  ld.param.u32 %lap, [laps];\n"
    "  cvt.rn.f32.u32 %n, %lap;\n"
    "  div.rn.f32 %sum, %sum, %n;\n"
    "  shl.b64 %label, %label, 2;\n"
    "  ld.param.u64 %at, [sums];\n"
    "  add.s64 %at, %at, %label;\n"
    "  red.global.add.f32 [%at], %sum;\n"
    "  mov.u32 %i, %tid.x;\n"
    "  setp.ne.u32 %p, %i, 0;\n"
    "  @%p bra DONE;\n"
    "  ld.param.u64 %at, [counts];\n"
    "  add.s64 %at, %at, %label;\n"
    "  red.global.add.u32 [%at], 1;\n"
    "DONE:\n"
    "  ret;\n"
    "}\n";

/* ---- the driver: what cuda.h would declare ---- */

typedef struct CUstream_st *stream;
typedef unsigned long long address;

#define DRIVER(X)                                                                             \
    X(cuInit, (unsigned flags))                                                               \
    X(cuDeviceGet, (int *device, int number))                                                 \
    X(cuDevicePrimaryCtxRetain, (void **context, int device))                                 \
    X(cuDevicePrimaryCtxRelease_v2, (int device))                                             \
    X(cuCtxSetCurrent, (void *context))                                                       \
    X(cuModuleLoadData, (void **module, const void *image))                                   \
    X(cuModuleGetFunction, (void **function, void *module, const char *name))                 \
    X(cuStreamCreateWithPriority, (stream * created, unsigned flags, int priority))           \
    X(cuStreamSynchronize, (stream of))                                                       \
    X(cuStreamDestroy_v2, (stream of))                                                        \
    X(cuMemAlloc_v2, (address * memory, size_t bytes))                                        \
    X(cuMemFree_v2, (address memory))                                                         \
    X(cuMemsetD8Async, (address memory, unsigned char value, size_t bytes, stream on))        \
    X(cuMemcpyDtoHAsync_v2, (void *to, address from, size_t bytes, stream on))                \
    X(cuLaunchKernel, (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,     \
                       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared, \
                       stream on, void **parameters, void **extra))

#define DRIVER_OF_GRAPHS(X)                                                              \
    X(cuMemcpyDtoDAsync_v2, (address to, address from, size_t bytes, stream on))         \
    X(cuStreamBeginCapture_v2, (stream on, int mode))                                    \
    X(cuStreamEndCapture, (stream on, void **graph))                                     \
    X(cuGraphInstantiateWithFlags, (void **made, void *graph, unsigned long long flags)) \
    X(cuGraphLaunch, (void *made, stream on))                                            \
    X(cuGraphDestroy, (void *graph))                                                     \
    X(cuGraphExecDestroy, (void *made))

static struct {
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a name and a list, not values */
#define FIELD(name, parameters) int(*name) parameters;
    DRIVER(FIELD) DRIVER_OF_GRAPHS(FIELD)
#undef FIELD
} cu;

/* Reports a failed call; returns true if `code` is 0. */
static bool ok(const char *call, int code)
{
    if (code != 0) {
        fprintf(stderr, "%s: CUDA error %d\n", call, code);
    }
    return code == 0;
}

static bool find(void *library, const char *name, void *place)
{
    void *found = dlsym(library, name);
    memcpy(place, &found, sizeof(found));
    if (found == NULL) {
        fprintf(stderr, "the CUDA driver lacks %s\n", name);
    }
    return found != NULL;
}

static bool open_driver(bool graphs)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    bool all = library != NULL;
#define FIND(name, parameters) all = all && find(library, #name, &cu.name);
    DRIVER(FIND)
    if (graphs) {
        DRIVER_OF_GRAPHS(FIND)
    }
#undef FIND
    return all;
}

/* ---- the model and its memory ---- */

typedef struct model {
    bool graphs;
    uint32_t batch, repeat;
    int device;
    stream stream;
    void *context, *module, *step;
    address sums, counts;     /* CLASSES floats, CLASSES 32-bit numbers */
    address labels;           /* of one batch, for graphs */
    address outputs[OUTPUTS]; /* images of one batch each, for graphs */
    void *replay[OUTPUTS];    /* a graph for each of them */
} model;

static bool launch_step(const model *m, address images, address labels, uint32_t rows)
{
    address sums = m->sums;
    address counts = m->counts;
    uint32_t values = VALUES;
    uint32_t classes = CLASSES;
    uint32_t laps = m->repeat;
    void *parameters[] = {&images, &labels, &sums, &counts, &values, &classes, &laps};
    return ok("cuLaunchKernel",
              cu.cuLaunchKernel(m->step, rows, 1, 1, 256, 1, 1, 0, m->stream, parameters, NULL));
}

static bool allocate(address *memory, size_t bytes)
{
    return ok("cuMemAlloc", cu.cuMemAlloc_v2(memory, bytes));
}

static bool open_model(model *m)
{
    return open_driver(m->graphs) && ok("cuInit", cu.cuInit(0)) &&
           ok("cuDeviceGet", cu.cuDeviceGet(&m->device, 0)) &&
           ok("cuDevicePrimaryCtxRetain", cu.cuDevicePrimaryCtxRetain(&m->context, m->device)) &&
           ok("cuCtxSetCurrent", cu.cuCtxSetCurrent(m->context)) &&
           ok("cuModuleLoadData", cu.cuModuleLoadData(&m->module, step_ptx)) &&
           ok("cuModuleGetFunction", cu.cuModuleGetFunction(&m->step, m->module, "class_means")) &&
           ok("cuStreamCreate", cu.cuStreamCreateWithPriority(&m->stream, 1, 0)) &&
           allocate(&m->sums, CLASSES * sizeof(float)) &&
           allocate(&m->counts, CLASSES * sizeof(uint32_t)) &&
           ok("cuMemsetD8", cu.cuMemsetD8Async(m->sums, 0, CLASSES * sizeof(float), m->stream)) &&
           ok("cuMemsetD8",
              cu.cuMemsetD8Async(m->counts, 0, CLASSES * sizeof(uint32_t), m->stream));
}

static bool capture_step(model *m, uint32_t output)
{
    void *graph = NULL;
    enum { RELAXED = 2 };
    const bool captured =
        allocate(&m->outputs[output], (size_t)m->batch * VALUES * 2) &&
        ok("cuStreamBeginCapture", cu.cuStreamBeginCapture_v2(m->stream, RELAXED)) &&
        launch_step(m, m->outputs[output], m->labels, m->batch) &&
        ok("cuStreamEndCapture", cu.cuStreamEndCapture(m->stream, &graph)) &&
        ok("cuGraphInstantiate", cu.cuGraphInstantiateWithFlags(&m->replay[output], graph, 0));
    if (graph != NULL) {
        (void)cu.cuGraphDestroy(graph);
    }
    return captured;
}

static bool capture_steps(model *m)
{
    bool captured = allocate(&m->labels, m->batch * sizeof(int64_t));
    for (uint32_t i = 0; i < OUTPUTS && captured; i++) {
        captured = capture_step(m, i);
    }
    return captured;
}

static void close_model(model *m)
{
    if (m->stream == NULL) {
        return;
    }
    (void)cu.cuStreamSynchronize(m->stream);
    for (uint32_t i = 0; i < OUTPUTS; i++) {
        if (m->replay[i] != NULL) {
            (void)cu.cuGraphExecDestroy(m->replay[i]);
        }
        if (m->outputs[i] != 0) {
            (void)cu.cuMemFree_v2(m->outputs[i]);
        }
    }
    (void)cu.cuMemFree_v2(m->labels);
    (void)cu.cuMemFree_v2(m->counts);
    (void)cu.cuMemFree_v2(m->sums);
    (void)cu.cuStreamDestroy_v2(m->stream);
    (void)cu.cuDevicePrimaryCtxRelease_v2(m->device);
}

/* ---- training ---- */

static bool replay_step(const model *m, address images, address labels)
{
    for (uint32_t i = 0; i < OUTPUTS; i++) {
        if (m->outputs[i] == images) {
            return ok("cuMemcpyDtoD",
                      cu.cuMemcpyDtoDAsync_v2(m->labels, labels, m->batch * sizeof(int64_t),
                                              m->stream)) &&
                   ok("cuGraphLaunch", cu.cuGraphLaunch(m->replay[i], m->stream));
        }
    }
    fprintf(stderr, "a batch is not in one of the output blocks\n");
    return false;
}

static bool train(const model *m, sluice_batch *batch)
{
    sluice_tensor image = SLUICE_TENSOR_INIT;
    sluice_tensor label = SLUICE_TENSOR_INIT;
    sluice_batch_tensor(batch, "image", &image); /* f16, rows x 3 x 224 x 224, on the GPU */
    sluice_batch_tensor(batch, "label", &label); /* i64, rows, on the GPU */
    const address images = (address)(uintptr_t)image.data;
    const address labels = (address)(uintptr_t)label.data;
    bool trained = sluice_batch_wait(batch, m->stream) == SLUICE_OK;
    if (trained) {
        trained = m->graphs ? replay_step(m, images, labels)
                            : launch_step(m, images, labels, sluice_batch_rows(batch));
    }
    const sluice_status released = sluice_batch_release_on(batch, m->stream);
    if (released == SLUICE_INVALID || released == SLUICE_STATE) {
        sluice_batch_release(batch); /* the program still holds it */
    }
    return trained && released == SLUICE_OK;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Opens the file for marks of waits and steps; NULL if not under `sluice idle`. */
static FILE *open_marks(void)
{
    char path[4096];
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): still one thread */
    const char *folder = getenv("SLUICE_IDLE_DIR");
    if (folder == NULL) {
        return NULL;
    }
    snprintf(path, sizeof(path), "%s/marks.%ld", folder, (long)getpid());
    return fopen(path, "a");
}

static void mark(FILE *marks, uint64_t wait_begin, uint64_t wait_end)
{
    if (marks != NULL) {
        fprintf(marks, "wait %llu %llu\nstep %llu\n", (unsigned long long)wait_begin,
                (unsigned long long)wait_end, (unsigned long long)now_ns());
    }
}

static bool train_epoch(const model *m, sluice_loader *loader, uint64_t epoch, FILE *marks)
{
    sluice_batch *batch = NULL;
    uint64_t batches = 0;
    const uint64_t begin = now_ns();
    sluice_status status = sluice_loader_start_epoch(loader, epoch);
    while (status == SLUICE_OK) {
        const uint64_t asked = now_ns();
        status = sluice_loader_next(loader, &batch, -1);
        const uint64_t given = now_ns();
        if (status == SLUICE_OK) {
            if (!train(m, batch)) {
                return false;
            }
            mark(marks, asked, given);
            batches++;
        }
    }
    const double took = (double)(now_ns() - begin) * 1e-9;
    printf("epoch %llu: %llu batches of %u, %.0f images/s\n", (unsigned long long)epoch,
           (unsigned long long)batches, m->batch, (double)batches * m->batch / took);
    return status == SLUICE_END;
}

static bool print_means(const model *m)
{
    float sums[CLASSES];
    uint32_t counts[CLASSES];
    if (!ok("cuMemcpyDtoH", cu.cuMemcpyDtoHAsync_v2(sums, m->sums, sizeof(sums), m->stream)) ||
        !ok("cuMemcpyDtoH",
            cu.cuMemcpyDtoHAsync_v2(counts, m->counts, sizeof(counts), m->stream)) ||
        !ok("cuStreamSynchronize", cu.cuStreamSynchronize(m->stream))) {
        return false;
    }
    uint64_t images = 0;
    for (uint32_t class = 0; class < CLASSES; class ++) {
        images += counts[class];
        if (class < 10 && counts[class] > 0) {
            printf("class %u: mean %.4f of %u images\n", class,
                   (double)sums[class] / (double)counts[class], counts[class]);
        }
    }
    printf("%llu images trained\n", (unsigned long long)images);
    return true;
}

/* Prints the loader's statistics of waiting. */
static void print_idle(sluice_loader *loader)
{
    sluice_loader_stats stats = SLUICE_LOADER_STATS_INIT;
    if (sluice_loader_get_stats(loader, &stats) != SLUICE_OK) {
        return;
    }
    const double span = (double)stats.stream_span_ns;
    printf("%s, slots %s, %s on the device\n", stats.device, stats.pinning,
           stats.converts_on_device ? "converted" : "not converted");
    printf("host waited %.3f s for batches, longest %.2f ms\n", (double)stats.host_wait_ns * 1e-9,
           (double)stats.host_wait_max_ns * 1e-6);
    const double stalled = span > 0 ? 100 * (double)stats.stream_stall_ns / span : 0;
    const double busy = span > 0 ? 100 * (double)stats.stream_busy_ns / span : 0;
    printf("%llu steps timed on the device: busy %.2f %%, stalled %.2f %%, idle %.2f %% of "
           "%.3f s\n",
           (unsigned long long)stats.steps_timed, busy, stalled,
           span > 0 ? 100 - busy - stalled : 0, span * 1e-9);
}

static sluice_status open_loader(const model *m, const char *path, sluice_loader **loader,
                                 sluice_error *error)
{
    static const float mean[3] = {0.485f, 0.456f, 0.406f};
    static const float stddev[3] = {0.229f, 0.224f, 0.225f};
    void *outputs[OUTPUTS];
    sluice_dataset *data = NULL;
    sluice_augment *recipe = NULL;
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    options.batch_size = m->batch;
    options.device = "cuda:0";
    options.dtype = SLUICE_F16;
    options.layout = SLUICE_NCHW;
    if (m->graphs) {
        for (uint32_t i = 0; i < OUTPUTS; i++) {
            outputs[i] = (void *)(uintptr_t)m->outputs[i]; /* NOLINT(performance-no-int-to-ptr) */
        }
        options.outputs = outputs;
        options.output_count = OUTPUTS;
    }
    sluice_augment_create(&recipe);
    sluice_augment_random_resized_crop(recipe, SIDE, SIDE, 0.08, 1.0, 3.0 / 4, 4.0 / 3);
    sluice_augment_random_flip(recipe, 0.5);
    sluice_augment_normalize(recipe, mean, stddev, 3);
    sluice_status status = sluice_dataset_open(&data, &path, 1, NULL, error);
    if (status == SLUICE_OK) {
        status = sluice_loader_open(loader, data, recipe, &options, error);
    }
    sluice_dataset_close(data);
    sluice_augment_destroy(recipe);
    return status;
}

static void complain(const sluice_error *error)
{
    char text[1200];
    sluice_error_format(error, text, sizeof(text));
    fprintf(stderr, "cuda_training: %s\n", text);
}

static int run(model *m, const char *path, uint64_t epochs)
{
    sluice_loader *loader = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    FILE *marks = open_marks();
    bool good = open_model(m) && (!m->graphs || capture_steps(m));
    if (good && open_loader(m, path, &loader, &error) != SLUICE_OK) {
        complain(&error);
        good = false;
    }
    for (uint64_t epoch = 0; epoch < epochs && good; epoch++) {
        good = train_epoch(m, loader, epoch, marks);
    }
    good = good && print_means(m);
    if (loader != NULL && sluice_loader_get_error(loader, &error) != SLUICE_OK) {
        complain(&error);
    }
    if (good) {
        print_idle(loader);
    }
    if (marks != NULL) {
        fclose(marks);
    }
    sluice_loader_close(loader); /* before its output memory is freed */
    close_model(m);
    return good ? 0 : 1;
}

int main(int argc, char **argv)
{
    model m = {.batch = 64, .repeat = 1};
    uint64_t epochs = 2;
    int at = 1;
    for (; at < argc && argv[at][0] == '-'; at++) {
        if (strcmp(argv[at], "--graph") == 0) {
            m.graphs = true;
        } else if (strcmp(argv[at], "--epochs") == 0 && at + 1 < argc) {
            epochs = strtoull(argv[++at], NULL, 10);
        } else if (strcmp(argv[at], "--batch") == 0 && at + 1 < argc) {
            m.batch = (uint32_t)strtoul(argv[++at], NULL, 10);
        } else if (strcmp(argv[at], "--repeat") == 0 && at + 1 < argc) {
            m.repeat = (uint32_t)strtoul(argv[++at], NULL, 10);
        } else {
            break;
        }
    }
    if (at != argc - 1 || m.batch == 0 || m.repeat == 0) {
        fprintf(stderr,
                "usage: cuda_training [--graph] [--epochs N] [--batch N] [--repeat N] DATASET\n");
        return 2;
    }
    char text[256];
    const sluice_status status = sluice_device_get_text("cuda:0", text, sizeof(text));
    printf("cuda:0: %s\n", text);
    if (status == SLUICE_UNSUPPORTED) {
        printf("skipped: no device to train on\n");
        return EXIT_NO_GPU;
    }
    return status == SLUICE_OK ? run(&m, argv[at], epochs) : 1;
}
