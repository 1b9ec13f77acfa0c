/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walls around the front: each denied class in a child of its own, which must end as the filter says and
 * name the call.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cay-front/confine.h"
#include "cay/keeper/hand_over.h"
#include "foundation/base/sanitized.h"

enum { WENT_ON = 3, NO_WALL = 4, REACHED = 6 };

/* What a front that was taken over might try */

static void try_execve(void)
{
        char *argv[] = { (char *)"true", NULL };

        execve("/bin/true", argv, argv + 1);
}

static void try_ptrace(void)
{
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

static void try_mount(void)
{
        mount("none", "/tmp", "tmpfs", 0, NULL);
}

static void try_packet(void)
{
        (void)!socket(AF_PACKET, SOCK_RAW, 0);
}

static void try_tcp(void)
{
        (void)!socket(AF_INET, SOCK_STREAM, 0);
}

static void try_netlink(void)
{
        (void)!socket(AF_NETLINK, SOCK_RAW, 0);
}

static void try_pair_of_others(void)
{
        int fds[2];

        (void)!socketpair(AF_INET, SOCK_STREAM, 0, fds);
}

static void try_connect(void)
{
        struct sockaddr_in at = { .sin_family = AF_INET };

        connect(STDIN_FILENO, (struct sockaddr *)&at, sizeof(at));
}

static void try_bind(void)
{
        struct sockaddr_in at = { .sin_family = AF_INET };

        bind(STDIN_FILENO, (struct sockaddr *)&at, sizeof(at));
}

static void try_fork(void)
{
        if (fork() == 0)
                _exit(0);
}

static void try_unshare(void)
{
        unshare(CLONE_NEWUSER);
}

static void try_setns(void)
{
        setns(STDIN_FILENO, 0);
}

static void try_chroot(void)
{
        (void)!chroot("/");
}

static void try_kill(void)
{
        kill(getppid(), SIGTERM);
}

static void try_new_handler(void)
{
        signal(SIGSYS, SIG_IGN);
}

static void try_code(void)
{
        (void)!mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void try_turn_to_code(void)
{
        void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        mprotect(page, 4096, PROT_READ | PROT_EXEC);
}

static void try_memory_of_others(void)
{
        char byte;
        struct iovec mine = { &byte, 1 }, theirs = { &byte, 1 };

        (void)!process_vm_readv(getppid(), &mine, 1, &theirs, 1, 0);
}

static void try_memfd(void)
{
        (void)!memfd_create("x", 0);
}

static void try_bpf(void)
{
        syscall(SYS_bpf, 0, NULL, 0);
}

static void try_uring(void)
{
        syscall(SYS_io_uring_setup, 1, NULL);
}

static void try_setuid(void)
{
        (void)!syscall(SYS_setuid, 0);
}

/* Reaching others without connect(); the sockets are made before the filter is on (open_sockets) */

static int listener = -1, target = -1, pair[2];
static struct sockaddr_in target_at;

static void try_to_stop_listening(void)
{
        shutdown(listener, SHUT_RDWR);
}

static void try_to_stop_reading(void)
{
        shutdown(listener, SHUT_RD);
}

static void try_fast_open(void)
{
        (void)!sendto(listener, "x", 1, MSG_FASTOPEN | MSG_NOSIGNAL, (struct sockaddr *)&target_at,
                      sizeof(target_at));
}

static struct iovec one_byte = { (char *)"x", 1 };
static struct msghdr to_target = {
        .msg_name = &target_at, .msg_namelen = sizeof(target_at), .msg_iov = &one_byte, .msg_iovlen = 1
};

static void try_fast_open_by_message(void)
{
        (void)!sendmsg(listener, &to_target, MSG_FASTOPEN | MSG_NOSIGNAL);
}

static void try_fast_open_by_messages(void)
{
        struct mmsghdr many = { .msg_hdr = to_target };

        (void)!sendmmsg(listener, &many, 1, MSG_FASTOPEN | MSG_NOSIGNAL);
}

static void try_later_fast_open(void)
{
        int on = 1;

        setsockopt(listener, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &on, sizeof(on));
}

static void try_another_protocol(void)
{
        setsockopt(listener, IPPROTO_TCP, TCP_ULP, "tls", 4);
}

static void try_address(void)
{
        struct sockaddr_un at = { .sun_family = AF_UNIX, .sun_path = "/run/x" };

        (void)!sendto(pair[0], "x", 1, MSG_NOSIGNAL, (struct sockaddr *)&at, sizeof(at));
}

static void try_pair_of_datagrams(void)
{
        int fds[2];

        (void)!socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, fds);
}

static void try_to_own_for_another(void)
{
        fcntl(pair[0], F_SETOWN, getppid());
}

static void try_to_own_for_a_thread(void)
{
        struct f_owner_ex to = { .type = F_OWNER_PID, .pid = getppid() };

        fcntl(pair[0], F_SETOWN_EX, &to);
}

static void try_to_choose_a_signal(void)
{
        fcntl(pair[0], F_SETSIG, SIGKILL);
}

static void try_signals_of_a_socket(void)
{
        fcntl(pair[0], F_SETFL, O_ASYNC);
}

static const struct attempt {
        const char *call; /* as the line must name it */
        void (*run)(void);
} attempts[] = {
        { "execve", try_execve },
        { "ptrace", try_ptrace },
        { "mount", try_mount },
        { "socket", try_packet },
        { "socket", try_tcp },
        { "socket", try_netlink },
        { "connect", try_connect },
        { "bind", try_bind },
        { "socketpair", try_pair_of_others },
        { "clone", try_fork },
        { "unshare", try_unshare },
        { "setns", try_setns },
        { "chroot", try_chroot },
        { "kill", try_kill },
        { "rt_sigaction", try_new_handler },
        { "mmap", try_code },
        { "mprotect", try_turn_to_code },
        { "process_vm_readv", try_memory_of_others },
        { "memfd_create", try_memfd },
        { "bpf", try_bpf },
        { "io_uring_setup", try_uring },
        { "setuid", try_setuid },
        { "shutdown", try_to_stop_listening },
        { "shutdown", try_to_stop_reading },
        { "sendto", try_fast_open },
        { "sendmsg", try_fast_open_by_message },
        { "sendmmsg", try_fast_open_by_messages },
        { "setsockopt", try_later_fast_open },
        { "setsockopt", try_another_protocol },
        { "sendto", try_address },
        { "socketpair", try_pair_of_datagrams },
        { "fcntl", try_to_own_for_another },
        { "fcntl", try_to_own_for_a_thread },
        { "fcntl", try_to_choose_a_signal },
        { "fcntl", try_signals_of_a_socket },
};

/* Runs `child` in a process whose stderr is read; its exit status, or -1 for a signal. */
static int run_child(void (*child)(const void *arg), const void *arg, char *text, size_t size)
{
        int fds[2], status;
        size_t len = 0;
        ssize_t n;
        pid_t pid;

        assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                dup2(fds[1], STDERR_FILENO);
                if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                        _exit(NO_WALL);
                child(arg);
                _exit(WENT_ON);
        }
        close(fds[1]);
        while (len + 1 < size && (n = read(fds[0], text + len, size - 1 - len)) > 0)
                len += (size_t)n;
        text[len] = '\0';
        close(fds[0]);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void put_filter_on(void)
{
        struct cay_error err = { 0 };

        if (cay_front_filter(&err) < 0) {
                fprintf(stderr, "%s\n", err.msg);
                _exit(NO_WALL);
        }
}

static int open_listener(struct sockaddr_in *at)
{
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        socklen_t len = sizeof(*at);

        *at = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        if (fd < 0 || bind(fd, (struct sockaddr *)at, len) < 0 || listen(fd, 8) < 0 ||
            getsockname(fd, (struct sockaddr *)at, &len) < 0)
                _exit(NO_WALL);
        return fd;
}

/* As a front has them: a listener, a connection; and a stranger, who listens. */
static void open_sockets(void)
{
        struct sockaddr_in at;

        listener = open_listener(&at);
        target = open_listener(&target_at);
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
                _exit(NO_WALL);
}

static void attempt(const void *arg)
{
        const struct attempt *a = arg;

        open_sockets();
        put_filter_on();
        a->run();
}

/* Each way to the stranger works where nothing forbids it: the rows above refuse something. */
static void reach_the_stranger(const void *arg)
{
        const struct attempt *a = arg;
        struct pollfd heard;

        open_sockets();
        shutdown(listener, SHUT_RDWR);
        a->run();
        heard = (struct pollfd){ .fd = target, .events = POLLIN };
        if (poll(&heard, 1, 10000) == 1 && accept(target, NULL, NULL) >= 0)
                _exit(REACHED);
        fprintf(stderr, "errno %d\n", errno);
}

/*
 * Landlock's rule for connections does not know these ways on every kernel: without the filter nothing would
 * hold them.
 */
static void the_ways_without_connect_are_real(void **state)
{
        static const struct attempt ways[] = {
                { "sendto", try_fast_open },
                { "sendmsg", try_fast_open_by_message },
                { "sendmmsg", try_fast_open_by_messages },
        };
        int setting = open("/proc/sys/net/ipv4/tcp_fastopen", O_RDONLY | O_CLOEXEC);
        char value = '0', text[512];

        (void)state;
        if (setting < 0 || read(setting, &value, 1) != 1 || !((value - '0') & 1))
                skip(); /* this machine has switched it off */
        close(setting);
        for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
                int status = run_child(reach_the_stranger, &ways[i], text, sizeof(text));

                if (status != REACHED)
                        fail_msg("%s: status %d, said: %s", ways[i].call, status, text);
        }
}

