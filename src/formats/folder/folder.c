/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder: the dataset of an image folder: its classes, ops and fingerprint.
 *
 * One thread opens; then it is immutable. An image is a sample, and its class folder the label.
 */
#include "checksum.h"
#include "dataset.h"
#include "error.h"
#include "folder_pairs.h"
#include "folder_shape.h"
#include "little_endian.h"
#include "memory.h"
#include "read_files.h"
#include "samples.h"
#include "split_classes.h"
#include "store.h"
#include "text_file.h"
#include "unicode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAGE      "dataset"
#define PATH_BYTES 4096

typedef struct folder {
    sl_dataset base;
    sl_folder_list list;
    char *root;
    bool captions; /* true if samples are an image with, usually, the text of a caption */
} folder;

static const folder *folder_from(const sl_dataset *dataset)
{
    return (const folder *)(const void *)dataset;
}

static bool folder_probe(sl_look *look)
{
    return sl_look_is_folder(look);
}

/* Without classes there is no label field, and the key takes its number. */
enum { FIELD_IMAGE, FIELD_LABEL, FIELD_KEY, FIELDS };

static const sl_field fields[FIELDS] = {
    [FIELD_IMAGE] = {.name = "image", .type = SLUICE_FIELD_IMAGE},
    [FIELD_LABEL] = {.name = "label", .type = SLUICE_FIELD_INT},
    [FIELD_KEY] = {.name = "key", .type = SLUICE_FIELD_TEXT},
};

static const sl_field unlabelled[FIELDS - 1] = {
    {.name = "image", .type = SLUICE_FIELD_IMAGE},
    {.name = "key", .type = SLUICE_FIELD_TEXT},
};

enum {
    CAPTION_FIELD_IMAGE,
    CAPTION_FIELD_LABEL,
    CAPTION_FIELD_CAPTION,
    CAPTION_FIELD_KEY,
    CAPTION_FIELDS
};

static const sl_field captioned[CAPTION_FIELDS] = {
    [CAPTION_FIELD_IMAGE] = {.name = "image", .type = SLUICE_FIELD_IMAGE},
    [CAPTION_FIELD_LABEL] = {.name = "label", .type = SLUICE_FIELD_INT},
    [CAPTION_FIELD_CAPTION] = {.name = "caption", .type = SLUICE_FIELD_TEXT},
    [CAPTION_FIELD_KEY] = {.name = "key", .type = SLUICE_FIELD_TEXT},
};

/* Returns the number of files of a sample; 0: only its image, as for all samples. */
static uint32_t count_files(const folder *own, uint64_t index)
{
    return !own->captions ? 0 : own->list.files[index].caption != SL_CAPTION_NONE ? 2 : 1;
}

static sluice_status folder_locate(const sl_dataset *dataset, uint64_t index, sl_sample *sample,
                                   sl_place *lookup, sl_refusal *why)
{
    (void)lookup;
    (void)why;
    *sample = (sl_sample){.place = {.object = (uint32_t)index},
                          .files = count_files(folder_from(dataset), index)};
    return SLUICE_OK;
}

/* Unpacks image and caption, which are stored back to back, followed by their sizes. */
static sl_refusal take_captioned(const folder *own, uint64_t index, sl_bytes bytes,
                                 sl_values *values)
{
    const uint32_t count = count_files(own, index);
    const size_t tail = (size_t)count * SL_OBJECT_SIZE_BYTES;
    const uint64_t size = bytes.size >= tail ? sl_load64(bytes.data + bytes.size - tail) : 0;
    if (bytes.size < tail || size > bytes.size - tail) {
        return sl_refuse("the sample is truncated", 0);
    }
    values->of[CAPTION_FIELD_IMAGE].bytes = (sl_bytes){bytes.data, (size_t)size};
    values->of[CAPTION_FIELD_CAPTION] = (sl_value){.present = count > 1, .file = 1};
    if (count == 1 || !sl_values_want(values, CAPTION_FIELD_CAPTION)) {
        return sl_accept();
    }
    sl_bytes text = {bytes.data + size, bytes.size - tail - (size_t)size};
    const char *refused = sl_text_take(&text);
    if (refused == NULL && !sl_is_utf8(text)) {
        refused = "the caption is not valid UTF-8: save it as UTF-8";
    }
    if (refused != NULL) {
        sl_refusal why = sl_refuse(refused, 0);
        why.field = captioned[CAPTION_FIELD_CAPTION].name;
        why.file = 1;
        return why;
    }
    values->of[CAPTION_FIELD_CAPTION].bytes = text;
    return sl_accept();
}

