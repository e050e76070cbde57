/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the text twice: once to check and count, once to store. Pure. */
#include "segmentation.h"

#include "number_text.h"

#include <math.h>
#include <string.h>

#define STAGE "shapes"

enum { NUMBER_BYTES_MAX = 128, EXACT_DIGITS = 15, EXACT_POWER = 22, HEX_DIGITS = 4, HEX = 16 };
enum { LOOK_BYTES = 1 << 20 };

/* The counts, and where the values are stored, unless NULL. */
typedef struct shape_text {
    const uint8_t *from, *at, *end;
    const char *why; /* the first error */
    uint32_t annotations, polygons, points, runs;
    sl_instance *annotation;
    sl_polygon *polygon;
    double *point;
    uint32_t *run;
    const sl_work *work;
    const uint8_t *look; /* where the stop flag is checked next */
    bool stopped;
} shape_text;

static bool shape_refuse(shape_text *t, const char *why)
{
    t->why = t->why != NULL ? t->why : why;
    return false;
}

/* For each list: returns whether it goes on after an element. */
static bool shape_goes_on(shape_text *t)
{
    if (t->at >= t->look) {
        t->look = t->end - t->at > LOOK_BYTES ? t->at + LOOK_BYTES : t->end;
        t->stopped = sl_work_is_stopped(t->work);
    }
    return !t->stopped || shape_refuse(t, "stopped");
}

/* ---- JSON ---- */

/* Returns the next byte that is not blank, without taking it; 0 at the end. */
static uint8_t shape_peek(shape_text *t)
{
    while (t->at < t->end &&
           (*t->at == ' ' || *t->at == '\n' || *t->at == '\r' || *t->at == '\t')) {
        t->at++;
    }
    return t->at < t->end ? *t->at : 0;
}

static bool shape_skip(shape_text *t, char sign)
{
    const bool found = shape_peek(t) == (uint8_t)sign;
    t->at += found;
    return found;
}

static bool is_at_end(shape_text *t)
{
    (void)shape_peek(t);
    return t->at == t->end;
}

static bool skip_word(shape_text *t, const char *word)
{
    const size_t bytes = strlen(word);
    const bool found = (size_t)(t->end - t->at) >= bytes && memcmp(t->at, word, bytes) == 0;
    t->at += found ? bytes : 0;
    return found;
}

static bool shape_is_digit(const uint8_t *at, const uint8_t *end)
{
    return at < end && *at >= '0' && *at <= '9';
}

/* Returns the place after one or more digits, or NULL. */
static const uint8_t *behind_digits(const uint8_t *at, const uint8_t *end)
{
    const uint8_t *from = at;
    while (shape_is_digit(at, end)) {
        at++;
    }
    return at > from ? at : NULL;
}

/* Returns the place after a number in JSON's syntax, or NULL if it is not one. */
static const uint8_t *behind_number(const uint8_t *at, const uint8_t *end)
{
    at += at < end && *at == '-';
    const uint8_t *digits = at;
    at = behind_digits(at, end);
    if (at == NULL || (*digits == '0' && at > digits + 1)) {
        return NULL;
    }
    if (at < end && *at == '.') {
        at = behind_digits(at + 1, end);
    }
    if (at != NULL && at < end && (*at == 'e' || *at == 'E')) {
        at++;
        at += at < end && (*at == '+' || *at == '-');
        at = behind_digits(at, end);
    }
    return at;
}

/* Both numbers are exact, so their quotient is the nearest one. Returns false if they would not be
 * exact. */
static bool convert_short(const uint8_t *from, const uint8_t *to, double *number)
{
    static const double powers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    const bool minus = *from == '-';
    uint64_t digits = 0;
    uint32_t count = 0;
    uint32_t behind = 0;
    bool fraction = false;
    for (from += minus; from < to; from++) {
        if (*from == '.') {
            fraction = true;
        } else if (*from == 'e' || *from == 'E' || ++count > EXACT_DIGITS) {
            return false;
        } else {
            digits = digits * 10 + (*from - (uint64_t)'0');
            behind += fraction;
        }
    }
    const double size = (double)digits / powers[behind];
    *number = minus ? -size : size;
    return true;
}

static bool take_number(shape_text *t, double *number)
{
    char word[NUMBER_BYTES_MAX];
    (void)shape_peek(t);
    const uint8_t *to = behind_number(t->at, t->end);
    if (to == NULL) {
        return shape_refuse(t, "expected a number");
    }
    if (!convert_short(t->at, to, number)) {
        const size_t bytes = (size_t)(to - t->at);
        if (bytes >= sizeof(word)) {
            return shape_refuse(t, "a number has more than 127 characters");
        }
        memcpy(word, t->at, bytes);
        word[bytes] = '\0';
        *number = sl_read_double(word, NULL);
    }
    t->at = to;
    return true;
}

