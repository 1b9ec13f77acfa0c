/* SPDX-License-Identifier: Apache-2.0 */
/* Hands the keeper's state to the next program. */
#include "cay/keeper/resume.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "foundation/sys/child.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/syscalls.h"

#define RESUME "CAY_SERVE_RESUME"
#define CHECK "check:"
#define MAGIC 0x6361796bu
/* of struct cay_keeper_state and its members: add one whenever a field changes its meaning or place */
#define VERSION 3u
#define CHECK_MS 20000
#define ARGS_MAX 256u
#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

static char program[PATH_MAX];

void cay_resume_note_program(void)
{
        ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);

        program[len < 0 ? 0 : len] = '\0';
}

static int write_state(struct cay_keeper_state *state)
{
        cay_auto_close int fd = memfd_create("cay-keeper-state", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        int r;

        state->magic = MAGIC;
        state->version = VERSION;
        state->size = sizeof(*state);
        state->pid = (int32_t)getpid();
        r = fd < 0 ? -errno : sys_write_all(fd, state, sizeof(*state));
        if (r == 0 && fcntl(fd, F_ADD_SEALS, SEALS) < 0)
                r = -errno;
        return r < 0 ? r : cay_take_fd(fd);
}

static int read_state(int fd, struct cay_keeper_state *ret)
{
        struct stat st;
        int seals = fcntl(fd, F_GET_SEALS);

        if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &st) < 0 ||
            st.st_size != (off_t)sizeof(*ret) || pread(fd, ret, sizeof(*ret), 0) != (ssize_t)st.st_size ||
            ret->magic != MAGIC || ret->version != VERSION || ret->size != st.st_size ||
            ret->port_count > CAY_HAND_PORTS_MAX)
                return -EPROTO;
        return 0;
}

static void mark_all(const struct cay_keeper_state *s, bool close_on_exec)
{
        const int fds[] = { s->place.data_fd, s->place.lock_fd, s->place.layers_fd, s->place.disk_fd,
                            s->place.unix_fd, s->config_fd,     s->registry_fd,     s->registry_folder };

        for (unsigned i = 0; i < CAY_COUNT(fds); i++)
                sys_fd_mark(fds[i], close_on_exec);
        for (unsigned i = 0; i < CAY_HELPER_COUNT; i++)
                if (s->helpers[i].pid > 0)
                        sys_fd_mark(s->helpers[i].sock, close_on_exec);
        for (unsigned i = 0; i < s->place.tcp_count; i++)
                sys_fd_mark(s->place.tcp_fds[i], close_on_exec);
        for (unsigned i = 0; i < s->place.root_count; i++)
                sys_fd_mark(s->place.root_fds[i], close_on_exec);
        for (unsigned i = 0; i < s->port_count; i++)
                sys_fd_mark(s->port_fds[i], close_on_exec);
}

/* Puts the same words in. Returns -errno. */
static int become(char *const *argv, int fd, bool is_check)
{
        char *args[ARGS_MAX + 2] = { (char *)"cay" };
        extern char **environ;
        char value[32];
        int r;

        for (unsigned i = 0; argv[i]; i++) {
                if (i == ARGS_MAX)
                        return -E2BIG;
                args[i + 1] = argv[i];
        }
        snprintf(value, sizeof(value), "%s%d", is_check ? CHECK : "", fd);
        if (setenv(RESUME, value, 1) < 0)
                return -errno;
        sys_fd_mark(fd, false);
        execve(program, args, environ);
        r = -errno;
        unsetenv(RESUME);
        return r;
}

int cay_resume_check(char *const *argv, struct cay_keeper_state *state, struct cay_error *err)
{
        cay_auto_close int fd = write_state(state);
        pid_t pid;
        int r;

        if (fd < 0)
                return cay_fail_sys(err, CAY_INTERNAL, fd, "write the state down");
        if (!argv || !program[0] || access(program, X_OK) < 0)
                return cay_fail_sys(err, CAY_NOT_FOUND, -errno, "the program '%.150s' is missing", program);
        pid = fork();
        if (pid == 0) {
                become(argv, fd, true);
                _exit(127);
        }
        r = pid < 0 ? -errno : sys_child_status(pid, CHECK_MS);
        if (r == CAY_RESUME_OK)
                return 0;
        return r < 0 ? cay_fail_sys(err, CAY_UNAVAILABLE, r, "try '%.150s'", program)
                     : cay_fail(err, CAY_UNSUPPORTED,
                                "'%.150s' cannot take over this daemon (status %d); stop the daemon and "
                                "start it again",
                                program, r);
}

int cay_resume_exec(char *const *argv, struct cay_keeper_state *state, struct cay_error *err)
{
        cay_auto_close int fd = write_state(state);
        int r;

        if (fd < 0)
                return cay_fail_sys(err, CAY_INTERNAL, fd, "write the state down");
        mark_all(state, false);
        r = become(argv, fd, false);
        mark_all(state, true);
        return cay_fail_sys(err, CAY_UNAVAILABLE, r, "become '%.150s'", program);
}

/* The new program */

int cay_resume_asked(bool *ret_is_check)
{
        const char *value = getenv(RESUME);
        bool is_check = value && strncmp(value, CHECK, strlen(CHECK)) == 0;
        int fd = value ? (int)strtol(value + (is_check ? strlen(CHECK) : 0), NULL, 10) : -1;

        if (!value)
                return -1;
        *ret_is_check = is_check;
        sys_fd_mark(fd, true);
        unsetenv(RESUME);
        return fd > STDERR_FILENO ? fd : -1;
}

int cay_resume_main_check(int fd)
{
        struct cay_keeper_state state;

        return read_state(fd, &state) == 0 ? CAY_RESUME_OK : 3;
}

int cay_resume_config(int fd, struct cay_config *ret, struct cay_error *err)
{
        cay_auto_free char *text = malloc(CAY_CONFIG_FILE_MAX);
        struct cay_keeper_state state;
        ssize_t n;
        int r;

        if (!text || cay_config_init(ret, err) < 0)
                return cay_fail(err, CAY_INTERNAL, "no memory for the settings");
        if (read_state(fd, &state) < 0 || state.pid != (int32_t)getpid())
                return cay_fail(err, CAY_INVALID, "the state handed over is not this daemon's");
        n = sys_read_fd(state.config_fd, text, CAY_CONFIG_FILE_MAX);
        if (n < 0)
                return cay_fail_sys(err, CAY_INTERNAL, (int)n, "read the settings");
        r = cay_config_read_written(ret, text, (size_t)n, err);
        explicit_bzero(text, (size_t)n);
        return r;
}

int cay_resume_load(int fd, struct cay_keeper_state *ret, struct cay_error *err)
{
        int r = read_state(fd, ret);

        close(fd);
        if (r < 0 || ret->pid != (int32_t)getpid())
                return cay_fail(err, CAY_INVALID, "the state handed over is not this daemon's");
        mark_all(ret, true);
        return 0;
}
