/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_reader: requests many addresses from stores at once, for tests in Python.
 *
 * Input: "WORD ADDRESS", each terminated by NUL, since keys may contain line ends. Output, in the
 * same
 * order: "ok BYTES" or "failed TEXT", a line end, then that many bytes:
 *  - read: the object by one GET, as a fetch thread reads a photo
 *  - stat: its size in decimal
 *  - list: the names in a folder, each terminated by NUL, those of folders with a slash before it
 *  - after: the same for one page of the address's folder, with the names that follow the address
 */
#include "entries.h"
#include "memory.h"
#include "object.h"
#include "page_request.h"
#include "reads.h"
#include "store.h"
#include "thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 8, JOBS_MOST = 4096, OBJECT_BYTES = 64 << 10 };

typedef struct store_job {
    char *word;
    const char *address;
    char failure[1024];
    char *found;
    size_t bytes;
    bool failed;
} store_job;

static store_job jobs[JOBS_MOST];
static size_t job_count;
static _Atomic size_t next_job;

static void fail_job(store_job *job, const char *text)
{
    job->failed = true;
    (void)snprintf(job->failure, sizeof(job->failure), "%s", text);
}

static void add_to_job(store_job *job, const void *bytes, size_t count)
{
    job->found = realloc(job->found, job->bytes + count + 1);
    if (job->found == NULL) {
        abort();
    }
    memcpy(job->found + job->bytes, bytes, count);
    job->bytes += count;
}

static void read_address(store_job *job)
{
    sl_object *object = NULL;
    const int failed = sl_object_open(&object, job->address, NULL);
    if (failed < 0) {
        fail_job(job, sl_store_reason());
        return;
    }
    uint8_t *buffer = sl_malloc(OBJECT_BYTES);
    sl_remote_read read = {
        .object = object, .bytes = OBJECT_BYTES, .whole = true, .buffer = buffer};
    const int64_t result = sl_remote_read_run(&read);
    if (result < 0) {
        fail_job(job, read.reason[0] != '\0' ? read.reason : strerror((int)-result));
    } else {
        add_to_job(job, buffer, (size_t)result);
    }
    sl_free(buffer);
    sl_object_release(object);
}

static void stat_address(store_job *job)
{
    sl_store_facts facts;
    char text[32];
    const int failed = sl_store_stat(job->address, &facts);
    if (failed < 0) {
        fail_job(job, sl_store_reason()[0] != '\0' ? sl_store_reason() : strerror(-failed));
        return;
    }
    const int length =
        snprintf(text, sizeof(text), "%llu", (unsigned long long)facts.identity.bytes);
    add_to_job(job, text, (size_t)length);
}

static sluice_status add_name(void *ctx, const sl_store_entry *entry, sluice_error *error)
{
    (void)error;
    add_to_job(ctx, entry->name, strlen(entry->name));
    add_to_job(ctx, "/", entry->kind == SL_ENTRY_FOLDER ? 2 : 0);
    if (entry->kind != SL_ENTRY_FOLDER) {
        add_to_job(ctx, "", 1);
    }
    return SLUICE_OK;
}

static void list_address(store_job *job)
{
    sluice_error error;
    const sl_file_name name = {.path = job->address};
    if (sl_store_list(name, add_name, job, &error) < 0) {
        fail_job(job, error.text);
    }
}

static void add_page(store_job *job, const sl_url *folder, const sl_page_request *page)
{
    sl_entries entries = {.count = 0};
    sl_page_end end;
    sluice_error error;
    const sl_provider *provider = sl_provider_of(folder->scheme);
    if (provider->page(folder, &page->exchange, &entries, &end, &error) < 0) {
        fail_job(job, error.text);
    }
    for (uint64_t i = 0; i < entries.count; i++) {
        const sl_store_entry entry = {.name = sl_entries_name(&entries, &entries.entries[i]),
                                      .kind = (sl_entry_kind)entries.entries[i].kind};
        (void)add_name(job, &entry, &error);
    }
    sl_free(end.token);
    sl_entries_close(&entries);
}

static void page_behind(store_job *job)
{
    sl_page_group group;
    sl_page_request page = {.state = SL_PAGE_IDLE};
    sluice_error error;
    sl_url folder;
    if (sl_url_parse(&folder, job->address, &error) < 0) {
        fail_job(job, error.text);
        return;
    }
    char key[sizeof(folder.key)];
    memcpy(key, folder.key, sizeof(key));
    folder.key[strrchr(key, '/') + 1 - key] = '\0';
    const sl_page_ask ask = {.start_after = key};
    sl_page_group_begin(&group);
    int ended = sl_page_start(&page, &group, &folder, &ask);
    if (ended == 0) {
        sl_lock(&group.mutex);
        while (page.state != SL_PAGE_ENDED) {
            sl_cond_wait(&group.changed, &group.mutex);
        }
        sl_unlock(&group.mutex);
        ended = sl_page_take(&page);
    }
    if (ended > 0) {
        add_page(job, &folder, &page);
    } else {
        fail_job(job, ended == 0 ? "to be tried again" : sl_store_reason());
    }
    sl_page_close(&page);
    sl_page_group_end(&group);
}

static void *run_jobs(void *unused)
{
    (void)unused;
    size_t at = atomic_fetch_add_explicit(&next_job, 1, memory_order_relaxed);
    while (at < job_count) {
        store_job *job = &jobs[at];
        if (strcmp(job->word, "read") == 0) {
            read_address(job);
        } else if (strcmp(job->word, "stat") == 0) {
            stat_address(job);
        } else if (strcmp(job->word, "list") == 0) {
            list_address(job);
        } else if (strcmp(job->word, "after") == 0) {
            page_behind(job);
        } else {
            fail_job(job, "no such word");
        }
        at = atomic_fetch_add_explicit(&next_job, 1, memory_order_relaxed);
    }
    return NULL;
}

static void take_jobs(void)
{
    char *line = NULL;
    size_t capacity = 0;
    while (getdelim(&line, &capacity, '\0', stdin) > 0) {
        char *space = strchr(line, ' ');
        if (space == NULL || job_count == JOBS_MOST) {
            abort();
        }
        *space = '\0';
        jobs[job_count++] = (store_job){.word = line, .address = space + 1};
        line = NULL;
        capacity = 0;
    }
    free(line);
}

int main(void)
{
    pthread_t threads[THREADS];
    take_jobs();
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, run_jobs, NULL) != 0) {
            abort();
        }
    }
    for (int i = 0; i < THREADS; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    for (size_t i = 0; i < job_count; i++) {
        const store_job *job = &jobs[i];
        if (job->failed) {
            (void)printf("failed %s\n", job->failure);
        } else {
            (void)printf("ok %zu\n", job->bytes);
            (void)fwrite(job->bytes > 0 ? job->found : "", 1, job->bytes, stdout);
        }
        free(job->found);
        free(job->word);
    }
    return fflush(stdout) == 0 ? 0 : 1;
}
