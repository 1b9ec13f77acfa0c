/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes of the other resources: processes, disk, inodes, descriptors, processor, pools of the kernel
 * (security.md 2.1).
 */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/ioprio.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* How far a probe goes before it calls the limit broken: more would hurt the machine it runs on. */
static long beyond(long limit)
{
        return 2 * limit + 50;
}

/* --- Processes --- */

static int count_children(const char *what, long limit, void (*child)(void))
{
        long n = 0;
        int err = 0;

        while (n < beyond(limit)) {
                pid_t pid = fork();

                if (pid < 0) {
                        err = errno;
                        break;
                }
                if (pid == 0) {
                        child();
                        _exit(0);
                }
                n++;
        }
        signal(SIGTERM, SIG_IGN);
        kill(0, SIGTERM);
        while (wait(NULL) > 0)
                ;
        if (err == EAGAIN && n <= limit)
                return held("%s: refused after %ld", what, n);
        return broke("%s: %ld with a limit of %ld", what, n, limit);
}

static void sleeper(void)
{
        pause();
}

static void nothing(void)
{
}

static int fork_bomb(char **argv)
{
        return count_children("processes", probe_number(argv, 1, 50), sleeper);
}

static int zombies(char **argv)
{
        return count_children("zombies", probe_number(argv, 1, 50), nothing);
}

/* Children in sessions of their own, whose parents are gone: only the box's end ends them. */
static int orphans(char **argv)
{
        long limit = probe_number(argv, 1, 50), n = 0;
        int refused = 0;

        while (n < beyond(limit) && !refused) {
                pid_t pid = fork();
                int status;

                if (pid < 0)
                        break;
                if (pid == 0) {
                        pid_t grandchild = fork();

                        if (grandchild == 0) {
                                setsid();
                                probe_nap_ms(600000); /* longer than the box lives */
                                _exit(0);
                        }
                        _exit(grandchild < 0);
                }
                waitpid(pid, &status, 0);
                refused = WIFEXITED(status) && WEXITSTATUS(status);
                n += !refused;
        }
        if (n <= limit)
                return held("orphans: refused after %ld", n);
        return broke("orphans: %ld with a limit of %ld", n, limit);
}

static void *thread_waits(void *arg)
{
        pause();
        return arg;
}

static int thread_bomb(char **argv)
{
        long limit = probe_number(argv, 1, 50), n = 0;
        pthread_attr_t attr;
        pthread_t thread;

        pthread_attr_init(&attr);
        pthread_attr_setstacksize(&attr, 65536);
        while (n < beyond(limit) && pthread_create(&thread, &attr, thread_waits, NULL) == 0)
                n++;
        if (n <= limit)
                return held("threads: refused after %ld", n);
        return broke("threads: %ld with a limit of %ld", n, limit);
}

/* Ends for want of processes: cay must say `pids`. */
static int fork_bomb_dies(char **argv)
{
        fork_bomb(argv);
        return 9;
}

/* --- Disk --- */

/* disk_fill MIB [die]: with "die" the layer stays full and the probe fails, so that cay must say `disk`. */
static int disk_fill(char **argv)
{
        static char block[65536];
        long limit = probe_number(argv, 1, 16) << 20, had = 0;
        int fd = open("fill", O_CREAT | O_WRONLY, 0600), err = 0;
        bool die = argv[1] && argv[2] && strcmp(argv[2], "die") == 0;

        if (fd < 0)
                return broke("no file: %s", strerror(errno));
        memset(block, 'x', sizeof(block));
        signal(SIGXFSZ, SIG_IGN);
        while (had < 3 * limit) {
                ssize_t n = write(fd, block, sizeof(block));

                if (n < 0) {
                        err = errno;
                        break;
                }
                had += n;
        }
        if (!die)
                unlink("fill");
        /*
         * The limit on one file, the second layer, is twice the disk's: a full disk must say so itself
         * (ENOSPC).
         */
        if (((err == ENOSPC || err == EDQUOT) && had <= limit) || (err == EFBIG && had <= 2 * limit)) {
                held("disk: %s after %ld bytes", strerror(err), had);
                return die ? 9 : PROBE_HELD;
        }
        return broke("disk: %ld bytes with a limit of %ld, then %s", had, limit,
                     err ? strerror(err) : "nothing");
}

static int inode_fill(char **argv)
{
        long limit = probe_number(argv, 1, 500), n = 0;
        char name[32];
        int err = 0;

        if (mkdir("inodes", 0700) < 0 || chdir("inodes") < 0)
                return broke("no folder: %s", strerror(errno));
        while (n < beyond(limit)) {
                int fd;

                snprintf(name, sizeof(name), "%ld", n);
                fd = open(name, O_CREAT | O_WRONLY, 0600);
                if (fd < 0) {
                        err = errno;
                        break;
                }
                close(fd);
                n++;
        }
        if ((err == ENOSPC || err == EDQUOT) && n <= limit)
                return held("inodes: %s after %ld", strerror(err), n);
        return broke("inodes: %ld with a limit of %ld, then %s", n, limit, strerror(err));
}

