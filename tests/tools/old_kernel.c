/* SPDX-License-Identifier: Apache-2.0 */
/* Filters that play an older kernel. */
#include "tools/old_kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/loop.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "foundation/base/cleanup.h"

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#error "which architecture is this?"
#endif

#define NR_CREATE_RULESET 444
#define NEWTIME 0x80
#define SET_FD 5 /* of enum fsconfig_command */
#define CODE_MAX 256

/* A call that is not there, or one argument's value that it does not know yet. */
struct call {
        const char *name;
        int nr;
        int error;     /* what an older kernel says */
        int arg;       /* that is looked at; -1: the call is not there at all */
        uint32_t mask; /* bits of arg, of which… */
        uint32_t is;   /* …this is what is not known */
};

#define GONE(name, nr)                                                                                       \
        {                                                                                                    \
                name, nr, ENOSYS, -1, 0, 0                                                                   \
        }

static const struct call calls[] = {
        GONE("pidfd_send_signal", 424), /* 5.1 */
        GONE("open_tree", 428),         /* 5.2, as the next five */
        GONE("move_mount", 429),
        GONE("fsopen", 430),
        GONE("fsconfig", 431),
        GONE("fsmount", 432),
        GONE("fspick", 433),
        GONE("pidfd_open", 434),                            /* 5.3 */
        GONE("clone3", 435),                                /* 5.3 */
        GONE("close_range", 436),                           /* 5.9 */
        GONE("openat2", 437),                               /* 5.6 */
        GONE("pidfd_getfd", 438),                           /* 5.6 */
        GONE("mount_setattr", 442),                         /* 5.12 */
        GONE("landlock_create_ruleset", NR_CREATE_RULESET), /* 5.13, as the next two */
        GONE("landlock_add_rule", 445),
        GONE("landlock_restrict_self", 446),
        GONE("fchmodat2", 452),                                          /* 6.6 */
        { "time_ns", SYS_unshare, EINVAL, 0, NEWTIME, NEWTIME },         /* 5.6 */
        { "loop_configure", SYS_ioctl, EINVAL, 1, ~0u, LOOP_CONFIGURE }, /* 5.8 */
        { "overlay_fd", 431, EINVAL, 1, ~0u, SET_FD },                   /* layers by descriptor: 6.5 */
};

/* Names for several at once. */
static const struct {
        const char *name, *calls;
} groups[] = {
        { "mount_api", "open_tree,move_mount,fsopen,fsconfig,fsmount,fspick,mount_setattr" },
        { "idmap", "mount_setattr" },
        { "landlock", "landlock_create_ruleset,landlock_add_rule,landlock_restrict_self" },
        { "pidfd", "pidfd_send_signal,pidfd_open,pidfd_getfd" },
};

const char *old_kernel_name(size_t row)
{
        if (row < CAY_COUNT(calls))
                return calls[row].name;
        row -= CAY_COUNT(calls);
        return row < CAY_COUNT(groups) ? groups[row].name : NULL;
}

struct code {
        struct sock_filter at[CODE_MAX];
        unsigned short len;
};

static void put(struct code *c, uint16_t op, uint8_t yes, uint8_t no, uint32_t value)
{
        if (c->len < CODE_MAX)
                c->at[c->len] = (struct sock_filter){ .code = op, .jt = yes, .jf = no, .k = value };
        c->len++; /* beyond the end: seen by who installs it */
}

/* The accumulator holds the call's number before and after. */
static void put_call(struct code *c, const struct call *call)
{
        put(c, BPF_JMP | BPF_JEQ | BPF_K, 0, call->arg < 0 ? 1 : 5, (uint32_t)call->nr);
        if (call->arg >= 0) {
                uint32_t at = (uint32_t)(offsetof(struct seccomp_data, args) + (size_t)call->arg * 8);

                put(c, BPF_LD | BPF_W | BPF_ABS, 0, 0,
                    at); /* the low half: both architectures are little-endian */
                put(c, BPF_ALU | BPF_AND | BPF_K, 0, 0, call->mask);
                put(c, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, call->is);
        }
        put(c, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | (uint32_t)call->error);
        if (call->arg >= 0)
                put(c, BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr));
}

static const struct call *find_call(const char *name, size_t len)
{
        for (size_t i = 0; i < CAY_COUNT(calls); i++)
                if (strlen(calls[i].name) == len && memcmp(calls[i].name, name, len) == 0)
                        return &calls[i];
        return NULL;
}

static const char *find_group(const char *name, size_t len)
{
        for (size_t i = 0; i < CAY_COUNT(groups); i++)
                if (strlen(groups[i].name) == len && memcmp(groups[i].name, name, len) == 0)
                        return groups[i].calls;
        return NULL;
}

/* Calls back for every call that the names stand for. */
static int each_call(const char *names, bool (*each)(void *ctx, const struct call *call), void *ctx)
{
        for (;;) {
                size_t len = strcspn(names, ",");
                const char *group = find_group(names, len);
                const struct call *call = find_call(names, len);
                int r = group ? each_call(group, each, ctx) : !call ? -ENOENT : each(ctx, call) ? 0 : 1;

                if (r != 0 || names[len] == 0)
                        return r;
                names += len + 1;
        }
}

