/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cay-init's main: sets itself up, then serves.
 *
 * Theory of operation. Init starts with nothing but a control socket. Its first message is the box's
 * configuration with the descriptors it needs; later ones are fresh streams for the box link; end of file
 * means that the engine has exited, and then the box ends immediately. Init is pid 1 in a box of its own and
 * otherwise a subreaper, so that it can wait for every orphan. All signals stay blocked for good (SIGCHLD
 * comes through a descriptor): no signal from the code can interrupt it, and children reset their mask with
 * one call. Nothing here waits for anything the code controls.
 */
#include "cay-init/init.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>

#include "foundation/base/clock.h"
#include "cay-init/channel.h"
#include "cay-init/child.h"
#include "cay-init/docker.h"
#include "cay-init/files.h"
#include "cay-init/landlock.h"
#include "cay-init/link.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/syscalls.h"
#include "foundation/sys/unix_socket.h"

#define CONFIG_WAIT_MS 30000
#define LEAVE_WAIT_MS 2000
#define FILES_MAX 4096u
#define STATUS_FAILED 70 /* of the process itself; nobody sees it but the engine's log */

static struct cay_init init_state;

/* "Ignore" dispositions survive exec: the engine's parent may have left some. */
/*
 * The raw call: a libc keeps some real-time signals to itself, but a caller may have left those ignored too.
 */
static void reset_signals(void)
{
        struct sigaction act = { .sa_handler = SIG_DFL };
        const unsigned long plain[8] = { 0 }; /* the kernel's struct, all zero: default */
        sigset_t all;

        for (int signo = 1; signo < 65; signo++)
                syscall(SYS_rt_sigaction, signo, plain, NULL, 8);
        act.sa_flags = SA_NOCLDSTOP; /* stops of children are not reported, but see hear_of_stops */
        sigaction(SIGCHLD, &act, NULL);
        sigfillset(&all);
        /* Fault signals stay unblocked; blocking them would only suppress the sanitizers' report. */
        sigdelset(&all, SIGSEGV);
        sigdelset(&all, SIGBUS);
        sigdelset(&all, SIGFPE);
        sigdelset(&all, SIGILL);
        sigdelset(&all, SIGABRT);
        sigdelset(&all, SIGTRAP);
        sigprocmask(SIG_SETMASK, &all, NULL);
}

/* Commands without input inherit our descriptor 0: make sure that it is correct. */
static void check_stdio(void)
{
        struct stat st;
        int fd;

        if (fstat(0, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3))
                return;
        fd = open("/dev/null", O_RDWR);
        if (fd > 0) {
                dup2(fd, 0);
                close(fd);
        }
}

static int wait_readable(int fd, int wait_ms)
{
        struct pollfd p = { .fd = fd, .events = POLLIN };
        int n;

        do {
                n = poll(&p, 1, wait_ms);
        } while (n < 0 && errno == EINTR);
        return n < 0 ? -errno : n == 0 ? -ETIMEDOUT : 0;
}

static int receive_config(struct cay_init *init)
{
        struct cay_init_config *config = &init->config;
        int fds[SYS_FDS_MAX];
        unsigned count = 0, used = 0;
        ssize_t n;
        int r;

        for (int i = 0; i < CAY_INIT_FD_COUNT; i++)
                init->fds[i] = -1;
        r = wait_readable(CAY_INIT_CONTROL_FD, CONFIG_WAIT_MS);
        if (r < 0)
                return r;
        n = sys_recv_fds(CAY_INIT_CONTROL_FD, config, sizeof(*config), fds, &count, MSG_DONTWAIT);
        if (n < 0)
                return (int)n;
        if ((size_t)n != sizeof(*config) || config->magic != CAY_INIT_MAGIC ||
            config->size != sizeof(*config) || (config->fds | config->inherited) >> CAY_INIT_FD_COUNT ||
            config->fds & config->inherited || (unsigned)__builtin_popcount(config->fds) != count)
                return -EPROTO;
        for (int i = 0; i < CAY_INIT_FD_COUNT; i++) {
                if (config->fds & 1u << i)
                        init->fds[i] = fds[used++];
                if (config->inherited & 1u << i) { /* made by what became us */
                        init->fds[i] = CAY_INIT_INHERITED_FD + i;
                        fcntl(init->fds[i], F_SETFD, FD_CLOEXEC);
                }
        }
        return 0;
}

