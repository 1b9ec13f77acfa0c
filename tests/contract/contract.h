/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the contract's files share. A test is given a subject: one engine, opened anew; boxes and commands are
 * made on it with the few verbs below, which stop the test when what must work does not. Afterwards what is
 * left in this process is compared: descriptors, children, scratch folders (subject.c).
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "foundation/base/buf.h"
#include "foundation/base/clock.h"
#include "foundation/base/str.h"
#include "links/box/box_client.h"
#include "domain/model/port_engine.h"
#include "foundation/loop/loop.h"

#define WAIT_MS 60000

/* How an engine's boxes are told to do a thing: real ones have a shell, the fake has words of its own. */
struct kind {
        const struct cay_engine_ops *ops;
        bool is_fake, needs_root;
        /* run when asked for by name: CAY_CONTRACT_ENGINE=docker, with a Docker and an image */
        bool needs_docker;
        bool has_agent; /* boxes are made by an agent that dials in (agent.c) */
        /* as the daemon has it: boxes outlive the engine; native's layers may outlive their boxes */
        bool has_keeper;
};

struct leftovers {
        unsigned fds, children, scratch;
};

/*
 * Boxes and execs are static: a test that fails in the middle leaves them to teardown, which cleans up after
 * it.
 */
#define BOXES_MAX 4

/* A box belongs to somebody, and is on a machine where there are several. */
#define SUBJECT_OWNER "contract"
#define SUBJECT_MACHINE "desk"

struct agent_rig;
struct box;

struct subject {
        const struct kind *kind;
        struct cay_loop *loop;
        struct cay_engine *engine;
        struct leftovers before;
        char gone[CAY_NAME_MAX + 1];
        struct box *boxes[BOXES_MAX]; /* attached ones */
        unsigned listed;
        char last_listed[CAY_NAME_MAX + 1];
        pid_t helper; /* has_keeper: ours */
        int keeper;
        char layers[32];       /* folder; "": it needs none */
        struct agent_rig *rig; /* has_agent */
};

struct box {
        struct subject *s;
        struct cay_spec spec;
        struct cay_engine_box box;
        struct cay_box_client *client;
        bool lost;
};

struct exec {
        struct cay_box_channel ch;
        struct box *box;
        struct cay_buf out, err;
        struct cay_box_end end;
        bool opened, ended, hold;
        uint64_t cut_every; /* the link is cut each time so many bytes came; 0: never */
        uint64_t cut_at;
        unsigned cuts;
};

enum task {
        EXIT_0,
        EXIT_7,
        ECHO,
        WARN,
        CAT,
        WAIT,
        COUNT
}; /* that every engine can be told, see words() in boxes.c */

/* subject.c */
int setup(void **state);
int teardown(void **state);
struct subject *subject(void **state); /* of a test: its first words */
struct leftovers look(void);           /* what there is now */
void wait_for(struct subject *s, const bool *flag);

/* agent.c */
void open_remote_engine(struct subject *s);
void close_remote_engine(struct subject *s);

/* boxes.c: a job */
void prepare_job(struct cay_job *job);
enum cay_code job_result(struct subject *s, struct cay_job *job);

/* A box; create and the like wait, and give how it ended */
void prepare_box(struct subject *s, struct box *b, const char *id);
enum cay_code create(struct box *b);
void attach(struct box *b, const uint8_t *secret);
void make_box(struct subject *s, struct box *b, const char *id);
enum cay_code relink(struct box *b);
enum cay_code stop(struct box *b);
enum cay_code destroy(struct box *b);
void detach(struct box *b);
unsigned listed(struct subject *s);

/* A command in it */
void begin_channel(struct box *b, struct exec *e, const struct cay_box_open *open,
                   const char *const *argv); /* argv: of commands */
void begin_command(struct box *b, struct exec *e, const char *const *argv, unsigned flags);
void begin_exec(struct box *b, struct exec *e, enum task task, unsigned flags);
void end_exec(struct exec *e);
int exit_of(struct box *b, enum task task);
void run_ok(struct box *b, const char *line);

/* Every promise is a test of its own: promises.def */
#define PROMISE(name, not_by) void name(void **state);
#include "contract/promises.def"
#undef PROMISE