/* ---- polygons ---- */

static bool take_coordinate(shape_text *t, uint32_t place)
{
    double number;
    if (!take_number(t, &number)) {
        return false;
    }
    if (!(fabs(number) <= SL_POLYGON_REACH)) {
        return shape_refuse(t, "a coordinate is more than 2^20 pixels");
    }
    if (t->point != NULL) {
        t->point[2 * (size_t)t->points + place] = number;
    }
    t->points += place;
    return true;
}

/* Takes a list of numbers, after its bracket. */
static bool take_polygon(shape_text *t)
{
    const uint32_t first = t->points;
    if (!shape_skip(t, ']')) {
        do {
            if (!shape_goes_on(t) || !take_coordinate(t, 0)) {
                return false;
            }
            if (!shape_skip(t, ',')) {
                return shape_refuse(t, "a polygon has an odd number of coordinates");
            }
            if (!take_coordinate(t, 1)) {
                return false;
            }
        } while (shape_skip(t, ','));
        if (!shape_skip(t, ']')) {
            return shape_refuse(t, "a polygon is not a list of numbers");
        }
    }
    if (t->polygon != NULL) {
        t->polygon[t->polygons] = (sl_polygon){t->point + 2 * (size_t)first, t->points - first};
    }
    t->polygons++;
    return true;
}

static bool take_polygons(shape_text *t)
{
    if (shape_skip(t, ']')) {
        return true;
    }
    do {
        if (!shape_skip(t, '[')) {
            return shape_refuse(t, "its polygons are not a list of lists of numbers");
        }
        if (!shape_goes_on(t) || !take_polygon(t)) {
            return false;
        }
    } while (shape_skip(t, ','));
    return shape_skip(t, ']') || shape_refuse(t, "the list of its polygons is not closed");
}

/* ---- masks ---- */

/* Takes a character of a text; 0: no run lengths contain it. */
static uint8_t take_sign(shape_text *t)
{
    const uint8_t sign = *t->at++;
    if (sign != '\\' || t->at == t->end) {
        return sign == '\\' ? 0 : sign;
    }
    const uint8_t escape = *t->at++;
    uint32_t code = 0;
    if (escape == '\\') {
        return escape;
    }
    if (escape != 'u' || t->end - t->at < HEX_DIGITS) {
        return 0;
    }
    for (int i = 0; i < HEX_DIGITS; i++) {
        static const char digits[] = "0123456789abcdef0123456789ABCDEF";
        const char *digit = *t->at != 0 ? strchr(digits, *t->at) : NULL;
        if (digit == NULL) {
            return 0;
        }
        code = code * HEX + (uint32_t)(digit - digits) % HEX;
        t->at++;
    }
    return code < UINT8_MAX ? (uint8_t)code : 0;
}

static bool take_compressed(shape_text *t, sl_run_reader *runs)
{
    while (t->at < t->end && *t->at != '"') {
        if (!shape_goes_on(t)) {
            return false;
        }
        const char *why = sl_run_reader_add_sign(runs, take_sign(t));
        if (why != NULL) {
            return shape_refuse(t, why);
        }
    }
    return shape_skip(t, '"') || shape_refuse(t, "the text of its mask is not closed");
}

static bool take_lengths(shape_text *t, sl_run_reader *runs)
{
    if (shape_skip(t, ']')) {
        return true;
    }
    do {
        double length;
        const char *why =
            shape_goes_on(t) && take_number(t, &length) ? sl_run_reader_add(runs, length) : t->why;
        if (why != NULL) {
            return shape_refuse(t, why);
        }
    } while (shape_skip(t, ','));
    return shape_skip(t, ']') || shape_refuse(t, "the list of its run lengths is not closed");
}

static bool take_size(shape_text *t, double size[2])
{
    return (shape_skip(t, '[') && take_number(t, &size[0]) && shape_skip(t, ',') &&
            take_number(t, &size[1]) && shape_skip(t, ']')) ||
           shape_refuse(t, "the size of its mask is not [height, width]");
}

static bool take_member(shape_text *t, sl_run_reader *runs, double size[2], uint32_t *seen)
{
    (void)shape_peek(t);
    const uint32_t member = skip_word(t, "\"size\"") ? 1 : skip_word(t, "\"counts\"") ? 2 : 0;
    if (member == 0 || (*seen & member) != 0 || !shape_skip(t, ':')) {
        return shape_refuse(t, "its mask is not an object of size and counts");
    }
    *seen |= member;
    if (member == 1) {
        return take_size(t, size);
    }
    if (shape_skip(t, '"')) {
        return take_compressed(t, runs);
    }
    return shape_skip(t, '[')
               ? take_lengths(t, runs)
               : shape_refuse(t, "the counts of its mask are neither a text nor a list");
}

