/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules, and a reference of the conversion: one value after the other, rounded by arithmetic in
 * double and not by tricks with bits.
 */
#include "dtype.h"
#include "fake_cuda_state.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NOT_FOUND   500
#define THREADS_MAX 1024U

/* ---- the conversion ---- */

/* `value` as a number with `bits` of fraction and least exponent `least`, in sign, exponent and
 * fraction: its upper bits first. */
static uint32_t encode(float value, int bits, int least)
{
    const int bias = 1 - least;
    const uint32_t sign = signbit(value) ? 1U : 0U;
    const double size = fabs((double)value);
    const uint32_t infinity = (uint32_t)(2 * bias + 1) << bits;
    if (isnan(value)) {
        return sign << (bits + (bits == 10 ? 5 : 8)) | infinity | 1U << (bits - 1);
    }
    uint32_t code = infinity;
    if (!isinf(value)) {
        int exponent = size == 0 ? least : ilogb(size);
        exponent = exponent < least ? least : exponent;
        /* Exact in double; nearbyint rounds halves to even. */
        const double units = nearbyint(ldexp(size, bits - exponent));
        /* A carry out of the fraction goes into the exponent by itself. */
        const uint32_t below = (uint32_t)(exponent - least) << bits;
        code = (uint32_t)units + below;
        code = code > infinity ? infinity : code;
    }
    return sign << (bits + (bits == 10 ? 5 : 8)) | code;
}

static void put(void *to, size_t at, sluice_dtype dtype, uint8_t sample, float value)
{
    uint16_t narrow;
    switch (dtype) {
    case SLUICE_F32:
        memcpy((uint8_t *)to + at * 4, &value, 4);
        break;
    case SLUICE_F16:
        narrow = (uint16_t)encode(value, 10, -14);
        memcpy((uint8_t *)to + at * 2, &narrow, 2);
        break;
    case SLUICE_BF16:
        narrow = (uint16_t)encode(value, 7, -126);
        memcpy((uint8_t *)to + at * 2, &narrow, 2);
        break;
    default:
        ((uint8_t *)to)[at] = sample;
        break;
    }
}

/* A place in a picture. */
typedef struct sample_place {
    size_t y, x, channel;
} sample_place;

static uint8_t sample_at(const sl_conversion_parameters *p, const fake_cuda_sources *sources,
                         size_t row, const sample_place *at)
{
    const bool turned = (sources->flags[row] & SL_ROW_MIRROR) != 0;
    const size_t x = turned ? p->width - 1 - at->x : at->x;
    return sources->from[((row * p->height + at->y) * p->width + x) * 3 + at->channel];
}

/* To nearest even. */
static uint8_t whole(float value)
{
    return (uint8_t)nearbyint((double)value);
}

static float shares(float weight, float own, float other)
{
    const float rest = 1.0F - weight;
    const float second = rest * other;
    return fmaf(weight, own, second);
}

/* Puts what comes of a place of row `row` to element `i`. */
static void convert_place(const fake_cuda_work *work, const fake_cuda_sources *sources, size_t row,
                          const sample_place *at, void *to, size_t i)
{
    const sl_conversion_parameters *p = &work->parameters;
    const float scale = p->scale[at->channel];
    const float bias = p->bias[at->channel];
    const sl_conversion_mixing none = {.partner = (uint32_t)row, .weight = 1};
    const sl_conversion_mixing *mixing = work->mixes ? &sources->mixing[row] : &none;
    const bool inside = at->x >= mixing->left && at->x < mixing->right && at->y >= mixing->top &&
                        at->y < mixing->bottom;
    const bool cuts = mixing->right > mixing->left;
    const uint8_t own = sample_at(p, sources, row, at);
    const uint8_t other = sample_at(p, sources, mixing->partner, at);
    const uint8_t sample = cuts && inside ? other : own;
    const float value = fmaf((float)sample, scale, bias);
    if ((sources->flags[row] & SL_ROW_ZERO) != 0) {
        put(to, i, work->dtype, 0, 0);
    } else if (cuts || mixing->partner == row) {
        put(to, i, work->dtype, sample, value);
    } else {
        put(to, i, work->dtype, whole(shares(mixing->weight, own, other)),
            shares(mixing->weight, value, fmaf((float)other, scale, bias)));
    }
}

