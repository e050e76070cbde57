/* SPDX-License-Identifier: Apache-2.0 */
#include "refused_runs.h"

#include "checksum.h"
#include "loader_setup.h"
#include "refusals.h"
#include "test.h"
#include "test_folder.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BATCH = 2, SAMPLES_MAX = 4, BUFFER_BYTES = 4 << 20, LOADER_BYTES = 1 << 20, SHOWN = 60 };
enum { HANG_SECONDS = 900, WHOLE_EVERY = 8 };

/* The steps of a run, in order. */
typedef enum step { OPEN, READ, VERIFY, EPOCH, RESUME, CANCEL, STEPS } step;
static const char *const step_names[STEPS] = {"open",  "read",   "verify",
                                              "epoch", "resume", "cancel"};

typedef struct cursor {
    uint8_t data[SLUICE_CURSOR_BYTES];
    size_t bytes;
} cursor;

typedef struct outcome {
    sluice_status status[STEPS];
    uint64_t sum[STEPS];
    uint32_t first[STEPS + 1]; /* first call of each step */
    cursor saved;              /* position after the first batch */
} outcome;

static uint32_t findings;
static const char *running = "";
static uint32_t running_call;
static refusal running_mode;
static uint8_t buffer[BUFFER_BYTES];

uint32_t refused_findings(void)
{
    return findings;
}

static void find(const refused_case *c, step at, const char *text, const sluice_error *error)
{
    if (findings++ >= SHOWN) {
        return;
    }
    (void)fprintf(stderr, "%s: %s, with call %u refused %s (%s): %s: %d %d \"%s\" \"%s\"\n",
                  c->name, step_names[at], running_call, refusal_name(running_mode),
                  refusals_what(), text, error->status, error->sys_errno, error->file, error->text);
    refusals_print_stack();
}

static void say(const char *text)
{
    (void)!write(STDERR_FILENO, text, strlen(text));
}

/* Names the refusal that crashed or hung the program. The process ends afterwards, so it does not
 * matter what else these functions do. */
static void on_end(int signal_number)
{
    say(signal_number == SIGALRM ? "a hang in " : "a crash in ");
    say(running);
    say(", refused: ");
    say(refusals_what()); /* NOLINT(bugprone-signal-handler) */
    say(" ");
    say(refusal_name(running_mode)); /* NOLINT(bugprone-signal-handler) */
    say("\n");
    refusals_print_stack(); /* NOLINT(bugprone-signal-handler) */
    (void)signal(signal_number, SIG_DFL);
    if (signal_number == SIGALRM) {
        abort();
    }
    (void)raise(signal_number);
}

static void watch_ends(void)
{
    static const int signals[] = {SIGALRM, SIGABRT, SIGSEGV, SIGBUS, SIGFPE};
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        (void)signal(signals[i], on_end);
    }
}

/* ---- the steps ---- */

static sluice_status read_sample(const sluice_dataset *dataset, uint64_t index, uint32_t fields,
                                 sl_checksum_stream *stream, sluice_error *error)
{
    sluice_sample_info info = SLUICE_SAMPLE_INFO_INIT;
    sluice_status status = sluice_dataset_get_sample(dataset, index, &info, error);
    sl_checksum_add_u64(stream, (uint64_t)info.label);
    for (uint32_t i = 0; status == SLUICE_OK && i < fields; i++) {
        size_t bytes = 0;
        sluice_field field = SLUICE_FIELD_INIT;
        assert(sluice_dataset_get_field(dataset, i, &field) == SLUICE_OK);
        status =
            sluice_dataset_read(dataset, index, field.name, buffer, sizeof(buffer), &bytes, error);
        if (status == SLUICE_OK) {
            sl_checksum_add_u64(stream, bytes);
            sl_checksum_add(stream, buffer, bytes);
        }
    }
    return status;
}

