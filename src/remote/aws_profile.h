/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aws_profile: one profile of AWS's two files, ~/.aws/config and ~/.aws/credentials.
 *
 * Purpose: reads the values that sluice uses: "[NAME]" of credentials, "[profile NAME]" (and
 * "[default]") of config, and the endpoints of the "[services ...]" section that the profile names.
 * Nested values (an empty value, then indented lines) are read one level deep. The last one of
 * several equal keys counts, and credentials count before config, as for AWS's own programs. A
 * missing file is an empty one. AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE name other files.
 * Our own code, because libinih knows neither nested values nor both names of a section. A test
 * compares it with botocore, which differs in one thing: it rejects a key that occurs twice.
 * Threads: any.
 */
#ifndef SL_AWS_PROFILE_H
#define SL_AWS_PROFILE_H

#include <sluice/common.h>

#include <stdbool.h>
#include <stddef.h>

typedef enum sl_aws_value {
    SL_AWS_ACCESS_KEY = 0,
    SL_AWS_SECRET_KEY,
    SL_AWS_TOKEN,
    SL_AWS_PROCESS,
    SL_AWS_ROLE,
    SL_AWS_SESSION_NAME,
    SL_AWS_WEB_TOKEN_FILE,
    SL_AWS_SOURCE_PROFILE,
    SL_AWS_CREDENTIAL_SOURCE,
    SL_AWS_SSO_SESSION,
    SL_AWS_SSO_URL,
    SL_AWS_REGION,
    SL_AWS_CA_BUNDLE,
    SL_AWS_IGNORES_ENDPOINTS,
    SL_AWS_ENDPOINT,
    SL_AWS_SERVICES,
    SL_AWS_ENDPOINT_S3, /* of the services section */
    SL_AWS_ENDPOINT_STS,
    SL_AWS_VALUES
} sl_aws_value;

typedef struct sl_aws_profile {
    bool found;                           /* one of the files has the profile */
    char *values[SL_AWS_VALUES];          /* NULL: not set */
    bool from_credentials[SL_AWS_VALUES]; /* the credentials file has the value */
    char config[1024], credentials[1024]; /* the files' paths */
} sl_aws_profile;

/* Reads profile `name`; a profile in neither file is not an error. Errors: IO, CORRUPT (names
 * the line), NOMEM. Call sl_aws_profile_close in any case. */
sluice_status sl_aws_profile_open(sl_aws_profile *profile, const char *name, sluice_error *error);
/* Wipes the secrets and frees the profile. */
void sl_aws_profile_close(sl_aws_profile *profile);

/* Writes `path` with a leading "~/" replaced by the home folder. False: it does not fit, or the
 * home folder is unknown. */
bool sl_path_at_home(char *to, size_t bytes, const char *path);

#endif
