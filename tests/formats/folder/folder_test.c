/* SPDX-License-Identifier: Apache-2.0 */
/* Tests image folders: torchvision's rules, compared with torchvision's own code on random trees,
 * and sluice's additions. */
#include "dataset.h"
#include "formats.h"
#include "photo_folder.h"
#include "test.h"
#include "unicode.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *model; /* path of image_folder_model.py; NULL: not given */

typedef struct tree {
    char root[256];
} tree;

static void tree_make(tree *t)
{
    temporary_directory(t->root, sizeof(t->root));
}

static void tree_empty(tree *t)
{
    remove_tree(t->root);
    tree_make(t);
}

static int tree_setup(void **state)
{
    static tree t;
    tree_make(&t);
    *state = &t;
    return 0;
}

static int tree_teardown(void **state)
{
    const tree *t = *state;
    remove_tree(t->root);
    return 0;
}

static void tree_path(const tree *t, const char *name, char path[600])
{
    (void)snprintf(path, 600, "%s/%s", t->root, name);
}

/* Makes a file, and the directories above it. A name that ends with '/' is a directory. */
static void tree_add(const tree *t, const char *name)
{
    char path[600];
    tree_path(t, name, path);
    for (char *slash = strchr(path + strlen(t->root) + 1, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        assert_true(mkdir(path, 0777) == 0 || errno == EEXIST);
        *slash = '/';
    }
    if (path[strlen(path) - 1] != '/') {
        write_file(path, name, (uint32_t)strlen(name));
    }
}

static void tree_link(const tree *t, const char *target, const char *name)
{
    char path[600];
    tree_path(t, name, path);
    assert_int_equal(symlink(target, path), 0);
}

#define ADD(t, ...)                                                   \
    do {                                                              \
        const char *const added[] = {__VA_ARGS__};                    \
        for (size_t i = 0; i < sizeof(added) / sizeof(*added); i++) { \
            tree_add((t), added[i]);                                  \
        }                                                             \
    } while (0)

/* Makes links: {target, name} ... */
#define LINK(t, ...)                                                  \
    do {                                                              \
        const char *const links[][2] = {__VA_ARGS__};                 \
        for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++) { \
            tree_link((t), links[i][0], links[i][1]);                 \
        }                                                             \
    } while (0)

static sluice_status tree_open(const tree *t, sl_dataset **dataset, uint32_t allow_case,
                               sluice_error *error)
{
    const sluice_dataset_options options = {.struct_size = sizeof(options),
                                            .allow_case_duplicates = allow_case,
                                            .allow_empty_classes = 1};
    const char *path = t->root;
    return sl_dataset_open(dataset, &path, 1, &options, error);
}

/* Returns the label (-1: none) and key of a sample, without reading its image. */
static int64_t facts_of(const sl_dataset *dataset, uint64_t index, char key[SL_KEY_MAX + 1])
{
    sl_sample sample;
    sl_values values;
    assert_int_equal(sl_dataset_describe(dataset, index, &sample, &values, NULL), SLUICE_OK);
    assert_int_equal(sl_dataset_key(dataset, index, key, SL_KEY_MAX + 1, NULL), SLUICE_OK);
    const uint32_t label = sl_dataset_field(dataset, "label");
    return label != SL_FIELD_NONE ? values.of[label].integer : -1;
}

/* Checks that the dataset's samples are exactly these, as "label key", in this order. */
static void expect(const tree *t, const char *const *wanted, size_t count)
{
    sl_dataset *dataset;
    assert_int_equal(tree_open(t, &dataset, 1, NULL), SLUICE_OK);
    for (size_t i = 0; i < dataset->info.samples; i++) {
        char key[SL_KEY_MAX + 1];
        char line[SL_KEY_MAX + 32];
        const long long label = facts_of(dataset, i, key);
        (void)snprintf(line, sizeof(line), "%lld %s", label, key);
        assert_string_equal(line, i < count ? wanted[i] : "nothing more");
    }
    assert_int_equal(dataset->info.samples, count);
    sl_dataset_close(dataset);
}

#define EXPECT(t, ...)                                         \
    do {                                                       \
        const char *const wanted[] = {__VA_ARGS__};            \
        expect((t), wanted, sizeof(wanted) / sizeof(*wanted)); \
    } while (0)