void fake_cuda_convert(const fake_cuda_work *work, const fake_cuda_sources *sources, void *to)
{
    const sl_conversion_parameters *p = &work->parameters;
    const size_t plane = (size_t)p->width * p->height;
    for (size_t i = 0; i < plane * p->rows * 3; i++) {
        /* i: where the result is; from there to what it is, and back to the source. */
        const size_t row = i / (plane * 3);
        const size_t within = i % (plane * 3);
        const bool planar = work->layout == SLUICE_NCHW;
        const size_t channel = planar ? within / plane : within % 3;
        const size_t pixel = planar ? within % plane : within / 3;
        const sample_place at = {pixel / p->width, pixel % p->width, channel};
        convert_place(work, sources, row, &at, to, i);
    }
}

/* ---- modules ---- */

/* A fatbin begins with these bytes. What does not is text. */
static bool is_code(const void *image)
{
    static const uint8_t magic[] = {0x50, 0xED, 0x55, 0xBA};
    return strncmp(image, (const char *)magic, sizeof(magic)) == 0;
}

static sl_cu_result load_locked(sl_cu_module *module, const void *image)
{
    const fake_cuda_options *options = &fake_cuda_the.options;
    if (image == NULL) {
        return SL_CU_INVALID_VALUE;
    }
    const bool code = is_code(image);
    const unsigned at_once = options->lazy_refusal ? SL_CU_SUCCESS : options->code_refusal;
    const unsigned refusal = code ? at_once : options->text_refusal;
    if (refusal == SL_CU_SUCCESS) {
        *module = fake_cuda_make_locked(KIND_MODULE, sizeof(**module));
        (*module)->code = code;
    }
    return refusal;
}

sl_cu_result cuModuleLoadData(sl_cu_module *module, const void *image)
{
    const sl_cu_result code = fake_cuda_enter(CALL_module_load, NEEDS_CONTEXT);
    if (code != SL_CU_SUCCESS) {
        return code;
    }
    return fake_cuda_leave(load_locked(module, image));
}

/* The log goes to a buffer, if there is one. */
static void log_refusal(unsigned count, const unsigned *options, void *const *values)
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
        snprintf(log, bytes, "ptx input, line 9; fatal: the fake's reason\nand its second line\n");
    }
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the driver writes to them */
sl_cu_result cuModuleLoadDataEx(sl_cu_module *module, const void *image, unsigned count,
                                unsigned *options, void **values)
{
    sl_cu_result code = fake_cuda_enter(CALL_module_load_options, NEEDS_CONTEXT);
    if (code != SL_CU_SUCCESS) {
        return code;
    }
    code = load_locked(module, image);
    if (code != SL_CU_SUCCESS) {
        log_refusal(count, options, values);
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

/* By the words in the kernel's name. */
static bool parse_name(const char *name, sluice_dtype *dtype, sluice_layout *layout)
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
    if (i == 4 || (strstr(name, "nhwc") == NULL && strstr(name, "nchw") == NULL)) {
        return false;
    }
    *dtype = dtypes[i].dtype;
    *layout = strstr(name, "nhwc") != NULL ? SLUICE_NHWC : SLUICE_NCHW;
    return true;
}

sl_cu_result cuModuleGetFunction(sl_cu_function *function, sl_cu_module module, const char *name)
{
    const sl_cu_result code = fake_cuda_enter(CALL_module_function, NEEDS_CONTEXT);
    if (code != SL_CU_SUCCESS) {
        return code;
    }
    sluice_dtype dtype;
    sluice_layout layout;
    if (fake_cuda_find_locked(KIND_MODULE, module, CALL_module_function) == NULL) {
        return fake_cuda_leave(SL_CU_INVALID_HANDLE);
    }
    if (module->code && fake_cuda_the.options.code_refusal != SL_CU_SUCCESS) {
        return fake_cuda_leave(fake_cuda_the.options.code_refusal);
    }
    if (!parse_name(name, &dtype, &layout)) {
        return fake_cuda_leave(NOT_FOUND);
    }
    struct CUfunc_st *made = fake_cuda_make_locked(KIND_FUNCTION, sizeof(*made));
    made->module = module;
    made->dtype = dtype;
    made->layout = layout;
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

/* Fills what the kernel reads and writes; whether that is the device's. */
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
                           .dtype = function->dtype,
                           .layout = function->layout,
                           .mixes = function->mixes};
    memcpy(&work.parameters, parameters[0], sizeof(work.parameters));
    if (fake_cuda_expect_locked(find_ranges_locked(&work), FAKE_CUDA_NO_TARGET, call)) {
        fake_cuda_give_locked(given, &work);
    }
    return fake_cuda_leave(SL_CU_SUCCESS);
}
