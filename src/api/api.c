/* SPDX-License-Identifier: Apache-2.0 */
#include "api.h"

#include "error.h"

#include <string.h>

sluice_status sl_api_read_struct(void *to, size_t size, const void *from, const char *name,
                                 sluice_error *error)
{
    memset(to, 0, size);
    const uint32_t own_size = (uint32_t)size;
    uint32_t given = own_size;
    if (from != NULL) {
        memcpy(&given, from, sizeof(given));
        if (given < sizeof(given)) {
            return sl_error_set(error, SLUICE_INVALID, "api",
                                "struct_size of %s is not set: initialise it with its _INIT macro "
                                "or _init function",
                                name);
        }
        for (size_t i = size; i < given; i++) {
            if (((const uint8_t *)from)[i] != 0) {
                return sl_error_set(error, SLUICE_UNSUPPORTED, "api",
                                    "%s has an option that this version of the library does not "
                                    "know",
                                    name);
            }
        }
        memcpy(to, from, given < size ? given : size);
    }
    memcpy(to, &own_size, sizeof(own_size));
    return SLUICE_OK;
}

sluice_status sl_api_write_struct(void *to, const void *from, size_t size)
{
    uint32_t room;
    memcpy(&room, to, sizeof(room));
    if (room < sizeof(room)) {
        return SLUICE_INVALID;
    }
    memcpy((uint8_t *)to + sizeof(room), (const uint8_t *)from + sizeof(room),
           (room < size ? room : size) - sizeof(room));
    return SLUICE_OK;
}

sluice_status sl_api_fail(sluice_error *error, const sluice_error *reason)
{
    sl_error_copy_out(error, reason);
    return (sluice_status)reason->status;
}
