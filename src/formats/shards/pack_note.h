/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack_note: describes how a pack changed images, for users.
 *
 * Purpose: the manifest does not record this, and readers do not need it. If pixels were changed,
 * pack.options beside the manifest says how (docs/format.md, section 9). The note counts only if
 * its text matches the pack id, which is its checksum. Threads: pure except for the file.
 */
#ifndef SL_PACK_NOTE_H
#define SL_PACK_NOTE_H

#include <stddef.h>
#include <stdint.h>

#define SL_PACK_NOTE_BYTES 80

/* Writes a part of a sentence for the manifest with this id in `folder`, or "". */
void sl_pack_note(const char *folder, uint64_t pack_id, char note[SL_PACK_NOTE_BYTES]);

#endif
