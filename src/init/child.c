/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From fork to exec.
 *
 * Theory of operation. The child starts as a copy of init: init's uid, four capabilities, all signals blocked, undumpable. It
 * takes the layers on one by one, each while it still may. First what is the same for every command: cgroups and oom score,
 * landlock, descriptors, the filter. A spare (spare.h) stops here and waits, still under init's uid, out of the box's reach.
 * Then what the command asks for: limits, ids, no capabilities, and the working directory as the user (so that a directory
 * closed to the user stays closed). The filter lets all of that pass, since without capabilities none of it gains anything, but for
 * setgroups, which comes before it. No code of the sandbox runs before the exec, and up to there nobody in the box may
 * look into the child: it is undumpable throughout, but for the one write that needs it otherwise, still under init's uid.
 * Every exec goes this way, so what can be set once is set on init itself (cay_child_prepare) and inherited.
 */
#include "init/child.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "init/landlock.h"
#include "seccomp_filters.h"
#include "sys/caps.h"
#include "sys/fd.h"
#include "sys/syscalls.h"
#include "sys/unix_socket.h"

#define STATUS_FD 3  /* where the socket to init is moved */
#define CHANGES_FD 4 /* of the worker CHANGES: the workspace's two layers */
#define BASE_FD 5
#define LAST_JOIN_FD 4 /* of one that waits: the cgroup that it joins with its command */
#define MEMLOCK_MAX (64u * 1024)
#define MSGQUEUE_MAX (800u * 1024)
#define SIGPENDING_MAX 1024u
#define PATH_DEFAULT "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define SHELL "/bin/sh"

extern char **environ;

/* Memory of the child only: init never touches these pages. */
static char text[CAY_FRAME_MAX + 2 * CAY_BOX_ARGS_MAX + CAY_BOX_PATH_MAX];
static char *vectors[2 * CAY_BOX_ARGS_MAX + 512];

static void note_send(int fd, const struct cay_note *note)
{
        while (send(fd, note, sizeof(*note), MSG_NOSIGNAL) < 0 && errno == EINTR)
                ;
}

_Noreturn static void fail(int status_fd, enum cay_child_step step, int r)
{
        struct cay_note note = { .what = CAY_NOTE_FAILED, .step = (int32_t)step, .sys = -r };

        note_send(status_fd, &note);
        _exit(127);
}

/*
 * A terminal needs a session of its own, and without a cgroup it is one way to tell whose a process is. Elsewhere a process group
 * is enough for signals and costs a tenth (a session makes a scheduler group, too); init's session has no terminal.
 */
static int start_session(const struct cay_child *c)
{
        if (c->tty || c->kept || !c->init->has_session)
                return setsid() < 0 ? -errno : 0;
        return setpgid(0, 0) < 0 ? -errno : 0;
}

/* Lowers soft and hard to at most `max`; raising would need a capability that nobody here has. */
static int limit(int resource, uint64_t max)
{
        struct rlimit now;

        if (getrlimit(resource, &now) < 0)
                return -errno;
        if (now.rlim_max <= max && now.rlim_cur == now.rlim_max)
                return 0;
        if (now.rlim_max > max)
                now.rlim_max = max;
        now.rlim_cur = now.rlim_max;
        return setrlimit(resource, &now) < 0 ? -errno : 0;
}

static int prepare_rlimits(void)
{
        static const struct {
                int resource;
                uint64_t max;
        } rows[] = {
                { RLIMIT_CORE, 0 }, /* a core pattern with a pipe would run a program on the host */
                { RLIMIT_MEMLOCK, MEMLOCK_MAX },
                { RLIMIT_MSGQUEUE, MSGQUEUE_MAX },
                { RLIMIT_SIGPENDING, SIGPENDING_MAX },
                { RLIMIT_RTPRIO, 0 },
                { RLIMIT_NICE, 0 },
        };

        for (size_t i = 0; i < CAY_COUNT(rows); i++) {
                int r = limit(rows[i].resource, rows[i].max);

                if (r < 0)
                        return r;
        }
        return 0;
}

