/* SPDX-License-Identifier: Apache-2.0 */
/*
 * voc: opens Pascal VOC annotations, an XML file per image.
 *
 * A sample is an annotation, in the order of names or of a list, with its objects as lists. The
 * dataset itself is that of listed.h. Several threads read the files; until all are read, an object
 * takes 24 bytes.
 */
#include "annotated.h"
#include "beside.h"
#include "kept_look.h"
#include "listed_classes.h"
#include "meanings.h"
#include "memory.h"
#include "open_many.h"
#include "repeats.h"
#include "unlisted.h"
#include "voc_classes.h"
#include "voc_files.h"
#include "voc_xml.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAGE "dataset"

enum {
    PICTURE,
    MASK,
    INSTANCES,
    BOXES,
    LABELS,
    DIFFICULT,
    TRUNCATED,
    OCCLUDED,
    WIDTH,
    HEIGHT,
    GT,
    KEY,
    SOURCES
};

#define FLAGS                                                                                   \
    {                                                                                           \
        .type = SLUICE_FIELD_TENSOR, .dtype = SLUICE_U8, .dims = 1, .meaning = SL_MEANS_PER_BOX \
    }

static const sl_source_column all_sources[SOURCES] = {
    [PICTURE] = {.name = "image",
                 .field = {.type = SLUICE_FIELD_IMAGE, .meaning = SL_MEANS_IMAGE(BY_SIZE)}},
    [MASK] = {.name = "mask", .field = {.type = SLUICE_FIELD_IMAGE, .meaning = SL_MEANS_MASK}},
    [INSTANCES] = {.name = "instances",
                   .field = {.type = SLUICE_FIELD_IMAGE, .meaning = SL_MEANS_MASK}},
    [BOXES] = {.name = "boxes",
               .field = {.type = SLUICE_FIELD_TENSOR,
                         .dtype = SLUICE_F32,
                         .dims = 2,
                         .shape = {0, 4},
                         .meaning = SL_MEANS_BOXES(XYWH, PIXELS, BY_SIZE)}},
    [LABELS] = {.name = "labels",
                .field = {.type = SLUICE_FIELD_TENSOR,
                          .dtype = SLUICE_I64,
                          .dims = 1,
                          .meaning = SL_MEANS_PER_BOX}},
    [DIFFICULT] = {.name = "difficult", .field = FLAGS},
    [TRUNCATED] = {.name = "truncated", .field = FLAGS},
    [OCCLUDED] = {.name = "occluded", .field = FLAGS},
    [WIDTH] = {.name = "width", .field = {.type = SLUICE_FIELD_INT, .meaning = SL_MEANS_WIDTH}},
    [HEIGHT] = {.name = "height", .field = {.type = SLUICE_FIELD_INT, .meaning = SL_MEANS_HEIGHT}},
    [GT] = {.name = "gt", .field = {.type = SLUICE_FIELD_INT}},
    [KEY] = {.name = "key", .field = {.type = SLUICE_FIELD_TEXT}},
};

typedef struct object {
    float box[4];     /* x, y, width, height; zero-based */
    uint32_t class;   /* number in order of appearance */
    uint8_t flags[3]; /* difficult, truncated, occluded */
} object;

/* Folders of masks for each source, relative to the annotations. */
static const char *const mask_folders[] =
    {[MASK] = "../SegmentationClass", [INSTANCES] = "../SegmentationObject"};
static const char pictures_beside_masks[] = "../JPEGImages";

/* Contents of one annotation. */
typedef struct page {
    char *filename;
    char *picture; /* relative to the folder of images */
    object *objects;
    uint32_t count, capacity;
    int64_t width, height;
    bool says_occluded, has_picture;
    bool has_mask[INSTANCES + 1]; /* per source */
} page;

