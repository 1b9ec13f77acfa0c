/* SPDX-License-Identifier: Apache-2.0 */
/* Where this program's siblings are. */
#include "cli/programs.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

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
