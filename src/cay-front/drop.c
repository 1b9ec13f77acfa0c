/* SPDX-License-Identifier: Apache-2.0 */
/* Giving up privileges. */
#include "cay-front/drop.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "foundation/sys/caps.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/syscalls.h"

#define STATE CAY_FRONT_STATE

/*
 * Files in a folder that the front owns are its own already. Others were another front's, or there are none.
 */
static int give_folder(int fd, uid_t from, uid_t to, struct cay_error *err)
{
        if (cay_front_id_is_one(from) && cay_front_id_give(fd, from, to, err) < 0)
                return -1;
        if (fchown(fd, to, to) < 0) /* last: if it fails halfway, the next start continues */
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "give the folder '%s' to the front", STATE);
        return 0;
}

int cay_front_state_open(int data_fd, uid_t id, int *ret_fd, struct cay_error *err)
{
        cay_auto_close int fd = -1;
        bool is_root = geteuid() == 0;
        struct stat st;

        if (mkdirat(data_fd, STATE, 0700) < 0 && errno != EEXIST)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make the folder '%s' in the data folder",
                                    STATE);
        fd = sys_open_beneath(data_fd, STATE, O_RDONLY | O_DIRECTORY, 0);
        if (fd < 0)
                return cay_fail_sys(err, CAY_INTERNAL, fd, "open the folder '%s' of the data folder", STATE);
        if (fstat(fd, &st) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "look at the folder '%s'", STATE);
        if (st.st_uid != geteuid() && !(is_root && cay_front_id_is_one(st.st_uid)))
                return cay_fail(err, CAY_DENIED, "the folder '%s' of the data folder belongs to uid %u",
                                STATE, (unsigned)st.st_uid);
        if (is_root && st.st_uid != id && give_folder(fd, st.st_uid, id, err) < 0)
                return -1;
        if (fchmod(fd, 0700) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "close the folder '%s' to others", STATE);
        *ret_fd = cay_take_fd(fd);
        return 0;
}

static int become(int state_fd, uid_t id)
{
        int r;

        if (fchdir(state_fd) < 0 || chroot(".") < 0)
                return -errno;
        r = sys_setgroups(0, NULL);
        if (r == 0)
                r = sys_setresgid(id, id, id);
        if (r == 0)
                r = sys_setresuid(id, id, id);
        return r;
}

int cay_front_drop(int state_fd, uid_t id, bool *ret_is_root, struct cay_error *err)
{
        bool was_root = geteuid() == 0;
        int r = was_root ? become(state_fd, id) : 0;

        if (r == 0)
                r = sys_caps_set(0, 0, 0);
        if (r == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                r = -errno;
        if (r == 0 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
                r = -errno;
        if (r < 0)
                return cay_fail_sys(err, CAY_INTERNAL, r, "give up privileges");
        *ret_is_root = was_root;
        return 0;
}
