/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's terminal: questions that rules ask, and the key that stops everything.
 *
 * Theory of operation. While the agent is in the foreground of a terminal, keys are read one by one and are
 * not shown. Questions are asked one after the other; each is answered with y (once), a (always) or n, or
 * refused when its time is over. What was typed before a question was shown, or too soon after to have read
 * it, does not answer it: a daemon chooses when it asks, and must not get the yes to another question. q
 * stops the agent and with it every sandbox, at any time, as Ctrl-C does. Without a terminal every question
 * is refused at once. In the background nothing is read, and the terminal is left as it is.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <termios.h>

#include "foundation/loop/loop.h"

#define AGENT_PROMPT_MS 25000u /* a daemon waits 30 seconds for a box */
#define AGENT_PROMPTS_MAX 16u
#define AGENT_PROMPT_READ_MS 700u /* so long a question takes to read, at least */

enum agent_reply { AGENT_NO, AGENT_ONCE, AGENT_ALWAYS };

struct agent_question { /* embedded in who asks */
        struct agent_question *next;
        const char *text; /* borrowed until the reply */
        void (*on_reply)(struct agent_question *q, enum agent_reply reply, const char *why_not);
        bool is_asked;
};

struct agent_prompt {
        struct cay_loop *loop;
        int fd;                                  /* the terminal; -1: there is none */
        void (*on_stop)(struct agent_prompt *p); /* q */
        struct agent_question *first;            /* the one that is shown, and those that wait */
        unsigned count;
        uint64_t shown_ms; /* when the first one was */
        struct cay_watch watch;
        struct cay_timer timer;
        struct termios was;
        bool is_raw;
};

/* fd: standard input. Not a terminal: questions are refused. */
void agent_prompt_open(struct agent_prompt *p, struct cay_loop *loop, int fd,
                       void (*on_stop)(struct agent_prompt *p));
/* on_reply follows once, perhaps inside this call. */
void agent_prompt_ask(struct agent_prompt *p, struct agent_question *q);
void agent_prompt_withdraw(struct agent_prompt *p, struct agent_question *q); /* no reply follows */
void agent_prompt_close(
        struct agent_prompt *p); /* gives the terminal back; questions that wait are refused */
