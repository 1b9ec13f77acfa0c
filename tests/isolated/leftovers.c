/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots of the machine as sorted lines of text, one per thing; comparing them is comparing two lists. */
#include "isolated/leftovers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/loop.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "isolated/room.h"
#include "patience.h"

#define LINES_MAX 16384u
#define LINE_MAX_BYTES 1024u
#define CGROUP_DEPTH_MAX 12u

struct cay_leftovers {
        char **lines; /* owned, sorted */
        size_t count;
};

/*
 * What is not counted as left behind. A line that begins with `line` (up to its end, or to a '*') is passed
 * over.
 */
static const struct {
        const char *line;
        const char *why;
} ignored[] = {
        { "record: /run/cay", "the run folder itself: made once, as root of the records, and kept" },
        { "record: /run/cay/lock", "the lock by which wardens take turns at the records" },
        { "record: /run/cay/image*", "pre-formatted images of the writable layer, kept for the next box" },
        { "record: /run/cay/front-*",
          "the lock of a front's id, whose keeper was killed: the next that stops removes it" },
        { "mount: proc /proc/sys/fs/binfmt_misc*", "automounted by whoever looks first, not by us" },
        { "mount: tmpfs /run/user/*", "comes and goes with people's sessions" },
        { "mount: tmpfs /run/credentials/*", "comes and goes with services of systemd's" },
};

static bool is_ignored(const char *line)
{
        for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++) {
                size_t len = strlen(ignored[i].line);

                if (ignored[i].line[len - 1] == '*' ? strncmp(line, ignored[i].line, len - 1) == 0
                                                    : strcmp(line, ignored[i].line) == 0)
                        return true;
        }
        return false;
}

static _Noreturn void give_up(const char *what)
{
        perror(what);
        abort();
}

__attribute__((format(printf, 2, 3))) static void add(struct cay_leftovers *l, const char *fmt, ...)
{
        char line[LINE_MAX_BYTES];
        va_list args;

        va_start(args, fmt);
        vsnprintf(line, sizeof(line), fmt, args);
        va_end(args);
        if (is_ignored(line))
                return;
        if (l->count == LINES_MAX)
                give_up("leftovers: too many lines");
        l->lines[l->count] = strdup(line);
        if (!l->lines[l->count++])
                give_up("leftovers");
}

/* Reads a small file into buf, without the last newline. False when it is not there (any more). */
static bool slurp(const char *path, char *buf, size_t size)
{
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t n;

        if (fd < 0)
                return false;
        n = read(fd, buf, size - 1);
        close(fd);
        if (n < 0)
                return false;
        buf[n] = '\0';
        if (n > 0 && buf[n - 1] == '\n')
                buf[n - 1] = '\0';
        return true;
}

static bool is_number(const char *s)
{
        return *s && strspn(s, "0123456789") == strlen(s);
}

/* The first process of an isolated test (run_isolated.c): everything that it sees is the test's. */
static bool is_runner(void)
{
        return getpid() == 1;
}

/* Ours: by name, by program, or by a cgroup of ours, since a command in a box may have any name. */
static bool is_ours(const char *pid, char *ret_comm, size_t size)
{
        char path[64], exe[PATH_MAX], cgroups[4096];
        const char *base;
        ssize_t n;

        snprintf(path, sizeof(path), "/proc/%.16s/comm", pid);
        if (!slurp(path, ret_comm, size))
                return false;
        if (is_runner() || strcmp(ret_comm, "cay") == 0 || strncmp(ret_comm, "cay-", 4) == 0)
                return true;
        snprintf(path, sizeof(path), "/proc/%.16s/exe", pid);
        n = readlink(path, exe, sizeof(exe) - 1);
        exe[n > 0 ? n : 0] = '\0';
        base = strrchr(exe, '/');
        if (base && (strncmp(base, "/cay-init", 9) == 0 || strncmp(base, "/cay-warden", 11) == 0))
                return true;
        snprintf(path, sizeof(path), "/proc/%.16s/cgroup", pid);
        return slurp(path, cgroups, sizeof(cgroups)) && strstr(cgroups, "/cay-");
}

/*
 * Ended, and only waiting for the machine's process 1 to take note: it holds nothing, and when is not ours to
 * say.
 */
