/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The box's own figures. A whole text is built in memory and written with one pwrite. Lines are padded, so
 * that its length never changes and a reader sees neither an empty file nor an incomplete line. Nothing is
 * written while nothing runs.
 */
#include "cay-init/proc_overlay.h"

#include <errno.h>

#include "foundation/base/clock.h"
#include "cay-init/proc.h"
#include "foundation/sys/fd.h"

#define EVERY_MS 1000
#define HZ 100u    /* of /proc/stat, on every Linux */
#define ONE 65536u /* 1.0 of a load average */
#define CPUS_MAX 1024u
#define LINE 112u /* a line of /proc/stat, padded */

static char text[CAY_PROC_OVERLAY_TEXT + CPUS_MAX * LINE];
static struct cay_proc table[CAY_PROC_MAX];

/* In version 1, memory.stat has the box's sum under total_…; the plain names are used for version 2. */
static uint64_t stat_value(const char *stat_text, const char *total_name, const char *name)
{
        uint64_t v = sys_keyed_u64(stat_text, total_name);

        return v > 0 || strstr(stat_text, total_name) ? v : sys_keyed_u64(stat_text, name);
}

void cay_proc_overlay_parse_memory(const char *stat_text, struct cay_proc_overlay_memory *ret)
{
        ret->cache = stat_value(stat_text, "total_cache", "file");
        ret->shmem = stat_value(stat_text, "total_shmem", "shmem");
        ret->mapped = stat_value(stat_text, "total_mapped_file", "file_mapped");
        ret->dirty = stat_value(stat_text, "total_dirty", "file_dirty");
        ret->writeback = stat_value(stat_text, "total_writeback", "file_writeback");
        ret->anon = stat_value(stat_text, "total_rss", "anon");
        ret->active_anon = stat_value(stat_text, "total_active_anon", "active_anon");
        ret->inactive_anon = stat_value(stat_text, "total_inactive_anon", "inactive_anon");
        ret->active_file = stat_value(stat_text, "total_active_file", "active_file");
        ret->inactive_file = stat_value(stat_text, "total_inactive_file", "inactive_file");
        ret->swap_used = stat_value(stat_text, "total_swap", "swap");
        ret->slab_reclaimable = sys_keyed_u64(stat_text, "slab_reclaimable");
        ret->slab_unreclaimable = sys_keyed_u64(stat_text, "slab_unreclaimable");
        ret->kernel_stack = sys_keyed_u64(stat_text, "kernel_stack");
        ret->page_tables = sys_keyed_u64(stat_text, "pagetables");
}

static uint64_t less(uint64_t a, uint64_t b)
{
        return a > b ? a - b : 0;
}

static uint64_t least(uint64_t a, uint64_t b)
{
        return a < b ? a : b;
}

size_t cay_proc_overlay_meminfo(const struct cay_proc_overlay_memory *m, char *to, size_t size)
{
        uint64_t free_bytes = less(m->total, m->used);
        uint64_t reclaimable = m->active_file + m->inactive_file + m->slab_reclaimable;
        const struct {
                const char *name;
                uint64_t bytes;
        } rows[] = {
                { "MemTotal:", m->total },
                { "MemFree:", free_bytes },
                { "MemAvailable:", least(free_bytes + reclaimable, m->total) },
                { "Buffers:", 0 },
                { "Cached:", least(m->cache, m->total) },
                { "SwapCached:", 0 },
                { "Active:", m->active_anon + m->active_file },
                { "Inactive:", m->inactive_anon + m->inactive_file },
                { "Active(anon):", m->active_anon },
                { "Inactive(anon):", m->inactive_anon },
                { "Active(file):", m->active_file },
                { "Inactive(file):", m->inactive_file },
                { "Unevictable:", 0 },
                { "Mlocked:", 0 },
                { "SwapTotal:", m->swap_total },
                { "SwapFree:", less(m->swap_total, m->swap_used) },
                { "Dirty:", m->dirty },
                { "Writeback:", m->writeback },
                { "AnonPages:", m->anon },
                { "Mapped:", m->mapped },
                { "Shmem:", m->shmem },
                { "KReclaimable:", m->slab_reclaimable },
                { "Slab:", m->slab_reclaimable + m->slab_unreclaimable },
                { "SReclaimable:", m->slab_reclaimable },
                { "SUnreclaim:", m->slab_unreclaimable },
                { "KernelStack:", m->kernel_stack },
                { "PageTables:", m->page_tables },
                { "CommitLimit:", m->total + m->swap_total },
                { "Committed_AS:", least(m->anon + m->shmem, m->total) },
        };
        size_t len = 0;

        for (size_t i = 0; i < CAY_COUNT(rows); i++)
                len += (size_t)snprintf(to + len, size - len, "%-15s %12llu kB\n", rows[i].name,
                                        (unsigned long long)(rows[i].bytes / 1024));
        return len;
}

