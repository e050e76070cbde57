/* SPDX-License-Identifier: Apache-2.0 */
/* Tests lists that name files outside their folder, through the public interface: tables, COCO and
 * VOC annotations. Each names "a.jpg" in some way; the contents show which file was read. */
#include "test_folder.h"

#include <sluice/sluice.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH = 512, ROOM = 4096 };

static void put(const char *name, const char *text)
{
    write_file(test_path("%s", name), text, (uint32_t)strlen(text));
}

static sluice_dataset *open_path(const char *name, bool outside, sluice_error *error)
{
    sluice_dataset *dataset = NULL;
    const char *path = test_path("%s", name);
    sluice_dataset_options options = SLUICE_DATASET_OPTIONS_INIT;
    options.allow_outside = outside;
    (void)!sluice_dataset_open(&dataset, &path, 1, &options, error);
    return dataset;
}

/* Checks that the list opens, and that sample number `sample` is this file. */
static void expect_file(const char *list, bool outside, uint64_t sample, const char *wanted)
{
    char value[ROOM];
    size_t size = 0;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_dataset *dataset = open_path(list, outside, &error);
    if (dataset == NULL)
        fail_msg("%s: %s", list, error.text);
    if (sluice_dataset_read(dataset, sample, "image", value, sizeof(value), &size, &error) < 0)
        fail_msg("%s: %s", list, error.text);
    assert_int_equal(size, strlen(wanted));
    assert_memory_equal(value, wanted, size);
    sluice_dataset_close(dataset);
}

static void expect_words(const sluice_error *error, sluice_status status, const char *words)
{
    if (error->status != status || strstr(error->text, words) == NULL ||
        strstr(error->text, "the option allow_outside allows that") == NULL)
        fail_msg("not \"%s\" but %d: %s", words, error->status, error->text);
}

static void expect_refusal(const char *list, const char *words)
{
    sluice_error error = SLUICE_ERROR_INIT;
    assert_null(open_path(list, false, &error));
    expect_words(&error, SLUICE_INVALID, words);
}

/* Checks that the list opens, and that reading the sample reports the error. */
static void expect_bad_sample(const char *list, uint64_t sample, const char *file)
{
    char value[ROOM];
    size_t size = 0;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_dataset *dataset = open_path(list, false, &error);
    if (dataset == NULL)
        fail_msg("%s: %s", list, error.text);
    (void)!sluice_dataset_read(dataset, sample, "image", value, sizeof(value), &size, &error);
    expect_words(&error, SLUICE_UNSUPPORTED, "a symbolic link leads outside");
    assert_non_null(strstr(error.file, file));
    sluice_dataset_close(dataset);
}

/* ---- lists of two files; the second is `name` ---- */

static const struct {
    const char *path;                     /* from `root` */
    const char *before, *between, *after; /* the two names */
    const char *place;                    /* in errors */
} lists[] = {
    {"set/a.csv", "file,n\n\"", "\",1\n\"", "\",2\n", "line 3, column \"file\""},
    {"set/a.tsv", "file\tn\n", "\t1\n", "\t2\n", "line 3, column \"file\""},
    {"set/a.jsonl", "{\"file\": \"", "\"}\n{\"file\": \"", "\"}\n", "line 2, column \"file\""},
    {"set/a.lst", "0\t1\t", "\n1\t1\t", "\n", "line 2"},
    {"set/a.json", "{\"images\":[{\"id\":1,\"file_name\":\"", "\"},{\"id\":2,\"file_name\":\"",
     "\"}]}", "element 1 of \"images\""},
};

enum { LISTS = sizeof(lists) / sizeof(lists[0]) };

static void write_list(size_t list, const char *first, const char *second)
{
    char text[ROOM];
    const int length = snprintf(text, sizeof(text), "%s%s%s%s%s", lists[list].before, first,
                                lists[list].between, second, lists[list].after);
    assert_true(length > 0 && length < ROOM);
    put(lists[list].path, text);
}

TEST(names_that_stay)
{
    static const char *const names[] = {
        "in.jpg", "./in.jpg", "sub/../in.jpg", "sub//../sub/../in.jpg", "link.jpg", "absolute.jpg"};
    for (size_t i = 0; i < LISTS; i++) {
        for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
            write_list(i, "in.jpg", names[k]);
            expect_file(lists[i].path, false, 1, "in");
            expect_file(lists[i].path, true, 1, "in");
        }
        write_list(i, "in.jpg", test_path("set/in.jpg"));
        expect_file(lists[i].path, false, 1, "in");
        write_list(i, test_path("other/in.jpg"), "in.jpg"); /* the folder under another name */
        expect_file(lists[i].path, false, 0, "in");
    }
}

