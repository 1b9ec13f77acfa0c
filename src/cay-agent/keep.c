/* SPDX-License-Identifier: Apache-2.0 */
#include "cay-agent/keep.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "cay-agent/agent.h"
#include "foundation/base/cleanup.h"
#include "foundation/base/clock.h"
#include "foundation/base/str.h"
#include "foundation/sys/syscalls.h"
#include "foundation/sys/unix_socket.h"
#include "links/helper/keeper_message.h"

#define PARK_FD 64 /* above the numbers that the helper expects */
#define VARIABLES_MAX 16u
#define STEADY_MS 10000u /* an agent that lived so long did not fall because it was started */
#define FALLS_MAX 6u
#define PAUSE_FIRST_MS 100u

static pid_t keeper; /* of the child */

/* The helper */

static bool is_passed_on(const char *variable)
{
#ifdef CAY_TEST_HOOKS
        return cay_str_starts(variable, "CAY_TEST_");
#else
        (void)variable;
        return false;
#endif
}

static void become_helper(const struct agent_keep *k, const char *path, int link, int socket)
{
        extern char **environ;
        char *user[] = { (char *)"cay-process", (char *)(uintptr_t)k->programs, NULL };
        char *keep[] = { (char *)"cay-warden", (char *)"keep", NULL };
        int parked[2] = { fcntl(link, F_DUPFD, PARK_FD), fcntl(socket, F_DUPFD, PARK_FD) };
        char *env[VARIABLES_MAX + 1];
        unsigned count = 0;
        sigset_t none;

        for (char **e = environ; *e && count < VARIABLES_MAX; e++)
                if (is_passed_on(*e))
                        env[count++] = *e;
        env[count] = NULL;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        setsid(); /* Ctrl-C is the agent's to handle */
        if (parked[0] >= 0 && parked[1] >= 0 && dup2(parked[0], HELPER_FRONT_FD) >= 0 &&
            dup2(parked[1], HELPER_KEEPER_FD) >= 0 && sys_close_range(HELPER_KEEPER_FD + 1, ~0u, 0) == 0)
                execve(path, k->as_user ? user : keep, env);
        _exit(127);
}

static int make_pair(int ret[2], struct cay_error *err)
{
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make a link to the helper");
        return 0;
}

static int start_helper(struct agent_keep *k, struct cay_error *err)
{
        cay_auto_close int link = -1, socket = -1;
        char path[4096];
        int pair[2];

        snprintf(path, sizeof(path), "%.4000s/%s", k->programs, k->as_user ? "cay-process" : "cay-warden");
        if (access(path, X_OK) < 0)
                return cay_fail_sys(err, CAY_UNAVAILABLE, -errno, "%s is missing", path);
        if (make_pair(pair, err) < 0)
                return -1;
        k->link = pair[0];
        link = pair[1];
        if (make_pair(pair, err) < 0)
                return -1;
        k->socket = pair[0];
        socket = pair[1];
        k->helper = fork();
        if (k->helper == 0)
                become_helper(k, path, link, socket);
        return k->helper > 0 ? 0 : cay_fail_sys(err, CAY_INTERNAL, -errno, "start %s", path);
}

static int tell(const struct agent_keep *k, uint32_t type, uint32_t nr, int fd)
{
        const struct wire_keeper say = {
                .magic = WIRE_KEEPER_MAGIC, .size = sizeof(say), .type = type, .nr = nr
        };

        return (int)sys_send_fds(k->socket, &say, sizeof(say), &fd, fd >= 0, MSG_NOSIGNAL);
}

static uint64_t or_any(uint64_t most)
{
        return most > 0 ? most : UINT64_MAX;
}

/*
 * The agent refuses more than the rules allow, with better words; the warden does it for one that was taken
 * over.
 */
static int tell_most(const struct agent_keep *k, const struct agent_rules *rules)
{
        const struct agent_most *m = &rules->most;
        const struct wire_keeper_ceiling say = { .magic = WIRE_KEEPER_MAGIC,
                                                 .size = sizeof(say),
                                                 .type = WIRE_KEEPER_CEILING,
                                                 .ceiling = { .memory_bytes = or_any(m->memory_bytes),
                                                              .cpu_milli = or_any(m->cpu_milli),
                                                              .pids = or_any(m->pids),
                                                              .disk_bytes = or_any(m->disk_bytes),
                                                              .inodes = UINT64_MAX,
                                                              .boxes = or_any(m->sandboxes) } };

        if (!agent_rules_has_most(rules))
                return 0;
        return (int)sys_send_fds(k->socket, &say, sizeof(say), NULL, 0, MSG_NOSIGNAL);
}

int agent_keep_open(struct agent_keep *k, const char *programs, const struct agent_rules *rules,
                    struct cay_error *err)
{
        int r = 0;

