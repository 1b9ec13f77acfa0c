/* SPDX-License-Identifier: Apache-2.0 */
/* Capabilities by raw calls. */
#include "foundation/sys/caps.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int sys_caps_get(uint64_t *ret_effective, uint64_t *ret_permitted, uint64_t *ret_inheritable)
{
        struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
        struct __user_cap_data_struct data[2];

        if (syscall(SYS_capget, &head, data) < 0)
                return -errno;
        *ret_effective = data[0].effective | (uint64_t)data[1].effective << 32;
        *ret_permitted = data[0].permitted | (uint64_t)data[1].permitted << 32;
        *ret_inheritable = data[0].inheritable | (uint64_t)data[1].inheritable << 32;
        return 0;
}

int sys_caps_set(uint64_t effective, uint64_t permitted, uint64_t inheritable)
{
        struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
        struct __user_cap_data_struct data[2] = {
                { (uint32_t)effective, (uint32_t)permitted, (uint32_t)inheritable },
                { (uint32_t)(effective >> 32), (uint32_t)(permitted >> 32), (uint32_t)(inheritable >> 32) },
        };

        return syscall(SYS_capset, &head, data) < 0 ? -errno : 0;
}

int sys_caps_bound(uint64_t keep)
{
        for (int cap = 0; cap < 64; cap++) {
                int has = prctl(PR_CAPBSET_READ, cap, 0, 0, 0);

                if (has < 0)
                        return 0; /* beyond the kernel's last capability */
                if (has && !(keep & SYS_CAP(cap)) && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
                        return -errno;
        }
        return 0;
}

int sys_caps_ambient(uint64_t want)
{
        if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
                return -errno;
        for (int cap = 0; cap < 64; cap++)
                if (want & SYS_CAP(cap) && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0) < 0)
                        return -errno;
        return 0;
}
