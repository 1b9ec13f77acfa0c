/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The box's protection layers by number, and a check whether a test has switched one off. In release builds
 * it is always false.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum cay_layer {
#define CAY_LAYER(name, word, doc) CAY_LAYER_##name,
#include "links/helper/layers.def"
#undef CAY_LAYER
        CAY_LAYER_COUNT
};

static inline bool cay_layer_is_on(uint32_t test_off, enum cay_layer layer)
{
#ifdef CAY_TEST_HOOKS
        return !(test_off & (1u << layer));
#else
        (void)test_off;
        (void)layer;
        return true;
#endif
}

/* Mask of a comma-separated list of words, or -1 when one is unknown. */
int64_t cay_layers_parse(const char *list);
