/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/browser/driver.h"

#include <stdlib.h>
#include <string.h>

#include "foundation/base/clock.h"
#include "foundation/base/str.h"

#define SETUP_MS 30000u
#define ATTACH "{\"autoAttach\":true,\"waitForDebuggerOnStart\":true,\"flatten\":true}"

/* What a session is told, in this order. A page's memory for bodies is bounded. */
static const struct {
        const char *method, *params;
        bool only_page;
} setup[] = {
        { "Page.enable", NULL, true },
        { "Page.setLifecycleEventsEnabled", "{\"enabled\":true}", true },
        { "Network.enable",
          "{\"maxTotalBufferSize\":16777216,\"maxResourceBufferSize\":8388608,\"maxPostDataSize\":65536}",
          false },
        { "Runtime.enable", NULL, false },
        { "Log.enable", NULL, false },
        { "Target.setAutoAttach", ATTACH, false },
        { "Runtime.runIfWaitingForDebugger", NULL, false },
};

static void on_setup(struct cay_cdp_call *call)
{
        (void)call; /* a worker has no Log, a target may be gone: the rest works */
}

static struct cay_target *find_session(const struct cay_driver *d, const char *session)
{
        struct cay_target *t = session[0] ? d->targets : NULL;

        while (t && strcmp(t->session, session) != 0)
                t = t->next;
        return t;
}

struct cay_target *cay_driver_tab(const struct cay_driver *d, const char *id)
{
        struct cay_target *t = d->targets;

        while (t && (strcmp(t->id, id) != 0 || strcmp(t->type, "page") != 0))
                t = t->next;
        return t;
}

const struct cay_target *cay_driver_session(const struct cay_driver *d, const char *session)
{
        return find_session(d, session);
}

const struct cay_target *cay_driver_frame(const struct cay_driver *d, const char *id)
{
        const struct cay_target *t = d->targets;

        while (t && (strcmp(t->id, id) != 0 || strcmp(t->type, "iframe") != 0 || t->has_crashed))
                t = t->next;
        return t;
}

const struct cay_known_frame *cay_driver_known_frame(const struct cay_driver *d, uint64_t number)
{
        if (number == 0 || number > d->last_frame || number + CAY_FRAMES_KNOWN_MAX <= d->last_frame)
                return NULL;
        return &d->known[number % CAY_FRAMES_KNOWN_MAX];
}

unsigned cay_driver_number_frame(struct cay_driver *d, const char *id, const char *session)
{
        const struct cay_known_frame *f;
        struct cay_known_frame *new;

        for (unsigned n = d->last_frame; (f = cay_driver_known_frame(d, n)); n--)
                if (strcmp(f->id, id) == 0 && strcmp(f->session, session) == 0)
                        return n;
        if (!d->known)
                d->known = calloc(CAY_FRAMES_KNOWN_MAX, sizeof(*d->known));
        if (!d->known)
                return 0;
        new = &d->known[++d->last_frame % CAY_FRAMES_KNOWN_MAX];
        cay_str_copy(new->id, sizeof(new->id), id);
        cay_str_copy(new->session, sizeof(new->session), session);
        return d->last_frame;
}

static void free_target(struct cay_target *t)
{
        for (unsigned i = 0; i < CAY_TARGET_SETUP; i++)
                cay_cdp_call_cancel(&t->setup[i]);
        free(t);
}

static void drop(struct cay_driver *d, const char *session)
{
        struct cay_target **at = &d->targets, *t;

        while (*at && strcmp((*at)->session, session) != 0)
                at = &(*at)->next;
        if (!*at)
                return;
        t = *at;
        *at = t->next;
        d->count--;
        free_target(t);
}

static void attach(struct cay_driver *d, struct cay_cdp_user *own, const struct cay_cdp_message *event)
{
        struct cay_json_view info = cay_cdp_find(event->params, "targetInfo");
        const struct cay_target *parent = find_session(d, event->session);
        struct cay_target *t = d->count < CAY_TARGETS_MAX ? calloc(1, sizeof(*t)) : NULL, **at = &d->targets;
        bool is_page;

        if (!t)
                return; /* its session is held until the browser ends: it does not run */
        cay_cdp_find_session(event->params, "sessionId", t->session);
        cay_cdp_find_text(info, "targetId", t->id, sizeof(t->id));
        cay_cdp_find_text(info, "type", t->type, sizeof(t->type));
        is_page = strcmp(t->type, "page") == 0;
        cay_str_copy(t->tab, sizeof(t->tab), is_page || !parent ? t->id : parent->tab);
        cay_str_copy(t->parent, sizeof(t->parent), event->session);
        while (*at)
                at = &(*at)->next;
        *at = t;
        d->count++;
        for (unsigned i = 0; i < CAY_TARGET_SETUP; i++) {
                t->setup[i].on_done = on_setup;
                if (is_page || !setup[i].only_page)
                        cay_cdp_call(own, &t->setup[i], t->session, setup[i].method, setup[i].params,
                                     SETUP_MS);
        }
}

static void on_attached(struct cay_cdp_call *call)
{
        struct cay_driver *d = cay_container_of(call, struct cay_driver, attach);

        d->why = call->err;
        d->is_on = call->err.code == CAY_OK;
        d->is_asked = d->is_on;
        d->on_on(d);
}

void cay_driver_begin(struct cay_driver *d, struct cay_cdp_user *own)
{
        if (d->is_asked)
                return;
        d->is_asked = true;
        d->attach.on_done = on_attached;
        cay_cdp_call(own, &d->attach, "", "Target.setAutoAttach", ATTACH, SETUP_MS);
}

/* Events */

