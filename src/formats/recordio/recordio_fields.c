/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recordio_fields: looks at records (on the opener's thread), chooses the fields, and unpacks
 * values (on any worker; never blocks or allocates).
 *
 * Labels and contents begin at multiples of 4 of the record. In a record stored in parts, they are
 * found by counting the omitted words (split_bytes.h).
 */
#include "recordio_fields.h"

#include "field_choice.h"
#include "little_endian.h"
#include "media.h"
#include "minmax.h"

#include <math.h>
#include <string.h>

enum { CONTENT, RECORD, LABEL, ID, COLUMNS };
enum { HEADER = 24, SIGNATURE = 16 };

typedef struct header {
    uint32_t labels; /* number of labels after the header; 0: the one in the header */
    float label;
    uint64_t id, id2;
    uint64_t end; /* size of header and labels */
} header;

/* Reads the header. False: the record cannot begin with one. */
static bool recordio_read_header(header *of, const sl_recordio *record)
{
    uint8_t bytes[HEADER];
    if (sl_recordio_peek(record, bytes, HEADER) != HEADER) {
        return false;
    }
    const uint32_t bits = sl_load32(bytes + 4);
    of->labels = sl_load32(bytes);
    memcpy(&of->label, &bits, sizeof(of->label));
    of->id = sl_load64(bytes + 8);
    of->id2 = sl_load64(bytes + 16);
    of->end = HEADER + (uint64_t)of->labels * 4;
    return of->end <= record->size;
}

/* Takes the bytes between `from`, a multiple of 4, and `to`, a multiple of 4 or the end. */
static void give_bytes(const sl_recordio *record, uint64_t from, uint64_t to, sl_value *value)
{
    const sl_bytes *all = &record->stored;
    const uint64_t begin = record->split ? sl_split_find(*all, from) : from;
    const uint64_t end =
        to == record->size ? all->size : (record->split ? sl_split_find(*all, to) : to);
    value->present = true;
    value->bytes = (sl_bytes){all->data + begin, (size_t)(end - begin)};
    value->packing = end - begin != to - from ? &sl_value_packing_split : NULL;
    value->offset = (uint32_t)(SL_RECORDIO_HEAD + begin);
}

static bool recordio_fields_is_whole(float number)
{
    return number >= -0x1p62F && number <= 0x1p62F && (float)(int64_t)number == number;
}

/* ---- looking ---- */

/*
 * Returns whether a header has the usual values: a label that is 0 or of a plausible size, and no
 * second id. Integers and texts read as floats are rarely like that.
 */
static bool recordio_fields_is_usual(const header *of)
{
    const float size = fabsf(of->label);
    return of->id2 == 0 && (size == 0 || (size >= 0x1p-40F && size <= 0x1p40F));
}

static bool recordio_fields_is_blank(const header *of)
{
    return of->labels == 0 && of->label == 0 && of->id == 0 && of->id2 == 0;
}

static bool looks_as_picture(const sl_recordio *record, uint64_t from)
{
    sl_value value;
    give_bytes(record, from, record->size, &value);
    return sl_media_is_picture(value.bytes);
}

bool sl_recordio_is_empty(const sl_recordio *record)
{
    header head;
    return recordio_read_header(&head, record) && head.end == record->size;
}

bool sl_recordio_is_file_header(const sl_recordio *record, uint64_t *end)
{
    header head;
    uint8_t bytes[HEADER + 8];
    float labels[2];
    if (!recordio_read_header(&head, record) || head.labels < 2 || head.end != record->size ||
        sl_recordio_peek(record, bytes, sizeof(bytes)) != sizeof(bytes)) {
        return false;
    }
    for (size_t i = 0; i < 2; i++) {
        const uint32_t bits = sl_load32(bytes + HEADER + 4 * i);
        memcpy(&labels[i], &bits, sizeof(labels[i]));
    }
    const bool good = recordio_fields_is_whole(labels[0]) && recordio_fields_is_whole(labels[1]) &&
                      labels[0] > 1 && labels[1] >= labels[0];
    *end = good ? (uint64_t)labels[0] : 0;
    return good;
}

void sl_recordio_look(sl_recordio_looks *looks, const sl_recordio *record)
{
    header head;
    looks->records++;
    looks->plain_pictures += looks_as_picture(record, 0);
    if (!recordio_read_header(&head, record)) {
        return;
    }
    const bool picture = record->size > head.end && looks_as_picture(record, head.end);
    looks->possible++;
    looks->headers += picture || recordio_fields_is_usual(&head);
    looks->blank += recordio_fields_is_blank(&head);
    looks->contents += record->size > head.end;
    looks->pictures += picture;
    if (head.labels == 0) {
        looks->numbers++;
        looks->whole += recordio_fields_is_whole(head.label);
        return;
    }
    if (looks->tensors++ == 0) {
        looks->labels_least = looks->labels_most = head.labels;
    }
    looks->labels_least = sl_min_u32(looks->labels_least, head.labels);
    looks->labels_most = sl_max_u32(looks->labels_most, head.labels);
}

/* ---- fields ---- */

static sl_source_column column_of(const char *name, sluice_field_type type)
{
    sl_source_column column = {.field = {.type = type, .compression = SLUICE_COMPRESSION_NEVER}};
    memcpy(column.name, name, strlen(name));
    return column;
}

static void recordio_fields_set_label(sl_field *label, const sl_recordio_looks *looks)
{
    if (looks->tensors <= looks->numbers) {
        label->type = looks->whole == looks->numbers ? SLUICE_FIELD_INT : SLUICE_FIELD_FLOAT;
        return;
    }
    label->type = SLUICE_FIELD_TENSOR;
    label->dtype = SLUICE_F32;
    label->dims = 1;
    label->shape[0] = looks->labels_least == looks->labels_most ? looks->labels_most : 0;
}

/*
 * Decides whether records have headers. Images after headers are proof. Otherwise nearly all
 * records must begin like usual headers, but not all with zeros, which prove nothing.
 */
static bool has_headers(const sl_recordio_looks *looks)
{
    return looks->pictures > looks->records / 2 ||
           (looks->headers >= looks->records - looks->records / 16 &&
            looks->blank < looks->records);
}

/*
 * Applies the user's choice of the label type, which need not fit the records looked at. Choosing a
 * field that only headers have sets `*headers`.
 */
static sluice_status choose_label(sl_field *label, bool *headers,
                                  const sluice_dataset_options *options, sluice_error *error)
{
    for (uint32_t i = 0; i < options->field_count; i++) {
        sl_field_choice choice;
        const sluice_status status = sl_field_choice_parse(&choice, options->fields[i], error);
        if (status < 0) {
            return status;
        }
        const sl_field *wanted = &choice.field;
        const bool is_label = strcmp(choice.key, "label") == 0;
        *headers = *headers || is_label || strcmp(choice.key, "id") == 0;
        const bool can_be = wanted->type == SLUICE_FIELD_INT ||
                            wanted->type == SLUICE_FIELD_FLOAT ||
                            (wanted->type == SLUICE_FIELD_TENSOR && wanted->dtype == SLUICE_F32 &&
                             wanted->dims == 1);
        if (choice.typed && can_be && is_label) {
            *label = *wanted;
        }
    }
    return SLUICE_OK;
}

/* Finds the fields among the columns that exist with or without headers. */
static sluice_status recordio_find_columns(sl_recordio_fields *fields,
                                           const sl_source_column columns[COLUMNS],
                                           const sluice_dataset_options *options, const char *path,
                                           sluice_error *error)
{
    const uint32_t count = fields->headers ? COLUMNS : LABEL;
    const sluice_status status =
        sl_source_fields_find(&fields->source, columns, count, options, path, error);
    bool needed = false;
    for (uint32_t i = 0; i < fields->source.count; i++) {
        needed = needed || fields->source.column[i] != RECORD;
    }
    fields->headers = fields->headers && needed;
    return status;
}

sluice_status sl_recordio_fields_find(sl_recordio_fields *fields, const sl_recordio_looks *looks,
                                      const sluice_dataset_options *options, const char *path,
                                      sluice_error *error)
{
    sl_field label = {.type = SLUICE_FIELD_INT, .compression = SLUICE_COMPRESSION_NEVER};
    bool asked = false;
    recordio_fields_set_label(&label, looks);
    const sluice_status status = choose_label(&label, &asked, options, error);
    if (status < 0) {
        return status;
    }
    fields->headers = has_headers(looks) || (asked && looks->possible > looks->records / 2);
    const bool pictures = fields->headers ? looks->pictures > looks->contents / 2
                                          : looks->plain_pictures > looks->records / 2;
    sl_source_column columns[COLUMNS] = {
        [CONTENT] = column_of(pictures ? "image" : "data",
                              pictures ? SLUICE_FIELD_IMAGE : SLUICE_FIELD_BYTES),
        [RECORD] = column_of("record", SLUICE_FIELD_BYTES),
        [LABEL] = column_of("label", SLUICE_FIELD_INT),
        [ID] = column_of("id", SLUICE_FIELD_INT)};
    columns[RECORD].asked = true;
    columns[LABEL].field = label;
    return recordio_find_columns(fields, columns, options, path, error);
}

/* ---- values ---- */

static sl_refusal give_label(const sl_field *field, const sl_recordio *record, const header *head,
                             sl_value *value)
{
    if (field->type == SLUICE_FIELD_TENSOR) {
        if (head->labels == 0) {
            return sl_refuse("the label is one number, not a list of them", SL_RECORDIO_HEAD);
        }
        if (field->shape[0] != 0 && field->shape[0] != head->labels) {
            return sl_refuse("the label has a different number of values", SL_RECORDIO_HEAD);
        }
        give_bytes(record, HEADER, head->end, value);
        value->shape[0] = head->labels;
        return sl_accept();
    }
    if (head->labels != 0) {
        return sl_refuse("the label is a list of numbers, not one", SL_RECORDIO_HEAD);
    }
    if (field->type == SLUICE_FIELD_INT && !recordio_fields_is_whole(head->label)) {
        return sl_refuse("not a whole number, unlike the labels read at opening (choose "
                         "label=label:float)",
                         SL_RECORDIO_HEAD + 4);
    }
    value->present = true;
    value->number = head->label;
    value->integer = recordio_fields_is_whole(head->label) ? (int64_t)head->label : 0;
    return sl_accept();
}

static sl_refusal give_content(const sl_field *field, const sl_recordio *record, uint64_t from,
                               sl_value *value)
{
    give_bytes(record, from, record->size, value);
    /* records without an image are present only to describe others */
    value->present = !sl_type_is_media(field->type) || from < record->size;
    const sl_bytes bytes = value->bytes;
    value->bytes.size = (size_t)(record->size - from);
    const sl_refusal refusal = sl_source_value(field, value);
    value->bytes = bytes;
    return refusal;
}

static sl_refusal recordio_give(uint32_t column, const sl_field *field, const sl_recordio *record,
                                const header *head, sl_value *value)
{
    if (column <= RECORD) {
        return give_content(field, record, column == RECORD ? 0 : head->end, value);
    }
    if (column == LABEL) {
        return give_label(field, record, head, value);
    }
    value->present = true;
    value->integer = (int64_t)head->id;
    return head->id <= INT64_MAX ? sl_accept()
                                 : sl_refuse("larger than 2^63 - 1", SL_RECORDIO_HEAD + 8);
}

sl_refusal sl_recordio_fields_unpack(const sl_recordio_fields *fields, const sl_recordio *record,
                                     sl_values *values)
{
    header head = {.end = 0};
    if (fields->headers && !recordio_read_header(&head, record)) {
        return sl_refuse("the record has no IRHeader, or fewer labels than its header says",
                         SL_RECORDIO_HEAD);
    }
    for (uint32_t i = 0; i < fields->source.count; i++) {
        if (!sl_values_want(values, i)) {
            continue;
        }
        const sl_field *field = &fields->source.fields[i];
        values->of[i] = (sl_value){.present = false};
        sl_refusal refusal =
            recordio_give(fields->source.column[i], field, record, &head, &values->of[i]);
        if (refusal.text != NULL) {
            refusal.field = field->name;
            return refusal;
        }
    }
    return sl_accept();
}
