/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands in for cay-init in tests of the warden: pid 1 of a box that takes its config and then does what the
 * test asks over the link, one line at a time, answering with text that ends in NUL. Static, so that it runs
 * in any image.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "links/helper/init_config.h"

static struct cay_init_config config;
static int given[CAY_INIT_FD_COUNT];
static int link_fd = -1;
static char out[65536];
static size_t out_len;

__attribute__((format(printf, 1, 2))) static void say(const char *fmt, ...)
{
        va_list args;
        int n;

        va_start(args, fmt);
        n = vsnprintf(out + out_len, sizeof(out) - out_len, fmt, args);
        va_end(args);
        if (n > 0 && (size_t)n < sizeof(out) - out_len)
                out_len += (size_t)n;
}

static void answer(void)
{
        out[out_len++] = 0;
        for (size_t at = 0; at < out_len;) {
                ssize_t n = send(link_fd, out + at, out_len - at, MSG_NOSIGNAL);

                if (n <= 0)
                        break;
                at += (size_t)n;
        }
        out_len = 0;
}

/* One message of the control socket; false at its end. */
static int take_control(void *bytes, size_t size, int *fds, unsigned *ret_count)
{
        union {
                struct cmsghdr head;
                char room[CMSG_SPACE(32 * sizeof(int))];
        } control;
        struct iovec iov = { bytes, size };
        struct msghdr msg = {
                .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
        };
        ssize_t n = recvmsg(CAY_INIT_CONTROL_FD, &msg, MSG_CMSG_CLOEXEC);
        struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

        *ret_count = 0;
        if (n <= 0)
                return 0;
        if (c && c->cmsg_type == SCM_RIGHTS) {
                *ret_count = (unsigned)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
                memcpy(fds, CMSG_DATA(c), *ret_count * sizeof(int));
        }
        return (size_t)n == size;
}

static void cmd_stat(const char *path)
{
        struct stat st;
        char target[256];
        ssize_t n;

        if (lstat(path, &st) < 0) {
                say("%s", strerror(errno));
                return;
        }
        say("%s %o %u %u",
            S_ISDIR(st.st_mode)    ? "dir"
            : S_ISREG(st.st_mode)  ? "file"
            : S_ISLNK(st.st_mode)  ? "link"
            : S_ISCHR(st.st_mode)  ? "device"
            : S_ISFIFO(st.st_mode) ? "fifo"
                                   : "other",
            st.st_mode & 07777, st.st_uid, st.st_gid);
        if (S_ISLNK(st.st_mode) && (n = readlink(path, target, sizeof(target) - 1)) > 0)
                say(" -> %.*s", (int)n, target);
}

static void cmd_read(const char *path)
{
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        ssize_t n = fd < 0 ? -1 : read(fd, out, sizeof(out) - 1);

        if (n < 0)
                say("error: %s", strerror(errno));
        else
                out_len = (size_t)n;
        if (fd >= 0)
                close(fd);
}

/* As the commands' user: "write PATH TEXT". */
static void cmd_write(char *path)
{
        char *text = strchr(path, ' ');
        int status = 0;
        pid_t pid;

        if (!text)
                return;
        *text++ = 0;
        pid = fork();
        if (pid == 0) {
                int fd;

                if (setgid(config.gid) < 0 || setuid(config.uid) < 0)
                        _exit(200);
                fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_TRUNC, 0644);
                if (fd < 0)
                        _exit(errno);
                _exit(write(fd, text, strlen(text)) < 0 ? errno : 0);
        }
        waitpid(pid, &status, 0);
        say("%s", WEXITSTATUS(status) == 0 ? "ok" : strerror(WEXITSTATUS(status)));
}

static void cmd_list(const char *path)
{
        DIR *d = opendir(path);
        struct dirent *e;

        while (d && (e = readdir(d)))
                if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
                        say("%s\n", e->d_name);
        if (d)
                closedir(d);
        else
                say("error: %s", strerror(errno));
}

/* By a child: it has what we have, and the list of process 1 is covered. */
static void cmd_fds(void)
{
        enum { SIZE = 16384 };
        char *text = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        pid_t pid = text == MAP_FAILED ? -1 : fork();
        size_t len = 0;

        if (pid == 0) {
                for (int fd = 0; fd < 64; fd++) {
                        char path[32], target[128];
                        ssize_t n;

                        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
                        n = readlink(path, target, sizeof(target) - 1);
                        if (n > 0)
                                len += (size_t)snprintf(text + len, SIZE - len, "%d %.*s\n", fd, (int)n,
                                                        target);
                }
                _exit(0);
        }
        if (pid > 0 && waitpid(pid, NULL, 0) == pid)
                say("%s", text);
        if (text != MAP_FAILED)
                munmap(text, SIZE);
}

static void cmd_config(void)
{
        say("magic %x size %u flags %u fds %x uid %u gid %u cpus %u memory %llu swap %llu boot %llu secret ",
            config.magic, config.size, config.flags, config.fds, config.uid, config.gid, config.cpus,
            (unsigned long long)config.memory_bytes, (unsigned long long)config.swap_bytes,
            (unsigned long long)config.boot_wall_s);
        for (unsigned i = 0; i < sizeof(config.secret); i++)
                say("%02x", config.secret[i]);
}

