/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_list: walks a folder and groups its files into samples.
 *
 * Runs on one thread; the list is immutable once built. The order is that of `tar --sort=name`.
 */
#include "sample_list.h"

#include "error.h"
#include "hidden.h"
#include "inode_set.h"
#include "media.h"
#include "member_fields.h"
#include "memory.h"
#include "objects.h"
#include "store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAGE "dataset"

typedef struct found_file {
    uint64_t name; /* arena offset */
    uint32_t dir;
} found_file;

/* State while the list is built. */
typedef struct maker {
    sl_sample_list *list;
    found_file *files;
    uint64_t count, capacity;
    const char *root;
    bool recordings;
    sl_inode_set seen;
    sluice_error *error;
} maker;

static sluice_status sample_list_out_of_memory(const maker *m)
{
    return sl_no_memory_file(m->error, STAGE, m->root, "for the list of samples");
}

static bool sample_list_add_text(sl_sample_list *list, const char *text, uint64_t *offset)
{
    const size_t bytes = strlen(text) + 1;
    const bool fits = sl_grow(&list->arena, &list->arena_capacity, list->arena_used + bytes, 1);
    if (fits) {
        *offset = list->arena_used;
        memcpy(list->arena + *offset, text, bytes);
        list->arena_used += bytes;
    }
    return fits;
}

static const char *text_of(const sl_sample_list *list, uint64_t offset)
{
    return list->arena + offset;
}

/* ---- existing contents ---- */

static sluice_status add_dir(maker *m, const char *path, const sl_store_facts *facts)
{
    bool added;
    sl_sample_list *list = m->list;
    if (!sl_inode_set_add(&m->seen, (sl_inode){facts->device, facts->identity.inode}, &added)) {
        return sample_list_out_of_memory(m);
    }
    if (!added) {
        return SLUICE_OK;
    }
    const bool fits =
        sl_grow(&list->dirs, &list->dir_capacity, list->dir_count + 1, sizeof(*list->dirs));
    sl_sample_dir dir = {.device = facts->device, .inode = facts->identity.inode};
    if (!fits || list->dir_count == UINT32_MAX || !sample_list_add_text(list, path, &dir.path)) {
        return sample_list_out_of_memory(m);
    }
    list->dirs[list->dir_count++] = dir;
    return SLUICE_OK;
}

static sluice_status sample_list_add_file(maker *m, const char *name, uint32_t dir)
{
    found_file file = {.dir = dir};
    const bool fits = sl_grow(&m->files, &m->capacity, m->count + 1, sizeof(*m->files));
    if (!fits || m->count == UINT32_MAX || !sample_list_add_text(m->list, name, &file.name)) {
        return sample_list_out_of_memory(m);
    }
    m->files[m->count++] = file;
    return SLUICE_OK;
}

/* A folder while it is listed. */
typedef struct lister {
    maker *maker;
    const char *below; /* relative to the root */
    uint32_t dir;
} lister;

static sluice_status sample_list_add_entry(void *ctx, const sl_store_entry *entry,
                                           sluice_error *error)
{
    char path[SL_PATH_BYTES];
    sl_store_facts facts;
    const lister *l = ctx;
    maker *m = l->maker;
    const char *below = l->below;
    const char *name = entry->name;
    const bool is_file = entry->kind == SL_ENTRY_FILE;
    if (sl_name_is_hidden(name)) {
        m->list->hidden++;
        return SLUICE_OK;
    }
    if (is_file && strchr(name, '.') == NULL) {
        sl_seen_names_add(&m->list->left_out, name);
        return SLUICE_OK;
    }
    const int length = snprintf(path, sizeof(path), "%s/%s%s%s", m->root, below,
                                below[0] != '\0' ? "/" : "", name);
    if (length < 0 || (size_t)length >= sizeof(path)) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, m->root, -1,
                             "the path of a file in it is too long");
    }
    if (is_file) {
        return sample_list_add_file(m, name, l->dir);
    }
    if (entry->kind == SL_ENTRY_OTHER) {
        return SLUICE_OK;
    }
    /* a dangling link counts as a file, and is a bad sample when it is read */
    if (sl_store_stat(path, &facts) != 0 || facts.kind == SL_ENTRY_FILE) {
        return strchr(name, '.') != NULL ? sample_list_add_file(m, name, l->dir) : SLUICE_OK;
    }
    return facts.kind == SL_ENTRY_FOLDER ? add_dir(m, path + strlen(m->root) + 1, &facts)
                                         : SLUICE_OK;
}

