/* SPDX-License-Identifier: Apache-2.0 */
/* policies: torchvision's presets, and the names of operations as torchvision and timm spell them.
 */
#ifndef TEST_POLICIES_H
#define TEST_POLICIES_H

#include "policy.h"

#define RAND_AUGMENT_PRESET          \
    {                                \
        2, 9, 31, SL_POLICY_NEAREST, \
        {                            \
            0, 0, 0                  \
        }                            \
    }
#define TRIVIAL_AUGMENT_PRESET \
    {                          \
        31, SL_POLICY_NEAREST, \
        {                      \
            0, 0, 0            \
        }                      \
    }
#define AUTO_AUGMENT_PRESET                  \
    {                                        \
        SL_AUTO_IMAGENET, SL_POLICY_NEAREST, \
        {                                    \
            0, 0, 0                          \
        }                                    \
    }
#define AUG_MIX_PRESET                           \
    {                                            \
        3, 3, -1, 1.0, true, SL_POLICY_BILINEAR, \
        {                                        \
            0, 0, 0                              \
        }                                        \
    }

static inline const char *policy_op_name(sl_policy_op op)
{
    static const char *const names[SL_OPS] = {
        [SL_OP_IDENTITY] = "Identity",
        [SL_OP_SHEAR_X] = "ShearX",
        [SL_OP_SHEAR_Y] = "ShearY",
        [SL_OP_TRANSLATE_X] = "TranslateX",
        [SL_OP_TRANSLATE_Y] = "TranslateY",
        [SL_OP_ROTATE] = "Rotate",
        [SL_OP_BRIGHTNESS] = "Brightness",
        [SL_OP_COLOR] = "Color",
        [SL_OP_CONTRAST] = "Contrast",
        [SL_OP_SHARPNESS] = "Sharpness",
        [SL_OP_POSTERIZE] = "Posterize",
        [SL_OP_SOLARIZE] = "Solarize",
        [SL_OP_SOLARIZE_ADD] = "SolarizeAdd",
        [SL_OP_AUTO_CONTRAST] = "AutoContrast",
        [SL_OP_EQUALIZE] = "Equalize",
        [SL_OP_INVERT] = "Invert",
        [SL_OP_GAUSSIAN_BLUR] = "GaussianBlur",
    };
    return op < SL_OPS ? names[op] : "";
}

#endif
