/* SPDX-License-Identifier: Apache-2.0 */
/* Tests columns as text: the options of each kind, and the message for each error. */
#include "test.h"

#include "../../tools/sluice/common/column_spec.h"
#include "../../tools/sluice/common/pipeline.h"

#include <sluice/describe.h>

#include <stdio.h>
#include <string.h>

#define TEXT_OF(spec, member) column_spec_text(&(spec), offsetof(sluice_column, member))

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
    assert_int_equal(spec.column.kind, SLUICE_COLUMN_IMAGE);
    spec = good("left.eye-2_x=image:tensor");
    assert_string_equal(spec.name, "left.eye-2_x");
    assert_string_equal(spec.field, "image");
    spec = good("a123456789012345678901234567890:number");
    assert_int_equal(strlen(spec.name), 31);
}

TEST(test_nothing_given)
{
    static const char *const kinds[] = {"image",  "number",  "tensor", "window", "ragged",
                                        "padded", "one_hot", "mask",   "boxes",  "points"};
    struct column_spec plain;
    column_spec_clear(&plain);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char text[32];
        snprintf(text, sizeof text, "x:%s", kinds[i]);
        struct column_spec spec = good(text);
        assert_int_equal(spec.column.kind, (int)i + SLUICE_COLUMN_IMAGE);
        assert_string_equal(column_kind_name(spec.column.kind), kinds[i]);
        assert_false(column_spec_has(&spec, "dtype"));
        assert_int_equal(spec.column.missing, 0);
        assert_true(spec.size == COLUMN_COUNT_NONE && spec.padding == COLUMN_COUNT_NONE);
        assert_true(spec.column.length == 0 && spec.column.stride == 0);
        assert_int_equal(spec.column.dims, 0);
    }
    assert_string_equal(column_kind_name(0), "unknown");
    assert_string_equal(column_kind_name(SLUICE_COLUMN_PACKED + 1), "unknown");
}

TEST(test_image)
{
    struct column_spec spec =
        good("image:image,layout=nchw,size=160,crop=random,padding=0,dtype=bf16,missing=blank");
    assert_int_equal(spec.size, 160);
    assert_int_equal(spec.crop, PIPELINE_CROP);
    assert_int_equal(spec.padding, 0);
    assert_int_equal(spec.column.dtype, SLUICE_BF16);
    assert_int_equal(spec.column.layout, SLUICE_NCHW);
    assert_int_equal(spec.column.missing, SLUICE_MISSING_BLANK);
    spec = good("image:image,augment=random_flip:0.3+color_jitter:1:2:3");
    assert_string_equal(spec.augment, "random_flip:0.3+color_jitter:1:2:3");
    spec = good("image:image,crop=rrc,area-min=0.25,area-max=1");
    assert_int_equal(spec.crop, PIPELINE_TRAIN);
    assert_true(spec.area_min == 0.25 && spec.area_max == 1);
    assert_int_equal(good("i:image,crop=center").crop, PIPELINE_EVAL);
    assert_int_equal(good("i:image,crop=none").crop, PIPELINE_NONE);
    assert_int_equal(good("i:image,size=16384").size, 16384);
}

TEST(test_others)
{
    struct column_spec spec = good("tokens:window,length=1025,stride=1024,offset=1,dtype=i32");
    assert_true(spec.column.length == 1025 && spec.column.stride == 1024 &&
                spec.column.offset == 1);
    assert_int_equal(spec.column.dtype, SLUICE_I32);
    spec = good("tokens:packed,length=4096,media=patches,per-token=4,media-length=100");
    assert_string_equal(TEXT_OF(spec, media), "patches");
    assert_true(spec.column.per_token == 4 && spec.column.media_length == 100);
    spec = good("t:tensor,shape=3x32x32,part=random");
    assert_int_equal(spec.column.dims, 3);
    assert_true(spec.column.shape[0] == 3 && spec.column.shape[1] == 32 &&
                spec.column.shape[2] == 32);
    assert_int_equal(spec.column.part, SLUICE_PART_RANDOM);
    assert_int_equal(good("t:tensor,shape=1x2x3x4x5x6x7x8").column.dims, 8);
    spec = good("target=label:one_hot,length=10");
    assert_string_equal(spec.field, "label");
    assert_int_equal(spec.column.length, 10);
    assert_int_equal(good("c:ragged,length=9,too-long=truncate").column.too_long,
                     SLUICE_TOO_LONG_TRUNCATE);
    assert_int_equal(good("c:padded,length=9,dtype=u8").column.dtype, SLUICE_U8);
    assert_true(spec.column.smoothing == 0 && TEXT_OF(spec, mixes)[0] == '\0');
    spec = good("l=label:one_hot,length=2,dtype=f32,mixes=image,smoothing=0.1");
    assert_string_equal(TEXT_OF(spec, mixes), "image");
    assert_true(spec.column.smoothing == 0.1);
    assert_true(good("l:one_hot,smoothing=1").column.smoothing == 1);
    for (int dtype = SLUICE_U8; dtype <= SLUICE_BOOL; dtype++) {
        char text[64];
        snprintf(text, sizeof text, "x:tensor,dtype=%s", sluice_dtype_name((sluice_dtype)dtype));
        assert_int_equal(good(text).column.dtype, dtype);
    }
}