static sl_refusal folder_unpack(const sl_dataset *dataset, const sl_sample *sample, sl_bytes bytes,
                                sl_values *values)
{
    const folder *own = folder_from(dataset);
    const sl_folder_list *list = &own->list;
    const uint32_t label = list->dirs[list->files[sample->index].dir].label;
    const uint32_t key = own->captions ? CAPTION_FIELD_KEY : list->flat ? FIELD_LABEL : FIELD_KEY;
    values->of[FIELD_IMAGE] = (sl_value){.present = true, .bytes = bytes};
    if (!list->flat) {
        values->of[FIELD_LABEL] = (sl_value){.present = true, .integer = label};
    }
    if (own->captions) {
        const sl_refusal why = take_captioned(own, sample->index, bytes, values);
        if (why.text != NULL) {
            return why;
        }
    }
    if (sl_values_want(values, key)) {
        /* the key fits: this was checked when it was listed */
        (void)sl_folder_key(list, sample->index, values->buffer, sizeof(values->buffer));
        values->of[key] = (sl_value){
            .present = true, .bytes = {(const uint8_t *)values->buffer, strlen(values->buffer)}};
    }
    return sl_accept();
}

static sluice_status folder_path_of(void *ctx, uint32_t file, char *path, size_t bytes)
{
    const folder *own = ctx;
    int length = snprintf(path, bytes, "%s/", own->root);
    if (length < 0 || (size_t)length >= bytes) {
        return SLUICE_INVALID;
    }
    return sl_folder_key(&own->list, file, path + length, bytes - (size_t)length);
}

static uint32_t folder_files_of(void *ctx, uint32_t object)
{
    return count_files(ctx, object);
}

static sluice_status folder_file_path(void *ctx, uint32_t object, uint32_t file, char *path,
                                      size_t bytes)
{
    const folder *own = ctx;
    const sluice_status status = folder_path_of(ctx, object, path, bytes);
    if (status != SLUICE_OK || file == 0) {
        return status;
    }
    const char *extension = sl_caption_extension(own->list.files[object].caption);
    char *dot = strrchr(path, '.');
    if (dot == NULL || (size_t)(dot - path) + strlen(extension) >= bytes) {
        return SLUICE_INVALID;
    }
    memcpy(dot, extension, strlen(extension) + 1);
    return SLUICE_OK;
}

static sluice_status folder_key_of(const sl_dataset *dataset, uint64_t index, char *key,
                                   size_t bytes)
{
    return sl_folder_key(&folder_from(dataset)->list, index, key, bytes);
}

static const char *folder_class_name(const sl_dataset *dataset, int64_t label)
{
    const sl_folder_list *list = &folder_from(dataset)->list;
    return !list->flat && label >= 0 && label < (int64_t)list->class_count
               ? sl_folder_text(list, list->classes[label])
               : NULL;
}

static bool folder_has_folder(const sl_dataset *dataset, uint64_t device, uint64_t inode)
{
    const sl_folder_list *list = &folder_from(dataset)->list;
    bool found = list->root_device == device && list->root_inode == inode;
    for (uint32_t i = 0; i < list->dir_count && !found; i++) {
        found = list->dirs[i].device == device && list->dirs[i].inode == inode;
    }
    return found;
}

static void close_folder(sl_dataset *dataset)
{
    folder *own = (folder *)(void *)dataset;
    sl_objects_close(own->base.objects);
    sl_folder_list_close(&own->list);
    sl_free(own->root);
    sl_free(own);
}

static const sl_dataset_ops folder_ops = {
    .locate = folder_locate,
    .unpack = folder_unpack,
    .class_name = folder_class_name,
    .key = folder_key_of,
    .has_folder = folder_has_folder,
    .close = close_folder,
};

/* A class name and its case-folded form, for finding equal neighbours. */
typedef struct folded_name {
    const char *folded, *name;
} folded_name;

