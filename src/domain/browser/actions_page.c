/* SPDX-License-Identifier: Apache-2.0 */
/* Actions that lead to pages, wait for them, and answer their dialogs. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "domain/browser/action_steps.h"
#include "domain/browser/frames.h"
#include "foundation/base/str.h"

#define URL_MAX 4096u
#define WITHIN_MS 20u /* until the address of a move within the page is told */
#define WITHIN_TURNS 10u

enum { IS_DOWNLOAD = 1, MOVED_WITHIN = 2, SEEN = 4 }; /* facts */

/* Loading */

static unsigned wanted_bit(const struct cay_action *a)
{
        const char *until = a->args->until ? a->args->until : "load";

        return strcmp(until, "domcontentloaded") == 0 ? CAY_LOADED_DOM
               : strcmp(until, "networkidle") == 0    ? CAY_LOADED_QUIET
               : strcmp(until, "commit") == 0         ? 0
                                                      : CAY_LOADED;
}

static enum cay_step_next check_until(struct cay_action *a)
{
        static const char *const words[] = { "load", "domcontentloaded", "networkidle", "commit" };

        for (unsigned i = 0; a->args->until && i < CAY_COUNT(words); i++)
                if (strcmp(words[i], a->args->until) == 0)
                        return CAY_STEP_NEXT;
        return a->args->until
                       ? cay_action_fail(a, "until", CAY_INVALID,
                                         "until: must be load, domcontentloaded, networkidle or commit")
                       : CAY_STEP_NEXT;
}

/* Whether it is the document that was asked for, or one that this one has led to by itself. */
static bool is_new(struct cay_action *a, const struct cay_target *t)
{
        if (a->document[0] == '\0')
                return strcmp(t->loader, a->loader) != 0;
        if (strcmp(t->loader, a->document) == 0)
                a->facts |= SEEN;
        return (a->facts & SEEN) != 0;
}

static enum cay_step_next take_loaded(struct cay_action *a, struct cay_json_view none)
{
        const struct cay_target *t = cay_action_target(a);
        unsigned bit = wanted_bit(a);

        (void)none;
        if (a->facts & MOVED_WITHIN && t->within == a->within && a->turn < WITHIN_TURNS) {
                a->again_ms = WITHIN_MS;
                return CAY_STEP_AGAIN;
        }
        if (a->facts & (IS_DOWNLOAD | MOVED_WITHIN) || (a->document[0] == '\0' && t->within != a->within))
                return CAY_STEP_NEXT;
        if (is_new(a, t) && (t->loaded & bit) == bit)
                return CAY_STEP_NEXT;
        snprintf(a->why, sizeof(a->why), "the page has not reached '%s'",
                 a->args->until ? a->args->until : "load");
        return CAY_STEP_WAIT;
}

const struct cay_step cay_step_loaded = { .take = take_loaded };

void cay_action_put_loaded(const struct cay_action *a, struct cay_json *j)
{
        const struct cay_target *t = cay_action_target(a);
        const struct cay_request *r = t ? cay_browser_logs_find(&a->browser->driver.logs, t->loader) : NULL;

        cay_json_key(j, "status");
        if (r && r->status > 0 && !(a->facts & IS_DOWNLOAD))
                cay_json_u64(j, r->status);
        else
                cay_json_null(j);
        cay_action_put_bool(j, "download", (a->facts & IS_DOWNLOAD) != 0);
}

/* Going somewhere */

/* "example.com" as people write it: https, and http to the sandbox itself. */
static const char *whole_url(const char *url, char *ret, size_t size)
{
        bool is_local = strncasecmp(url, "localhost", 9) == 0 || strncmp(url, "127.", 4) == 0;
        const char *colon = strpbrk(url, ":/.");

        if (strstr(url, "://") || (colon && *colon == ':' && !(colon[1] >= '0' && colon[1] <= '9')))
                return url; /* about:blank, data:… */
        snprintf(ret, size, "%s://%s", is_local ? "http" : "https", url);
        return ret;
}

static enum cay_step_next put_navigate(struct cay_action *a, struct cay_json *j)
{
        char whole[URL_MAX + 16];

        if (check_until(a) == CAY_STEP_FAIL)
                return CAY_STEP_FAIL;
        if (!a->args->url) /* a new tab that stays empty */
                a->facts |= MOVED_WITHIN;
        if (!a->args->url)
                return CAY_STEP_SKIP;
        cay_action_put_text(j, "url", whole_url(a->args->url, whole, sizeof(whole)));
        snprintf(a->why, sizeof(a->why), "%.200s does not answer", a->args->url);
        return CAY_STEP_SEND;
}

static enum cay_step_next take_navigate(struct cay_action *a, struct cay_json_view result)
{
        char error[96];

