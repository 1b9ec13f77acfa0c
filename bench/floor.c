/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The floor below `cay run -- /bin/true`: the system calls that make and remove such a sandbox, in the same
 * processes and the same order, with nothing around them. No option, plan, protocol, limit check, trace,
 * event loop or error text: what fails ends it. The row of `cay run` beside this one says what Cay's own code
 * costs; this one alone says what the kernel takes for what Cay asks of it.
 *
 *   floor PLACE…     PLACE: what a sandbox has covered below /proc (bench asks one)
 *
 * Processes: this one (in place of cay) starts itself as "warden". That makes record, cgroups and mounts; its
 * helper clones the box's first process and makes the network namespace; the first process builds the root
 * and executes this program again as "init"; its child becomes the command. Filters have the length of ours
 * and allow everything.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "foundation/sys/caps.h"
#include "foundation/sys/cgroup.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/idmap.h"
#include "foundation/sys/landlock.h"
#include "foundation/sys/mounts.h"
#include "foundation/sys/syscalls.h"
#include "foundation/sys/unix_socket.h"

enum { FIRST_ID = 0x6f000000, IDS = 65536, USER = 1001, INIT_USER = 65533 };
enum { LINK_FD = 3, JOINS_MAX = 6, COMMAND_FILTER = 311, INIT_FILTER = 120, RULES = 13 };
enum { USR, ETC, PROC_FILES, TREES };

#define EXECUTE 0x1ull /* of landlock */

#define INIT_CAPS (SYS_CAP(CAP_SETUID) | SYS_CAP(CAP_SETGID) | SYS_CAP(CAP_KILL) | SYS_CAP(CAP_SETPCAP))

static char *const *covers;

#define must(call) must_at((call), #call)

static long must_at(long r, const char *what)
{
        if (r >= 0)
                return r;
        dprintf(2, "floor: %s: %s\n", what, strerror(errno));
        _exit(1);
}

/* Wrappers of foundation/sys return -errno. */
static int fine(long r)
{
        if (r >= 0)
                return (int)r;
        errno = (int)-r;
        return -1;
}

static void filter(unsigned count, unsigned flags)
{
        struct sock_filter steps[COMMAND_FILTER + 2];
        struct sock_fprog program = { .len = (unsigned short)(count + 1), .filter = steps };

        steps[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0);
        for (unsigned i = 1; i < count; i++)
                steps[i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 100000 + i, 0, 0);
        steps[count] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
        must(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program));
}

/* init: what the command's process does before it is the command. */

static void become_command(const int *joins, unsigned count)
{
        static const char *const folders[] = { "/",    "/usr",  "/etc", "/dev", "/tmp", "/proc", "/workspace",
                                               "/run", "/home", "/var", "/opt", "/bin", "/lib" };
        struct sys_landlock_folder rules[RULES];
        char *const argv[] = { "/bin/true", NULL }, *const env[] = { "PATH=/usr/bin:/bin", NULL };
        const struct rlimit files = { 4096, 4096 };

        for (unsigned i = 0; i < count; i++)
                must(write(joins[i], "0", 1));
        for (unsigned i = 0; i < RULES; i++)
                rules[i] = (struct sys_landlock_folder){ open(folders[i], O_PATH | O_CLOEXEC),
                                                         EXECUTE | SYS_LANDLOCK_READ_FILE |
                                                                 SYS_LANDLOCK_READ_DIR |
                                                                 SYS_LANDLOCK_WRITE_FILE };
        must(fine(sys_landlock_enter_client(rules, RULES)));
        for (unsigned i = 0; i < RULES; i++)
                close(rules[i].fd);
        filter(COMMAND_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER);
        must(setrlimit(RLIMIT_NOFILE, &files));
        must(setsid());
        must(fine(sys_setresgid(USER, USER, USER)));
        must(fine(sys_setresuid(USER, USER, USER)));
        must(fine(sys_caps_set(0, 0, 0)));
        must(chdir("/workspace"));
        must(execve(argv[0], argv, env));
}

