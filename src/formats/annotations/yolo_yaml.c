/* SPDX-License-Identifier: Apache-2.0 */
#include "yolo_yaml.h"

#include "error.h"
#include "memory.h"
#include "store.h"
#include "text_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

#define STAGE "dataset"

enum { POINTS_MAX = 1024 };

/* State of reading a file. */
typedef struct reader {
    const char *path;
    yaml_parser_t parser;
    yaml_event_t event; /* the last event; valid if `has_event` */
    bool has_event;
    uint32_t depth;
    json_t *keys; /* keys seen in the file's mapping */
    sluice_error *error;
} reader;

static sluice_status yaml_refuse(const reader *r, sluice_status status, const char *why)
{
    return sl_error_file(r->error, status, STAGE, 0, r->path, -1, "line %zu: %s",
                         r->event.start_mark.line + 1, why);
}

/* ---- events ---- */

static void yaml_drop(reader *r)
{
    if (r->has_event) {
        yaml_event_delete(&r->event);
    }
    r->has_event = false;
}

static sluice_status yaml_next(reader *r)
{
    yaml_drop(r);
    if (yaml_parser_parse(&r->parser, &r->event) == 0) {
        return r->parser.error == YAML_MEMORY_ERROR
                   ? sl_no_memory_file(r->error, STAGE, r->path, "for its members")
                   : sl_error_file(r->error, SLUICE_CORRUPT, STAGE, 0, r->path, -1,
                                   "line %zu: not valid YAML: %s", r->parser.problem_mark.line + 1,
                                   r->parser.problem != NULL ? r->parser.problem : "unknown");
    }
    r->has_event = true;
    switch (r->event.type) {
    case YAML_ALIAS_EVENT:
        return yaml_refuse(r, SLUICE_UNSUPPORTED, "aliases are not supported");
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT:
        r->depth++;
        return r->depth <= SL_YOLO_DEPTH_MAX
                   ? SLUICE_OK
                   : yaml_refuse(r, SLUICE_UNSUPPORTED, "lists nested more than 32 deep");
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        r->depth--;
        return SLUICE_OK;
    default:
        return SLUICE_OK;
    }
}

/* Skips the rest of the value that the last event begins. */
static sluice_status yaml_pass(reader *r)
{
    sluice_status status = SLUICE_OK;
    if (r->event.type == YAML_SEQUENCE_START_EVENT || r->event.type == YAML_MAPPING_START_EVENT) {
        const uint32_t outside = r->depth - 1;
        while (status == SLUICE_OK && r->depth > outside) {
            status = yaml_next(r);
        }
    }
    return status;
}

/* Returns the text of the last event; NULL: it is not a scalar. */
static const char *yaml_text(const reader *r)
{
    const char *text = (const char *)r->event.data.scalar.value;
    return r->event.type == YAML_SCALAR_EVENT && strlen(text) == r->event.data.scalar.length ? text
                                                                                             : NULL;
}

static bool is_null(const reader *r)
{
    const char *text = yaml_text(r);
    const bool plain = text != NULL && r->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    return text != NULL &&
           (text[0] == '\0' || (plain && (strcmp(text, "~") == 0 || strcmp(text, "null") == 0)));
}

/* Reads the last event as a number in 0..most; false: it is not one. */
static bool yaml_number(const reader *r, long most, uint32_t *number)
{
    char *end;
    const char *text = yaml_text(r);
    if (text == NULL || text[0] < '0' || text[0] > '9') {
        return false;
    }
    errno = 0;
    const long value = strtol(text, &end, 10);
    *number = (uint32_t)value;
    return *end == '\0' && errno == 0 && value <= most;
}

/* ---- members ---- */

