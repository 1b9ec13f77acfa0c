/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes of single system calls that a box has no business with (security.md 2.2). Each is called as it
 * should be.
 */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "surface.h"

#define SURFACE_ALLOWED 220

static int bpf(char **argv)
{
        struct {
                uint32_t type, key_size, value_size, max_entries;
        } attr = { 2, 4, 4, 1 };

        return probe_refused("bpf", syscall(SYS_bpf, 0, &attr, sizeof(attr)));
}

static int io_uring(char **argv)
{
        char params[256] = { 0 };

        return probe_refused("io_uring_setup", syscall(SYS_io_uring_setup, 1, params));
}

static int userfaultfd(char **argv)
{
        return probe_refused("userfaultfd", syscall(SYS_userfaultfd, O_CLOEXEC | 1 /* user mode only */));
}

static int perf(char **argv)
{
        struct perf_event_attr attr = {
                .type = PERF_TYPE_SOFTWARE,
                .size = sizeof(attr),
                .config = PERF_COUNT_SW_TASK_CLOCK,
                .exclude_kernel = 1,
                .exclude_hv = 1,
        };

        return probe_refused("perf_event_open", syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0));
}

static int keyctl(char **argv)
{
        return probe_refused("keyctl",
                             syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_PROCESS_KEYRING, 1));
}

/* Fails for want of the call: cay must say `syscall`. */
static int denied_dies(char **argv)
{
        return keyctl(argv) == PROBE_HELD ? 9 : PROBE_BROKE;
}

/* Each denied call costs init a little; a thousand are enough. */
static int denied_flood(char **argv)
{
        for (int i = 0; i < 3000; i++)
                syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_PROCESS_KEYRING, 1);
        return broke("3,000 calls");
}

static int add_key(char **argv)
{
        return probe_refused("add_key",
                             syscall(SYS_add_key, "user", "cay", "x", 1, KEY_SPEC_PROCESS_KEYRING));
}

static int request_key(char **argv)
{
        long r = syscall(SYS_request_key, "user", "cay-none", NULL, 0);

        return probe_refused("request_key", r);
}

static int kcmp(char **argv)
{
        return probe_refused("kcmp", syscall(SYS_kcmp, getpid(), getpid(), 0, 0, 1));
}

static int fanotify(char **argv)
{
        return probe_refused("fanotify_init", syscall(SYS_fanotify_init, 0x200 /* FAN_REPORT_FID */, 0));
}

struct handle {
        uint32_t bytes;
        int32_t type;
        unsigned char data[128];
};

static int name_to_handle(char **argv)
{
        struct handle h = { .bytes = sizeof(h.data) };
        int mount_id;

        return probe_refused("name_to_handle_at",
                             syscall(SYS_name_to_handle_at, AT_FDCWD, "/tmp", &h, &mount_id, 0));
}

static int open_by_handle(char **argv)
{
        struct handle h = { .bytes = sizeof(h.data) };
        int fd = open("/tmp", O_RDONLY | O_DIRECTORY), mount_id;

        /*
         * Where there is a filter the first call is refused, and the second must be so without looking at the
         * handle.
         */
        if (syscall(SYS_name_to_handle_at, AT_FDCWD, "/tmp", &h, &mount_id, 0) < 0)
                h = (struct handle){ 8, 1, { 2 } };
        return probe_refused("open_by_handle_at", syscall(SYS_open_by_handle_at, fd, &h, O_RDONLY));
}

static int move_pages(char **argv)
{
        return probe_refused("move_pages", syscall(SYS_move_pages, 0, 0UL, NULL, NULL, NULL, 0));
}

static int quotactl(char **argv)
{
        return probe_refused("quotactl",
                             syscall(SYS_quotactl, 0x800001 << 8 /* sync, of users */, NULL, 0, NULL));
}

static int kexec(char **argv)
{
        return probe_refused("kexec_load", syscall(SYS_kexec_load, 0UL, 0UL, NULL, 0UL));
}