/* The example in torchvision's documentation: root/dog/xxx.png, root/dog/[...]/xxz.png ... */
static void the_documented_example(void **state)
{
    tree *t = *state;
    ADD(t, "dog/xxx.png", "dog/xxy.png", "dog/deep/er/xxz.png", "cat/123.png", "cat/nsdf3.png",
        "cat/deep/asd932_.png");
    EXPECT(t, "0 cat/123.png", "0 cat/nsdf3.png", "0 cat/deep/asd932_.png", "1 dog/xxx.png",
           "1 dog/xxy.png", "1 dog/deep/er/xxz.png");
}

static void order_and_extensions(void **state)
{
    tree *t = *state;
    ADD(t, "b/Z.JPG", "b/a.jpeg", "b/no.txt", "b/jpg", "b/.jpg", "b/x.jpg.bak", "b/a/1.webp",
        "b/a-b/1.TiFf", "b/a/c/0.pgm", "empty/", "B/1.bmp", ".hidden/1.ppm", "\xC3\xA9/1.tif",
        "loose.jpg");
    EXPECT(t, "0 B/1.bmp", "1 b/Z.JPG", "1 b/a.jpeg", "1 b/a/1.webp", "1 b/a-b/1.TiFf",
           "1 b/a/c/0.pgm", "3 \xC3\xA9/1.tif");
}

static void links_are_followed_and_loops_are_not(void **state)
{
    tree *t = *state;
    ADD(t, "a/1.jpg", "a/sub/2.jpg", "loose.jpg");
    tree_link(t, "..", "a/sub/up");      /* the class itself */
    tree_link(t, "../..", "a/sub/root"); /* the root */
    tree_link(t, "a", "linked");         /* a class of its own */
    LINK(t, {"1.jpg", "a/3.jpg"}, {"nowhere", "a/4.jpg"}, {"5.jpg", "a/5.jpg"});
    tree_link(t, ".", "self"); /* the root as a class */
    char fifo[600];
    tree_path(t, "a/6.jpg", fifo);
    assert_int_equal(mkfifo(fifo, 0666), 0);
    EXPECT(t, "0 a/1.jpg", "0 a/3.jpg", "0 a/4.jpg", "0 a/5.jpg", "0 a/sub/2.jpg", "1 linked/1.jpg",
           "1 linked/3.jpg", "1 linked/4.jpg", "1 linked/5.jpg", "1 linked/sub/2.jpg");
}

enum { MUTUAL = 12, SIDE = 17 };

/* Makes `folder`, or the folder of number i within it, and its image. */
static void add_mutual(const tree *t, const char *folder, int i)
{
    char name[64];
    (void)snprintf(name, sizeof(name), "%sm%02d/%02d.jpg", folder, i, i);
    tree_add(t, name);
    for (int j = 0; j < MUTUAL; j++) {
        char target[64];
        (void)snprintf(target, sizeof(target), "../m%02d", j);
        (void)snprintf(name, sizeof(name), "%sm%02d/l%02d", folder, i, j);
        if (j != i) {
            tree_link(t, target, name);
        }
    }
}

/* Folders that all link to each other: there is a path for each order of the folders. */
static void mutual_links_end(void **state)
{
    tree *t = *state;
    sl_dataset *dataset;
    char key[SL_KEY_MAX + 1];
    char wanted[64];
    for (int i = 0; i < MUTUAL; i++) {
        add_mutual(t, "", i);
    }
    assert_int_equal(tree_open(t, &dataset, 0, NULL), SLUICE_OK);
    assert_int_equal(dataset->info.samples, MUTUAL * MUTUAL); /* as classes: all in each */
    assert_int_equal(facts_of(dataset, MUTUAL + 2, key), 1);
    assert_string_equal(key, "m01/l02/02.jpg");
    sl_dataset_close(dataset);
    tree_empty(t);
    ADD(t, "a/0.jpg", "b/0.jpg");
    for (int i = 0; i < MUTUAL; i++) {
        add_mutual(t, "a/", i);
    }
    tree_link(t, "../a/m03", "b/3");
    assert_int_equal(tree_open(t, &dataset, 0, NULL), SLUICE_OK);
    assert_int_equal(dataset->info.samples, 1 + MUTUAL + 1 + MUTUAL); /* in one class: once */
    for (int i = 0; i < MUTUAL; i++) {
        (void)snprintf(wanted, sizeof(wanted), "a/m%02d/%02d.jpg", i, i);
        assert_int_equal(facts_of(dataset, 1 + (uint64_t)i, key), 0);
        assert_string_equal(key, wanted);
    }
    assert_int_equal(facts_of(dataset, 1 + MUTUAL + 1, key), 1);
    assert_string_equal(key, "b/3/03.jpg");
    sl_dataset_close(dataset);
}