static int be_init(void)
{
        int fds[SYS_FDS_MAX], status = 1;
        unsigned count = 0;
        char byte;
        pid_t pid;

        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
        must(fine(sys_recv_fds(LINK_FD, &byte, 1, fds, &count, 0)));
        must(fine(sys_caps_bound(0)));
        must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
        pid = (pid_t)must(fork());
        if (pid == 0)
                become_command(fds, count);
        filter(INIT_FILTER, 0);
        must(waitpid(pid, &status, 0));
        must(write(LINK_FD, status == 0 ? "0" : "1", 1));
        return status != 0;
}

/* The box's first process: root, /dev, /proc. Its working directory is the writable layer. */

static void make_new(const char *type, const char *const *options, unsigned attr, int at, const char *path)
{
        int fd = (int)must(fine(sys_mount_new(type, options, attr)));

        must(fine(sys_mount_attach(fd, at, path)));
        close(fd);
}

static void show(const char *name, int tree, int at, const char *path)
{
        char low[32], lower[48];
        const char *options[] = { lower, "userxattr", NULL };

        snprintf(low, sizeof(low), "%s-low", name);
        snprintf(lower, sizeof(lower), "lowerdir=none:%s", low);
        must(mkdir(low, 0755));
        must(fine(sys_mount_attach(tree, AT_FDCWD, low)));
        make_new("overlay", options, SYS_MOUNT_SAFE | SYS_MOUNT_RDONLY, at, path);
}

static void build_root(const int *trees)
{
        static const char *const folders[] = {
                "etc",       "etc/ssl", "home", "home/sandbox",     "home/user",    "opt",       "root",
                "run",       "tmp",     "var",  "var/tmp",          "var/lib",      "var/cache", "usr",
                "workspace", "dev",     "proc", "etc/alternatives", "etc/ssl/certs"
        };
        static const char *const files[] = { "etc/passwd",   "etc/group",         "etc/hosts",
                                             "etc/hostname", "etc/nsswitch.conf", "etc/ld.so.cache" };
        static const char *const links[] = { "bin", "sbin", "lib", "lib32", "lib64" };
        static const char *const parts[] = { "alternatives", "ssl/certs", "ld.so.cache" };
        const char *options[] = { "mode=0755", "size=67239936", "nr_inodes=100060", NULL };
        int layer, root;

        layer = (int)must(fine(sys_mount_place_new("tmpfs", options, SYS_MOUNT_SAFE, AT_FDCWD, "/usr")));
        must(fchdir(layer));
        must(mkdir("root", 0755));
        close((int)must(fine(sys_mount_place_copy(layer, "root", false, SYS_MOUNT_SAFE, layer, "root"))));
        root = (int)must(open("root", O_PATH | O_DIRECTORY | O_CLOEXEC));
        for (size_t i = 0; i < CAY_COUNT(folders); i++)
                must(mkdirat(root, folders[i], 0755));
        must(fchownat(root, "workspace", USER, USER, 0));
        must(fchownat(root, "home/sandbox", USER, USER, 0));
        for (size_t i = 0; i < CAY_COUNT(files); i++)
                must(fine(sys_make_file(root, files[i], 0644, "x", 1)));
        must(mkdir("none", 0755));
        show("usr", trees[USR], root, "usr");
        must(mkdir("etc-all", 0755));
        show("etc", trees[ETC], AT_FDCWD, "etc-all");
        for (size_t i = 0; i < CAY_COUNT(parts); i++) {
                char from[64], to[64];

                snprintf(from, sizeof(from), "etc-all/%s", parts[i]);
                snprintf(to, sizeof(to), "root/etc/%s", parts[i]);
                if (access(from, F_OK) == 0)
                        must(mount(from, to, NULL, MS_BIND, NULL));
        }
        for (size_t i = 0; i < CAY_COUNT(links); i++) {
                char target[32];

                snprintf(target, sizeof(target), "usr/%s", links[i]);
                must(symlinkat(target, root, links[i]));
        }
        close(root);
}

