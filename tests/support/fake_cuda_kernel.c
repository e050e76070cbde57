/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules and launches. A kernel is the PTX of the loaded module, or the first PTX in a fatbin;
 * streams run it in the executor (ptx.h) on the memory that the launch refers to.
 */
#include "dtype.h"
#include "fake_cuda_state.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOT_FOUND   500
#define THREADS_MAX 1024U

/* ---- modules ---- */

/* Header of a fatbin, and of each part in it. */
typedef struct fatbin_head {
    uint32_t magic;
    uint16_t version, head_bytes;
    uint64_t bytes; /* after the header */
} fatbin_head;

typedef struct fatbin_part {
    uint16_t kind, version;
    uint32_t head_bytes;
    uint64_t bytes; /* after the header */
} fatbin_part;

enum { FATBIN_PTX = 1 };
#define FATBIN_MAGIC UINT32_C(0xBA55ED50)

/* An image that does not begin with these bytes is text. */
static bool is_code(const void *image)
{
    static const uint8_t magic[] = {0x50, 0xED, 0x55, 0xBA};
    return strncmp(image, (const char *)magic, sizeof(magic)) == 0;
}

/* Returns a copy of the PTX, which the caller frees; NULL: there is none. */
static char *text_of(const void *image)
{
    const uint8_t *at = image;
    fatbin_head head;
    fatbin_part part;
    if (!is_code(image)) {
        return strdup(image);
    }
    memcpy(&head, at, sizeof(head));
    const uint8_t *end = at + head.head_bytes + head.bytes;
    for (at += head.head_bytes; at < end; at += part.head_bytes + part.bytes) {
        memcpy(&part, at, sizeof(part));
        if (part.kind == FATBIN_PTX) {
            char *text = strndup((const char *)at + part.head_bytes, part.bytes);
            return text;
        }
    }
    return NULL;
}

/* Returns the module of that text, parsed once per process. A parse error is a misuse. */
static const ptx_module *parse_locked(const char *text, ptx_failure *failure)
{
    fake_cuda *f = &fake_cuda_the;
    const uint64_t hash = fake_cuda_hash(text, strlen(text));
    for (size_t i = 0; i < FAKE_CUDA_PARSED; i++) {
        if (f->parsed[i].module == NULL) {
            f->parsed[i].hash = hash;
            f->parsed[i].module = ptx_parse(text, failure);
        }
        if (f->parsed[i].module == NULL || f->parsed[i].hash == hash) {
            return f->parsed[i].module;
        }
    }
    snprintf(failure->text, sizeof(failure->text), "too many modules");
    return NULL;
}

static sl_cu_result load_locked(sl_cu_module *module, const void *image, ptx_failure *failure)
{
    const fake_cuda_options *options = &fake_cuda_the.options;
    if (image == NULL) {
        return SL_CU_INVALID_VALUE;
    }
    const bool code = is_code(image);
    const unsigned at_once = options->lazy_refusal ? SL_CU_SUCCESS : options->code_refusal;
    const unsigned refusal = code ? at_once : options->text_refusal;
    if (refusal != SL_CU_SUCCESS) {
        snprintf(failure->text, sizeof(failure->text),
                 "ptx input, line 9; fatal: the fake's reason\nand its second line\n");
        return refusal;
    }
    char *text = text_of(image);
    snprintf(failure->text, sizeof(failure->text), "no PTX in the fatbin");
    const ptx_module *parsed = text != NULL ? parse_locked(text, failure) : NULL;
    free(text);
    if (parsed == NULL) {
        fake_cuda_blame_kernel_locked(failure->text);
        return SL_CU_INVALID_PTX;
    }
    *module = fake_cuda_make_locked(KIND_MODULE, sizeof(**module));
    (*module)->code = code;
    (*module)->ptx = parsed;
    return SL_CU_SUCCESS;
}

sl_cu_result cuModuleLoadData(sl_cu_module *module, const void *image)
{
    ptx_failure failure = {""};
    const sl_cu_result code = fake_cuda_enter(CALL_module_load, NEEDS_CONTEXT);
    if (code != SL_CU_SUCCESS) {
        return code;
    }
    return fake_cuda_leave(load_locked(module, image, &failure));
}

