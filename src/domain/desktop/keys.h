/* SPDX-License-Identifier: Apache-2.0 */
/* Keys by their names, and characters as keys: what a keyboard of X11 sends (keysyms). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "foundation/base/error.h"

#define CAY_CHORD_KEYS_MAX 8u

struct cay_chord { /* keys that are pressed in this order and released in the reverse one */
        uint32_t keys[CAY_CHORD_KEYS_MAX];
        unsigned count;
};

/*
 * The chord at *at, which moves behind it and the blanks around it: "ctrl+shift+t", "Return", "a". 1, 0 at
 * the end of the text, or -1 with CAY_INVALID and the key that is not known.
 */
int cay_chord_next(const char **at, struct cay_chord *ret, struct cay_error *err);
/*
 * The key of a character. A newline is Return, a tab Tab. 0: a character that cannot be typed (other control
 * characters).
 */
uint32_t cay_key_of(uint32_t character);
