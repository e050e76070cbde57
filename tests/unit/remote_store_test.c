/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the table of object stores against a server in this process: the kinds of addresses and how
 * few requests determine them, listings by several requests, keys with odd names, and reads in few
 * pieces. */
#include "checksum.h"
#include "chunk_cache.h"
#include "curl_library.h"
#include "http_server.h"
#include "kept.h"
#include "known.h"
#include "memory.h"
#include "photo_folder.h"
#include "provider.h"
#include "settings.h"
#include "store.h"
#include "test.h"

#include <sluice/remote.h>

#include <errno.h>
#include <glob.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BODY_BYTES = 3 << 20, KEYS = 60000, PER_FOLDER = 20000 };

static http_server *server;
static uint8_t body[BODY_BYTES];

static void put(const char *path, size_t bytes)
{
    http_server_put(server, path, body, bytes);
}

static int begin_server(void **state)
{
    const http_server_config config = {.folder = NULL};
    const sl_curl_calls *calls;
    sluice_error error;
    (void)state;
    if (sl_curl_library(&calls, &error) != SLUICE_OK) {
        (void)printf("%s\n", error.text);
        exit(77);
    }
    server = http_server_start(&config);
    for (size_t i = 0; i < BODY_BYTES; i++) {
        body[i] = (uint8_t)(i * 2654435761U >> 13);
    }
    (void)setenv("AWS_ENDPOINT_URL", http_server_url(server), 1);
    (void)setenv("AWS_ACCESS_KEY_ID", "key", 1);
    (void)setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
    (void)setenv("AWS_CONFIG_FILE", "/nonexistent", 1);
    (void)setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent", 1);
    (void)setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
    put("/b/set/a.tar", 1000);
    put("/b/set/b.tar", BODY_BYTES);
    put("/b/set/sub/c.tar", 30);
    put("/b/empty/", 0);
    put("/b/both", 11);
    put("/b/both/x", 12);
    http_server_many(server, "many", KEYS, PER_FOLDER, 10);
    return 0;
}

static int end_server(void **state)
{
    (void)state;
    http_server_stop(server);
    return 0;
}

static uint64_t requests_of(http_kind kind)
{
    return http_server_counts(server).kinds[kind];
}

static uint64_t count_hedged(void)
{
    sluice_remote_stats stats = SLUICE_REMOTE_STATS_INIT;
    assert_int_equal(sluice_remote_get_stats(&stats), SLUICE_OK);
    return stats.hedged;
}

/* A request that a busy machine answers late is sent twice. */
static void expect_requests(uint64_t gets, uint64_t lists)
{
    static uint64_t hedged_before;
    const http_counts counts = http_server_counts(server);
    const uint64_t hedged = count_hedged();
    const uint64_t again = hedged - hedged_before;
    assert_in_range(counts.kinds[HTTP_GET], gets, gets + again);
    assert_in_range(counts.kinds[HTTP_LIST], lists, lists + again);
    assert_in_range(counts.requests, gets + lists, gets + lists + again);
    assert_int_equal(counts.errors, 0);
    hedged_before = hedged;
    http_server_reset_counts(server);
}

static sl_entry_kind kind_of(const char *path)
{
    sl_store_facts facts;
    const int failed = sl_store_stat(path, &facts);
    if (failed != 0 && failed != -ENOENT) {
        fail_msg("%s: %d, %s", path, failed, sl_store_reason());
    }
    return failed == 0 ? facts.kind : SL_ENTRY_UNKNOWN;
}

