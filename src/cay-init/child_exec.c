/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a child becomes: a command, found in the PATH of its own environment as a shell would, or one of
 * init's workers. The strings of the request are copied into memory of the child alone.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cay-init/child_priv.h"

#define PATH_DEFAULT "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define SHELL "/bin/sh"

extern char **environ;

/* Memory of the child only: init never uses these pages. */
static char text[CAY_FRAME_MAX + 2 * CAY_BOX_ARGS_MAX + CAY_BOX_PATH_MAX];
static char *vectors[2 * CAY_BOX_ARGS_MAX + 512];

static char *copy_view(char **at, struct cay_view v)
{
        char *copy = *at;

        memcpy(copy, v.ptr, v.len);
        copy[v.len] = 0;
        *at += v.len + 1;
        return copy;
}

static bool has_name(char **env, const char *variable)
{
        size_t len = strcspn(variable, "=");

        for (; *env; env++)
                if (strncmp(*env, variable, len) == 0 && (*env)[len] == '=')
                        return true;
        return false;
}

/*
 * Init's own environment, overridden by the request's. In a container it is the image's (ENV), and Docker's
 * HOSTNAME; in a box of the warden it is empty, or names the box's proxy.
 */
static void add_own_env(char **env, char **slot)
{
        for (char **e = environ; e && *e && slot < vectors + CAY_COUNT(vectors) - 1; e++) {
                if (has_name(env, *e))
                        continue;
                *slot++ = *e;
                *slot = NULL;
        }
}

/* Extracts argv and env from the request; its own bounds limit their sizes. */
static void unpack(const struct cay_child *c, char ***ret_argv, char ***ret_env)
{
        const struct cay_box_exec *exec = &c->open->exec;
        struct cay_view strings = exec->args;
        char **slot = vectors, *at = text;

        *ret_argv = slot + 2; /* room for a shell before it, see run_script */
        slot += 2;
        for (uint32_t i = 0; i < exec->argc; i++)
                *slot++ = copy_view(&at, cay_box_next_string(&strings));
        *slot++ = NULL;
        *ret_env = slot;
        for (uint32_t i = 0; i < exec->envc; i++)
                *slot++ = copy_view(&at, cay_box_next_string(&strings));
        *slot = NULL;
        if (!cay_init_has_layer(c->init, CAY_LAYER_ENV) ||
            c->init->config.flags & (CAY_INIT_DOCKER | CAY_INIT_ISOLATED))
                add_own_env(*ret_env, slot);
}

static const char *path_of(char **env)
{
        for (; *env; env++) {
                if (strncmp(*env, "PATH=", 5) == 0)
                        return *env + 5;
        }
        return PATH_DEFAULT;
}

/*
 * An executable file that the kernel cannot run is a script without a first line: run it by the shell, as
 * shells do.
 */
static int run_script(const char *path, char **argv, char **env)
{
        argv[-1] = SHELL;
        argv[0] = (char *)(uintptr_t)path;
        execve(SHELL, argv - 1, env);
        return -errno;
}

static int run_file(const char *path, char **argv, char **env)
{
        char *name = argv[0];
        int r;

        execve(path, argv, env);
        r = -errno;
        if (r != -ENOEXEC)
                return r;
        run_script(path, argv, env);
        argv[0] = name;
        return r;
}

static int run_found(char **argv, char **env, enum cay_child_step *ret_step)
{
        const char *dir = path_of(env);
        char path[CAY_BOX_PATH_MAX];
        int r = -ENOENT;

        *ret_step = CAY_STEP_EXEC;
        if (argv[0][0] == 0)
                return r;
        if (strchr(argv[0], '/')) {
                r = run_file(argv[0], argv, env);
                if (r == -ENOENT && access(argv[0], F_OK) == 0)
                        *ret_step = CAY_STEP_INTERPRETER;
                return r;
        }
        for (;;) {
                size_t len = strcspn(dir, ":");
                int n = snprintf(path, sizeof(path), "%.*s%s%s", (int)len, dir, len ? "/" : "", argv[0]);
                int one;

                if (n > 0 && (size_t)n < sizeof(path)) {
                        one = run_file(path, argv, env);
                        if (one == -ENOENT && access(path, F_OK) == 0)
                                *ret_step = CAY_STEP_INTERPRETER;
                        if (one != -ENOENT && one != -ENOTDIR)
                                r = one;
                        /* Found, but not executable: the search continues only after a permission error. */
                        if (*ret_step == CAY_STEP_INTERPRETER || (r != -ENOENT && r != -EACCES))
                                return one;
                }
                if (dir[len] == 0)
                        return r;
                dir += len + 1;
        }
}

_Noreturn void cay_child_run_worker(const struct cay_child *c)
{
        static struct cay_note_result say = { .note = { .what = CAY_NOTE_RESULT } };
        struct cay_worker_request req = {
                .open = c->open,
                .path = "",
                .path2 = "",
                .in_fd = c->worker->streams & CAY_WORKER_IN ? 0 : -1,
                .out_fd = c->worker->streams & CAY_WORKER_OUT ? 1 : -1,
                .whole_fd = CAY_CHILD_STATUS_FD,
                .execs = c->execs,
                .exec_count = c->exec_count,
                .changes_fd = cay_child_has_layers(c) ? CAY_CHILD_CHANGES_FD : -1,
                .base_fd = cay_child_has_layers(c) ? CAY_CHILD_BASE_FD : -1,
        };
        char *at = text;
        sigset_t pipe_only;

        if (!cay_box_has_port(c->open->kind)) {
                req.path = copy_view(&at, c->open->file.path);
                req.path2 = copy_view(&at, c->open->file.path2);
        }
        sigemptyset(&pipe_only);
        sigaddset(&pipe_only, SIGPIPE);
        sigprocmask(SIG_SETMASK, &pipe_only, NULL);
        c->worker->run(&req, &say.result);
        while (send(CAY_CHILD_STATUS_FD, &say, sizeof(say), MSG_NOSIGNAL) < 0 && errno == EINTR)
                ;
        _exit(0);
}

int cay_child_run_exec(const struct cay_child *c, enum cay_child_step *ret_step)
{
        char **argv, **env;
        sigset_t none;

        unpack(c, &argv, &env);
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        return run_found(argv, env, ret_step);
}
