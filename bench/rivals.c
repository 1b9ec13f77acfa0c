/* SPDX-License-Identifier: Apache-2.0 */
/* The compared programs: command lines, preparation, start and wait. See rivals.h. */

#include "rivals.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DOCKER_IMAGE "cay-bench-busybox"

enum { DOCKER_ANSWER_MS = 2000 };

extern char **environ;

static const char *const names[RIVALS_COUNT] = { "spawn", "floor", "cay",   "bubblewrap",
                                                 "bare",  "runc",  "docker" };
static const char *cay_marks[] = { "cay", NULL };

/* The host's /usr read-only and the usual links into it: the same root for every rival. */
static const char *const usr_links[][2] = {
        { "usr/bin", "/bin" },
        { "usr/lib", "/lib" },
        { "usr/lib64", "/lib64" },
        { "usr/sbin", "/sbin" },
};

const char *rivals_name(int which)
{
        return names[which];
}

static int spawn(char *const argv[], int in, int out, int err, pid_t *ret_pid)
{
        posix_spawn_file_actions_t actions;
        int r;

        r = posix_spawn_file_actions_init(&actions);
        if (r != 0)
                return -r;
        r = in >= 0 ? posix_spawn_file_actions_adddup2(&actions, in, 0)
                    : posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
        if (r == 0)
                r = out >= 0 ? posix_spawn_file_actions_adddup2(&actions, out, 1)
                             : posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
        if (r == 0 && err < 0)
                r = posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
        if (r == 0)
                r = posix_spawnp(ret_pid, argv[0], &actions, NULL, argv, environ);
        posix_spawn_file_actions_destroy(&actions);
        return -r;
}

int rivals_spawn(char *const argv[], pid_t *ret_pid)
{
        return spawn(argv, -1, -1, 2, ret_pid);
}

static double millis(const struct timeval *t)
{
        return (double)t->tv_sec * 1e3 + (double)t->tv_usec / 1e3;
}

int rivals_wait_all(pid_t pid, double *ret_cpu_ms)
{
        int status, result = -1;
        struct rusage used;
        pid_t got;

        *ret_cpu_ms = 0;
        for (;;) {
                got = wait4(-1, &status, 0, &used);
                if (got < 0 && errno == EINTR)
                        continue;
                if (got < 0)
                        return result; /* ECHILD: nothing is left */
                *ret_cpu_ms += millis(&used.ru_utime) + millis(&used.ru_stime);
                if (got == pid)
                        result = status;
        }
}

