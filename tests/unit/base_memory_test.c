/* SPDX-License-Identifier: Apache-2.0 */
/* Counted allocation, the budget, slabs and scratch memory, with a system that refuses memory. */
#include "memory.h"
#include "poison.h"
#include "populate.h"
#include "scratch.h"
#include "slab.h"
#include "test.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

static bool refuse_maps;
static size_t mapped; /* size of the latest mapping */
static bool refuse_populate;
static int populate_errno;

/* The linker chose these names (--wrap).
 * NOLINTBEGIN(*-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming) */
void *__real_mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset);
int __real_madvise(void *address, size_t bytes, int advice);
int __wrap_madvise(void *address, size_t bytes, int advice);

void *__wrap_mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    if (refuse_maps) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    mapped = bytes;
    return __real_mmap(address, bytes, protection, flags, fd, offset);
}

int __wrap_madvise(void *address, size_t bytes, int advice)
{
    if (refuse_populate && advice == 23) {
        errno = populate_errno;
        return -1;
    }
    return __real_madvise(address, bytes, advice);
}
/* NOLINTEND(*-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming) */

/* Returns the number of pages of [from, from + bytes) in memory. */
static size_t resident(uint8_t *from, size_t bytes)
{
    unsigned char in_core[4096];
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    assert_true(bytes / page <= sizeof(in_core));
    assert_int_equal(mincore(from, bytes, in_core), 0);
    size_t count = 0;
    for (size_t i = 0; i < bytes / page; i++) {
        count += in_core[i] & 1U;
    }
    return count;
}

static bool is_mapped(uint8_t *at)
{
    unsigned char in_core;
    return mincore(at, 1, &in_core) == 0;
}

TEST(allocations_are_counted)
{
    const uint64_t before = sl_memory_allocations();
    char *a = sl_malloc(0);
    int *b = sl_calloc(4, sizeof(*b));
    b = sl_realloc_array(b, 8, sizeof(*b));
    char *c = sl_strdup("text");
    assert_non_null(a);
    assert_non_null(b);
    assert_true(b[0] == 0 && b[3] == 0);
    assert_string_equal(c, "text");
    assert_int_equal(sl_memory_allocations() - before, 4);
    sl_free(a);
    sl_free(b);
    sl_free(c);
    sl_free(NULL);
    assert_int_equal(sl_memory_allocations() - before, 4);
    sl_memory_count_allocation();
    assert_int_equal(sl_memory_allocations() - before, 5);
}

TEST(products_that_overflow_are_refused)
{
    assert_null(sl_calloc(SIZE_MAX / 2 + 1, 2));
    char *kept = sl_malloc(1);
    assert_null(sl_realloc_array(kept, SIZE_MAX / 2 + 1, 2));
    kept[0] = 1; /* still allocated */
    sl_free(kept);
}

/* Compares with an array that has all its items from the start. */
TEST(arrays_grow_with_what_they_hold)
{
    enum { ITEMS = 5000 };
    uint32_t *items = NULL;
    uint64_t capacity = 0;
    const uint64_t before = sl_memory_allocations();
    for (uint32_t i = 0; i < ITEMS; i++) {
        assert_true(sl_grow(&items, &capacity, i + 1, sizeof(*items)));
        assert_true(capacity > i);
        items[i] = i * 7;
    }
    assert_true(sl_memory_allocations() - before <= 20); /* fewer than one per item */
    assert_true(capacity <= ITEMS + ITEMS / 2);
    for (uint32_t i = 0; i < ITEMS; i++) {
        assert_int_equal(items[i], i * 7);
    }
    uint32_t *there = items;
    assert_true(sl_grow(&items, &capacity, capacity, sizeof(*items)));
    assert_ptr_equal(items, there);
    assert_true(sl_grow(&items, &capacity, 100000, sizeof(*items)));
    assert_int_equal(capacity, 100000);
    items[99999] = 1;
    sl_free(items);
}

