/* SPDX-License-Identifier: Apache-2.0 */
/* The credentials chain of AWS: environment, profile, web identity, container, instance. */
#include "credentials_sources.h"
#include "error.h"

#include <stdio.h>
#include <string.h>

static const char stage[] = "remote";

static sluice_status copy_keys(sl_credentials *credentials, const char *const keys[3],
                               const char *source, sluice_error *error)
{
    snprintf(credentials->source, sizeof(credentials->source), "%s", source);
    if (!sl_credentials_copy(credentials->access_key, sizeof(credentials->access_key), keys[0]) ||
        !sl_credentials_copy(credentials->secret_key, sizeof(credentials->secret_key), keys[1]) ||
        (keys[2] != NULL &&
         !sl_credentials_copy(credentials->token, sizeof(credentials->token), keys[2]))) {
        return sl_error_set(error, SLUICE_INVALID, stage,
                            "a key or token of the %s is empty, too long, or contains a control "
                            "character",
                            source);
    }
    return SLUICE_OK;
}

static sluice_status from_environment(sl_credentials *credentials, bool *found, sluice_error *error)
{
    const char *const keys[3] = {sl_credentials_variable("AWS_ACCESS_KEY_ID"),
                                 sl_credentials_variable("AWS_SECRET_ACCESS_KEY"),
                                 sl_credentials_variable("AWS_SESSION_TOKEN")};
    *found = keys[0] != NULL;
    if (!*found) {
        return SLUICE_OK;
    }
    if (keys[1] == NULL) {
        return sl_error_set(error, SLUICE_INVALID, stage,
                            "AWS_ACCESS_KEY_ID is set, but AWS_SECRET_ACCESS_KEY is not");
    }
    return copy_keys(credentials, keys, "environment", error);
}

/* ---- the profile ---- */

static bool has_keys(const sl_aws_profile *profile)
{
    return profile->values[SL_AWS_ACCESS_KEY] != NULL;
}

static sluice_status from_profile_keys(const sl_aws_profile *profile, const char *name,
                                       sl_credentials *credentials, sluice_error *error)
{
    const char *const keys[3] = {profile->values[SL_AWS_ACCESS_KEY],
                                 profile->values[SL_AWS_SECRET_KEY], profile->values[SL_AWS_TOKEN]};
    char source[sizeof(credentials->source)];
    snprintf(source, sizeof(source), "profile %.110s", name);
    if (keys[1] == NULL) {
        return sl_error_set(error, SLUICE_INVALID, stage,
                            "the profile \"%s\" has aws_access_key_id, but no "
                            "aws_secret_access_key",
                            name);
    }
    return copy_keys(credentials, keys, source, error);
}

static sluice_status refuse_profile(const char *name, const char *what, sluice_error *error)
{
    return sl_error_set(
        error, SLUICE_UNSUPPORTED, stage,
        "the profile \"%s\" uses %s, which sluice does not support: add the line "
        "credential_process = aws configure export-credentials --profile %s --format process",
        name, what, name);
}

static const char *sts_endpoint(const sl_aws_profile *profile)
{
    const char *endpoint = sl_credentials_variable("AWS_ENDPOINT_URL_STS");
    if (endpoint == NULL) {
        endpoint = sl_credentials_variable("AWS_ENDPOINT_URL");
    }
    if (endpoint == NULL) {
        endpoint = profile->values[SL_AWS_ENDPOINT_STS];
    }
    if (endpoint == NULL) {
        endpoint = profile->values[SL_AWS_ENDPOINT];
    }
    return endpoint == NULL ? "" : endpoint;
}

