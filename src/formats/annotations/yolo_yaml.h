/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yolo_yaml: a data.yaml of YOLO's kind, by libyaml.
 *
 * Purpose: where the pictures of each split are, and what the classes are called. Members that are
 * not named here are passed over. Files are strangers': aliases are not followed, and lists and
 * mappings are in each other SL_YOLO_DEPTH_MAX deep at most.
 * Memory: the file's bytes, SL_YOLO_YAML_MAX at most, and what libyaml needs of them. Threads:
 * pure. Ownership: sl_yolo_yaml_close.
 */
#ifndef SL_YOLO_YAML_H
#define SL_YOLO_YAML_H

#include "json_file.h"
#include "yolo_labels.h"

#define SL_YOLO_YAML_MAX  ((uint64_t)1 << 20)
#define SL_YOLO_DEPTH_MAX 32U

enum { SL_YOLO_TRAIN, SL_YOLO_VAL, SL_YOLO_TEST, SL_YOLO_SPLITS };
extern const char *const sl_yolo_splits[SL_YOLO_SPLITS]; /* what they are called there */

typedef struct sl_yolo_yaml {
    char *path;                     /* owned: of the dataset; NULL: it does not say */
    json_t *splits[SL_YOLO_SPLITS]; /* owned: arrays of texts; NULL: there is none */
    json_t *names;                  /* owned: an array of texts; NULL: classes have none */
    sl_yolo_rules rules;            /* classes is 0: it does not say */
} sl_yolo_yaml;

/* `yaml` is all zero. Errors: IO; CORRUPT (no YAML, members of other types, names that are not of
 * classes 0 to nc - 1); UNSUPPORTED (too large, too deep, an alias; built without libyaml); NOMEM.
 */
sluice_status sl_yolo_yaml_read(sl_yolo_yaml *yaml, const char *path, sluice_error *error);
void sl_yolo_yaml_close(sl_yolo_yaml *yaml);

#endif
