/* SPDX-License-Identifier: Apache-2.0 */
/* omissions: counts what opening a dataset leaves out. */
#include "omissions.h"

#include "memory.h"
#include "safe_text.h"

#include <stdio.h>
#include <string.h>

#define OTHERS "others"

static sl_omission *omission_of(sl_omissions *omissions, const char *reason)
{
    for (uint32_t i = 0; i < omissions->reasons; i++) {
        if (strcmp(omissions->of[i].reason, reason) == 0) {
            return &omissions->of[i];
        }
    }
    if (omissions->reasons >= SL_OMISSIONS_MAX - 1 && strcmp(reason, OTHERS) != 0) {
        return omission_of(omissions, OTHERS);
    }
    sl_omission *added = &omissions->of[omissions->reasons++];
    *added = (sl_omission){.count = 0};
    snprintf(added->reason, sizeof(added->reason), "%s", reason);
    return added;
}

/* Keeps the end of a path, which says more than its beginning. */
static void keep_example(sl_omission *omission, const char *example)
{
    static const char dots[] = "...";
    const size_t length = strlen(example);
    const size_t most = sizeof(omission->example) - 1;
    const bool fits = length <= most;
    snprintf(omission->example, sizeof(omission->example), "%s%s", fits ? "" : dots,
             fits ? example : example + length - (most - (sizeof(dots) - 1)));
}

void sl_omit_many(sl_omissions *omissions, sl_omitted what, const char *reason, const char *example,
                  uint64_t count)
{
    if (count == 0) {
        return;
    }
    if (omissions->of == NULL) {
        omissions->of = sl_calloc(SL_OMISSIONS_MAX, sizeof(*omissions->of));
    }
    if (omissions->of == NULL) {
        omissions->unlisted += count;
        return;
    }
    char whole[sizeof(omissions->of[0].reason)];
    snprintf(whole, sizeof(whole), "%s", reason);
    sl_omission *omission = omission_of(omissions, whole);
    omission->images = omission->images || what == SL_OMITTED_IMAGES;
    omission->count += count;
    if (omission->example[0] == '\0' && example != NULL) {
        keep_example(omission, example);
    }
}

void sl_omit(sl_omissions *omissions, sl_omitted what, const char *reason, const char *example)
{
    sl_omit_many(omissions, what, reason, example, 1);
}

void sl_omissions_join(sl_omissions *omissions, const sl_omissions *other)
{
    for (uint32_t i = 0; i < other->reasons; i++) {
        const sl_omission *from = &other->of[i];
        sl_omit_many(omissions, from->images ? SL_OMITTED_IMAGES : SL_OMITTED_THINGS, from->reason,
                     from->example, from->count);
    }
    omissions->unlisted += other->unlisted;
}

void sl_omissions_warn(const sl_omissions *omissions, uint64_t samples, sl_warnings *warnings)
{
    for (uint32_t i = 0; i < omissions->reasons; i++) {
        const sl_omission *omission = &omissions->of[i];
        if (!omission->images && omission->count <= samples / 10) {
            continue;
        }
        char shown[400];
        (void)sl_safe_text(shown, sizeof(shown), omission->example, SIZE_MAX);
        sl_warnings_add(warnings, "%llu left out: %s%s%s", (unsigned long long)omission->count,
                        omission->reason, shown[0] != '\0' ? ", the first " : "", shown);
    }
    if (omissions->unlisted > 0) {
        sl_warnings_add(warnings, "%llu left out: not enough memory to keep the reasons",
                        (unsigned long long)omissions->unlisted);
    }
}

void sl_omissions_close(sl_omissions *omissions)
{
    sl_free(omissions->of);
    *omissions = (sl_omissions){.reasons = 0};
}