        cay_cdp_find_text(result, "errorText", error, sizeof(error));
        cay_cdp_find_text(result, "loaderId", a->document, sizeof(a->document));
        if (cay_json_view_is_true(cay_cdp_find(result, "isDownload"))) {
                a->facts |= IS_DOWNLOAD;
                return CAY_STEP_NEXT;
        }
        if (error[0] != '\0') {
                a->field = "url";
                a->err = (struct cay_error){ 0 };
                cay_browser_explain_net(a->browser, "navigation", a->args->url, error, &a->err);
                return CAY_STEP_FAIL;
        }
        if (a->document[0] == '\0')
                a->facts |= MOVED_WITHIN;
        return CAY_STEP_NEXT;
}

static enum cay_step_next refused_navigate(struct cay_action *a)
{
        return cay_action_fail(a, "url", CAY_INVALID, "url: '%.120s' is no address", a->args->url);
}

const struct cay_step cay_step_navigate = {
        .method = "Page.navigate", .put = put_navigate, .take = take_navigate, .refused = refused_navigate
};

static enum cay_step_next put_where(struct cay_action *a, struct cay_json *j)
{
        (void)j;
        if (check_until(a) == CAY_STEP_FAIL)
                return CAY_STEP_FAIL;
        if (strcmp(a->args->go, "reload") == 0)
                return CAY_STEP_SKIP;
        if (strcmp(a->args->go, "back") != 0 && strcmp(a->args->go, "forward") != 0)
                return cay_action_fail(a, "go", CAY_INVALID, "go: must be back, forward or reload");
        return CAY_STEP_SEND;
}

static enum cay_step_next take_where(struct cay_action *a, struct cay_json_view result)
{
        struct cay_json_view entries = cay_cdp_find(result, "entries"), key, entry = { 0 }, found = { 0 };
        uint64_t current = 0, wanted, i = 0;
        struct cay_json_walk walk;

        if (!cay_json_view_u64(cay_cdp_find(result, "currentIndex"), &current) ||
            cay_json_view_open(entries.at, entries.len, &entries) < 0)
                return cay_action_fail(a, NULL, CAY_CONFLICT, "the tab's history is not known; retry");
        wanted = strcmp(a->args->go, "back") == 0 ? current - 1 : current + 1; /* wraps: then there is none */
        walk = cay_json_view_walk(entries);
        while (cay_json_view_next(&walk, &key, &entry))
                if (i++ == wanted)
                        found = entry;
        if (found.len == 0 || !cay_json_view_u64(cay_json_view_find(found, "id"), &a->world))
                return cay_action_fail(a, "go", CAY_CONFLICT, "there is no page to go %s to", a->args->go);
        return CAY_STEP_NEXT;
}

static const struct cay_step step_where = { .method = "Page.getNavigationHistory",
                                            .put = put_where,
                                            .take = take_where };

/* What is there now, if nothing has told yet. */
static enum cay_step_next put_tree(struct cay_action *a, struct cay_json *j)
{
        (void)j;
        return a->loader[0] != '\0' || cay_action_target(a)->has_crashed ? CAY_STEP_SKIP : CAY_STEP_SEND;
}

static enum cay_step_next take_tree(struct cay_action *a, struct cay_json_view result)
{
        struct cay_json_view frame = cay_cdp_find(cay_cdp_find(result, "frameTree"), "frame");

        cay_cdp_find_text(frame, "loaderId", a->loader, sizeof(a->loader));
        return CAY_STEP_NEXT;
}

static const struct cay_step step_tree = { .method = "Page.getFrameTree",
                                           .put = put_tree,
                                           .take = take_tree };

static enum cay_step_next put_entry(struct cay_action *a, struct cay_json *j)
{
        if (strcmp(a->args->go, "reload") == 0)
                return CAY_STEP_SKIP;
        cay_action_put_u64(j, "entryId", a->world);
        return CAY_STEP_SEND;
}

static enum cay_step_next put_reload(struct cay_action *a, struct cay_json *j)
{
        (void)j;
        return strcmp(a->args->go, "reload") == 0 ? CAY_STEP_SEND : CAY_STEP_SKIP;
}

static const struct cay_step step_entry = { .method = "Page.navigateToHistoryEntry", .put = put_entry };
static const struct cay_step step_reload = { .method = "Page.reload", .put = put_reload };

/* Waiting */

static enum cay_step_next put_holds(struct cay_action *a, struct cay_json *j)
{
        if (!a->args->target && !a->args->text)
                return CAY_STEP_SKIP;
        a->object[0] = '\0';
        cay_action_script(a, j, "holds");
        cay_action_argument(j, a->args->target ? a->args->target : "");
        cay_json_begin_object(j);
        cay_json_key(j, "value");
        cay_json_begin_array(j);
        cay_json_text(j, a->args->state ? a->args->state : "visible");
        cay_json_text(j, a->args->text ? a->args->text : "");
        cay_json_end_array(j);
        cay_json_end_object(j);
        cay_action_script_end(j);
        return CAY_STEP_SEND;
}

static bool is_hidden_wanted(const struct cay_action *a)
{
        return a->args->target && a->args->state && strcmp(a->args->state, "hidden") == 0;
}

static enum cay_step_next take_holds(struct cay_action *a, struct cay_json_view result)
{
        struct cay_json_view v;

