/* SPDX-License-Identifier: Apache-2.0 */
#include "json_answer.h"

#include "error.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define STAGE "remote"

static sluice_status json_corrupt(sluice_error *error, const char *why)
{
    return sl_error_set(error, SLUICE_CORRUPT, STAGE, "cannot read the hub's listing: %s", why);
}

/* Returns the hash that identifies a file: of its bytes for Git LFS, else Git's own. */
static const char *json_answer_hash_of(const json_t *entry)
{
    const json_t *lfs = json_object_get(entry, "lfs");
    const char *hash = json_string_value(json_object_get(lfs, "oid"));
    return hash != NULL ? hash : json_string_value(json_object_get(entry, "oid"));
}

static sluice_status json_answer_add_json(const json_t *entry, const char *prefix,
                                          sl_entries *entries, sluice_error *error)
{
    const char *path = json_string_value(json_object_get(entry, "path"));
    const char *type = json_string_value(json_object_get(entry, "type"));
    const json_int_t bytes = json_integer_value(json_object_get(entry, "size"));
    const size_t skipped = strlen(prefix);
    if (path == NULL || type == NULL || bytes < 0) {
        return json_corrupt(error, "an entry lacks its path, type or size");
    }
    if (strncmp(path, prefix, skipped) != 0 || path[skipped] == '\0' ||
        strchr(path + skipped, '/') != NULL) {
        return json_corrupt(error, "it has a path outside the folder");
    }
    const bool is_file = strcmp(type, "file") == 0;
    if (!is_file && strcmp(type, "directory") != 0) {
        return json_corrupt(error, "an entry is neither a file nor a directory");
    }
    const char *hash = json_answer_hash_of(entry);
    char etag[128] = "";
    const int length = is_file && hash != NULL ? snprintf(etag, sizeof(etag), "\"%s\"", hash) : 0;
    if (length < 0 || (size_t)length >= sizeof(etag)) {
        return json_corrupt(error, "a hash in it is too long");
    }
    const sl_entry_facts facts = {.name = {(const uint8_t *)path + skipped, strlen(path + skipped)},
                                  .kind = is_file ? SL_ENTRY_FILE : SL_ENTRY_FOLDER,
                                  .bytes = is_file ? (uint64_t)bytes : 0,
                                  .etag = etag};
    return sl_entries_add(entries, &facts) ? SLUICE_OK
                                           : sl_no_memory(error, STAGE, "for a page of a listing");
}

sluice_status sl_json_answer_read(sl_bytes text, const char *prefix, sl_entries *entries,
                                  sluice_error *error)
{
    json_error_t why;
    json_t *page = json_loadb((const char *)text.data, text.size, JSON_REJECT_DUPLICATES, &why);
    sluice_status status = SLUICE_OK;
    if (!json_is_array(page)) {
        status = json_corrupt(error, page == NULL ? "not valid JSON" : "expected an array");
    }
    entries->found = entries->found || status == SLUICE_OK;
    const size_t count = json_array_size(page);
    for (size_t i = 0; i < count && status == SLUICE_OK; i++) {
        status = json_answer_add_json(json_array_get(page, i), prefix, entries, error);
    }
    json_decref(page);
    return status;
}
