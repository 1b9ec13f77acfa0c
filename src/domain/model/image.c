/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/model/image.h"

#include "foundation/base/banned.h"

const char *cay_image_state_word(enum cay_image_state state)
{
        static const char *const words[] = {
                [CAY_IMAGE_STATE_NONE] = "none",     [CAY_IMAGE_STATE_BUILDING] = "building",
                [CAY_IMAGE_STATE_BUILT] = "built",   [CAY_IMAGE_STATE_STALE] = "stale",
                [CAY_IMAGE_STATE_FAILED] = "failed",
        };

        _Static_assert(sizeof(words) / sizeof(words[0]) == CAY_IMAGE_STATE_COUNT, "a word each");
        return state < CAY_IMAGE_STATE_COUNT ? words[state] : "none";
}
