/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Actions: what can be done with a page of a browser, a row each (actions.c): its name and its steps.
 *
 * Theory of operation. An action is a row of steps on one tab. A step is one call of CDP: it writes the
 * parameters, reads the answer, and says what follows: the next step, the same one again a little later (an
 * element that is not there yet), or waiting for an event. The engine (action.c) does all that steps have in
 * common: the browser is started, the tab found, every action has a deadline, a dialog, a crash, a closed tab
 * or the browser's end ends it with its own words, times are taken. Actions that change a page (input,
 * navigation) take turns on a tab, in the order in which they came; those that only look, wait, scroll or run
 * a script do not.
 *
 * Elements are found and aimed at by a script of ours (page.js) in a world of its own, in which the page's
 * own changes of JavaScript's objects do not count. A page can still lie about what it shows, as to any user.
 */
#pragma once

#include "domain/browser/browser.h"
#include "domain/browser/driver.h"
#include "foundation/base/field.h"
#include "foundation/base/json_out.h"

#define CAY_ACTION_TIMEOUT_MS 30000u
#define CAY_ACTION_TIMEOUT_MAX_MS 600000u
#define CAY_ACTION_STEPS_MAX 20u
#define CAY_ACTION_WORLD "Page.createIsolatedWorld"

struct cay_action;

/* Of any action; each row of domain/ops says which it takes. Texts are borrowed until it is done. */
struct cay_action_args {
        const char *id, *tab, *url, *target, *text, *keys, *expression, *until, *button, *format, *state, *go,
                *direction, *name, *value, *domain, *path, *same_site;
        struct cay_field_texts values; /* of a list, files */
        uint64_t timeout_ms, x, y, count, amount, quality, scale, limit, number, expires, delay_ms;
        bool has_x, has_y, clear, submit, full, landscape, accept, http_only, secure, only_visible;
};

enum cay_step_next {
        CAY_STEP_NEXT,
        CAY_STEP_SEND = CAY_STEP_NEXT, /* of `put` */
        CAY_STEP_SKIP,                 /* of `put`: the next one, without this call */
        CAY_STEP_AGAIN,                /* in a moment */
        CAY_STEP_WAIT,                 /* `take` is called again at each event of the tab, without a result */
        CAY_STEP_FAIL,                 /* err was filled */
};

struct cay_step {
        const char *method; /* NULL: no call, only `take` */
        bool of_browser;    /* not of the tab's session */
        /* Writes the members of the parameters. NULL: none. */
        enum cay_step_next (*put)(struct cay_action *a, struct cay_json *j);
        /* result: of the call; borrowed. NULL: the next step. */
        enum cay_step_next (*take)(struct cay_action *a, struct cay_json_view result);
        /* The browser's own error. NULL: the action fails with it. */
        enum cay_step_next (*refused)(struct cay_action *a);
        /* A frame's document (`via`) has gone or does not answer. NULL: cay_action_lost_frame. */
        enum cay_step_next (*lost)(struct cay_action *a);
};

enum {                          /* of rows */
       CAY_ACTION_TAB = 1,      /* works on one */
       CAY_ACTION_INPUT = 2,    /* a dialog that it opens is a part of its result */
       CAY_ACTION_DIALOG = 4,   /* works while a dialog is open */
       CAY_ACTION_SETTLES = 8,  /* may lead to another page, which is waited for */
       CAY_ACTION_REVIVES = 16, /* works on a tab that has crashed */
       CAY_ACTION_ACTS = 32,    /* does what a person does, too: not while one has taken over (live.h) */
};

struct cay_action_row {
        const char *name;
        unsigned flags;
        const struct cay_step *steps[CAY_ACTION_STEPS_MAX]; /* NULL-terminated */
        void (*put)(const struct cay_action *a,
                    struct cay_json *j); /* its own members of the answer; may be NULL */
        const char *type;                /* of an answer of bytes, which are then `kept`; NULL: members */
};

