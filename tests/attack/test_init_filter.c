/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a cay-init that has been taken over can ask of the kernel. The host's root stops it with ptrace and
 * lets it make calls as if they were its own; each must be refused by its filter, and reaches the kernel once
 * the filter is off. What cay-init needs for its work must pass.
 */
#include <errno.h>
#include <linux/sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "attack/attack_run.h"
#include "isolated/leftovers.h"

#define DEADLINE_MS 30000
#define INITS_MAX 4

#ifdef __x86_64__

struct call {
        const char *name;
        long nr;
        long args[3];
};

/* Pointers are null: a call that gets to the kernel has another error, or succeeds. */
static const struct call refused[] = {
        { "unshare", SYS_unshare, { 0 } },
        { "setns", SYS_setns, { -1, 0 } },
        { "mount", SYS_mount, { 0 } },
        { "umount2", SYS_umount2, { 0 } },
        { "pivot_root", SYS_pivot_root, { 0 } },
        { "chroot", SYS_chroot, { 0 } },
        { "fsopen", SYS_fsopen, { 0 } },
        { "open_tree", SYS_open_tree, { -1, 0, 0 } },
        { "move_mount", SYS_move_mount, { -1, 0, -1 } },
        { "mount_setattr", SYS_mount_setattr, { -1, 0, 0 } },
        { "clone in a user namespace", SYS_clone, { CLONE_NEWUSER | CLONE_THREAD, 0, 0 } },
        { "bpf", SYS_bpf, { 0 } },
        { "keyctl", SYS_keyctl, { 0, -3, 0 } },
        { "add_key", SYS_add_key, { 0 } },
        { "io_uring_setup", SYS_io_uring_setup, { 0 } },
        { "perf_event_open", SYS_perf_event_open, { 0 } },
        { "userfaultfd", SYS_userfaultfd, { -1 } },
        { "fanotify_init", SYS_fanotify_init, { 0 } },
        { "open_by_handle_at", SYS_open_by_handle_at, { -1, 0, 0 } },
        { "init_module", SYS_init_module, { 0 } },
        { "kexec_load", SYS_kexec_load, { 0 } },
        { "sethostname", SYS_sethostname, { 0, -1 } },
        { "pidfd_getfd", SYS_pidfd_getfd, { -1, 0, 0 } },
};

static const struct call needed[] = {
        { "clone3", SYS_clone3, { 0 } },
        { "setgroups", SYS_setgroups, { 0 } },
        { "setfsuid", SYS_setfsuid, { -1 } },
        { "setfsgid", SYS_setfsgid, { -1 } },
        { "landlock_restrict_self", SYS_landlock_restrict_self, { -1, 0 } },
        { "seccomp with a listener", SYS_seccomp, { 1, 8, 0 } },
        { "ioctl SECCOMP_IOCTL_NOTIF_RECV", SYS_ioctl, { -1, 0xc0502100, 0 } },
};

/* A line of /proc/PID/status as a number; -1: it is not there. */
static long status_of(pid_t pid, const char *key)
{
        char path[64], text[4096], *at;
        FILE *f;
        size_t n;

        snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
        f = fopen(path, "re");
        n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
        if (f)
                fclose(f);
        text[n] = '\0';
        at = strstr(text, key);
        return at ? strtol(at + strlen(key), NULL, 10) : -1;
}

static bool is_init(pid_t pid)
{
        char path[64], name[32] = "";
        FILE *f;

        snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
        f = fopen(path, "re");
        if (f && !fgets(name, sizeof(name), f))
                name[0] = '\0';
        if (f)
                fclose(f);
        return strcmp(name, "cay-init\n") == 0;
}

/*
 * The processes of cay-init above a command: process 1 of the box, and before it a keeper, where there is
 * one.
 */
static size_t inits_above(pid_t command, pid_t *ret, size_t max)
{
        size_t count = 0;

        for (pid_t pid = (pid_t)status_of(command, "\nPPid:"); pid > 1 && count < max && is_init(pid);
             pid = (pid_t)status_of(pid, "\nPPid:"))
                ret[count++] = pid;
        return count;
}

static pid_t await_command(const char *mark)
{
        for (unsigned i = 0; i < DEADLINE_MS / 10; i++) {
                pid_t pid = attack_find_process(mark);

                if (pid > 0)
                        return pid;
                usleep(10 * 1000);
        }
        fail_msg("no process '%s' came up", mark);
        return 0;
}

/* Its filter follows the fork of its first child: the child may be there before. */
static void await_filter(pid_t init)
{
        for (unsigned i = 0; i < DEADLINE_MS / 10 && status_of(init, "\nSeccomp:") == 0; i++)
                usleep(10 * 1000);
        assert_int_equal(status_of(init, "\nSeccomp:"), 2);
}

