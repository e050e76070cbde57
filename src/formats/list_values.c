/* SPDX-License-Identifier: Apache-2.0 */
#include "list_values.h"

#include "checksum.h"
#include "media.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { VALUE_BYTES = 256, DEPTH = 24, DIGEST_DIGITS = 32 };

/* ---- a value ---- */

static bool has_picture_extension(const char *text, size_t *stem)
{
    const char *dot = strrchr(text, '.');
    *stem = strlen(text);
    if (dot == NULL || dot == text || !sl_media_names_picture(dot + 1)) {
        return false;
    }
    *stem = (size_t)(dot - text);
    return true;
}

/* Normalises a number: "007" and "7.0" become 7. */
static bool make_number(char *text)
{
    const size_t digits = strspn(text, "0123456789");
    const char *rest = text + digits;
    const bool is_whole = rest[0] == '.' && rest[1] == '0' && rest[strspn(rest + 1, "0") + 1] == 0;
    if (digits == 0 || (rest[0] != '\0' && !is_whole)) {
        return false;
    }
    text[digits] = '\0';
    const size_t zeros = strspn(text, "0");
    memmove(text, text + (zeros == digits ? zeros - 1 : zeros),
            digits - (zeros == digits ? zeros - 1 : zeros) + 1);
    return true;
}

/* Returns the length without the number of a caption: "1.jpg#0". */
static size_t without_number(const char *text, size_t bytes)
{
    size_t end = bytes;
    while (end > 0 && isdigit((unsigned char)text[end - 1]) != 0) {
        end--;
    }
    return end > 1 && end < bytes && text[end - 1] == '#' ? end - 1 : bytes;
}

/* Hashes a text in lower case, without an image extension and leading zeros. */
static void list_values_hash(sl_list_value *value, const char *text, size_t bytes)
{
    char name[VALUE_BYTES];
    size_t stem;
    for (size_t i = 0; i < bytes; i++) {
        name[i] = text[i];
        if (text[i] >= 'A' && text[i] <= 'Z') {
            name[i] = (char)(text[i] - 'A' + 'a');
        }
    }
    name[bytes] = '\0';
    value->is_picture = has_picture_extension(name, &stem);
    name[stem] = '\0';
    value->is_number = make_number(name) && !value->is_picture;
    const uint64_t hash = sl_checksum(name, strlen(name));
    value->hash = hash != 0 ? hash : 1;
}

sl_list_value sl_list_value_of(const char *text, size_t bytes)
{
    sl_list_value value = {.hash = 0};
    size_t begin = bytes;
    while (begin > 0 && text[begin - 1] != '/' && text[begin - 1] != '\\') {
        begin--;
    }
    const size_t shown = bytes < sizeof(value.text) ? bytes : sizeof(value.text) - 1;
    memcpy(value.text, text, shown);
    value.text[shown] = '\0';
    value.has_folder = begin > 0;
    bytes = without_number(text, bytes);
    if (begin >= bytes || bytes - begin >= VALUE_BYTES) {
        return value;
    }
    list_values_hash(&value, text + begin, bytes - begin);
    return value;
}

/* ---- groups ---- */

static bool is_digest_text(const char *text, size_t bytes)
{
    return bytes >= DIGEST_DIGITS && strspn(text, "0123456789abcdefABCDEF*") >= bytes;
}

static void list_values_add(sl_list_values *values, uint64_t id, const char *name, const char *text,
                            size_t bytes)
{
    uint32_t at = 0;
    while (at < values->count && values->groups[at].id != id) {
        at++;
    }
    if (at == SL_LIST_GROUPS) {
        values->dropped++;
        return;
    }
    sl_list_group *group = &values->groups[at];
    if (at == values->count) {
        values->count++;
        group->id = id;
        (void)snprintf(group->name, sizeof(group->name), "%s", name);
        (void)snprintf(group->first, sizeof(group->first), "%.*s", (int)(bytes < 64 ? bytes : 64),
                       text);
    }
    group->total++;
    group->has_digests = group->has_digests || is_digest_text(text, bytes);
    if (group->count < SL_LIST_VALUES) {
        group->values[group->count++] = sl_list_value_of(text, bytes);
    }
}

/* ---- lines ---- */

/*
 * Finds the delimiter of cells: the most frequent one in the first line, or blanks if it has none.
 */
static char find_delimiter(const char *line, size_t bytes)
{
    static const char delimiters[] = ",;\t|";
    char best = ' ';
    size_t most = 0;
    for (const char *d = delimiters; *d != '\0'; d++) {
        size_t count = 0;
        for (size_t i = 0; i < bytes; i++) {
            count += line[i] == *d;
        }
        if (count > most) {
            most = count;
            best = *d;
        }
    }
    return best;
}

static void list_values_cell(sl_list_values *values, uint32_t column, const char *text,
                             size_t bytes)
{
    static const char around[] = " \t\r\"'";
    char name[SL_LIST_TEXT];
    while (bytes > 0 && strchr(around, text[0]) != NULL) {
        text++;
        bytes--;
    }
    while (bytes > 0 && strchr(around, text[bytes - 1]) != NULL) {
        bytes--;
    }
    (void)snprintf(name, sizeof(name), "%.*s", (int)(bytes < 64 ? bytes : 64), text);
    list_values_add(values, column, name, text, bytes);
}

