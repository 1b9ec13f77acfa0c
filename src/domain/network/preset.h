/* SPDX-License-Identifier: Apache-2.0 */
/* Named lists of hosts for rules of a network (presets.def): "preset:python" stands for what pip needs. */
#pragma once

#include <stddef.h>

const char *const *cay_preset_find(const char *name); /* NULL-ended rules; NULL: there is none of that name */
/* All names with `between` between them, into buf; returns buf. */
const char *cay_preset_names(const char *between, char *buf, size_t size);
