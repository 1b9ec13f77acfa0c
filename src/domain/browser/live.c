/* SPDX-License-Identifier: Apache-2.0 */
/* What a browser shows, for everybody who looks; the rules are in live.h. */
#include "domain/browser/live.h"

#include <stdlib.h>
#include <string.h>

#include "domain/browser/action_steps.h"
#include "domain/browser/browser_priv.h"
#include "foundation/base/base64.h"
#include "foundation/base/clock.h"
#include "foundation/base/crc32c.h"
#include "foundation/base/str.h"

#define CALL_MS 15000u
#define RETRY_MS 500u
#define SETTLE_MS 250u
#define SHOT "{\"format\":\"jpeg\",\"quality\":65,\"optimizeForSpeed\":true}"
#define CAST "{\"format\":\"jpeg\",\"quality\":65,\"maxWidth\":1920,\"maxHeight\":1200,\"everyNthFrame\":1}"

static void attach(struct cay_browser *b);
static void on_user_event(struct cay_cdp_user *u, const struct cay_cdp_message *event);

static struct cay_browser *of_user(struct cay_cdp_user *u)
{
        return cay_container_of(u, struct cay_browser, live.user);
}

bool cay_live_is_taken(const struct cay_browser *b)
{
        return b->live.turn != NULL;
}

bool cay_live_is_unattended(const struct cay_browser *b)
{
        return cay_cdp_user_is_open(&b->live.user) && b->live.persons == 0;
}

struct cay_tab *cay_live_find_tab(const struct cay_browser *b, const char *id)
{
        for (unsigned i = 0; i < b->tabs.count; i++)
                if (strcmp(b->tabs.items[i].id, id) == 0)
                        return &b->tabs.items[i];
        return NULL;
}

const struct cay_tab *cay_live_tab(const struct cay_live_viewer *v)
{
        return v->browser ? cay_live_find_tab(v->browser, v->browser->live.shown) : NULL;
}

bool cay_live_pointer(const struct cay_live_viewer *v, int *ret_x, int *ret_y)
{
        const struct cay_live *l = v->browser ? &v->browser->live : NULL;

        if (!l || !l->pointer.what)
                return false;
        *ret_x = l->pointer.x;
        *ret_y = l->pointer.y;
        return true;
}

/* News. A viewer may close itself and others meanwhile. */

void cay_live_tell(struct cay_browser *b, unsigned bits)
{
        struct cay_live_viewer *v;

        for (v = b->live.viewers; v; v = v->next)
                v->news |= bits;
        do {
                for (v = b->live.viewers; v && v->news == 0; v = v->next)
                        ;
                if (v) {
                        bits = v->news;
                        v->news = 0;
                        v->on_news(v, bits);
                }
        } while (v);
}

/*
 * Frames. Chromium has at most a few on their way that it has not heard of, and drops what changes meanwhile:
 * the last change before a page is still may be among those. So once nothing new has come for SETTLE_MS, a
 * picture is asked for. That makes Chromium send a frame, too, which is as the one before it and goes no
 * further, or it would never end.
 */

static void answer_frames(struct cay_browser *b);
static void on_shot(struct cay_cdp_call *call);

/* Chromium does not tell when a page changes its title. */
static void on_history(struct cay_cdp_call *call)
{
        struct cay_browser *b = cay_container_of(call, struct cay_browser, live.history);
        struct cay_live *l = &b->live;
        struct cay_tab *tab = cay_live_find_tab(b, l->shown);
        struct cay_json_view entries = cay_cdp_find(call->result, "entries"), key, entry = { 0 };
        char title[sizeof(tab->title)], url[sizeof(tab->url)];
        struct cay_json_walk walk;
        uint64_t current;

        l->is_looking = false;
        if (call->err.code != CAY_OK || !tab || strcmp(call->session, l->session) != 0 ||
            !cay_json_view_u64(cay_cdp_find(call->result, "currentIndex"), &current) ||
            cay_json_view_open(entries.at, entries.len, &entries) < 0)
                return;
        walk = cay_json_view_walk(entries);
        while (cay_json_view_next(&walk, &key, &entry) && current-- > 0)
                ;
        cay_json_view_copy(cay_json_view_find(entry, "title"), title, sizeof(title));
        cay_json_view_copy(cay_json_view_find(entry, "url"), url, sizeof(url));
        if (strcmp(title, tab->title) == 0 && strcmp(url, tab->url) == 0)
                return;
        cay_str_copy(tab->title, sizeof(tab->title), title);
        cay_str_copy(tab->url, sizeof(tab->url), url);
        cay_live_tell(b, CAY_LIVE_TABS);
}

