/* SPDX-License-Identifier: Apache-2.0 */
#include "file_refuse.h"

#include "companions.h"
#include "error.h"
#include "foreign.h"
#include "format_table.h"
#include "media.h"
#include "stop.h"
#include "store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define STAGE "dataset"

enum { SHOWN_BYTES = 8, KNOWN_BYTES = 400, WHY_BYTES = 640 };

static sluice_status file_refuse_as(const char *path, const char *what, sluice_error *error)
{
    return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1, "unknown format: it is %s",
                         what);
}

static bool file_refuse_is_text(const uint8_t *head, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (head[i] < ' ' && strchr("\t\n\r\f", head[i]) == NULL) {
            return false;
        }
        if (head[i] == 0 || head[i] == 0x7f) {
            return false;
        }
    }
    return true;
}

static sluice_status refuse_media(const char *path, const sl_media *kind, sluice_error *error)
{
    char what[160];
    const char *advice = "not a dataset";
    if ((kind->traits & (SL_MEDIA_AUDIO | SL_MEDIA_VIDEO)) != 0) {
        advice = "audio and video cannot be decoded here; in tars they are byte fields";
    } else if (kind->codec != 0) {
        advice = "open its folder, or a table that lists it";
    } else if ((kind->traits & SL_MEDIA_PICTURE) != 0) {
        advice = "convert it to JPEG, PNG or WebP";
    }
    (void)snprintf(what, sizeof(what), "%s (%s): %s", sl_media_class_words(kind), kind->name,
                   advice);
    return file_refuse_as(path, what, error);
}

/* Writes "shards, tars, ...": as many formats as fit, each named in full. */
static void write_known(char *text, size_t bytes)
{
    static const char dots[] = ", ...";
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < SL_FORMAT_FOLDER; i++) {
        const sl_format *format = sl_formats[i];
        const char *known = format->known != NULL ? format->known : format->files;
        const size_t wanted = strlen(known) + (used > 0 ? 2 : 0);
        if (used + wanted + sizeof(dots) > bytes) {
            memcpy(text + used, dots, sizeof(dots));
            return;
        }
        used += (size_t)snprintf(text + used, bytes - used, "%s%s", used > 0 ? ", " : "", known);
    }
}

static sluice_status refuse_unknown(const char *path, const char *what, sluice_error *error)
{
    char known[KNOWN_BYTES];
    write_known(known, sizeof(known));
    return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1,
                         "unknown format: it %s; known formats: %s", what, known);
}

/* Returns whether a word is the name of an image. */
static bool names_picture(const char *word, size_t length)
{
    char extension[8];
    size_t dot = length;
    while (dot > 0 && word[dot - 1] != '.' && word[dot - 1] != '/') {
        dot--;
    }
    if (dot == 0 || word[dot - 1] != '.' || length - dot >= sizeof(extension)) {
        return false;
    }
    memcpy(extension, word + dot, length - dot);
    extension[length - dot] = '\0';
    const sl_media *kind = sl_media_of_extension(extension);
    return kind != NULL && (kind->traits & SL_MEDIA_PICTURE) != 0;
}

/*
 * Recognises text that was probably meant as a table; returns what it is and how to write it, or
 * NULL.
 */
static const char *text_advice(const uint8_t *head, size_t size)
{
    const char *text = (const char *)head;
    size_t at = 0;
    while (at < size && strchr(" \t\r\n", text[at]) != NULL) {
        at++;
    }
    if (at < size && text[at] == '[') {
        return "a JSON array: write one line per sample, without the array's brackets and commas "
               "(JSON Lines), and name it NAME.jsonl";
    }
    size_t end = at;
    while (end < size && strchr(" \t\r\n,;", text[end]) == NULL) {
        end++;
    }
    if (!names_picture(text + at, end - at) || end == size) {
        return NULL;
    }
    return text[end] == '\r' || text[end] == '\n'
               ? "a list of images without labels: write it as a table NAME.csv: a first line "
                 "\"path\", then one path per line"
               : "a list of images and their labels: write it as a table NAME.tsv: a first line "
                 "\"path<TAB>label\", then a path, a tab and a label on each line";
}

/* Rejects a text file. A list of "path label" lines, or JSON, was probably meant as a table. */
static sluice_status refuse_text(const char *path, const uint8_t *head, size_t size,
                                 sluice_error *error)
{
    const char *advice = text_advice(head, size);
    if (advice == NULL && sl_store_of(path)->lists_nothing) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1,
                             "not a format that can be read from a web server: it is text. A VOC "
                             "list needs a listing of the folders beside it, and https provides "
                             "none: read it from a bucket, or pack the dataset first");
    }
    return advice != NULL ? sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1,
                                          "unknown format: it is %s", advice)
                          : refuse_unknown(path, "is text", error);
}

