/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar_index: walks an archive's headers and groups members into samples, on a thread of the opener.
 *
 * Wanted bytes come from the window or are read: from the file, or from the stream of a compressed
 * archive, which can go back by at most one window. A sample stays open (`first` below `last`)
 * until a member with another key or the end of the archive.
 */
#include "tar_index.h"

#include "error.h"
#include "member_fields.h"
#include "memory.h"
#include "minmax.h"
#include "store.h"
#include "stream.h"
#include "tar_left_out.h"
#include "tar_links.h"
#include "tar_walk.h"

#include <string.h>

#define STAGE "dataset"
/* Size of a read while members are small, since their headers are close together. */
#define WINDOW_BYTES ((size_t)64 << 10)
/* In a stream, a read begins at most one window before the end of the previous one. */
enum { CHUNKS = 2 };

/*
 * An archive without links is walked once. One with links is walked twice more: to resolve the
 * links, whose targets may come after them, and to build the index.
 */
typedef enum walk_pass {
    PASS_FIRST, /* builds the index without links and lists the links */
    PASS_TARGETS,
    PASS_LINKED
} walk_pass;

typedef struct walker {
    sl_file_index *index;
    const char *path;
    sl_handle from;     /* the caller's handle, which stays open */
    sl_stream *stream;  /* NULL: the archive is not compressed */
    uint64_t end;       /* size of the archive; UINT64_MAX: a stream whose size is still unknown */
    uint64_t window_at; /* offset of the window's first byte */
    size_t window_bytes;
    uint64_t members; /* members seen so far */
    sl_tar_walk walk;
    walk_pass pass;
    sl_tar_links links;
    uint64_t links_met;   /* links seen, including the current member */
    uint64_t first, last; /* extent of the current sample; first == last: none */
    uint64_t linked;      /* bytes of the sample that are stored elsewhere */
    size_t key_bytes;
    uint32_t pictures; /* images of the sample */
    uint32_t parts;    /* members of the sample that are links */
    char key[SL_TAR_NAME_MAX + 1];
    uint8_t window[WINDOW_BYTES], extra[SL_TAR_EXTRA_MAX];
} walker;

static sluice_status tar_fail(const walker *w, sluice_status status, uint64_t offset,
                              const char *text, sluice_error *error)
{
    return sl_error_file(error, status, STAGE, 0, w->path, (int64_t)offset, "%s", text);
}

/* Reads `*bytes` at `at`, or as many as there are up to the end. */
static sluice_status tar_read_some(walker *w, uint64_t at, uint8_t *to, size_t *bytes,
                                   sluice_error *error)
{
    const uint64_t left = at < w->end ? w->end - at : 0;
    const size_t wanted = (size_t)sl_min_u64(left, *bytes);
    *bytes = wanted;
    if (w->stream == NULL) {
        return sl_handle_read(&w->from, to, wanted, at, error);
    }
    const sluice_status status = sl_stream_read_some(w->stream, at, to, wanted, bytes, error);
    if (status == SLUICE_OK && *bytes < wanted) {
        w->end = sl_stream_bytes(w->stream);
    }
    return status;
}

/* Fills the window with the data at `at`; `*there`: bytes available from `at` on. */
static sluice_status tar_fill(walker *w, uint64_t at, size_t bytes, size_t *there,
                              sluice_error *error)
{
    if (at >= w->window_at && at - w->window_at + bytes <= w->window_bytes) {
        *there = w->window_bytes - (size_t)(at - w->window_at);
        return SLUICE_OK;
    }
    /* with large members, reads only a header; with small ones, also the data around it */
    const size_t near = w->members > 0 && at / w->members > WINDOW_BYTES / 4 ? 4096 : WINDOW_BYTES;
    size_t read = sl_max_size(near, bytes);
    w->window_bytes = 0;
    const sluice_status status = tar_read_some(w, at, w->window, &read, error);
    if (status == SLUICE_OK) {
        w->window_at = at;
        w->window_bytes = read;
        *there = read;
    }
    return status;
}

/* Finds `bytes` at `at` in the window, or reads them. */
static sluice_status tar_look(walker *w, uint64_t at, size_t bytes, const uint8_t **found,
                              sluice_error *error)
{
    size_t there = bytes;
    const bool fits = bytes <= WINDOW_BYTES;
    const sluice_status status = fits ? tar_fill(w, at, bytes, &there, error)
                                      : tar_read_some(w, at, w->extra, &there, error);
    if (status < 0) {
        return status;
    }
    *found = fits ? w->window + (at - w->window_at) : w->extra;
    return there >= bytes ? SLUICE_OK
                          : tar_fail(w, SLUICE_CORRUPT, sl_min_u64(at, w->end),
                                     "the archive is truncated", error);
}

