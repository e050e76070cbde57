/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lmdb_index: builds the index in one walk over the entries (lmdb_walk.h), on the opener's thread.
 *
 * The first key that can belong to a sample shows whether the file may be one of text recognition;
 * if no label follows, the file is walked again as a plain one. Images and labels are sorted by
 * their digits, so one pass over the images finds each label (`labelled`).
 */
#include "lmdb_index.h"

#include "memory.h"
#include "search.h"
#include "store.h"
#include "unicode.h"

#include <string.h>

#define STAGE "dataset"

/* ---- keys ---- */

typedef enum key_kind { KEY_SAMPLE, KEY_LABEL, KEY_LEFT_OUT } key_kind;

static bool lmdb_key_begins(sl_bytes key, const char *with)
{
    const size_t bytes = strlen(with);
    return key.size >= bytes && memcmp(key.data, with, bytes) == 0;
}

static bool lmdb_index_is_number(sl_bytes value)
{
    bool good = value.size > 0 && value.size < 20;
    for (size_t i = 0; good && i < value.size; i++) {
        good = value.data[i] >= '0' && value.data[i] <= '9';
    }
    return good;
}

/*
 * Returns whether writers added the entry to the samples. `value`: empty if it is not in the leaf.
 */
static bool is_added(sl_bytes key, sl_bytes value)
{
    static const char *const counts[] = {"num-samples", "num_samples", "length", "len"};
    if (key.size > 4 && lmdb_key_begins(key, "__") &&
        memcmp(key.data + key.size - 2, "__", 2) == 0) {
        return true;
    }
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        if (key.size == strlen(counts[i]) && lmdb_key_begins(key, counts[i])) {
            return lmdb_index_is_number(value);
        }
    }
    return false;
}

/*
 * Reads the digits after a prefix as a number that sorts like the keys: 4 bits each, from the top.
 * False: none, or more than 16.
 */
static bool digits_behind(sl_bytes key, const char *prefix, uint64_t *digits)
{
    const size_t head = strlen(prefix);
    if (!lmdb_key_begins(key, prefix) || key.size == head || key.size > head + 16) {
        return false;
    }
    *digits = 0;
    for (size_t i = head; i < key.size; i++) {
        if (key.data[i] < '0' || key.data[i] > '9') {
            return false;
        }
        *digits |= (uint64_t)(key.data[i] - '0' + 1) << (60 - 4 * (i - head));
    }
    return true;
}

static key_kind lmdb_key_kind(bool recognition, sl_bytes key, sl_bytes value, uint64_t *digits)
{
    if (!recognition) {
        return is_added(key, value) ? KEY_LEFT_OUT : KEY_SAMPLE;
    }
    return digits_behind(key, "image-", digits)   ? KEY_SAMPLE
           : digits_behind(key, "label-", digits) ? KEY_LABEL
                                                  : KEY_LEFT_OUT;
}

/* ---- making ---- */

typedef struct maker {
    sl_lmdb_index *index;
    sl_side_columns *labels;
    bool begun;       /* true once the first sample's key was seen */
    uint64_t *digits; /* digits of the images */
    uint64_t capacity,
        labelled; /* capacity of `digits`; images whose label is known or known to be missing */
    uint64_t label_count, label_bytes, left_out;
} maker;

static sluice_status lmdb_index_refuse(const sl_lmdb_entry *entry, const char *text,
                                       sluice_error *error)
{
    return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, entry->file->path, (int64_t)entry->offset,
                         "%s", text);
}

/* Records the leaf if it differs from the last one. */
static bool keep_leaf(sl_lmdb_index *index, uint64_t page)
{
    if (index->leaf_count > 0 && index->leaves[index->leaf_count - 1].page == page) {
        return true;
    }
    if (!sl_grow(&index->leaves, &index->leaf_capacity, index->leaf_count + 1,
                 sizeof(*index->leaves))) {
        return false;
    }
    index->leaves[index->leaf_count++] = (sl_lmdb_leaf){page, index->places.samples};
    return true;
}

