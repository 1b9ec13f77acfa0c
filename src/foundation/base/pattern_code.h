/* SPDX-License-Identifier: Apache-2.0 */
/* What the two halves of pattern.h share: the steps of a program. */
#pragma once

#include "foundation/base/pattern.h"

enum cay_pattern_op {
        CAY_STEP_BYTE,  /* takes c */
        CAY_STEP_CLASS, /* takes a byte of the class c */
        CAY_STEP_ANY,   /* takes the first byte of a character */
        CAY_STEP_FORK,  /* goes on at `to` and at `or` */
        CAY_STEP_JUMP,
        CAY_STEP_MATCH,
        /* assertions: take nothing */
        CAY_STEP_BEGIN,
        CAY_STEP_END,
        CAY_STEP_WORD, /* between a word and something else */
        CAY_STEP_NO_WORD,
};

/* Fills first and may_be_empty. */
void cay_pattern_find_first(struct cay_pattern *p, struct cay_pattern_run *run);