static void build_dev(void)
{
        static const char *const nodes[] = { "null", "zero", "full", "random", "urandom", "tty" };
        static const char *const links[] = { "fd", "stdin", "stdout", "stderr", "ptmx" };
        const char *pts[] = { "newinstance", "ptmxmode=0666", "mode=0620", "max=64", "gid=5", NULL };
        const char *shm[] = { "mode=1777", "nr_inodes=4096", "size=134217728", NULL };
        int dev;

        must(mkdir("dev", 0755));
        dev = (int)must(fine(sys_mount_place_copy(AT_FDCWD, "dev", false, SYS_MOUNT_NOSUID | SYS_MOUNT_NOEXEC,
                                                  AT_FDCWD, "root/dev")));
        for (size_t i = 0; i < CAY_COUNT(nodes); i++) {
                char from[32], to[32];

                snprintf(from, sizeof(from), "/dev/%s", nodes[i]);
                snprintf(to, sizeof(to), "root/dev/%s", nodes[i]);
                must(mknodat(dev, nodes[i], S_IFREG | 0666, 0));
                must(mount(from, to, NULL, MS_BIND, NULL));
        }
        for (size_t i = 0; i < CAY_COUNT(links); i++)
                must(symlinkat("/proc/self/fd", dev, links[i]));
        must(mkdirat(dev, "pts", 0755));
        make_new("devpts", pts, SYS_MOUNT_NOSUID | SYS_MOUNT_NOEXEC, dev, "pts");
        must(mkdirat(dev, "shm", 0755));
        make_new("tmpfs", shm, SYS_MOUNT_SAFE | SYS_MOUNT_NOEXEC, dev, "shm");
        must(fine(sys_mount_change(dev, "", SYS_MOUNT_RDONLY)));
        close(dev);
}

static void build_proc(int files, int net)
{
        static const char *const settings[] = { "user/max_user_namespaces",   "user/max_mnt_namespaces",
                                                "user/max_pid_namespaces",    "user/max_net_namespaces",
                                                "user/max_inotify_instances", "user/max_inotify_watches" };
        int proc = (int)must(fine(
                sys_mount_place_new("proc", NULL, SYS_MOUNT_SAFE | SYS_MOUNT_NOEXEC, AT_FDCWD, "root/proc")));
        int sys = (int)must(openat(proc, "sys", O_PATH | O_DIRECTORY | O_CLOEXEC)), fds[SYS_FDS_MAX];
        unsigned count = 0;
        char byte;

        must(mkdir("files", 0755));
        must(fine(sys_mount_attach(files, AT_FDCWD, "files")));
        close((int)must(fine(sys_mount_place_copy(proc, "sys", false, SYS_MOUNT_RDONLY, proc, "sys"))));
        for (char *const *at = covers; *at; at++) {
                char path[128];
                struct stat st;

                snprintf(path, sizeof(path), "root%s", *at);
                if (strcmp(*at, "/proc/sys") == 0)
                        continue;
                if (mount("files/empty", path, NULL, MS_BIND, NULL) < 0 && lstat(path, &st) == 0)
                        must(mount("files/void", path, NULL, MS_BIND, NULL));
        }
        must(fine(sys_recv_fds(net, &byte, 1, fds, &count, 0)));
        must(setns(fds[0], CLONE_NEWNET));
        sys_close_fds(fds, count);
        for (size_t i = 0; i < CAY_COUNT(settings); i++)
                must(fine(sys_write_file(sys, settings[i], "0")));
        close(sys);
        close(proc);
}

struct box {
        int control, net, init_exe;
};

