/* SPDX-License-Identifier: Apache-2.0 */
#include "list_xml.h"

#include "error.h"
#include "memory.h"
#include "url.h"

#include <expat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STAGE "remote"

enum { DEPTH_MOST = 16, TEXT_MOST = 16384 };

typedef struct list_parser {
    XML_Parser parser;
    const char *prefix;
    sl_entries *entries;
    sl_page_end *end;
    uint32_t depth;
    bool in_contents, in_folder, is_list, has_truncated;
    bool is_escaped; /* the server applied encoding-type=url */
    sluice_status status;
    const char *why;
    /* of the current element */
    char text[TEXT_MOST];
    size_t text_bytes;
    /* of the current entry */
    char key[TEXT_MOST];
    bool has_key;
    uint64_t bytes;
    int64_t modified_s;
    char etag[128];
} list_parser;

/* Parses "2026-11-29T07:34:32.000Z" to seconds since 1970; 0: not such a time. */
static int64_t time_of_text(const char *text)
{
    struct tm time = {.tm_sec = 0};
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &time);
    return end != NULL ? (int64_t)timegm(&time) : 0;
}

static void list_fail(list_parser *p, sluice_status status, const char *why)
{
    if (p->status == SLUICE_OK) {
        p->status = status;
        p->why = why;
    }
    (void)XML_StopParser(p->parser, XML_FALSE);
}

// NOLINTNEXTLINE(readability-function-size): expat's
static void XMLCALL list_entity(void *user, const XML_Char *name, int is_parameter,
                                const XML_Char *value, int length, const XML_Char *base,
                                const XML_Char *system, const XML_Char *public,
                                const XML_Char *notation)
{
    (void)name;
    (void)is_parameter;
    (void)value;
    (void)length;
    (void)base;
    (void)system;
    (void)public;
    (void)notation;
    list_fail(user, SLUICE_CORRUPT, "it declares entities");
}

static void XMLCALL list_begin(void *user, const XML_Char *name, const XML_Char **attributes)
{
    list_parser *p = user;
    (void)attributes;
    p->depth++;
    p->text_bytes = 0;
    p->text[0] = '\0';
    if (p->depth > DEPTH_MOST) {
        list_fail(p, SLUICE_CORRUPT, "its elements are too deep");
    } else if (p->depth == 1) {
        p->is_list = strcmp(name, "ListBucketResult") == 0;
    } else if (p->depth == 2) {
        p->in_contents = strcmp(name, "Contents") == 0;
        p->in_folder = strcmp(name, "CommonPrefixes") == 0;
        p->has_key = false;
        p->bytes = 0;
        p->modified_s = 0;
        p->etag[0] = '\0';
    }
}

static void XMLCALL list_text(void *user, const XML_Char *text, int length)
{
    list_parser *p = user;
    if (p->text_bytes + (size_t)length >= sizeof(p->text)) {
        list_fail(p, SLUICE_CORRUPT, "a value in it is too long");
        return;
    }
    memcpy(p->text + p->text_bytes, text, (size_t)length);
    p->text_bytes += (size_t)length;
    p->text[p->text_bytes] = '\0';
}

/* Unescapes a key: in this encoding a space is "+", and a plus is "%2B". */
static void take_key(list_parser *p)
{
    memcpy(p->key, p->text, p->text_bytes + 1);
    if (p->is_escaped) {
        for (char *at = strchr(p->key, '+'); at != NULL; at = strchr(at + 1, '+')) {
            *at = ' ';
        }
        (void)sl_url_unescape(p->key);
    }
    p->has_key = true;
}

/* Takes an ETag with its quotes; some stores leave them out. */
static void take_etag(list_parser *p)
{
    const bool quoted = p->text[0] == '"' || strncmp(p->text, "W/", 2) == 0;
    const int length =
        snprintf(p->etag, sizeof(p->etag), quoted || p->text[0] == '\0' ? "%s" : "\"%s\"", p->text);
    if (length < 0 || (size_t)length >= sizeof(p->etag)) {
        list_fail(p, SLUICE_CORRUPT, "an ETag in it is too long");
    }
}

static void take_value(list_parser *p, const char *name)
{
    char *stop = p->text;
    if (strcmp(name, p->in_contents ? "Key" : "Prefix") == 0) {
        take_key(p);
    } else if (strcmp(name, "Size") == 0) {
        p->bytes = strtoull(p->text, &stop, 10);
        if (stop == p->text || *stop != '\0' || p->text[0] == '-') {
            list_fail(p, SLUICE_CORRUPT, "a size in it is not a number");
        }
    } else if (strcmp(name, "ETag") == 0) {
        take_etag(p);
    } else if (strcmp(name, "LastModified") == 0) {
        p->modified_s = time_of_text(p->text);
    }
}

