/* SPDX-License-Identifier: Apache-2.0 */
/* known_sizes: threads of open_many take runs of samples; the mutex guards the results. */
#include "known_sizes.h"

#include "error.h"
#include "memory.h"
#include "minmax.h"
#include "open_many.h"
#include "sample_head.h"
#include "size_set.h"
#include "stop.h"
#include "thread.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    SIZES_RUN = 256,          /* samples per job */
    SIZES_PIECE_BYTES = 32768 /* bytes of a sample that a thread checks at a time */
};

/* A field of images. */
typedef struct known_field {
    uint32_t field, width_field, height_field;
    _Atomic bool unknown; /* the size of an image is unknown */
    sl_size_set seen[2];  /* not annotated; annotated */
    sl_bounds bounds;
} known_field;

typedef struct known_reader {
    const sl_known_sizes *sizes;
    const sl_dataset *dataset;
    known_field *fields, *asked;
    uint32_t count;
    uint64_t wanted;      /* these fields, as in sl_values */
    _Atomic bool skipped; /* a sample was skipped, which may be readable next time */
    pthread_mutex_t mutex;
    uint64_t first_skipped; /* its number; UINT64_MAX: none */
    sluice_error why;       /* reason it was skipped */
} known_reader;

typedef struct known_pair {
    uint32_t width, height;
    bool annotated; /* by a file beside the image, which may or may not mean it turned by EXIF */
} known_pair;

/* The current sample, and the thread's memory for it. */
typedef struct known_sample {
    sl_sample sample;
    sl_values values;
    sl_buffer piece;
    uint64_t sum;
    bool is_checked; /* false: its values are a head's, covered by `sum` */
} known_sample;

static uint32_t annotated_side(const sl_values *values, uint32_t field)
{
    const bool found = field != SL_FIELD_NONE && values->of[field].present &&
                       values->of[field].integer > 0 && values->of[field].integer <= INT32_MAX;
    return found ? (uint32_t)values->of[field].integer : 0;
}

/* Finds a size. Width 0: it is not known. False: the sample has no image, or an unreadable one. */
static bool known_size(const known_field *f, const known_sample *s, known_pair *size)
{
    const sl_value *image = &s->values.of[f->field];
    const bool is_file = s->sample.place.bytes == 0 && s->sample.files == 0;
    *size = (known_pair){image->width, image->height, false};
    if ((!image->present || image->width == 0) && is_file) {
        *size = (known_pair){annotated_side(&s->values, f->width_field),
                             annotated_side(&s->values, f->height_field), true};
        return true;
    }
    return image->present;
}

/* Under the mutex. */
static sluice_status put_known_size(const known_reader *r, known_field *f, known_pair size,
                                    sluice_error *error)
{
    sl_size_set *seen = &f->seen[size.annotated];
    if (sl_size_set_has(seen, size.width, size.height)) {
        return SLUICE_OK;
    }
    if (!sl_size_set_add(seen, size.width, size.height)) {
        return sl_no_memory(error, "loader", "for the sizes of images");
    }
    sluice_status status =
        sl_bounds_add(&f->bounds, sl_bound_of_size(size.width, size.height), error);
    if (status == SLUICE_OK && (size.annotated || r->sizes->exif != SLUICE_EXIF_IGNORE)) {
        status = sl_bounds_add(&f->bounds, sl_bound_of_size(size.height, size.width), error);
    }
    return status;
}

static bool is_known_size(known_reader *r, const known_field *f, known_pair size)
{
    sl_lock(&r->mutex);
    const bool known = sl_size_set_has(&f->seen[size.annotated], size.width, size.height);
    sl_unlock(&r->mutex);
    return known;
}

/* A head may be damaged, and its sample a bad one: a size counts once the checksum confirms it. A
 * size that is known already changes nothing. */
static sluice_status take_size_of(known_reader *r, known_field *f, known_sample *s,
                                  sluice_error *error)
{
    known_pair size;
    sluice_status status = SLUICE_OK;
    if (!known_size(f, s, &size)) {
        return SLUICE_OK;
    }
    if (size.width == 0 || size.height == 0) {
        /* Relaxed: a flag that guards nothing else. */
        atomic_store_explicit(&f->unknown, true, memory_order_relaxed);
        return SLUICE_OK;
    }
    if (is_known_size(r, f, size)) {
        return SLUICE_OK;
    }
    if (!s->is_checked) {
        status = sl_sample_head_check(r->dataset, &s->sample, s->piece, s->sum, error);
        s->is_checked = status == SLUICE_OK;
    }
    if (status == SLUICE_OK) {
        sl_lock(&r->mutex);
        status = put_known_size(r, f, size, error);
        sl_unlock(&r->mutex);
    }
    return status;
}

