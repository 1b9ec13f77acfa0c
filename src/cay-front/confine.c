/* SPDX-License-Identifier: Apache-2.0 */
/* Restricts the front: landlock and seccomp. */
#include "cay-front/confine.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "foundation/base/log.h"
#include "foundation/base/sanitized.h"
#include "domain/model/syscall_name.h"
#include "seccomp_front.h"
#include "cay/keeper/hand_over.h"
#include "foundation/sys/landlock.h"
#include "foundation/sys/seccomp.h"

#define FILES                                                                                                \
        (SYS_LANDLOCK_READ_FILE | SYS_LANDLOCK_WRITE_FILE | SYS_LANDLOCK_READ_DIR |                          \
         SYS_LANDLOCK_REMOVE_FILE | SYS_LANDLOCK_REMOVE_DIR | SYS_LANDLOCK_MAKE_REG |                        \
         SYS_LANDLOCK_MAKE_DIR | SYS_LANDLOCK_TRUNCATE)

int cay_front_landlock(int state_fd, int registry_fd, struct cay_error *err)
{
        const struct sys_landlock_folder folders[] = {
                { .fd = state_fd, .rights = FILES },
                { .fd = registry_fd, .rights = SYS_LANDLOCK_READ_FILE },
        };
        int r = sys_landlock_enter(folders, registry_fd < 0 ? 1 : 2);

        if (r == -ENOSYS || r == -EOPNOTSUPP) {
                cay_log_warn("this kernel has no landlock: the front's files are held by its rights alone");
                return 0;
        }
        if (r < 0)
                return cay_fail_sys(err, CAY_INTERNAL, r, "close the file system to the front");
        cay_log_debug("landlock is on", "abi=%d", r);
        return 0;
}

/* Runs at the denied call, in any state of the front: takes no lock and allocates nothing. */
static void on_denied(int signo, siginfo_t *info, void *context)
{
        static const char begin[] = "cay-front: error: a forbidden system call ended the front call=";
        const char *name = cay_syscall_name(info->si_syscall);
        char line[sizeof(begin) + 64];
        size_t len = sizeof(begin) - 1, more = name ? strnlen(name, 60) : 0;

        (void)signo;
        (void)context;
        memcpy(line, begin, len);
        memcpy(line + len, name ? name : "?", name ? more : 1);
        len += name ? more : 1;
        line[len++] = '\n';
        if (write(STDERR_FILENO, line, len) < 0)
                len = 0; /* nobody reads it: the exit status tells */
        _exit(CAY_HAND_DENIED);
}

int cay_front_filter(struct cay_error *err)
{
        struct sigaction on_sys = { .sa_sigaction = on_denied, .sa_flags = SA_SIGINFO };
        int r;

        if (CAY_IS_SANITIZED) {
                cay_log_info("sanitizer build: no filter of system calls");
                return 0;
        }
        if (sigaction(SIGSYS, &on_sys, NULL) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "watch for forbidden system calls");
        r = sys_seccomp_enter(cay_seccomp_front_code, CAY_SECCOMP_FRONT_CODE_LEN);
        return r < 0 ? cay_fail_sys(err, CAY_INTERNAL, r, "filter the front's system calls") : 0;
}
