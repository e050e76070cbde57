/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar_left_out: the reasons for which members of a tar archive belong to no sample.
 *
 * Purpose: walking counts left-out members in the archive's index by these numbers. Kept indexes
 * store the numbers, so their meanings never change. Threads: pure.
 */
#ifndef SL_TAR_LEFT_OUT_H
#define SL_TAR_LEFT_OUT_H

#include "file_index.h"
#include "member_names.h"
#include "omissions.h"
#include "tar_walk.h"

typedef enum sl_tar_left_out {
    SL_TAR_IN_SAMPLE = 0, /* not left out */
    SL_TAR_NOTHING = 1,   /* a folder, which is not counted */
    SL_TAR_DEVICES = 2,
    SL_TAR_UNKNOWN = 3,
    SL_TAR_HIDDEN = 4,
    SL_TAR_APPLE_DOUBLE = 5,
    SL_TAR_META = 6,
    SL_TAR_WITHOUT_EXTENSION = 7,
    SL_TAR_LINKS = 8,
    SL_TAR_IMAGE_LINKS = 9,
    SL_TAR_PACKED_LINKS = 10,
    SL_TAR_PACKED_IMAGE_LINKS = 11,
    SL_TAR_LEFT_OUT_REASONS
} sl_tar_left_out;

/*
 * Returns why the current member is left out because of its name or type. Links and too long names
 * are not decided here. Fills in `*kind` and `*part` for a member that is not left out.
 */
sl_tar_left_out sl_tar_left_out_of(const sl_tar_walk *walk, sl_member_name *kind,
                                   sl_member_part *part);
/* Why a link of an archive is that stands for no file. */
sl_tar_left_out sl_tar_left_out_link(const sl_tar_walk *walk, bool is_packed);
/* Adds what an index counts to a dataset's omissions. `path`: of the archive. */
void sl_tar_left_out_add(const sl_file_index *index, const char *path, sl_omissions *omissions);

#endif