/* In a circle, the path with the fewest links counts, whatever order a directory is read in. */
static void a_folder_of_a_circle_counts_once(void **state)
{
    tree *t = *state;
    ADD(t, "x/1.jpg", "x/real/2.jpg", "y/in/3.jpg");
    LINK(t, {"real", "x/again"}, {"../y", "x/zy"}, {"../y", "x/y"}, {"../../x", "y/in/back"},
         {"../../x/real", "y/in/a"});
    EXPECT(t, "0 x/1.jpg", "0 x/real/2.jpg", "0 x/y/in/3.jpg", "1 y/in/3.jpg", "1 y/in/a/2.jpg",
           "1 y/in/back/1.jpg");
}

/* Links side by side on every level, without a circle. */
static void links_that_multiply_are_refused(void **state)
{
    tree *t = *state;
    sl_dataset *dataset;
    sluice_error error = SLUICE_ERROR_INIT;
    tree_add(t, "c/0/0.jpg");
    for (int level = 1; level <= SIDE; level++) {
        char name[64];
        char below[64];
        (void)snprintf(below, sizeof(below), "../%d", level - 1);
        (void)snprintf(name, sizeof(name), "c/%d/", level);
        tree_add(t, name);
        for (const char *side = "lr"; *side; side++) {
            (void)snprintf(name, sizeof(name), "c/%d/%c", level, *side);
            tree_link(t, below, name);
        }
    }
    assert_int_equal(tree_open(t, &dataset, 0, &error), SLUICE_INVALID);
    assert_non_null(strstr(error.text, "65536"));
}

enum { LARGE = 3000, LARGE_LEVELS = 11, LARGE_CLASSES = 1500 }; /* millions of names */

static void expect_too_often(const tree *t)
{
    sl_dataset *dataset;
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(tree_open(t, &dataset, 0, &error), SLUICE_INVALID);
    assert_non_null(strstr(error.text, "4194304 files"));
}

static void add_large(const tree *t, const char *folder)
{
    char name[64];
    for (int i = 0; i < LARGE; i++) {
        (void)snprintf(name, sizeof(name), "%s/%d.txt", folder, i);
        tree_add(t, name);
    }
    (void)snprintf(name, sizeof(name), "%s/0.jpg", folder);
    tree_add(t, name);
}

/* A few links and a folder that is not small: nested, and as classes. */
static void links_that_multiply_files_are_refused(void **state)
{
    tree *t = *state;
    char name[64];
    if (TEST_SANITIZED) {
        skip();
    }
    add_large(t, "c/0");
    for (int level = 1; level <= LARGE_LEVELS; level++) {
        char below[64];
        (void)snprintf(below, sizeof(below), "../%d", level - 1);
        (void)snprintf(name, sizeof(name), "c/%d/", level);
        tree_add(t, name);
        for (const char *side = "lr"; *side; side++) {
            (void)snprintf(name, sizeof(name), "c/%d/%c", level, *side);
            tree_link(t, below, name);
        }
    }
    expect_too_often(t);
    tree_empty(t);
    add_large(t, "c");
    for (int i = 0; i < LARGE_CLASSES; i++) {
        (void)snprintf(name, sizeof(name), "l%d", i);
        tree_link(t, "c", name);
    }
    expect_too_often(t);
}

static void pictures_without_classes_have_no_label(void **state)
{
    tree *t = *state;
    ADD(t, "b.jpg", "a.png", "notes/readme.txt");
    EXPECT(t, "-1 a.png", "-1 b.jpg");
    sl_dataset *dataset;
    sl_sample sample;
    char path[600];
    assert_int_equal(tree_open(t, &dataset, 0, NULL), SLUICE_OK);
    assert_int_equal(dataset->info.classes, 0);
    assert_int_equal(dataset->info.fields, 2);
    assert_non_null(strstr(dataset->kind, "without labels"));
    assert_null(dataset->ops->class_name(dataset, 0));
    assert_null(dataset->ops->class_name(dataset, -1));
    assert_int_equal(sl_dataset_find(dataset, 1, &sample, NULL), SLUICE_OK);
    const uint32_t object = sample.place.object;
    assert_int_equal(sl_objects_path(dataset->objects, object, path, sizeof(path)), SLUICE_OK);
    assert_int_equal(access(path, R_OK), 0);
    assert_int_equal(sl_objects_path(dataset->objects, object, path, 10), SLUICE_INVALID);
    assert_int_equal(sl_dataset_find(dataset, 2, &sample, NULL), SLUICE_INVALID);
    sl_dataset_close(dataset);
}

