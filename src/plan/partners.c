/* SPDX-License-Identifier: Apache-2.0 */
#include "partners.h"

#include "error.h"
#include "memory.h"
#include "option_text.h"
#include "permutation.h"
#include "philox.h"

#include <string.h>

/* Separate the keys of partners from every other use of Philox. */
#define SEED_DOMAIN  0x706172746E657200U
#define DRAWN_DOMAIN 0x706172746E657201U
#define PLACE_DOMAIN 0x706172746E657202U
#define SWAP_DOMAIN  0x706172746E657203U

#define CLASSES_MAX ((uint32_t)1 << 24)

/* ---- rules ---- */

static const char *const words[] = {
    [SL_PARTNER_ANY] = "any",
    [SL_PARTNER_SAME] = "same_class",
    [SL_PARTNER_OTHER] = "other_class",
};
enum { WORDS = sizeof(words) / sizeof(*words) };

static bool partners_take_word(sl_partners *partners, const char *word, size_t length)
{
    for (uint32_t i = 0; i < WORDS && partners->count < SLUICE_PARTNERS_MAX; i++) {
        if (strlen(words[i]) == length && memcmp(words[i], word, length) == 0) {
            partners->rules[partners->count++] = (sl_partner_rule)i;
            return true;
        }
    }
    return false;
}

sluice_status sl_partners_read(sl_partners *partners, const char *text, sluice_error *error)
{
    *partners = (sl_partners){.count = 0};
    while (text != NULL && *text != '\0') {
        const size_t length = strcspn(text, ",");
        if (!partners_take_word(partners, text, length)) {
            return sl_error_set(
                error, SLUICE_INVALID, "loader",
                "option " SL_OPTION("partners") ": \"%.*s\" is not any, same_class or other_class, "
                                                "or there are more than 31",
                (int)(length < 40 ? length : 40), text);
        }
        text += length + (text[length] == ',');
    }
    return SLUICE_OK;
}

bool sl_partners_need_classes(const sl_partners *partners)
{
    bool need = false;
    for (uint32_t i = 0; i < partners->count; i++) {
        need = need || partners->rules[i] != SL_PARTNER_ANY;
    }
    return need;
}

sl_partner_rule sl_partners_rule(const sl_partners *partners, uint32_t partner)
{
    return partner <= partners->count ? partners->rules[partner - 1] : SL_PARTNER_ANY;
}

/* ---- classes ---- */

static sluice_status count_classes(sl_classes *classes, const uint32_t *of, sluice_error *error)
{
    for (uint64_t i = 0; i < classes->samples; i++) {
        if (of[i] >= CLASSES_MAX) {
            return sl_error_set(
                error, SLUICE_INVALID, "loader",
                "option " SL_OPTION(
                    "classes") " is out of range: the class of sample %llu is %u, must be below %u",
                (unsigned long long)i, of[i], CLASSES_MAX);
        }
        classes->count = of[i] >= classes->count ? of[i] + 1 : classes->count;
    }
    return SLUICE_OK;
}

/* Sorts by counting. During placement, first[c] is where the next sample of class c goes. */
static void sort_by_class(sl_classes *classes)
{
    uint64_t *first = classes->first;
    for (uint64_t i = 0; i < classes->samples; i++) {
        first[classes->of[i] + 1]++;
    }
    for (uint32_t c = 0; c < classes->count; c++) {
        first[c + 1] += first[c];
    }
    for (uint64_t i = 0; i < classes->samples; i++) {
        classes->place[i] = (uint32_t)first[classes->of[i]]++;
        classes->sorted[classes->place[i]] = (uint32_t)i;
    }
    memmove(first + 1, first, classes->count * sizeof(*first));
    first[0] = 0;
}