static int folder_compare_folded(const void *a, const void *b)
{
    const folded_name *left = a;
    const folded_name *right = b;
    int order = strcmp(left->folded, right->folded);
    return order != 0 ? order : strcmp(left->name, right->name);
}

static sluice_status report_duplicate(const folder *own, const folded_name *names,
                                      sluice_error *error)
{
    for (uint32_t i = 1; i < own->list.class_count; i++) {
        if (strcmp(names[i - 1].folded, names[i].folded) == 0) {
            return sl_error_file(
                error, SLUICE_INVALID, STAGE, 0, own->root, -1,
                "the class folders \"%s\" and \"%s\" differ only in case: some file systems would "
                "merge them (" SL_OPTION("allow_case_duplicates") " accepts them)",
                names[i - 1].name, names[i].name);
        }
    }
    return SLUICE_OK;
}

static sluice_status refuse_case_duplicates(const folder *own, sluice_error *error)
{
    const sl_folder_list *list = &own->list;
    size_t text_bytes = 0;
    for (uint32_t i = 0; i < list->class_count; i++) {
        text_bytes += strlen(sl_folder_text(list, list->classes[i])) + 1;
    }
    folded_name *names = sl_calloc(list->class_count, sizeof(*names));
    char *text = sl_malloc(text_bytes);
    sluice_status status = SLUICE_OK;
    if (names != NULL && text != NULL) {
        char *to = text;
        for (uint32_t i = 0; i < list->class_count; i++) {
            names[i] = (folded_name){to, sl_folder_text(list, list->classes[i])};
            sl_case_fold(names[i].name, to);
            to += strlen(names[i].name) + 1;
        }
        qsort(names, list->class_count, sizeof(*names), folder_compare_folded);
        status = report_duplicate(own, names, error);
    } else {
        status = sl_no_memory(error, STAGE, "for the class names");
    }
    sl_free(names);
    sl_free(text);
    return status;
}

/*
 * Returns the folder to open if only one class has images: "img", or "img/img" if it contains only
 * that.
 */
static const char *find_only(const folder *own, uint32_t label)
{
    const sl_folder_list *list = &own->list;
    const char *name = sl_folder_text(list, list->classes[label]);
    const size_t bytes = strlen(name);
    const char *only = NULL;
    for (uint32_t i = 0; i < list->dir_count; i++) {
        const sl_folder_dir *dir = &list->dirs[i];
        if (dir->label != label || dir->count == 0) {
            continue;
        }
        const char *path = sl_folder_text(list, dir->path);
        const bool is_doubled = strlen(path) == 2 * bytes + 1 && path[bytes] == '/' &&
                                strcmp(path + bytes + 1, name) == 0;
        only = only == NULL && is_doubled ? path : name;
    }
    return only;
}

/* Reports `count` classes without an image, including `first`; class `label` has images. */
static sluice_status report_empty(const folder *own, uint32_t count, uint32_t first, uint32_t label,
                                  sluice_error *error)
{
    char others[32] = "";
    if (count > 1) {
        (void)snprintf(others, sizeof(others), " and %u more", count - 1);
    }
    if (count + 1 == own->list.class_count) {
        const char *only = find_only(own, label);
        return sl_error_file(
            error, SLUICE_INVALID, STAGE, 0, own->root, -1,
            "all its images are in \"%.200s\", and none in \"%.100s\"%s: open %.200s/%.200s "
            "(" SL_OPTION("allow_empty_classes") " makes each of these folders a class)",
            only, sl_folder_text(&own->list, own->list.classes[first]), others, own->root, only);
    }
    return sl_error_file(error, SLUICE_INVALID, STAGE, 0, own->root, -1,
                         "no image in the class folder \"%.256s\"%s, which would still be a class: "
                         "move it elsewhere, or accept that (" SL_OPTION("allow_empty_classes") ")",
                         sl_folder_text(&own->list, own->list.classes[first]), others);
}

