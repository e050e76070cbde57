/* SPDX-License-Identifier: Apache-2.0 */
/* Columns as text: what each kind takes, and a sentence for what is wrong. */
#include "test.h"

#include "../../tools/sluice/common/column_spec.h"
#include "../../tools/sluice/common/pipeline.h"

#include <stdio.h>
#include <string.h>

static struct column_spec good(const char *text)
{
    struct column_spec spec;
    char fault[400] = "";
    if (!column_spec_parse(text, &spec, fault, sizeof fault)) {
        fail_msg("%s: %s", text, fault);
    }
    return spec;
}

TEST(test_names)
{
    struct column_spec spec = good("image:image");
    assert_string_equal(spec.name, "image");
    assert_string_equal(spec.field, "image");
    assert_int_equal(spec.kind, SLUICE_COLUMN_IMAGE);
    spec = good("left.eye-2_x=image:tensor");
    assert_string_equal(spec.name, "left.eye-2_x");
    assert_string_equal(spec.field, "image");
    spec = good("a123456789012345678901234567890:number");
    assert_int_equal(strlen(spec.name), 31);
}

TEST(test_nothing_given)
{
    static const char *const kinds[] = {"image",  "number", "tensor", "window",
                                        "ragged", "padded", "one_hot"};
    struct column_spec plain;
    column_spec_clear(&plain);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char text[32];
        snprintf(text, sizeof text, "x:%s", kinds[i]);
        struct column_spec spec = good(text);
        assert_int_equal(spec.kind, (int)i + SLUICE_COLUMN_IMAGE);
        assert_string_equal(column_kind_name(spec.kind), kinds[i]);
        assert_int_equal(spec.dtype, COLUMN_WORD_NONE);
        assert_int_equal(spec.missing, COLUMN_WORD_NONE);
        assert_true(spec.size == COLUMN_COUNT_NONE && spec.padding == COLUMN_COUNT_NONE);
        assert_true(spec.length == COLUMN_COUNT_NONE && spec.stride == COLUMN_COUNT_NONE);
        assert_int_equal(spec.dims, 0);
    }
    assert_string_equal(column_kind_name(0), "unknown");
    assert_string_equal(column_kind_name(SLUICE_COLUMN_ONE_HOT + 1), "unknown");
}

TEST(test_image)
{
    struct column_spec spec =
        good("image:image,layout=nchw,size=160,crop=random,padding=0,dtype=bf16,missing=blank");
    assert_int_equal(spec.size, 160);
    assert_int_equal(spec.crop, PIPELINE_CROP);
    assert_int_equal(spec.padding, 0);
    assert_int_equal(spec.dtype, SLUICE_BF16);
    assert_int_equal(spec.layout, SLUICE_NCHW);
    assert_int_equal(spec.missing, SLUICE_MISSING_BLANK);
    spec = good("image:image,augment=random_flip:0.3+color_jitter:1:2:3");
    assert_string_equal(spec.augment, "random_flip:0.3+color_jitter:1:2:3");
    spec = good("image:image,crop=rrc,area-min=0.25,area-max=1");
    assert_int_equal(spec.crop, PIPELINE_TRAIN);
    assert_true(spec.area_min == 0.25 && spec.area_max == 1);
    assert_int_equal(good("i:image,crop=center").crop, PIPELINE_EVAL);
    assert_int_equal(good("i:image,size=16384").size, 16384);
}

TEST(test_others)
{
    struct column_spec spec = good("tokens:window,length=1025,stride=1024,offset=1,dtype=i32");
    assert_true(spec.length == 1025 && spec.stride == 1024 && spec.offset == 1);
    assert_int_equal(spec.dtype, SLUICE_I32);
    spec = good("t:tensor,shape=3x32x32,part=random");
    assert_int_equal(spec.dims, 3);
    assert_true(spec.shape[0] == 3 && spec.shape[1] == 32 && spec.shape[2] == 32);
    assert_int_equal(spec.part, SLUICE_PART_RANDOM);
    assert_int_equal(good("t:tensor,shape=1x2x3x4x5x6x7x8").dims, 8);
    spec = good("target=label:one_hot,length=10");
    assert_string_equal(spec.field, "label");
    assert_int_equal(spec.length, 10);
    assert_int_equal(good("c:ragged,length=9,too-long=truncate").too_long,
                     SLUICE_TOO_LONG_TRUNCATE);
    assert_int_equal(good("c:padded,length=9,dtype=u8").dtype, SLUICE_U8);
    assert_true(spec.smoothing == 0 && spec.mixes[0] == '\0');
    spec = good("l=label:one_hot,length=2,dtype=f32,mixes=image,smoothing=0.1");
    assert_string_equal(spec.mixes, "image");
    assert_true(spec.smoothing == 0.1);
    assert_true(good("l:one_hot,smoothing=1").smoothing == 1);
    for (int dtype = SLUICE_U8; dtype <= SLUICE_BOOL; dtype++) {
        char text[64];
        snprintf(text, sizeof text, "x:tensor,dtype=%s", sluice_dtype_name((sluice_dtype)dtype));
        assert_int_equal(good(text).dtype, dtype);
    }
}

