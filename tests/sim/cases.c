/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include "buckets.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define KIB ((uint64_t)1 << 10)
/* Unreadable byte ranges are whole blocks of this size. */
#define BLOCK ((uint64_t)4096)
#define MS    UINT64_C(1000000)

static void draw_partners(sim_draw *draw, sim_case *of)
{
    static const char *const words[] = {"any", "same_class", "other_class"};
    size_t length = 0;
    of->members = 1 + (sim_chance(draw, 500) ? 1 + sim_below(draw, SIM_MEMBERS_MAX - 1) : 0);
    const bool by_class = sim_chance(draw, 500);
    for (uint32_t i = 1; i < of->members; i++) {
        of->rules[i] = by_class ? (sim_rule)sim_below(draw, 3) : SIM_ANY;
        length += (size_t)snprintf(of->partners + length, sizeof(of->partners) - length, "%s%s",
                                   i > 1 ? "," : "", words[of->rules[i]]);
    }
}

/* Storage fails in blocks, and readers read whole blocks: other samples in a block are lost, too.
 * Returns false if the block contains anything besides samples. */
static bool find_dead(const sim_data *data, uint32_t sample, sim_dead *dead)
{
    sim_data_place(data, sample, dead);
    dead->begin = dead->begin / BLOCK * BLOCK;
    dead->end = (dead->end + BLOCK - 1) / BLOCK * BLOCK;
    uint64_t covered = 0;
    for (uint32_t i = 0; i < data->samples; i++) {
        sim_dead other;
        sim_data_place(data, i, &other);
        const uint64_t begin = other.begin > dead->begin ? other.begin : dead->begin;
        const uint64_t end = other.end < dead->end ? other.end : dead->end;
        covered += strcmp(other.path, dead->path) == 0 && begin < end ? end - begin : 0;
    }
    return covered == dead->end - dead->begin;
}

/* Finds the unit's bytes. For packed rows, which are marked later: those of a sample. */
static void unit_place(const sim_case *of, uint32_t unit, sim_dead *place)
{
    uint32_t first = 0;
    const uint32_t sample = of->kind == SIM_WINDOWS ? sim_window_find(of, unit, &first) : unit;
    sim_data_place(of->data, sample, place);
    if (of->kind != SIM_SAMPLES) { /* only their elements are read */
        place->begin += of->data->inside[sample] + first;
        place->end =
            place->begin + (of->kind == SIM_WINDOWS ? of->length : of->data->sizes[sample]);
    }
}

static void mark_dead(sim_case *of, const sim_dead *dead)
{
    const uint32_t count = of->kind == SIM_WINDOWS ? of->units : of->data->samples;
    for (uint32_t i = 0; i < count; i++) {
        sim_dead other;
        unit_place(of, i, &other);
        if (strcmp(other.path, dead->path) == 0 && other.begin < dead->end &&
            other.end > dead->begin && !of->bad[i]) {
            of->bad[i] = true;
            of->bad_count++;
        }
    }
}

static void draw_dead(sim_draw *draw, sim_case *of, uint32_t permille)
{
    for (uint32_t i = 0; i < of->data->samples && of->dead_count < SIM_DEAD_MAX; i++) {
        sim_dead *dead = &of->dead[of->dead_count];
        if (sim_chance(draw, permille / 2) && find_dead(of->data, i, dead)) {
            dead->sys_errno = EIO;
            of->dead_count++;
            mark_dead(of, dead);
        }
    }
}

static void draw_bad(sim_draw *draw, sim_case *of)
{
    const uint32_t permille = SIM_ONE_OF(draw, 0, 0, 20, 100, 300);
    of->on_bad = (int32_t)SIM_ONE_OF(draw, SLUICE_BAD_REPLACE, SLUICE_BAD_REPLACE, SLUICE_BAD_MASK,
                                     SLUICE_BAD_FAIL);
    if (of->data->largest > BLOCK && sim_chance(draw, 300)) {
        draw_dead(draw, of, permille);
        return;
    }
    for (uint32_t i = 0; of->kind == SIM_SAMPLES && i < of->data->samples; i++) {
        of->bad[i] = of->spoilt[i] = sim_chance(draw, permille);
        of->bad_count += of->bad[i];
    }
}

