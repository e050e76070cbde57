/* SPDX-License-Identifier: Apache-2.0 */
/* voc_files: finds annotation files and the images beside them. Runs on the opener's thread. */
#include "voc_files.h"

#include "beside.h"
#include "boundary.h"
#include "error.h"
#include "file_set.h"
#include "foreign.h"
#include "hidden.h"
#include "memory.h"
#include "store.h"
#include "text_file.h"
#include "yolo_paths.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAGE     "dataset"
#define EXTENSION ".xml"

enum { LOOK_BYTES = 4096, LOOK_FILES = 8, LIST_BYTES_MAX = 64 << 20 };

const char *const sl_voc_places[SL_VOC_PLACES] = {".",         "../JPEGImages",    "../images",
                                                  "../Images", "../../JPEGImages", "../../images"};

static const char *const annotations[] = {"Annotations", "annotations"};
/* Folders of annotations, relative to the folder of a list. */
static const char *const above[] = {".", "..", "../.."};

/* ---- folders ---- */

static bool voc_files_is_named(const char *name)
{
    return sl_ends_with(name, EXTENSION);
}

static bool skip_folder(const char *name)
{
    (void)name;
    return true;
}

static const sl_file_kind xml_files = {.plural = "annotation files",
                                       .suffix = EXTENSION,
                                       .is_named = voc_files_is_named,
                                       .skips_folder = skip_folder};

/* State of looking at a folder. */
typedef struct xml_look {
    const char *folder;
    bool is_named; /* true if it is named like a folder of annotations */
    bool has_json; /* true if it contains annotations of other kinds */
    int looked_at, unreadable;
} xml_look;

/* Returns whether an image is beside an annotation. */
static bool has_picture_beside(const xml_look *l, const char *name)
{
    char found[SL_PATH_BYTES];
    const sl_bytes stem = {(const uint8_t *)name, sl_beside_stem(name)};
    return sl_beside_find_image(l->folder, "", stem, SL_BESIDE_SMALL, found);
}

/* Returns whether a file is empty or a pointer; reading it then reports this. */
static bool is_unreadable(const char *head, size_t bytes)
{
    return bytes == 0 || sl_foreign_kind((const uint8_t *)head, bytes) != NULL;
}

static sluice_status voc_files_look_at(void *ctx, const sl_store_entry *entry, sluice_error *error)
{
    (void)error;
    char path[SL_PATH_BYTES];
    char head[LOOK_BYTES + 1];
    xml_look *l = ctx;
    l->has_json = l->has_json || sl_ends_with(entry->name, ".json");
    if (sl_name_is_hidden(entry->name) || !voc_files_is_named(entry->name)) {
        return SLUICE_OK;
    }
    if (l->looked_at == LOOK_FILES) {
        return SLUICE_CANCELED;
    }
    l->looked_at++;
    if (!sl_path_join(path, l->folder, entry->name)) {
        return SLUICE_OK;
    }
    const size_t bytes = sl_text_look(path, head, LOOK_BYTES);
    if (strstr(head, "<annotation") != NULL) {
        return SLUICE_END;
    }
    l->unreadable +=
        is_unreadable(head, bytes) && (l->is_named || has_picture_beside(l, entry->name));
    return SLUICE_OK;
}

/*
 * Returns whether one of the first few candidate files of the folder is an annotation, or none of
 * them can be read.
 */
static bool holds_annotations(const char *folder, bool is_named)
{
    xml_look l = {.folder = folder, .is_named = is_named};
    if (is_named && !sl_store_has_folder(folder)) {
        return false;
    }
    const sluice_status status =
        sl_store_list((sl_file_name){STAGE, folder}, voc_files_look_at, &l, NULL);
    return status == SLUICE_END ||
           (status != SLUICE_IO && !l.has_json && l.looked_at > 0 && l.unreadable == l.looked_at);
}

/* Finds the folder of annotations, which is the given folder or one in it. */
static bool voc_files_find_in_folder(const char *path, char folder[SL_PATH_BYTES])
{
    for (size_t i = 0; i < sizeof(annotations) / sizeof(annotations[0]); i++) {
        if (sl_path_join(folder, path, annotations[i]) && holds_annotations(folder, true)) {
            return true;
        }
    }
    const int length = snprintf(folder, SL_PATH_BYTES, "%s", path);
    return length > 0 && length < SL_PATH_BYTES && holds_annotations(folder, false);
}