/* Ends the line that began at `from` with blanks up to LINE and a newline. */
static size_t pad_line(char *to, size_t from, size_t len)
{
        while (len < from + LINE - 1)
                to[len++] = ' ';
        to[len++] = '\n';
        return len;
}

static size_t cpu_line(char *to, size_t len, const char *name, uint64_t user, uint64_t system, uint64_t idle)
{
        int n = snprintf(to + len, LINE, "%s %llu 0 %llu %llu 0 0 0 0 0 0", name, (unsigned long long)user,
                         (unsigned long long)system, (unsigned long long)idle);

        return pad_line(to, len, len + (size_t)n);
}

static size_t number_line(char *to, size_t len, const char *name, uint64_t value)
{
        int n = snprintf(to + len, LINE, "%s %llu", name, (unsigned long long)value);

        return pad_line(to, len, len + (size_t)n);
}

size_t cay_proc_overlay_stat(const struct cay_proc_overlay_cpu *c, char *to, size_t size)
{
        uint32_t cpus = c->cpus > 0 ? c->cpus : 1;
        size_t len;

        if (cpus > CPUS_MAX)
                cpus = CPUS_MAX;
        if (size < (cpus + 10) * LINE)
                return 0;
        len = cpu_line(to, 0, "cpu ", c->user_ticks, c->system_ticks, c->idle_ticks);
        for (uint32_t i = 0; i < cpus; i++) {
                char name[16];

                snprintf(name, sizeof(name), "cpu%u", i);
                /* Shares whose sum is the line above. */
                len = cpu_line(to, len, name, (c->user_ticks + i) / cpus, (c->system_ticks + i) / cpus,
                               (c->idle_ticks + i) / cpus);
        }
        len = number_line(to, len, "intr", 0);
        len = number_line(to, len, "ctxt", 0);
        len = number_line(to, len, "btime", c->boot_s);
        len = number_line(to, len, "processes", c->last_pid);
        len = number_line(to, len, "procs_running", c->running);
        len = number_line(to, len, "procs_blocked", c->blocked);
        return number_line(to, len, "softirq", 0);
}

size_t cay_proc_overlay_loadavg(const uint64_t load[3], unsigned running, unsigned total, int last_pid,
                                char *to, size_t size)
{
        size_t len = 0;
        int n;

        for (int i = 0; i < 3; i++) {
                uint64_t hundredths = (load[i] * 100 + ONE / 2) / ONE;

                len += (size_t)snprintf(to + len, size - len, "%llu.%02llu ",
                                        (unsigned long long)(hundredths / 100),
                                        (unsigned long long)(hundredths % 100));
        }
        n = snprintf(to + len, size - len, "%u/%u %d", running, total, last_pid);
        return pad_line(to, 0, len + (size_t)n);
}

void cay_proc_overlay_decay(uint64_t load[3], unsigned running, uint64_t seconds)
{
        /* e^(-1/60), e^(-1/300), e^(-1/900), in 1/65536 */
        static const uint64_t keep[3] = { 64453, 65318, 65463 };

        if (seconds > 7200)
                seconds = 7200; /* more changes nothing that shows */
        for (; seconds > 0; seconds--) {
                for (int i = 0; i < 3; i++)
                        load[i] = (load[i] * keep[i] + (uint64_t)running * ONE * (ONE - keep[i]) + ONE / 2) /
                                  ONE;
        }
}

static void write_text(int fd, const char *bytes, size_t len)
{
        /* A short or failed write leaves the previous text; only the first one can have another length. */
        if (len > 0 && pwrite(fd, bytes, len, 0) < 0)
                return;
}

static void refresh_memory(struct cay_proc_overlay *t, bool is_fresh)
{
        struct cay_proc_overlay_memory m = { .total = t->config->memory_bytes,
                                             .swap_total = t->config->swap_bytes };
        char stat_text[4096], usage[64];
        int fd = t->fds[CAY_INIT_FD_MEMINFO];

        if (fd < 0)
                return;
        if (!is_fresh && sys_read_fd(t->fds[CAY_INIT_FD_MEM_STAT], stat_text, sizeof(stat_text)) > 0)
                cay_proc_overlay_parse_memory(stat_text, &m);
        if (!is_fresh && sys_read_fd(t->fds[CAY_INIT_FD_MEM_USAGE], usage, sizeof(usage)) > 0)
                m.used = strtoull(usage, NULL, 10);
        write_text(fd, text, cay_proc_overlay_meminfo(&m, text, sizeof(text)));
}

