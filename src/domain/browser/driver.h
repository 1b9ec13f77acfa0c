/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Cay itself knows of a browser's pages, once somebody uses its actions or its logs: a session with
 * every page and every frame and worker below it, the page's state (loading, dialog, crash), requests and
 * console (logs.h).
 *
 * Theory of operation. It is off until it is first asked for: clients of the control channel alone pay
 * nothing for it. When it is on, Chromium attaches new targets at once and holds them until their session has
 * been told what to watch, so that no request of a popup is missed. Sessions have Page enabled, hence a
 * dialog stays open until somebody answers it: an action (action.h), or a client that has Page enabled too.
 *
 * A new front begins with empty logs.
 */
#pragma once

#include "domain/browser/cdp_user.h"
#include "domain/browser/logs.h"

#define CAY_TARGETS_MAX 512u
#define CAY_TARGET_SETUP 7u

struct cay_dialog {
        char type[16]; /* alert, confirm, prompt, beforeunload; "": none is open */
        char message[512], default_text[256];
};

enum { /* what a page has reached; bits */
       CAY_LOADED_DOM = 1,
       CAY_LOADED = 2,
       CAY_LOADED_QUIET = 4, /* no request for half a second */
};

struct cay_target {
        struct cay_target *next;
        char id[40], type[20];
        char session[CAY_CDP_SESSION_LEN + 1];
        char tab[40];                         /* the page that it belongs to; its own id for a page */
        char parent[CAY_CDP_SESSION_LEN + 1]; /* session of the target that it is in; "": none */
        struct cay_cdp_call setup[CAY_TARGET_SETUP];
        char loader[40]; /* of the document that `loaded` speaks of */
        unsigned loaded;
        unsigned within; /* how often the document moved within itself (pushState, #…) */
        bool is_loading, has_crashed;
        char crash[40]; /* how its process ended: "crashed", "killed", "oom" */
        struct cay_dialog dialog;
};

#define CAY_FRAMES_KNOWN_MAX 512u

struct cay_known_frame {
        char id[40];
        char session[CAY_CDP_SESSION_LEN + 1]; /* that its document is in */
};

struct cay_driver {
        struct cay_target *targets; /* owned; oldest first */
        unsigned count;
        struct cay_cdp_call attach;
        bool is_asked, is_on;
        struct cay_error why;          /* it could not be put on */
        struct cay_known_frame *known; /* owned; number % CAY_FRAMES_KNOWN_MAX; NULL: none yet */
        unsigned last_frame;
        char current[40]; /* the tab that actions mean when they name none */
        struct cay_browser_logs logs;
        void (*on_on)(struct cay_driver *d); /* it is on, or `why` says why not */
};

/* May be called again. on_on follows, never inside the call, unless it is on. */
void cay_driver_begin(struct cay_driver *d, struct cay_cdp_user *own);
/* Every event of `own`. */
void cay_driver_hear(struct cay_driver *d, struct cay_cdp_user *own, const struct cay_cdp_message *event);
void cay_driver_done(struct cay_driver *d);
struct cay_target *cay_driver_tab(const struct cay_driver *d, const char *id); /* NULL: none attached */
const struct cay_target *cay_driver_session(const struct cay_driver *d, const char *session);
/* The target of a frame that has a process of its own. NULL: it has none, or has gone. */
const struct cay_target *cay_driver_frame(const struct cay_driver *d, const char *id);
/*
 * Frames get numbers when they are first shown to somebody, for references to what is in them. The same frame
 * in another process is another one.
 */
unsigned cay_driver_number_frame(struct cay_driver *d, const char *id, const char *session);
const struct cay_known_frame *cay_driver_known_frame(const struct cay_driver *d,
                                                     uint64_t number); /* NULL: none, or long ago */