static int sparse_file(char **argv)
{
        int fd;

        signal(SIGXFSZ, SIG_IGN);
        fd = open("/tmp/sparse", O_CREAT | O_WRONLY, 0600);
        if (fd < 0)
                return broke("no file: %s", strerror(errno));
        if (ftruncate(fd, (off_t)1 << 40) == 0)
                return broke("a file of 1 TiB");
        return held("a file of 1 TiB: %s", strerror(errno));
}

/* Each writable tmpfs has a size and a number of inodes of its own. */
static int tmpfs_sizes(char **argv)
{
        static const char *const dirs[] = { "/tmp", "/dev/shm", "/run", "/var/tmp", "/dev" };
        struct statfs fs;

        for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
                if (statfs(dirs[i], &fs) < 0)
                        continue;
                if (fs.f_type == 0x01021994 /* tmpfs */ && (fs.f_blocks == 0 || fs.f_files == 0))
                        return broke("%s has no size", dirs[i]);
                if ((uint64_t)fs.f_blocks * (uint64_t)fs.f_bsize > (uint64_t)probe_number(argv, 1, 256) << 20)
                        return broke("%s is larger than the box's limits", dirs[i]);
                if (fs.f_files > 200000)
                        return broke("%s has %llu inodes", dirs[i], (unsigned long long)fs.f_files);
        }
        if (open("/dev/cay", O_CREAT | O_WRONLY, 0600) >= 0)
                return broke("a file in /dev");
        return held("all have a size; /dev: %s", strerror(errno));
}

/* --- Descriptors and pools --- */

static int fds(char **argv)
{
        long limit = probe_number(argv, 1, 4096), n = 3;
        int fd;

        while (n < beyond(limit) && (fd = dup(1)) >= 0)
                n++;
        if (n <= limit)
                return held("descriptors: %s at %ld", strerror(errno), n);
        return broke("descriptors: %ld with a limit of %ld", n, limit);
}

static int inotify_pool(char **argv)
{
        long most = probe_number(argv, 1, 128), hold_ms = probe_number(argv, 2, 0), n = 0;

        while (n < most + 64 && inotify_init1(IN_CLOEXEC) >= 0)
                n++;
        if (hold_ms) {
                printf("TOOK %ld\n", n); /* for the second box, which must get as many */
                fflush(stdout);
                probe_nap_ms(hold_ms);
        }
        if (n > most)
                return broke("inotify: %ld instances", n);
        return held("inotify: %s after %ld", strerror(errno), n);
}

static int timers(char **argv)
{
        long most = probe_number(argv, 1, 100000), n = 0;
        struct sigevent none = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
        timer_t timer;

        while (n <= most && timer_create(CLOCK_MONOTONIC, &none, &timer) == 0)
                n++;
        if (n > most)
                return broke("timers: more than %ld", most);
        return held("timers: %s after %ld", strerror(errno), n);
}

/* Descriptors in flight are in no table: only the sum per user holds them. */
static int inflight(char **argv)
{
        long most = probe_number(argv, 1, 10000), n = 0;
        char byte = 0, control[CMSG_SPACE(200 * sizeof(int))] = { 0 };
        struct iovec iov = { &byte, 1 };
        struct msghdr msg = {
                .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
        };
        struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
        int pair[2], many[200];

        for (int i = 0; i < 200; i++)
                many[i] = 1;
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(many));
        memcpy(CMSG_DATA(c), many, sizeof(many));
        while (n <= most && socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0) {
                while (n <= most && sendmsg(pair[0], &msg, 0) == 1)
                        n += 200;
                if (errno == ETOOMANYREFS || errno == EMFILE)
                        break;
        }
        if (n > most)
                return broke("in flight: %ld descriptors", n);
        return held("in flight: %s after %ld", strerror(errno), n);
}

/* --- Processor and priority --- */

static double seconds(const struct timespec *t)
{
        return (double)t->tv_sec + (double)t->tv_nsec / 1e9;
}

static double read_clock(clockid_t clock)
{
        struct timespec now;

        return clock_gettime(clock, &now) == 0 ? seconds(&now) : 0;
}

/*
 * Processor time of both for each second that goes by, from here on for at least half a second. The time that
 * goes by is around the time that is used: where this is held up in between, the share is less than it was,
 * never more.
 */