static sluice_status sample_list_read_dir(maker *m, uint32_t dir)
{
    char below[SL_PATH_BYTES];
    char path[2 * SL_PATH_BYTES];
    lister l = {m, below, dir};
    (void)snprintf(below, sizeof(below), "%s", text_of(m->list, m->list->dirs[dir].path));
    (void)snprintf(path, sizeof(path), "%s/%s", m->root, below);
    return sl_store_list((sl_file_name){STAGE, path}, sample_list_add_entry, &l, m->error);
}

static sluice_status list_files(maker *m)
{
    sl_store_facts facts;
    sluice_status status = sl_store_find((sl_file_name){STAGE, m->root}, &facts, m->error);
    status = status == SLUICE_OK ? add_dir(m, "", &facts) : status;
    for (uint32_t i = 0; status == SLUICE_OK && i < m->list->dir_count; i++) {
        status = sample_list_read_dir(m, i);
    }
    return status;
}

/* ---- their order ---- */

/* A path, read byte by byte. */
typedef struct cursor {
    const char *at, *name; /* position in the folder's path, or NULL; position in the file's name */
} cursor;

static cursor sample_list_begin(const sl_sample_list *list, const found_file *item)
{
    const char *dir = text_of(list, list->dirs[item->dir].path);
    const char *name = text_of(list, item->name);
    return dir[0] != '\0' ? (cursor){dir, name} : (cursor){name, NULL};
}

/*
 * Returns the next byte. A folder sorts before names that begin with its name, and so do its
 * contents.
 */
static int sample_list_next(cursor *c)
{
    if (*c->at == '\0' && c->name != NULL) {
        *c = (cursor){c->name, NULL};
        return 0;
    }
    const unsigned char byte = (unsigned char)*c->at;
    if (byte == '\0') {
        return -1;
    }
    c->at++;
    return byte == '/' ? 0 : byte;
}

static int sample_list_compare_files(const void *a, const void *b, void *context)
{
    const sl_sample_list *list = context;
    const found_file *one = a;
    const found_file *other = b;
    if (one->dir == other->dir) {
        return strcmp(text_of(list, one->name), text_of(list, other->name));
    }
    cursor left = sample_list_begin(list, one);
    cursor right = sample_list_begin(list, other);
    int of_left;
    int of_right;
    do {
        of_left = sample_list_next(&left);
        of_right = sample_list_next(&right);
    } while (of_left == of_right && of_left >= 0);
    return of_left - of_right;
}

/* ---- samples ---- */

static bool is_recording(const char *extension)
{
    const sl_media *kind = sl_media_of_extension(extension);
    return strcmp(extension, "cls") == 0 ||
           (kind != NULL && (kind->traits & (SL_MEDIA_AUDIO | SL_MEDIA_VIDEO)) != 0);
}

static bool is_main(const maker *m, const char *extension)
{
    return m->recordings ? is_recording(extension) : sl_member_is_picture(extension);
}

/* Returns the number of an extension as it is spelled; UINT32_MAX: too many. */
static uint32_t spelling_of(sl_sample_list *list, const char *spelled, const char *extension)
{
    for (uint32_t i = 0; i < list->spelling_count; i++) {
        if (strcmp(list->spellings[i], spelled) == 0) {
            return i;
        }
    }
    const uint32_t number = sl_file_index_name(&list->index, extension);
    if (list->spelling_count == SL_SAMPLE_SPELLINGS_MAX || number == SL_FIELD_NONE) {
        return UINT32_MAX;
    }
    memcpy(list->spellings[list->spelling_count], spelled, strlen(spelled) + 1);
    list->extension[list->spelling_count] = (uint8_t)number;
    return list->spelling_count++;
}

/* The files of one key. */
typedef struct group {
    uint64_t first, end, main; /* main UINT64_MAX: no main file */
    uint32_t pictures;
    bool has_class;
} group;

/* Returns the group that begins at a file. */
static group sample_list_find_group(const maker *m, uint64_t first)
{
    const sl_sample_list *list = m->list;
    group g = {.first = first, .end = first, .main = UINT64_MAX};
    const char *name = text_of(list, m->files[first].name);
    const size_t key = strcspn(name, ".");
    for (; g.end < m->count && m->files[g.end].dir == m->files[first].dir; g.end++) {
        sl_member_part part;
        const char *own = text_of(list, m->files[g.end].name);
        if (strncmp(own, name, key + 1) != 0) {
            break;
        }
        if (sl_member_split(own, &part) == SL_MEMBER_NAME_GOOD) {
            g.main = g.main == UINT64_MAX && is_main(m, part.extension) ? g.end : g.main;
            g.pictures += sl_member_is_picture(part.extension);
            g.has_class = g.has_class || strcmp(part.extension, "cls") == 0;
        }
    }
    return g;
}

static sluice_status sample_list_refuse_part(const maker *m, const char *name, const char *why)
{
    return sl_error_file(
        m->error, SLUICE_UNSUPPORTED, STAGE, 0, m->root, -1,
        "the extension of \"%.256s\" (everything after the first dot of its name) %s", name, why);
}

