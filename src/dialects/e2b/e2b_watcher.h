/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watchers that are polled: what happened in a folder since the last request. One that nobody asks for ten
 * minutes is removed. They are in memory: after a restart of the front, clients are told that theirs is not
 * there.
 */
#pragma once

#include "dialects/e2b/e2b_priv.h"

/* Answers q, whose form is E2B_FORM_UNARY, when the folder is watched. */
void e2b_watcher_begin(struct e2b_request *q, const char *path, bool as_root, bool recursive);
void e2b_watchers_stop(struct cay_e2b *e);
void e2b_watchers_free(struct cay_e2b *e);