int cay_child_prepare(const struct cay_init *init)
{
        int r = 0;

        if (cay_init_has_layer(init, CAY_LAYER_RLIMITS))
                r = prepare_rlimits();
        if (r < 0 || !cay_init_is_isolated(init))
                return r;
        if (cay_init_has_layer(init, CAY_LAYER_CAPS)) {
                r = sys_caps_ambient(0);
                if (r == 0)
                        r = sys_caps_bound(0);
        }
        if (r == 0 && cay_init_has_layer(init, CAY_LAYER_NNP) && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                r = -errno;
        return r;
}

static int last_join(const struct cay_init *init)
{
        int i = CAY_INIT_FD_COUNT - 1;

        while (i > CAY_INIT_FD_JOIN0 && init->fds[i] < 0)
                i--;
        return init->fds[i];
}

/* One that waits leaves the last one out: it counts processes, and nobody has started this one yet. */
static int join_cgroups(const struct cay_child *c)
{
        const struct cay_init *init = c->init;
        int r = c->node_fd >= 0 ? sys_write_file(c->node_fd, "cgroup.procs", "0") : 0;

        if (r < 0)
                return r;
        for (int i = CAY_INIT_FD_JOIN0; i < CAY_INIT_FD_COUNT; i++) {
                if (init->fds[i] < 0 || (c->waits && init->fds[i] == last_join(init)))
                        continue;
                if (write(init->fds[i], "0", 1) < 0)
                        return -errno;
        }
        return 0;
}

static int join_last(const struct cay_child *c)
{
        if (!c->waits || last_join(c->init) < 0)
                return 0;
        if (write(LAST_JOIN_FD, "0", 1) < 0)
                return -errno;
        close(LAST_JOIN_FD);
        return 0;
}

/* The file belongs to root while we are undumpable; under init's uid nobody in the box could make use of the gap. */
static void be_first_to_go(void)
{
        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
        sys_write_file(AT_FDCWD, "/proc/self/oom_score_adj", "1000");
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

static int set_rlimits(const struct cay_child *c)
{
        uint64_t files = 0, bytes = 0;
        int r;

        if (!c->worker) {
                files = c->open->exec.files_max;
                bytes = c->open->exec.file_max_bytes;
        }
        r = limit(RLIMIT_NOFILE, files > 0 ? files : c->init->files_max);
        if (r == 0 && bytes > 0)
                r = limit(RLIMIT_FSIZE, bytes);
        if (r == 0 && !c->worker)
                r = cay_watcher_limit(c->init);
        return r;
}

static int drop_groups(const struct cay_init *init)
{
        int r = cay_init_is_isolated(init) ? sys_setgroups(0, NULL) : 0;

        if (r == -EPERM && (getgroups(0, NULL) == 0 || init->config.flags & CAY_INIT_ONE_ID))
                r = 0; /* a user namespace may forbid the call; there is nothing to drop, then */
        return r;
}

static int switch_ids(const struct cay_child *c)
{
        int r;

        if (!cay_init_is_isolated(c->init)) {
                r = c->gid != getegid() ? sys_setresgid(c->gid, c->gid, c->gid) : 0;
                return r == 0 && c->uid != geteuid() ? sys_setresuid(c->uid, c->uid, c->uid) : r;
        }
        r = sys_setresgid(c->gid, c->gid, c->gid);
        if (r == 0)
                r = sys_setresuid(c->uid, c->uid, c->uid);
        if (r == 0)
                prctl(PR_SET_DUMPABLE, 0, 0, 0,
                      0); /* the kernel's own answer to an id change is a host setting */
        return r;
}

static int drop_caps(const struct cay_init *init)
{
        uint64_t effective, permitted, inheritable;
        int r;

        if (cay_init_has_layer(init, CAY_LAYER_CAPS))
                return sys_caps_set(0, 0, 0);
        /* Test only: what init has goes on to the command. */
        r = sys_caps_get(&effective, &permitted, &inheritable);
        if (r == 0)
                r = sys_caps_set(permitted, permitted, permitted);
        return r == 0 ? sys_caps_ambient(permitted) : r;
}

static int enter_directory(const struct cay_child *c)
{
        struct cay_view cwd = c->open->exec.cwd;
        char path[CAY_BOX_PATH_MAX];

        if (c->worker)
                return cay_init_is_isolated(c->init) && chdir("/") < 0 ? -errno : 0; /* else: the workspace */
        if (cwd.len == 0) {
                if (!cay_init_is_isolated(c->init) || chdir("/workspace") == 0)
                        return 0;
                return chdir("/") < 0 ? -errno : 0;
        }
        if (cwd.len >= sizeof(path))
                return -ENAMETOOLONG;
        memcpy(path, cwd.ptr, cwd.len);
        path[cwd.len] = 0;
        return chdir(path) < 0 ? -errno : 0;
}

static bool has_layers(const struct cay_child *c)
{
        return c->worker && c->open->kind == CAY_BOX_CHANGES && c->init->fds[CAY_INIT_FD_CHANGES] >= 0 &&
               c->init->fds[CAY_INIT_FD_BASE] >= 0;
}

/* Without no_new_privs (a test has it off) the kernel lets nobody but root in: then there are no such layers. */
static int enter_landlock(const struct cay_child *c)
{
        const struct cay_init *init = c->init;
        int r;

        if (init->landlock_fd < 0)
                return 0;
        if (has_layers(c)) /* these lie outside of what commands see, and it needs nothing else */
                r = cay_landlock_enter_to_read(
                        (const int[]){ init->fds[CAY_INIT_FD_CHANGES], init->fds[CAY_INIT_FD_BASE] }, 2);
        else
                r = cay_landlock_enter(init->landlock_fd);
        return r == -EPERM && !cay_init_has_layer(init, CAY_LAYER_NNP) ? 0 : r;
}

static void leak_fds(const struct cay_init *init)
{
        for (int i = 0; i < CAY_INIT_FD_COUNT; i++) {
                if (init->fds[i] > STATUS_FD)
                        fcntl(init->fds[i], F_SETFD, 0);
        }
}

/* By way of higher numbers: one of the two may be where the other goes. */
static int set_layers(const struct cay_init *init)
{
        int changes = fcntl(init->fds[CAY_INIT_FD_CHANGES], F_DUPFD_CLOEXEC, BASE_FD + 1);
        int base = fcntl(init->fds[CAY_INIT_FD_BASE], F_DUPFD_CLOEXEC, BASE_FD + 1);

        if (changes < 0 || base < 0 || dup3(changes, CHANGES_FD, O_CLOEXEC) < 0 ||
            dup3(base, BASE_FD, O_CLOEXEC) < 0)
                return -errno;
        return 0;
}

static int set_stdio(const struct cay_child *c)
{
        int last = has_layers(c) ? BASE_FD : STATUS_FD, r;

        for (int i = 0; i < 3; i++) {
                if (c->fds[i] >= 0 && dup2(c->fds[i], i) < 0)
                        return -errno;
        }
        if (dup3(c->status_fd, STATUS_FD, O_CLOEXEC) < 0)
                return -errno;
        if (c->waits && last_join(c->init) >= 0) {
                last = LAST_JOIN_FD;
                if (last_join(c->init) != last && dup3(last_join(c->init), last, O_CLOEXEC) < 0)
                        return -errno;
        }
        r = has_layers(c) ? set_layers(c->init) : 0;
        if (r < 0)
                return r;
        if (!cay_init_has_layer(c->init, CAY_LAYER_FDS)) {
                leak_fds(c->init);
                return 0;
        }
        return sys_close_range((unsigned)last + 1, ~0U, 0);
}

static int install_filter(const struct cay_child *c)
{
        struct sock_fprog program = {
                .len = (unsigned short)CAY_COUNT(cay_seccomp_code),
                .filter = (struct sock_filter *)(uintptr_t)cay_seccomp_code,
        };
        struct cay_note note = { .what = CAY_NOTE_LISTENER };
        unsigned flags = c->worker ? 0 : SECCOMP_FILTER_FLAG_NEW_LISTENER;
        ssize_t n;
        int fd;

        fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
        if (fd < 0)
                return errno == EACCES && !cay_init_has_layer(c->init, CAY_LAYER_NNP) ? 0 : -errno;
        if (c->worker)
                return 0;
        n = sys_send_fds(STATUS_FD, &note, sizeof(note), &fd, 1, MSG_NOSIGNAL);
        close(fd);
        return n < 0 ? (int)n : 0;
}

static char *copy_view(char **at, struct cay_view v)
{
        char *copy = *at;

        memcpy(copy, v.ptr, v.len);
        copy[v.len] = 0;
        *at += v.len + 1;
        return copy;
}

/* argv and env out of the request; sizes hold by its own bounds. */
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
        if (!cay_init_has_layer(c->init, CAY_LAYER_ENV)) {
                for (char **e = environ; e && *e && slot < vectors + CAY_COUNT(vectors) - 1; e++)
                        *slot++ = *e;
        }
        *slot = NULL;
}

static const char *path_of(char **env)
{
        for (; *env; env++) {
                if (strncmp(*env, "PATH=", 5) == 0)
                        return *env + 5;
        }
        return PATH_DEFAULT;
}

/* A file the kernel cannot run but may be executed is a script without a first line: for the shell, as everywhere. */
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
                        /* Found, but not to be run: only a name that may not be looked at lets the search go on. */
                        if (*ret_step == CAY_STEP_INTERPRETER || (r != -ENOENT && r != -EACCES))
                                return one;
                }
                if (dir[len] == 0)
                        return r;
                dir += len + 1;
        }
}

