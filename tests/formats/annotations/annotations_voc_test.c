/* SPDX-License-Identifier: Apache-2.0 */
/* Tests Pascal VOC annotations through the public interface: the contents of an annotation, hostile
 * ones, and one cut at every byte. python/tests/test_voc.py compares with other readers. */
#include "dataset_checks.h"
#include "test_folder.h"

#include <sluice/sluice.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH = 512, ROOM = 4096, MANY = 500 };

#define OBJECT(name, xmin, ymin, xmax, ymax)                                                     \
    "<object><name>" name "</name><bndbox><xmin>" xmin "</xmin><ymin>" ymin "</ymin><xmax>" xmax \
    "</xmax><ymax>" ymax "</ymax></bndbox></object>"
#define SOUND OBJECT("dog", "1", "1", "9", "9")

static void put(const char *name, const char *text)
{
    write_file(test_path("%s", name), text, (uint32_t)strlen(text));
}

static sluice_dataset *open_path(const char *name, sluice_error *error)
{
    sluice_dataset *dataset = NULL;
    const char *path = test_path("%s", name);
    (void)!sluice_dataset_open(&dataset, &path, 1, NULL, error);
    return dataset;
}

static uint64_t samples_of(const sluice_dataset *dataset)
{
    sluice_dataset_info info = SLUICE_DATASET_INFO_INIT;
    assert_int_equal(sluice_dataset_get_info(dataset, &info), SLUICE_OK);
    assert_string_equal(info.format, "voc");
    return info.samples;
}

static const char annotation[] =
    "<?xml version=\"1.0\"?>\r\n<annotation>\r\n\t<folder>x</folder><filename>other.png</filename>"
    "<source><annotation>a</annotation><name>none</name></source>"
    "<size><width>500</width><height> 375\n</height><depth>3</depth></size>"
    "<object><name> dog </name><pose>Left</pose><truncated>1</truncated>"
    "<difficult>0</difficult><bndbox><xmax>195</xmax><xmin>48</xmin><ymin>240</ymin>"
    "<ymax>371</ymax></bndbox><part><name>head</name><bndbox><xmin>1</xmin></bndbox></part>"
    "</object><object><bndbox><xmin>1</xmin><ymin>1.5</ymin><xmax>1</xmax><ymax>4e1</ymax>"
    "</bndbox><name>cat &amp; co</name><occluded>1</occluded><difficult>true</difficult></object>"
    "</annotation>\n";

static void check_annotation(const sluice_dataset *dataset)
{
    const float boxes[] = {47, 239, 148, 132, 0, 0.5F, 1, 39.5F};
    const int64_t labels[] = {1, 0};
    const int64_t width = 500;
    const int64_t height = 375;
    assert_int_equal(samples_of(dataset), 1);
    dataset_expect_bytes(dataset, 0, "boxes", boxes, sizeof(boxes));
    dataset_expect_bytes(dataset, 0, "labels", labels, sizeof(labels));
    dataset_expect_bytes(dataset, 0, "truncated", "\1\0", 2);
    dataset_expect_bytes(dataset, 0, "difficult", "\0\1", 2);
    dataset_expect_bytes(dataset, 0, "occluded", "\0\1", 2);
    dataset_expect_bytes(dataset, 0, "width", &width, sizeof(width));
    dataset_expect_bytes(dataset, 0, "height", &height, sizeof(height));
    dataset_expect_bytes(dataset, 0, "key", "a.png", 5);
    dataset_expect_bytes(dataset, 0, "image", "PNG", 3);
    assert_string_equal(sluice_dataset_class_name(dataset, 0), "cat & co");
    assert_string_equal(sluice_dataset_class_name(dataset, 1), "dog");
    assert_null(sluice_dataset_class_name(dataset, 2));
}

TEST(an_annotation_is_read)
{
    sluice_error error = SLUICE_ERROR_INIT;
    put("one/Annotations/a.xml", annotation);
    put("one/JPEGImages/a.png", "PNG");
    sluice_dataset *dataset = open_path("one", &error);
    if (dataset == NULL)
        fail_msg("%s", error.text);
    check_annotation(dataset);
    sluice_dataset_close(dataset);
}

TEST(a_picture_of_one_pixel)
{
    const int64_t one = 1;
    sluice_error error = SLUICE_ERROR_INIT;
    put("one/Annotations/a.xml",
        "<annotation><size><width>1</width><height>1</height></size></annotation>");
    put("one/JPEGImages/a.png", "PNG");
    sluice_dataset *dataset = open_path("one", &error);
    if (dataset == NULL)
        fail_msg("%s", error.text);
    dataset_expect_bytes(dataset, 0, "width", &one, sizeof(one));
    dataset_expect_bytes(dataset, 0, "height", &one, sizeof(one));
    sluice_dataset_close(dataset);
}

