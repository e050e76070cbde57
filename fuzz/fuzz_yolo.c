/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_yolo: any bytes as YOLO labels. Input that begins with 'Y' is a data.yaml for the labels
 * after it, with 'L' a list of images, with 'P' labels of objects with points, anything else labels
 * of boxes and polygons. Their images exist. */
#include "dataset_run.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define BOXES  "0 0.5 0.5 0.25 0.125\n\n1 0.1 0.1 0.2 0.3 0.4 0.25\r\n"
#define YAML   "path: .\ntrain: images\nval:\nnc: 2\nnames:\n  0: cat\n  1: dog\n"
#define POINTS "train: images\nkpt_shape: [1, 3]\nnames: [cat, dog]\n"

static void write_text(const char *name, const char *text)
{
    fuzz_suspect_write(name, (const uint8_t *)text, strlen(text));
}

static void make_folders(char path[512])
{
    static bool made;
    static const char *const folders[] = {"images", "labels"};
    for (int i = 0; i < 2 && !made; i++) {
        (void)snprintf(path, 512, "%s/%s", fuzz_suspect_folder(0), folders[i]);
        fuzz_expect(mkdir(path, 0700) == 0, "a folder can be made");
    }
    if (!made)
        write_text("images/a.jpg", "jpeg");
    made = true;
    (void)snprintf(path, 512, "%s", fuzz_suspect_folder(0));
}

int fuzz_run(const uint8_t *data, size_t size)
{
    char path[512];
    const uint8_t kind = size > 0 ? data[0] : '0';
    if (size > FUZZ_INPUT_MAX)
        return 0;
    make_folders(path);
    write_text("labels/a.txt", BOXES);
    write_text("data.yaml", kind == 'P' ? POINTS : YAML);
    if (kind == 'Y') {
        fuzz_suspect_write("data.yaml", data + 1, size - 1);
    } else if (kind == 'L') {
        fuzz_suspect_write("list.txt", data + 1, size - 1);
        (void)snprintf(path, sizeof(path), "%s/list.txt", fuzz_suspect_folder(0));
    } else {
        const size_t skipped = kind == 'P' ? 1 : 0;
        fuzz_suspect_write("labels/a.txt", data + skipped, size - skipped);
    }
    sluice_dataset_options split = SLUICE_DATASET_OPTIONS_INIT;
    split.split = "val";
    if (kind == 'Y')
        fuzz_dataset_run_with(path, &split);
    fuzz_dataset_run(path);
    return 0;
}

static const char *const seeds[] = {
    BOXES,
    "P0 0.5 0.5 0.25 0.125 0.1 0.2 2\n",
    "1.0\t1e-1 +.5 0 1\n0 0.5 0.5 0.1\n",
    "0 nan 0.5 0.1 0.1",
    "Y" YAML,
    "Y" POINTS,
    "Ypath: ../x\ntrain:\n  - ./images/\n  - list.txt\ntest: ~\nnames: ['a', \"b\"]\nx: {a: [1, "
    "{b: c}]}\n",
    "Yx: &a [1]\ntrain: *a\nnc: 1\n",
    "Ypath: ../datasets/x\ntrain: images\nval: ./images/\ntest: labels\nnc: 2\n",
    "\xef\xbb\xbf"
    "0 0.5 0.5 0.25 0.125\n",
    "Limages/a.jpg\nimages/../images/a.jpg\nimages/a.jpg\n",
    "Limages/a.jpg\n",
    "L./images/a.jpg \r\n\n/images/../a.png",
};

size_t fuzz_seed(unsigned index, uint8_t *buffer)
{
    if (index >= sizeof(seeds) / sizeof(seeds[0]))
        return 0;
    memcpy(buffer, seeds[index], strlen(seeds[index]));
    return strlen(seeds[index]);
}