_Noreturn static void run_exec(const struct cay_child *c)
{
        enum cay_child_step step = CAY_STEP_EXEC;
        char **argv, **env;
        sigset_t none;
        int r;

        unpack(c, &argv, &env);
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        r = run_found(argv, env, &step);
        fail(STATUS_FD, step, r);
}

_Noreturn static void run_worker(const struct cay_child *c)
{
        static struct cay_note_result say = { .note = { .what = CAY_NOTE_RESULT } };
        struct cay_worker_request req = {
                .open = c->open,
                .path = "",
                .path2 = "",
                .in_fd = c->worker->streams & CAY_WORKER_IN ? 0 : -1,
                .out_fd = c->worker->streams & CAY_WORKER_OUT ? 1 : -1,
                .execs = c->execs,
                .exec_count = c->exec_count,
                .changes_fd = has_layers(c) ? CHANGES_FD : -1,
                .base_fd = has_layers(c) ? BASE_FD : -1,
        };
        char *at = text;
        sigset_t pipe_only;

        if (c->open->kind != CAY_BOX_CONNECT) {
                req.path = copy_view(&at, c->open->file.path);
                req.path2 = copy_view(&at, c->open->file.path2);
        }
        sigemptyset(&pipe_only);
        sigaddset(&pipe_only, SIGPIPE);
        sigprocmask(SIG_SETMASK, &pipe_only, NULL);
        c->worker->run(&req, &say.result);
        while (send(STATUS_FD, &say, sizeof(say), MSG_NOSIGNAL) < 0 && errno == EINTR)
                ;
        _exit(0);
}