static sluice_status yaml_add_text(reader *r, json_t *list)
{
    const char *text = yaml_text(r);
    if (text == NULL) {
        return yaml_refuse(r, SLUICE_CORRUPT, "expected a text");
    }
    return json_array_append_new(list, json_string(text)) == 0
               ? SLUICE_OK
               : yaml_refuse(r, SLUICE_CORRUPT, "a text is not valid UTF-8");
}

/* Reads a text or a list of texts into a new array. */
static sluice_status yaml_take_texts(reader *r, json_t **list)
{
    if (is_null(r)) {
        return SLUICE_OK;
    }
    *list = json_array();
    if (*list == NULL) {
        return sl_no_memory_file(r->error, STAGE, r->path, "for its members");
    }
    if (r->event.type != YAML_SEQUENCE_START_EVENT) {
        return yaml_add_text(r, *list);
    }
    sluice_status status = yaml_next(r);
    while (status == SLUICE_OK && r->event.type != YAML_SEQUENCE_END_EVENT) {
        status = yaml_add_text(r, *list);
        status = status == SLUICE_OK ? yaml_next(r) : status;
    }
    return status;
}

/* Reads a pair of a mapping from numbers to names, in any order. */
static sluice_status yaml_name_class(reader *r, json_t *found)
{
    uint32_t number;
    char key[24];
    if (!yaml_number(r, SL_YOLO_CLASSES_MAX - 1, &number)) {
        return yaml_refuse(r, SLUICE_CORRUPT, "expected the number of a class");
    }
    (void)snprintf(key, sizeof(key), "%u", number);
    const sluice_status status = yaml_next(r);
    if (status < 0) {
        return status;
    }
    const char *name = yaml_text(r);
    if (name == NULL || json_object_get(found, key) != NULL) {
        return yaml_refuse(r, SLUICE_CORRUPT,
                           name == NULL ? "expected the name of a class" : "a class has two names");
    }
    return json_object_set_new(found, key, json_string(name)) == 0
               ? SLUICE_OK
               : yaml_refuse(r, SLUICE_CORRUPT, "a name is not valid UTF-8");
}

static sluice_status yaml_order_names(const reader *r, json_t *found, json_t *names)
{
    char key[24];
    const size_t count = json_object_size(found);
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(key, sizeof(key), "%zu", i);
        json_t *name = json_object_get(found, key);
        if (name == NULL) {
            return sl_error_file(r->error, SLUICE_CORRUPT, STAGE, 0, r->path, -1,
                                 "\"names\" has %zu classes, but not number %zu", count, i);
        }
        if (json_array_append(names, name) != 0) {
            return sl_no_memory_file(r->error, STAGE, r->path, "for its members");
        }
    }
    return SLUICE_OK;
}

static sluice_status yaml_take_names(reader *r, sl_yolo_yaml *yaml)
{
    if (r->event.type != YAML_MAPPING_START_EVENT) {
        return r->event.type == YAML_SEQUENCE_START_EVENT || is_null(r)
                   ? yaml_take_texts(r, &yaml->names)
                   : yaml_refuse(r, SLUICE_CORRUPT,
                                 "\"names\" must be a list, or a mapping from numbers");
    }
    json_t *found = json_object();
    yaml->names = json_array();
    sluice_status status = found != NULL && yaml->names != NULL
                               ? yaml_next(r)
                               : sl_no_memory_file(r->error, STAGE, r->path, "for its members");
    while (status == SLUICE_OK && r->event.type != YAML_MAPPING_END_EVENT) {
        status = yaml_name_class(r, found);
        status = status == SLUICE_OK ? yaml_next(r) : status;
    }
    status = status == SLUICE_OK ? yaml_order_names(r, found, yaml->names) : status;
    json_decref(found);
    return status;
}

