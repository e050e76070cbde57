/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shards_open: opens shards by their manifest or one by one, and checks that they belong together.
 *
 * One thread; then the dataset is immutable. Nothing in a file is trusted before its checksum is
 * verified.
 */
#include "checksum.h"
#include "error.h"
#include "little_endian.h"
#include "memory.h"
#include "shards.h"
#include "store.h"

#include <stdio.h>
#include <string.h>

#define STAGE "dataset"
/* Sections are read in pieces of this size, a multiple of the row size, until they are verified. */
#define PIECE_BYTES ((size_t)64 << 10)

enum { MAGIC_BYTES = 8 };

/* State of opening a manifest or shard. */
typedef struct opened {
    const char *path;
    sl_handle from;
    sl_file_identity identity;
    uint8_t *piece; /* PIECE_BYTES; owned */
} opened;

/* The extent of a section. */
typedef struct section {
    uint64_t offset, bytes, checksum;
} section;

/* The location of the metadata. */
typedef struct metadata {
    section at;
    uint32_t version; /* version of the file */
} metadata;

static bool shards_open_holds(const char *folder, const char *name)
{
    char path[SL_PATH_BYTES];
    return sl_path_join(path, folder, name) && sl_store_has(path);
}

static sluice_status read_kind(const sl_handle *from, sl_page_kind *kind, sluice_error *error)
{
    uint8_t magic[MAGIC_BYTES];
    const sluice_status status = sl_handle_read(from, magic, sizeof(magic), 0, error);
    *kind = status < 0 ? SL_PAGE_OTHER : sl_page_kind_of(magic);
    return status;
}

static bool shards_open_probe(sl_look *look)
{
    const char *path = look->path;
    if (sl_look_is_folder(look)) {
        return shards_open_holds(path, SL_MANIFEST_NAME) ||
               shards_open_holds(path, SL_JOURNAL_NAME) ||
               shards_open_holds(path, "shard-000000" SL_SHARD_SUFFIX);
    }
    const sl_bytes head = sl_look_head(look, MAGIC_BYTES);
    return sl_look_kind(look) != SL_ENTRY_UNKNOWN &&
           (sl_ends_with(path, SL_SHARD_SUFFIX) ||
            (head.size == MAGIC_BYTES && sl_page_kind_of(head.data) != SL_PAGE_OTHER));
}

static bool is_marked(const char *folder)
{
    return shards_open_holds(folder, SL_MANIFEST_NAME);
}

static sluice_status shards_open_check_sum(const opened *file, const section *where, uint64_t sum,
                                           sluice_error *error)
{
    return sum == where->checksum
               ? SLUICE_OK
               : sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, file->path, (int64_t)where->offset,
                               "a section does not match its checksum");
}

/*
 * Passes a section to `take` in pieces, each with its offset in the section; then verifies the
 * section's checksum.
 */
static sluice_status read_pieces(const opened *file, const section *where,
                                 sluice_status (*take)(void *ctx, sl_bytes piece, uint64_t at,
                                                       sluice_error *error),
                                 void *ctx, sluice_error *error)
{
    sl_checksum_stream stream;
    sluice_status status = SLUICE_OK;
    sl_checksum_begin(&stream);
    for (uint64_t at = 0; status == SLUICE_OK && at < where->bytes;) {
        const uint64_t left = where->bytes - at;
        const size_t bytes = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
        status = sl_handle_read(&file->from, file->piece, bytes, where->offset + at, error);
        if (status == SLUICE_OK) {
            sl_checksum_add(&stream, file->piece, bytes);
            status = take(ctx, (sl_bytes){file->piece, bytes}, at, error);
        }
        at += bytes;
    }
    return status == SLUICE_OK
               ? shards_open_check_sum(file, where, sl_checksum_value(&stream), error)
               : status;
}

/* Reads a section into new memory; its size was verified. */
static sluice_status read_section(const opened *file, const section *where, uint8_t **out,
                                  sluice_error *error)
{
    uint8_t *bytes = sl_malloc(where->bytes);
    if (bytes == NULL) {
        return sl_error_file(error, SLUICE_NOMEM, STAGE, 0, file->path, (int64_t)where->offset,
                             "out of memory for a section of %llu bytes",
                             (unsigned long long)where->bytes);
    }
    sluice_status status = sl_handle_read(&file->from, bytes, where->bytes, where->offset, error);
    if (status == SLUICE_OK) {
        status = shards_open_check_sum(file, where, sl_checksum(bytes, where->bytes), error);
    }
    if (status < 0) {
        sl_free(bytes);
        return status;
    }
    *out = bytes;
    return SLUICE_OK;
}

