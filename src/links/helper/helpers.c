/* SPDX-License-Identifier: Apache-2.0 */
/* The helper programs. */
#include "links/helper/helpers.h"

#include <assert.h>
#include <string.h>

const struct cay_helper_info cay_helper_infos[CAY_HELPER_COUNT] = {
#define CAY_HELPER(name, program, who) [CAY_HELPER_##name] = { #name, program, who },
#include "links/helper/helpers.def"
#undef CAY_HELPER
};

#define CAY_HELPER(name, program, who)                                                                       \
        static_assert(sizeof(#name) <= CAY_HELPER_NAME, "the message that names it has no more room");
#include "links/helper/helpers.def"
#undef CAY_HELPER

int cay_helper_find(const char *name)
{
        for (int i = 0; i < CAY_HELPER_COUNT; i++)
                if (strcmp(cay_helper_infos[i].name, name) == 0)
                        return i;
        return -1;
}