/* Chooses the dataset; for cases without features it stays as drawn. */
static void draw_data(sim_draw *features, sim_case *of)
{
    if (sim_chance(features, 500)) {
        return;
    }
    of->mixed = sim_chance(features, 400);
    if (sim_chance(features, 600)) {
        of->picture = (sim_picture)(1 + sim_below(features, SIM_BUCKET));
        of->data = &sim_datas[SIM_PICTURES + sim_below(features, SIM_DATA - SIM_PICTURES)];
    }
    of->mixed = of->mixed && of->picture != SIM_BUCKET;
    if (of->mixed) {
        of->data = &sim_datas[of->picture != SIM_NO_PICTURE ? SIM_GALLERY : SIM_JOINED];
        of->weights[0] = 1 + sim_below(features, 7);
        of->weights[1] = 1 + sim_below(features, 7);
    }
}

uint32_t sim_windows_of(const sim_case *of, uint32_t sample)
{
    const uint32_t size = of->data->sizes[sample];
    return size < of->length ? 0 : (size - of->length) / of->stride + 1;
}

uint32_t sim_window_find(const sim_case *of, uint32_t window, uint32_t *first)
{
    uint32_t sample = 0;
    while (sample + 1 < of->data->samples && window >= sim_windows_of(of, sample)) {
        window -= sim_windows_of(of, sample++);
    }
    *first = window * of->stride;
    return sample;
}

static void count_units(sim_case *of)
{
    for (uint32_t i = 0; i < of->data->samples; i++) {
        const uint32_t units = of->kind == SIM_WINDOWS ? sim_windows_of(of, i) : 1;
        const bool second = of->mixed && i >= sim_datas[of->data->parts[0]].samples;
        of->sources[second] += units;
        of->units += units;
    }
}

static void draw_windows(sim_draw *features, sim_case *of)
{
    const uint32_t largest = of->data->largest;
    of->length = largest / 4;
    of->stride = of->data->fixed || sim_chance(features, 500) ? of->length : largest / 6;
    if (of->mixed) { /* each part has a few */
        of->length = sim_datas[SIM_SMALL].largest / 2;
        of->stride = largest * 5 / 18;
    }
}

static void draw_packed(sim_draw *features, sim_case *of)
{
    of->cut = (int32_t)sim_below(features, SLUICE_CUT_SPLIT + 1);
    of->length = of->cut == SLUICE_CUT_NONE ? of->data->largest : of->data->largest / 3;
}

/* Draws the kind of rows for data without images. */
static void draw_kind(sim_draw *features, sim_case *of)
{
    if (of->picture == SIM_NO_PICTURE && sim_chance(features, 250)) {
        of->kind = sim_chance(features, 500) ? SIM_WINDOWS : SIM_PACKED;
        if (of->kind == SIM_WINDOWS) {
            draw_windows(features, of);
        } else {
            draw_packed(features, of);
        }
    }
    count_units(of);
}

/* Rows that are windows or packed have no partners, and packed rows are not replaced. */
static void keep_to_kind(sim_case *of)
{
    if (of->kind == SIM_SAMPLES) {
        return;
    }
    of->members = 1;
    of->partners[0] = '\0';
    /* An epoch of a mix has only some of its rows, and the cuts of documents are unknown. */
    if (of->kind == SIM_PACKED && (of->mixed || of->cut != SLUICE_CUT_NONE)) {
        of->bad_count = of->dead_count = 0;
        memset(of->bad, 0, sizeof(of->bad));
    }
    if (of->kind == SIM_PACKED && of->shuffle == SLUICE_SHUFFLE_BLOCK) {
        of->shuffle = SLUICE_SHUFFLE_FULL;
        of->block_samples = of->window_blocks = 0;
    }
    if (of->kind == SIM_PACKED && of->on_bad == SLUICE_BAD_REPLACE) {
        of->on_bad = SLUICE_BAD_MASK;
    }
}

