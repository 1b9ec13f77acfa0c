/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trying things out: in a child, so that what it changes about itself ends with it, with a deadline, so that what does not
 * answer does not stop us, and with the answer through a pipe, so that a child that dies has merely said nothing.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* Runs in the child; may fill *ret (what the parent had in it is there). Its result is the probe's: 0, or -errno. */
typedef int cay_doctor_probe_fn(const void *arg, void *ret);

/* -ETIMEDOUT: no answer in time (it was killed); -ECHILD: it died. *ret (size bytes) is written when there was an answer. */
int cay_doctor_probe(cay_doctor_probe_fn *fn, const void *arg, void *ret, size_t size, unsigned deadline_ms);

/* For a probe that needs another process: `fn` in a child of its own, which does not outlive it. */
int cay_doctor_probe_inner(int (*fn)(void));
