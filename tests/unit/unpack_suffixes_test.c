/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the file suffixes of fields with docs/formats/reading.md ("Unpack"), and checks that no
 * two fields of a dataset share a suffix. Case is ignored, since some file systems ignore it.
 */
#include "media.h"
#include "suffixes.h"
#include "test.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { FIELDS_HERE = 8, NAMES_MAX = 512 };

typedef struct named {
    const char *name;
    sluice_field_type type;
    const char *folder, *tar; /* expected suffixes; for images, without the extension */
} named;

static sl_field fields[SL_FIELDS_MAX];
static sl_suffixes suffixes;

/* Makes the suffixes of the fields, up to FIELDS_HERE or to one without a name. Returns the number
 * of fields. */
static uint32_t make(const named *of, sluice_unpack_form form)
{
    sl_dataset dataset = {.fields = fields};
    memset(fields, 0, sizeof(fields));
    for (; dataset.info.fields < FIELDS_HERE && of[dataset.info.fields].name != NULL;
         dataset.info.fields++) {
        sl_field *field = &fields[dataset.info.fields];
        (void)snprintf(field->name, sizeof(field->name), "%s", of[dataset.info.fields].name);
        field->type = of[dataset.info.fields].type;
    }
    sl_suffixes_make(&suffixes, &dataset, form, false);
    return dataset.info.fields;
}

/* Lists every suffix that a file of the field can have. Returns the number of suffixes. */
static uint32_t list_names(uint32_t field, char names[][SL_SUFFIX_BYTES])
{
    uint32_t count = 0;
    if (fields[field].type != SLUICE_FIELD_IMAGE) {
        memcpy(names[count++], suffixes.of[field], SL_SUFFIX_BYTES);
        return count;
    }
    for (const char *extension = ""; extension != NULL; count++) {
        extension = sl_media_extension(count, SL_MEDIA_PICTURE);
        assert_true(count < NAMES_MAX);
        sl_suffix_of_picture(&suffixes, field, extension != NULL ? extension : "img", names[count]);
    }
    return count;
}

static void expect_no_shared(uint32_t a, uint32_t b)
{
    static char names[2][NAMES_MAX][SL_SUFFIX_BYTES];
    const uint32_t of_a = list_names(a, names[0]);
    const uint32_t of_b = list_names(b, names[1]);
    for (uint32_t k = 0; k < of_a * of_b; k++) {
        if (strcasecmp(names[0][k / of_b], names[1][k % of_b]) == 0) {
            fail_msg("fields \"%s\" and \"%s\" share \"%s\"", fields[a].name, fields[b].name,
                     names[0][k / of_b]);
        }
    }
}

static void expect_distinct(uint32_t count)
{
    for (uint32_t a = 0; a < count; a++) {
        for (uint32_t b = 0; b < a; b++) {
            expect_no_shared(a, b);
        }
    }
}

static const named sets[][FIELDS_HERE] = {
    {{"image", SLUICE_FIELD_IMAGE, "", ""},
     {"seg", SLUICE_FIELD_IMAGE, "seg", "seg"},
     {"label", SLUICE_FIELD_INT, "label.txt", "cls"},
     {"age", SLUICE_FIELD_INT, "age.txt", "age.cls"},
     {"index", SLUICE_FIELD_INT, "index.txt", "index"},
     {"score", SLUICE_FIELD_FLOAT, "score.txt", "score.json"},
     {"clip", SLUICE_FIELD_TENSOR, "clip.npy", "clip.npy"},
     {"caption", SLUICE_FIELD_TEXT, "caption", "caption"}},
    /* several fields claim the suffix of the first one */
    {{"a b", SLUICE_FIELD_BYTES, "a_b", "a_b"},
     {"a:b", SLUICE_FIELD_BYTES, "a_b-2.bin", "a_b-2.bin"},
     {"a?b", SLUICE_FIELD_BYTES, "a_b-3.bin", "a_b-3.bin"}},
    {{"A", SLUICE_FIELD_TENSOR, "A.npy", "a.npy"},
     {"a", SLUICE_FIELD_TENSOR, "a-2.npy", "a-2.npy"}},
    /* "jpg" is the first extension that an image can have, "img" the last */
    {{"image", SLUICE_FIELD_IMAGE, "", ""},
     {"JPG", SLUICE_FIELD_IMAGE, "JPG-2", "jpg-2"},
     {"img", SLUICE_FIELD_BYTES, "img-2.bin", "img-2.bin"}},
    {{"x", SLUICE_FIELD_IMAGE, "", "x"}, {"jpg", SLUICE_FIELD_IMAGE, "jpg-2", "jpg"}},
    /* "cls" is the label's, even if another field has that name */
    {{"cls", SLUICE_FIELD_INT, "cls.txt", "cls-2.cls"},
     {"label", SLUICE_FIELD_INT, "label.txt", "cls"}},
};

TEST(fields_have_the_documented_suffixes)
{
    for (int form = SLUICE_UNPACK_FOLDER; form <= SLUICE_UNPACK_TAR; form++) {
        for (size_t i = 0; i < sizeof(sets) / sizeof(*sets); i++) {
            const uint32_t count = make(sets[i], (sluice_unpack_form)form);
            expect_distinct(count);
            for (uint32_t k = 0; k < count; k++) {
                assert_string_equal(suffixes.of[k],
                                    form == SLUICE_UNPACK_TAR ? sets[i][k].tar : sets[i][k].folder);
            }
        }
    }
}
