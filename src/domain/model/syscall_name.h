/* SPDX-License-Identifier: Apache-2.0 */
/* The names of this machine's system calls; the table is made at build time from the kernel's headers. */
#pragma once

const char *cay_syscall_name(int nr); /* NULL when there is none */