static bool add(void *ctx, const struct call *call)
{
        put_call(ctx, call);
        return true;
}

static int install(struct code *c, unsigned flags)
{
        struct sock_fprog program = { .len = c->len, .filter = c->at };
        long r;

        if (c->len > CODE_MAX)
                return -E2BIG;
        r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
        if (r < 0 && errno == EACCES && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
                r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
        return r < 0 ? -errno : (int)r;
}

static void begin(struct code *c)
{
        put(c, BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, arch));
        put(c, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, ARCH);
        put(c, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
        put(c, BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr));
}

int old_kernel_block(const char *names)
{
        struct code code = { .len = 0 };
        int r;

        begin(&code);
        r = each_call(names, add, &code);
        if (r < 0)
                return r;
        put(&code, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
        return install(&code, 0);
}

/*
 * Arguments that no kernel takes, but for the one value that is looked at: nothing happens where the call is
 * there.
 */
static bool lacks(void *ctx, const struct call *call)
{
        unsigned long args[6] = { ~0ul, ~0ul, ~0ul, ~0ul, ~0ul, ~0ul };
        bool *all = ctx;
        long r;

        if (call->nr == SYS_unshare) { /* in a child: it would work */
                int status = 0;
                pid_t pid = fork();

                if (pid == 0)
                        _exit(syscall(SYS_unshare, (unsigned long)call->is) < 0 && errno == call->error ? 0
                                                                                                        : 1);
                *all &= pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
                return true;
        }
        if (call->arg >= 0)
                args[call->arg] = call->is;
        errno = 0;
        r = syscall(call->nr, args[0], args[1], args[2], args[3], args[4], args[5]);
        *all &= r < 0 &&
                (errno == call->error || errno == ENOSYS); /* ENOSYS: blocked by another name as well */
        return true;
}

bool old_kernel_lacks(const char *name)
{
        bool all = true;

        return each_call(name, lacks, &all) == 0 && all;
}

static bool is_other(void *ctx, const struct call *call)
{
        return call != ctx; /* each_call stops, with 1, at the one that is looked for */
}

static bool is_among(void *ctx, const struct call *call)
{
        return each_call(ctx, is_other, (void *)(uintptr_t)call) == 1;
}

bool old_kernel_is_part(const char *name, const char *names)
{
        return each_call(name, is_among, (void *)(uintptr_t)names) == 0;
}

/* The rights that an ABI version brought: those up to a bit. */
static uint64_t rights_of(int abi)
{
        unsigned bits = abi >= 5 ? 16 : abi >= 3 ? 15 : abi == 2 ? 14 : 13;

        return (1ull << bits) - 1;
}

/* What a kernel of that version would say; what it knows is left to the real one. */
static void answer(int abi, const struct seccomp_notif *ask, struct seccomp_notif_resp *say)
{
        uint64_t handled = 0;
        char path[32];

        snprintf(path, sizeof(path), "/proc/%u/mem", ask->pid);
        if (ask->data.args[2] == 1 /* VERSION */) {
                say->val = abi;
                return;
        }
        if (ask->data.args[1] >= sizeof(handled)) {
                cay_auto_close int mem = open(path, O_RDONLY | O_CLOEXEC);

                if (mem < 0 || pread(mem, &handled, sizeof(handled), (off_t)ask->data.args[0]) !=
                                       (ssize_t)sizeof(handled))
                        handled = ~0ull;
        }
        if (handled & ~rights_of(abi))
                say->error = -EINVAL;
        else
                say->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
}

static void answer_one(int listener, int abi)
{
        struct seccomp_notif ask = { 0 };
        struct seccomp_notif_resp say = { 0 };

        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &ask) < 0)
                return; /* its asker is gone */
        say.id = ask.id;
        answer(abi, &ask, &say);
        ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &say);
}

/* The process that has the filter and its listener: its child runs, it answers. */
static _Noreturn void play(int abi, void (*run)(void))
{
        struct code code = { .len = 0 };
        int listener, status = 0;
        pid_t pid;

        begin(&code);
        put(&code, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, NR_CREATE_RULESET);
        put(&code, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_USER_NOTIF);
        put(&code, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
        listener = install(&code, SECCOMP_FILTER_FLAG_NEW_LISTENER);
        if (listener < 0)
                _exit(126);
        pid = fork();
        if (pid == 0) {
                close(listener);
                run();
                _exit(0);
        }
        if (pid < 0)
                _exit(126);
        alarm(60);
        while (waitpid(pid, &status, WNOHANG) ==
               0) { /* we have the filter too, so the listener never hangs up */
                struct pollfd p = { .fd = listener, .events = POLLIN };

                if (poll(&p, 1, 5) > 0)
                        answer_one(listener, abi);
        }
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 125);
}

int old_kernel_landlock(int abi, void (*run)(void))
{
        int status = 0;
        pid_t pid = fork();

        if (pid < 0)
                return -errno;
        if (pid == 0)
                play(abi, run);
        if (waitpid(pid, &status, 0) != pid)
                return -errno;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 125;
}