/* These folders were counted as classes before the image beside them was found. */
static void folders_without_a_picture_are_no_classes(void **state)
{
    tree *t = *state;
    sl_dataset *dataset;
    char name[64];
    ADD(t, "a.jpg");
    for (int i = 0; i < 40; i++) {
        (void)snprintf(name, sizeof(name), "empty%d/deep/", i);
        tree_add(t, name);
    }
    assert_int_equal(tree_open(t, &dataset, 0, NULL), SLUICE_OK);
    assert_int_equal(dataset->info.samples, 1);
    assert_int_equal(dataset->info.classes, 0);
    sl_dataset_close(dataset);
}

static void nothing_found_says_what_was_looked_for(void **state)
{
    tree *t = *state;
    sl_dataset *dataset;
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(tree_open(t, &dataset, 0, &error), SLUICE_INVALID);
    assert_null(dataset);
    assert_string_equal(error.file, t->root);
    assert_non_null(strstr(error.text, "empty"));
    ADD(t, "a/x.txt", "b/", "notes.txt");
    assert_int_equal(tree_open(t, &dataset, 0, &error), SLUICE_INVALID);
    assert_non_null(strstr(error.text, ".jpeg"));
    assert_non_null(strstr(error.text, "1 file (notes.txt), 2 folders (a, b)"));
}

static void names_that_differ_in_case_only_are_refused(void **state)
{
    static const char *const pairs[][2] = {{"Cat", "cat"},
                                           {"\xC3\x84pfel", "\xC3\xA4pfel"}, /* A umlaut */
                                           {"\xD0\x96", "\xD0\xB6"},         /* Cyrillic Zhe */
                                           {"\xCE\xA9", "\xCF\x89"}};        /* Greek omega */
    for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
        tree t;
        char name[64];
        tree_make(&t);
        (void)snprintf(name, sizeof(name), "%s/1.jpg", pairs[i][0]);
        tree_add(&t, name);
        (void)snprintf(name, sizeof(name), "%s/", pairs[i][1]);
        tree_add(&t, name); /* an empty folder would be merged, too */
        tree_add(&t, "dog/1.jpg");
        sl_dataset *dataset;
        sluice_error error = SLUICE_ERROR_INIT;
        assert_int_equal(tree_open(&t, &dataset, 0, &error), SLUICE_INVALID);
        assert_non_null(strstr(error.text, pairs[i][0]));
        assert_non_null(strstr(error.text, pairs[i][1]));
        assert_int_equal(tree_open(&t, &dataset, 1, &error), SLUICE_OK);
        assert_int_equal(dataset->info.classes, 3);
        sl_dataset_close(dataset);
        remove_tree(t.root);
    }
}

static void classes_without_a_picture_are_refused(void **state)
{
    tree *t = *state;
    ADD(t, "a/1.jpg", "c/deep/1.jpg", "b/readme.txt");
    const sluice_dataset_options options = SLUICE_DATASET_OPTIONS_INIT;
    const char *path = t->root;
    sl_dataset *dataset;
    sluice_error error = SLUICE_ERROR_INIT;
    assert_int_equal(sl_dataset_open(&dataset, &path, 1, &options, &error), SLUICE_INVALID);
    assert_null(dataset);
    assert_string_equal(error.file, t->root);
    assert_non_null(strstr(error.text, "\"b\","));
    tree_add(t, "d/sub/");
    assert_int_equal(sl_dataset_open(&dataset, &path, 1, &options, &error), SLUICE_INVALID);
    assert_non_null(strstr(error.text, "\"b\" and 1 more"));
    assert_int_equal(tree_open(t, &dataset, 0, NULL), SLUICE_OK);
    assert_int_equal(dataset->info.classes, 4);
    sl_dataset_close(dataset);
    ADD(t, "b/1.jpg", "d/sub/1.jpg");
    assert_int_equal(sl_dataset_open(&dataset, &path, 1, &options, &error), SLUICE_OK);
    sl_dataset_close(dataset);
}

