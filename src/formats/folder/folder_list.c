/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder_list: walks an image folder and lists its images.
 *
 * Runs on one thread; the list is immutable once built. Its order does not depend on the file
 * system's, and links cannot make the walk endless.
 */
#include "folder_list.h"

#include "caption_names.h"
#include "error.h"
#include "hidden.h"
#include "inode_set.h"
#include "media.h"
#include "memory.h"
#include "store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAGE      "dataset"
#define PATH_BYTES 4096
#define NO_DIR     UINT32_MAX
/*
 * Limit on directories that are found again within their class, over all classes: a few sibling
 * links on each level lead to each directory below in exponentially many ways.
 */
#define REPEATS_MAX 65536u
/* Limit on entries of directories that are listed again, in their class or in another. */
#define REPEATED_MAX (UINT64_C(1) << 22)

typedef enum entry_kind { ENTRY_PICTURE, ENTRY_DIRECTORY, ENTRY_OTHER } entry_kind;

/* State while the list is built. */
typedef struct walk {
    sl_folder_list *list;
    const char *root;
    sluice_error *error;
    sl_store_facts root_facts;
    bool classes; /* true while directories found are classes: they are recorded, not entered */
    /* state of the current class */
    uint32_t open;     /* next directory to read, whose `first` is the one after it; NO_DIR: none */
    sl_inode_set seen; /* directories seen */
    sl_caption_names captions;
    bool circle; /* true if links form a cycle: the walk ends and restarts with `once` */
    bool once;   /* true if no directory may be entered twice */
    sl_folder_dir
        *links; /* with `once`: directories behind links that may have to be entered; owned */
    uint32_t link_count, link_capacity;
    uint64_t left_out_of_root[SL_FOLDER_REASONS];
    /* state over all classes */
    sl_inode_set ever; /* directories of the previous classes */
    uint64_t repeated; /* number of entries in directories that are `again` */
    uint32_t repeats;
} walk;

static sluice_status folder_list_out_of_memory(const walk *w)
{
    return sl_no_memory_file(w->error, STAGE, w->root, "for the list of images");
}

static bool grow32(void *array, uint32_t *capacity, uint32_t count, size_t item_bytes)
{
    uint64_t wide = *capacity;
    if (count == UINT32_MAX || !sl_grow(array, &wide, count, item_bytes)) {
        return false;
    }
    *capacity = wide > UINT32_MAX ? UINT32_MAX : (uint32_t)wide;
    return true;
}

bool sl_folder_list_add_text(sl_folder_list *list, const char *text, size_t length,
                             uint64_t *offset)
{
    if (!sl_grow(&list->arena, &list->arena_capacity, list->arena_used + length + 1, 1)) {
        return false;
    }
    *offset = list->arena_used;
    memcpy(list->arena + *offset, text, length);
    list->arena[*offset + length] = '\0';
    list->arena_used += length + 1;
    return true;
}

bool sl_folder_is_picture(const char *name)
{
    const char *dot = strrchr(name, '.');
    const sl_media *kind = dot != NULL ? sl_media_of_extension(dot + 1) : NULL;
    return kind != NULL && (kind->traits & SL_MEDIA_IN_FOLDERS) != 0;
}

/* Writes `root`/`directory`/`name`, leaving out empty parts. */
static bool full_path(char *out, const char *root, const char *directory, const char *name)
{
    size_t length = 0;
    return sl_path_append(out, &length, PATH_BYTES, root) &&
           sl_path_append(out, &length, PATH_BYTES, directory) &&
           sl_path_append(out, &length, PATH_BYTES, name);
}

static bool is_other_picture(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot != NULL && sl_media_names_picture(dot + 1);
}

/*
 * Determines the kind of an entry; asks the store only if the listing lacks it. A link that is
 * dangling or leads to an inaccessible place is what its name says. `*failed`: any other entry that
 * cannot be queried may be a class.
 */
static entry_kind folder_list_kind_of(const char *path, const sl_store_entry *entry,
                                      sl_store_facts *facts, int *failed)
{
    const entry_kind other = sl_folder_is_picture(entry->name) ? ENTRY_PICTURE : ENTRY_OTHER;
    if (entry->kind == SL_ENTRY_FILE || entry->kind == SL_ENTRY_OTHER) {
        return entry->kind == SL_ENTRY_FILE ? other : ENTRY_OTHER;
    }
    *failed = sl_store_stat(path, facts);
    const bool is_elsewhere = entry->kind == SL_ENTRY_LINK && *failed == -EACCES;
    if (*failed < 0 || facts->kind == SL_ENTRY_FILE) {
        *failed = is_elsewhere || sl_store_is_missing(*failed) ? 0 : *failed;
        return other;
    }
    return facts->kind == SL_ENTRY_FOLDER ? ENTRY_DIRECTORY : ENTRY_OTHER;
}

