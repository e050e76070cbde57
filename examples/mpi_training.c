/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_training: data-parallel training of a small classifier under mpirun, or srun --mpi=pmix.
 *
 *     mpirun -n 4 mpi_training FOLDER [EPOCHS [CHECKPOINT [DIE-AT]]]
 *     mpirun -n 3 mpi_training FOLDER 2 CHECKPOINT
 *
 * The library does not use MPI: it reads the rank from the launcher's variables. Rank 0 saves model
 * and cursor in CHECKPOINT every two steps. A run that finds the file resumes from it: bit for bit
 * with the same number of ranks, and with each sample once per epoch with more or fewer. The last
 * rank kills itself at step DIE-AT. With MODEL_PARALLEL=K, K consecutive ranks get the same
 * batches, as ranks that hold parts of one model need. The program fails if the ranks' steps,
 * cursors or weights differ, or if they together did not read each sample of an epoch once.
 */
#include <inttypes.h>
#include <math.h>
#include <mpi.h>
#include <signal.h>
#include <sluice/sluice.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 16, INPUTS = SIDE * SIDE * 3 + 1, CLASSES_MAX = 100, SAVE_EVERY = 2 };

static struct {
    sluice_dataset *data;
    sluice_loader *loader;
    sluice_ranks ranks; /* of the data: fewer than MPI's with MODEL_PARALLEL */
    int rank, size;     /* MPI's */
    uint32_t group;     /* ranks that get the same batches */
    uint64_t samples;
    uint32_t classes;
    unsigned char *seen; /* reads of each sample in this epoch, on this rank; for the check */
    float weights[CLASSES_MAX][INPUTS], gradient[CLASSES_MAX][INPUTS];
} run;

