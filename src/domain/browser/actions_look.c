/* SPDX-License-Identifier: Apache-2.0 */
/* Actions that look at a page: its text, its elements, pictures of it. */
#include <stdio.h>
#include <string.h>

#include "domain/browser/action_steps.h"
#include "domain/browser/frames.h"
#include "foundation/base/base64.h"
#include "foundation/base/str.h"

#define TEXT_LIMIT (8u << 20)
#define HEIGHT_MAX 16384u      /* of a picture, in pixels */
#define HEIGHT_MAX_SMALL 4000u /* with less memory than a tall one takes */
#define MEMORY_TALL (1ull << 30)

static uint64_t limit_of(const struct cay_action *a)
{
        return a->args->limit ? a->args->limit : TEXT_LIMIT;
}

/* Text and elements */

static enum cay_step_next put_part(struct cay_action *a, struct cay_json *j, const char *what)
{
        cay_action_script(a, j, what);
        cay_json_begin_object(j);
        cay_action_put_u64(j, "value", limit_of(a));
        cay_json_end_object(j);
        cay_action_script_end(j);
        return CAY_STEP_SEND;
}

static enum cay_step_next put_text(struct cay_action *a, struct cay_json *j)
{
        return put_part(a, j, "text");
}

static enum cay_step_next put_dom(struct cay_action *a, struct cay_json *j)
{
        return put_part(a, j, "dom");
}

static enum cay_step_next take_part(struct cay_action *a, struct cay_json_view result)
{
        struct cay_json_view v = cay_action_value(a, result);

        return v.len > 0 ? cay_action_keep(a, v) : CAY_STEP_FAIL;
}

static const struct cay_step step_text = { .method = "Runtime.callFunctionOn",
                                           .put = put_text,
                                           .take = take_part };
static const struct cay_step step_dom = { .method = "Runtime.callFunctionOn",
                                          .put = put_dom,
                                          .take = take_part };

static void put_part_answer(const struct cay_action *a, struct cay_json *j, const char *key)
{
        struct cay_json_view v = cay_action_kept(a);

        cay_action_put_plain(j, key, cay_cdp_find(v, "text"));
        cay_action_put_plain(j, "length", cay_cdp_find(v, "length"));
        cay_action_put_bool(j, "truncated", cay_json_view_is_true(cay_cdp_find(v, "truncated")));
}

static void put_text_answer(const struct cay_action *a, struct cay_json *j)
{
        put_part_answer(a, j, "text");
}

static void put_dom_answer(const struct cay_action *a, struct cay_json *j)
{
        put_part_answer(a, j, "html");
}

/* Code of the caller, in the page's own world */

#define LATER_MS 500u

static enum cay_step_next put_evaluate(struct cay_action *a, struct cay_json *j)
{
        /*
         * replMode allows await outside of functions, and then awaits nothing else: what an async function
         * returned comes as a promise, whose value is asked for (step_value).
         */
        bool may_await = strstr(a->args->expression, "await") != NULL;

        cay_action_put_text(j, "expression", a->args->expression);
        cay_action_put_bool(j, "returnByValue", !may_await);
        cay_action_put_bool(j, "awaitPromise", true);
        cay_action_put_bool(j, "userGesture", true);
        if (may_await)
                cay_action_put_bool(j, "replMode", true);
        /*
         * One that never ends would keep the page for itself for ever. The deadline comes first, with its own
         * words.
         */
        cay_action_put_u64(j, "timeout",
                           (a->args->timeout_ms ? a->args->timeout_ms : CAY_ACTION_TIMEOUT_MS) + LATER_MS);
        snprintf(a->why, sizeof(a->why), "the expression has not ended");
        return CAY_STEP_SEND;
}

static enum cay_step_next take_evaluate(struct cay_action *a, struct cay_json_view result)
{
        struct cay_json_view thrown = cay_cdp_find(result, "exceptionDetails"), text;
        char words[200] = "";

