/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a replay: what clients wrote and changed is written and changed again. */
#pragma once

#include "domain/ops/replay.h"

int cay_replay_file_open(struct cay_replay *r, struct cay_item *item, struct cay_error *err);
int cay_replay_file_write(struct cay_replay *r, struct cay_item *item, struct cay_error *err);
void cay_replay_file_end(struct cay_replay *r, struct cay_item *item);
void cay_replay_files_close(struct cay_replay *r);

/* replay.c */
void cay_replay_differs(struct cay_replay *r, const char *exec, const char *command, const char *what,
                        const char *was, const char *is);
