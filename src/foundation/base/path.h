/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of path strings; nothing here touches a file system. */
#pragma once

#include <stdbool.h>

#include "foundation/base/banned.h"

bool cay_path_is_inside(const char *path); /* relative, no "..", no empty component, not "" */
bool cay_path_is_plain(
        const char *path);               /* likewise, and no ".": it is the only way to write what it names */
bool cay_path_is_name(const char *name); /* one component: no '/', not "", ".", ".." */
const char *cay_path_base(const char *path); /* behind the last '/'; points into path */
