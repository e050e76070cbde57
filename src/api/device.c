/* SPDX-License-Identifier: Apache-2.0 */
/* sluice_device_get_text: where batches can live. */
#include "device.h"

#include <sluice/loader.h>

sluice_status sluice_device_get_text(const char *device, char *text, size_t bytes)
{
    if (device == NULL || text == NULL || bytes == 0) {
        return SLUICE_INVALID;
    }
    return sl_device_describe(device, text, bytes);
}
