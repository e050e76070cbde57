/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_faults [CASE|all]: tests failures on a real device. Each case runs in its own process,
 * because a device error is permanent. The parent never touches CUDA, which would not survive the
 * fork, and kills a case that hangs. */
#include "clock.h"
#include "gpu.h"
#include "loader_setup.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CASE_SECONDS = 60, EXIT_SKIP = 77 };

static photo_folder folder;

static sluice_loader *start_loader(void)
{
    sluice_loader_options options = setup_options();
    options.device = "cuda:0";
    options.dtype = SLUICE_F16;
    options.layout = SLUICE_NCHW;
    sluice_loader *loader = setup_loader(folder.path, &options);
    if (sluice_loader_start_epoch(loader, 0) != SLUICE_OK) {
        gpu_die("the epoch does not start");
    }
    return loader;
}

static sluice_batch *take(sluice_loader *loader)
{
    sluice_batch *batch = NULL;
    const sluice_status status = sluice_loader_next(loader, &batch, 10000000000);
    if (status != SLUICE_OK) {
        gpu_die("no batch: %s", sluice_status_name(status));
    }
    return batch;
}

/* Continues through epochs until next returns no batch. */
static sluice_status next_failure(const gpu *g, sluice_loader *loader)
{
    for (uint64_t epoch = 1;; epoch++) {
        sluice_status status;
        do {
            sluice_batch *batch = NULL;
            status = sluice_loader_next(loader, &batch, 5000000000);
            if (status == SLUICE_OK && sluice_batch_release_on(batch, g->stream) != SLUICE_OK) {
                sluice_batch_release(batch);
            }
        } while (status == SLUICE_OK);
        if (status != SLUICE_END || sluice_loader_start_epoch(loader, epoch) != SLUICE_OK) {
            return status;
        }
    }
}

/* ---- cases ---- */

/* The consumer's kernel writes to an invalid address: next reports it within a second, and close
 * returns. */
static void consumer_fault(void)
{
    gpu g;
    gpu_open(&g);
    sluice_loader *loader = start_loader();
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_batch *batch = take(loader);
    const uint64_t begin = sl_now_ns();
    gpu_write(&g, 64);
    if (sluice_batch_release_on(batch, g.stream) != SLUICE_OK) {
        sluice_batch_release(batch); /* the error may have been reported already */
    }
    const sluice_status status = next_failure(&g, loader);
    const uint64_t told = sl_now_ns();
    gpu_figure("fault_told_after", (double)(told - begin) * 1e-6, "ms");
    gpu_expect(status == SLUICE_DEVICE, "next returns %s", sluice_status_name(status));
    gpu_expect(told - begin < 1000000000, "next told it after %.1f s",
               (double)(told - begin) * 1e-9);
    sluice_loader_get_error(loader, &error);
    gpu_expect(error.device_code != 0, "the error has no device code: %s", error.text);
    printf("note: %s\n", error.text);
    sluice_loader_close(loader);
    gpu_figure("fault_closed_after", (double)(sl_now_ns() - told) * 1e-6, "ms");
    sl_device_close(g.device); /* the rest is lost with the device */
}

/* A program that exits without closing anything, with a held batch and work in flight. */
static void exit_with_loader(void)
{
    static gpu g; /* static: not leaked, but in use until the end */
    static sluice_loader *loader;
    gpu_open(&g);
    loader = start_loader();
    sluice_batch *batch = take(loader);
    gpu_spin(&g, 1000000);
    if (sluice_batch_wait(batch, g.stream) != SLUICE_OK) {
        gpu_die("the stream cannot wait");
    }
}

/* A forked child gets an answer, and the parent continues. */
static void fork_with_loader(void)
{
    gpu g;
    gpu_open(&g);
    sluice_loader *loader = start_loader();
    sluice_batch *batch = take(loader);
    int status = -1;
    const pid_t child = fork();
    if (child == 0) {
        sluice_batch *none = NULL;
        const bool refused = sluice_loader_next(loader, &none, 0) == SLUICE_STATE &&
                             sluice_batch_release_on(batch, g.stream) == SLUICE_STATE;
        sluice_loader_close(loader);
        _exit(refused ? 0 : 1);
    }
    gpu_expect(child > 0 && waitpid(child, &status, 0) == child && status == 0,
               "the child did not get STATE (wait status %d)", status);
    if (sluice_batch_release_on(batch, g.stream) != SLUICE_OK) {
        gpu_die("the parent cannot release its batch");
    }
    sluice_status next;
    while ((next = sluice_loader_next(loader, &batch, 10000000000)) == SLUICE_OK) {
        sluice_batch_release(batch);
    }
    gpu_expect(next == SLUICE_END, "the parent's epoch ends with %s", sluice_status_name(next));
    sluice_loader_close(loader);
    gpu_close(&g);
}

/* Closed while the device still works on a held batch. */
static void close_at_work(void)
{
    gpu g;
    gpu_open(&g);
    sluice_loader *loader = start_loader();
    sluice_batch *batch = take(loader);
    gpu_spin(&g, 100000000);
    if (sluice_batch_wait(batch, g.stream) != SLUICE_OK) {
        gpu_die("the stream cannot wait");
    }
    sluice_loader_close(loader);
    gpu_expect(sluice_batch_release_on(batch, g.stream) == SLUICE_OK,
               "a batch cannot be released after close");
    gpu_wait(&g);
    gpu_close(&g);
}