/* State while a dataset is opened. */
typedef struct opener {
    sl_voc_files files;
    page *pages; /* one per file */
    uint32_t count;
    sl_repeats repeats; /* repeated files */
    uint32_t *entries; /* entry in lists of each sample whose file is its first occurrence; NULL: no
                          file repeats */
    uint32_t used;     /* number of entries */
    sl_voc_classes classes;
    const char *place;             /* folder of images */
    const char *prefix;            /* prefix of image paths, relative to the dataset's root */
    bool has_masks[INSTANCES + 1]; /* per source */
    sl_boundary
        *boundary;      /* boundary of annotations that a list names; NULL: they may be anywhere */
    sl_kept_look *look; /* the opening thread's look */
    const char *path;
    sl_listed *own;
    sl_source_column sources[SOURCES];
    uint32_t what[SOURCES]; /* kind of each source */
    uint8_t *capacity;      /* buffer for the lists of a sample */
    size_t capacity_bytes;
    char mask[SL_PATH_BYTES]; /* path of a mask */
} opener;

static sluice_status voc_no_memory(sluice_error *error)
{
    return sl_error_set(error, SLUICE_NOMEM, STAGE, "out of memory for annotations");
}

/* ---- one file, by any thread ---- */

/* State of reading one file. */
typedef struct job {
    opener *o;
    page *page;
} job;

static bool voc_take_object(void *ctx, const sl_voc_object *found)
{
    const job *j = ctx;
    page *p = j->page;
    if (p->count == p->capacity) {
        const uint32_t capacity =
            p->capacity < 4 ? 4 : 2 * p->capacity; /* no overflow: the file is at most 16 MiB */
        object *objects = sl_realloc_array(p->objects, capacity, sizeof(*objects));
        if (objects == NULL) {
            return false;
        }
        p->objects = objects;
        p->capacity = capacity;
    }
    /* VOC counts pixels from 1 and includes the last one */
    p->objects[p->count] = (object){.box = {(float)(found->xmin - 1), (float)(found->ymin - 1),
                                            (float)(found->xmax - found->xmin + 1),
                                            (float)(found->ymax - found->ymin + 1)},
                                    .class = sl_voc_classes_number(&j->o->classes, found->name),
                                    .flags = {found->difficult, found->truncated, found->occluded}};
    p->says_occluded = p->says_occluded || found->says_occluded;
    return p->objects[p->count++].class != UINT32_MAX;
}

static bool voc_path_of(const void *ctx, uint32_t number, char path[SL_PATH_BYTES])
{
    const sl_voc_files *files = ctx;
    return snprintf(path, SL_PATH_BYTES, "%s", files->list.files[number].path) < SL_PATH_BYTES;
}

/* Returns the annotation of a sample; samples may share one. */
static const page *page_of(const opener *o, uint32_t sample)
{
    return &o->pages[o->repeats.first[sample]];
}

static sluice_status voc_read_own_page(opener *o, uint32_t number, sluice_error *error)
{
    page *own = &o->pages[number];
    if (o->repeats.first[number] != number) {
        return sl_boundary_check(o->boundary, o->path, o->files.list.files[number].path, error);
    }
    job j = {o, own};
    sl_voc_page found = {.take = voc_take_object, .ctx = &j};
    const char *path = o->files.list.files[number].path;
    sluice_status status = sl_boundary_check(o->boundary, o->path, path, error);
    status = status == SLUICE_OK ? sl_voc_xml_read(&found, path, error) : status;
    if (status < 0) {
        return status;
    }
    own->width = found.width;
    own->height = found.height;
    own->filename = sl_strdup(found.filename);
    return own->filename != NULL ? SLUICE_OK : voc_no_memory(error);
}

/* the opener's look at this file is reused by the thread that reads it */
static sluice_status voc_read_page(void *ctx, uint32_t number, sluice_error *error)
{
    opener *o = ctx;
    sl_kept_look *before = sl_store_keep_look(o->look);
    const sluice_status status = voc_read_own_page(o, number, error);
    (void)sl_store_keep_look(before);
    return status;
}

static sluice_status voc_find_picture(void *ctx, uint32_t number, sluice_error *error)
{
    char picture[SL_PATH_BYTES];
    const opener *o = ctx;
    page *own = &o->pages[number];
    own->has_picture =
        sl_voc_files_picture(&o->files, number, page_of(o, number)->filename, o->place, picture);
    own->picture = sl_strdup(picture);
    return own->picture != NULL ? SLUICE_OK : voc_no_memory(error);
}