static void look_at_title(struct cay_browser *b)
{
        struct cay_live *l = &b->live;

        if (l->is_looking || l->session[0] == '\0')
                return;
        l->is_looking = true;
        l->history.on_done = on_history;
        cay_cdp_call(&l->user, &l->history, l->session, "Page.getNavigationHistory", NULL, CALL_MS);
}

static void on_settle(struct cay_timer *t)
{
        struct cay_browser *b = cay_container_of(t, struct cay_browser, live.settle);
        struct cay_live *l = &b->live;

        look_at_title(b);
        if (l->unanswered > 0 || l->is_asked || l->session[0] == '\0')
                return; /* nobody is ready: when somebody is, it is asked for */
        l->is_asked = true;
        l->shot.on_done = on_shot;
        cay_cdp_call(&l->user, &l->shot, l->session, "Page.captureScreenshot", SHOT, CALL_MS);
}

static void on_pace(struct cay_timer *t)
{
        answer_frames(cay_container_of(t, struct cay_browser, live.pace));
}

static void answer_frames(struct cay_browser *b)
{
        struct cay_live *l = &b->live;
        uint64_t now = cay_clock_ms();
        char params[48];

        if (l->unanswered == 0 || !l->is_taken || l->session[0] == '\0')
                return;
        if (now < l->answered_ms + CAY_LIVE_FRAME_MS) {
                if (!l->pace.loop)
                        cay_timer_set(b->all->env.loop, &l->pace, l->answered_ms + CAY_LIVE_FRAME_MS - now,
                                      on_pace);
                return;
        }
        l->answered_ms = now;
        snprintf(params, sizeof(params), "{\"sessionId\":%s}", l->cast);
        for (; l->unanswered > 0; l->unanswered--)
                cay_live_call(b, l->session, "Page.screencastFrameAck", params);
        if (l->wants_shot)
                cay_timer_set(b->all->env.loop, &l->settle, SETTLE_MS, on_settle);
        l->wants_shot = false;
}

static void on_viewer_pace(struct cay_timer *t);

/* Gives it the newest frame, if it is ready and has not had it. */
static void give_frame(struct cay_live_viewer *v)
{
        struct cay_browser *b = v->browser;
        struct cay_live *l = &b->live;
        uint64_t now = cay_clock_ms();

        if (!v->is_ready || l->picture.len == 0 || v->seen == l->frame.number)
                return;
        if (v->last_ms > 0 && now < v->last_ms + v->least_ms) {
                if (!v->pace.loop)
                        cay_timer_set(b->all->env.loop, &v->pace, v->last_ms + v->least_ms - now,
                                      on_viewer_pace);
                return;
        }
        v->is_ready = false;
        v->seen = l->frame.number;
        v->last_ms = now;
        l->is_taken = true;
        l->frame.bytes = cay_buf_data(&l->picture);
        l->frame.len = l->picture.len;
        v->on_frame(v, &l->frame);
}

static void on_viewer_pace(struct cay_timer *t)
{
        struct cay_live_viewer *v = cay_container_of(t, struct cay_live_viewer, pace);
        struct cay_browser *b = v->browser;

        give_frame(v);
        answer_frames(b);
}

void cay_live_ready(struct cay_live_viewer *v)
{
        struct cay_browser *b = v->browser;

        if (!b)
                return;
        v->is_ready = true;
        give_frame(v);
        answer_frames(b);
}

static void spread_frame(struct cay_browser *b)
{
        struct cay_live_viewer *v;

        for (v = b->live.viewers; v; v = v->next)
                v->is_due = true;
        do {
                for (v = b->live.viewers; v && !v->is_due; v = v->next)
                        ;
                if (v) {
                        v->is_due = false;
                        give_frame(v);
                }
        } while (v);
}

