/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One browser, for its files: browser.c finds and begins them, browser_io.c moves bytes, browser_end.c says
 * why one ended.
 */
#pragma once

#include "domain/browser/action.h"
#include "domain/browser/live_priv.h"
#include "foundation/base/phase.h"

/* Its life; cay_browser_move is the only writer. */
enum cay_browser_phase {
        CAY_BROWSER_STARTING,  /* its command is asked for, or has no tab yet */
        CAY_BROWSER_READY,     /* it has answered and has a tab */
        CAY_BROWSER_CLOSING,   /* asked to end; what it has done stays true */
        CAY_BROWSER_WITHDRAWN, /* asked to end before it was ready */
        CAY_BROWSER_OVER,      /* its end was told: it is no longer in the list */
        CAY_BROWSER_RELEASED,  /* freed as soon as no job of it is under way */
        CAY_BROWSER_PHASE_COUNT
};
extern const struct cay_phase_table cay_browser_phases;

#define CAY_BROWSER_TAIL 1024u /* bytes of what it printed last */
#define CAY_BROWSER_PIECE (64u * 1024)

struct cay_browser {
        struct cay_browsers *all;
        struct cay_browser *next;
        char sandbox[CAY_NAME_MAX + 1], exec[CAY_NAME_MAX + 1]; /* exec "": being started */
        char owner[CAY_NAME_MAX * 4 + 1];
        struct cay_budget_owner *payer; /* NULL: nobody */
        struct cay_cdp_mux mux;
        struct cay_cdp_user own; /* waits for the first tab, and hears of downloads */
        struct cay_cdp_call discover, downloads_set, close, cookies, cancel, titles;
        struct cay_downloads downloads;
        struct cay_tabs tabs;
        struct cay_browser_call *starting, *stopping, *looking; /* who waits */
        struct cay_driver driver;
        struct cay_live live;
        struct cay_action *actions; /* under way */
        unsigned heard;             /* events that they were told of */
        unsigned last_clients;
        unsigned turns; /* that were given out */
        struct cay_timer patience;
        struct cay_deferred release;
        char product[64], user_agent[256];
        enum cay_browser_phase phase;
        bool has_version;
        bool keeps_profile; /* of its caller's: browser_profile.c */
        bool wants_logs;    /* from the start */

        /* browser_life.c */
        bool lives_once, follows, had_clients;
        struct cay_timer age, unused;

        /* browser_io.c */
        struct cay_exec_call exec_call;
        struct cay_exec_watcher watcher;
        struct cay_exec_input input;
        char *piece;            /* of input, that is being taken */
        size_t piece_len;       /* 0: none */
        uint64_t offset;        /* of the next piece; UINT64_MAX: not known */
        struct cay_timer retry; /* until a piece that was not taken is tried again */
        bool exec_pending;      /* exec_call is under way */
        bool is_busy;           /* the sandbox is in use */
        char tail[CAY_BROWSER_TAIL + 1];
        size_t tail_len;
};

#define CAY_BROWSER_PAST_MAX 64u

struct cay_browser_past { /* what is kept of one that ended, for a while */
        struct cay_browsers *all;
        struct cay_browser_past *next;
        char sandbox[CAY_NAME_MAX + 1], owner[CAY_NAME_MAX * 4 + 1];
        struct cay_budget_owner *payer; /* NULL: nobody */
        struct cay_downloads downloads;
        struct cay_browser_logs logs;
        struct cay_timer until;
};

struct cay_browsers {
        struct cay_browsers_env env;
        struct cay_screencasts *recordings; /* owned */
        struct cay_browser *list;
        struct cay_browser_past *past; /* newest first; one of each sandbox */
        unsigned past_count;
};

void cay_browser_move(struct cay_browser *b, enum cay_browser_phase to);
bool cay_browser_is_ready(const struct cay_browser *b);   /* also while it closes */
bool cay_browser_is_closing(const struct cay_browser *b); /* asked to end, and its end was not told */
bool cay_browser_is_over(const struct cay_browser *b);
struct cay_viewer cay_browser_viewer(const struct cay_browser *b);
/* The whole of its end: everybody is told, and it is freed at the end of the round. */
void cay_browser_over(struct cay_browser *b, const struct cay_error *why);
void cay_browser_free_if_done(struct cay_browser *b);

/*
 * The sandbox's browser, which is begun if there is none; options NULL: the usual ones. NULL: err says why.
 */
struct cay_browser *cay_browser_find_or_start(struct cay_browsers *bs, const struct cay_viewer *v,
                                              const char *sandbox, const struct cay_browser_options *options,
                                              struct cay_error *err);

/* The same without beginning one: CAY_NOT_FOUND. */
struct cay_browser *cay_browser_find(struct cay_browsers *bs, const struct cay_viewer *v, const char *sandbox,
                                     struct cay_error *err);

/* browser_life.c */
void cay_browser_life_begin(struct cay_browser *b, const struct cay_sandbox_view *view,
                            uint64_t begun_wall_ms);
void cay_browser_life_clients(struct cay_browser *b); /* their number has changed */
void cay_browser_life_over(struct cay_browser *b);    /* it has ended: what is kept of it, and how long */
void cay_browser_past_free(struct cay_browsers *bs);

/* browser_profile.c: as a person would close it; after a few seconds it is killed. May be called again. */
void cay_browser_close(struct cay_browser *b);

/* action.c */
void cay_actions_wake(struct cay_browser *b); /* it is ready, or its driver is on */
void cay_actions_hear(struct cay_browser *b); /* an event has come; the driver has seen it */
void cay_actions_end(struct cay_browser *b, const struct cay_error *why);

/*
 * blocked.c: why a page could not be loaded, from Chromium's error ("net::ERR_…"), in words; `what`:
 * "navigation"
 */
void cay_browser_explain_net(const struct cay_browser *b, const char *what, const char *url,
                             const char *error, struct cay_error *ret);

/* browser_io.c */
void cay_browser_begin_exec(struct cay_browser *b, const struct cay_browser_options *o);
int cay_browser_adopt_exec(struct cay_browser *b, const char *exec, struct cay_error *err);
void cay_browser_end_io(struct cay_browser *b);
void cay_browser_note_use(struct cay_browser *b);
bool cay_browser_is_held(const struct cay_browser *b); /* a job of it is still to come */

/* browser_end.c */
int cay_browser_check_limits(const struct cay_sandbox_view *view, struct cay_error *err);
void cay_browser_explain(const struct cay_browser *b, const struct cay_exec_view *view,
                         struct cay_error *ret);
