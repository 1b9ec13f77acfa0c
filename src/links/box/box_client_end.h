/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an exec's END is worth: hostile words of an init turned into facts that domain/model/cause.h can judge, and into one printable line.
 */
#pragma once

#include "foundation/base/error.h"
#include "links/box/message.h"
#include "domain/model/cause.h"

struct cay_box_facts {
        struct cay_cause_facts facts; /* not_started and denied_syscall point into this struct */
        int start_status;             /* 127, 126: the program could not be started; 0: it was */
        unsigned denied_count;        /* denied system calls, all told */
        char not_started[160], denied_name[32];
};

/* Init's words as one printable line. */
void cay_box_clean_text(struct cay_view msg, char *buf, size_t size);
/* An end as a command can end: not with a code and a signal both, nor with neither. */
bool cay_box_end_is_plausible(const struct cay_box_end *end);
/*
 * Fills ret but for limits and what only the engine knows. argv0 names the program in texts. -1: init failed, err says how; that
 * is no end of a command.
 */
int cay_box_end_facts(const struct cay_box_end *end, const char *argv0, struct cay_box_facts *ret,
                      struct cay_error *err);
