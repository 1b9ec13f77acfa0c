/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes of what a box can learn about the host, and of what it is itself: ids, capabilities, settings
 * (security.md 2.2).
 */
#include "probe.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

extern char **environ;

#define WALK_MAX 20000
#define WALK_DEPTH_MAX 12

static char status_text[8192];

/* The value behind `key` in /proc/self/status, as text. */
static const char *status_value(const char *key)
{
        const char *line;

        probe_read("/proc/self/status", status_text, sizeof(status_text));
        line = strstr(status_text, key);
        return line ? line + strlen(key) + strspn(line + strlen(key), "\t ") : "";
}

static int capabilities(char **argv)
{
        static const char *const sets[] = { "CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:" };

        for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
                const char *value = status_value(sets[i]);

                if (strtoull(value, NULL, 16) != 0)
                        return broke("%s %.16s", sets[i], value);
        }
        return held("empty in every set");
}

static int no_new_privs(char **argv)
{
        return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? held("set") : broke("no_new_privs is not set");
}

/* No id of ours is one that means anything outside: not root, not a user's. */
static int uid_map(char **argv)
{
        static const char *const files[] = { "/proc/self/uid_map", "/proc/self/gid_map" };
        char text[4096];

        for (size_t i = 0; i < 2; i++) {
                char *save, *line;

                probe_read(files[i], text, sizeof(text));
                for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
                        unsigned long inside, outside, count;

                        if (sscanf(line, "%lu %lu %lu", &inside, &outside, &count) != 3)
                                return broke("%s says '%s'", files[i], line);
                        if (outside < 100000)
                                return broke("%s: %lu inside is %lu outside", files[i], inside, outside);
                }
        }
        return held("every id is of a range of our own");
}

/* environment SECRET: only what was asked for, and nothing of the launcher's. */
static int environment(char **argv)
{
        static const char *const allowed[] = { "PATH=", "HOME=", "USER=",  "LOGNAME=", "LANG=",
                                               "TERM=", "PWD=",  "SHELL=", "TMPDIR=",  "HOSTNAME=" };
        const char *secret = probe_text(argv, 1);

        for (char **e = environ; *e; e++) {
                bool known = false;

                if (strstr(*e, secret))
                        return broke("%s", *e);
                for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
                        known |= strncmp(*e, allowed[i], strlen(allowed[i])) == 0;
                if (!known)
                        return broke("%s", *e);
        }
        return held("nothing but the usual");
}

static int host_name(char **argv)
{
        struct utsname u;

        uname(&u);
        if (strcmp(u.nodename, probe_text(argv, 1)) == 0)
                return broke("the host is called %s", u.nodename);
        return held("our host is %s", u.nodename);
}

/* host_process PID: the process that started us, by number and by a look at /proc. */
static int host_process(char **argv)
{
        long host_pid = probe_number(argv, 1, 0);
        DIR *proc = opendir("/proc");
        struct dirent *e;
        int count = 0;

        while (proc && (e = readdir(proc)))
                count += isdigit((unsigned char)e->d_name[0]) != 0;
        if (proc)
                closedir(proc);
        if (count > 8)
                return broke("%d processes in /proc", count);
        if (host_pid > 100 && (kill((pid_t)host_pid, 0) == 0 || errno == EPERM))
                return broke("process %ld can be signalled", host_pid);
        return held("%d processes, all ours", count);
}

/* Opening for writing is enough: nothing is written. Returns the first that opens, or NULL. */
static const char *writable_below(const char *dir, int *budget, int depth)
{
        static char found[4096];
        char path[4096];
        DIR *d = opendir(dir);
        struct dirent *e;

        while (d && (e = readdir(d)) && *budget > 0) {
                int fd;

                if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
                        continue;
                if (snprintf(path, sizeof(path), "%s/%s", dir, e->d_name) >= (int)sizeof(path))
                        continue;
                (*budget)--;
                if (e->d_type == DT_DIR && depth < WALK_DEPTH_MAX) {
                        const char *deeper = writable_below(path, budget, depth + 1);

                        if (deeper) {
                                closedir(d);
                                return deeper;
                        }
                } else if (e->d_type == DT_REG) {
                        fd = open(path, O_WRONLY | O_NONBLOCK);
                        if (fd >= 0) {
                                close(fd);
                                closedir(d);
                                snprintf(found, sizeof(found), "%s", path);
                                return found;
                        }
                }
        }
        if (d)
                closedir(d);
        return NULL;
}