static void other_names_are_not_folded_together(void **state)
{
    static const char *const names[] = {
        "a", "b", "1", "\xC3\x97", "\xC3\xB7", "\xFF", "\xC3", "\xE4\xB8\xAD", "\xF0\x9F\x98\x80",
        "_", "[", "{"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        for (size_t j = 0; j < i; j++) {
            char left[16];
            char right[16];
            sl_case_fold(names[i], left);
            sl_case_fold(names[j], right);
            assert_string_not_equal(left, right);
        }
    }
}

/* Runs in a child without privileges: root may read everything. */
static int list_unreadable(const tree *t)
{
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) {
        return 2;
    }
    sl_dataset *dataset;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_status status = tree_open(t, &dataset, 0, &error);
    return status == SLUICE_IO && error.sys_errno == EACCES && strstr(error.file, "closed") != NULL
               ? 0
               : 1;
}

static void an_unreadable_directory_is_named(void **state)
{
    tree *t = *state;
    char path[600];
    assert_int_equal(chmod(t->root, 0755), 0);
    ADD(t, "a/1.jpg", "a/closed/2.jpg");
    tree_path(t, "a/closed", path);
    assert_int_equal(chmod(path, 0), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(list_unreadable(t));
    }
    int result;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFEXITED(result));
    assert_int_equal(chmod(path, 0755), 0);
    if (WEXITSTATUS(result) == 2) {
        print_message("skipped: cannot give up root\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(result), 0);
}

static void the_fingerprint_follows_keys_and_labels(void **state)
{
    tree *t = *state;
    ADD(t, "a/1.jpg", "b/1.jpg");
    uint64_t seen[5];
    static const char *const additions[] = {"b/2.jpg", "0/", "b/ignored.txt", "c/x/3.jpg"};
    for (size_t i = 0; i < 5; i++) {
        sl_dataset *dataset;
        assert_int_equal(tree_open(t, &dataset, 0, NULL), SLUICE_OK);
        seen[i] = dataset->info.fingerprint;
        sl_dataset_close(dataset);
        if (i < 4) {
            tree_add(t, additions[i]);
        }
    }
    assert_true(seen[0] != seen[1] && seen[1] != seen[2] && seen[3] != seen[4]);
    assert_true(seen[2] == seen[3]);
}

static void many_references(void **state)
{
    tree *t = *state;
    tree_add(t, "a/1.jpg");
    sl_dataset *dataset;
    assert_int_equal(tree_open(t, &dataset, 0, NULL), SLUICE_OK);
    sl_dataset *second = sl_dataset_ref(dataset);
    sl_dataset_close(dataset);
    assert_int_equal(second->info.samples, 1);
    sl_dataset_close(second);
    sl_dataset_close(NULL);
}

static uint32_t next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)(*seed >> 33);
}

/* Draws a path of 1..4 short parts from an alphabet that sorts around '/'. */
static void random_name(uint64_t *seed, char name[128])
{
    static const char *const parts[] = {"a", "a-b", "a.b", "a b", "A",  "b", "b0",  "\xC3\xA9",
                                        "z", ".h",  "0",   "!",   "a+", "~", "a,b", "_"};
    static const char *const ends[] = {".jpg", ".JPG",  ".jpeg", ".png",  ".txt", "",
                                       ".Tif", ".webp", ".gif",  ".jpg~", ".bMp", "/"};
    size_t used = 0;
    uint32_t depth = 1 + next_random(seed) % 4;
    for (uint32_t i = 0; i < depth; i++) {
        used += (size_t)snprintf(name + used, 128 - used, "%s%s", i > 0 ? "/d" : "",
                                 parts[next_random(seed) % 16]);
    }
    (void)snprintf(name + used, 128 - used, "%s", ends[next_random(seed) % 12]);
}