/* Without a filename: any image extension in the folders, lower case before upper case. */
TEST(pictures_are_found_by_any_extension)
{
    static const char *const keys[] = {"a.PPM", "a.BMP", "a.webp", "a.pgm", "a.jpeg"};
    put("any/Annotations/a.xml", "<annotation/>");
    put("any/JPEGImages/a.gif", "not one of them");
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        char name[64];
        sluice_error error = SLUICE_ERROR_INIT;
        (void)snprintf(name, sizeof(name), "any/JPEGImages/%s", keys[i]);
        put(name, keys[i]);
        sluice_dataset *dataset = open_path("any", &error);
        if (dataset == NULL)
            fail_msg("%s: %s", keys[i], error.text);
        dataset_expect_bytes(dataset, 0, "key", keys[i], strlen(keys[i]));
        dataset_expect_bytes(dataset, 0, "image", keys[i], strlen(keys[i]));
        sluice_dataset_close(dataset);
        if (strcmp(keys[i], "a.pgm") != 0) /* stays: .jpeg comes first */
            assert_int_equal(unlink(test_path("%s", name)), 0);
    }
}

TEST(it_is_cut_short)
{
    put("one/JPEGImages/a.png", "PNG");
    for (size_t cut = 0; cut < sizeof(annotation) - sizeof("\n"); cut++) {
        sluice_error error = SLUICE_ERROR_INIT;
        put("one/Annotations/a.xml", annotation);
        assert_int_equal(truncate(test_path("one/Annotations/a.xml"), (off_t)cut), 0);
        assert_null(open_path("one/Annotations", &error));
        assert_true(error.status < 0 && error.text[0] != '\0');
    }
}

/* ---- rejected annotations ---- */

static const struct {
    const char *text;
    sluice_status status;
    const char *words;
} bad[] = {
    {"<annotation>" SOUND, SLUICE_CORRUPT, "no element found"},
    {"<annotations/>", SLUICE_CORRUPT, "its root is not <annotation>"},
    {"<annotation>\xff</annotation>", SLUICE_CORRUPT, "not well-formed"},
    {"<annotation>&lol;</annotation>", SLUICE_CORRUPT, "undefined entity"},
    {"<?xml version=\"1.0\" encoding=\"x-none\"?><annotation/>", SLUICE_UNSUPPORTED, "encoding"},
    {"<!DOCTYPE annotation [<!ENTITY a \"ha\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;\">"
     "<!ENTITY c \"&b;&b;&b;&b;&b;&b;&b;&b;\">]><annotation><object><name>&c;</name>"
     "</object></annotation>",
     SLUICE_UNSUPPORTED, "line 1: it has a DTD"},
    {"<!DOCTYPE annotation SYSTEM \"/etc/passwd\"><annotation/>", SLUICE_UNSUPPORTED, "a DTD"},
    {"<annotation>\n" OBJECT("dog", "9", "1", "8", "9") "</annotation>", SLUICE_CORRUPT,
     "line 2: a bndbox has its maximum before its minimum: \"dog\" has xmin 9, ymin 1, xmax 8, "
     "ymax 9; correct"},
    {"<annotation>" OBJECT("dog", "1", "9", "8", "8.5") "</annotation>", SLUICE_CORRUPT,
     "maximum before its minimum"},
    {"<annotation>" OBJECT("", "1", "1", "8", "8") "</annotation>", SLUICE_CORRUPT, "name"},
    {"<annotation>" OBJECT("dog", "", "1", "8", "8") "</annotation>", SLUICE_CORRUPT,
     "xmin is \"\", which is not a number"},
    {"<annotation>" OBJECT("dog", "nan", "1", "8", "8") "</annotation>", SLUICE_CORRUPT, "number"},
    {"<annotation>" OBJECT("dog", "0x1", "1", "8", "8") "</annotation>", SLUICE_CORRUPT, "number"},
    {"<annotation>" OBJECT("dog", "1", "1", "8", "1e9") "</annotation>", SLUICE_CORRUPT, "number"},
    {"<annotation>" OBJECT("dog", "-inf", "1", "8", "8") "</annotation>", SLUICE_CORRUPT, "number"},
    {"<annotation>" OBJECT("dog", "1", "1", "8", "<b>8</b>") "</annotation>", SLUICE_CORRUPT,
     "contains elements"},
    {"<annotation><object><name>dog</name></object></annotation>", SLUICE_CORRUPT,
     "has no name, or"},
    {"<annotation><object><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>2</xmax></bndbox>"
     "<name>dog</name></object></annotation>",
     SLUICE_CORRUPT, "four edges"},
    {"<annotation><object><name>a</name><name>b</name></object></annotation>", SLUICE_CORRUPT,
     "is repeated"},
    {"<annotation><size><width>1.5</width></size></annotation>", SLUICE_CORRUPT, "whole number"},
    {"<annotation><size><width>-1</width></size></annotation>", SLUICE_CORRUPT, "whole number"},
    {"<annotation><size/><size/></annotation>", SLUICE_CORRUPT, "is repeated"},
    {"<annotation><object><difficult>maybe</difficult></object></annotation>", SLUICE_CORRUPT,
     "neither 0 nor 1"},
};