/* What a front does with sockets and descriptors all day. */
static void live_with_sockets(const void *arg)
{
        struct iovec iov = { (char *)"x", 1 };
        struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
        int one = 1, fds[2], copy;
        char byte;

        (void)arg;
        open_sockets();
        put_filter_on();
        copy = fcntl(pair[0], F_DUPFD_CLOEXEC, 3);
        if (copy < 0 || fcntl(copy, F_SETFL, fcntl(copy, F_GETFL) | O_NONBLOCK) < 0 ||
            fcntl(copy, F_SETFD, FD_CLOEXEC) < 0 || send(copy, "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT) != 1 ||
            sendmsg(copy, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) != 1 || recv(pair[1], &byte, 1, 0) != 1 ||
            shutdown(copy, SHUT_WR) < 0)
                _exit(1);
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0 ||
            socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0 ||
            setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) < 0 ||
            shutdown(listener, SHUT_WR) < 0)
                _exit(2);
        if (getsockopt(listener, SOL_SOCKET, SO_ACCEPTCONN, &one, &(socklen_t){ sizeof(one) }) < 0 ||
            one != 1)
                _exit(5); /* it does not listen any more: there is a way again */
        _exit(0);
}

static void ordinary_use_of_sockets_is_allowed(void **state)
{
        char text[512];
        int status = run_child(live_with_sockets, NULL, text, sizeof(text));

        (void)state;
        if (status != 0)
                fail_msg("status %d: %s", status, text);
}

