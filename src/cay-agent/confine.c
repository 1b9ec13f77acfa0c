/* SPDX-License-Identifier: Apache-2.0 */
#include "cay-agent/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "foundation/base/str.h"
#include "foundation/sys/syscalls.h"

static const struct sys_seccomp_row rows[] = {
#define CALL(name) { SYS_##name, SYS_SECCOMP_PASS, 0, 0 },
#define WITHOUT(name, arg, bits) { SYS_##name, SYS_SECCOMP_NO_BITS, arg, bits },
#define WITH(name, arg, value) { SYS_##name, SYS_SECCOMP_EQUALS, arg, value },
#include "cay-agent/calls.def"
#undef CALL
#undef WITHOUT
#undef WITH
};

const struct sys_seccomp_row *agent_calls(unsigned *ret_count)
{
        *ret_count = CAY_COUNT(rows);
        return rows;
}

int agent_confine(struct cay_error *err)
{
        int r = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;

        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* keys are in its memory */
        if (r == 0)
                r = sys_seccomp_list_enter("cay-agent", rows, CAY_COUNT(rows));
        return r < 0 ? cay_fail_sys(err, CAY_INTERNAL, r, "filter the agent's system calls") : 0;
}