static void refresh_cpu(struct cay_proc_overlay *t, struct cay_proc_overlay_cpu *c, bool is_fresh)
{
        uint64_t all = (cay_clock_ns() - t->start_ns) / (1000000000u / HZ);
        char stat_text[1024];
        int node = t->fds[CAY_INIT_FD_CGROUP2];

        c->cpus = t->config->cpus > 0 ? t->config->cpus : 1;
        c->boot_s = t->config->boot_wall_s;
        if (!is_fresh && node >= 0 && sys_read_file(node, "cpu.stat", stat_text, sizeof(stat_text)) > 0) {
                c->user_ticks = sys_keyed_u64(stat_text, "user_usec") / (1000000u / HZ);
                c->system_ticks = sys_keyed_u64(stat_text, "system_usec") / (1000000u / HZ);
        }
        c->idle_ticks = less(all * c->cpus, c->user_ticks + c->system_ticks);
        if (c->idle_ticks < t->idle_ticks)
                c->idle_ticks = t->idle_ticks;
        t->idle_ticks = c->idle_ticks;
        write_text(t->fds[CAY_INIT_FD_STAT], text, cay_proc_overlay_stat(c, text, sizeof(text)));
}

static void refresh_load(struct cay_proc_overlay *t, unsigned running, unsigned total, int last_pid)
{
        uint64_t now_ns = cay_clock_ns(), seconds = (now_ns - t->load_at_ns) / 1000000000u;

        cay_proc_overlay_decay(t->load, running, seconds);
        t->load_at_ns += seconds * 1000000000u;
        write_text(t->fds[CAY_INIT_FD_LOADAVG], text,
                   cay_proc_overlay_loadavg(t->load, running, total, last_pid, text, sizeof(text)));
}

/*
 * The first refresh is before the box's first command: there is nothing to count yet, and the command waits.
 * An idle box has no process but init, so the process table need not be read for a command that starts in it.
 */
static void refresh(struct cay_proc_overlay *t)
{
        struct cay_proc_overlay_cpu c = { .last_pid = t->last_pid };
        bool is_fresh = t->at_ns == 0;
        bool wants_processes = t->fds[CAY_INIT_FD_STAT] >= 0 || t->fds[CAY_INIT_FD_LOADAVG] >= 0;
        unsigned total = 0;

        t->at_ns = cay_clock_ns();
        refresh_memory(t, is_fresh);
        if (wants_processes && t->is_busy(t))
                total = cay_proc_scan(table, CAY_PROC_MAX);
        for (unsigned i = 0; i < total; i++) {
                if ((uint64_t)table[i].pid > c.last_pid)
                        c.last_pid = (uint64_t)table[i].pid;
                if (table[i].pid == getpid())
                        continue; /* running now, by looking */
                c.running += table[i].state == 'R';
                c.blocked += table[i].state == 'D';
        }
        t->last_pid = c.last_pid;
        if (t->fds[CAY_INIT_FD_STAT] >= 0)
                refresh_cpu(t, &c, is_fresh);
        if (t->fds[CAY_INIT_FD_LOADAVG] >= 0)
                refresh_load(t, (unsigned)(c.running + c.blocked), total > 0 ? total : 1, (int)c.last_pid);
}

static void on_time(struct cay_timer *timer)
{
        struct cay_proc_overlay *t = cay_container_of(timer, struct cay_proc_overlay, timer);

        if (!t->is_busy(t))
                return;
        refresh(t);
        cay_timer_set(t->loop, &t->timer, EVERY_MS, on_time);
}

void cay_proc_overlay_init(struct cay_proc_overlay *t, struct cay_loop *loop,
                           const struct cay_init_config *config, const int *fds,
                           bool (*is_busy)(struct cay_proc_overlay *t))
{
        *t = (struct cay_proc_overlay){ .loop = loop, .config = config, .fds = fds, .is_busy = is_busy };
        t->start_ns = t->load_at_ns = cay_clock_ns();
        t->last_pid = 1;
        t->is_on =
                fds[CAY_INIT_FD_MEMINFO] >= 0 || fds[CAY_INIT_FD_STAT] >= 0 || fds[CAY_INIT_FD_LOADAVG] >= 0;
}

void cay_proc_overlay_refresh(struct cay_proc_overlay *t)
{
        if (!t->is_on)
                return;
        if (t->at_ns == 0 || cay_clock_ns() - t->at_ns >= (uint64_t)EVERY_MS * 1000000u)
                refresh(t);
        if (!t->timer.loop)
                cay_timer_set(t->loop, &t->timer, EVERY_MS, on_time);
}
