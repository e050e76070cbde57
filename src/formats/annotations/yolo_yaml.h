/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yolo_yaml: reads YOLO's data.yaml with libyaml.
 *
 * Purpose: provides the image folders of each split and the names of the classes. Unknown members
 * are skipped. Files are untrusted: aliases are not followed, and lists and mappings may be nested
 * at most SL_YOLO_DEPTH_MAX deep. Memory: the file's bytes, at most SL_YOLO_YAML_MAX, and what
 * libyaml needs for them. Threads: pure. Ownership: sl_yolo_yaml_close.
 */
#ifndef SL_YOLO_YAML_H
#define SL_YOLO_YAML_H

#include "json_file.h"
#include "yolo_labels.h"

#define SL_YOLO_YAML_MAX  ((uint64_t)1 << 20)
#define SL_YOLO_DEPTH_MAX 32U

enum { SL_YOLO_TRAIN, SL_YOLO_VAL, SL_YOLO_TEST, SL_YOLO_SPLITS };
extern const char *const sl_yolo_splits[SL_YOLO_SPLITS]; /* their names in the file */

typedef struct sl_yolo_yaml {
    char *path;                     /* the dataset's folder; owned; NULL: not specified */
    json_t *splits[SL_YOLO_SPLITS]; /* arrays of texts; owned; NULL: none */
    json_t *names;                  /* an array of texts; owned; NULL: classes have no names */
    sl_yolo_rules rules;            /* classes is 0: not specified */
} sl_yolo_yaml;

/*
 * `yaml` is zeroed. Errors: IO; CORRUPT (not YAML, members of other types, names other than for
 * classes 0 to nc - 1); UNSUPPORTED (too large, too deep, an alias; built without libyaml); NOMEM.
 */
sluice_status sl_yolo_yaml_read(sl_yolo_yaml *yaml, const char *path, sluice_error *error);
void sl_yolo_yaml_close(sl_yolo_yaml *yaml);

#endif
