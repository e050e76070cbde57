/* SPDX-License-Identifier: Apache-2.0 */
/* sluice synth: a folder of photo-like JPEGs. Each photo is a function of (seed, its index, the
 * number of classes, the scale), so workers only share out the indexes. */
#include "synth.h"

#include "../command.h"
#include "clock.h"
#include "data.h"
#include "exit_code.h"
#include "files.h"
#include "interrupt.h"
#include "json.h"
#include "options.h"
#include "photo_jpeg.h"
#include "picture.h"
#include "progress.h"
#include "report.h"
#include "safe_text.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { WORKERS_MAX = 1024, CLASSES_MAX = 100000 };

static const double natural_kb = 105; /* of the set at scale 1 */

struct synth_args {
    uint64_t count, classes, seed, workers;
    double mean_kb, size_scale;
    bool force, json;
    const char *folder;
};

/* Shared by the workers. */
struct job {
    const struct synth_painter *painter; /* not changed, like the next two */
    const struct synth_args *args;
    double scale;
    pthread_mutex_t lock; /* guards everything below */
    uint64_t next;        /* the next photo to make */
    uint64_t done, bytes, pixels;
    bool failed;
    struct progress progress;
};

/*
 * WordNet numbers of ImageNet's kind, n01440764 to n15075141, in order, so that a class keeps its
 * number when its folder is sorted by name.
 */
static uint32_t wordnet_id(uint64_t label, uint64_t classes)
{
    static const uint64_t first = 1440764;
    static const uint64_t last = 15075141;
    uint64_t step = (last - first) / classes;
    return (uint32_t)(first + label * step + label * 7919 % (step / 2 + 1));
}

/* Makes the path of the photo's file, or of its folder if `photo` is NULL. */
static bool make_path(const struct synth_args *args, uint64_t label, const struct photo *photo,
                      char *path)
{
    uint32_t id = wordnet_id(label, args->classes);
    int length;
    if (photo == NULL) {
        length = snprintf(path, PATH_MAX, "%s/n%08" PRIu32, args->folder, id);
    } else {
        length = snprintf(path, PATH_MAX, "%s/n%08" PRIu32 "/n%08" PRIu32 "_%" PRIu64 ".JPEG",
                          args->folder, id, id, photo->index / args->classes);
    }
    return length > 0 && length < PATH_MAX;
}

/* Takes the next photo's index; false: none is left, or the work should end. */
static bool take(struct job *job, uint64_t *index)
{
    pthread_mutex_lock(&job->lock);
    bool more = !job->failed && !interrupt_pending() && job->next < job->args->count;
    *index = job->next;
    job->next += more;
    pthread_mutex_unlock(&job->lock);
    return more;
}

static void account(struct job *job, const struct photo *photo, uint64_t bytes)
{
    pthread_mutex_lock(&job->lock);
    job->done++;
    job->bytes += bytes;
    job->pixels += (uint64_t)photo->width * photo->height;
    progress_update(&job->progress, job->done, job->args->count);
    pthread_mutex_unlock(&job->lock);
}

/* Reports the first failure only: the others mostly have the same cause. */
static void fail(struct job *job, const char *what, int error)
{
    pthread_mutex_lock(&job->lock);
    bool first = !job->failed;
    job->failed = true;
    pthread_mutex_unlock(&job->lock);
    if (first) {
        char text[128] = "";
        report("%s: %s; photos written so far are kept, run again with --force to complete them",
               what, strerror_r(error, text, sizeof text));
    }
}

static bool make_photo(struct job *job, uint64_t index, void *painter, struct photo_jpeg *jpeg)
{
    const struct synth_args *args = job->args;
    struct photo photo = photo_draw(args->seed, index, (uint32_t)args->classes, job->scale);
    char path[PATH_MAX];
    if (!make_path(args, photo.label, &photo, path)) {
        fail(job, args->folder, ENAMETOOLONG);
        return false;
    }
    uint8_t *rgb = job->painter->render(painter, &photo);
    if (rgb == NULL || !photo_jpeg_encode(jpeg, &photo, rgb)) {
        fail(job, path, ENOMEM);
        return false;
    }
    if (!files_write(path, jpeg->bytes, jpeg->size)) {
        fail(job, path, errno);
        return false;
    }
    account(job, &photo, jpeg->size);
    return true;
}

static void *work(void *context)
{
    struct job *job = context;
    struct photo_jpeg jpeg = {0};
    void *painter = job->painter->create();
    if (painter == NULL) {
        fail(job, "cannot start a worker", ENOMEM);
        return NULL;
    }
    uint64_t index;
    while (take(job, &index) && make_photo(job, index, painter, &jpeg)) {
    }
    photo_jpeg_free(&jpeg);
    job->painter->destroy(painter);
    return NULL;
}

static void run_workers(struct job *job)
{
    uint64_t workers = job->args->workers;
    if (workers > job->args->count) {
        workers = job->args->count;
    }
    pthread_t threads[WORKERS_MAX];
    uint64_t started = 0;
    while (started < workers && pthread_create(&threads[started], NULL, work, job) == 0) {
        started++;
    }
    if (started == 0) {
        work(job); /* no other thread available: slower, not wrong */
    }
    for (uint64_t i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
    }
}

static bool make_folders(const struct synth_args *args)
{
    char path[PATH_MAX];
    bool made = files_make_folder(args->folder);
    for (uint64_t label = 0; made && label < args->classes && label < args->count; label++) {
        made = make_path(args, label, NULL, path) && files_make_folder(path);
    }
    return made;
}

