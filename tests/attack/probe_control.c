/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Controls: what ordinary programs do and must go on doing in a box. "HELD" is a control that works, "BROKE"
 * one that the box has broken; each names the first call that failed.
 */
#include "probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <pty.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define NEEDS(x)                                                                                             \
        do {                                                                                                 \
                if (!(x))                                                                                    \
                        return broke("line %d: %s: %s", __LINE__, #x, strerror(errno));                      \
        } while (0)

extern char **environ;

static void *thread_adds(void *arg)
{
        __atomic_fetch_add((int *)arg, 1, __ATOMIC_SEQ_CST);
        return NULL;
}

static int ctl_threads(char **argv)
{
        pthread_t threads[8];
        int sum = 0;

        for (int i = 0; i < 8; i++)
                NEEDS((errno = pthread_create(&threads[i], NULL, thread_adds, &sum)) == 0);
        for (int i = 0; i < 8; i++)
                NEEDS(pthread_join(threads[i], NULL) == 0);
        NEEDS(sum == 8);
        return held("threads");
}

static int ctl_processes(char **argv)
{
        char *const args[] = { "true", NULL };
        int status;
        pid_t pid;

        NEEDS((pid = fork()) >= 0);
        if (pid == 0)
                _exit(3);
        NEEDS(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 3);
        NEEDS((pid = vfork()) >= 0);
        if (pid == 0)
                _exit(4);
        NEEDS(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 4);
        NEEDS((errno = posix_spawnp(&pid, "true", NULL, NULL, args, environ)) == 0);
        NEEDS(waitpid(pid, &status, 0) == pid && status == 0);
        NEEDS(setsid() >= 0 || errno == EPERM);
        return held("fork, vfork, spawn");
}

/* A server that forks for each request, as test runners and language servers do. */
static int ctl_fork_server(char **argv)
{
        int pair[2], status;
        char byte;

        NEEDS(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
        for (int i = 0; i < 20; i++) {
                pid_t pid = fork();

                NEEDS(pid >= 0);
                if (pid == 0) {
                        byte = (char)i;
                        _exit(write(pair[1], &byte, 1) != 1);
                }
                NEEDS(read(pair[0], &byte, 1) == 1 && byte == (char)i);
                NEEDS(waitpid(pid, &status, 0) == pid && status == 0);
        }
        return held("twenty children in a row");
}

static volatile sig_atomic_t caught;

static void on_signal(int s)
{
        caught = s;
}

static int ctl_signals(char **argv)
{
        static char stack[65536];
        stack_t alt = { .ss_sp = stack, .ss_size = sizeof(stack) };
        struct sigaction act = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };
        union sigval value = { .sival_int = 7 };
        struct itimerval soon = { .it_value = { 0, 1000 } };
        sigset_t set, none;
        siginfo_t info;
        timer_t timer;
        struct itimerspec when = { .it_value = { 0, 1000000 } };

        NEEDS(sigaltstack(&alt, NULL) == 0 && sigaction(SIGUSR1, &act, NULL) == 0 &&
              sigaction(SIGALRM, &act, NULL) == 0);
        NEEDS(raise(SIGUSR1) == 0 && caught == SIGUSR1);
        sigemptyset(&none);
        sigemptyset(&set);
        sigaddset(&set, SIGUSR2);
        sigaddset(&set, SIGALRM);
        /* First, or the alarm could come before anybody waits for it. */
        NEEDS(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
        NEEDS(setitimer(ITIMER_REAL, &soon, NULL) == 0);
        sigsuspend(&none);
        NEEDS(caught == SIGALRM);
        NEEDS(sigqueue(getpid(), SIGUSR2, value) == 0);
        NEEDS(sigwaitinfo(&set, &info) == SIGUSR2 && info.si_value.sival_int == 7);
        NEEDS(timer_create(CLOCK_MONOTONIC, NULL, &timer) == 0 && timer_settime(timer, 0, &when, NULL) == 0);
        NEEDS(sigwaitinfo(&set, &info) == SIGALRM && timer_delete(timer) == 0);
        return held("signals and timers");
}

static int ctl_events(char **argv)
{
        struct epoll_event want = { .events = EPOLLIN }, got;
        struct itimerspec when = { .it_value = { 0, 1000000 } };
        uint64_t one = 1;
        sigset_t set;
        int ep, ev, tm, sg;

        NEEDS((ep = epoll_create1(EPOLL_CLOEXEC)) >= 0 && (ev = eventfd(0, EFD_NONBLOCK)) >= 0);
        NEEDS((tm = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK)) >= 0);
        sigemptyset(&set);
        sigaddset(&set, SIGUSR1);
        NEEDS(sigprocmask(SIG_BLOCK, &set, NULL) == 0 && (sg = signalfd(-1, &set, SFD_NONBLOCK)) >= 0);
        NEEDS(epoll_ctl(ep, EPOLL_CTL_ADD, ev, &want) == 0 && write(ev, &one, 8) == 8);
        NEEDS(epoll_wait(ep, &got, 1, 1000) == 1 && read(ev, &one, 8) == 8);
        NEEDS(epoll_ctl(ep, EPOLL_CTL_ADD, tm, &want) == 0 && timerfd_settime(tm, 0, &when, NULL) == 0);
        NEEDS(epoll_wait(ep, &got, 1, 1000) == 1 && read(tm, &one, 8) == 8);
        NEEDS(epoll_ctl(ep, EPOLL_CTL_ADD, sg, &want) == 0 && raise(SIGUSR1) == 0);
        NEEDS(epoll_wait(ep, &got, 1, 1000) == 1);
        return held("epoll, eventfd, timerfd, signalfd");
}

static int ctl_inotify(char **argv)
{
        char buf[4096] __attribute__((aligned(8)));
        int in, fd;

        NEEDS((in = inotify_init1(IN_CLOEXEC)) >= 0 && inotify_add_watch(in, "/tmp", IN_CREATE) >= 0);
        NEEDS((fd = open("/tmp/watched", O_CREAT | O_WRONLY, 0600)) >= 0);
        NEEDS(read(in, buf, sizeof(buf)) > 0);
        close(fd);
        unlink("/tmp/watched");
        return held("inotify");
}

static int ctl_tcp(char **argv)
{
        struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
        socklen_t len = sizeof(in);
        int server, client, accepted, one = 1;
        char byte = 'x';

        NEEDS((server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) >= 0);
        NEEDS(setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) == 0);
        NEEDS(bind(server, (struct sockaddr *)&in, len) == 0 && listen(server, 1) == 0);
        NEEDS(getsockname(server, (struct sockaddr *)&in, &len) == 0);
        NEEDS((client = socket(AF_INET, SOCK_STREAM, IPPROTO_TCP)) >= 0);
        NEEDS(connect(client, (struct sockaddr *)&in, len) == 0);
        NEEDS((accepted = accept4(server, NULL, NULL, SOCK_CLOEXEC)) >= 0);
        NEEDS(write(client, &byte, 1) == 1 && read(accepted, &byte, 1) == 1 && byte == 'x');
        return held("TCP over loopback");
}