static sluice_status from_profile(const sl_remote_settings *settings, const sl_aws_profile *profile,
                                  sl_credentials *credentials, bool *found, sluice_error *error)
{
    const char *name = settings->profile;
    const char *process = profile->values[SL_AWS_PROCESS];
    const char *role = profile->values[SL_AWS_ROLE];
    const char *token_file = profile->values[SL_AWS_WEB_TOKEN_FILE];
    *found = true;
    if (has_keys(profile) && profile->from_credentials[SL_AWS_ACCESS_KEY]) {
        return from_profile_keys(profile, name, credentials, error);
    }
    if (process != NULL) {
        snprintf(credentials->source, sizeof(credentials->source),
                 "profile %.80s (credential_process)", name);
        return sl_credentials_from_process(process, credentials, error);
    }
    if (role != NULL && token_file != NULL) {
        snprintf(credentials->source, sizeof(credentials->source), "profile %.80s (web identity)",
                 name);
        const sl_web_identity identity = {.role = role,
                                          .session = profile->values[SL_AWS_SESSION_NAME],
                                          .token_file = token_file,
                                          .endpoint = sts_endpoint(profile),
                                          .region = settings->region};
        return sl_credentials_from_web_identity(&identity, credentials, error);
    }
    if (role != NULL) {
        return refuse_profile(name, "role_arn", error);
    }
    if (profile->values[SL_AWS_SSO_SESSION] != NULL || profile->values[SL_AWS_SSO_URL] != NULL) {
        return refuse_profile(name, "SSO", error);
    }
    *found = has_keys(profile);
    return *found ? from_profile_keys(profile, name, credentials, error) : SLUICE_OK;
}

static sluice_status from_role_of_environment(const sl_remote_settings *settings,
                                              const sl_aws_profile *profile,
                                              sl_credentials *credentials, bool *found,
                                              sluice_error *error)
{
    const sl_web_identity identity = {.role = sl_credentials_variable("AWS_ROLE_ARN"),
                                      .session = sl_credentials_variable("AWS_ROLE_SESSION_NAME"),
                                      .token_file =
                                          sl_credentials_variable("AWS_WEB_IDENTITY_TOKEN_FILE"),
                                      .endpoint = sts_endpoint(profile),
                                      .region = settings->region};
    *found = identity.token_file != NULL;
    if (!*found) {
        return SLUICE_OK;
    }
    if (identity.role == NULL) {
        return sl_error_set(error, SLUICE_INVALID, stage,
                            "AWS_WEB_IDENTITY_TOKEN_FILE is set, but AWS_ROLE_ARN is not");
    }
    snprintf(credentials->source, sizeof(credentials->source), "web identity");
    return sl_credentials_from_web_identity(&identity, credentials, error);
}

/* ---- the chain ---- */

static sluice_status find_with_profile(const sl_remote_settings *settings,
                                       const sl_aws_profile *profile, sl_credentials *credentials,
                                       sluice_error *error)
{
    bool found = false;
    sluice_status status = SLUICE_OK;
    if (!settings->profile_chosen) {
        status = from_environment(credentials, &found, error);
    }
    if (status == SLUICE_OK && !found) {
        status = from_profile(settings, profile, credentials, &found, error);
    }
    if (status == SLUICE_OK && !found && settings->profile_chosen) {
        status = from_environment(credentials, &found, error);
    }
    if (status == SLUICE_OK && !found) {
        status = from_role_of_environment(settings, profile, credentials, &found, error);
    }
    if (status == SLUICE_OK && !found) {
        status = sl_credentials_from_container(credentials, &found, error);
    }
    if (status == SLUICE_OK && !found) {
        status = sl_credentials_from_instance(credentials, &found, error);
    }
    return status;
}

sluice_status sl_credentials_find_aws(const sl_remote_settings *settings,
                                      sl_credentials *credentials, sluice_error *error)
{
    if (settings->profile_error.status != SLUICE_OK) {
        *error = settings->profile_error;
        return (sluice_status)settings->profile_error.status;
    }
    sl_aws_profile profile;
    sluice_status status = sl_aws_profile_open(&profile, settings->profile, error);
    if (status == SLUICE_OK) {
        status = find_with_profile(settings, &profile, credentials, error);
    }
    sl_aws_profile_close(&profile);
    return status;
}
