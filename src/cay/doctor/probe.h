/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tries things in a child: its changes to itself end with it, a deadline limits it, and the answer comes
 * through a pipe, so a child that dies has only not answered.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/*
 * Runs in the child; may fill *ret (which has the parent's content). Its result is the probe's: 0, or -errno.
 */
typedef int cay_doctor_probe_fn(const void *arg, void *ret);

/*
 * -ETIMEDOUT: no answer in time (it was killed); -ECHILD: it died. *ret (size bytes) is written if there was
 * an answer.
 */
int cay_doctor_probe(cay_doctor_probe_fn *fn, const void *arg, void *ret, size_t size, unsigned deadline_ms);

/* For a probe that needs another process: runs `fn` in a child, which does not outlive it. */
int cay_doctor_probe_inner(int (*fn)(void));
