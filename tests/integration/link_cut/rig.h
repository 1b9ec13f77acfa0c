/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A real box of the native engine, the front's end of its link, and the ways to cut that link. One rig per
 * test; what a test that failed in the middle left is cleaned up by rig_close, which then compares what is on
 * the machine with before.
 */
#pragma once

#include "links/box/box_client.h"
#include "domain/model/port_engine.h"
#include "integration/link_cut/relay.h"

enum cut {           /* how a link is lost */
           CUT_DROP, /* the front lets go, init finds the end of the stream */
           /* the engine gives init another stream while the front still holds and reads the old one */
           CUT_RELINK,
           CUT_BREAK, /* both find it broken */
           /*
            * dropped, and the next stream breaks by itself after a random number of bytes, anywhere in a
            * frame
            */
           CUT_WIRE,
           CUT_COUNT
};

struct usage {              /* of one process */
        uint64_t memory_kb; /* VmRSS */
        unsigned fds;
};

enum { PROCESS_FRONT, PROCESS_WARDEN, PROCESS_INIT, PROCESS_COUNT };

struct rig {
        struct cay_loop *loop;
        struct cay_engine *engine;
        struct cay_engine_box box;
        struct cay_box_client *client;
        int workspace_fd, spy_fd; /* spy_fd: the stream that is attached, once more */
        char workspace[64];
        struct relay wire;
        uint64_t random;
        uint64_t wire_next[2]; /* limits of the next stream, 0: no wire in between */
        unsigned cuts;         /* streams lost that had been attached */
        bool is_attached;      /* a stream was given and not yet counted as lost */
        int lost_reason;
        /* found in a callback, where a test can't fail: the loop would stay inside its round */
        const char *fault;
        unsigned welcomes, welcomes_before; /* before: when the stream was attached */
        struct cay_box_welcome welcome;     /* the last one */
        pid_t pids[PROCESS_COUNT];
        uint64_t until_ms; /* every test's deadline */
};

bool rig_is_sanitized(void);
void rig_prepare(struct rig *r);             /* looks at the machine; rig_close must follow */
void rig_open(struct rig *r, uint64_t seed); /* makes the box; as root */
int rig_close(struct rig *r);                /* 0, or -1: something is left, named on stderr */
void rig_round(struct rig *r);               /* a round of the loop; fails the test when its time is over */
void rig_rounds(struct rig *r, unsigned ms);
void rig_wait(struct rig *r, const bool *flag);

void rig_cut(struct rig *r, enum cut how); /* afterwards there may be no stream: rig_mend */
void rig_mend(struct rig *r);              /* asks the engine for a stream if there is none */
void rig_settle(struct rig *r); /* a fresh stream with nothing in between, and init has greeted on it */
void rig_await_welcome(struct rig *r); /* of the stream that is attached now, if it was attached just now */
void rig_await_read(struct rig *r);    /* init has read all that was said */
void rig_through_wire(struct rig *r, uint64_t to_init,
                      uint64_t to_front); /* the link goes on through the wire */
void rig_restart_front(struct rig *r);    /* all that the front knew is gone but the box's secret */

void rig_exec(struct rig *r, struct cay_box_channel *ch, unsigned flags, const char *const *argv);
const char *rig_program(void); /* this test program, as seen inside the box */
struct usage rig_usage(const struct rig *r, unsigned process);