/* Returns whether the error ends opening. Other unreadable samples become bad ones. */
static bool ends_opening(const sl_known_sizes *sizes, sluice_status status)
{
    return status == SLUICE_NOMEM || status == SLUICE_CANCELED ||
           (status == SLUICE_IO && !sizes->skips);
}

static sluice_status describe_known(const known_reader *r, uint64_t index, known_sample *s,
                                    sluice_error *error)
{
    sl_values_begin(&s->values, r->wanted);
    sluice_status status = sl_dataset_find(r->dataset, index, &s->sample, error);
    if (status == SLUICE_OK) {
        status = sl_sample_head_read(r->dataset, &s->sample, s->piece, &s->values, &s->sum, error);
    }
    s->is_checked = status == SLUICE_AGAIN;
    return s->is_checked ? sl_dataset_describe(r->dataset, index, &s->sample, &s->values, error)
                         : status;
}

static void skip_known(known_reader *r, uint64_t index, const sluice_error *why)
{
    /* Relaxed: a flag that guards nothing else. */
    atomic_store_explicit(&r->skipped, true, memory_order_relaxed);
    sl_lock(&r->mutex);
    if (index < r->first_skipped) {
        r->first_skipped = index;
        r->why = *why;
    }
    sl_unlock(&r->mutex);
}

static sluice_status find_sizes_of(known_reader *r, uint64_t index, known_sample *s,
                                   sluice_error *error)
{
    sluice_status status = describe_known(r, index, s, error);
    for (uint32_t i = 0; i < r->count && status == SLUICE_OK; i++) {
        status = take_size_of(r, &r->fields[i], s, error);
    }
    if (status == SLUICE_OK || ends_opening(r->sizes, status)) {
        return status;
    }
    skip_known(r, index, error);
    return SLUICE_OK;
}

static bool known_is_over(known_reader *r)
{
    /* Relaxed: a thread that sees it late reads a little more. */
    return atomic_load_explicit(&r->asked->unknown, memory_order_relaxed);
}

/* Finds the sizes of the samples from `first` to `end`. */
static sluice_status find_sizes_between(known_reader *r, uint64_t first, uint64_t end,
                                        sluice_error *error)
{
    known_sample s = {.piece = {sl_malloc(SIZES_PIECE_BYTES), SIZES_PIECE_BYTES}};
    sluice_status status = s.piece.data != NULL
                               ? SLUICE_OK
                               : sl_no_memory(error, "loader", "for the heads of samples");
    for (uint64_t i = first; i < end && status == SLUICE_OK && !known_is_over(r); i++) {
        status = sl_stop_check("loader", error); /* a record may have megabytes */
        if (status == SLUICE_OK) {
            status = find_sizes_of(r, i, &s, error);
        }
    }
    sl_free(s.piece.data);
    return status;
}

static sluice_status known_run(void *ctx, uint32_t number, sluice_error *error)
{
    known_reader *r = ctx;
    const uint64_t first = (uint64_t)number * SIZES_RUN;
    const uint64_t end = sl_min_u64(first + SIZES_RUN, r->dataset->info.samples);
    return find_sizes_between(r, first, end, error);
}

/* Returns whether no sample could be read; the reason is that of the first one. */
static bool known_is_unreadable(const known_reader *r)
{
    /* Relaxed: the threads have been joined. */
    return r->first_skipped != UINT64_MAX && r->asked->bounds.count == 0 &&
           !atomic_load_explicit(&r->asked->unknown, memory_order_relaxed);
}

/* Reads the first sample alone, so that a dataset without sizes is not read. */
static sluice_status read_all_sizes(known_reader *r, sluice_error *error)
{
    sluice_status status = find_sizes_between(r, 0, 1, error);
    if (status == SLUICE_OK && !known_is_over(r)) {
        status = sl_open_many((uint32_t)((r->dataset->info.samples - 1) / SIZES_RUN + 1), known_run,
                              r, error);
    }
    if (status == SLUICE_OK && known_is_unreadable(r)) {
        *error = r->why;
        status = (sluice_status)r->why.status;
    }
    return status;
}

/* ---- once for a dataset ---- */

typedef struct sizes_memo {
    sl_memo memo;
    sl_bounds bounds;
} sizes_memo;

static void close_sizes_memo(sl_memo *memo)
{
    sizes_memo *own = (sizes_memo *)memo;
    sl_bounds_close(&own->bounds);
    sl_free(own);
}

static uint64_t sizes_key(const sl_known_sizes *sizes, uint32_t field)
{
    return (uint64_t)field << 1 | (sizes->exif == SLUICE_EXIF_IGNORE);
}

static sluice_status copy_bounds(const sl_bounds *from, sl_bounds *to, sluice_error *error)
{
    sluice_status status = SLUICE_OK;
    to->is_any = from->is_any;
    for (uint64_t i = 0; i < from->count && status == SLUICE_OK; i++) {
        status = sl_bounds_add(to, from->of[i], error);
    }
    return status;
}

