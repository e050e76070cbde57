/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packing_bench: measures planning of packed sequences from lengths only; reads no document.
 *
 *     packing_bench [DOCUMENTS [LENGTH [ALIGN [WINDOW [none|long|split [RANKS [ROWS [MOST]]]]]]]]
 *
 * DOCUMENTS [1000000] of a lognormal distribution (5.9, 1.2), at most MOST [32] in a row of LENGTH
 * [2048]. Prints one line each for opening, where several threads count the rows of all windows,
 * and for an epoch of all rows in their drawn order on one thread: CPU ns per document, documents/s
 * and tokens/s of a core. Then the result of packing. Last, levelling of steps of RANKS [8] ranks
 * with ROWS [4] rows each, with windows already planned: CPU ns per row of a step on all ranks, and
 * the largest rank's cost relative to the mean, without and with levelling. bench/packing_greedy.py
 * packs the same distribution from a buffer, in Python.
 */
#include "level.h"
#include "packed_order.h"
#include "packing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_PIECES = 1024, RUN = 256 };

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double draw_unit(uint64_t *state)
{
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    return ((double)(*state >> 33) + 0.5) / 2147483648.0;
}

static uint32_t *draw_lengths(uint64_t documents)
{
    uint64_t state = 1;
    uint32_t *lengths = malloc(documents * sizeof(*lengths));
    for (uint64_t i = 0; i < documents && lengths != NULL; i++) {
        const double radius = sqrt(-2 * log(draw_unit(&state)));
        const double normal = radius * cos(6.283185307179586 * draw_unit(&state));
        lengths[i] = (uint32_t)exp(5.9 + 1.2 * normal);
    }
    return lengths;
}

static void print_speed(const char *what, const sl_packing_facts *facts, double seconds)
{
    printf("%-8s %6.1f ns per document, %6.2f M documents/s, %6.2f G tokens/s\n", what,
           seconds * 1e9 / (double)facts->documents, (double)facts->documents / seconds / 1e6,
           (double)facts->tokens / seconds / 1e9);
}

static void print_facts(const sl_packing_facts *facts, const sl_packing_shape *shape)
{
    const double space = (double)facts->rows * (double)shape->length;
    printf("%llu rows, padding %.3f %% (align %.3f %%), cut %.2f %% of documents, closed %.2f %% "
           "of rows\n",
           (unsigned long long)facts->rows,
           100 * (double)(facts->align_padding + facts->end_padding) / space,
           100 * (double)facts->align_padding / space,
           100 * (double)facts->cut / (double)facts->documents,
           100 * (double)facts->closed / (double)facts->rows);
}

/* Plans all rows of epoch 0. The sum keeps the compiler from removing the loop. */
static uint64_t read_epoch(const sl_packed_rows *packing)
{
    uint64_t rows[RUN];
    static sl_packed_piece pieces[MOST_PIECES];
    uint64_t sum = 0;
    const uint64_t count = sl_packing_facts_of(packing)->rows;
    const sl_order_source source = {.kind = &sl_packed_order, .set = packing, .count = count};
    const sl_order order = sl_order_of(&source, 1, 0);
    for (uint64_t first = 0; first < count; first += RUN) {
        const uint32_t run = count - first < RUN ? (uint32_t)(count - first) : RUN;
        sl_order_samples(&order, first, run, rows);
        for (uint32_t i = 0; i < run; i++) {
            const uint32_t found = sl_packing_pieces(packing, rows[i], 0, UINT32_MAX, pieces);
            sum += pieces[found - 1].count;
        }
    }
    return sum;
}

/* ---- levelling ---- */

/* Sums over all steps. */
typedef struct level_sums {
    double seconds;
    double plain, level; /* cost of the most expensive rank */
    double mean;
} level_sums;

static void add_step(level_sums *sums, const sl_level *level, uint32_t batch)
{
    double plain = 0;
    double leveled = 0;
    double all = 0;
    for (uint32_t r = 0; r < level->world; r++) {
        double own = 0;
        for (uint32_t i = 0; i < batch; i++) {
            own += (double)level->costs[r * batch + i];
        }
        plain = own > plain ? own : plain;
        leveled = fmax(leveled, (double)level->ranks[r].sum);
        all += own;
    }
    sums->plain += plain;
    sums->level += leveled;
    sums->mean += all / level->world;
}

