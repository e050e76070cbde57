/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credentials from a program (credential_process of an AWS profile).
 *
 * The command is split by the rules of Python's shlex, like botocore does, and run without a shell
 * in its own process group. Its output is read up to 64 KiB; after a minute, or when the calling
 * thread should stop, the whole group is killed.
 */
#include "clock.h"
#include "credentials_sources.h"
#include "error.h"
#include "memory.h"
#include "safe_text.h"
#include "stop.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT_NS UINT64_C(60000000000)
enum { WORDS_MAX = 256, LOOK_MS = 100, OUTPUT_BYTES = 65536, PROBLEM_BYTES = 1024 };

static const char stage[] = "remote";

/* ---- the command ---- */

typedef struct command_words {
    char *text; /* owns the words */
    char *words[WORDS_MAX + 1];
    size_t count;
} command_words;

/* Copies one word from `*from` to `*to`, with its NUL. False: a quote is not closed. */
static bool split_word(const char **from, char **to)
{
    char quote = '\0';
    const char *at = *from;
    for (; *at != '\0' && (quote != '\0' || strchr(" \t\r\n", *at) == NULL); at++) {
        const bool escapes = *at == '\\' && quote != '\'';
        if (escapes && at[1] == '\0') {
            return false;
        }
        if (escapes && (quote == '\0' || at[1] == '\\' || at[1] == '"')) {
            *(*to)++ = *++at;
        } else if (quote == '\0' && (*at == '"' || *at == '\'')) {
            quote = *at;
        } else if (*at == quote) {
            quote = '\0';
        } else {
            *(*to)++ = *at;
        }
    }
    *(*to)++ = '\0';
    *from = at;
    return quote == '\0';
}

static sluice_status split_command(command_words *own, const char *command, sluice_error *error)
{
    own->count = 0;
    own->text = sl_malloc(2 * strlen(command) + 2); /* a NUL after each word */
    if (own->text == NULL) {
        return sl_no_memory(error, stage, "for credential_process");
    }
    char *to = own->text;
    for (command += strspn(command, " \t\r\n"); *command != '\0';
         command += strspn(command, " \t\r\n")) {
        if (own->count == WORDS_MAX) {
            return sl_error_set(error, SLUICE_INVALID, stage,
                                "credential_process has too many words: at most %d", WORDS_MAX);
        }
        own->words[own->count++] = to;
        if (!split_word(&command, &to)) {
            return sl_error_set(error, SLUICE_INVALID, stage,
                                "credential_process ends inside quotes or after a backslash");
        }
    }
    own->words[own->count] = NULL;
    return own->count > 0
               ? SLUICE_OK
               : sl_error_set(error, SLUICE_INVALID, stage, "credential_process is empty");
}

/* ---- the process ---- */

/* The output of one pipe. Excess bytes are read, and only counted. */
typedef struct pipe_text {
    int fd; /* -1: at its end */
    char *text;
    size_t bytes, capacity;
    bool is_cut;
} pipe_text;

typedef struct credential_process {
    pid_t pid;
    pipe_text output, problem;
} credential_process;

static void read_pipe(pipe_text *from)
{
    char part[4096];
    const ssize_t got = read(from->fd, part, sizeof(part));
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) {
        return;
    }
    if (got <= 0) {
        close(from->fd);
        from->fd = -1;
        return;
    }
    const size_t space = from->capacity - from->bytes;
    const size_t taken = (size_t)got < space ? (size_t)got : space;
    memcpy(from->text + from->bytes, part, taken);
    from->bytes += taken;
    from->is_cut = from->is_cut || taken < (size_t)got;
    explicit_bzero(part, sizeof(part));
}

static void close_pipes(const int fds[4])
{
    for (int i = 0; i < 4; i++) {
        if (fds[i] >= 0) {
            close(fds[i]);
        }
    }
}

/* Starts the child with /dev/null, the pipes' write ends, default signals, and its own group. */
static int spawn_words(credential_process *own, char *const words[], const int fds[4])
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigset_t all;
    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed != 0) {
        return failed;
    }
    failed = posix_spawnattr_init(&attributes);
    if (failed == 0) {
        const short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP;
        if (posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0) != 0 ||
            posix_spawn_file_actions_adddup2(&actions, fds[1], 1) != 0 ||
            posix_spawn_file_actions_adddup2(&actions, fds[3], 2) != 0 ||
            posix_spawnattr_setflags(&attributes, flags) != 0 ||
            posix_spawnattr_setpgroup(&attributes, 0) != 0 ||
            posix_spawnattr_setsigmask(&attributes, &none) != 0 ||
            posix_spawnattr_setsigdefault(&attributes, &all) != 0) {
            failed = ENOMEM;
        } else {
            failed = posix_spawnp(&own->pid, words[0], &actions, &attributes, words, environ);
        }
        (void)posix_spawnattr_destroy(&attributes);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return failed;
}

static sluice_status begin_process(credential_process *own, const command_words *words,
                                   sluice_error *error)
{
    int fds[4] = {-1, -1, -1, -1};
    int failed = 0;
    if (pipe2(fds, O_CLOEXEC) != 0 || pipe2(fds + 2, O_CLOEXEC) != 0) {
        failed = errno;
    } else {
        failed = spawn_words(own, words->words, fds);
    }
    if (failed != 0) {
        close_pipes(fds);
        return sl_error_file(error, SLUICE_IO, stage, failed, words->words[0], -1,
                             "cannot run credential_process");
    }
    close(fds[1]);
    close(fds[3]);
    own->output.fd = fds[0];
    own->problem.fd = fds[2];
    return SLUICE_OK;
}

