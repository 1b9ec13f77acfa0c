/* SPDX-License-Identifier: Apache-2.0 */
/* The attacker's main program and what all probes share. */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const struct probe *const tables[] = {
        probes_calls,     probes_control, probes_files,     probes_info,     probes_init,
        probes_lifecycle, probes_memory,  probes_namespace, probes_resource, probes_socket,
};

__attribute__((format(printf, 3, 0))) static int say(const char *word, int code, const char *fmt,
                                                     va_list args)
{
        char line[512];

        vsnprintf(line, sizeof(line), fmt, args);
        printf("%s %s\n", word, line);
        fflush(stdout);
        return code;
}

#define SAYS(name, word, code)                                                                               \
        int name(const char *fmt, ...)                                                                       \
        {                                                                                                    \
                va_list args;                                                                                \
                int r;                                                                                       \
                                                                                                             \
                va_start(args, fmt);                                                                         \
                r = say(word, code, fmt, args);                                                              \
                va_end(args);                                                                                \
                return r;                                                                                    \
        }

SAYS(held, "HELD", PROBE_HELD)
SAYS(broke, "BROKE", PROBE_BROKE)
SAYS(lacks, "LACKS", PROBE_LACKS)

long probe_number(char **argv, int index, long otherwise)
{
        for (int i = 0; i <= index; i++)
                if (!argv[i])
                        return otherwise;
        return strtol(argv[index], NULL, 0);
}

const char *probe_text(char **argv, int index)
{
        for (int i = 0; i <= index; i++) {
                if (!argv[i]) {
                        fprintf(stderr, "probe %s wants %d arguments\n", argv[0], index);
                        exit(PROBE_USAGE);
                }
        }
        return argv[index];
}

size_t probe_read(const char *path, char *buf, size_t size)
{
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        size_t have = 0;

        buf[0] = '\0';
        if (fd < 0)
                return 0;
        while (have < size - 1) {
                ssize_t n = read(fd, buf + have, size - 1 - have);

                if (n <= 0)
                        break;
                have += (size_t)n;
        }
        close(fd);
        buf[have] = '\0';
        return have;
}

bool probe_is_filtered(void)
{
        return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 2;
}

bool probe_is_watched(void)
{
        return getenv("CAY_ATTACK_WATCHED") != NULL;
}

bool probe_is_open(void)
{
        return getenv("CAY_ATTACK_OPEN") != NULL;
}

bool probe_was_killed(int status, int signal)
{
        return WIFSIGNALED(status) && WTERMSIG(status) == signal;
}

void probe_nap_ms(long ms)
{
        struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

        while (nanosleep(&t, &t) < 0 && errno == EINTR)
                ;
}

int probe_refused(const char *what, long result)
{
        int err = errno;

        if (result >= 0)
                return broke("%s worked", what);
        if (err == ENOSYS && !probe_is_filtered())
                return lacks("%s", what);
        if (err == ENOSYS || err == EPERM || err == EACCES)
                return held("%s: %s", what, strerror(err));
        return broke("%s was reached: %s", what, strerror(err));
}

int main(int argc, char **argv)
{
        for (size_t i = 0; argc >= 2 && i < sizeof(tables) / sizeof(tables[0]); i++)
                for (const struct probe *p = tables[i]; p->name; p++)
                        if (strcmp(p->name, argv[1]) == 0)
                                return p->run(argv + 1);
        if (argc == 2 && strcmp(argv[1], "--list") == 0) {
                for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
                        for (const struct probe *p = tables[i]; p->name; p++)
                                puts(p->name);
                return 0;
        }
        fprintf(stderr, "usage: probe NAME [ARGUMENT…]\n");
        return PROBE_USAGE;
}
