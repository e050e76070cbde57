/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of plain web servers: the URL is the address. No folders, no credentials. */
#include "provider.h"

#include "error.h"

#include <stdio.h>

static sluice_status http_get(sl_request_text *text, const sl_url *url, const sl_get_ask *ask,
                              sluice_error *error)
{
    if (ask->moved != NULL) {
        return sl_request_moved(text, ask->moved, ask->etag, error);
    }
    text->header_count = 0;
    const int length = snprintf(text->url, sizeof(text->url), "%s://%s/%s%s%s",
                                url->scheme == SL_SCHEME_HTTPS ? "https" : "http", url->bucket,
                                url->key, url->query[0] != '\0' ? "?" : "", url->query);
    return length >= 0 && (size_t)length < sizeof(text->url) && sl_request_set_host(text) &&
                   sl_request_match(text, ask->etag)
               ? SLUICE_OK
               : sl_error_set(error, SLUICE_INVALID, "remote", "the address is too long");
}

static sl_answer http_answer(const sl_exchange *exchange, char reason[SL_REASON_BYTES])
{
    return sl_answer_of_http(exchange, "", reason);
}

const sl_provider sl_provider_http = {.scheme = SL_SCHEME_HTTP,
                                      .credentials = SL_CREDENTIALS_KINDS,
                                      .get = http_get,
                                      .answer = http_answer};