static bool is_root(const walk *w, const sl_store_facts *facts)
{
    return facts->identity.inode == w->root_facts.identity.inode &&
           facts->device == w->root_facts.device;
}

static bool lies_in_itself(const walk *w, uint32_t parent, const sl_store_facts *facts)
{
    for (uint32_t at = parent; at != NO_DIR; at = w->list->dirs[at].parent) {
        const sl_folder_dir *dir = &w->list->dirs[at];
        if (dir->inode == facts->identity.inode && dir->device == facts->device) {
            return true;
        }
    }
    return false;
}

static bool folder_list_push(sl_folder_dir **dirs, uint32_t *capacity, uint32_t *count,
                             const sl_folder_dir *dir)
{
    const bool fits = grow32(dirs, capacity, *count + 1, sizeof(*dir));
    if (fits) {
        (*dirs)[(*count)++] = *dir;
    }
    return fits;
}

/* Queues a directory to be read later. */
static sluice_status folder_list_enter(walk *w, const sl_folder_dir *dir)
{
    sl_folder_list *list = w->list;
    bool first;
    if (!sl_inode_set_add(&w->seen, (sl_inode){dir->device, dir->inode}, &first)) {
        return folder_list_out_of_memory(w);
    }
    if (!first && w->once) {
        return SLUICE_OK;
    }
    w->repeats += !first;
    if (w->repeats > REPEATS_MAX) {
        return sl_error_file(w->error, SLUICE_INVALID, STAGE, 0, sl_folder_text(list, dir->path),
                             -1,
                             "symbolic links lead to the same folders in too many ways: more than "
                             "%u would be listed again",
                             REPEATS_MAX);
    }
    if (!folder_list_push(&list->dirs, &list->dir_capacity, &list->dir_count, dir)) {
        return folder_list_out_of_memory(w);
    }
    list->dirs[list->dir_count - 1].first = w->open;
    list->dirs[list->dir_count - 1].again =
        !first || sl_inode_set_has(&w->ever, (sl_inode){dir->device, dir->inode});
    w->open = list->dir_count - 1;
    return SLUICE_OK;
}

static sluice_status describe_dir(walk *w, const char *path, uint32_t parent,
                                  const sl_store_facts *facts, sl_folder_dir *dir)
{
    const sl_folder_list *list = w->list;
    const uint32_t label = parent != NO_DIR        ? list->dirs[parent].label
                           : list->class_count > 0 ? list->class_count - 1
                                                   : 0;
    *dir = (sl_folder_dir){
        .device = facts->device, .inode = facts->identity.inode, .parent = parent, .label = label};
    return sl_folder_list_add_text(w->list, path, strlen(path), &dir->path)
               ? SLUICE_OK
               : folder_list_out_of_memory(w);
}

/* Queues the first directory of a walk. */
static sluice_status enter_first(walk *w, const char *path, const sl_store_facts *facts)
{
    sl_folder_dir dir;
    w->open = NO_DIR;
    sl_inode_set_clear(&w->seen);
    const sluice_status result = describe_dir(w, path, NO_DIR, facts, &dir);
    return result == SLUICE_OK ? folder_list_enter(w, &dir) : result;
}

static sluice_status add_class(walk *w, const char *name)
{
    sl_folder_list *list = w->list;
    const bool fits = grow32(&list->classes, &list->class_capacity, list->class_count + 1,
                             sizeof(*list->classes));
    if (!fits ||
        !sl_folder_list_add_text(list, name, strlen(name), &list->classes[list->class_count])) {
        return folder_list_out_of_memory(w);
    }
    list->class_count++;
    return SLUICE_OK;
}

static sluice_status folder_list_add_file(walk *w, const char *name, uint32_t dir)
{
    sl_folder_list *list = w->list;
    bool fits =
        sl_grow(&list->files, &list->file_capacity, list->file_count + 1, sizeof(*list->files));
    uint64_t text;
    if (!fits || !sl_folder_list_add_text(list, name, strlen(name), &text)) {
        return folder_list_out_of_memory(w);
    }
    list->files[list->file_count++] = (sl_folder_file){.name = text, .dir = dir};
    list->dirs[dir].count++;
    return SLUICE_OK;
}