static void stop(pid_t pid)
{
        int status;

        assert_int_equal(ptrace(PTRACE_SEIZE, pid, NULL, NULL), 0);
        assert_int_equal(ptrace(PTRACE_INTERRUPT, pid, NULL, NULL), 0);
        assert_int_equal(waitpid(pid, &status, __WALL), pid);
        assert_true(WIFSTOPPED(status));
}

/*
 * It waits in a call, so the instruction before its next one makes a call: that is done once more, as ours.
 */
static long call_as(pid_t pid, const struct call *c)
{
        struct user_regs_struct before, regs;
        int status;

        assert_int_equal(ptrace(PTRACE_GETREGS, pid, NULL, &before), 0);
        assert_int_equal(ptrace(PTRACE_PEEKTEXT, pid, before.rip - 2, NULL) & 0xffff, 0x050f);
        regs = before;
        regs.rip -= 2;
        regs.orig_rax = (unsigned long long)-1;
        regs.rax = (unsigned long long)c->nr;
        regs.rdi = (unsigned long long)c->args[0];
        regs.rsi = (unsigned long long)c->args[1];
        regs.rdx = (unsigned long long)c->args[2];
        regs.r10 = regs.r8 = regs.r9 = 0;
        assert_int_equal(ptrace(PTRACE_SETREGS, pid, NULL, &regs), 0);
        assert_int_equal(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), 0);
        assert_int_equal(waitpid(pid, &status, __WALL), pid);
        if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP)
                fail_msg("%s: process 1 ended or got a signal: %#x", c->name, (unsigned)status);
        assert_int_equal(ptrace(PTRACE_GETREGS, pid, NULL, &regs), 0);
        assert_int_equal(ptrace(PTRACE_SETREGS, pid, NULL, &before), 0);
        return (long)regs.rax;
}

static bool has_landlock(void)
{
        return syscall(SYS_landlock_restrict_self, -1, 0) < 0 && errno != ENOSYS;
}

/* Without the filter a call reaches the kernel, unless this one was built without it. */
static void judge(pid_t init, bool filtered)
{
        unsigned reached = 0;

        for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
                long r = call_as(init, &refused[i]);

                reached += r != -ENOSYS;
                if (filtered && r != -ENOSYS)
                        fail_msg("%s of a cay-init with a filter: %ld", refused[i].name, r);
        }
        if (!filtered)
                assert_in_range(reached, 12, sizeof(refused) / sizeof(refused[0]));
        for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
                long r = call_as(init, &needed[i]);

                if (r == -ENOSYS && !(needed[i].nr == SYS_landlock_restrict_self && !has_landlock()))
                        fail_msg("cay-init can't make its own call %s", needed[i].name);
        }
}

static void in_a_box(const char *off, const char *seconds, bool filtered)
{
        const char *words[] = { "--workspace", NULL, "--", "/workspace/probe", "sleeps", seconds,
                                NULL,          NULL, NULL };
        const char *words_off[] = { "--test-off",       off,      "--workspace", NULL, "--",
                                    "/workspace/probe", "sleeps", seconds,       NULL };
        char workspace[128], mark[32];
        struct attack_child c;
        struct attack_result r;
        pid_t inits[INITS_MAX], command;
        size_t count;

        snprintf(workspace, sizeof(workspace), "%s:ro", attack_probe_dir());
        snprintf(mark, sizeof(mark), "sleeps %s", seconds);
        words[1] = words_off[3] = workspace;
        c = attack_start(off ? words_off : words, NULL);
        command = await_command(mark);
        count = inits_above(command, inits, INITS_MAX);
        assert_in_range(count, 1, INITS_MAX);
        for (size_t i = 0; filtered && i < count; i++)
                await_filter(inits[i]);
        stop(inits[count - 1]);
        judge(inits[count - 1], filtered);
        kill(inits[count - 1], SIGKILL);
        waitpid(inits[count - 1], NULL, __WALL);
        r = attack_finish(&c, DEADLINE_MS);
        attack_result_free(&r);
}

static void test_refused_with_a_filter(void **state)
{
        in_a_box(NULL, "71", true);
}

static void test_reached_without(void **state)
{
        in_a_box("init_seccomp", "72", false);
}

static int before(void **state)
{
        *state = cay_leftovers_take();
        return 0;
}

static int after(void **state)
{
        unsigned left = cay_leftovers_compare(*state, CAY_LEFTOVERS_WAIT_MS);

        cay_leftovers_free(*state);
        return left ? -1 : 0;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_refused_with_a_filter, before, after),
                cmocka_unit_test_setup_teardown(test_reached_without, before, after),
        };
        int failed;

        attack_setup();
        failed = cmocka_run_group_tests(tests, NULL, NULL);
        attack_teardown();
        return failed;
}

#else

int main(void)
{
        puts("skipped: registers are written for x86_64 alone");
        return 77;
}

#endif
