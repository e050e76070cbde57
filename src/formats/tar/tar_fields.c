/* SPDX-License-Identifier: Apache-2.0 */
#include "tar_fields.h"

#include "tar_left_out.h"
#include "tar_links.h"
#include "tar_walk.h"

#include <string.h>

/* State of unpacking one sample. */
typedef struct parts {
    const sl_member_fields *fields;
    const sl_tar_record *record;
    sl_bytes bytes; /* bytes of the sample's members */
    sl_values *values;
    sl_tar_walk walk;
    char key[SL_TAR_NAME_MAX + 1];
    size_t key_bytes;
    uint32_t count;
    uint32_t links_taken;
    size_t linked; /* bytes used so far from the link contents behind the members */
} parts;

static sl_refusal tar_fields_refuse_field(const parts *p, uint32_t field, const char *text)
{
    sl_refusal refusal = sl_refuse(text, (size_t)p->walk.member.begin);
    refusal.field = p->fields->fields[field].name;
    return refusal;
}

static sl_refusal tar_fields_take_payload(parts *p, uint32_t field, sl_bytes bytes)
{
    const sl_tar_member *member = &p->walk.member;
    sl_value *value = &p->values->of[field];
    if (value->present) {
        return tar_fields_refuse_field(p, field, "two files of the sample map to it");
    }
    if (member->kind == SL_TAR_SPARSE) {
        sl_refusal refusal =
            tar_fields_refuse_field(p, field, "its file is sparse, which is not supported");
        refusal.status = SLUICE_UNSUPPORTED;
        return refusal;
    }
    const uint32_t offset = (uint32_t)(bytes.data - p->bytes.data);
    *value = (sl_value){.present = true, .bytes = bytes, .offset = offset};
    return sl_member_fields_read(p->fields, field, value)
               ? sl_accept()
               : tar_fields_refuse_field(p, field, "not a whole number");
}

/* Takes the bytes that a link resolved to. False: the link has none and was left out. */
static bool tar_fields_take_link(parts *p, sl_bytes *bytes)
{
    const sl_tar_record *record = p->record;
    if (p->links_taken == record->link_count ||
        record->links[p->links_taken].part != p->walk.member.begin / SL_TAR_BLOCK) {
        return false;
    }
    const size_t size =
        record->links[p->links_taken++].bytes; /* all link contents are present: checked below */
    *bytes = (sl_bytes){p->bytes.data + p->bytes.size + p->linked, size};
    p->linked += size;
    return true;
}

static sl_refusal tar_fields_take_member(parts *p)
{
    const sl_tar_member *member = &p->walk.member;
    sl_member_name kind;
    sl_member_part part;
    if (member->data > p->bytes.size || member->bytes > p->bytes.size - member->data) {
        return sl_refuse("a member is longer than its sample: the archive was modified",
                         (size_t)member->begin);
    }
    if (sl_tar_left_out_of(&p->walk, &kind, &part) != SL_TAR_IN_SAMPLE ||
        kind != SL_MEMBER_NAME_GOOD) {
        return sl_accept();
    }
    sl_bytes bytes = {p->bytes.data + member->data, (size_t)member->bytes};
    if (sl_tar_is_link(member) && !tar_fields_take_link(p, &bytes)) {
        return sl_accept();
    }
    if (p->count++ == 0) {
        p->key_bytes = part.key_bytes;
        memcpy(p->key, p->walk.name, part.key_bytes);
    } else if (part.key_bytes != p->key_bytes || memcmp(p->walk.name, p->key, p->key_bytes) != 0) {
        return sl_refuse("a member belongs to another sample: the archive was modified",
                         (size_t)member->begin);
    }
    const uint32_t field = sl_member_fields_find(p->fields, part.extension);
    if (field == SL_FIELD_NONE) {
        return sl_refuse("a member's extension did not exist when the archive was opened: the "
                         "archive was modified",
                         (size_t)member->begin);
    }
    return sl_values_want(p->values, field) ? tar_fields_take_payload(p, field, bytes)
                                            : sl_accept();
}

static sl_refusal tar_fields_walk(parts *p)
{
    sl_refusal why;
    sl_tar_begin(&p->walk, 0);
    /* the last payload's padding is not part of the sample */
    while (p->walk.at < p->bytes.size) {
        if (p->walk.want > p->bytes.size - p->walk.at) {
            return sl_refuse("a member is truncated: the archive was modified", (size_t)p->walk.at);
        }
        const size_t at = (size_t)p->walk.at;
        switch (sl_tar_next(&p->walk, p->bytes.data + at, &why)) {
        case SL_TAR_GO_ON:
            break;
        case SL_TAR_MEMBER:
            why = tar_fields_take_member(p);
            if (why.text != NULL) {
                return why;
            }
            break;
        case SL_TAR_END:
            return sl_refuse("the archive ends within a sample: it was modified", at);
        case SL_TAR_REFUSED:
            why.offset += (uint32_t)at;
            return why;
        }
    }
    return p->count > 0 ? sl_accept()
                        : sl_refuse("the sample has no members: the archive was modified", 0);
}

static size_t linked_bytes(const sl_tar_record *record)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < record->link_count; i++) {
        bytes += record->links[i].bytes;
    }
    return bytes;
}

sl_refusal sl_tar_fields_unpack(const sl_member_fields *fields, const sl_tar_record *record,
                                sl_values *values)
{
    parts p;
    const size_t linked = linked_bytes(record);
    if (linked > record->bytes.size) {
        return sl_refuse("the sample is truncated", 0);
    }
    p.fields = fields;
    p.record = record;
    p.bytes = (sl_bytes){record->bytes.data, record->bytes.size - linked};
    p.values = values;
    p.key_bytes = 0;
    p.count = 0;
    p.links_taken = 0;
    p.linked = 0;
    for (uint32_t i = 0; i < fields->count; i++) {
        values->of[i] = (sl_value){.present = false};
    }
    const sl_refusal refusal = tar_fields_walk(&p);
    if (refusal.text == NULL && sl_values_want(values, fields->key)) {
        if (p.key_bytes > sizeof(values->buffer)) {
            return sl_refuse("its key is too long", 0);
        }
        memcpy(values->buffer, p.key, p.key_bytes);
        values->of[fields->key] =
            (sl_value){.present = true, .bytes = {(const uint8_t *)values->buffer, p.key_bytes}};
    }
    return refusal;
}