static sluice_status add_subdir(walk *w, const sl_store_entry *entry, uint32_t dir,
                                const sl_store_facts *facts)
{
    if (w->classes) {
        return add_class(w, entry->name);
    }
    if (is_root(w, facts)) {
        return SLUICE_OK;
    }
    if (!w->once && lies_in_itself(w, dir, facts)) {
        w->circle = true;
        return SLUICE_OK;
    }
    char path[PATH_BYTES];
    const char *parent = sl_folder_text(w->list, w->list->dirs[dir].path);
    if (!full_path(path, parent, "", entry->name)) {
        return sl_error_file(w->error, SLUICE_IO, STAGE, ENAMETOOLONG, parent, -1,
                             "the path of a folder below is too long");
    }
    sl_folder_dir found;
    const sluice_status result = describe_dir(w, path, dir, facts, &found);
    if (result < 0 || !w->once || entry->kind != SL_ENTRY_LINK) {
        return result == SLUICE_OK ? folder_list_enter(w, &found) : result;
    }
    return folder_list_push(&w->links, &w->link_capacity, &w->link_count, &found)
               ? SLUICE_OK
               : folder_list_out_of_memory(w);
}

/* Counts an entry that is left out; keeps the path of the first one. */
static sluice_status leave_out(walk *w, uint32_t dir, const char *name, sl_folder_left_out why)
{
    char path[PATH_BYTES];
    sl_folder_list *list = w->list;
    if (list->left_out[why]++ > 0) {
        return SLUICE_OK;
    }
    (void)full_path(path, sl_folder_text(list, list->dirs[dir].path), "", name);
    const char *shown = path[0] == '/' ? path + 1 : path; /* entry of the root itself */
    return sl_folder_list_add_text(list, shown, strlen(shown), &list->example[why])
               ? SLUICE_OK
               : folder_list_out_of_memory(w);
}

/* Counts a hidden entry, without a lookup. */
static sluice_status leave_out_hidden(walk *w, uint32_t dir, const sl_store_entry *entry)
{
    return leave_out(w, dir, entry->name,
                     entry->kind == SL_ENTRY_FOLDER ? SL_FOLDER_HIDDEN_FOLDERS
                                                    : SL_FOLDER_HIDDEN_FILES);
}

static sluice_status leave_out_other(walk *w, uint32_t dir, const char *name)
{
    w->list->others += !w->classes && strchr(name, '.') != NULL;
    if (!w->classes && sl_caption_of(name) != SL_CAPTION_NONE) {
        return sl_caption_names_add(&w->captions, name, dir)
                   ? leave_out(w, dir, name, SL_FOLDER_TEXTS)
                   : folder_list_out_of_memory(w);
    }
    return leave_out(w, dir, name,
                     is_other_picture(name) ? SL_FOLDER_OTHER_PICTURES : SL_FOLDER_OTHERS);
}

static sluice_status folder_list_add_entry(walk *w, const sl_store_entry *entry, uint32_t dir)
{
    char path[PATH_BYTES];
    const char *relative = sl_folder_text(w->list, w->list->dirs[dir].path);
    if (sl_name_is_hidden(entry->name)) {
        return leave_out_hidden(w, dir, entry);
    }
    if (!full_path(path, w->root, relative, entry->name)) {
        return sl_error_file(w->error, SLUICE_IO, STAGE, ENAMETOOLONG, relative, -1,
                             "the path of an entry of this folder is too long");
    }
    sl_store_facts facts = {.kind = SL_ENTRY_UNKNOWN};
    int failed = 0;
    const entry_kind kind = folder_list_kind_of(path, entry, &facts, &failed);
    if (failed < 0) {
        return sl_error_file(w->error, SLUICE_IO, STAGE, -failed, path, -1, "cannot stat");
    }
    if (kind == ENTRY_PICTURE && w->classes) {
        sl_seen_names_add(&w->list->beside, entry->name);
        return leave_out(w, dir, entry->name, SL_FOLDER_BESIDE);
    }
    if (kind == ENTRY_PICTURE) {
        return folder_list_add_file(w, entry->name, dir);
    }
    if (kind == ENTRY_OTHER) {
        return leave_out_other(w, dir, entry->name);
    }
    return kind == ENTRY_DIRECTORY ? add_subdir(w, entry, dir, &facts) : SLUICE_OK;
}

