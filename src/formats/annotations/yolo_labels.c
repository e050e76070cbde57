/* SPDX-License-Identifier: Apache-2.0 */
#include "yolo_labels.h"

#include "error.h"
#include "memory.h"
#include "number_text.h"
#include "store.h"
#include "text_file.h"

#include <math.h>
#include <string.h>

#define STAGE "dataset"

/* Number of values in a line: with a box; with the smallest polygon. */
enum { BOX_NUMBERS = 5, POLYGON_NUMBERS = 7, LOOK_BYTES = 512, MARK_BYTES = 3 };

static const char spaces[] = " \t\r\v\f";

/* State of reading a file. */
typedef struct reader {
    const char *path, *text;
    sl_yolo_page *page;
    const sl_yolo_rules *rules;
    uint64_t line;
    const char *at;  /* beginning of the current line */
    double *numbers; /* values of the current line */
    uint64_t count, capacity;
    sluice_error *error;
} reader;

static sluice_status yolo_labels_refuse(const reader *r, const char *why)
{
    return sl_error_file(r->error, SLUICE_CORRUPT, STAGE, 0, r->path, (int64_t)(r->at - r->text),
                         "line %llu: %s", (unsigned long long)r->line, why);
}

static sluice_status yolo_labels_no_memory(const reader *r)
{
    return sl_no_memory_file(r->error, STAGE, r->path, "for its labels");
}

/* ---- numbers ---- */

/* Reads a number; accepts no hexadecimal numbers and no words such as nan. */
static bool yolo_read_number(const char *text, size_t bytes, double *number)
{
    char *end;
    if (strspn(text, "0123456789+-.eE") < bytes) {
        return false;
    }
    *number = sl_read_double(text, &end);
    return end == text + bytes && isfinite(*number);
}

/* Splits the line at r->at, which ends with a NUL, into numbers. */
static sluice_status yolo_split(reader *r)
{
    r->count = 0;
    for (const char *at = r->at + strspn(r->at, spaces); *at != '\0';) {
        const size_t bytes = strcspn(at, spaces);
        double number;
        if (!yolo_read_number(at, bytes, &number)) {
            return sl_error_file(r->error, SLUICE_CORRUPT, STAGE, 0, r->path,
                                 (int64_t)(at - r->text), "line %llu: \"%.*s\" is not a number",
                                 (unsigned long long)r->line, (int)(bytes < 64 ? bytes : 64), at);
        }
        if (!sl_grow(&r->numbers, &r->capacity, r->count + 1, sizeof(*r->numbers))) {
            return yolo_labels_no_memory(r);
        }
        r->numbers[r->count++] = number;
        at += bytes;
        at += strspn(at, spaces);
    }
    return SLUICE_OK;
}

/* ---- objects ---- */

static sluice_status yolo_check_class(const reader *r, double class)
{
    if (class < 0 || class != floor(class)) {
        return yolo_labels_refuse(r, "its class is not a whole number of at least 0");
    }
    return class < r->rules->classes
               ? SLUICE_OK
               : sl_error_file(
                     r->error, SLUICE_CORRUPT, STAGE, 0, r->path, (int64_t)(r->at - r->text),
                     "line %llu: class %.0f is out of range: there are %u classes, from 0",
                     (unsigned long long)r->line, class, r->rules->classes);
}

static sluice_status yolo_check_range(const reader *r, uint64_t first, uint64_t end, uint64_t step,
                                      uint64_t checked)
{
    for (uint64_t i = first; i < end; i++) {
        if ((i - first) % step < checked &&
            (r->numbers[i] < -SL_YOLO_TOLERANCE || r->numbers[i] > 1 + SL_YOLO_TOLERANCE)) {
            return sl_error_file(r->error, SLUICE_CORRUPT, STAGE, 0, r->path,
                                 (int64_t)(r->at - r->text),
                                 "line %llu: %g is not in 0..1, the range of fractions of the "
                                 "image's width and height; divide pixel values by these",
                                 (unsigned long long)r->line, r->numbers[i]);
        }
    }
    return SLUICE_OK;
}

static sluice_status yolo_take_box(const reader *r, sl_yolo_object *object)
{
    for (uint32_t i = 0; i < 4; i++) {
        object->box[i] = (float)r->numbers[1 + i];
    }
    if (r->numbers[3] < 0 || r->numbers[4] < 0) {
        return sl_error_file(
            r->error, SLUICE_CORRUPT, STAGE, 0, r->path, (int64_t)(r->at - r->text),
            "line %llu: negative width or height: %g x %g; correct the line, or remove it",
            (unsigned long long)r->line, r->numbers[3], r->numbers[4]);
    }
    return yolo_check_range(r, 1, BOX_NUMBERS, 1, 1);
}

/* Computes the bounding box of a polygon, in single precision like other implementations. */
static sluice_status yolo_take_polygon(const reader *r, sl_yolo_object *object)
{
    float low[2] = {(float)r->numbers[1], (float)r->numbers[2]};
    float high[2] = {low[0], low[1]};
    for (uint64_t i = 3; i < r->count; i++) {
        const uint64_t axis = (i - 1) % 2;
        const float number = (float)r->numbers[i];
        low[axis] = number < low[axis] ? number : low[axis];
        high[axis] = number > high[axis] ? number : high[axis];
    }
    for (uint32_t axis = 0; axis < 2; axis++) {
        object->box[axis] = (low[axis] + high[axis]) / 2;
        object->box[2 + axis] = high[axis] - low[axis];
    }
    return yolo_check_range(r, 1, r->count, 1, 1);
}