static sluice_status refuse_bytes(const char *path, const uint8_t *head, size_t size,
                                  sluice_error *error)
{
    char shown[32 + 3 * SHOWN_BYTES] = "begins with the bytes";
    if (file_refuse_is_text(head, size)) {
        return refuse_text(path, head, size, error);
    }
    for (size_t i = 0; i < size && i < SHOWN_BYTES; i++) {
        const size_t used = strlen(shown);
        (void)snprintf(shown + used, sizeof(shown) - used, " %02x", head[i]);
    }
    return refuse_unknown(path, shown, error);
}

sluice_status sl_file_refuse(sl_look *look, sluice_error *error)
{
    const char *path = look->path;
    if (!sl_look_is_file(look)) {
        return refuse_unknown(path, "is neither a regular file nor a folder", error);
    }
    if (sl_look_bytes(look) == 0) {
        return refuse_unknown(path, "is empty", error);
    }
    const sl_bytes begin = sl_look_head(look, SL_FOREIGN_HEAD_BYTES);
    const uint8_t *head = begin.data;
    const size_t size = begin.size;
    if (size == 0) {
        return refuse_unknown(path, "cannot be read", error);
    }
    const char *foreign = sl_foreign_kind(head, size);
    if (foreign != NULL) {
        return file_refuse_as(path, foreign, error);
    }
    char why[WHY_BYTES];
    if (sl_companion_of_path(path, why, sizeof(why))) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1, "%s", why);
    }
    const sl_media *kind = sl_media_of_bytes(begin);
    return kind != NULL && !file_refuse_is_text(head, size) ? refuse_media(path, kind, error)
                                                            : refuse_bytes(path, head, size, error);
}

/* ---- addresses ---- */

#define SCHEMES "s3://, gs://, hf://, https:// or http://"

/*
 * Returns the length of the scheme in a path such as "foo:/..." that no store handles; 0: it does
 * not look like an address.
 */
static size_t odd_scheme(const char *path)
{
    const size_t letters =
        strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+");
    return letters > 1 && strncmp(path + letters, ":/", 2) == 0 && !sl_store_of(path)->remote
               ? letters
               : 0;
}

static bool is_scheme(const char *path, size_t letters)
{
    static const char *const schemes[] = {"s3", "gs", "hf", "https", "http"};
    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
        if (strlen(schemes[i]) == letters && strncasecmp(path, schemes[i], letters) == 0) {
            return true;
        }
    }
    return false;
}

static sluice_status refuse_scheme(const char *path, size_t letters, sluice_error *error)
{
    if (is_scheme(path, letters)) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1,
                             "malformed address: it must begin with " SCHEMES
                             ", with both slashes (pathlib.Path removes one)");
    }
    if (letters == 4 && strncasecmp(path, "file", letters) == 0) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1,
                             "cannot open file:// addresses: give the path without file://");
    }
    return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1,
                         "unknown scheme \"%.*s\": expected " SCHEMES ", or a file system path",
                         (int)(letters < 32 ? letters : 32), path);
}

bool sl_missing_lacks_slash(const char *path, int failed)
{
    const char *name = sl_path_name(path);
    return (failed == ENOENT || failed == EACCES) && sl_store_of(path)->lists_nothing &&
           name[0] != '\0' && strchr(name, '.') == NULL;
}

/* Returns a likely reason why nothing was found at an address; "": no known reason. */
static const char *missing_advice(const char *path, int failed)
{
    if (failed == ENOENT && strchr(path, '*') != NULL) {
        return ": \"*\" is not expanded: give the folder, or numbers as in {000..099}";
    }
    return sl_missing_lacks_slash(path, failed)
               ? "; a folder on a web server needs an index: give the address of its "
                 "manifest.sluice or index.json, or name its files"
               : "";
}

sluice_status sl_missing_refuse(sl_look *look, sluice_error *error)
{
    const int failed = sl_look_errno(look);
    const bool is_remote = sl_store_of(look->path)->remote;
    const char *reason = is_remote ? sl_store_reason() : "";
    const size_t letters = odd_scheme(look->path);
    if (failed == ECANCELED && sl_stop_requested()) {
        return sl_stop_check(STAGE, error);
    }
    if (failed == ENOENT && letters > 0) {
        return refuse_scheme(look->path, letters, error);
    }
    return sl_error_file(error, SLUICE_IO, STAGE, failed, look->path, -1, "cannot open%s%s%s",
                         reason[0] != '\0' ? ": " : "", reason, missing_advice(look->path, failed));
}
