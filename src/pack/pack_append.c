/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack_append: checks that a dataset can be added to a packed one, and begins after its last shard.
 * Runs on the calling thread of a pack.
 */
#include "error.h"
#include "joined.h"
#include "meaning.h"
#include "pack_state.h"
#include "shards.h"

#include <string.h>

#define STAGE   "pack"
#define BY_NAME " joins classes by their names"

static sluice_status open_base(const sl_output *output, char path[SL_OUTPUT_PATH_BYTES],
                               sl_manifest_header *header, sl_dataset **base, sluice_error *error)
{
    const sluice_status status = sl_pack_read_page(output, SL_MANIFEST_NAME, path, header, error);
    if (status == SLUICE_OK && header->version != SL_SHARD_VERSION) {
        return sl_error_file(error, SLUICE_STATE, STAGE, 0, path, -1,
                             "format version %u cannot be added to: pack the dataset again",
                             header->version);
    }
    return status == SLUICE_OK ? sl_shards_open_manifest(base, path, error) : status;
}

/* ---- compatibility ---- */

static bool same_field(const sl_field *a, const sl_field *b)
{
    return strcmp(a->name, b->name) == 0 && a->type == b->type && a->dtype == b->dtype &&
           a->dims == b->dims && memcmp(a->shape, b->shape, sizeof(a->shape)) == 0;
}

/*
 * Checks meanings, also if one side has none: readers would apply one side's meaning to the other's
 * values.
 */
static sluice_status check_meaning(const sl_field *comes, const sl_field *there, const char *path,
                                   sluice_error *error)
{
    char words[2][128];
    if (sl_meaning_is_same(&comes->meaning, &there->meaning)) {
        return SLUICE_OK;
    }
    sl_meaning_text(there, words[0], sizeof(words[0]));
    sl_meaning_text(comes, words[1], sizeof(words[1]));
    return sl_error_file(error, SLUICE_STATE, STAGE, 0, path, -1,
                         "the meaning of field \"%s\" is \"%s\" there, but \"%s\" in the dataset "
                         "to be added: pack both again, into one folder",
                         there->name, words[0][0] != '\0' ? words[0] : "not known",
                         words[1][0] != '\0' ? words[1] : "not known");
}

static sluice_status pack_append_check_fields(const sl_pack_state *p, const sl_dataset *base,
                                              const char *path, sluice_error *error)
{
    const sl_schema *schema = &p->series.schema;
    for (uint32_t i = 0; i < schema->field_count && i < base->info.fields; i++) {
        if (!same_field(&schema->fields[i], &base->fields[i])) {
            return sl_error_file(error, SLUICE_STATE, STAGE, 0, path, -1,
                                 "field %u is \"%s\" there, but \"%s\" in the dataset to be added, "
                                 "or its type or shape differs",
                                 i, base->fields[i].name, schema->fields[i].name);
        }
        const sluice_status status =
            check_meaning(&schema->fields[i], &base->fields[i], path, error);
        if (status < 0) {
            return status;
        }
    }
    if (schema->field_count != base->info.fields) {
        return sl_error_file(error, SLUICE_STATE, STAGE, 0, path, -1,
                             "there are %u fields there, but %u in the dataset to be added",
                             base->info.fields, schema->field_count);
    }
    return SLUICE_OK;
}

static sluice_status pack_append_check_classes(const sl_pack_state *p, const sl_dataset *base,
                                               const char *path, sluice_error *error)
{
    const uint32_t count = p->dataset->info.classes;
    for (uint32_t i = 0; i < count && i < base->info.classes; i++) {
        const char *there = sl_dataset_class_name(base, i);
        const char *comes = sl_dataset_class_name(p->dataset, i);
        if (strcmp(there, comes) != 0) {
            return sl_error_file(error, SLUICE_STATE, STAGE, 0, path, -1,
                                 "class %u is \"%s\" there, but \"%s\" in the dataset to be added: "
                                 "the classes must be the same (in an image folder, empty folders "
                                 "can represent those without images; " SL_OPTION("labels") BY_NAME
                                 ")",
                                 i, there, comes);
        }
    }
    if (p->labels != NULL ? count < base->info.classes : count != base->info.classes) {
        return sl_error_file(
            error, SLUICE_STATE, STAGE, 0, path, -1,
            "there are %u classes there, but %u in the dataset to be added (" SL_OPTION("labels")
                BY_NAME ")",
            base->info.classes, count);
    }
    return SLUICE_OK;
}

/* Stores fields without an explicit choice as in the existing dataset. */
static sluice_status adopt_frames(sl_pack_state *p, const sl_dataset *base, const char *path,
                                  sluice_error *error)
{
    p->journal.framed = 0;
    for (uint32_t i = 0; i < base->info.fields; i++) {
        const bool framed = base->fields[i].compression != SLUICE_COMPRESSION_NEVER;
        const bool open = (p->open >> i & 1) != 0;
        p->journal.framed |= (uint64_t)(open && framed) << i;
        if (!open && framed != (p->plan.levels[i] != 0)) {
            return sl_error_file(
                error, SLUICE_STATE, STAGE, 0, path, -1,
                "field \"%s\" is stored %s there: leave " SL_OPTION("the zstd level") " open",
                base->fields[i].name, framed ? "as frames" : "plain");
        }
    }
    return SLUICE_OK;
}

static sluice_status pack_append_fit(sl_pack_state *p, const sl_dataset *base, const char *path,
                                     sluice_error *error)
{
    sluice_status status = pack_append_check_fields(p, base, path, error);
    if (status == SLUICE_OK) {
        status = pack_append_check_classes(p, base, path, error);
    }
    return status == SLUICE_OK ? adopt_frames(p, base, path, error) : status;
}

