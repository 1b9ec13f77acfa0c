/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One recording, for its files: screencast.c (which there are), screencast_file.c (the archive), recorder.c
 * (writes it while it runs).
 */
#pragma once

#include "domain/browser/live.h"
#include "domain/browser/screencast.h"

struct cay_screencast {
        struct cay_screencasts *all;
        struct cay_screencast *next;
        char sandbox[CAY_NAME_MAX + 1], id[CAY_SCREENCAST_ID_LEN + 1];
        char owner[CAY_NAME_MAX * 4 + 1];
        char why[160]; /* it ended; "": it runs */
        uint64_t started_wall_ms, duration_ms, frames, bytes;

        /* while it runs */
        struct cay_live_viewer viewer;
        struct cay_screencast_options limits;
        struct cay_timer time;
        struct cay_deferred done;
        struct cay_buf piece; /* of the archive, in the making */
        uint64_t begin_ms;
        int fd; /* owned; -1: it has ended */
};

struct cay_screencasts {
        struct cay_browsers_env env;
        struct cay_browsers *browsers; /* borrowed */
        struct cay_screencast *list;   /* oldest first */
        unsigned count;
        struct cay_event_watch watch;
        struct cay_timer sweep;
};

#define CAY_SCREENCAST_FILE_MAX (CAY_NAME_MAX + CAY_SCREENCAST_ID_LEN + 2u)

/* recorder.c: begins and ends to write. */
int cay_recorder_begin(struct cay_screencast *r, const struct cay_viewer *v, struct cay_error *err);
void cay_recorder_end(struct cay_screencast *r, const char *why); /* may be called on one that has ended */

/* screencast_file.c */
void cay_screencast_name(const struct cay_screencast *r, char ret[CAY_SCREENCAST_FILE_MAX]);
int cay_screencast_create(struct cay_screencast *r, struct cay_error *err);
/* Appends a frame and what is known of it (members of JSON text). 0 or -errno: nothing was appended. */
int cay_screencast_put(struct cay_screencast *r, const struct cay_live_frame *f, const char *facts,
                       uint64_t at_ms);
/* Appends end.json: `why` says how it ended. A file that can take no more stays without. */
void cay_screencast_finish(struct cay_screencast *r);
/* Fills r from the file of its name. false: it is none of ours, or nothing of it can be read. */
bool cay_screencast_load(struct cay_screencast *r, int dir);