static int module(char **argv)
{
        return probe_refused("init_module", syscall(SYS_init_module, "", 0UL, ""));
}

static int module_file(char **argv)
{
        return probe_refused("finit_module", syscall(SYS_finit_module, 0, "", 0));
}

static int module_delete(char **argv)
{
        return probe_refused("delete_module", syscall(SYS_delete_module, "cay_none", O_NONBLOCK));
}

static int reboot_call(char **argv)
{
        return probe_refused("reboot",
                             syscall(SYS_reboot, 0, 0, 0, NULL)); /* wrong magic: nothing can happen */
}

static int swapon_call(char **argv)
{
        return probe_refused("swapon", syscall(SYS_swapon, "/tmp/none", 0));
}

static int acct_call(char **argv)
{
        return probe_refused("acct", syscall(SYS_acct, "/tmp/none"));
}

static int syslog_call(char **argv)
{
        char buf[64];

        return probe_refused("syslog", syscall(SYS_syslog, 3, buf, sizeof(buf)));
}

static int host_name_set(char **argv)
{
        return probe_refused("sethostname", syscall(SYS_sethostname, "taken", 5));
}

static int clock_set(char **argv)
{
        return probe_refused("clock_settime", syscall(SYS_clock_settime, 0, &(struct timespec){ 1, 0 }));
}

static int clock_look(char **argv)
{
        struct timex t = { 0 };

        return probe_refused("adjtimex", syscall(SYS_adjtimex, &t));
}

static int sync_all(char **argv)
{
        return probe_refused("sync", syscall(SYS_sync));
}

static int aio(char **argv)
{
        unsigned long ctx = 0;

        return probe_refused("io_setup", syscall(SYS_io_setup, 1, &ctx));
}

static int seccomp_listener(char **argv)
{
        struct sock_filter pass = { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW };
        struct sock_fprog program = { 1, &pass };

        return probe_refused("seccomp with a listener", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                                                                SECCOMP_FILTER_FLAG_NEW_LISTENER, &program));
}

static int personality_exec(char **argv)
{
        return probe_refused("personality", syscall(SYS_personality, READ_IMPLIES_EXEC));
}

static int huge_pages(char **argv)
{
        void *p =
                mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);

        if (p != MAP_FAILED)
                return broke("a huge page of the host's pool");
        if (!probe_is_filtered())
                return lacks("huge pages in the host's pool");
        return held("%s", strerror(errno));
}

/* A child of our own to aim at: what is refused here is refused for init all the more. */
static pid_t victim_start(void)
{
        pid_t pid = fork();

        if (pid == 0) {
                pause();
                _exit(0);
        }
        return pid;
}

static void victim_end(pid_t pid)
{
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
}

static int pidfd_getfd(char **argv)
{
        pid_t pid = victim_start();
        int fd = (int)syscall(SYS_pidfd_open, pid, 0), r;

        if (fd < 0) {
                victim_end(pid);
                return lacks("pidfd_open");
        }
        r = probe_refused("pidfd_getfd", syscall(SYS_pidfd_getfd, fd, 1, 0));
        victim_end(pid);
        return r;
}

static int process_vm(char **argv)
{
        static char mark = 'x';
        char got = 0;
        struct iovec local = { &got, 1 }, remote = { &mark, 1 };
        pid_t pid = victim_start();
        int r = probe_refused("process_vm_readv",
                              syscall(SYS_process_vm_readv, pid, &local, 1UL, &remote, 1UL, 0UL));

        victim_end(pid);
        return r;
}

#ifdef __x86_64__
static int modify_ldt(char **argv)
{
        char buf[16];

        return probe_refused("modify_ldt", syscall(SYS_modify_ldt, 0, buf, sizeof(buf)));
}

static int iopl_call(char **argv)
{
        return probe_refused("iopl", syscall(SYS_iopl, 3));
}

static int ioperm_call(char **argv)
{
        return probe_refused("ioperm", syscall(SYS_ioperm, 0x70UL, 1UL, 1));
}