static sluice_status no_memory_for_index(const walker *w, sluice_error *error)
{
    return sl_no_memory_file(error, STAGE, w->path, "for the archive's index");
}

static sluice_status tar_end_sample(walker *w, sluice_error *error)
{
    if (w->first == w->last) {
        return SLUICE_OK;
    }
    w->index->facts |= w->pictures > 1 ? SL_MEMBER_TWO_PICTURES : 0;
    const bool added = sl_file_index_add(w->index, w->first, w->last - w->first);
    w->first = w->last;
    return added ? SLUICE_OK : no_memory_for_index(w, error);
}

static sluice_status check_size(const walker *w, uint64_t bytes, sluice_error *error)
{
    const sl_tar_member *member = &w->walk.member;
    return bytes <= SL_RECORD_BYTES_MAX
               ? SLUICE_OK
               : sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0, w->path, (int64_t)member->begin,
                               "a sample is larger than 2^31 - 1 bytes, up to the end of "
                               "\"%.256s\"",
                               w->walk.name);
}

static sluice_status tar_add_part(walker *w, const sl_member_part *part, sluice_error *error)
{
    const sl_tar_member *member = &w->walk.member;
    const bool same = w->first != w->last && part->key_bytes == w->key_bytes &&
                      memcmp(w->walk.name, w->key, w->key_bytes) == 0;
    sluice_status status = same ? SLUICE_OK : tar_end_sample(w, error);
    if (status < 0) {
        return status;
    }
    if (!same) {
        w->first = member->begin;
        w->linked = 0;
        w->pictures = 0;
        w->parts = 0;
        w->key_bytes = part->key_bytes;
        memcpy(w->key, w->walk.name, part->key_bytes);
    }
    status = check_size(w, member->data + member->bytes - w->first + w->linked, error);
    if (status < 0) {
        return status;
    }
    w->last = member->data + member->bytes;
    w->pictures += sl_member_is_picture(part->extension);
    if (sl_file_index_name(w->index, part->extension) != SL_FIELD_NONE) {
        return SLUICE_OK;
    }
    return sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0, w->path, (int64_t)member->begin,
                         "the archive has more than %u extensions, the last one \"%s\": a key ends "
                         "at the first dot of a file name",
                         SL_INDEX_NAMES_MAX, part->extension);
}

static sluice_status leave_out_member(walker *w, sl_tar_left_out reason, sluice_error *error)
{
    return reason == SL_TAR_NOTHING || sl_file_index_omit(w->index, reason, w->walk.name)
               ? SLUICE_OK
               : no_memory_for_index(w, error);
}

/*
 * Adds a member whose bytes are those of `target`. If a sample has too many links, two have the
 * same extension, which fails the sample anyway.
 */
static sluice_status add_linked(walker *w, const sl_member_part *part, const sl_tar_target *target,
                                sluice_error *error)
{
    sluice_status status = tar_add_part(w, part, error);
    if (status < 0 || w->parts == SL_INDEX_LINKS_MAX) {
        return status;
    }
    w->linked += target->bytes;
    status = check_size(w, w->last - w->first + w->linked, error);
    if (status < 0) {
        return status;
    }
    const sl_index_link link = {.sample = w->index->samples,
                                .offset = target->data,
                                .bytes = (uint32_t)target->bytes,
                                .part =
                                    (uint32_t)((w->walk.member.begin - w->first) / SL_TAR_BLOCK)};
    w->parts++;
    return sl_file_index_link(w->index, &link) ? SLUICE_OK : no_memory_for_index(w, error);
}

static sluice_status add_link(walker *w, const sl_member_part *part, sluice_error *error)
{
    if (w->pass == PASS_LINKED) {
        const sl_tar_target *target = &w->links.of[w->links_met - 1].target;
        if (target->kind == SL_TAR_TARGET_FILE) {
            return add_linked(w, part, target, error);
        }
    }
    return leave_out_member(w, sl_tar_left_out_link(&w->walk, w->stream != NULL), error);
}