/* ---- masks ---- */

static bool voc_is_mask(uint32_t what)
{
    return what == MASK || what == INSTANCES;
}

/*
 * Looks for masks. If there are any, images and masks are in folders beside each other, and paths
 * begin above both.
 */
static sluice_status voc_look_for_masks(opener *o, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    if (strcmp(o->place, pictures_beside_masks) != 0) {
        return SLUICE_OK;
    }
    for (uint32_t i = MASK; status == SLUICE_OK && i <= INSTANCES; i++) {
        status =
            sl_voc_files_find_masks(&o->files, o->path, mask_folders[i], &o->has_masks[i], error);
        o->prefix = o->has_masks[i] ? pictures_beside_masks + strlen("../") : o->prefix;
    }
    return status;
}

static sluice_status voc_find_mask(void *ctx, uint32_t number, sluice_error *error)
{
    char mask[SL_PATH_BYTES];
    const opener *o = ctx;
    sluice_status status = SLUICE_OK;
    for (uint32_t i = MASK; status == SLUICE_OK && i <= INSTANCES; i++) {
        if (o->has_masks[i] && sl_voc_files_write_mask(&o->files, number, mask_folders[i], mask)) {
            status = sl_voc_files_find_mask(&o->files, mask, &o->pages[number].has_mask[i], error);
        }
    }
    return status;
}

/* Finds the masks; every segmented image must have one. */
static sluice_status voc_find_masks(opener *o, sluice_error *error)
{
    uint32_t missing = 0;
    uint32_t first = 0;
    const sluice_status status =
        o->prefix[0] != '\0' ? sl_open_many(o->count, voc_find_mask, o, error) : SLUICE_OK;
    for (uint32_t i = o->count; status == SLUICE_OK && o->has_masks[MASK] && i-- > 0;) {
        missing += !o->pages[i].has_mask[MASK];
        first = o->pages[i].has_mask[MASK] ? first : i;
    }
    if (status < 0 || missing == 0) {
        return status;
    }
    const sl_bytes name = sl_voc_files_name(&o->files, first);
    return sl_error_file(error, SLUICE_INVALID, STAGE, 0, o->path, -1,
                         "%u of %u images have no mask in \"%.256s/%s\", such as \"%.*s\"", missing,
                         o->count, o->files.folder, mask_folders[MASK],
                         (int)(name.size < 256 ? name.size : 256), (const char *)name.data);
}

/* ---- where images are ---- */

/* Returns the folder that contains the image of the first annotation that has one. */
static const char *voc_find_place(const opener *o)
{
    char picture[SL_PATH_BYTES];
    for (uint32_t i = 0; i < o->count; i = (uint32_t)sl_beside_next(i, o->count)) {
        for (uint32_t k = 0; k < SL_VOC_PLACES; k++) {
            if (sl_voc_files_picture(&o->files, i, page_of(o, i)->filename, sl_voc_places[k],
                                     picture)) {
                return sl_voc_places[k];
            }
        }
    }
    return NULL;
}

/* Sets the boundary of images. `folder`: the folder of images. */
static sluice_status bound_pictures(opener *o, const char *folder, sluice_error *error)
{
    bool inside;
    if (o->files.anywhere) {
        return SLUICE_OK;
    }
    const sluice_status status =
        sl_annotated_bound(o->own, o->files.folder, o->place, &inside, error);
    o->own->depth -= o->prefix[0] != '\0' && o->own->depth > 0;
    return status == SLUICE_OK ? sl_boundary_check(o->own->boundary, o->path, folder, error)
                               : status;
}