static void denied_calls_end_the_front(void **state)
{
        (void)state;
        if (CAY_IS_SANITIZED)
                skip();
        for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++) {
                char text[512], wanted[64];
                int status = run_child(attempt, &attempts[i], text, sizeof(text));

                snprintf(wanted, sizeof(wanted), "call=%s\n", attempts[i].call);
                if (status != CAY_HAND_DENIED || !strstr(text, wanted))
                        fail_msg("%s (row %zu): status %d, said: %s", attempts[i].call, i, status, text);
        }
}

static void *be_bad(void *go)
{
        char byte;

        if (read(*(int *)go, &byte, 1) == 1)
                try_tcp();
        return NULL;
}

static void *be_good(void *arg)
{
        *(int *)arg = 1;
        return NULL;
}

/* Threads that ran before are held too; new ones can be had, and memory. */
static void live_with_threads(const void *arg)
{
        int go[2], was_there = 0;
        pthread_t bad, good;

        (void)arg;
        if (pipe2(go, O_CLOEXEC) < 0 || pthread_create(&bad, NULL, be_bad, &go[0]) != 0)
                _exit(NO_WALL);
        put_filter_on();
        if (pthread_create(&good, NULL, be_good, &was_there) != 0 || pthread_join(good, NULL) != 0 ||
            !was_there)
                _exit(NO_WALL);
        free(malloc(1 << 24));
        if (write(go[1], "x", 1) != 1)
                _exit(NO_WALL);
        pthread_join(bad, NULL);
}

static void the_filter_holds_for_every_thread(void **state)
{
        char text[512];

        (void)state;
        if (CAY_IS_SANITIZED)
                skip();
        assert_int_equal(run_child(live_with_threads, NULL, text, sizeof(text)), CAY_HAND_DENIED);
        assert_non_null(strstr(text, "call=socket\n"));
}

/* Landlock */