static int level_epoch(const sl_packed_rows *packing, uint32_t world, uint32_t batch)
{
    const sl_order_source source = {
        .kind = &sl_packed_order, .set = packing, .count = sl_packing_facts_of(packing)->rows};
    const sl_plan plan = {.order = sl_order_of(&source, 1, 0), .batch = batch, .world = world};
    const uint64_t steps = sl_plan_steps(&plan);
    uint32_t *places = malloc(batch * sizeof(*places));
    level_sums sums = {0};
    sl_level level;
    if (places == NULL ||
        sl_level_open(&level, (uint64_t)world * batch, world, NULL) != SLUICE_OK) {
        (void)fprintf(stderr, "packing_bench: out of memory\n");
        free(places);
        return 1;
    }
    for (uint64_t step = 0; step < steps; step++) {
        sl_level_step(&level, &plan, step, places); /* plans windows */
        const double start = cpu_seconds();
        sl_level_step(&level, &plan, step, places);
        sums.seconds += cpu_seconds() - start;
        add_step(&sums, &level, batch);
    }
    printf("level    %6.1f ns per row of %u x %u, largest cost over the mean: plain %.3f, level "
           "%.3f (%llu steps)\n",
           sums.seconds * 1e9 / (double)(steps * world * batch), world, batch,
           sums.plain / sums.mean, sums.level / sums.mean, (unsigned long long)steps);
    sl_level_close(&level);
    free(places);
    return 0;
}

static int run_bench(const sl_packing_shape *shape, uint64_t documents, uint32_t world,
                     uint32_t batch)
{
    sluice_error error = SLUICE_ERROR_INIT;
    sl_packed_rows *packing;
    uint32_t *lengths = draw_lengths(documents);
    if (lengths == NULL) {
        (void)fprintf(stderr, "packing_bench: out of memory\n");
        return 1;
    }
    const sl_packing_source source = {
        .lengths = sl_packing_lengths_of_array(lengths, documents), .seed = 1, .shuffled = true};
    double start = cpu_seconds();
    if (sl_packing_open(&packing, shape, &source, &error) != SLUICE_OK) {
        (void)fprintf(stderr, "packing_bench: %s\n", error.text);
        free(lengths);
        return 1;
    }
    const sl_packing_facts *facts = sl_packing_facts_of(packing);
    print_speed("opening", facts, cpu_seconds() - start);
    start = cpu_seconds();
    const uint64_t sum = read_epoch(packing);
    print_speed("epoch", facts, cpu_seconds() - start);
    print_facts(facts, shape);
    const int status = level_epoch(packing, world, batch);
    sl_packing_close(packing);
    free(lengths);
    return status != 0 || sum == 0;
}

static uint64_t number_of(char **argv, int argc, int place, uint64_t usual)
{
    return place < argc ? strtoull(argv[place], NULL, 10) : usual;
}

int main(int argc, char **argv)
{
    static const char *const cuts[] = {"none", "long", "split"};
    sl_packing_shape shape = {.length = number_of(argv, argc, 2, 2048),
                              .max_documents = (uint32_t)number_of(argv, argc, 8, 32),
                              .align = (uint32_t)number_of(argv, argc, 3, 1),
                              .unit = 1,
                              .window = (uint32_t)number_of(argv, argc, 4, SL_PACKING_WINDOW),
                              .cut = SL_PACKING_CUT_LONG};
    for (int i = 0; i < 3 && argc > 5; i++) {
        shape.cut = strcmp(argv[5], cuts[i]) == 0 ? (sl_packing_cut)i : shape.cut;
    }
    if (shape.max_documents > MOST_PIECES) {
        (void)fprintf(stderr, "packing_bench: at most %d documents per row\n", MOST_PIECES);
        return 1;
    }
    return run_bench(&shape, number_of(argv, argc, 1, 1000000),
                     (uint32_t)number_of(argv, argc, 6, 8), (uint32_t)number_of(argv, argc, 7, 4));
}
