/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opening: the data that the steps of opening a loader share.
 *
 * Purpose: opening.c has the list of steps; each takes an sl_loader_opening and fills a part of its
 * loader. The caller's pointers (columns, outputs, texts, tables) are in `options` only. The
 * loader's own copy of the options has none, since it outlives them. Threads: the one that opens.
 * Memory: all of it is the caller's, and lasts until opening ends.
 */
#ifndef SL_LOADER_OPENING_H
#define SL_LOADER_OPENING_H

#include "loader.h"

struct sl_loader_opening {
    sluice_loader *loader;
    const sluice_augment *recipe;       /* NULL: none */
    const sluice_loader_options *asked; /* the caller's; full-size */
    sluice_loader_options options;      /* the same, with defaults, since the first step */
    const sl_fault_config *fault;       /* NULL: none */
    const sl_dataset *whole; /* the loader's dataset before parts of its tensors were cut out */
};

/* Opens the requested parts in the loader, which is zeroed except for its dataset, locks and
 * errors. The caller closes the loader, also after an error. */
sluice_status sl_loader_opening_run(sl_loader_opening *opening, sluice_error *error);

/* ---- open_partners.c ---- */

/* For rows of several samples: reads the rules of partners, and copies the classes of samples.
 * Needs bound columns. Errors: INVALID; UNSUPPORTED: the dataset has no random access to samples;
 * NOMEM. */
sluice_status sl_loader_open_partners(sl_loader_opening *opening, sluice_error *error);
/* Copies the classes of samples, which `what` needs; once. Errors: INVALID, NOMEM. */
sluice_status sl_loader_open_classes(const sl_loader_opening *opening, const char *what,
                                     sluice_error *error);

/* ---- open_packing.c ---- */

/* If a column requests packed sequences: reads the documents' lengths, packs them, and makes pieces
 * of documents the loader's samples; options must be settled for them next. Needs bound columns.
 * Errors: UNSUPPORTED: an option or a dataset that cannot be used with them; those of
 * sl_document_lengths_open, sl_packing_open and sl_pieces_open. */
sluice_status sl_loader_open_packing(sl_loader_opening *opening, sluice_error *error);

/* ---- open_staging.c ---- */

/* Opens the device, which settles the number of workers, and the processors of all threads. */
sluice_status sl_loader_open_device(sl_loader_opening *opening, sluice_error *error);
/* Opens staging over the device, for the loader's columns. */
sluice_status sl_loader_open_staging(sl_loader_opening *opening, sluice_error *error);

#endif
