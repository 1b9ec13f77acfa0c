/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The helper programs (helpers.def). Between programs a helper is identified by its name, within one program
 * by its number.
 */
#pragma once

enum cay_helper_nr {
#define CAY_HELPER(name, program, who) CAY_HELPER_##name,
#include "links/helper/helpers.def"
#undef CAY_HELPER
        CAY_HELPER_COUNT,
        CAY_HELPER_none = CAY_HELPER_COUNT
};

#define CAY_HELPER_NAME 16 /* with its NUL */

struct cay_helper_info {
        const char *name;    /* identifier in messages between programs */
        const char *program; /* its file in the program folder */
        const char *who;     /* in messages: "the warden" */
};

extern const struct cay_helper_info cay_helper_infos[CAY_HELPER_COUNT];
int cay_helper_find(const char *name); /* its number; -1: unknown */