struct cay_action { /* embedded by its owner; zeroed, then row, args, on_done */
        const struct cay_action_row *row;
        const struct cay_action_args *args;
        bool only_running;                     /* does not start the browser: it fails if there is none */
        void (*on_done)(struct cay_action *a); /* once, from the loop; then nothing of it is pending */

        /* the outcome */
        struct cay_error err;
        const char *field; /* of the arguments, that err speaks of; NULL: none */
        struct cay_buf kept;
        char tab[40]; /* id; "": none */
        unsigned tab_number;
        char url[1024], title[256];
        struct cay_dialog dialog; /* that it opened, or that is open after it */
        unsigned opened;          /* number of a tab that opened meanwhile; 0: none */
        uint64_t begin_ms, ready_ms, acted_ms, done_ms;
        const char *type; /* of kept, when there is a choice; NULL: the row's */

        /* for steps */
        struct cay_browser *browser;           /* NULL: it could not be started; for on_done too */
        char session[CAY_CDP_SESSION_LEN + 1]; /* for calls of an action without a tab */
        char via[CAY_CDP_SESSION_LEN +
                 1]; /* of this call, if it is not the tab's; set by `put`, cleared before */
        /*
         * The frame that the element is in, or is looked for in, and the session of its document. "": the
         * page itself.
         */
        char frame[40], frame_session[CAY_CDP_SESSION_LEN + 1];
        /* The frame that x and y are still in; "": they are the page's. And the element that it lies in. */
        char inner[40], inner_session[CAY_CDP_SESSION_LEN + 1];
        uint64_t owner;
        bool aims, keeps_why, wants_frames;
        bool is_far;               /* the element is in another process than the page */
        bool is_watched;           /* then: the mouse is to come there before anything is done with it */
        struct cay_frames *frames; /* of the tab, as they were last; owned; NULL: not asked for */
        char object[64];           /* CDP's objectId of the element; "": none */
        uint64_t world;            /* id of our context in the page; 0: none */
        double x, y, left, top, width, height; /* what was aimed at, in the view */
        double scroll_x, scroll_y;             /* how far the page is scrolled */
        double view_width, view_height;        /* of the frame that it is in; 0: not known */
        const char *at;                        /* in a text that is worked through */
        unsigned facts;                        /* bits of the action's own */
        unsigned lines;                        /* of an outline */
        unsigned turn;                         /* of a step that is repeated, from 0 */
        unsigned again_ms;                     /* until it is repeated; 0: the usual time */
        char loader[40];                       /* of the document before a navigation */
        char document[40];                     /* the same of the one that it leads to; "": not known */
        unsigned within;                       /* likewise: how often it had moved within itself */
        char why[256];                         /* what is waited for, for the deadline's words */

        /* private */
        struct cay_action *next;
        struct cay_cdp_call call;
        struct cay_timer deadline, pause;
        unsigned step, last_tab, heard, turn_nr;
        enum {
                CAY_ACTION_NEW,
                CAY_ACTION_QUEUED, /* another one is changing its tab */
                CAY_ACTION_GOES,
                CAY_ACTION_SETTLING,
                CAY_ACTION_LOOKS,
                CAY_ACTION_OVER
        } phase;
        bool is_linked;  /* among its browser's */
        bool is_waiting; /* for an event */
};

const struct cay_action_row *cay_action_find(const char *name); /* NULL: none */
/* Starts the browser if it does not run, unless only_running. on_done follows in every case. */
void cay_action_begin(struct cay_browsers *bs, const struct cay_viewer *v, struct cay_action *a);
void cay_action_cancel(
        struct cay_action *a); /* no on_done follows; frees what it holds; may be called when it is done */
struct cay_target *cay_action_target(const struct cay_action *a); /* NULL: its tab has gone */
/* A dialog, as a member; NULL, or none: no such member. */
void cay_action_put_dialog(struct cay_json *j, const struct cay_dialog *d);
const char *cay_action_type(const struct cay_action *a); /* "image/png"; NULL: it answers with members */
