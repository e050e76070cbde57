/* SPDX-License-Identifier: Apache-2.0 */
/*
 * partners: which other samples a row has, besides its own.
 *
 * Purpose: a row may read several samples: the tiles of a mosaic, an image to paste or blend, the
 * positive and the negative of a triplet. Partner j (1 ..) of position p of an epoch is a function
 * of (seed, epoch, p, j), by the rule of j:
 *   any          a separate order of all samples for each j, of the epoch's kind (full and none:
 *                full; block: block), so that each sample is partner j once an epoch, over all
 * ranks together. For a mix, its positions in another order, so that partners come from all sources
 * by their weights; same class   another sample of the class of the row's own, each equally likely;
 * without another, the sample itself; other class  a sample of all other classes, each equally
 * likely; without any, any other sample. Attempt 1 .. replaces a bad partner: another draw of the
 * same rule. For the same class, the loader takes them from one permutation, so that no two members
 * of a row get the same sample if there are others. A class index is built once from the classes of
 * all samples, by counting: 8 bytes a sample and a class. Threads: pure; an index is immutable once
 * made.
 */
#ifndef SL_PARTNERS_H
#define SL_PARTNERS_H

#include "order.h"

#include <sluice/common.h>
#include <sluice/options.h>

#include <stdbool.h>

typedef enum sl_partner_rule { SL_PARTNER_ANY, SL_PARTNER_SAME, SL_PARTNER_OTHER } sl_partner_rule;

/* Rules by partner number minus 1. */
typedef struct sl_partners {
    uint32_t count; /* number of rules given; the others are ANY */
    sl_partner_rule rules[SLUICE_PARTNERS_MAX];
} sl_partners;

/* Reads the words "any", "same_class", "other_class", separated by commas; NULL: none. INVALID
 * names the word. */
sluice_status sl_partners_read(sl_partners *partners, const char *text, sluice_error *error);
/* Returns whether a rule looks at classes. */
bool sl_partners_need_classes(const sl_partners *partners);
sl_partner_rule sl_partners_rule(const sl_partners *partners, uint32_t partner);

typedef struct sl_classes {
    uint64_t samples;
    uint32_t count;   /* of classes, those without a sample included */
    uint32_t *of;     /* of each sample */
    uint32_t *sorted; /* samples by class, */
    uint64_t *first;  /* that of class c is at first[c], the last before first[c + 1] */
    uint32_t *place;  /* of each sample, in `sorted` */
} sl_classes;

/* Copies `of` and indexes it. Errors: INVALID: a class is not below 2^24, or 2^32 samples or
 * more; NOMEM. A zeroed one may be closed. */
sluice_status sl_classes_open(sl_classes *classes, const uint32_t *of, uint64_t samples,
                              sluice_error *error);
void sl_classes_close(sl_classes *classes);

/* Values that a partner depends on. */
typedef struct sl_partner_key {
    uint64_t seed, epoch, position;
    uint64_t sample; /* the row's own */
    uint32_t partner, attempt;
} sl_partner_key;

/* Returns the seed of the order that partners `partner` of rule ANY are taken from. */
uint64_t sl_partner_seed(uint64_t seed, uint32_t partner);
/* Returns where the partner of rule ANY for `position` of a mix is: `order` is the partner's, of
 * that seed. The source at a position of a mix does not depend on its seed, so at the same
 * position partners would always be from the row's own source. Permutes the positions: all of
 * them, or within runs of block x window. */
uint64_t sl_partner_shift(const sl_order *order, uint64_t epoch, uint64_t position);
/* Returns any position of `count`, for an attempt at a partner of rule ANY. */
uint64_t sl_partner_anywhere(const sl_partner_key *key, uint64_t count);
/* Returns the key of the permutation of a class from which substitutes for members of a row are
 * taken; ignores partner, attempt and sample. */
uint64_t sl_partner_place_key(const sl_partner_key *key);
/* Draws a partner by one of the other rules, or ANY with an attempt above 0. `classes` may be
 * NULL for ANY, of `samples` samples. */
uint64_t sl_partner_drawn(sl_partner_rule rule, const sl_classes *classes, uint64_t samples,
                          const sl_partner_key *key);

#endif
