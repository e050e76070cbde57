/* SPDX-License-Identifier: Apache-2.0 */
/* The credentials chains of Google's storage and of the Hugging Face hub. */
#include "credentials_sources.h"
#include "error.h"

#include <stdio.h>
#include <string.h>

static const char stage[] = "remote";

static sluice_status refuse_value(const char *what, sluice_error *error)
{
    return sl_error_set(error, SLUICE_INVALID, stage,
                        "%s is too long, or contains a control character", what);
}

static sluice_status from_hmac_keys(sl_credentials *credentials, sluice_error *error)
{
    const char *secret = sl_credentials_variable("GS_SECRET_ACCESS_KEY");
    if (secret == NULL) {
        return sl_error_set(error, SLUICE_INVALID, stage,
                            "GS_ACCESS_KEY_ID is set, but GS_SECRET_ACCESS_KEY is not");
    }
    snprintf(credentials->source, sizeof(credentials->source), "GS_ACCESS_KEY_ID");
    return sl_credentials_copy(credentials->access_key, sizeof(credentials->access_key),
                               sl_credentials_variable("GS_ACCESS_KEY_ID")) &&
                   sl_credentials_copy(credentials->secret_key, sizeof(credentials->secret_key),
                                       secret)
               ? SLUICE_OK
               : refuse_value("a key of GS_ACCESS_KEY_ID or GS_SECRET_ACCESS_KEY", error);
}

sluice_status sl_credentials_find_gs(sl_credentials *credentials, sluice_error *error)
{
    const char *token = sl_credentials_variable("GOOGLE_OAUTH_ACCESS_TOKEN");
    bool found = false;
    if (sl_credentials_variable("GS_ACCESS_KEY_ID") != NULL) {
        return from_hmac_keys(credentials, error);
    }
    if (token != NULL) {
        snprintf(credentials->source, sizeof(credentials->source), "GOOGLE_OAUTH_ACCESS_TOKEN");
        return sl_credentials_copy(credentials->token, sizeof(credentials->token), token)
                   ? SLUICE_OK
                   : refuse_value("GOOGLE_OAUTH_ACCESS_TOKEN", error);
    }
    if (sl_credentials_variable("GOOGLE_APPLICATION_CREDENTIALS") != NULL) {
        return sl_error_set(error, SLUICE_UNSUPPORTED, stage,
                            "sluice does not read GOOGLE_APPLICATION_CREDENTIALS: set "
                            "GOOGLE_OAUTH_ACCESS_TOKEN (gcloud auth print-access-token), or the "
                            "HMAC keys GS_ACCESS_KEY_ID and GS_SECRET_ACCESS_KEY");
    }
    return sl_credentials_from_google(credentials, &found, error);
}

/* ---- the Hugging Face hub ---- */

/* Finds the file in which the hub's own programs keep the token. */
static bool find_token_file(char path[1024])
{
    const char *file = sl_credentials_variable("HF_TOKEN_PATH");
    const char *home = sl_credentials_variable("HF_HOME");
    const char *cache = sl_credentials_variable("XDG_CACHE_HOME");
    char text[1024];
    int length;
    if (file != NULL) {
        length = snprintf(text, sizeof(text), "%s", file);
    } else if (home != NULL) {
        length = snprintf(text, sizeof(text), "%s/token", home);
    } else {
        length = snprintf(text, sizeof(text), "%s/huggingface/token",
                          cache != NULL ? cache : "~/.cache");
    }
    return length >= 0 && (size_t)length < sizeof(text) && sl_path_at_home(path, 1024, text);
}

sluice_status sl_credentials_find_hf(sl_credentials *credentials, sluice_error *error)
{
    const char *token = sl_credentials_variable("HF_TOKEN");
    char path[1024];
    if (token != NULL) {
        snprintf(credentials->source, sizeof(credentials->source), "HF_TOKEN");
        return sl_credentials_copy(credentials->token, sizeof(credentials->token), token)
                   ? SLUICE_OK
                   : refuse_value("HF_TOKEN", error);
    }
    if (sl_credentials_variable_is_true("HF_HUB_DISABLE_IMPLICIT_TOKEN") ||
        !find_token_file(path)) {
        return SLUICE_OK;
    }
    bool missing = false;
    const sluice_status status = sl_credentials_read_file(
        path, credentials->token, sizeof(credentials->token), &missing, error);
    snprintf(credentials->source, sizeof(credentials->source), "%s", missing ? "" : "token file");
    return status;
}