/* Without memory they are found again next time. */
static void keep_sizes(const sl_known_sizes *sizes, uint32_t field, const sl_bounds *bounds)
{
    sizes_memo *own = sl_calloc(1, sizeof(*own));
    if (own == NULL) {
        return;
    }
    own->memo.key = sizes_key(sizes, field);
    own->memo.close = close_sizes_memo;
    if (copy_bounds(bounds, &own->bounds, NULL) != SLUICE_OK) {
        close_sizes_memo(&own->memo);
        return;
    }
    sl_dataset_keep(sizes->dataset, &own->memo);
}

/* Settles a requested field, or another one: these are complete unless reading ended early. */
static void settle_known(const known_reader *r, known_field *f)
{
    /* Relaxed, both: the threads have been joined. */
    if (f->bounds.count == 0 || atomic_load_explicit(&f->unknown, memory_order_relaxed)) {
        sl_bounds_close(&f->bounds);
        f->bounds.is_any = true;
    }
    if (!atomic_load_explicit(&r->skipped, memory_order_relaxed)) {
        keep_sizes(r->sizes, f->field, &f->bounds);
    }
}

/* Returns the sizes of all fields of images, which the opening keeps. */
static void give_known(known_reader *r, sl_known_sizes *sizes)
{
    const bool is_over = known_is_over(r);
    for (uint32_t i = 0; i < r->count; i++) {
        known_field *f = &r->fields[i];
        if (f == r->asked || !is_over) {
            settle_known(r, f);
            sl_bounds_close(&sizes->found[f->field]);
            sizes->found[f->field] = f->bounds;
            sizes->known |= UINT64_C(1) << f->field;
            f->bounds = (sl_bounds){.count = 0};
        }
    }
}

static void add_known_field(known_reader *r, uint32_t field, uint32_t asked)
{
    const sl_dataset *dataset = r->dataset;
    const char *name = dataset->fields[field].name;
    known_field *f = &r->fields[r->count++];
    f->field = field;
    f->width_field =
        sl_field_of_role(dataset->fields, dataset->info.fields, name, SLUICE_ROLE_WIDTH);
    f->height_field =
        sl_field_of_role(dataset->fields, dataset->info.fields, name, SLUICE_ROLE_HEIGHT);
    atomic_init(&f->unknown, dataset->info.front_to_back != 0);
    r->wanted |= UINT64_C(1) << field;
    r->asked = field == asked ? f : r->asked;
}

static sluice_status find_all_sizes(sl_known_sizes *sizes, uint32_t asked, sluice_error *error)
{
    const sl_dataset *dataset = sizes->dataset;
    known_reader r = {.sizes = sizes, .dataset = dataset, .first_skipped = UINT64_MAX};
    r.fields = sl_calloc(dataset->info.fields, sizeof(*r.fields));
    sizes->found = sizes->found != NULL ? sizes->found
                                        : sl_calloc(dataset->info.fields, sizeof(*sizes->found));
    if (r.fields == NULL || sizes->found == NULL) {
        sl_free(r.fields);
        return sl_no_memory(error, "loader", "for the sizes of images");
    }
    for (uint32_t i = 0; i < dataset->info.fields; i++) {
        if (i == asked || sl_type_is_media(dataset->fields[i].type)) {
            add_known_field(&r, i, asked);
        }
    }
    sl_mutex_init(&r.mutex);
    const sluice_status status = read_all_sizes(&r, error);
    sl_mutex_destroy(&r.mutex);
    if (status == SLUICE_OK) {
        give_known(&r, sizes);
    }
    for (uint32_t i = 0; i < r.count; i++) {
        sl_size_set_close(&r.fields[i].seen[0]);
        sl_size_set_close(&r.fields[i].seen[1]);
        sl_bounds_close(&r.fields[i].bounds);
    }
    sl_free(r.fields);
    return status;
}

sluice_status sl_known_sizes_find(void *ctx, uint32_t field, sl_bounds *bounds, sluice_error *error)
{
    sl_known_sizes *sizes = ctx;
    const sl_memo *memo = sl_dataset_find_memo(sizes->dataset, sizes_key(sizes, field));
    if (memo != NULL) {
        return copy_bounds(&((const sizes_memo *)memo)->bounds, bounds, error);
    }
    const sluice_status status =
        (sizes->known >> field & 1) != 0 ? SLUICE_OK : find_all_sizes(sizes, field, error);
    return status == SLUICE_OK ? copy_bounds(&sizes->found[field], bounds, error) : status;
}

void sl_known_sizes_close(sl_known_sizes *sizes)
{
    for (uint32_t i = 0; sizes->found != NULL && i < sizes->dataset->info.fields; i++) {
        sl_bounds_close(&sizes->found[i]);
    }
    sl_free(sizes->found);
    sizes->found = NULL;
    sizes->known = 0;
}
