/* SPDX-License-Identifier: Apache-2.0 */
/* fault_setup: a loader whose reads fail according to a seed, for tests of the internals. */
#ifndef SL_FAULT_SETUP_H
#define SL_FAULT_SETUP_H

#include "loader_setup.h"

#include "backend.h"

/* Like setup_loader. `fault` may be NULL. */
sluice_loader *fault_loader(const char *path, const sluice_loader_options *options,
                            const sl_fault_config *fault);

#endif
