/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_tree: a folder of any files, folders and links, opened as a dataset. Input: entries of one
 * byte for the kind, one for the folder, one for the name, two for the size of the content, and the
 * content. Names are those that formats look for, so that one folder matches several formats, and
 * bytes of the input. */
#include "dataset_run.h"

#include "photo_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEAD_BYTES = 5, ENTRIES_MOST = 40, PATH_ROOM = 4096 };
enum { OP_FILE, OP_FOLDER, OP_LINK, OP_HARD_LINK, OP_PIPE, OP_HIDE, OPS };

static const char *const folders[] = {
    "",           "cat",    "dog",          "train",        "train/cat",
    "images",     "labels", "images/train", "labels/train", "Annotations",
    "JPEGImages", "0",      ".hidden",      "cat/deep"};
static const char *const names[] = {"a.jpg",
                                    "b.JPEG",
                                    "c.png",
                                    "d.webp",
                                    "a.txt",
                                    "a.xml",
                                    "a.json",
                                    "a.cls",
                                    "a.npy",
                                    "a.npz",
                                    "a.tar",
                                    "a.tar.gz",
                                    "a.tfrecord",
                                    "a.rec",
                                    "a.idx",
                                    "a.lst",
                                    "a.parquet",
                                    "a.arrow",
                                    "a.csv",
                                    "a.tsv",
                                    "a.jsonl",
                                    "a.beton",
                                    "data.mdb",
                                    "lock.mdb",
                                    "index.json",
                                    "data.yaml",
                                    "classes.txt",
                                    "labels.csv",
                                    "metadata.jsonl",
                                    "metadata.csv",
                                    "instances.json",
                                    "manifest.sluice",
                                    "shard-000000.sluice",
                                    "pack.journal",
                                    "dataset_info.json",
                                    "state.json",
                                    "a.index",
                                    "._a.jpg",
                                    ".DS_Store",
                                    "Thumbs.db",
                                    "a"};
#define COUNT(list) (sizeof(list) / sizeof(*(list)))

static const char *place(void)
{
    static char path[PATH_ROOM / 2];
    if (path[0] == '\0') {
        temporary_directory(path, sizeof(path));
    }
    return path;
}

static void path_of(char *path, const uint8_t *head, const char *root)
{
    const char *folder = folders[head[1] % COUNT(folders)];
    if (head[2] < 0xf0) {
        (void)snprintf(path, PATH_ROOM, "%s/%s/%s", root, folder, names[head[2] % COUNT(names)]);
    } else { /* a meaningless name, even with bytes that are not text */
        (void)snprintf(path, PATH_ROOM, "%s/%s/%c%c.jpg", root, folder, 0x80 | head[2],
                       1 + head[3] % 46);
    }
}

static void make_folders(const char *root)
{
    char path[PATH_ROOM];
    for (size_t i = 0; i < COUNT(folders); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", root, folders[i]);
        fuzz_expect(mkdir(path, 0700) == 0 || errno == EEXIST, "a folder can be made");
    }
}

static void make_file(const char *path, const uint8_t *data, size_t bytes)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_CLOEXEC, 0600);
    if (fd < 0)
        return; /* a folder or a pipe has that name */
    (void)!write(fd, data, bytes);
    (void)close(fd);
}

/* Links lead to another entry, to themselves, above the root, and nowhere. */
static void make_link(const char *path, const uint8_t *head, const uint8_t *data, size_t bytes)
{
    static const char *const targets[] = {".",         "..",       "a.jpg", "../cat",
                                          "/dev/null", "/nowhere", "../.."};
    char target[64];
    (void)snprintf(target, sizeof(target), "%s", targets[head[3] % COUNT(targets)]);
    for (size_t i = 0; i < bytes && i < 8 && head[3] >= 0x80; i++)
        target[i] = (char)(data[i] ? data[i] : 'x');
    (void)!symlink(target, path);
}

