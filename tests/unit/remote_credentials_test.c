/* SPDX-License-Identifier: Apache-2.0 */
/* Tests credentials: programs that print them, dates, and chains that refresh them. With --ask
 * KIND, prints what a chain finds for remote_credentials.py, which plays the servers and compares
 * with botocore. */
#include "clock.h"
#include "credentials.h"
#include "credentials_sources.h"
#include "error.h"
#include "settings.h"
#include "stop.h"
#include "test.h"
#include "test_folder.h"
#include "thread.h"

#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* This process's clock (ld --wrap), in seconds ahead. */
static _Atomic int64_t ahead_s;

time_t __real_time(time_t *to);
time_t __wrap_time(time_t *to);

time_t __wrap_time(time_t *to)
{
    /* Relaxed: a thread that sees the change late sees the time change late. */
    const time_t now = __real_time(NULL) + atomic_load_explicit(&ahead_s, memory_order_relaxed);
    if (to != NULL) {
        *to = now;
    }
    return now;
}

static void set_clock(int64_t seconds)
{
    atomic_store_explicit(&ahead_s, seconds, memory_order_relaxed);
}

/* ---- dates ---- */

TEST(reads_dates)
{
    static const struct {
        const char *text;
        int64_t seconds; /* -1: invalid */
    } dates[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"2026-11-29T08:00:00Z", 1795939200},
        {"2026-11-29T08:00:00", 1795939200},
        {"2026-11-29T08:00:00.123456Z", 1795939200},
        {"2026-11-29T10:00:00+02:00", 1795939200},
        {"2026-11-29T06:30:00-0130", 1795939200},
        {"2024-02-29T23:59:59Z", 1709251199},
        {"2026-11-29", -1},
        {"2026-11-29T08:00:00+2", -1},
        {"2026-11-29T08:00:00 UTC", -1},
        {"2026-11-29T08:00:00Zx", -1},
        {"2026-11-29T08:00:00+99:00", -1},
        {"tomorrow", -1},
        {"", -1},
    };
    for (size_t i = 0; i < sizeof(dates) / sizeof(*dates); i++) {
        int64_t seconds = -1;
        const bool good = sl_read_date(dates[i].text, &seconds);
        assert_int_equal(good, dates[i].seconds >= 0);
        assert_true(!good || seconds == dates[i].seconds);
    }
}

/* ---- programs ---- */

/* Writes a program in the test's folder that runs these shell lines. */
static const char *write_program(const char *name, const char *lines)
{
    char text[4096];
    const int length = snprintf(text, sizeof(text), "#!/bin/sh\n%s\n", lines);
    const char *path = test_path("%s", name);
    write_file(path, text, (uint32_t)length);
    assert_int_equal(chmod(path, 0700), 0);
    return path;
}

static sluice_status run_command(const char *command, sl_credentials *credentials,
                                 sluice_error *error)
{
    memset(credentials, 0, sizeof(*credentials));
    sl_error_clear(error);
    const sluice_status status = sl_credentials_from_process(command, credentials, error);
    if (status != SLUICE_OK) {
        assert_int_equal(error->status, status);
        assert_null(strstr(error->text, "SECRET"));
    }
    return status;
}

/* The program's arguments come back as keys: words are split as by Python's shlex. */
TEST_WITH(splits_commands_without_a_shell, test_folder_make, test_folder_remove)
{
    static const char *const commands[][2] = {
        {"a b", "a|b|"},
        {" a\tb\n c ", "a|b|c|"},
        {"'a b' c", "a b|c|"},
        {"\\\"a b\\\"", "\"a|b\"|"},
        {"a\\ b", "a b|"},
        {"a'b'c\"d\"e", "abcde|"},
        {"'' x", "|x|"},
        {"'a\\b' \"c\\d\" \"e\\\\f\"", "a\\b|c\\d|e\\f|"},
        {"\"it's\" '$HOME' `x` ;&|>", "it's|$HOME|`x`|;&|>|"},
        {"#x", "#x|"},
    };
    const char *program = write_program(
        "show",
        "key=; for word in \"$@\"; do key=\"$key$word|\"; done\n"
        "key=$(printf %s \"$key\" | sed 's/[\\\\\"]/\\\\&/g')\n"
        "printf '{\"Version\":1,\"AccessKeyId\":\"%s\",\"SecretAccessKey\":\"s\"}' \"$key\"");
    for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
        sl_credentials credentials;
        sluice_error error;
        char command[1024];
        snprintf(command, sizeof(command), "%s %s", program, commands[i][0]);
        if (run_command(command, &credentials, &error) != SLUICE_OK) {
            fail_msg("%s: %s", commands[i][0], error.text);
        }
        assert_string_equal(credentials.access_key, commands[i][1]);
    }
}