/* ---- other classes ---- */

/* Returns whether there are labels whose classes could be joined. */
static bool has_label(const sl_dataset *dataset)
{
    const uint32_t label = sl_dataset_field(dataset, "label");
    return label != SL_FIELD_NONE && dataset->fields[label].type == SLUICE_FIELD_INT;
}

static sluice_status relabel(sl_dataset **made, sl_dataset *source, const sl_class_request *labels,
                             sluice_error *error)
{
    const sl_joined_options options = {.labels = labels};
    return sl_joined_open(made, &source, 1, &options, error);
}

/* Joins the classes, with the existing ones first, so that their numbers stay. */
static sluice_status join_with(sl_pack_state *p, sl_dataset *base, sl_dataset *source,
                               sluice_error *error)
{
    sl_dataset *const both[2] = {base, source};
    sl_class_union made;
    const sl_class_request plain = {.allow_case_duplicates = p->labels->allow_case_duplicates};
    sluice_status status = sl_class_union_make(&made, both, 2, &plain, error);
    if (status == SLUICE_OK && made.names == NULL) {
        p->relabelled = sl_dataset_ref(source);
    } else if (status == SLUICE_OK && !sl_label_map_is_identity(made.maps[0])) {
        status = sl_error_set(error, SLUICE_STATE, STAGE,
                              "some of its classes have no name, or a duplicate one: classes "
                              "cannot be joined to them by name");
    } else if (status == SLUICE_OK) {
        const sl_class_request all = {.classes = (const char *const *)made.names->names,
                                      .class_count = made.names->count};
        status = relabel(&p->relabelled, source, &all, error);
    }
    sl_class_union_close(&made);
    return status;
}

static sluice_status join_renamed(sl_pack_state *p, sl_dataset *base, sluice_error *error)
{
    sl_dataset *source = NULL;
    sluice_status status = SLUICE_OK;
    if (p->labels->rename_count > 0) {
        sl_dataset *given = sl_dataset_share(p->dataset);
        status = relabel(&source, given, p->labels, error);
        sl_dataset_close(given);
    } else {
        source = sl_dataset_share(p->dataset);
    }
    if (status == SLUICE_OK && has_label(base)) {
        status = join_with(p, base, source, error);
    }
    sl_dataset_close(source);
    return status;
}

sluice_status sl_pack_join_labels(sl_pack_state *p, sluice_error *error)
{
    char path[SL_OUTPUT_PATH_BYTES];
    sl_manifest_header header = {0};
    sl_dataset *base = NULL;
    if (p->labels->classes != NULL) {
        return sl_error_set(error, SLUICE_INVALID, STAGE,
                            "the order of classes is that of the dataset added to: they can only "
                            "be renamed before they are joined");
    }
    if (!has_label(p->dataset) && p->labels->rename_count == 0) {
        return SLUICE_OK;
    }
    sluice_status status = open_base(&p->output, path, &header, &base, error);
    if (base == NULL) {
        return status;
    }
    status = join_renamed(p, base, error);
    if (status < 0 && error != NULL && error->file[0] == '\0') {
        sl_error_set_path(error, path);
    }
    sl_dataset_close(base);
    return status;
}

static uint32_t next_number(const sl_shards *shards)
{
    return shards->shards[shards->count - 1].row.number + 1;
}

sluice_status sl_pack_begin_append(sl_pack_state *p, sluice_error *error)
{
    char path[SL_OUTPUT_PATH_BYTES];
    sl_manifest_header header = {0};
    sl_dataset *base = NULL;
    sluice_status status = open_base(&p->output, path, &header, &base, error);
    if (base == NULL) {
        return status;
    }
    if (header.pack_id == p->pack_id) {
        status = sl_error_file(error, SLUICE_STATE, STAGE, 0, path, -1,
                               "another process added this meanwhile");
    }
    if (status == SLUICE_OK) {
        status = pack_append_fit(p, base, path, error);
    }
    if (status == SLUICE_OK) {
        status = sl_pack_check_rejected(&p->output, header.source_samples - header.samples, error);
    }
    p->journal.after = base->info.fingerprint;
    p->journal.before = header.source_samples;
    p->journal.shards = next_number(sl_shards_of(base));
    sl_dataset_close(base);
    return status;
}

static sluice_status pack_append_check_base(const sl_journal *journal,
                                            const sl_manifest_header *header,
                                            const sl_dataset *base, const char *path,
                                            sluice_error *error)
{
    if (base->info.fingerprint != journal->after || header->source_samples != journal->before ||
        next_number(sl_shards_of(base)) != journal->shards) {
        return sl_error_file(
            error, SLUICE_STATE, STAGE, 0, path, -1,
            "differs from the dataset that this pack began to add to: remove " SL_JOURNAL_NAME
            " to start over");
    }
    return SLUICE_OK;
}

sluice_status sl_pack_open_base(const sl_output *output, const sl_journal *journal,
                                sl_dataset **base, uint64_t *left_out, sluice_error *error)
{
    char path[SL_OUTPUT_PATH_BYTES];
    sl_manifest_header header = {0};
    sluice_status status = open_base(output, path, &header, base, error);
    if (status == SLUICE_OK && *base != NULL) {
        status = pack_append_check_base(journal, &header, *base, path, error);
        *left_out = header.source_samples - header.samples;
        if (status < 0) {
            sl_dataset_close(*base);
        }
    }
    return status;
}
