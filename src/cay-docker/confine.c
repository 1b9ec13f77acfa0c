/* SPDX-License-Identifier: Apache-2.0 */
/* Restrictions on cay-docker; confine.h has the theory. */
#include "cay-docker/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "domain/auth/digest.h"
#include "foundation/base/log.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/landlock.h"
#include "foundation/sys/seccomp_calls.h"

#define NAMESPACES                                                                                           \
        (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |        \
         CLONE_NEWNET)
/* Calls that older headers lack; from 424 on they have one number everywhere. */
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

static const struct sys_seccomp_row rows[] = {
#include "cay-docker/calls.def"
};

/* The registry's folder: where templates' Dockerfiles lie. -1: there is none. */
static int open_registry(const struct docker_options *o)
{
        const char *slash = strrchr(o->registry, '/');
        char folder[4096];
        int n;

        if (o->registry[0] == '\0')
                return -1;
        n = snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - o->registry) : 1,
                     slash ? o->registry : ".");
        if (n < 0 || (size_t)n >= sizeof(folder))
                return -1;
        return sys_open_at(AT_FDCWD, n > 0 ? folder : "/", O_PATH | O_DIRECTORY, 0);
}

static int close_files(const struct docker_options *o, struct cay_error *err)
{
        cay_auto_close int registry = open_registry(o);
        const struct sys_landlock_folder folder = { .fd = registry,
                                                    .rights =
                                                            SYS_LANDLOCK_READ_FILE | SYS_LANDLOCK_READ_DIR };
        unsigned long port = o->host.kind == DOCKER_HOST_UNIX ? 0 : strtoul(o->host.port, NULL, 10);
        int r = sys_landlock_enter_but(&folder, registry >= 0 ? 1 : 0, (uint16_t)port);

        if (r == -ENOSYS || r == -EOPNOTSUPP) {
                cay_log_warn("this kernel has no landlock: cay-docker's files are held by its rights alone");
                return 0;
        }
        return r < 0 ? cay_fail_sys(err, CAY_INTERNAL, r, "close the file system to cay-docker") : 0;
}

int docker_confine(const struct docker_options *o, struct cay_error *err)
{
        uint8_t digest[CAY_DIGEST_SIZE];
        int r;

        cay_digest_sha256("", 0, digest); /* the library looks for files of its own now, and never again */
        if (close_files(o, err) < 0)
                return -1;
        r = sys_seccomp_list_enter("cay-docker", rows, CAY_COUNT(rows));
        return r < 0 ? cay_fail_sys(err, CAY_INTERNAL, r, "filter cay-docker's system calls") : 0;
}
