/* SPDX-License-Identifier: Apache-2.0 */
/* A filter of system calls. */
#include "foundation/sys/seccomp.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

int sys_seccomp_enter(const struct sock_filter *code, size_t len)
{
        struct sock_fprog program = { .len = (unsigned short)len, .filter = (struct sock_filter *)code };
        long r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);

        /* A positive result is the thread that could not get the filter. */
        return r < 0 ? -errno : r > 0 ? -EBUSY : 0;
}
