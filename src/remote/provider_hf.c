/* SPDX-License-Identifier: Apache-2.0 */
/* Files of repositories on the Hugging Face hub. The hub redirects to a signed address that
 * expires; only the hub gets the token. */
#include "json_answer.h"
#include "provider.h"
#include "settings.h"

#include "error.h"
#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAGE "remote"

enum { ESCAPED_BYTES = 3 * SL_URL_BYTES };

static const char *hub(void)
{
    const char *set = getenv("HF_ENDPOINT"); // NOLINT(concurrency-mt-unsafe)
    return set != NULL && set[0] != '\0' ? set : "https://huggingface.co";
}

/* Returns the length of the hub's address without a slash at its end. */
static int hub_bytes(void)
{
    size_t bytes = strlen(hub());
    while (bytes > 0 && hub()[bytes - 1] == '/') {
        bytes--;
    }
    return (int)bytes;
}

static sluice_status hf_too_long(sluice_error *error)
{
    return sl_error_set(error, SLUICE_INVALID, STAGE, "the address is too long");
}

static sluice_status add_token(sl_request_text *text, const sl_credentials *credentials,
                               sluice_error *error)
{
    const sl_remote_settings *settings = NULL;
    const sluice_status status = sl_remote_settings_get(&settings, error);
    if (status < 0) {
        return status;
    }
    const bool anonymous = settings->anonymous;
    sl_remote_settings_release(settings);
    return anonymous || credentials == NULL || credentials->none ||
                   sl_request_add(text, "Authorization: Bearer %s", credentials->token)
               ? SLUICE_OK
               : hf_too_long(error);
}

/* Writes a GET. The ETag is the hub's, unknown to its storage: sl_object_learn compares it. */
static sluice_status hf_get(sl_request_text *text, const sl_url *url, const sl_get_ask *ask,
                            sluice_error *error)
{
    char key[ESCAPED_BYTES];
    char revision[3 * sizeof(url->revision)];
    if (ask->moved != NULL) {
        return sl_request_moved(text, ask->moved, "", error);
    }
    text->header_count = 0;
    if (!sl_url_escape(key, sizeof(key), url->key, true) ||
        !sl_url_escape(revision, sizeof(revision), url->revision, false)) {
        return hf_too_long(error);
    }
    const int length = snprintf(text->url, sizeof(text->url), "%.*s/%s/resolve/%s/%s", hub_bytes(),
                                hub(), url->bucket, revision, key);
    if (length < 0 || (size_t)length >= sizeof(text->url) || !sl_request_set_host(text)) {
        return hf_too_long(error);
    }
    return add_token(text, ask->as.credentials, error);
}

static sluice_status hf_list(sl_request_text *text, const sl_url *folder, const sl_page_ask *ask,
                             sluice_error *error)
{
    char key[ESCAPED_BYTES];
    char revision[3 * sizeof(folder->revision)];
    int length = -1;
    text->header_count = 0;
    if (!sl_url_escape(key, sizeof(key), folder->key, true) ||
        !sl_url_escape(revision, sizeof(revision), folder->revision, false)) {
        return hf_too_long(error);
    }
    if (ask->token != NULL) {
        length = snprintf(text->url, sizeof(text->url), "%s", ask->token);
    } else {
        size_t bytes = strlen(key);
        while (bytes > 0 && key[bytes - 1] == '/') {
            bytes--;
        }
        length = snprintf(text->url, sizeof(text->url),
                          "%.*s/api/%s/tree/%s%s%.*s?recursive=false&expand=false", hub_bytes(),
                          hub(), folder->bucket, revision, bytes > 0 ? "/" : "", (int)bytes, key);
    }
    if (length < 0 || (size_t)length >= sizeof(text->url) || !sl_request_set_host(text)) {
        return hf_too_long(error);
    }
    return add_token(text, ask->as.credentials, error);
}

/* Finds the next page. Its request carries the token, so its address must be the hub's. */
static sluice_status hf_next(const sl_exchange *exchange, sl_page_end *end, sluice_error *error)
{
    char next[sizeof(exchange->link)];
    const size_t own = (size_t)hub_bytes();
    if (!sl_url_resolve(next, sizeof(next), exchange->url, exchange->link) ||
        strncmp(next, hub(), own) != 0 || next[own] != '/') {
        return sl_error_set(error, SLUICE_CORRUPT, STAGE,
                            "the hub's listing continues at another server");
    }
    end->token = sl_strdup(next);
    end->more = end->token != NULL;
    return end->more ? SLUICE_OK : sl_no_memory(error, STAGE, "for a page of a listing");
}

static sluice_status hf_page(const sl_url *folder, const sl_exchange *exchange, sl_entries *entries,
                             sl_page_end *end, sluice_error *error)
{
    const sl_bytes text = {exchange->buffer, exchange->got};
    *end = (sl_page_end){.more = false};
    const sluice_status status = sl_json_answer_read(text, folder->key, entries, error);
    return status < 0 || exchange->link[0] == '\0' ? status : hf_next(exchange, end, error);
}

static sl_answer hf_answer(const sl_exchange *exchange, char reason[SL_REASON_BYTES])
{
    const sl_answer answer = sl_answer_of_http(exchange, "", reason);
    if (answer == SL_ANSWER_REFUSED) {
        sl_reason_add_source(reason, SL_CREDENTIALS_HF);
    }
    return answer;
}

const sl_provider sl_provider_hf = {.scheme = SL_SCHEME_HF,
                                    .credentials = SL_CREDENTIALS_HF,
                                    .redirects = true,
                                    .lists = true,
                                    .get = hf_get,
                                    .answer = hf_answer,
                                    .list = hf_list,
                                    .page = hf_page};