/* Reads both pipes to their ends. Errors: IO (a minute has passed), CANCELED. */
static sluice_status read_process(credential_process *own, sluice_error *error)
{
    const uint64_t deadline = sl_now_ns() + LIMIT_NS;
    while (own->output.fd >= 0 || own->problem.fd >= 0) {
        struct pollfd polled[2] = {{.fd = own->output.fd, .events = POLLIN},
                                   {.fd = own->problem.fd, .events = POLLIN}};
        if (sl_stop_requested()) {
            return sl_stop_check(stage, error);
        }
        if (sl_now_ns() >= deadline) {
            return sl_error_set(error, SLUICE_IO, stage,
                                "credential_process did not end within 60 s, and was killed");
        }
        if (poll(polled, 2, LOOK_MS) <= 0) {
            continue;
        }
        if (polled[0].revents != 0) {
            read_pipe(&own->output);
        }
        if (polled[1].revents != 0) {
            read_pipe(&own->problem);
        }
    }
    return SLUICE_OK;
}

/* Waits for the child, and kills it unless it ends by itself soon. Returns its status; -1:
 * unknown, because the program ignores SIGCHLD. */
static int end_process(credential_process *own, bool kills)
{
    const uint64_t deadline = sl_now_ns() + LIMIT_NS;
    const struct timespec moment = {.tv_nsec = 5000000};
    int status = -1;
    pid_t ended = 0;
    while (ended == 0) {
        if (kills || sl_now_ns() >= deadline || sl_stop_requested()) {
            (void)kill(-own->pid, SIGKILL);
            do {
                ended = waitpid(own->pid, &status, 0);
            } while (ended < 0 && errno == EINTR);
            break;
        }
        ended = waitpid(own->pid, &status, WNOHANG);
        if (ended == 0) {
            (void)nanosleep(&moment, NULL);
        }
    }
    if (own->output.fd >= 0) {
        close(own->output.fd);
    }
    if (own->problem.fd >= 0) {
        close(own->problem.fd);
    }
    return ended == own->pid ? status : -1;
}

/* Copies the first line of the program's stderr. */
static void first_line(const pipe_text *problem, char *line, size_t bytes)
{
    const char *end = memchr(problem->text, '\n', problem->bytes);
    const size_t length = end == NULL ? problem->bytes : (size_t)(end - problem->text);
    (void)sl_safe_text(line, bytes, problem->text, length);
}

static sluice_status judge_process(const credential_process *own, int ended, sluice_error *error)
{
    char line[200];
    first_line(&own->problem, line, sizeof(line));
    const char *separator = line[0] != '\0' ? ": " : "";
    if (ended != -1 && WIFSIGNALED(ended)) {
        return sl_error_set(error, SLUICE_IO, stage,
                            "credential_process was ended by signal %d%s%s", WTERMSIG(ended),
                            separator, line);
    }
    if (ended != -1 && WEXITSTATUS(ended) != 0) {
        return sl_error_set(error, SLUICE_IO, stage,
                            "credential_process failed with exit status %d%s%s", WEXITSTATUS(ended),
                            separator, line);
    }
    if (own->output.is_cut) {
        return sl_error_set(error, SLUICE_CORRUPT, stage,
                            "credential_process wrote too much: at most 64 KiB");
    }
    return SLUICE_OK;
}

static sluice_status run_words(const command_words *words, sl_credentials *credentials,
                               char *output, sluice_error *error)
{
    static const sl_answer_names names = {.access_key = "AccessKeyId",
                                          .secret_key = "SecretAccessKey",
                                          .token = "SessionToken",
                                          .ends = "Expiration"};
    char problem[PROBLEM_BYTES];
    credential_process own = {.output = {.fd = -1, .text = output, .capacity = OUTPUT_BYTES},
                              .problem = {.fd = -1, .text = problem, .capacity = sizeof(problem)}};
    sluice_status status = begin_process(&own, words, error);
    if (status != SLUICE_OK) {
        return status;
    }
    status = read_process(&own, error);
    const int ended = end_process(&own, status != SLUICE_OK);
    if (status == SLUICE_OK) {
        status = judge_process(&own, ended, error);
    }
    return status == SLUICE_OK ? sl_credentials_read(output, own.output.bytes, "credential_process",
                                                     &names, credentials, error)
                               : status;
}

sluice_status sl_credentials_from_process(const char *command, sl_credentials *credentials,
                                          sluice_error *error)
{
    command_words words = {.text = NULL};
    char *output = sl_malloc(OUTPUT_BYTES);
    if (output == NULL) {
        return sl_no_memory(error, stage, "for credential_process");
    }
    sluice_status status = split_command(&words, command, error);
    if (status == SLUICE_OK && words.count > 0) {
        status = run_words(&words, credentials, output, error);
    }
    explicit_bzero(output, OUTPUT_BYTES);
    sl_free(output);
    sl_free(words.text);
    return status;
}