/* State of looking at metadata. */
typedef struct look {
    const metadata *where;
    sl_names_survey survey;
    sl_refusal
        refusal; /* first error; if the bytes are damaged, the checksum is the better reason */
} look;

static sluice_status look_at_piece(void *ctx, sl_bytes piece, uint64_t at, sluice_error *error)
{
    look *l = ctx;
    (void)error;
    if (at == 0) {
        l->refusal =
            sl_names_survey_begin(&l->survey, l->where->version, l->where->at.bytes, piece.data);
    }
    if (l->refusal.text == NULL) {
        l->refusal = sl_names_survey_add(&l->survey, piece);
    }
    return SLUICE_OK;
}

/* Checks metadata with memory that does not depend on their claims. */
static sluice_status look_at_metadata(const opened *file, const metadata *where,
                                      sluice_error *error)
{
    look l = {.where = where};
    const sluice_status status = read_pieces(file, &where->at, look_at_piece, &l, error);
    if (status < 0) {
        return status;
    }
    if (l.refusal.text == NULL) {
        l.refusal = sl_names_survey_end(&l.survey);
    }
    return l.refusal.text == NULL
               ? SLUICE_OK
               : sl_shards_refuse(error, l.refusal, file->path, where->at.offset);
}

/* Takes the first source's metadata as the dataset's; all others must be equal. */
static sluice_status take_metadata(sl_shards *shards, const opened *file, const metadata *where,
                                   sluice_error *error)
{
    sluice_status status = look_at_metadata(file, where, error);
    if (status < 0) {
        return status;
    }
    if (shards->count > 0) {
        if (where->at.checksum == shards->meta_checksum && where->at.bytes == shards->meta_bytes &&
            where->version == shards->schema.version) {
            return SLUICE_OK;
        }
        return sl_error_file(
            error, SLUICE_INVALID, STAGE, 0, file->path, (int64_t)where->at.offset,
            "its fields, class names or version differ from those of the shards before it");
    }
    uint8_t *bytes = NULL;
    status = read_section(file, &where->at, &bytes, error);
    if (status < 0) {
        return status;
    }
    const sl_refusal refusal =
        sl_schema_decode(&shards->schema, where->version, (sl_bytes){bytes, where->at.bytes});
    sl_free(bytes);
    if (refusal.text != NULL) {
        return sl_shards_refuse(error, refusal, file->path, where->at.offset);
    }
    shards->meta_checksum = where->at.checksum;
    shards->meta_bytes = where->at.bytes;
    const bool first = where->version == 1;
    shards->base.ops = first ? &sl_shards_ops_1 : &sl_shards_ops_2;
    shards->base.head_bytes = first ? 0 : shards->schema.head_bytes;
    shards->base.tensors = first ? NULL : &sl_shards_tensors_2;
    shards->base.checks = first ? &sl_shards_checks_1 : &sl_shards_checks_2;
    return SLUICE_OK;
}

static sluice_status shards_open_add_source(sl_shards *shards, const char *path, bool lone,
                                            sluice_error *error)
{
    sl_shard_source *sources =
        sl_realloc_array(shards->sources, shards->source_count + (size_t)1, sizeof(*sources));
    if (sources != NULL) {
        shards->sources = sources;
    }
    char *copy = sl_strdup(path);
    if (sources == NULL || copy == NULL) {
        sl_free(copy);
        return sl_no_memory_file(error, STAGE, path, "for a path");
    }
    sources[shards->source_count++] = (sl_shard_source){.path = copy, .lone = lone};
    return SLUICE_OK;
}

/* Makes space for one more shard. */
static sluice_status shards_open_grow(sl_shards *shards, const char *path, sluice_error *error)
{
    if (shards->count < shards->capacity) {
        return SLUICE_OK;
    }
    if (shards->count >= SL_SHARDS_MAX) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1, "too many shards");
    }
    const uint32_t more = shards->count < 16 ? 16 : shards->count / 2;
    const uint32_t capacity =
        more < SL_SHARDS_MAX - shards->count ? shards->count + more : SL_SHARDS_MAX;
    sl_shard *grown = sl_realloc_array(shards->shards, capacity, sizeof(*grown));
    if (grown == NULL) {
        return sl_error_file(error, SLUICE_NOMEM, STAGE, 0, path, -1, "out of memory for %u shards",
                             capacity);
    }
    shards->shards = grown;
    shards->capacity = capacity;
    return SLUICE_OK;
}