TEST(arrays_that_cannot_grow_stay)
{
    uint64_t *items = NULL;
    uint64_t capacity = 0;
    assert_true(sl_grow(&items, &capacity, 1, sizeof(*items)));
    items[0] = 42;
    uint64_t *there = items;
    const uint64_t had = capacity;
    assert_false(sl_grow(&items, &capacity, UINT64_MAX / 4, sizeof(*items))); /* size overflow */
    assert_false(sl_grow(&items, &capacity, UINT64_MAX, 1));
    sl_memory_limit limit;
    sl_memory_limit_init(&limit, 1024);
    sl_memory_limit *outer = sl_memory_work_under(&limit);
    const bool grew = sl_grow(&items, &capacity, 1000, sizeof(*items));
    sl_memory_work_under(outer);
    assert_false(grew);
    assert_ptr_equal(items, there);
    assert_int_equal(capacity, had);
    assert_int_equal(items[0], 42);
    sl_free(items);
}

TEST(a_budget_is_never_passed)
{
    sl_budget budget;
    sl_budget_init(&budget, 100);
    assert_true(sl_budget_take(&budget, 60));
    assert_false(sl_budget_take(&budget, 41));
    assert_int_equal(sl_budget_used(&budget), 60);
    assert_true(sl_budget_take(&budget, 40));
    assert_false(sl_budget_take(&budget, 1));
    assert_false(sl_budget_take(&budget, UINT64_MAX));
    sl_budget_give(&budget, 100);
    assert_false(sl_budget_take(&budget, 101));
    assert_int_equal(sl_budget_used(&budget), 0);
    sl_budget_init(&budget, UINT64_MAX);
    assert_true(sl_budget_take(&budget, UINT64_MAX - 1));
    assert_false(sl_budget_take(&budget, 2));
}

TEST(slabs_are_aligned_and_zero)
{
    sl_slab slabs[5];
    for (size_t i = 0; i < 5; i++) {
        sluice_error error;
        const size_t asked = i * MIB + 1;
        assert_int_equal(sl_slab_open(&slabs[i], asked, NULL, &error), SLUICE_OK);
        assert_int_equal((uintptr_t)slabs[i].base % SL_SLAB_ALIGN, 0);
        assert_int_equal(slabs[i].bytes % SL_SLAB_ALIGN, 0);
        assert_true(slabs[i].bytes >= asked && slabs[i].bytes < asked + SL_SLAB_ALIGN);
        assert_int_equal(slabs[i].base[0], 0);
        assert_int_equal(slabs[i].base[slabs[i].bytes - 1], 0);
        memset(slabs[i].base, 1, slabs[i].bytes);
    }
    for (size_t i = 0; i < 5; i++) {
        sl_slab_close(&slabs[i]);
        assert_null(slabs[i].base);
        assert_int_equal(slabs[i].bytes, 0);
        sl_slab_close(&slabs[i]);
    }
}

static void count_call(void *ctx)
{
    ++*(int *)ctx;
}

/* Every page of all ranges is present, whichever method the kernel supports, and existing contents
 * do not change. */
TEST(populated_pages_are_present)
{
    const size_t pages = 4 * MIB / (size_t)sysconf(_SC_PAGESIZE);
    static const int reasons[] = {0, EINVAL};
    for (uint32_t threads = 1; threads <= 3; threads++) {
        for (size_t i = 0; i < 2; i++) {
            refuse_populate = reasons[i] != 0;
            populate_errno = reasons[i];
            sl_slab slab;
            int calls = 0;
            sl_populate populate;
            assert_int_equal(sl_slab_open(&slab, 10 * MIB, NULL, NULL), SLUICE_OK);
            slab.base[5 * MIB] = 7;
            sl_populate_open(
                &populate, &(sl_populate_config){.ranges = {{slab.base, 4 * MIB},
                                                            {slab.base + 4 * MIB, 0},
                                                            {slab.base + 5 * MIB + 1000, 2 * MIB}},
                                                 .count = 3,
                                                 .threads = threads,
                                                 .done = count_call,
                                                 .ctx = &calls});
            sl_populate_wait(&populate);
            assert_int_equal(calls, 1);
            sl_populate_close(&populate);
            assert_int_equal(resident(slab.base, 4 * MIB), pages);
            assert_int_equal(resident(slab.base + 5 * MIB, 2 * MIB), pages / 2);
            assert_int_equal(slab.base[5 * MIB], 7);
            sl_slab_close(&slab);
        }
    }
    refuse_populate = false;
}

