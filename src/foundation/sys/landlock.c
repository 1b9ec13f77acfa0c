/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Applies landlock to the calling process. A version must not be asked for rights that it does not know; what
 * is not handled is not denied.
 */
#include "foundation/sys/landlock.h"

#include <errno.h>
#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "foundation/base/cleanup.h"
#include "foundation/sys/test_no.h"

#define NR_CREATE_RULESET 444
#define NR_ADD_RULE 445
#define NR_RESTRICT_SELF 446
#define NET_BIND 0x1ull /* ABI 4, as connect */
#define NET_CONNECT 0x2ull
#define RULE_NET_PORT 2
#define ABI_NET 4
#define SCOPE_ALL 0x3ull /* abstract sockets, signals: ABI 6 */

/* As the newest kernel defines it; older kernels accept a shorter one. */
struct attributes {
        uint64_t fs, net, scoped;
};

static uint64_t every_right(long abi)
{
        unsigned bits = abi >= 5 ? 16 : abi >= 3 ? 15 : abi >= 2 ? 14 : 13;

        return (1ULL << bits) - 1;
}

static size_t size_for(long abi)
{
        return (abi >= 6 ? 3 : abi >= 4 ? 2 : 1) * sizeof(uint64_t);
}

static int add_folder(int rules_fd, const struct sys_landlock_folder *f, uint64_t known)
{
        struct landlock_path_beneath_attr rule = { .allowed_access = f->rights & known, .parent_fd = f->fd };

        return syscall(NR_ADD_RULE, rules_fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0 ? -errno : 0;
}

static int add_port(int rules_fd, uint16_t port)
{
        const struct {
                uint64_t allowed, port;
        } rule = { NET_CONNECT, port };

        return syscall(NR_ADD_RULE, rules_fd, RULE_NET_PORT, &rule, 0) < 0 ? -errno : 0;
}

static int enter(const struct sys_landlock_folder *folders, unsigned count, uint64_t net_denied,
                 uint16_t connect_port)
{
        long abi = sys_test_no("landlock")
                           ? -1
                           : syscall(NR_CREATE_RULESET, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
        struct attributes all = { .fs = every_right(abi), .net = net_denied, .scoped = SCOPE_ALL };
        cay_auto_close int fd = -1;
        int r = 0;

        if (abi < 1)
                return sys_test_no("landlock") ? -ENOSYS : -errno;
        fd = (int)syscall(NR_CREATE_RULESET, &all, size_for(abi), 0);
        if (fd < 0)
                return -errno;
        for (unsigned i = 0; i < count && r == 0; i++)
                r = add_folder(fd, &folders[i], all.fs);
        if (r == 0 && connect_port > 0 && abi >= ABI_NET)
                r = add_port(fd, connect_port);
        if (r == 0 && syscall(NR_RESTRICT_SELF, fd, 0) < 0)
                r = -errno;
        return r < 0 ? r : (int)abi;
}

int sys_landlock_enter(const struct sys_landlock_folder *folders, unsigned count)
{
        return enter(folders, count, NET_BIND | NET_CONNECT, 0);
}

int sys_landlock_enter_but(const struct sys_landlock_folder *folders, unsigned count, uint16_t connect_port)
{
        return enter(folders, count, NET_BIND | NET_CONNECT, connect_port);
}

int sys_landlock_enter_client(const struct sys_landlock_folder *folders, unsigned count)
{
        return enter(folders, count, NET_BIND, 0);
}
