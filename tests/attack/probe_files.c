/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes of files: the host's by any road, devices, set-id bits, links, what a workspace is left with
 * (security.md 2.2, 2.3).
 */
#include "probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

static bool file_says(const char *path, const char *secret)
{
        char buf[4096];

        return probe_read(path, buf, sizeof(buf)) && strstr(buf, secret);
}

/* flag_by_path PATH SECRET: a file of the host with a secret in it, by every road that has a name. */
static int flag_by_path(char **argv)
{
        const char *path = probe_text(argv, 1), *secret = probe_text(argv, 2);
        char road[4600];
        DIR *proc;
        struct dirent *e;

        if (file_says(path, secret))
                return broke("%s is there", path);
        snprintf(road, sizeof(road), "../../../../../../../../../..%s", path);
        if (file_says(road, secret))
                return broke("%s", road);
        proc = opendir("/proc");
        while (proc && (e = readdir(proc))) {
                static const char *const ways[] = { "root", "cwd" };

                if (e->d_name[0] < '1' || e->d_name[0] > '9')
                        continue;
                for (size_t i = 0; i < 2; i++) {
                        snprintf(road, sizeof(road), "/proc/%s/%s%s", e->d_name, ways[i], path);
                        if (file_says(road, secret))
                                return broke("%s", road);
                }
        }
        if (proc)
                closedir(proc);
        unlink("/tmp/flag");
        if (symlink(path, "/tmp/flag") == 0 && file_says("/tmp/flag", secret))
                return broke("a link to %s", path);
        return held("%s is nowhere", path);
}

/* Descriptors that somebody left open for us. */
static int fds_inherited(char **argv)
{
        char path[64], target[4096];

        for (int fd = 3; fd < 4096; fd++) {
                ssize_t n;

                if (fcntl(fd, F_GETFD) < 0)
                        continue;
                snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
                n = readlink(path, target, sizeof(target) - 1);
                target[n > 0 ? n : 0] = '\0';
                return broke("descriptor %d is open: %s", fd, target);
        }
        return held("0 to 2 only");
}

/* Everything in /dev is one of the harmless ones. */
static int dev_entries(char **argv)
{
        static const char *const harmless[] = { "null", "zero", "full", "random",  "urandom", "tty",
                                                "pts",  "ptmx", "fd",   "stdin",   "stdout",  "stderr",
                                                "shm",  ".",    "..",   "console", "core",    "mqueue" };
        DIR *dir = opendir("/dev");
        struct dirent *e;

        while (dir && (e = readdir(dir))) {
                bool known = false;

                for (size_t i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++)
                        known |= strcmp(e->d_name, harmless[i]) == 0;
                if (!known)
                        return broke("/dev/%s", e->d_name);
        }
        return dir ? held("nothing but the harmless ones") : held("no /dev");
}

static int mknod_device(char **argv)
{
        unlink("/tmp/device");
        return probe_refused("mknod of a device", mknod("/tmp/device", S_IFCHR | 0666, makedev(1, 5)));
}

static int mknod_disk(char **argv)
{
        unlink("/tmp/disk");
        return probe_refused("mknod of a disk", mknod("/tmp/disk", S_IFBLK | 0666, makedev(254, 0)));
}

/* mknod_whiteout DIR, whiteout_rename DIR: character device 0:0 needs no privilege since Linux 5.8. */
static int mknod_whiteout(char **argv)
{
        char path[4096];

        snprintf(path, sizeof(path), "%s/whiteout", probe_text(argv, 1));
        return probe_refused("mknod of a whiteout", mknod(path, S_IFCHR, makedev(0, 0)));
}

static int whiteout_rename(char **argv)
{
        char from[4096], to[4096];
        int fd;

        snprintf(from, sizeof(from), "%s/from", probe_text(argv, 1));
        snprintf(to, sizeof(to), "%s/to", probe_text(argv, 1));
        fd = open(from, O_CREAT | O_WRONLY, 0600);
        if (fd < 0)
                return broke("no file: %s", strerror(errno));
        return probe_refused("rename that leaves a whiteout",
                             syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 4 /* RENAME_WHITEOUT */));
}

/* device_open PATH: a device that the host has put there. */
static int device_open(char **argv)
{
        const char *path = probe_text(argv, 1);
        struct stat st;

        if (stat(path, &st) < 0 || !S_ISCHR(st.st_mode))
                return broke("%s is no device: the test is wrong", path);
        if (open(path, O_RDONLY) >= 0)
                return broke("%s works", path);
        return held("%s: %s", path, strerror(errno));
}

/* --- Set-id files in DIR, by every call that can make one --- */

