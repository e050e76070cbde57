/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conversion of CUPTI records to ours. If the CUDA toolkit's headers were found at build time, our
 * declarations are compared with them, and the records are made from the toolkit's own structs.
 */
#include "../../tools/inject/convert.h"
#include "../../tools/inject/cupti_api.h"
#include "conversion_kernel.h"
#include "test.h"

#ifdef SLUICE_TEST_CUPTI
#    include <cupti.h>
#endif

#if defined SLUICE_TEST_CUPTI && CUPTI_API_VERSION >= 130000

typedef CUpti_ActivityKernel10 kernel_record;
typedef CUpti_ActivityMemcpy6 memcpy_record;
typedef CUpti_ActivityMemset4 memset_record;
#    define NAMED(record)           (record).deviceId = 3, (record).streamId = 9
#    define COPY_KIND               copyKind
#    define SET_KIND(record, value) ((record).kind = (CUpti_ActivityKind)(value))

#    define SAME(ours, member, theirs, field)                                              \
        _Static_assert(offsetof(struct ours, member) == offsetof(theirs, field),           \
                       #ours "." #member);                                                 \
        _Static_assert(sizeof(((struct ours *)0)->member) == sizeof(((theirs *)0)->field), \
                       #ours "." #member)

SAME(cupti_kernel, kind, CUpti_ActivityKernel10, kind);
SAME(cupti_kernel, start, CUpti_ActivityKernel10, start);
SAME(cupti_kernel, end, CUpti_ActivityKernel10, end);
SAME(cupti_kernel, completed, CUpti_ActivityKernel10, completed);
SAME(cupti_kernel, device, CUpti_ActivityKernel10, deviceId);
SAME(cupti_kernel, context, CUpti_ActivityKernel10, contextId);
SAME(cupti_kernel, stream, CUpti_ActivityKernel10, streamId);
SAME(cupti_kernel, correlation, CUpti_ActivityKernel10, correlationId);
SAME(cupti_kernel, grid, CUpti_ActivityKernel10, gridId);
SAME(cupti_kernel, name, CUpti_ActivityKernel10, name);
SAME(cupti_kernel, name, CUpti_ActivityKernel9, name); /* CUPTI 12 */
SAME(cupti_kernel, name, CUpti_ActivityKernel4, name); /* CUPTI 9 to 11 */
SAME(cupti_kernel, stream, CUpti_ActivityKernel9, streamId);
SAME(cupti_memcpy, copy_kind, CUpti_ActivityMemcpy6, copyKind);
SAME(cupti_memcpy, bytes, CUpti_ActivityMemcpy6, bytes);
SAME(cupti_memcpy, start, CUpti_ActivityMemcpy6, start);
SAME(cupti_memcpy, end, CUpti_ActivityMemcpy6, end);
SAME(cupti_memcpy, device, CUpti_ActivityMemcpy6, deviceId);
SAME(cupti_memcpy, stream, CUpti_ActivityMemcpy6, streamId);
SAME(cupti_memcpy, stream, CUpti_ActivityMemcpy5, streamId);
SAME(cupti_memset, bytes, CUpti_ActivityMemset4, bytes);
SAME(cupti_memset, start, CUpti_ActivityMemset4, start);
SAME(cupti_memset, end, CUpti_ActivityMemset4, end);
SAME(cupti_memset, device, CUpti_ActivityMemset4, deviceId);
SAME(cupti_memset, stream, CUpti_ActivityMemset4, streamId);
SAME(cupti_memset, stream, CUpti_ActivityMemset3, streamId);
_Static_assert((int)CUPTI_OK == (int)CUPTI_SUCCESS, "");
_Static_assert((int)CUPTI_QUEUE_EMPTY == (int)CUPTI_ERROR_MAX_LIMIT_REACHED, "");
_Static_assert((int)CUPTI_NOT_INITIALISED == (int)CUPTI_ERROR_NOT_INITIALIZED, "");
_Static_assert((int)CUPTI_NO_PRIVILEGES == (int)CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, "");
_Static_assert((int)CUPTI_MULTIPLE_SUBSCRIBERS ==
                   (int)CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED,
               "");
_Static_assert((int)CUPTI_KIND_MEMCPY == (int)CUPTI_ACTIVITY_KIND_MEMCPY, "");
_Static_assert((int)CUPTI_KIND_MEMSET == (int)CUPTI_ACTIVITY_KIND_MEMSET, "");
_Static_assert((int)CUPTI_KIND_CONCURRENT_KERNEL == (int)CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, "");
_Static_assert((int)CUPTI_FLUSH_FORCED == (int)CUPTI_ACTIVITY_FLAG_FLUSH_FORCED, "");
_Static_assert((int)IDLE_COPY_HOST_TO_DEVICE == (int)CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, "");
#else
typedef struct cupti_kernel kernel_record;
typedef struct cupti_memcpy memcpy_record;
typedef struct cupti_memset memset_record;
#    define NAMED(record)           (record).device = 3, (record).stream = 9
#    define COPY_KIND               copy_kind
#    define SET_KIND(record, value) ((record).kind = (value))
#endif

static struct idle_record convert(const void *from, enum convert_result expected)
{
    struct idle_record record;
    assert_int_equal(convert_record(from, &record), expected);
    return record;
}

static void expect_class(const char *name, enum idle_kernel class)
{
    kernel_record kernel = {.start = 5, .end = 8, .name = name};
    SET_KIND(kernel, CUPTI_KIND_CONCURRENT_KERNEL);
    NAMED(kernel);
    struct idle_record record = convert(&kernel, CONVERT_RECORD);
    assert_int_equal(record.kind, IDLE_KERNEL);
    assert_int_equal(record.detail, class);
    assert_int_equal(record.start, 5);
    assert_int_equal(record.end, 8);
    assert_int_equal(record.device, 3);
    assert_int_equal(record.stream, 9);
}

TEST(test_kernels)
{
    expect_class("ampere_sgemm", IDLE_KERNEL_PROGRAM);
    expect_class(NULL, IDLE_KERNEL_PROGRAM);
    for (uint32_t i = 0; i < SL_CONVERSION_KERNELS; i++) { /* the library's real launches */
        expect_class(sl_conversion_kernel_name(i), IDLE_KERNEL_SLUICE);
    }
    expect_class("my_sl_conversion_", IDLE_KERNEL_PROGRAM);
    expect_class("_Z22ncclDevKernel_AllReduce", IDLE_KERNEL_NCCL);
}

TEST(test_copies_and_fills)
{
    memcpy_record copy = {.start = 10, .end = 10, .bytes = 77};
    SET_KIND(copy, CUPTI_KIND_MEMCPY);
    copy.COPY_KIND = 2;
    NAMED(copy);
    struct idle_record record = convert(&copy, CONVERT_RECORD);
    assert_int_equal(record.kind, IDLE_MEMCPY);
    assert_int_equal(record.detail, 2);
    assert_int_equal(record.bytes, 77);
    assert_int_equal(record.device, 3);
    assert_int_equal(record.stream, 9);
    memset_record fill = {.start = 20, .end = 21, .bytes = 5};
    SET_KIND(fill, CUPTI_KIND_MEMSET);
    NAMED(fill);
    record = convert(&fill, CONVERT_RECORD);
    assert_int_equal(record.kind, IDLE_MEMSET);
    assert_int_equal(record.start, 20);
    assert_int_equal(record.end, 21);
    assert_int_equal(record.bytes, 5);
    assert_int_equal(record.device, 3);
}

TEST(test_odd_ones)
{
    kernel_record kernel = {.start = 0, .end = 0};
    SET_KIND(kernel, CUPTI_KIND_CONCURRENT_KERNEL);
    convert(&kernel, CONVERT_ODD); /* CUPTI could not measure the times */
    kernel.start = 9;
    kernel.end = 8;
    convert(&kernel, CONVERT_ODD);
    kernel.end = UINT64_MAX;
    convert(&kernel, CONVERT_ODD);
    uint32_t other[64] = {17};
    convert(other, CONVERT_OTHER);
}