typedef struct bad_program {
    const char *lines;
    sluice_status status;
    const char *text;
} bad_program;

static const bad_program bad_programs[] = {
    {"exit 3", SLUICE_IO, "failed with exit status 3"},
    {"echo first >&2; echo second >&2; exit 1", SLUICE_IO, "failed with exit status 1: first"},
    {"printf 'bad\\033[1m\\n' >&2; exit 1", SLUICE_IO, "status 1: bad\\x1b[1m"},
    {"kill -9 $$", SLUICE_IO, "ended by signal 9"},
    {"echo SECRET", SLUICE_CORRUPT, "not valid JSON"},
    {"echo '[\"SECRET\"]'", SLUICE_CORRUPT, "not an object"},
    {"echo '{\"AccessKeyId\":\"a\"}'", SLUICE_CORRUPT, "a key is missing"},
    {"echo '{\"AccessKeyId\":1,\"SecretAccessKey\":\"SECRET\"}'", SLUICE_CORRUPT,
     "a key is missing"},
    {"echo '{\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"SECRET\\\\n\"}'", SLUICE_CORRUPT,
     "a key is missing, too long"},
    {"echo '{\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"SECRET\",\"SessionToken\":5}'",
     SLUICE_CORRUPT, "the token is missing"},
    {"echo '{\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"SECRET\",\"Expiration\":\"soon\"}'",
     SLUICE_CORRUPT, "the end is not a date"},
    {"head -c 70000 /dev/zero", SLUICE_CORRUPT, "wrote too much"},
};

TEST_WITH(refuses_programs_without_their_secrets, test_folder_make, test_folder_remove)
{
    for (size_t i = 0; i < sizeof(bad_programs) / sizeof(*bad_programs); i++) {
        sl_credentials credentials;
        sluice_error error;
        const char *path = write_program("bad", bad_programs[i].lines);
        assert_int_equal(run_command(path, &credentials, &error), bad_programs[i].status);
        if (strstr(error.text, bad_programs[i].text) == NULL) {
            fail_msg("%s: %s", bad_programs[i].lines, error.text);
        }
    }
    static const char *const bad_commands[] = {"", "  ", "'a", "a \"b", "a\\"};
    sl_credentials credentials;
    sluice_error error;
    for (size_t i = 0; i < sizeof(bad_commands) / sizeof(*bad_commands); i++) {
        assert_int_equal(run_command(bad_commands[i], &credentials, &error), SLUICE_INVALID);
    }
    assert_int_equal(run_command("/nowhere/at/all SECRET", &credentials, &error), SLUICE_IO);
    assert_string_equal(error.file, "/nowhere/at/all");
}

/* The program inherits no descriptor and no blocked signal of this process. */
TEST_WITH(programs_inherit_little, test_folder_make, test_folder_remove)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    const char *path = write_program(
        "look",
        "mask=$(grep SigBlk /proc/$$/status | tr -dc 0-9a-f)\n"
        "input=$(readlink /proc/$$/fd/0)\n"
        "printf '{\"AccessKeyId\":\"%s\",\"SecretAccessKey\":\"%s\"}' \"$input\" \"$mask\"");
    sl_credentials credentials;
    sluice_error error;
    const sluice_status status = run_command(path, &credentials, &error);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    assert_int_equal(status, SLUICE_OK);
    assert_string_equal(credentials.access_key, "/dev/null");
    assert_non_null(strstr(credentials.secret_key, "0000000000000000"));
}

static int32_t stop_at_once(void *user)
{
    (void)user;
    return 1;
}

