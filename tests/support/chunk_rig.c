/* SPDX-License-Identifier: Apache-2.0 */
#include "chunk_rig.h"

#include "chunk_state.h"
#include "file.h"
#include "memory.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *chunk_rig_folder(void)
{
    return test_path("cache");
}

sl_chunk_cache *chunk_rig_open(uint64_t most_bytes)
{
    sl_chunk_cache *cache;
    sluice_error error = SLUICE_ERROR_INIT;
    if (sl_chunk_cache_open(&cache, chunk_rig_folder(), most_bytes, &error) != SLUICE_OK) {
        fail_msg("%s", error.text);
    }
    return cache;
}

static void address_of(unsigned number, char address[32])
{
    (void)snprintf(address, 32, "s3://b/%u", number);
}

sl_cached_object *chunk_rig_object(sl_chunk_cache *cache, unsigned number, uint64_t bytes)
{
    char address[32];
    address_of(number, address);
    sl_cached_object *object = sl_cached_object_open(cache, address, "\"etag\"", bytes);
    assert_non_null(object);
    return object;
}

TEST_OWN_MEMORY uint8_t *chunk_rig_bytes(unsigned number, uint64_t chunk, size_t count)
{
    uint8_t *bytes = sl_malloc(count > 0 ? count : 1);
    assert_non_null(bytes);
    uint64_t state = (number * UINT64_C(1000003) + chunk) * UINT64_C(0x9e3779b97f4a7c15) + 1;
    for (size_t i = 0; i < count; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes[i] = (uint8_t)state;
    }
    return bytes;
}

sluice_status chunk_rig_keep(sl_cached_object *object, unsigned number, uint64_t chunk)
{
    sl_chunk_part *part;
    sluice_error error = SLUICE_ERROR_INIT;
    const size_t count = (size_t)sl_chunk_bytes_of(object->bytes, chunk);
    sluice_status status = sl_chunk_begin(object, chunk, &part, &error);
    if (status == SLUICE_OK) {
        uint8_t *bytes = chunk_rig_bytes(number, chunk, count);
        status = sl_chunk_keep(part, bytes, count, &error);
        sl_free(bytes);
    }
    return status;
}

sl_chunk_state chunk_rig_check(sl_cached_object *object, unsigned number, uint64_t chunk)
{
    sl_chunk_use use;
    const sl_chunk_state state = sl_chunk_find(object, chunk, &use);
    if (state == SL_CHUNK_HERE) {
        const size_t count = (size_t)sl_chunk_bytes_of(object->bytes, chunk);
        uint8_t *expected = chunk_rig_bytes(number, chunk, count);
        uint8_t *found = sl_malloc(count);
        assert_non_null(found);
        assert_int_equal(pread(use.fd, found, count, 0), count);
        assert_memory_equal(found, expected, count);
        sl_free(found);
        sl_free(expected);
        sl_chunk_done(object, &use);
    }
    return state;
}

void chunk_rig_fill(sl_chunk_cache *cache, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        sl_cached_object *object = chunk_rig_object(cache, i, CHUNK_RIG_SMALL);
        assert_int_equal(chunk_rig_keep(object, i, 0), SLUICE_OK);
        sl_cached_object_close(object);
    }
}

const char *chunk_rig_file(const sl_cached_object *object, uint64_t chunk, const char *suffix)
{
    char name[SL_CHUNK_NAME_BYTES];
    sl_chunk_name(sl_chunk_key_of(object, chunk), suffix, name);
    return test_path("cache/chunks-1/%s", name);
}

unsigned chunk_rig_count(const char *suffix)
{
    unsigned count = 0;
    DIR *folder = opendir(test_path("cache/chunks-1"));
    assert_non_null(folder);
    for (const struct dirent *at;
         (at = readdir(folder)) != NULL;) { // NOLINT(concurrency-mt-unsafe)
        sl_chunk_key key;
        bool is_part;
        count += sl_chunk_read_name(at->d_name, &key, &is_part) && is_part == (suffix[0] != '\0');
    }
    (void)closedir(folder);
    return count;
}
