/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far a long copy is, on standard error: drawn over and over on a terminal, and only after a moment;
 * nothing anywhere else.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct cay_progress {
        bool is_on, is_drawn;
        uint64_t total; /* 0: not known */
        uint64_t started_ms, drawn_ms;
};

void cay_progress_begin(struct cay_progress *p, bool quiet, uint64_t total);
void cay_progress_at(struct cay_progress *p, uint64_t bytes);
void cay_progress_end(struct cay_progress *p); /* the line goes */
