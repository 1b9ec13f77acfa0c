/* SPDX-License-Identifier: Apache-2.0 */
#include "cay-net/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "foundation/base/log.h"
#include "foundation/sys/confine.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/landlock.h"
#include "foundation/sys/seccomp_calls.h"
#include "foundation/sys/syscalls.h"

#define NOBODY 65534u

static const struct sys_seccomp_row rows[] = {
#include "cay-net/calls.def"
};

int net_give_up_root(const struct net_options *o, struct cay_error *err)
{
        unsigned id = o->id ? o->id : NOBODY;
        int r = sys_give_up_root(id);

        return r < 0 ? cay_fail_sys(err, CAY_INTERNAL, r, "give up root's rights for id %u", id) : 0;
}

/* resolv.conf is replaced rather than written, and often a link to another folder: folders are what holds. */
static int close_files(const struct net_options *o, struct cay_error *err)
{
        cay_auto_close int etc = sys_open_at(AT_FDCWD, "/etc", O_PATH | O_DIRECTORY, 0);
        cay_auto_close int own = sys_open_folder_of(o->resolv_conf);
        struct sys_landlock_folder folders[2];
        unsigned count = 0;
        int r;

        if (etc >= 0)
                folders[count++] = (struct sys_landlock_folder){ etc, SYS_LANDLOCK_READ_FILE };
        if (own >= 0)
                folders[count++] = (struct sys_landlock_folder){ own, SYS_LANDLOCK_READ_FILE };
        r = sys_landlock_enter_client(folders, count);
        if (r == -ENOSYS || r == -EOPNOTSUPP) {
                cay_log_warn("this kernel has no landlock: cay-net's files are held by its rights alone");
                return 0;
        }
        return r < 0 ? cay_fail_sys(err, CAY_INTERNAL, r, "close the file system to cay-net") : 0;
}

int net_confine(const struct net_options *o, struct cay_error *err)
{
        int r;

        if (close_files(o, err) < 0)
                return -1;
        r = sys_seccomp_list_enter("cay-net", rows, CAY_COUNT(rows));
        return r < 0 ? cay_fail_sys(err, CAY_INTERNAL, r, "filter cay-net's system calls") : 0;
}