/* Finds the folder of annotations that a list belongs to. */
static bool find_of_list(const char *path, char folder[SL_PATH_BYTES])
{
    const char *slash = strrchr(path, '/');
    const int bytes = slash != NULL ? (int)(slash - path + 1) : 0;
    if (!sl_ends_with(path, ".txt")) {
        return false;
    }
    for (size_t i = 0; i < sizeof(above) / sizeof(above[0]); i++) {
        for (size_t k = 0; k < sizeof(annotations) / sizeof(annotations[0]); k++) {
            const int length =
                snprintf(folder, SL_PATH_BYTES, "%.*s%s/%s", bytes, path, above[i], annotations[k]);
            if (length <= 0 || length >= SL_PATH_BYTES) {
                continue;
            }
            (void)sl_path_settle(folder);
            if (holds_annotations(folder, true)) {
                return true;
            }
        }
    }
    return false;
}

/* How a line of a list names an annotation. */
typedef enum voc_naming {
    VOC_NAMED,   /* by its own name */
    VOC_PICTURE, /* by the name of its image: 0.jpg */
    VOC_PATH     /* by the path of its image: JPEGImages/0.jpg */
} voc_naming;

/* Writes "FOLDER/NAME.xml"; false: too long. */
static bool write_page(const char *folder, const char *name, voc_naming how,
                       char path[SL_PATH_BYTES])
{
    name = how == VOC_PATH ? sl_path_name(name) : name;
    const size_t bytes = how != VOC_NAMED ? sl_beside_stem(name) : strlen(name);
    return sl_beside_path(path, folder, "", (sl_bytes){(const uint8_t *)name, bytes}, EXTENSION);
}

/* Determines how a name refers to an annotation: the first way that leads to an existing file. */
static voc_naming find_naming(const char *folder, const char *name)
{
    char path[SL_PATH_BYTES];
    for (int how = VOC_NAMED; sl_beside_is_image(name) && how <= VOC_PATH; how++) {
        if (write_page(folder, name, (voc_naming)how, path) && sl_store_has_file(path)) {
            return (voc_naming)how;
        }
    }
    return sl_beside_is_image(name) ? VOC_PICTURE : VOC_NAMED;
}

bool sl_voc_files_list_has(const char *list, const char *name)
{
    char folder[SL_PATH_BYTES];
    char path[SL_PATH_BYTES];
    return find_of_list(list, folder) &&
           write_page(folder, name, find_naming(folder, name), path) && sl_store_has_file(path);
}

/* Returns whether a list belongs to YOLO: its images exist, and the first one has no annotation. */
static bool is_of_yolo(sl_look *look)
{
    const char *path = look->path;
    char name[SL_PATH_BYTES];
    return sl_yolo_first_picture(look, name) && !sl_voc_files_list_has(path, name) &&
           (sl_yolo_list_has(path, name, false) || sl_yolo_list_has(path, name, true));
}

bool sl_voc_files_probe(sl_look *look)
{
    char folder[SL_PATH_BYTES];
    return sl_look_is_folder(look)
               ? voc_files_find_in_folder(look->path, folder)
               : sl_look_is_file(look) && find_of_list(look->path, folder) && !is_of_yolo(look);
}

sluice_status sl_voc_files_list_folder(sl_voc_files *files, const char *folder, sluice_error *error)
{
    sl_file_set set = {.samples = 0};
    const sluice_status status = sl_file_set_list(&set, &xml_files, &folder, 1, error);
    files->list = set.list;
    return status;
}

/* ---- lists ---- */

typedef struct list_reader {
    const char *path;
    sl_text_file file;
    uint64_t line;
    uint32_t with_number;
    int64_t *numbers; /* one per line */
    sluice_error *error;
} list_reader;

static sluice_status refuse_line(const list_reader *r, const char *at, const char *why)
{
    return sl_error_file(r->error, SLUICE_CORRUPT, STAGE, 0, r->path,
                         sl_text_file_offset(&r->file, at), "line %llu: %s",
                         (unsigned long long)r->line, why);
}

static sluice_status voc_files_refuse_name(const list_reader *r, const char *name)
{
    return sl_error_file(
        r->error, SLUICE_INVALID, STAGE, 0, r->path, sl_text_file_offset(&r->file, name),
        "line %llu: \"%.256s\" leads out of the folder of annotations: " SL_BOUNDARY_ADVICE,
        (unsigned long long)r->line, name);
}

