/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interprets an exec's END: turns untrusted texts of an init into facts for domain/model/cause.h, and into
 * one printable line.
 */
#pragma once

#include "foundation/base/error.h"
#include "links/box/message.h"
#include "domain/model/cause.h"

struct cay_box_facts {
        struct cay_cause_facts facts; /* not_started and denied_syscall point into this struct */
        int start_status;             /* 127, 126: the program could not be started; 0: it was */
        unsigned denied_count;        /* number of denied system calls */
        char not_started[160], denied_name[32];
};

/* Init's text as one printable line. */
void cay_box_clean_text(struct cay_view msg, char *buf, size_t size);
/* True if a command can end like this: with a code or a signal, but not both or neither. */
bool cay_box_end_is_plausible(const struct cay_box_end *end);
/*
 * Fills ret except for limits and facts that only the engine knows. argv0 names the program in texts. -1:
 * init failed and err says how; the command itself did not end.
 */
int cay_box_end_facts(const struct cay_box_end *end, const char *argv0, struct cay_box_facts *ret,
                      struct cay_error *err);
