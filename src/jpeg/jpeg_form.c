/* SPDX-License-Identifier: Apache-2.0 */
#include "jpeg_form.h"

#include "jpeg_frame.h"

enum {
    /* picoseconds */
    SET = 1000000,    /* to make the tables of a pair of codes */
    MISFIT = 10000,   /* per byte above the shortest codes: words too long for the tables */
    TILES = 400000,   /* to set up a second lane and more intervals */
    ONE_PIECE = 1250, /* per byte if nothing is skipped or decoded in parallel */
    WORTH = 200000,   /* minimum gain of a new form: the estimate is not exact */

    /* a code with all these symbols was not made for one image */
    DC_SYMBOLS = 12,
    AC_SYMBOLS = 162,
    END_MARKER_BYTES = 2
};

uint64_t sl_jpeg_form_cost(const sl_jpeg_form *form)
{
    const uint64_t misfit =
        form->coded_bytes > form->least_bytes ? form->coded_bytes - form->least_bytes : 0;
    return (uint64_t)form->own_sets * SET + misfit * MISFIT +
           (form->tiled ? TILES : form->least_bytes * ONE_PIECE);
}

static bool jpeg_form_count(const sl_jpeg_subject *s)
{
    return sl_jpeg_counts_take(s->counts, s->out, s->in, s->coefficients, s->out->restart_interval);
}

sl_jpeg_verdict sl_jpeg_form_smallest(const sl_jpeg_subject *subject)
{
    sl_jpeg_codes codes;
    subject->out->restart_interval = subject->interval;
    if (!jpeg_form_count(subject)) {
        return SL_JPEG_TOO_BIG;
    }
    sl_jpeg_codes_best(&codes, subject->counts);
    sl_jpeg_codes_set(&codes, subject->counts, subject->out);
    return SL_JPEG_WRITE;
}

/* Returns whether jpeg_frame.h would accept it; libjpeg decodes other images, and keeps no
 * tables. */
static bool is_for_kernels(const struct jpeg_decompress_struct *in)
{
    const jpeg_component_info *parts = in->comp_info;
    if (in->num_components == 1) {
        return in->jpeg_color_space == JCS_GRAYSCALE;
    }
    return in->num_components == SL_JPEG_FRAME_COMPONENTS && in->jpeg_color_space == JCS_YCbCr &&
           parts[0].h_samp_factor <= 2 && parts[0].v_samp_factor <= 2 &&
           parts[1].h_samp_factor == 1 && parts[1].v_samp_factor == 1 &&
           parts[2].h_samp_factor == 1 && parts[2].v_samp_factor == 1;
}

static uint32_t mcus_of(const struct jpeg_decompress_struct *in)
{
    const jpeg_component_info *parts = in->comp_info;
    if (in->num_components == 1) {
        return parts[0].width_in_blocks * parts[0].height_in_blocks;
    }
    const JDIMENSION width = (JDIMENSION)in->max_h_samp_factor * DCTSIZE;
    const JDIMENSION height = (JDIMENSION)in->max_v_samp_factor * DCTSIZE;
    return (in->image_width + width - 1) / width * ((in->image_height + height - 1) / height);
}

/* Returns the entropy-coded bytes of the counted image with `codes`. */
static uint64_t coded_bytes(const sl_jpeg_subject *s, const sl_jpeg_codes *codes)
{
    const uint32_t interval = s->out->restart_interval;
    const uint32_t markers = interval > 0 ? (mcus_of(s->in) - 1) / interval : 0;
    /* a marker has two bytes, after a few padding bits */
    return sl_jpeg_codes_bytes(codes, s->counts) + (uint64_t)markers * 5 / 2;
}

/* Returns the number of bytes in [begin, end) without the zeros after FF. */
static uint64_t unstuffed_bytes(sl_bytes jpeg, size_t begin, size_t end)
{
    uint64_t stuffed = 0;
    for (size_t i = begin; i + 1 < end; i++) {
        stuffed += jpeg.data[i] == 0xFF && jpeg.data[i + 1] == 0;
    }
    return end - begin - stuffed;
}

