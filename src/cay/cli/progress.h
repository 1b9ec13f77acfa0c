/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The progress of a long copy, on standard error: redrawn on a terminal, after a short delay; nothing
 * elsewhere.
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
void cay_progress_end(struct cay_progress *p); /* removes the line */