static unsigned read_side(struct cay_json_view metadata, const char *name)
{
        double side = cay_action_number(metadata, name);

        return side >= 1 && side <= CAY_LIVE_FAR ? (unsigned)side : 0;
}

/*
 * What comes is the browser's word, and a page may have got hold of that: it has to look like a JPEG, and be
 * no longer than we keep.
 */
static bool read_picture(struct cay_json_view data, struct cay_buf *ret)
{
        return data.len >= 8 && data.at[0] == '"' && cay_base64_decode(data.at + 1, data.len - 2, ret) == 0 &&
               ret->len > 4 && memcmp(cay_buf_data(ret), "\xff\xd8\xff", 3) == 0;
}

/* A frame that cannot be kept is left out: the next one may be better. */
static void keep_frame(struct cay_browser *b, struct cay_json_view data, bool is_shot)
{
        struct cay_live *l = &b->live;
        const struct cay_tab *tab = cay_live_find_tab(b, l->shown);
        uint32_t sum = cay_crc32c((uint32_t)data.len, data.at, data.len);
        bool is_known = is_shot ? l->has_shot && l->shot_sum == sum : l->has_cast && l->cast_sum == sum;
        struct cay_buf picture = { 0 };

        if (is_known) {
                l->is_taken |= l->picture.len == 0;
                return;
        }

        cay_buf_init(&picture, CAY_LIVE_FRAME_MAX);
        if (b->payer)
                cay_buf_charge(&picture, &b->payer->budget);
        if (!read_picture(data, &picture)) {
                cay_buf_done(&picture);
                l->is_taken = true;
                return;
        }
        cay_buf_done(&l->picture);
        l->picture = picture;
        l->frame.number++;
        l->frame.wall_ms = cay_clock_wall_ms();
        l->frame.tab = tab ? tab->number : 0;
        l->is_taken = false;
        l->has_shot = is_shot; /* of others it is not the last */
        l->shot_sum = sum;
        if (!is_shot) {
                l->has_cast = l->wants_shot = true;
                l->cast_sum = sum;
        }
        spread_frame(b);
}

static void on_shot(struct cay_cdp_call *call)
{
        struct cay_browser *b = cay_container_of(call, struct cay_browser, live.shot);
        struct cay_live *l = &b->live;

        l->is_asked = false;
        if (call->err.code == CAY_OK && l->session[0] != '\0' && strcmp(call->session, l->session) == 0)
                keep_frame(b, cay_cdp_find(call->result, "data"), true);
}

static void take_frame(struct cay_browser *b, const struct cay_cdp_message *event)
{
        struct cay_live *l = &b->live;
        struct cay_json_view meta = cay_cdp_find(event->params, "metadata"),
                             cast = cay_cdp_find(event->params, "sessionId");
        uint64_t number;

        if (!cay_json_view_u64(cast, &number) || cast.len >= sizeof(l->cast))
                return;
        memcpy(l->cast, cast.at, cast.len);
        l->cast[cast.len] = '\0';
        if (l->unanswered < CAY_LIVE_ACKS_MAX)
                l->unanswered++;
        l->frame.width = read_side(meta, "deviceWidth");
        l->frame.height = read_side(meta, "deviceHeight");
        keep_frame(b, cay_cdp_find(event->params, "data"), false);
        answer_frames(b);
}

/* The tab that is shown */

static void forget_tab(struct cay_browser *b)
{
        struct cay_live *l = &b->live;

        l->session[0] = '\0';
        l->unanswered = 0;
        l->is_taken = false;
        l->dialog = (struct cay_dialog){ 0 };
        l->pointer.what = NULL;
        l->is_looking = l->is_asked = l->wants_shot = l->has_shot = l->has_cast = false;
        cay_cdp_call_cancel(&l->shot);
        cay_cdp_call_cancel(&l->history);
        cay_buf_clear(&l->picture);
        cay_timer_clear(&l->settle);
        cay_timer_clear(&l->pace);
}

