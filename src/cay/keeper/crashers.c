/* SPDX-License-Identifier: Apache-2.0 */
/* Counts requests that crash fronts. */
#include "cay/keeper/crashers.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "foundation/base/cleanup.h"
#include "foundation/base/log.h"

static int make_memory(void)
{
        cay_auto_close int fd = memfd_create("cay-crashers", MFD_CLOEXEC | MFD_ALLOW_SEALING);

        if (fd < 0 || ftruncate(fd, sizeof(struct cay_hand_crashers)) < 0 ||
            fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW) < 0)
                return -errno;
        return cay_take_fd(fd);
}

static bool is_refused(const struct cay_crashers *t, unsigned i, uint64_t now_ms)
{
        return t->rows[i].strikes >= CAY_CRASHERS_STRIKES &&
               now_ms - t->rows[i].last_ms < CAY_HAND_REFUSED_MS;
}

int cay_crashers_before_front(struct cay_crashers *t, uint64_t now_ms)
{
        struct cay_hand_crashers say = { .magic = CAY_HAND_MAGIC, .size = sizeof(say) };
        unsigned count = 0;

        if (t->fd <= 0) {
                int fd = make_memory();

                if (fd < 0)
                        return fd;
                t->fd = fd;
        }
        for (unsigned i = 0; i < CAY_CRASHERS_MAX && count < CAY_HAND_REFUSED_MAX; i++)
                if (is_refused(t, i, now_ms))
                        say.refused[count++] = t->rows[i].key;
        return pwrite(t->fd, &say, sizeof(say), 0) == (ssize_t)sizeof(say) ? 0 : -EIO;
}

static bool is_crash(int status)
{
        if (WIFSIGNALED(status)) /* signals that a program's own bug causes */
                return WTERMSIG(status) == SIGSEGV || WTERMSIG(status) == SIGBUS ||
                       WTERMSIG(status) == SIGABRT || WTERMSIG(status) == SIGILL ||
                       WTERMSIG(status) == SIGFPE || WTERMSIG(status) == SIGTRAP ||
                       WTERMSIG(status) == SIGSYS;
        return WIFEXITED(status) && WEXITSTATUS(status) == CAY_HAND_DENIED;
}

/* The row of a key; if there is none, the oldest row. */
static unsigned find_row(const struct cay_crashers *t, uint64_t key)
{
        unsigned oldest = 0;

        for (unsigned i = 0; i < CAY_CRASHERS_MAX; i++) {
                if (t->rows[i].key == key)
                        return i;
                if (t->rows[i].last_ms < t->rows[oldest].last_ms)
                        oldest = i;
        }
        return oldest;
}

void cay_crashers_on_end(struct cay_crashers *t, int status, uint64_t now_ms)
{
        struct cay_hand_crashers said;
        unsigned i;

        if (t->fd <= 0 || !is_crash(status) ||
            pread(t->fd, &said, sizeof(said), 0) != (ssize_t)sizeof(said) || said.key == 0)
                return;
        said.text[sizeof(said.text) - 1] = '\0';
        for (char *c = said.text; *c; c++) /* it goes to a log, and the front is not trusted */
                if (*c < ' ' || *c > '~')
                        *c = '?';
        i = find_row(t, said.key);
        if (t->rows[i].key != said.key || now_ms - t->rows[i].last_ms >= CAY_HAND_REFUSED_MS)
                t->rows[i].strikes = 0;
        t->rows[i].key = said.key;
        t->rows[i].last_ms = now_ms;
        t->rows[i].strikes++;
        if (is_refused(t, i, now_ms))
                cay_log_error("requests that ended the front again are refused for a while",
                              "what=%s strikes=%u", said.text, t->rows[i].strikes);
        else
                cay_log_error("the front ended at a request", "what=%s", said.text);
}

void cay_crashers_done(struct cay_crashers *t)
{
        if (t->fd > 0)
                close(t->fd);
        t->fd = 0;
}