static bool has_set_id(const char *path)
{
        struct stat st;

        return lstat(path, &st) == 0 && (st.st_mode & 06000);
}

static int set_id(char **argv)
{
        const char *dir = probe_text(argv, 1);
        struct {
                unsigned long long flags, mode, resolve;
        } how = { O_CREAT | O_WRONLY, 04755, 0 };
        int fd, dirfd = open(dir, O_RDONLY | O_DIRECTORY);

        if (dirfd < 0 || fchdir(dirfd) < 0)
                return broke("%s: %s", dir, strerror(errno));
        fd = open("plain", O_CREAT | O_WRONLY, 0755);
        if (fd < 0)
                return broke("%s can't be written: %s", dir, strerror(errno));
        if (chmod("plain", 04755) == 0 || has_set_id("plain"))
                return broke("chmod");
        if (fchmod(fd, 02755) == 0 || has_set_id("plain"))
                return broke("fchmod");
        if (fchmodat(dirfd, "plain", 06755, 0) == 0 || has_set_id("plain"))
                return broke("fchmodat");
        if (syscall(452 /* fchmodat2 */, dirfd, "plain", 04755, 0) == 0 || has_set_id("plain"))
                return broke("fchmodat2");
        if (open("opened", O_CREAT | O_WRONLY, 04755) >= 0 && has_set_id("opened"))
                return broke("open");
        if (syscall(SYS_openat2, dirfd, "opened2", &how, sizeof(how)) >= 0 && has_set_id("opened2"))
                return broke("openat2");
#ifdef SYS_creat
        if (syscall(SYS_creat, "created", 04755) >= 0 && has_set_id("created"))
                return broke("creat");
#endif
        if (mknod("node", S_IFREG | 04755, 0) == 0 && has_set_id("node"))
                return broke("mknod");
        fd = open(".", O_TMPFILE | O_WRONLY, 04755);
        if (fd >= 0) {
                char link[64];

                snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
                if (linkat(AT_FDCWD, link, dirfd, "unnamed", AT_SYMLINK_FOLLOW) == 0 && has_set_id("unnamed"))
                        return broke("O_TMPFILE");
        }
        return held("no call makes one: %s", strerror(errno));
}

/* A file capability is a set-id bit by another name. */
static int file_capability(char **argv)
{
        static const unsigned char all[] = { 1, 0, 0,    2, 0xff, 0xff, 0xff, 0xff, 0, 0,
                                             0, 0, 0xff, 1, 0,    0,    0,    0,    0, 0 };
        char path[4096];
        int fd;

        snprintf(path, sizeof(path), "%s/capable", probe_text(argv, 1));
        fd = open(path, O_CREAT | O_WRONLY, 0755);
        if (fd < 0)
                return broke("no file: %s", strerror(errno));
        if (fsetxattr(fd, "security.capability", all, sizeof(all), 0) == 0)
                return broke("a file with capabilities");
        return held("security.capability: %s", strerror(errno));
}

/*
 * Waits for the effective uid of a set-id program of the host's: su asks for a password and stays meanwhile.
 */
static int set_id_program(char **argv)
{
        char path[64], status[4096];
        const char *line;
        int in[2], uid = -1, euid = -1;
        pid_t pid;

        if (access("/usr/bin/su", X_OK) < 0)
                return lacks("a set-id program to try");
        if (pipe(in) < 0)
                return broke("no pipe");
        pid = fork();
        if (pid == 0) {
                int null = open("/dev/null", O_RDWR);

                dup2(in[0], 0);
                dup2(null, 1);
                dup2(null, 2);
                execl("/usr/bin/su", "su", "-c", "sleep 1", (char *)NULL);
                _exit(99);
        }
        for (int i = 0; i < 2000 && uid == euid; i++) { /* until it waits for a password, or has ended */
                probe_nap_ms(10);
                snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
                probe_read(path, status, sizeof(status));
                line = strstr(status, "\nUid:");
                if (!line || sscanf(line, "\nUid: %d %d", &uid, &euid) != 2)
                        break;
                if (strstr(status, "\nState:\tZ") ||
                    (strncmp(status, "Name:\tsu\n", 9) == 0 && strstr(status, "\nState:\tS")))
                        break;
        }
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        if (uid != euid)
                return broke("su runs as uid %d", euid);
        return held("su stays uid %d", euid);
}