static void detach(struct cay_browser *b, const char *session)
{
        char params[80];

        snprintf(params, sizeof(params), "{\"sessionId\":\"%s\"}", session);
        cay_live_call(b, "", "Target.detachFromTarget", params);
}

static void on_retry(struct cay_timer *t)
{
        attach(cay_container_of(t, struct cay_browser, live.retry));
}

static void on_attached(struct cay_cdp_call *call)
{
        struct cay_browser *b = cay_container_of(call, struct cay_browser, live.attach);
        struct cay_live *l = &b->live;
        char session[CAY_CDP_SESSION_LEN + 1], tab[40];
        bool is_there = call->err.code == CAY_OK && cay_cdp_find_session(call->result, "sessionId", session);

        cay_str_copy(tab, sizeof(tab), l->attaching);
        l->attaching[0] = '\0';
        if (!is_there) { /* it has gone, or is not there yet */
                if (cay_cdp_user_is_open(&l->user))
                        cay_timer_set(b->all->env.loop, &l->retry, RETRY_MS, on_retry);
                return;
        }
        if (strcmp(tab, l->shown) != 0) {
                detach(b, session);
                attach(b);
                return;
        }
        cay_str_copy(l->session, sizeof(l->session), session);
        cay_live_call(b, session, "Page.enable", NULL);
        cay_live_call(b, session, "Page.startScreencast", CAST);
}

static void attach(struct cay_browser *b)
{
        struct cay_live *l = &b->live;
        char params[96];

        if (l->attaching[0] != '\0' || l->session[0] != '\0' || !cay_live_find_tab(b, l->shown) ||
            !cay_cdp_user_is_open(&l->user))
                return;
        cay_str_copy(l->attaching, sizeof(l->attaching), l->shown);
        l->attach.on_done = on_attached;
        snprintf(params, sizeof(params), "{\"targetId\":\"%s\",\"flatten\":true}", l->shown);
        cay_cdp_call(&l->user, &l->attach, "", "Target.attachToTarget", params, CALL_MS);
}

void cay_live_show(struct cay_browser *b, const char *tab)
{
        struct cay_live *l = &b->live;

        if (strcmp(l->shown, tab) == 0)
                return;
        if (l->session[0] != '\0')
                detach(b, l->session);
        forget_tab(b);
        cay_str_copy(l->shown, sizeof(l->shown), tab);
        attach(b);
        cay_live_tell(b, CAY_LIVE_TABS | CAY_LIVE_ASKS | CAY_LIVE_POINTER);
}

static void choose_tab(struct cay_browser *b)
{
        struct cay_live *l = &b->live;
        const struct cay_tabs *tabs = &b->tabs;
        const struct cay_tab *tab = cay_live_find_tab(b, l->shown);
        bool is_new = tabs->last_number > l->last_tab && l->last_tab > 0;

        l->last_tab = tabs->last_number;
        if (is_new && tabs->count > 0)
                tab = &tabs->items[tabs->count - 1];
        if (!tab)
                tab = cay_live_find_tab(b, b->driver.current);
        if (!tab && tabs->count > 0)
                tab = &tabs->items[tabs->count - 1];
        cay_live_show(b, tab ? tab->id : "");
}

void cay_live_hear_tabs(struct cay_browser *b, const struct cay_cdp_message *event)
{
        if (b->live.count == 0 || !cay_str_starts(event->method, "Target.target"))
                return;
        choose_tab(b);
        cay_live_tell(b, CAY_LIVE_TABS);
}

/* What others do */

static void take_pointer(struct cay_browser *b, bool by_person, const struct cay_cdp_message *in)
{
        static const struct {
                const char *type, *word;
        } rows[] = { { "mouseMoved", "move" },
                     { "mousePressed", "down" },
                     { "mouseReleased", "up" },
                     { "mouseWheel", "wheel" } };
        struct cay_live *l = &b->live;
        char type[16];

        cay_cdp_find_text(in->params, "type", type, sizeof(type));
        for (unsigned i = 0; i < CAY_COUNT(rows); i++) {
                if (strcmp(rows[i].type, type) != 0)
                        continue;
                l->pointer.what = rows[i].word;
                l->pointer.x = (int)read_side(in->params, "x");
                l->pointer.y = (int)read_side(in->params, "y");
                l->pointer.by_person = by_person;
                cay_live_tell(b, CAY_LIVE_POINTER);
                return;
        }
}

