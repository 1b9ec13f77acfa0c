/* SPDX-License-Identifier: Apache-2.0 */
/* What a person does who has taken over a browser: orders become commands of CDP. The rules are in live.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "domain/browser/action_steps.h"
#include "domain/browser/browser_priv.h"
#include "foundation/base/str.h"

#define CALL_MS 20000u
#define URL_MAX 2048u

struct cay_live_call { /* owns itself until it is done */
        struct cay_live_call *next;
        struct cay_browser *browser;
        struct cay_cdp_call call;
        enum { PLAIN, NAVIGATES, LOOKS_BACK, LOOKS_FORWARD } what;
        char url[URL_MAX + 16]; /* of NAVIGATES */
};

/* Calls */

static void unlink_call(struct cay_live_call *c)
{
        struct cay_live *l = &c->browser->live;
        struct cay_live_call **at = &l->calls;

        while (*at != c)
                at = &(*at)->next;
        *at = c->next;
        l->call_count--;
}

void cay_live_drop_calls(struct cay_browser *b)
{
        while (b->live.calls) {
                struct cay_live_call *c = b->live.calls;

                unlink_call(c);
                cay_cdp_call_cancel(&c->call);
                free(c);
        }
}

static void wake_viewers(struct cay_browser *b)
{
        struct cay_live_viewer *v;

        do { /* each may close itself */
                for (v = b->live.viewers; v && !v->waits_for_room; v = v->next)
                        ;
                if (v) {
                        v->waits_for_room = false;
                        if (v->on_room)
                                v->on_room(v);
                }
        } while (v && b->live.call_count < CAY_LIVE_CALLS_MAX / 2);
}

static void note(struct cay_browser *b, const char *text)
{
        cay_str_copy(b->live.note, sizeof(b->live.note), text);
        cay_live_tell(b, CAY_LIVE_NOTE);
}

static void take_navigated(struct cay_live_call *c)
{
        struct cay_error why = { 0 };
        char error[96];

        if (c->call.err.code != CAY_OK) {
                note(c->browser, "this is no address");
                return;
        }
        cay_cdp_find_text(c->call.result, "errorText", error, sizeof(error));
        if (error[0] == '\0' || strcmp(error, "net::ERR_ABORTED") == 0)
                return;
        cay_browser_explain_net(c->browser, "navigation", c->url, error, &why);
        why.msg[sizeof(c->browser->live.note) - 1] = '\0';
        note(c->browser, why.msg);
}

static void take_history(struct cay_live_call *c)
{
        struct cay_browser *b = c->browser;
        struct cay_json_view entries = cay_cdp_find(c->call.result, "entries"), key, entry, found = { 0 };
        struct cay_json_walk walk;
        uint64_t current = 0, wanted, id, i = 0;
        char params[48];

        if (!cay_json_view_u64(cay_cdp_find(c->call.result, "currentIndex"), &current) ||
            cay_json_view_open(entries.at, entries.len, &entries) < 0)
                return;
        wanted = c->what == LOOKS_BACK ? current - 1 : current + 1; /* wraps: then there is none */
        walk = cay_json_view_walk(entries);
        while (cay_json_view_next(&walk, &key, &entry))
                if (i++ == wanted)
                        found = entry;
        if (found.len == 0 || !cay_json_view_u64(cay_json_view_find(found, "id"), &id))
                return;
        snprintf(params, sizeof(params), "{\"entryId\":%llu}", (unsigned long long)id);
        cay_live_call(b, b->live.session, "Page.navigateToHistoryEntry", params);
}

static void on_done(struct cay_cdp_call *call)
{
        struct cay_live_call *c = cay_container_of(call, struct cay_live_call, call);
        struct cay_browser *b = c->browser;

        unlink_call(c);
        if (c->what == NAVIGATES)
                take_navigated(c);
        else if (c->what != PLAIN && call->err.code == CAY_OK)
                take_history(c);
        free(c);
        if (b->live.call_count < CAY_LIVE_CALLS_MAX / 2)
                wake_viewers(b);
}

