/* SPDX-License-Identifier: Apache-2.0 */
/* A snapshot of /proc, and descent in it. */
#include "engines/process/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "foundation/base/banned.h"
#include "foundation/base/cleanup.h"
#include "foundation/sys/fd.h"

#define PROCESSES_MAX 131072u

struct entry {
        pid_t pid, parent, session;
        char state;
        bool below;
        uint64_t cpu_ticks, rss_pages;
};

struct snapshot {
        struct entry *list; /* owned */
        unsigned count, cap;
};

/* "pid (name) state ppid pgrp session …": the name may hold anything, so fields count from the last ')'. */
static bool read_entry(int proc, const char *name, struct entry *ret)
{
        char path[32], text[1024];
        const char *at;
        unsigned long utime, stime;
        long rss;
        int parent, session;

        snprintf(path, sizeof(path), "%.20s/stat", name);
        if (sys_read_file(proc, path, text, sizeof(text)) <= 0)
                return false;
        at = strrchr(text, ')');
        if (at == NULL ||
            sscanf(at + 1,
                   " %c %d %*d %d %*d %*d %*u %*u %*u %*u %*u %lu %lu %*d %*d %*d %*d %*d %*d %*u %*u %ld",
                   &ret->state, &parent, &session, &utime, &stime, &rss) != 6)
                return false;
        ret->pid = (pid_t)strtol(name, NULL, 10);
        ret->parent = parent;
        ret->session = session;
        ret->below = false;
        ret->cpu_ticks = utime + stime;
        ret->rss_pages = rss > 0 ? (uint64_t)rss : 0;
        return true;
}

static int add(struct snapshot *s, const struct entry *e)
{
        if (s->count == s->cap) {
                unsigned cap = s->cap > 0 ? s->cap * 2 : 256;
                struct entry *list = cap <= PROCESSES_MAX ? realloc(s->list, cap * sizeof(*list)) : NULL;

                if (list == NULL)
                        return -ENOMEM;
                s->list = list;
                s->cap = cap;
        }
        s->list[s->count++] = *e;
        return 0;
}

static int take(struct snapshot *s)
{
        DIR *dir = opendir("/proc");
        struct dirent *de;
        struct entry e;
        int r = 0;

        if (dir == NULL)
                return -errno;
        while (r == 0 && (de = readdir(dir)) != NULL)
                if (de->d_name[0] >= '1' && de->d_name[0] <= '9' && read_entry(dirfd(dir), de->d_name, &e))
                        r = add(s, &e);
        closedir(dir);
        return r;
}

static const struct entry *find(const struct snapshot *s, pid_t pid)
{
        for (unsigned i = 0; i < s->count; i++)
                if (s->list[i].pid == pid)
                        return &s->list[i];
        return NULL;
}

static void mark_below(struct snapshot *s, pid_t root)
{
        bool changed = true;

        while (changed) {
                changed = false;
                for (unsigned i = 0; i < s->count; i++) {
                        struct entry *e = &s->list[i];
                        const struct entry *parent;

                        if (e->below)
                                continue;
                        parent = e->parent == root ? e : find(s, e->parent);
                        if (parent != NULL && (e->parent == root || parent->below)) {
                                e->below = true;
                                changed = true;
                        }
                }
        }
}

static bool lives(const struct entry *e)
{
        return e->state != 'Z' && e->state != 'X' && e->state != 'x';
}

static void add_usage(struct cay_tree_sum *sum, const struct entry *e)
{
        sum->memory_bytes += e->rss_pages * (uint64_t)sysconf(_SC_PAGESIZE);
        sum->cpu_us += e->cpu_ticks * 1000000u / (uint64_t)sysconf(_SC_CLK_TCK);
}

int cay_tree_signal(pid_t root, int signo, struct cay_tree_sum *ret)
{
        struct snapshot s = { 0 };
        struct cay_tree_sum sum = { 0 };
        int r = take(&s);

        if (r < 0)
                goto out;
        mark_below(&s, root);
        for (unsigned i = 0; i < s.count; i++) {
                const struct entry *e = &s.list[i];

                if (e->pid == root)
                        add_usage(&sum, e);
                if (!e->below || !lives(e))
                        continue;
                add_usage(&sum, e);
                sum.alive++;
                if (signo != 0 && kill(e->pid, signo) < 0 && errno == EPERM)
                        sum.refused++;
        }
        *ret = sum;
out:
        free(s.list);
        return r;
}

int cay_tree_end_orphans(bool (*is_known)(void *ctx, pid_t pid), void *ctx, unsigned *ret_left)
{
        struct snapshot s = { 0 };
        pid_t self = getpid(), session = getsid(0);
        unsigned left = 0;
        int r = take(&s);

        for (unsigned i = 0; r == 0 && i < s.count; i++) {
                const struct entry *e = &s.list[i];

                if (e->parent != self || e->session == session || is_known(ctx, e->pid))
                        continue;
                if (lives(e) && kill(e->pid, SIGKILL) == 0)
                        left++; /* its own children come to us when it is gone */
                else if (waitpid(e->pid, NULL, WNOHANG) == e->pid)
                        left++; /* and did, perhaps after they were looked at */
        }
        free(s.list);
        if (r == 0)
                *ret_left = left;
        return r;
}