static size_t symbols_of(const sl_huffman_code *code)
{
    size_t symbols = 0;
    for (int length = 1; length <= 16; length++) {
        symbols += code->bits[length];
    }
    return symbols;
}

static uint32_t own_sets_of(const sl_jpeg_frame *frame)
{
    uint32_t sets = 0;
    for (uint32_t i = 0; i < frame->component_count && i < 2; i++) {
        const sl_jpeg_frame_component *component = &frame->components[i];
        sets += symbols_of(&component->dc) < DC_SYMBOLS || symbols_of(&component->ac) < AC_SYMBOLS;
    }
    return sets;
}

/* Finds the bytes and tables of the original image, if it could be kept: our kernels decode it,
 * it has the wanted intervals, nothing follows it, and it has nothing that should not be stored. */
static bool has_form(const sl_jpeg_subject *s, sl_jpeg_form *form)
{
    sl_jpeg_frame frame;
    if (!sl_jpeg_frame_read(&frame, s->jpeg) || frame.interval != s->out->restart_interval ||
        (s->drop && frame.has_more)) {
        return false;
    }
    const size_t mark = sl_scratch_mark(s->scratch);
    sl_jpeg_tiles tiles = sl_jpeg_frame_tiles(&frame);
    const bool found = sl_jpeg_tiles_find(&tiles, s->jpeg, frame.scan, s->scratch);
    const size_t end = found ? tiles.spans[tiles.count - 1].end : frame.scan;
    sl_scratch_release(s->scratch, mark);
    form->coded_bytes = unstuffed_bytes(s->jpeg, frame.scan, end);
    form->own_sets = own_sets_of(&frame);
    return found && end + END_MARKER_BYTES == s->jpeg.size;
}

/* Counts with this interval, and makes the shortest codes. */
static bool try_interval(const sl_jpeg_subject *s, uint32_t interval, sl_jpeg_codes *own,
                         sl_jpeg_form *form)
{
    s->out->restart_interval = interval;
    if (!jpeg_form_count(s)) {
        return false;
    }
    sl_jpeg_codes_best(own, s->counts);
    const uint64_t least = coded_bytes(s, own);
    *form = (sl_jpeg_form){.coded_bytes = least,
                           .least_bytes = least,
                           .own_sets = s->in->num_components == 1 ? 1 : 2,
                           .tiled = interval > 0};
    return true;
}

/* Does the same with the wanted interval if that is faster, else without intervals. */
static bool jpeg_form_choose_interval(const sl_jpeg_subject *s, sl_jpeg_codes *own,
                                      sl_jpeg_form *form)
{
    const bool several = s->interval < mcus_of(s->in);
    if (!try_interval(s, several ? s->interval : 0, own, form)) {
        return false;
    }
    sl_jpeg_form whole = *form;
    whole.tiled = false;
    return !several || sl_jpeg_form_cost(form) < sl_jpeg_form_cost(&whole) ||
           try_interval(s, 0, own, form);
}

sl_jpeg_verdict sl_jpeg_form_fastest(const sl_jpeg_subject *subject)
{
    sl_jpeg_codes usual;
    sl_jpeg_codes own;
    sl_jpeg_form with_own;
    if (!is_for_kernels(subject->in)) {
        return sl_jpeg_form_smallest(subject);
    }
    if (!jpeg_form_choose_interval(subject, &own, &with_own)) {
        return SL_JPEG_TOO_BIG;
    }
    sl_jpeg_codes_of(&usual, subject->out);
    sl_jpeg_form with_usual = with_own;
    with_usual.coded_bytes = coded_bytes(subject, &usual);
    with_usual.own_sets = 0;
    sl_jpeg_form at_hand = with_own;
    const bool take_own = sl_jpeg_form_cost(&with_own) < sl_jpeg_form_cost(&with_usual);
    const uint64_t least = sl_jpeg_form_cost(take_own ? &with_own : &with_usual);
    if (has_form(subject, &at_hand) && sl_jpeg_form_cost(&at_hand) <= least + WORTH) {
        return SL_JPEG_LEAVE;
    }
    if (take_own) {
        sl_jpeg_codes_set(&own, subject->counts, subject->out);
    }
    return SL_JPEG_WRITE;
}
