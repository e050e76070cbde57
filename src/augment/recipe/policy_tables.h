/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_tables: the sub-policies of AutoAugment. A part has a probability and a level of 0 to 10,
 * which torchvision and timm each translate in their own way (policy.c, policy_timm.c); a level is
 * 0 where the operation has none. Sources: arXiv 1805.09501 (torchvision's "imagenet" and timm's
 * "original" are the same list); torchvision/transforms/autoaugment.py; timm/data/auto_augment.py.
 * Threads: constants.
 */
#ifndef SL_POLICY_TABLES_H
#define SL_POLICY_TABLES_H

#include "policy.h"

enum { SL_AUTO_PAIRS = 25 };

typedef struct sl_auto_part {
    uint8_t op;     /* an sl_policy_op */
    uint8_t tenths; /* of probability */
    uint8_t level;
} sl_auto_part;

typedef sl_auto_part sl_auto_pair[SL_POLICY_PARTS];

extern const sl_auto_pair sl_auto_imagenet[SL_AUTO_PAIRS];
extern const sl_auto_pair sl_auto_cifar10[SL_AUTO_PAIRS];
extern const sl_auto_pair sl_auto_svhn[SL_AUTO_PAIRS];
/* timm's "v0", of TPU EfficientNet. */
extern const sl_auto_pair sl_auto_v0[SL_AUTO_PAIRS];

#endif
