/* SPDX-License-Identifier: Apache-2.0 */
/*
 * credentials: the identities that sign requests to object stores.
 *
 * Purpose: one chain of sources for each kind of store; the first source that has credentials wins,
 * and a source that fails ends the chain with its error. No secret is in any error.
 *
 *  AWS  1. the environment: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN (after the
 *          profile if sluice_remote_configure names one);
 *       2. the profile (aws_profile.h): keys of the credentials file, credential_process, keys of
 *          the config file, role_arn with web_identity_token_file;
 *       3. web identity: AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN, exchanged by STS;
 *       4. container: AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI, with
 *          AWS_CONTAINER_AUTHORIZATION_TOKEN or _TOKEN_FILE;
 *       5. IMDSv2 of an EC2 instance, unless AWS_EC2_METADATA_DISABLED is true.
 *       A profile that needs SSO or another role is refused: credential_process covers them.
 *  GS   1. HMAC keys: GS_ACCESS_KEY_ID, GS_SECRET_ACCESS_KEY;
 *       2. a bearer token: GOOGLE_OAUTH_ACCESS_TOKEN;
 *       3. the metadata server of a Google machine, unless NO_GCE_CHECK is true.
 *  HF   HF_TOKEN, or the file of HF_TOKEN_PATH, HF_HOME/token or ~/.cache/huggingface/token.
 *
 * If no source has any, requests go unsigned. Credentials that end are refreshed in the background
 * in their last 5 minutes, and used until they end. An error is kept for 5 s, before the sources
 * are asked again. Threads: any. Lock: one mutex a chain, not held while a source is asked. After
 * fork(), the child repeats questions that the parent had not finished. Ownership: chains live as
 * long as the process.
 */
#ifndef SL_CREDENTIALS_H
#define SL_CREDENTIALS_H

#include <sluice/common.h>

#include <stdbool.h>
#include <stdint.h>

typedef enum sl_credentials_kind {
    SL_CREDENTIALS_AWS = 0,
    SL_CREDENTIALS_GS,
    SL_CREDENTIALS_HF,
    SL_CREDENTIALS_KINDS
} sl_credentials_kind;

typedef struct sl_credentials {
    bool none; /* there are no credentials: requests go unsigned */
    char access_key[256], secret_key[256];
    char token[4096]; /* session token; bearer token if access_key is "" */
    char source[128]; /* for messages: "environment", "profile research (credential_process)" */
    int64_t ends_s;   /* seconds since 1970; 0: never */
} sl_credentials;

typedef enum sl_ask { SL_ASK_READY = 0, SL_ASK_PENDING, SL_ASK_FAILED } sl_ask;

/* Copies the known credentials: READY, also during a refresh. PENDING: a thread asks the sources,
 * and calls `woken` (may be NULL) once when it is done. FAILED: with the error. Never blocks. */
sl_ask sl_credentials_ask(sl_credentials_kind kind, sl_credentials *credentials,
                          void (*woken)(void *ctx), void *ctx, sluice_error *error);
/* Blocks, under the thread's stop. Errors: CANCELED, INVALID, IO, CORRUPT, UNSUPPORTED, NOMEM. */
sluice_status sl_credentials_get(sl_credentials_kind kind, sl_credentials *credentials,
                                 sluice_error *error);
/* Reports that the server rejected `were` as expired: the next call queries the sources again,
 * unless the credentials have changed since. */
void sl_credentials_expired(sl_credentials_kind kind, const sl_credentials *were);
/* Forgets all credentials: the next call queries the sources again. */
void sl_credentials_forget(void);

#endif