#define CHECK(is)                                                                                            \
        do {                                                                                                 \
                if (!(is)) {                                                                                 \
                        fprintf(stderr, "%s: errno %d\n", #is, errno);                                       \
                        _exit(1);                                                                            \
                }                                                                                            \
        } while (0)

static long abi(void)
{
        return syscall(444, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
}

static int connects(void)
{
        struct sockaddr_in at = { .sin_family = AF_INET,
                                  .sin_port = htons(9),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        return connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0 || errno != EACCES;
}

/* arg: the folder, with "state" and "registry" in it, and a file "other". */
static void live_below(const void *arg)
{
        const char *folder = arg;
        struct cay_error err = { 0 };
        int at = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC), state, registry;

        state = openat(at, "state", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        registry = openat(at, "registry", O_PATH | O_DIRECTORY | O_CLOEXEC);
        CHECK(state >= 0 && registry >= 0);
        CHECK(cay_front_landlock(state, registry, &err) == 0);
        CHECK(openat(state, "made", O_RDWR | O_CREAT | O_CLOEXEC, 0600) >= 0);
        CHECK(renameat(state, "made", state, "moved") == 0);
        CHECK(mkdirat(state, "folder", 0700) == 0 && unlinkat(state, "folder", AT_REMOVEDIR) == 0);
        CHECK(openat(state, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) >= 0);
        CHECK(unlinkat(state, "moved", 0) == 0);
        CHECK(openat(registry, "text", O_RDONLY | O_CLOEXEC) >= 0);
        CHECK(openat(registry, "text", O_RDWR | O_CLOEXEC) < 0 && errno == EACCES);
        CHECK(openat(at, "other", O_RDONLY | O_CLOEXEC) < 0 && errno == EACCES);
        CHECK(openat(at, "new", O_WRONLY | O_CREAT | O_CLOEXEC, 0600) < 0 && errno == EACCES);
        CHECK(unlinkat(at, "other", 0) < 0 && errno == EACCES);
        CHECK(open("/etc/passwd", O_RDONLY | O_CLOEXEC) < 0 && errno == EACCES);
        CHECK(open("/proc/self/status", O_RDONLY | O_CLOEXEC) < 0 && errno == EACCES);
        CHECK(symlinkat("/etc", state, "link") < 0 && errno == EACCES);
        CHECK(abi() < 4 || !connects());
        CHECK(abi() < 6 || (kill(getppid(), 0) < 0 && errno == EPERM));
        _exit(0);
}

static void make_place(char folder[64])
{
        char path[128];
        static const char *const files[] = { "registry/text", "other" };

        snprintf(folder, 64, "/tmp/cay-confine-XXXXXX");
        assert_non_null(mkdtemp(folder));
        snprintf(path, sizeof(path), "%s/state", folder);
        assert_int_equal(mkdir(path, 0700), 0);
        snprintf(path, sizeof(path), "%s/registry", folder);
        assert_int_equal(mkdir(path, 0700), 0);
        for (size_t i = 0; i < 2; i++) {
                snprintf(path, sizeof(path), "%s/%s", folder, files[i]);
                close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        }
}

static void remove_place(const char *folder)
{
        static const char *const names[] = { "registry/text", "registry", "state", "other", "." };
        char path[128];

        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
                snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
                (void)!remove(i == 4 ? folder : path);
        }
}

static void only_the_state_folder_is_in_reach(void **state)
{
        char folder[64], text[512];
        int status;

        (void)state;
        if (abi() < 1)
                skip();
        make_place(folder);
        status = run_child(live_below, folder, text, sizeof(text));
        remove_place(folder);
        if (status != 0)
                fail_msg("status %d: %s", status, text);
}

#ifdef CAY_TEST_HOOKS
static void live_without(const void *arg)
{
        struct cay_error err = { 0 };

        (void)arg;
        setenv("CAY_TEST_NO", "landlock", 1);
        CHECK(cay_front_landlock(STDIN_FILENO, -1, &err) == 0);
        CHECK(open("/etc/passwd", O_RDONLY | O_CLOEXEC) >= 0);
        _exit(0);
}

static void a_kernel_without_landlock_is_told(void **state)
{
        char text[512];

        (void)state;
        assert_int_equal(run_child(live_without, NULL, text, sizeof(text)), 0);
        assert_non_null(strstr(text, "has no landlock"));
}
#endif

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(denied_calls_end_the_front),
                cmocka_unit_test(the_ways_without_connect_are_real),
                cmocka_unit_test(ordinary_use_of_sockets_is_allowed),
                cmocka_unit_test(the_filter_holds_for_every_thread),
                cmocka_unit_test(only_the_state_folder_is_in_reach),
#ifdef CAY_TEST_HOOKS
                cmocka_unit_test(a_kernel_without_landlock_is_told),
#endif
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
