/* SPDX-License-Identifier: Apache-2.0 */
#include "launch.h"

#include "clock.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CODE_CANNOT_RUN = 126, CODE_NOT_FOUND = 127, CODE_SIGNAL = 128 };

static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP};

/* Blocks signals without a handler: they wait until they are fetched, and so does the child's
 * end. */
static void hold_signals(sigset_t *held, sigset_t *before)
{
    sigemptyset(held);
    sigaddset(held, SIGCHLD);
    for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++) {
        sigaddset(held, passed_on[i]);
    }
    pthread_sigmask(SIG_BLOCK, held, before);
    /* The parent may have ignored SIGCHLD, and then there is no exit code. */
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigemptyset(&action.sa_mask);
    sigaction(SIGCHLD, &action, NULL);
}

static _Noreturn void become(char *const *arguments, bool output_to_error, int report)
{
    int error = 0;
    if (output_to_error && dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
        error = errno;
    } else {
        execvp(arguments[0], arguments);
        error = errno;
    }
    (void)!write(report, &error, sizeof error);
    _exit(CODE_NOT_FOUND);
}

static double seconds_of(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

/* Forwards signals until the child has ended. */
static void wait_for(pid_t pid, const sigset_t *held, struct launch_result *result)
{
    int status = 0;
    struct rusage usage = {0};
    while (wait4(pid, &status, WNOHANG, &usage) == 0) {
        siginfo_t info;
        int number = sigwaitinfo(held, &info);
        /* Signals from the terminal also reach the program directly. */
        if (number > 0 && number != SIGCHLD && info.si_code <= 0) {
            kill(pid, number);
        }
    }
    result->end = clock_seconds();
    result->cpu_seconds = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
    if (WIFSIGNALED(status)) {
        result->signal = WTERMSIG(status);
        result->code = CODE_SIGNAL + result->signal;
    } else {
        result->code = WEXITSTATUS(status);
    }
}

static struct launch_result failed(int error)
{
    bool missing = error == ENOENT || error == ENOTDIR;
    return (struct launch_result){.code = missing ? CODE_NOT_FOUND : CODE_CANNOT_RUN,
                                  .error = error};
}

struct launch_result idle_launch(char *const *arguments, bool output_to_error)
{
    int ends[2]; /* execvp's errno; it closes by itself when execvp succeeds */
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return failed(errno);
    }
    sigset_t held;
    sigset_t before;
    hold_signals(&held, &before);
    struct launch_result result = {.start = clock_seconds()};
    pid_t pid = fork();
    if (pid == 0) {
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        become(arguments, output_to_error, ends[1]);
    }
    int error = pid < 0 ? errno : 0;
    close(ends[1]);
    ssize_t told = pid < 0 ? 0 : read(ends[0], &error, sizeof error);
    close(ends[0]);
    if (pid > 0) {
        wait_for(pid, &held, &result);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return pid < 0 || told == (ssize_t)sizeof error ? failed(error) : result;
}