static int ctl_unix(char **argv)
{
        struct sockaddr_un un = { .sun_family = AF_UNIX, .sun_path = "/tmp/control.sock" };
        int server, client, accepted;

        unlink(un.sun_path);
        NEEDS((server = socket(AF_UNIX, SOCK_STREAM, 0)) >= 0);
        NEEDS(bind(server, (struct sockaddr *)&un, sizeof(un)) == 0 && listen(server, 1) == 0);
        NEEDS((client = socket(AF_UNIX, SOCK_STREAM, 0)) >= 0);
        NEEDS(connect(client, (struct sockaddr *)&un, sizeof(un)) == 0 &&
              (accepted = accept(server, NULL, NULL)) >= 0);
        unlink(un.sun_path);
        un.sun_path[0] = '\0';
        NEEDS((server = socket(AF_UNIX, SOCK_DGRAM, 0)) >= 0 &&
              bind(server, (struct sockaddr *)&un, sizeof(un)) == 0);
        return held("unix sockets, by path and without");
}

static int ctl_pty(char **argv)
{
        char line[64] = "";
        int master, status;
        pid_t pid = forkpty(&master, NULL, NULL, NULL);

        NEEDS(pid >= 0);
        if (pid == 0) {
                execlp("sh", "sh", "-c", "test -t 0 && stty -a >/dev/null && echo is-a-tty", (char *)NULL);
                _exit(9);
        }
        for (size_t have = 0; have < sizeof(line) - 1;) {
                ssize_t n = read(master, line + have, sizeof(line) - 1 - have);

                if (n <= 0)
                        break;
                have += (size_t)n;
        }
        NEEDS(waitpid(pid, &status, 0) == pid && status == 0);
        NEEDS(strstr(line, "is-a-tty"));
        return held("pseudo-terminals");
}