static sluice_status read_samples(const sluice_dataset *dataset, uint64_t *sum, sluice_error *error)
{
    sl_checksum_stream stream;
    sluice_status status = SLUICE_OK;
    sluice_dataset_info info = SLUICE_DATASET_INFO_INIT;
    sl_checksum_begin(&stream);
    assert(sluice_dataset_get_info(dataset, &info) == SLUICE_OK);
    for (uint64_t i = 0;
         status == SLUICE_OK && !info.front_to_back && i < info.samples && i < SAMPLES_MAX; i++) {
        status = read_sample(dataset, i, info.fields, &stream, error);
    }
    *sum = sl_checksum_value(&stream);
    return status;
}

/* The sum covers the findings; unreadable samples make the step fail, with a reason. */
static sluice_status verify(const sluice_dataset *dataset, uint64_t *sum, sluice_error *error)
{
    sluice_verify_options options = SLUICE_VERIFY_OPTIONS_INIT;
    sluice_verify_result result = SLUICE_VERIFY_RESULT_INIT;
    options.workers = 1;
    const sluice_status status = sluice_dataset_verify(dataset, &options, &result, error);
    if (status == SLUICE_OK && result.unreadable > 0) {
        (void)snprintf(error->text, sizeof(error->text), "unreadable");
        error->status = SLUICE_IO;
        return SLUICE_IO;
    }
    *sum = result.samples * 1000 + result.bad;
    return status;
}

static void add_batch(sl_checksum_stream *stream, const sluice_batch *batch)
{
    sl_checksum_add_u64(stream, sluice_batch_rows(batch));
    for (uint32_t i = 0; i < sluice_batch_columns(batch); i++) {
        sluice_tensor tensor = SLUICE_TENSOR_INIT;
        assert(sluice_batch_get_column(batch, i, &tensor) == SLUICE_OK);
        sl_checksum_add_u64(stream, tensor.size_bytes);
        sl_checksum_add(stream, tensor.data, tensor.size_bytes);
    }
}

/* Takes up to `most` batches. */
static sluice_status take(sluice_loader *loader, uint64_t most, sl_checksum_stream *stream)
{
    sluice_status status = SLUICE_OK;
    for (uint64_t i = 0; i < most; i++) {
        sluice_batch *batch = NULL;
        status = sluice_loader_next(loader, &batch, -1);
        if (status != SLUICE_OK) {
            break;
        }
        add_batch(stream, batch);
        sluice_batch_release(batch);
    }
    return status == SLUICE_END ? SLUICE_OK : status;
}

static sluice_status open_loader(const refused_case *c, sluice_dataset *dataset,
                                 sluice_loader **loader, sluice_error *error)
{
    sluice_columns *columns = NULL;
    sluice_loader_options options = setup_options();
    sluice_dataset_info info = SLUICE_DATASET_INFO_INIT;
    assert(sluice_dataset_get_info(dataset, &info) == SLUICE_OK);
    sluice_status status = c->columns(c, dataset, &columns);
    if (status < 0) {
        (void)snprintf(error->text, sizeof(error->text), "no columns");
        error->status = status;
        sluice_columns_destroy(columns);
        return status;
    }
    options.columns = columns;
    options.batch_size = BATCH;
    options.max_sample_bytes = LOADER_BYTES;
    options.read_buffer_bytes = LOADER_BYTES;
    options.workers = 1;
    options.io_threads = 1;
    options.prefetch = 2;
    options.io_backend = c->io_backend;
    options.last_batch = SLUICE_LAST_SHORT;
    options.shuffle = info.front_to_back ? SLUICE_SHUFFLE_NONE : SLUICE_SHUFFLE_FULL;
    status = sluice_loader_open(loader, dataset, NULL, &options, error);
    sluice_columns_destroy(columns);
    return status;
}

/* Takes a batch, saves the position, takes the rest. */
static sluice_status epoch_of(sluice_loader *loader, cursor *saved, sl_checksum_stream *stream)
{
    sluice_status status = take(loader, 1, stream);
    saved->bytes = sizeof(saved->data);
    if (status == SLUICE_OK) {
        status = sluice_loader_save(loader, saved->data, &saved->bytes);
    }
    return status == SLUICE_OK ? take(loader, UINT64_MAX, stream) : status;
}

