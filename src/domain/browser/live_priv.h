/* SPDX-License-Identifier: Apache-2.0 */
/* The screen of one browser, for its files: live.c (frames, viewers), live_act.c (what people do). */
#pragma once

#include "domain/browser/driver.h"
#include "domain/browser/live.h"

#define CAY_LIVE_CALLS_MAX 48u /* from which viewers wait */
#define CAY_LIVE_CALLS_MOST                                                                                  \
        (4 * CAY_LIVE_CALLS_MAX) /* with those that the browser's own events cause; more are left out */
#define CAY_LIVE_ACKS_MAX 16u    /* frames that Chromium has on their way are fewer */

struct cay_live_call; /* one command of a person's; live_act.c */

struct cay_live {
        struct cay_cdp_user user;
        struct cay_live_viewer *viewers;
        unsigned count, persons;       /* persons: those that are no recorders */
        char shown[40], attaching[40]; /* tabs; attaching "": no call is under way */
        unsigned last_tab;             /* the newest one so far */
        char session[CAY_CDP_SESSION_LEN + 1];
        struct cay_cdp_call attach;
        struct cay_timer retry;

        struct cay_buf picture; /* the newest frame */
        struct cay_live_frame frame;
        unsigned unanswered; /* frames that Chromium waits to hear of */
        char cast[16];       /* the number that it knows them by */
        bool is_taken;       /* somebody has the newest frame */
        uint64_t answered_ms;
        struct cay_timer pace, settle;
        struct cay_cdp_call shot, history;
        bool is_looking; /* history is under way */
        bool is_asked;   /* shot is under way */
        bool wants_shot; /* when it is still */
        /*
         * What came last, to know it again: of the cast, and of the shots if nothing of the cast has come
         * since.
         */
        bool has_cast, has_shot;
        uint32_t cast_sum, shot_sum;

        struct {
                int x, y;
                const char *what; /* NULL: not known */
                bool by_person;
        } pointer;
        struct cay_dialog dialog;
        char note[256]; /* of what a person wanted last, and what became of it */

        struct cay_live_viewer *turn; /* who has taken over; NULL: the agent */
        struct cay_timer idle;
        struct cay_live_call *calls;
        unsigned call_count;
};

void cay_live_init(struct cay_browser *b);
void cay_live_done(struct cay_browser *b);
void cay_live_hear_tabs(struct cay_browser *b, const struct cay_cdp_message *event); /* after the list has */
void cay_live_hear_command(struct cay_browser *b, const struct cay_cdp_client *c,
                           const struct cay_cdp_message *in);
bool cay_live_is_taken(const struct cay_browser *b);
bool cay_live_is_unattended(const struct cay_browser *b); /* its client is there for recordings alone */

/* live.c, for live_act.c */
void cay_live_tell(struct cay_browser *b, unsigned bits);
void cay_live_show(struct cay_browser *b, const char *tab);
struct cay_tab *cay_live_find_tab(const struct cay_browser *b, const char *id);

/* live_act.c */
void cay_live_give_turn(struct cay_browser *b); /* whoever has it hands back */
void cay_live_call(struct cay_browser *b, const char *session, const char *method, const char *params);
void cay_live_drop_calls(struct cay_browser *b);
