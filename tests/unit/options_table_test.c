/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the option table against the structs: every member that a text can set is in the table
 * exactly once, the settable values are those that a check accepts, and nothing is written past the
 * end of older structs. */
#include "options.h"
#include "test.h"

#include <sluice/sluice.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STRUCT_MAX = 512, WIDTH = 8 };

/* A member that no text can set. */
typedef struct gap {
    size_t offset, bytes;
} gap;

#define GAP(type, member)                                      \
    {                                                          \
        offsetof(type, member), sizeof(((type *)NULL)->member) \
    }

// NOLINTBEGIN(bugprone-sizeof-expression): pointers are meant
static const gap loader_gaps[] = {
    GAP(sluice_loader_options, outputs),     GAP(sluice_loader_options, output_count),
    GAP(sluice_loader_options, columns),     GAP(sluice_loader_options, reserved),
    GAP(sluice_loader_options, classes),     GAP(sluice_loader_options, class_count),
    GAP(sluice_loader_options, sizes),       GAP(sluice_loader_options, size_count),
    GAP(sluice_loader_options, lengths),     GAP(sluice_loader_options, length_count),
    GAP(sluice_loader_options, weights),     GAP(sluice_loader_options, weight_count),
    GAP(sluice_loader_options, reserved_end)};
static const gap column_gaps[] = {GAP(sluice_column, name),     GAP(sluice_column, recipe),
                                  GAP(sluice_column, dims),     GAP(sluice_column, shape),
                                  GAP(sluice_column, mirror),   GAP(sluice_column, mirror_count),
                                  GAP(sluice_column, reserved), GAP(sluice_column, reserved_end),
                                  GAP(sluice_column, ids),      GAP(sluice_column, reserved_ids)};
static const gap dataset_gaps[] = {
    GAP(sluice_dataset_options, flat),        GAP(sluice_dataset_options, fields),
    GAP(sluice_dataset_options, field_count), GAP(sluice_dataset_options, reserved),
    GAP(sluice_dataset_options, should_stop), GAP(sluice_dataset_options, user)};
static const gap writer_gaps[] = {
    GAP(sluice_writer_options, classes),  GAP(sluice_writer_options, class_count),
    GAP(sluice_writer_options, fields),   GAP(sluice_writer_options, field_count),
    GAP(sluice_writer_options, reserved), GAP(sluice_writer_options, reserved_2)};
static const gap pack_gaps[] = {GAP(sluice_pack_options, on_progress),
                                GAP(sluice_pack_options, user), GAP(sluice_pack_options, on_kept),
                                GAP(sluice_pack_options, should_stop),
                                GAP(sluice_pack_options, labels)};
static const gap unpack_gaps[] = {
    GAP(sluice_unpack_options, on_progress), GAP(sluice_unpack_options, user),
    GAP(sluice_unpack_options, should_stop), GAP(sluice_unpack_options, reserved)};
static const gap verify_gaps[] = {
    GAP(sluice_verify_options, on_finding), GAP(sluice_verify_options, on_progress),
    GAP(sluice_verify_options, user), GAP(sluice_verify_options, should_stop),
    GAP(sluice_verify_options, reserved)};
static const gap remote_gaps[] = {GAP(sluice_remote_config, reserved)};
// NOLINTEND(bugprone-sizeof-expression)

#define STRUCT(of, type, gaps)                                     \
    {                                                              \
        (of), sizeof(type), (gaps), sizeof(gaps) / sizeof(*(gaps)) \
    }

static const struct described {
    sluice_options of;
    size_t bytes;
    const gap *gaps;
    size_t gap_count;
} structs[] = {
    STRUCT(SLUICE_OPTIONS_LOADER, sluice_loader_options, loader_gaps),
    STRUCT(SLUICE_OPTIONS_COLUMN, sluice_column, column_gaps),
    STRUCT(SLUICE_OPTIONS_DATASET, sluice_dataset_options, dataset_gaps),
    STRUCT(SLUICE_OPTIONS_WRITER, sluice_writer_options, writer_gaps),
    STRUCT(SLUICE_OPTIONS_PACK, sluice_pack_options, pack_gaps),
    STRUCT(SLUICE_OPTIONS_UNPACK, sluice_unpack_options, unpack_gaps),
    STRUCT(SLUICE_OPTIONS_VERIFY, sluice_verify_options, verify_gaps),
    STRUCT(SLUICE_OPTIONS_REMOTE, sluice_remote_config, remote_gaps),
};
enum { STRUCTS = sizeof(structs) / sizeof(*structs) };