/* Returns the minimum size of a sample. */
static uint64_t least_bytes(const sl_schema *schema)
{
    return schema->version == 1 ? 1 : schema->head_bytes;
}

static sluice_status shards_open_add_row(sl_shards *shards, sl_shard_row row, uint64_t row_offset,
                                         const char *path, sluice_error *error)
{
    sluice_dataset_info *info = &shards->base.info;
    if (row.data_bytes / row.samples < least_bytes(&shards->schema)) {
        return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, path, (int64_t)row_offset,
                             "%llu samples do not fit into %llu bytes",
                             (unsigned long long)row.samples, (unsigned long long)row.data_bytes);
    }
    if (row.samples > SL_SAMPLES_MAX - info->samples || row.data_bytes > INT64_MAX - info->bytes) {
        return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, path, (int64_t)row_offset,
                             "the shards contain too many samples");
    }
    const sluice_status status = shards_open_grow(shards, path, error);
    if (status < 0) {
        return status;
    }
    row.first = info->samples;
    info->samples += row.samples;
    info->bytes += row.data_bytes;
    sl_shard *shard = &shards->shards[shards->count++];
    *shard = (sl_shard){.row = row, .source = shards->source_count - 1};
    /*
     * an index block identifies its shard too; on a network, reading the header would cost another
     * request
     */
    atomic_init(&shard->trusted, row.record_bytes == 0 && sl_store_of(path)->remote);
    return SLUICE_OK;
}

/* State of reading the rows of a manifest. */
typedef struct rows {
    sl_shards *shards;
    const sl_manifest_header *header;
    const char *path;
    uint64_t samples; /* samples of the dataset before the first row */
    uint32_t count;   /* number of the manifest's shards */
} rows;

/* Returns whether the number is larger than that of the previous row. */
static bool increases(const rows *r, uint32_t number)
{
    const sl_shards *shards = r->shards;
    return shards->count == r->count || shards->shards[shards->count - 1].row.number < number;
}

static sluice_status add_manifest_row(const rows *r, const uint8_t *bytes, uint64_t number,
                                      sluice_error *error)
{
    sl_shard_row row;
    const uint64_t offset = SL_PAGE_BYTES + number * SL_SHARD_ROW_BYTES;
    sl_refusal refusal = sl_shard_row_decode(&row, bytes, &r->shards->schema, r->header);
    if (refusal.text == NULL &&
        (r->header->numbered ? !increases(r, row.number) : row.number != number)) {
        refusal = sl_refuse("a shard's row has the wrong number", 56);
    }
    if (refusal.text == NULL && row.first != r->shards->base.info.samples - r->samples) {
        refusal = sl_refuse("a shard's row does not continue the previous one", 0);
    }
    if (refusal.text != NULL) {
        return sl_shards_refuse(error, refusal, r->path, offset);
    }
    return shards_open_add_row(r->shards, row, offset, r->path, error);
}

static sluice_status add_piece_of_rows(void *ctx, sl_bytes piece, uint64_t at, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    for (size_t i = 0; status == SLUICE_OK && i < piece.size; i += SL_SHARD_ROW_BYTES) {
        status = add_manifest_row(ctx, piece.data + i, (at + i) / SL_SHARD_ROW_BYTES, error);
    }
    return status;
}

static sluice_status add_manifest_rows(sl_shards *shards, const opened *file,
                                       const sl_manifest_header *header, sluice_error *error)
{
    const uint64_t samples = shards->base.info.samples;
    const uint64_t bytes = shards->base.info.bytes;
    const section where = {SL_PAGE_BYTES, header->rows_bytes, header->rows_checksum};
    rows r = {.shards = shards,
              .header = header,
              .path = file->path,
              .samples = samples,
              .count = shards->count};
    const sluice_status status = read_pieces(file, &where, add_piece_of_rows, &r, error);
    if (status < 0) {
        return status;
    }
    if (shards->base.info.samples - samples != header->samples ||
        shards->base.info.bytes - bytes != header->data_bytes) {
        return sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, file->path, 32,
                             "the shards' rows do not add up to the manifest's header");
    }
    return SLUICE_OK;
}