static sluice_status refuse_empty_classes(const folder *own, sluice_error *error)
{
    const sl_folder_list *list = &own->list;
    bool *has_some = sl_calloc(list->class_count, sizeof(*has_some));
    if (has_some == NULL) {
        return sl_no_memory(error, STAGE, "for the class names");
    }
    for (uint32_t i = 0; i < list->dir_count; i++) {
        has_some[list->dirs[i].label] |= list->dirs[i].count > 0;
    }
    uint32_t empty = 0;
    uint32_t first = 0;
    uint32_t label = 0;
    for (uint32_t i = list->class_count; i-- > 0;) {
        empty += !has_some[i];
        first = has_some[i] ? first : i;
        label = has_some[i] ? i : label;
    }
    sl_free(has_some);
    return empty > 0 ? report_empty(own, empty, first, label, error) : SLUICE_OK;
}

/*
 * Computes the fingerprint of class names, keys and labels, in order; without classes, as if there
 * were one.
 */
static uint64_t folder_fingerprint(const folder *own)
{
    const sl_folder_list *list = &own->list;
    sl_checksum_stream stream;
    sl_checksum_begin(&stream);
    for (uint32_t i = 0; i < list->class_count; i++) {
        const char *name = sl_folder_text(list, list->classes[i]);
        sl_checksum_add(&stream, name, strlen(name) + 1);
    }
    for (uint64_t i = 0; i < list->file_count; i++) {
        char key[PATH_BYTES];
        const sl_folder_dir *dir = &list->dirs[list->files[i].dir];
        /* the key fits: this was checked when it was listed */
        (void)sl_folder_key(list, i, key, sizeof(key));
        sl_checksum_add(&stream, key, strlen(key) + 1);
        sl_checksum_add_u64(&stream, dir->label + ((uint64_t)list->files[i].caption << 32));
    }
    return sl_checksum_value(&stream);
}

/*
 * Returns whether StyleGAN's dataset.json states that the images have no labels, so that their
 * folders are not classes.
 */
static bool says_unlabelled(const char *root)
{
    static const char text[] = "{\"labels\":null";
    char path[SL_PATH_BYTES];
    char head[64];
    char plain[sizeof(head)];
    size_t bytes = 0;
    if (!sl_path_join(path, root, "dataset.json")) {
        return false;
    }
    const size_t size = sl_store_look(path, head, sizeof(head));
    for (size_t i = 0; i < size; i++) {
        if (strchr(" \t\r\n", head[i]) == NULL) {
            plain[bytes++] = head[i];
        }
    }
    return bytes >= sizeof(text) - 1 && memcmp(plain, text, sizeof(text) - 1) == 0;
}

static void describe_captions(folder *own)
{
    const uint64_t without = own->list.file_count - own->list.captions;
    const bool repeats = sl_folder_shape_has_repeats(&own->list);
    const size_t used = strlen(own->base.kind);
    (void)snprintf(own->base.kind + used, sizeof(own->base.kind) - used,
                   ", with captions from the .txt or .caption files beside them%s",
                   repeats ? " (kohya's repeats, the numbers in the folder names, are not applied)"
                           : "");
    if (without > 0) {
        sl_warnings_add(&own->base.warnings,
                        "%llu images have no caption file (the same name, with .txt or .caption): "
                        "these samples lack the field \"caption\"",
                        (unsigned long long)without);
    }
}

