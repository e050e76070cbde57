/* SPDX-License-Identifier: Apache-2.0 */
/*
 * voc_xml: expat callbacks that fill in one annotation. One owner thread.
 *
 * After the first error the callbacks do nothing, since expat may still call some.
 */
#include "voc_xml.h"

#include "error.h"
#include "memory.h"
#include "number_text.h"
#include "store.h"
#include "table_cell.h"
#include "text_file.h"

#include <expat.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define STAGE "dataset"

_Static_assert(sizeof(XML_Char) == 1, "expat was built for UTF-8");

/* Kind of an element, determined by its name and parent. */
typedef enum place {
    OUTSIDE = 0,
    OTHER,
    ANNOTATION,
    SIZE,
    OBJECT,
    BOX,
    FILENAME, /* the elements from here on contain wanted text */
    WIDTH,
    HEIGHT,
    NAME,
    DIFFICULT,
    TRUNCATED,
    OCCLUDED,
    XMIN,
    YMIN,
    XMAX,
    YMAX
} place;

static const struct {
    place in;
    const char *name;
    place is;
} places[] = {
    {OUTSIDE, "annotation", ANNOTATION},
    {ANNOTATION, "filename", FILENAME},
    {ANNOTATION, "size", SIZE},
    {ANNOTATION, "object", OBJECT},
    {SIZE, "width", WIDTH},
    {SIZE, "height", HEIGHT},
    {OBJECT, "name", NAME},
    {OBJECT, "bndbox", BOX},
    {OBJECT, "difficult", DIFFICULT},
    {OBJECT, "truncated", TRUNCATED},
    {OBJECT, "occluded", OCCLUDED},
    {BOX, "xmin", XMIN},
    {BOX, "ymin", YMIN},
    {BOX, "xmax", XMAX},
    {BOX, "ymax", YMAX},
};

#define BIT(what)      (UINT32_C(1) << (what))
#define OF_OBJECT_MASK (~(BIT(FILENAME) | BIT(SIZE) | BIT(WIDTH) | BIT(HEIGHT)))

typedef struct reader {
    sl_voc_page *page;
    XML_Parser xml;
    place at[SL_VOC_DEPTH_MAX + 1]; /* open elements; the first is OUTSIDE */
    uint32_t depth;
    uint32_t seen; /* elements seen in the annotation and in the object */
    sl_voc_object object;
    char text[1024]; /* text of the open element */
    size_t text_bytes;
    sl_cell_buffer numbers;
    char message[224];
    sl_refusal why; /* its offset is unused */
    int64_t offset; /* file offset of `why` */
    uint64_t line;
} reader;

/* Stops parsing with an error. */
static void stop(reader *r, sluice_status status, const char *why)
{
    if (r->why.text == NULL) {
        r->why = (sl_refusal){.text = why, .status = status};
        r->offset = XML_GetCurrentByteIndex(r->xml);
        r->line = XML_GetCurrentLineNumber(r->xml);
        (void)XML_StopParser(r->xml, XML_FALSE);
    }
}

/* ---- texts ---- */

static bool voc_xml_is_blank(char sign)
{
    return sign == ' ' || sign == '\t' || sign == '\r' || sign == '\n';
}

/* Trims blanks around the text. */
static const char *voc_xml_trim(reader *r)
{
    char *text = r->text;
    while (r->text_bytes > 0 && voc_xml_is_blank(text[r->text_bytes - 1])) {
        r->text_bytes--;
    }
    text[r->text_bytes] = '\0';
    while (voc_xml_is_blank(*text)) {
        text++;
    }
    return text;
}

/* Fails with "xmin is "abc", which is EXPECTED". */
static void voc_refuse_text(reader *r, place what, const char *text, const char *expected)
{
    const char *name = "?";
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        name = places[i].is == what ? places[i].name : name;
    }
    (void)snprintf(r->message, sizeof(r->message), "%s is \"%.64s\", which is %s", name, text,
                   expected);
    stop(r, SLUICE_CORRUPT, r->message);
}

static double take_edge(reader *r, place what, const char *text)
{
    static const sl_field field = {.type = SLUICE_FIELD_FLOAT};
    const sl_cell cell = {.kind = SL_CELL_WORDS, .text = {(const uint8_t *)text, strlen(text)}};
    sl_value value;
    const char *why = sl_cell_value(&cell, &field, &r->numbers, &value);
    if (why != NULL || !isfinite(value.number) || fabs(value.number) > SL_VOC_EDGE_MAX) {
        voc_refuse_text(r, what, text, "not a number of pixels");
        return 0;
    }
    return value.number;
}

static int64_t take_extent(reader *r, place what, const char *text)
{
    const double number = take_edge(r, what, text);
    if (number < 0 || number != floor(number)) {
        voc_refuse_text(r, what, text, "not a whole number of at least 0");
        return 0;
    }
    return (int64_t)number;
}