static void list_values_line(sl_list_values *values, const char *line, size_t bytes, char delimiter)
{
    size_t begin = 0;
    uint32_t column = 0;
    bool quoted = false;
    for (size_t i = 0; i <= bytes; i++) {
        quoted = i < bytes && line[i] == '"' ? !quoted : quoted;
        if (i < bytes && (quoted || line[i] != delimiter)) {
            continue;
        }
        if (delimiter != ' ' || i > begin) {
            list_values_cell(values, column++, line + begin, i - begin);
        }
        begin = i + 1;
    }
}

static void list_values_lines(sl_list_values *values, const char *text)
{
    char delimiter = '\0';
    while (*text != '\0') {
        const size_t length = strcspn(text, "\r\n");
        if (length > 0 && text[0] != '#') {
            if (delimiter == '\0') {
                delimiter = find_delimiter(text, length);
            }
            list_values_line(values, text, length, delimiter);
            values->lines++;
        }
        text += length + (text[length] != '\0');
    }
}

/* ---- JSON ---- */

typedef struct json_look {
    sl_list_values *values;
    const char *at, *end;
    uint32_t depth;
    bool is_array[DEPTH];
    uint32_t index[DEPTH];
    char key[DEPTH][SL_LIST_TEXT];
} json_look;

/* Returns the key of a value: that of the innermost object around it. */
static const char *list_values_key(const json_look *j)
{
    uint32_t depth = j->depth < DEPTH ? j->depth : DEPTH - 1;
    while (depth > 0 && j->is_array[depth]) {
        depth--;
    }
    return j->key[depth];
}

static void add_json(json_look *j, bool is_key, const char *text, size_t bytes)
{
    const uint32_t depth = j->depth < DEPTH ? j->depth : DEPTH - 1;
    const bool is_pair = depth > 1 && j->is_array[depth] && j->is_array[depth - 1];
    const char *name = is_key ? "" : list_values_key(j);
    const uint64_t position = is_pair ? j->index[depth] + 1U : 0;
    const uint64_t id =
        sl_checksum(name, strlen(name)) + depth + 1000 * position + (is_key ? 7 : 0);
    list_values_add(j->values, id, name, text, bytes);
}

static void enter_json(json_look *j)
{
    j->depth++;
    if (j->depth < DEPTH) {
        j->is_array[j->depth] = *j->at == '[';
        j->index[j->depth] = 0;
        j->key[j->depth][0] = '\0';
    }
    j->at++;
}

static void read_json_word(json_look *j)
{
    const bool quoted = *j->at == '"';
    const char *begin = j->at + quoted;
    const char *at = begin;
    while (at < j->end && (quoted ? *at != '"' : strchr(" \t\r\n,:[]{}\"", *at) == NULL)) {
        at += quoted && *at == '\\' && at + 1 < j->end ? 2 : 1;
    }
    const size_t bytes = (size_t)(at - begin);
    at += quoted && at < j->end;
    j->at = at;
    while (at < j->end && isspace((unsigned char)*at) != 0) {
        at++;
    }
    const bool is_key = at < j->end && *at == ':';
    if (is_key && j->depth < DEPTH) {
        (void)snprintf(j->key[j->depth], SL_LIST_TEXT, "%.*s", (int)(bytes < 64 ? bytes : 64),
                       begin);
    }
    add_json(j, is_key, begin, bytes);
}

static void list_values_json(sl_list_values *values, const char *text, size_t bytes)
{
    json_look j = {.values = values, .at = text, .end = text + bytes};
    while (j.at < j.end) {
        if (*j.at == '[' || *j.at == '{') {
            enter_json(&j);
        } else if (*j.at == ']' || *j.at == '}') {
            j.depth -= j.depth > 0;
            j.at++;
        } else if (*j.at == ',') {
            j.index[j.depth < DEPTH ? j.depth : DEPTH - 1]++;
            j.at++;
        } else if (isspace((unsigned char)*j.at) != 0 || *j.at == ':') {
            j.at++;
        } else {
            read_json_word(&j);
        }
    }
}

/* ---- XML ---- */

/* Assigns each word to the word before it: an attribute or a tag. */
static void list_values_xml(sl_list_values *values, const char *text)
{
    static const char separators[] = " \t\r\n<>=\"'";
    char before[SL_LIST_TEXT] = "";
    text += strspn(text, separators);
    while (*text != '\0') {
        const size_t length = strcspn(text, separators);
        list_values_add(values, sl_checksum(before, strlen(before)), before, text, length);
        (void)snprintf(before, sizeof(before), "%.*s", (int)(length < 64 ? length : 64), text);
        text += length;
        text += strspn(text, separators);
    }
}

void sl_list_values_read(sl_list_values *values, const char *name, const char *text, size_t bytes)
{
    static const char *const data[] = {"csv", "tsv", "json", "jsonl", "ndjson", "xml"};
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot != NULL && i < sizeof(data) / sizeof(data[0]); i++) {
        values->is_data = values->is_data || strcasecmp(dot + 1, data[i]) == 0;
    }
    const char first = text[strspn(text, " \t\r\n")];
    if (first == '{' || first == '[') {
        values->is_keyed = true;
        list_values_json(values, text, bytes);
    } else if (first == '<') {
        list_values_xml(values, text);
    } else {
        list_values_lines(values, text);
    }
}