/* Runs argv silently; its exit status, or -1 when it could not start or took longer than timeout_ms. */
static int run_quiet(char *const argv[], int timeout_ms)
{
        struct pollfd poll_fd;
        int status, fd, r;
        double cpu_ms;
        pid_t pid;

        r = spawn(argv, -1, -1, -1, &pid);
        if (r < 0)
                return -1;
        fd = (int)syscall(SYS_pidfd_open, pid, 0);
        poll_fd = (struct pollfd){ .fd = fd, .events = POLLIN };
        if (fd < 0 || poll(&poll_fd, 1, timeout_ms) <= 0)
                kill(pid, SIGKILL);
        if (fd >= 0)
                close(fd);
        status = rivals_wait_all(pid, &cpu_ms);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void left_out(const char *name, const char *why)
{
        printf("%s: %s: row left out\n", name, why);
}

static void add(struct rival *rival, int *at, const char *word)
{
        if (*at < RIVAL_ARGS_MAX - 1)
                rival->argv[(*at)++] = (char *)word; /* posix_spawn wants char *const[], and does not write */
}

static int open_spawn(struct rival *rival)
{
        int at = 0;

        rival->name = "posix_spawn, no box";
        add(rival, &at, "/bin/true");
        return 0;
}

static int open_cay(const char *build, const char *name, struct rival *rival)
{
        int at = 0;

        rival->name = name;
        if (asprintf(&rival->text[0], "%s/cay", build) < 0) {
                rival->text[0] = NULL;
                return -1;
        }
        add(rival, &at, rival->text[0]);
        add(rival, &at, "run");
        add(rival, &at, "--");
        add(rival, &at, "/bin/true");
        rival->marks = cay_marks;
        if (run_quiet(rival->argv, 10000) != 0) {
                fprintf(stderr, "bench: '%s run -- /bin/true' fails; call it by hand to see why\n",
                        rival->text[0]);
                return -1;
        }
        return 0;
}

int rivals_open_other(const char *build, struct rival *rival)
{
        return open_cay(build, "cay run of the other build", rival);
}

static void add_three(struct rival *rival, int *at, const char *a, const char *b, const char *c)
{
        add(rival, at, a);
        add(rival, at, b);
        add(rival, at, c);
}

static int make_folder(struct rival *rival)
{
        const char *tmp = getenv("TMPDIR");

        if (asprintf(&rival->folder, "%s/cay-bench-XXXXXX", tmp && *tmp ? tmp : "/tmp") < 0) {
                rival->folder = NULL;
                return -1;
        }
        if (!mkdtemp(rival->folder)) {
                free(rival->folder);
                rival->folder = NULL;
                return -1;
        }
        return 0;
}

/* What every bubblewrap row begins with. */
static void add_bubblewrap(struct rival *rival, int *at)
{
        add(rival, at, "bwrap");
        add(rival, at, "--unshare-all");
        add_three(rival, at, "--ro-bind", "/usr", "/usr");
        for (size_t i = 0; i < sizeof(usr_links) / sizeof(usr_links[0]); i++)
                add_three(rival, at, "--symlink", usr_links[i][0], usr_links[i][1]);
}

/*
 * What cay's box has mounted, one place a line: asked of a box itself, so that the rival gets what is really
 * there.
 */
static char *ask_box_for_mounts(const char *build)
{
        char command[PATH_MAX + 128];
        size_t len = 0, size = 65536;
        char *text = calloc(1, size);
        FILE *f;

        snprintf(command, sizeof(command), "'%s/cay' run -- awk '{ print $5 }' /proc/self/mountinfo", build);
        f = text ? popen(command, "re") : NULL;
        if (f) {
                len = fread(text, 1, size - 1, f);
                text[len] = '\0';
                if (pclose(f) == 0 && len > 0)
                        return text;
        }
        free(text);
        return NULL;
}

/* What `cay run` asks of the kernel, with nothing around it (floor.c). */
static int open_floor(const char *build, struct rival *rival)
{
        static const char *floor_marks[] = { "floor", NULL };
        int at = 0;

        rival->name = "the floor";
        rival->text[0] = ask_box_for_mounts(build);
        if (!rival->text[0] || asprintf(&rival->text[1], "%s/bench/floor", build) < 0) {
                left_out("floor", "its covers could not be asked for");
                return -1;
        }
        add(rival, &at, rival->text[1]);
        for (char *save = NULL, *place = strtok_r(rival->text[0], "\n", &save); place;
             place = strtok_r(NULL, "\n", &save))
                if (strncmp(place, "/proc/", 6) == 0)
                        add(rival, &at, place);
        rival->marks = floor_marks;
        if (geteuid() != 0 || run_quiet(rival->argv, 10000) != 0) {
                left_out("floor", "it is root's, and needs what `cay run` needs");
                return -1;
        }
        return 0;
}

/*
 * The same root, /proc and /dev as cay's box, as far as bubblewrap's options go: folders, the parts of /etc,
 * every file of /proc that is covered. The five small files of /etc that cay writes are left out, in
 * bubblewrap's favour; so is everything it has no option for (limits, filter, landlock, ids of its own,
 * truthful figures that change).
 */
static int open_bubblewrap(const char *build, struct rival *rival)
{
        static const char *const folders[] = { "/etc",      "/etc/ssl", "/home",    "/home/sandbox",
                                               "/opt",      "/root",    "/run",     "/tmp",
                                               "/var",      "/var/tmp", "/var/lib", "/var/cache",
                                               "/workspace" };
        FILE *empty;
        int at = 0;

        rival->name = "bubblewrap, same root, /proc and /dev";
        rival->is_reference = true;
        rival->text[0] = ask_box_for_mounts(build);
        if (!rival->text[0] || make_folder(rival) < 0 ||
            asprintf(&rival->text[1], "%s/empty", rival->folder) < 0 ||
            asprintf(&rival->text[2], "%s/void", rival->folder) < 0 || mkdir(rival->text[2], 0755) < 0) {
                left_out("bubblewrap", "its root could not be prepared");
                return -1;
        }
        empty = fopen(rival->text[1], "we");
        if (empty)
                fclose(empty);
        add_bubblewrap(rival, &at);
        for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
                add(rival, &at, "--dir");
                add(rival, &at, folders[i]);
        }
        add_three(rival, &at, "--proc", "/proc", "--dev");
        add_three(rival, &at, "/dev", "--tmpfs", "/dev/shm");
        for (char *save = NULL, *place = strtok_r(rival->text[0], "\n", &save); place;
             place = strtok_r(NULL, "\n", &save)) {
                struct stat st;

                if (strncmp(place, "/etc/", 5) == 0 || strcmp(place, "/proc/sys") == 0)
                        add_three(rival, &at, "--ro-bind", place, place);
                else if (strncmp(place, "/proc/", 6) == 0 && stat(place, &st) == 0)
                        add_three(rival, &at, "--ro-bind", rival->text[S_ISDIR(st.st_mode) ? 2 : 1], place);
        }
        add_three(rival, &at, "--chdir", "/workspace", "/bin/true");
        if (run_quiet(rival->argv, 10000) != 0) {
                left_out("bubblewrap", "not installed, or it can't make a box here");
                return -1;
        }
        return 0;
}