        if (thrown.len == 0) {
                /* The object of the first answer stays named until it is released. */
                if (a->object[0] == '\0')
                        cay_cdp_find_text(cay_cdp_find(result, "result"), "objectId", a->object,
                                          sizeof(a->object));
                return cay_action_keep(a, cay_cdp_find(result, "result"));
        }
        text = cay_cdp_find(cay_cdp_find(thrown, "exception"), "description");
        if (text.len == 0)
                text = cay_cdp_find(cay_cdp_find(thrown, "exception"), "value");
        if (text.len == 0)
                text = cay_cdp_find(thrown, "text");
        if (cay_json_view_open(text.at, text.len, &text) == 0 && cay_json_view_is_text(text))
                cay_json_view_copy(text, words, sizeof(words));
        else
                snprintf(words, sizeof(words), "%.*s", (int)(text.len < 150 ? text.len : 150),
                         text.at ? text.at : "");
        return cay_action_fail(a, "expression", CAY_INVALID, "expression: threw %s", words);
}

static enum cay_step_next refused_evaluate(struct cay_action *a)
{
        if (strstr(a->call.err.msg, "navigated") || strstr(a->call.err.msg, "context"))
                return cay_action_fail(a, NULL, CAY_CONFLICT,
                                       "the page went to another address before the expression had ended");
        return cay_action_fail(a, "expression", CAY_INVALID,
                               "expression: its value cannot be sent (%.80s); return plain data",
                               a->call.err.msg);
}

static const struct cay_step step_evaluate = {
        .method = "Runtime.evaluate", .put = put_evaluate, .take = take_evaluate, .refused = refused_evaluate
};

static enum cay_step_next put_value(struct cay_action *a, struct cay_json *j)
{
        if (a->object[0] == '\0')
                return CAY_STEP_SKIP;
        cay_action_put_object(a, j);
        cay_action_put_text(j, "functionDeclaration", "function () { return this }");
        cay_action_put_bool(j, "returnByValue", true);
        cay_action_put_bool(j, "awaitPromise", true);
        snprintf(a->why, sizeof(a->why), "the expression has not ended");
        return CAY_STEP_SEND;
}

static const struct cay_step step_value = { .method = "Runtime.callFunctionOn",
                                            .put = put_value,
                                            .take = take_evaluate,
                                            .refused = refused_evaluate };

static enum cay_step_next put_release(struct cay_action *a, struct cay_json *j)
{
        return a->object[0] ? cay_action_put_object(a, j) : CAY_STEP_SKIP;
}

static enum cay_step_next refused_release(struct cay_action *a)
{
        (void)a; /* it has gone with its page */
        return CAY_STEP_NEXT;
}

static const struct cay_step step_release = { .method = "Runtime.releaseObject",
                                              .put = put_release,
                                              .refused = refused_release };

static void put_evaluate_answer(const struct cay_action *a, struct cay_json *j)
{
        struct cay_json_view v = cay_action_kept(a), value = cay_cdp_find(v, "value");
        char type[16];

        if (value.len == 0)
                value = cay_cdp_find(v, "unserializableValue");
        cay_action_put_raw(j, "value", value);
        cay_action_put_text(j, "type", cay_cdp_find_text(v, "type", type, sizeof(type)));
}

/* Pictures */

static const char *type_of(const struct cay_action *a)
{
        static const struct {
                const char *name, *type;
        } rows[] = { { "png", "image/png" }, { "jpeg", "image/jpeg" }, { "webp", "image/webp" } };

        for (unsigned i = 0; i < CAY_COUNT(rows); i++)
                if (!a->args->format || strcmp(a->args->format, rows[i].name) == 0)
                        return rows[i].type;
        return NULL;
}

static enum cay_step_next check_picture(struct cay_action *a, struct cay_json_view none)
{
        (void)none;
        a->type = type_of(a);
        if (!a->type)
                return cay_action_fail(a, "format", CAY_INVALID, "format: must be png, jpeg or webp");
        if (a->args->full && a->args->target)
                return cay_action_fail(a, "full", CAY_INVALID, "full: not together with target");
        return CAY_STEP_NEXT;
}

static bool needs_clip(const struct cay_action *a)
{
        return a->args->full || a->args->target || (a->args->scale > 0 && a->args->scale != 1000);
}

static enum cay_step_next put_metrics(struct cay_action *a, struct cay_json *j)
{
        (void)j;
        return needs_clip(a) && !a->args->target ? CAY_STEP_SEND : CAY_STEP_SKIP;
}

static enum cay_step_next take_metrics(struct cay_action *a, struct cay_json_view result)
{
        struct cay_json_view size =
                cay_cdp_find(result, a->args->full ? "cssContentSize" : "cssVisualViewport");