/* Adds the members that the image needs to those of columns with a partner. */
static void draw_picture(sim_case *of)
{
    const uint32_t members = of->picture == SIM_MOSAIC  ? SIM_MOSAIC_MEMBERS
                             : of->picture == SIM_MIXUP ? SIM_MIXUP_MEMBERS
                                                        : 1;
    of->members = of->members > members ? of->members : members;
    if (of->picture == SIM_BLEND && of->global == 1) {
        of->global = 2; /* a single row has no partner */
    }
}

static void draw_order(sim_draw *draw, sim_case *of)
{
    of->order = sim_chance(draw, 400) ? (sim_order)(1 + sim_below(draw, 3)) : SIM_PLAIN;
    if (of->order == SIM_PLAIN) {
        return;
    }
    of->shuffle = SLUICE_SHUFFLE_FULL;
    of->block_samples = of->window_blocks = 0;
    for (uint32_t i = 0; i < of->data->samples; i++) {
        of->numbers[i] = sim_below(draw, 5);
    }
    of->numbers[0] = 1; /* at least one is not 0 */
    of->rows = of->data->samples;
    if (of->order == SIM_EPISODES) {
        of->global = SIM_ONE_OF(draw, 4, 8, 12, 16);
        of->rows = SIM_EPISODE * (4 + sim_below(draw, 6));
    } else if (of->order == SIM_WEIGHTS) {
        of->rows = 12 + sim_below(draw, 40);
    }
}

sim_case sim_draw_case(sim_draw *draw)
{
    /* A separate generator, so that cases without features keep the draws of their seeds. */
    sim_draw features = {sim_mix(draw->state)};
    sim_case of = {.data = &sim_datas[sim_below(draw, SIM_DATA_PLAIN)],
                   .seed = sim_below(draw, 1000),
                   .epoch = sim_below(draw, 3),
                   .global = SIM_ONE_OF(draw, 1, 2, 4, 4, 6, 8, 12),
                   .repeats = 1};
    of.shuffle = (int32_t)SIM_ONE_OF(draw, SLUICE_SHUFFLE_FULL, SLUICE_SHUFFLE_FULL,
                                     SLUICE_SHUFFLE_BLOCK, SLUICE_SHUFFLE_NONE);
    of.last_batch = (int32_t)sim_below(draw, SLUICE_LAST_WRAP + 1);
    if (of.shuffle == SLUICE_SHUFFLE_BLOCK) {
        of.block_samples = 1 + sim_below(draw, 8);
        of.window_blocks = 1 + sim_below(draw, 4);
    }
    draw_data(&features, &of);
    draw_kind(&features, &of);
    draw_partners(draw, &of);
    draw_picture(&of);
    draw_bad(draw, &of);
    keep_to_kind(&of);
    if (of.shuffle != SLUICE_SHUFFLE_BLOCK && of.members == 1 && !of.mixed &&
        of.kind == SIM_SAMPLES && of.picture != SIM_BUCKET && sim_chance(draw, 150)) {
        of.repeats = 2 + sim_below(draw, SIM_REPEATS_MAX - 1);
    }
    of.rows = of.units * of.repeats;
    if (of.mixed && of.kind != SIM_PACKED) {
        of.rows = sim_chance(&features, 500) ? of.rows : 12 + sim_below(&features, 100);
    } else if (of.picture == SIM_BUCKET) {
        of.shuffle = of.shuffle == SLUICE_SHUFFLE_NONE ? SLUICE_SHUFFLE_NONE : SLUICE_SHUFFLE_FULL;
        of.block_samples = of.window_blocks = 0;
        of.rows = sim_bucket_steps(&of) * of.global;
    } else if (of.repeats == 1 && of.kind == SIM_SAMPLES) {
        draw_order(draw, &of);
    }
    of.device = sim_chance(&features, 300);
    return of;
}

