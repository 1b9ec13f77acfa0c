/* SPDX-License-Identifier: Apache-2.0 */
/* Walls around cay-docker; the theory is in confine.h. */
#include "cay-docker/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "domain/auth/digest.h"
#include "foundation/base/log.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/landlock.h"
#include "foundation/sys/seccomp.h"

#if defined(__SANITIZE_ADDRESS__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED 0
#endif

#if defined(__x86_64__)
#define OWN_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCH AUDIT_ARCH_AARCH64
#else
#error "no filter of system calls for this machine yet"
#endif
#define X32_BIT 0x40000000u
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

enum test { PASS, NO_BITS, EQUALS };

static const struct row {
        unsigned nr;
        enum test test;
        unsigned arg, value;
} rows[] = {
#define CALL(name) { SYS_##name, PASS, 0, 0 },
#define WITHOUT(name, arg, bits) { SYS_##name, NO_BITS, arg, bits },
#define WITH(name, arg, value) { SYS_##name, EQUALS, arg, value },
#include "cay-docker/calls.def"
#undef CALL
#undef WITHOUT
#undef WITH
};

enum { BEGIN_LEN = 6, ROW_LEN = 5, END_LEN = 1 };

/* The low half of an argument: each one that a row tests is an int, or flags that fit into one. */
static unsigned place_of(unsigned arg)
{
        return (unsigned)offsetof(struct seccomp_data, args) + arg * 8;
}

/* Each row is ROW_LEN instructions long, so that whatever does not hold jumps to the next. */
static void put_row(struct sock_filter *at, const struct row *r)
{
        const struct sock_filter row[ROW_LEN] = {
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, r->nr, 0, ROW_LEN - 1),
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                         r->test == PASS ? (unsigned)offsetof(struct seccomp_data, nr) : place_of(r->arg)),
                r->test == PASS ? (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JA, 0, 0, 0)
                : r->test == NO_BITS
                        ? (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, r->value, 1, 0)
                        : (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, r->value, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offsetof(struct seccomp_data, nr)),
        };

        memcpy(at, row, sizeof(row));
}

static void put_filter(struct sock_filter code[BEGIN_LEN + CAY_COUNT(rows) * ROW_LEN + END_LEN])
{
        const struct sock_filter begin[BEGIN_LEN] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offsetof(struct seccomp_data, arch)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCH, 1, 0),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, X32_BIT, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        };

        memcpy(code, begin, sizeof(begin));
        for (unsigned i = 0; i < CAY_COUNT(rows); i++)
                put_row(code + BEGIN_LEN + i * ROW_LEN, &rows[i]);
        code[BEGIN_LEN + CAY_COUNT(rows) * ROW_LEN] =
                (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
}

/* Runs at the denied call, in whatever state we are in: no lock, no memory of anybody's. */
static void on_denied(int signo, siginfo_t *info, void *context)
{
        static const char begin[] = "cay-docker: error: a forbidden system call ended cay-docker call=";
        char line[sizeof(begin) + 16], digits[12];
        unsigned n = (unsigned)info->si_syscall, count = 0;
        size_t len = sizeof(begin) - 1;

        memcpy(line, begin, len);
        do
                digits[count++] = (char)('0' + n % 10);
        while ((n /= 10) > 0);
        while (count > 0)
                line[len++] = digits[--count];
        line[len++] = '\n';
        if (write(STDERR_FILENO, line, len) < 0)
                len = 0; /* nobody reads: the status says it */
        _exit(1);
}

static int filter(struct cay_error *err)
{
        static struct sock_filter code[BEGIN_LEN + CAY_COUNT(rows) * ROW_LEN + END_LEN];
        struct sigaction on_sys = { .sa_sigaction = on_denied, .sa_flags = SA_SIGINFO };
        int r;

        if (IS_SANITIZED)
                return 0;
        put_filter(code);
        if (sigaction(SIGSYS, &on_sys, NULL) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "watch for forbidden system calls");
        r = sys_seccomp_enter(code, CAY_COUNT(code));
        return r < 0 ? cay_fail_sys(err, CAY_INTERNAL, r, "filter cay-docker's system calls") : 0;
}

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

        cay_digest_sha256("", 0, digest); /* the library looks for files of its own now, and never again */
        if (close_files(o, err) < 0)
                return -1;
        return filter(err);
}
