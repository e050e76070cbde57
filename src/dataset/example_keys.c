/* SPDX-License-Identifier: Apache-2.0 */
/* What keys of tf.train.Examples are, by looking at some. */
#include "example_fields.h"
#include "picture_signature.h"

#include <string.h>

/* Bytes of the sign that begins at `at`; 0: it is no UTF-8. */
static size_t sign_bytes(sl_bytes text, size_t at)
{
    const uint8_t first = text.data[at];
    const size_t bytes = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (first == 0 || (first >= 0x80 && first < 0xc2) || first > 0xf4 || bytes > text.size - at) {
        return 0;
    }
    for (size_t i = 1; i < bytes; i++) {
        if ((text.data[at + i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    const uint8_t second = bytes > 1 ? text.data[at + 1] : 0;
    const bool wrong = (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
                       (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
    return wrong ? 0 : bytes;
}

static bool is_text(sl_bytes text)
{
    for (size_t at = 0; at < text.size;) {
        const size_t bytes = sign_bytes(text, at);
        if (bytes == 0) {
            return false;
        }
        at += bytes;
    }
    return true;
}

static sl_example_key *key_of(sl_example_keys *keys, sl_bytes name)
{
    for (uint32_t i = 0; i < keys->count; i++) {
        if (strlen(keys->of[i].name) == name.size &&
            memcmp(keys->of[i].name, name.data, name.size) == 0) {
            return &keys->of[i];
        }
    }
    if (name.size >= SL_CHOICE_KEY_BYTES) {
        memcpy(keys->too_long, name.data, sizeof(keys->too_long) - 1);
        return NULL;
    }
    if (keys->count == SL_FIELDS_MAX || (name.size > 0 && memchr(name.data, 0, name.size))) {
        keys->too_many = keys->too_many || keys->count == SL_FIELDS_MAX;
        return NULL;
    }
    sl_example_key *key = &keys->of[keys->count++];
    *key = (sl_example_key){.least = UINT64_MAX, .all_pictures = true, .all_text = true};
    memcpy(key->name, name.data, name.size);
    return key;
}

static bool is_chosen(const sl_field_choice *choices, uint32_t count, sl_bytes name)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strlen(choices[i].key) == name.size &&
            memcmp(choices[i].key, name.data, name.size) == 0) {
            return true;
        }
    }
    return choices == NULL;
}

static bool look_at(sl_example_key *key, const sl_feature *feature)
{
    uint64_t count = 0;
    sl_bytes last = {NULL, 0};
    if (!sl_example_count(feature, &count, &last)) {
        return false;
    }
    /* Which kind an empty list is of means nothing. */
    key->mixed = key->mixed || (count > 0 && key->most > 0 && key->kind != feature->kind);
    key->kind = count > 0 || key->kind == SL_FEATURE_NONE ? feature->kind : key->kind;
    key->least = count < key->least ? count : key->least;
    key->most = count > key->most ? count : key->most;
    if (last.size > 0) {
        key->any = true;
        key->all_pictures = key->all_pictures && sl_begins_picture(last);
        key->all_text = key->all_text && is_text(last);
    }
    return true;
}

sl_refusal sl_example_look(sl_example_keys *keys, const sl_field_choice *choices, uint32_t count,
                           sl_bytes example)
{
    sl_example walk;
    sl_feature feature;
    sl_refusal why;
    sl_example_begin(&walk, example);
    for (;;) {
        switch (sl_example_next(&walk, &feature, &why)) {
        case SL_EXAMPLE_REFUSED:
            return why;
        case SL_EXAMPLE_END:
            return sl_accept();
        case SL_EXAMPLE_FEATURE:
            break;
        }
        if (!is_chosen(choices, count, feature.key)) {
            continue;
        }
        sl_example_key *key = key_of(keys, feature.key);
        if (key != NULL && feature.kind != SL_FEATURE_NONE && !look_at(key, &feature)) {
            return sl_refuse("its record is no tf.train.Example",
                             (size_t)(feature.list.data - example.data));
        }
    }
}