static bool keep_digits(maker *m, uint64_t digits)
{
    const uint64_t count = m->index->places.samples;
    if (!sl_grow(&m->digits, &m->capacity, count + 1, sizeof(*m->digits))) {
        return false;
    }
    m->digits[count] = digits;
    return true;
}

static sluice_status lmdb_add_sample(maker *m, const sl_lmdb_entry *entry, uint64_t digits,
                                     sluice_error *error)
{
    sl_lmdb_index *index = m->index;
    const uint64_t count = index->places.samples;
    if (index->recognition &&
        (m->label_count > 0 || (count > 0 && m->digits[count - 1] >= digits))) {
        return lmdb_index_refuse(entry, "its keys are out of order", error);
    }
    if (!keep_leaf(index, entry->leaf) || (index->recognition && !keep_digits(m, digits)) ||
        !sl_file_index_add(&index->places, entry->offset, entry->bytes)) {
        return sl_no_memory_file(error, STAGE, entry->file->path, "for the file's index");
    }
    return SLUICE_OK;
}

/* Marks the images before number `end` that have no label. */
static sluice_status pass_images(maker *m, uint64_t end, sluice_error *error)
{
    const sl_value none = {.present = false};
    sluice_status status = SLUICE_OK;
    while (status == SLUICE_OK && m->labelled < end) {
        status = sl_side_columns_put(m->labels, 0, &none, error);
        m->labelled++;
    }
    return status;
}

static sluice_status put_label(maker *m, sl_bytes text, sluice_error *error)
{
    const sl_value value = {.present = true, .bytes = text};
    m->index->text = m->index->text && sl_is_utf8(text);
    m->labelled++;
    return sl_side_columns_put(m->labels, 0, &value, error);
}

/* Reads the label of image number `labelled`. */
static sluice_status read_label(maker *m, const sl_lmdb_entry *entry, sluice_error *error)
{
    const sl_lmdb *file = entry->file;
    const uint64_t bytes = entry->value.data != NULL ? entry->value.size : entry->bytes;
    m->label_bytes += bytes;
    if (m->label_bytes > file->file.bytes) {
        return lmdb_index_refuse(entry, "its labels are larger than the file", error);
    }
    if (entry->value.data != NULL) {
        return put_label(m, entry->value, error);
    }
    sl_bytes text;
    uint8_t *stored = sl_malloc(bytes);
    if (stored == NULL) {
        return sl_no_memory_file(error, STAGE, entry->file->path, "for the file's index");
    }
    sluice_status status = sl_handle_read(&file->from, stored, bytes, entry->offset, error);
    if (status == SLUICE_OK) {
        const sl_refusal why =
            sl_lmdb_value((sl_bytes){stored, bytes}, entry->offset, file->meta.page_bytes, &text);
        status = why.text != NULL ? lmdb_index_refuse(entry, why.text, error)
                                  : put_label(m, text, error);
    }
    sl_free(stored);
    return status;
}

static sluice_status lmdb_add_label(maker *m, const sl_lmdb_entry *entry, uint64_t digits,
                                    sluice_error *error)
{
    const uint64_t images = m->index->places.samples;
    uint64_t image = m->labelled;
    while (image < images && m->digits[image] < digits) {
        image++;
    }
    m->label_count++;
    const sluice_status status = pass_images(m, image, error);
    if (status < 0) {
        return status;
    }
    if (image == images || m->digits[image] != digits) {
        m->left_out++; /* a text without an image */
        return SLUICE_OK;
    }
    return read_label(m, entry, error);
}

