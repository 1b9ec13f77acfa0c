/* SPDX-License-Identifier: Apache-2.0 */
/* A `cay serve` of our own. See daemon.h. */

#include "daemon.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { START_MS = 10000, STOP_MS = 120000, TOLD_MAX = 8192 };

static int complain(const char *what)
{
        fprintf(stderr, "bench: daemon: %s\n", what);
        return -1;
}

enum { MORE_MAX = 16 };

static _Noreturn void become_keeper(const char *build, const char *folder, char *const *more, int out)
{
        char cay[PATH_MAX], data[PATH_MAX];
        char *argv[32 + MORE_MAX] = { "cay",
                                      "serve",
                                      "--data",
                                      data,
                                      "--listen",
                                      "127.0.0.1:0",
                                      "--rate-limit",
                                      "0",
                                      "--max-sandboxes",
                                      "4000",
                                      "--token-lifetime",
                                      "24h",
                                      "--log-level",
                                      "warn",
                                      "--max-connections-client",
                                      "1024",
                                      NULL };
        char *env[] = { "PATH=/usr/bin:/bin", NULL };
        int count = 0;

        while (argv[count])
                count++;
        for (int i = 0; more && more[i] && i < MORE_MAX - 1; i++)
                argv[count++] = more[i];
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        snprintf(cay, sizeof(cay), "%s/cay", build);
        snprintf(data, sizeof(data), "%s/data", folder);
        dup2(out, STDOUT_FILENO);
        execve(cay, argv, env);
        fprintf(stderr, "bench: start %s: %s\n", cay, strerror(errno));
        _exit(127);
}

/* Its port, out of what `cay serve` prints when it is ready. */
static int read_port(struct daemon *d, int fd)
{
        static const char at_port[] = "serves http://127.0.0.1:";
        char text[TOLD_MAX + 1] = "";
        size_t len = 0;
        char *port;

        while (!strstr(text, "/execute\n")) {
                struct pollfd p = { .fd = fd, .events = POLLIN };
                ssize_t n = poll(&p, 1, START_MS) == 1 && len < TOLD_MAX
                                    ? read(fd, text + len, TOLD_MAX - len)
                                    : -1;

                if (n <= 0)
                        return complain("it did not start; what it said is above");
                len += (size_t)n;
                text[len] = '\0';
        }
        port = strstr(text, at_port);
        if (!port)
                return complain("its words are not understood");
        d->port = (unsigned)atoi(port + strlen(at_port));
        return 0;
}

static _Noreturn void become_token_maker(const char *build, const char *folder, int out)
{
        char cay[PATH_MAX], data[PATH_MAX];
        char *argv[] = { "cay", "token", "--data", data, "--lifetime", "24h", NULL };
        char *env[] = { "PATH=/usr/bin:/bin", NULL };

        snprintf(cay, sizeof(cay), "%s/cay", build);
        snprintf(data, sizeof(data), "%s/data", folder);
        dup2(out, STDOUT_FILENO);
        execve(cay, argv, env);
        _exit(127);
}

/* A token, which `cay serve` prints to terminals alone. */
static int make_token(struct daemon *d, const char *build)
{
        int fds[2], status = -1;
        size_t len = 0;
        ssize_t n;
        pid_t pid;

        if (pipe2(fds, O_CLOEXEC) < 0)
                return complain(strerror(errno));
        pid = fork();
        if (pid == 0)
                become_token_maker(build, d->folder, fds[1]);
        close(fds[1]);
        while (len + 1 < sizeof(d->token) &&
               (n = read(fds[0], d->token + len, sizeof(d->token) - 1 - len)) > 0)
                len += (size_t)n;
        close(fds[0]);
        d->token[len] = '\0';
        d->token[strcspn(d->token, "\n")] = '\0';
        if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0 || !d->token[0])
                return complain("`cay token` does not make a token");
        return 0;
}

