/* SPDX-License-Identifier: Apache-2.0 */
#include "http_server_parts.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PAGE_MOST = 1000, PATH_MOST = 4096 };

/* A bucket's keys in order: collected or generated. */
typedef struct keys {
    const http_bucket *made; /* NULL: `names` */
    char **names;
    uint32_t count, capacity;
    bool exists;
} keys;

/* The request's parameters and the page's start. */
typedef struct page {
    char prefix[PATH_MOST], delimiter[64], after[PATH_MOST];
    uint32_t most;
    http_pages pages;
    bool escapes;
    bool after_folder; /* `after` is a folder prefix from the previous page */
} page;

static void add_key(keys *all, const char *name)
{
    if (all->count == all->capacity) {
        all->capacity = 2 * all->capacity + 64;
        all->names = http_memory(all->names, all->capacity * sizeof(*all->names));
    }
    char *copy = http_memory(NULL, strlen(name) + 1);
    memcpy(copy, name, strlen(name) + 1);
    all->names[all->count++] = copy;
}

/* Adds the files below `folder`, as keys that begin with `key`. */
static void walk_folder(keys *all, const char *folder, const char *key)
{
    DIR *listing = opendir(folder);
    if (listing == NULL) {
        return;
    }
    all->exists = true;
    for (const struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing)) {
        char path[2 * PATH_MOST];
        char name[2 * PATH_MOST];
        struct stat facts;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        if (snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) >= PATH_MOST ||
            snprintf(name, sizeof(name), "%s%s/", key, entry->d_name) >= PATH_MOST ||
            stat(path, &facts) != 0) {
            continue;
        }
        if (S_ISREG(facts.st_mode)) {
            name[strlen(name) - 1] = '\0';
            add_key(all, name);
        } else if (S_ISDIR(facts.st_mode)) {
            walk_folder(all, path, name);
        }
    }
    (void)closedir(listing);
}

static int compare_keys(const void *one, const void *other)
{
    return strcmp(*(char *const *)one, *(char *const *)other);
}

static keys collect_keys(http_server *server, const char *bucket)
{
    keys all = {0};
    const size_t length = strlen(bucket);
    if (server->folder != NULL && strstr(bucket, "..") == NULL) {
        char folder[PATH_MOST];
        (void)snprintf(folder, sizeof(folder), "%s/%s", server->folder, bucket);
        walk_folder(&all, folder, "");
    }
    (void)pthread_mutex_lock(&server->mutex);
    for (const http_put *put = server->puts; put != NULL; put = put->next) {
        if (put->path[0] == '/' && strncmp(put->path + 1, bucket, length) == 0 &&
            put->path[1 + length] == '/') {
            add_key(&all, put->path + 1 + length + 1);
            all.exists = true;
        }
    }
    for (const http_bucket *made = server->buckets; made != NULL; made = made->next) {
        if (strcmp(made->name, bucket) == 0) {
            all.made = made;
            all.count = made->keys;
            all.exists = true;
        }
    }
    (void)pthread_mutex_unlock(&server->mutex);
    if (all.made == NULL && all.count > 1) {
        uint32_t kept = 1;
        qsort(all.names, all.count, sizeof(*all.names), compare_keys);
        for (uint32_t i = 1; i < all.count; i++) { /* an object put twice is listed once */
            if (strcmp(all.names[i], all.names[kept - 1]) == 0) {
                free(all.names[i]);
            } else {
                all.names[kept++] = all.names[i];
            }
        }
        all.count = kept;
    }
    return all;
}

static void free_keys(keys *all)
{
    for (uint32_t i = 0; all->made == NULL && i < all->count; i++) {
        free(all->names[i]);
    }
    free(all->names);
}

static const char *key_at(const keys *all, uint32_t number, char made[64])
{
    if (all->made == NULL) {
        return all->names[number];
    }
    http_made_key(all->made, number, made);
    return made;
}

/* Returns the number of the first key, starting at `from`, that sorts after `text` and, with
 * `whole`, does not begin with it. */
