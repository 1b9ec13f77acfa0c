/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Landlock rules of commands.
 *
 * Theory of operation. Landlock cannot express exceptions: the directories of "/" are listed when the rules
 * are made and each gets full rights, but for those with rules of their own. Commands can make no new ones:
 * that would be a write to "/" itself. It is not used on kernels below ABI 2: there every rename and link
 * between two directories fails, which breaks ordinary programs. The read-only mounts of /proc protect
 * without this second layer. Signals and abstract sockets are not scoped: the execs of one sandbox may talk
 * to each other.
 */
#include "cay-init/landlock.h"

#include <dirent.h>
#include <errno.h>
#include <linux/landlock.h>
#include <sys/syscall.h>

#include "foundation/base/cleanup.h"
#include "foundation/sys/fd.h"

#define NR_CREATE_RULESET 444
#define NR_ADD_RULE 445
#define NR_RESTRICT_SELF 446
#define ABI_FIRST_USED 2

/* Rights by the ABI that brought them; younger than some headers. */
#define FS_READ 0xdULL      /* EXECUTE, READ_FILE, READ_DIR */
#define FS_READ_ONLY 0xcULL /* the same without EXECUTE */
#define FS_WRITE_FILE 0x2ULL
#define FS_ABI1 0x1fffULL         /* everything up to MAKE_SYM */
#define FS_REFER (1ULL << 13)     /* ABI 2 */
#define FS_TRUNCATE (1ULL << 14)  /* ABI 3 */
#define FS_IOCTL_DEV (1ULL << 15) /* ABI 5 */

struct ruleset {
        uint64_t handled_access_fs; /* the oldest size of the struct: all that is used */
};

static uint64_t rights_of(int abi)
{
        uint64_t rights = FS_ABI1 | FS_REFER;

        if (abi >= 3)
                rights |= FS_TRUNCATE;
        if (abi >= 5)
                rights |= FS_IOCTL_DEV;
        return rights;
}

static int allow_fd(int ruleset_fd, int fd, uint64_t rights)
{
        struct landlock_path_beneath_attr rule = { .allowed_access = rights, .parent_fd = fd };

        return syscall(NR_ADD_RULE, ruleset_fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0 ? -errno : 0;
}

/* A place that is not there, or is no directory, needs no rule. */
static int allow(int ruleset_fd, int dirfd, const char *path, uint64_t rights)
{
        cay_auto_close int fd = sys_open_at(dirfd, path, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);

        return fd < 0 ? 0 : allow_fd(ruleset_fd, fd, rights);
}

static bool has_own_rule(const char *name)
{
        static const char *const names[] = { ".", "..", "proc", "sys", "dev" };

        for (size_t i = 0; i < CAY_COUNT(names); i++) {
                if (strcmp(name, names[i]) == 0)
                        return true;
        }
        return false;
}

static void close_dir(DIR **dir)
{
        if (*dir)
                closedir(*dir);
}

static int allow_top(int ruleset_fd, uint64_t all)
{
        cay_auto(close_dir) DIR *dir = opendir("/");
        struct dirent *entry;
        int r;

        if (!dir)
                return -errno;
        r = allow(ruleset_fd, dirfd(dir), ".", FS_READ);
        if (r == 0)
                r = allow(ruleset_fd, dirfd(dir), "dev",
                          FS_READ | FS_WRITE_FILE | (all & (FS_TRUNCATE | FS_IOCTL_DEV)));
        if (r == 0)
                r = allow(ruleset_fd, dirfd(dir), "dev/shm", all);
        if (r == 0)
                r = allow(ruleset_fd, dirfd(dir), "dev/pts", all);
        if (r == 0)
                r = allow(ruleset_fd, dirfd(dir), "dev/mqueue", all);
        while (r == 0 && (entry = readdir(dir))) {
                bool may_be_dir = entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN;

                if (may_be_dir && !has_own_rule(entry->d_name))
                        r = allow(ruleset_fd, dirfd(dir), entry->d_name, all);
        }
        return r;
}

/* Rules that allow nothing yet. */
static int make_empty(uint64_t *ret_all)
{
        struct ruleset attr;
        long abi;
        int fd;

        abi = syscall(NR_CREATE_RULESET, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
        if (abi < 0)
                return -errno;
        if (abi < ABI_FIRST_USED)
                return -EOPNOTSUPP;
        attr.handled_access_fs = *ret_all = rights_of((int)abi);
        fd = (int)syscall(NR_CREATE_RULESET, &attr, sizeof(attr), 0);
        return fd < 0 ? -errno : fd;
}

int cay_landlock_make(void)
{
        uint64_t all;
        cay_auto_close int fd = make_empty(&all);
        int r = fd < 0 ? fd : allow_top(fd, all);

        return r < 0 ? r : cay_take_fd(fd);
}

int cay_landlock_enter_to_read(const int *dir_fds, unsigned count)
{
        uint64_t all;
        cay_auto_close int fd = make_empty(&all);
        int r = fd < 0 ? fd : 0;

        for (unsigned i = 0; r == 0 && i < count; i++)
                r = allow_fd(fd, dir_fds[i], FS_READ_ONLY);
        return r < 0 ? r : cay_landlock_enter(fd);
}

int cay_landlock_enter(int ruleset_fd)
{
        return syscall(NR_RESTRICT_SELF, ruleset_fd, 0) < 0 ? -errno : 0;
}