static size_t width_of(const sluice_option *option)
{
    switch (option->type) {
    case SLUICE_OPTION_U64:
    case SLUICE_OPTION_I64:
    case SLUICE_OPTION_REAL:
    case SLUICE_OPTION_TEXT:
        return 8;
    default:
        return 4;
    }
}

static void *cleared(const struct described *d, uint64_t memory[STRUCT_MAX / WIDTH])
{
    const uint32_t size = (uint32_t)d->bytes;
    memset(memory, 0, STRUCT_MAX);
    memcpy(memory, &size, sizeof(size));
    return memory;
}

TEST(every_member_is_there_once)
{
    for (size_t s = 0; s < STRUCTS; s++) {
        const struct described *d = &structs[s];
        char seen[STRUCT_MAX] = {0};
        sluice_option option = SLUICE_OPTION_INIT;
        memset(seen, 1, sizeof(uint32_t)); /* struct_size */
        for (size_t i = 0; i < d->gap_count; i++) {
            memset(seen + d->gaps[i].offset, 1, d->gaps[i].bytes);
        }
        for (uint32_t i = 0; sluice_option_get(d->of, i, &option) == SLUICE_OK; i++) {
            for (size_t b = 0; b < width_of(&option); b++) {
                assert_int_equal(seen[option.offset + b], 0);
                seen[option.offset + b] = 1;
            }
        }
        for (size_t b = 0; b < d->bytes; b++) {
            if (seen[b] == 0) {
                print_error("struct %zu: the member at byte %zu has no row\n", s, b);
            }
            assert_int_equal(seen[b], 1);
        }
    }
}

/* "fill value [0]" contains "0". False if the text states no default. */
static bool stated_default(const char *help, char *text, size_t bytes)
{
    const char *open = strrchr(help, '[');
    const char *end = open == NULL ? NULL : strchr(open, ']');
    if (end == NULL || end[1] != '\0') {
        return false;
    }
    snprintf(text, bytes, "%.*s", (int)(end - open - 1), open + 1);
    return true;
}

/* A text is a phrase that fits into an option's line (--help-all). A word as the default is the
 * name of value 0, which always means the default; "auto" may be resolved. */
TEST(helps_state_their_default)
{
    for (size_t s = 0; s < STRUCTS; s++) {
        const sluice_option *option;
        for (uint32_t i = 0; (option = sl_option_at(structs[s].of, i)) != NULL; i++) {
            char stated[80];
            assert_true(strlen(option->help) <= (option->flag != NULL ? 68 : 80));
            assert_null(strstr(option->help, "icture"));
            if (option->type != SLUICE_OPTION_WORD || option->least != 0 ||
                !stated_default(option->help, stated, sizeof(stated))) {
                continue;
            }
            for (uint64_t w = 1; w <= option->most; w++) {
                assert_true(strcmp(stated, option->words[w]) != 0 ||
                            strcmp(option->words[0], "auto") == 0);
            }
        }
    }
}

/* A real number that may be 0 and has a different default. */
TEST(a_zero_that_is_meant_is_marked)
{
    size_t marked = 0;
    for (size_t s = 0; s < STRUCTS; s++) {
        const sluice_option *option;
        for (uint32_t i = 0; (option = sl_option_at(structs[s].of, i)) != NULL; i++) {
            char stated[80] = "0";
            const bool real = option->type == SLUICE_OPTION_REAL && option->least <= 0;
            (void)stated_default(option->help, stated, sizeof(stated));
            assert_int_equal(option->zero_is_meant, real && strcmp(stated, "0") != 0);
            marked += option->zero_is_meant;
        }
    }
    assert_int_equal(marked, 4);
}

TEST(rows_are_complete)
{
    for (size_t s = 0; s < STRUCTS; s++) {
        const sluice_option *a;
        const sluice_option *b;
        for (uint32_t i = 0; (a = sl_option_at(structs[s].of, i)) != NULL; i++) {
            assert_non_null(a->help);
            assert_int_equal(a->value != NULL,
                             a->type != SLUICE_OPTION_FLAG && a->type != SLUICE_OPTION_WORD);
            assert_int_equal(a->words != NULL, a->type == SLUICE_OPTION_WORD);
            assert_true(a->flag == NULL || strncmp(a->flag, "--", 2) == 0);
            for (uint64_t w = 0; a->words != NULL && w <= a->most - (uint64_t)a->least; w++) {
                assert_non_null(a->words[w]);
            }
            assert_true(a->words == NULL || a->words[a->most - (uint64_t)a->least + 1] == NULL);
            for (uint32_t k = 0; k < i; k++) {
                b = sl_option_at(structs[s].of, k);
                assert_string_not_equal(a->name, b->name);
                assert_true(a->flag == NULL || b->flag == NULL || strcmp(a->flag, b->flag) != 0);
                /* In Python, neighbouring options may form one argument, like the numbers of an
                 * episode. */
                assert_true(a->keyword == NULL || b->keyword == NULL || k + 1 == i ||
                            strcmp(a->keyword, b->keyword) != 0);
            }
        }
    }
}

