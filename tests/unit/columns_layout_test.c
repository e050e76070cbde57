/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Documents transformed for fill-in-the-middle: each split and form occurs as often as in a listing
 * of all draws, and so does the fraction of documents. python/tests/test_packed_fim.py tests their
 * rows.
 */
#include "document_layout.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

enum { SPLIT = 3, SHOWN = 32, FORMS_MAX = 64 };

/* A document of SPLIT elements, "012", in a form that rows may have, and its frequency. */
typedef struct form {
    char text[SHOWN];
    double share;
    uint32_t seen;
} form;

typedef struct forms {
    form of[FORMS_MAX];
    uint32_t count;
} forms;

static form *form_named(forms *all, const char *text)
{
    for (uint32_t i = 0; i < all->count; i++) {
        if (strcmp(all->of[i].text, text) == 0) {
            return &all->of[i];
        }
    }
    assert_true(all->count < FORMS_MAX);
    form *made = &all->of[all->count++];
    (void)snprintf(made->text, sizeof(made->text), "%s", text);
    return made;
}

/* Lists the results of two uniform draws of the positions 0 to SPLIT, one after the other. */
static void list_forms(forms *all, double spm)
{
    static const char whole[] = "012";
    for (int i = 0; i <= SPLIT; i++) {
        for (int k = 0; k <= SPLIT; k++) {
            const int begin = i < k ? i : k;
            const int end = i < k ? k : i;
            const int middle = end - begin;
            char text[2][SHOWN];
            (void)snprintf(text[0], SHOWN, "<P%.*sS%sM%.*s>", begin, whole, whole + end, middle,
                           whole + begin);
            (void)snprintf(text[1], SHOWN, "<PS%sM%.*s%.*s>", whole + end, begin, whole, middle,
                           whole + begin);
            form_named(all, text[0])->share += (1 - spm) / 16;
            form_named(all, text[1])->share += spm / 16;
        }
    }
}

static void show(const sl_document_layout *layout, uint64_t length, char text[SHOWN])
{
    static const char ids[SL_IDS] = {'<', '>', 'P', 'M', 'S'};
    assert_true(length < SHOWN);
    for (uint64_t at = 0; at < length; at++) {
        const sl_layout_run run = sl_document_layout_at(layout, at, length - at);
        const char *shown = run.id == SL_ID_NONE ? &"012"[run.first] : &ids[run.id];
        text[at] = *shown;
    }
    text[length] = '\0';
}

TEST(documents_are_split_evenly)
{
    enum { ROUNDS = 16000, DEVIATIONS = 5 };
    const sl_document_rule rule = {.ids = (1U << SL_IDS) - 1, .fim_rate = 1, .fim_spm = 0.25};
    static forms all;
    list_forms(&all, rule.fim_spm);
    const uint32_t known = all.count;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        sl_document_piece piece = {.document = round % 8, .count = 1};
        char text[SHOWN];
        sl_document_measure(&rule, 5, SPLIT + 5, &piece);
        assert_true(piece.mixed);
        assert_int_equal(piece.stored, SPLIT);
        const sl_document_layout layout = sl_document_layout_make(&rule, &piece, 5, round / 8);
        show(&layout, piece.length, text);
        form_named(&all, text)->seen++;
    }
    assert_int_equal(all.count, known); /* no others */
    for (uint32_t i = 0; i < known; i++) {
        const double expected = ROUNDS * all.of[i].share;
        const double off = all.of[i].seen - expected;
        assert_true(off * off < DEVIATIONS * DEVIATIONS * expected);
    }
}

TEST(a_share_of_documents_is_transformed)
{
    enum { DOCUMENTS = 20000 };
    for (int tenths = 0; tenths <= 10; tenths++) {
        const sl_document_rule rule = {.ids = 1U << SL_ID_EOS, .fim_rate = tenths * 0.1};
        uint32_t transformed = 0;
        for (uint64_t i = 0; i < DOCUMENTS; i++) {
            const uint32_t extra = sl_document_extra(&rule, 9, i);
            assert_true(extra == 1 || extra == sl_document_extra_most(&rule));
            transformed += extra == 4;
        }
        assert_in_range(transformed, DOCUMENTS / 10 * tenths - (tenths % 10 > 0 ? 300 : 0),
                        DOCUMENTS / 10 * tenths + (tenths % 10 > 0 ? 300 : 0));
    }
}
