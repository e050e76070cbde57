/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paint_photos: `sluice synth` with painted scenes: skies, grounds and objects that hide each
 * other, with the edges and the spectrum of natural images. For measurements that depend on the
 * position of detail in a photo. Options and files: `sluice synth --help`.
 */
#include "noise.h"
#include "report.h"
#include "scene.h"
#include "synth.h"

static void *create(void)
{
    return scene_create();
}

static uint8_t *render(void *own, const struct photo *photo)
{
    return scene_render(own, photo);
}

static void destroy(void *own)
{
    scene_destroy(own);
}

int main(int argc, char **argv)
{
    report_set_command("synth");
    static const struct synth_painter scenes = {
        .prepare = noise_prepare, .create = create, .render = render, .destroy = destroy};
    return synth_run(&scenes, argc, argv);
}