static sluice_status count_entry(walk *w, uint32_t dir)
{
    const sl_folder_dir *own = &w->list->dirs[dir];
    w->repeated += own->again;
    return w->repeated <= REPEATED_MAX
               ? SLUICE_OK
               : sl_error_file(w->error, SLUICE_INVALID, STAGE, 0,
                               sl_folder_text(w->list, own->path), -1,
                               "symbolic links lead to the same folders in too many ways: more "
                               "than %llu files would be listed again",
                               (unsigned long long)REPEATED_MAX);
}

/* A directory of the list while it is read. */
typedef struct lister {
    walk *walk;
    uint32_t dir;
} lister;

static sluice_status folder_list_take_entry(void *ctx, const sl_store_entry *entry,
                                            sluice_error *error)
{
    (void)error; /* the error is in the walk */
    const lister *l = ctx;
    const sluice_status status = count_entry(l->walk, l->dir);
    return status == SLUICE_OK ? folder_list_add_entry(l->walk, entry, l->dir) : status;
}

static sluice_status folder_list_read_dir(walk *w, uint32_t dir)
{
    char path[PATH_BYTES];
    lister l = {w, dir};
    /* the path fits: each path in the list was built in such a buffer */
    (void)full_path(path, w->root, sl_folder_text(w->list, w->list->dirs[dir].path), "");
    w->list->dirs[dir].first = w->list->file_count;
    return sl_store_list((sl_file_name){STAGE, path}, folder_list_take_entry, &l, w->error);
}

static int compare_offsets(const void *a, const void *b, void *arena)
{
    return strcmp((const char *)arena + *(const uint64_t *)a,
                  (const char *)arena + *(const uint64_t *)b);
}

static int folder_list_compare_files(const void *a, const void *b, void *arena)
{
    return strcmp((const char *)arena + ((const sl_folder_file *)a)->name,
                  (const char *)arena + ((const sl_folder_file *)b)->name);
}

static int compare_dirs(const void *a, const void *b, void *context)
{
    const sl_folder_list *list = context;
    return strcmp(list->arena + list->dirs[*(const uint32_t *)a].path,
                  list->arena + list->dirs[*(const uint32_t *)b].path);
}

/* Finds the captions of the images from `first` on. */
static void find_captions(walk *w, uint64_t first)
{
    sl_folder_list *list = w->list;
    sl_caption_names_sort(&w->captions);
    for (uint64_t i = first; i < list->file_count && w->captions.count > 0; i++) {
        sl_folder_file *file = &list->files[i];
        file->caption =
            sl_caption_names_find(&w->captions, sl_folder_text(list, file->name), file->dir);
        list->captions += file->caption != SL_CAPTION_NONE;
    }
}

/* Sorts the images of directories first .. dir_count by directory path and name. */
static sluice_status sort_class(walk *w, uint32_t first_dir, uint64_t first_file)
{
    sl_folder_list *list = w->list;
    uint32_t dirs = list->dir_count - first_dir;
    uint64_t files = list->file_count - first_file;
    if (files == 0) {
        return SLUICE_OK;
    }
    uint32_t *order = sl_malloc(dirs * sizeof(*order));
    sl_folder_file *sorted = sl_malloc((size_t)files * sizeof(*sorted));
    if (order == NULL || sorted == NULL) {
        sl_free(order);
        sl_free(sorted);
        return folder_list_out_of_memory(w);
    }
    for (uint32_t i = 0; i < dirs; i++) {
        order[i] = first_dir + i;
    }
    qsort_r(order, dirs, sizeof(*order), compare_dirs, list);
    uint64_t done = 0;
    for (uint32_t i = 0; i < dirs; i++) {
        const sl_folder_dir *dir = &list->dirs[order[i]];
        memcpy(sorted + done, list->files + dir->first, dir->count * sizeof(*sorted));
        qsort_r(sorted + done, dir->count, sizeof(*sorted), folder_list_compare_files, list->arena);
        done += dir->count;
    }
    memcpy(list->files + first_file, sorted, files * sizeof(*sorted));
    find_captions(w, first_file);
    sl_free(order);
    sl_free(sorted);
    return SLUICE_OK;
}

static int compare_links(const void *a, const void *b, void *arena)
{
    return strcmp((const char *)arena + ((const sl_folder_dir *)a)->path,
                  (const char *)arena + ((const sl_folder_dir *)b)->path);
}

static sluice_status folder_list_read_open(walk *w)
{
    const uint32_t dir = w->open;
    w->open = (uint32_t)w->list->dirs[dir].first;
    return folder_list_read_dir(w, dir);
}