static void make_entry(const uint8_t *head, const uint8_t *data, size_t bytes, const char *root)
{
    char path[PATH_ROOM];
    char first[PATH_ROOM];
    path_of(path, head, root);
    switch (head[0] % OPS) {
    case OP_FOLDER:
        (void)mkdir(path, 0700);
        break;
    case OP_LINK:
        make_link(path, head, data, bytes);
        break;
    case OP_HARD_LINK:
        (void)snprintf(first, sizeof(first), "%s/cat/a.jpg", root);
        (void)!link(first, path);
        break;
    case OP_PIPE:
        (void)mkfifo(path, 0600);
        break;
    case OP_HIDE:
        (void)unlink(path);
        break;
    default:
        make_file(path, data, bytes);
    }
}

int fuzz_run(const uint8_t *data, size_t size)
{
    static char root[PATH_ROOM];
    (void)snprintf(root, sizeof(root), "%s/tree", place());
    make_folders(root);
    size_t at = 0;
    for (unsigned entries = 0; entries < ENTRIES_MOST && size - at >= HEAD_BYTES; entries++) {
        const uint8_t *head = data + at;
        size_t bytes = (size_t)head[3] | (size_t)head[4] << 8;
        at += HEAD_BYTES;
        if (bytes > size - at)
            bytes = size - at;
        make_entry(head, data + at, bytes, root);
        at += bytes;
    }
    fuzz_dataset_run(root);
    remove_tree(root);
    return 0;
}

/* ---- seeds ---- */

static size_t put(uint8_t *to, uint8_t op, unsigned folder, unsigned name, const void *data,
                  size_t bytes)
{
    const uint8_t head[HEAD_BYTES] = {op, (uint8_t)folder, (uint8_t)name, (uint8_t)bytes,
                                      (uint8_t)(bytes >> 8)};
    memcpy(to, head, HEAD_BYTES);
    if (bytes > 0)
        memcpy(to + HEAD_BYTES, data, bytes);
    return HEAD_BYTES + bytes;
}

static unsigned number_of(const char *name)
{
    for (unsigned i = 0; i < COUNT(names); i++) {
        if (strcmp(names[i], name) == 0)
            return i;
    }
    fuzz_expect(false, "a name of the list");
    return 0;
}

static size_t put_text(uint8_t *to, unsigned folder, const char *name, const char *text)
{
    return put(to, OP_FILE, folder, number_of(name), text, strlen(text));
}

size_t fuzz_seed(unsigned index, uint8_t *buffer)
{
    size_t at = 0;
    if (index >= 6)
        return 0;
    /* class folders, with the files found beside them */
    at += put_text(buffer + at, 1, "a.jpg", "\xff\xd8\xff\xe0");
    at += put_text(buffer + at, 2, "c.png", "\x89PNG\r\n\x1a\n");
    if (index == 1) {
        at += put_text(buffer + at, 7, "a.jpg", "\xff\xd8");
        at += put_text(buffer + at, 8, "a.txt", "0 0.5 0.5 0.25 0.25\n1 0.1 0.1 0.1 0.1\n");
        at += put_text(buffer + at, 0, "data.yaml",
                       "train: images/train\nval: images/train\nnc: 2\nnames: [cat, dog]\n");
    }
    if (index == 2) {
        at += put_text(buffer + at, 0, "labels.csv", "file,label\ncat/a.jpg,1\ndog/c.png,0\n");
    }
    if (index == 3) {
        at += put_text(buffer + at, 0, "metadata.jsonl",
                       "{\"file_name\": \"cat/a.jpg\", \"text\": \"x\"}\n");
    }
    if (index == 4) {
        at += put(buffer + at, OP_LINK, 1, number_of("a.tar"), NULL, 0);
        at += put(buffer + at, OP_HARD_LINK, 2, number_of("a.jpg"), NULL, 0);
        at += put(buffer + at, OP_PIPE, 2, number_of("b.JPEG"), NULL, 0);
    }
    if (index == 5) {
        at += put_text(buffer + at, 9, "a.xml",
                       "<annotation><filename>a.jpg</filename><size><width>2</width><height>2</"
                       "height></size></annotation>");
        at += put_text(buffer + at, 10, "a.jpg", "\xff\xd8");
    }
    return at;
}