static void expect_refusal(const char *name, sluice_status status, const char *words)
{
    sluice_error error = SLUICE_ERROR_INIT;
    assert_null(open_path(name, &error));
    if (error.status != status || strstr(error.text, words) == NULL)
        fail_msg("not \"%s\" but %s", words, error.text);
}

static void put_two(const char *second)
{
    put("two/Annotations/a.xml", "<annotation/>");
    put("two/Annotations/b.xml", second);
    put("two/JPEGImages/a.jpg", "a");
    put("two/JPEGImages/b.jpg", "b");
}

TEST(bad_ones_are_refused)
{
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        put_two(bad[i].text);
        sluice_error error = SLUICE_ERROR_INIT;
        expect_refusal("two", bad[i].status, bad[i].words);
        assert_null(open_path("two", &error));
        assert_non_null(strstr(error.file, "/b.xml"));
    }
}

/* Two annotations; the second repeats a part this often. */
static void put_many(const char *head, const char *part, int times, const char *tail)
{
    char text[ROOM];
    int used = snprintf(text, sizeof(text), "%s", head);
    for (int i = 0; i < times; i++)
        used += snprintf(text + used, sizeof(text) - (size_t)used, "%s", part);
    (void)snprintf(text + used, sizeof(text) - (size_t)used, "%s", tail);
    put_two(text);
}

TEST(limits_hold)
{
    put_many("<annotation>", "<a>", 32, "");
    expect_refusal("two", SLUICE_UNSUPPORTED, "too deep");
    put_many("<annotation>", "<a>", 31, "<!---->");
    expect_refusal("two", SLUICE_CORRUPT, "no element found");
    assert_int_equal(truncate(test_path("two/Annotations/b.xml"), (16 << 20) + 1), 0);
    expect_refusal("two", SLUICE_UNSUPPORTED, "limit of 16777216");
    put_many("<annotation><object><name>", "long", 64, "</name></object></annotation>");
    expect_refusal("two", SLUICE_CORRUPT, "name of an object");
    put_many("<annotation><filename>", "long", 256, "</filename></annotation>");
    expect_refusal("two", SLUICE_CORRUPT, "more than 1023 bytes");
}

TEST(encodings_are_known)
{
    sluice_dataset *dataset = NULL;
    put_two("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><annotation>" OBJECT(
        "Bl\xe4tter", "1", "1", "2", "2") "</annotation>");
    dataset = open_path("two", NULL);
    assert_non_null(dataset);
    assert_string_equal(sluice_dataset_class_name(dataset, 0), "Bl\xc3\xa4tter");
    sluice_dataset_close(dataset);
}

/* ---- where things are ---- */

TEST(paths_lead_nowhere_else)
{
    static const char *const names[] = {"../secret.jpg",
                                        "/etc/passwd",
                                        "x/../../secret.jpg",
                                        "..",
                                        "a/./../../secret",
                                        "b.xml",
                                        "/",
                                        "",
                                        "b./"};
    size_t size = 0;
    put("two/secret.jpg", "secret");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char text[ROOM];
        (void)snprintf(text, sizeof(text), "<annotation><filename>%s</filename></annotation>",
                       names[i]);
        put_two(text);
        sluice_dataset *dataset = open_path("two", NULL);
        assert_non_null(dataset);
        dataset_expect_bytes(dataset, 1, "image", "b", 1);
        sluice_dataset_close(dataset);
        assert_int_equal(unlink(test_path("two/JPEGImages/b.jpg")), 0);
        dataset = open_path("two", NULL);
        assert_non_null(dataset);
        assert_int_equal(sluice_dataset_read(dataset, 1, "image", text, sizeof(text), &size, NULL),
                         SLUICE_IO);
        sluice_dataset_close(dataset);
    }
}

TEST(a_picture_is_missing)
{
    char value[ROOM];
    size_t size = 0;
    sluice_error error = SLUICE_ERROR_INIT;
    put_two("<annotation><filename>c.jpg</filename></annotation>");
    assert_int_equal(unlink(test_path("two/JPEGImages/b.jpg")), 0);
    sluice_dataset *dataset = open_path("two", &error);
    assert_non_null(dataset);
    assert_int_equal(sluice_dataset_read(dataset, 1, "image", value, sizeof(value), &size, &error),
                     SLUICE_IO);
    assert_non_null(strstr(error.file, "/JPEGImages/b.jpg"));
    sluice_dataset_close(dataset);
    put("two/JPEGImages/c.jpg", "c"); /* the filename element is the next best */
    dataset = open_path("two", &error);
    dataset_expect_bytes(dataset, 1, "image", "c", 1);
    dataset_expect_bytes(dataset, 1, "key", "c.jpg", 5);
    sluice_dataset_close(dataset);
    assert_int_equal(unlink(test_path("two/JPEGImages/c.jpg")), 0);
    assert_int_equal(unlink(test_path("two/JPEGImages/a.jpg")), 0);
    expect_refusal("two", SLUICE_INVALID, "no image of \"a.xml\"");
}

