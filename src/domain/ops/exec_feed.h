/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a client sends to a running command: input, piece by piece as the command's side takes it (so a slow
 * command slows its client down), its terminal's size, and signals. Used by all ops that take any of it.
 *
 * A feed is made for a call and freed before or with it. One piece is pending at a time. on_taken reports,
 * from the loop, that it was taken, or why not (err->code): then the command takes no more.
 */
#pragma once

#include "domain/ops/op.h"
#include "domain/sandboxes/exec.h"

struct cay_op_feed; /* private to exec_feed.c */

struct cay_op_feed *cay_op_feed_new(struct cay_op_call *c, const char *sandbox, const char *exec,
                                    void (*on_taken)(struct cay_op_call *c, size_t len,
                                                     const struct cay_error *err)); /* NULL: no memory */
void cay_op_feed_free(struct cay_op_feed *f); /* accepts NULL; bytes not taken yet are dropped */
void cay_op_feed_at(struct cay_op_feed *f,
                    uint64_t offset); /* its first piece begins at this offset, and is applied once */
uint64_t cay_op_feed_next(const struct cay_op_feed *f); /* the offset after the last taken piece */
bool cay_op_feed_is_busy(const struct cay_op_feed *f);
/* How many bytes were taken over; 0: busy. */
size_t cay_op_feed_put(struct cay_op_feed *f, const void *bytes, size_t len);
void cay_op_feed_end(struct cay_op_feed *f); /* end of input; not while busy; reported like a piece */
/*
 * Sends the last piece again from its beginning: nothing of it was taken (the sandbox is paused…). Not while
 * busy; reported as before.
 */
void cay_op_feed_again(struct cay_op_feed *f);

/* Signals by name (TERM, SIGINT) or number; the size of an existing terminal. */
int cay_op_exec_order(struct cay_op_call *c, const char *sandbox, const char *exec,
                      const struct cay_op_order *order, struct cay_error *err);