sluice_status sl_classes_open(sl_classes *classes, const uint32_t *of, uint64_t samples,
                              sluice_error *error)
{
    *classes = (sl_classes){.samples = samples};
    if (samples > UINT32_MAX) {
        return sl_error_set(
            error, SLUICE_INVALID, "loader",
            "option " SL_OPTION("classes") " has too many samples: must be at most 2^32 - 1");
    }
    const sluice_status status = count_classes(classes, of, error);
    if (status != SLUICE_OK) {
        return status;
    }
    classes->of = sl_calloc(samples, sizeof(*classes->of));
    classes->sorted = sl_calloc(samples, sizeof(*classes->sorted));
    classes->place = sl_calloc(samples, sizeof(*classes->place));
    classes->first = sl_calloc((size_t)classes->count + 1, sizeof(*classes->first));
    if (classes->of == NULL || classes->sorted == NULL || classes->place == NULL ||
        classes->first == NULL) {
        sl_classes_close(classes);
        return sl_no_memory(error, "loader", "for the classes of samples");
    }
    memcpy(classes->of, of, samples * sizeof(*of));
    sort_by_class(classes);
    return SLUICE_OK;
}

void sl_classes_close(sl_classes *classes)
{
    sl_free(classes->of);
    sl_free(classes->sorted);
    sl_free(classes->place);
    sl_free(classes->first);
    *classes = (sl_classes){.samples = 0};
}

/* ---- partners ---- */

uint64_t sl_partner_seed(uint64_t seed, uint32_t partner)
{
    return sl_philox_u64(seed, partner, SEED_DOMAIN);
}

/* Draws from [0, bound), with a bias below bound / 2^64. */
static uint64_t partner_below(const sl_partner_key *key, uint64_t bound)
{
    const uint64_t own = sl_philox_u64(key->seed, key->epoch, DRAWN_DOMAIN);
    const uint64_t number = ((uint64_t)key->partner << 32) | key->attempt;
    return sl_philox_u64(own, key->position, number) % bound;
}

uint64_t sl_partner_shift(const sl_order *order, uint64_t epoch, uint64_t position)
{
    uint64_t run = order->count;
    if (order->shuffle == SLUICE_SHUFFLE_BLOCK) { /* samples that are read together stay together */
        const uint64_t window =
            order->block < run / order->window ? order->block * order->window : run;
        run = window < run ? window : run;
    }
    const uint64_t first = position / run * run;
    const uint64_t rest = order->count - first;
    const uint64_t key = sl_philox_u64(order->seed, epoch, SWAP_DOMAIN);
    const sl_permutation swap =
        sl_permutation_make(rest < run ? rest : run, sl_philox_u64(key, first, 0));
    return first + sl_permutation_apply(&swap, position - first);
}

uint64_t sl_partner_anywhere(const sl_partner_key *key, uint64_t count)
{
    return partner_below(key, count);
}

static uint64_t any_but_own(uint64_t samples, const sl_partner_key *key)
{
    const uint64_t drawn = samples > 1 ? partner_below(key, samples - 1) : 0;
    return samples > 1 && drawn >= key->sample ? drawn + 1 : drawn;
}

uint64_t sl_partner_place_key(const sl_partner_key *key)
{
    const uint64_t own = sl_philox_u64(key->seed, key->epoch, PLACE_DOMAIN);
    return sl_philox_u64(own, key->position, 0);
}

uint64_t sl_partner_drawn(sl_partner_rule rule, const sl_classes *classes, uint64_t samples,
                          const sl_partner_key *key)
{
    if (rule == SL_PARTNER_ANY || classes == NULL) {
        return any_but_own(samples, key);
    }
    const uint32_t class = classes->of[key->sample];
    const uint64_t begin = classes->first[class];
    const uint64_t alike = classes->first[class + 1] - begin;
    if (rule == SL_PARTNER_SAME) {
        if (alike == 1) {
            return key->sample;
        }
        const uint64_t drawn = begin + partner_below(key, alike - 1);
        return classes->sorted[drawn >= classes->place[key->sample] ? drawn + 1 : drawn];
    }
    if (alike == samples) {
        return any_but_own(samples, key);
    }
    const uint64_t drawn = partner_below(key, samples - alike);
    return classes->sorted[drawn >= begin ? drawn + alike : drawn];
}