/* Adds a part to the last sample. */
static sluice_status sample_list_add_part(maker *m, const char *name)
{
    sl_sample_list *list = m->list;
    sl_sample_item *sample = &list->items[list->count - 1];
    sl_member_part part;
    switch (sl_member_split(name, &part)) {
    case SL_MEMBER_NAME_NONE:
        return SLUICE_OK;
    case SL_MEMBER_NAME_LONG:
        return sample_list_refuse_part(m, name, "has more than 31 bytes");
    case SL_MEMBER_NAME_GOOD:
        break;
    }
    const uint32_t spelling = spelling_of(list, name + part.key_bytes + 1, part.extension);
    if (spelling == UINT32_MAX || sample->count == SL_OBJECT_FILES_MAX) {
        return sample_list_refuse_part(m, name, "is one of more than 63");
    }
    if (!sl_grow(&list->parts, &list->part_capacity, list->part_count + 1, 1)) {
        return sample_list_out_of_memory(m);
    }
    list->parts[list->part_count++] = (uint8_t)spelling;
    sample->count++;
    return SLUICE_OK;
}

static sluice_status add_sample(maker *m, const group *g)
{
    sl_sample_list *list = m->list;
    const found_file *main = &m->files[g->main];
    if (!sl_grow(&list->items, &list->capacity, list->count + 1, sizeof(*list->items))) {
        return sample_list_out_of_memory(m);
    }
    list->items[list->count++] =
        (sl_sample_item){.name = main->name,
                         .dir = main->dir,
                         .first = (uint32_t)list->part_count,
                         .key_bytes = (uint16_t)strcspn(text_of(list, main->name), ".")};
    list->index.facts |= g->pictures > 1 ? (uint32_t)SL_MEMBER_TWO_PICTURES : 0;
    list->with_class += g->has_class;
    sluice_status status = sample_list_add_part(m, text_of(list, main->name));
    for (uint64_t i = g->first; status == SLUICE_OK && i < g->end; i++) {
        status =
            i != g->main ? sample_list_add_part(m, text_of(list, m->files[i].name)) : SLUICE_OK;
    }
    list->with_company += list->items[list->count - 1].count > 1;
    return status;
}

static sluice_status find_samples(maker *m)
{
    sl_sample_list *list = m->list;
    sluice_status status = SLUICE_OK;
    if (m->count > 1) {
        qsort_r(m->files, m->count, sizeof(*m->files), sample_list_compare_files, list);
    }
    for (uint64_t i = 0; status == SLUICE_OK && i < m->count;) {
        const group g = sample_list_find_group(m, i);
        if (g.main != UINT64_MAX) {
            status = add_sample(m, &g);
        }
        for (uint64_t k = g.first; g.main == UINT64_MAX && k < g.end; k++) {
            sl_seen_names_add(&list->left_out, text_of(list, m->files[k].name));
        }
        i = g.end;
    }
    return status;
}

sluice_status sl_sample_list_open(sl_sample_list *list, const char *root, bool recordings,
                                  sluice_error *error)
{
    maker m = {.list = list, .root = root, .recordings = recordings, .error = error};
    sl_inode_set_clear(&m.seen);
    sluice_status status = list_files(&m);
    status = status == SLUICE_OK ? find_samples(&m) : status;
    sl_inode_set_close(&m.seen);
    sl_free(m.files);
    return status;
}

void sl_sample_list_close(sl_sample_list *list)
{
    sl_free(list->arena);
    sl_free(list->dirs);
    sl_free(list->items);
    sl_free(list->parts);
    *list = (sl_sample_list){.count = 0};
}

/* ---- their names ---- */

static sluice_status write_path(const sl_sample_list *list, const sl_sample_item *item,
                                const char *extension, char *path, size_t bytes)
{
    const char *dir = text_of(list, list->dirs[item->dir].path);
    const int length =
        snprintf(path, bytes, "%s%s%.*s%s%s", dir, dir[0] != '\0' ? "/" : "", item->key_bytes,
                 text_of(list, item->name), extension[0] != '\0' ? "." : "", extension);
    return length >= 0 && (size_t)length < bytes ? SLUICE_OK : SLUICE_INVALID;
}

sluice_status sl_sample_list_key(const sl_sample_list *list, uint64_t sample, char *key,
                                 size_t bytes)
{
    return write_path(list, &list->items[sample], "", key, bytes);
}

sluice_status sl_sample_list_path(const sl_sample_list *list, uint64_t sample, uint32_t part,
                                  char *path, size_t bytes)
{
    const sl_sample_item *item = &list->items[sample];
    return write_path(list, item, list->spellings[list->parts[item->first + part]], path, bytes);
}