/* Machine code made at run time: write, then execute, as every JIT does. */
static int ctl_jit(char **argv)
{
#if defined(__x86_64__)
        static const unsigned char code[] = { 0xb8, 42, 0, 0, 0, 0xc3 };
#elif defined(__aarch64__)
        static const unsigned char code[] = { 0x40, 0x05, 0x80, 0x52, 0xc0, 0x03, 0x5f, 0xd6 };
#endif
        unsigned char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        unsigned char *q;

        NEEDS(p != MAP_FAILED);
        memcpy(p, code, sizeof(code));
        NEEDS(mprotect(p, 4096, PROT_READ | PROT_EXEC) == 0);
        __builtin___clear_cache((char *)p, (char *)p + sizeof(code));
        NEEDS(((int (*)(void))(uintptr_t)p)() == 42);
        q = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        NEEDS(q != MAP_FAILED);
        return held("writable, then executable memory");
}

static int ctl_shm(char **argv)
{
        sem_t *sem;
        int fd;
        char *p;

        NEEDS((fd = shm_open("/control", O_CREAT | O_RDWR, 0600)) >= 0 && ftruncate(fd, 4096) == 0);
        NEEDS((p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) != MAP_FAILED);
        p[0] = 1;
        NEEDS(shm_unlink("/control") == 0);
        NEEDS((sem = sem_open("/control", O_CREAT, 0600, 1)) != SEM_FAILED);
        NEEDS(sem_wait(sem) == 0 && sem_post(sem) == 0 && sem_unlink("/control") == 0);
        return held("POSIX shared memory and semaphores");
}

static int ctl_sysv(char **argv)
{
        struct {
                long type;
                char text[8];
        } message = { 1, "hello" };
        struct sembuf up = { 0, 1, 0 };
        int id;

        NEEDS((id = shmget(IPC_PRIVATE, 4096, 0600)) >= 0 && shmat(id, NULL, 0) != (void *)-1);
        NEEDS(shmctl(id, IPC_RMID, NULL) == 0);
        NEEDS((id = semget(IPC_PRIVATE, 1, 0600)) >= 0 && semop(id, &up, 1) == 0 &&
              semctl(id, 0, IPC_RMID) == 0);
        NEEDS((id = msgget(IPC_PRIVATE, 0600)) >= 0 && msgsnd(id, &message, 8, 0) == 0);
        NEEDS(msgrcv(id, &message, 8, 1, 0) == 8 && msgctl(id, IPC_RMID, NULL) == 0);
        return held("System V memory, semaphores, queues");
}

static int ctl_files(char **argv)
{
        struct flock lock = { .l_type = F_WRLCK };
        struct timespec times[2] = { { 1, 0 }, { 2, 0 } };
        char buf[16];
        loff_t from = 0;
        off_t offset = 0;
        int fd, copy, unnamed;

        NEEDS(chdir("/tmp") == 0 && mkdir("control", 0755) == 0 && chdir("control") == 0);
        NEEDS((fd = open("a", O_CREAT | O_RDWR | O_EXCL, 0644)) >= 0 && write(fd, "hello", 5) == 5);
        NEEDS(flock(fd, LOCK_EX) == 0 && fcntl(fd, F_SETLK, &lock) == 0 && flock(fd, LOCK_UN) == 0);
        NEEDS((copy = open("b", O_CREAT | O_RDWR, 0600)) >= 0);
        NEEDS(copy_file_range(fd, &from, copy, NULL, 5, 0) == 5);
        NEEDS(sendfile(copy, fd, &offset, 5) == 5);
        NEEDS((unnamed = open(".", O_TMPFILE | O_RDWR, 0600)) >= 0);
        NEEDS(posix_fallocate(unnamed, 0, 8192) == 0 && fsync(fd) == 0 && fdatasync(fd) == 0);
        NEEDS(rename("a", "c") == 0 && link("c", "d") == 0 && symlink("c", "e") == 0 &&
              readlink("e", buf, 16) == 1);
        NEEDS(chmod("c", 0700) == 0 && chown("c", getuid(), getgid()) == 0 &&
              utimensat(AT_FDCWD, "c", times, 0) == 0);
        NEEDS(chmod(".", 01755) == 0 && mkfifo("f", 0600) == 0 && truncate("c", 1) == 0);
        NEEDS(setxattr("c", "user.control", "1", 1, 0) == 0 || errno == EOPNOTSUPP);
        NEEDS(unlink("b") == 0 && unlink("c") == 0 && unlink("d") == 0 && unlink("e") == 0 &&
              unlink("f") == 0);
        NEEDS(chdir("/") == 0 && rmdir("/tmp/control") == 0);
        return held("files");
}

