/* SPDX-License-Identifier: Apache-2.0 */
#include "outcome.h"

#include "exit_code.h"

#include <pthread.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards everything below */
static bool wanted;
static sluice_error last = SLUICE_ERROR_INIT; /* status OK: a text without a place */
static char last_text[2048];

void outcome_want_json(bool want)
{
    pthread_mutex_lock(&lock);
    wanted = want;
    pthread_mutex_unlock(&lock);
}

static void keep(const sluice_error *error, const char *text)
{
    pthread_mutex_lock(&lock);
    last = *error;
    snprintf(last_text, sizeof last_text, "%s", text);
    pthread_mutex_unlock(&lock);
}

void outcome_keep_text(const char *text)
{
    const sluice_error nowhere = SLUICE_ERROR_INIT;
    keep(&nowhere, text);
}

void outcome_keep_error(const sluice_error *error)
{
    keep(error, error->text);
}

static void write_error(struct json *json)
{
    json_open_object(json, "error");
    json_text(json, "status",
              last.status == SLUICE_OK ? NULL : sluice_status_name((sluice_status)last.status));
    json_signed(json, "sample", last.sample);
    json_text(json, "file", last.file[0] != '\0' ? last.file : NULL);
    json_signed(json, "offset", last.offset);
    json_text(json, "text", last_text);
    json_close_object(json);
}

void outcome_write(struct json *json, int code)
{
    pthread_mutex_lock(&lock);
    json_signed(json, "exit_code", code);
    json_bool(json, "interrupted", code == TOOL_INTERRUPTED);
    if (code != TOOL_INTERRUPTED) {
        write_error(json);
    }
    pthread_mutex_unlock(&lock);
}

void outcome_end(int code)
{
    struct json json;
    pthread_mutex_lock(&lock);
    const bool write = wanted && code != TOOL_FINE && !json_is_on_stdout();
    pthread_mutex_unlock(&lock);
    if (write) {
        json_begin(&json, stdout);
        json_open_object(&json, NULL);
        outcome_write(&json, code);
        json_close_object(&json);
    }
}
