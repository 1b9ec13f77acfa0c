/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Worker PROCESSES: "pid ppid channel state:cpu_ms:memory_kib command\n" for every process of the box,
 * commands percent-encoded where they are not plain. Where init is not pid 1 (no pid namespace of the box's
 * own), only its descendants are listed.
 *
 * cay-init's own helper processes are left out. With cgroup2 these are the children of init in the workers'
 * node, which processes of an exec cannot join, and the preforked process (prefork.h), which has its own
 * node. Without cgroup2 every exec is below a keeper, which adopts its orphans, so a child of init is a
 * worker or a keeper.
 */

#include "cay-init/processes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "foundation/base/cleanup.h"
#include "foundation/base/files_text.h"
#include "cay-init/files.h"
#include "cay-init/init.h"
#include "foundation/sys/fd.h"

enum { HOPS_MAX = 256, COMMAND_MAX = 1024, CGROUP_MAX = 8192 };

struct listing {
        const struct cay_worker_request *req;
        int proc_fd;
        pid_t init;
        bool has_node; /* workers have a cgroup2 node of their own */
        size_t len;
        char cgroup[CGROUP_MAX];
        char buf[16 * 1024];
};

/* Behind the session: tty, its group, flags, four counts of faults, then the user and system time. */
static uint64_t ticks_find(const char *at)
{
        enum { BEFORE = 7 };
        uint64_t sum = 0;

        for (unsigned i = 0; i < BEFORE + 2; i++) {
                char *end;
                long long n = strtoll(at, &end, 10);

                if (end == at)
                        return 0;
                if (i >= BEFORE && n > 0)
                        sum += (uint64_t)n;
                at = end;
        }
        return sum;
}

int cay_process_stat_parse(const char *text, struct cay_process *ret)
{
        const char *open = strchr(text, '('), *close = strrchr(text, ')');
        long numbers[3]; /* parent, process group, session */
        size_t len;
        char *at;

        if (!open || !close || close < open || close[1] != ' ' || !close[2])
                return -EINVAL;
        *ret = (struct cay_process){ .pid = (pid_t)strtol(text, &at, 10), .state = close[2] };
        if (at == text)
                return -EINVAL;
        at = (char *)close + 3;
        for (unsigned i = 0; i < CAY_COUNT(numbers); i++) {
                const char *from = at;

                numbers[i] = strtol(from, &at, 10);
                if (at == from)
                        return -EINVAL;
        }
        ret->ppid = (pid_t)numbers[0];
        ret->session = (pid_t)numbers[2];
        ret->cpu_ticks = ticks_find(at);
        len = (size_t)(close - open - 1);
        memcpy(ret->comm, open + 1, len < sizeof(ret->comm) ? len : sizeof(ret->comm) - 1);
        return 0;
}

struct cay_view cay_process_node(const char *text)
{
        const char *line, *end, *at;

        for (line = text; strncmp(line, "0::", 3) != 0; line = end + 1) {
                end = strchr(line, '\n');
                if (!end)
                        return (struct cay_view){ "", 0 };
        }
        end = line + strcspn(line, "\n");
        for (at = end; at > line + 3 && at[-1] != '/';)
                at--;
        return (struct cay_view){ at, (uint32_t)(end - at) };
}

static uint32_t number_of(struct cay_view node, char kind)
{
        uint64_t number = 0;
        uint32_t i = 1;

        if (node.len < 2 || node.ptr[0] != kind)
                return 0;
        for (; i < node.len && node.ptr[i] >= '0' && node.ptr[i] <= '9'; i++) {
                number = number * 10 + (uint64_t)(node.ptr[i] - '0');
                if (number > UINT32_MAX)
                        return 0;
        }
        return i == node.len || node.ptr[i] == '_' ? (uint32_t)number : 0;
}

uint32_t cay_process_channel(struct cay_view node, const struct cay_worker_exec *execs, uint32_t count)
{
        uint32_t serial = number_of(node, 's');

        if (serial == 0)
                return number_of(node, 'x');
        for (uint32_t i = 0; i < count; i++)
                if (execs[i].serial == serial)
                        return execs[i].channel;
        return 0;
}

static int process_read(const struct listing *l, pid_t pid, struct cay_process *ret)
{
        char path[32], text[512];
        ssize_t n;

        snprintf(path, sizeof(path), "%d/stat", pid);
        n = sys_read_file(l->proc_fd, path, text, sizeof(text));
        return n < 0 ? (int)n : cay_process_stat_parse(text, ret);
}

static uint32_t exec_find(const struct listing *l, pid_t pid)
{
        for (uint32_t i = 0; i < l->req->exec_count; i++)
                if (l->req->execs[i].pid == pid)
                        return l->req->execs[i].channel;
        return 0;
}

/* A process's cgroup2 node, empty if it can't be seen; borrowed until the next call. */
static struct cay_view node_of(struct listing *l, pid_t pid)
{
        char path[32];

        snprintf(path, sizeof(path), "%d/cgroup", pid);
        if (sys_read_file(l->proc_fd, path, l->cgroup, sizeof(l->cgroup)) <= 0)
                return (struct cay_view){ "", 0 };
        return cay_process_node(l->cgroup);
}

static bool is_workers_node(struct cay_view node)
{
        return node.len == strlen(CAY_INIT_WORKERS_NODE) &&
               memcmp(node.ptr, CAY_INIT_WORKERS_NODE, node.len) == 0;
}

