/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_pages: reads headers through a window that grows only for longer headers. One owner
 * thread.
 *
 * The walk ends with the chunk; a header that claims more is an error in the file.
 */
#include "parquet_pages.h"

#include "memory.h"
#include "parquet_page.h"
#include "store.h"
#include "thrift.h"

#define STAGE "dataset"

/* Numbers of PageType. */
enum { TYPE_DATA = 0, TYPE_INDEX = 1, TYPE_DICTIONARY = 2, TYPE_DATA_2 = 3 };

typedef struct header {
    int64_t type, unpacked, bytes, values, encoding, level_encoding, rep_bytes, def_bytes;
    int64_t crc;
    bool compressed, has_facts, has_crc;
} header;

/* ---- a header ---- */

/* Reads DataPageHeader or DictionaryPageHeader: values, encoding, encoding of levels. */
static void read_facts(sl_thrift *t, header *h)
{
    sl_thrift_field field = {0};
    h->has_facts = true;
    while (sl_thrift_next(t, &field)) {
        switch (field.id) {
        case 1:
            h->values = sl_thrift_integer(t, &field);
            break;
        case 2:
            h->encoding = sl_thrift_integer(t, &field);
            break;
        case 3:
            if (field.type == SL_THRIFT_I32) {
                h->level_encoding = sl_thrift_integer(t, &field);
                break;
            }
            sl_thrift_skip(t, &field); /* in a dictionary: whether it is sorted */
            break;
        default:
            sl_thrift_skip(t, &field);
        }
    }
}

static void read_facts_2(sl_thrift *t, header *h)
{
    sl_thrift_field field = {0};
    h->has_facts = true;
    while (sl_thrift_next(t, &field)) {
        switch (field.id) {
        case 1:
            h->values = sl_thrift_integer(t, &field);
            break;
        case 4:
            h->encoding = sl_thrift_integer(t, &field);
            break;
        case 5:
            h->def_bytes = sl_thrift_integer(t, &field);
            break;
        case 6:
            h->rep_bytes = sl_thrift_integer(t, &field);
            break;
        case 7:
            h->compressed = sl_thrift_bool(t, &field);
            break;
        default:
            sl_thrift_skip(t, &field);
        }
    }
}

static void parquet_pages_read_header(sl_thrift *t, header *h)
{
    sl_thrift_field field = {0};
    *h = (header){.type = -1,
                  .unpacked = -1,
                  .bytes = -1,
                  .values = -1,
                  .level_encoding = SL_PARQUET_RLE,
                  .compressed = true};
    while (sl_thrift_next(t, &field)) {
        const bool is_struct = field.type == SL_THRIFT_STRUCT;
        if (field.id == 1) {
            h->type = sl_thrift_integer(t, &field);
        } else if (field.id == 2) {
            h->unpacked = sl_thrift_integer(t, &field);
        } else if (field.id == 3) {
            h->bytes = sl_thrift_integer(t, &field);
        } else if (field.id == 4 && field.type == SL_THRIFT_I32) {
            h->crc = sl_thrift_integer(t, &field);
            h->has_crc = true;
        } else if ((field.id == 5 || field.id == 7) && is_struct) {
            read_facts(t, h);
        } else if (field.id == 8 && is_struct) {
            read_facts_2(t, h);
        } else {
            sl_thrift_skip(t, &field);
        }
    }
}

static bool is_size(int64_t size)
{
    return size >= 0 && size <= INT32_MAX;
}

static bool is_sound(const header *h)
{
    return h->has_facts && is_size(h->unpacked) && is_size(h->bytes) && is_size(h->values) &&
           is_size(h->encoding) && is_size(h->rep_bytes) && is_size(h->def_bytes) &&
           is_size(h->level_encoding) && h->rep_bytes + h->def_bytes <= h->bytes &&
           h->rep_bytes + h->def_bytes <= h->unpacked;
}

size_t sl_parquet_page_header(sl_bytes bytes, sl_parquet_page *page, bool *is_other)
{
    sl_thrift t;
    header h;
    sl_thrift_begin(&t, bytes);
    parquet_pages_read_header(&t, &h);
    *is_other = h.type != TYPE_DATA && h.type != TYPE_DATA_2 && h.type != TYPE_DICTIONARY;
    if (t.bad || !is_size(h.bytes) || (!*is_other && !is_sound(&h))) {
        return 0;
    }
    *page = (sl_parquet_page){.kind = h.type == TYPE_DATA     ? SL_PARQUET_DATA_1
                                      : h.type == TYPE_DATA_2 ? SL_PARQUET_DATA_2
                                                              : SL_PARQUET_DICTIONARY,
                              .bytes = (uint32_t)h.bytes,
                              .unpacked = (uint32_t)h.unpacked,
                              .values = (uint32_t)h.values,
                              .encoding = (uint32_t)h.encoding,
                              .level_encoding = (uint32_t)h.level_encoding,
                              .rep_bytes = (uint32_t)h.rep_bytes,
                              .def_bytes = (uint32_t)h.def_bytes,
                              .compressed = h.compressed,
                              .has_crc = h.has_crc,
                              .crc = (uint32_t)h.crc};
    return (size_t)(t.at - bytes.data);
}

