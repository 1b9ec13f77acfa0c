/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A damaged database: what can be read of it is carried over into a new one, and the old one is moved aside.
 *
 * Theory of operation. The new file is made whole under a name of its own first; then the old one and its log get their new
 * names, then the new one gets the old one's. Whoever dies in between is picked up by cay_mend_finish at the next
 * start. Each table is read from its start until it can't be read, then from its end: what lies between is lost. A
 * mended store says so in an event, and its event numbers start anew far above all that were ever given.
 */
#pragma once

#include "domain/model/port_clock.h"
#include "daemon/store/db.h"
#include "daemon/store/store_sqlite.h"

#define CAY_STORE_FILE "state.db"

/* Completes a mending that was interrupted after its new file was whole; fine when there is none. */
int cay_mend_finish(int dirfd, const char *moved_to, struct cay_error *err);
/* report->damage says what was found; fills moved_to, kept and lost. */
int cay_mend(int dirfd, const char *folder, const struct cay_clock *clock,
             struct cay_store_sqlite_report *report, struct cay_error *err);