/* ---- values ---- */

static sluice_status set(const struct described *d, void *options, const char *name,
                         const char *text)
{
    sluice_error error = SLUICE_ERROR_INIT;
    const sluice_status status = sluice_option_set(d->of, options, name, text, &error);
    assert_true(status == SLUICE_OK || strstr(error.text, name) != NULL);
    return status;
}

static sluice_status check(const struct described *d, const void *options)
{
    sluice_error error = SLUICE_ERROR_INIT;
    return sl_options_check(d->of, options, "test", &error);
}

/* Every available value can be set and passes a check; the next higher value fails both. */
static void try_ends(const struct described *d, const sluice_option *option)
{
    uint64_t memory[STRUCT_MAX / WIDTH];
    char text[32];
    void *options = cleared(d, memory);
    int64_t value = 0;
    snprintf(text, sizeof(text), "%lld", (long long)option->least);
    assert_int_equal(set(d, options, option->name, text), SLUICE_OK);
    assert_int_equal(check(d, options), SLUICE_OK);
    snprintf(text, sizeof(text), "%llu", (unsigned long long)option->most);
    assert_int_equal(set(d, options, option->name, text), SLUICE_OK);
    assert_int_equal(check(d, options), SLUICE_OK);
    memcpy(&value, (char *)options + option->offset, width_of(option));
    assert_true((uint64_t)value == option->most);
    if (option->most < UINT32_MAX) {
        const uint64_t above = option->most + 1;
        snprintf(text, sizeof(text), "%llu", (unsigned long long)above);
        assert_int_equal(set(d, options, option->name, text), SLUICE_INVALID);
        memcpy((char *)options + option->offset, &above, width_of(option));
        assert_int_equal(check(d, options), SLUICE_INVALID);
    }
    static const char *const odd[] = {
        "", " 1", "1 ", "+1", "0x1", "x", "1.5", "99999999999999999999", "-99999999999999999999"};
    for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
        assert_int_equal(set(d, options, option->name, odd[i]), SLUICE_INVALID);
    }
    assert_int_equal(set(d, options, option->name, "0"), SLUICE_OK);
    assert_true(sl_option_is_zero(option, options));
}

static void try_words(const struct described *d, const sluice_option *option)
{
    uint64_t memory[STRUCT_MAX / WIDTH];
    void *options = cleared(d, memory);
    for (int32_t i = 0; option->words[i] != NULL; i++) {
        int32_t value;
        assert_int_equal(set(d, options, option->name, option->words[i]), SLUICE_OK);
        memcpy(&value, (char *)options + option->offset, sizeof(value));
        assert_int_equal(value, option->least + i);
        assert_int_equal(check(d, options), SLUICE_OK);
    }
    assert_int_equal(set(d, options, option->name, "0"), SLUICE_INVALID);
    for (int32_t odd = -1; odd <= (int32_t)option->most + 1; odd += (int32_t)option->most + 2) {
        memcpy((char *)options + option->offset, &odd, sizeof(odd));
        assert_int_equal(check(d, options), SLUICE_INVALID);
    }
}

TEST(what_is_set_is_what_is_checked)
{
    for (size_t s = 0; s < STRUCTS; s++) {
        const sluice_option *option;
        for (uint32_t i = 0; (option = sl_option_at(structs[s].of, i)) != NULL; i++) {
            if (option->type == SLUICE_OPTION_WORD) {
                try_words(&structs[s], option);
            } else if (option->type != SLUICE_OPTION_TEXT && option->type != SLUICE_OPTION_REAL) {
                try_ends(&structs[s], option);
            }
        }
    }
}

