/* SPDX-License-Identifier: Apache-2.0 */
/* sluice_ranks_*: which of several processes this is. */
#include "launchers.h"

#include "api.h"
#include "error.h"

#include <stddef.h>
#include <stdlib.h>

static const char *get_variable(const void *user, const char *name)
{
    (void)user;
    return getenv(name); // NOLINT(concurrency-mt-unsafe): the header says so
}

sluice_status sluice_ranks_find(sluice_ranks *ranks, sluice_error *error)
{
    if (sl_api_lacks(error, ranks, "sluice_ranks") ||
        sl_api_is_untagged(error, ranks, "sluice_ranks")) {
        return SLUICE_INVALID;
    }
    const sl_environment environment = {.get = get_variable};
    sluice_ranks full;
    sluice_error reason;
    if (sl_ranks_find(&environment, &full, &reason) < 0) {
        return sl_api_fail(error, &reason);
    }
    return sl_api_write_struct(ranks, &full, sizeof(full));
}

sluice_status sluice_ranks_divide(sluice_ranks *ranks, uint32_t model_parallel, sluice_error *error)
{
    if (sl_api_lacks(error, ranks, "sluice_ranks") ||
        sl_api_is_untagged(error, ranks, "sluice_ranks")) {
        return SLUICE_INVALID;
    }
    sluice_error reason;
    /* A newer program's struct is larger, and its tail may be anything: it is left alone. */
    if (ranks->struct_size < offsetof(sluice_ranks, local_rank)) {
        sl_error_set(&reason, SLUICE_INVALID, "api", "struct_size of sluice_ranks is too small");
        return sl_api_fail(error, &reason);
    }
    return sl_ranks_divide(&ranks->rank, &ranks->world_size, model_parallel, &reason) < 0
               ? sl_api_fail(error, &reason)
               : SLUICE_OK;
}