static void must(int status_fd, enum cay_child_step step, int r)
{
        if (r < 0)
                fail(status_fd, step, r);
}

/* What no command changes. */
static void get_ready(const struct cay_child *c)
{
        const struct cay_init *init = c->init;

        must(c->status_fd, CAY_STEP_CGROUP, join_cgroups(c));
        if (!cay_init_is_isolated(init))
                prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        if (!(init->config.flags & CAY_INIT_OOM_SET))
                be_first_to_go();
        must(c->status_fd, CAY_STEP_IDS, drop_groups(init));
        must(c->status_fd, CAY_STEP_LANDLOCK, enter_landlock(c));
        must(c->status_fd, CAY_STEP_STDIO, set_stdio(c));
        if (cay_init_is_isolated(init) && cay_init_has_layer(init, CAY_LAYER_SECCOMP))
                must(STATUS_FD, CAY_STEP_SECCOMP, install_filter(c));
}

/* Init ends us when it has no command for us; when it is gone, so are we. */
static void await_command(struct cay_child *c, struct cay_box_open *open)
{
        static uint8_t asked[CAY_CHILD_ASK_MAX];
        int fds[SYS_FDS_MAX];
        unsigned count = 0;
        ssize_t n;

        do {
                n = sys_recv_fds(STATUS_FD, asked, sizeof(asked), fds, &count, 0);
        } while (n == -EINTR);
        if (n <= 0 || cay_box_open_decode(asked, (size_t)n, open) < 0)
                _exit(127);
        if (count > 0 && dup2(fds[0], 0) < 0)
                fail(STATUS_FD, CAY_STEP_STDIO, -errno);
        sys_close_fds(fds, count);
        c->open = open;
}

