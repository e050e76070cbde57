/* SPDX-License-Identifier: Apache-2.0 */
/* tar_left_out: names the reasons for leaving out members of tar archives. Pure. */
#include "tar_left_out.h"

#include "hidden.h"
#include "store.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *text;
    sl_omitted what;
} reasons[SL_TAR_LEFT_OUT_REASONS] = {
    [SL_TAR_DEVICES] = {"devices and pipes in tar archives", SL_OMITTED_THINGS},
    [SL_TAR_UNKNOWN] = {"members of unknown types in tar archives", SL_OMITTED_THINGS},
    [SL_TAR_HIDDEN] = {"hidden files in tar archives", SL_OMITTED_THINGS},
    [SL_TAR_APPLE_DOUBLE] = {"AppleDouble files (._NAME) in tar archives", SL_OMITTED_THINGS},
    [SL_TAR_META] = {"members below names like __this__ in tar archives", SL_OMITTED_THINGS},
    [SL_TAR_WITHOUT_EXTENSION] = {"members without an extension in tar archives",
                                  SL_OMITTED_THINGS},
    [SL_TAR_LINKS] = {"links to files that are not in the tar archive", SL_OMITTED_THINGS},
    [SL_TAR_IMAGE_LINKS] = {"images that are links to files that are not in the tar archive",
                            SL_OMITTED_IMAGES},
    [SL_TAR_PACKED_LINKS] = {"links in a compressed tar archive: unpack it to follow them",
                             SL_OMITTED_THINGS},
    [SL_TAR_PACKED_IMAGE_LINKS] =
        {"images that are links in a compressed tar archive: unpack it to follow them",
         SL_OMITTED_IMAGES},
};

static sl_tar_left_out of_name(const char *name, sl_member_name *kind, sl_member_part *part)
{
    *kind = sl_member_split(name, part);
    if (*kind != SL_MEMBER_NAME_NONE) {
        return sl_path_is_hidden(name) ? SL_TAR_HIDDEN : SL_TAR_IN_SAMPLE;
    }
    const char *slash = strrchr(name, '/');
    const char *last = slash != NULL ? slash + 1 : name;
    if (sl_member_is_meta(name)) {
        return SL_TAR_META;
    }
    if (last[0] == '.') {
        return last[1] == '_' ? SL_TAR_APPLE_DOUBLE : SL_TAR_HIDDEN;
    }
    return SL_TAR_WITHOUT_EXTENSION;
}

sl_tar_left_out sl_tar_left_out_of(const sl_tar_walk *walk, sl_member_name *kind,
                                   sl_member_part *part)
{
    switch (walk->member.kind) {
    case SL_TAR_FOLDER:
        return SL_TAR_NOTHING;
    case SL_TAR_DEVICE:
        return SL_TAR_DEVICES;
    case SL_TAR_OTHER:
        return SL_TAR_UNKNOWN;
    default:
        return of_name(walk->name, kind, part);
    }
}

sl_tar_left_out sl_tar_left_out_link(const sl_tar_walk *walk, bool is_packed)
{
    sl_member_part part;
    const bool is_image = sl_member_split(walk->name, &part) == SL_MEMBER_NAME_GOOD &&
                          sl_member_type(part.extension) == SLUICE_FIELD_IMAGE;
    if (is_packed) {
        return is_image ? SL_TAR_PACKED_IMAGE_LINKS : SL_TAR_PACKED_LINKS;
    }
    return is_image ? SL_TAR_IMAGE_LINKS : SL_TAR_LINKS;
}

void sl_tar_left_out_add(const sl_file_index *index, const char *path, sl_omissions *omissions)
{
    for (uint32_t i = 0; i < index->omission_count; i++) {
        const sl_index_omission *of = &index->omissions[i];
        char example[SL_INDEX_EXAMPLE_BYTES + 56];
        if (of->reason < SL_TAR_LEFT_OUT_REASONS && reasons[of->reason].text != NULL) {
            (void)snprintf(example, sizeof(example), "%.50s: %s", sl_path_name(path), of->example);
            sl_omit_many(omissions, reasons[of->reason].what, reasons[of->reason].text, example,
                         of->count);
        }
    }
}