static sluice_status take_named_member(walker *w, sl_member_name kind, const sl_member_part *part,
                                       sluice_error *error)
{
    const sl_tar_member *member = &w->walk.member;
    switch (kind) {
    case SL_MEMBER_NAME_GOOD:
        return sl_tar_is_link(member) ? add_link(w, part, error) : tar_add_part(w, part, error);
    case SL_MEMBER_NAME_LONG:
        return sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0, w->path, (int64_t)member->begin,
                             "the extension of \"%.256s\" (everything after the first dot of its "
                             "name) has more than %u bytes",
                             w->walk.name, SL_MEMBER_EXTENSION_BYTES - 1);
    case SL_MEMBER_NAME_NONE:
        break;
    }
    return SLUICE_OK;
}

static sluice_status add_member(walker *w, sluice_error *error)
{
    const sl_tar_member *member = &w->walk.member;
    w->members++;
    if (member->data > w->end || member->bytes > w->end - member->data) {
        return tar_fail(w, SLUICE_CORRUPT, w->end, "the archive is truncated", error);
    }
    w->links_met += w->stream == NULL && sl_tar_is_link(member);
    if (w->pass != PASS_FIRST && w->links_met > w->links.count) {
        return tar_fail(w, SLUICE_CORRUPT, member->begin, "the archive was modified", error);
    }
    if (w->pass == PASS_TARGETS) {
        sl_tar_links_meet(&w->links, &w->walk);
        return SLUICE_OK;
    }
    if (w->pass == PASS_FIRST && sl_tar_is_link(member) && w->stream == NULL &&
        !sl_tar_links_add(&w->links, &w->walk)) {
        return no_memory_for_index(w, error);
    }
    sl_member_name kind;
    sl_member_part part;
    const sl_tar_left_out reason = sl_tar_left_out_of(&w->walk, &kind, &part);
    return reason == SL_TAR_IN_SAMPLE ? take_named_member(w, kind, &part, error)
                                      : leave_out_member(w, reason, error);
}

/*
 * Checks that only zeros follow the end mark: otherwise archives were concatenated, and the rest
 * would be lost silently.
 */
static sluice_status tar_check_end(walker *w, sluice_error *error)
{
    size_t there = 0;
    uint64_t at = w->walk.at;
    sluice_status status = tar_fill(w, at, 1, &there, error);
    while (status == SLUICE_OK && there > 0) {
        const uint8_t *found = w->window + (at - w->window_at);
        for (size_t i = 0; i < there; i++) {
            if (found[i] != 0) {
                return tar_fail(
                    w, SLUICE_CORRUPT, at + i,
                    "data after the end-of-archive mark: were several archives concatenated?",
                    error);
            }
        }
        at += there;
        status = tar_fill(w, at, 1, &there, error);
    }
    return status;
}

/* Checks before each header whether anything follows. */
static sluice_status check_mark(walker *w, sluice_error *error)
{
    size_t there = 0;
    const sluice_status status = tar_fill(w, w->walk.at, 1, &there, error);
    if (status < 0 || there > 0 || w->walk.at > w->end) {
        return status;
    }
    return tar_fail(w, SLUICE_CORRUPT, w->walk.at,
                    "the archive has no end-of-archive mark, so it may be cut short (if it is "
                    "complete, `truncate -s +1024 FILE` adds the mark)",
                    error);
}

static sluice_status walk_members(walker *w, sluice_error *error)
{
    sl_refusal why;
    for (;;) {
        const uint64_t at = w->walk.at;
        const uint8_t *bytes = NULL;
        sluice_status status = at == w->walk.begin ? check_mark(w, error) : SLUICE_OK;
        if (status == SLUICE_OK) {
            status = tar_look(w, at, w->walk.want, &bytes, error);
        }
        if (status < 0) {
            return status;
        }
        switch (sl_tar_next(&w->walk, bytes, &why)) {
        case SL_TAR_GO_ON:
            break;
        case SL_TAR_MEMBER:
            status = add_member(w, error);
            break;
        case SL_TAR_END:
            return tar_check_end(w, error);
        case SL_TAR_REFUSED:
            status = tar_fail(w, why.status, at + why.offset, why.text, error);
            break;
        }
        if (status < 0) {
            return status;
        }
    }
}