static double share_of(clockid_t child)
{
        double from = read_clock(CLOCK_MONOTONIC),
               used = read_clock(CLOCK_PROCESS_CPUTIME_ID) + read_clock(child), now, wall;

        do {
                now = read_clock(CLOCK_PROCESS_CPUTIME_ID) + read_clock(child);
                wall = read_clock(CLOCK_MONOTONIC) - from;
        } while (wall < 0.5);
        return (now - used) / wall;
}

/*
 * cpu_share MILLI: two processes spin; together they must not get more than that share. Stretches in which
 * the machine gave them less say nothing, and are not counted. Where the limit is watched, a stretch may have
 * more: the whole may not. Where there is none, a busy machine may give no more either: one stretch in which
 * it does is waited for.
 */
static int cpu_share(char **argv)
{
        double allowed = (double)probe_number(argv, 1, 500) / 1000, most = allowed * 1.3 + 0.1, sum = 0,
               share = 0;
        pid_t pid = fork();
        unsigned n = 0, counted = 0;
        clockid_t child;

        if (pid == 0)
                for (volatile unsigned long i = 0;; i++)
                        ;
        if (pid < 0 || clock_getcpuclockid(pid, &child) != 0)
                return broke("no child: %s", strerror(errno));
        for (; n < 40 && (counted < 3 || probe_is_open() || (probe_is_watched() && sum / n > most)); n++) {
                share = share_of(child);
                sum += share;
                if (share > most && !probe_is_watched())
                        break;
                counted += share > allowed * 0.75;
        }
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        if (probe_is_watched())
                share = sum / n;
        if (share > most)
                return broke("processor: %.2f of a core, %.2f allowed", share, allowed);
        return held("processor: %.2f of a core", share);
}

static int realtime(char **argv)
{
        struct sched_param fifo = { .sched_priority = 1 };

        return probe_refused("real-time class", sched_setscheduler(0, SCHED_FIFO, &fifo));
}

static int deadline(char **argv)
{
        struct {
                uint32_t size, policy;
                uint64_t flags;
                int32_t nice;
                uint32_t priority;
                uint64_t runtime, deadline, period;
        } attr = { sizeof(attr), 6 /* deadline */, 0, 0, 0, 10000000, 100000000, 100000000 };

        return probe_refused("deadline class", syscall(SYS_sched_setattr, 0, &attr, 0));
}

static int nice_up(char **argv)
{
        errno = 0;
        return probe_refused("a nice value of -5", setpriority(PRIO_PROCESS, 0, -5));
}

static int ionice(char **argv)
{
        long r = syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, 0));

        return probe_refused("the highest best-effort I/O class", r);
}

static int oom_adjust(char **argv)
{
        char text[32], lower[32];
        int fd;

        probe_read("/proc/self/oom_score_adj", text, sizeof(text));
        snprintf(lower, sizeof(lower), "%d\n", atoi(text) - 1);
        fd = open("/proc/self/oom_score_adj", O_WRONLY);
        if (fd < 0)
                return held("oom_score_adj: %s", strerror(errno));
        if (write(fd, lower, strlen(lower)) < 0)
                return held("oom_score_adj: %s", strerror(errno));
        return broke("oom_score_adj lowered to %s", lower);
}

static int core_dump(char **argv)
{
        struct rlimit limit;
        pid_t pid;
        int status;

        getrlimit(RLIMIT_CORE, &limit);
        if (limit.rlim_max != 0)
                return broke("core dumps of up to %llu bytes", (unsigned long long)limit.rlim_max);
        pid = fork();
        if (pid == 0)
                abort();
        waitpid(pid, &status, 0);
        if (WCOREDUMP(status))
                return broke("a core was dumped");
        return held("no core");
}

/* A tree that no path string can name, with names that no terminal should see. */
static int deep_tree(char **argv)
{
        long depth = probe_number(argv, 1, 1500), i;
        char name[] = "d\n\"\xff<b>'";

        for (i = 0; i < depth; i++) {
                if (mkdir(name, 0700) < 0 || chdir(name) < 0)
                        break;
        }
        return held("%ld levels; the box's end has to cope", i);
}

const struct probe probes_resource[] = {
        { "fork_bomb", fork_bomb },       { "fork_bomb_dies", fork_bomb_dies },
        { "zombies", zombies },           { "orphans", orphans },
        { "thread_bomb", thread_bomb },   { "disk_fill", disk_fill },
        { "inode_fill", inode_fill },     { "sparse_file", sparse_file },
        { "tmpfs_sizes", tmpfs_sizes },   { "fds", fds },
        { "inotify_pool", inotify_pool }, { "timers", timers },
        { "inflight", inflight },         { "cpu_share", cpu_share },
        { "realtime", realtime },         { "deadline", deadline },
        { "nice_up", nice_up },           { "ionice", ionice },
        { "oom_adjust", oom_adjust },     { "core_dump", core_dump },
        { "deep_tree", deep_tree },       { NULL, NULL },
};