TEST(names_that_lead_out)
{
    char absolute[PATH];
    char turned[PATH];
    const char *const names[] = {"../secret.jpg", "sub/../../secret.jpg", absolute, turned};
    (void)snprintf(absolute, sizeof(absolute), "%s/secret.jpg", test_folder());
    (void)snprintf(turned, sizeof(turned), "%s/set/../secret.jpg", test_folder());
    for (size_t i = 0; i < LISTS; i++) {
        for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
            char words[PATH];
            write_list(i, "in.jpg", names[k]);
            expect_file(lists[i].path, true, 1, "secret");
            (void)snprintf(words, sizeof(words), "\"%s\" is outside \"%s\"", names[k],
                           test_path("set"));
            expect_refusal(lists[i].path, words);
            expect_refusal(lists[i].path, lists[i].place);
            write_list(i, names[k], "in.jpg");
            expect_refusal(lists[i].path, words);
        }
    }
}

TEST(links_that_lead_out)
{
    for (size_t i = 0; i < LISTS; i++) {
        write_list(i, "in.jpg", "out.jpg");
        expect_bad_sample(lists[i].path, 1, "set/out.jpg");
        expect_file(lists[i].path, false, 0, "in");
        expect_file(lists[i].path, true, 1, "secret");
        write_list(i, "in.jpg", "folder/../secret.jpg"); /* textually inside */
        expect_bad_sample(lists[i].path, 1, "set/folder/../secret.jpg");
        expect_file(lists[i].path, true, 1, "secret");
        write_list(i, "out.jpg", "in.jpg"); /* the first one is looked at */
        expect_refusal(lists[i].path, "which a symbolic link leads outside");
        expect_file(lists[i].path, true, 0, "secret");
    }
}

TEST(the_folder_is_a_link)
{
    write_list(0, "in.jpg", "link.jpg");
    expect_file("other/a.csv", false, 1, "in");
    assert_int_equal(rename(test_path("set/a.csv"), test_path("set/metadata.csv")), 0);
    expect_file("other", false, 1, "in");
    write_list(0, "in.jpg", "../secret.jpg");
    assert_int_equal(rename(test_path("set/a.csv"), test_path("set/metadata.csv")), 0);
    expect_refusal("other", "line 3");
    expect_file("other", true, 1, "secret");
    assert_int_equal(unlink(test_path("set/metadata.csv")), 0);
}

/* ---- annotations beside pictures ---- */

static void write_coco(const char *path, const char *name)
{
    char text[ROOM];
    (void)snprintf(text, sizeof(text), "{\"images\":[{\"id\":1,\"file_name\":\"%s\"}]}", name);
    put(path, text);
}

TEST(annotations_and_pictures_beside_each_other)
{
    static const char *const in[] = {"a.jpg", "train/a.jpg", "../train/a.jpg", "../images/a.jpg"};
    for (size_t i = 0; i < sizeof(in) / sizeof(in[0]); i++) {
        write_coco("coco/annotations/x_train.json", in[i]);
        expect_file("coco/annotations/x_train.json", false, 0, "a");
    }
    write_coco("coco/annotations/deep/x.json", "../../train/a.jpg");
    expect_file("coco/annotations/deep/x.json", false, 0, "a");
    write_coco("coco/annotations/x_train.json", "../../secret.jpg");
    expect_refusal("coco/annotations/x_train.json", "/coco\"");
    expect_file("coco/annotations/x_train.json", true, 0, "secret");
    /* files beside other folders belong to someone else, unless the folder is named like an image
     * folder */
    write_coco("coco/labels/x_train.json", "a.jpg");
    expect_file("coco/labels/x_train.json", false, 0, "a");
    assert_int_equal(rename(test_path("coco/images"), test_path("coco/away")), 0);
    expect_refusal("coco/labels/x_train.json", "/coco/labels\"");
    expect_file("coco/labels/x_train.json", true, 0, "a");
    write_coco("coco/labels/x_train.json", "away/a.jpg");
    expect_refusal("coco/labels/x_train.json", "/coco/labels\"");
    expect_file("coco/labels/x_train.json", true, 0, "a");
    /* a link leads to another folder */
    assert_int_equal(symlink("../private", test_path("coco/images")), 0);
    write_coco("coco/labels/x.json", "b.jpg");
    expect_refusal("coco/labels/x.json", "which a symbolic link leads outside");
    write_coco("coco/annotations/x.json", "b.jpg");
    expect_refusal("coco/annotations/x.json", "which a symbolic link leads outside");
    expect_file("coco/annotations/x.json", true, 0, "b");
    assert_int_equal(unlink(test_path("coco/images")), 0);
    assert_int_equal(rename(test_path("coco/away"), test_path("coco/images")), 0);
}