static bool take_flag(reader *r, place what, const char *text)
{
    static const char *const no[] = {"", "false", "no", "unspecified"};
    for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++) {
        if (strcasecmp(text, no[i]) == 0) {
            return false;
        }
    }
    char *end;
    const double number = sl_read_double(text, &end);
    const bool is_number = end != text && *end == '\0';
    if (is_number && number == 0) {
        return false;
    }
    if (!(is_number && number == 1) && strcasecmp(text, "true") != 0 &&
        strcasecmp(text, "yes") != 0) {
        voc_refuse_text(r, what, text, "neither 0 nor 1");
    }
    return true;
}

static void voc_xml_take_name(reader *r, const char *text)
{
    if (*text == '\0' || strlen(text) >= sizeof(r->object.name)) {
        stop(r, SLUICE_CORRUPT, "the name of an object is empty or too long");
        return;
    }
    memcpy(r->object.name, text, strlen(text) + 1);
}

static void voc_xml_take_text(reader *r, place what)
{
    const char *text = voc_xml_trim(r);
    switch (what) {
    case FILENAME:
        (void)snprintf(r->page->filename, sizeof(r->page->filename), "%s", text);
        break;
    case WIDTH:
        r->page->width = take_extent(r, what, text);
        break;
    case HEIGHT:
        r->page->height = take_extent(r, what, text);
        break;
    case NAME:
        voc_xml_take_name(r, text);
        break;
    case DIFFICULT:
        r->object.difficult = take_flag(r, what, text);
        break;
    case TRUNCATED:
        r->object.truncated = take_flag(r, what, text);
        break;
    case OCCLUDED:
        r->object.occluded = take_flag(r, what, text);
        r->object.says_occluded = true;
        break;
    case XMIN:
        r->object.xmin = take_edge(r, what, text);
        break;
    case YMIN:
        r->object.ymin = take_edge(r, what, text);
        break;
    case XMAX:
        r->object.xmax = take_edge(r, what, text);
        break;
    default:
        r->object.ymax = take_edge(r, what, text);
        break;
    }
}

static void voc_refuse_box(reader *r)
{
    const sl_voc_object *object = &r->object;
    (void)snprintf(r->message, sizeof(r->message),
                   "a bndbox has its maximum before its minimum: \"%.32s\" has xmin %g, ymin %g, "
                   "xmax %g, ymax %g; correct the box, or remove the object",
                   object->name, object->xmin, object->ymin, object->xmax, object->ymax);
    stop(r, SLUICE_CORRUPT, r->message);
}

static void voc_xml_take_object(reader *r)
{
    const uint32_t needed = BIT(NAME) | BIT(XMIN) | BIT(YMIN) | BIT(XMAX) | BIT(YMAX);
    if ((r->seen & needed) != needed) {
        stop(r, SLUICE_CORRUPT, "an object has no name, or no bndbox with four edges");
    } else if (r->object.xmin > r->object.xmax || r->object.ymin > r->object.ymax) {
        voc_refuse_box(r);
    } else if (!r->page->take(r->page->ctx, &r->object)) {
        stop(r, SLUICE_NOMEM, "out of memory for its objects");
    }
}

/* ---- what expat calls; after a stop it may still do so ---- */

static place voc_xml_place_of(place in, const char *name)
{
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        if (places[i].in == in && strcmp(places[i].name, name) == 0) {
            return places[i].is;
        }
    }
    return OTHER;
}

static void voc_xml_begin_element(void *ctx, const XML_Char *name, const XML_Char **attributes)
{
    (void)attributes;
    reader *r = ctx;
    if (r->why.text != NULL) {
        return;
    }
    if (r->depth == SL_VOC_DEPTH_MAX) {
        stop(r, SLUICE_UNSUPPORTED, "its elements are nested too deeply");
        return;
    }
    if (r->at[r->depth] >= FILENAME) {
        stop(r, SLUICE_CORRUPT, "a name or number contains elements");
        return;
    }
    const place is = voc_xml_place_of(r->at[r->depth], name);
    if (r->depth == 0 && is != ANNOTATION) {
        stop(r, SLUICE_CORRUPT, "its root is not <annotation>");
        return;
    }
    if (is == OBJECT) {
        r->seen &= ~OF_OBJECT_MASK;
        r->object = (sl_voc_object){.says_occluded = false};
    } else if (is > ANNOTATION && (r->seen & BIT(is)) != 0) {
        stop(r, SLUICE_CORRUPT, "an element that may occur only once is repeated");
        return;
    }
    r->seen |= BIT(is);
    r->at[++r->depth] = is;
    r->text_bytes = 0;
}