/* Starts the stream of a compressed archive, which is walked unpacked. */
static sluice_status begin_stream(walker *w, sl_packing packing, sluice_error *error)
{
    sl_file_index *index = w->index;
    const sl_packed packed = {.packing = packing, .file = index->file};
    index->packing = packing;
    w->end = UINT64_MAX;
    w->window_bytes = 0;
    return sl_stream_open_over(&w->stream, &w->from, &packed, CHUNKS, error);
}

/* Recognises compressed archives by their first bytes. */
static sluice_status check_begin(walker *w, sluice_error *error)
{
    static const struct {
        uint8_t bytes[4];
        size_t count;
        const char *text;
    } compressed[] = {
        {{'B', 'Z', 'h'}, 3, "bzip2"},
        {{0xfd, '7', 'z', 'X'}, 4, "xz"},
        {{0x04, 0x22, 0x4d, 0x18}, 4, "lz4"},
    };
    size_t there = 0;
    const sluice_status status = tar_fill(w, 0, 1, &there, error);
    const sl_packing packing = sl_packing_of((sl_bytes){w->window, there});
    if (status < 0 || packing != SL_PACKING_NONE) {
        return status < 0 ? status : begin_stream(w, packing, error);
    }
    for (size_t i = 0; i < sizeof(compressed) / sizeof(compressed[0]); i++) {
        if (there >= compressed[i].count &&
            memcmp(w->window, compressed[i].bytes, compressed[i].count) == 0) {
            return sl_error_file(error, SLUICE_UNSUPPORTED, STAGE, 0, w->path, 0,
                                 "compressed by %s: unpack it first, or compress it by gzip or "
                                 "zstd, which `sluice pack` can read",
                                 compressed[i].text);
        }
    }
    return SLUICE_OK;
}

/* Fails if the file is too short to be an archive. */
static sluice_status check_length(walker *w, sluice_error *error)
{
    size_t there = 0;
    const sluice_status status = tar_fill(w, 0, SL_TAR_BLOCK, &there, error);
    return status < 0 || there >= SL_TAR_BLOCK
               ? status
               : tar_fail(w, SLUICE_CORRUPT, 0,
                          w->stream != NULL ? "the unpacked data is too short for a tar archive"
                                            : "the file is too short for a tar archive",
                          error);
}

static sluice_status walk_pass_of(walker *w, walk_pass pass, sluice_error *error)
{
    w->pass = pass;
    w->members = 0;
    w->links_met = 0;
    w->first = w->last = 0;
    sl_tar_begin(&w->walk, 0);
    const sluice_status status = walk_members(w, error);
    return status == SLUICE_OK ? tar_end_sample(w, error) : status;
}

static sluice_status walk_linked(walker *w, sluice_error *error)
{
    sl_file_index *index = w->index;
    const sl_file_identity file = index->file;
    if (!sl_tar_links_begin(&w->links)) {
        return no_memory_for_index(w, error);
    }
    sluice_status status = walk_pass_of(w, PASS_TARGETS, error);
    if (status < 0) {
        return status;
    }
    sl_tar_links_settle(&w->links);
    sl_file_index_close(index);
    *index = (sl_file_index){.kind = SL_INDEX_TAR, .file = file};
    return walk_pass_of(w, PASS_LINKED, error);
}

static sluice_status walk_open(walker *w, sluice_error *error)
{
    sl_handle_advise(&w->from, SL_ADVICE_RANDOM, 0, 0); /* payloads are not read */
    w->end = w->index->file.bytes;
    sluice_status status = check_begin(w, error);
    if (status == SLUICE_OK) {
        status = check_length(w, error);
    }
    if (status == SLUICE_OK) {
        status = walk_pass_of(w, PASS_FIRST, error);
    }
    return status == SLUICE_OK && w->links.count > 0 ? walk_linked(w, error) : status;
}

sluice_status sl_tar_index_walk(sl_file_index *index, const sl_open_file *file, sluice_error *error)
{
    const char *path = file->handle.name.path;
    *index = (sl_file_index){.kind = SL_INDEX_TAR};
    walker *w = sl_malloc(sizeof(*w));
    if (w == NULL) {
        return sl_no_memory_file(error, STAGE, path, "for the headers of a tar");
    }
    memset(w, 0, offsetof(walker, window));
    w->index = index;
    w->path = path;
    w->from = file->handle;
    index->file = file->identity;
    const sluice_status status = walk_open(w, error);
    sl_stream_close(w->stream);
    sl_tar_links_close(&w->links);
    sl_free(w);
    if (status < 0) {
        sl_file_index_close(index);
    }
    return status;
}
