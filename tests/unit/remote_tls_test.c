/* SPDX-License-Identifier: Apache-2.0 */
/* Tests which certificates the engine accepts over TLS. The server is openssl's. */
#include "curl_library.h"
#include "engine.h"
#include "memory.h"
#include "settings.h"
#include "test.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/sluice-tls-XXXXXX";
static char url[128], other_url[128], big_url[128], certificate[64];
static pid_t server;

static void leave(const char *why)
{
    (void)printf("%s\n", why);
    exit(77);
}

static void make_certificate(void)
{
    char command[512];
    (void)snprintf(certificate, sizeof(certificate), "%s/cert.pem", folder);
    (void)snprintf(
        command, sizeof(command),
        "cd %s && printf hello >file && seq 100000 >big && openssl req -x509 -newkey ec -pkeyopt "
        "ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost -addext "
        "subjectAltName=DNS:localhost -keyout key.pem -out cert.pem 2>/dev/null",
        folder);
    if (system(command) != 0) { /* NOLINT(cert-env33-c): a fixed command */
        leave("openssl makes no certificate here");
    }
}

/* Starts a server whose only certificate is for "localhost". Returns its port. */
static unsigned start_server(void)
{
    int pipes[2];
    char line[256];
    unsigned port = 0;
    assert_int_equal(pipe(pipes), 0);
    server = fork();
    assert_true(server >= 0);
    if (server == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (chdir(folder) != 0 || dup2(pipes[1], STDOUT_FILENO) < 0 ||
            freopen("/dev/null", "w", stderr) == NULL) {
            _exit(1);
        }
        (void)execlp("openssl", "openssl", "s_server", "-accept", "127.0.0.1:0", "-WWW", "-cert",
                     "cert.pem", "-key", "key.pem", "-naccept", "1000", (char *)NULL);
        _exit(1);
    }
    (void)close(pipes[1]);
    FILE *output = fdopen(pipes[0], "r");
    assert_non_null(output);
    while (port == 0 && fgets(line, sizeof(line), output) != NULL) {
        (void)sscanf(line, "ACCEPT 127.0.0.1:%u", &port); /* NOLINT(cert-err34-c): 0: no port */
    }
    (void)fclose(output);
    return port;
}

static _Atomic uint32_t answered;

static void count_answer(sl_exchange *exchange)
{
    (void)exchange;
    atomic_fetch_add(&answered, 1);
}

/* Runs the program as a child: it exits after this many responses, with others in flight. */
static void exit_amid_requests(const char *address, uint32_t answers)
{
    static sl_exchange exchanges[10];
    static uint8_t buffers[10][100];
    sl_engine_set_threads(4, 4);
    for (uint32_t i = 0; i < 10; i++) {
        exchanges[i] = (sl_exchange){
            .url = address, .buffer = buffers[i], .capacity = 100, .done = count_answer};
        if (sl_engine_start(&exchanges[i], NULL) != SLUICE_OK) {
            exit(1);
        }
    }
    while (atomic_load(&answered) < answers) {
        (void)usleep(1000);
    }
    exit(0);
}

static int begin(void **state)
{
    (void)state;
    const char *child_url = getenv("TLS_TEST_URL");
    const char *answers = getenv("TLS_TEST_ANSWERS");
    if (child_url != NULL && answers != NULL) {
        exit_amid_requests(child_url, (uint32_t)strtoul(answers, NULL, 10));
    }
    const sl_curl_calls *calls;
    sluice_error error;
    if (sl_curl_library(&calls, &error) != SLUICE_OK) {
        leave(error.text);
    }
    assert_non_null(mkdtemp(folder));
    make_certificate();
    const unsigned port = start_server();
    if (port == 0) {
        leave("openssl s_server does not start here");
    }
    (void)snprintf(url, sizeof(url), "https://localhost:%u/file", port);
    (void)snprintf(big_url, sizeof(big_url), "https://localhost:%u/big", port);
    (void)snprintf(other_url, sizeof(other_url), "https://127.0.0.1:%u/file", port);
    return 0;
}

static int end(void **state)
{
    (void)state;
    static const char *const names[] = {"big", "file", "cert.pem", "key.pem"};
    (void)kill(server, SIGKILL);
    (void)waitpid(server, NULL, 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char path[128];
        (void)snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        (void)unlink(path);
    }
    return rmdir(folder);
}

static uint8_t buffer[100];

