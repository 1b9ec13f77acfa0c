/* SPDX-License-Identifier: Apache-2.0 */
/* Control groups: what is mounted, and what we may do there. Reads only. */
#include <unistd.h>

#include "cay/doctor/facts_priv.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/mountinfo.h"

static bool can_write(const char *dir, const char *file)
{
        char path[CAY_DOCTOR_CGROUP_DIR + 32];

        snprintf(path, sizeof(path), "%s%s", dir, file);
        return access(path, W_OK) == 0;
}

static void look_at_v1(const struct cay_doctor_cgroup_dirs *dirs, struct cay_doctor_cgroup *ret)
{
        for (unsigned i = 0; i < CAY_DOCTOR_CONTROLLERS; i++) {
                if (dirs->v1[i][0] == '\0')
                        continue;
                ret->controllers |= 1u << i;
                if (can_write(dirs->v1[i], ""))
                        ret->writable |= 1u << i;
        }
}

static void look_at_v2(const char *dir, struct cay_doctor_cgroup *ret)
{
        char path[CAY_DOCTOR_CGROUP_DIR + 32], text[512];
        unsigned here = 0;
        ssize_t n;

        snprintf(path, sizeof(path), "%s/cgroup.controllers", dir);
        n = sys_read_file(AT_FDCWD, path, text, sizeof(text));
        if (n > 0)
                here = cay_doctor_controllers_parse(text, (size_t)n, ' ');
        ret->controllers |= here;
        ret->can_delegate = can_write(dir, "") && can_write(dir, "/cgroup.procs");
        if (ret->can_delegate && can_write(dir, "/cgroup.subtree_control"))
                ret->writable |= here;
}

void cay_doctor_collect_cgroups(struct cay_doctor_facts *f)
{
        char self[8192], mountinfo[SYS_MOUNTINFO_MAX];
        struct cay_doctor_cgroup_dirs dirs;

        if (sys_read_file(AT_FDCWD, "/proc/self/cgroup", self, sizeof(self)) < 0)
                self[0] = '\0';
        sys_mountinfo_read(mountinfo, sizeof(mountinfo));
        cay_doctor_cgroup_parse(self, mountinfo, &f->cgroup.version, &dirs);
        look_at_v1(&dirs, &f->cgroup);
        if (dirs.v2[0] != '\0')
                look_at_v2(dirs.v2, &f->cgroup);
}
