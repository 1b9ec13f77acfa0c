/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One page in one request: makes a sandbox with a browser, goes to an address, runs JavaScript there if asked
 * to, takes what the page is (picture, HTML, text, requests, console), and destroys the sandbox.
 *
 * Theory of operation. sandbox_create is called as op_run.c does; it defines template, limits and network.
 * Then actions follow one another (steps[]), each with what it found put aside, because the answer is written
 * when the last of them is done. An action that fails ends the whole with its own words. If the client goes,
 * the action under way ends with the sandbox.
 */
#include <stdlib.h>
#include <string.h>

#include "domain/ops/browser_act.h"
#include "domain/ops/create_args.h"
#include "domain/ops/result_rows.h"
#include "domain/ops/view.h"
#include "foundation/base/base64.h"
#include "foundation/base/clock.h"
#include "foundation/base/log.h"
#include "foundation/base/str.h"
#include "foundation/loop/loop.h"

#define PICTURE_MAX (32u << 20)
#define ROWS 1000u

struct browse_args {
        struct cay_create_args create;
        const char *url, *until, *expression, *format;
        uint64_t timeout_ms;
        bool full;
};

struct browse {
        struct cay_op_call *call, make;
        struct cay_create_args create;
        struct cay_viewer viewer;
        struct cay_action action;
        struct cay_action_args args;
        struct cay_service_call unmake;
        struct cay_deferred release, next;
        struct cay_op_result answer;
        struct cay_error err;
        const char *field;
        char sandbox[CAY_NAME_MAX + 1]; /* "": none */
        char picture_type[16];
        struct cay_buf picture; /* as base64 */
        uint64_t begin_ms, deadline_ms;
        unsigned step;
        bool acts, gone;
};

#define AT(member) offsetof(struct browse_args, member)

static const struct cay_field fields[] = {
        { "url", CAY_FIELD_TEXT, AT(url), CAY_FIELD_REQUIRED, "where to go", .min = 1, .max = 4096 },
        { "until", CAY_FIELD_TEXT, AT(until), 0, "load (default), domcontentloaded, networkidle or commit",
          .max = 32 },
        { "expression", CAY_FIELD_TEXT, AT(expression), 0,
          "JavaScript to run in the page before it is looked at", .max = 512 * 1024 },
        { "full", CAY_FIELD_BOOL, AT(full), 0, "a picture of the whole page" },
        { "format", CAY_FIELD_TEXT, AT(format), 0, "of the picture: png (default), jpeg or webp", .max = 8 },
        { "timeout", CAY_FIELD_DURATION, AT(timeout_ms), 0,
          "for everything behind the sandbox's start; default 60 seconds", .min = 1000,
          .max = CAY_ACTION_TIMEOUT_MAX_MS },
        { "template", CAY_FIELD_TEXT, AT(create.template_name), 0, "default: browser", .min = 1, .max = 63 },
        { "network", CAY_FIELD_TEXT, AT(create.network), 0, "as of sandbox_create; default: the template's",
          .max = 63 },
        { "allow", CAY_FIELD_TEXTS, AT(create.allow), 0, "hosts that it may reach, as of sandbox_create",
          .max = CAY_NETWORK_RULES_MAX, .item_max = 319 },
        { "limits", CAY_FIELD_OBJECT, AT(create.limits), 0, "limits; default: the template's",
          .fields = cay_op_limit_fields },
        { "execution_id", CAY_FIELD_TEXT, AT(create.execution_id), 0,
          "single-use id: a second request with it opens nothing and gets 409", .min = 1,
          .max = CAY_SERVICE_CLAIM_MAX },
        {},
};

/* Ends */

static void release_browse(struct cay_deferred *d)
{
        struct browse *s = cay_container_of(d, struct browse, release);

        cay_op_result_done(&s->answer);
        cay_buf_done(&s->picture);
        free(s);
}

static void say(struct browse *s)
{
        struct cay_op_call *c = s->call;

        s->release.run = release_browse;
        cay_loop_defer(c->world->loop, &s->release);
        c->on_gone = NULL;
        if (s->err.code != CAY_OK)
                c->responder->fail(c, &s->err, s->field);
        else if (s->gone)
                cay_op_abort(c);
        else
                cay_op_result_answer(&s->answer, c, CAY_OP_OK);
}