/* Fetches everything through libcurl, or a range on a connection that the engine uses itself. */
static int fetch_as(const char *address, bool is_range, int *status)
{
    sl_exchange exchange = {.url = address,
                            .has_bytes = is_range,
                            .last = sizeof(buffer) - 1,
                            .buffer = buffer,
                            .capacity = sizeof(buffer)};
    memset(buffer, 0, sizeof(buffer));
    assert_int_equal(sl_engine_run(&exchange, NULL), SLUICE_OK);
    *status = exchange.status;
    assert_int_equal(exchange.reason[0] != '\0', exchange.failed != 0);
    assert_int_equal(exchange.got, exchange.failed == 0 ? 5 : 0);
    sl_exchange_free(&exchange);
    return exchange.failed;
}

static int fetch(const char *address, int *status)
{
    const int failed = fetch_as(address, false, status);
    assert_int_equal(fetch_as(address, true, status), failed);
    return failed;
}

static void trust(const char *file)
{
    const sl_remote_choice choice = {.ca_file = file};
    assert_int_equal(sl_remote_settings_choose(&choice, NULL), SLUICE_OK);
}

TEST(certificates)
{
    int status;
    trust(NULL);
    assert_int_equal(fetch(url, &status), -EKEYREJECTED);
    assert_int_equal(status, 0);
    trust(certificate);
    assert_int_equal(fetch(url, &status), 0);
    assert_int_equal(status, 200);
    assert_memory_equal(buffer, "hello", 5);
    assert_int_equal(fetch(other_url, &status), -EKEYREJECTED); /* a certificate for another name */
    trust(NULL); /* earlier handles and sessions do not count */
    assert_int_equal(fetch(url, &status), -EKEYREJECTED);
}

/* A body of many TLS records. Several arrive at once. */
TEST(many_records)
{
    enum { BYTES = 588895 }; /* the numbers up to 100,000 */
    char *body = sl_malloc(BYTES + 1);
    assert_non_null(body);
    trust(certificate);
    sl_exchange exchange = {.url = big_url,
                            .has_bytes = true,
                            .last = BYTES,
                            .buffer = (uint8_t *)body,
                            .capacity = BYTES + 1};
    assert_int_equal(sl_engine_run(&exchange, NULL), SLUICE_OK);
    assert_int_equal(exchange.failed, 0);
    assert_int_equal(exchange.got, BYTES);
    const char *at = body;
    for (int number = 1; number <= 100000; number++) {
        char line[16];
        const int length = snprintf(line, sizeof(line), "%d\n", number);
        assert_memory_equal(at, line, (size_t)length);
        at += length;
    }
    sl_exchange_free(&exchange);
    sl_free(body);
}

/* Returns the bytes that the process has read from files. */
static uint64_t bytes_read(void)
{
    unsigned long long bytes = 0;
    FILE *file = fopen("/proc/self/io", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "rchar: %llu", &bytes), 1); /* NOLINT(cert-err34-c) */
    (void)fclose(file);
    return bytes;
}

/* The system's certificates are hundreds of KB. */
TEST(certificates_are_read_once)
{
    enum { CONNECTIONS = 12, THREADS = 1 };
    struct stat bundle;
    int status;
    if (stat("/etc/ssl/certs/ca-certificates.crt", &bundle) != 0 || bundle.st_size < 100000) {
        skip();
    }
    sl_engine_set_threads(THREADS, THREADS);
    trust(NULL);
    const uint64_t before = bytes_read();
    for (int i = 0; i < CONNECTIONS; i++) {
        assert_int_equal(fetch(url, &status), -EKEYREJECTED);
    }
    assert_true(bytes_read() - before < 3 * (uint64_t)bundle.st_size);
}

#if defined(__SANITIZE_THREAD__)
enum { CHILDREN = 1 }; /* ThreadSanitizer takes seconds for each */
#else
enum { CHILDREN = 4 };
#endif

/* OpenSSL frees its memory when a process exits, whatever engine threads are doing. */
TEST(a_process_exits_with_connections)
{
    (void)setenv("CURL_CA_BUNDLE", certificate, 1);
    (void)setenv("ASAN_OPTIONS", "detect_leaks=0", 1); /* nothing is freed in an orderly way */
    (void)setenv("TLS_TEST_URL", url, 1);
    for (int i = 0; i < CHILDREN; i++) {
        char answers[8];
        (void)snprintf(answers, sizeof(answers), "%d", i);
        (void)setenv("TLS_TEST_ANSWERS", answers, 1);
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            (void)execl("/proc/self/exe", "remote_tls_test", (char *)NULL);
            _exit(1);
        }
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
}

TEST_GROUP(begin, end)