static int ctl_pipes(char **argv)
{
        char big[65536] = { 0 };
        int p[2], q[2];

        NEEDS(pipe2(p, O_CLOEXEC) == 0 && pipe(q) == 0);
        NEEDS(write(p[1], big, sizeof(big)) == sizeof(big));
        NEEDS(splice(p[0], NULL, q[1], NULL, 4096, 0) == 4096);
        NEEDS(fcntl(p[1], F_SETPIPE_SZ, 1 << 17) >= 1 << 17);
        return held("pipes and splice");
}

static int ctl_misc(char **argv)
{
        char random[16];
        cpu_set_t cpus;
        struct rlimit limit;
        int fd;

        NEEDS(getrandom(random, sizeof(random), 0) == sizeof(random));
        NEEDS(sched_getaffinity(0, sizeof(cpus), &cpus) == 0);
        NEEDS(setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + 1) == 0);
        NEEDS(getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur > 3);
        limit.rlim_cur = limit.rlim_max;
        NEEDS(setrlimit(RLIMIT_NOFILE, &limit) == 0);
        NEEDS((fd = memfd_create("control", MFD_CLOEXEC)) >= 0 && ftruncate(fd, 4096) == 0);
        NEEDS(open("/dev/null", O_RDWR) >= 0 && open("/dev/urandom", O_RDONLY) >= 0 &&
              open("/dev/zero", O_RDWR) >= 0);
        NEEDS(setuid(getuid()) == 0 && setgid(getgid()) == 0);
        return held("random, nice, limits, memfd, devices");
}

/*
 * A debugger of one's own child: stop at the first instruction, look at the registers, step, read its memory,
 * go on.
 */
static int ctl_debugger(char **argv)
{
        static volatile long mark = 4711;
        int status;
        pid_t pid = fork();

        NEEDS(pid >= 0);
        if (pid == 0) {
                ptrace(PTRACE_TRACEME, 0, NULL, NULL);
                raise(SIGSTOP);
                _exit(6);
        }
        NEEDS(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status));
        NEEDS(ptrace(PTRACE_PEEKDATA, pid, &mark, NULL) == 4711);
        NEEDS(ptrace(PTRACE_POKEDATA, pid, &mark, 4712) == 0);
        NEEDS(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) == 0 && waitpid(pid, &status, 0) == pid &&
              WIFSTOPPED(status));
        NEEDS(ptrace(PTRACE_CONT, pid, NULL, NULL) == 0);
        NEEDS(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 6);
        return held("a debugger of its own child");
}

/* What a browser does on top of us: a filter of its own, in its own child. */
static int ctl_own_filter(char **argv)
{
        struct sock_filter code[] = {
                { BPF_LD | BPF_W | BPF_ABS, 0, 0, 0 },
                { BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_getppid },
                { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | 77 },
                { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW },
        };
        struct sock_fprog program = { 4, code };
        int status;
        pid_t pid = fork();

        NEEDS(pid >= 0);
        if (pid == 0) {
                if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
                    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) < 0)
                        _exit(1);
                _exit(syscall(SYS_getppid) == -1 && errno == 77 ? 0 : 2);
        }
        NEEDS(waitpid(pid, &status, 0) == pid && status == 0);
        return held("a filter of its own");
}

const struct probe probes_control[] = {
        { "ctl_threads", ctl_threads },
        { "ctl_processes", ctl_processes },
        { "ctl_fork_server", ctl_fork_server },
        { "ctl_signals", ctl_signals },
        { "ctl_events", ctl_events },
        { "ctl_inotify", ctl_inotify },
        { "ctl_tcp", ctl_tcp },
        { "ctl_unix", ctl_unix },
        { "ctl_pty", ctl_pty },
        { "ctl_jit", ctl_jit },
        { "ctl_shm", ctl_shm },
        { "ctl_sysv", ctl_sysv },
        { "ctl_files", ctl_files },
        { "ctl_pipes", ctl_pipes },
        { "ctl_misc", ctl_misc },
        { "ctl_debugger", ctl_debugger },
        { "ctl_own_filter", ctl_own_filter },
        { NULL, NULL },
};