/* When its caller stops, the program's whole group is killed. */
TEST_WITH(stops_programs, test_folder_make, test_folder_remove)
{
    const char *path = write_program("wait", "sleep 1000 & sleep 1000; wait");
    sl_credentials credentials;
    sluice_error error;
    sl_stop stop;
    sl_stop_begin(&stop, stop_at_once, NULL);
    const sluice_status status = run_command(path, &credentials, &error);
    sl_stop_end(&stop);
    assert_int_equal(status, SLUICE_CANCELED);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child remains */
}

/* ---- chains ---- */

/* A profile whose program counts its runs in a file and prints the lines of `answer`. */
static int begin_chain(void **state)
{
    const int made = test_folder_make(state);
    static const char *const variables[] = {
        "AWS_ACCESS_KEY_ID",   "AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_ENDPOINT_URL",
        "AWS_ENDPOINT_URL_S3", "AWS_REGION",  "AWS_CA_BUNDLE",       "CURL_CA_BUNDLE"};
    for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
        unsetenv(variables[i]);
    }
    setenv("AWS_CONFIG_FILE", test_path("config"), 1);
    setenv("AWS_SHARED_CREDENTIALS_FILE", test_path("credentials"), 1);
    char lines[1024];
    snprintf(lines, sizeof(lines), "echo run >> %s/runs; cat %s/answer", test_folder(),
             test_folder());
    const char *program = write_program("program", lines);
    char config[1024];
    const int length =
        snprintf(config, sizeof(config), "[default]\ncredential_process = %s\n", program);
    write_file(test_path("config"), config, (uint32_t)length);
    set_clock(0);
    const sl_remote_choice none = {.endpoint = NULL};
    return made != 0 ? made : (int)sl_remote_settings_choose(&none, NULL);
}

/* `lasts_s` 0: never expires. */
static void write_answer(const char *key, int64_t lasts_s)
{
    char text[512];
    char ends[64] = "";
    if (lasts_s != 0) {
        const time_t at = time(NULL) + lasts_s;
        struct tm utc;
        gmtime_r(&at, &utc);
        strftime(ends, sizeof(ends), ",\"Expiration\":\"%Y-%m-%dT%H:%M:%SZ\"", &utc);
    }
    const int length = snprintf(
        text, sizeof(text),
        "{\"Version\":1,\"AccessKeyId\":\"%s\",\"SecretAccessKey\":\"SECRET\"%s}", key, ends);
    write_file(test_path("next"), text, (uint32_t)length);
    assert_int_equal(rename(test_path("next"), test_path("answer")), 0); /* may be being read */
}

static int count_runs(void)
{
    FILE *file = fopen(test_path("runs"), "r");
    int lines = 0;
    for (int c = 0; file != NULL && (c = fgetc(file)) != EOF;) {
        lines += c == '\n';
    }
    if (file != NULL) {
        fclose(file);
    }
    return lines;
}

static sl_credentials get_credentials(void)
{
    sl_credentials credentials;
    sluice_error error;
    sl_error_clear(&error);
    if (sl_credentials_get(SL_CREDENTIALS_AWS, &credentials, &error) != SLUICE_OK) {
        fail_msg("%s", error.text);
    }
    return credentials;
}

TEST_WITH(asks_once_for_all, begin_chain, test_folder_remove)
{
    write_answer("one", 0);
    for (int i = 0; i < 3; i++) {
        const sl_credentials credentials = get_credentials();
        assert_string_equal(credentials.access_key, "one");
        assert_string_equal(credentials.source, "profile default (credential_process)");
        assert_false(credentials.none);
    }
    assert_int_equal(count_runs(), 1);
    sl_credentials_forget();
    write_answer("two", 0);
    assert_string_equal(get_credentials().access_key, "two");
    assert_int_equal(count_runs(), 2);
}

static _Atomic int woken_count;

static void note_woken(void *ctx)
{
    (void)ctx;
    /* Release: pairs with the acquire of the test's thread. */
    atomic_fetch_add_explicit(&woken_count, 1, memory_order_release);
}