/* Returns whether the boundary allows a path, which is relative to a folder of the dataset. */
static bool may_be(const sl_voc_files *files, const char *path)
{
    return files->anywhere || sl_boundary_stays((sl_bytes){(const uint8_t *)path, strlen(path)}, 0);
}

/* Takes a line that is not empty: a name, and perhaps a number. */
static sluice_status voc_files_take_line(sl_voc_files *files, list_reader *r, char *line)
{
    char path[SL_PATH_BYTES];
    char *rest = NULL;
    char *name = strtok_r(line, " \t\r", &rest);
    char *number = strtok_r(NULL, " \t\r", &rest);
    char *end = number;
    if (strtok_r(NULL, " \t\r", &rest) != NULL) {
        return refuse_line(r, line,
                           "expected only a name and a number: a list of people or actions is not "
                           "a list of images");
    }
    if (number != NULL) {
        errno = 0;
        r->numbers[files->list.count] = strtol(number, &end, 10);
        r->with_number++;
        if (*end != '\0' || errno != 0) {
            return refuse_line(r, number, "the text after the name is not a number");
        }
    }
    if (!may_be(files, name)) {
        return voc_files_refuse_name(r, name);
    }
    if (!write_page(files->folder, name, find_naming(files->folder, name), path)) {
        return refuse_line(r, name, "the name is too long");
    }
    return sl_file_list_add(&files->list, path, r->error);
}

static sluice_status voc_files_take_lines(sl_voc_files *files, list_reader *r)
{
    sluice_status status = SLUICE_OK;
    for (char *line = r->file.text; status == SLUICE_OK && line < r->file.text + r->file.size;) {
        const size_t length = strcspn(line, "\n");
        char *next = line + length + 1;
        r->line++;
        line[length] = '\0';
        if (line[strspn(line, " \t\r")] != '\0') {
            status = voc_files_take_line(files, r, line);
        }
        line = next;
    }
    if (status < 0) {
        return status;
    }
    if (files->list.count == 0) {
        return sl_error_file(r->error, SLUICE_INVALID, STAGE, 0, r->path, -1, "the list is empty");
    }
    return r->with_number == 0 || r->with_number == files->list.count
               ? SLUICE_OK
               : sl_error_file(r->error, SLUICE_CORRUPT, STAGE, 0, r->path, -1,
                               "only %u of its %u lines have a number", r->with_number,
                               files->list.count);
}

/* Returns an upper bound of the number of lines. */
static size_t count_lines(const char *text, size_t size)
{
    size_t lines = 1;
    for (size_t i = 0; i < size; i++) {
        lines += text[i] == '\n';
    }
    return lines;
}

static sluice_status voc_files_read_list(sl_voc_files *files, const char *path, sluice_error *error)
{
    list_reader r = {.path = path, .error = error};
    sluice_status status = sl_text_file_read(&r.file, path, LIST_BYTES_MAX, error);
    if (status == SLUICE_OK) {
        r.numbers = sl_calloc(count_lines(r.file.text, r.file.size), sizeof(*r.numbers));
        status = r.numbers != NULL
                     ? voc_files_take_lines(files, &r)
                     : sl_error_set(error, SLUICE_NOMEM, STAGE, "out of memory for a list");
    }
    if (status == SLUICE_OK && r.with_number > 0) {
        files->numbers = r.numbers;
    } else {
        sl_free(r.numbers);
    }
    sl_text_file_close(&r.file);
    return status;
}

/* ---- all of them ---- */

sluice_status sl_voc_files_open(sl_voc_files *files, const char *path, sluice_error *error)
{
    files->chosen = !sl_store_has_folder(path);
    if (files->chosen ? find_of_list(path, files->folder)
                      : voc_files_find_in_folder(path, files->folder)) {
        return files->chosen ? voc_files_read_list(files, path, error)
                             : sl_voc_files_list_folder(files, files->folder, error);
    }
    return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1,
                         "the annotations no longer exist");
}

void sl_voc_files_close(sl_voc_files *files)
{
    sl_file_list_close(&files->list);
    sl_free(files->numbers);
}

