/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_annotations: any bytes as annotations. Input that begins with '<' is a Pascal VOC
 * annotation, with 'L' a list of such annotations, anything else COCO. The annotated images
 * exist. */
#include "dataset_run.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define SOUND                                                                              \
    "<annotation><filename>a.jpg</filename><object><name>dog</name><bndbox><xmin>1</xmin>" \
    "<ymin>2</ymin><xmax>3</xmax><ymax>4</ymax></bndbox></object></annotation>"

static void make_folder(char path[512])
{
    static bool made;
    (void)snprintf(path, 512, "%s/Annotations", fuzz_suspect_folder(0));
    if (made)
        return;
    made = true;
    fuzz_expect(mkdir(path, 0700) == 0, "a folder can be made");
    fuzz_suspect_write("Annotations/a.jpg", (const uint8_t *)"jpeg", 4);
    fuzz_suspect_write("a", (const uint8_t *)"jpeg", 4);
}

int fuzz_run(const uint8_t *data, size_t size)
{
    char path[512];
    if (size > FUZZ_INPUT_MAX)
        return 0;
    make_folder(path);
    if (size > 0 && data[0] == '<') {
        fuzz_suspect_write("Annotations/a.xml", data, size);
    } else if (size > 0 && data[0] == 'L') {
        fuzz_suspect_write("Annotations/a.xml", (const uint8_t *)SOUND, sizeof(SOUND) - 1);
        fuzz_suspect_write("list.txt", data + 1, size - 1);
        (void)snprintf(path, sizeof(path), "%s/list.txt", fuzz_suspect_folder(0));
    } else {
        fuzz_suspect_write("instances_val.json", data, size);
        (void)snprintf(path, sizeof(path), "%s/instances_val.json", fuzz_suspect_folder(0));
        static const char *const fields[] = {"image=image", "s=segmentation", "boxes=boxes"};
        sluice_dataset_options chosen = SLUICE_DATASET_OPTIONS_INIT;
        chosen.fields = fields;
        chosen.field_count = sizeof(fields) / sizeof(fields[0]);
        if (memmem(data, size, "segmentation", strlen("segmentation")) != NULL)
            fuzz_dataset_run_with(path, &chosen);
    }
    fuzz_dataset_run(path);
    return 0;
}

static const char *const seeds[] = {
    "{\"info\":{},\"images\":[{\"id\":7,\"file_name\":\"a\"},{\"id\":-1,\"file_name\":\"a\"}],\n"
    "\"annotations\":[{\"image_id\":7,\"category_id\":1,\"bbox\":[1,2,3.5,4],\"area\":3,"
    "\"segmentation\":[[1,2,\"]\\\"\"],{}],"
    "\"keypoints\":[1,2,3],\"iscrowd\":1},{\"image_id\":-1,\"category_id\":3,\"bbox\":[1,2,3,4],"
    "\"area\":0.5,\"keypoints\":[4,5,6]}],\"categories\":[{\"id\":1,\"name\":\"x\"}]}",
    "{\"images\":[{\"id\":7,\"file_name\":\"a\"}],\"annotations\":[{\"image_id\":7,\"bbox\":"
    "[1,2,3,4],\"segmentation\": [[1.5, 2,3,4, 5,6],[]]},{\"segmentation\":{\"counts\":\"1j0\","
    "\"size\":[3,9]},\"image_id\":7,\"bbox\":[1,2,3,4]},{\"segmentation\":null,\"image_id\":7,"
    "\"bbox\":[1,2,3,4]},{\"image_id\":7,\"bbox\":[1,2,3,4]}]}",
    "\xef\xbb\xbf{\"images\":[{\"id\":\"p\",\"width\":3.0,\"height\":0,\"coco_url\":"
    "\"http://h/x/a?b\",\"neg_category_ids\":[1]}],\"annotations\":[{\"id\":1,\"image_id\":\"p\","
    "\"category_id\":\"k\",\"bbox\":[1,2,3,4],\"iscrowd\":true,\"keypoints\":[1,2,2]},{\"id\":"
    "\"b\","
    "\"image_id\":\"p\",\"category_id\":\"l\",\"bbox\":[1,2,3,4],\"iscrowd\":1.0,\"keypoints\":[]}]"
    ","
    "\"categories\":[{\"id\":\"k\",\"name\":\"x\",\"keypoints\":[\"nose\"]},{\"id\":\"l\",\"name\":"
    "\"y\"}]}",
    "{\"images\":[{\"id\":7.0,\"file_name\":\"a\"}],\"annotations\":[{\"image_id\":7,\"file_name\":"
    "\"a\",\"segments_info\":[{\"id\":1,\"category_id\":2,\"bbox\":[1,2,3,4],\"area\":5},{\"id\":2,"
    "\"category_id\":2,\"bbox\":[1,2,3,4],\"area\":5}]}],\"categories\":[{\"id\":2,\"name\":\"c\"}]"
    "}",
    "{\"images\":[{\"id\":1,\"file_name\":\"a\"}],\"annotations\":[{\"image_id\":1,\"bbox\":[1,2,"
    "NaN,"
    "4],\"score\":-Infinity}]}",
    "{\"annotations\":[{\"image_id\":7,\"caption\":\"one\"},{\"image_id\":7,\"caption\":\"two\"},"
    "{\"image_id\":8,\"caption\":\"\"}],\"images\":[{\"id\":7,\"file_name\":\"a\"}]}",
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<annotation><folder>x</folder>"
    "<filename>a.jpg</filename><size><width>500</width><height>375</height></size>"
    "<object><name>dog &amp; cat</name><truncated>1</truncated><difficult>0</difficult>"
    "<occluded>1</occluded><bndbox><xmin>1</xmin><ymin>2.5</ymin><xmax>3e2</xmax><ymax>4</ymax>"
    "</bndbox><part><name>head</name></part></object></annotation>",
    "<!DOCTYPE annotation [<!ENTITY a \"ha\"><!ENTITY b \"&a;&a;\">]><annotation>"
    "<filename>&b;</filename></annotation>",
    SOUND,
    "La\na\n",
    "L\xef\xbb\xbf"
    "a.jpg\n./a\n",
    "La  1\r\n\na -1",
};

size_t fuzz_seed(unsigned index, uint8_t *buffer)
{
    if (index >= sizeof(seeds) / sizeof(seeds[0]))
        return 0;
    memcpy(buffer, seeds[index], strlen(seeds[index]));
    return strlen(seeds[index]);
}