static struct cay_live_call *begin(struct cay_browser *b)
{
        struct cay_live_call *c = calloc(1, sizeof(*c));

        if (!c)
                return NULL; /* what was wanted does not happen; the picture shows it */
        c->browser = b;
        c->next = b->live.calls;
        b->live.calls = c;
        b->live.call_count++;
        c->call.on_done = on_done;
        return c;
}

void cay_live_call(struct cay_browser *b, const char *session, const char *method, const char *params)
{
        bool has_room = cay_cdp_user_is_open(&b->live.user) && b->live.call_count < CAY_LIVE_CALLS_MOST;
        struct cay_live_call *c = has_room ? begin(b) : NULL;

        if (c)
                cay_cdp_call(&b->live.user, &c->call, session, method, params, CALL_MS);
}

/* The turn */

void cay_live_give_turn(struct cay_browser *b)
{
        if (!b->live.turn)
                return;
        b->live.turn = NULL;
        cay_timer_clear(&b->live.idle);
        cay_live_tell(b, CAY_LIVE_TURN);
}

static void on_idle(struct cay_timer *t)
{
        struct cay_browser *b = cay_container_of(t, struct cay_browser, live.idle);

        cay_live_give_turn(b);
        note(b, "handed back, since nothing was done for five minutes");
}

static int take_turn(struct cay_live_viewer *v, struct cay_error *err)
{
        struct cay_browser *b = v->browser;

        if (b->live.turn && b->live.turn != v)
                return cay_fail(err, CAY_CONFLICT, "somebody else has taken over; wait until they hand back");
        if (b->live.turn != v) {
                b->live.turn = v;
                cay_live_tell(b, CAY_LIVE_TURN);
        }
        return 0;
}

/* Orders */

typedef int doer(struct cay_browser *b, const struct cay_live_order *o, struct cay_error *err);

static int send_params(struct cay_browser *b, const char *method, struct cay_json *j, struct cay_buf *params)
{
        cay_json_end_object(j);
        if (cay_json_end(j) == 0)
                cay_live_call(b, b->live.session, method, cay_buf_data(params));
        return 0;
}

static void begin_params(struct cay_json *j, struct cay_buf *params)
{
        cay_buf_init(params, CAY_LIVE_TEXT_MAX * 6 + 1024);
        cay_json_init(j, params);
        cay_json_begin_object(j);
}

static void put_number(struct cay_json *j, const char *key, int value)
{
        cay_json_key(j, key);
        cay_json_i64(j, value);
}

static int do_mouse(struct cay_browser *b, const struct cay_live_order *o, struct cay_error *err)
{
        static const char *const types[] = { "mouseMoved", "mousePressed", "mouseReleased", "mouseWheel" };
        cay_auto_buf struct cay_buf params = { 0 };
        struct cay_json j;

        (void)err;
        begin_params(&j, &params);
        cay_action_put_text(&j, "type", types[o->mouse]);
        put_number(&j, "x", o->x);
        put_number(&j, "y", o->y);
        cay_action_put_text(&j, "button", o->button);
        put_number(&j, "buttons", (int)o->buttons);
        put_number(&j, "clickCount", (int)o->clicks);
        put_number(&j, "modifiers", (int)o->modifiers);
        if (o->mouse == CAY_LIVE_WHEEL) {
                put_number(&j, "deltaX", o->dx);
                put_number(&j, "deltaY", o->dy);
        }
        return send_params(b, "Input.dispatchMouseEvent", &j, &params);
}

/*
 * What a key types by itself: nothing while Control, Alt or Meta is held. Names of one character are that
 * character.
 */