static _Noreturn void be_box(const struct box *b)
{
        char *const argv[] = { "init", NULL }, *const env[] = { NULL };
        uint64_t effective, permitted, inheritable;
        int trees[SYS_FDS_MAX], old, root;
        unsigned count = 0;
        char byte;

        setsid();
        must(fine(sys_recv_fds(b->control, &byte, 1, trees, &count, 0)));
        must(fine(sys_setgroups(0, NULL)));
        must(fine(sys_setresgid(0, 0, 0)));
        must(fine(sys_setresuid(0, 0, 0)));
        must(unshare(CLONE_NEWCGROUP));
        umask(0);
        must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
        build_root(trees);
        build_dev();
        build_proc(trees[PROC_FILES], b->net);
        must(sethostname("cay", 3));
        old = (int)must(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
        root = (int)must(open("root", O_PATH | O_DIRECTORY | O_CLOEXEC));
        must(fchdir(root));
        must(syscall(SYS_pivot_root, ".", "."));
        must(fchdir(old));
        must(umount2(".", MNT_DETACH));
        must(chdir("/"));
        umask(022);
        must(dup2(b->control, LINK_FD));
        sys_caps_get(&effective, &permitted, &inheritable);
        prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
        must(fine(sys_setresgid(INIT_USER, INIT_USER, INIT_USER)));
        must(fine(sys_setresuid(INIT_USER, INIT_USER, INIT_USER)));
        must(fine(sys_caps_set(permitted, permitted, permitted)));
        must(fine(sys_caps_bound(INIT_CAPS)));
        must(fine(sys_caps_set(INIT_CAPS, INIT_CAPS, INIT_CAPS)));
        must(fine(sys_caps_ambient(INIT_CAPS)));
        must(fine(sys_execveat(b->init_exe, "", argv, env, AT_EMPTY_PATH)));
        _exit(1);
}

/* The warden and its helper. */

static void own_clock(void)
{
        if (unshare(CLONE_NEWTIME) == 0)
                sys_write_file(AT_FDCWD, "/proc/self/timens_offsets", "monotonic -1 0\nboottime -1 0\n");
}

static void make_network(pid_t pid, int to)
{
        struct ifreq up = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
        int userns = sys_idmap_open(pid), sock, net;

        must(setns(userns, CLONE_NEWUSER));
        must(unshare(CLONE_NEWNET));
        sock = (int)must(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
        must(ioctl(sock, SIOCSIFFLAGS, &up));
        net = (int)must(open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
        must(fine(sys_send_fds(to, "n", 1, &net, 1, 0)));
}

static _Noreturn void be_helper(const struct box *b, int cgroup2, int birth, int net_far)
{
        struct clone_args args = { .flags = CLONE_PARENT | CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID |
                                            CLONE_NEWIPC | CLONE_NEWUTS };
        uint64_t effective, permitted, inheritable;
        int32_t pid;

        own_clock();
        prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
        sys_caps_get(&effective, &permitted, &inheritable);
        must(fine(sys_setgroups(0, NULL)));
        must(fine(sys_setresgid(FIRST_ID, FIRST_ID, FIRST_ID)));
        must(fine(sys_setresuid(FIRST_ID, FIRST_ID, FIRST_ID)));
        must(fine(sys_caps_set(permitted, permitted, inheritable)));
        if (cgroup2 >= 0) {
                args.flags |= CLONE_INTO_CGROUP;
                args.cgroup = (uint64_t)cgroup2;
        }
        pid = (int32_t)must(fine(sys_clone3(&args)));
        if (pid == 0)
                be_box(b);
        must(write(birth, &pid, sizeof(pid)));
        make_network(pid, net_far);
        _exit(0);
}

static int make_proc_files(void)
{
        const char *options[] = { "mode=0755", "size=1m", NULL };
        static const char *const names[] = { "empty", "boot_id", "cpuinfo", "meminfo", "stat", "loadavg" };
        int fs = (int)must(fine(sys_mount_new("tmpfs", options, SYS_MOUNT_SAFE | SYS_MOUNT_NOEXEC)));

        for (size_t i = 0; i < CAY_COUNT(names); i++)
                must(fine(sys_make_file(fs, names[i], 0444, "x", 1)));
        must(mkdirat(fs, "void", 0555));
        return fs;
}

static int copy_tree(const char *path, int userns)
{
        int plain = 0;

        return (int)must(fine(
                sys_mount_copy_idmapped(AT_FDCWD, path, SYS_MOUNT_SAFE | SYS_MOUNT_RDONLY, userns, &plain)));
}

static pid_t make_box(struct sys_cgroup_host *host, struct sys_cgroup *cg, const char *self, int *ret_link)
{
        struct sys_cgroup_limits l = {
                .memory_bytes = 256u << 20, .pids = 50, .cpu_milli = 500, .owner = FIRST_ID
        };
        const struct sys_idmap map = { 0, FIRST_ID, IDS };
        int control[2], birth[2], net[2], trees[TREES], joins[JOINS_MAX], count, userns;
        struct box b;
        const char *what;
        char path[64];
        int32_t pid;
        pid_t helper;

        must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control));
        must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, net));
        must(pipe2(birth, O_CLOEXEC));
        b = (struct box){ control[1], net[0],
                          (int)must(
                                  fine(sys_mount_copy(AT_FDCWD, self, SYS_MOUNT_SAFE | SYS_MOUNT_RDONLY))) };
        helper = (pid_t)must(fork());
        if (helper == 0)
                be_helper(&b, cg->dir[SYS_CGROUP_2], birth[1], net[1]);
        must(fine(sys_cgroup_make(host, cg)));
        must(fine(sys_cgroup_limit(host, cg, &l, &what)));
        trees[PROC_FILES] = make_proc_files();
        must(read(birth[0], &pid, sizeof(pid)));
        snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", (int)pid);
        must(fine(sys_write_file(AT_FDCWD, path, "1000")));
        must(fine(sys_idmap_write(pid, &map, &map)));
        userns = (int)must(sys_idmap_open(pid));
        trees[USR] = copy_tree("/usr", userns);
        trees[ETC] = copy_tree("/etc", userns);
        must(fine(sys_send_fds(control[0], "g", 1, trees, TREES, 0)));
        count = (int)must(fine(sys_cgroup_open_joins(cg, joins, JOINS_MAX)));
        must(fine(sys_send_fds(control[0], "c", 1, joins, (unsigned)count, 0)));
        sys_close_fds(joins, (unsigned)count);
        sys_close_fds(trees, TREES);
        close(userns);
        close(control[1]);
        sys_close_fds(net, 2);
        sys_close_fds(birth, 2);
        must(waitpid(helper, NULL, 0));
        close(b.init_exe);
        *ret_link = control[0];
        return pid;
}

