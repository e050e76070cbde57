/* SPDX-License-Identifier: Apache-2.0 */
/* sluice/sluice.h: all of the public interface. */
#ifndef SLUICE_SLUICE_H
#define SLUICE_SLUICE_H

#include <sluice/augment.h>
#include <sluice/columns.h>
#include <sluice/common.h>
#include <sluice/dataset.h>
#include <sluice/datasets.h>
#include <sluice/describe.h>
#include <sluice/loader.h>
#include <sluice/options.h>
#include <sluice/ranks.h>
#include <sluice/remote.h>
#include <sluice/sequences.h>
#include <sluice/trace.h>
#include <sluice/unpack.h>
#include <sluice/writer.h>

#endif