static sluice_status yaml_take_points(reader *r, sl_yolo_yaml *yaml)
{
    uint32_t shape[2] = {0, 0};
    uint32_t count = 0;
    if (is_null(r)) {
        return SLUICE_OK;
    }
    bool fine = r->event.type == YAML_SEQUENCE_START_EVENT;
    sluice_status status = fine ? yaml_next(r) : SLUICE_OK;
    while (status == SLUICE_OK && fine && r->event.type != YAML_SEQUENCE_END_EVENT) {
        fine = count < 2 && yaml_number(r, POINTS_MAX, &shape[count]);
        count++;
        status = fine ? yaml_next(r) : SLUICE_OK;
    }
    if (status < 0) {
        return status;
    }
    if (!fine || count != 2 || shape[0] == 0 || (shape[1] != 2 && shape[1] != 3)) {
        return yaml_refuse(r, SLUICE_CORRUPT,
                           "\"kpt_shape\" must be a list of two numbers: 1 to 1024 points, and 2 "
                           "or 3 values for each");
    }
    yaml->rules.points = shape[0];
    yaml->rules.dims = shape[1];
    return SLUICE_OK;
}

static sluice_status yaml_take_path(reader *r, sl_yolo_yaml *yaml)
{
    const char *text = yaml_text(r);
    if (text == NULL || is_null(r)) {
        return text != NULL ? SLUICE_OK : yaml_refuse(r, SLUICE_CORRUPT, "\"path\" is not a text");
    }
    yaml->path = sl_strdup(text);
    return yaml->path != NULL ? SLUICE_OK
                              : sl_no_memory_file(r->error, STAGE, r->path, "for its members");
}

/*
 * Returns the key that a skipped key was probably meant to be; NULL: it is read, or belongs to
 * other tools.
 */
static const char *yaml_meant(const char *key)
{
    static const char *const keys[] = {"train", "val", "test", "path", "names", "nc", "kpt_shape"};
    static const char *const val[] = {"valid", "validation", "dev"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (strcasecmp(keys[i], key) == 0) {
            return strcmp(keys[i], key) == 0 ? NULL : keys[i];
        }
    }
    for (size_t i = 0; i < sizeof(val) / sizeof(val[0]); i++) {
        if (strcasecmp(val[i], key) == 0) {
            return "val";
        }
    }
    return strcasecmp(key, "training") == 0 ? "train" : NULL;
}

/* Rejects a repeated key, and one that is probably misspelled. */
static sluice_status yaml_check_key(reader *r, const char *key)
{
    const char *meant = yaml_meant(key);
    if (meant == NULL && json_object_get(r->keys, key) == NULL) {
        return json_object_set_new(r->keys, key, json_true()) == 0
                   ? SLUICE_OK
                   : yaml_refuse(r, SLUICE_CORRUPT, "a key that is not valid UTF-8");
    }
    return sl_error_file(r->error, SLUICE_CORRUPT, STAGE, 0, r->path, -1,
                         meant != NULL ? "line %zu: unknown key \"%.64s\": write \"%s\""
                                       : "line %zu: the key \"%.64s\" occurs twice%s",
                         r->event.start_mark.line + 1, key, meant != NULL ? meant : "");
}

/* Reads the value of a member whose key was the last event. */
static sluice_status yaml_take_member(reader *r, sl_yolo_yaml *yaml)
{
    char key[24];
    const char *text = yaml_text(r);
    (void)snprintf(key, sizeof(key), "%.23s", text != NULL ? text : "");
    sluice_status status = text != NULL ? yaml_check_key(r, text) : SLUICE_OK;
    status = status == SLUICE_OK ? yaml_pass(r) : status; /* a key may be any value */
    status = status == SLUICE_OK ? yaml_next(r) : status;
    if (status < 0) {
        return status;
    }
    for (int i = 0; i < SL_YOLO_SPLITS; i++) {
        if (strcmp(key, sl_yolo_splits[i]) == 0) {
            return yaml_take_texts(r, &yaml->splits[i]);
        }
    }
    if (strcmp(key, "path") == 0) {
        return yaml_take_path(r, yaml);
    }
    if (strcmp(key, "names") == 0) {
        return yaml_take_names(r, yaml);
    }
    if (strcmp(key, "kpt_shape") == 0) {
        return yaml_take_points(r, yaml);
    }
    if (strcmp(key, "nc") == 0 && !is_null(r)) {
        return yaml_number(r, SL_YOLO_CLASSES_MAX, &yaml->rules.classes) && yaml->rules.classes > 0
                   ? SLUICE_OK
                   : yaml_refuse(r, SLUICE_CORRUPT, "\"nc\" must be a number from 1 to 65536");
    }
    return yaml_pass(r);
}

