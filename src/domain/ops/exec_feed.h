/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a client says to a command that runs: its input, piece by piece as the command's side takes it (so a slow command slows its
 * client down), its terminal's size, signals. For all ops that take any of it.
 *
 * A feed is made for a call and freed before or with it. One piece is under way at a time; on_taken tells, from the loop, that it was
 * taken, or why not (err->code): then the command takes no more.
 */
#pragma once

#include "domain/ops/op.h"
#include "domain/sandboxes/exec.h"

struct cay_op_feed; /* private to exec_feed.c */

struct cay_op_feed *cay_op_feed_new(struct cay_op_call *c, const char *sandbox, const char *exec,
                                    void (*on_taken)(struct cay_op_call *c, size_t len,
                                                     const struct cay_error *err)); /* NULL: no memory */
void cay_op_feed_free(struct cay_op_feed *f); /* accepts NULL; what was not taken yet does not come */
void cay_op_feed_at(struct cay_op_feed *f,
                    uint64_t offset);                   /* its first piece begins here, and is applied once */
uint64_t cay_op_feed_next(const struct cay_op_feed *f); /* behind the last piece that was taken */
bool cay_op_feed_is_busy(const struct cay_op_feed *f);
/* How many bytes were taken over; 0: busy. */
size_t cay_op_feed_put(struct cay_op_feed *f, const void *bytes, size_t len);
void cay_op_feed_end(struct cay_op_feed *f); /* nothing more comes; not while busy; told like a piece */
/* The last piece once more, from its beginning: nothing of it was taken (the sandbox is paused…). Not while busy; told as it was before. */
void cay_op_feed_again(struct cay_op_feed *f);

/* Signals by name (TERM, SIGINT) or number; terminals that are there. */
int cay_op_exec_order(struct cay_op_call *c, const char *sandbox, const char *exec,
                      const struct cay_op_order *order, struct cay_error *err);
