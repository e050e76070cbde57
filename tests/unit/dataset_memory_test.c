/* SPDX-License-Identifier: Apache-2.0 */
/* The memory limit while opening: which allocations count, for which thread, and the cost of
 * JSON. */
#include "error.h"
#include "json_file.h"
#include "memory.h"
#include "open_many.h"
#include "test.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define MIB ((size_t)1 << 20)

/* ---- charged memory ---- */

static void what_is_taken_counts(void **state)
{
    sl_memory_limit limit;
    sl_memory_limit_init(&limit, MIB);
    assert_null(sl_memory_work_under(&limit));
    char *a = sl_malloc(1000);
    char *b = sl_calloc(10, 100);
    char *c = sl_realloc_array(NULL, 1000, 1);
    assert_in_range(sl_budget_used(&limit.budget), 3000, 3200);
    c = sl_realloc_array(c, 100000, 1);
    assert_in_range(sl_budget_used(&limit.budget), 102000, 106000);
    c = sl_realloc_array(c, 500, 1);
    assert_in_range(sl_budget_used(&limit.budget), 2500, 6000);
    sl_free(a);
    sl_free(b);
    sl_free(c);
    assert_int_equal(sl_budget_used(&limit.budget), 0);
    assert_ptr_equal(sl_memory_work_under(NULL), &limit);
    sl_free(sl_malloc(2 * MIB)); /* nobody's */
    assert_int_equal(sl_budget_used(&limit.budget), 0);
    assert_false(atomic_load(&limit.met));
}

static void what_does_not_fit_is_refused(void **state)
{
    sl_memory_limit limit;
    sl_memory_limit_init(&limit, MIB);
    sl_memory_work_under(&limit);
    const uint64_t before = sl_memory_shortages();
    char *kept = sl_malloc(MIB / 2);
    assert_null(sl_malloc(MIB / 2 + 1));
    assert_null(sl_calloc(3, MIB / 4));
    assert_null(sl_realloc_array(kept, 2, MIB));
    kept[MIB / 2 - 1] = 1; /* still allocated */
    assert_int_equal(sl_memory_shortages() - before, 3);
    assert_true(atomic_load(&limit.met));
    assert_false(sl_memory_has_space(MIB / 2 + 1));
    assert_true(sl_memory_has_space(MIB / 4));
    assert_true(sl_memory_claim(MIB / 4));
    assert_false(sl_memory_claim(MIB / 4 + 1));
    sl_memory_give_back(MIB / 4);
    sl_free(kept);
    assert_int_equal(sl_budget_used(&limit.budget), 0);
    char *large = sl_malloc(MIB - 4096);
    assert_non_null(large);
    sl_free(large);
    sl_memory_work_under(NULL);
    assert_int_equal(sl_memory_shortages() - before, 5);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* sanitizers exit */
    assert_null(sl_malloc(SIZE_MAX / 2));                           /* refused by the system */
    assert_int_equal(sl_memory_shortages() - before, 6);
#endif
}

/* ---- threads ---- */

typedef struct job {
    size_t bytes;
    sluice_status status;
    char *kept[8];
} job;

static sluice_status take(void *ctx, uint32_t number, sluice_error *error)
{
    job *j = ctx;
    j->kept[number] = sl_malloc(j->bytes);
    return j->kept[number] != NULL
               ? SLUICE_OK
               : sl_error_set(error, j->status, "test", "it is damaged, number %u", number);
}

static sluice_status open_eight(job *j, size_t limit_bytes, sluice_error *error)
{
    sl_memory_limit limit;
    sl_memory_limit_init(&limit, limit_bytes);
    sl_memory_work_under(&limit);
    const sluice_status status = sl_open_many(8, take, j, error);
    sl_memory_work_under(NULL);
    for (int i = 0; i < 8; i++) {
        sl_free(j->kept[i]);
        j->kept[i] = NULL;
    }
    return status;
}