TEST_WITH(wakes_those_that_wait, begin_chain, test_folder_remove)
{
    enum { WAITERS = 50 };
    sl_credentials credentials;
    sluice_error error;
    write_answer("one", 0);
    int pending = 0;
    atomic_store_explicit(&woken_count, 0, memory_order_relaxed); /* no other thread runs yet */
    for (int i = 0; i < WAITERS; i++) {
        pending += sl_credentials_ask(SL_CREDENTIALS_AWS, &credentials, note_woken, NULL, &error) ==
                   SL_ASK_PENDING;
    }
    assert_true(pending > 0);
    const uint64_t deadline = sl_now_ns() + TEST_PATIENCE_NS;
    while (atomic_load_explicit(&woken_count, memory_order_acquire) < pending) {
        assert_true(sl_now_ns() < deadline);
        usleep(1000);
    }
    assert_int_equal(sl_credentials_ask(SL_CREDENTIALS_AWS, &credentials, NULL, NULL, &error),
                     SL_ASK_READY);
    assert_int_equal(count_runs(), 1);
    assert_int_equal(atomic_load_explicit(&woken_count, memory_order_acquire), pending);
}

/* In their last minutes, credentials are still used while new ones are requested. */
TEST_WITH(refreshes_before_the_end, begin_chain, test_folder_remove)
{
    write_answer("one", 3600);
    assert_string_equal(get_credentials().access_key, "one");
    write_answer("two", 7200);
    set_clock(3000); /* too early */
    assert_string_equal(get_credentials().access_key, "one");
    assert_int_equal(count_runs(), 1);
    set_clock(3310);
    assert_string_equal(get_credentials().access_key, "one"); /* at once */
    const uint64_t deadline = sl_now_ns() + TEST_PATIENCE_NS;
    while (strcmp(get_credentials().access_key, "two") != 0) {
        assert_true(sl_now_ns() < deadline);
        usleep(5000);
    }
    assert_int_equal(count_runs(), 2);
    write_answer("three", 10000);
    set_clock(7300); /* expired: no longer used */
    assert_string_equal(get_credentials().access_key, "three");
    assert_int_equal(count_runs(), 3);
}

/* A failed refresh keeps the known credentials until they expire. */
TEST_WITH(survives_a_failing_refresh, begin_chain, test_folder_remove)
{
    sl_credentials credentials;
    sluice_error error;
    write_answer("one", 1000);
    assert_string_equal(get_credentials().access_key, "one");
    assert_int_equal(unlink(test_path("answer")), 0);
    set_clock(900);
    assert_string_equal(get_credentials().access_key, "one");
    const uint64_t deadline = sl_now_ns() + TEST_PATIENCE_NS;
    while (count_runs() < 2) {
        assert_true(sl_now_ns() < deadline);
        usleep(5000);
    }
    assert_string_equal(get_credentials().access_key, "one");
    set_clock(1100);
    sl_error_clear(&error);
    assert_int_equal(sl_credentials_get(SL_CREDENTIALS_AWS, &credentials, &error), SLUICE_IO);
}

TEST_WITH(asks_again_for_what_expired, begin_chain, test_folder_remove)
{
    write_answer("one", 0);
    const sl_credentials one = get_credentials();
    write_answer("two", 0);
    sl_credentials_expired(SL_CREDENTIALS_AWS, &one);
    assert_string_equal(get_credentials().access_key, "two");
    sl_credentials_expired(SL_CREDENTIALS_AWS, &one); /* they changed since: no request */
    assert_string_equal(get_credentials().access_key, "two");
    assert_int_equal(count_runs(), 2);
}

TEST_WITH(keeps_an_error_for_some_seconds, begin_chain, test_folder_remove)
{
    sl_credentials credentials;
    sluice_error error;
    sl_error_clear(&error);
    assert_int_equal(sl_credentials_get(SL_CREDENTIALS_AWS, &credentials, &error), SLUICE_IO);
    assert_non_null(strstr(error.text, "credential_process failed"));
    set_clock(-1000); /* kept, by this clock */
    assert_int_equal(sl_credentials_ask(SL_CREDENTIALS_AWS, &credentials, NULL, NULL, &error),
                     SL_ASK_FAILED);
    assert_int_equal(count_runs(), 1);
    set_clock(6);
    write_answer("late", -1);
    assert_int_equal(sl_credentials_get(SL_CREDENTIALS_AWS, &credentials, &error), SLUICE_IO);
    assert_non_null(strstr(error.text, "have already ended"));
    set_clock(12);
    write_answer("good", 3600);
    assert_string_equal(get_credentials().access_key, "good");
}