/* Options that follow an image are as in sluice_column; 0 is the library's default. */
TEST(test_followers)
{
    struct column_spec spec = good("seg=mask:mask,follows=image,fill=255,interpolation=bilinear,"
                                   "channels=2,dtype=f32,missing=blank");
    assert_string_equal(TEXT_OF(spec, follows), "image");
    assert_true(spec.column.fill == 255 && spec.column.channels == 2);
    assert_int_equal(spec.column.interpolation, SLUICE_COLUMN_BILINEAR);
    assert_int_equal(spec.column.dtype, SLUICE_F32);
    assert_int_equal(spec.column.missing, SLUICE_MISSING_BLANK);
    assert_true(good("m:mask,fill=-1.5").column.fill == -1.5);
    spec = good("m=shapes:mask,labels=labels,crowds=iscrowd,background=3,ignore=0,overlap=ignore");
    assert_string_equal(TEXT_OF(spec, labels), "labels");
    assert_string_equal(TEXT_OF(spec, crowds), "iscrowd");
    assert_true(spec.column.background == 3 && spec.column.overlap == SLUICE_OVERLAP_IGNORE);
    assert_true(spec.column.ignore > 0 && spec.column.ignore < 1e-300);
    spec = good("b=boxes:boxes,length=100,format=xywh,out-format=cxcywh,relative=0,out-relative=1,"
                "padded=1,at-least-one=1,min-size=2,min-area=4.5,min-visibility=0.25,max-aspect=9,"
                "too-long=truncate,shapes=segmentation,crowds=iscrowd");
    assert_int_equal(spec.column.length, 100);
    assert_string_equal(TEXT_OF(spec, shapes), "segmentation");
    assert_string_equal(TEXT_OF(spec, crowds), "iscrowd");
    assert_int_equal(spec.column.box_format, SLUICE_BOX_XYWH);
    assert_int_equal(spec.column.out_format, SLUICE_BOX_CXCYWH);
    assert_true(spec.column.relative == SLUICE_COORDINATES_PIXELS && spec.column.out_relative == 1);
    assert_true(spec.column.padded == 1 && spec.column.at_least_one == 1);
    assert_true(spec.column.min_size == 2 && spec.column.min_area == 4.5);
    assert_true(spec.column.min_visibility == 0.25 && spec.column.max_aspect == 9);
    assert_int_equal(spec.column.too_long, SLUICE_TOO_LONG_TRUNCATE);
    spec = good("b:boxes,length=1");
    assert_true(TEXT_OF(spec, follows)[0] == '\0' && spec.column.min_size == 0);
    spec = good("b:boxes,length=1,min-size=0,min-area=0");
    assert_true(spec.column.min_size > 0 && spec.column.min_size < 1e-300);
    assert_true(spec.column.min_area > 0 && spec.column.min_area < 1e-300);
    spec = good("i=shapes:instances,length=3,padded=1,follows=b,missing=blank");
    assert_int_equal(spec.column.kind, SLUICE_COLUMN_INSTANCES);
    assert_int_equal(spec.column.length, 3);
    spec = good("p:points,length=3,point-values=2,mirror=1:0:2,relative=1,follows=b");
    assert_true(spec.column.point_values == 2 && spec.column.relative == 1);
    assert_true(spec.column.mirror_count == 3 && spec.mirror[0] == 1 && spec.mirror[2] == 2);
    spec = good("p:points,relative=indices,orientation=upright");
    assert_int_equal(spec.column.relative, SLUICE_COORDINATES_INDICES);
    assert_int_equal(spec.column.orientation, SLUICE_ORIENTATION_UPRIGHT);
    assert_int_equal(good("b:boxes,relative=auto").column.relative, 0);
    spec = good("l:ragged,length=3,follows=b");
    assert_string_equal(TEXT_OF(spec, follows), "b");
    spec = good("l:padded,length=3,follows=b");
    assert_string_equal(TEXT_OF(spec, follows), "b");
    spec = good("where:geometry,follows=image");
    assert_string_equal(spec.name, "where");
    assert_string_equal(spec.field, "");
    assert_int_equal(spec.column.kind, SLUICE_COLUMN_GEOMETRY);
    assert_string_equal(column_kind_name(spec.column.kind), "geometry");
}