void cay_live_hear_command(struct cay_browser *b, const struct cay_cdp_client *c,
                           const struct cay_cdp_message *in)
{
        bool by_person = c == &b->live.user.client;
        const char *page;

        if (b->live.count == 0 ||
            (!cay_str_starts(in->method, "Input.") && strcmp(in->method, "Page.navigate") != 0))
                return;
        page = cay_cdp_session_page(&b->mux, in->session);
        if (!cay_live_find_tab(b, page))
                return;
        if (!by_person)
                cay_live_show(b, page);
        cay_timer_set(b->all->env.loop, &b->live.settle, SETTLE_MS, on_settle);
        if (strcmp(in->method, "Input.dispatchMouseEvent") == 0)
                take_pointer(b, by_person, in);
}

static void take_dialog(struct cay_browser *b, const struct cay_cdp_message *event)
{
        struct cay_dialog *d = &b->live.dialog;

        cay_cdp_find_text(event->params, "type", d->type, sizeof(d->type));
        cay_cdp_find_text(event->params, "message", d->message, sizeof(d->message));
        cay_cdp_find_text(event->params, "defaultPrompt", d->default_text, sizeof(d->default_text));
        cay_live_tell(b, CAY_LIVE_ASKS);
}

static void on_user_event(struct cay_cdp_user *u, const struct cay_cdp_message *event)
{
        struct cay_browser *b = of_user(u);
        struct cay_live *l = &b->live;
        char session[CAY_CDP_SESSION_LEN + 1];

        if (strcmp(event->method, "Target.detachedFromTarget") == 0 &&
            cay_cdp_find_session(event->params, "sessionId", session) && l->session[0] != '\0' &&
            strcmp(session, l->session) == 0) { /* its tab was closed, or crashed */
                forget_tab(b);
                cay_timer_set(b->all->env.loop, &l->retry, RETRY_MS, on_retry);
                return;
        }
        if (l->session[0] == '\0' || strcmp(event->session, l->session) != 0)
                return;
        if (strcmp(event->method, "Page.screencastFrame") == 0) {
                take_frame(b, event);
        } else if (strcmp(event->method, "Page.loadEventFired") == 0) {
                look_at_title(b);
        } else if (strcmp(event->method, "Page.javascriptDialogOpening") == 0) {
                take_dialog(b, event);
        } else if (strcmp(event->method, "Page.javascriptDialogClosed") == 0) {
                l->dialog = (struct cay_dialog){ 0 };
                cay_live_tell(b, CAY_LIVE_ASKS);
        }
}

/* Viewers */

static void unlink_viewer(struct cay_live_viewer *v)
{
        struct cay_browser *b = v->browser;
        struct cay_live_viewer **at = &b->live.viewers;

        while (*at != v)
                at = &(*at)->next;
        *at = v->next;
        b->live.count--;
        b->live.persons -= !v->is_recorder;
        cay_timer_clear(&v->pace);
        v->browser = NULL;
}

static void close_user(struct cay_browser *b)
{
        cay_cdp_user_close(&b->live.user);
        cay_live_drop_calls(b);
        cay_timer_clear(&b->live.retry);
        cay_timer_clear(&b->live.idle);
        b->live.attaching[0] = b->live.shown[0] = '\0';
        forget_tab(b);
}

static void on_user_gone(struct cay_cdp_user *u, const struct cay_error *why)
{
        struct cay_browser *b = of_user(u);

        b->live.turn = NULL;
        close_user(b);
        while (b->live.viewers) {
                struct cay_live_viewer *v = b->live.viewers;

                unlink_viewer(v);
                v->on_gone(v, why);
        }
}

void cay_live_init(struct cay_browser *b)
{
        struct cay_live *l = &b->live;

        cay_buf_init(&l->picture, CAY_LIVE_FRAME_MAX);
        if (b->payer)
                cay_buf_charge(&l->picture, &b->payer->budget);
        l->user.on_event = on_user_event;
        l->user.on_gone = on_user_gone;
}