/* The chain's mutex is not held while a program runs. */
TEST_WITH(a_stop_ends_waiting, begin_chain, test_folder_remove)
{
    char config[1024];
    char lines[512];
    snprintf(lines, sizeof(lines), "until [ -e %s/go ]; do sleep 0.02; done; exit 1",
             test_folder());
    const char *program = write_program("slow", lines);
    const int length =
        snprintf(config, sizeof(config), "[default]\ncredential_process = %s\n", program);
    write_file(test_path("config"), config, (uint32_t)length);
    sl_credentials credentials;
    sluice_error error;
    sl_stop stop;
    sl_error_clear(&error);
    sl_stop_begin(&stop, stop_at_once, NULL);
    const sluice_status status = sl_credentials_get(SL_CREDENTIALS_AWS, &credentials, &error);
    sl_stop_end(&stop);
    assert_int_equal(status, SLUICE_CANCELED);
    assert_int_equal(sl_credentials_ask(SL_CREDENTIALS_AWS, &credentials, NULL, NULL, &error),
                     SL_ASK_PENDING);
    write_file(test_path("go"), "", 0);
    assert_int_equal(sl_credentials_get(SL_CREDENTIALS_AWS, &credentials, &error), SLUICE_IO);
}

/* A child repeats its parent's pending request. ThreadSanitizer allows the child no threads. */
#if !defined(__SANITIZE_THREAD__)
TEST_WITH(a_child_asks_by_itself, begin_chain, test_folder_remove)
{
    sl_credentials credentials;
    sluice_error error;
    write_answer("one", 0);
    assert_int_equal(sl_credentials_ask(SL_CREDENTIALS_AWS, &credentials, NULL, NULL, &error),
                     SL_ASK_PENDING);
    const pid_t child = fork();
    if (child == 0) {
        sl_error_clear(&error);
        const bool good = sl_credentials_get(SL_CREDENTIALS_AWS, &credentials, &error) == SLUICE_OK;
        _exit(good && strcmp(credentials.access_key, "one") == 0 ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_string_equal(get_credentials().access_key, "one");
}

#endif

TEST_WITH(anonymous_has_none, begin_chain, test_folder_remove)
{
    const sl_remote_choice choice = {.anonymous = true};
    assert_int_equal(sl_remote_settings_choose(&choice, NULL), SLUICE_OK);
    assert_true(get_credentials().none);
    assert_int_equal(count_runs(), 0);
}

/* ---- for remote_credentials.py ---- */

static int ask_and_print(const char *kind, const char *profile)
{
    const sl_credentials_kind kinds = strcmp(kind, "aws") == 0  ? SL_CREDENTIALS_AWS
                                      : strcmp(kind, "gs") == 0 ? SL_CREDENTIALS_GS
                                                                : SL_CREDENTIALS_HF;
    const sl_remote_choice choice = {.profile = profile};
    sl_credentials credentials;
    sluice_error error = SLUICE_ERROR_INIT;
    char text[2048];
    sl_error_clear(&error);
    sluice_status status = sl_remote_settings_choose(&choice, &error);
    if (status == SLUICE_OK) {
        status = sl_credentials_get(kinds, &credentials, &error);
    }
    if (status != SLUICE_OK) {
        sluice_error_format(&error, text, sizeof(text));
        printf("error\n%s\n%s\n", sluice_status_name(status), text);
    } else if (credentials.none) {
        printf("none\n");
    } else {
        printf("found\n%s\n%s\n%s\n%s\n%" PRId64 "\n", credentials.source, credentials.access_key,
               credentials.secret_key, credentials.token, credentials.ends_s);
    }
    return 0;
}

int main(int count, char **arguments)
{
    if (count > 2) {
        const int result = ask_and_print(arguments[2], count > 3 ? arguments[3] : NULL);
        fflush(stdout);
        _exit(result); /* engine threads still run: a sanitizer would wait and report leaks
                        * */
    }
    return test_run(NULL, NULL);
}