typedef struct capture {
    sl_cu_result (*begin)(sl_cu_stream stream, unsigned mode);
    sl_cu_result (*end)(sl_cu_stream stream, void **graph);
    sl_cu_result (*destroy)(void *graph);
} capture;

/* In global mode, the strictest: it forbids unsafe calls in all threads that are not in relaxed
 * mode. */
static capture begin_capture(const gpu *g)
{
    capture c;
    gpu_symbol("cuStreamBeginCapture_v2", &c.begin);
    gpu_symbol("cuStreamEndCapture", &c.end);
    gpu_symbol("cuGraphDestroy", &c.destroy);
    gpu_must(g, "cuStreamBeginCapture", c.begin(g->stream, 0));
    return c;
}

/* An unsafe call in any thread would have invalidated it. */
static void end_capture(const gpu *g, const capture *c)
{
    void *graph = NULL;
    gpu_must(g, "cuStreamEndCapture", c->end(g->stream, &graph));
    gpu_must(g, "cuGraphDestroy", c->destroy(graph));
}

/* Handshakes do not belong in a graph, and a capture elsewhere does not disturb the loader. */
static void stream_capture(void)
{
    gpu g;
    gpu_open(&g);
    sluice_loader *loader = start_loader();
    sluice_batch *batch = take(loader);
    const capture c = begin_capture(&g);
    gpu_expect(sluice_batch_wait(batch, g.stream) == SLUICE_STATE, "wait is captured");
    gpu_expect(sluice_batch_release_on(batch, g.stream) == SLUICE_STATE, "release is captured");
    sluice_batch_release(take(loader)); /* the copies continue meanwhile */
    sl_sleep_until_ns(sl_now_ns() + 50000000);
    end_capture(&g, &c);
    gpu_expect(sluice_batch_release_on(batch, g.stream) == SLUICE_OK, "release fails afterwards");
    /* Not a failure: the latest rejected call. */
    const sluice_status status = sluice_loader_get_error(loader, NULL);
    gpu_expect(status == SLUICE_STATE, "the rejected call is reported as %s",
               sluice_status_name(status));
    sluice_loader_close(loader);
    gpu_close(&g);
}

/* Opening, an epoch and closing, all in the capturing thread, beside another loader. */
static void open_in_capture(void)
{
    gpu g;
    gpu_open(&g);
    sluice_loader *first = start_loader();
    sluice_batch *batch = NULL;
    sluice_status next;
    const capture c = begin_capture(&g);
    sluice_loader *second = start_loader();
    while ((next = sluice_loader_next(second, &batch, 10000000000)) == SLUICE_OK) {
        sluice_batch_release(batch);
    }
    gpu_expect(next == SLUICE_END, "the epoch ends with %s", sluice_status_name(next));
    sluice_loader_close(second);
    sluice_batch_release(take(first));
    end_capture(&g, &c);
    const sluice_status status = sluice_loader_get_error(first, NULL);
    gpu_expect(status == SLUICE_OK, "the other loader has failed: %s", sluice_status_name(status));
    sluice_loader_close(first);
    gpu_close(&g);
}

static void probe(void)
{
    if (!gpu_is_there()) {
        exit(EXIT_SKIP);
    }
}

/* ---- a process for each ---- */

typedef struct fault_case {
    const char *name;
    void (*run)(void);
} fault_case;

static const fault_case cases[] = {
    {"consumer_fault", consumer_fault},     {"exit_with_loader", exit_with_loader},
    {"fork_with_loader", fork_with_loader}, {"close_at_work", close_at_work},
    {"stream_capture", stream_capture},     {"open_in_capture", open_in_capture},
};

/* Returns the exit status of a process that runs the case; a process that hangs is killed. */
static int run_apart(void (*run)(void), const char *name)
{
    int status = 0;
    pid_t ended = 0;
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        run();
        exit(gpu_result());
    }
    const uint64_t deadline = sl_now_ns() + (uint64_t)CASE_SECONDS * 1000000000;
    while (child > 0 && ended == 0 && sl_now_ns() < deadline) {
        sl_sleep_until_ns(sl_now_ns() + 5000000);
        ended = waitpid(child, &status, WNOHANG);
    }
    if (child > 0 && ended == 0) {
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        gpu_expect(false, "%s: still running after %d s", name, CASE_SECONDS);
        return 1;
    }
    gpu_expect(child > 0 && WIFEXITED(status), "%s: ended by signal %d", name, WTERMSIG(status));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
    const char *wanted = argc > 1 ? argv[1] : "all";
    int ran = 0;
    const int probed = run_apart(probe, "probe");
    if (probed != 0) {
        return probed;
    }
    photo_folder_make(&folder, 2, 64);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (strcmp(wanted, "all") != 0 && strcmp(wanted, cases[i].name) != 0) {
            continue;
        }
        const int code = run_apart(cases[i].run, cases[i].name);
        gpu_expect(code == 0, "%s: exit code %d", cases[i].name, code);
        printf("%s: %s\n", cases[i].name, code == 0 ? "as it should be" : "FAILED");
        ran++;
    }
    photo_folder_remove(&folder);
    gpu_expect(ran > 0, "there is no case \"%s\"", wanted);
    return gpu_result();
}
