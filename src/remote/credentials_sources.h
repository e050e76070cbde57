/* SPDX-License-Identifier: Apache-2.0 */
/*
 * credentials_sources: the sources of credentials, and their helpers.
 *
 * A source either fails, or sets `*found` (false: it has none, ask the next one). Sources block: on
 * files, on HTTP requests (at most some seconds each) and on a process (at most a minute). Threads:
 * any.
 */
#ifndef SL_CREDENTIALS_SOURCES_H
#define SL_CREDENTIALS_SOURCES_H

#include "aws_profile.h"
#include "credentials.h"
#include "settings.h"

#include <stddef.h>

#define SL_SECRET_FILE_BYTES 65536U

/* Query the chains. `credentials` is all zero at first, and stays so if nothing is found. */
sluice_status sl_credentials_find_aws(const sl_remote_settings *settings,
                                      sl_credentials *credentials, sluice_error *error);
sluice_status sl_credentials_find_gs(sl_credentials *credentials, sluice_error *error);
sluice_status sl_credentials_find_hf(sl_credentials *credentials, sluice_error *error);

/* ---- sources ---- */

/* Runs a command as botocore does: split by the rules of a shell's quotes, without a shell. Errors:
 * INVALID (the command), IO (it fails, or takes longer than a minute), CORRUPT (its output). */
sluice_status sl_credentials_from_process(const char *command, sl_credentials *credentials,
                                          sluice_error *error);
/* A role, its session's name (NULL: any), the file of the token, and the STS endpoint ("": the
 * region's or the global one). */
typedef struct sl_web_identity {
    const char *role, *session, *token_file;
    const char *endpoint, *region;
} sl_web_identity;
sluice_status sl_credentials_from_web_identity(const sl_web_identity *identity,
                                               sl_credentials *credentials, sluice_error *error);
sluice_status sl_credentials_from_container(sl_credentials *credentials, bool *found,
                                            sluice_error *error);
sluice_status sl_credentials_from_instance(sl_credentials *credentials, bool *found,
                                           sluice_error *error);
sluice_status sl_credentials_from_google(sl_credentials *credentials, bool *found,
                                         sluice_error *error);

/* ---- answers ---- */

/* Names of the members of a JSON answer. */
typedef struct sl_answer_names {
    const char *access_key, *secret_key, *token;
    const char *ends;    /* a date, "2026-11-29T08:00:00Z"; NULL: none */
    const char *ends_in; /* seconds from now; NULL: none */
    bool needs_token;
} sl_answer_names;

/* Reads credentials from `text`. Errors begin with `who`. Errors: CORRUPT. */
sluice_status sl_credentials_read(const char *text, size_t bytes, const char *who,
                                  const sl_answer_names *names, sl_credentials *credentials,
                                  sluice_error *error);
/* Reads credentials from the XML of STS. */
sluice_status sl_credentials_read_xml(const char *text, const char *who,
                                      sl_credentials *credentials, sluice_error *error);
/* Reads "2026-11-29T08:00:00Z" (also with a fraction, or an offset). False: it is something else.
 */
bool sl_read_date(const char *text, int64_t *seconds);

/* ---- helpers ---- */

/* Returns a variable of the environment; NULL: not set, or empty. */
const char *sl_credentials_variable(const char *name);
/* Returns true for "true" and "1". */
bool sl_credentials_variable_is_true(const char *name);
/* Copies a value. False: it is empty, too long, or has a control character. */
bool sl_credentials_copy(char *to, size_t bytes, const char *from);
/* Reads a small file without the blanks at its ends. Sets `*missing` if the file does not exist;
 * with NULL that is an error. Errors: IO, INVALID (it does not fit). */
sluice_status sl_credentials_read_file(const char *path, char *to, size_t bytes, bool *missing,
                                       sluice_error *error);

/* One request of a source: at most 64 KiB, tried again after 5xx, at most `tries` times. */
typedef struct sl_source_request {
    const char *who; /* for errors: "IMDS" */
    const char *method;
    const char *url;
    const char *const *headers;
    uint32_t header_count, tries;
    const char *body;
    uint64_t limit_ns;
    int status; /* of HTTP; 0: no answer, and `reason` has why */
    size_t bytes;
    char reason[192];
    char answer[65536 + 1]; /* with a NUL at the end; for a status of 300 and more: 1 KiB */
} sl_source_request;
/* Runs the request. Errors: CANCELED, UNSUPPORTED, NOMEM; an HTTP error, or no answer, is a
 * result. */
sluice_status sl_source_request_run(sl_source_request *request, sluice_error *error);
/* Sets the error of a request without a good answer: IO. */
sluice_status sl_source_request_failed(const sl_source_request *request, sluice_error *error);

#endif