static int be_warden(const char *self)
{
        char record[64], name[48], byte = '1';
        struct sys_cgroup_stats stats;
        struct sys_cgroup_host host;
        struct sys_cgroup cg;
        int fd, link, status;
        pid_t pid;

        must(fine(sys_cgroup_host_open(&host)));
        snprintf(record, sizeof(record), "/run/floor-%d", (int)getpid());
        snprintf(name, sizeof(name), "floor-%d", (int)getpid());
        fd = (int)must(open(record, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
        must(flock(fd, LOCK_EX | LOCK_NB));
        must(pwrite(fd, name, sizeof(name), 0));
        must(fine(sys_cgroup_begin(&host, name, &cg)));
        pid = make_box(&host, &cg, self, &link);
        must(read(link, &byte, 1));
        sys_cgroup_kill(&cg);
        sys_cgroup_stats(&cg, &stats);
        sys_cgroup_remove_empty(&host, &cg);
        must(waitpid(pid, &status, 0));
        must(fine(sys_cgroup_remove(&host, &cg)));
        must(unlink(record));
        must(write(LINK_FD, &byte, 1));
        return byte != '0';
}

/* In place of cay: starts the warden, gives its own rights away, waits. */
static int be_caller(char **argv, const char *self)
{
        int link[2], status = -1;
        char byte = '1';
        pid_t pid;

        must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, link));
        argv[0] = "warden";
        pid = vfork();
        if (pid == 0) {
                setsid();
                dup2(link[1], LINK_FD);
                syscall(SYS_close_range, LINK_FD + 1, ~0u, 0);
                execv(self, argv);
                _exit(127);
        }
        close(link[1]);
        must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
        must(fine(sys_setgroups(0, NULL)));
        must(fine(sys_setresgid(65534, 65534, 65534)));
        must(fine(sys_setresuid(65534, 65534, 65534)));
        must(fine(sys_landlock_enter_client(NULL, 0)));
        must(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0));
        must(read(link[0], &byte, 1));
        must(waitpid(pid, &status, 0));
        return byte != '0' || status != 0;
}

int main(int argc, char **argv)
{
        char self[4096] = "";

        if (strcmp(argv[0], "init") == 0)
                return be_init();
        must(readlink("/proc/self/exe", self, sizeof(self) - 1));
        if (strcmp(argv[0], "warden") != 0)
                return be_caller(argv, self);
        covers = argv + 1;
        return be_warden(self);
}