static sluice_status yolo_take_points(reader *r)
{
    const uint64_t points = (uint64_t)r->rules->points * r->rules->dims;
    sl_yolo_page *page = r->page;
    if (!sl_grow(&page->points, &page->point_capacity, (page->count + 1) * points,
                 sizeof(*page->points))) {
        return yolo_labels_no_memory(r);
    }
    for (uint64_t i = 0; i < points; i++) {
        page->points[page->count * points + i] = (float)r->numbers[BOX_NUMBERS + i];
    }
    return yolo_check_range(r, BOX_NUMBERS, BOX_NUMBERS + points, r->rules->dims, 2);
}

static sluice_status yolo_refuse_count(const reader *r)
{
    const uint64_t points = (uint64_t)r->rules->points * r->rules->dims;
    return points > 0
               ? sl_error_file(r->error, SLUICE_CORRUPT, STAGE, 0, r->path,
                               (int64_t)(r->at - r->text),
                               "line %llu: %llu numbers: kpt_shape requires %llu",
                               (unsigned long long)r->line, (unsigned long long)r->count,
                               (unsigned long long)(BOX_NUMBERS + points))
               : sl_error_file(
                     r->error, SLUICE_CORRUPT, STAGE, 0, r->path, (int64_t)(r->at - r->text),
                     "line %llu: %llu numbers: a box has 5, a polygon an odd number of at least 7",
                     (unsigned long long)r->line, (unsigned long long)r->count);
}

static sluice_status yolo_take_object(reader *r)
{
    sl_yolo_object object;
    const uint64_t points = (uint64_t)r->rules->points * r->rules->dims;
    const bool is_box = r->count == BOX_NUMBERS + points;
    if (!is_box && (points > 0 || r->count < POLYGON_NUMBERS || r->count % 2 == 0)) {
        return yolo_refuse_count(r);
    }
    sluice_status status = yolo_check_class(r, r->numbers[0]);
    if (status < 0) {
        return status;
    }
    object.class = (uint32_t)r->numbers[0];
    status = is_box ? yolo_take_box(r, &object) : yolo_take_polygon(r, &object);
    status = status == SLUICE_OK && points > 0 ? yolo_take_points(r) : status;
    if (status == SLUICE_OK && !sl_grow(&r->page->objects, &r->page->capacity, r->page->count + 1,
                                        sizeof(*r->page->objects))) {
        status = yolo_labels_no_memory(r);
    }
    if (status == SLUICE_OK) {
        r->page->objects[r->page->count++] = object;
    }
    return status;
}

/* ---- files ---- */

static sluice_status yolo_take_lines(reader *r, char *text, size_t size)
{
    sluice_status status = SLUICE_OK;
    for (char *line = text; status == SLUICE_OK && line < text + size;) {
        char *next = line + strcspn(line, "\n") + 1;
        next[-1] = '\0';
        r->at = line;
        r->line++;
        status = yolo_split(r);
        if (status == SLUICE_OK && r->count > 0) {
            status = yolo_take_object(r);
        }
        line = next;
    }
    return status;
}

sluice_status sl_yolo_labels_read(sl_yolo_page *page, const sl_yolo_rules *rules, const char *path,
                                  sluice_error *error)
{
    sl_text_file file = {.data = NULL};
    sl_store_facts facts;
    const int failed = sl_store_stat(path, &facts);
    if (failed < 0 && sl_store_is_missing(failed)) {
        return SLUICE_OK;
    }
    page->is_there = true;
    sluice_status status = sl_text_file_read(&file, path, SL_YOLO_BYTES_MAX, error);
    reader r = {.path = path, .text = file.data, .page = page, .rules = rules, .error = error};
    status = status == SLUICE_OK ? yolo_take_lines(&r, file.text, file.size) : status;
    sl_free(r.numbers);
    sl_text_file_close(&file);
    return status;
}

void sl_yolo_page_close(sl_yolo_page *page)
{
    sl_free(page->objects);
    sl_free(page->points);
    *page = (sl_yolo_page){.count = 0};
}

bool sl_yolo_labels_look(const char *path)
{
    char head[LOOK_BYTES + 1];
    sl_store_facts facts;
    int numbers = 0;
    double number;
    const size_t bytes = sl_text_look(path, head, LOOK_BYTES);
    const char *at = head + strspn(head, " \t\r\n");
    if (*at == '\0') {
        return sl_store_stat(path, &facts) == 0 && facts.identity.bytes <= bytes + MARK_BYTES;
    }
    for (; *at != '\n' && *at != '\0' && numbers < BOX_NUMBERS; numbers++) {
        const size_t length = strcspn(at, " \t\r\n");
        if (!yolo_read_number(at, length, &number)) {
            return false;
        }
        at += length;
        at += strspn(at, spaces);
    }
    return numbers == BOX_NUMBERS;
}
