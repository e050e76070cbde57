/* SPDX-License-Identifier: Apache-2.0 */
/* Opening the device: where threads run, which depends on where it is. */
#include "loader.h"

#include "numa.h"

const sl_processors *sl_loader_near(const sluice_loader *loader)
{
    return loader->is_near ? &loader->near : NULL;
}

/* Those near the device, of those that are ours; false: that is all of them, or none. */
static bool find_near(const sl_device *device, sl_processors *near)
{
    sl_processors own;
    if (device->numa_node < 0 || !sl_processors_own(&own) ||
        !sl_numa_processors(device->numa_node, near)) {
        return false;
    }
    sl_processors_keep(near, &own);
    const uint32_t count = sl_processors_count(near);
    return count > 0 && count < sl_processors_count(&own);
}

/* `asked`: the workers that the caller asked for, 0: as many as is right. */
static void place(sluice_loader *loader, uint32_t asked)
{
    sluice_loader_options *o = &loader->config.options;
    if (o->any_numa_node != 0 || !find_near(loader->device, &loader->near)) {
        return;
    }
    const uint32_t count = sl_processors_count(&loader->near);
    if (asked > count) {
        return; /* than are near: the machine's, then */
    }
    loader->is_near = true;
    if (asked == 0 && o->workers > count) {
        o->workers = count;
    }
}

sluice_status sl_loader_open_device(sluice_loader *loader, uint32_t asked, sluice_error *error)
{
    const sluice_status status =
        sl_device_open(&loader->device, loader->config.options.device, error);
    if (status == SLUICE_OK) {
        place(loader, asked);
    }
    return status;
}