TEST(test_faults)
{
    static const struct {
        const char *text, *names;
    } bad[] = {
        {"", "NAME:KIND"},
        {"image", "NAME:KIND"},
        {":image", "no name"},
        {"=image:image", "no name"},
        {"a=:image", "no name"},
        {"a=b=c:image", "\"b=c\" is no name"},
        {"a b:image", "\"a b\""},
        {"a1234567890123456789012345678901:number", "no name"},
        {"image:", "no kind"},
        {"image:picture", "\"picture\""},
        {"image:image:image", "\"image:image\""},
        {"image:image,", "KEY=VALUE"},
        {"image:image,,size=3", "KEY=VALUE"},
        {"image:image,size", "\"size\""},
        {"image:image,size=", "KEY=VALUE"},
        {"image:image,=3", "KEY=VALUE"},
        {"image:image,sise=3", "no \"sise\"; it takes size, crop, padding"},
        {"image:image,length=3", "no \"length\""},
        {"label:number,size=3", "it takes dtype, missing"},
        {"image:image,size=3,size=3", "size is given twice"},
        {"label:number,dtype=i32,dtype=i32", "dtype is given twice"},
        {"image:image,size=0", "1 to 16384"},
        {"image:image,size=16385", "1 to 16384"},
        {"image:image,size=-1", "size=-1"},
        {"image:image,size=1.5", "size=1.5"},
        {"image:image,crop=left", "rrc, center, random"},
        {"image:image,dtype=i32", "u8, f32, f16, bf16"},
        {"image:image,area-min=0", "0.0001 to 1"},
        {"image:image,area-max=nan", "0.0001 to 1"},
        {"t:tensor,shape=", "KEY=VALUE"},
        {"t:tensor,shape=x", "shape=x"},
        {"t:tensor,shape=3x", "shape=3x"},
        {"t:tensor,shape=3x0", "shape=3x0"},
        {"t:tensor,shape=1x1x1x1x1x1x1x1x1", "up to 8"},
        {"t:tensor,shape=18446744073709551615", "up to 8"},
        {"t:tensor,shape=99999999999999999999999999999999", "up to 8"},
        {"t:tensor,part=half", "whole, center, random"},
        {"c:ragged,length=0", "length=0"},
        {"c:ragged,too-long=never", "bad, truncate"},
        {"c:one_hot,length=3,missing=maybe", "bad, blank"},
        {"c:one_hot,length=3,smoothing=1.1", "smoothing=1.1: expected a number from 0 to 1"},
        {"c:one_hot,length=3,smoothing=-0.1", "smoothing=-0.1"},
        {"c:one_hot,length=3,smoothing=nan", "smoothing=nan"},
        {"c:one_hot,length=3,smoothing=a", "smoothing=a"},
        {"c:one_hot,length=3,mixes=a b", "mixes=a b: expected a column's name"},
        {"c:one_hot,length=3,mixes=a1234567890123456789012345678901", "mixes=a1"},
        {"c:one_hot,length=3,mixes=a,mixes=b", "mixes is given twice"},
        {"c:number,mixes=a", "no \"mixes\""},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct column_spec spec;
        char fault[400] = "";
        if (column_spec_parse(bad[i].text, &spec, fault, sizeof fault)) {
            fail_msg("taken for a column: %s", bad[i].text);
        }
        if (strstr(fault, bad[i].names) == NULL) {
            fail_msg("%s: '%s' does not say '%s'", bad[i].text, fault, bad[i].names);
        }
    }
}

TEST(test_long_texts)
{
    char text[1000];
    char fault[24];
    struct column_spec spec;
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_false(column_spec_parse(text, &spec, fault, sizeof fault));
    memcpy(text, "a:image,", 8);
    assert_false(column_spec_parse(text, &spec, fault, sizeof fault));
    memcpy(text + 1, "x", 1);
    text[500] = ':';
    assert_false(column_spec_parse(text, &spec, fault, sizeof fault));
    assert_true(strlen(fault) < sizeof fault);
}

static void grow(char *text, size_t length)
{
    static const char step[] = "+random_rotation:-30:30:interpolation=bilinear";
    for (size_t used = strlen(text); used < length; used += sizeof step - 1) {
        memcpy(text + used, step, sizeof step);
    }
}

TEST(test_long_steps)
{
    char text[3000] = "a:image,augment=pad:8";
    char fault[400] = "";
    struct column_spec spec;
    grow(text, 800);
    assert_true(column_spec_parse(text, &spec, fault, sizeof fault));
    assert_string_equal(spec.augment, strstr(text, "pad"));
    grow(text, 2100);
    assert_false(column_spec_parse(text, &spec, fault, sizeof fault));
    assert_non_null(strstr(fault, "more than 2047 characters"));
}
