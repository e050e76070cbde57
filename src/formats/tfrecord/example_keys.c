/* SPDX-License-Identifier: Apache-2.0 */
/* What keys of tf.train.Examples are, by looking at some. */
#include "example_fields.h"
#include "picture_signature.h"
#include "utf8.h"

#include <string.h>

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
        key->all_text = key->all_text && sl_is_utf8(last);
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