static sluice_status voc_find_pictures(opener *o, sluice_error *error)
{
    char folder[SL_PATH_BYTES];
    char root[SL_PATH_BYTES + 4];
    o->place = voc_find_place(o);
    if (o->place == NULL) {
        const sl_bytes name = sl_voc_files_name(&o->files, 0);
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, o->files.folder, -1,
                             "no image of \"%.*s.xml\" or of any later annotation is in the "
                             "folders searched (relative to the annotations): ., ../JPEGImages, "
                             "../images, ../Images, ../../JPEGImages, ../../images",
                             (int)(name.size < 256 ? name.size : 256), (const char *)name.data);
    }
    const int length =
        snprintf(folder, sizeof(folder), "%s%s%s", o->files.folder,
                 strcmp(o->place, ".") == 0 ? "" : "/", strcmp(o->place, ".") == 0 ? "" : o->place);
    if (length < 0 || (size_t)length >= sizeof(folder)) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, o->path, -1, "the path is too long");
    }
    sluice_status status = voc_look_for_masks(o, error);
    (void)snprintf(root, sizeof(root), "%s/..", o->files.folder);
    status = status == SLUICE_OK
                 ? sl_listed_new(&o->own, o->prefix[0] != '\0' ? root : folder, true, error)
                 : status;
    status = status == SLUICE_OK ? bound_pictures(o, folder, error) : status;
    status = status == SLUICE_OK ? sl_open_many(o->count, voc_find_picture, o, error) : status;
    return status == SLUICE_OK ? voc_find_masks(o, error) : status;
}

/* ---- fields ---- */

static bool voc_is_there(const opener *o, uint32_t what)
{
    bool width = false;
    bool height = false;
    bool occluded = false;
    for (uint32_t i = 0; i < o->count; i++) {
        width = width || o->pages[i].width > 0;
        height = height || o->pages[i].height > 0;
        occluded = occluded || o->pages[i].says_occluded;
    }
    if (voc_is_mask(what)) {
        return o->has_masks[what];
    }
    return what == WIDTH      ? width
           : what == HEIGHT   ? height
           : what == OCCLUDED ? occluded
                              : what != GT || o->files.numbers != NULL;
}

static sluice_status voc_choose_fields(opener *o, const sluice_dataset_options *options,
                                       sluice_error *error)
{
    sl_listed_sources sources = {.of = o->sources, .picture = PICTURE};
    for (uint32_t i = 0; i < SOURCES; i++) {
        if (voc_is_there(o, i)) {
            sources.files |= voc_is_mask(i) ? 1U << sources.count : 0;
            o->what[sources.count] = i;
            o->sources[sources.count] = all_sources[i];
            sources.key = sources.count++; /* the last source */
        }
    }
    return sl_listed_choose(o->own, &sources, options, o->path, error);
}

/* ---- samples ---- */

/* Writes an object's part of a list; returns its size. */
static size_t voc_part_of(const opener *o, uint32_t what, const object *from, uint8_t *to)
{
    switch (what) {
    case BOXES:
        memcpy(to, from->box, sizeof(from->box));
        return sizeof(from->box);
    case LABELS:
        memcpy(to, &o->classes.labels[from->class], sizeof(o->classes.labels[0]));
        return sizeof(o->classes.labels[0]);
    default:
        *to = from->flags[what - DIFFICULT];
        return 1;
    }
}

static bool join_objects(opener *o, uint32_t what, const page *from, sl_value *value)
{
    const size_t needed = (size_t)from->count * sizeof(from->objects->box) + 1;
    size_t size = 0;
    if (needed > o->capacity_bytes) {
        uint8_t *capacity = sl_realloc_array(o->capacity, 2 * needed, 1);
        if (capacity == NULL) {
            return false;
        }
        o->capacity = capacity;
        o->capacity_bytes = 2 * needed;
    }
    for (uint32_t i = 0; i < from->count; i++) {
        size += voc_part_of(o, what, &from->objects[i], o->capacity + size);
    }
    *value = (sl_value){.present = true, .bytes = {o->capacity, size}};
    return true;
}

static bool voc_find_value(opener *o, uint32_t what, uint32_t sample, sl_value *value)
{
    const page *from = page_of(o, sample);
    switch (what) {
    case MASK:
    case INSTANCES:
        (void)sl_voc_files_write_mask(&o->files, sample, mask_folders[what], o->mask);
        *value = (sl_value){
            .present = o->pages[sample].has_mask[what],
            .bytes = {(const uint8_t *)o->mask + strlen("../"), strlen(o->mask) - strlen("../")}};
        return true;
    case WIDTH:
        *value = (sl_value){.present = from->width > 0, .integer = from->width};
        return true;
    case HEIGHT:
        *value = (sl_value){.present = from->height > 0, .integer = from->height};
        return true;
    case GT:
        *value = (sl_value){.present = true, .integer = o->files.numbers[sample]};
        return true;
    default:
        return join_objects(o, what, from, value);
    }
}

