/* SPDX-License-Identifier: Apache-2.0 */
/* picture_sizes: threads take runs of samples; each has a decoder of its own. The mutex guards the
 * first failure. */
#include "picture_sizes.h"

#include "decoder.h"
#include "error.h"
#include "memory.h"
#include "minmax.h"
#include "thread.h"

#include <pthread.h>
#include <stdatomic.h>

#define STAGE "loader"

enum { FRONT_BYTES = 65536, THREADS_MAX = 64, AT_ONCE = 64 };

typedef struct size_finder {
    const sl_picture_sizes *wanted;
    const sl_dataset *dataset;
    uint32_t field, width_field, height_field;
    sluice_exif exif;
    /* of the field; BY_SIZE: the other two have the annotated size */
    sluice_orientation orientation;
    const sl_decoder_config *decoding;
    _Atomic uint64_t next;
    _Atomic bool failed;
    pthread_mutex_t mutex; /* of the rest */
    uint64_t failed_at;    /* first sample that failed; UINT64_MAX: none */
    sluice_error error;
} size_finder;

/* A thread's state. */
typedef struct size_reader {
    size_finder *finder;
    sl_thread thread;
    sl_decoder *decoder;
    uint8_t *front;
    sl_values values;
    sluice_error error;
} size_reader;

static int64_t side_found(const sl_values *values, uint32_t field)
{
    return field != SL_FIELD_NONE && values->of[field].present ? values->of[field].integer : 0;
}

/* Finds the size of the image as a loader decodes it. */
static bool size_of_value(size_reader *r, const sl_values *values, sluice_size *size)
{
    const size_finder *f = r->finder;
    const int64_t annotated[2] = {side_found(values, f->width_field),
                                  side_found(values, f->height_field)};
    sl_picture picture;
    bool turns = false;
    if (sl_decoder_open_picture(r->decoder, &values->of[f->field], &picture, &r->error) !=
            SLUICE_OK ||
        sl_decoder_turns(r->decoder, f->exif, f->orientation, annotated, &turns, &r->error) !=
            SLUICE_OK) {
        return false;
    }
    sl_decoder_turn(r->decoder, turns, &picture);
    *size = (sluice_size){picture.width, picture.height};
    return true;
}

/* Finds the size in the index of an image that is a file of its own; false: none. It applies to
 * images as stored. */
static bool size_of_index(const size_reader *r, sluice_size *size)
{
    const size_finder *f = r->finder;
    const sl_value *of = r->values.of;
    const bool upright = f->orientation == SLUICE_ORIENTATION_UPRIGHT;
    if (f->exif == SLUICE_EXIF_APPLY || (f->exif == SLUICE_EXIF_AUTO && upright)) {
        return false;
    }
    const bool by_size =
        f->exif == SLUICE_EXIF_AUTO && f->orientation == SLUICE_ORIENTATION_BY_SIZE;
    if (f->exif == SLUICE_EXIF_IGNORE && f->orientation == SLUICE_ORIENTATION_BY_SIZE) {
        return false; /* the annotated size may be upright */
    }
    if (!by_size && of[f->field].width > 0 && of[f->field].height > 0) {
        *size = (sluice_size){of[f->field].width, of[f->field].height};
        return true;
    }
    if (f->width_field == SL_FIELD_NONE || f->height_field == SL_FIELD_NONE) {
        return false;
    }
    const sl_value *width = &of[f->width_field];
    const sl_value *height = &of[f->height_field];
    if (!width->present || !height->present || width->integer < 1 || height->integer < 1 ||
        width->integer > INT32_MAX || height->integer > INT32_MAX) {
        return false;
    }
    *size = (sluice_size){(uint32_t)width->integer, (uint32_t)height->integer};
    return true;
}

/* Finds the size of an image that is a file: from the index, or from its beginning. AGAIN: that is
 * not enough. */