static sluice_status read_manifest(sl_shards *shards, const opened *file, const char *folder,
                                   sluice_error *error)
{
    uint8_t page[SL_PAGE_BYTES];
    sluice_status status = sl_handle_read(&file->from, page, sizeof(page), 0, error);
    if (status < 0) {
        return status;
    }
    sl_manifest_header header;
    sl_refusal refusal = sl_manifest_header_decode(&header, page);
    if (refusal.text == NULL && header.file_bytes != file->identity.bytes) {
        refusal = sl_refuse("the file size does not match its header", 24);
    }
    if (refusal.text == NULL && header.shards == 0) {
        refusal = sl_refuse("this part of a pack is empty: all of its samples were rejected", 48);
    }
    if (refusal.text != NULL) {
        return sl_shards_refuse(error, refusal, file->path, 0);
    }
    const metadata where = {{header.meta_offset, header.meta_bytes, header.meta_checksum},
                            header.version};
    if (shards->source_count == 0) {
        sl_pack_note(folder, header.pack_id, shards->note);
    }
    status = take_metadata(shards, file, &where, error);
    shards->grown = shards->grown || header.grown;
    if (status == SLUICE_OK) {
        status = shards_open_add_source(shards, folder, false, error);
    }
    return status == SLUICE_OK ? add_manifest_rows(shards, file, &header, error) : status;
}

static sluice_status read_lone_shard(sl_shards *shards, const opened *file, sluice_error *error)
{
    sl_shard_header header;
    sluice_status status = sl_shard_read_header(&file->from, file->identity.bytes, &header, error);
    if (status == SLUICE_OK) {
        const metadata where = {{header.meta_offset, header.meta_bytes, header.meta_checksum},
                                header.version};
        status = take_metadata(shards, file, &where, error);
    }
    if (status == SLUICE_OK) {
        const sl_refusal refusal = sl_shard_header_fits(&header, &shards->schema);
        status = refusal.text != NULL ? sl_shards_refuse(error, refusal, file->path, 0) : SLUICE_OK;
    }
    if (status == SLUICE_OK) {
        status = shards_open_add_source(shards, file->path, true, error);
    }
    return status == SLUICE_OK
               ? shards_open_add_row(shards, sl_shard_row_of(&header), 0, file->path, error)
               : status;
}

static sluice_status shards_open_add_file(sl_shards *shards, const char *path, const char *folder,
                                          sluice_error *error)
{
    opened file = {.path = path};
    sl_page_kind kind = SL_PAGE_OTHER;
    sluice_status status =
        sl_handle_open(&file.from, (sl_file_name){STAGE, path}, &file.identity, error);
    if (status < 0) {
        return status;
    }
    file.piece = sl_malloc(PIECE_BYTES);
    if (file.piece == NULL) {
        sl_handle_close(&file.from);
        return sl_no_memory_file(error, STAGE, path, "for its sections");
    }
    if (file.identity.bytes < SL_PAGE_BYTES) {
        status = sl_error_file(error, SLUICE_CORRUPT, STAGE, 0, path, (int64_t)file.identity.bytes,
                               "the file has %llu bytes: too short for a header",
                               (unsigned long long)file.identity.bytes);
    } else {
        status = read_kind(&file.from, &kind, error);
    }
    if (status == SLUICE_OK) {
        status = kind == SL_PAGE_MANIFEST ? read_manifest(shards, &file, folder, error)
                                          : read_lone_shard(shards, &file, error);
    }
    sl_free(file.piece);
    sl_handle_close(&file.from);
    return status;
}

/* Rejects a folder without a manifest. */
static sluice_status refuse_unfinished(const char *path, sluice_error *error)
{
    if (shards_open_holds(path, SL_JOURNAL_NAME)) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1,
                             "unfinished pack (it has a " SL_JOURNAL_NAME
                             ", but no " SL_MANIFEST_NAME
                             "): pack the same dataset there again with the same options to "
                             "continue it, or with " SL_OPTION("overwrite") " to start over");
    }
    return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1,
                         "has shards, but neither a " SL_MANIFEST_NAME " nor a " SL_JOURNAL_NAME
                         ": it is unfinished; write it again with " SL_OPTION(
                             "overwrite") ", or open single shards by their names");
}

