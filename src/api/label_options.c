/* SPDX-License-Identifier: Apache-2.0 */
#include "label_options.h"

#include "api.h"
#include "error.h"

static bool are_there(const char *const *names, uint32_t count)
{
    bool fine = (names != NULL) == (count > 0) && count <= SL_UNION_CLASSES_MAX;
    for (uint32_t i = 0; fine && i < count; i++) {
        fine = names[i] != NULL;
    }
    return fine;
}

static sluice_status label_options_check(const sluice_label_options *own, sluice_error *error)
{
    const bool says_more = own->class_count > 0 || own->rename_count > 0;
    if (!are_there(own->classes, own->class_count) ||
        !are_there(own->rename_from, own->rename_count) ||
        (own->rename_to != NULL) != (own->rename_count > 0)) {
        return sl_error_set(error, SLUICE_INVALID, "api",
                            "labels: classes are class_count names, rename_from rename_count, and "
                            "rename_to has as many or NULL for some; at most 2^24");
    }
    if (own->allow_case_duplicates > 1 || (own->file != NULL && says_more)) {
        return sl_error_set(error, SLUICE_INVALID, "api",
                            "labels: allow_case_duplicates must be 0 or 1, and a file goes with "
                            "no other names");
    }
    return SLUICE_OK;
}

sluice_status sl_api_read_labels(sl_api_labels *to, const sluice_label_options *given,
                                 sluice_error *error)
{
    *to = (sl_api_labels){.labels = NULL};
    if (given == NULL) {
        return SLUICE_OK;
    }
    sluice_label_options own;
    sluice_status status =
        sl_api_read_struct(&own, sizeof(own), given, "sluice_label_options", error);
    if (status == SLUICE_OK) {
        status = label_options_check(&own, error);
    }
    if (status == SLUICE_OK && own.file != NULL) {
        status = sl_label_file_read(&to->file, own.file, error);
    }
    if (status < 0) {
        return status;
    }
    to->own = own.file != NULL ? to->file.labels
                               : (sl_labels){.classes = own.classes,
                                             .from = own.rename_from,
                                             .to = own.rename_to,
                                             .class_count = own.class_count,
                                             .rename_count = own.rename_count};
    to->own.allow_case_duplicates = own.allow_case_duplicates != 0;
    to->labels = &to->own;
    return SLUICE_OK;
}

void sl_api_close_labels(sl_api_labels *labels)
{
    sl_label_file_close(&labels->file);
    labels->labels = NULL;
}