static const char *any_value(const sluice_option *option)
{
    if (option->words != NULL) {
        return option->words[0];
    }
    return option->type == SLUICE_OPTION_TEXT ? "image" : option->least == 2 ? "2" : "1";
}

/* Returns the key for one of the library's options, in Python's spelling. */
static void try_key(const char *kind, const sluice_option *option)
{
    char key[32];
    char text[96];
    snprintf(key, sizeof key, "%s", option->keyword != NULL ? option->keyword : option->name);
    for (char *at = key; (at = strchr(at, '_')) != NULL;) {
        *at = '-';
    }
    snprintf(text, sizeof text, "x:%s,%s=%s", kind, key, any_value(option));
    const struct column_spec spec = good(text);
    assert_true(column_spec_has(&spec, option->name));
}

/* Boxes, points and instances have one dtype. */
static bool is_refused(const char *kind, const char *name)
{
    return strcmp(name, "field") == 0 ||
           (strcmp(name, "dtype") == 0 &&
            (strcmp(kind, "boxes") == 0 || strcmp(kind, "points") == 0 ||
             strcmp(kind, "instances") == 0));
}

/* For each kind, everything in the library's table, with no name spelled out here. */
/* Ids are set even if they are 0. */
TEST(test_ids_of_packed_columns)
{
    struct column_spec spec = good("tokens:packed,length=8");
    assert_int_equal(spec.column.ids, 0);
    spec = good("tokens:packed,length=8,eos=0,mask=answers");
    assert_int_equal(spec.column.ids, SLUICE_ID_EOS);
    assert_string_equal(TEXT_OF(spec, mask), "answers");
    spec = good("tokens:packed,length=8,bos=-1,fim-rate=0.5,fim-spm=0,fim-prefix=3,fim-middle=0,"
                "fim-suffix=4");
    assert_true(spec.column.bos == -1 && spec.column.fim_prefix == 3);
    assert_true(spec.column.fim_middle == 0 && spec.column.fim_suffix == 4);
    assert_int_equal(spec.column.ids, SLUICE_ID_BOS | SLUICE_ID_FIM_PREFIX | SLUICE_ID_FIM_MIDDLE |
                                          SLUICE_ID_FIM_SUFFIX);
    assert_true(spec.column.fim_rate == 0.5 && spec.column.fim_spm > 0);
    assert_true(spec.column.fim_spm < 1e-300); /* stands for 0 */
}

TEST(test_every_key)
{
    sluice_option kinds = SLUICE_OPTION_INIT;
    sluice_option option = SLUICE_OPTION_INIT;
    size_t tried = 0;
    assert_int_equal(sluice_option_get(SLUICE_OPTIONS_COLUMN, 0, &kinds), SLUICE_OK);
    assert_string_equal(kinds.name, "kind");
    for (size_t i = 0; kinds.words[i] != NULL; i++) {
        for (uint32_t k = 1; sluice_option_get(SLUICE_OPTIONS_COLUMN, k, &option) == SLUICE_OK;
             k++) {
            const bool taken = (option.kinds >> ((size_t)kinds.least + i) & 1) != 0;
            if (taken && !is_refused(kinds.words[i], option.name)) {
                try_key(kinds.words[i], &option);
                tried++;
            }
        }
    }
    assert_true(tried >= 77);
}

struct bad {
    const char *text, *names;
};

