/* SPDX-License-Identifier: Apache-2.0 */
/* Looks for processes, cgroups and mounts of a program that should have left nothing. */
#pragma once

#include <stdbool.h>

/* True, after printing it, if something named like one of the marks (NULL-terminated) exists. */
bool leftover_find(const char **marks);