static int proc_sys_write(char **argv)
{
        int budget = WALK_MAX;
        const char *found = writable_below("/proc/sys", &budget, 0);

        if (found)
                return broke("%s is open for writing", found);
        return held("/proc/sys: %s", strerror(errno));
}

static int proc_files_write(char **argv)
{
        static const char *const files[] = { "/proc/sysrq-trigger",
                                             "/proc/sys/kernel/core_pattern",
                                             "/proc/sys/kernel/modprobe",
                                             "/proc/sys/vm/panic_on_oom",
                                             "/proc/sys/fs/binfmt_misc/register",
                                             "/proc/sys/kernel/ns_last_pid",
                                             "/proc/irq/default_smp_affinity",
                                             "/proc/acpi/wakeup",
                                             "/proc/mtrr",
                                             "/proc/bus/pci/00/00.0" };

        for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
                if (open(files[i], O_WRONLY | O_NONBLOCK) >= 0)
                        return broke("%s is open for writing", files[i]);
        return held("%s", strerror(errno));
}

static int sys_write(char **argv)
{
        int budget = WALK_MAX;
        const char *found = writable_below("/sys", &budget, 0);

        return found ? broke("%s is open for writing", found) : held("/sys: nothing to write");
}

static int cgroup_write(char **argv)
{
        char text[16384], *save;

        probe_read("/proc/self/mountinfo", text, sizeof(text));
        if (strstr(text, " - cgroup"))
                return broke("a cgroup hierarchy is mounted");
        if (access("/sys/fs/cgroup/cgroup.procs", W_OK) == 0)
                return broke("cgroup.procs can be written");
        probe_read("/proc/self/cgroup", text, sizeof(text));
        for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
                const char *path = strrchr(line, ':');

                /* Our own group's name is ours to know; what is above it is not. */
                if (path && (strchr(path + 2, '/') ||
                             (path[2] && strncmp(path, ":/cay-", 6) && strncmp(path, ":/x", 3))))
                        return broke("a cgroup of the host's shows: %s", line);
        }
        return held("no hierarchy, no name but our own");
}

/* Masked files say nothing. Those that any Linux has for everybody are not in this list. */
static int masked_files(char **argv)
{
        static const char *const files[] = { "/proc/kcore",
                                             "/proc/kallsyms",
                                             "/proc/keys",
                                             "/proc/interrupts",
                                             "/proc/timer_list",
                                             "/proc/sched_debug",
                                             "/proc/latency_stats",
                                             "/proc/slabinfo",
                                             "/proc/vmallocinfo",
                                             "/proc/iomem",
                                             "/proc/ioports",
                                             "/proc/modules",
                                             "/proc/kmsg",
                                             "/proc/config.gz",
                                             "/proc/diskstats",
                                             "/proc/partitions",
                                             "/proc/cmdline",
                                             "/proc/swaps",
                                             "/proc/buddyinfo",
                                             "/proc/cgroups",
                                             "/proc/pressure/cpu",
                                             "/proc/pressure/memory",
                                             "/proc/sys/fs/file-nr",
                                             "/proc/sys/fs/inode-nr",
                                             "/proc/sys/fs/inode-state",
                                             "/proc/sys/fs/dentry-state",
                                             "/proc/sys/fs/aio-nr",
                                             "/proc/sys/kernel/pty/nr",
                                             "/sys/kernel/notes",
                                             "/sys/kernel/vmcoreinfo",
                                             "/sys/firmware/dmi/tables/DMI",
                                             "/sys/kernel/debug",
                                             "/dev/kmsg",
                                             "/dev/mem" };
        char buf[256];

        for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
                int fd = open(files[i], O_RDONLY | O_NONBLOCK);

                if (fd < 0)
                        continue;
                if (read(fd, buf, sizeof(buf)) > 0)
                        return broke("%s can be read", files[i]);
                close(fd);
        }
        return held("all empty or absent");
}