/* hard_link TARGET: a second name for a file that is not ours, where we can write. */
static int hard_link(char **argv)
{
        const char *target = probe_text(argv, 1);
        struct stat a, b;

        unlink("/tmp/second");
        if (link(target, "/tmp/second") < 0)
                return held("link to %s: %s", target, strerror(errno));
        if (stat(target, &a) < 0 || stat("/tmp/second", &b) < 0 || a.st_uid == getuid())
                return held("a copy of ours");
        if (open("/tmp/second", O_WRONLY) >= 0)
                return broke("wrote %s by a second name", target);
        return broke("a second name for %s", target);
}

/* The host's own files, as we see them. */
static int write_usr(char **argv)
{
        static const char *const paths[] = { "/usr/bin/env", "/usr/bin/sh", "/bin/sh", "/etc/ld.so.cache" };

        for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
                if (open(paths[i], O_WRONLY) >= 0)
                        return broke("%s is open for writing", paths[i]);
        return held("the host's files: %s", strerror(errno));
}

/* A lock on an inode that other boxes see is a word to them. */
static int flock_hold(char **argv)
{
        int fd = open(probe_text(argv, 1), O_RDONLY);

        if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
                return broke("the lock is taken: %s", strerror(errno));
        printf("READY\n");
        fflush(stdout);
        probe_nap_ms(probe_number(argv, 2, 0));
        return held("the lock was free");
}

/* The command's own program, named by the link of the process that starts it: `#!/proc/self/exe`. */
static int exe_script(char **argv)
{
        int fd = open("/tmp/script", O_CREAT | O_TRUNC | O_WRONLY, 0755), status;
        pid_t pid;

        if (fd < 0 || write(fd, "#!/proc/self/exe\n", 17) != 17)
                return broke("no script: %s", strerror(errno));
        close(fd);
        pid = fork();
        if (pid == 0) {
                execl("/tmp/script", "script", (char *)NULL);
                _exit(55);
        }
        waitpid(pid, &status, 0);
        fd = open("/proc/self/exe", O_WRONLY);
        if (fd >= 0)
                return broke("our own program is open for writing");
        return held("/proc/self/exe: %s", strerror(errno));
}

/* Programs of other processes, through the links that the kernel keeps to them (CVE-2019-5736). */
static int exe_write(char **argv)
{
        char path[300];
        DIR *proc = opendir("/proc");
        struct dirent *e;

        probe_nap_ms(probe_number(argv, 1, 0));
        while (proc && (e = readdir(proc))) {
                if (e->d_name[0] < '1' || e->d_name[0] > '9')
                        continue;
                snprintf(path, sizeof(path), "/proc/%s/exe", e->d_name);
                if (open(path, O_WRONLY) >= 0)
                        return broke("%s is open for writing", path);
        }
        if (proc)
                closedir(proc);
        return held("no program can be written to: %s", strerror(errno));
}

/* foreign_file PATH: files that are not the workspace owner's show as nobody's and stay closed. */
static int foreign_file(char **argv)
{
        const char *path = probe_text(argv, 1);
        struct stat st;

        if (stat(path, &st) < 0)
                return held("%s: %s", path, strerror(errno));
        if (st.st_uid == getuid())
                return broke("%s is ours", path);
        if (open(path, O_RDONLY) >= 0)
                return broke("%s can be read", path);
        return held("%s belongs to %u: %s", path, (unsigned)st.st_uid, strerror(errno));
}

/* leave DIR: one of each kind, for the host to look at afterwards. */
static int leave(char **argv)
{
        int fd;

        if (chdir(probe_text(argv, 1)) < 0)
                return broke("no folder: %s", strerror(errno));
        fd = open("file", O_CREAT | O_WRONLY, 0644);
        if (fd < 0 || write(fd, "x", 1) != 1)
                return broke("no file: %s", strerror(errno));
        if (symlink("/etc/shadow", "link") < 0 || mkfifo("fifo", 0600) < 0 || mkdir("folder", 0755) < 0)
                return broke("no link, FIFO or folder: %s", strerror(errno));
        return held("left a file, a link, a FIFO and a folder");
}

const struct probe probes_files[] = {
        { "flag_by_path", flag_by_path },
        { "fds_inherited", fds_inherited },
        { "dev_entries", dev_entries },
        { "mknod_device", mknod_device },
        { "mknod_disk", mknod_disk },
        { "mknod_whiteout", mknod_whiteout },
        { "whiteout_rename", whiteout_rename },
        { "device_open", device_open },
        { "set_id", set_id },
        { "file_capability", file_capability },
        { "set_id_program", set_id_program },
        { "hard_link", hard_link },
        { "write_usr", write_usr },
        { "flock_hold", flock_hold },
        { "exe_script", exe_script },
        { "exe_write", exe_write },
        { "foreign_file", foreign_file },
        { "leave", leave },
        { NULL, NULL },
};