static sluice_status canceled(sluice_loader *loader, sl_checksum_stream *stream)
{
    sluice_batch *batch = NULL;
    const sluice_status status = take(loader, 1, stream);
    if (status < 0) {
        return status;
    }
    sluice_loader_cancel(loader);
    return sluice_loader_next(loader, &batch, -1) == SLUICE_CANCELED ? SLUICE_OK : SLUICE_INTERNAL;
}

/* Uses a loader for one step. */
static sluice_status use_loader(sluice_loader *loader, step at, cursor *saved,
                                sl_checksum_stream *stream)
{
    uint64_t epoch = 1;
    sluice_status status = SLUICE_OK;
    if (at == RESUME) {
        status = sluice_loader_restore(loader, saved->data, saved->bytes, &epoch);
    }
    if (status == SLUICE_OK) {
        status = sluice_loader_start_epoch(loader, epoch);
    }
    if (status < 0) {
        return status;
    }
    switch (at) {
    case EPOCH:
        return epoch_of(loader, saved, stream);
    case RESUME:
        return take(loader, UINT64_MAX, stream);
    default:
        return canceled(loader, stream);
    }
}

static sluice_status load(const refused_case *c, sluice_dataset *dataset, step at, cursor *saved,
                          uint64_t *sum, sluice_error *error)
{
    sl_checksum_stream stream;
    sluice_loader *loader = NULL;
    sl_checksum_begin(&stream);
    sluice_status status = open_loader(c, dataset, &loader, error);
    if (status == SLUICE_OK) {
        status = use_loader(loader, at, saved, &stream);
        if (status < 0) {
            (void)sluice_loader_get_error(loader, error);
        }
        sluice_loader_close(loader);
    }
    *sum = sl_checksum_value(&stream);
    return status;
}

/* Describes a dataset. */
static uint64_t describe(const sluice_dataset *dataset)
{
    sl_checksum_stream stream;
    sluice_dataset_info info = SLUICE_DATASET_INFO_INIT;
    const char *text = sluice_dataset_describe(dataset);
    assert(sluice_dataset_get_info(dataset, &info) == SLUICE_OK);
    sl_checksum_begin(&stream);
    sl_checksum_add(&stream, &info, sizeof(info));
    sl_checksum_add(&stream, text, strlen(text) + 1);
    for (uint32_t i = 0; i < info.fields; i++) {
        sluice_field field = SLUICE_FIELD_INIT;
        assert(sluice_dataset_get_field(dataset, i, &field) == SLUICE_OK);
        sl_checksum_add(&stream, &field, sizeof(field));
    }
    return sl_checksum_value(&stream);
}

/* ---- a run of all steps ---- */

typedef struct run {
    const refused_case *c;
    const outcome *sound; /* NULL: this is the run without refusals */
    sluice_dataset *dataset;
    outcome seen;
} run;

static sluice_status make_step(run *r, step at, sluice_error *error)
{
    uint64_t *sum = &r->seen.sum[at];
    sluice_status status = SLUICE_OK;
    switch (at) {
    case OPEN:
        status = sluice_dataset_open(&r->dataset, &r->c->path, 1, NULL, error);
        if (status == SLUICE_OK) {
            *sum = describe(r->dataset);
        }
        return status;
    case READ:
        return read_samples(r->dataset, sum, error);
    case VERIFY:
        return verify(r->dataset, sum, error);
    default:
        return load(r->c, r->dataset, at, &r->seen.saved, sum, error);
    }
}

/* Expects a step to give the same result as without refusals, or an error with a reason. An error
 * is allowed only if a call was refused, and the refusal is then over. */
static void judge(run *r, step at, bool met_before, const sluice_error *error)
{
    const sluice_status status = r->seen.status[at];
    const bool as_sound =
        status == r->sound->status[at] && (status < 0 || r->seen.sum[at] == r->sound->sum[at]);
    if (as_sound) {
        return;
    }
    if (status >= 0) {
        find(r->c, at, "another result", error);
    } else if (!refusals_met() || (met_before && running_mode != REFUSAL_STAYS)) {
        find(r->c, at, "a failure behind that of the refused call", error);
    } else if (running_mode == REFUSAL_INTERRUPTED) {
        find(r->c, at, "an interrupted call is not made again", error);
    } else if (status == SLUICE_INVALID || status == SLUICE_CORRUPT || status == SLUICE_STATE ||
               status == SLUICE_INTERNAL) {
        find(r->c, at, "a refusal of the system that is reported as another error", error);
    } else if (error->text[0] == '\0' || error->status != status) {
        find(r->c, at, "a status without a message", error);
    }
}