static uint32_t first_behind(const keys *all, uint32_t from, const char *text, bool whole)
{
    uint32_t low = from;
    uint32_t high = all->count;
    const size_t length = strlen(text);
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        char made[64];
        const char *key = key_at(all, middle, made);
        const int order = whole ? strncmp(key, text, length) : strcmp(key, text);
        if (order <= 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Returns the first key that does not sort before `text`. */
static uint32_t first_from(const keys *all, const char *text)
{
    uint32_t low = 0;
    uint32_t high = all->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        char made[64];
        if (strcmp(key_at(all, middle, made), text) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

void http_error_body(http_text *body, const char *code)
{
    http_text_print(body,
                    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>%s</Code>"
                    "<Message>The test requested this response.</Message>"
                    "<RequestId>4442587FB7D0A2F9</RequestId></Error>",
                    code);
}

/* Appends a name to an answer. Like Amazon, writes a blank as "+" where names are escaped. */
static void add_name(http_text *body, const page *of, const char *element, const char *name)
{
    http_text_print(body, "<%s>", element);
    if (of->escapes) {
        http_text escaped = {0};
        http_text_add(&escaped, "", 0);
        http_text_add_escaped(&escaped, name);
        for (size_t i = 0; i < escaped.bytes; i++) {
            if (strncmp(escaped.data + i, "%20", 3) == 0) {
                http_text_add(body, "+", 1);
                i += 2;
            } else {
                http_text_add(body, escaped.data + i, 1);
            }
        }
        free(escaped.data);
    } else {
        http_text_add_xml(body, name);
    }
    http_text_print(body, "</%s>", element);
}

/* Makes an opaque token with characters that a query must escape. */
static void make_token(http_text *body, const char *last, bool is_folder)
{
    http_text_print(body, "<NextContinuationToken>%c/+", is_folder ? 'F' : 'K');
    for (size_t i = 0; last[i] != '\0'; i++) {
        http_text_print(body, "%02x", (unsigned)(uint8_t)last[i]);
    }
    http_text_print(body, "==</NextContinuationToken>");
}

static bool read_token(page *of, const char *token)
{
    const size_t length = strlen(token);
    if (strspn(token, "0123456789") == length) {
        return true; /* after an empty page: the first page */
    }
    if (length < 5 || length % 2 == 0 || strncmp(token + 1, "/+", 2) != 0 ||
        strcmp(token + length - 2, "==") != 0 || (length - 5) / 2 >= sizeof(of->after)) {
        return false;
    }
    for (size_t i = 3, to = 0; i < length - 2; i += 2, to++) {
        const char pair[3] = {token[i], token[i + 1], '\0'};
        of->after[to] = (char)strtoul(pair, NULL, 16);
        of->after[to + 1] = '\0';
    }
    of->after_folder = token[0] == 'F';
    return true;
}

static bool read_page(page *of, const http_request *request, http_pages pages)
{
    char value[2 * PATH_MOST + 16];
    *of = (page){.most = PAGE_MOST, .pages = pages};
    (void)http_query(request, "prefix", of->prefix, sizeof(of->prefix));
    (void)http_query(request, "delimiter", of->delimiter, sizeof(of->delimiter));
    (void)http_query(request, "start-after", of->after, sizeof(of->after));
    if (http_query(request, "max-keys", value, sizeof(value))) {
        const unsigned long most = strtoul(value, NULL, 10);
        of->most = most < PAGE_MOST ? (uint32_t)most : PAGE_MOST;
    }
    of->escapes =
        http_query(request, "encoding-type", value, sizeof(value)) && strcmp(value, "url") == 0;
    return pages.number != 0 || !http_query(request, "continuation-token", value, sizeof(value)) ||
           read_token(of, value);
}

static void add_time(http_text *body, time_t when)
{
    struct tm parts;
    (void)gmtime_r(&when, &parts);
    http_text_print(body, "<LastModified>%04d-%02d-%02dT%02d:%02d:%02d.000Z</LastModified>",
                    parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour,
                    parts.tm_min, parts.tm_sec);
}

static void add_contents(http_server *server, http_text *body, const page *of, const char *bucket,
                         const char *key)
{
    char path[2 * PATH_MOST];
    http_object object;
    (void)snprintf(path, sizeof(path), "/%s/%s", bucket, key);
    if (!http_object_open(server, path, &object)) {
        return; /* deleted meanwhile */
    }
    http_object_close(&object);
    http_text_print(body, "<Contents>");
    add_name(body, of, "Key", key);
    add_time(body, object.modified);
    http_text_print(body, "<ETag>");
    http_text_add_xml(body, object.etag);
    http_text_print(body,
                    "</ETag><Size>%llu</Size><StorageClass>STANDARD</StorageClass></Contents>",
                    (unsigned long long)object.bytes);
}

static void add_entries(http_server *server, http_text *body, const page *of, const char *bucket,
                        const keys *all)
{
    const size_t prefix = strlen(of->prefix);
    uint32_t at = first_from(all, of->prefix);
    uint32_t shown = 0;
    char last[PATH_MOST] = "";
    bool last_is_folder = false;
    if (of->after[0] != '\0') {
        const uint32_t behind = first_behind(all, 0, of->after, of->after_folder);
        at = behind > at ? behind : at;
    }
    bool more = false;
    while (at < all->count && !of->pages.empty) {
        char made[64];
        const char *key = key_at(all, at, made);
        if (strncmp(key, of->prefix, prefix) != 0) {
            break;
        }
        if (shown == of->most) {
            more = true;
            break;
        }
        const char *cut = of->delimiter[0] != '\0' ? strstr(key + prefix, of->delimiter) : NULL;
        (void)snprintf(last, sizeof(last), "%s", key);
        last_is_folder = cut != NULL;
        if (cut != NULL) {
            last[(size_t)(cut - key) + strlen(of->delimiter)] = '\0';
            http_text_print(body, "<CommonPrefixes>");
            add_name(body, of, "Prefix", last);
            http_text_print(body, "</CommonPrefixes>");
            at = first_behind(all, at, last, true);
        } else {
            add_contents(server, body, of, bucket, key);
            at++;
        }
        shown++;
    }
    http_text_print(body, "<KeyCount>%u</KeyCount><IsTruncated>%s</IsTruncated>", shown,
                    more || of->pages.number != 0 ? "true" : "false");
    if (of->pages.number != 0) {
        http_text_print(body, "<NextContinuationToken>%u</NextContinuationToken>",
                        of->pages.number);
    } else if (more) {
        make_token(body, last, last_is_folder);
    }
}

int http_list(http_server *server, const http_request *request, http_pages pages, http_text *body)
{
    page of;
    if (!read_page(&of, request, pages)) {
        http_error_body(body, "InvalidArgument");
        return 400;
    }
    char bucket[256];
    (void)snprintf(bucket, sizeof(bucket), "%.*s", (int)strcspn(request->path + 1, "/"),
                   request->path + 1);
    keys all = collect_keys(server, bucket);
    if (!all.exists) {
        free_keys(&all);
        http_error_body(body, "NoSuchBucket");
        return 404;
    }
    http_text_print(body,
                    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ListBucketResult "
                    "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>%s</Name>",
                    bucket);
    add_name(body, &of, "Prefix", of.prefix);
    http_text_print(body, "<MaxKeys>%u</MaxKeys>%s", of.most,
                    of.escapes ? "<EncodingType>url</EncodingType>" : "");
    add_entries(server, body, &of, bucket, &all);
    http_text_print(body, "</ListBucketResult>");
    free_keys(&all);
    return 200;
}

static void add_json(http_text *body, const char *text)
{
    http_text_print(body, "\"");
    for (size_t i = 0; text[i] != '\0'; i++) {
        if (text[i] == '"' || text[i] == '\\' || (uint8_t)text[i] < 0x20) {
            http_text_print(body, "\\u%04x", (unsigned)(uint8_t)text[i]);
        } else {
            http_text_add(body, text + i, 1);
        }
    }
    http_text_print(body, "\"");
}

static void add_file_entry(http_server *server, http_text *body, const char *bucket,
                           const char *key)
{
    char path[2 * PATH_MOST];
    http_object object;
    (void)snprintf(path, sizeof(path), "/%s/%s", bucket, key);
    if (!http_object_open(server, path, &object)) {
        return;
    }
    http_object_close(&object);
    /* The hub does not quote hashes here. */
    object.etag[strlen(object.etag) - 1] = '\0';
    http_text_print(body,
                    "{\"type\":\"file\",\"oid\":\"%s\",\"size\":%llu,\"path\":", object.etag + 1,
                    (unsigned long long)object.bytes);
    add_json(body, key);
    if (object.bytes >= server->config.direct_bytes) {
        http_text_print(body, ",\"lfs\":{\"oid\":\"1%s\",\"size\":%llu,\"pointerSize\":130}",
                        object.etag + 1, (unsigned long long)object.bytes);
    }
    http_text_print(body, "}");
}

typedef struct tree {
    char bucket[256], prefix[PATH_MOST];
    bool recursive;
} tree;

static void show_folder(http_text *body, const char *key, size_t bytes)
{
    char folder[PATH_MOST];
    (void)snprintf(folder, sizeof(folder), "%.*s", (int)bytes, key);
    http_text_print(body, "{\"type\":\"directory\",\"oid\":\"0\",\"size\":0,\"path\":");
    add_json(body, folder);
    http_text_print(body, "}");
}

/* Lists a page of a tree's entries, starting at number `from`, with folders before files as on the
 * hub. Returns the number of the next entry, or UINT32_MAX. */
static uint32_t add_tree(http_server *server, http_text *body, const keys *all, const tree *of,
                         uint32_t from)
{
    const uint32_t most = server->config.tree_page != 0 ? server->config.tree_page : PAGE_MOST;
    const size_t length = strlen(of->prefix);
    uint32_t number = 0;
    for (int files = of->recursive; files < 2; files++) {
        uint32_t at = first_from(all, of->prefix);
        while (at < all->count && strncmp(all->names[at], of->prefix, length) == 0) {
            const char *key = all->names[at];
            const char *cut = of->recursive ? NULL : strchr(key + length, '/');
            char folder[PATH_MOST];
            (void)snprintf(folder, sizeof(folder), "%.*s/", (int)(cut != NULL ? cut - key : 0),
                           key);
            at = cut != NULL ? first_behind(all, at, folder, true) : at + 1;
            if ((cut == NULL) != files || number++ < from) {
                continue;
            }
            if (number > from + most) {
                return number - 1;
            }
            http_text_print(body, number > from + 1 ? "," : "");
            if (cut != NULL) {
                show_folder(body, key, (size_t)(cut - key));
            } else {
                add_file_entry(server, body, of->bucket, key);
            }
        }
    }
    return UINT32_MAX;
}

int http_tree(http_server *server, const http_request *request, http_pages pages, http_text *body,
              http_text *link)
{
    tree of;
    char value[PATH_MOST];
    char revision[256];
    int ends[2] = {0};
    /* /api/datasets/OWNER/NAME/tree/REVISION[/PATH] */
    if (sscanf(request->path, "/api/%*[a-z]/%*[^/]/%*[^/]/%ntree/%255[^/]%n", &ends[0], revision,
               &ends[1]) != 1) {
        return 404;
    }
    (void)snprintf(of.bucket, sizeof(of.bucket), "%.*s", ends[0] - 6, request->path + 5);
    const char *path = request->path + ends[1];
    path += path[0] == '/';
    (void)snprintf(of.prefix, sizeof(of.prefix), "%s%s", path,
                   path[0] != '\0' && path[strlen(path) - 1] != '/' ? "/" : "");
    of.recursive =
        http_query(request, "recursive", value, sizeof(value)) && strcasecmp(value, "false") != 0;
    keys all = collect_keys(server, of.bucket);
    const uint32_t at = first_from(&all, of.prefix);
    uint32_t from = 0;
    if (pages.number == 0 && http_query(request, "cursor", value, sizeof(value))) {
        from = (uint32_t)strtoul(value, NULL, 10);
    }
    if (all.names == NULL || at >= all.count ||
        strncmp(all.names[at], of.prefix, strlen(of.prefix)) != 0) {
        free_keys(&all);
        http_text_print(body, "{\"error\":\"Entry not found\"}");
        return 404;
    }
    http_text_print(body, "[");
    uint32_t next = pages.empty ? UINT32_MAX : add_tree(server, body, &all, &of, from);
    next = pages.number != 0 ? pages.number : next;
    http_text_print(body, "]");
    if (next != UINT32_MAX) {
        http_text_print(link, "%s%.*s?%scursor=%u", server->url, (int)strcspn(request->target, "?"),
                        request->target, of.recursive ? "recursive=true&" : "", next);
    }
    free_keys(&all);
    return 200;
}
