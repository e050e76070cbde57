/* SPDX-License-Identifier: Apache-2.0 */
#include "http_server_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void http_die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)fputs("http_server: ", stderr);
    (void)vfprintf(stderr, format, arguments);
    (void)fputc('\n', stderr);
    va_end(arguments);
    abort();
}

void *http_memory(void *old, size_t bytes)
{
    void *memory = realloc(old, bytes);
    if (memory == NULL) {
        http_die("no memory: %zu bytes", bytes);
    }
    return memory;
}

void http_text_add(http_text *text, const char *data, size_t bytes)
{
    if (text->bytes + bytes + 1 > text->capacity) {
        text->capacity = 2 * (text->bytes + bytes) + 256;
        text->data = http_memory(text->data, text->capacity);
    }
    memcpy(text->data + text->bytes, data, bytes);
    text->bytes += bytes;
    text->data[text->bytes] = '\0';
}

void http_text_print(http_text *text, const char *format, ...)
{
    char line[HTTP_TARGET_BYTES + 1024];
    va_list arguments;
    va_start(arguments, format);
    const int bytes = vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    if (bytes < 0 || (size_t)bytes >= sizeof(line)) {
        http_die("a line is too long: %d bytes", bytes);
    }
    http_text_add(text, line, (size_t)bytes);
}

void http_text_add_escaped(http_text *text, const char *data)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
    for (size_t i = 0; data[i] != '\0'; i++) {
        if (strchr(plain, data[i]) != NULL) {
            http_text_add(text, data + i, 1);
        } else {
            http_text_print(text, "%%%02X", (unsigned)(uint8_t)data[i]);
        }
    }
}

void http_text_add_xml(http_text *text, const char *data)
{
    for (size_t i = 0; data[i] != '\0'; i++) {
        switch (data[i]) {
        case '&':
            http_text_print(text, "&amp;");
            break;
        case '<':
            http_text_print(text, "&lt;");
            break;
        case '>':
            http_text_print(text, "&gt;");
            break;
        case '"':
            http_text_print(text, "&quot;");
            break;
        default:
            http_text_add(text, data + i, 1);
            break;
        }
    }
}

static int hex_of(char digit)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    const char *at = digit != '\0' ? strchr(digits, digit) : NULL;
    return at != NULL ? (int)(at - digits) & 15 : -1;
}

bool http_unescape(char *to, size_t capacity, const char *from, size_t bytes, bool plus)
{
    size_t length = 0;
    for (size_t i = 0; i < bytes; i++) {
        char byte = from[i];
        if (byte == '%' && i + 2 < bytes && hex_of(from[i + 1]) >= 0 && hex_of(from[i + 2]) >= 0) {
            byte = (char)(hex_of(from[i + 1]) * 16 + hex_of(from[i + 2]));
            i += 2;
        } else if (plus && byte == '+') {
            byte = ' ';
        }
        if (byte == '\0' || length + 1 >= capacity) {
            return false;
        }
        to[length++] = byte;
    }
    to[length] = '\0';
    return true;
}

bool http_query(const http_request *request, const char *name, char *value, size_t capacity)
{
    const size_t length = strlen(name);
    for (const char *at = request->query; *at != '\0';) {
        const size_t bytes = strcspn(at, "&");
        if (bytes > length && strncmp(at, name, length) == 0 && at[length] == '=') {
            return http_unescape(value, capacity, at + length + 1, bytes - length - 1, true);
        }
        at += bytes + (at[bytes] == '&');
    }
    return false;
}

void http_made_key(const http_bucket *bucket, uint32_t number, char key[64])
{
    (void)snprintf(key, 64, "class%05u/%08u.bin", number / bucket->per_folder, number);
}

static uint64_t hash_text(uint64_t hash, const void *data, size_t bytes)
{
    const uint8_t *at = data;
    for (size_t i = 0; i < bytes; i++) {
        hash = (hash ^ at[i]) * 0x100000001b3U;
    }
    return hash;
}

static void make_etag(http_object *object, const char *path, uint64_t more, uint32_t replaced)
{
    const uint64_t first = hash_text(0xcbf29ce484222325U ^ more, path, strlen(path));
    const uint64_t second = hash_text(first ^ object->bytes, &replaced, sizeof(replaced));
    (void)snprintf(object->etag, sizeof(object->etag), "\"%016llx%016llx\"",
                   (unsigned long long)first, (unsigned long long)second);
    object->flip = (uint8_t)(0x5a * replaced);
}

static const http_bucket *made_bucket_of(const http_server *server, const char *path)
{
    for (const http_bucket *bucket = server->buckets; bucket != NULL; bucket = bucket->next) {
        const size_t length = strlen(bucket->name);
        if (path[0] == '/' && strncmp(path + 1, bucket->name, length) == 0 &&
            path[1 + length] == '/') {
            return bucket;
        }
    }
    return NULL;
}

static bool open_made(const http_bucket *bucket, const char *path, http_object *object)
{
    const char *key = path + 1 + strlen(bucket->name) + 1;
    const char *slash = strchr(key, '/');
    char expected[64];
    const unsigned long number = slash != NULL ? strtoul(slash + 1, NULL, 10) : bucket->keys;
    if (number >= bucket->keys) {
        return false;
    }
    http_made_key(bucket, (uint32_t)number, expected);
    if (strcmp(expected, key) != 0) {
        return false;
    }
    object->period = strlen(key) + 1;
    memcpy(object->made, key, object->period);
    object->made[object->period - 1] = '\n';
    object->bytes = bucket->object_bytes;
    object->modified = 1600000000;
    return true;
}