/* Repeats a step that the refusal ended, now without it, so that later steps have its result. */
static void again(run *r, step at)
{
    sluice_error error = SLUICE_ERROR_INIT;
    refusals_disarm();
    r->seen.status[at] = make_step(r, at, &error);
    if (r->seen.status[at] != r->sound->status[at] || r->seen.sum[at] != r->sound->sum[at]) {
        find(r->c, at, "not whole when it is made again", &error);
    }
}

/* Runs all steps without refusals and records their calls. */
static void run_all(run *r)
{
    refusals_record();
    for (step at = OPEN; at < STEPS && (at == OPEN || r->dataset != NULL); at++) {
        sluice_error error = SLUICE_ERROR_INIT;
        r->seen.status[at] = make_step(r, at, &error);
        r->seen.first[at + 1] = refusals_count();
        if (r->seen.status[at] < 0) {
            find(r->c, at, "without a refusal", &error);
        }
    }
    sluice_dataset_close(r->dataset);
    r->dataset = NULL;
}

/* Runs the step whose call is refused and later steps: all of them if `whole`, or if the refusal
 * did not end the step; otherwise only the next one. */
static void run_from(run *r, step refused, bool whole)
{
    for (step at = refused, end = STEPS; at < end; at++) {
        sluice_error error = SLUICE_ERROR_INIT;
        const bool met_before = refusals_met();
        r->seen.status[at] = make_step(r, at, &error);
        judge(r, at, met_before, &error);
        if (r->seen.status[at] < 0) {
            again(r, at);
            end = whole ? STEPS : at + 1;
        } else if (at == OPEN && r->dataset == NULL) {
            return;
        } else if (!whole && at > OPEN) {
            end = at + 1;
        }
    }
}

static char cache[256];

static void begin_cache(const refused_case *c)
{
    cache[0] = '\0';
    if (c->cached) {
        temporary_directory(cache, sizeof(cache));
    }
    assert(setenv("SLUICE_CACHE_DIR", cache, 1) == 0);
}

static void end_cache(void)
{
    if (cache[0] != '\0') {
        remove_tree(cache);
    }
}

static void run_refused(const refused_case *c, const outcome *sound, refusal mode, uint32_t call)
{
    static run r;
    const sluice_error none = SLUICE_ERROR_INIT;
    step refused = OPEN;
    while (refused + 1 < STEPS && call >= sound->first[refused + 1]) {
        refused++;
    }
    memset(&r, 0, sizeof(r));
    r.c = c;
    r.sound = sound;
    r.seen.saved = sound->saved;
    begin_cache(c);
    running_call = call;
    running_mode = mode;
    const uint32_t descriptors = refusals_descriptors();
    (void)alarm(HANG_SECONDS);
    if (refused > OPEN) {
        sluice_error error = SLUICE_ERROR_INIT;
        assert(make_step(&r, OPEN, &error) == SLUICE_OK);
    }
    refusals_arm(mode, call - sound->first[refused]);
    run_from(&r, refused, call % WHOLE_EVERY == 0);
    refusals_disarm();
    sluice_dataset_close(r.dataset);
    (void)alarm(0);
    if (refusals_descriptors() != descriptors) {
        find(c, refused, "a descriptor stays open", &none);
    }
    end_cache();
}

/* Runs the case without refusals and records its calls. */
static uint32_t run_sound(const refused_case *c, outcome *sound)
{
    static run r;
    uint32_t calls = 0;
    for (int i = 0; i < 2; i++) { /* the first run creates what the process keeps */
        memset(&r, 0, sizeof(r));
        r.c = c;
        begin_cache(c);
        run_all(&r);
        calls = refusals_recorded();
        *sound = r.seen;
        end_cache();
    }
    return calls;
}