TEST(an_address_is_found_by_one_request)
{
    http_server_reset_counts(server);
    sl_store_scope_begin();
    assert_int_equal(kind_of("s3://b/set/b.tar"), SL_ENTRY_FILE);
    expect_requests(0, 1);
    assert_int_equal(kind_of("s3://b/set"), SL_ENTRY_FOLDER);
    expect_requests(0, 1);
    assert_int_equal(kind_of("s3://b/set/"), SL_ENTRY_FOLDER);
    expect_requests(0, 0);
    /* for a folder, its listing is requested, which covers all its names */
    assert_int_equal(kind_of("s3://b/set/a.tar"), SL_ENTRY_FILE);
    expect_requests(0, 1);
    assert_int_equal(kind_of("s3://b/set/a.tar/"), SL_ENTRY_UNKNOWN);
    assert_int_equal(kind_of("s3://b/set/sub"), SL_ENTRY_FOLDER);
    assert_int_equal(kind_of("s3://b/set/none"), SL_ENTRY_UNKNOWN);
    assert_int_equal(kind_of("s3://b/set/a.tar.sluice-index"), SL_ENTRY_UNKNOWN);
    expect_requests(0, 0);
    assert_int_equal(kind_of("s3://b/none"), SL_ENTRY_UNKNOWN);
    assert_int_equal(kind_of("s3://b/none"), SL_ENTRY_UNKNOWN);
    expect_requests(0, 1);
    sl_store_scope_end();
    assert_int_equal(kind_of("s3://b/set/a.tar"), SL_ENTRY_FILE);
    expect_requests(0, 1);
}

TEST(folders_and_files_of_one_name_are_told_apart)
{
    assert_int_equal(kind_of("s3://b/both"), SL_ENTRY_FILE);
    assert_int_equal(kind_of("s3://b/both/"), SL_ENTRY_FOLDER);
    assert_int_equal(kind_of("s3://b/empty"), SL_ENTRY_FOLDER);
    assert_int_equal(kind_of("s3://b"), SL_ENTRY_FOLDER);
    assert_int_equal(kind_of("s3://nothere"), SL_ENTRY_UNKNOWN);
}

typedef struct names {
    uint64_t count, files, sum;
    uint8_t seen[PER_FOLDER];
} names;

static sluice_status take_name(void *ctx, const sl_store_entry *entry, sluice_error *error)
{
    names *n = ctx;
    (void)error;
    n->count++;
    n->files += entry->kind == SL_ENTRY_FILE;
    n->sum += sl_checksum(entry->name, strlen(entry->name));
    if (strstr(entry->name, ".bin") != NULL) {
        n->seen[strtoul(entry->name, NULL, 10) % PER_FOLDER]++;
    }
    return SLUICE_OK;
}

static void list(const char *path, names *n)
{
    sluice_error error;
    *n = (names){.count = 0};
    if (sl_store_list((sl_file_name){"test", path}, take_name, n, &error) != SLUICE_OK) {
        fail_msg("%s: %s", path, error.text);
    }
}

TEST(a_large_folder_is_listed_by_several_requests)
{
    static names n;
    http_server_reset_counts(server);
    sl_store_scope_begin();
    list("s3://many", &n);
    assert_int_equal(n.count, KEYS / PER_FOLDER);
    assert_int_equal(n.files, 0);
    expect_requests(0, 1);
    list("s3://many/class00001", &n);
    assert_int_equal(n.count, PER_FOLDER);
    for (uint32_t i = 0; i < PER_FOLDER; i++) {
        assert_int_equal(n.seen[i], 1);
    }
    const http_counts counts = http_server_counts(server);
    assert_true(counts.most_at_once > 1);
    /* 20 pages are needed; misplaced cuts cost some more */
    assert_in_range(counts.kinds[HTTP_LIST], 20, 60);
    http_server_reset_counts(server);
    list("s3://many/class00001/", &n);
    assert_int_equal(n.count, PER_FOLDER);
    assert_int_equal(requests_of(HTTP_LIST), 0);
    sl_store_scope_end();
}

/* Expected names are listed together, unless that takes more pages than it saves. */
TEST(expected_names_take_few_pages)
{
    sl_store_scope_begin();
    http_server_reset_counts(server);
    sl_store_expect("s3://many/class00001/000200", 100);
    expect_requests(0, 1);
    assert_int_equal(kind_of("s3://many/class00001/00020007.bin"), SL_ENTRY_FILE);
    assert_int_equal(kind_of("s3://many/class00001/00020007.bin.index"), SL_ENTRY_UNKNOWN);
    assert_int_equal(kind_of("s3://many/class00001/000200.bin"), SL_ENTRY_UNKNOWN);
    expect_requests(0, 0);
    sl_store_scope_end();

    static const char *const prefixes[] = {"s3://many/class00001/000", "s3://many/class00001/"};
    for (size_t i = 0; i < 2; i++) { /* in a listing of 20 pages */
        sl_store_scope_begin();
        sl_store_expect(prefixes[i], 100);
        assert_in_range(requests_of(HTTP_LIST), 2, 20 - 1);
        http_server_reset_counts(server);
        assert_int_equal(kind_of("s3://many/class00001/00020000.bin"), SL_ENTRY_FILE);
        assert_int_equal(kind_of("s3://many/class00001/00039998.bin"), SL_ENTRY_FILE);
        assert_int_equal(kind_of("s3://many/class00001/00039998.bim"), SL_ENTRY_UNKNOWN);
        /* 1 to 3 pages of 20, and requests of the listing above: it cancels up to 15 when it has
         * enough, and the server may read some of them after the reset */
        assert_in_range(requests_of(HTTP_LIST), 1, 8);
        assert_int_equal(requests_of(HTTP_GET), 0);
        sl_store_scope_end();
    }
}

