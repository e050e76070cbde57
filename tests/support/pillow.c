/* SPDX-License-Identifier: Apache-2.0 */
#include "pillow.h"

#include "photo_folder.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *python, *script;

static void fail(const char *what)
{
    perror(what);
    abort();
}

/* Runs Python; returns its exit code. */
static int run_python(const char *folder)
{
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        execl(python, python, script, folder, (char *)NULL);
        _exit(127);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) {
        fail("python");
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 126;
}

static void path_of(const pillow *oracle, const char *kind, uint32_t number, char path[320])
{
    (void)snprintf(path, 320, "%s/%s%u", oracle->folder, kind, number);
}

int pillow_begin(int argc, char **argv)
{
    if (argc != 3) {
        (void)printf("usage: %s PYTHON PILLOW_ORACLE\n", argv[0]);
        return 2;
    }
    python = argv[1];
    script = argv[2];
    if (run_python("--check") != 0) {
        (void)printf("%s has no Pillow: nothing to compare with\n", python);
        return 77;
    }
    return 0;
}

void pillow_open(pillow *oracle)
{
    *oracle = (pillow){0};
    temporary_directory(oracle->folder, sizeof(oracle->folder));
    char path[320];
    (void)snprintf(path, sizeof(path), "%s/questions", oracle->folder);
    oracle->questions = fopen(path, "w");
    if (oracle->questions == NULL) {
        fail(path);
    }
}

void pillow_input(pillow *oracle, uint32_t number, const void *data, size_t bytes)
{
    char path[320];
    path_of(oracle, "input", number, path);
    write_file(path, data, (uint32_t)bytes);
}

uint32_t pillow_ask(pillow *oracle, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int written = vfprintf(oracle->questions, format, arguments); // NOLINT: va_start stands above
    if (written < 0 || fputc('\n', oracle->questions) < 0) {
        fail("questions");
    }
    va_end(arguments);
    return oracle->count++;
}

void pillow_run(pillow *oracle)
{
    if (fflush(oracle->questions) != 0 || run_python(oracle->folder) != 0) {
        fail("pillow_oracle.py");
    }
}

void pillow_answer(const pillow *oracle, uint32_t number, void *data, size_t bytes)
{
    char path[320];
    path_of(oracle, "answer", number, path);
    FILE *file = fopen(path, "rb");
    if (file == NULL || fread(data, 1, bytes, file) != bytes || fgetc(file) != EOF) {
        fail(path);
    }
    (void)fclose(file);
}

void pillow_close(pillow *oracle)
{
    if (oracle->questions != NULL) {
        (void)fclose(oracle->questions);
        remove_tree(oracle->folder);
    }
}

int largest_difference(const uint8_t *a, const uint8_t *b, size_t bytes)
{
    int largest = 0;
    for (size_t i = 0; i < bytes; i++) {
        int difference = abs(a[i] - b[i]);
        largest = difference > largest ? difference : largest;
    }
    return largest;
}
