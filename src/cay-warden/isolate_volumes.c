/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places of volumes in the box's root. A place is made where it is missing. It is reached one name at a time,
 * and no link is followed: the root may have been used by an earlier box of the sandbox, or be a rootfs that
 * we do not know.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "foundation/sys/fd.h"
#include "foundation/sys/mounts.h"
#include "cay-warden/isolate.h"

static int open_place(struct isolate *iso, const char *target)
{
        const char *whole = target;
        int at = sys_open_at(iso->root, ".", O_PATH | O_DIRECTORY, 0);

        while (at >= 0 && *target) {
                size_t len = strcspn(++target, "/");
                char name[WIRE_TARGET];
                int next;

                memcpy(name, target, len); /* the warden has checked its length, and each name */
                name[len] = 0;
                if (mkdirat(at, name, 0755) < 0 && errno != EEXIST)
                        isolate_fail(iso, errno == EROFS ? 0 : -errno,
                                     "volumes: %s cannot be made: '%s' is missing, and what it would be in "
                                     "is read-only",
                                     whole, name);
                next = sys_open_beneath(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
                if (next < 0)
                        isolate_fail(iso, 0, "volumes: %s leads over '%s', which is no plain directory",
                                     whole, name);
                close(at);
                at = next;
                target += len;
        }
        return at;
}

void isolate_volumes(struct isolate *iso)
{
        for (unsigned i = 0; i < iso->plan->volume_count && i < WIRE_VOLUMES; i++) {
                int place, r;

                if (iso->mount[ISOLATE_VOLUME0 + i] < 0)
                        continue;
                place = open_place(iso, iso->plan->volumes[i].target);
                r = place < 0 ? place : sys_mount_attach(iso->mount[ISOLATE_VOLUME0 + i], place, "");
                if (r < 0)
                        isolate_fail(iso, r, "mount a volume at %s", iso->plan->volumes[i].target);
                close(place);
        }
}