static sluice_status shards_open_add_path(sl_shards *shards, const char *path, sluice_error *error)
{
    char buffer[SL_PATH_BYTES];
    if (sl_store_has_folder(path)) {
        if (!sl_path_join(buffer, path, SL_MANIFEST_NAME)) {
            return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1, "the path is too long");
        }
        if (!shards_open_holds(path, SL_MANIFEST_NAME)) {
            return refuse_unfinished(path, error);
        }
        return shards_open_add_file(shards, buffer, path, error);
    }
    const char *slash = strrchr(path, '/');
    size_t length = slash != NULL ? (size_t)(slash - path) : 0;
    if (length >= sizeof(buffer)) {
        return sl_error_file(error, SLUICE_INVALID, STAGE, 0, path, -1, "the path is too long");
    }
    memcpy(buffer, path, length);
    buffer[length] = '\0';
    return shards_open_add_file(shards, path, slash != NULL ? (length > 0 ? buffer : "/") : ".",
                                error);
}

static sluice_status shards_open_complete(sl_shards *shards, sluice_error *error)
{
    sl_checksum_stream stream;
    uint64_t blocks = 0;
    sl_checksum_begin(&stream);
    for (uint32_t i = 0; i < shards->count; i++) {
        const sl_shard_row *row = &shards->shards[i].row;
        sl_checksum_add_u64(&stream, row->header_checksum);
        shards->shards[i].first_block = blocks;
        blocks +=
            sl_index_blocks(row->samples, row->record_bytes, shards->schema.entries_per_block);
    }
    sluice_dataset_info *info = &shards->base.info;
    info->fingerprint = sl_checksum_value(&stream);
    info->struct_size = sizeof(*info);
    info->shards = shards->count;
    info->classes = shards->schema.class_count;
    info->fields = shards->schema.field_count;
    memcpy(info->format, "shards", sizeof("shards"));
    (void)snprintf(shards->base.kind, sizeof(shards->base.kind),
                   "shards that sluice packed (version %u)%s", shards->schema.version,
                   shards->note);
    shards->base.fields = shards->schema.fields;
    const sl_object_names names = {
        .ctx = shards, .count = shards->count, .path = sl_shards_path, .bytes = sl_shards_bytes};
    sluice_status status = sl_index_cache_open(shards->cache, blocks, error);
    return status == SLUICE_OK ? sl_objects_open(&shards->base.objects, &names, error) : status;
}

static sl_shards *new_shards(sluice_error *error)
{
    sl_shards *shards = sl_calloc(1, sizeof(*shards));
    sl_index_cache *cache = sl_calloc(1, sizeof(*cache));
    if (shards == NULL || cache == NULL) {
        sl_free(shards);
        sl_free(cache);
        sl_no_memory(error, STAGE, "opening a dataset");
        return NULL;
    }
    shards->cache = cache;
    shards->base.ops = &sl_shards_ops_2; /* until the metadata are read */
    atomic_init(&shards->base.references, 1);
    return shards;
}

static sluice_status open_shards(sl_dataset **dataset, const char *const *paths, size_t count,
                                 const sluice_dataset_options *options, sluice_error *error)
{
    (void)options;
    sl_shards *shards = new_shards(error);
    sluice_status status = shards != NULL ? SLUICE_OK : SLUICE_NOMEM;
    for (size_t i = 0; status == SLUICE_OK && i < count; i++) {
        status = shards_open_add_path(shards, paths[i], error);
    }
    if (status == SLUICE_OK) {
        status = shards_open_complete(shards, error);
    }
    if (status < 0) {
        sl_dataset_close(shards != NULL ? &shards->base : NULL);
        return status;
    }
    *dataset = &shards->base;
    return SLUICE_OK;
}

sluice_status sl_shards_open_manifest(sl_dataset **dataset, const char *manifest,
                                      sluice_error *error)
{
    const sluice_dataset_options options = SLUICE_DATASET_OPTIONS_INIT;
    *dataset = NULL;
    return open_shards(dataset, &manifest, 1, &options, error);
}

SL_FORMAT(shards) = {
    .name = "shards",
    .files = "packed datasets",
    .known = "packed shards (*.sluice)",
    .probe = shards_open_probe,
    .is_marked = is_marked,
    .open = open_shards,
};
