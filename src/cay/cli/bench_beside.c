/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines, and how each is run. */
#include "cay/cli/bench_beside.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "foundation/sys/child.h"

#define PROGRAM_MS 30000

static void add(struct cay_beside_program *p, const char *const *words)
{
        unsigned at = 0;

        while (p->words[at] != NULL)
                at++;
        for (; *words != NULL && at < CAY_BESIDE_WORDS_MAX - 1; words++)
                p->words[at++] = *words;
}

#define ADD(p, ...) add(p, (const char *const[]){ __VA_ARGS__, NULL })

static int add_cay(struct cay_beside_program *p, struct cay_error *err)
{
        ssize_t n = readlink("/proc/self/exe", p->path, sizeof(p->path) - 1);

        if (n < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "find this program");
        p->path[n] = '\0';
        ADD(p, p->path, "run", "--", "/bin/true");
        return 0;
}

/*
 * The machine's /usr and a new /proc, /dev and /tmp: as little as a program needs. bubblewrap has no limits
 * and no filter here.
 */
static void add_bubblewrap(struct cay_beside_program *p)
{
        ADD(p, "bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/usr", "/usr");
        ADD(p, "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64",
            "/lib64");
        ADD(p, "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "/bin/true");
}

static int add_docker(struct cay_beside_program *p, const char *image, struct cay_error *err)
{
        if (image == NULL)
                return cay_fail(err, CAY_INVALID,
                                "--docker-image must name a local image that has /bin/true");
        ADD(p, "docker", "run", "--rm", "--pull", "never", "--network", "none");
        ADD(p, "--memory", "256m", "--cpus", "0.5", "--pids-limit", "50", image, "/bin/true");
        return 0;
}

static int spawn(const struct cay_beside_program *p, pid_t *ret)
{
        extern char **environ;
        posix_spawn_file_actions_t actions;
        int r = posix_spawn_file_actions_init(&actions);

        if (r != 0)
                return -r;
        r = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDWR, 0);
        if (r == 0)
                r = posix_spawn_file_actions_adddup2(&actions, STDIN_FILENO, STDOUT_FILENO);
        if (r == 0)
                r = posix_spawn_file_actions_adddup2(&actions, STDIN_FILENO, STDERR_FILENO);
        if (r == 0)
                r = posix_spawnp(ret, p->words[0], &actions, NULL, (char *const *)p->words, environ);
        posix_spawn_file_actions_destroy(&actions);
        return -r;
}

int cay_beside_run(const struct cay_beside_program *p, struct cay_error *err)
{
        pid_t pid;
        int r = spawn(p, &pid);

        if (r < 0)
                return cay_fail_sys(err, CAY_UNAVAILABLE, r, "start %.80s", p->words[0]);
        r = sys_child_status(pid, PROGRAM_MS);
        if (r == -ETIME)
                return cay_fail(err, CAY_TIMEOUT, "it took longer than %d s", PROGRAM_MS / 1000);
        if (r != 0)
                return cay_fail(err, CAY_UNAVAILABLE,
                                "it does not work here (status %d); run it by hand to see why", r);
        return 0;
}

int cay_beside_open(enum cay_beside which, const char *image, struct cay_beside_program *p,
                    struct cay_error *err)
{
        struct cay_error tried = { 0 };
        int r = 0;

        *p = (struct cay_beside_program){ 0 };
        if (which == CAY_BESIDE_SPAWN)
                ADD(p, "/bin/true");
        else if (which == CAY_BESIDE_RUN)
                r = add_cay(p, err);
        else if (which == CAY_BESIDE_BUBBLEWRAP)
                add_bubblewrap(p);
        else
                r = add_docker(p, image, err);
        if (r < 0)
                return -1;
        if (cay_beside_run(p, &tried) == 0)
                return 0;
        if (tried.sys == ENOENT)
                return cay_fail(err, CAY_UNAVAILABLE, "%.40s is not installed", p->words[0]);
        *err = tried;
        return -1;
}
