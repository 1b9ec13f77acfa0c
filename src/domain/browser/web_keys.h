/* SPDX-License-Identifier: Apache-2.0 */
/* Keys as CDP names them: "Enter", "ctrl+a", "Tab Tab Enter". */
#pragma once

#include "foundation/base/error.h"

enum { CAY_WEB_ALT = 1, CAY_WEB_CTRL = 2, CAY_WEB_META = 4, CAY_WEB_SHIFT = 8 }; /* CDP's own bits */

struct cay_web_key {
        char key[24], code[24];
        char text[8]; /* what it types; "": nothing */
        unsigned vk;  /* windowsVirtualKeyCode; 0: none */
        unsigned modifiers;
};

/*
 * The key at *at, which moves behind it and the blanks around it. 1, 0 at the end of the text, or -1 with
 * CAY_INVALID and what is not known.
 */
int cay_web_key_next(const char **at, struct cay_web_key *ret, struct cay_error *err);
/* Modifiers alone: "ctrl+shift". */
int cay_web_modifiers(const char *text, unsigned *ret, struct cay_error *err);