static void find_children(struct daemon *d)
{
        char path[64], comm[64];
        int pid, used = 0, at = 0;
        char list[4096] = "";
        FILE *f;

        snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)d->keeper, (int)d->keeper);
        f = fopen(path, "re");
        if (!f)
                return;
        list[fread(list, 1, sizeof(list) - 1, f)] = '\0';
        fclose(f);
        for (; sscanf(list + at, "%d%n", &pid, &used) == 1; at += used) {
                snprintf(path, sizeof(path), "/proc/%d/comm", pid);
                f = fopen(path, "re");
                if (f && fgets(comm, sizeof(comm), f)) {
                        if (strncmp(comm, "cay-front", 9) == 0)
                                d->front = pid;
                        else if (strncmp(comm, "cay-warden", 10) == 0)
                                d->warden = pid;
                }
                if (f)
                        fclose(f);
        }
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
        (void)st;
        (void)type;
        (void)ftw;
        return remove(path);
}

int daemon_start(struct daemon *d, const char *build)
{
        int r = daemon_start_with(d, build, NULL);

        return r == 0 && d->warden <= 0 ? complain("its warden is not found") : r;
}

int daemon_start_with(struct daemon *d, const char *build, char *const *more)
{
        const char *tmp = getenv("TMPDIR");
        int fds[2], r;

        memset(d, 0, sizeof(*d));
        snprintf(d->folder, sizeof(d->folder), "%s/cay-bench-XXXXXX", tmp ? tmp : "/tmp");
        if (!mkdtemp(d->folder)) {
                d->folder[0] = '\0';
                return complain("no folder for it");
        }
        if (pipe2(fds, O_CLOEXEC) < 0)
                return complain("no pipe");
        d->keeper = fork();
        if (d->keeper == 0)
                become_keeper(build, d->folder, more, fds[1]);
        close(fds[1]);
        r = d->keeper < 0 ? complain("fork") : read_port(d, fds[0]);
        close(fds[0]);
        if (r == 0)
                r = make_token(d, build);
        if (r == 0) {
                find_children(d);
                if (d->front <= 0)
                        r = complain("its processes are not found");
        }
        return r;
}

int daemon_stop(struct daemon *d)
{
        int status = -1, waited = 0;
        pid_t got = 0;

        if (d->keeper > 0) {
                kill(d->keeper, SIGTERM);
                for (; got == 0 && waited < STOP_MS; waited += 10) {
                        got = waitpid(d->keeper, &status, WNOHANG);
                        if (got == 0)
                                usleep(10000);
                }
                if (got == 0) {
                        kill(d->keeper, SIGKILL);
                        waitpid(d->keeper, &status, 0);
                }
        }
        if (d->folder[0])
                nftw(d->folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
        d->keeper = 0;
        return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : complain("it did not end well");
}

long daemon_field(const char *path, const char *key)
{
        char line[256];
        long value = -1;
        FILE *f = fopen(path, "re");

        while (f && fgets(line, sizeof(line), f))
                if (strncmp(line, key, strlen(key)) == 0)
                        value = atol(line + strlen(key));
        if (f)
                fclose(f);
        return value;
}

struct resident daemon_resident(pid_t pid)
{
        char path[64];

        snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
        return (struct resident){ .now = daemon_field(path, "VmRSS:"), .peak = daemon_field(path, "VmHWM:") };
}

void daemon_forget_peak(pid_t pid)
{
        char path[64];
        int fd;

        snprintf(path, sizeof(path), "/proc/%d/clear_refs", (int)pid);
        fd = open(path, O_WRONLY | O_CLOEXEC);
        if (fd < 0)
                return;
        if (write(fd, "5", 1) != 1)
                fprintf(stderr, "bench: the peak of process %d is the one since its start\n", (int)pid);
        close(fd);
}

long daemon_fds(pid_t pid)
{
        char path[64];
        long count = 0;
        DIR *dir;

        snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
        dir = opendir(path);
        if (!dir)
                return -1;
        while (readdir(dir))
                count++;
        closedir(dir);
        return count - 2;
}