sl_bytes sl_voc_files_name(const sl_voc_files *files, uint32_t number)
{
    const char *path = files->list.files[number].path;
    const size_t folder = strlen(files->folder);
    const bool there = strncmp(path, files->folder, folder) == 0 && path[folder] == '/';
    const char *name = there ? path + folder + 1 : path;
    return (sl_bytes){(const uint8_t *)name, strlen(name) - strlen(EXTENSION)};
}

/* ---- images ---- */

static bool voc_files_is_file(const sl_voc_files *files, const char *place, const char *picture)
{
    char path[SL_PATH_BYTES];
    const sl_bytes name = {(const uint8_t *)picture, strlen(picture)};
    return sl_beside_path(path, files->folder, place, name, "") && sl_store_has_file(path);
}

bool sl_voc_files_picture(const sl_voc_files *files, uint32_t number, const char *filename,
                          const char *place, char picture[SL_PATH_BYTES])
{
    const sl_bytes bytes = sl_voc_files_name(files, number);
    const char *name = (const char *)bytes.data;
    const int length = (int)bytes.size;
    const char *dot = strrchr(filename, '.');
    const bool is_told =
        dot != NULL && dot[1] != '\0' && strchr(dot, '/') == NULL && strcmp(dot, EXTENSION) != 0;
    const char *own = is_told ? dot : ".jpg";
    const bool fits = snprintf(picture, SL_PATH_BYTES, "%.*s%s", length, name, own) < SL_PATH_BYTES;
    if (fits && voc_files_is_file(files, place, picture)) {
        return true;
    }
    if (may_be(files, filename) && voc_files_is_file(files, place, filename)) {
        return snprintf(picture, SL_PATH_BYTES, "%s", filename) < SL_PATH_BYTES;
    }
    if (sl_beside_find_image(files->folder, place, bytes, SL_BESIDE_ANY_CASE, picture)) {
        return true;
    }
    (void)snprintf(picture, SL_PATH_BYTES, "%.*s%s", length, name, own);
    return false;
}

/* ---- masks ---- */

static sluice_status find_kind(const sl_voc_files *files, const char *from, sl_entry_kind kind,
                               bool *found, sluice_error *error)
{
    char path[SL_PATH_BYTES];
    sl_store_facts facts;
    *found = false;
    if (!sl_path_join(path, files->folder, from)) {
        return SLUICE_OK;
    }
    const int failed = sl_store_stat(path, &facts);
    if (failed < 0 && !sl_store_is_missing(failed)) {
        return sl_error_file(error, SLUICE_IO, STAGE, -failed, path, -1, "cannot look for masks");
    }
    *found = failed == 0 && facts.kind == kind;
    return SLUICE_OK;
}

/* Returns whether a list is in a folder named Segmentation, by the given path or the real one. */
static bool is_of_segmentation(const char *list)
{
    static const char folder[] = "Segmentation";
    char real[SL_PATH_BYTES];
    const char *name = sl_path_name(list);
    size_t before = (size_t)(name - list);
    const char *end = name;
    if (before == 0) {
        if (sl_store_real_path(".", real) != 0) {
            return false;
        }
        before = strlen(real) + 1;
        end = real + before;
    }
    return before > strlen(folder) &&
           memcmp(end - 1 - strlen(folder), folder, strlen(folder)) == 0 &&
           (before == strlen(folder) + 1 || end[-2 - (long)strlen(folder)] == '/');
}

sluice_status sl_voc_files_find_masks(const sl_voc_files *files, const char *list, const char *from,
                                      bool *found, sluice_error *error)
{
    *found = false;
    return files->chosen && is_of_segmentation(list)
               ? find_kind(files, from, SL_ENTRY_FOLDER, found, error)
               : SLUICE_OK;
}

bool sl_voc_files_write_mask(const sl_voc_files *files, uint32_t number, const char *from,
                             char mask[SL_PATH_BYTES])
{
    const sl_bytes name = sl_voc_files_name(files, number);
    const int length =
        snprintf(mask, SL_PATH_BYTES, "%s/%.*s.png", from, (int)name.size, (const char *)name.data);
    return length > 0 && length < SL_PATH_BYTES && name.size > 0 && name.data[0] != '/';
}

sluice_status sl_voc_files_find_mask(const sl_voc_files *files, const char *mask, bool *found,
                                     sluice_error *error)
{
    return find_kind(files, mask, SL_ENTRY_FILE, found, error);
}