static void on_control(struct cay_watch *w, uint32_t events)
{
        struct cay_init *init = cay_container_of(w, struct cay_init, control);
        struct cay_init_relink relink = { 0 };
        int fds[SYS_FDS_MAX];
        unsigned count = 0;
        ssize_t n = sys_recv_fds(w->fd, &relink, sizeof(relink), fds, &count, MSG_DONTWAIT);

        if (n == -EAGAIN || n == -EINTR)
                return;
        if (n == (ssize_t)sizeof(relink) && count == 1 && relink.magic == CAY_INIT_MAGIC &&
            relink.size == sizeof(relink)) {
                cay_link_take(init, fds[0]);
                return;
        }
        if (n > 0) /* unknown to this version: ignored, as a later engine may send more */
                sys_close_fds(fds, count);
        else
                init->leaving = true;
}

static void on_child(struct cay_signal *s, int signo, int pid)
{
        struct cay_init *init = cay_container_of(s, struct cay_init, signal);
        struct rusage used;
        int status;
        pid_t dead;

        cay_limit_watch_ending(init);
        while ((dead = wait4(-1, &status, WNOHANG | WUNTRACED, &used)) > 0) {
                if (WIFSTOPPED(status))
                        cay_channel_stopped(init, dead);
                else if (!cay_prefork_reaped(init, dead) && !cay_warm_reaped(init, dead))
                        cay_channel_reaped(init, dead, status, &used);
        }
        init->childless = dead < 0 && errno == ECHILD;
        cay_channel_tidy_all(init);
}

static bool has_others(const struct cay_init *init)
{
        const struct cay_channel *first = init->channels;

        return first && (first != init->starting || first->next);
}

/*
 * Processes that only wait (prefork.h, warm.h) need no watching. Everything else belongs to a channel; that
 * of a command which is about to start has nothing yet.
 */
static bool is_busy(struct cay_proc_overlay *t)
{
        const struct cay_init *init = cay_container_of(t, struct cay_init, proc_overlay);

        return !init->childless && (has_others(init) || (init->spare.pid == 0 && !cay_warm_is_any(init)));
}

/* Each channel needs a few descriptors; the original soft limit is for commands. */
static void raise_files(struct cay_init *init)
{
        struct rlimit files;

        if (getrlimit(RLIMIT_NOFILE, &files) < 0)
                return;
        init->files_max = files.rlim_cur;
        files.rlim_cur = files.rlim_max < FILES_MAX ? files.rlim_max : FILES_MAX;
        if (files.rlim_cur > init->files_max)
                setrlimit(RLIMIT_NOFILE, &files);
}

/* Where commands have our id they can stop our child processes. */
static void hear_of_stops(void)
{
        struct sigaction act = { .sa_handler = SIG_DFL };

        sigaction(SIGCHLD, &act, NULL);
}

/* The warden has mounted them, at places that it checked. */
static void open_volumes(struct cay_init *init)
{
        for (unsigned i = 0; i < CAY_INIT_VOLUMES; i++) {
                char *place = init->config.volumes[i];

                place[CAY_INIT_VOLUME - 1] = '\0';
                init->volume_fds[i] =
                        place[0] ? sys_open_at(AT_FDCWD, place, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0) : -1;
        }
}

