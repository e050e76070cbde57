/* SPDX-License-Identifier: Apache-2.0 */
#include "tar_fields.h"

#include "tar_walk.h"

#include <string.h>

/* A sample while it is taken apart. */
typedef struct parts {
    const sl_member_fields *fields;
    sl_bytes bytes;
    sl_values *values;
    sl_tar_walk walk;
    char key[SL_TAR_NAME_MAX + 1];
    size_t key_bytes;
    uint32_t count;
} parts;

static sl_refusal tar_fields_refuse_field(const parts *p, uint32_t field, const char *text)
{
    sl_refusal refusal = sl_refuse(text, (size_t)p->walk.member.begin);
    refusal.field = p->fields->fields[field].name;
    return refusal;
}

static sl_refusal tar_fields_take_payload(parts *p, uint32_t field)
{
    const sl_tar_member *member = &p->walk.member;
    sl_value *value = &p->values->of[field];
    if (value->present) {
        return tar_fields_refuse_field(p, field, "the sample has two files for it");
    }
    if (member->kind == SL_TAR_SPARSE) {
        sl_refusal refusal =
            tar_fields_refuse_field(p, field, "its file is sparse, which is not supported");
        refusal.status = SLUICE_UNSUPPORTED;
        return refusal;
    }
    const sl_bytes bytes = {p->bytes.data + member->data, (size_t)member->bytes};
    *value = (sl_value){.present = true, .bytes = bytes, .offset = (uint32_t)member->data};
    return sl_member_fields_read(p->fields, field, value)
               ? sl_accept()
               : tar_fields_refuse_field(p, field, "not a whole number");
}

static sl_refusal tar_fields_take_member(parts *p)
{
    const sl_tar_member *member = &p->walk.member;
    sl_member_part part;
    if (member->data > p->bytes.size || member->bytes > p->bytes.size - member->data) {
        return sl_refuse("a member is longer than its sample: the archive was modified",
                         (size_t)member->begin);
    }
    if (member->kind == SL_TAR_OTHER ||
        sl_member_split(p->walk.name, &part) != SL_MEMBER_NAME_GOOD) {
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
        return sl_refuse(
            "a member's extension was not there when the archive was opened: it was modified",
            (size_t)member->begin);
    }
    return sl_values_want(p->values, field) ? tar_fields_take_payload(p, field) : sl_accept();
}

static sl_refusal tar_fields_walk(parts *p)
{
    sl_refusal why;
    sl_tar_begin(&p->walk, 0);
    /* Behind the last payload there is no padding: it is not the sample's. */
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

sl_refusal sl_tar_fields_unpack(const sl_member_fields *fields, sl_bytes bytes, sl_values *values)
{
    parts p;
    p.fields = fields;
    p.bytes = bytes;
    p.values = values;
    p.key_bytes = 0;
    p.count = 0;
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
