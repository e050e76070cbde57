/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack_note: what a pack did to pictures, for people.
 *
 * Purpose: the manifest has no place for it, and readers do not need it; pack.options beside it
 * (docs/format.md, section 9) says it where pixels were changed. It counts only if it is the text
 * that the pack id is the checksum of. Threads: pure but for the file.
 */
#ifndef SL_PACK_NOTE_H
#define SL_PACK_NOTE_H

#include <stddef.h>
#include <stdint.h>

#define SL_PACK_NOTE_BYTES 80

/* A part of a sentence, or "": of the manifest with this id in `folder`. */
void sl_pack_note(const char *folder, uint64_t pack_id, char note[SL_PACK_NOTE_BYTES]);

#endif
