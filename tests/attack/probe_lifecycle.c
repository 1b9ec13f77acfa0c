/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes of ends: what refuses to end, what outlives its end, and output without end (security.md 2.1 and
 * 2.5).
 */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* None of these ends by itself: the wall clock outside must. */
static int forever(void)
{
        for (;;)
                pause();
        return PROBE_USAGE;
}

static int stop_self(char **argv)
{
        kill(getpid(), SIGSTOP);
        return forever();
}

static int stop_all(char **argv)
{
        if (fork() == 0)
                forever();
        kill(1, SIGSTOP);
        kill(-1, SIGSTOP);
        kill(getpid(), SIGSTOP);
        return forever();
}

static int ignore_signals(char **argv)
{
        for (int s = 1; s < 65; s++)
                signal(s, SIG_IGN);
        return forever();
}

static int spin(char **argv)
{
        for (volatile unsigned long i = 0;; i++)
                ;
        return PROBE_USAGE;
}

/* Everybody but ourselves dies, and process 1 goes on to tell how we ended. */
static int kill_everybody(char **argv)
{
        int status;
        pid_t pid = fork();

        if (pid == 0)
                forever();
        kill(-1, SIGKILL);
        if (waitpid(pid, &status, 0) != pid || !probe_was_killed(status, SIGKILL))
                return broke("our own child lives");
        if (kill(1, 0) < 0 && errno == ESRCH)
                return broke("process 1 is gone");
        return held("process 1 lives");
}

/*
 * daemonize SECONDS: a grandchild in a session of its own, with our name and argument for the host to find.
 */
static int daemonize(char **argv)
{
        long seconds = probe_number(argv, 1, 30);
        pid_t pid = fork();

        if (pid == 0) {
                setsid();
                if (fork() != 0)
                        _exit(0);
                for (int fd = 0; fd < 3; fd++)
                        close(fd);
                for (int s = 1; s < 32; s++)
                        signal(s, SIG_IGN);
                probe_nap_ms(seconds * 1000);
                _exit(0);
        }
        waitpid(pid, NULL, 0);
        return held("the daemon is on its way");
}

static int sleeps(char **argv)
{
        printf("READY\n");
        fflush(stdout);
        probe_nap_ms(probe_number(argv, 1, 60) * 1000);
        return held("slept");
}

/* flood MIB KIND [stderr]: text, line (no newline), nul, utf8 (broken), escape. */
static int flood(char **argv)
{
        static const struct {
                const char *kind, *text;
                size_t len;
        } kinds[] = {
                { "text", "all work and no play\n", 21 },
                { "line", "xxxxxxxxxxxxxxxx", 16 },
                { "nul", "\0\0\0\0\0\0\0\0", 8 },
                { "utf8", "\xff\xfe\xc0\x80\xed\xa0\x80\xf8", 8 },
                { "escape", "\033]0;x\007\033[2J\"\\", 13 },
        };
        long left = probe_number(argv, 1, 1) << 20;
        const char *kind = probe_text(argv, 2);
        int fd = argv[3] && strcmp(argv[3], "stderr") == 0 ? 2 : 1;
        static char block[65536 / 13 * 13];
        size_t size = 0;

        for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
                if (strcmp(kind, kinds[i].kind) != 0)
                        continue;
                for (; size + kinds[i].len <= sizeof(block); size += kinds[i].len)
                        memcpy(block + size, kinds[i].text, kinds[i].len);
        }
        if (!size)
                return PROBE_USAGE;
        while (left > 0) {
                ssize_t n = write(fd, block, size);

                if (n < 0)
                        return 4;
                left -= n;
        }
        return 0;
}

const struct probe probes_lifecycle[] = {
        { "stop_self", stop_self },
        { "stop_all", stop_all },
        { "ignore_signals", ignore_signals },
        { "spin", spin },
        { "kill_everybody", kill_everybody },
        { "daemonize", daemonize },
        { "sleeps", sleeps },
        { "flood", flood },
        { NULL, NULL },
};