static void expect_faults(const struct bad *bad, size_t count)
{
    for (size_t i = 0; i < count; i++) {
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

TEST(test_faults)
{
    static const struct bad bad[] = {
        {"", "NAME:KIND"},
        {"image", "NAME:KIND"},
        {":image", "not a name"},
        {"=image:image", "not a name"},
        {"a=:image", "not a name"},
        {"a=b=c:image", "\"b=c\" is not a name"},
        {"a b:image", "\"a b\""},
        {"a1234567890123456789012345678901:number", "not a name"},
        {"image:", "not a kind"},
        {"image:picture", "\"picture\" is not a kind"},
        {"image:image:image", "\"image:image\""},
        {"image:image,", "KEY=VALUE"},
        {"image:image,,size=3", "KEY=VALUE"},
        {"image:image,size", "\"size\""},
        {"image:image,size=", "KEY=VALUE"},
        {"image:image,=3", "KEY=VALUE"},
        {"image:image,sise=3", "no \"sise\"; it takes size, crop, padding"},
        {"image:image,length=3", "no \"length\""},
        {"label:number,size=3", "it takes dtype, partner, missing"},
        {"image:image,size=3,size=3", "size is given twice"},
        {"label:number,dtype=i32,dtype=i32", "dtype is given twice"},
        {"image:image,size=0", "1 to 16384"},
        {"image:image,size=16385", "1 to 16384"},
        {"image:image,size=-1", "size=-1"},
        {"image:image,size=1.5", "size=1.5"},
        {"image:image,crop=left", "rrc, center, random, none"},
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
    expect_faults(bad, sizeof bad / sizeof *bad);
}

TEST(test_faults_of_followers)
{
    static const struct bad bad[] = {
        {"g=image:geometry", "a geometry has no field: expected g:geometry"},
        {"g:geometry,length=1", "a column of kind geometry takes no \"length\"; it takes follows"},
        {"g:geometry,missing=blank", "no \"missing\""},
        {"g:geometry,follow=image", "did you mean follows?"},
        {"m:mask,fill=a", "fill=a: expected a number from -9007199254740992 to 9007199254740992"},
        {"m:mask,fill=nan", "fill=nan"},
        {"m:mask,interpolation=cubic", "nearest, bilinear"},
        {"m:mask,channels=0", "channels=0: expected a whole number from 1 to 64"},
        {"m:mask,channels=65", "from 1 to 64"},
        {"m:mask,length=3",
         "it takes dtype, missing, follows, interpolation, channels, fill, orientation, labels, "
         "crowds, background, ignore, overlap"},
        {"m:mask,follows=a b", "follows=a b: expected a column's name"},
        {"m:mask,labels=", "KEY=VALUE"},
        {"m:mask,crowds=a b", "crowds=a b: expected a field's name"},
        {"m:mask,overlap=first", "overlap=first: expected one of last, ignore"},
        {"b:boxes,format=yolo", "format=yolo: expected one of auto, xyxy, xywh, cxcywh"},
        {"b:boxes,box-format=xywh",
         "it takes length, too-long, missing, follows, format, out-format, relative, orientation, "
         "out-relative, padded, at-least-one, min-size, min-area, min-visibility, max-aspect, "
         "shapes, crowds; did you mean"},
        {"b:boxes,dtype=u8", "a column of kind boxes takes no \"dtype\""},
        {"p:points,dtype=u8", "a column of kind points takes no \"dtype\""},
        {"b:boxes,shapes=a b", "shapes=a b: expected a field's name"},
        {"i:instances,shapes=a", "no \"shapes\""},
        {"b:boxes,relative=2", "relative=2: expected one of auto, relative, pixels, indices"},
        {"b:boxes,relative=yes", "relative=yes: expected one of auto, relative, pixels, indices"},
        {"b:boxes,min-size=-1", "min-size=-1: expected a number from 0 to 1048576"},
        {"b:boxes,min-visibility=1.5", "expected a number from 0 to 1"},
        {"b:boxes,max-aspect=0.5", "expected a number from 1 to 1048576"},
        {"b:boxes,min-size=1,min-size=1", "min-size is given twice"},
        {"p:points,missing=blank,missing=bad", "missing is given twice"},
        {"p:points,point-values=4", "from 2 to 3"},
        {"p:points,mirror=", "KEY=VALUE"},
        {"p:points,mirror=1:", "mirror=1:"},
        {"p:points,mirror=1:256", "from 0 to 255"},
        {"g:geometry,dtype=f32", "no \"dtype\""},
        {"i:image,follows=a", "no \"follows\""},
    };
    expect_faults(bad, sizeof bad / sizeof *bad);
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
