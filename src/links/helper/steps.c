/* SPDX-License-Identifier: Apache-2.0 */
/* Step names, times, and the kill points of test builds. */
#include "links/helper/steps.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "foundation/base/banned.h"
#include "foundation/base/cleanup.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/syscalls.h"

static const struct {
        const char *name;
        enum cay_step_who who;
} rows[] = {
#define CAY_STEP(name, who, doc) { #name, CAY_WHO_##who },
#include "links/helper/steps.def"
#undef CAY_STEP
};

const char *cay_step_name(enum cay_step step)
{
        return step < CAY_STEP_COUNT ? rows[step].name : "?";
}

enum cay_step_who cay_step_who(enum cay_step step)
{
        return rows[step].who;
}

#ifdef CAY_TEST_HOOKS

/*
 * Killing at a step. If the process that reaches the step is the victim, it ends itself (the box's first
 * process exits, since the kernel ignores its own signals to it). Another victim is killed by a helper
 * process, which was started while there were still privileges to do so. The process at the step continues
 * when the victim is dead.
 */
#define DEATH_MS 10000

static enum cay_step kill_step = CAY_STEP_COUNT;
static enum cay_step_who victim;
static int pids[3]; /* by enum cay_step_who; 0: not known */
static int order = -1, done = -1;

static bool is_dead(pid_t pid)
{
        char path[32], text[512];
        const char *state;

        snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
        if (sys_read_file(AT_FDCWD, path, text, sizeof(text)) <= 0)
                return true;
        state = strrchr(text, ')');
        return !state || state[1] == 0 || state[2] == 'Z' || state[2] == 'X';
}

/* Without pidfds (before Linux 5.3): the victim's parent waits at the step, so the pid cannot be reused. */
static void kill_by_number(pid_t pid)
{
        if (kill(pid, SIGKILL) < 0)
                return;
        for (int ms = 0; ms < DEATH_MS && !is_dead(pid); ms += 2)
                poll(NULL, 0, 2);
}

static _Noreturn void killer(int orders, int finished)
{
        int32_t pid;

        for (int fd = 0; fd < 1024; fd++)
                if (fd != orders && fd != finished)
                        close(fd);
        if (read(orders, &pid, sizeof(pid)) == (ssize_t)sizeof(pid)) {
                struct pollfd dead = { .fd = sys_pidfd_open(pid, 0), .events = POLLIN };

                if (dead.fd < 0)
                        kill_by_number(pid);
                else if (sys_pidfd_send_signal(dead.fd, SIGKILL) == 0)
                        poll(&dead, 1, DEATH_MS);
        }
        _exit(0);
}

static void start_killer(void)
{
        int orders[2], finished[2];
        pid_t pid;

        if (order >= 0 || pipe2(orders, O_CLOEXEC) < 0 || pipe2(finished, O_CLOEXEC) < 0)
                return;
        pid = fork();
        if (pid == 0)
                killer(orders[0], finished[1]);
        close(orders[0]);
        close(finished[1]);
        order = orders[1];
        done = finished[0];
}

void cay_step_arm(int cli_pid, int warden_pid)
{
        static const char *const whos[] = { "cli@", "warden@", "box@" };
        const char *spec = getenv("CAY_TEST_KILL");
        const char *at = spec ? strchr(spec, '@') : NULL;

        if (!at)
                return;
        for (unsigned i = 0; i < CAY_COUNT(whos); i++)
                if (strncmp(spec, whos[i], strlen(whos[i])) == 0)
                        victim = (enum cay_step_who)i;
        for (unsigned i = 0; i < CAY_STEP_COUNT; i++)
                if (strcmp(rows[i].name, at + 1) == 0)
                        kill_step = (enum cay_step)i;
        pids[CAY_WHO_CLI] = cli_pid > 1 ? cli_pid : 0; /* 1: it is gone already */
        pids[CAY_WHO_WARDEN] = warden_pid;
        if (kill_step == CAY_STEP_COUNT || victim == rows[kill_step].who || warden_pid == 0)
                return;
        if ((rows[kill_step].who == CAY_WHO_CLI) ==
            (getpid() == cli_pid)) /* we are the process that reaches it, or its parent */
                start_killer();
}

void cay_step_box(int pid)
{
        pids[CAY_WHO_BOX] = pid;
}

void cay_step_fds(int ret[2])
{
        ret[0] = order;
        ret[1] = done;
}

static void maybe_kill(enum cay_step step)
{
        int32_t pid = pids[victim];
        char end;

        if (step != kill_step)
                return;
        kill_step = CAY_STEP_COUNT; /* once */
        if (victim == rows[step].who) {
                if (victim == CAY_WHO_BOX)
                        _exit(137);
                kill(getpid(), SIGKILL);
                for (;;)
                        pause();
        }
        if (pid > 0 && order >= 0 && write(order, &pid, sizeof(pid)) == (ssize_t)sizeof(pid))
                while (read(done, &end, 1) < 0 && errno == EINTR)
                        ;
}

#else

void cay_step_arm(int cli_pid, int warden_pid)
{
        (void)cli_pid;
        (void)warden_pid;
}

void cay_step_box(int pid)
{
        (void)pid;
}

void cay_step_fds(int ret[2])
{
        (void)ret;
}

static void maybe_kill(enum cay_step step)
{
        (void)step;
}

#endif

void cay_step_reached(struct cay_steps *steps, enum cay_step step)
{
        struct timespec now;

        clock_gettime(CLOCK_REALTIME, &now);
        steps->at_ns[step] = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
        maybe_kill(step);
}