static bool is_orphaned_zombie(const char *pid)
{
        char path[64], text[512];
        const char *end;
        int parent;
        char state;

        snprintf(path, sizeof(path), "/proc/%.16s/stat", pid);
        if (!slurp(path, text, sizeof(text)))
                return true; /* gone meanwhile */
        end = strrchr(text, ')');
        return end && sscanf(end + 1, " %c %d", &state, &parent) == 2 && state == 'Z' && parent == 1;
}

static void take_processes(struct cay_leftovers *l)
{
        DIR *proc = opendir("/proc");
        struct dirent *e;
        char comm[64];

        if (!proc)
                give_up("/proc");
        while ((e = readdir(proc)))
                if (is_number(e->d_name) && strtol(e->d_name, NULL, 10) != getpid() &&
                    is_ours(e->d_name, comm, sizeof(comm)) && !is_orphaned_zombie(e->d_name))
                        add(l, "process: %s %s", e->d_name, comm);
        closedir(proc);
}

/*
 * Every hierarchy that is mounted, to the bottom: a leaf may have been forgotten below a group that is not
 * ours.
 */
static void take_cgroups_below(struct cay_leftovers *l, const char *dir, bool inside, unsigned depth)
{
        char path[PATH_MAX];
        struct dirent *e;
        DIR *d = opendir(dir);

        if (!d)
                return;
        while ((e = readdir(d))) {
                bool ours = inside || strncmp(e->d_name, "cay", 3) == 0;

                if (e->d_type != DT_DIR || e->d_name[0] == '.')
                        continue;
                if (snprintf(path, sizeof(path), "%s/%s", dir, e->d_name) >= (int)sizeof(path))
                        continue;
                if (ours)
                        add(l, "cgroup: %s", path);
                if (depth < CGROUP_DEPTH_MAX)
                        take_cgroups_below(l, path, ours, depth + 1);
        }
        closedir(d);
}

/* Mounts of this namespace, and the hierarchies among them. */
static void take_mounts(struct cay_leftovers *l)
{
        char line[LINE_MAX_BYTES], source[256], where[256], type[64];
        FILE *f = fopen("/proc/self/mounts", "re");

        if (!f)
                give_up("/proc/self/mounts");
        while (fgets(line, sizeof(line), f)) {
                if (sscanf(line, "%255s %255s %63s", source, where, type) != 3)
                        continue;
                add(l, "mount: %s %s %s", source, where, type);
                if (strcmp(type, "cgroup") == 0 || strcmp(type, "cgroup2") == 0)
                        take_cgroups_below(l, where, false, 0);
        }
        fclose(f);
}

/* Names in a folder that begin with `prefix`. */
static void take_names(struct cay_leftovers *l, const char *kind, const char *dir, const char *prefix)
{
        DIR *d = opendir(dir);
        struct dirent *e;

        if (!d)
                return;
        while ((e = readdir(d)))
                if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..") &&
                    strncmp(e->d_name, prefix, strlen(prefix)) == 0)
                        add(l, "%s: %s/%s", kind, dir, e->d_name);
        closedir(d);
}

static void take_records(struct cay_leftovers *l, const char *dir, unsigned depth)
{
        char path[PATH_MAX];
        struct dirent *e;
        DIR *d = opendir(dir);

        if (!d)
                return;
        while ((e = readdir(d))) {
                if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
                        continue;
                if (snprintf(path, sizeof(path), "%s/%s", dir, e->d_name) >= (int)sizeof(path))
                        continue;
                add(l, "record: %s", path);
                if (e->d_type == DT_DIR && depth < 4)
                        take_records(l, path, depth + 1);
        }
        closedir(d);
}

/*
 * Loop devices are the machine's. Those of an isolated test have their file on the test's disk, and only
 * those are looked at then.
 */
static bool is_on_test_disk(const char *loop)
{
        const char *disk = getenv(ROOM_DISK);
        char path[PATH_MAX], number[32];
        struct loop_info64 info;
        int fd, r;

        if (!disk)
                return true;
        snprintf(path, sizeof(path), "/dev/%.32s", loop);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        r = fd < 0 ? -1 : ioctl(fd, LOOP_GET_STATUS64, &info);
        if (fd >= 0)
                close(fd);
        snprintf(number, sizeof(number), "%u:%u", r < 0 ? 0 : major(info.lo_device),
                 r < 0 ? 0 : minor(info.lo_device));
        return strcmp(number, disk) == 0;
}

