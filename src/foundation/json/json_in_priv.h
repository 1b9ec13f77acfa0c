/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files of this folder: a document is the library's tree plus the memory of values read from
 * it.
 */
#pragma once

#include <jansson.h>

#include "foundation/base/arena.h"
#include "foundation/json/json_in.h"

struct cay_json_in {
        json_t *root;         /* owned */
        struct cay_arena mem; /* lists and maps that were read */
};

static inline const struct cay_json_value *as_value(const json_t *node)
{
        return (const struct cay_json_value *)(const void *)node;
}

static inline json_t *as_node(const struct cay_json_value *v)
{
        return (json_t *)(void *)(uintptr_t)v;
}