/* Takes an object, after its bracket. */
static bool take_mask(shape_text *t, sl_run_lengths *mask)
{
    sl_run_reader runs = {.ends = t->run != NULL ? t->run + t->runs : NULL};
    double size[2] = {0, 0};
    uint32_t seen = 0;
    do {
        if (!take_member(t, &runs, size, &seen)) {
            return false;
        }
    } while (shape_skip(t, ','));
    if (seen != 3 || !shape_skip(t, '}')) {
        return shape_refuse(t, "its mask is not an object of size and counts");
    }
    const char *why = sl_run_reader_check(&runs, size[1], size[0]);
    if (why != NULL) {
        return shape_refuse(t, why);
    }
    *mask = (sl_run_lengths){(uint32_t)size[1], (uint32_t)size[0], runs.count, runs.ends};
    t->runs += runs.count;
    return true;
}

/* ---- annotations ---- */

static bool take_element(shape_text *t, sl_run_lengths *runs)
{
    if (shape_skip(t, '[')) {
        return take_polygons(t);
    }
    if (shape_skip(t, '{')) {
        return take_mask(t, runs);
    }
    return skip_word(t, "null") ||
           shape_refuse(t, "its segmentation is neither polygons nor a mask");
}

static bool take_annotation(shape_text *t)
{
    sl_instance instance = {.first = t->polygons};
    const bool fine = take_element(t, &instance.runs);
    instance.polygons = t->polygons - instance.first;
    if (fine && t->annotation != NULL) {
        t->annotation[t->annotations] = instance;
    }
    t->annotations += fine;
    return fine;
}

static bool take_annotations(shape_text *t)
{
    if (!shape_skip(t, '[')) {
        return shape_refuse(t, "expected a JSON array");
    }
    if (!shape_skip(t, ']')) {
        do {
            if (!shape_goes_on(t) || !take_annotation(t)) {
                return false;
            }
        } while (shape_skip(t, ','));
        if (!shape_skip(t, ']')) {
            return shape_refuse(t, "the array is not closed");
        }
    }
    return is_at_end(t) || shape_refuse(t, "unexpected data after the array");
}

/* Takes space for the counted items; the second pass counts again. */
static bool shape_take_space(shape_text *t, sl_scratch *scratch)
{
    t->annotation = sl_scratch_take(scratch, (t->annotations + (size_t)1) * sizeof(*t->annotation));
    t->polygon = sl_scratch_take(scratch, (t->polygons + (size_t)1) * sizeof(*t->polygon));
    t->point = sl_scratch_take(scratch, (t->points + (size_t)1) * 2 * sizeof(*t->point));
    t->run = sl_scratch_take(scratch, (t->runs + (size_t)1) * sizeof(*t->run));
    t->annotations = t->polygons = t->points = t->runs = 0;
    t->at = t->look = t->from;
    return t->annotation != NULL && t->polygon != NULL && t->point != NULL && t->run != NULL;
}

static sluice_status take_text(shape_text *t, sluice_error *error)
{
    if (take_annotations(t)) {
        return SLUICE_OK;
    }
    return t->stopped ? sl_error_set(error, SLUICE_CANCELED, STAGE, "stopped")
                      : sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, NULL, t->at - t->from,
                                      "annotation %u: %s", t->annotations, t->why);
}

sluice_status sl_segmentation_read(sl_bytes text, sl_scratch *scratch, const sl_work *work,
                                   sl_instances *instances, sluice_error *error)
{
    shape_text t = {.from = text.data,
                    .at = text.data,
                    .end = text.data + text.size,
                    .work = work,
                    .look = text.data};
    if (text.size > UINT32_MAX) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, STAGE,
                            "the segmentation is too long: must be at most 4 GiB");
    }
    sluice_status status = take_text(&t, error);
    if (status != SLUICE_OK) {
        return status;
    }
    if (!shape_take_space(&t, scratch)) {
        return sl_no_memory(error, STAGE, "for the shapes of an image");
    }
    status = take_text(&t, error);
    *instances = (sl_instances){t.annotations, t.annotation, t.polygon};
    return status;
}

const char *sl_segmentation_check(sl_bytes text)
{
    shape_text t = {
        .from = text.data, .at = text.data, .look = text.data, .end = text.data + text.size};
    return take_annotation(&t) && !is_at_end(&t) ? "unexpected data after its segmentation" : t.why;
}
