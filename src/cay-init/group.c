/* SPDX-License-Identifier: Apache-2.0 */
/* One exec's processes, by cgroup2 node or by keeper; the theory is in group.h. */
#include "cay-init/group.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "cay-init/proc.h"
#include "foundation/sys/fd.h"

#define NODES_TRIED 16
#define KILL_ROUNDS 8

static struct cay_proc table[CAY_PROC_MAX]; /* scratch of one call */

void cay_group_init(struct cay_group *g)
{
        *g = (struct cay_group){ .box_fd = -1, .node_fd = -1 };
}

void cay_group_take_box(struct cay_group *g, int cgroup_fd)
{
        g->is_box = true;
        g->box_fd = cgroup_fd;
}

int cay_group_make_spare_node(struct cay_group *g, int cgroup_fd, uint32_t serial)
{
        snprintf(g->node, sizeof(g->node), "s%u", serial);
        if (mkdirat(cgroup_fd, g->node, 0755) < 0) {
                g->node[0] = 0;
                return -errno;
        }
        g->serial = serial;
        g->node_fd = sys_open_at(cgroup_fd, g->node, O_PATH | O_DIRECTORY, 0);
        return g->node_fd < 0 ? g->node_fd : 0;
}

int cay_group_make_node(struct cay_group *g, int cgroup_fd, uint32_t channel)
{
        /* The name is in use while processes of an earlier channel with this number are alive. */
        for (unsigned i = 0; i < NODES_TRIED; i++) {
                if (i == 0)
                        snprintf(g->node, sizeof(g->node), "x%u", channel);
                else
                        snprintf(g->node, sizeof(g->node), "x%u_%u", channel, i);
                if (mkdirat(cgroup_fd, g->node, 0755) == 0) {
                        g->node_fd = sys_open_at(cgroup_fd, g->node, O_PATH | O_DIRECTORY, 0);
                        return g->node_fd < 0 ? g->node_fd : 0;
                }
                if (errno != EEXIST)
                        break;
                if (unlinkat(cgroup_fd, g->node, AT_REMOVEDIR) == 0)
                        i--; /* it was empty: take the name */
        }
        g->node[0] = 0;
        return -errno;
}

static unsigned scan_below(const struct cay_group *g, unsigned *ret_rows)
{
        *ret_rows = cay_proc_scan(table, CAY_PROC_MAX);
        return cay_proc_mark_below(table, *ret_rows, g->is_box ? getpid() : g->keeper);
}

static bool kill_marked(unsigned rows)
{
        bool any = false;

        for (unsigned i = 0; i < rows; i++) {
                if (!table[i].mark || table[i].state == 'Z')
                        continue;
                any |= kill(table[i].pid, SIGKILL) == 0;
        }
        return any;
}

void cay_group_kill(struct cay_group *g)
{
        unsigned rows;

        if (g->is_box) { /* all of the pid namespace but its first process, which is us */
                kill(-1, SIGKILL);
                return;
        }
        if (g->node_fd >= 0 && sys_write_file(g->node_fd, "cgroup.kill", "1") == 0)
                return;
        if (g->pid > 0) { /* before it is a group leader, and as a last resort for a node that cannot kill */
                kill(-g->pid, SIGKILL);
                kill(g->pid, SIGKILL);
        }
        for (unsigned i = 0; g->keeper > 0 && !g->is_alone && i < KILL_ROUNDS; i++) {
                if (scan_below(g, &rows) == 0 || !kill_marked(rows))
                        return;
        }
}

static unsigned count_lines(int fd)
{
        char text[4096];
        unsigned lines = 0;
        ssize_t n;

        while ((n = read(fd, text, sizeof(text))) > 0) {
                for (ssize_t i = 0; i < n; i++)
                        lines += text[i] == '\n';
        }
        return lines;
}

unsigned cay_group_count(const struct cay_group *g)
{
        int node = g->box_fd >= 0 ? g->box_fd : g->node_fd;
        unsigned rows, alive = 0;

        if (node >= 0) {
                cay_auto_close int fd = sys_open_at(node, "cgroup.procs", O_RDONLY, 0);
                unsigned lines = fd < 0 ? 0 : count_lines(fd);

                return g->box_fd >= 0 && lines > 0 ? lines - 1 : lines; /* init is in the box's own node */
        }
        if (!g->is_box && (g->keeper <= 0 || g->is_alone))
                return g->pid > 0;
        if (scan_below(g, &rows) == 0)
                return 0;
        for (unsigned i = 0; i < rows; i++)
                alive += table[i].mark && table[i].state != 'Z';
        return alive;
}

/* Of everything we have reaped: in a box for one command that is the command and its descendants. */
static uint64_t reaped_us(void)
{
        struct rusage gone;

        getrusage(RUSAGE_CHILDREN, &gone);
        return (uint64_t)(gone.ru_utime.tv_sec + gone.ru_stime.tv_sec) * 1000000u +
               (uint64_t)(gone.ru_utime.tv_usec + gone.ru_stime.tv_usec);
}

uint64_t cay_group_cpu_us(const struct cay_group *g)
{
        int node = g->box_fd >= 0 ? g->box_fd : g->node_fd;
        uint64_t ticks = 0;
        char text[1024];
        unsigned rows;
        long hz;

        if (node >= 0) {
                if (sys_read_file(node, "cpu.stat", text, sizeof(text)) <= 0)
                        return 0;
                return sys_keyed_u64(text, "usage_usec");
        }
        if (!g->is_box && (g->keeper <= 0 || g->is_alone))
                return g->reaped_us;
        scan_below(g, &rows);
        for (unsigned i = 0; i < rows; i++) {
                if (table[i].mark || (g->keeper > 0 && table[i].pid == g->keeper))
                        ticks += table[i].ticks;
        }
        hz = sysconf(_SC_CLK_TCK);
        return ticks * (1000000u / (uint64_t)(hz > 0 ? hz : 100)) + (g->is_box ? reaped_us() : 0);
}

bool cay_group_remove(struct cay_group *g, int cgroup_fd)
{
        if (g->keeper > 0)
                return false;
        if (g->node[0] == 0)
                return true;
        if (unlinkat(cgroup_fd, g->node, AT_REMOVEDIR) < 0 && errno != ENOENT)
                return false;
        g->node[0] = 0;
        if (g->node_fd >= 0)
                close(g->node_fd);
        g->node_fd = -1;
        return true;
}

bool cay_group_kill_below_self(void)
{
        unsigned rows = cay_proc_scan(table, CAY_PROC_MAX);

        if (cay_proc_mark_below(table, rows, getpid()) == 0)
                return false;
        kill_marked(rows);
        return true;
}