void cay_live_done(struct cay_browser *b)
{
        close_user(b);
        cay_buf_done(&b->live.picture);
}

int cay_live_open(struct cay_browsers *bs, const struct cay_viewer *who, const char *sandbox,
                  bool only_running, struct cay_live_viewer *v, struct cay_error *err)
{
        struct cay_browser *b = only_running ? cay_browser_find(bs, who, sandbox, err)
                                             : cay_browser_find_or_start(bs, who, sandbox, NULL, err);

        if (!b)
                return -1;
        if (b->live.count >= CAY_LIVE_VIEWERS_MAX)
                return cay_fail(err, CAY_LIMIT, "%u look at this browser, which is the maximum",
                                b->live.count);
        if (!cay_cdp_user_is_open(&b->live.user) &&
            cay_cdp_user_open(&b->live.user, &b->mux, bs->env.loop, err) < 0)
                return -1;
        if (b->live.shown[0] == '\0') {
                b->live.last_tab = b->tabs.last_number;
                choose_tab(b);
        }
        v->browser = b;
        v->next = b->live.viewers;
        v->seen = v->last_ms = 0;
        v->news = 0;
        v->is_ready = v->is_due = v->waits_for_room = false;
        b->live.viewers = v;
        b->live.count++;
        b->live.persons += !v->is_recorder;
        cay_browser_note_use(b);
        return 0;
}

void cay_live_close(struct cay_live_viewer *v)
{
        struct cay_browser *b = v->browser;

        if (!b)
                return;
        if (b->live.turn == v)
                cay_live_give_turn(b);
        unlink_viewer(v);
        if (b->live.count == 0)
                close_user(b);
        else
                answer_frames(b);
        cay_browser_note_use(b);
}

/* What viewers are told */

static void put_tabs(const struct cay_browser *b, struct cay_json *j)
{
        cay_json_key(j, "tabs");
        cay_json_begin_array(j);
        for (unsigned i = 0; i < b->tabs.count; i++) {
                const struct cay_tab *t = &b->tabs.items[i];

                cay_json_begin_object(j);
                cay_action_put_u64(j, "tab", t->number);
                cay_action_put_text(j, "url", t->url);
                cay_action_put_text(j, "title", t->title);
                cay_action_put_bool(j, "shown", strcmp(t->id, b->live.shown) == 0);
                cay_json_end_object(j);
        }
        cay_json_end_array(j);
}

static void put_pointer(const struct cay_live *l, struct cay_json *j)
{
        cay_json_key(j, "pointer");
        if (!l->pointer.what) {
                cay_json_null(j);
                return;
        }
        cay_json_begin_object(j);
        cay_action_put_u64(j, "x", (uint64_t)l->pointer.x);
        cay_action_put_u64(j, "y", (uint64_t)l->pointer.y);
        cay_action_put_text(j, "type", l->pointer.what);
        cay_action_put_text(j, "by", l->pointer.by_person ? "person" : "agent");
        cay_json_end_object(j);
}

static void put_dialog(const struct cay_live *l, struct cay_json *j)
{
        if (l->dialog.type[0] != '\0') {
                cay_action_put_dialog(j, &l->dialog);
                return;
        }
        cay_json_key(j, "dialog");
        cay_json_null(j);
}

void cay_live_put(const struct cay_live_viewer *v, unsigned bit, struct cay_json *j)
{
        const struct cay_live *l;

        if (!v->browser)
                return;
        l = &v->browser->live;
        if (bit & CAY_LIVE_TABS)
                put_tabs(v->browser, j);
        if (bit & CAY_LIVE_POINTER)
                put_pointer(l, j);
        if (bit & CAY_LIVE_ASKS)
                put_dialog(l, j);
        if (bit & CAY_LIVE_NOTE)
                cay_action_put_text(j, "note", l->note);
        if (bit & CAY_LIVE_TURN)
                cay_action_put_text(j, "turn", !l->turn ? "agent" : l->turn == v ? "yours" : "others");
}