static void take_entry(list_parser *p)
{
    const size_t prefix = strlen(p->prefix);
    size_t length = p->has_key ? strlen(p->key) : 0;
    if (!p->has_key || length < prefix || memcmp(p->key, p->prefix, prefix) != 0) {
        list_fail(p, SLUICE_CORRUPT, "it has a key outside the folder");
        return;
    }
    p->entries->found = true;
    if (p->in_contents && length == prefix) {
        return; /* the folder's own marker */
    }
    if (p->in_folder && p->key[length - 1] == '/') {
        length--;
    }
    const sl_bytes name = {(const uint8_t *)p->key + prefix, length < prefix ? 0 : length - prefix};
    const sl_entry_facts facts = {.name = name,
                                  .kind = p->in_folder ? SL_ENTRY_FOLDER : SL_ENTRY_FILE,
                                  .bytes = p->bytes,
                                  .modified_s = p->modified_s,
                                  .etag = p->in_folder ? "" : p->etag};
    if (memchr(name.data, '/', name.size) != NULL) {
        list_fail(p, SLUICE_CORRUPT, "it has a key of a deeper folder");
    } else if (!sl_entries_add(p->entries, &facts)) {
        list_fail(p, SLUICE_NOMEM, "out of memory");
    }
}

static void take_end(list_parser *p, const char *name)
{
    if (strcmp(name, "IsTruncated") == 0) {
        p->has_truncated = true;
        p->end->more = strcmp(p->text, "true") == 0;
    } else if (strcmp(name, "EncodingType") == 0) {
        p->is_escaped = strcmp(p->text, "url") == 0;
    } else if (strcmp(name, "NextContinuationToken") == 0 && p->end->token == NULL) {
        p->end->token = sl_strdup(p->text);
        if (p->end->token == NULL) {
            list_fail(p, SLUICE_NOMEM, "out of memory");
        }
    }
}

static void XMLCALL list_end(void *user, const XML_Char *name)
{
    list_parser *p = user;
    if (p->depth == 3 && (p->in_contents || p->in_folder)) {
        take_value(p, name);
    } else if (p->depth == 2 && (p->in_contents || p->in_folder)) {
        take_entry(p);
        p->in_contents = p->in_folder = false;
    } else if (p->depth == 2) {
        take_end(p, name);
    }
    p->text_bytes = 0;
    p->text[0] = '\0';
    p->depth--;
}

/* Searches ahead for EncodingType, which some stores send after the keys. */
static bool announces_escapes(sl_bytes text)
{
    static const char mark[] = "<EncodingType>url<";
    return memmem(text.data, text.size, mark, sizeof(mark) - 1) != NULL;
}

static sluice_status list_parse(list_parser *p, sl_bytes text, sluice_error *error)
{
    XML_SetUserData(p->parser, p);
    XML_SetElementHandler(p->parser, list_begin, list_end);
    XML_SetCharacterDataHandler(p->parser, list_text);
    XML_SetEntityDeclHandler(p->parser, list_entity);
    const bool parsed =
        XML_Parse(p->parser, (const char *)text.data, (int)text.size, 1) == XML_STATUS_OK;
    if (p->status == SLUICE_OK && (!parsed || !p->is_list)) {
        p->status = SLUICE_CORRUPT;
        p->why = parsed ? "it is not a ListBucketResult" : "it is not valid XML";
    }
    if (p->status == SLUICE_OK && !p->has_truncated) {
        p->status = SLUICE_CORRUPT;
        p->why = "it does not say whether it is complete";
    }
    if (p->status == SLUICE_OK && p->end->more && p->end->token == NULL) {
        p->status = SLUICE_CORRUPT;
        p->why = "it is truncated but does not name the next page";
    }
    return p->status == SLUICE_OK ? SLUICE_OK
                                  : sl_error_set(error, p->status, STAGE,
                                                 "cannot read the store's listing: %s", p->why);
}

sluice_status sl_list_xml_read(sl_bytes text, const char *prefix, sl_entries *entries,
                               sl_page_end *end, sluice_error *error)
{
    list_parser *p = sl_calloc(1, sizeof(*p));
    *end = (sl_page_end){.more = false};
    if (p != NULL) {
        p->parser = XML_ParserCreate(NULL);
    }
    if (p == NULL || p->parser == NULL || text.size > INT32_MAX) {
        sl_free(p);
        return sl_no_memory(error, STAGE, "for a page of a listing");
    }
    p->prefix = prefix;
    p->entries = entries;
    p->end = end;
    p->is_escaped = announces_escapes(text);
    const sluice_status status = list_parse(p, text, error);
    if (status < 0) {
        sl_free(end->token);
        end->token = NULL;
    }
    XML_ParserFree(p->parser);
    sl_free(p);
    return status;
}
