/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images: opened and drawn (columns_make.c), then just the needed rectangle is decoded straight
 * into the row; if rows are mixed, samples are left there until their partner is ready.
 */
#include "column_image.h"

#include "clock.h"
#include "composition.h"
#include "conversion.h"
#include "converter.h"
#include "dtype.h"
#include "error.h"
#include "kinds.h"
#include "operations.h"
#include "orientation.h"
#include "sizes.h"

#include <string.h>

typedef struct image_state {
    sl_converter converter;
    sl_converter left;  /* converter for rows that wait to be mixed */
    bool mirrors_later; /* flips are left to the device; SL_PART_HIDDEN has the flags */
    sl_mixer mixer;
} image_state;

static image_state *image_of(const sl_column *column)
{
    return column->state;
}

/* Returns whether rows wait as bytes, until the host mixes them. */
static bool image_waits(const sl_column *column)
{
    return column->mixer != NULL && !column->mixer->later;
}

const sl_converter *sl_column_converter(const sl_column *column)
{
    return &image_of(column)->converter;
}

/* ---- once ---- */

static sl_part *add_image_part(sl_column_set *set, sl_column *column, const char *suffix,
                               const sl_part *as, sluice_error *error)
{
    sl_part *part = sl_column_add_part(set, column, suffix, error);
    if (part != NULL) {
        part->role = as->role;
        part->dtype = as->dtype;
        part->row_bytes = as->row_bytes;
    }
    return part;
}

/* Makes the converter for rows that wait: to bytes in the layout of the batch. */
static void make_left(sl_column *column)
{
    image_state *image = image_of(column);
    image->left = image->converter;
    image->left.dtype = SLUICE_U8;
    image->mixer.converter = &image->converter;
    image->mixer.left_bytes = sl_converter_row_bytes(&image->left);
}

static sluice_status check_mixing(const sl_column *column, const sl_column_set *set,
                                  sluice_error *error)
{
    const char *mismatch = sl_mixing_mismatch(&image_of(column)->mixer.mixing);
    if (set->batch == 1) {
        return sl_column_refuse(
            column, error, "with " SL_OPTION("batch_size") " 1 no row can be mixed with another");
    }
    return mismatch != NULL ? sl_column_refuse(column, error, mismatch) : SLUICE_OK;
}

static bool shares_layers(const sluice_augment *recipe)
{
    return sl_recipe_is_layered(recipe) && !sl_recipe_pastes(recipe);
}

/* Binds a column whose rows use other samples, too. */
static sluice_status bind_several(sl_column *column, sl_column_set *set, sluice_error *error)
{
    const sluice_augment *recipe = &column->request.recipe;
    column->members = sl_recipe_members_most(recipe);
    column->canvas_passes = 1;
    if (column->members > 1 && column->request.may_miss) {
        return sl_column_refuse(column, error,
                                "its recipe combines several images: none of them may be missing");
    }
    if (column->members > 1 && (column->bucketed || column->request.sizes != SLUICE_SIZES_ONE)) {
        return sl_column_refuse(
            column, error, "its recipe combines several images: its output must have one size");
    }
    return !shares_layers(recipe) ||
                   add_image_part(set, column, ".share",
                                  &(sl_part){.dtype = SLUICE_F32, .row_bytes = 4}, error) != NULL
               ? SLUICE_OK
               : SLUICE_INVALID;
}

