/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both ends of the connections that bench_net.py measures, in C, so that what is between them is what is
 * measured.
 *
 *   net_peer serve PORT                     answers until it is killed; prints a line when it listens
 *   net_peer connects HOST PORT COUNT       seconds of a connection with a byte each way
 *   net_peer fetch HOST PORT BYTES          seconds for that many bytes, the connect included
 *   net_peer hold HOST PORT COUNT           that many connections, each with a byte each way; prints a line,
 *                                           then waits for the end of its input
 *   net_peer run COUNT PROGRAM ARGUMENT…    seconds of one start of that program, the median
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BLOCK (256u * 1024)

extern char **environ;

struct order {          /* what a client sends first */
        uint64_t bytes; /* to be sent; 0: one, and then nothing more is done with it */
        uint64_t stays; /* the connection is left open */
};

static void fail(const char *what)
{
        fprintf(stderr, "net_peer: %s: %s\n", what, strerror(errno));
        exit(1);
}

static double now(void)
{
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void read_all(int fd, void *bytes, size_t len)
{
        for (size_t at = 0; at < len;) {
                ssize_t n = recv(fd, (char *)bytes + at, len - at, 0);

                if (n <= 0)
                        fail("receive");
                at += (size_t)n;
        }
}

static void send_all(int fd, const char *bytes, uint64_t len)
{
        while (len > 0) {
                ssize_t n = send(fd, bytes, len < BLOCK ? len : BLOCK, MSG_NOSIGNAL);

                if (n < 0)
                        return; /* its client has gone */
                len -= (uint64_t)n;
        }
}

static void serve(const char *port)
{
        static char block[BLOCK];
        struct sockaddr_in6 at = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)atoi(port)) };
        int fd = socket(AF_INET6, SOCK_STREAM, 0), one = 1;

        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
        if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(fd, 4096) < 0)
                fail("listen");
        puts("listening");
        fflush(stdout);
        for (;;) {
                struct order o;
                int c = accept(fd, NULL, NULL);

                if (c < 0)
                        fail("accept");
                setsockopt(c, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
                if (recv(c, &o, sizeof(o), MSG_WAITALL) == sizeof(o)) {
                        send_all(c, block, o.bytes > 0 ? o.bytes : 1);
                        if (o.stays)
                                continue;
                }
                close(c);
        }
}

static int dial(char **to, struct order o)
{
        struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(to[1])) };
        int fd = socket(AF_INET, SOCK_STREAM, 0);

        inet_pton(AF_INET, to[0], &at.sin_addr);
        if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0 ||
            send(fd, &o, sizeof(o), 0) != sizeof(o))
                fail("connect");
        return fd;
}

static void connects(char **to, int count)
{
        double began = now();
        char byte;

        for (int i = 0; i < count; i++) {
                int fd = dial(to, (struct order){ 0 });

                read_all(fd, &byte, 1);
                close(fd);
        }
        printf("%.9f\n", (now() - began) / count);
}

static void fetch(char **to, uint64_t left)
{
        static char room[BLOCK];
        double began = now();
        int fd = dial(to, (struct order){ left, 0 });

        while (left > 0) {
                ssize_t n = recv(fd, room, sizeof(room), 0);

                if (n <= 0)
                        fail("receive");
                left -= (uint64_t)n;
        }
        printf("%.9f\n", now() - began);
}

static void hold(char **to, int count)
{
        const struct rlimit most = { 65536, 65536 };
        char byte;

        setrlimit(RLIMIT_NOFILE, &most);
        for (int i = 0; i < count; i++)
                read_all(dial(to, (struct order){ 0, 1 }), &byte, 1);
        puts("held");
        fflush(stdout);
        while (read(STDIN_FILENO, &byte, 1) > 0)
                ;
}

static int by_size(const void *a, const void *b)
{
        double x = *(const double *)a, y = *(const double *)b;

        return (x > y) - (x < y);
}

static void run(int count, char **argv)
{
        double *times = calloc((size_t)count, sizeof(*times));

        for (int i = 0; i < count; i++) {
                double began = now();
                int status;
                pid_t pid;

                if (posix_spawn(&pid, argv[0], NULL, NULL, argv, environ) != 0 ||
                    waitpid(pid, &status, 0) != pid || status != 0)
                        fail(argv[0]);
                times[i] = now() - began;
        }
        qsort(times, (size_t)count, sizeof(*times), by_size);
        printf("%.9f\n", times[count / 2]);
        free(times);
}

int main(int argc, char **argv)
{
        const char *verb = argc > 2 ? argv[1] : "";

        signal(SIGPIPE, SIG_IGN);
        if (strcmp(verb, "serve") == 0)
                serve(argv[2]);
        else if (strcmp(verb, "connects") == 0 && argc == 5)
                connects(argv + 2, atoi(argv[4]));
        else if (strcmp(verb, "fetch") == 0 && argc == 5)
                fetch(argv + 2, strtoull(argv[4], NULL, 10));
        else if (strcmp(verb, "hold") == 0 && argc == 5)
                hold(argv + 2, atoi(argv[4]));
        else if (strcmp(verb, "run") == 0 && argc > 3)
                run(atoi(argv[2]), argv + 3);
        else
                return 2;
        return 0;
}
