/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_isolated [--route] [--wait MS] COMMAND…: runs a test as if it had the machine to itself, and compares
 * what it has before and after.
 *
 * Theory of operation. The test gets namespaces of its own (processes, mounts, network, ipc, host name,
 * control groups), its own /tmp, /var/tmp, /var/lib, /run and /dev/shm (room.h), control groups that are its
 * roots (groups.h), and a share of the machine's host ids (share.h). So tests run side by side, beside
 * daemons, Dockers and browsers of others, and "nothing is left" is a statement about the test alone. The
 * first process of the namespaces is the runner's child: it reaps, compares, and takes everything with it
 * when it ends. The runner itself stays outside and removes what outlives namespaces: control groups and
 * locks.
 *
 * --route: with an interface and a default route that lead nowhere, for tests that show that a sandbox has
 * neither. --wait: how long what is left may take to go away.
 *
 * Exit status: the command's own, 99 when something was left, 77 (skipped) without root.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "isolated/groups.h"
#include "isolated/leftovers.h"
#include "isolated/room.h"
#include "isolated/share.h"

#define MEMORY_BYTES (8ull << 30) /* for all of a test: one that leaks must not take the machine along */
#define FIRST_ID "CAY_TEST_FIRST_ID"

static volatile sig_atomic_t stopped;
static volatile bool
        *leaves; /* shared: the first process inside ends, and something of the test may still be frozen */
static pid_t inside;

static void on_stop(int number)
{
        stopped = number;
        if (inside > 0)
                kill(inside, SIGKILL);
}

static void on_tick(int number)
{
        (void)number; /* ends the wait for a look at `leaves` */
}

/* Without SA_RESTART: the wait for the child has to end. */
static void hear(int number, void (*handler)(int))
{
        const struct sigaction action = { .sa_handler = handler };

        sigaction(number, &action, NULL);
}

static int status_of(int status)
{
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Whatever loses its parent in here becomes our child. */
static int wait_for(pid_t command)
{
        for (;;) {
                int status;
                pid_t pid = waitpid(-1, &status, 0);

                if (pid == command)
                        return status_of(status);
                if (pid < 0 && errno != EINTR)
                        return 1;
        }
}

struct options {
        bool has_route;
        unsigned wait_ms;
        char **command;
};

static int run_inside(const struct test_groups *groups, const struct test_share *share,
                      const struct options *o)
{
        const char *keep[] = { "CAY_SOURCE_DIR", "CAY_BUILD_DIR", NULL };
        struct cay_leftovers *before;
        pid_t command;
        int status;

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) < 0) {
                perror("run_isolated: unshare");
                return 1;
        }
        test_room_enter(share, keep);
        if (o->has_route)
                test_room_add_route();
        test_groups_enter(groups);
        before = cay_leftovers_take();
        command = fork();
        if (command == 0) {
                setpgid(0, 0);
                execvp(o->command[0], o->command);
                fprintf(stderr, "run_isolated: start %s: %s\n", o->command[0], strerror(errno));
                _exit(126);
        }
        status = command < 0 ? 1 : wait_for(command);
        if (cay_leftovers_compare(before, o->wait_ms) > 0) {
                status = status == 0 ? 99 : status;
                *leaves = true;
        }
        cay_leftovers_free(before);
        return status;
}

static bool read_options(char **argv, struct options *o)
{
        *o = (struct options){ .wait_ms = CAY_LEFTOVERS_WAIT_MS };
        for (argv++; *argv && strncmp(*argv, "--", 2) == 0; argv++) {
                if (strcmp(*argv, "--route") == 0)
                        o->has_route = true;
                else if (strcmp(*argv, "--wait") == 0 && argv[1])
                        o->wait_ms = (unsigned)strtoul(*++argv, NULL, 10);
                else
                        return false;
        }
        o->command = argv;
        return *argv != NULL;
}

int main(int argc, char **argv)
{
        const struct itimerval every_second = { { .tv_sec = 1 }, { .tv_sec = 1 } };
        struct options options;
        static struct test_groups groups;
        static struct test_share share;
        char name[32], id[16];
        int status;

        (void)argc;
        if (!read_options(argv, &options)) {
                fprintf(stderr, "usage: run_isolated [--route] [--wait MS] COMMAND…\n");
                return 2;
        }
        if (geteuid() != 0) {
                printf("skipped: needs root\n");
                return 77;
        }
        hear(SIGTERM, on_stop);
        hear(SIGINT, on_stop);
        hear(SIGHUP, on_stop);
        hear(SIGALRM, on_tick);
        leaves = mmap(NULL, sizeof(*leaves), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (leaves == MAP_FAILED) {
                perror("run_isolated: memory");
                return 1;
        }
        test_share_take(&share);
        snprintf(name, sizeof(name), "cay-test-%u", share.number);
        snprintf(id, sizeof(id), "%u", test_share_first_id(&share));
        setenv(FIRST_ID, id, 1);
        unsetenv("TMPDIR");
        test_groups_make(&groups, name, MEMORY_BYTES);
        fflush(NULL);
        inside = unshare(CLONE_NEWPID) < 0 ? -1 : fork();
        if (inside < 0)
                perror("run_isolated: process namespace");
        if (inside == 0)
                exit(run_inside(&groups, &share, &options));
        if (stopped && inside > 0)
                kill(inside, SIGKILL);
        setitimer(ITIMER_REAL, &every_second, NULL);
        while (inside > 0 && waitpid(inside, &status, 0) < 0 && errno == EINTR)
                if (stopped || *leaves)
                        test_groups_thaw(&groups);
        test_groups_remove(&groups);
        test_share_drop(&share);
        fflush(NULL);
        _exit(inside > 0 ? status_of(status)
                         : 1); /* no process can be made any more, which a sanitizer would do at exit */
}
