/* SPDX-License-Identifier: Apache-2.0 */
#include "cay-agent/prompt.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "foundation/base/clock.h"

static void show_first(struct agent_prompt *p);

/* Takes the first question off the list, then tells: who asked may ask the next one inside. */
static void reply(struct agent_prompt *p, enum agent_reply r, const char *why_not)
{
        struct agent_question *q = p->first;

        p->first = q->next;
        p->count--;
        cay_timer_clear(&p->timer);
        q->on_reply(q, r, why_not);
        show_first(p);
}

static void on_late(struct cay_timer *t)
{
        struct agent_prompt *p = cay_container_of(t, struct agent_prompt, timer);

        fprintf(stderr, "cay agent: nobody answered: no\n");
        reply(p, AGENT_NO, "nobody answered in the agent's terminal");
}

static bool is_in_front(const struct agent_prompt *p)
{
        return tcgetpgrp(p->fd) == getpgrp();
}

/* Keys that were pressed before the question answer nothing; one that stops everything does. */
static void drop_keys(struct agent_prompt *p)
{
        int left = 0;
        char key;

        if (!is_in_front(p) || ioctl(p->fd, FIONREAD, &left) < 0)
                return;
        for (; left > 0 && read(p->fd, &key, 1) == 1; left--)
                if (key == 'q')
                        p->on_stop(p);
}

static void show_first(struct agent_prompt *p)
{
        struct agent_question *q = p->first;

        if (!q || q->is_asked)
                return;
        drop_keys(p);
        q->is_asked = true;
        p->shown_ms = cay_clock_ms();
        fprintf(stderr,
                "cay agent: the daemon wants %s. Allow it? y once, a always, n no, q stop everything: ",
                q->text);
        fflush(stderr);
        cay_timer_set(p->loop, &p->timer, AGENT_PROMPT_MS, on_late);
}

static void take_key(struct agent_prompt *p, char key)
{
        static const struct {
                char key;
                enum agent_reply reply;
                const char *shown;
        } keys[] = { { 'y', AGENT_ONCE, "yes" }, { 'a', AGENT_ALWAYS, "always" }, { 'n', AGENT_NO, "no" } };

        if (key == 'q') {
                p->on_stop(p);
                return;
        }
        for (unsigned i = 0; p->first && i < sizeof(keys) / sizeof(keys[0]); i++) {
                if (keys[i].key != key)
                        continue;
                if (keys[i].reply != AGENT_NO && cay_clock_ms() - p->shown_ms < AGENT_PROMPT_READ_MS) {
                        fprintf(stderr, "(that was quick: once more) ");
                        return;
                }
                fprintf(stderr, "%s\n", keys[i].shown);
                reply(p, keys[i].reply, "the user of that machine said no");
                return;
        }
}

/* A terminal that somebody else uses now is left as it is. */
static void stop_reading(struct agent_prompt *p)
{
        cay_watch_remove(&p->watch);
        if (p->is_raw && is_in_front(p))
                tcsetattr(p->fd, TCSANOW, &p->was);
        p->is_raw = false;
        p->fd = -1;
}

/* One key at a time: each may answer another question. */
static void on_keys(struct cay_watch *w, uint32_t events)
{
        struct agent_prompt *p = cay_container_of(w, struct agent_prompt, watch);
        char key;
        ssize_t n = is_in_front(p) ? read(p->fd, &key, 1) : 0;

        (void)events;
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        if (n <= 0) { /* the terminal is gone, or is somebody else's now */
                stop_reading(p);
                while (p->first)
                        reply(p, AGENT_NO, "the agent has no terminal any more");
                return;
        }
        take_key(p, key);
}

void agent_prompt_open(struct agent_prompt *p, struct cay_loop *loop, int fd,
                       void (*on_stop)(struct agent_prompt *p))
{
        struct termios raw;

        *p = (struct agent_prompt){ .loop = loop, .fd = -1, .on_stop = on_stop };
        if (!isatty(fd) || tcgetpgrp(fd) != getpgrp() || tcgetattr(fd, &p->was) < 0)
                return;
        raw = p->was;
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        raw.c_cc[VMIN] = 1;
        raw.c_cc[VTIME] = 0;
        if (tcsetattr(fd, TCSANOW, &raw) < 0)
                return;
        /*
         * Moved to the background, the agent serves on instead of being stopped. The programs that it starts
         * are running.
         */
        signal(SIGTTIN, SIG_IGN);
        signal(SIGTTOU, SIG_IGN);
        p->fd = fd;
        p->is_raw = true;
        if (cay_watch_add(loop, &p->watch, fd, EPOLLIN, on_keys) < 0)
                stop_reading(p);
}

void agent_prompt_ask(struct agent_prompt *p, struct agent_question *q)
{
        struct agent_question **at = &p->first;

        q->next = NULL;
        q->is_asked = false;
        if (p->fd < 0 || p->count >= AGENT_PROMPTS_MAX) {
                q->on_reply(q, AGENT_NO,
                            p->fd < 0 ? "it needs a yes, and the agent has no terminal to ask in"
                                      : "too many questions wait in the agent's terminal");
                return;
        }
        while (*at)
                at = &(*at)->next;
        *at = q;
        p->count++;
        show_first(p);
}

void agent_prompt_withdraw(struct agent_prompt *p, struct agent_question *q)
{
        for (struct agent_question **at = &p->first; *at; at = &(*at)->next)
                if (*at == q) {
                        *at = q->next;
                        p->count--;
                        if (q->is_asked) {
                                fprintf(stderr, "not needed any more\n");
                                cay_timer_clear(&p->timer);
                                show_first(p);
                        }
                        return;
                }
}

void agent_prompt_close(struct agent_prompt *p)
{
        if (!p->loop)
                return;
        stop_reading(p);
        while (p->first)
                reply(p, AGENT_NO, "the agent stops");
        cay_timer_clear(&p->timer);
}
