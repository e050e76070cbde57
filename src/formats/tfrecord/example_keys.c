/* SPDX-License-Identifier: Apache-2.0 */
/*
 * example_keys: determines the keys of tf.train.Examples and SequenceExamples by looking at some of
 * them.
 */
#include "example_fields.h"
#include "media.h"
#include "step_list.h"
#include "unicode.h"

#include <string.h>

static bool example_keys_is_name(const char *text, sl_bytes name)
{
    return strlen(text) == name.size && memcmp(text, name.data, name.size) == 0;
}

/* Recognises "NAME.12". */
static bool is_element(const char *text, sl_bytes name, uint32_t *element)
{
    const size_t bytes = strlen(text);
    if (bytes < name.size + 2 || bytes > name.size + 10 || text[name.size] != '.' ||
        memcmp(text, name.data, name.size) != 0 ||
        (text[name.size + 1] == '0' && bytes > name.size + 2)) {
        return false;
    }
    *element = 0;
    for (const char *digit = text + name.size + 1; *digit != '\0'; digit++) {
        if (*digit < '0' || *digit > '9') {
            *element = SL_FIELD_NONE;
            return false;
        }
        *element = *element * 10 + (uint32_t)(*digit - '0');
    }
    return true;
}

bool sl_example_key_chosen(const char *choice, sl_bytes name, bool in_lists, uint32_t *element)
{
    static const char lists[] = SL_EXAMPLE_LISTS;
    *element = SL_FIELD_NONE;
    if (example_keys_is_name(choice, name) || (in_lists && is_element(choice, name, element))) {
        return true;
    }
    if (!in_lists || strncmp(choice, lists, sizeof(lists) - 1) != 0) {
        return false;
    }
    choice += sizeof(lists) - 1;
    return example_keys_is_name(choice, name) || is_element(choice, name, element);
}

static sl_example_key *example_keys_key_of(sl_example_keys *keys, sl_bytes name, bool in_lists)
{
    for (uint32_t i = 0; i < keys->count; i++) {
        if (keys->of[i].in_lists == in_lists && example_keys_is_name(keys->of[i].name, name)) {
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
    *key = (sl_example_key){.in_lists = in_lists,
                            .least = UINT64_MAX,
                            .least_bytes = UINT64_MAX,
                            .all_pictures = true,
                            .all_text = true};
    memcpy(key->name, name.data, name.size);
    return key;
}

static bool is_chosen(const sl_field_choice *choices, uint32_t count, const sl_feature *feature)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t element;
        if (sl_example_key_chosen(choices[i].key, feature->key, feature->in_lists, &element)) {
            return true;
        }
    }
    return choices == NULL;
}

static bool example_keys_look_at(sl_example_key *key, const sl_feature_list *list)
{
    uint64_t count = 0;
    sl_bytes last = {NULL, 0};
    if (list->kind != SL_FEATURE_NONE && !sl_feature_count(list, &count, &last)) {
        return false;
    }
    /* the kind of an empty list is meaningless */
    key->mixed = key->mixed || (count > 0 && key->most > 0 && key->kind != list->kind);
    key->kind = count > 0 || key->kind == SL_FEATURE_NONE ? list->kind : key->kind;
    key->least = count < key->least ? count : key->least;
    key->most = count > key->most ? count : key->most;
    key->least_bytes = last.size < key->least_bytes ? last.size : key->least_bytes;
    key->most_bytes = last.size > key->most_bytes ? last.size : key->most_bytes;
    if (last.size > 0) {
        key->any = true;
        key->all_pictures = key->all_pictures && sl_media_is_picture(last);
        key->all_text = key->all_text && sl_is_utf8(last);
    }
    return true;
}

/* Looks at steps; one without a list has no values. */
static const char *look_at_steps(sl_example_key *key, sl_bytes list)
{
    sl_wire steps = sl_wire_of(list);
    sl_feature_list step;
    const char *why;
    uint64_t count = 0;
    while (sl_step_next(&steps, &step, &why)) {
        if (!example_keys_look_at(key, &step)) {
            return "its feature_list is damaged";
        }
        count++;
    }
    key->most_steps = count > key->most_steps ? count : key->most_steps;
    return why;
}

static const char *look_at_feature(sl_example_key *key, const sl_feature *feature)
{
    if (feature->in_lists) {
        return look_at_steps(key, feature->list.bytes);
    }
    return feature->list.kind == SL_FEATURE_NONE || example_keys_look_at(key, &feature->list)
               ? NULL
               : "not a valid tf.train.Example";
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
        if (!is_chosen(choices, count, &feature)) {
            continue;
        }
        sl_example_key *key = example_keys_key_of(keys, feature.key, feature.in_lists);
        const char *text = key != NULL ? look_at_feature(key, &feature) : NULL;
        if (text != NULL) {
            return sl_refuse(text, (size_t)(feature.list.bytes.data - example.data));
        }
    }
}
