/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting for a child's end with a deadline: by its pidfd, or, before Linux 5.3, by polling every few
 * milliseconds.
 */
#pragma once

#include <sys/types.h>

/* 1: it has ended and is reaped (*ret_status as waitpid's); 0: it lives after wait_ms; or -errno. */
int sys_child_await(pid_t pid, int wait_ms, int *ret_status);
/*
 * Returns the exit status (-ECHILD: a signal ended it). A child that is alive after wait_ms is killed:
 * -ETIME.
 */
int sys_child_status(pid_t pid, int wait_ms);