/* The populating threads ignore memory that the system does not have. */
TEST(populating_may_fail_or_be_given_up)
{
    sl_slab slab;
    sl_populate populate;
    int calls = 0;
    assert_int_equal(sl_slab_open(&slab, 32 * MIB, NULL, NULL), SLUICE_OK);
    const sl_populate_config config = {.ranges = {{slab.base, slab.bytes}},
                                       .count = 1,
                                       .threads = 2,
                                       .done = count_call,
                                       .ctx = &calls};
    refuse_populate = true;
    populate_errno = ENOMEM;
    sl_populate_open(&populate, &config);
    sl_populate_wait(&populate);
    sl_populate_close(&populate);
    assert_int_equal(calls, 1);
    refuse_populate = false;
    sl_populate_open(&populate, &config);
    sl_populate_close(&populate);
    assert_in_range(calls, 1, 2);
    sl_populate never = {.config = {.count = 0}};
    sl_populate_close(&never);
    sl_slab_close(&slab);
}

TEST(slabs_are_charged)
{
    sl_budget budget;
    sl_budget_init(&budget, 4 * MIB);
    sl_slab first;
    sl_slab second;
    sluice_error error;
    assert_int_equal(sl_slab_open(&first, 1, &budget, &error), SLUICE_OK);
    assert_int_equal(sl_budget_used(&budget), 2 * MIB);
    assert_int_equal(sl_slab_open(&second, 2 * MIB + 1, &budget, &error), SLUICE_NOMEM);
    assert_non_null(strstr(error.text, "budget: 4194304 bytes"));
    assert_null(second.base);
    assert_int_equal(sl_budget_used(&budget), 2 * MIB);
    sl_slab_close(&first);
    assert_int_equal(sl_budget_used(&budget), 0);
}

TEST(refused_slabs_leave_nothing)
{
    sl_budget budget;
    sl_budget_init(&budget, UINT64_MAX);
    sl_slab slab;
    sluice_error error;
    refuse_maps = true;
    assert_int_equal(sl_slab_open(&slab, 1, &budget, &error), SLUICE_NOMEM);
    refuse_maps = false;
    assert_int_equal(error.sys_errno, ENOMEM);
    assert_null(slab.base);
    assert_int_equal(sl_budget_used(&budget), 0);
    assert_int_equal(sl_slab_open(&slab, SIZE_MAX, &budget, &error), SLUICE_NOMEM);
    assert_int_equal(sl_budget_used(&budget), 0);
    sl_slab_close(&slab);
}

/* The child asks the kernel to read the slab; a missing mapping gives EFAULT. */
TEST(a_forked_child_has_no_slab)
{
#if defined(__SANITIZE_THREAD__)
    print_message("ThreadSanitizer's runtime keeps MADV_DONTFORK from working\n");
    skip();
#endif
    sl_slab slab;
    assert_int_equal(sl_slab_open(&slab, 1, NULL, NULL), SLUICE_OK);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        _exit(write(ends[1], slab.base, 1) == -1 && errno == EFAULT ? 0 : 1);
    }
    assert_true(child > 0);
    int result = -1;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
    close(ends[0]);
    close(ends[1]);
    sl_slab_close(&slab);
}

TEST(a_forgotten_slab_stays_mapped)
{
    sl_slab slab;
    assert_int_equal(sl_slab_open(&slab, 1, NULL, NULL), SLUICE_OK);
    const sl_slab kept = slab;
    kept.base[5] = 7;
    sl_slab_forget(&slab);
    sl_slab_close(&slab);
    assert_int_equal(kept.base[5], 7);
    assert_int_equal(munmap(kept.base, kept.bytes), 0);
}