static long int80(long nr, long a, long b)
{
        long r;

        __asm__ volatile("int $0x80" : "=a"(r) : "a"(nr), "b"(a), "c"(b) : "memory");
        return (int)r;
}

/* In a child: the filter's answer is death. */
static int foreign(const char *what, long (*call)(void))
{
        pid_t pid = fork();
        int status;

        if (pid == 0) {
                long r = call();

                _exit(r >= 0 ? 1 : r == -ENOSYS ? 2 : 3);
        }
        if (waitpid(pid, &status, 0) != pid)
                return broke("no child");
        if (probe_was_killed(status, SIGSYS))
                return held("%s: killed", what);
        if (probe_was_killed(status, SIGSEGV) || (WIFEXITED(status) && WEXITSTATUS(status) == 2))
                return lacks("%s", what);
        return broke("%s: status %#x", what, (unsigned)status);
}

static long getpid_32(void)
{
        return int80(20, 0, 0);
}

/* socketcall(SOCKET): the old road past filters on socket families. Its arguments lie below 4 GiB. */
static long socketcall_32(void)
{
        uint32_t *args =
                mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

        if (args == MAP_FAILED)
                return -EINVAL;
        args[0] = 40; /* vsock */
        args[1] = 1;
        args[2] = 0;
        return int80(102, 1, (long)(uintptr_t)args);
}

static long getpid_x32(void)
{
        long r = syscall(0x40000000 | SYS_getpid);

        return r < 0 ? -errno : r;
}

static int calls_32(char **argv)
{
        return foreign("32-bit system calls", getpid_32);
}

static int calls_32_dies(char **argv)
{
        return broke("32-bit system calls: %ld", getpid_32());
}

static int socketcall(char **argv)
{
        return foreign("socketcall", socketcall_32);
}

static int calls_x32(char **argv)
{
        return foreign("x32 system calls", getpid_x32);
}
#endif

static int reachable(char **argv)
{
        static unsigned char reached[SURFACE_HIGHEST + 1];
        int count = surface_count(reached);

        if (count < 0)
                return broke("could not count: %s", strerror(errno));
        if (count > SURFACE_ALLOWED)
                return broke("%d system calls reachable, %d allowed", count, SURFACE_ALLOWED);
        return held("%d system calls reachable", count);
}

const struct probe probes_calls[] = {
        { "bpf", bpf },
        { "io_uring", io_uring },
        { "userfaultfd", userfaultfd },
        { "perf", perf },
        { "keyctl", keyctl },
        { "denied_dies", denied_dies },
        { "denied_flood", denied_flood },
        { "add_key", add_key },
        { "request_key", request_key },
        { "kcmp", kcmp },
        { "fanotify", fanotify },
        { "name_to_handle", name_to_handle },
        { "open_by_handle", open_by_handle },
        { "move_pages", move_pages },
        { "quotactl", quotactl },
        { "kexec", kexec },
        { "module", module },
        { "module_file", module_file },
        { "module_delete", module_delete },
        { "reboot", reboot_call },
        { "swapon", swapon_call },
        { "acct", acct_call },
        { "syslog", syslog_call },
        { "host_name_set", host_name_set },
        { "clock_set", clock_set },
        { "clock_look", clock_look },
        { "sync_all", sync_all },
        { "aio", aio },
        { "seccomp_listener", seccomp_listener },
        { "personality_exec", personality_exec },
        { "huge_pages", huge_pages },
        { "pidfd_getfd", pidfd_getfd },
        { "process_vm", process_vm },
#ifdef __x86_64__
        { "modify_ldt", modify_ldt },
        { "iopl", iopl_call },
        { "ioperm", ioperm_call },
        { "calls_32", calls_32 },
        { "calls_32_dies", calls_32_dies },
        { "socketcall", socketcall },
        { "calls_x32", calls_x32 },
#endif
        { "reachable", reachable },
        { NULL, NULL },
};
