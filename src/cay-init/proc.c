/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the process table. A command's name may hold anything, ") R 1" included: fields start behind the
 * last ')'.
 */
#include "cay-init/proc.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>

#include "foundation/base/cleanup.h"
#include "foundation/sys/fd.h"

#define FIELD_UTIME 11 /* counted from the state, which is 0 */
#define FIELD_CSTIME 14
#define FIELD_THREADS 17

static bool next_number(const char **at, int64_t *ret)
{
        char *end;
        long long v;

        errno = 0;
        v = strtoll(*at, &end, 10);
        if (end == *at || errno)
                return false;
        *at = end;
        *ret = v;
        return true;
}

bool cay_proc_parse(const char *text, struct cay_proc *ret)
{
        const char *at = strrchr(text, ')');
        struct cay_proc row = { 0 };
        char *end;
        long pid;

        pid = strtol(text, &end, 10);
        if (end == text || pid <= 0 || pid > INT_MAX || !at || at[1] != ' ' || at[2] == 0 || at[3] != ' ')
                return false;
        row.pid = (pid_t)pid;
        row.state = at[2];
        at += 3;
        for (int field = 1; field <= FIELD_THREADS; field++) {
                int64_t v;

                if (!next_number(&at, &v))
                        return false;
                if (field == 1)
                        row.parent = v > 0 && v <= INT_MAX ? (pid_t)v : 0;
                if (field >= FIELD_UTIME && field <= FIELD_CSTIME && v > 0)
                        row.ticks += (uint64_t)v;
                if (field == FIELD_THREADS && v > 0 && v <= INT_MAX)
                        row.threads = (uint32_t)v;
        }
        *ret = row;
        return true;
}

static void close_dir(DIR **dir)
{
        if (*dir)
                closedir(*dir);
}

unsigned cay_proc_scan(struct cay_proc *rows, unsigned max)
{
        cay_auto(close_dir) DIR *dir = opendir("/proc");
        struct dirent *entry;
        unsigned count = 0;

        while (dir && count < max && (entry = readdir(dir))) {
                char path[32], text[1024];
                size_t len = strspn(entry->d_name, "0123456789");

                if (len == 0 || len > 10 || entry->d_name[len])
                        continue;
                snprintf(path, sizeof(path), "%.10s/stat", entry->d_name);
                if (sys_read_file(dirfd(dir), path, text, sizeof(text)) > 0 &&
                    cay_proc_parse(text, &rows[count]))
                        count++;
        }
        return count;
}

unsigned cay_proc_mark_below(struct cay_proc *rows, unsigned count, pid_t root)
{
        unsigned marked = 0, before;

        for (unsigned i = 0; i < count; i++)
                rows[i].mark = false;
        do { /* each pass goes at least one generation down */
                before = marked;
                for (unsigned i = 0; i < count; i++) {
                        bool below = rows[i].parent == root;

                        for (unsigned k = 0; k < count && !below && !rows[i].mark; k++)
                                below = rows[k].mark && rows[k].pid == rows[i].parent;
                        if (below && !rows[i].mark) {
                                rows[i].mark = true;
                                marked++;
                        }
                }
        } while (marked != before);
        return marked;
}