/* A process in all of the box's nodes, as a command would be. */
static void cmd_spawn(void)
{
        int ready[2];
        pid_t pid;
        char ok = 0;

        if (pipe(ready) < 0)
                return;
        pid = fork();
        if (pid == 0) {
                ok = 'y';
                for (unsigned i = CAY_INIT_FD_JOIN0; i < CAY_INIT_FD_COUNT; i++)
                        if (given[i] >= 0 && write(given[i], "0", 1) != 1)
                                ok = 'n';
                if (write(ready[1], &ok, 1) == 1)
                        for (;;)
                                pause();
                _exit(1);
        }
        if (pid > 0 && read(ready[0], &ok, 1) == 1 && ok == 'y')
                say("%d", (int)pid);
        else
                say("error");
        close(ready[0]);
        close(ready[1]);
}

/* A child node of the delegated cgroup2 node, with a process in it. */
static void cmd_nodes(void)
{
        int dir = given[CAY_INIT_FD_CGROUP2], procs;
        pid_t pid;

        if (dir < 0 || mkdirat(dir, "x1", 0755) < 0 || mkdirat(dir, "x2", 0755) < 0) {
                say("error: %s", strerror(errno));
                return;
        }
        procs = openat(dir, "x1/cgroup.procs", O_WRONLY | O_CLOEXEC);
        pid = fork();
        if (pid == 0) {
                if (write(procs, "0", 1) != 1)
                        _exit(1);
                for (;;)
                        pause();
        }
        close(procs);
        say("ok");
}

/* "connect ADDRESS PORT": over TCP; the socket stays open, whoever accepts it. */
static void cmd_connect(char *address)
{
        struct sockaddr_in v4 = { .sin_family = AF_INET };
        struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
        char *port = strchr(address, ' ');
        int is_v6 = strchr(address, ':') != NULL, fd, r;

        *port++ = 0;
        v4.sin_port = v6.sin6_port = htons((uint16_t)atoi(port));
        inet_pton(is_v6 ? AF_INET6 : AF_INET, address, is_v6 ? (void *)&v6.sin6_addr : (void *)&v4.sin_addr);
        fd = socket(is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        r = connect(fd, is_v6 ? (struct sockaddr *)&v6 : (struct sockaddr *)&v4,
                    is_v6 ? sizeof(v6) : sizeof(v4));
        say("%s", r == 0 ? "begun" : errno == ECONNREFUSED ? "refused" : strerror(errno));
}

static void obey(char *line)
{
        char *arg = strchr(line, ' ');

        if (arg)
                *arg++ = 0;
        if (!strcmp(line, "stat") && arg)
                cmd_stat(arg);
        else if (!strcmp(line, "read") && arg)
                cmd_read(arg);
        else if (!strcmp(line, "write") && arg)
                cmd_write(arg);
        else if (!strcmp(line, "list") && arg)
                cmd_list(arg);
        else if (!strcmp(line, "fds"))
                cmd_fds();
        else if (!strcmp(line, "config"))
                cmd_config();
        else if (!strcmp(line, "spawn"))
                cmd_spawn();
        else if (!strcmp(line, "nodes"))
                cmd_nodes();
        else if (!strcmp(line, "connect") && arg)
                cmd_connect(arg);
        else if (!strcmp(line, "exit"))
                _exit(arg ? atoi(arg) : 0);
        else if (!strcmp(line, "ping"))
                say("pong");
        else
                say("unknown: %s", line);
        answer();
}

/* The new stream takes the place of the old one. */
static void relink(void)
{
        struct cay_init_relink msg;
        int fds[32];
        unsigned count;

        if (!take_control(&msg, sizeof(msg), fds, &count) || msg.magic != CAY_INIT_MAGIC || count != 1)
                _exit(3); /* the warden is gone, or what it says makes no sense */
        if (link_fd >= 0)
                close(link_fd);
        link_fd = fds[0];
}

int main(void)
{
        static char line[4096];
        size_t len = 0;
        int fds[32];
        unsigned count, next = 0;

        if (!take_control(&config, sizeof(config), fds, &count) || config.magic != CAY_INIT_MAGIC)
                return 2;
        for (unsigned i = 0; i < CAY_INIT_FD_COUNT; i++)
                given[i] = config.fds & 1u << i && next < count ? fds[next++] : -1;
        link_fd = given[CAY_INIT_FD_LINK];
        for (;;) {
                struct pollfd p[] = { { .fd = CAY_INIT_CONTROL_FD, .events = POLLIN },
                                      { .fd = link_fd, .events = POLLIN } };
                char *end;
                ssize_t n;

                if (poll(p, 2, -1) < 0)
                        continue;
                if (p[0].revents) {
                        relink();
                        len = 0;
                        continue;
                }
                n = read(link_fd, line + len, sizeof(line) - 1 - len);
                if (n <= 0) { /* the other end let go: wait for another */
                        close(link_fd);
                        link_fd = -1;
                        continue;
                }
                len += (size_t)n;
                while ((end = memchr(line, '\n', len))) {
                        *end = 0;
                        obey(line);
                        len -= (size_t)(end + 1 - line);
                        memmove(line, end + 1, len);
                }
        }
}
