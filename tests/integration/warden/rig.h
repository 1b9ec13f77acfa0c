/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A front for tests of the real warden: starts it with a small init of the tests' own, sends requests (any
 * bytes), reads answers with a deadline, and talks to the init inside. Every test begins with rig_set_up and
 * ends with rig_tear_down, which fails when anything is left on the machine.
 */
#pragma once

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "foundation/base/cleanup.h"
#include "foundation/base/error.h"
#include "patience.h"
#include "links/helper/message.h"

#define RIG_WAIT_MS ((int)test_patience(10000))

struct rig {
        int sock;
        pid_t pid;
        uint32_t seq;
        unsigned can_hold; /* after hello */
};

struct rig_box {
        char id[CAY_NAME_MAX + 1];
        int link; /* stream to its init */
        unsigned skipped;
};

/* Group fixtures: the folder with the programs. Skips everything (77) when there is no root. */
int rig_group_set_up(void **state);
int rig_group_tear_down(void **state);
int rig_set_up(void **state);
int rig_tear_down(void **state);

/* `prepare` runs in the warden's process before it is executed; NULL: nothing. */
void rig_start(struct rig *rig, void (*prepare)(void));
void rig_start_raw(struct rig *rig, void (*prepare)(void)); /* without the hello */
int rig_start_kept(struct rig *rig);              /* "cay-warden keep", greeted; returns the keeper's end */
void rig_next_front(struct rig *rig, int keeper); /* the rig becomes the next front, and greets */
void rig_say(int keeper, uint32_t type, uint32_t nr, int fd); /* as the keeper; fd -1: none */
struct wire_kept rig_hear(int keeper);                        /* what the warden answers it */
void rig_stop(struct rig *rig);    /* closes the link and waits for the warden to be gone */
void rig_kill(struct rig *rig);    /* SIGKILL */
void rig_abandon(struct rig *rig); /* like stop, for the end of a test that failed */
bool rig_ends(struct rig *rig);    /* the warden ends by itself within the deadline */
void rig_own_mounts(void);         /* for prepare: a private mount namespace */
const char *rig_folder(void);      /* for files of a test; removed with all it holds */

struct wire_request rig_request(struct rig *rig, uint32_t type);
void rig_send(struct rig *rig, const struct wire_request *req, const int *fds, unsigned count);
bool rig_receive(struct rig *rig, struct wire_answer *a, int ms); /* false: nothing came, or the link ended */
/* Sends, and waits for the answer with the same number; others (news) are passed over. */
struct wire_answer rig_ask(struct rig *rig, struct wire_request *req, const int *fds, unsigned count);
struct wire_answer rig_ask_box(struct rig *rig, uint32_t type, const char *id);
bool rig_news(struct rig *rig, const char *id, int ms); /* box_gone of this box comes */

/* A small plan with every limit; change it and make it. */
struct wire_plan rig_plan(const char *id);
/* Makes a box; fds after the link: rootfs, workspace (-1: not given). The answer says whether it worked. */
struct wire_answer rig_make(struct rig *rig, const struct wire_plan *plan, int rootfs, int workspace,
                            struct rig_box *box);
/* The same for one with a way out, whose sockets go to `network`. */
struct wire_answer rig_make_network(struct rig *rig, const struct wire_plan *plan, int rootfs, int network,
                                    struct rig_box *box);
/* The request was answered with OK, or the test fails with its text. */
void rig_must(struct wire_answer a);
/* This plan is refused with this code and a word of the text; the warden lives on. */
void rig_refused(struct rig *rig, const struct wire_plan *plan, int rootfs, int workspace, unsigned code,
                 const char *word);
void rig_must_make(struct rig *rig, const char *id, struct rig_box *box);

/*
 * One line to the init inside; its answer, or RIG_NOBODY when none came. The text is good until the next
 * call.
 */
#define RIG_NOBODY "(nobody)"
const char *rig_tell(struct rig_box *box, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void rig_box_close(struct rig_box *box);

/* A folder as an image: made empty in the rig's folder. */
int rig_image(const char *name);