static void on_unmade(struct cay_job *job)
{
        struct browse *s = cay_container_of(job, struct browse, unmake.job);

        if (job->err.code != CAY_OK && job->err.code != CAY_NOT_FOUND)
                cay_log_warn("a sandbox of browser_run stays until its life ends", "sandbox=%s error=%s",
                             s->sandbox, job->err.msg);
        say(s);
}

static void finish(struct browse *s)
{
        if (s->sandbox[0] == '\0') {
                say(s);
                return;
        }
        s->unmake.early = true;
        cay_job_init(&s->unmake.job, on_unmade);
        cay_service_destroy(s->call->world->service, &s->viewer, s->sandbox, &s->unmake);
}

/* Actions, one after the other */

static void put_page(struct browse *s)
{
        const struct cay_action *a = &s->action;
        struct cay_json *j = &s->answer.j;

        cay_op_key_text(j, "sandbox_id", s->sandbox);
        cay_op_key_u64(j, "load_ms", a->acted_ms - a->ready_ms);
        a->row->put(a, j);
}

static void put_members(struct browse *s)
{
        s->action.row->put(&s->action, &s->answer.j);
}

/* With what the expression has made of it. */
static void put_document(struct browse *s)
{
        cay_op_key_text(&s->answer.j, "url", s->action.url);
        cay_op_key_text(&s->answer.j, "title", s->action.title);
        put_members(s);
}

static void put_picture(struct browse *s)
{
        struct cay_json *j = &s->answer.j;

        cay_buf_init(&s->picture, PICTURE_MAX * 2);
        cay_op_key_text(j, "screenshot_type", cay_action_type(&s->action));
        cay_json_key(j, "screenshot_base64");
        if (cay_base64_encode(cay_buf_data(&s->action.kept), s->action.kept.len, &s->picture) < 0)
                cay_json_null(j);
        else
                cay_json_string(j, cay_buf_data(&s->picture), s->picture.len);
        cay_buf_done(&s->picture);
}

static void put_nothing(struct browse *s)
{
        cay_json_key(&s->answer.j, "value");
        cay_json_null(&s->answer.j);
        cay_op_key_text(&s->answer.j, "type", "undefined");
}

static const struct step {
        const char *action;
        void (*put)(struct browse *s);
} steps[] = {
        { "navigate", put_page }, { "evaluate", put_members }, { "screenshot", put_picture },
        { "dom", put_document },  { "requests", put_members }, { "console", put_members },
};

static void run_step(struct browse *s);

static void on_next(struct cay_deferred *d)
{
        run_step(cay_container_of(d, struct browse, next));
}

static void on_done(struct cay_action *a)
{
        struct browse *s = cay_container_of(a, struct browse, action);

        s->acts = false;
        if (a->err.code != CAY_OK) {
                s->err = a->err;
                s->field = a->field && cay_field_find(fields, a->field, strlen(a->field)) ? a->field : NULL;
                finish(s);
                return;
        }
        steps[s->step].put(s);
        s->step++;
        s->next.run = on_next;
        cay_loop_defer(s->call->world->loop, &s->next);
}

static void run_step(struct browse *s)
{
        const struct browse_args *a = s->call->args;
        uint64_t now = cay_clock_ms();

        cay_action_cancel(&s->action); /* what the last one kept */
        if (s->gone) {
                finish(s);
                return;
        }
        if (s->step < CAY_COUNT(steps) && strcmp(steps[s->step].action, "evaluate") == 0 && !a->expression) {
                put_nothing(s);
                s->step++;
        }
        if (s->step == CAY_COUNT(steps)) {
                cay_op_key_u64(&s->answer.j, "took_ms", now - s->begin_ms);
                finish(s);
                return;
        }
        s->args = (struct cay_action_args){ .id = s->sandbox,
                                            .url = s->step == 0 ? a->url : NULL,
                                            .until = a->until,
                                            .expression = a->expression,
                                            .full = a->full,
                                            .format = a->format,
                                            .limit = s->step > 3 ? ROWS : 0,
                                            .timeout_ms = now < s->deadline_ms ? s->deadline_ms - now : 1 };
        s->action = (struct cay_action){ .row = cay_action_find(steps[s->step].action),
                                         .args = &s->args,
                                         .on_done = on_done };
        s->acts = true;
        cay_action_begin(s->call->world->browsers, &s->viewer, &s->action);
}