TEST(single_values)
{
    const struct described *loader = &structs[0];
    const struct described *pack = &structs[4];
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    sluice_pack_options packing = SLUICE_PACK_OPTIONS_INIT;
    const char *device = "cuda:1";
    assert_int_equal(set(loader, &options, "ignore_index", "-100"), SLUICE_OK);
    assert_int_equal(options.ignore_index, -100);
    assert_int_equal(set(loader, &options, "exact", "true"), SLUICE_OK);
    assert_int_equal(options.exact, 1);
    assert_int_equal(set(loader, &options, "exact", "false"), SLUICE_OK);
    assert_int_equal(options.exact, 0);
    assert_int_equal(set(loader, &options, "batch_size", "-1"), SLUICE_INVALID);
    assert_int_equal(set(loader, &options, "device", device), SLUICE_OK);
    assert_ptr_equal(options.device, device);
    assert_int_equal(set(loader, &options, "outputs", "1"), SLUICE_INVALID);
    assert_int_equal(set(pack, &packing, "raw_share", "0.25"), SLUICE_OK);
    assert_true(packing.raw_share == 0.25);
    assert_int_equal(set(pack, &packing, "raw_share", "1.01"), SLUICE_INVALID);
    assert_int_equal(set(pack, &packing, "raw_share", "nan"), SLUICE_INVALID);
    packing.raw_share = 0.0 / 0.0;
    assert_int_equal(check(pack, &packing), SLUICE_INVALID);
}

/* ---- the interface ---- */

TEST(an_older_struct_is_not_overwritten)
{
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    sluice_error error = SLUICE_ERROR_INIT;
    options.struct_size = offsetof(sluice_loader_options, ignore_index) + sizeof(uint32_t);
    assert_int_equal(
        sluice_option_set(SLUICE_OPTIONS_LOADER, &options, "window_bytes", "1048576", &error),
        SLUICE_UNSUPPORTED);
    assert_int_equal(
        sluice_option_set(SLUICE_OPTIONS_LOADER, &options, "ignore_index", "5", &error),
        SLUICE_UNSUPPORTED);
    assert_int_equal(options.window_bytes, 0);
    assert_int_equal(options.ignore_index, 0);
    options.struct_size = 0;
    assert_int_equal(sluice_option_set(SLUICE_OPTIONS_LOADER, &options, "seed", "5", &error),
                     SLUICE_UNSUPPORTED);
}

TEST(what_there_is_not)
{
    sluice_option option = SLUICE_OPTION_INIT;
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    assert_int_equal(sluice_option_get((sluice_options)-1, 0, &option), SLUICE_INVALID);
    assert_int_equal(sluice_option_get((sluice_options)STRUCTS, 0, &option), SLUICE_INVALID);
    assert_int_equal(sluice_option_get(SLUICE_OPTIONS_LOADER, 1000, &option), SLUICE_END);
    assert_int_equal(sluice_option_get(SLUICE_OPTIONS_LOADER, 0, NULL), SLUICE_INVALID);
    option.struct_size = 0;
    assert_int_equal(sluice_option_get(SLUICE_OPTIONS_LOADER, 0, &option), SLUICE_INVALID);
    assert_int_equal(sluice_option_set((sluice_options)STRUCTS, &options, "seed", "1", NULL),
                     SLUICE_INVALID);
    assert_int_equal(sluice_option_set(SLUICE_OPTIONS_LOADER, NULL, "seed", "1", NULL),
                     SLUICE_INVALID);
    assert_int_equal(sluice_option_set(SLUICE_OPTIONS_LOADER, &options, NULL, "1", NULL),
                     SLUICE_INVALID);
    assert_int_equal(sluice_option_set(SLUICE_OPTIONS_LOADER, &options, "seed", NULL, NULL),
                     SLUICE_INVALID);
}

TEST(other_names)
{
    assert_string_equal(sluice_option_spell(SLUICE_SPELLING_TOOL, "batch_size"), "--batch");
    assert_string_equal(sluice_option_spell(SLUICE_SPELLING_PYTHON, "io_backend"), "io");
    assert_string_equal(sluice_option_spell(SLUICE_SPELLING_TOOL, "the option fields"),
                        "--field NAME=KEY");
    assert_string_equal(sluice_option_spell(SLUICE_SPELLING_PYTHON, "overwrite"), "overwrite=True");
    assert_string_equal(sluice_option_spell(SLUICE_SPELLING_TOOL, "stall_ns"), "--stall");
    assert_null(sluice_option_spell(SLUICE_SPELLING_TOOL, "ignore_index"));
    assert_null(sluice_option_spell(SLUICE_SPELLING_TOOL, "nothing of this name"));
    assert_null(sluice_option_spell(SLUICE_SPELLING_TOOL, NULL));
}