/* Walks every path that leads to a directory. Depth first, so that a cycle is found early. */
static sluice_status walk_all_ways(walk *w, const char *path, const sl_store_facts *facts)
{
    w->circle = false;
    w->once = false;
    sluice_status result = enter_first(w, path, facts);
    while (result == SLUICE_OK && w->open != NO_DIR && !w->circle) {
        result = folder_list_read_open(w);
    }
    return result;
}

/*
 * Walks each directory once: first those of the class itself, by their own paths; then those behind
 * links, by the path with the fewest links, ties by path order.
 */
static sluice_status walk_once(walk *w, const char *path, const sl_store_facts *facts)
{
    uint32_t link = 0;
    uint32_t sorted = 0;
    w->once = true;
    w->link_count = 0;
    sluice_status result = enter_first(w, path, facts);
    while (result == SLUICE_OK && (w->open != NO_DIR || link < w->link_count)) {
        if (w->open != NO_DIR) {
            result = folder_list_read_open(w);
            continue;
        }
        if (link == sorted) {
            sorted = w->link_count;
            qsort_r(w->links + link, sorted - link, sizeof(*w->links), compare_links,
                    w->list->arena);
        }
        result = folder_list_enter(w, &w->links[link++]);
    }
    return result;
}

static sluice_status remember_class(walk *w, uint32_t first_dir)
{
    bool added = true;
    for (uint32_t i = first_dir; i < w->list->dir_count; i++) {
        const sl_folder_dir *dir = &w->list->dirs[i];
        if (!sl_inode_set_add(&w->ever, (sl_inode){dir->device, dir->inode}, &added)) {
            return folder_list_out_of_memory(w);
        }
    }
    return SLUICE_OK;
}

/* Walks everything below directory `path` of the root. */
static sluice_status list_class(walk *w, const char *path)
{
    char full[PATH_BYTES];
    sl_store_facts facts;
    const int failed =
        full_path(full, w->root, path, "") ? sl_store_stat(full, &facts) : -ENAMETOOLONG;
    if (failed < 0) {
        return sl_error_file(w->error, SLUICE_IO, STAGE, -failed, path, -1,
                             "cannot list the class folder");
    }
    if (is_root(w, &facts)) {
        return SLUICE_OK;
    }
    const uint32_t first_dir = w->list->dir_count;
    const uint64_t first_file = w->list->file_count;
    const uint64_t first_text = w->list->arena_used;
    const uint32_t repeats = w->repeats;
    const uint64_t repeated = w->repeated;
    sl_caption_names_clear(&w->captions);
    uint64_t left_out[SL_FOLDER_REASONS];
    memcpy(left_out, w->list->left_out, sizeof(left_out));
    sluice_status result = walk_all_ways(w, path, &facts);
    if (result == SLUICE_OK && w->circle) {
        w->list->dir_count = first_dir;
        w->list->file_count = first_file;
        w->list->arena_used = first_text;
        w->repeats = repeats;
        w->repeated = repeated;
        memcpy(w->list->left_out, left_out, sizeof(left_out));
        sl_caption_names_clear(&w->captions);
        result = walk_once(w, path, &facts);
    }
    if (result == SLUICE_OK) {
        result = remember_class(w, first_dir);
    }
    return result == SLUICE_OK ? sort_class(w, first_dir, first_file) : result;
}

/* Lists the images of the root itself as one class ".". */
static sluice_status list_root(walk *w)
{
    sl_folder_list *list = w->list;
    list->class_count = 0;
    list->dir_count =
        0; /* drops the class directories, which have no images but would shift the numbers */
    for (uint32_t i = 0; i < SL_FOLDER_REASONS; i++) {
        list->left_out[i] -= w->left_out_of_root[i]; /* the root is read again */
    }
    sluice_status result = add_class(w, ".");
    if (result == SLUICE_OK) {
        result = enter_first(w, "", &w->root_facts);
    }
    sl_caption_names_clear(&w->captions);
    uint32_t root = list->dir_count - 1;
    if (result == SLUICE_OK) {
        result = folder_list_read_dir(w, root);
    }
    /* sub-directories found now were already searched and hold no images */
    list->dir_count = result == SLUICE_OK ? root + 1 : list->dir_count;
    return result == SLUICE_OK ? sort_class(w, root, 0) : result;
}

