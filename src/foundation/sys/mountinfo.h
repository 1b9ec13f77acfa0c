/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of /proc/PID/mountinfo. Fields point into the text, are not ended by NUL, and keep the kernel's \040
 * for a blank.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "foundation/base/banned.h"

#define SYS_MOUNTINFO_MAX 16384 /* enough for what we look for; a longer one is cut */

struct sys_mountinfo {
        const char *root, *point, *type,
                *options; /* root: which part of the file system is mounted; options: its own */
        int root_len, point_len, type_len, options_len;
};

/* Reads the line at *at and advances; false at the end. Malformed lines are skipped. */
bool sys_mountinfo_next(const char **at, struct sys_mountinfo *ret);
bool sys_mountinfo_field_is(const char *field, int len, const char *text);
bool sys_mountinfo_has_root(const char *text);    /* false: our root is not a mount, so this is a chroot */
void sys_mountinfo_read(char *text, size_t size); /* our own; "" when it cannot be read */