TEST(lists_choose)
{
    static const struct {
        const char *text;
        sluice_status status;
        const char *words;
    } lists[] = {
        {"", SLUICE_INVALID, "the list is empty"},
        {"a\nc\n", SLUICE_IO, "cannot open"},
        {"a 1\nb\n", SLUICE_CORRUPT, "only 1 of its 2 lines have a number"},
        {"a x\n", SLUICE_CORRUPT, "line 1: the text after the name is not a number"},
        {"\na  1 -1\n", SLUICE_CORRUPT, "line 2: expected only a name and a number"},
        {"a 99999999999999999999\n", SLUICE_CORRUPT, "is not a number"},
        {"../a\n", SLUICE_INVALID, "leads out"},
        {"/a\n", SLUICE_INVALID, "leads out"},
    };
    const int64_t numbers[] = {-1, 1, 0};
    put_two("<annotation/>");
    put("two/ImageSets/Main/dog_train.txt", "b -1\r\n\na  1\nb  0");
    sluice_dataset *dataset = open_path("two/ImageSets/Main/dog_train.txt", NULL);
    assert_non_null(dataset);
    assert_int_equal(samples_of(dataset), 3);
    for (uint64_t i = 0; i < 3; i++) {
        dataset_expect_bytes(dataset, i, "gt", &numbers[i], sizeof(numbers[i]));
        dataset_expect_bytes(dataset, i, "key", i == 1 ? "a.jpg" : "b.jpg", 5);
    }
    sluice_dataset_close(dataset);
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        put("two/ImageSets/Main/val.txt", lists[i].text);
        expect_refusal("two/ImageSets/Main/val.txt", lists[i].status, lists[i].words);
    }
    write_file(test_path("two/ImageSets/Main/val.txt"), "a\0b\n", 4);
    expect_refusal("two/ImageSets/Main/val.txt", SLUICE_CORRUPT, "not a text");
}

/* Annotations beside their images, read by several threads, in name order. */
TEST(many_lie_beside_their_pictures)
{
    sluice_error error = SLUICE_ERROR_INIT;
    for (int i = 0; i < MANY; i++) {
        char name[32];
        char text[ROOM];
        (void)snprintf(name, sizeof(name), "flat/%04d.xml", i);
        (void)snprintf(text, sizeof(text),
                       "<annotation><object><name>c%d</name><bndbox><xmin>1</xmin><ymin>1</ymin>"
                       "<xmax>%d</xmax><ymax>1</ymax></bndbox></object></annotation>",
                       i % 7, i + 1);
        put(name, text);
        (void)snprintf(name, sizeof(name), "flat/%04d.jpeg", i);
        put(name, "x");
    }
    sluice_dataset *dataset = open_path("flat", &error);
    if (dataset == NULL)
        fail_msg("%s", error.text);
    assert_int_equal(samples_of(dataset), MANY);
    for (uint64_t i = 0; i < MANY; i++) {
        const float box[] = {0, 0, (float)i + 1, 1};
        const int64_t label = (int64_t)i % 7;
        dataset_expect_bytes(dataset, i, "boxes", box, sizeof(box));
        dataset_expect_bytes(dataset, i, "labels", &label, sizeof(label));
    }
    sluice_dataset_close(dataset);
}

static void make_folders(void)
{
    static const char *const folders[] = {"any",           "any/Annotations",    "any/JPEGImages",
                                          "one",           "one/Annotations",    "one/JPEGImages",
                                          "two",           "two/Annotations",    "two/JPEGImages",
                                          "two/ImageSets", "two/ImageSets/Main", "flat"};
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        (void)mkdir(test_path("%s", folders[i]), 0700);
}

static int is_absent(void)
{
    sluice_error error = SLUICE_ERROR_INIT;
    put_two("<annotation/>");
    sluice_dataset_close(open_path("two", &error));
    return strstr(error.text, "without libexpat") != NULL;
}

int main(void)
{
    test_folder_make(NULL);
    make_folders();
    const int absent = is_absent();
    const int failed = absent ? 77 : test_run(NULL, NULL);
    if (absent)
        puts("the library was built without libexpat");
    test_folder_remove(NULL);
    return failed;
}