static void take_loops(struct cay_leftovers *l)
{
        char path[PATH_MAX], backing[PATH_MAX];
        DIR *d = opendir("/sys/block");
        struct dirent *e;

        if (!d)
                return;
        while ((e = readdir(d))) {
                if (strncmp(e->d_name, "loop", 4) != 0)
                        continue;
                snprintf(path, sizeof(path), "/sys/block/%.32s/loop/backing_file", e->d_name);
                if (slurp(path, backing, sizeof(backing)) && is_on_test_disk(e->d_name))
                        add(l, "loop: %s of %s", e->d_name, backing);
        }
        closedir(d);
}

static int by_text(const void *a, const void *b)
{
        return strcmp(*(char *const *)a, *(char *const *)b);
}

struct cay_leftovers *cay_leftovers_take(void)
{
        struct cay_leftovers *l = calloc(1, sizeof(*l));

        if (!l)
                give_up("leftovers");
        l->lines = calloc(LINES_MAX, sizeof(*l->lines));
        if (!l->lines)
                give_up("leftovers");
        take_processes(l);
        take_mounts(l);
        take_loops(l);
        take_names(l, "netns", "/run/netns", "");
        take_records(l, "/run/cay", 0);
        take_names(l, "temporary", "/tmp", is_runner() ? "" : "cay");
        take_names(l, "temporary", "/var/tmp", is_runner() ? "" : "cay");
        take_names(l, "temporary", "/dev/shm", is_runner() ? "" : "cay");
        take_names(l, "temporary", "/var/lib/cay-process", "");
        qsort(l->lines, l->count, sizeof(*l->lines), by_text);
        return l;
}

void cay_leftovers_free(struct cay_leftovers *l)
{
        if (!l)
                return;
        for (size_t i = 0; i < l->count; i++)
                free(l->lines[i]);
        free(l->lines);
        free(l);
}

/*
 * Somebody outside has removed the folder that it was on: the kernel then takes the mount out of every
 * namespace.
 */
static bool is_mount_without_folder(const char *line)
{
        char where[256];

        return sscanf(line, "mount: %*s %255s", where) == 1 && access(where, F_OK) < 0 && errno == ENOENT;
}

/* What is ours may have ended meanwhile; that something of the machine's own has vanished is a fault. */
static bool may_vanish(const char *line)
{
        if (is_mount_without_folder(line))
                return true;
        static const char *const kinds[] = { "process: ", "cgroup: ", "record: ", "temporary: " };

        for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
                if (strncmp(line, kinds[i], strlen(kinds[i])) == 0)
                        return true;
        return strncmp(line, "loop: ", 6) == 0 && strstr(line, " of /var/tmp/#"); /* a layer of a box */
}

static unsigned differences(const struct cay_leftovers *before, const struct cay_leftovers *after, bool tell)
{
        unsigned count = 0;
        size_t i = 0, j = 0;

        while (i < before->count || j < after->count) {
                int order = i == before->count  ? 1
                            : j == after->count ? -1
                                                : strcmp(before->lines[i], after->lines[j]);

                if (order == 0) {
                        i++;
                        j++;
                        continue;
                }
                if (order > 0) {
                        count++;
                        if (tell)
                                fprintf(stderr, "left: %s\n", after->lines[j]);
                        j++;
                } else {
                        count += !may_vanish(before->lines[i]);
                        if (tell && !may_vanish(before->lines[i]))
                                fprintf(stderr, "gone: %s\n", before->lines[i]);
                        i++;
                }
        }
        return count;
}

static unsigned elapsed_ms(const struct timespec *since)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (unsigned)((now.tv_sec - since->tv_sec) * 1000 + (now.tv_nsec - since->tv_nsec) / 1000000);
}

unsigned cay_leftovers_compare(const struct cay_leftovers *before, unsigned deadline_ms)
{
        struct timespec start, nap = { 0, 20000000 };
        unsigned count;

        deadline_ms = test_patience(deadline_ms);
        clock_gettime(CLOCK_MONOTONIC, &start);
        for (;;) {
                struct cay_leftovers *after = cay_leftovers_take();
                bool over = elapsed_ms(&start) >= deadline_ms;

                count = differences(before, after, over);
                cay_leftovers_free(after);
                if (count == 0 || over)
                        return count;
                nanosleep(&nap, NULL);
        }
}