/* Adds the parts in the order of SL_IMAGE_*. */
static sluice_status bind_mixing(sl_column *column, sl_column_set *set, sluice_error *error)
{
    sl_mixer *mixer = &image_of(column)->mixer;
    if (!sl_recipe_mixing(&column->request.recipe, &mixer->mixing)) {
        return SLUICE_OK;
    }
    const sluice_status status = check_mixing(column, set, error);
    if (status != SLUICE_OK) {
        return status;
    }
    column->mixer = mixer;
    mixer->number = set->mixers++;
    make_left(column);
    const uint64_t kept = mixer->left_bytes;
    const bool keeps = mixer->mixing.partner != SL_PARTNER_REVERSED;
    const bool added =
        add_image_part(set, column, ".mixed_with", &(sl_part){.dtype = SLUICE_I64, .row_bytes = 8},
                       error) != NULL &&
        add_image_part(set, column, ".weight", &(sl_part){.dtype = SLUICE_F32, .row_bytes = 4},
                       error) != NULL &&
        add_image_part(set, column, ".mixing", &(sl_part){.role = SL_PART_HIDDEN}, error) != NULL &&
        (!keeps ||
         add_image_part(set, column, ".kept", &(sl_part){.role = SL_PART_LOCAL, .row_bytes = kept},
                        error) != NULL);
    return added ? SLUICE_OK : SLUICE_INVALID;
}

/* ---- the batch's size ---- */

/* Returns the bucket with the largest area, for which there must be space. */
static const sluice_size *largest_bucket(const sl_column_set *set)
{
    const sluice_size *largest = &set->buckets[0];
    for (uint32_t i = 1; i < set->bucket_count; i++) {
        const sluice_size *size = &set->buckets[i];
        if ((uint64_t)size->width * size->height > (uint64_t)largest->width * largest->height) {
            largest = size;
        }
    }
    return largest;
}

/* The converter is for the largest bucket, and each row's is a copy of it (converter_of). */
static sluice_status bind_sized(sl_column *column, sl_column_set *set, sluice_error *error)
{
    const bool several = column->request.sizes != SLUICE_SIZES_ONE;
    sl_converter *converter = &image_of(column)->converter;
    sl_mixing mixing;
    column->bucketed = sl_recipe_wants_batch(&column->request.recipe);
    column->sized = column->request.recipe.width == SL_SIZE_OF_BATCH;
    if (column->bucketed && set->buckets == NULL) {
        return sl_column_refuse(column, error,
                                "its recipe crops to the size of the batch's bucket (bucket_crop): "
                                "give the sizes in option " SL_OPTION("buckets"));
    }
    if (several && column->bucketed) {
        return sl_column_refuse(
            column, error,
            "all images of a bucket (bucket_crop) have the bucket's size: choose sizes one");
    }
    if (!column->sized && !several) {
        return SLUICE_OK;
    }
    if (sl_recipe_mixing(&column->request.recipe, &mixing)) {
        return sl_column_refuse(column, error,
                                "rows of buckets or of variable-size images cannot be mixed");
    }
    if (set->ragged_count == SL_RAGGED_MAX) {
        return sl_column_refuse(
            column, error,
            "a batch can have at most 16 ragged columns and image columns of buckets");
    }
    if (several) {
        const sluice_status status = sl_column_settle_space(column, set, error);
        converter->width = column->request.max_width;
        converter->height = column->request.max_height;
        return status;
    }
    const sluice_size *largest = largest_bucket(set);
    converter->width = largest->width;
    converter->height = largest->height;
    return SLUICE_OK;
}

static void size_part(const sl_column *column, sl_column_set *set, sl_part *part)
{
    const bool planes = column->request.layout == SLUICE_NCHW;
    part->role = SL_PART_SIZED;
    part->ragged = set->ragged_count++;
    part->shape[planes ? 1 : 0] = 0;
    part->shape[planes ? 2 : 1] = 0;
    part->element_bytes = 3 * sl_dtype_bytes(image_of(column)->converter.dtype);
}

/* Returns the converter for the drawn row's size. */
static const sl_converter *converter_of(const sl_column *column, const sl_converter *converter,
                                        const sl_params *params, sl_converter *own)
{
    if (!column->sized && column->request.sizes == SLUICE_SIZES_ONE) {
        return converter;
    }
    *own = *converter;
    own->width = params->width;
    own->height = params->height;
    return own;
}