static sluice_status size_of_file(size_reader *r, const sl_sample *sample, sluice_size *size)
{
    const sl_dataset *dataset = r->finder->dataset;
    size_t bytes = 0;
    const sluice_status status = sl_objects_read_front(dataset->objects, sample->place.object,
                                                       r->front, FRONT_BYTES, &bytes, &r->error);
    if (status != SLUICE_OK) {
        return status;
    }
    const sl_bytes all = {r->front, bytes < FRONT_BYTES ? bytes : FRONT_BYTES};
    const bool found =
        sl_dataset_unpack(dataset, sample, all, &r->values, &r->error) == SLUICE_OK &&
        r->values.of[r->finder->field].present && size_of_value(r, &r->values, size);
    return found ? SLUICE_OK : SLUICE_AGAIN;
}

static uint64_t wanted_fields(const size_finder *f)
{
    return UINT64_C(1) << f->field |
           (f->width_field < SL_FIELDS_MAX ? UINT64_C(1) << f->width_field : 0) |
           (f->height_field < SL_FIELDS_MAX ? UINT64_C(1) << f->height_field : 0);
}

static sluice_status size_of_stored(size_reader *r, uint64_t index, sluice_size *size)
{
    const size_finder *f = r->finder;
    sl_stored_sample *stored = NULL;
    sluice_status status =
        sl_dataset_read_sample(f->dataset, index, wanted_fields(f), &stored, &r->error);
    if (status == SLUICE_OK &&
        (!stored->values.of[f->field].present || !size_of_value(r, &stored->values, size))) {
        status =
            stored->values.of[f->field].present ? (sluice_status)r->error.status : SLUICE_CORRUPT;
    }
    sl_dataset_free_sample(stored);
    return status;
}

static sluice_status size_of_sample(size_reader *r, uint64_t index, sluice_size *size)
{
    const sl_dataset *dataset = r->finder->dataset;
    sl_sample sample;
    sluice_status status = sl_dataset_find(dataset, index, &sample, &r->error);
    if (status != SLUICE_OK) {
        return status;
    }
    if (sample.place.bytes == 0 && sample.files == 0) {
        if (sl_dataset_unpack(dataset, &sample, (sl_bytes){NULL, 0}, &r->values, &r->error) ==
                SLUICE_OK &&
            size_of_index(r, size)) {
            return SLUICE_OK;
        }
        status = size_of_file(r, &sample, size);
        if (status == SLUICE_OK) {
            return status;
        }
    }
    sl_error_clear(&r->error);
    return size_of_stored(r, index, size);
}

/* If several fail, the first sample's failure counts. */
static void note_failure(size_reader *r, uint64_t index)
{
    size_finder *f = r->finder;
    sl_lock(&f->mutex);
    if (index < f->failed_at) {
        f->failed_at = index;
        f->error = r->error;
    }
    sl_unlock(&f->mutex);
    /* Relaxed: the mutex guards the error; a reader that sees the flag late reads a little more. */
    atomic_store_explicit(&f->failed, true, memory_order_relaxed);
}

static void find_one(size_reader *r, uint64_t index)
{
    size_finder *f = r->finder;
    sluice_size size = {0, 0};
    sl_error_clear(&r->error);
    const sluice_status status = size_of_sample(r, index, &size);
    if (status == SLUICE_IO || status == SLUICE_NOMEM) {
        note_failure(r, index);
    }
    f->wanted->found(f->wanted->ctx, index, status == SLUICE_OK ? &size : NULL);
}

static void run_size_reader(void *argument)
{
    size_reader *r = argument;
    size_finder *f = r->finder;
    const uint64_t samples = f->dataset->info.samples;
    /* Relaxed: see note_failure. */
    while (!atomic_load_explicit(&f->failed, memory_order_relaxed)) {
        /* Relaxed: unique numbers; the joining thread sees the results. */
        const uint64_t first = atomic_fetch_add_explicit(&f->next, AT_ONCE, memory_order_relaxed);
        if (first >= samples) {
            return;
        }
        for (uint64_t i = first; i < sl_min_u64(first + AT_ONCE, samples); i++) {
            find_one(r, i);
        }
    }
}

