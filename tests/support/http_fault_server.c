/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_fault_server [FOLDER]: http_server as a program, for tests written as scripts.
 *
 * Prints its address, then executes commands from standard input, each with one line of answer:
 *   rule WORDS           adds a rule of http_server.h                   "ok"
 *   clear                drops all rules                                "ok"
 *   reset                sets counts and log to 0                       "ok"
 *   counts               "NAME=NUMBER ..."
 *   log                  "N", and N lines
 *   many BUCKET KEYS PER_FOLDER BYTES    http_server_many               "ok"
 *   put PATH FILE        http_server_put; blanks in PATH are escaped    "ok"
 * Ends when standard input ends.
 */
#include "http_server_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static http_text script;

static void print_counts(http_server *server)
{
    const http_counts counts = http_server_counts(server);
    printf("requests=%llu get=%llu list=%llu tree=%llu resolve=%llu head=%llu other=%llu "
           "ranges=%llu signed=%llu bytes=%llu struck=%llu connections=%llu at_once=%u "
           "if_match=%llu errors=%llu\n",
           (unsigned long long)counts.requests, (unsigned long long)counts.kinds[HTTP_GET],
           (unsigned long long)counts.kinds[HTTP_LIST], (unsigned long long)counts.kinds[HTTP_TREE],
           (unsigned long long)counts.kinds[HTTP_RESOLVE],
           (unsigned long long)counts.kinds[HTTP_HEAD],
           (unsigned long long)counts.kinds[HTTP_OTHER], (unsigned long long)counts.ranges,
           (unsigned long long)counts.signed_ones, (unsigned long long)counts.body_bytes,
           (unsigned long long)counts.struck, (unsigned long long)counts.connections,
           counts.most_at_once, (unsigned long long)counts.if_match,
           (unsigned long long)counts.errors);
}

static void print_log(http_server *server)
{
    size_t bytes = http_server_log(server, NULL, 0) + (64 << 10); /* lines added meanwhile */
    char *text = http_memory(NULL, bytes);
    (void)http_server_log(server, text, bytes);
    size_t lines = 0;
    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++) {
        lines++;
    }
    printf("%zu\n", lines);
    for (const char *at = text; lines > 0; lines--) {
        const size_t length = strcspn(at, "\n") + 1;
        (void)fwrite(at, 1, length, stdout);
        at += length;
    }
    free(text);
}

static void put_file(http_server *server, const char *words)
{
    char escaped[8192];
    char path[8192];
    char file[4096];
    if (sscanf(words, "%8191s %4095s", escaped, file) != 2 ||
        !http_unescape(path, sizeof(path), escaped, strlen(escaped), false)) {
        http_die("put %s: a path and a file are expected", words);
    }
    FILE *from = fopen(file, "rb");
    http_text data = {0};
    char piece[4096];
    if (from == NULL) {
        http_die("put: %s cannot be opened", file);
    }
    for (size_t got = 0; (got = fread(piece, 1, sizeof(piece), from)) > 0;) {
        http_text_add(&data, piece, got);
    }
    (void)fclose(from);
    http_server_put(server, path, data.data != NULL ? data.data : "", data.bytes);
    free(data.data);
}

static void add_many(http_server *server, char *words)
{
    char *rest = NULL;
    const char *bucket = strtok_r(words, " ", &rest);
    uint32_t numbers[3] = {0};
    for (size_t i = 0; i < 3; i++) {
        const char *word = strtok_r(NULL, " ", &rest);
        numbers[i] = word != NULL ? (uint32_t)strtoul(word, NULL, 10) : 0;
    }
    http_server_many(server, bucket != NULL ? bucket : "", numbers[0], numbers[1], numbers[2]);
}

static void obey(http_server *server, char *line)
{
    line[strcspn(line, "\n")] = '\0';
    if (strncmp(line, "rule ", 5) == 0) {
        http_text_print(&script, "%s\n", line + 5);
        http_server_script(server, script.data);
    } else if (strcmp(line, "clear") == 0) {
        script.bytes = 0;
        http_server_script(server, NULL);
    } else if (strcmp(line, "reset") == 0) {
        http_server_reset_counts(server);
    } else if (strcmp(line, "counts") == 0) {
        print_counts(server);
        return;
    } else if (strcmp(line, "log") == 0) {
        print_log(server);
        return;
    } else if (strncmp(line, "many ", 5) == 0) {
        add_many(server, line + 5);
    } else if (strncmp(line, "put ", 4) == 0) {
        put_file(server, line + 4);
    } else {
        http_die("%s: not a command", line);
    }
    puts("ok");
}

int main(int count, char **arguments)
{
    const http_server_config config = {.folder = count > 1 ? arguments[1] : NULL,
                                       .direct_bytes = 4096};
    http_server *server = http_server_start(&config);
    puts(http_server_url(server));
    (void)fflush(stdout);
    char line[16384];
    while (fgets(line, sizeof(line), stdin) != NULL) {
        obey(server, line);
        (void)fflush(stdout);
    }
    http_server_stop(server);
    free(script.data);
    return 0;
}