static void stop(const char *text)
{
    fprintf(stderr, "rank %d: %s\n", run.rank, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

static void check(sluice_status status, const sluice_error *error)
{
    char text[1200];
    if (status < 0 && error == NULL) {
        stop(sluice_status_name(status));
    } else if (status < 0) {
        sluice_error_format(error, text, sizeof(text));
        stop(text);
    }
}

/* Stops unless every rank has the same bytes; returns a hash of them. */
static uint64_t check_same(const void *bytes, size_t size, const char *what)
{
    uint64_t hash[2] = {14695981039346656037U, 0}; /* FNV-1a, and its complement */
    uint64_t least[2];
    for (size_t i = 0; i < size; i++) {
        hash[0] = (hash[0] ^ ((const unsigned char *)bytes)[i]) * 1099511628211U;
    }
    hash[1] = ~hash[0];
    MPI_Allreduce(hash, least, 2, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD);
    if (least[0] != ~least[1]) {
        stop(what);
    }
    return hash[0];
}

/* ---- the checkpoint: one file, with one cursor for all ranks ---- */

static void save(const char *path)
{
    unsigned char cursor[SLUICE_CURSOR_BYTES] = {0};
    unsigned char *all = calloc(run.samples, 1);
    char part[4096];
    size_t bytes = sizeof(cursor);
    check(sluice_loader_save(run.loader, cursor, &bytes), NULL);
    check_same(cursor, bytes, "cursors differ");
    MPI_Reduce(run.seen, all, (int)run.samples, MPI_UNSIGNED_CHAR, MPI_SUM, 0, MPI_COMM_WORLD);
    if (run.rank == 0) {
        snprintf(part, sizeof(part), "%s.part", path);
        FILE *file = fopen(part, "wb");
        if (file == NULL || fwrite(&bytes, sizeof(bytes), 1, file) != 1 ||
            fwrite(cursor, bytes, 1, file) != 1 || fwrite(all, run.samples, 1, file) != 1 ||
            fwrite(run.weights, sizeof(run.weights), 1, file) != 1 || fclose(file) != 0 ||
            rename(part, path) != 0) {
            stop("cannot write the checkpoint");
        }
    }
    free(all);
}

/* Returns the epoch to resume in. */
static uint64_t load(const char *path)
{
    unsigned char cursor[SLUICE_CURSOR_BYTES];
    size_t bytes = 0;
    uint64_t epoch = 0;
    sluice_error error = SLUICE_ERROR_INIT;
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return 0;
    }
    if (fread(&bytes, sizeof(bytes), 1, file) != 1 || bytes > sizeof(cursor) ||
        fread(cursor, bytes, 1, file) != 1 || fread(run.seen, run.samples, 1, file) != 1 ||
        fread(run.weights, sizeof(run.weights), 1, file) != 1) {
        stop("the checkpoint is damaged");
    }
    fclose(file);
    if (sluice_loader_restore(run.loader, cursor, bytes, &epoch) < 0) {
        check(sluice_loader_get_error(run.loader, &error), &error);
    }
    if (run.rank != 0) {
        memset(run.seen, 0, run.samples); /* samples before the checkpoint count on rank 0 only */
    } else {
        printf("resuming in epoch %" PRIu64 "\n", epoch);
    }
    return epoch;
}

/* ---- training ---- */

/* Adds one row's gradient of the cross entropy. */
static void add_row(const float *pixels, int64_t label)
{
    float exponents[CLASSES_MAX];
    float sum = 0;
    for (uint32_t c = 0; c < run.classes; c++) {
        const float *weights = run.weights[c];
        float value = weights[INPUTS - 1];
        for (int i = 0; i < INPUTS - 1; i++) {
            value += weights[i] * pixels[i];
        }
        exponents[c] = expf(fminf(value, 50));
        sum += exponents[c];
    }
    for (uint32_t c = 0; c < run.classes; c++) {
        float *gradient = run.gradient[c];
        const float error = exponents[c] / sum - (c == label ? 1.0F : 0.0F);
        for (int i = 0; i < INPUTS - 1; i++) {
            gradient[i] += error * pixels[i];
        }
        gradient[INPUTS - 1] += error;
    }
}

static void train_step(sluice_batch *batch)
{
    sluice_tensor image = SLUICE_TENSOR_INIT;
    sluice_tensor label = SLUICE_TENSOR_INIT;
    sluice_tensor index = SLUICE_TENSOR_INIT;
    sluice_tensor mask = SLUICE_TENSOR_INIT;
    check(sluice_batch_tensor(batch, "image", &image), NULL);
    check(sluice_batch_tensor(batch, "label", &label), NULL);
    check(sluice_batch_tensor(batch, "index", &index), NULL);
    check(sluice_batch_tensor(batch, "mask", &mask), NULL);
    float rows = 0;
    memset(run.gradient, 0, sizeof(run.gradient));
    for (uint32_t row = 0; row < sluice_batch_rows(batch); row++) {
        if (((const uint8_t *)mask.data)[row] == 0) {
            continue; /* a row added to the last batch */
        }
        add_row((const float *)image.data + (size_t)row * (INPUTS - 1),
                ((const int64_t *)label.data)[row]);
        rows++;
        if ((uint32_t)run.rank % run.group == 0) {
            run.seen[((const int64_t *)index.data)[row]]++;
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, run.gradient, (int)run.classes * INPUTS, MPI_FLOAT, MPI_SUM,
                  MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &rows, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    for (uint32_t c = 0; c < run.classes; c++) {
        for (int i = 0; i < INPUTS; i++) {
            run.weights[c][i] -= 0.01F * run.gradient[c][i] / rows;
        }
    }
}

static void check_group(sluice_batch *batch, MPI_Comm group)
{
    sluice_tensor image = SLUICE_TENSOR_INIT;
    check(sluice_batch_tensor(batch, "image", &image), NULL);
    unsigned char *first = malloc(image.size_bytes + 1);
    memcpy(first, image.data, image.size_bytes);
    MPI_Bcast(first, (int)image.size_bytes, MPI_BYTE, 0, group);
    if (memcmp(first, image.data, image.size_bytes) != 0) {
        stop("ranks of one model have different batches");
    }
    free(first);
}

static void end_epoch(uint64_t epoch, uint64_t steps)
{
    unsigned char *all = calloc(run.samples, 1);
    uint64_t once = 0;
    check_same(&steps, sizeof(steps), "steps differ");
    MPI_Allreduce(run.seen, all, (int)run.samples, MPI_UNSIGNED_CHAR, MPI_SUM, MPI_COMM_WORLD);
    for (uint64_t i = 0; i < run.samples; i++) {
        once += all[i] == 1;
    }
    if (once != run.samples) {
        stop("not every sample was read exactly once");
    }
    if (run.rank == 0) {
        printf("epoch %" PRIu64 ": %" PRIu64 " steps on each rank, each of %" PRIu64
               " samples once\n",
               epoch, steps, run.samples);
    }
    memset(run.seen, 0, run.samples);
    free(all);
}

static void train(uint64_t epochs, const char *checkpoint, uint64_t die_at)
{
    MPI_Comm group;
    uint64_t total = 0;
    uint64_t epoch = checkpoint != NULL ? load(checkpoint) : 0;
    MPI_Comm_split(MPI_COMM_WORLD, (int)run.ranks.rank, run.rank, &group);
    for (; epoch < epochs; epoch++) {
        sluice_batch *batch = NULL;
        sluice_error error = SLUICE_ERROR_INIT;
        uint64_t steps = 0;
        check(sluice_loader_start_epoch(run.loader, epoch), NULL);
        while (sluice_loader_next(run.loader, &batch, -1) == SLUICE_OK) {
            check_group(batch, group);
            train_step(batch);
            sluice_batch_release(batch);
            steps++;
            total++;
            if (checkpoint != NULL && total % SAVE_EVERY == 0) {
                save(checkpoint);
            }
            if (total == die_at && run.rank == run.size - 1) {
                raise(SIGKILL);
            }
        }
        check(sluice_loader_get_error(run.loader, &error), &error);
        end_epoch(epoch, steps);
    }
    const uint64_t weights = check_same(run.weights, sizeof(run.weights), "weights differ");
    if (run.rank == 0) {
        printf("weights %016" PRIx64 " on all ranks\n", weights);
    }
    MPI_Comm_free(&group);
}

/* ---- opening ---- */

static void find_ranks(void)
{
    const char *group = getenv("MODEL_PARALLEL"); // NOLINT(concurrency-mt-unsafe)
    sluice_error error = SLUICE_ERROR_INIT;
    run.ranks = (sluice_ranks)SLUICE_RANKS_INIT;
    run.group = group != NULL ? (uint32_t)strtoul(group, NULL, 10) : 1;
    check(sluice_ranks_find(&run.ranks, &error), &error);
    if (run.ranks.rank != (uint32_t)run.rank || run.ranks.world_size != (uint32_t)run.size) {
        stop("MPI and the launcher's variables disagree");
    }
    if (run.rank == 0) {
        printf("%s\n", run.ranks.text);
    }
    check(sluice_ranks_divide(&run.ranks, run.group, &error), &error);
}

static void open_loader(const char *path)
{
    sluice_augment *recipe = NULL;
    sluice_error error = SLUICE_ERROR_INIT;
    sluice_dataset_info info = SLUICE_DATASET_INFO_INIT;
    sluice_loader_options options = SLUICE_LOADER_OPTIONS_INIT;
    options.rank = run.ranks.rank;
    options.world_size = run.ranks.world_size;
    options.batch_size = 4;
    options.workers = 1;
    options.dtype = SLUICE_F32;
    options.last_batch = SLUICE_LAST_PAD;
    options.seed = 7;
    check(sluice_dataset_open(&run.data, &path, 1, NULL, &error), &error);
    check(sluice_dataset_get_info(run.data, &info), NULL);
    check(sluice_augment_create(&recipe), NULL);
    check(sluice_augment_random_resized_crop(recipe, SIDE, SIDE, 0.08, 1, 3.0 / 4, 4.0 / 3), NULL);
    check(sluice_loader_open(&run.loader, run.data, recipe, &options, &error), &error);
    sluice_augment_destroy(recipe);
    run.samples = info.samples;
    run.classes = info.classes < CLASSES_MAX ? info.classes : CLASSES_MAX;
    run.seen = calloc(run.samples, 1);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &run.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &run.size);
    find_ranks();
    open_loader(argc > 1 ? argv[1] : "photos");
    train(argc > 2 ? strtoull(argv[2], NULL, 10) : 2, argc > 3 ? argv[3] : NULL,
          argc > 4 ? strtoull(argv[4], NULL, 10) : UINT64_MAX);
    sluice_loader_close(run.loader);
    sluice_dataset_close(run.data);
    free(run.seen);
    MPI_Finalize();
    return 0;
}