static sluice_status lmdb_index_take(void *ctx, const sl_lmdb_entry *entry, sluice_error *error)
{
    maker *m = ctx;
    uint64_t digits = 0;
    if (!m->begun && !is_added(entry->key, entry->value)) {
        m->begun = true;
        m->index->recognition =
            m->index->recognition && digits_behind(entry->key, "image-", &digits);
    }
    switch (lmdb_key_kind(m->index->recognition && m->begun, entry->key, entry->value, &digits)) {
    case KEY_SAMPLE:
        return lmdb_add_sample(m, entry, digits, error);
    case KEY_LABEL:
        return lmdb_add_label(m, entry, digits, error);
    case KEY_LEFT_OUT:
        break;
    }
    m->left_out += !is_added(entry->key, entry->value);
    return SLUICE_OK;
}

/* `recognition`: the file may be one of text recognition. */
static sluice_status lmdb_index_walk(maker *m, const sl_lmdb *file, bool recognition,
                                     sluice_error *error)
{
    sl_lmdb_index *index = m->index;
    *m = (maker){.index = index, .labels = m->labels};
    *index = (sl_lmdb_index){.recognition = recognition,
                             .text = true,
                             .page_bytes = file->meta.page_bytes,
                             .transaction = file->meta.transaction};
    index->places.file = file->file;
    sluice_status status = sl_lmdb_walk(file, lmdb_index_take, m, error);
    if (status == SLUICE_OK && m->label_count > 0) {
        status = pass_images(m, index->places.samples, error);
    }
    index->left_out = m->left_out;
    sl_free(m->digits);
    return status;
}

sluice_status sl_lmdb_index_make(sl_lmdb_index *index, const char *path, sl_side_columns *labels,
                                 sluice_error *error)
{
    sl_lmdb file;
    maker m = {.index = index, .labels = labels};
    *index = (sl_lmdb_index){.text = true};
    sluice_status status = sl_lmdb_open(&file, path, error);
    if (status < 0) {
        return status;
    }
    const bool plain = (file.tree.flags & (SL_LMDB_REVERSE_KEYS | SL_LMDB_NUMBER_KEYS)) != 0;
    status = lmdb_index_walk(&m, &file, !plain, error);
    if (status == SLUICE_OK && index->recognition && m.label_count == 0) {
        /* images named "image-N" without labels: other entries are samples too */
        sl_lmdb_index_close(index);
        status = lmdb_index_walk(&m, &file, false, error);
    }
    sl_lmdb_close(&file);
    if (status < 0) {
        sl_lmdb_index_close(index);
    }
    return status;
}

void sl_lmdb_index_close(sl_lmdb_index *index)
{
    sl_file_index_close(&index->places);
    sl_free(index->leaves);
    index->leaves = NULL;
}

/* ---- keys of samples ---- */

const sl_lmdb_leaf *sl_lmdb_index_leaf(const sl_lmdb_index *index, uint64_t sample)
{
    return &index->leaves[sl_last_at_or_before(&index->leaves->first, sizeof(*index->leaves),
                                               index->leaf_count, sample)];
}

sl_refusal sl_lmdb_index_key(const sl_lmdb_index *index, const sl_lmdb_leaf *leaf, sl_bytes bytes,
                             uint64_t sample, sl_bytes *key)
{
    sl_lmdb_page page;
    uint64_t before = sample - leaf->first;
    const sl_refusal why = sl_lmdb_page_open(&page, bytes, leaf->page);
    if (why.text != NULL) {
        return why;
    }
    for (uint32_t i = 0; page.leaf && i < page.nodes; i++) {
        sl_lmdb_node node;
        uint64_t digits;
        const sl_refusal bad = sl_lmdb_node_at(&page, i, &node);
        if (bad.text != NULL) {
            return bad;
        }
        if (lmdb_key_kind(index->recognition, node.key, node.value, &digits) == KEY_SAMPLE &&
            before-- == 0) {
            *key = node.key;
            return sl_accept();
        }
    }
    return sl_refuse("a key has moved: the file was modified since it was opened", 0);
}