static void write_page(const char *path, const char *filename)
{
    char text[ROOM];
    (void)snprintf(text, sizeof(text), "<annotation><filename>%s</filename></annotation>",
                   filename);
    put(path, text);
}

static bool lacks_expat(void)
{
    sluice_error error = SLUICE_ERROR_INIT;
    write_page("voc/Annotations/a.xml", "a.jpg");
    sluice_dataset_close(open_path("voc", false, &error));
    return strstr(error.text, "without libexpat") != NULL;
}

TEST(annotations_of_voc)
{
    if (lacks_expat())
        skip();
    sluice_error error = SLUICE_ERROR_INIT;
    expect_file("voc", false, 0, "a");
    write_page("voc/Annotations/b.xml", "../../secret.jpg"); /* b.jpg does not exist */
    sluice_dataset *dataset = open_path("voc", false, &error);
    char value[ROOM];
    size_t size = 0;
    assert_int_equal(sluice_dataset_read(dataset, 1, "image", value, sizeof(value), &size, &error),
                     SLUICE_IO);
    sluice_dataset_close(dataset);
    expect_file("voc", true, 1, "secret");
    write_page("voc/Annotations/b.xml", "out.jpg");
    expect_bad_sample("voc", 1, "/out.jpg");
    expect_file("voc", true, 1, "secret");
    write_page("voc/Annotations/b.xml", test_path("secret.jpg"));
    expect_file("voc", true, 1, "secret");
    assert_int_equal(unlink(test_path("voc/Annotations/b.xml")), 0);
    /* lists of annotations */
    put("voc/ImageSets/Main/x.txt", "a\n../elsewhere/c\n");
    expect_refusal("voc/ImageSets/Main/x.txt", "line 2: \"../elsewhere/c\" leads out");
    expect_file("voc/ImageSets/Main/x.txt", true, 1, "c");
    put("voc/ImageSets/Main/x.txt", test_path("voc/elsewhere/c"));
    expect_refusal("voc/ImageSets/Main/x.txt", "line 1");
    expect_file("voc/ImageSets/Main/x.txt", true, 0, "c");
    put("voc/ImageSets/Main/x.txt", "deep/../a\n");
    expect_file("voc/ImageSets/Main/x.txt", false, 0, "a");
    assert_int_equal(symlink("../elsewhere/c.xml", test_path("voc/Annotations/d.xml")), 0);
    put("voc/JPEGImages/d.jpg", "d");
    put("voc/ImageSets/Main/x.txt", "a\nd\n");
    expect_refusal("voc/ImageSets/Main/x.txt", "d.xml\", which a symbolic link leads outside");
    expect_file("voc/ImageSets/Main/x.txt", true, 1, "d");
}

static void make(void)
{
    static const char *const folders[] = {"set",
                                          "set/sub",
                                          "away",
                                          "coco",
                                          "coco/annotations",
                                          "coco/labels",
                                          "coco/train",
                                          "coco/images",
                                          "private",
                                          "coco/annotations/deep",
                                          "voc",
                                          "voc/ImageSets",
                                          "voc/Annotations",
                                          "voc/JPEGImages",
                                          "voc/ImageSets/Main",
                                          "voc/Annotations/deep",
                                          "voc/elsewhere",
                                          "away/sub"};
    test_folder_make(NULL);
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        (void)mkdir(test_path("%s", folders[i]), 0700);
    put("secret.jpg", "secret");
    put("away/secret.jpg", "secret");
    put("set/in.jpg", "in");
    put("coco/train/a.jpg", "a");
    put("coco/images/a.jpg", "a");
    put("private/b.jpg", "b");
    put("voc/JPEGImages/a.jpg", "a");
    put("voc/elsewhere/c.jpg", "c");
    write_page("voc/elsewhere/c.xml", "c.jpg");
    (void)!symlink("set", test_path("other"));
    (void)!symlink("in.jpg", test_path("set/link.jpg"));
    (void)!symlink(test_path("set/in.jpg"), test_path("set/absolute.jpg"));
    (void)!symlink("../secret.jpg", test_path("set/out.jpg"));
    (void)!symlink("../away/sub", test_path("set/folder"));
    (void)!symlink("../../secret.jpg", test_path("voc/JPEGImages/out.jpg"));
}

int main(void)
{
    make();
    const int failed = test_run(NULL, NULL);
    test_folder_remove(NULL);
    return failed;
}