TEST(a_listing_that_fails_says_why)
{
    static names n;
    sluice_error error;
    http_server_script(server, "kind=list status=403 code=AccessDenied\n");
    assert_int_equal(sl_store_list((sl_file_name){"test", "s3://b/set"}, take_name, &n, &error),
                     SLUICE_IO);
    assert_int_equal(error.sys_errno, EACCES);
    assert_non_null(strstr(error.text, "AccessDenied"));
    assert_non_null(strstr(error.text, "environment"));
    assert_null(strstr(error.text, "secret"));
    http_server_script(server, "kind=list count=6 status=503 code=SlowDown\n");
    list("s3://b/set", &n);
    assert_int_equal(n.count, 3);
    http_server_script(server, "");
}

TEST(a_listing_that_does_not_go_on_ends)
{
    static names n;
    sluice_error error;
    char script[256];
    (void)snprintf(script, sizeof(script),
                   "path=continuation-token redirect=%s/many?list-type=2&delimiter=%%2F"
                   "&encoding-type=url&max-keys=1000&prefix=class00001%%2F\n",
                   http_server_url(server));
    http_server_script(server, script);
    assert_int_equal(
        sl_store_list((sl_file_name){"test", "s3://many/class00001"}, take_name, &n, &error),
        SLUICE_IO);
    assert_non_null(strstr(error.text, "does not advance"));
    http_server_script(server, "");
}

TEST(a_listing_of_a_busy_server_says_how_often_it_was_tried)
{
    static names n;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_remote_config config = SLUICE_REMOTE_CONFIG_INIT;
    config.stall_ns = UINT64_C(500000000);
    assert_int_equal(sluice_remote_configure(&config, &error), SLUICE_OK);
    http_server_script(server, "kind=list status=503 retry-after=0\n");
    assert_int_equal(sl_store_list((sl_file_name){"test", "s3://b/set"}, take_name, &n, &error),
                     SLUICE_IO);
    assert_int_equal(error.sys_errno, EBUSY);
    assert_non_null(strstr(error.text, "503"));
    assert_non_null(strstr(error.text, "tries: "));
    http_server_script(server, "");
    config = (sluice_remote_config)SLUICE_REMOTE_CONFIG_INIT;
    assert_int_equal(sluice_remote_configure(&config, &error), SLUICE_OK);
}

/* Each page names another one, and none has a new name. */
TEST(a_listing_without_end_ends)
{
    static const struct {
        const char *script, *folder, *says;
    } cases[] = {
        {"kind=list empty-pages\n", "s3://many/class00001", "100 pages in a row"},
        {"kind=list same-pages\n", "s3://many/class00001", "100 pages in a row"},
        {"kind=list skip=1 empty-pages\n", "s3://many/class00001", "100 pages in a row"},
        {"kind=tree empty-pages\n", "hf://datasets/o/n/d", "100 pages in a row"},
        {"kind=tree same-pages\n", "hf://datasets/o/n/d", "pages repeat the same names"},
    };
    static names n;
    (void)setenv("HF_ENDPOINT", http_server_url(server), 1);
    for (size_t i = 0; i < 3; i++) {
        char path[64];
        (void)snprintf(path, sizeof(path), "/datasets/o/n/d/%zu", i);
        put(path, 10);
    }
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sluice_error error;
        http_server_script(server, cases[i].script);
        http_server_reset_counts(server);
        const sluice_status status =
            sl_store_list((sl_file_name){"test", cases[i].folder}, take_name, &n, &error);
        if (status != SLUICE_IO || strstr(error.text, cases[i].says) == NULL) {
            fail_msg("%s: %d, %s", cases[i].script, status, error.text);
        }
        /* up to 16 ranges may be listed at once */
        assert_in_range(http_server_counts(server).requests, 2, 16 * 100);
    }
    (void)unsetenv("HF_ENDPOINT");
    http_server_script(server, "");
}

