/* SPDX-License-Identifier: Apache-2.0 */
/* Files bound over /proc. */
#include "cay-warden/proc_overlay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "foundation/sys/fd.h"
#include "foundation/sys/mounts.h"

static int put(int dir, const char *name, int *ret_fd)
{
        int fd = sys_open_at(dir, name, O_WRONLY | O_CREAT | O_EXCL, 0444);

        if (fd < 0)
                return fd;
        if (ret_fd)
                *ret_fd = fd;
        else
                close(fd);
        return 0;
}

/* A line of cpuinfo that counts processors says how many the box has. */
static size_t put_line(char *out, size_t size, const char *line, size_t len, uint32_t cpu, uint32_t cpus)
{
        static const char *const numbers[] = { "processor", "apicid", "initial apicid", "core id" };
        static const char *const counts[] = { "siblings", "cpu cores" };
        const char *colon = memchr(line, ':', len);
        size_t key = colon ? (size_t)(colon - line) : 0;
        int n;

        while (key > 0 && (line[key - 1] == '\t' || line[key - 1] == ' '))
                key--;
        for (unsigned i = 0; i < CAY_COUNT(numbers); i++)
                if (key == strlen(numbers[i]) && memcmp(line, numbers[i], key) == 0) {
                        n = snprintf(out, size, "%.*s: %u\n", (int)(colon - line), line, cpu);
                        return n > 0 && (size_t)n < size ? (size_t)n : 0;
                }
        for (unsigned i = 0; i < CAY_COUNT(counts); i++)
                if (key == strlen(counts[i]) && memcmp(line, counts[i], key) == 0) {
                        n = snprintf(out, size, "%.*s: %u\n", (int)(colon - line), line, cpus);
                        return n > 0 && (size_t)n < size ? (size_t)n : 0;
                }
        if (len + 1 > size)
                return 0;
        memcpy(out, line, len);
        out[len] = '\n';
        return len + 1;
}

/* In small pieces: the kernel writes one processor at a time, and only the first is needed. */
static ssize_t read_first(int fd, char *to, size_t size)
{
        size_t len = 0;

        while (len < size - 1) {
                ssize_t n = read(fd, to + len, size - 1 - len < 1024 ? size - 1 - len : 1024);

                if (n <= 0)
                        break;
                len += (size_t)n;
                to[len] = 0;
                if (strstr(to, "\n\n"))
                        break;
        }
        return (ssize_t)len;
}

/* The host's first processor, repeated for each processor of the box. */
static int put_cpuinfo(int dir, uint32_t cpus)
{
        static char host[4096], block[8192];
        cay_auto_close int fd = sys_open_at(dir, "cpuinfo", O_WRONLY | O_CREAT | O_EXCL, 0444);
        cay_auto_close int from = sys_open_at(AT_FDCWD, "/proc/cpuinfo", O_RDONLY, 0);
        ssize_t len = from < 0 ? from : read_first(from, host, sizeof(host));
        char *end;

        if (fd < 0)
                return fd;
        if (len <= 0)
                return -EIO;
        host[len] = 0;
        end = strstr(host, "\n\n");
        if (end)
                end[1] = 0;
        for (uint32_t cpu = 0; cpu < cpus; cpu++) {
                size_t at = 0;
                int r;

                for (const char *line = host; *line;) {
                        size_t n = strcspn(line, "\n");

                        at += put_line(block + at, sizeof(block) - at, line, n, cpu, cpus);
                        line += n + (line[n] == '\n');
                }
                at += put_line(block + at, sizeof(block) - at, "", 0, cpu, cpus);
                r = sys_write_all(fd, block, at);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* A random UUID, as the kernel makes one when it boots. */
static int put_boot_id(int dir)
{
        uint8_t b[16];
        char text[40];

        if (getrandom(b, sizeof(b), GRND_NONBLOCK) != sizeof(b))
                return errno ? -errno : -EIO;
        b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
        b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
        snprintf(text, sizeof(text), "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x\n",
                 b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
                 b[14], b[15]);
        return sys_make_file(dir, "boot_id", 0444, text, strlen(text));
}

int cay_proc_overlay_write(struct cay_proc_overlay *t, int dir, int with_memory, uint32_t cpus)
{
        int r = put(dir, "empty", NULL);

        if (r == 0 && mkdirat(dir, "void", 0555) < 0)
                r = -errno;
        if (r == 0)
                r = put_boot_id(dir);
        if (r == 0 && with_memory)
                r = put(dir, "meminfo", &t->meminfo);
        if (r == 0)
                r = put(dir, "loadavg", &t->loadavg);
        if (r == 0 && cpus > 0)
                r = put(dir, "stat", &t->stat);
        return r == 0 && cpus > 0 ? put_cpuinfo(dir, cpus) : r;
}

/*
 * Only the box can make the read-only copy of it: before Linux 6.15 a mount that is nowhere yet has no
 * copies.
 */
int cay_proc_overlay_make(struct cay_proc_overlay *t, int with_memory, uint32_t cpus)
{
        static const char *const options[] = { "mode=0755", "size=8m", "nr_inodes=16", NULL };
        int fs = sys_mount_new("tmpfs", options, SYS_MOUNT_SAFE | SYS_MOUNT_NOEXEC);
        int r;

        *t = (struct cay_proc_overlay){ fs, -1, -1, -1, -1 };
        if (fs < 0)
                return fs;
        r = cay_proc_overlay_write(t, fs, with_memory, cpus);
        if (r == 0) {
                r = t->mount = fcntl(fs, F_DUPFD_CLOEXEC, 0);
                if (r < 0)
                        r = -errno;
        }
        if (r < 0)
                cay_proc_overlay_done(t);
        return r < 0 ? r : 0;
}

void cay_proc_overlay_done(struct cay_proc_overlay *t)
{
        int fds[] = { t->files, t->mount, t->meminfo, t->stat, t->loadavg };

        for (unsigned i = 0; i < CAY_COUNT(fds); i++)
                if (fds[i] >= 0)
                        close(fds[i]);
        *t = CAY_PROC_OVERLAY_NONE;
}