sluice_dataset *sim_open_data(const sim_case *of)
{
    const uint32_t samples = of->kind == SIM_PACKED ? 0 : of->rows;
    return of->mixed ? sim_data_open_mix(of->data, of->weights, samples)
                     : sim_data_open_one(of->data);
}

static void draw_disk(sim_draw *draw, const sim_case *of, sim_disk_how *disk)
{
    disk->delay_ns = SIM_ONE_OF(draw, 0, 2000, 100000, 5000000);
    disk->open_ns = SIM_ONE_OF(draw, 0, 50000, 3000000);
    disk->short_permille = SIM_ONE_OF(draw, 0, 0, 30, 300);
    disk->moment_permille = SIM_ONE_OF(draw, 0, 0, 30, 300);
    disk->moments = 6;
    disk->device_permille = SIM_ONE_OF(draw, 0, 0, 20, 200);
    disk->devices = 2;
    disk->refuses_direct = sim_chance(draw, 500);
    disk->dead_count = of->dead_count;
    disk->dead = of->dead;
}

static void draw_device(sim_draw *draw, sim_how *how)
{
    how->device.used = sim_chance(draw, 700);
    how->device.delay_ns = SIM_ONE_OF(draw, 0, 20000, 1000000, 20000000);
    how->device.slots = how->held + 1 + sim_below(draw, 3);
    how->device.slots = how->device.slots < 2 ? 2 : how->device.slots;
    how->device.lost_at = sim_chance(draw, 150) ? 1 + sim_below(draw, 300) : 0;
}

sim_how sim_draw_how(sim_draw *draw, const sim_case *of)
{
    sim_how how = {.workers = SIM_ONE_OF(draw, 1, 1, 2, 3, 4),
                   .prefetch = SIM_ONE_OF(draw, 2, 2, 3, 4),
                   .depth = SIM_ONE_OF(draw, 1, 2, 4, 16),
                   .threads = 1 + sim_below(draw, 3)};
    const uint32_t unit = of->order == SIM_EPISODES ? SIM_EPISODE : 1;
    do {
        how.world = SIM_ONE_OF(draw, 1, 1, 2, 3, 4);
    } while (of->global % (how.world * unit) != 0 ||
             (of->picture == SIM_BLEND && of->global == how.world));
    how.limits.arena_bytes = SIM_ONE_OF(draw, 16, 32, 48, 64, 128, 256, 1024) * KIB;
    how.limits.arena_first_bytes = sim_chance(draw, 500) ? 16 * KIB : 0;
    how.limits.lookahead = SIM_ONE_OF(draw, 0, 0, 64, 8, 2, 1);
    how.page_cache = (int32_t)sim_below(draw, SLUICE_CACHE_DROP + 1);
    how.resident_bytes = sim_chance(draw, 500) ? 0 : 1;
    how.memory_bytes = sim_chance(draw, 300) ? (16 + 8 * sim_below(draw, 4)) * KIB * KIB : 0;
    how.fresh = sim_chance(draw, 400);
    how.ends = sim_chance(draw, 500);
    how.together = sim_chance(draw, 500);
    how.looks = sim_chance(draw, 200);
    how.slow_ns = SIM_ONE_OF(draw, 0, 0, 20000, 1000000, 30000000);
    how.held = sim_below(draw, how.prefetch);
    how.timeout_ns = sim_chance(draw, 700) ? -1 : (int64_t)(sim_below(draw, 3) * MS);
    draw_disk(draw, of, &how.disk);
    if (sim_chance(draw, 150)) {
        how.stall_ns = 1000 * MS;
        how.disk.hangs = 1 + sim_below(draw, 3);
        how.disk.hang_permille = SIM_ONE_OF(draw, 10, 100);
        how.disk.hang_ns = SIM_ONE_OF(draw, 300, 1500, 4000) * MS;
    }
    if (of->device) {
        draw_device(draw, &how);
    }
    return how;
}

void sim_spoil(const sim_case *of)
{
    for (uint32_t i = 0; i < of->data->samples; i++) {
        if (of->spoilt[i]) {
            sim_data_spoil(of->data, i);
        }
    }
}
