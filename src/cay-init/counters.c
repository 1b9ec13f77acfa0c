/* SPDX-License-Identifier: Apache-2.0 */
/* Files are opened once, before commands run, and read by offset. */
#include "cay-init/counters.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "foundation/base/banned.h"
#include "foundation/sys/fd.h"

static int open_first(const char *const *paths)
{
        for (; *paths; paths++) {
                int fd = sys_open_at(AT_FDCWD, *paths, O_RDONLY, 0);

                if (fd >= 0)
                        return fd;
        }
        return -1;
}

void cay_counters_open(struct cay_counters *c, bool wanted)
{
        static const char *const oom[] = { "/sys/fs/cgroup/memory.events",
                                           "/sys/fs/cgroup/memory/memory.oom_control", NULL };
        static const char *const pids[] = { "/sys/fs/cgroup/pids.events", "/sys/fs/cgroup/pids/pids.events",
                                            NULL };
        static const char *const peak[] = { "/sys/fs/cgroup/memory.peak",
                                            "/sys/fs/cgroup/memory/memory.max_usage_in_bytes", NULL };

        *c = (struct cay_counters){ .is_open = wanted, .oom_fd = -1, .pids_fd = -1, .peak_fd = -1 };
        if (!wanted)
                return;
        c->oom_fd = open_first(oom);
        c->pids_fd = open_first(pids);
        c->peak_fd = open_first(peak);
}

/* The number behind `key` at the start of a line; "" is the file's first number. */
static uint64_t number(const struct cay_counters *c, int fd, const char *key)
{
        char text[1024], *at = text;
        size_t len = strlen(key);
        ssize_t n = c->is_open && fd >= 0 ? pread(fd, text, sizeof(text) - 1, 0) : -1;

        if (n <= 0)
                return 0;
        text[n] = '\0';
        while (at && strncmp(at, key, len) != 0) {
                at = strchr(at, '\n');
                at = at ? at + 1 : NULL;
        }
        return at ? strtoull(at + len, NULL, 10) : 0;
}

uint64_t cay_counters_oom_kills(const struct cay_counters *c)
{
        return number(c, c->oom_fd, "oom_kill "); /* the same word in both layouts */
}

uint64_t cay_counters_pids_refused(const struct cay_counters *c)
{
        return number(c, c->pids_fd, "max ");
}

uint64_t cay_counters_memory_peak(const struct cay_counters *c)
{
        return number(c, c->peak_fd, "");
}
