/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why the kernel refused: a user namespace, or a new /proc in one. The kernel gives a bare EPERM for a dozen
 * different reasons; a person needs the reason and the remedy, in one sentence.
 *
 * Theory of operation. Judging is pure: facts and an errno in, a sentence out, from a table where the first
 * matching row wins. The tests check it with the facts of other distributions. A fact that is unknown matches
 * no row. userns_facts.h collects the facts; the functions without _from do both.
 */
#pragma once

#include <stddef.h>

#include "foundation/sys/userns_facts.h"

#define SYS_WHY_SIZE 208 /* every sentence fits, and leaves room in a cay_error for the refused operation */

/*
 * Why a user namespace could not be made or set up (its maps, the first mounts in it) with this errno:
 * "reason; remedy". 1: the reason is known. 0: it is unknown, the text lists possible reasons. Never empty.
 */
int sys_userns_why(int neg_errno, char *text, size_t size);
int sys_userns_why_from(const struct sys_userns_facts *f, int neg_errno, char *text, size_t size);

/* The same for a /proc that could not be mounted in namespaces of our own. */
int sys_proc_why(int neg_errno, char *text, size_t size);
int sys_proc_why_from(const struct sys_userns_facts *f, const char *mountinfo, int neg_errno, char *text,
                      size_t size);