static void add_random(const tree *t, uint64_t *seed)
{
    char name[128];
    char path[600];
    struct stat status;
    random_name(seed, name);
    tree_path(t, name, path);
    size_t length = strlen(path);
    if (path[length - 1] == '/') {
        path[length - 1] = '\0';
    }
    /* A file may exist where a directory is needed, and vice versa: these are skipped. */
    for (char *slash = strchr(path + strlen(t->root) + 1, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        const bool blocked = stat(path, &status) == 0 && !S_ISDIR(status.st_mode);
        *slash = '/';
        if (blocked) {
            return;
        }
    }
    if (lstat(path, &status) != 0) {
        tree_add(t, name);
    }
}

/* Runs the model and compares line by line. */
static void compare_with_model(const tree *t)
{
    char command[1200];
    (void)snprintf(command, sizeof(command), "/usr/bin/python3 '%s' '%s'", model, t->root);
    FILE *stream = popen(command, "r"); /* NOLINT(cert-env33-c): fixed programs, own paths */
    assert_non_null(stream);
    sl_dataset *dataset = NULL;
    sluice_status status = tree_open(t, &dataset, 1, NULL);
    char *label = NULL;
    char *key = NULL;
    size_t label_capacity = 0;
    size_t key_capacity = 0;
    uint64_t count = 0;
    while (getdelim(&label, &label_capacity, '\0', stream) > 0) {
        char own[SL_KEY_MAX + 1];
        assert_true(getdelim(&key, &key_capacity, '\0', stream) > 0);
        assert_int_equal(status, SLUICE_OK);
        assert_int_equal(facts_of(dataset, count++, own), strtoll(label, NULL, 10));
        assert_string_equal(own, key);
    }
    assert_int_equal(pclose(stream), 0);
    assert_true(count > 0 && count == dataset->info.samples);
    free(label);
    free(key);
    sl_dataset_close(dataset);
}

static void random_trees_are_as_torchvision_sees_them(void **state)
{
    if (model == NULL || access("/usr/bin/python3", X_OK) != 0) {
        print_message("skipped: no /usr/bin/python3\n");
        skip();
    }
    uint64_t seed = 7;
    for (int round = 0; round < TEST_AMOUNT(12, 4); round++) {
        tree t;
        tree_make(&t);
        tree_add(&t, "a/first.jpg");
        for (int i = 0; i < 20 * round + 5; i++) {
            add_random(&t, &seed);
        }
        tree_link(&t, round % 2 ? "a" : "missing", "link-class");
        tree_link(&t, "nowhere", "a/broken.png");
        compare_with_model(&t);
        remove_tree(t.root);
    }
}

/* Folders that several links lead to, within a class and from others. */
static void shared_folders_are_as_torchvision_sees_them(void **state)
{
    tree *t = *state;
    if (model == NULL || access("/usr/bin/python3", X_OK) != 0) {
        print_message("skipped: no /usr/bin/python3\n");
        skip();
    }
    ADD(t, "a/1.jpg", "a/deep/2.jpg", "b/3.jpg", "c/");
    LINK(t, {"deep", "a/again"}, {"deep", "a/once-more"}, {"../a", "b/a"}, {"../a/deep", "b/deep"},
         {"../b", "c/b"}, {"../a", "c/a"}, {"../b/a/again", "c/d"});
    compare_with_model(t);
}

#define TREE_TEST(test) cmocka_unit_test_setup_teardown(test, tree_setup, tree_teardown)

int main(int count, char **arguments)
{
    model = count > 1 ? arguments[1] : NULL;
    const struct CMUnitTest tests[] = {
        TREE_TEST(the_documented_example),
        TREE_TEST(order_and_extensions),
        TREE_TEST(links_are_followed_and_loops_are_not),
        TREE_TEST(mutual_links_end),
        TREE_TEST(a_folder_of_a_circle_counts_once),
        TREE_TEST(links_that_multiply_are_refused),
        TREE_TEST(links_that_multiply_files_are_refused),
        TREE_TEST(shared_folders_are_as_torchvision_sees_them),
        TREE_TEST(pictures_without_classes_have_no_label),
        TREE_TEST(folders_without_a_picture_are_no_classes),
        TREE_TEST(nothing_found_says_what_was_looked_for),
        cmocka_unit_test(names_that_differ_in_case_only_are_refused),
        TREE_TEST(classes_without_a_picture_are_refused),
        cmocka_unit_test(other_names_are_not_folded_together),
        TREE_TEST(an_unreadable_directory_is_named),
        TREE_TEST(the_fingerprint_follows_keys_and_labels),
        TREE_TEST(many_references),
        cmocka_unit_test(random_trees_are_as_torchvision_sees_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