/* A store may return an empty page that names the next one. */
TEST(empty_pages_are_passed_over)
{
    static names n;
    sl_store_facts facts;
    http_server_script(server, "kind=list count=1 empty-pages\n");
    list("s3://b/set", &n);
    assert_int_equal(n.count, 3);
    http_server_script(server, "kind=list count=1 empty-pages\n");
    assert_int_equal(sl_store_stat("s3://b/set", &facts), 0);
    assert_int_equal(facts.kind, SL_ENTRY_FOLDER);
    http_server_script(server, "");
}

TEST(odd_keys_are_read_as_they_are_listed)
{
    static const char *const keys[] = {
        "a b+c=d&e%41.bin", "\xc3\xbc\xe2\x82\xac.bin", "q?x#y.bin", "~!@$*()'.bin", "a\"<>.bin",
    };
    static names n;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        char path[256];
        uint8_t read[64];
        sl_handle handle;
        sluice_error error;
        sl_file_identity identity;
        (void)snprintf(path, sizeof(path), "/odd/k/%s", keys[i]);
        put(path, 40 + i);
        (void)snprintf(path, sizeof(path), "s3://odd/k/%s", keys[i]);
        if (sl_handle_open(&handle, (sl_file_name){"test", path}, &identity, &error) != SLUICE_OK) {
            fail_msg("%s: %s", path, error.text);
        }
        assert_int_equal(identity.bytes, 40 + i);
        assert_int_equal(sl_handle_read(&handle, read, 40, 0, &error), SLUICE_OK);
        assert_memory_equal(read, body, 40);
        sl_handle_close(&handle);
    }
    uint64_t sum = 0;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        sum += sl_checksum(keys[i], strlen(keys[i]));
    }
    list("s3://odd/k", &n);
    assert_int_equal(n.count, sizeof(keys) / sizeof(keys[0]));
    assert_true(n.sum == sum);
}

TEST(dots_and_slashes_are_parts_of_keys)
{
    put("/dots/a/../x.bin", 21);
    put("/dots/a//y.bin", 22);
    put("/dots/z.bin", 23);
    sl_store_facts facts;
    assert_int_equal(sl_store_stat("s3://dots/a/../x.bin", &facts), 0);
    assert_int_equal(facts.identity.bytes, 21);
    assert_int_equal(sl_store_stat("s3://dots/a//y.bin", &facts), 0);
    assert_int_equal(facts.identity.bytes, 22);
    /* without such a key, it is a path that the user wrote */
    assert_int_equal(sl_store_stat("s3://dots/a/../z.bin", &facts), 0);
    assert_int_equal(facts.identity.bytes, 23);
    sluice_error error;
    static names n;
    assert_int_equal(sl_store_list((sl_file_name){"test", "s3://dots/a"}, take_name, &n, &error),
                     SLUICE_IO);
    assert_non_null(strstr(error.text, "whole address"));
}

TEST(names_are_joined_as_paths)
{
    static const char *const joined[][3] = {
        {"s3://b/a/./c", "x.bin", "s3://b/a/c/x.bin"},
        {"s3://b/a", "x.bin", "s3://b/a/x.bin"},
        {"s3://b/a/", "x.bin", "s3://b/a/x.bin"},
        {"s3://b", "x.bin", "s3://b/x.bin"},
        {"s3://b/a", "../x.bin", "s3://b/x.bin"},
        {"s3://b/a/c", "./../d//x.bin", "s3://b/a/d/x.bin"},
        {"s3://b/a", "../../../x.bin", "s3://b/x.bin"},
        {"s3://b/a/c/../..", "x.bin", "s3://b/x.bin"},
        {"https://h:1/a/", "x.bin", "https://h:1/a/x.bin"},
        {"/a/", "../x.bin", "/a//../x.bin"},
    };
    for (size_t i = 0; i < sizeof(joined) / sizeof(joined[0]); i++) {
        char path[SL_PATH_BYTES];
        assert_true(sl_path_join(path, joined[i][0], joined[i][1]));
        assert_string_equal(path, joined[i][2]);
    }
}