static void print_result(const struct job *job, double seconds)
{
    const struct synth_args *args = job->args;
    uint64_t classes = args->classes < job->done ? args->classes : job->done;
    double mean_kb = job->done > 0 ? (double)job->bytes / 1e3 / (double)job->done : 0;
    double mean_megapixels = job->done > 0 ? (double)job->pixels / 1e6 / (double)job->done : 0;
    if (args->json) {
        struct json json;
        json_begin(&json, stdout);
        json_open_object(&json, NULL);
        json_text(&json, "folder", args->folder);
        json_unsigned(&json, "samples", job->done);
        json_unsigned(&json, "classes", classes);
        json_unsigned(&json, "bytes", job->bytes);
        json_real(&json, "mean_kb", mean_kb);
        json_real(&json, "mean_megapixels", mean_megapixels);
        json_unsigned(&json, "seed", args->seed);
        json_real(&json, "seconds", seconds);
        json_close_object(&json);
        return;
    }
    printf("%" PRIu64 " photos in %" PRIu64 " classes, %.1f kB and %.3f megapixels on average, "
           "in %s (%.1f s, %.0f photos/s)\n",
           job->done, classes, mean_kb, mean_megapixels, SAFE(args->folder), seconds,
           (double)job->done / seconds);
}

static int run(const struct synth_args *args, const struct synth_painter *painter)
{
    if (strstr(args->folder, "://") != NULL) {
        report("%s: stores are read and never written to: name a local folder", args->folder);
        return TOOL_USAGE;
    }
    if (!args->force && !files_is_free(args->folder)) {
        report("%s: %s; name a new folder, or give --force to write into this one", args->folder,
               errno == ENOTEMPTY ? "it is not empty" : strerror(errno)); // NOLINT: one thread yet
        return TOOL_FAILED;
    }
    if (!make_folders(args)) {
        report("%s: cannot make the folders: %s", args->folder, strerror(errno)); // NOLINT
        return TOOL_FAILED;
    }
    struct job job = {.painter = painter,
                      .args = args,
                      .scale = args->size_scale,
                      .lock = PTHREAD_MUTEX_INITIALIZER};
    if (args->mean_kb > 0) {
        job.scale *= sqrt(args->mean_kb / natural_kb); /* bytes go with the area */
    }
    interrupt_catch();
    if (painter->prepare != NULL) {
        painter->prepare();
    }
    progress_begin(&job.progress, "photos");
    double start = clock_seconds();
    run_workers(&job);
    progress_end(&job.progress);
    if (job.failed) {
        return TOOL_FAILED;
    }
    if (job.done < args->count) {
        report("interrupted after %" PRIu64 " of %" PRIu64
               " photos; run again with --force to complete them",
               job.done, args->count);
        return TOOL_INTERRUPTED;
    }
    print_result(&job, clock_seconds() - start);
    return TOOL_FINE;
}

int synth_run(const struct synth_painter *painter, int argc, char **argv)
{
    struct synth_args args = {.count = 1000, .classes = 10, .size_scale = 1};
    args.workers = data_processors();
    const struct option_row rows[] = {
        {"count", 'n', OPTION_COUNT, &args.count, .min = 1, .max = 100000000, .metavar = "N",
         .common = true, .help = "number of photos [1000]"},
        {"classes", 'c', OPTION_COUNT, &args.classes, .min = 1, .max = CLASSES_MAX, .metavar = "C",
         .common = true, .help = "number of class folders [10]"},
        {"seed", 0, OPTION_COUNT, &args.seed, .max = UINT64_MAX, .metavar = "S", .common = true,
         .help = "seed; the same seed gives the same files [0]"},
        {"workers", 'w', OPTION_COUNT, &args.workers, .min = 1, .max = WORKERS_MAX, .metavar = "N",
         .common = true, .help = "threads; the files do not depend on them [CPUs]"},
        {"mean-kb", 0, OPTION_REAL, &args.mean_kb, .low = 1, .high = 10000, .metavar = "KB",
         .common = true, .help = "target mean file size in kB [about 105]"},
        {"size-scale", 0, OPTION_REAL, &args.size_scale, .low = 0.02, .high = 16, .metavar = "F",
         .common = true, .help = "factor on width and height [1]"},
        {"force", 'f', OPTION_FLAG, &args.force, .common = true,
         .help = "write into a non-empty folder, replacing files"},
        {"json", 0, OPTION_FLAG, &args.json, .common = true, .help = "print the result as JSON"},
        {.name = NULL},
    };
    struct command_usage usage = {
        .arguments = "FOLDER",
        .summary =
            "Makes an image folder, one sub-folder per class, of JPEGs that resemble\n"
            "ImageNet's photos in size, quality and bytes: for first tries and measurements\n"
            "without real data.",
        .examples = "  sluice synth photos\n"
                    "  sluice synth photos --count 50000 --classes 100 --seed 7\n"
                    "  sluice synth thumbnails --size-scale 0.25\n",
        .rows = rows,
        .operands_min = 1,
        .operands_max = 1,
    };
    int code = options_parse(&usage, argc, argv);
    if (code != OPTIONS_GO_ON) {
        return code;
    }
    args.folder = usage.operands[0];
    return run(&args, painter);
}

static void *create(void)
{
    return picture_create();
}

static uint8_t *render(void *own, const struct photo *photo)
{
    return picture_render(own, photo);
}

static void destroy(void *own)
{
    picture_destroy(own);
}

int synth_main(int argc, char **argv)
{
    static const struct synth_painter painter = {
        .create = create, .render = render, .destroy = destroy};
    return synth_run(&painter, argc, argv);
}