static void end_element(void *ctx, const XML_Char *name)
{
    (void)name;
    reader *r = ctx;
    if (r->why.text != NULL) {
        return;
    }
    const place is = r->at[r->depth--];
    if (is >= FILENAME) {
        voc_xml_take_text(r, is);
    } else if (is == OBJECT) {
        voc_xml_take_object(r);
    }
}

static void voc_xml_add_text(void *ctx, const XML_Char *text, int bytes)
{
    reader *r = ctx;
    if (r->why.text != NULL || r->at[r->depth] < FILENAME) {
        return;
    }
    if ((size_t)bytes >= sizeof(r->text) - r->text_bytes) {
        stop(r, SLUICE_CORRUPT, "a name or number of more than 1023 bytes");
        return;
    }
    memcpy(r->text + r->text_bytes, text, (size_t)bytes);
    r->text_bytes += (size_t)bytes;
}

/* Rejects an encoding that expat lacks, by name. */
static int refuse_encoding(void *ctx, const XML_Char *name, XML_Encoding *encoding)
{
    (void)encoding;
    reader *r = ctx;
    (void)snprintf(r->message, sizeof(r->message), "encoding %.40s: save the file as UTF-8", name);
    r->why = (sl_refusal){.text = r->message, .status = SLUICE_UNSUPPORTED};
    r->line = 1;
    return XML_STATUS_ERROR;
}

static void begin_dtd(void *ctx, const XML_Char *name, const XML_Char *system,
                      const XML_Char *public, int has_internal)
{
    (void)name;
    (void)system;
    (void)public;
    (void)has_internal;
    stop(ctx, SLUICE_UNSUPPORTED, "it has a DTD, whose entities could expand to anything");
}

/* ---- a file ---- */

static void *resize(void *memory, size_t bytes)
{
    return sl_realloc_array(memory, bytes, 1);
}

static sluice_status explain(const reader *r, const char *path, sluice_error *error)
{
    const enum XML_Error code = XML_GetErrorCode(r->xml);
    if (r->why.text != NULL) {
        return sl_error_file(error, r->why.status, STAGE, 0, path, r->offset, "line %llu: %s",
                             (unsigned long long)r->line, r->why.text);
    }
    if (code == XML_ERROR_NO_MEMORY) {
        return sl_error_file(error, SLUICE_NOMEM, STAGE, 0, path, -1, "out of memory for its XML");
    }
    const bool encoding = code == XML_ERROR_UNKNOWN_ENCODING;
    return sl_error_file(error, encoding ? SLUICE_UNSUPPORTED : SLUICE_CORRUPT, STAGE, 0, path,
                         XML_GetCurrentByteIndex(r->xml), "not valid XML, line %llu: %s",
                         (unsigned long long)XML_GetCurrentLineNumber(r->xml),
                         XML_ErrorString(code));
}

static sluice_status voc_xml_parse(reader *r, const char *path, const uint8_t *data, size_t bytes,
                                   sluice_error *error)
{
    static const XML_Memory_Handling_Suite heap = {sl_malloc, resize, sl_free};
    r->xml = XML_ParserCreate_MM(NULL, &heap, NULL);
    if (r->xml == NULL) {
        return sl_error_file(error, SLUICE_NOMEM, STAGE, 0, path, -1, "out of memory for its XML");
    }
    XML_SetUserData(r->xml, r);
    XML_SetElementHandler(r->xml, voc_xml_begin_element, end_element);
    XML_SetCharacterDataHandler(r->xml, voc_xml_add_text);
    XML_SetStartDoctypeDeclHandler(r->xml, begin_dtd);
    XML_SetUnknownEncodingHandler(r->xml, refuse_encoding, r);
    return XML_Parse(r->xml, (const char *)data, (int)bytes, 1) == XML_STATUS_OK
               ? SLUICE_OK
               : explain(r, path, error);
}

sluice_status sl_voc_xml_read(sl_voc_page *page, const char *path, sluice_error *error)
{
    uint8_t *data;
    size_t bytes;
    reader r = {.page = page};
    page->filename[0] = '\0';
    page->width = page->height = -1;
    sluice_status status =
        sl_store_read_whole((sl_file_name){STAGE, path}, SL_VOC_BYTES_MAX, &data, &bytes, error);
    if (status == SLUICE_OK && sl_text_encoding(data, bytes) != NULL) {
        status = sl_text_refuse_encoding(STAGE, path, sl_text_encoding(data, bytes), error);
        sl_free(data);
    } else if (status == SLUICE_OK && bytes == 0) {
        status = sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, path, 0, "the file is empty");
        sl_free(data);
    } else if (status == SLUICE_OK) {
        status = voc_xml_parse(&r, path, data, bytes, error);
        if (r.xml != NULL) {
            XML_ParserFree(r.xml);
        }
        sl_cell_buffer_close(&r.numbers);
        sl_free(data);
    }
    return status;
}
