/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes of memory: every road by which a box could hold more than its limit (security.md 2.1). Each takes
 * the limit in MiB and tries for three times as much, in a child, so that the parent lives to tell what
 * became of it.
 */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)
#define TIMES 3

/*
 * What a hog ends with: reached its goal, was refused below one and a half times the limit, or was refused
 * later.
 */
enum { HOG_GOAL = 10, HOG_REFUSED = 11, HOG_LATE = 12, HOG_LACKS = 13 };

static int hog_ends(size_t had, size_t limit)
{
        return had > limit + limit / 2 ? HOG_LATE : HOG_REFUSED;
}

/* Where the limit is watched, more than it may be had for a moment: it must not be kept. */
static void await_watcher(void)
{
        if (probe_is_watched())
                probe_nap_ms(20000);
}

static int judge(const char *what, long limit_mib, int (*hog)(size_t limit))
{
        pid_t pid = fork();
        int status;

        if (pid == 0) {
                int end = hog((size_t)limit_mib * MIB);

                if (end == HOG_GOAL)
                        await_watcher();
                _exit(end);
        }
        if (pid < 0 || waitpid(pid, &status, 0) != pid)
                return broke("no child: %s", strerror(errno));
        if (probe_was_killed(status, SIGKILL))
                return held("%s: killed at the limit", what);
        if (!WIFEXITED(status))
                return broke("%s: status %#x", what, (unsigned)status);
        switch (WEXITSTATUS(status)) {
        case HOG_REFUSED:
                return held("%s: refused", what);
        case HOG_GOAL:
        case HOG_LATE:
                return broke("%s: more than the limit of %ld MiB", what, limit_mib);
        default:
                return lacks("%s", what);
        }
}

static void touch(volatile char *p, size_t size)
{
        for (size_t i = 0; i < size; i += 4096)
                p[i] = 1;
}

static int hog_anon(size_t limit)
{
        for (size_t had = 0; had < TIMES * limit; had += MIB) {
                char *p = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

                if (p == MAP_FAILED)
                        return hog_ends(had, limit);
                touch(p, MIB);
        }
        return HOG_GOAL;
}

static int hog_heap(size_t limit)
{
        for (size_t had = 0; had < TIMES * limit; had += MIB) {
                char *p = malloc(MIB);

                if (!p)
                        return hog_ends(had, limit);
                touch(p, MIB);
        }
        return HOG_GOAL;
}

static int hog_shared(size_t limit)
{
        size_t size = TIMES * limit;
        char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

        if (p == MAP_FAILED)
                return HOG_REFUSED;
        touch(p, size);
        return HOG_GOAL;
}

static int fill(int fd, size_t limit, size_t goal)
{
        static char block[65536];

        memset(block, 'x', sizeof(block));
        for (size_t had = 0; had < goal; had += sizeof(block))
                if (write(fd, block, sizeof(block)) != (ssize_t)sizeof(block))
                        return hog_ends(had, limit);
        return HOG_GOAL;
}

static int hog_memfd(size_t limit)
{
        int fd = memfd_create("hog", 0);

        return fd < 0 ? HOG_LACKS : fill(fd, limit, TIMES * limit);
}

static int hog_shm(size_t limit)
{
        int fd = open("/dev/shm/hog", O_CREAT | O_WRONLY, 0600);

        return fd < 0 ? HOG_LACKS : fill(fd, limit, TIMES * limit);
}

static int hog_sysv(size_t limit)
{
        size_t had = 0;

        while (had < TIMES * limit) {
                int id = shmget(IPC_PRIVATE, 4 * MIB, IPC_CREAT | 0600);
                char *p = id < 0 ? (void *)-1 : shmat(id, NULL, 0);

                if (p == (void *)-1)
                        return had ? hog_ends(had, limit) : HOG_LACKS;
                touch(p, 4 * MIB);
                had += 4 * MIB;
        }
        return HOG_GOAL;
}

/*
 * Sixteen at once: the limit is the box's, not a process's. Each keeps what it has until all have it, or are
 * killed.
 */
