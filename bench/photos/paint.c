/* SPDX-License-Identifier: Apache-2.0 */
#include "paint.h"

#include "noise.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

static const uint32_t torus_mask = NOISE_SIDE - 1;

static inline float texture_at(const struct surface *surface, uint32_t x, uint32_t y)
{
    uint32_t column = (x * surface->step_x + surface->offset) & torus_mask;
    uint32_t row = (y * surface->step_y + surface->offset / NOISE_SIDE) & torus_mask;
    return surface->texture * surface->field[row * NOISE_SIDE + column];
}

static inline float *pixel_at(const struct canvas *canvas, uint32_t x, uint32_t y)
{
    return canvas->pixels + 3 * ((size_t)y * canvas->width + x);
}

void paint_ground(const struct canvas *canvas, uint32_t top, const struct surface *upper,
                  const struct colour *lower)
{
    uint32_t rows = canvas->height - top;
    for (uint32_t y = top; y < canvas->height; y++) {
        float part = (float)(y - top) / (float)rows;
        struct colour colour;
        for (int c = 0; c < 3; c++) {
            float from = upper->base.channel[c];
            colour.channel[c] = from + part * (lower->channel[c] - from);
        }
        float *pixel = pixel_at(canvas, 0, y);
        for (uint32_t x = 0; x < canvas->width; x++, pixel += 3) {
            float texture = texture_at(upper, x, y);
            for (int c = 0; c < 3; c++) {
                pixel[c] = colour.channel[c] + texture * upper->tint.channel[c];
            }
        }
    }
}

/* Terms of a shape that are the same for all pixels. */
struct frame {
    float cosine, sine;
    uint32_t left, right, top, bottom; /* right and bottom: exclusive */
    float scale;                       /* pixels per unit of an ellipse's distance */
};

static uint32_t clamp_edge(float value, uint32_t limit)
{
    if (!(value > 0)) {
        return 0;
    }
    return value >= (float)limit ? limit : (uint32_t)value;
}

static struct frame frame_of(const struct canvas *canvas, const struct shape *shape)
{
    struct frame frame = {.cosine = cosf(shape->angle), .sine = sinf(shape->angle)};
    /* Wobble moves the rim outwards by less than this factor. */
    float grow = 1 + shape->wobble;
    float across = (fabsf(frame.cosine) * shape->radius_x + fabsf(frame.sine) * shape->radius_y);
    float down = (fabsf(frame.sine) * shape->radius_x + fabsf(frame.cosine) * shape->radius_y);
    across = across * grow + shape->softness;
    down = down * grow + shape->softness;
    frame.left = clamp_edge(shape->x - across, canvas->width);
    frame.right = clamp_edge(shape->x + across + 1, canvas->width);
    frame.top = clamp_edge(shape->y - down, canvas->height);
    frame.bottom = clamp_edge(shape->y + down + 1, canvas->height);
    frame.scale = 0.5F * fminf(shape->radius_x, shape->radius_y);
    return frame;
}

/* Returns the signed distance to the rim, roughly in pixels, positive inside. `square` is u^2 +
 * v^2. */
static inline float inside(const struct shape *shape, const struct frame *frame, float u, float v,
                           float square)
{
    if (shape->kind == SHAPE_ELLIPSE) {
        return (1 - square) * frame->scale;
    }
    return fminf((1 - fabsf(u)) * shape->radius_x, (1 - fabsf(v)) * shape->radius_y);
}

/* Blends one pixel of a shape into `pixel`, weighted by its coverage. */
static inline void blend(const struct shape *shape, const struct frame *frame, uint32_t x,
                         uint32_t y, float *pixel)
{
    const struct surface *surface = &shape->surface;
    float dx = (float)x - shape->x;
    float dy = (float)y - shape->y;
    float u = (dx * frame->cosine + dy * frame->sine) / shape->radius_x;
    float v = (dy * frame->cosine - dx * frame->sine) / shape->radius_y;
    float square = u * u + v * v;
    float noise = surface->field[(y & torus_mask) * NOISE_SIDE + (x & torus_mask)];
    float distance = inside(shape, frame, u, v, square) + shape->wobble * frame->scale * noise;
    float cover = fminf(fmaxf(distance / shape->softness + 0.5F, 0), 1);
    float light = shape->light_x * u + shape->light_y * v - shape->roundness * square;
    float texture = texture_at(surface, x, y);
    for (int c = 0; c < 3; c++) {
        float value = surface->base.channel[c] + light + texture * surface->tint.channel[c];
        pixel[c] += cover * (value - pixel[c]);
    }
}

void paint_shape(const struct canvas *canvas, const struct shape *shape)
{
    struct frame frame = frame_of(canvas, shape);
    for (uint32_t y = frame.top; y < frame.bottom; y++) {
        float *pixel = pixel_at(canvas, frame.left, y);
        for (uint32_t x = frame.left; x < frame.right; x++, pixel += 3) {
            blend(shape, &frame, x, y, pixel);
        }
    }
}

static inline uint8_t to_byte(float value)
{
    return (uint8_t)(fminf(fmaxf(value, 0), 255) + 0.5F);
}

void paint_finish(const struct canvas *canvas, const struct finish *finish, struct rng *rng,
                  uint8_t *rgb)
{
    float half_width = 0.5F * (float)canvas->width;
    float half_height = 0.5F * (float)canvas->height;
    for (uint32_t y = 0; y < canvas->height; y++) {
        const float *luma = noise_grains() + rng_below(rng, NOISE_GRAINS / 2);
        const float *red = noise_grains() + rng_below(rng, NOISE_GRAINS / 2);
        const float *blue = noise_grains() + rng_below(rng, NOISE_GRAINS / 2);
        float v = ((float)y - half_height) / half_height;
        const float *pixel = pixel_at(canvas, 0, y);
        for (uint32_t x = 0; x < canvas->width; x++, pixel += 3, rgb += 3) {
            float u = ((float)x - half_width) / half_width;
            float gain = (1 - finish->vignette * 0.5F * (u * u + v * v)) * finish->contrast;
            uint32_t grain = x % (NOISE_GRAINS / 2);
            float shift = 128 * (1 - finish->contrast) + finish->grain_luma * luma[grain];
            float warm = finish->grain_chroma * red[grain];
            float cold = finish->grain_chroma * blue[grain];
            rgb[0] = to_byte(pixel[0] * gain + shift + warm);
            rgb[1] = to_byte(pixel[1] * gain + shift - 0.5F * (warm + cold));
            rgb[2] = to_byte(pixel[2] * gain + shift + cold);
        }
    }
}