TEST(scratch_keeps_its_limit)
{
    sl_scratch scratch;
    assert_int_equal(sl_scratch_open(&scratch, 1000, 2000, NULL), SLUICE_OK); /* 1024 */
    uint8_t *a = sl_scratch_take(&scratch, 1);
    uint8_t *b = sl_scratch_take(&scratch, 65);
    assert_int_equal((uintptr_t)a % 64, 0);
    assert_ptr_equal(b, a + 64);
    const size_t mark = sl_scratch_mark(&scratch);
    assert_int_equal(mark, 192);
    assert_null(sl_scratch_take(&scratch, 833));
    assert_null(sl_scratch_take(&scratch, SIZE_MAX));
    uint8_t *c = sl_scratch_take(&scratch, 832);
    assert_ptr_equal(c, a + 192);
    assert_null(sl_scratch_take(&scratch, 1));
    memset(c, 1, 832);
    unsigned behind = 0;
    for (size_t i = 0; i < 64; i++) {
        behind += c[832 + i];
    }
    assert_int_equal(behind, 0);
    sl_scratch_release(&scratch, mark);
    assert_ptr_equal(sl_scratch_take(&scratch, 10), c);
    sl_scratch_reset(&scratch);
    assert_ptr_equal(sl_scratch_take(&scratch, 10), a);
    sl_scratch_close(&scratch);
    assert_int_equal(scratch.mapped, 0);
    sl_scratch_close(&scratch);
}

/* Exactly at the end of a page, readable bytes after it need one more page. */
TEST(the_last_byte_has_readable_ones_behind)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    sl_scratch scratch;
    assert_int_equal(sl_scratch_open(&scratch, page, page, NULL), SLUICE_OK);
    assert_true(mapped >= page + 64); /* part of our mapping, not by chance of another */
    uint8_t *all = sl_scratch_take(&scratch, page);
    assert_non_null(all);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], all + page, 64), 64);
    close(ends[0]);
    close(ends[1]);
    sl_scratch_close(&scratch);
}

TEST(scratch_gives_back_what_is_above_keep)
{
    sl_scratch scratch;
    assert_int_equal(sl_scratch_open(&scratch, 8 * MIB, MIB, NULL), SLUICE_OK);
    assert_in_range(mapped, MIB, MIB + (64 << 10)); /* no more address space than is retained */
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *first = sl_scratch_take(&scratch, MIB / 2);
    memset(first, 1, MIB / 2);
    for (int i = 0; i < 2; i++) {
        sl_scratch_reset(&scratch);
        const uint64_t before = sl_memory_allocations();
        assert_ptr_equal(sl_scratch_take(&scratch, MIB / 2), first);
        uint8_t *large = sl_scratch_take(&scratch, 6 * MIB);
        memset(large, 1, 6 * MIB);
        assert_int_equal(sl_memory_allocations() - before, 1);
        assert_int_equal(resident(large, 6 * MIB), 6 * MIB / page);
        sl_scratch_reset(&scratch);
        assert_false(is_mapped(large));
        assert_int_equal(resident(first, MIB / 2), MIB / 2 / page);
    }
    /* Retained memory is not a new allocation. */
    const uint64_t before = sl_memory_allocations();
    for (int i = 0; i < 3; i++) {
        memset(sl_scratch_take(&scratch, MIB), 1, MIB);
        sl_scratch_reset(&scratch);
    }
    assert_int_equal(sl_memory_allocations(), before);
    sl_scratch_close(&scratch);
}

/* Compares with a model: pieces of any size, marks, releases and resets. Bytes keep their values
 * until they are released, and only requests beyond the limit fail. */