static bool open_file(const http_server *server, const char *path, http_object *object,
                      uint64_t *version)
{
    char full[HTTP_TARGET_BYTES + 4096];
    struct stat facts;
    if (server->folder == NULL || strstr(path, "/../") != NULL || strstr(path, "//") != NULL) {
        return false;
    }
    (void)snprintf(full, sizeof(full), "%s%s", server->folder, path);
    object->fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (object->fd < 0) {
        return false;
    }
    if (fstat(object->fd, &facts) != 0 || !S_ISREG(facts.st_mode)) {
        http_object_close(object);
        return false;
    }
    object->bytes = (uint64_t)facts.st_size;
    object->modified = facts.st_mtim.tv_sec;
    *version = (uint64_t)facts.st_ino ^ ((uint64_t)facts.st_mtim.tv_nsec << 20);
    return true;
}

bool http_object_open(http_server *server, const char *path, http_object *object)
{
    *object = (http_object){.fd = -1};
    uint64_t version = 0;
    uint32_t times = 0;
    bool found = false;
    (void)pthread_mutex_lock(&server->mutex);
    for (const http_put *put = server->puts; put != NULL && !found; put = put->next) {
        if (strcmp(put->path, path) == 0) {
            object->memory = put->data;
            object->bytes = put->bytes;
            object->period = put->bytes;
            object->modified = 1600000000;
            version = put->version;
            found = true;
        }
    }
    for (const http_replaced *of = server->replaced; of != NULL; of = of->next) {
        times += strcmp(of->path, path) == 0 ? of->times : 0;
    }
    const http_bucket *bucket = made_bucket_of(server, path);
    (void)pthread_mutex_unlock(&server->mutex);
    if (!found) {
        found = bucket != NULL ? open_made(bucket, path, object)
                               : open_file(server, path, object, &version);
    }
    if (found) {
        make_etag(object, path, version, times);
    }
    return found;
}

void http_object_close(http_object *object)
{
    if (object->fd >= 0) {
        (void)close(object->fd);
    }
    object->fd = -1;
}

void http_object_read(const http_object *object, uint64_t offset, uint8_t *to, size_t bytes)
{
    size_t there = 0;
    if (offset < object->bytes) {
        there = object->bytes - offset < bytes ? (size_t)(object->bytes - offset) : bytes;
    }
    const uint8_t *memory = object->memory != NULL ? object->memory : object->made;
    for (size_t done = 0; done < there;) {
        if (object->fd >= 0) {
            const ssize_t got = pread(object->fd, to + done, there - done, (off_t)(offset + done));
            if (got <= 0) {
                http_die("a file ended early: %s",
                         got < 0 ? strerror(errno) : "shorter than it was");
            }
            done += (size_t)got;
        } else {
            const size_t at = (size_t)((offset + done) % object->period);
            const size_t some =
                object->period - at < there - done ? object->period - at : there - done;
            memcpy(to + done, memory + at, some);
            done += some;
        }
    }
    memset(to + there, 'x', bytes - there);
    for (size_t i = 0; object->flip != 0 && i < there; i++) {
        to[i] ^= object->flip;
    }
}

void http_object_replace(http_server *server, const char *path)
{
    (void)pthread_mutex_lock(&server->mutex);
    http_replaced *of = server->replaced;
    while (of != NULL && strcmp(of->path, path) != 0) {
        of = of->next;
    }
    if (of == NULL) {
        of = http_memory(NULL, sizeof(*of) + strlen(path) + 1);
        of->next = server->replaced;
        of->times = 0;
        memcpy(of->path, path, strlen(path) + 1);
        server->replaced = of;
    }
    of->times++;
    (void)pthread_mutex_unlock(&server->mutex);
}

void http_server_put(http_server *server, const char *path, const void *data, size_t bytes)
{
    http_put *put = http_memory(NULL, sizeof(*put));
    *put = (http_put){.path = http_memory(NULL, strlen(path) + 1),
                      .data = http_memory(NULL, bytes + 1),
                      .bytes = bytes};
    memcpy(put->path, path, strlen(path) + 1);
    if (bytes > 0) {
        memcpy(put->data, data, bytes);
    }
    (void)pthread_mutex_lock(&server->mutex);
    for (const http_put *old = server->puts; old != NULL; old = old->next) {
        if (strcmp(old->path, path) == 0) {
            put->version = old->version + 1;
            break; /* the newest comes first */
        }
    }
    put->next = server->puts;
    server->puts = put;
    (void)pthread_mutex_unlock(&server->mutex);
}

void http_server_many(http_server *server, const char *bucket, uint32_t keys, uint32_t per_folder,
                      uint32_t object_bytes)
{
    http_bucket *made = http_memory(NULL, sizeof(*made));
    *made = (http_bucket){.keys = keys, .per_folder = per_folder, .object_bytes = object_bytes};
    if (keys == 0 || keys > 10000000 || per_folder == 0 || strlen(bucket) >= sizeof(made->name)) {
        http_die("http_server_many(%s): a name or number is out of range", bucket);
    }
    (void)snprintf(made->name, sizeof(made->name), "%s", bucket);
    (void)pthread_mutex_lock(&server->mutex);
    made->next = server->buckets;
    server->buckets = made;
    (void)pthread_mutex_unlock(&server->mutex);
}