/* Writes the log to the caller's buffer, if it gave one. */
static void log_refusal(unsigned count, const unsigned *options, void *const *values,
                        const char *text)
{
    char *log = NULL;
    size_t bytes = 0;
    for (unsigned i = 0; i < count; i++) {
        if (options[i] == SL_CU_JIT_ERROR_LOG_BUFFER) {
            log = values[i];
        } else if (options[i] == SL_CU_JIT_ERROR_LOG_BUFFER_BYTES) {
            bytes = (size_t)(uintptr_t)values[i];
        }
    }
    if (log != NULL && bytes > 0) {
        snprintf(log, bytes, "%s", text);
    }
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the driver writes to them */
sl_cu_result cuModuleLoadDataEx(sl_cu_module *module, const void *image, unsigned count,
                                unsigned *options, void **values)
{
    ptx_failure failure = {""};
    sl_cu_result code = fake_cuda_enter(CALL_module_load_options, NEEDS_CONTEXT);
    if (code != SL_CU_SUCCESS) {
        return code;
    }
    code = load_locked(module, image, &failure);
    if (code != SL_CU_SUCCESS) {
        log_refusal(count, options, values, failure.text);
    }
    return fake_cuda_leave(code);
}

sl_cu_result cuModuleUnload(sl_cu_module module)
{
    fake_cuda *f = &fake_cuda_the;
    const sl_cu_result code = fake_cuda_enter_close(CALL_module_unload, NEEDS_CONTEXT);
    if (fake_cuda_is_fork()) {
        return code;
    }
    fake_cuda_thing *thing = fake_cuda_find_locked(KIND_MODULE, module, CALL_module_unload);
    if (thing == NULL) {
        return fake_cuda_leave(SL_CU_INVALID_HANDLE);
    }
    thing->open = false;
    for (size_t i = 0; i < f->thing_count; i++) {
        struct CUfunc_st *function = (struct CUfunc_st *)(void *)f->things[i];
        if (f->things[i]->kind == KIND_FUNCTION && function->module == module) {
            f->things[i]->open = false;
        }
    }
    return fake_cuda_leave(code);
}

/* Derives the kernel's result type from the words in its name. */
static bool parse_name(const char *name, sluice_dtype *dtype)
{
    static const struct {
        const char *word;
        sluice_dtype dtype;
    } dtypes[] = {
        {"bf16", SLUICE_BF16}, {"_f16", SLUICE_F16}, {"f32", SLUICE_F32}, {"u8", SLUICE_U8}};
    size_t i = 0;
    while (i < 4 && strstr(name, dtypes[i].word) == NULL) {
        i++;
    }
    if (i < 4) {
        *dtype = dtypes[i].dtype;
    }
    return i < 4;
}

sl_cu_result cuModuleGetFunction(sl_cu_function *function, sl_cu_module module, const char *name)
{
    const sl_cu_result code = fake_cuda_enter(CALL_module_function, NEEDS_CONTEXT);
    if (code != SL_CU_SUCCESS) {
        return code;
    }
    sluice_dtype dtype;
    if (fake_cuda_find_locked(KIND_MODULE, module, CALL_module_function) == NULL) {
        return fake_cuda_leave(SL_CU_INVALID_HANDLE);
    }
    if (module->code && fake_cuda_the.options.code_refusal != SL_CU_SUCCESS) {
        return fake_cuda_leave(fake_cuda_the.options.code_refusal);
    }
    const ptx_kernel *kernel = ptx_find(module->ptx, name);
    if (kernel == NULL || ptx_parameter_bytes(kernel) != sizeof(sl_conversion_parameters) ||
        !parse_name(name, &dtype)) {
        return fake_cuda_leave(NOT_FOUND);
    }
    struct CUfunc_st *made = fake_cuda_make_locked(KIND_FUNCTION, sizeof(*made));
    made->module = module;
    made->kernel = kernel;
    made->dtype = dtype;
    made->mixes = strstr(name, "mixing") != NULL;
    *function = made;
    return fake_cuda_leave(SL_CU_SUCCESS);
}

sl_cu_result cuFuncLoad(sl_cu_function function)
{
    const sl_cu_result code = fake_cuda_enter(CALL_function_load, NEEDS_CONTEXT);
    if (code != SL_CU_SUCCESS) {
        return code;
    }
    const bool known = fake_cuda_find_locked(KIND_FUNCTION, function, CALL_function_load) != NULL;
    return fake_cuda_leave(known ? SL_CU_SUCCESS : SL_CU_INVALID_HANDLE);
}

sl_cu_result cuFuncGetAttribute(int *value, unsigned attribute, sl_cu_function function)
{
    const sl_cu_result code = fake_cuda_enter(CALL_function_attribute, NEEDS_CONTEXT);
    if (code != SL_CU_SUCCESS) {
        return code;
    }
    if (fake_cuda_find_locked(KIND_FUNCTION, function, CALL_function_attribute) == NULL) {
        return fake_cuda_leave(SL_CU_INVALID_HANDLE);
    }
    *value = attribute == SL_CU_FUNCTION_BINARY_VERSION ? 90 : 0;
    return fake_cuda_leave(SL_CU_SUCCESS);
}

/* Fills the ranges that the kernel reads and writes; false: not device memory. */
static bool find_ranges_locked(fake_cuda_work *work)
{
    const sl_conversion_parameters *p = &work->parameters;
    const size_t samples = (size_t)p->rows * p->width * p->height * 3;
    const size_t results = samples * sl_dtype_bytes(work->dtype);
    const fake_cuda_range ranges[] = {
        {(uintptr_t)p->from, (uintptr_t)p->from + samples, false},
        {(uintptr_t)p->flags, (uintptr_t)p->flags + p->rows, false},
        {(uintptr_t)p->to, (uintptr_t)p->to + results, true},
        {(uintptr_t)p->mixing, (uintptr_t)p->mixing + p->rows * sizeof(sl_conversion_mixing),
         false},
    };
    bool all = samples > 0 && (p->mixing != 0) == work->mixes;
    for (size_t i = 0; i < (work->mixes ? 4 : 3); i++) {
        /* NOLINTNEXTLINE(performance-no-int-to-ptr): it is one */
        const void *begin = (const void *)ranges[i].begin;
        work->ranges[i] = ranges[i];
        all = all &&
              fake_cuda_holding_locked(KIND_MEMORY, begin, ranges[i].end - ranges[i].begin) != NULL;
    }
    return all;
}

/* NOLINTNEXTLINE(readability-function-size): the parameters are CUDA's */
sl_cu_result cuLaunchKernel(sl_cu_function function, unsigned grid_x, unsigned grid_y,
                            unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                            unsigned shared_bytes, sl_cu_stream stream, void **parameters,
                            void **extra)
{
    const fake_cuda_call call = CALL_launch;
    sl_cu_result code = fake_cuda_enter(call, NEEDS_CONTEXT);
    if (code != SL_CU_SUCCESS) {
        return code;
    }
    const uint64_t threads = (uint64_t)block_x * block_y * block_z;
    const uint64_t blocks = (uint64_t)grid_x * grid_y * grid_z;
    const bool legal = threads > 0 && threads <= THREADS_MAX && blocks > 0 && grid_y <= 65535 &&
                       grid_z <= 65535 && shared_bytes == 0 && extra == NULL;
    struct CUstream_st *given = fake_cuda_stream_locked(stream, call);
    if (given == NULL || fake_cuda_find_locked(KIND_FUNCTION, function, call) == NULL) {
        return fake_cuda_leave(SL_CU_INVALID_HANDLE);
    }
    if (!fake_cuda_expect_locked(legal, FAKE_CUDA_BAD_LAUNCH, call)) {
        return fake_cuda_leave(SL_CU_INVALID_VALUE);
    }
    fake_cuda_work work = {.kind = WORK_KERNEL,
                           .kernel = function->kernel,
                           .dtype = function->dtype,
                           .mixes = function->mixes,
                           .grid = {grid_x, grid_y, grid_z},
                           .block = {block_x, block_y, block_z}};
    memcpy(&work.parameters, parameters[0], sizeof(work.parameters));
    if (fake_cuda_expect_locked(find_ranges_locked(&work), FAKE_CUDA_NO_TARGET, call)) {
        fake_cuda_give_locked(given, &work);
    }
    return fake_cuda_leave(SL_CU_SUCCESS);
}