static int hog_processes(size_t limit)
{
        int status, killed = 0, ready[2], go[2];
        pid_t pids[16];
        char byte = 0;

        if (pipe(ready) < 0 || pipe(go) < 0)
                return HOG_LACKS;
        for (int i = 0; i < 16; i++) {
                pids[i] = fork();
                if (pids[i] == 0) {
                        char *p = mmap(NULL, TIMES * limit / 16, PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

                        close(go[1]);
                        if (p != MAP_FAILED)
                                touch(p, TIMES * limit / 16);
                        close(ready[1]);
                        _exit(read(go[0], &byte, 1) != 0);
                }
        }
        close(ready[1]);
        while (read(ready[0], &byte, 1) > 0) /* its end: nobody is on the way any more */
                ;
        await_watcher();
        close(go[1]);
        for (int i = 0; i < 16; i++) {
                if (pids[i] > 0 && waitpid(pids[i], &status, 0) == pids[i] &&
                    probe_was_killed(status, SIGKILL))
                        killed++;
        }
        return killed ? HOG_REFUSED : HOG_GOAL;
}

/* One page of reading every 2 MiB costs no memory but the page tables': 4 KiB each. */
static int hog_pagetables(size_t limit)
{
        size_t span = TIMES * limit / 4096 * 2 * MIB, step = (size_t)1 << 30, sum = 0;

        for (size_t had = 0; had < span; had += step) {
                volatile char *p =
                        mmap(NULL, step, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

                if (p == MAP_FAILED)
                        return hog_ends(had / (2 * MIB) * 4096, limit);
                madvise((void *)p, step, MADV_NOHUGEPAGE);
                for (size_t i = 0; i < step; i += 2 * MIB)
                        sum += (size_t)p[i];
        }
        return sum ? HOG_LACKS : HOG_GOAL;
}

static int hog_pipes(size_t limit)
{
        static char block[4096];
        size_t had = 0;

        while (had < TIMES * limit) {
                size_t before = had;
                int p[2];

                if (pipe2(p, O_NONBLOCK) < 0)
                        break;
                while (write(p[1], block, sizeof(block)) == (ssize_t)sizeof(block))
                        had += sizeof(block);
                if (had == before)
                        break;
        }
        return had >= TIMES * limit ? HOG_GOAL : hog_ends(had, limit);
}

static int hog_sockets(size_t limit)
{
        static char block[32768];
        size_t had = 0;

        while (had < TIMES * limit) {
                int p[2];

                if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, p) < 0)
                        break;
                while (write(p[0], block, sizeof(block)) > 0)
                        had += sizeof(block);
        }
        return had >= TIMES * limit ? HOG_GOAL : hog_ends(had, limit);
}

/* Streams over the box's own loopback. */
static int hog_streams(size_t limit)
{
        static char block[32768];
        struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        socklen_t len = sizeof(at);
        int listener = socket(AF_INET, SOCK_STREAM, 0), big = 1 << 30;
        size_t had = 0;
        ssize_t n;

        if (listener < 0 || bind(listener, (struct sockaddr *)&at, len) < 0 || listen(listener, 64) < 0 ||
            getsockname(listener, (struct sockaddr *)&at, &len) < 0)
                return HOG_LACKS;
        while (had < TIMES * limit) {
                int from = socket(AF_INET, SOCK_STREAM, 0);

                if (from < 0)
                        break;
                setsockopt(from, SOL_SOCKET, SO_SNDBUF, &big, sizeof(big));
                if (connect(from, (struct sockaddr *)&at, len) < 0 || accept(listener, NULL, NULL) < 0)
                        break;
                while ((n = send(from, block, sizeof(block), MSG_DONTWAIT)) > 0)
                        had += (size_t)n;
        }
        return had >= TIMES * limit ? HOG_GOAL : hog_ends(had, limit);
}

#define ROAD(name, what)                                                                                     \
        static int mem_##name(char **argv)                                                                   \
        {                                                                                                    \
                return judge(what, probe_number(argv, 1, 64), hog_##name);                                   \
        }

ROAD(anon, "anonymous memory")
ROAD(heap, "heap")
ROAD(shared, "shared memory")
ROAD(memfd, "memfd")
ROAD(shm, "/dev/shm")
ROAD(sysv, "System V memory")
ROAD(processes, "sixteen processes")
ROAD(pagetables, "page tables")
ROAD(pipes, "pipe buffers")
ROAD(sockets, "socket buffers")
ROAD(streams, "buffers of TCP")

/* The command itself is the hog: cay must say `memory`, not that it crashed. */
static int mem_bomb(char **argv)
{
        long limit = probe_number(argv, 1, 64);

        hog_anon((size_t)limit * MIB);
        await_watcher();
        return broke("anonymous memory: more than the limit of %ld MiB", limit);
}

const struct probe probes_memory[] = {
        { "mem_anon", mem_anon },
        { "mem_heap", mem_heap },
        { "mem_shared", mem_shared },
        { "mem_memfd", mem_memfd },
        { "mem_shm", mem_shm },
        { "mem_sysv", mem_sysv },
        { "mem_processes", mem_processes },
        { "mem_pagetables", mem_pagetables },
        { "mem_pipes", mem_pipes },
        { "mem_sockets", mem_sockets },
        { "mem_streams", mem_streams },
        { "mem_bomb", mem_bomb },
        { NULL, NULL },
};
