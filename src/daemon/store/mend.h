/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Repairs a damaged database: copies what is readable into a new one, and moves the old one aside.
 *
 * Theory of operation. The new file is completed under a temporary name. Then the old file and its log are
 * renamed, then the new file gets the old one's name. If the process dies in between, cay_mend_finish
 * completes this at the next start. Each table is read from its start until an error, then from its end; what
 * lies between is lost. A repaired store says so in an event. Its event numbers continue far above all
 * earlier ones.
 */
#pragma once

#include "domain/model/port_clock.h"
#include "daemon/store/db.h"
#include "daemon/store/store_sqlite.h"

#define CAY_STORE_FILE "state.db"

/* Completes an interrupted repair whose new file was whole; harmless when there is none. */
int cay_mend_finish(int dirfd, const char *moved_to, struct cay_error *err);
/* report->damage says what was found; fills moved_to, kept and lost. */
int cay_mend(int dirfd, const char *folder, const struct cay_clock *clock,
             struct cay_store_sqlite_report *report, struct cay_error *err);