void refused_check(const refused_case *c)
{
    static outcome sound;
    const char *seed_text = getenv("SLUICE_REFUSALS_SEED");
    const char *amount = getenv("SLUICE_REFUSALS");
    const uint64_t seed = seed_text != NULL ? strtoull(seed_text, NULL, 10) : 1;
    const bool every = amount != NULL && strcmp(amount, "all") == 0;
    const uint32_t before = findings;
    uint32_t refused = 0;
    running = c->name;
    watch_ends();
    const uint32_t calls = run_sound(c, &sound);
    for (refusal mode = REFUSAL_ONCE; mode < REFUSAL_MODES; mode++) {
        for (uint32_t call = 0; call < calls; call++) {
            if (refusals_chosen(mode, call, seed, every)) {
                run_refused(c, &sound, mode, call);
                refused++;
            }
        }
    }
    (void)printf("%s: %u calls, %u refusals (seed %llu), %u findings\n", c->name, calls, refused,
                 (unsigned long long)seed, findings - before);
    (void)fflush(stdout);
}

/* ---- columns of all fields ---- */

typedef struct maker {
    sluice_columns *columns;
    sluice_augment *recipe;
    const char *picture; /* the column that masks follow */
} maker;

static sluice_status add_picture(maker *m, const char *name)
{
    sluice_column column = SLUICE_COLUMN_INIT;
    column.kind = m->picture == NULL ? SLUICE_COLUMN_IMAGE : SLUICE_COLUMN_MASK;
    column.field = name;
    column.missing = m->picture == NULL ? SLUICE_MISSING_BAD : SLUICE_MISSING_BLANK;
    column.recipe = m->picture == NULL ? m->recipe : NULL;
    column.name = strcmp(name, "mask") == 0 ? "segments" : NULL; /* each batch has a "mask" */
    column.channels = m->picture == NULL ? 0 : 3; /* datasets made for this have RGB masks */
    m->picture = m->picture == NULL ? name : m->picture;
    return sluice_columns_add(m->columns, &column);
}

static sluice_status add_field(maker *m, const sluice_dataset *dataset, uint32_t number,
                               const sluice_field *field)
{
    sluice_column column = SLUICE_COLUMN_INIT;
    if (field->type == SLUICE_FIELD_IMAGE) {
        return add_picture(m, field->name);
    }
    const sluice_status status = sluice_dataset_natural_column(dataset, number, &column);
    if (status == SLUICE_END) { /* only if requested */
        const bool is_number = field->type == SLUICE_FIELD_INT || field->type == SLUICE_FIELD_FLOAT;
        column = (sluice_column)SLUICE_COLUMN_INIT;
        column.kind = is_number ? SLUICE_COLUMN_NUMBER : SLUICE_COLUMN_RAGGED;
        column.field = field->name;
        column.length = is_number ? 0 : 4096;
    }
    if (status < 0) {
        return status;
    }
    column.missing = SLUICE_MISSING_BLANK;
    return sluice_columns_add(m->columns, &column);
}

sluice_status refused_natural_columns(const refused_case *self, const sluice_dataset *dataset,
                                      sluice_columns **columns)
{
    maker m = {0};
    sluice_dataset_info info = SLUICE_DATASET_INFO_INIT;
    sluice_status status = sluice_dataset_get_info(dataset, &info);
    status = status == SLUICE_OK ? sluice_augment_create(&m.recipe) : status;
    if (status == SLUICE_OK) {
        status = sluice_augment_random_resized_crop(m.recipe, 12, 12, 0.3, 1.0, 3.0 / 4, 4.0 / 3);
    }
    status = status == SLUICE_OK ? sluice_columns_create(&m.columns) : status;
    for (uint32_t i = 0; status == SLUICE_OK && i < info.fields; i++) {
        static sluice_field fields[64];
        fields[i] = (sluice_field)SLUICE_FIELD_INIT;
        status = sluice_dataset_get_field(dataset, i, &fields[i]);
        status = status == SLUICE_OK ? add_field(&m, dataset, i, &fields[i]) : status;
    }
    (void)self;
    sluice_augment_destroy(m.recipe);
    *columns = m.columns;
    return status;
}