/* Notes a mean above 1, which is meant for 0..255: pixels are scaled to 0..1 before. */
static void check_mean(const sl_column *column)
{
    const sluice_augment *recipe = &column->request.recipe;
    for (uint32_t i = 0; i < recipe->count; i++) {
        const sl_recipe_step *step = &recipe->steps[i];
        if (strcmp(step->kind->name, "normalize") == 0 &&
            (step->arguments[0] > 1 || step->arguments[1] > 1 || step->arguments[2] > 1)) {
            sl_notices_add(column->set->notices,
                           "column \"%s\": normalize has the mean %g, %g, %g, but pixels are "
                           "scaled to 0..1 before it: divide mean and deviation by 255",
                           column->request.name, step->arguments[0], step->arguments[1],
                           step->arguments[2]);
        }
    }
}

static sluice_status column_image_bind(sl_column *column, sl_column_set *set, sluice_error *error)
{
    const sl_column_request *request = &column->request;
    sluice_status status = request->sizes == SLUICE_SIZES_ONE
                               ? sl_recipe_check(&request->recipe, error)
                               : sl_recipe_check_steps(&request->recipe, error);
    if (status == SLUICE_OK) {
        status = sl_converter_make_any(&image_of(column)->converter, &request->recipe,
                                       (sluice_dtype)request->dtype, request->layout, error);
    }
    if (status == SLUICE_OK) {
        status = bind_sized(column, set, error);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    image_of(column)->converter.tools.jpeg = sl_decoder_jpeg_artefacts;
    sl_part *part = sl_column_add_part(set, column, "", error);
    if (part == NULL) {
        return SLUICE_INVALID;
    }
    const int64_t width = request->recipe.width;
    const int64_t height = request->recipe.height;
    const bool planes = request->layout == SLUICE_NCHW;
    part->dtype = (sluice_dtype)request->dtype;
    part->dims = 3;
    part->shape[0] = planes ? 3 : height;
    part->shape[1] = planes ? height : width;
    part->shape[2] = planes ? width : 3;
    part->row_bytes = sl_converter_row_bytes(&image_of(column)->converter);
    if (column->sized) {
        size_part(column, set, part);
    }
    sl_part *flags = sl_column_add_part(set, column, ".flags", error);
    if (flags == NULL) {
        return SLUICE_INVALID;
    }
    flags->role = SL_PART_HIDDEN;
    check_mean(column);
    column->width = image_of(column)->converter.width;
    column->height = image_of(column)->converter.height;
    column->picture = set->pictures++;
    sl_column_lead(set, column);
    status = bind_several(column, set, error);
    if (status == SLUICE_OK && request->sizes != SLUICE_SIZES_ONE) {
        column->pixel_bytes = 3 * (uint32_t)sl_dtype_bytes(image_of(column)->converter.dtype);
        return sl_column_bind_sizes(column, set, part, error);
    }
    return status == SLUICE_OK ? bind_mixing(column, set, error) : status;
}

void sl_columns_leave_bytes(sl_column_set *set, sl_column *picture)
{
    sl_converter_leave_bytes(&image_of(picture)->converter);
    image_of(picture)->mirrors_later = true;
    set->parts[picture->first_part].row_bytes =
        sl_converter_row_bytes(&image_of(picture)->converter);
    set->parts[picture->first_part].converted = true;
    if (picture->sized) {
        set->parts[picture->first_part].element_bytes = 3;
    }
    set->parts[picture->first_part + SL_IMAGE_FLAGS].row_bytes = 1;
    if (picture->mixer == NULL) {
        return;
    }
    picture->mixer->later = true;
    set->parts[picture->first_part + SL_IMAGE_MIXING].row_bytes = sizeof(sl_conversion_mixing);
    if (picture->part_count > SL_IMAGE_KEPT) {
        set->parts[picture->first_part + SL_IMAGE_KEPT].row_bytes = 0;
    }
}

/* ---- each row ---- */

static sluice_status open_picture(const sl_column *column, sl_row *row, sl_picture *picture,
                                  sluice_error *error)
{
    const sl_value *value = &row->values.of[column->field_number];
    if (!column->orients) {
        return sl_decoder_open_picture(row->decoder, value, picture, error);
    }
    const sluice_status status = sl_decoder_open_picture(row->decoder, value, picture, error);
    return status == SLUICE_OK ? sl_group_orient(column, row, picture, error) : status;
}

void sl_column_image_least(const sl_row *row, const sl_params *params, uint32_t *width,
                           uint32_t *height)
{
    *width = 0;
    *height = 0;
    if (!row->exact) {
        sl_mapping_least(&params->geometries[0].box, &params->need, width, height);
    }
}

/* Returns whether a mirror may be left to the device: only pixel-wise operations come after it. */
static bool can_mirror_later(const sl_params *params)
{
    bool local = params->geometries[0].box.flip_x && !params->geometries[0].warps;
    for (uint32_t i = 0; i < params->operation_count; i++) {
        const sl_operation_kind *kind = params->operations[i].kind;
        local =
            local && kind->canvas == NULL && kind->in_place == NULL && kind != &sl_operation_erase;
    }
    return local;
}

sluice_status sl_column_image_finish(const sl_column *column, sl_row *row, sl_part_view parts,
                                     const sl_image *view, sluice_error *error)
{
    const sl_params *params = &row->draws[column->group].params;
    if (column->request.sizes != SLUICE_SIZES_ONE) {
        const sluice_status status =
            sl_column_note_size(column, parts, row->at.number, params, error);
        if (status != SLUICE_OK) {
            return status;
        }
    }
    const bool left = image_of(column)->mirrors_later && can_mirror_later(params);
    if (image_of(column)->mirrors_later) {
        *(uint8_t *)sl_column_row(column, parts, SL_IMAGE_FLAGS, row->at.number) =
            left ? SL_ROW_MIRROR : 0;
    }
    const sl_apply_work work = {.scratch = sl_decoder_scratch(row->decoder),
                                .profile = row->timed ? &row->profile : NULL,
                                .work = &row->work,
                                .unmirrored = left};
    const bool waits = image_waits(column);
    sl_converter own;
    return sl_augment_apply(
        converter_of(column, waits ? &image_of(column)->left : &image_of(column)->converter, params,
                     &own),
        view, params, &work,
        waits ? sl_column_left(column, parts, row->at.number)
              : sl_column_picture_row(column, parts, &row->at),
        error);
}

/* Decodes the needed part of the open image. */
static sluice_status decode_need(const sl_params *params, sl_row *row, sl_image *view,
                                 sluice_error *error)
{
    uint32_t width;
    uint32_t height;
    sl_column_image_least(row, params, &width, &height);
    const sluice_status status =
        sl_decoder_decode(row->decoder, params->need, width, height, view, error);
    row->decode_ns += row->timed ? sl_now_ns() - row->opened_ns : 0;
    return status;
}

/* A member being made. */
typedef struct image_member {
    const sl_column *column;
    sl_row *row;
    sl_part_view parts;
    const sl_params *params;
    sl_apply_work work;
    sl_image view; /* of an image that is not a tile */
} image_member;

static size_t image_canvas_bytes(const void *ctx)
{
    const image_member *m = ctx;
    return sl_canvas_bytes(m->params);
}

static void begin_image_canvas(void *ctx, uint8_t *canvas)
{
    const image_member *m = ctx;
    sl_canvas_begin(m->params, canvas);
}

/* Returns whether any part of it is visible in the canvas. */
static bool is_seen(const sl_params *params)
{
    double box[4];
    sl_trail_seen(&params->trail, params->width, params->height, box);
    return box[2] > box[0] && box[3] > box[1];
}

static sluice_status draw_image(void *ctx, uint8_t *canvas, sluice_error *error)
{
    image_member *m = ctx;
    if (canvas != NULL && !is_seen(m->params)) {
        return SLUICE_OK;
    }
    const sluice_status status = decode_need(m->params, m->row, &m->view, error);
    return status == SLUICE_OK && canvas != NULL
               ? sl_canvas_tile(&image_of(m->column)->converter, &m->view, m->params, &m->work,
                                canvas, error)
               : status;
}

static sluice_status join_image(void *ctx, const sl_layer_join *joint, sluice_error *error)
{
    const image_member *m = ctx;
    const sl_layer layer = {.view = joint->tiles == NULL ? &m->view : NULL,
                            .tiles = joint->tiles,
                            .pixels = joint->pixels,
                            .over = joint->over_layer};
    return joint->pixels != NULL
               ? sl_layer_make(&image_of(m->column)->converter, m->params, &m->work, &layer, error)
               : SLUICE_OK;
}

static void note_share(const sl_column *column, uint32_t number, sl_part_view parts, float share)
{
    if (column->members > 1 && shares_layers(&column->request.recipe)) {
        memcpy(sl_column_row(column, parts, SL_IMAGE_SHARE, number), &share, sizeof(share));
    }
}

/* Makes the row of a canvas that has all members. */
static sluice_status finish_canvas(const image_member *m, uint8_t *canvas, sluice_error *error)
{
    const sl_column *column = m->column;
    const uint32_t number = m->row->at.number;
    const bool waits = image_waits(column);
    if (image_of(column)->mirrors_later) {
        *(uint8_t *)sl_column_row(column, m->parts, SL_IMAGE_FLAGS, number) = 0;
    }
    return sl_canvas_end(waits ? &image_of(column)->left : &image_of(column)->converter, m->params,
                         &m->work, canvas,
                         waits ? sl_column_left(column, m->parts, number)
                               : sl_column_row(column, m->parts, SL_IMAGE_ROWS, number),
                         error);
}

static sluice_status finish_image(void *ctx, uint8_t *pixels, sluice_error *error)
{
    const image_member *m = ctx;
    note_share(m->column, m->row->at.number, m->parts, m->params->share);
    return pixels != NULL ? finish_canvas(m, pixels, error)
                          : sl_column_image_finish(m->column, m->row, m->parts, &m->view, error);
}

static const sl_composer image_composer = {.canvas_bytes = image_canvas_bytes,
                                           .begin = begin_image_canvas,
                                           .draw = draw_image,
                                           .join = join_image,
                                           .finish = finish_image};

/* Makes a row of several members. */
static sluice_status make_composed(const sl_column *column, sl_row *row, sl_part_view parts,
                                   sluice_error *error)
{
    image_member member = {.column = column,
                           .row = row,
                           .parts = parts,
                           .params = &row->draws[column->group].params,
                           .work = {.scratch = sl_decoder_scratch(row->decoder),
                                    .profile = row->timed ? &row->profile : NULL,
                                    .work = &row->work}};
    return sl_composition_make(column, row, &image_composer, &member, error);
}

static sluice_status column_image_make(const sl_column *column, sl_row *row, sl_part_view parts,
                                       sluice_error *error)
{
    sl_image view;
    if (column->members > 1) {
        return make_composed(column, row, parts, error);
    }
    const sluice_status status = decode_need(&row->draws[column->group].params, row, &view, error);
    return status == SLUICE_OK ? sl_column_image_finish(column, row, parts, &view, error) : status;
}

static void column_image_blank(const sl_column *column, const sl_row_place *at, sl_part_view parts)
{
    const uint32_t number = at->number;
    if (column->request.sizes != SLUICE_SIZES_ONE) {
        sl_column_blank_size(column, parts, number);
        return;
    }
    sl_column_fill_row(column, at, parts);
    if (image_of(column)->mirrors_later) {
        *(uint8_t *)sl_column_row(column, parts, SL_IMAGE_FLAGS, number) = SL_ROW_ZERO;
    }
    note_share(column, number, parts, 1);
    if (column->mixer != NULL) {
        const sl_mixing_row none = sl_mixing_none(number);
        sl_meeting_note(column, parts, number, &none);
    }
}

const sl_column_kind sl_column_image = {.name = "image",
                                        .state_bytes = sizeof(image_state),
                                        .takes = SL_TAKES(IMAGE),
                                        .composes = true,
                                        .bind = column_image_bind,
                                        .open = open_picture,
                                        .make = column_image_make,
                                        .blank = column_image_blank,
                                        .finish = sl_column_finish_sizes};