/* Begins the lists of a sample. Samples that share an annotation share its lists. */
static sluice_status begin_entry(opener *o, uint32_t sample, sluice_error *error)
{
    if (o->repeats.found && o->entries == NULL) {
        o->entries = sl_calloc(o->count, sizeof(*o->entries));
        if (o->entries == NULL) {
            return voc_no_memory(error);
        }
    }
    if (o->entries != NULL && o->repeats.first[sample] == sample) {
        o->entries[sample] = o->used++;
    }
    return SLUICE_OK;
}

static sluice_status voc_keep_value(opener *o, uint32_t column, uint32_t sample,
                                    sluice_error *error)
{
    sl_value value;
    uint32_t entry;
    const uint32_t what = o->what[o->own->source[column]];
    const uint32_t first = o->repeats.first[sample];
    const bool is_shared = o->repeats.found && what >= BOXES && what <= OCCLUDED;
    if (is_shared && first != sample) {
        return sl_side_columns_put_entry(&o->own->side, column, o->entries[first], error);
    }
    if (!voc_find_value(o, what, sample, &value)) {
        return voc_no_memory(error);
    }
    if (!is_shared) {
        return sl_side_columns_put(&o->own->side, column, &value, error);
    }
    const sluice_status status =
        sl_side_columns_add_entry(&o->own->side, column, value.bytes, &entry, error);
    return status == SLUICE_OK ? sl_side_columns_put_entry(&o->own->side, column, entry, error)
                               : status;
}

static sluice_status voc_keep_sample(opener *o, uint32_t sample, sluice_error *error)
{
    char picture[2 * SL_PATH_BYTES];
    const char *name = o->pages[sample].picture;
    const bool is_below = o->prefix[0] != '\0' && name[0] != '/';
    const int length = snprintf(picture, sizeof(picture), "%s%s%s", is_below ? o->prefix : "",
                                is_below ? "/" : "", name);
    const sl_bytes path = {(const uint8_t *)picture, (size_t)length};
    const sl_refusal why = sl_listed_check_path(o->own, path);
    if (why.text != NULL) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, o->files.list.files[sample].path, -1,
                             "%s", why.text);
    }
    sluice_status status = sl_listed_put_path(o->own, path, error);
    status = status == SLUICE_OK ? begin_entry(o, sample, error) : status;
    for (uint32_t i = 1; status == SLUICE_OK && i < o->own->side.count; i++) {
        status = voc_keep_value(o, i, sample, error);
    }
    return status;
}

/* ---- opening ---- */

static sluice_status read_pages(opener *o, sluice_error *error)
{
    sluice_status status = sl_voc_files_open(&o->files, o->path, error);
    if (status < 0) {
        return status;
    }
    if (o->files.chosen && !o->files.anywhere) {
        status = sl_boundary_open(&o->boundary, o->files.folder, "", error);
        if (status < 0) {
            return status;
        }
    }
    o->count = o->files.list.count;
    o->pages = sl_calloc(o->count, sizeof(*o->pages));
    if (o->pages == NULL) {
        return voc_no_memory(error);
    }
    status = sl_repeats_find(&o->repeats, o->count, voc_path_of, &o->files, error);
    status = status == SLUICE_OK ? sl_open_many(o->count, voc_read_page, o, error) : status;
    return status == SLUICE_OK && o->files.chosen
               ? sl_voc_classes_add_others(&o->classes, &o->files, error)
               : status;
}

/* Warns of annotations that cannot be read: classes that only they name have no number. */
static void voc_warn_of_names(opener *o)
{
    if (o->classes.unreadable > 0) {
        sl_warnings_add(&o->own->base.warnings,
                        "class names may be missing: %u annotations that are not in the list "
                        "cannot be read, such as %.256s; correct them, or move them elsewhere",
                        o->classes.unreadable, o->classes.example);
    }
}

