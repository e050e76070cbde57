/* SPDX-License-Identifier: Apache-2.0 */
/* Objects and their facts; object_windows.c has their windows. */
#include "object.h"

#include "checksum.h"
#include "chunk_cache.h"
#include "error.h"
#include "memory.h"
#include "thread.h"

#include <errno.h>
#include <string.h>

static bool identity_is_known(const sl_file_identity *identity)
{
    return identity->changed_ns != 0;
}

/* Returns an ETag without the marks that some stores and proxies add or omit. */
static sl_bytes bare_etag(const char *etag)
{
    size_t bytes;
    if (strncmp(etag, "W/", 2) == 0) {
        etag += 2;
    }
    bytes = strlen(etag);
    if (bytes >= 2 && etag[0] == '"' && etag[bytes - 1] == '"') {
        etag++;
        bytes -= 2;
    }
    return (sl_bytes){(const uint8_t *)etag, bytes};
}

static uint64_t hash_etag(sl_bytes etag, uint64_t salt)
{
    sl_checksum_stream stream;
    sl_checksum_begin(&stream);
    sl_checksum_add_u64(&stream, salt);
    sl_checksum_add(&stream, etag.data, etag.size);
    const uint64_t hash = sl_checksum_value(&stream);
    return hash != 0 ? hash : 1;
}

/* With an ETag, ignores times, whose precision differs between listings and answers. The ETag
 * also replaces the sample, which then need not be read. */
sl_file_identity sl_object_identity(uint64_t bytes, const char *etag, int64_t modified_s)
{
    const sl_bytes bare = bare_etag(etag);
    sl_file_identity identity = {.bytes = bytes};
    if (bare.size > 0) {
        identity.inode = hash_etag(bare, 1);
        identity.changed_ns = (int64_t)hash_etag(bare, 2);
        identity.sample = hash_etag(bare, 3);
        return identity;
    }
    identity.modified_ns = modified_s * 1000000000;
    identity.changed_ns = modified_s != 0 ? identity.modified_ns : 1;
    return identity;
}

static int parse_address(sl_object *object, const char *address)
{
    sluice_error error;
    char printed[SL_URL_BYTES];
    if (sl_url_parse(&object->url, address, &error) < 0) {
        sl_store_set_reason(error.text);
        return -EINVAL;
    }
    sl_url_print(address, printed, sizeof(printed));
    object->provider = sl_provider_of(object->url.scheme);
    object->printed = sl_strdup(printed);
    return object->printed != NULL ? 0 : -ENOMEM;
}

int sl_object_open(sl_object **object, const char *address, const sl_file_identity *known)
{
    sl_object *made = sl_calloc(1, sizeof(*made));
    *object = NULL;
    if (made == NULL) {
        return -ENOMEM;
    }
    const int failed = parse_address(made, address);
    if (failed < 0) {
        sl_free(made->printed);
        sl_free(made);
        return failed;
    }
    if (known != NULL) {
        made->identity = *known;
    }
    sl_mutex_init(&made->mutex);
    /* Relaxed: no other thread has it yet. */
    atomic_store_explicit(&made->holders, 1, memory_order_relaxed);
    *object = made;
    return 0;
}

void sl_object_hold(sl_object *object)
{
    /* Relaxed: the caller is a holder already. */
    atomic_fetch_add_explicit(&object->holders, 1, memory_order_relaxed);
}

void sl_object_release(sl_object *object)
{
    /* acq_rel: the last holder sees what the others did before. */
    if (object == NULL ||
        atomic_fetch_sub_explicit(&object->holders, 1, memory_order_acq_rel) > 1) {
        return;
    }
    sl_object_drop_windows(object, 0);
    if (object->cached != NULL) {
        sl_cached_object_close(object->cached);
    }
    sl_free(object->printed);
    sl_free(object->moved);
    sl_mutex_destroy(&object->mutex);
    sl_free(object);
}

bool sl_object_facts(sl_object *object, sl_file_identity *identity)
{
    sl_lock(&object->mutex);
    *identity = object->identity;
    sl_unlock(&object->mutex);
    return identity_is_known(identity);
}

/* Reads the facts of an answer; false: it lacks the object's size. */
static bool facts_of_answer(const sl_exchange *x, uint64_t *bytes, const char **etag)
{
    *etag = x->linked_etag[0] != '\0' ? x->linked_etag : x->etag;
    if (x->linked_size != UINT64_MAX) {
        *bytes = x->linked_size;
        return true;
    }
    if (x->status == 206) {
        *bytes = x->total;
        return x->total != UINT64_MAX;
    }
    if (x->status == 416) { /* an empty object has no ranges */
        return x->total == 0;
    }
    /* a redirect's length is that of its own body */
    *bytes = x->length >= 0 ? (uint64_t)x->length : x->got;
    return x->status == 200;
}

/* Compares identities; the size may be known before the object was first requested. */
static bool fits_identity(const sl_file_identity *was, const sl_file_identity *is)
{
    return identity_is_known(was) ? sl_file_is_same(was, is)
                                  : was->bytes == 0 || was->bytes == is->bytes;
}

/* Returns whether an ETag equals that of earlier answers. */
static bool fits_etag_locked(const sl_object *object, const char *etag)
{
    uint64_t was = object->identity.inode;
    if (was == 0) {
        was = sl_object_identity(0, object->etag, 0).inode;
    }
    return was == 0 || etag[0] == '\0' || was == sl_object_identity(0, etag, 0).inode;
}

/* Takes the facts of an answer. A redirect to a hub's storage has an ETag of its own, which only
 * the storage knows. */
static bool learn_locked(sl_object *object, const sl_exchange *x, bool moved)
{
    uint64_t bytes = 0;
    const char *etag = "";
    const bool sized = facts_of_answer(x, &bytes, &etag);
    const bool foreign = moved && object->provider->scheme == SL_SCHEME_HF;
    const bool known = identity_is_known(&object->identity);
    if (foreign) {
        etag = "";
    }
    if (!fits_etag_locked(object, etag)) {
        return false;
    }
    if (sized) {
        const sl_file_identity is = sl_object_identity(bytes, etag, foreign ? 0 : x->modified_s);
        if (foreign && known) {
            return is.bytes == object->identity.bytes;
        }
        if (!fits_identity(&object->identity, &is)) {
            return false;
        }
        object->identity = is;
    }
    if (sized || !known) {
        memcpy(object->etag, etag, strlen(etag) + 1);
    }
    return true;
}

bool sl_object_learn(sl_object *object, const sl_exchange *exchange, bool moved)
{
    sl_lock(&object->mutex);
    const bool same = learn_locked(object, exchange, moved);
    sl_unlock(&object->mutex);
    return same;
}