        if (cay_cdp_find(result, "exceptionDetails").len > 0)
                return cay_action_fail(a, "target", CAY_INVALID,
                                       "target: '%.80s' is no CSS selector and no text (text=Sign in)",
                                       a->args->target ? a->args->target : "");
        v = cay_action_value(a, result);
        if (cay_json_view_is_true(v) && is_hidden_wanted(a) && cay_action_has_next_frame(a))
                return cay_action_next_frame(a); /* there too */
        if (cay_json_view_is_true(v)) {
                a->keeps_why = false;
                return CAY_STEP_NEXT;
        }
        if (a->args->text)
                snprintf(a->why, sizeof(a->why), "the text '%.80s' is not there", a->args->text);
        else
                snprintf(a->why, sizeof(a->why), "'%.120s' is not %s", a->args->target,
                         a->args->state ? a->args->state : "visible");
        return is_hidden_wanted(a) ? cay_action_first_frame(a) : cay_action_next_frame(a);
}

static const struct cay_step step_holds = { .method = "Runtime.callFunctionOn",
                                            .put = put_holds,
                                            .take = take_holds };

static enum cay_step_next check_wait(struct cay_action *a, struct cay_json_view none)
{
        const char *state = a->args->state;

        (void)none;
        if (state && strcmp(state, "visible") != 0 && strcmp(state, "hidden") != 0 &&
            strcmp(state, "attached") != 0)
                return cay_action_fail(a, "state", CAY_INVALID, "state: must be visible, hidden or attached");
        if (a->args->until && check_until(a) == CAY_STEP_FAIL)
                return CAY_STEP_FAIL;
        if (!a->args->target && !a->args->text && !a->args->url && !a->args->until && !a->args->delay_ms)
                return cay_action_fail(a, NULL, CAY_INVALID,
                                       "say what to wait for: target, text, url, until or delay");
        return CAY_STEP_NEXT;
}

static enum cay_step_next take_until(struct cay_action *a, struct cay_json_view none)
{
        const struct cay_target *t = cay_action_target(a);
        unsigned bit = wanted_bit(a);

        (void)none;
        if (!a->args->until || (t->loaded & bit) == bit)
                return CAY_STEP_NEXT;
        snprintf(a->why, sizeof(a->why), "the page has not reached '%s'", a->args->until);
        return CAY_STEP_WAIT;
}

/* A part of the address is enough. */
static enum cay_step_next take_url(struct cay_action *a, struct cay_json_view none)
{
        const struct cay_tabs *tabs = &a->browser->tabs;

        (void)none;
        if (!a->args->url)
                return CAY_STEP_NEXT;
        for (unsigned i = 0; i < tabs->count; i++)
                if (strcmp(tabs->items[i].id, a->tab) == 0 && strstr(tabs->items[i].url, a->args->url))
                        return CAY_STEP_NEXT;
        snprintf(a->why, sizeof(a->why), "the address does not have '%.120s' in it", a->args->url);
        return CAY_STEP_AGAIN;
}

static enum cay_step_next take_delay(struct cay_action *a, struct cay_json_view none)
{
        (void)none;
        if (a->args->delay_ms == 0 || a->turn > 0)
                return CAY_STEP_NEXT;
        a->again_ms = (unsigned)a->args->delay_ms;
        return CAY_STEP_AGAIN;
}

static const struct cay_step step_check_wait = { .take = check_wait };
static const struct cay_step step_until = { .take = take_until };
static const struct cay_step step_url = { .take = take_url };
static const struct cay_step step_delay = { .take = take_delay };

/* Dialogs */

static enum cay_step_next put_dialog(struct cay_action *a, struct cay_json *j)
{
        const struct cay_target *t = cay_action_target(a);

        if (t->dialog.type[0] == '\0')
                return cay_action_fail(a, NULL, CAY_CONFLICT, "no dialog is open in this tab");
        cay_action_put_bool(j, "accept", a->args->accept);
        if (a->args->text)
                cay_action_put_text(j, "promptText", a->args->text);
        return CAY_STEP_SEND;
}

static const struct cay_step step_dialog = { .method = "Page.handleJavaScriptDialog", .put = put_dialog };

#define NAVIGATES (CAY_ACTION_TAB | CAY_ACTION_INPUT | CAY_ACTION_REVIVES | CAY_ACTION_ACTS)

const struct cay_action_row cay_action_rows_page[] = {
        { "navigate", NAVIGATES, { &cay_step_navigate, &cay_step_loaded }, .put = cay_action_put_loaded },
        { "history",
          NAVIGATES,
          { &step_where, &step_tree, &step_entry, &step_reload, &cay_step_loaded },
          .put = cay_action_put_loaded },
        { "wait",
          CAY_ACTION_TAB | CAY_ACTION_INPUT,
          { &cay_step_frames, &cay_step_our_world, &step_check_wait, &step_until, &step_url, &step_holds,
            &step_delay } },
        { "dialog",
          CAY_ACTION_TAB | CAY_ACTION_DIALOG | CAY_ACTION_SETTLES | CAY_ACTION_ACTS,
          { &step_dialog } },
};
const unsigned cay_action_rows_page_count = CAY_COUNT(cay_action_rows_page);