static int masked_folders(char **argv)
{
        static const char *const folders[] = { "/proc/acpi",        "/proc/scsi",   "/proc/bus",
                                               "/proc/irq",         "/proc/fs",     "/proc/asound",
                                               "/proc/driver",      "/proc/tty",    "/sys/firmware",
                                               "/sys/class",        "/sys/devices", "/proc/pressure",
                                               "/proc/sys/fs/quota" };

        for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
                DIR *d = opendir(folders[i]);
                struct dirent *e;

                while (d && (e = readdir(d)))
                        if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
                                return broke("%s/%s", folders[i], e->d_name);
                if (d)
                        closedir(d);
        }
        return held("all empty or absent");
}

/*
 * mount_paths WORD…: words that name places on the host must not be in any of the three files that list
 * mounts.
 */
static int mount_paths(char **argv)
{
        static const char *const files[] = { "/proc/self/mountinfo", "/proc/self/mounts",
                                             "/proc/self/mountstats" };
        static char text[65536];

        for (size_t i = 0; i < 3; i++) {
                probe_read(files[i], text, sizeof(text));
                for (char **word = argv + 1; *word; word++)
                        if (strstr(text, *word))
                                return broke("%s says %s", files[i], *word);
        }
        return held("no path of the host's");
}

/* ipc_key KEY: System V memory that the host has made for everybody. */
static int ipc_key(char **argv)
{
        int id = shmget((key_t)probe_number(argv, 1, 0), 0, 0);

        if (id >= 0)
                return broke("the host's shared memory");
        return held("the host's shared memory: %s", strerror(errno));
}

/* shm_name NAME: a file in the host's /dev/shm. */
static int shm_name(char **argv)
{
        char path[300];

        snprintf(path, sizeof(path), "/dev/shm/%s", probe_text(argv, 1));
        return access(path, F_OK) == 0 ? broke("%s of the host", path)
                                       : held("%s: %s", path, strerror(errno));
}

/* boot_id TEXT: the host's; ours must be another, and look the same. */
static int boot_id(char **argv)
{
        char text[64];

        if (probe_read("/proc/sys/kernel/random/boot_id", text, sizeof(text)) != 37 || text[8] != '-' ||
            text[36] != '\n')
                return broke("boot_id is no UUID: %s", text);
        text[36] = '\0';
        if (strcmp(text, probe_text(argv, 1)) == 0)
                return broke("boot_id is the host's");
        return held("boot_id %s", text);
}

static int limits_raised(char **argv)
{
        char text[64];

        if (probe_read("/proc/sys/user/max_user_namespaces", text, sizeof(text)) && atol(text) != 0)
                return broke("user.max_user_namespaces is %ld", atol(text));
        return held("no namespaces left to make");
}

const struct probe probes_info[] = {
        { "capabilities", capabilities },
        { "no_new_privs", no_new_privs },
        { "uid_map", uid_map },
        { "environment", environment },
        { "host_name", host_name },
        { "host_process", host_process },
        { "proc_sys_write", proc_sys_write },
        { "proc_files_write", proc_files_write },
        { "sys_write", sys_write },
        { "cgroup_write", cgroup_write },
        { "masked_files", masked_files },
        { "masked_folders", masked_folders },
        { "mount_paths", mount_paths },
        { "ipc_key", ipc_key },
        { "shm_name", shm_name },
        { "boot_id", boot_id },
        { "limits_raised", limits_raised },
        { NULL, NULL },
};