static const char *typed_by(const struct cay_live_order *o)
{
        unsigned char first = (unsigned char)o->key[0];
        size_t len = strlen(o->key), whole = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;

        if (o->modifiers & 7)
                return "";
        return strcmp(o->key, "Enter") == 0 ? "\r" : len == whole ? o->key : "";
}

static int do_key(struct cay_browser *b, const struct cay_live_order *o, struct cay_error *err)
{
        cay_auto_buf struct cay_buf params = { 0 };
        const char *text = typed_by(o);
        struct cay_json j;

        (void)err;
        begin_params(&j, &params);
        cay_action_put_text(&j, "type", !o->is_down ? "keyUp" : text[0] ? "keyDown" : "rawKeyDown");
        cay_action_put_text(&j, "key", o->key);
        cay_action_put_text(&j, "code", o->code);
        put_number(&j, "windowsVirtualKeyCode", (int)o->vk);
        put_number(&j, "modifiers", (int)o->modifiers);
        put_number(&j, "location", (int)o->place);
        cay_action_put_bool(&j, "autoRepeat", o->is_repeat);
        if (o->is_down && text[0])
                cay_action_put_text(&j, "text", text);
        return send_params(b, "Input.dispatchKeyEvent", &j, &params);
}

static int do_text(struct cay_browser *b, const struct cay_live_order *o, struct cay_error *err)
{
        cay_auto_buf struct cay_buf params = { 0 };
        struct cay_json j;

        (void)err;
        begin_params(&j, &params);
        cay_action_put_text(&j, "text", o->text);
        return send_params(b, "Input.insertText", &j, &params);
}

static int do_go(struct cay_browser *b, const struct cay_live_order *o, struct cay_error *err)
{
        bool has_scheme = strstr(o->text, "://") != NULL, is_blank = strcmp(o->text, "about:blank") == 0;
        bool is_local = strncasecmp(o->text, "localhost", 9) == 0 || strncmp(o->text, "127.", 4) == 0;
        cay_auto_buf struct cay_buf params = { 0 };
        struct cay_live_call *c;
        struct cay_json j;

        if (strlen(o->text) > URL_MAX)
                return cay_fail(err, CAY_INVALID, "url: at most %u bytes", URL_MAX);
        if (has_scheme && strncasecmp(o->text, "http://", 7) != 0 && strncasecmp(o->text, "https://", 8) != 0)
                return cay_fail(err, CAY_DENIED, "url: only addresses of http and https can be opened here");
        c = begin(b);
        if (!c)
                return 0;
        c->what = NAVIGATES;
        /*
         * Without a scheme it is a host: what looks like another scheme ("file:…") becomes one that nobody
         * has.
         */
        snprintf(c->url, sizeof(c->url), "%s%.*s",
                 has_scheme || is_blank ? ""
                 : is_local             ? "http://"
                                        : "https://",
                 (int)URL_MAX, o->text);
        begin_params(&j, &params);
        cay_action_put_text(&j, "url", c->url);
        cay_json_end_object(&j);
        cay_json_end(&j);
        cay_cdp_call(&b->live.user, &c->call, b->live.session, "Page.navigate", cay_buf_data(&params),
                     CALL_MS);
        return 0;
}

static int do_history(struct cay_browser *b, const struct cay_live_order *o, struct cay_error *err)
{
        struct cay_live_call *c;

        (void)err;
        if (o->history == CAY_LIVE_RELOAD) {
                cay_live_call(b, b->live.session, "Page.reload", NULL);
                return 0;
        }
        c = begin(b);
        if (!c)
                return 0;
        c->what = o->history == CAY_LIVE_BACK ? LOOKS_BACK : LOOKS_FORWARD;
        cay_cdp_call(&b->live.user, &c->call, b->live.session, "Page.getNavigationHistory", NULL, CALL_MS);
        return 0;
}

