/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <string.h>

/* Options whose name in a front end is more than the member's name, or that callers write
 * differently. NULL: the other front end has no such option. All other names are from the table. */
static const struct phrase {
    const char *library, *spelled[2]; /* by sluice_spelling */
} phrases[] = {
    {"allow_case_duplicates", {"--allow-case-duplicates", "allow_case_duplicates=True"}},
    {"allow_empty_classes", {"--allow-empty-classes", "allow_empty_classes=True"}},
    {"box_format cxcywh", {"--column NAME:boxes,format=cxcywh", "format=\"cxcywh\""}},
    {"box_format xywh", {"--column NAME:boxes,format=xywh", "format=\"xywh\""}},
    {"classes", {NULL, "classes"}},
    {"columns", {"--column", "columns"}},
    {"labels", {"--labels union", "labels=\"union\""}},
    {"lengths", {"--lengths", "lengths"}},
    {"max_width and max_height",
     {"--column NAME:image,max_height=H,max_width=W", "max_size=(height, width)"}},
    {"memory_bytes of opening", {"--open-memory", "memory_bytes of the Dataset"}},
    {"on_bad_sample mask", {"--on-bad mask", "on_bad_sample=\"mask\""}},
    {"option fields of joining", {"--common NAME", "fields=[...]"}},
    {"output_count", {NULL, NULL}},
    {"outputs", {NULL, NULL}},
    {"overwrite", {"--overwrite", "overwrite=True"}},
    {"relative 0", {"--column NAME:boxes,relative=0", "relative=False"}},
    {"relative 1", {"--column NAME:boxes,relative=1", "relative=True"}},
    {"size_count", {NULL, NULL}},
    {"sluice_dataset_concat", {"--with", "sluice.concat"}},
    {"sluice_loader_start_epoch", {NULL, "set_epoch"}},
    {"the number of parts", {"--part auto/N", "part=(\"auto\", n)"}},
    {"the option allow_outside", {"--allow-outside", "allow_outside=True"}},
    {"the option fields", {"--field NAME=KEY", "fields={...}"}},
    {"the options part and parts", {"--part I/N", "part=(i, n)"}},
    {"the zstd level", {"--zstd", "zstd"}},
    {"weights", {"--weights", "weights"}},
};

const char *sl_option_spell(sluice_spelling spelling, const char *option)
{
    for (size_t i = 0; i < sizeof(phrases) / sizeof(*phrases); i++) {
        if (strcmp(phrases[i].library, option) == 0) {
            return phrases[i].spelled[spelling == SLUICE_SPELLING_PYTHON];
        }
    }
    for (int of = SLUICE_OPTIONS_LOADER; of <= SLUICE_OPTIONS_REMOTE; of++) {
        const sluice_option *found = sl_option_find((sluice_options)of, option);
        const char *spelled = found == NULL                        ? NULL
                              : spelling == SLUICE_SPELLING_PYTHON ? found->keyword
                                                                   : found->flag;
        if (spelled != NULL) {
            return spelled;
        }
    }
    return NULL;
}