static sluice_status open_reader(size_reader *r, size_finder *finder, sluice_error *error)
{
    r->finder = finder;
    sl_values_begin(&r->values, wanted_fields(finder));
    r->front = sl_malloc(FRONT_BYTES);
    if (r->front == NULL) {
        return sl_no_memory(error, STAGE, "for the headers of images");
    }
    return sl_decoder_open(&r->decoder, finder->decoding, error);
}

static void close_reader(size_reader *r)
{
    sl_thread_join(&r->thread);
    sl_values_end(&r->values);
    sl_decoder_close(r->decoder);
    sl_free(r->front);
}

/* Reads the sizes. The caller is the first reader. */
static sluice_status read_sizes(size_finder *f, size_reader *readers, uint32_t count,
                                sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    for (uint32_t i = 0; i < count && status == SLUICE_OK; i++) {
        status = open_reader(&readers[i], f, error);
        if (status == SLUICE_OK && i > 0) {
            status = sl_thread_start(&readers[i].thread, "sl-sizes", run_size_reader, &readers[i],
                                     error);
        }
    }
    if (status == SLUICE_OK) {
        run_size_reader(&readers[0]);
    } else {
        /* Relaxed: the readers are joined below. */
        atomic_store_explicit(&f->failed, true, memory_order_relaxed);
    }
    for (uint32_t i = 0; i < count; i++) {
        close_reader(&readers[i]);
    }
    if (status == SLUICE_OK && f->failed_at != UINT64_MAX) {
        status = (sluice_status)f->error.status;
        if (error != NULL) {
            *error = f->error;
        }
    }
    return status;
}

/* Finds a field of whole numbers; SL_FIELD_NONE. */
static uint32_t find_number(const sl_dataset *dataset, const char *name)
{
    const uint32_t field = sl_dataset_field(dataset, name);
    return field < SL_FIELDS_MAX && dataset->fields[field].type == SLUICE_FIELD_INT ? field
                                                                                    : SL_FIELD_NONE;
}

sluice_status sl_picture_sizes_find(const sl_picture_sizes *wanted, sluice_error *error)
{
    const sluice_loader_options *o = wanted->options;
    const sl_dataset *dataset = wanted->dataset;
    const uint32_t field = wanted->field;
    const sl_decoder_config decoding = {.max_pixels = UINT64_MAX,
                                        .max_unpacked_bytes = o->max_sample_bytes};
    const char *name = dataset->fields[field].name;
    const uint32_t width =
        sl_field_of_role(dataset->fields, dataset->info.fields, name, SLUICE_ROLE_WIDTH);
    const uint32_t height =
        sl_field_of_role(dataset->fields, dataset->info.fields, name, SLUICE_ROLE_HEIGHT);
    const bool known = width != SL_FIELD_NONE && height != SL_FIELD_NONE;
    size_finder finder = {.wanted = wanted,
                          .dataset = dataset,
                          .field = field,
                          .width_field = known ? width : find_number(dataset, "width"),
                          .height_field = known ? height : find_number(dataset, "height"),
                          .exif = (sluice_exif)o->exif,
                          .orientation = dataset->fields[field].meaning.orientation,
                          .decoding = &decoding,
                          .failed_at = UINT64_MAX};
    const uint64_t useful = (dataset->info.samples - 1) / AT_ONCE + 1;
    const uint32_t threads = (uint32_t)sl_min_u64(useful, sl_min_u64(o->workers, THREADS_MAX));
    size_reader *readers = sl_calloc(threads, sizeof(*readers));
    if (readers == NULL) {
        return sl_no_memory(error, STAGE, "for the sizes of images");
    }
    sl_mutex_init(&finder.mutex);
    const sluice_status status = read_sizes(&finder, readers, threads, error);
    sl_mutex_destroy(&finder.mutex);
    sl_free(readers);
    return status;
}