static const struct cay_tab *find_number(const struct cay_browser *b, uint64_t number, struct cay_error *err)
{
        for (unsigned i = 0; i < b->tabs.count; i++)
                if (b->tabs.items[i].number == number)
                        return &b->tabs.items[i];
        cay_fail(err, CAY_NOT_FOUND, "tab: there is no tab %llu", (unsigned long long)number);
        return NULL;
}

static int do_select(struct cay_browser *b, const struct cay_live_order *o, struct cay_error *err)
{
        const struct cay_tab *tab = find_number(b, o->number, err);

        if (tab)
                cay_live_show(b, tab->id);
        return tab ? 0 : -1;
}

static int do_open(struct cay_browser *b, const struct cay_live_order *o, struct cay_error *err)
{
        (void)o;
        (void)err;
        cay_live_call(b, "", "Target.createTarget", "{\"url\":\"about:blank\"}");
        return 0;
}

static int do_close(struct cay_browser *b, const struct cay_live_order *o, struct cay_error *err)
{
        const struct cay_tab *tab = find_number(b, o->number, err);
        char params[80];

        if (!tab)
                return -1;
        if (b->tabs.count == 1)
                return cay_fail(err, CAY_CONFLICT, "the last tab stays: without one the browser ends");
        snprintf(params, sizeof(params), "{\"targetId\":\"%s\"}", tab->id);
        cay_live_call(b, "", "Target.closeTarget", params);
        return 0;
}

static int do_dialog(struct cay_browser *b, const struct cay_live_order *o, struct cay_error *err)
{
        cay_auto_buf struct cay_buf params = { 0 };
        struct cay_json j;

        if (b->live.dialog.type[0] == '\0')
                return cay_fail(err, CAY_CONFLICT, "no dialog is open");
        begin_params(&j, &params);
        cay_action_put_bool(&j, "accept", o->accepts);
        if (o->text[0] != '\0')
                cay_action_put_text(&j, "promptText", o->text);
        return send_params(b, "Page.handleJavaScriptDialog", &j, &params);
}

static const struct {
        doer *act;
        bool needs_tab;
} rows[CAY_LIVE_KIND_COUNT] = {
        [CAY_LIVE_MOUSE] = { do_mouse, true },     [CAY_LIVE_KEY] = { do_key, true },
        [CAY_LIVE_TEXT] = { do_text, true },       [CAY_LIVE_GO] = { do_go, true },
        [CAY_LIVE_HISTORY] = { do_history, true }, [CAY_LIVE_TAB_SELECT] = { do_select, false },
        [CAY_LIVE_TAB_OPEN] = { do_open, false },  [CAY_LIVE_TAB_CLOSE] = { do_close, false },
        [CAY_LIVE_DIALOG] = { do_dialog, true },
};

int cay_live_act(struct cay_live_viewer *v, const struct cay_live_order *o, struct cay_error *err)
{
        struct cay_browser *b = v->browser;

        if (!b)
                return cay_fail(err, CAY_CONFLICT, "the browser has ended");
        if (v->only_looks)
                return cay_fail(err, CAY_DENIED, "this view is only to look at");
        if (o->kind == CAY_LIVE_GIVE) {
                if (b->live.turn == v)
                        cay_live_give_turn(b);
                return 0;
        }
        if (o->kind == CAY_LIVE_TAKE) {
                if (take_turn(v, err) < 0)
                        return -1;
        } else if (b->live.turn != v) {
                return cay_fail(err, CAY_CONFLICT, "take over first");
        }
        cay_timer_set(b->all->env.loop, &b->live.idle, CAY_LIVE_TURN_MS, on_idle);
        if (!rows[o->kind].act)
                return 0;
        if (b->live.call_count >= CAY_LIVE_CALLS_MAX) {
                v->waits_for_room = true;
                return -EAGAIN;
        }
        if (rows[o->kind].needs_tab && b->live.session[0] == '\0')
                return cay_fail(err, CAY_UNAVAILABLE, "no tab is shown yet");
        return rows[o->kind].act(b, o, err);
}
