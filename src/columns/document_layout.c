/* SPDX-License-Identifier: Apache-2.0 */
/* Makes layouts, run by run, without empty runs. */
#include "document_layout.h"

#include "fnv.h"
#include "minmax.h"
#include "philox.h"

#include <assert.h>
#include <string.h>

/* Streams of random numbers, beside those of images and of parts (subvolume.c). */
enum { OPERATION_TRANSFORMED = 65533, OPERATION_SPLIT = 65534 };
enum { FIM_IDS = 3 };

/* Draws whether a document is transformed: the same in every epoch. */
static bool is_transformed(const sl_document_rule *rule, uint64_t seed, uint64_t document)
{
    if (rule->fim_rate == 0) {
        return false;
    }
    sl_random random = sl_random_for(seed, 0, document, OPERATION_TRANSFORMED);
    return sl_random_unit(&random) < rule->fim_rate;
}

static uint32_t extra_of(const sl_document_rule *rule, bool transformed)
{
    const uint32_t ends = sl_rule_has(rule, SL_ID_BOS) + (uint32_t)sl_rule_has(rule, SL_ID_EOS);
    return ends + (transformed ? FIM_IDS : 0);
}

uint32_t sl_document_extra(const sl_document_rule *rule, uint64_t seed, uint64_t document)
{
    return extra_of(rule, is_transformed(rule, seed, document));
}

uint32_t sl_document_extra_most(const sl_document_rule *rule)
{
    return extra_of(rule, rule->fim_rate > 0);
}

void sl_document_measure(const sl_document_rule *rule, uint64_t seed, uint64_t length,
                         sl_document_piece *piece)
{
    piece->mixed = is_transformed(rule, seed, piece->document);
    piece->length = length;
    piece->stored = length - extra_of(rule, piece->mixed);
    piece->before = sl_rule_has(rule, SL_ID_BOS);
    assert(length > extra_of(rule, piece->mixed));
}

static void add_id(sl_document_layout *layout, const sl_document_rule *rule, uint32_t id)
{
    if (sl_rule_has(rule, id)) {
        layout->runs[layout->count++] = (sl_layout_run){.id = id, .count = 1};
    }
}

static void add_stored(sl_document_layout *layout, uint64_t first, uint64_t end)
{
    if (end > first) {
        layout->runs[layout->count++] =
            (sl_layout_run){.id = SL_ID_NONE, .first = first, .count = end - first};
    }
}

/* Splits like Megatron-LM's GPTFIMDataset: at two positions of the document, its ends among them,
 * each drawn uniformly. */
static void add_transformed(sl_document_layout *layout, const sl_document_rule *rule,
                            uint64_t stored, sl_random *random)
{
    const uint32_t one = sl_random_below(random, (uint32_t)stored + 1);
    const uint32_t other = sl_random_below(random, (uint32_t)stored + 1);
    const uint64_t begin = sl_min_u64(one, other); /* of the middle */
    const uint64_t end = sl_max_u64(one, other);
    const bool suffix_first = sl_random_unit(random) < rule->fim_spm;
    add_id(layout, rule, SL_ID_FIM_PREFIX);
    if (!suffix_first) {
        add_stored(layout, 0, begin);
    }
    add_id(layout, rule, SL_ID_FIM_SUFFIX);
    add_stored(layout, end, stored);
    add_id(layout, rule, SL_ID_FIM_MIDDLE);
    add_stored(layout, suffix_first ? 0 : begin, end);
}

sl_document_layout sl_document_layout_make(const sl_document_rule *rule,
                                           const sl_document_piece *piece, uint64_t seed,
                                           uint64_t epoch)
{
    sl_document_layout layout = {.count = 0};
    add_id(&layout, rule, SL_ID_BOS);
    if (piece->mixed) {
        sl_random random = sl_random_for(seed, epoch, piece->document, OPERATION_SPLIT);
        add_transformed(&layout, rule, piece->stored, &random);
    } else {
        add_stored(&layout, 0, piece->stored);
    }
    add_id(&layout, rule, SL_ID_EOS);
    assert(layout.count <= SL_LAYOUT_MAX);
    return layout;
}

sl_layout_run sl_document_layout_at(const sl_document_layout *layout, uint64_t at, uint64_t most)
{
    uint32_t i = 0;
    while (at >= layout->runs[i].count) {
        at -= layout->runs[i++].count;
        assert(i < layout->count);
    }
    sl_layout_run part = layout->runs[i];
    part.first += at;
    part.count = sl_min_u64(part.count - at, most);
    return part;
}

static uint64_t bits_of(double share)
{
    uint64_t bits;
    memcpy(&bits, &share, sizeof(bits));
    return bits;
}

uint64_t sl_document_rule_hash(const sl_document_rule *rule, uint64_t seed)
{
    uint64_t hash = sl_fnv1a(SL_FNV1A_BEGIN, rule->ids);
    for (uint32_t i = 0; i < SL_IDS; i++) {
        hash = sl_fnv1a(hash, (uint64_t)rule->id[i]);
    }
    if (rule->fim_rate > 0) {
        hash = sl_fnv1a(sl_fnv1a(hash, bits_of(rule->fim_rate)), bits_of(rule->fim_spm));
        hash = sl_fnv1a(hash, seed);
    }
    return rule->ids != 0 ? hash | 1 : 0;
}
