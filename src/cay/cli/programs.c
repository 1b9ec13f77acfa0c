/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the other programs of Cay. */
#include "cay/cli/programs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "foundation/base/cleanup.h"

#define WORDS_MAX 256

int cay_cli_find_programs(char *dir, size_t size, struct cay_error *err)
{
        char exe[PATH_MAX], probe[PATH_MAX];
        ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
        char *slash;

        if (n < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "find this program");
        exe[n] = '\0';
        slash = strrchr(exe, '/');
        *slash = '\0';
        for (unsigned i = 0; i < 2; i++) {
                if (snprintf(dir, size, "%s%s", exe, i == 0 ? "" : "/../lib/cay") >= (int)size ||
                    snprintf(probe, sizeof(probe), "%.*s/cay-init", PATH_MAX - 16, dir) >= (int)sizeof(probe))
                        break;
                if (access(probe, X_OK) == 0)
                        return 0;
        }
        return cay_fail(err, CAY_UNAVAILABLE, "cay-init is neither in %.100s nor in ../lib/cay", exe);
}

int cay_cli_become_front(int argc, char **argv, struct cay_error *err)
{
        char dir[PATH_MAX], path[PATH_MAX + 16];
        char *words[WORDS_MAX + 2] = { (char *)"cay-front" };

        if (argc > WORDS_MAX)
                return cay_fail(err, CAY_INVALID, "too many words");
        if (cay_cli_find_programs(dir, sizeof(dir), err) < 0)
                return -1;
        for (int i = 0; i < argc; i++)
                words[i + 1] = argv[i];
        snprintf(path, sizeof(path), "%s/cay-front", dir);
        execv(path, words);
        return cay_fail_sys(err, CAY_UNAVAILABLE, -errno, "start %.200s", path);
}

static void become_maker(const char *dir, const char *secret, int out)
{
        char path[PATH_MAX + 16], variable[512];
        char *words[] = { (char *)"cay-front", (char *)"token", (char *)"--from-env", NULL };
        char *env[] = { variable, NULL };

        snprintf(path, sizeof(path), "%s/cay-front", dir);
        snprintf(variable, sizeof(variable), "SANDBOX_TOKEN_SECRET=%s", secret);
        if (dup2(out, STDOUT_FILENO) >= 0)
                execve(path, words, env);
        _exit(127);
}

/* Reads to the end and adds a NUL; -1: too long. */
static ssize_t read_all(int fd, char *ret, size_t size)
{
        size_t len = 0;
        ssize_t n;

        while (len + 1 < size) {
                n = read(fd, ret + len, size - 1 - len);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        break;
                len += (size_t)n;
        }
        ret[len] = '\0';
        return len + 1 < size ? (ssize_t)len : -1;
}

int cay_cli_make_token(const char *secret, char *ret, size_t size, struct cay_error *err)
{
        cay_auto_close int from = -1;
        char dir[PATH_MAX];
        int ends[2], status = 0;
        ssize_t n;
        pid_t pid;

        if (cay_cli_find_programs(dir, sizeof(dir), err) < 0)
                return -1;
        if (pipe2(ends, O_CLOEXEC) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make a pipe");
        pid = fork();
        if (pid == 0)
                become_maker(dir, secret, ends[1]);
        close(ends[1]);
        from = ends[0];
        if (pid < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "start cay-front");
        n = read_all(from, ret, size);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                ;
        if (n <= 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
                return cay_fail(err, CAY_INVALID, "SANDBOX_TOKEN_SECRET: cannot make a token from it");
        return 0;
}