TEST(scratch_in_pieces)
{
    enum { PIECES = 64, LIMIT = 1 << 20 };
    static struct {
        uint8_t *memory;
        size_t bytes, mark;
    } pieces[PIECES];
    sl_scratch scratch;
    assert_int_equal(sl_scratch_open(&scratch, LIMIT, 4096, NULL), SLUICE_OK);
    uint32_t random = 1;
    size_t used = 0;
    uint32_t count = 0;
    for (int i = 0; i < 20000; i++) {
        random = random * 1664525 + 1013904223;
        const uint32_t what = random >> 24;
        if (what < 8) {
            sl_scratch_reset(&scratch);
            count = 0;
            used = 0;
        } else if (what < 60 && count > 0) {
            count -= 1 + (random >> 8) % count;
            used = pieces[count].mark;
            sl_scratch_release(&scratch, used);
        } else if (count < PIECES) {
            const size_t bytes = (random >> 4) % (1U << (random % 19));
            const size_t whole = (bytes + 63) / 64 * 64;
            pieces[count].mark = sl_scratch_mark(&scratch);
            assert_int_equal(pieces[count].mark, used);
            pieces[count].memory = sl_scratch_take(&scratch, bytes);
            pieces[count].bytes = bytes;
            assert_int_equal(pieces[count].memory != NULL, bytes <= LIMIT - used);
            if (pieces[count].memory != NULL) {
                assert_int_equal((uintptr_t)pieces[count].memory % 64, 0);
                memset(pieces[count].memory, (int)count, bytes);
                used += whole;
                count++;
            }
        }
        for (uint32_t k = 0; k < count; k++) {
            const uint8_t *at = pieces[k].memory;
            const size_t bytes = pieces[k].bytes;
            assert_true(bytes == 0 || (at[0] == k && at[bytes - 1] == k && at[bytes / 2] == k));
        }
    }
    sl_scratch_close(&scratch);
}

TEST(scratch_keeps_what_it_may)
{
    sl_scratch scratch;
    assert_int_equal(sl_scratch_open(&scratch, 16 * MIB, MIB, NULL), SLUICE_OK);
    sl_scratch_keep(&scratch, 8 * MIB);
    uint64_t first = 0;
    for (int round = 0; round < 4; round++) {
        memset(sl_scratch_take(&scratch, MIB / 2), 1, MIB / 2);
        memset(sl_scratch_take(&scratch, 5 * MIB), 1, 5 * MIB);
        if (round == 0) {
            first = sl_memory_allocations();
        }
        assert_int_equal(sl_memory_allocations(), first);
        sl_scratch_reset(&scratch);
        assert_int_equal(scratch.mapped, 2);
    }
    /* A need above the retained size is met; the reset leaves only the first mapping. */
    memset(sl_scratch_take(&scratch, 12 * MIB), 1, 12 * MIB);
    assert_null(sl_scratch_take(&scratch, 5 * MIB));
    sl_scratch_reset(&scratch);
    assert_int_equal(scratch.mapped, 1);
    sl_scratch_close(&scratch);
}

TEST(refused_scratch_says_so)
{
    sl_scratch scratch;
    sluice_error error;
    refuse_maps = true;
    assert_int_equal(sl_scratch_open(&scratch, MIB, MIB, &error), SLUICE_NOMEM);
    refuse_maps = false;
    assert_int_equal(error.sys_errno, ENOMEM);
    sl_scratch_close(&scratch);
    assert_int_equal(sl_scratch_open(&scratch, SIZE_MAX, 0, &error), SLUICE_NOMEM);
    sl_scratch_close(&scratch);
}

#ifdef SL_POISON_ADDRESS
static bool is_closed(const uint8_t *byte)
{
    return __asan_address_is_poisoned(byte) != 0;
}

TEST(scratch_that_nobody_has_is_closed)
{
    enum { TAKEN = 100, READABLE = 64 };
    sl_scratch scratch;
    assert_int_equal(sl_scratch_open(&scratch, 8 * MIB, MIB, NULL), SLUICE_OK);
    const uint8_t *first = sl_scratch_take(&scratch, TAKEN);
    assert_false(is_closed(first) || is_closed(first + TAKEN + READABLE - 1));
    assert_true(is_closed(first + TAKEN + READABLE) && is_closed(first + TAKEN + 3000));
    const size_t mark = sl_scratch_mark(&scratch);
    const uint8_t *second = sl_scratch_take(&scratch, 5000);
    const uint8_t *large = sl_scratch_take(&scratch, 2 * MIB); /* a separate chunk */
    assert_false(is_closed(second) || is_closed(second + 4999) || is_closed(large + 2 * MIB - 1));
    sl_scratch_release(&scratch, mark);
    assert_true(is_closed(large) && is_closed(large + 2 * MIB - 1));
    assert_true(is_closed(second + READABLE) && is_closed(second + 4999));
    assert_false(is_closed(first + TAKEN - 1)); /* still in use */
    sl_scratch_reset(&scratch);
    assert_true(is_closed(first));
    sl_scratch_close(&scratch);
}
#endif