_Noreturn static void become(const struct cay_child *how)
{
        const struct cay_init *init = how->init;
        struct cay_child c = *how;
        struct cay_box_open open;

        get_ready(&c);
        if (c.waits)
                await_command(&c, &open);
        must(STATUS_FD, CAY_STEP_CGROUP, join_last(&c));
        must(STATUS_FD, CAY_STEP_SESSION, start_session(&c));
        if (c.tty)
                must(STATUS_FD, CAY_STEP_TERMINAL, ioctl(0, TIOCSCTTY, 0) < 0 ? -errno : 0);
        if (cay_init_has_layer(init, CAY_LAYER_RLIMITS))
                must(STATUS_FD, CAY_STEP_RLIMITS, set_rlimits(&c));
        must(STATUS_FD, CAY_STEP_IDS, switch_ids(&c));
        if (cay_init_is_isolated(init))
                must(STATUS_FD, CAY_STEP_CAPS, drop_caps(init));
        must(STATUS_FD, CAY_STEP_DIRECTORY, enter_directory(&c));
        if (c.worker)
                run_worker(&c);
        run_exec(&c);
}

static uint64_t micros(const struct timeval *t)
{
        return (uint64_t)t->tv_sec * 1000000 + (uint64_t)t->tv_usec;
}

/* The keeper's life: see group.h. It holds nothing but the socket. */
_Noreturn static void keep(int status_fd, pid_t main_pid)
{
        struct cay_note note = { .what = CAY_NOTE_STARTED, .pid = main_pid };
        struct rusage used, all = { 0 };
        siginfo_t any;
        int status;
        pid_t pid;

        dup3(status_fd, STATUS_FD, O_CLOEXEC);
        sys_close_range(STATUS_FD + 1, ~0U, 0);
        note_send(STATUS_FD, &note);
        while ((pid = wait4(-1, &status, 0, &used)) > 0 || errno == EINTR) {
                if (pid != main_pid)
                        continue;
                getrusage(RUSAGE_CHILDREN, &all);
                note = (struct cay_note){
                        .what = CAY_NOTE_EXITED,
                        .status = status,
                        .alone = waitid(P_ALL, 0, &any, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD,
                        .user_us = micros(&used.ru_utime),
                        .sys_us = micros(&used.ru_stime),
                        .tree_us = micros(&all.ru_utime) + micros(&all.ru_stime),
                };
                note_send(STATUS_FD, &note);
                main_pid = 0;
        }
        _exit(0);
}

_Noreturn void cay_child_run(const struct cay_child *c)
{
        pid_t pid;

        if (!c->kept)
                become(c);
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
        if (!cay_init_is_isolated(c->init))
                prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        pid = fork();
        if (pid < 0)
                fail(c->status_fd, CAY_STEP_KEEPER, -errno);
        if (pid == 0)
                become(c);
        keep(c->status_fd, pid);
}