static void open_object(sl_handle *handle, const char *path, sl_file_identity *identity)
{
    sluice_error error;
    if (sl_handle_open(handle, (sl_file_name){"test", path}, identity, &error) != SLUICE_OK) {
        fail_msg("%s: %s", path, error.text);
    }
}

TEST(small_reads_in_order_take_few_requests)
{
    static uint8_t read[BODY_BYTES];
    sl_handle handle;
    sl_file_identity identity;
    sluice_error error;
    http_server_reset_counts(server);
    open_object(&handle, "s3://b/set/b.tar", &identity);
    for (size_t at = 0; at < BODY_BYTES; at += 10000) {
        const size_t some = BODY_BYTES - at < 10000 ? BODY_BYTES - at : 10000;
        assert_int_equal(sl_handle_read(&handle, read + at, some, at, &error), SLUICE_OK);
    }
    assert_memory_equal(read, body, BODY_BYTES);
    assert_in_range(requests_of(HTTP_GET), 2, 8); /* 64 KiB, doubling */
    assert_int_equal(sl_handle_read(&handle, read, 1, BODY_BYTES, &error), SLUICE_CORRUPT);
    const sl_file_identity before = identity;
    assert_int_equal(sl_handle_sample(&handle, &identity, &error), SLUICE_OK);
    assert_true(sl_file_is_same(&before, &identity));
    sl_handle_close(&handle);
}

TEST(reads_here_and_there_are_right)
{
    static uint8_t read[300000];
    sl_handle handle;
    sl_file_identity identity;
    sluice_error error;
    open_object(&handle, "s3://b/set/b.tar", &identity);
    uint64_t at = 1;
    for (uint32_t i = 0; i < 60; i++) {
        at = (at * 6364136223846793005ULL + 1442695040888963407ULL);
        const size_t bytes = 1 + (size_t)(at >> 40) % (i % 3 == 0 ? sizeof(read) : 5000);
        const uint64_t offset = (at >> 20) % (BODY_BYTES - bytes + 1);
        assert_int_equal(sl_handle_read(&handle, read, bytes, offset, &error), SLUICE_OK);
        assert_memory_equal(read, body + offset, bytes);
    }
    sl_handle_close(&handle);
}

TEST(an_object_that_was_replaced_is_refused)
{
    sl_handle handle;
    sl_file_identity identity;
    sluice_error error;
    uint8_t read[100];
    put("/b/changing.bin", BODY_BYTES);
    open_object(&handle, "s3://b/changing.bin", &identity);
    put("/b/changing.bin", BODY_BYTES);
    assert_int_equal(sl_handle_read(&handle, read, 100, 2 << 20, &error), SLUICE_IO);
    assert_int_equal(error.sys_errno, EREMCHG);
    sl_handle_close(&handle);
}

TEST(a_known_object_is_opened_without_a_request)
{
    sl_handle handle;
    sl_file_identity identity;
    sl_store_facts facts;
    uint8_t read[100];
    sluice_error error;
    open_object(&handle, "s3://b/set/b.tar", &identity);
    sl_handle_close(&handle);
    http_server_reset_counts(server);
    const sl_open_how how = {.known = &identity};
    assert_int_equal(sl_handle_open_how(&handle, "s3://b/set/b.tar", &how, &facts), 0);
    expect_requests(0, 0);
    handle.name = (sl_file_name){"test", "s3://b/set/b.tar"};
    assert_int_equal(sl_handle_read(&handle, read, 100, 1 << 20, &error), SLUICE_OK);
    assert_memory_equal(read, body + (1 << 20), 100);
    expect_requests(1, 0);
    sl_handle_close(&handle);
}