/* ---- the walk ---- */

void sl_parquet_walk_begin(sl_parquet_walk *walk, const sl_handle *from,
                           const sl_parquet_chunk *chunk)
{
    walk->from = from;
    walk->at = chunk->offset;
    walk->end = chunk->offset + chunk->bytes;
    walk->values = 0;
    walk->codec = chunk->codec;
    walk->window_bytes = 0;
}

static sluice_status parquet_pages_refuse(const sl_parquet_walk *walk, const char *why,
                                          sluice_error *error)
{
    return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, walk->from->name.path, (int64_t)walk->at,
                         "%s", why);
}

/* Reads a header longer than the window, with statistics of long values. */
static sluice_status read_long(const sl_parquet_walk *walk, sl_parquet_page *page, bool *is_other,
                               size_t *bytes, sluice_error *error)
{
    const uint64_t left = walk->end - walk->at;
    const size_t most = left < SL_PARQUET_HEADER_MAX ? (size_t)left : SL_PARQUET_HEADER_MAX;
    uint8_t *memory = sl_malloc(most);
    if (memory == NULL) {
        return sl_error_file(error, SLUICE_NOMEM, STAGE, 0, walk->from->name.path,
                             (int64_t)walk->at, "out of memory for a page's header");
    }
    const sluice_status status = sl_handle_read(walk->from, memory, most, walk->at, error);
    *bytes =
        status == SLUICE_OK ? sl_parquet_page_header((sl_bytes){memory, most}, page, is_other) : 0;
    sl_free(memory);
    return status;
}

static sluice_status parquet_pages_read_page(sl_parquet_walk *walk, sl_parquet_page *page,
                                             bool *is_other, sluice_error *error)
{
    const uint64_t left = walk->end - walk->at;
    const size_t wanted = left < sizeof(walk->window) ? (size_t)left : sizeof(walk->window);
    sluice_status status = sl_handle_read(walk->from, walk->window, wanted, walk->at, error);
    if (status < 0) {
        return status;
    }
    walk->window_at = walk->at;
    walk->window_bytes = wanted;
    size_t bytes = sl_parquet_page_header((sl_bytes){walk->window, wanted}, page, is_other);
    if (bytes == 0 && wanted < left) {
        status = read_long(walk, page, is_other, &bytes, error);
        if (status < 0) {
            return status;
        }
    }
    if (bytes == 0 || page->bytes > left - bytes) {
        return parquet_pages_refuse(walk,
                                    bytes == 0 ? "the header of a page is damaged"
                                               : "a page is longer than the rest of its column",
                                    error);
    }
    page->offset = walk->at + bytes;
    walk->at = page->offset + page->bytes;
    return SLUICE_OK;
}

sluice_status sl_parquet_walk_next(sl_parquet_walk *walk, uint64_t values, sl_parquet_page *page,
                                   sluice_error *error)
{
    const char *refused = sl_page_codec_refused(walk->codec);
    if (refused != NULL) {
        return sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0, walk->from->name.path,
                             (int64_t)walk->at, "%s", refused);
    }
    for (;;) {
        bool is_other = false;
        if (walk->at == walk->end || walk->values == values) {
            return walk->values == values
                       ? SLUICE_END
                       : parquet_pages_refuse(walk, "a column has too few values", error);
        }
        const sluice_status status = parquet_pages_read_page(walk, page, &is_other, error);
        if (status < 0) {
            return status;
        }
        if (is_other) {
            continue;
        }
        page->compressed = page->compressed && walk->codec != SL_PAGE_PLAIN;
        if (!page->compressed && page->bytes != page->unpacked) {
            return parquet_pages_refuse(walk, "an uncompressed page has two different sizes",
                                        error);
        }
        if (page->values > 0 && page->bytes == 0) {
            return parquet_pages_refuse(walk, "a page has values, but no bytes", error);
        }
        if (page->compressed && sl_page_is_bomb(page->bytes, page->unpacked)) {
            return parquet_pages_refuse(
                walk, "a page claims to unpack to more than 1024 times its size", error);
        }
        if (page->kind == SL_PARQUET_DICTIONARY) {
            return SLUICE_OK;
        }
        walk->values += page->values;
        return walk->values <= values
                   ? SLUICE_OK
                   : parquet_pages_refuse(walk, "a column has too many values", error);
    }
}