static int set_up(struct cay_init *init)
{
        static const int signals[] = { SIGCHLD };
        int r;

        umask(022);
        if (init->config.flags & CAY_INIT_ONE_ID)
                hear_of_stops();
        raise_files(init);
        init->landlock_fd = init->workers_node = -1;
        init->is_pid1 = getpid() == 1;
        init->uid = geteuid();
        init->gid = getegid();
        init->childless = true;
        /* Detach from any terminal of the engine's caller. */
        init->has_session = getsid(0) == getpid() || setsid() > 0;
        if (!cay_init_is_isolated(init) && prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
                return -errno;
        if (!cay_init_has_layer(init, CAY_LAYER_DUMPABLE))
                prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
        if (!cay_init_is_isolated(init))
                cay_files_base = "."; /* no root of its own: the engine started us in the workspace */
        init->layer_fds[0] = sys_open_at(AT_FDCWD, "/", O_PATH | O_DIRECTORY, 0);
        init->layer_fds[1] = sys_open_at(AT_FDCWD, "/workspace", O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
        open_volumes(init);
        /* none on this kernel: the other layers still protect */
        if (cay_init_is_isolated(init) && cay_init_has_layer(init, CAY_LAYER_LANDLOCK))
                init->landlock_fd = cay_landlock_make();
        r = cay_child_prepare(init);
        if (r < 0)
                return r;
        init->loop = cay_loop_new();
        if (!init->loop)
                return -ENOMEM;
        cay_counters_open(&init->counters, init->config.flags & CAY_INIT_DOCKER);
        cay_proc_overlay_init(&init->proc_overlay, init->loop, &init->config, init->fds, is_busy);
        cay_limit_watch_init(init);
        cay_prefork_init(init);
        cay_warm_init(init);
        cay_link_init(init);
        r = cay_signal_open(init->loop, &init->signal, signals, CAY_COUNT(signals), on_child);
        if (r == 0)
                r = init->config.flags & CAY_INIT_DOCKER
                            ? cay_docker_listen(init)
                            : cay_watch_add(init->loop, &init->control, CAY_INIT_CONTROL_FD, EPOLLIN,
                                            on_control);
        if (r == 0 && init->fds[CAY_INIT_FD_LINK] >= 0)
                r = cay_link_take(init, cay_take_fd(init->fds[CAY_INIT_FD_LINK]));
        return r;
}

/*
 * As pid 1 everything ends with us. Elsewhere it has to be killed, and the nodes below the engine's have to
 * be removed.
 */
static void leave(struct cay_init *init)
{
        const struct timespec nap = { .tv_nsec = 2 * 1000 * 1000 };
        uint64_t until_ms = cay_clock_ms() + LEAVE_WAIT_MS;
        int cgroup = init->fds[CAY_INIT_FD_CGROUP2];
        bool kills = !(init->is_pid1 && cay_init_is_isolated(init)) &&
                     cay_init_has_layer(init, CAY_LAYER_KILL_ALL);

        if (init->config.flags & CAY_INIT_DOCKER)
                cay_docker_drain(init);
        if (init->is_pid1 && cay_init_is_isolated(init) && !init->childless)
                return;
        while (kills && !init->childless) {
                for (struct cay_channel *ch = init->channels; ch; ch = ch->next)
                        cay_group_kill(&ch->group);
                cay_group_kill_below_self();
                while (waitpid(-1, NULL, WNOHANG) > 0)
                        ;
                init->childless = waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD;
                if (init->childless || cay_clock_ms() >= until_ms)
                        break;
                nanosleep(&nap, NULL);
        }
        for (struct cay_channel *ch = init->channels; ch; ch = ch->next) {
                ch->group.keeper = 0;
                cay_group_remove(&ch->group, cgroup);
        }
        if (init->workers_node >= 0)
                unlinkat(cgroup, CAY_INIT_WORKERS_NODE, AT_REMOVEDIR);
}

static int serve(int r)
{
        if (r == 0)
                r = set_up(&init_state);
        while (r == 0 && !init_state.leaving && !cay_link_is_finished(&init_state))
                r = cay_loop_round(init_state.loop, -1);
        if (init_state.loop)
                leave(&init_state);
        return r < 0 ? STATUS_FAILED : 0;
}

static void begin(void)
{
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
        prctl(PR_SET_NAME, "cay-init", 0, 0, 0); /* also when we run from a copy without a name */
        reset_signals();
        check_stdio();
}

int cay_init_main(void)
{
        begin();
        /*
         * With a pid namespace our death ends everything. Without one, we must survive to end what we started
         * (end of the socket).
         */
        if (getpid() == 1)
                prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        return serve(receive_config(&init_state));
}

/* No parent-death signal: it would be sent when a thread of Docker's shim ends, not the shim itself. */
int cay_init_docker_main(void)
{
        begin();
        return serve(cay_docker_read_config(&init_state));
}