static sluice_status voc_open_pages(opener *o, const sluice_dataset_options *options,
                                    sluice_error *error)
{
    sluice_status status = sl_voc_classes_open(&o->classes, error);
    status = status == SLUICE_OK ? read_pages(o, error) : status;
    status = status == SLUICE_OK ? voc_find_pictures(o, error) : status;
    status =
        status == SLUICE_OK ? sl_voc_classes_finish(&o->classes, o->path, o->own, error) : status;
    status = status == SLUICE_OK ? voc_choose_fields(o, options, error) : status;
    if (status == SLUICE_OK && o->prefix[0] != '\0') {
        o->own->key_skips = (uint32_t)strlen(o->prefix) + 1;
    }
    for (uint32_t i = 1; status == SLUICE_OK && i < o->own->side.count; i++) {
        o->own->labels = o->what[o->own->source[i]] == LABELS ? i : o->own->labels;
    }
    for (uint32_t i = 0; status == SLUICE_OK && i < o->count; i++) {
        status = voc_keep_sample(o, i, error);
    }
    if (status < 0) {
        return status;
    }
    (void)snprintf(o->own->base.info.format, sizeof(o->own->base.info.format), "voc");
    sl_unchecked_add(&o->own->base.unchecked, "annotations have no checksums");
    (void)snprintf(o->own->base.kind, sizeof(o->own->base.kind),
                   "Pascal VOC annotations, and their images");
    voc_warn_of_names(o);
    /* images that a list does not name belong to other splits */
    status = o->files.chosen ? SLUICE_OK : sl_unlisted_count(o->own, error);
    return status == SLUICE_OK ? sl_listed_finish(o->own, o->path, error) : status;
}

static void close_opener(opener *o)
{
    for (uint32_t i = 0; o->pages != NULL && i < o->count; i++) {
        sl_free(o->pages[i].filename);
        sl_free(o->pages[i].picture);
        sl_free(o->pages[i].objects);
    }
    sl_free(o->pages);
    sl_free(o->entries);
    sl_repeats_close(&o->repeats);
    sl_voc_files_close(&o->files);
    sl_boundary_close(o->boundary);
    sl_voc_classes_close(&o->classes);
    sl_free(o->capacity);
}

static sluice_status open_voc(sl_dataset **dataset, const char *const *paths, size_t count,
                              const sluice_dataset_options *options, sluice_error *error)
{
    if (count != 1) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, paths[1], -1,
                             "annotations cannot be joined: open one path, or join the "
                             "datasets (" SL_OPTION("sluice_dataset_concat") ")");
    }
    opener *o = sl_calloc(1, sizeof(*o));
    if (o == NULL) {
        return voc_no_memory(error);
    }
    o->look = sl_store_kept_look();
    o->path = paths[0];
    o->prefix = "";
    o->files.anywhere = options->allow_outside != 0;
    const sluice_status status = voc_open_pages(o, options, error);
    if (status == SLUICE_OK) {
        *dataset = &o->own->base;
    } else {
        sl_dataset_close(o->own != NULL ? &o->own->base : NULL);
    }
    close_opener(o);
    sl_free(o);
    return status;
}

/* Finds the list of a split. */
static bool voc_find_split(const char *path, const char *wanted, char *place)
{
    char name[NAME_MAX + 1];
    const int length = snprintf(name, sizeof(name), "ImageSets/Main/%s.txt", wanted);
    return strchr(wanted, '/') == NULL && length > 0 && (size_t)length < sizeof(name) &&
           sl_path_join(place, path, name) && sl_store_has_file(place);
}

SL_FORMAT(voc) = {
    .name = "voc",
    .files = "Pascal VOC annotations",
    .known = "Pascal VOC annotations (lists in ImageSets)",
    .has_annotations = true,
    .takes_fields = true,
    .find_split = voc_find_split,
    .probe = sl_voc_files_probe,
    .open = open_voc,
    .number_over = sl_listed_number_over,
};