/* As little as a program needs to start: what bubblewrap's own examples give. */
static int open_bare(struct rival *rival)
{
        int at = 0;

        rival->name = "bubblewrap, bare";
        add_bubblewrap(rival, &at);
        add_three(rival, &at, "--proc", "/proc", "--dev");
        add_three(rival, &at, "/dev", "--tmpfs", "/tmp");
        add(rival, &at, "--dir");
        add(rival, &at, "/workspace");
        add_three(rival, &at, "--chdir", "/workspace", "/bin/true");
        if (run_quiet(rival->argv, 10000) != 0) {
                left_out("bubblewrap, bare", "not installed, or it can't make a box here");
                return -1;
        }
        return 0;
}

static int write_file(int dir_fd, const char *name, const char *text)
{
        ssize_t n = (ssize_t)strlen(text);
        int fd;

        fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        if (fd < 0)
                return -1;
        n -= write(fd, text, (size_t)n);
        return close(fd) == 0 && n == 0 ? 0 : -1;
}

/* cay's default limits: 256 MiB, half a processor, 50 processes. */
static const char runc_config[] =
        "{ \"ociVersion\": \"1.0.2\",\n"
        "  \"process\": { \"user\": { \"uid\": 1001, \"gid\": 1001 }, \"args\": [\"/bin/true\"], \"cwd\": "
        "\"/workspace\",\n"
        "    \"env\": [\"PATH=/usr/bin:/bin\"], \"noNewPrivileges\": true,\n"
        "    \"rlimits\": [{ \"type\": \"RLIMIT_NOFILE\", \"hard\": 4096, \"soft\": 4096 }] },\n"
        "  \"root\": { \"path\": \"rootfs\" }, \"hostname\": \"bench\",\n"
        "  \"mounts\": [\n"
        "    { \"destination\": \"/usr\", \"type\": \"bind\", \"source\": \"/usr\", \"options\": [\"rbind\", "
        "\"ro\"] },\n"
        "    { \"destination\": \"/proc\", \"type\": \"proc\", \"source\": \"proc\" },\n"
        "    { \"destination\": \"/dev\", \"type\": \"tmpfs\", \"source\": \"tmpfs\",\n"
        "      \"options\": [\"nosuid\", \"mode=755\", \"size=64k\"] },\n"
        "    { \"destination\": \"/dev/pts\", \"type\": \"devpts\", \"source\": \"devpts\",\n"
        "      \"options\": [\"nosuid\", \"noexec\", \"newinstance\", \"ptmxmode=0666\", \"mode=0620\"] },\n"
        "    { \"destination\": \"/tmp\", \"type\": \"tmpfs\", \"source\": \"tmpfs\", \"options\": "
        "[\"nosuid\", \"nodev\"] }],\n"
        "  \"linux\": { \"namespaces\": [{ \"type\": \"pid\" }, { \"type\": \"network\" }, { \"type\": "
        "\"ipc\" },\n"
        "      { \"type\": \"uts\" }, { \"type\": \"mount\" }, { \"type\": \"cgroup\" }],\n"
        "    \"resources\": { \"memory\": { \"limit\": 268435456 }, \"pids\": { \"limit\": 50 },\n"
        "      \"cpu\": { \"quota\": 50000, \"period\": 100000 } } } }\n";

