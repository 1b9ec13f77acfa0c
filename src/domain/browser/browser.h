/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The browser of a sandbox, and who uses it.
 *
 * Theory of operation. A browser is a command of its sandbox with a name (as kernels of contexts are), so it
 * is stored, limited, adopted and ended as commands are. Chromium's control channel is the command's standard
 * input and output: no port, nothing in the sandbox can connect to it. This file keeps one object in memory
 * for each browser that somebody uses: a cdp_mux on that input and output, and a user of our own that waits
 * for the first tab and for downloads. Output is spooled like any command's: a ring of fixed size, which a
 * slow reader holds back; it has no output limit.
 *
 * A new front knows nothing of its predecessor's clients. It finds the command by its name, skips the rest of
 * a message, and goes on: the browser with its tabs lives on, clients connect again.
 *
 * While it has clients, the sandbox is in use. Without, its idle time runs.
 */
#pragma once

#include "domain/browser/cdp_user.h"
#include "domain/browser/downloads.h"
#include "domain/browser/launch.h"
#include "domain/browser/logs.h"
#include "domain/browser/tabs.h"
#include "domain/sandboxes/exec.h"

#define CAY_BROWSER_LANGUAGE "browser"
#define CAY_BROWSER_START_MS 60000u
#define CAY_BROWSER_KEPT_MS                                                                                  \
        (5u * 60 * 1000) /* after its end: its downloads and logs, and the sandbox of one that lives once */

struct cay_browsers;
struct cay_browser;
struct cay_budgets;

struct cay_browsers_env { /* borrowed: outlives them */
        struct cay_loop *loop;
        struct cay_service *service;
        struct cay_budgets *budgets; /* NULL: memory is not counted */
        /* Recordings (screencast.h). Without has_recordings there are none, and the rest does not count. */
        bool has_recordings;
        bool keeps_unowned;  /* the store has lost records: recordings of unknown sandboxes are left alone */
        int screencasts_dir; /* a folder of their own */
        /* Removes a file of that folder, perhaps later and beside the loop. NULL: removed in place. */
        void (*remove_recording)(void *ctx, const char *name);
        void *ctx;
};

struct cay_browsers *cay_browsers_new(const struct cay_browsers_env *env); /* NULL: no memory */
void cay_browsers_free(
        struct cay_browsers *bs); /* before the service; leaves the browsers alone; accepts NULL */

/* Whether a command is a sandbox's browser. */
bool cay_browser_is_exec(const struct cay_exec_view *view);

struct cay_browser_view {
        const char *sandbox, *exec; /* ids; exec "": it is being started */
        bool is_ready;              /* it has answered and has a tab */
        const char *product;        /* "HeadlessChrome/156.0.8078.79"; "": not known yet */
        const char *user_agent;
        unsigned clients; /* beside our own */
        unsigned viewers; /* people who look at it (live.h) */
        const struct cay_downloads *downloads;
        const struct cay_tabs *tabs;
};

/*
 * Of a sandbox whose browser is used or was asked for. Does not start it. CAY_NOT_FOUND: it has none that
 * runs. Borrowed until the next round.
 */
int cay_browser_get(struct cay_browsers *bs, const struct cay_viewer *v, const char *sandbox,
                    struct cay_browser_view *ret, struct cay_error *err);

/* How the browser of a sandbox is: the one that runs, or the last one. */
struct cay_browser_state {
        bool is_known; /* there is or was one */
        bool runs, is_ready;
        bool has_failed,
                is_timed_out; /* ended: not as somebody asked; at the end of its time (browser_seconds) */
        char exec[CAY_NAME_MAX + 1], cause[160]; /* cause: of its end, for people */
        uint64_t started_wall_ms, ended_wall_ms;
        unsigned clients;
};

int cay_browser_state(struct cay_browsers *bs, const struct cay_viewer *v,
                      const struct cay_sandbox_view *view, struct cay_browser_state *ret,
                      struct cay_error *err);

/* Of the browser that runs, or of the last one for CAY_BROWSER_KEPT_MS. Borrowed until the next round. */
struct cay_browser_kept {
        const char *sandbox; /* id */
        const struct cay_downloads *downloads;
        const struct cay_browser_logs *logs;
};

/* CAY_NOT_FOUND: there is none. */
int cay_browser_kept(struct cay_browsers *bs, const struct cay_viewer *v, const char *sandbox,
                     struct cay_browser_kept *ret, struct cay_error *err);

struct cay_browser_call {
        struct cay_job job;
        /* private */
        struct cay_browser_call *next;
};

/*
 * Done when the browser has answered and has a tab; also when it was there before (then the options do not
 * count). Errors say what is missing: CAY_UNSUPPORTED: no browser is installed; CAY_LIMIT: too little memory,
 * too few processes; CAY_CONFLICT: it ended at its start; CAY_TIMEOUT.
 */
void cay_browser_start(struct cay_browsers *bs, const struct cay_viewer *v, const char *sandbox,
                       const struct cay_browser_options *options, struct cay_browser_call *call);
/*
 * Done when cay_browser_get has the titles of a browser's tabs as they are now: Chromium does not tell when a
 * page changes its title, so it is asked. Does not start the browser. CAY_NOT_FOUND: it has none that runs.
 */
void cay_browser_look(struct cay_browsers *bs, const struct cay_viewer *v, const char *sandbox,
                      struct cay_browser_call *call);
/* A caller that does not wait any more; may be called when it is done. */
void cay_browser_cancel(struct cay_browsers *bs, struct cay_browser_call *call);
/*
 * Closes it as a person would, so that cookies are written; after a few seconds it is killed. Done when it
 * has ended; also when there is none.
 */
void cay_browser_stop(struct cay_browsers *bs, const struct cay_viewer *v, const char *sandbox,
                      struct cay_browser_call *call);

/*
 * Makes c a client of the sandbox's browser, which is started if there is none; c may send at once. What
 * fails later (no browser is installed) ends c with the reason. Fails at once as cay_browser_start does.
 */
int cay_browser_connect(struct cay_browsers *bs, const struct cay_viewer *v, const char *sandbox,
                        struct cay_cdp_client *c, struct cay_error *err);
