/* SPDX-License-Identifier: Apache-2.0 */
/* Going up from a folder until the registry's is met. See rootfs.h for the theory. */
#include "cay-warden/rootfs.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "foundation/sys/fd.h"
#include "cay-warden/warden.h"

#define DEPTH_MAX 64 /* below the registry's folder */

static bool is_same(const struct stat *a, const struct stat *b)
{
        return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static int refuse(struct cay_error *err)
{
        return cay_fail(err, CAY_DENIED,
                        "a daemon's sandboxes have no rootfs but those below the registry's folder");
}

int warden_rootfs_check(const struct warden *w, int rootfs, struct cay_error *err)
{
        cay_auto_close int at = -1;
        struct stat registry, here, above;

        if (!w->is_kept)
                return 0;
        if (w->registry < 0 || fstat(w->registry, &registry) < 0 || fstat(rootfs, &here) < 0)
                return refuse(err);
        for (unsigned i = 0; i < DEPTH_MAX; i++) {
                int up = sys_open_at(i == 0 ? rootfs : at, "..", O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);

                if (at >= 0)
                        close(at);
                at = up;
                if (up < 0 || fstat(up, &above) < 0 || is_same(&above, &here))
                        return refuse(err);
                if (is_same(&above, &registry))
                        return 0;
                here = above;
        }
        return refuse(err);
}
