/* SPDX-License-Identifier: Apache-2.0 */
/* A system call filter for the whole process, including every thread. Permanent; needs no_new_privs. */
#pragma once

#include <linux/filter.h>
#include <stddef.h>

int sys_seccomp_enter(const struct sock_filter *code, size_t len); /* 0 or -errno */