static bool is_helper(const struct listing *l, const struct cay_process *p, struct cay_view node)
{
        if (p->pid == getpid())
                return true;
        if (p->ppid != l->init)
                return false;
        if (!l->has_node)
                return exec_find(l, p->pid) == 0;
        return is_workers_node(node) || (number_of(node, 's') > 0 &&
                                         cay_process_channel(node, l->req->execs, l->req->exec_count) == 0);
}

/* The exec that a process belongs to, 0 if unknown; *ret_ours: init is among its ancestors. */
static uint32_t channel_find(struct listing *l, const struct cay_process *p, struct cay_view node,
                             bool *ret_ours)
{
        uint32_t channel = cay_process_channel(node, l->req->execs, l->req->exec_count);
        struct cay_process up = *p;

        *ret_ours = l->init == 1;
        for (unsigned i = 0; i < HOPS_MAX; i++) {
                if (channel == 0)
                        channel = exec_find(l, up.pid);
                if (up.pid == l->init)
                        *ret_ours = true;
                if (up.pid == l->init || up.ppid <= 0 || (channel > 0 && *ret_ours) ||
                    process_read(l, up.ppid, &up) < 0)
                        break;
        }
        return channel > 0 ? channel : exec_find(l, p->session);
}

/* argv with blanks between, or the name in brackets where there is none (zombies). */
static void command_read(const struct listing *l, const struct cay_process *p, char *ret, size_t size)
{
        char path[32], raw[COMMAND_MAX];
        ssize_t n;

        snprintf(path, sizeof(path), "%d/cmdline", p->pid);
        n = sys_read_file(l->proc_fd, path, raw, sizeof(raw));
        while (n > 0 && raw[n - 1] == '\0')
                n--;
        if (n <= 0)
                n = snprintf(raw, sizeof(raw), "[%s]", p->comm);
        for (ssize_t i = 0; i < n; i++)
                if (raw[i] == '\0')
                        raw[i] = ' ';
        cay_files_escape(raw, (size_t)n, ret, size);
}

/* Its resident memory, in KiB; 0 where that cannot be read. */
static uint64_t memory_read(const struct listing *l, pid_t pid)
{
        char path[32], text[128], *at;
        uint64_t pages;

        snprintf(path, sizeof(path), "%d/statm", pid);
        if (sys_read_file(l->proc_fd, path, text, sizeof(text)) <= 0 || !(at = strchr(text, ' ')))
                return 0;
        pages = strtoull(at, NULL, 10);
        return pages < UINT32_MAX ? pages * (uint64_t)sysconf(_SC_PAGESIZE) / 1024 : 0;
}

static int line_put(struct listing *l, const struct cay_process *p, uint32_t channel)
{
        uint64_t per_s = (uint64_t)sysconf(_SC_CLK_TCK);
        char command[COMMAND_MAX];
        int n;

        command_read(l, p, command, sizeof(command));
        if (sizeof(l->buf) - l->len < COMMAND_MAX + 128) {
                int r = sys_write_all(l->req->out_fd, l->buf, l->len);

                l->len = 0;
                if (r < 0)
                        return r;
        }
        n = snprintf(l->buf + l->len, sizeof(l->buf) - l->len, "%d %d %u %c:%llu:%llu %s\n", p->pid, p->ppid,
                     channel, p->state, (unsigned long long)(p->cpu_ticks * 1000 / per_s),
                     (unsigned long long)memory_read(l, p->pid), command);
        l->len += (size_t)n;
        return 0;
}

static int list_run(struct listing *l, DIR *dir, uint64_t max, uint64_t *entries)
{
        const struct dirent *e;

        while (*entries < max && (e = readdir(dir))) {
                struct cay_process p;
                struct cay_view node;
                uint32_t channel;
                char *end;
                long pid = strtol(e->d_name, &end, 10);
                bool ours;
                int r;

                if (pid <= 0 || *end || process_read(l, (pid_t)pid, &p) < 0)
                        continue; /* no process, or one that ended meanwhile */
                node = node_of(l, p.pid);
                if (is_helper(l, &p, node))
                        continue;
                channel = channel_find(l, &p, node, &ours);
                if (!ours)
                        continue;
                r = line_put(l, &p, channel);
                if (r < 0)
                        return r;
                ++*entries;
        }
        return sys_write_all(l->req->out_fd, l->buf, l->len);
}

void cay_processes_list(const struct cay_worker_request *req, struct cay_worker_result *ret)
{
        uint64_t max = req->open->file.max_entries > 0 ? req->open->file.max_entries : CAY_PROCESSES_MAX;
        cay_auto_free struct listing *l = malloc(sizeof(*l));
        struct cay_error err = { .code = CAY_OK };
        DIR *dir = l ? opendir("/proc") : NULL;
        int r;

        if (!dir) {
                cay_files_fail(&err, l ? -errno : -ENOMEM, "list", "/proc");
                cay_files_answer(ret, &err);
                return;
        }
        l->req = req;
        l->proc_fd = dirfd(dir);
        l->init = getppid();
        l->has_node = is_workers_node(node_of(l, getpid()));
        l->len = 0;
        r = list_run(l, dir, max, &ret->entries);
        closedir(dir);
        if (r < 0) {
                cay_files_fail(&err, r, "list", "/proc");
                cay_files_answer(ret, &err);
        }
}