static sluice_status yaml_take_all(reader *r, sl_yolo_yaml *yaml)
{
    sluice_status status = yaml_next(r); /* the stream event */
    status = status == SLUICE_OK ? yaml_next(r) : status;
    if (status == SLUICE_OK && r->event.type == YAML_DOCUMENT_START_EVENT) {
        status = yaml_next(r);
    }
    if (status == SLUICE_OK && r->event.type != YAML_MAPPING_START_EVENT) {
        return yaml_refuse(r, SLUICE_CORRUPT, "not a mapping: a YOLO YAML file must be one");
    }
    status = status == SLUICE_OK ? yaml_next(r) : status;
    while (status == SLUICE_OK && r->event.type != YAML_MAPPING_END_EVENT) {
        status = yaml_take_member(r, yaml);
        status = status == SLUICE_OK ? yaml_next(r) : status;
    }
    return status;
}

static sluice_status yaml_check(const reader *r, sl_yolo_yaml *yaml)
{
    const size_t names = json_array_size(yaml->names);
    if (names > SL_YOLO_CLASSES_MAX) {
        return sl_error_file(r->error, SLUICE_UNSUPPORTED, STAGE, 0, r->path, -1,
                             "%zu class names: at most 65536 are allowed", names);
    }
    if (names > 0 && yaml->rules.classes > 0 && names != yaml->rules.classes) {
        return sl_error_file(r->error, SLUICE_CORRUPT, STAGE, 0, r->path, -1,
                             "\"names\" has %zu classes, but \"nc\" is %u", names,
                             yaml->rules.classes);
    }
    yaml->rules.classes = names > 0 ? (uint32_t)names : yaml->rules.classes;
    return SLUICE_OK;
}

sluice_status sl_yolo_yaml_read(sl_yolo_yaml *yaml, const char *path, sluice_error *error)
{
    uint8_t *data;
    size_t size;
    reader r = {.path = path, .keys = NULL, .error = error};
    sluice_status status =
        sl_store_read_whole((sl_file_name){STAGE, path}, SL_YOLO_YAML_MAX, &data, &size, error);
    if (status < 0) {
        return status;
    }
    if (sl_text_encoding(data, size) != NULL) {
        status = sl_text_refuse_encoding(STAGE, path, sl_text_encoding(data, size), error);
        sl_free(data);
        return status;
    }
    if (yaml_parser_initialize(&r.parser) == 0) {
        sl_free(data);
        return sl_no_memory_file(error, STAGE, path, "for its members");
    }
    yaml_parser_set_input_string(&r.parser, data, size);
    r.keys = json_object();
    status = r.keys != NULL ? yaml_take_all(&r, yaml)
                            : sl_no_memory_file(error, STAGE, path, "for its members");
    status = status == SLUICE_OK ? yaml_check(&r, yaml) : status;
    yaml_drop(&r);
    json_decref(r.keys);
    yaml_parser_delete(&r.parser);
    sl_free(data);
    return status;
}

void sl_yolo_yaml_close(sl_yolo_yaml *yaml)
{
    sl_free(yaml->path);
    for (int i = 0; i < SL_YOLO_SPLITS; i++) {
        json_decref(yaml->splits[i]);
    }
    json_decref(yaml->names);
    *yaml = (sl_yolo_yaml){.path = NULL};
}