/* Reads the end of an object, like a format that keeps its index there. */
static void read_end(const char *path, const sl_file_identity *identity)
{
    const sl_open_how how = {.known = identity};
    sl_handle handle;
    sl_store_facts facts;
    sluice_error error;
    uint8_t read[300];
    assert_int_equal(sl_handle_open_how(&handle, path, &how, &facts), 0);
    handle.name = (sl_file_name){"test", path};
    sl_handle_advise(&handle, SL_ADVICE_REMEMBER, 0, 0);
    assert_int_equal(sl_handle_read(&handle, read, 300, BODY_BYTES - 300, &error), SLUICE_OK);
    assert_memory_equal(read, body + BODY_BYTES - 300, 300);
    sl_handle_close(&handle);
}

static void write_byte(const char *path, long at, int byte)
{
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, at, SEEK_END), 0);
    assert_int_equal(fputc(byte, file), byte);
    assert_int_equal(fclose(file), 0);
}

TEST(what_opening_read_is_kept_by_its_etag)
{
    static const char path[] = "s3://b/set/b.tar";
    char folder[] = "/tmp/remote_store_test.XXXXXX";
    char opened[64];
    glob_t found;
    sl_handle handle;
    sl_file_identity identity;
    open_object(&handle, path, &identity);
    sl_handle_close(&handle);
    assert_non_null(mkdtemp(folder));
    (void)setenv("SLUICE_CACHE_DIR", folder, 1);
    http_server_reset_counts(server);
    read_end(path, &identity);
    expect_requests(1, 0);
    read_end(path, &identity);
    expect_requests(0, 0);
    (void)snprintf(opened, sizeof(opened), "%s/opened/*", folder);
    assert_int_equal(glob(opened, 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 1);
    const char *kept = found.gl_pathv[0];
    /* others could write to it */
    assert_int_equal(chmod(kept, 0620), 0);
    read_end(path, &identity);
    expect_requests(1, 0);
    assert_int_equal(chmod(kept, 0600), 0);
    read_end(path, &identity);
    expect_requests(0, 0);
    /* damaged: read and cached again */
    write_byte(kept, -20, 'x');
    read_end(path, &identity);
    expect_requests(1, 0);
    read_end(path, &identity);
    expect_requests(0, 0);
    assert_int_equal(unlink(kept), 0);
    globfree(&found);
    (void)snprintf(opened, sizeof(opened), "%s/opened", folder);
    assert_int_equal(rmdir(opened), 0);
    assert_int_equal(rmdir(folder), 0);
    (void)unsetenv("SLUICE_CACHE_DIR");
}

/* The hub's first page has folders that sort after files on later pages. */
TEST(a_name_on_a_later_page_of_the_hub_is_found)
{
    http_server *hub = http_server_start(&(http_server_config){.tree_page = 3});
    http_server_put(hub, "/datasets/o/n/zeta/x.bin", body, 1);
    for (int name = 'a'; name < 'i'; name++) {
        char path[64];
        (void)snprintf(path, sizeof(path), "/datasets/o/n/%c.bin", name);
        http_server_put(hub, path, body, 10);
    }
    (void)setenv("HF_ENDPOINT", http_server_url(hub), 1);
    (void)setenv("HF_TOKEN", "secret", 1);
    sl_store_scope_begin();
    assert_int_equal(kind_of("hf://datasets/o/n/zeta"), SL_ENTRY_FOLDER);
    assert_int_equal(kind_of("hf://datasets/o/n/g.bin"), SL_ENTRY_FILE);
    assert_int_equal(kind_of("hf://datasets/o/n/none.bin"), SL_ENTRY_UNKNOWN);
    sl_store_scope_end();
    (void)unsetenv("HF_ENDPOINT");
    (void)unsetenv("HF_TOKEN");
    http_server_stop(hub);
}

static void ask_state(void)
{
    sl_known known;
    const sl_remote_settings *settings;
    assert_int_equal(sl_remote_settings_get(&settings, NULL), SLUICE_OK);
    sl_remote_settings_release(settings);
    (void)sl_known_find("s3://b/none", &known);
}

static void *ask_on(void *argument)
{
    const _Atomic bool *ends = argument;
    while (!atomic_load(ends)) {
        ask_state();
    }
    return NULL;
}

/* A parent's thread that holds a mutex at the fork does not exist in the child. */
TEST(a_forked_child_waits_for_no_thread_of_its_parent)
{
    pthread_t threads[2];
    _Atomic bool ends = false;
    sl_store_scope_begin();
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, ask_on, &ends), 0);
    }
    for (int i = 0; i < 100; i++) {
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            (void)alarm(20);
            ask_state();
            _exit(sl_known_has_folder("s3://b/") ? 1 : 0);
        }
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    atomic_store(&ends, true);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    sl_store_scope_end();
}

