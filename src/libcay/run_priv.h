/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run's state, shared by the files of lib/run: run.c (the flow), run_exec.c (the command), run_io.c (its
 * streams), run_changes.c (what it changed).
 */
#pragma once

#include "links/box/box_client.h"
#include "links/box/box_client_end.h"
#include "links/box/box_client_user.h"
#include "foundation/base/buf.h"
#include "domain/model/user.h"
#include "engines/helper_client/link.h"
#include "libcay/run.h"
#include "foundation/loop/loop.h"
#include "links/helper/steps.h"

#define CAY_RUN_CREATE_MS 30000 /* the engine makes a box, and the command starts, within this */
#define CAY_RUN_DESTROY_MS 30000
#define CAY_RUN_DRAIN_MS 200  /* past the wall limit: what is still on its way is taken in, read or not */
#define CAY_RUN_GRACE_MS 1000 /* past that: the box is ended from outside */
#define CAY_RUN_HELD_MAX (4u * CAY_BOX_WINDOW)

enum cay_run_step { /* what the shell of the box waits for */
                    CAY_RUN_CREATING,
                    CAY_RUN_RUNNING, /* the engine is done; the command's end comes next */
                    CAY_RUN_DESTROYING,
                    CAY_RUN_FLUSHING, /* nothing is left but output that nobody took yet */
                    CAY_RUN_OVER,
};

/* What an engine borrows until its job is finished: outlives a run that is given up. */
struct cay_run_shell {
        struct cay_job job;
        struct cay_spec spec;
        struct cay_engine_box box;
        struct cay_run *run; /* NULL: given up, freed by the job's end */
        bool busy;
};

struct cay_run_stream {
        struct cay_buf held; /* output that on_output has not taken; max is 0 until something is held */
        size_t unacked;      /* of what is held, the part the box may not refill yet */
};

struct cay_run_input {
        struct cay_watch watch;
        int fd;        /* borrowed; -1: none, or at its end */
        bool in_turns; /* cannot be watched: read whenever there is room */
        uint8_t *rest; /* owned: read, but not taken by the channel */
        size_t rest_at, rest_len;
};

#define CAY_RUN_TAIL 4096u

struct cay_run_network { /* all zero or -1 without one */
        char *tail;      /* owned; without one: the last output, CAY_RUN_TAIL bytes twice */
        size_t tail_len;
        bool is_over_quota;
        struct engine_link link; /* to cay-net */
        struct engine_call hello, add;
        int policy_fd; /* sealed memory */
};

struct cay_run {
        struct cay_run_options o;
        struct cay_loop *loop;
        const struct cay_engine_ops *ops;
        struct cay_engine *engine;     /* owned */
        struct cay_run_shell *shell;   /* owned */
        struct cay_box_client *client; /* owned */
        struct cay_box_channel exec, changes;
        struct cay_box_lookup lookup;
        struct cay_user user;
        enum cay_run_step step;
        struct cay_timer step_timer, exec_timer, gone_timer, changes_timer;
        uint64_t changes_until_ms;
        struct cay_deferred over;
        struct cay_run_input input;
        struct cay_run_stream streams[2]; /* OUT, ERR */
        struct cay_run_network network;

        bool ended;             /* END came */
        bool leaving;           /* the box is to be destroyed as soon as it can be */
        bool changes_whole;     /* the change set is in changes_fd */
        bool changes_sparse;    /* that is an empty file: zeros need not be written */
        bool draining;          /* output is acknowledged at once, so that the end comes through */
        bool drop_output;       /* nobody wants it any more */
        uint64_t received;      /* output bytes of both streams */
        uint64_t gone_received; /* as that was when the end was last waited for */
        int asked;              /* signal that ended the run; 0: none */
        struct cay_cause_facts facts;
        struct cay_box_facts end; /* what init said; `facts` points into it */
        struct cay_run_result result;
        struct cay_steps steps;   /* reached in this process, outside the engine */
        struct cay_error failure; /* code CAY_OK: there was a run */
};

/* run.c */
void cay_run_leave(struct cay_run *run); /* on to destroying, now or when the engine is done creating */
void cay_run_fail(struct cay_run *run, const struct cay_error *err); /* the same, with no result to tell */
void cay_run_lost(struct cay_run *run);                              /* the box went away without an END */
void cay_run_finish_if_flushed(struct cay_run *run);

/* run_exec.c */
int cay_run_check_command(const struct cay_run_options *o,
                          struct cay_error *err);               /* before anything is made */
int cay_run_attach(struct cay_run *run, struct cay_error *err); /* the link is there: talk to init */
void cay_run_detach(struct cay_run *run);                       /* no more events from the box */

/* run_changes.c */
bool cay_run_wants_changes(const struct cay_run *run);
/*
 * The command has ended: asks for what it changed. False: there is nothing to wait for; else cay_run_leave
 * follows.
 */
bool cay_run_changes_begin(struct cay_run *run);
void cay_run_changes_stop(struct cay_run *run); /* leaving: what has not come does not come any more */
/* The caller ends the run: lets the command's END (and so its changes) come, for a moment. False: no need. */
bool cay_run_changes_await(struct cay_run *run);

/* run_network.c */
int cay_run_network_prepare(struct cay_run *run,
                            struct cay_error *err); /* the policy; nothing is made on failure */
int cay_run_network_open(struct cay_run *run, struct cay_error *err); /* starts cay-net */
int cay_run_network_attach(struct cay_run *run,
                           struct cay_error *err); /* the box is there: its sockets go to cay-net */
void cay_run_network_note(struct cay_run *run, const void *bytes, size_t len); /* output */
void cay_run_network_judge(struct cay_run *run);   /* fills facts and result of a command that has ended */
void cay_run_network_hang_up(struct cay_run *run); /* cay-net ends */
void cay_run_network_close(struct cay_run *run);   /* behind that: waits until it is gone */

/* run_io.c */
void cay_run_output(struct cay_run *run, enum cay_stream stream, const void *bytes, size_t len);
void cay_run_drain(struct cay_run *run);
void cay_run_drop_output(struct cay_run *run);
bool cay_run_is_flushed(const struct cay_run *run);
void cay_run_input_begin(struct cay_run *run);
void cay_run_input_room(struct cay_run *run);
void cay_run_io_done(struct cay_run *run);
