/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of the ops for computer use, and the fields that several have. */
#pragma once

#include <stddef.h>

#include "domain/desktop/picture.h"
#include "domain/ops/files.h"
#include "foundation/base/field.h"

struct cay_computer_args {
        const char *id, *button, *keys, *text, *direction;
        uint64_t x, y, to_x, to_y, scale, count, amount, hold, still, timeout;
        bool has_x, has_y;
};

#define COMPUTER_SIDE_MAX 8191u
#define COMPUTER_ID CAY_OP_SANDBOX_FIELD(struct cay_computer_args, id)
#define COMPUTER_X(how)                                                                                      \
        {                                                                                                    \
                "x", CAY_FIELD_U64, offsetof(struct cay_computer_args, x), how,                              \
                        "pixels from the left of the picture",                                               \
                        .max = COMPUTER_SIDE_MAX, .given = CAY_FIELD_GIVEN(struct cay_computer_args, has_x)  \
        }
#define COMPUTER_Y(how)                                                                                      \
        {                                                                                                    \
                "y", CAY_FIELD_U64, offsetof(struct cay_computer_args, y), how,                              \
                        "pixels from the top of the picture",                                                \
                        .max = COMPUTER_SIDE_MAX, .given = CAY_FIELD_GIVEN(struct cay_computer_args, has_y)  \
        }
#define COMPUTER_SCALE                                                                                       \
        {                                                                                                    \
                "scale", CAY_FIELD_MILLI, offsetof(struct cay_computer_args, scale), 0,                      \
                        "scale of the picture, 0.05 to 1 (default): that of the screenshot which points "    \
                        "are taken from",                                                                    \
                        .min = CAY_PICTURE_SCALE_MIN, .max = CAY_PICTURE_SCALE_MAX                           \
        }
#define COMPUTER_BUTTON                                                                                      \
        {                                                                                                    \
                "button", CAY_FIELD_TEXT, offsetof(struct cay_computer_args, button), 0,                     \
                        "left (default), middle or right", .min = 1, .max = 8                                \
        }
#define COMPUTER_HELD                                                                                        \
        {                                                                                                    \
                "keys", CAY_FIELD_TEXT, offsetof(struct cay_computer_args, keys), 0,                         \
                        "keys that are held meanwhile, like ctrl+shift", .min = 1, .max = 80                 \
        }
