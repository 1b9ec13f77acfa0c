/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the ops for computer use share: a connection to the desktop of a sandbox for one call, and input as a
 * list of steps with pauses. Programs need time between a move, a press and a release, or they take a click
 * for something else.
 *
 * An input that has begun is finished even if its caller goes, or a key could stay pressed.
 */
#pragma once

#include "domain/desktop/picture.h"
#include "domain/desktop/rfb.h"
#include "domain/ops/desktop_use.h"

enum {
        CAY_BUTTON_LEFT = 1,
        CAY_BUTTON_MIDDLE = 2,
        CAY_BUTTON_RIGHT = 4,
        CAY_WHEEL_UP = 8,
        CAY_WHEEL_DOWN = 16,
        CAY_WHEEL_LEFT = 32,
        CAY_WHEEL_RIGHT = 64
};

enum cay_input_kind { CAY_INPUT_POINTER, CAY_INPUT_KEY };

struct cay_input {
        enum cay_input_kind kind;
        uint32_t keysym; /* KEY */
        bool down;
        unsigned buttons, x, y; /* POINTER */
        unsigned pause_ms;      /* after it */
};

#define CAY_INPUTS_MAX (64u * 1024)

struct cay_computer { /* first member of an op's state, which it frees */
        struct cay_desktop_use use;
        struct cay_rfb rfb;
        struct cay_op_call *call; /* NULL: answered */
        /* The desktop is there, and its size is known. */
        void (*on_ready)(struct cay_computer *m);
        void (*on_news)(struct cay_computer *m);   /* the server has sent something; may be NULL */
        void (*on_inputs)(struct cay_computer *m); /* all steps were sent */
        void (*on_lost)(
                struct cay_computer *m); /* in place of a failure, where that is an answer too; may be NULL */
        void (*done)(struct cay_computer *m); /* frees the rest of the state; may be NULL */
        struct cay_timer pause, deadline;
        struct cay_deferred release;
        struct cay_budget_owner *budget; /* NULL: not counted */
        char owner[CAY_OWNER_MAX + 1];
        struct cay_input *inputs; /* owned */
        unsigned input_count, input_room, input_at;
        bool is_ready, has_seat, awaits_sync, is_over;
};

/*
 * A state of `size` bytes that begins with a struct cay_computer, for a call with the sandbox `id`. The op
 * sets on_ready and what else it needs, and goes on. NULL: the call was answered.
 */
void *cay_computer_new(struct cay_op_call *c, size_t size);
void cay_computer_begin(struct cay_computer *m, const char *sandbox);
/* Ends it and returns the call, which still has to be answered; NULL: its caller has gone. */
struct cay_op_call *cay_computer_finish(struct cay_computer *m);
void cay_computer_fail(struct cay_computer *m, const struct cay_error *err);
void cay_computer_send(struct cay_computer *m); /* what the RFB client has to say */

/* Steps; -1: too many, or no memory. */
int cay_computer_add(struct cay_computer *m, const struct cay_input *input);
int cay_computer_add_pointer(struct cay_computer *m, unsigned buttons, unsigned x, unsigned y,
                             unsigned pause_ms);
int cay_computer_add_key(struct cay_computer *m, uint32_t keysym, bool down, unsigned pause_ms);
/* Sends them; on_inputs follows. Fails the call with CAY_CONFLICT while a person uses the desktop. */
void cay_computer_play(struct cay_computer *m);