        *k = (struct agent_keep){ .programs = programs, .as_user = rules->as_user, .link = -1, .socket = -1 };
        if (start_helper(k, err) < 0)
                return -1;
        if (k->as_user)
                return 0;
        r = tell_most(k, rules);
        if (r >= 0)
                r = tell(k, WIRE_KEEPER_OWN_ROOTS, 0, -1);
        for (unsigned i = 0; i < rules->folder_count && r >= 0; i++)
                r = tell(k, WIRE_KEEPER_ROOT, i, rules->folders[i].fd);
        return r < 0 ? cay_fail_sys(err, CAY_UNAVAILABLE, r, "tell the warden its folders") : 0;
}

/* For the next agent; -1: the helper is gone. */
static int next_link(struct agent_keep *k)
{
        struct cay_error ignored = { 0 };
        int pair[2], r;

        if (k->link >= 0)
                return cay_take_fd(k->link);
        if (make_pair(pair, &ignored) < 0)
                return -1;
        r = tell(k, WIRE_KEEPER_FRONT, 0, pair[1]);
        close(pair[1]);
        if (r >= 0)
                return pair[0];
        close(pair[0]);
        return -1;
}

int agent_keep_close(struct agent_keep *k)
{
        int status = 0;

        if (k->link >= 0)
                close(cay_take_fd(k->link));
        if (k->socket >= 0)
                close(cay_take_fd(k->socket));
        while (k->helper > 0 && waitpid(k->helper, &status, 0) < 0 && errno == EINTR)
                continue;
        k->helper = 0;
        return status == 0 ? 0 : -1;
}

/* The agent */

void agent_keep_die_with_it(void)
{
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a change of ids clears it, so it comes behind that */
        if (getppid() != keeper)
                _exit(1);
}

static void begin_agent(struct agent_keep *k, const sigset_t *mask, int (*run)(void *ctx, int link),
                        void *ctx)
{
        int link = next_link(k), status;
        pid_t self = getpid();

        k->agent = link < 0 ? -1 : fork();
        if (k->agent == 0) {
                keeper = self;
                close(k->socket); /* its end tells the helper that the keeper is gone */
                sigprocmask(SIG_SETMASK, mask, NULL);
                status = run(ctx, link);
                fflush(NULL);
                exit(status);
        }
        if (link >= 0)
                close(link);
}

/* What the child left of the terminal. */
static void mend_terminal(const struct termios *was, bool is_terminal)
{
        if (is_terminal && tcgetpgrp(STDIN_FILENO) == getpgrp())
                tcsetattr(STDIN_FILENO, TCSANOW, was);
}

/* Whether another one is to be started. */
static bool has_fallen(struct agent_keep *k, int signo, uint64_t lived_ms)
{
        char text[128];

        k->falls = lived_ms < STEADY_MS ? k->falls + 1 : 1;
        if (k->falls > FALLS_MAX) {
                agent_tell("",
                           "its program ends again and again: stopping, and all sandboxes on this machine "
                           "with it");
                return false;
        }
        snprintf(text, sizeof(text),
                 "its program was ended by signal %d (%s): starting it again; the sandboxes live on", signo,
                 strsignal(signo));
        agent_tell("", text);
        usleep((PAUSE_FIRST_MS << k->falls) * 500);
        return true;
}

/* The child's end: its wait status. Signals to the keeper are the child's. */
static int await_agent(const struct agent_keep *k, const sigset_t *awaited)
{
        int status = 0;

        while (waitpid(k->agent, &status, WNOHANG) != k->agent) {
                int signo = sigwaitinfo(awaited, NULL);

                if (signo > 0 && signo != SIGCHLD)
                        kill(k->agent, SIGTERM);
        }
        return status;
}

int agent_keep_run(struct agent_keep *k, int (*run)(void *ctx, int link), void *ctx)
{
        static const int awaited_signals[] = { SIGCHLD, SIGINT, SIGTERM, SIGHUP };
        struct termios was;
        bool is_terminal = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &was) == 0, again = true;
        sigset_t awaited, before;
        int status = 1 << 8;

        sigemptyset(&awaited);
        for (unsigned i = 0; i < CAY_COUNT(awaited_signals); i++)
                sigaddset(&awaited, awaited_signals[i]);
        sigprocmask(SIG_BLOCK, &awaited, &before);
        signal(SIGTTOU, SIG_IGN);
        while (again) {
                uint64_t since_ms = cay_clock_ms();

                begin_agent(k, &before, run, ctx);
                if (k->agent <= 0)
                        break;
                status = await_agent(k, &awaited);
                k->agent = 0;
                again = false;
                if (WIFSIGNALED(status)) {
                        mend_terminal(&was, is_terminal);
                        again = has_fallen(k, WTERMSIG(status), cay_clock_ms() - since_ms);
                }
        }
        return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