static void hear_lifecycle(struct cay_target *t, const struct cay_cdp_message *event)
{
        static const struct {
                const char *name;
                unsigned bit;
        } rows[] = { { "DOMContentLoaded", CAY_LOADED_DOM },
                     { "load", CAY_LOADED },
                     { "networkIdle", CAY_LOADED_QUIET } };
        char frame[40], loader[40], name[32];

        if (strcmp(cay_cdp_find_text(event->params, "frameId", frame, sizeof(frame)), t->id) != 0)
                return; /* of a frame in the page */
        cay_cdp_find_text(event->params, "loaderId", loader, sizeof(loader));
        cay_cdp_find_text(event->params, "name", name, sizeof(name));
        if (strcmp(loader, t->loader) != 0) {
                cay_str_copy(t->loader, sizeof(t->loader), loader);
                t->loaded = 0;
        }
        for (unsigned i = 0; i < CAY_COUNT(rows); i++)
                if (strcmp(rows[i].name, name) == 0)
                        t->loaded |= rows[i].bit;
}

static bool is_main_frame(const struct cay_target *t, const struct cay_cdp_message *event)
{
        char frame[40];

        return strcmp(cay_cdp_find_text(event->params, "frameId", frame, sizeof(frame)), t->id) == 0;
}

static void hear_dialog(struct cay_target *t, const struct cay_cdp_message *event)
{
        struct cay_json_view text;

        cay_cdp_find_text(event->params, "type", t->dialog.type, sizeof(t->dialog.type));
        text = cay_cdp_find(event->params, "message");
        if (cay_json_view_open(text.at, text.len, &text) == 0)
                cay_json_view_copy(text, t->dialog.message, sizeof(t->dialog.message));
        text = cay_cdp_find(event->params, "defaultPrompt");
        if (cay_json_view_open(text.at, text.len, &text) == 0)
                cay_json_view_copy(text, t->dialog.default_text, sizeof(t->dialog.default_text));
}

/* A page that was kept while another was shown: it does not load again. */
static void hear_navigated(struct cay_target *t, const struct cay_cdp_message *event)
{
        struct cay_json_view frame = cay_cdp_find(event->params, "frame");
        char id[40], type[32];

        cay_cdp_find_text(event->params, "type", type, sizeof(type));
        if (strcmp(type, "BackForwardCacheRestore") != 0 ||
            strcmp(cay_cdp_find_text(frame, "id", id, sizeof(id)), t->id) != 0)
                return;
        cay_cdp_find_text(frame, "loaderId", t->loader, sizeof(t->loader));
        t->loaded = CAY_LOADED_DOM | CAY_LOADED | CAY_LOADED_QUIET;
        t->within++;
}

static void hear_page(struct cay_target *t, const struct cay_cdp_message *event)
{
        if (strcmp(event->method, "Page.lifecycleEvent") == 0)
                hear_lifecycle(t, event);
        else if (strcmp(event->method, "Page.frameStartedLoading") == 0 ||
                 strcmp(event->method, "Page.frameRequestedNavigation") == 0)
                t->is_loading |= is_main_frame(t, event);
        else if (strcmp(event->method, "Page.frameStoppedLoading") == 0)
                t->is_loading &= !is_main_frame(t, event);
        else if (strcmp(event->method, "Page.frameNavigated") == 0)
                hear_navigated(t, event);
        else if (strcmp(event->method, "Page.navigatedWithinDocument") == 0)
                t->within += is_main_frame(t, event);
        else if (strcmp(event->method, "Page.javascriptDialogOpening") == 0)
                hear_dialog(t, event);
        else if (strcmp(event->method, "Page.javascriptDialogClosed") == 0)
                t->dialog = (struct cay_dialog){ 0 };
        else if (strcmp(event->method, "Inspector.targetCrashed") == 0)
                t->has_crashed = true;
        else if (strcmp(event->method, "Inspector.targetReloadedAfterCrash") == 0) {
                t->has_crashed = false;
                t->crash[0] = '\0';
        }
}

/* How the process of a page ended; it comes beside Inspector.targetCrashed. */
static void hear_crash(struct cay_driver *d, const struct cay_cdp_message *event)
{
        char id[40];
        struct cay_target *t =
                cay_driver_tab(d, cay_cdp_find_text(event->params, "targetId", id, sizeof(id)));

        if (t) {
                t->has_crashed = true;
                cay_cdp_find_text(event->params, "status", t->crash, sizeof(t->crash));
        }
}

void cay_driver_hear(struct cay_driver *d, struct cay_cdp_user *own, const struct cay_cdp_message *event)
{
        char session[CAY_CDP_SESSION_LEN + 1];
        struct cay_target *t;

        if (!d->is_asked)
                return;
        t = find_session(d, event->session);
        if (strcmp(event->method, "Target.attachedToTarget") == 0) {
                attach(d, own, event);
        } else if (strcmp(event->method, "Target.detachedFromTarget") == 0) {
                if (cay_cdp_find_session(event->params, "sessionId", session))
                        drop(d, session);
        } else if (strcmp(event->method, "Target.targetCrashed") == 0) {
                hear_crash(d, event);
        } else if (t) {
                if (strcmp(t->type, "page") == 0)
                        hear_page(t, event);
                else if (strcmp(event->method, "Inspector.targetCrashed") == 0)
                        t->has_crashed = true;
                cay_browser_logs_hear(&d->logs, event, t->tab, cay_clock_wall_ms());
        }
}

void cay_driver_done(struct cay_driver *d)
{
        cay_cdp_call_cancel(&d->attach);
        while (d->targets) {
                struct cay_target *t = d->targets;

                d->targets = t->next;
                free_target(t);
        }
        d->count = 0;
        d->is_on = d->is_asked = false;
        free(cay_take(d->known));
        d->last_frame = 0;
        cay_browser_logs_done(&d->logs);
}