/* All threads share one limit; reporting damage for it would be wrong. */
static void threads_share_a_limit(void **state)
{
    sluice_error error;
    job j = {.bytes = 100 * MIB, .status = SLUICE_CORRUPT};
    sl_error_clear(&error);
    assert_int_equal(open_eight(&j, 801 * MIB, &error), SLUICE_OK);
    assert_int_equal(open_eight(&j, 799 * MIB, &error), SLUICE_NOMEM);
    assert_int_equal(error.status, SLUICE_NOMEM);
    assert_non_null(strstr(error.text, "it is damaged, number"));
    assert_non_null(strstr(error.text, "(out of memory)"));
    j.status = SLUICE_IO; /* what else failed stays what it is */
    assert_int_equal(open_eight(&j, 799 * MIB, &error), SLUICE_IO);
}

/* ---- JSON ---- */

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* `count` times `piece` between brackets: compares the estimate with the memory that the tree
 * takes, as malloc counts. */
static void compare(const char *begin, const char *piece, const char *end, size_t count)
{
    const size_t length = strlen(piece);
    char *text = malloc(strlen(begin) + length * count + strlen(end) + 1);
    assert_non_null(text);
    char *at = stpcpy(text, begin);
    for (size_t i = 0; i < count; i++) {
        at = stpcpy(at, piece);
    }
    at = stpcpy(at, end);
    const sl_bytes bytes = {(const uint8_t *)text, (size_t)(at - text)};
    const uint64_t told = sl_json_tree_bytes(bytes);
    const struct mallinfo2 before = mallinfo2();
    json_t *tree = sl_json_parse(bytes);
    const struct mallinfo2 after = mallinfo2();
    assert_non_null(tree);
    const uint64_t real = after.uordblks + after.hblkhd - before.uordblks - before.hblkhd;
    if (real > told || told > 3 * real + 8192) {
        print_message("%s: %llu bytes, told as %llu\n", piece, (unsigned long long)real,
                      (unsigned long long)told);
    }
    assert_true(real <= told);
    assert_true(told <= 3 * real + 8192); /* but not so much that valid files fail */
    json_decref(tree);
    free(text);
}

static void what_trees_take_is_told(void **state)
{
    static const size_t counts[] = {1, 5, 1000, 100000};
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        compare("[", "[],", "[]]", counts[i]);
        compare("[", "{},", "{}]", counts[i]);
        compare("[", "[[]],", "[]]", counts[i]);
        compare("[", "1,", "2]", counts[i]);
        compare("[", "-1.5e3,", "2]", counts[i]);
        compare("[", "\"\",", "\"\"]", counts[i]);
        compare("[", "\"a text of some length, \\\" and more of it\",", "1]", counts[i]);
        compare("[", "{\"a\": 1, \"b\": [1, 2, 3], \"c\": {\"d\": \"text\"}},", "1]", counts[i]);
        compare("[",
                "{\"raw_data\": {\"basename\": \"shard.00000.mds\", \"bytes\": 67092637}, "
                "\"samples\": 4093, \"size_limit\": 67108864, \"version\": 2},",
                "1]", counts[i]);
        compare("[", "true, false, null,", "1]", counts[i]);
    }
}
#endif

static void trees_have_a_limit(void **state)
{
    char text[20000] = "[[],[],[]";
    json_error_t why;
    memset(text + strlen(text), ' ', sizeof(text) - strlen(text));
    text[sizeof(text) - 1] = ']';
    const sl_bytes bytes = {(const uint8_t *)text, sizeof(text)};
    sl_memory_limit limit;
    sl_memory_limit_init(&limit, 4500);
    sl_memory_work_under(&limit);
    assert_null(sl_json_parse_why(bytes, &why));
    assert_int_equal(json_error_code(&why), json_error_out_of_memory);
    assert_null(sl_json_parse_any(bytes, &why));
    assert_int_equal(json_error_code(&why), json_error_out_of_memory);
    sl_memory_limit_init(&limit, 5000);
    json_decref(sl_json_parse_why(bytes, &why));
    sl_memory_work_under(NULL);
    assert_false(atomic_load(&limit.met));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_taken_counts),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(threads_share_a_limit),
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
        cmocka_unit_test(what_trees_take_is_told),
#endif
        cmocka_unit_test(trees_have_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