/* A root of empty folders and links, into which runc binds /usr. */
static int make_bundle(const char *folder)
{
        static const char *const folders[] = { "rootfs",     "rootfs/usr", "rootfs/proc",
                                               "rootfs/dev", "rootfs/tmp", "rootfs/workspace" };
        int dir_fd, rootfs_fd = -1, r = -1;

        dir_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (dir_fd < 0)
                return -1;
        for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
                if (mkdirat(dir_fd, folders[i], 0755) < 0)
                        goto out;
        rootfs_fd = openat(dir_fd, "rootfs", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (rootfs_fd < 0)
                goto out;
        for (size_t i = 0; i < sizeof(usr_links) / sizeof(usr_links[0]); i++)
                if (symlinkat(usr_links[i][0], rootfs_fd, usr_links[i][1] + 1) < 0)
                        goto out;
        r = write_file(dir_fd, "config.json", runc_config);
out:
        if (rootfs_fd >= 0)
                close(rootfs_fd);
        close(dir_fd);
        return r;
}

static int open_runc(struct rival *rival)
{
        int at = 0;

        rival->name = "runc";
        if (make_folder(rival) < 0 || make_bundle(rival->folder) < 0) {
                left_out("runc", "its bundle can't be made");
                return -1;
        }
        if (asprintf(&rival->text[0], "cay-bench-%d", (int)getpid()) < 0) {
                rival->text[0] = NULL;
                return -1;
        }
        add(rival, &at, "runc");
        add(rival, &at, "run");
        add(rival, &at, "--bundle");
        add(rival, &at, rival->folder);
        add(rival, &at, rival->text[0]);
        if (run_quiet(rival->argv, 10000) != 0) {
                left_out("runc", "not installed, or it can't make a container here");
                return -1;
        }
        return 0;
}

/* tar of busybox alone, as bin/true, piped into `docker import`: no image can be pulled here. */
static int docker_import(void)
{
        char *const tar[] = { "tar", "-c", "--transform", "s,.*,bin/true,", "-P", "/bin/busybox", NULL };
        char *const import[] = { "docker", "import", "-", DOCKER_IMAGE, NULL };
        pid_t tar_pid, import_pid;
        int fds[2], status;
        double cpu_ms;

        if (pipe2(fds, O_CLOEXEC) < 0)
                return -1;
        if (spawn(tar, -1, fds[1], -1, &tar_pid) < 0) {
                close(fds[0]);
                close(fds[1]);
                return -1;
        }
        status = spawn(import, fds[0], -1, -1, &import_pid);
        close(fds[0]);
        close(fds[1]);
        if (status < 0) {
                rivals_wait_all(tar_pid, &cpu_ms);
                return -1;
        }
        return rivals_wait_all(import_pid, &cpu_ms) == 0 ? 0 : -1;
}

static int open_docker(struct rival *rival)
{
        char *const info[] = { "docker", "info", NULL };
        static const char *const words[] = { "docker",   "run",          "--rm", "--network",
                                             "none",     "--memory",     "256m", "--cpus",
                                             "0.5",      "--pids-limit", "50",   DOCKER_IMAGE,
                                             "/bin/true" };
        int at = 0;

        rival->name = "docker run";
        if (run_quiet(info, DOCKER_ANSWER_MS) != 0) {
                left_out("docker", "no Docker engine answers");
                return -1;
        }
        if (docker_import() < 0) {
                left_out("docker", "the engine answers, but takes no image");
                return -1;
        }
        rival->has_image = true;
        for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
                add(rival, &at, words[i]);
        if (run_quiet(rival->argv, 60000) != 0) {
                left_out("docker", "the engine answers, but can't run its image");
                return -1;
        }
        return 0;
}

int rivals_open(int which, const char *build, struct rival *rival)
{
        switch (which) {
        case RIVAL_SPAWN:
                return open_spawn(rival);
        case RIVAL_FLOOR:
                return open_floor(build, rival);
        case RIVAL_CAY:
                return open_cay(build, "cay run", rival);
        case RIVAL_BUBBLEWRAP:
                return open_bubblewrap(build, rival);
        case RIVAL_BARE:
                return open_bare(rival);
        case RIVAL_RUNC:
                return open_runc(rival);
        case RIVAL_DOCKER:
                return open_docker(rival);
        default:
                return -1;
        }
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
        (void)st;
        (void)type;
        (void)ftw;
        return remove(path);
}

void rivals_close(struct rival *rival)
{
        char *const remove_image[] = { "docker", "image", "rm", "-f", DOCKER_IMAGE, NULL };

        if (rival->has_image)
                run_quiet(remove_image, 30000);
        if (rival->folder)
                nftw(rival->folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
        free(rival->folder);
        free(rival->text[0]);
        free(rival->text[1]);
        free(rival->text[2]);
        rival->folder = rival->text[0] = rival->text[1] = rival->text[2] = NULL;
        rival->has_image = false;
}

static void print_cpu(void)
{
        char line[512];
        FILE *f;

        f = fopen("/proc/cpuinfo", "re");
        while (f && fgets(line, sizeof(line), f)) {
                char *colon = strchr(line, ':');

                if (strncmp(line, "model name", 10) == 0 && colon) {
                        colon[strcspn(colon, "\n")] = '\0';
                        printf("%s", colon + 2);
                        break;
                }
        }
        if (f)
                fclose(f);
}

void rivals_print_machine(int runs)
{
        time_t now = time(NULL);
        struct utsname u;
        struct tm tm;
        double load = -1;
        char date[32];

        getloadavg(&load, 1);
        uname(&u);
        gmtime_r(&now, &tm);
        strftime(date, sizeof(date), "%Y-%m-%d", &tm);
        printf("Machine: ");
        print_cpu();
        printf(", %ld cores, Linux %s, %s; load average %.1f before; %d rounds, taken in turns\n\n",
               sysconf(_SC_NPROCESSORS_ONLN), u.release, date, load, runs);
}

void rivals_print_command(const struct rival *rival)
{
        printf("%s: `", rival->name);
        for (int i = 0; rival->argv[i]; i++)
                printf("%s%s", i ? " " : "", rival->argv[i]);
        printf("`\n");
}
