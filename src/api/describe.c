/* SPDX-License-Identifier: Apache-2.0 */
/* describe: entry points of sluice/describe.h. */
#include "api.h"
#include "error.h"
#include "options.h"

#include <string.h>

sluice_status sluice_option_get(sluice_options of, uint32_t index, sluice_option *option)
{
    const sluice_option *found = sl_option_at(of, index);
    if (option == NULL || sl_option_at(of, 0) == NULL) {
        return SLUICE_INVALID;
    }
    return found != NULL ? sl_api_write_struct(option, found, sizeof(*found)) : SLUICE_END;
}

sluice_status sluice_option_set(sluice_options of, void *options, const char *name,
                                const char *text, sluice_error *error)
{
    uint32_t bytes;
    sluice_error reason;
    if (sl_api_lacks(error, options, "options") || sl_api_lacks(error, name, "name") ||
        sl_api_lacks(error, text, "text")) {
        return SLUICE_INVALID;
    }
    memcpy(&bytes, options, sizeof(bytes)); /* its struct_size */
    sl_error_clear(&reason);
    const sluice_status status = sl_option_set(of, options, bytes, name, text, &reason);
    return status == SLUICE_OK ? status : sl_api_fail(error, &reason);
}

const char *sluice_option_spell(sluice_spelling spelling, const char *option)
{
    return option != NULL ? sl_option_spell(spelling, option) : NULL;
}