/* The sandbox */

static void make_answer(struct cay_op_call *c, enum cay_op_status status, struct cay_op_result *r)
{
        struct browse *s = cay_container_of(c, struct browse, make);
        const struct browse_args *a = s->call->args;

        (void)status;
        (void)r;
        memcpy(s->sandbox, c->made, sizeof(s->sandbox));
        s->deadline_ms = cay_clock_ms() + (a->timeout_ms ? a->timeout_ms : 60000);
        cay_op_result_begin(&s->answer, s->call);
        run_step(s);
}

static void make_fail(struct cay_op_call *c, const struct cay_error *err, const char *field)
{
        struct browse *s = cay_container_of(c, struct browse, make);

        memcpy(s->call->confirm, c->confirm, sizeof(c->confirm));
        memcpy(s->call->first, c->first, sizeof(c->first));
        s->err = *err;
        s->field = field && cay_field_find(fields, field, strlen(field)) ? field : NULL;
        finish(s);
}

static void make_end(struct cay_op_call *c, bool was_cut)
{
        struct browse *s = cay_container_of(c, struct browse, make);

        (void)was_cut;
        s->gone = true;
        finish(s);
}

static const struct cay_op_responder make_responder = {
        .open = cay_op_open_nowhere, .answer = make_answer, .fail = make_fail, .end = make_end
};

static void on_gone(struct cay_op_call *c)
{
        struct browse *s = c->state;

        s->gone = true;
        if (s->acts) {
                s->acts = false;
                cay_action_cancel(&s->action);
                finish(s);
        } else if (s->sandbox[0] == '\0' && s->make.on_gone) {
                s->make.on_gone(&s->make);
        }
}

static void run_browse(struct cay_op_call *c)
{
        const struct browse_args *a = c->args;
        struct browse *s = calloc(1, sizeof(*s));

        if (!s) {
                cay_op_fail_memory(c);
                return;
        }
        s->call = c;
        s->viewer = cay_op_viewer(c);
        s->begin_ms = cay_clock_ms();
        s->create = a->create;
        s->create.brief = true;
        if (!s->create.template_name)
                s->create.template_name = "browser";
        c->state = s;
        c->on_gone = on_gone;
        s->make = (struct cay_op_call){ .op = &cay_op_sandbox_create,
                                        .responder = &make_responder,
                                        .world = c->world,
                                        .caller = c->caller,
                                        .is_known = c->is_known,
                                        .dialect = c->dialect,
                                        .args = &s->create,
                                        .fd = -1 };
        memcpy(s->make.request_id, c->request_id, sizeof(s->make.request_id));
        s->make.op->run(&s->make);
}

RESULT(result_page, "BrowserPage", TEXT("sandbox_id"), TEXT("url"), TEXT("title"), NUMBER("load_ms"),
       MAYBE("status", NUMBER), BOOL("download"), WHATEVER("value"), TEXT("type"), TEXT("screenshot_type"),
       MAYBE("screenshot_base64", TEXT), TEXT("html"), NUMBER("length"), BOOL("truncated"),
       LIST("requests", cay_result_browser_request), LIST("messages", cay_result_browser_message),
       NUMBER("took_ms"));

const struct cay_op cay_op_browser_run = {
        .name = "browser_run",
        .route = "POST /api/browser/run",
        .doc = "Opens a page in a sandbox made for it and returns what it is: a picture, its HTML, its "
               "requests and "
               "console, the value of an expression; then the sandbox is destroyed",
        .scope = CAY_SCOPE_EXEC,
        .fields = fields,
        .args_size = sizeof(struct browse_args),
        .result = &result_page,
        .verb = CAY_OP_VERB("browser run", "url", NULL,
                            "url=url title=title status=status value=value/json took=took_ms"),
        .run = run_browse,
};
