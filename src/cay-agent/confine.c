/* SPDX-License-Identifier: Apache-2.0 */
#include "cay-agent/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "foundation/base/str.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/landlock.h"
#include "foundation/sys/seccomp_calls.h"
#include "foundation/sys/syscalls.h"

static const struct sys_seccomp_row rows[] = {
#include "cay-agent/calls.def"
};

const struct sys_seccomp_row *agent_calls(unsigned *ret_count)
{
        *ret_count = CAY_COUNT(rows);
        return rows;
}

/*
 * Folders that a name's lookup reads (with its modules), or that hold certificates; files in them are
 * replaced rather than written.
 */
static const char *const readable[] = { "/etc", "/usr", "/lib", "/lib64", "/var/lib/ca-certificates" };

/*
 * A folder of the user is opened with O_PATH, which landlock leaves alone and which reads nothing: it is for
 * the warden, which has its own bounds.
 */
static int close_files(bool is_listening)
{
        const char *own = getenv("SSL_CERT_DIR");
        struct sys_landlock_folder folders[CAY_COUNT(readable) + 2];
        unsigned count = 0;
        int r;

        for (unsigned i = 0; i < CAY_COUNT(readable) + 2; i++) {
                int fd = i < CAY_COUNT(readable) ? sys_open_at(AT_FDCWD, readable[i], O_PATH | O_DIRECTORY, 0)
                         : i == CAY_COUNT(readable)
                                 ? sys_open_folder_of("/etc/resolv.conf") /* often a link */
                         : own && own[0] == '/' ? sys_open_at(AT_FDCWD, own, O_PATH | O_DIRECTORY, 0)
                                                : -1;

                if (fd >= 0)
                        folders[count++] = (struct sys_landlock_folder){ fd, SYS_LANDLOCK_READ_FILE |
                                                                                     SYS_LANDLOCK_READ_DIR };
        }
        r = is_listening ? sys_landlock_enter(folders, count) : sys_landlock_enter_client(folders, count);
        while (count > 0)
                close(folders[--count].fd);
        if (r == -ENOSYS || r == -EOPNOTSUPP) {
                fprintf(stderr, "cay agent: this kernel has no landlock: the agent's files are held by its "
                                "rights alone\n");
                return 0;
        }
        return r < 0 ? r : 0;
}

int agent_confine(bool is_listening, struct cay_error *err)
{
        int r = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;

        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* keys are in its memory */
        if (r == 0)
                r = close_files(is_listening);
        if (r < 0)
                return cay_fail_sys(err, CAY_INTERNAL, r, "close the file system to the agent");
        r = sys_seccomp_list_enter("cay-agent", rows, CAY_COUNT(rows));
        return r < 0 ? cay_fail_sys(err, CAY_INTERNAL, r, "filter the agent's system calls") : 0;
}