static sluice_status folder_complete(folder *own, const sluice_dataset_options *options,
                                     sluice_error *error)
{
    own->captions = !own->list.flat && 2 * own->list.captions >= own->list.file_count;
    if (own->list.file_count > UINT32_MAX - 1) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, own->root, -1,
                             "more than 2^32 - 2 images");
    }
    const bool says_none = !own->list.flat && says_unlabelled(own->root);
    own->list.flat = own->list.flat || says_none;
    own->captions = own->captions && !own->list.flat;
    sluice_status status = own->list.flat
                               ? SLUICE_OK
                               : sl_folder_shape_check(&own->list, own->root,
                                                       options->allow_empty_classes != 0, error);
    if (status == SLUICE_OK && !own->list.flat) {
        status = sl_folder_pairs_check(&own->list, own->root, error);
    }
    if (status == SLUICE_OK && !options->allow_case_duplicates) {
        status = refuse_case_duplicates(own, error);
    }
    if (status == SLUICE_OK && !options->allow_empty_classes) {
        status = refuse_empty_classes(own, error);
    }
    if (status < 0) {
        return status;
    }
    sluice_dataset_info *info = &own->base.info;
    info->samples = own->list.file_count;
    info->fingerprint = folder_fingerprint(own);
    info->classes = own->list.flat ? 0 : own->list.class_count;
    info->fields = own->list.flat ? FIELDS - 1 : own->captions ? CAPTION_FIELDS : FIELDS;
    own->base.fields = own->list.flat ? unlabelled : own->captions ? captioned : fields;
    sl_folder_list_omit(&own->list, own->captions, &own->base.omissions);
    sl_folder_shape_describe(&own->list, own->base.kind, sizeof(own->base.kind));
    if (says_none) {
        (void)snprintf(own->base.kind, sizeof(own->base.kind),
                       "a folder of images without labels, according to its dataset.json");
    }
    own->base.whole_objects = true;
    if (own->captions) {
        describe_captions(own);
    }
    const sl_object_names names = {.ctx = own,
                                   .count = (uint32_t)own->list.file_count,
                                   .path = folder_path_of,
                                   .files = own->captions ? folder_files_of : NULL,
                                   .file_path = own->captions ? folder_file_path : NULL};
    return sl_objects_open(&own->base.objects, &names, error);
}

/* Returns a copy of `path` without trailing slashes. */
static char *clean_path(const char *path)
{
    char *copy = sl_strdup(path);
    size_t length = copy != NULL ? strlen(copy) : 0;
    while (length > 1 && copy[length - 1] == '/') {
        copy[--length] = '\0';
    }
    return copy;
}

static sluice_status folder_open_folder(sl_dataset **dataset, const char *const *paths,
                                        size_t count, const sluice_dataset_options *options,
                                        sluice_error *error)
{
    if (count != 1) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, paths[1], -1,
                             "image folders cannot be joined: open one path, or join the "
                             "datasets (" SL_OPTION("sluice_dataset_concat") ")");
    }
    folder *own = sl_dataset_new(sizeof(*own), &folder_ops, "folder", error);
    if (own == NULL) {
        return SLUICE_NOMEM;
    }
    own->root = clean_path(paths[0]);
    sluice_status status = own->root != NULL ? sl_folder_list_open(&own->list, own->root, error)
                                             : sl_no_memory(error, STAGE, "opening a dataset");
    const bool has_pictures = status == SLUICE_OK;
    if (has_pictures || status == SLUICE_END) {
        status = sl_samples_open(dataset, own->root, &own->list, error);
    }
    if (*dataset != NULL || (status == SLUICE_END && !has_pictures)) {
        sl_dataset_close(&own->base);
        return status;
    }
    if (status == SLUICE_END) {
        status = folder_complete(own, options, error);
    }
    return sl_dataset_opened(dataset, &own->base, status);
}

/*
 * Numbers the classes over all splits; a class that this split lacks becomes a class without
 * samples.
 */
static sluice_status folder_join_splits(sl_dataset *dataset, const sl_file_list *splits,
                                        const sluice_dataset_options *options, sluice_error *error)
{
    char names[160];
    sl_seen_names added = {.count = 0};
    folder *own = (folder *)(void *)dataset;
    if (dataset->ops != &folder_ops || own->list.flat) {
        return SLUICE_OK;
    }
    sluice_status status =
        sl_split_classes_add(&own->list, splits, options->allow_empty_classes != 0, &added, error);
    if (status == SLUICE_OK && !options->allow_case_duplicates) {
        status = refuse_case_duplicates(own, error);
    }
    if (status < 0) {
        return status;
    }
    dataset->info.classes = own->list.class_count;
    dataset->info.fingerprint = folder_fingerprint(own);
    if (added.count > 0) {
        sl_seen_names_write(&added, names, sizeof(names));
        sl_warnings_add(&dataset->warnings,
                        "%llu of the %u classes have no images in this split (%s): they keep their "
                        "numbers, so that labels are the same in all splits",
                        (unsigned long long)added.count, own->list.class_count, names);
    }
    return SLUICE_OK;
}

SL_FORMAT(folder) = {
    .name = "folder",
    .files = "pictures",
    .known = "",
    .probe = folder_probe,
    .is_file = sl_folder_is_picture,
    .open = folder_open_folder,
    .join_splits = folder_join_splits,
};