TEST(an_end_behind_a_kept_chunk_is_read)
{
    enum { LONG_BYTES = SL_CHUNK_BYTES + 1000 };
    static const char path[] = "s3://b/long.bin";
    char folder[] = "/tmp/remote_store_test.XXXXXX";
    uint8_t *all = sl_malloc(LONG_BYTES);
    uint8_t read[500];
    sl_handle handle;
    sl_file_identity identity;
    sl_chunk_part *part;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_remote_config config = SLUICE_REMOTE_CONFIG_INIT;
    for (size_t i = 0; i < LONG_BYTES; i++) {
        all[i] = (uint8_t)(i * 2654435761U >> 11);
    }
    http_server_put(server, "/b/long.bin", all, LONG_BYTES);
    assert_non_null(mkdtemp(folder));
    config.cache = folder;
    assert_int_equal(sluice_remote_configure(&config, &error), SLUICE_OK);
    open_object(&handle, path, &identity);
    sl_cached_object *kept = sl_object_cached(handle.own); /* the handle's object */
    assert_non_null(kept);
    assert_int_equal(sl_chunk_begin(kept, 0, &part, &error), SLUICE_OK);
    assert_int_equal(sl_chunk_keep(part, all, SL_CHUNK_BYTES, &error), SLUICE_OK);
    assert_int_equal(sl_handle_read(&handle, read, 500, LONG_BYTES - 500, &error), SLUICE_OK);
    assert_memory_equal(read, all + LONG_BYTES - 500, 500);
    sl_handle_close(&handle);
    assert_int_equal(sluice_remote_configure(NULL, &error), SLUICE_OK);
    remove_tree(folder);
    sl_free(all);
}

TEST(a_web_server_has_folders_by_a_slash_alone)
{
    char path[256];
    static names n;
    sluice_error error = SLUICE_ERROR_INIT;
    (void)snprintf(path, sizeof(path), "%s/b/set/", http_server_url(server));
    http_server_reset_counts(server);
    assert_int_equal(kind_of(path), SL_ENTRY_FOLDER);
    expect_requests(0, 0);
    assert_int_equal(sl_store_list((sl_file_name){"test", path}, take_name, &n, &error), SLUICE_IO);
    assert_non_null(strstr(error.text, "no listing: name the files"));
    (void)snprintf(path, sizeof(path), "%s/b/set/manifest.sluice", http_server_url(server));
    http_server_script(server, "status=403");
    assert_false(sl_store_has_file(path));
    http_server_script(server, "");
    (void)snprintf(path, sizeof(path), "%s/b/set/", http_server_url(server));
    assert_int_equal(sl_store_list((sl_file_name){"test", path}, take_name, &n, &error), SLUICE_IO);
    assert_non_null(strstr(error.text, "refused: the server answered 403"));
    http_server_reset_counts(server);
    (void)snprintf(path, sizeof(path), "%s/b/set/a.tar", http_server_url(server));
    assert_int_equal(kind_of(path), SL_ENTRY_FILE);
    expect_requests(1, 0);
}

TEST(an_etag_begins_no_header)
{
    sl_request_text *text = sl_malloc(sizeof(*text));
    text->header_count = 0;
    assert_true(sl_request_match(text, "\"a\r\nX-Other: 1\""));
    assert_int_equal(text->header_count, 0);
    assert_true(sl_request_match(text, "\"a\""));
    assert_int_equal(text->header_count, 1);
    assert_string_equal(text->header_list[0], "If-Match: \"a\"");
    sl_free(text);
}

TEST(an_empty_object_is_found)
{
    char path[256];
    sl_store_facts facts;
    put("/b/nothing.bin", 0);
    (void)snprintf(path, sizeof(path), "%s/b/nothing.bin", http_server_url(server));
    assert_int_equal(sl_store_stat(path, &facts), 0);
    assert_int_equal(facts.kind, SL_ENTRY_FILE);
    assert_int_equal(facts.identity.bytes, 0);
}

TEST_GROUP(begin_server, end_server)
