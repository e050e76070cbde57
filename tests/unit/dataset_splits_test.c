/* SPDX-License-Identifier: Apache-2.0 */
/* A split is selected by its name, or by a word for the only one of its kind. */
#include "splits.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

#define NONE 99U

/* Returns the number of the split among up to 4 names, or NONE if the choice fails. */
static uint32_t chosen(const char *const names[4], const char *wanted, sluice_error *error)
{
    uint32_t count = 0;
    uint32_t number = NONE;
    while (count < 4 && names[count] != NULL) {
        count++;
    }
    return sl_split_choose(names, count, wanted, &number, error) == SLUICE_OK ? number : NONE;
}

TEST(splits_are_found)
{
    static const struct {
        const char *names[4];
        const char *wanted;
        uint32_t number;
    } cases[] = {
        {{"train2017", "val2017"}, "val2017", 1},
        {{"train2017", "val2017"}, "val", 1},
        {{"train2017", "val2017"}, "validation", 1},
        {{"train2017", "val2017"}, "train", 0},
        {{"train2017", "val2017"}, "Train", 0},
        {{"val2014", "val"}, "val", 1}, /* the name itself comes first */
        {{"instances_train2017", "person_keypoints_val2017"}, "val", 1},
        {{"Train", "Test"}, "test", 1},
        {{"train", "trainval", "val"}, "train", 0},
        {{"trainval2012", "val2012"}, "trainval", 0},
        {{"labelled", "unlabeled2017"}, "unlabeled", 1},
        {{"fold-1", "fold-2"}, "fold-2", 1},
    };
    sluice_error error;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(chosen(cases[i].names, cases[i].wanted, &error), cases[i].number);
    }
}

TEST(splits_that_may_be_another_are_refused)
{
    static const struct {
        const char *names[4];
        const char *wanted;
        const char *says;
    } cases[] = {
        {{"val2014", "val2017"}, "val", "may mean val2014, val2017"},
        {{"train", "val"}, "trainval", "the splits are train, val"},
        {{"trainval", "test"}, "train", "the splits are trainval, test"},
        {{"train_val", "test"}, "train", "the splits are train_val, test"},
        {{"train", "test-dev"}, "test", "the splits are train, test-dev"},
        {{"train2017"}, "train2014", "the splits are train2017"},
        {{"a", "b"}, "c", "the splits are a, b"},
        {{"a", "b"}, "", "the splits are a, b"},
        {{"latest", "contrain"}, "train", "no such split"},
        {{NULL}, "train", "the splits are none"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sluice_error error;
        assert_int_equal(chosen(cases[i].names, cases[i].wanted, &error), NONE);
        assert_int_equal(error.status, SLUICE_INVALID);
        assert_non_null(strstr(error.text, cases[i].says));
    }
}

/* More names than fit into a message. */
TEST(many_splits_are_told_apart)
{
    static char text[400][16];
    const char *names[400];
    for (uint32_t i = 0; i < 400; i++) {
        snprintf(text[i], sizeof(text[i]), "val_%u", i);
        names[i] = text[i];
    }
    sluice_error error;
    uint32_t number;
    assert_int_equal(sl_split_choose(names, 400, "val", &number, &error), SLUICE_INVALID);
    assert_non_null(strstr(error.text, "more"));
    assert_int_equal(sl_split_choose(names, 400, "val_399", &number, &error), SLUICE_OK);
    assert_int_equal(number, 399);
}

TEST(names_end_before_the_number)
{
    static const struct {
        const char *name;
        size_t length;
    } cases[] = {
        {"train-00000-of-00002.parquet", 5},
        {"train-00000-of-00002-a09b74b3ef9c3b56.parquet", 5},
        {"pets-train_00000_of_00002.arrow", 10},
        {"train2017-1-of-2", 9},
        {"train-0000.parquet", 0},
        {"train-of-00002", 0},
        {"train-1-of-2nd", 0},
        {"-1-of-2", 0},
        {"", 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(sl_split_before_number(cases[i].name), cases[i].length);
    }
}

TEST(parts_of_a_split_begin_alike)
{
    assert_true(sl_splits_are_parts("train-a", "Train-b"));
    assert_true(sl_splits_are_parts("cats-eval", "cats-val-2"));
    assert_false(sl_splits_are_parts("cats-train", "dogs-train"));
    assert_false(sl_splits_are_parts("train-a", "test-a"));
    assert_false(sl_splits_are_parts("a", "a"));
    assert_true(sl_split_means("eval-a", "val"));
    assert_false(sl_split_means("train_val", "train"));
    assert_false(sl_split_means("train-a", "train-b"));
}