        a->left = a->args->full ? 0 : cay_action_number(size, "pageX");
        a->top = a->args->full ? 0 : cay_action_number(size, "pageY");
        a->width = cay_action_number(size, a->args->full ? "width" : "clientWidth");
        a->height = cay_action_number(size, a->args->full ? "height" : "clientHeight");
        return CAY_STEP_NEXT;
}

/* A tall picture takes memory that a small sandbox does not have: it would end the browser. */
static double most_height(const struct cay_action *a)
{
        struct cay_viewer viewer = cay_browser_viewer(a->browser);
        struct cay_sandbox_view view;
        struct cay_error err = { 0 };

        if (cay_service_get(a->browser->all->env.service, &viewer, a->browser->sandbox, &view, &err) == 0 &&
            view.limits->memory_bytes > 0 && view.limits->memory_bytes < MEMORY_TALL)
                return HEIGHT_MAX_SMALL;
        return HEIGHT_MAX;
}

static enum cay_step_next put_picture(struct cay_action *a, struct cay_json *j)
{
        double scale = a->args->scale ? (double)a->args->scale / 1000 : 1, most = most_height(a);

        cay_action_put_text(j, "format", a->args->format ? a->args->format : "png");
        if (a->args->quality > 0 && strcmp(a->type, "image/png") != 0)
                cay_action_put_u64(j, "quality", a->args->quality);
        if (!needs_clip(a))
                return CAY_STEP_SEND;
        cay_json_key(j, "clip");
        cay_json_begin_object(j);
        cay_action_put_real(j, "x", a->left + a->scroll_x);
        cay_action_put_real(j, "y", a->top + a->scroll_y);
        cay_action_put_real(j, "width", a->width);
        cay_action_put_real(j, "height", a->height < most ? a->height : most);
        cay_action_put_real(j, "scale", scale);
        cay_json_end_object(j);
        cay_action_put_bool(j, "captureBeyondViewport", a->args->full || a->args->target);
        return CAY_STEP_SEND;
}

static enum cay_step_next take_bytes(struct cay_action *a, struct cay_json_view result)
{
        struct cay_json_view data = cay_cdp_find(result, "data");

        cay_buf_clear(&a->kept);
        if (data.len < 2 || cay_base64_decode(data.at + 1, data.len - 2, &a->kept) < 0)
                return cay_action_fail(a, NULL, CAY_LIMIT,
                                       "no memory for this picture or document; ask for a smaller one");
        return CAY_STEP_NEXT;
}

static const struct cay_step step_check_picture = { .take = check_picture };
static const struct cay_step step_metrics = { .method = "Page.getLayoutMetrics",
                                              .put = put_metrics,
                                              .take = take_metrics };
static const struct cay_step step_picture = { .method = "Page.captureScreenshot",
                                              .put = put_picture,
                                              .take = take_bytes };

static enum cay_step_next put_pdf(struct cay_action *a, struct cay_json *j)
{
        cay_action_put_bool(j, "landscape", a->args->landscape);
        cay_action_put_bool(j, "printBackground", true);
        cay_action_put_bool(j, "preferCSSPageSize", true);
        return CAY_STEP_SEND;
}

static const struct cay_step step_pdf = { .method = "Page.printToPDF", .put = put_pdf, .take = take_bytes };

#define ELEMENT &cay_step_resolve, &cay_step_find

const struct cay_action_row cay_action_rows_look[] = {
        { "text",
          CAY_ACTION_TAB,
          { &cay_step_frames, &cay_step_our_world, ELEMENT, &step_text },
          .put = put_text_answer },
        { "dom",
          CAY_ACTION_TAB,
          { &cay_step_frames, &cay_step_our_world, ELEMENT, &step_dom },
          .put = put_dom_answer },
        { "evaluate",
          CAY_ACTION_TAB | CAY_ACTION_INPUT,
          { &step_evaluate, &step_value, &step_release },
          .put = put_evaluate_answer },
        { "screenshot",
          CAY_ACTION_TAB,
          { &cay_step_front, &cay_step_frames, &cay_step_world, &step_check_picture, ELEMENT, &cay_step_frame,
            CAY_STEPS_OUTWARDS, &step_metrics, &step_picture },
          .type = "image/png" },
        { "pdf", CAY_ACTION_TAB, { &step_pdf }, .type = "application/pdf" },
};
const unsigned cay_action_rows_look_count = CAY_COUNT(cay_action_rows_look);