static sluice_status folder_list_find_classes(walk *w)
{
    sluice_status result = sl_store_find((sl_file_name){STAGE, w->root}, &w->root_facts, w->error);
    if (result < 0) {
        return result;
    }
    w->list->root_device = w->root_facts.device;
    w->list->root_inode = w->root_facts.identity.inode;
    w->classes = true;
    result = enter_first(w, "", &w->root_facts);
    if (result == SLUICE_OK) {
        result = folder_list_read_dir(w, 0);
    }
    memcpy(w->left_out_of_root, w->list->left_out, sizeof(w->left_out_of_root));
    w->classes = false;
    w->list->dir_count = 0;
    if (result == SLUICE_OK && w->list->class_count > 1) {
        qsort_r(w->list->classes, w->list->class_count, sizeof(*w->list->classes), compare_offsets,
                w->list->arena);
    }
    return result;
}

static sluice_status list_all(walk *w)
{
    sl_folder_list *list = w->list;
    sluice_status status = folder_list_find_classes(w);
    const uint32_t classes = list->class_count;
    char name[PATH_BYTES];
    for (uint32_t i = 0; status == SLUICE_OK && i < classes; i++) {
        /* a copy: the arena moves when it grows */
        (void)snprintf(name, sizeof(name), "%s", sl_folder_text(list, list->classes[i]));
        list->class_count = i + 1;
        status = list_class(w, name);
    }
    if (status == SLUICE_OK && list->file_count == 0) {
        list->flat = true;
        status = list_root(w);
    }
    return status == SLUICE_OK && list->file_count == 0 ? SLUICE_END : status;
}

sluice_status sl_folder_list_open(sl_folder_list *list, const char *root, sluice_error *error)
{
    *list = (sl_folder_list){0};
    walk w = {.list = list, .root = root, .error = error};
    sl_inode_set_clear(&w.ever);
    sluice_status status = list_all(&w);
    sl_inode_set_close(&w.seen);
    sl_inode_set_close(&w.ever);
    sl_free(w.links);
    sl_caption_names_close(&w.captions);
    if (status < 0) {
        sl_folder_list_close(list);
    }
    return status;
}

void sl_folder_list_close(sl_folder_list *list)
{
    sl_free(list->arena);
    sl_free(list->dirs);
    sl_free(list->files);
    sl_free(list->classes);
    *list = (sl_folder_list){0};
}

const char *sl_caption_extension(uint8_t caption)
{
    static const char *const extensions[] = {
        [SL_CAPTION_NONE] = "", [SL_CAPTION_TXT] = ".txt", [SL_CAPTION_CAPTION] = ".caption"};
    return extensions[caption];
}

void sl_folder_list_omit(const sl_folder_list *list, bool captions, sl_omissions *omissions)
{
    static const struct {
        sl_omitted what;
        const char *reason;
    } reasons[SL_FOLDER_REASONS] = {
        [SL_FOLDER_HIDDEN_FILES] = {SL_OMITTED_THINGS, "hidden and system files"},
        [SL_FOLDER_HIDDEN_FOLDERS] = {SL_OMITTED_THINGS,
                                      "hidden and system folders, with all that is in them"},
        [SL_FOLDER_OTHER_PICTURES] =
            {SL_OMITTED_IMAGES,
             "images with an extension that image folders do not use: rename or convert them"},
        [SL_FOLDER_BESIDE] = {SL_OMITTED_IMAGES, "images beside the class folders"},
        [SL_FOLDER_OTHERS] = {SL_OMITTED_THINGS, "files that are not images"},
        [SL_FOLDER_TEXTS] = {SL_OMITTED_THINGS, "texts that are not captions of most images"},
    };
    for (uint32_t i = 0; i < SL_FOLDER_REASONS; i++) {
        uint64_t count = list->left_out[i];
        if (i == SL_FOLDER_TEXTS && captions) {
            count -= list->captions < count ? list->captions : count;
        }
        if (count > 0) {
            const bool is_text = i == SL_FOLDER_TEXTS && list->captions > 0;
            const uint32_t row = i == SL_FOLDER_TEXTS && !is_text ? SL_FOLDER_OTHERS : i;
            sl_omit_many(omissions, reasons[row].what, reasons[row].reason,
                         sl_folder_text(list, list->example[i]), count);
        }
    }
}

sluice_status sl_folder_key(const sl_folder_list *list, uint64_t index, char *key, size_t bytes)
{
    const sl_folder_file *file = &list->files[index];
    size_t length = 0;
    return sl_path_append(key, &length, bytes, sl_folder_text(list, list->dirs[file->dir].path)) &&
                   sl_path_append(key, &length, bytes, sl_folder_text(list, file->name))
               ? SLUICE_OK
               : SLUICE_INVALID;
}
