/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds a template's image, and removes it.
 *
 * A streaming client gets the build's output line by line, then its result; a waiting client gets the result
 * with the last lines. A failed build is an answer, like a failed command; errors are for builds that did not
 * begin. A running build is joined. It continues when its client has gone, unless requested otherwise. A
 * client that reads too slowly delays nothing: the builder leaves lines out and says so.
 */
#include <stdio.h>

#include "foundation/base/clock.h"
#include "domain/ops/template_image.h"
#include "domain/ops/view.h"
#include "domain/ops/result_rows.h"
#include "domain/ops/results.h"

#define TAIL_MAX (16u * 1024)
#define TAIL_LINES 40u

struct args {
        const char *name;
        bool no_cache, cancel, stream;
};

static const struct cay_field fields[] = {
        { "name", CAY_FIELD_TEXT, offsetof(struct args, name), 0, "the template", .min = 1,
          .max = CAY_TEMPLATE_NAME_MAX },
        { "no_cache", CAY_FIELD_BOOL, offsetof(struct args, no_cache), 0,
          "build every step, even if nothing has changed" },
        { "cancel", CAY_FIELD_BOOL, offsetof(struct args, cancel), 0,
          "end the build if this client disconnects, unless others follow it" },
        { "stream", CAY_FIELD_BOOL, offsetof(struct args, stream), 0, "answer with a stream of events" },
        {},
};

struct building {
        struct cay_build build;
        struct cay_job job;
        struct cay_engine *engine;
        struct cay_op_call *call; /* NULL: the client has gone */
        struct cay_buf tail;
        struct cay_op_result event;
        unsigned tail_lines;
        uint64_t from_ms;
        char name[CAY_TEMPLATE_NAME_MAX + 1];
        bool streams;
};

static void let_go(struct building *s)
{
        cay_buf_done(&s->tail);
        cay_op_result_done(&s->event);
        free(s);
}

static void keep_line(struct building *s, const char *line, size_t len)
{
        if (len > TAIL_MAX / 4)
                len = TAIL_MAX / 4;
        while (s->tail.len > 0 && (s->tail_lines == TAIL_LINES || cay_buf_left(&s->tail) < len + 1)) {
                const char *end = memchr(cay_buf_data(&s->tail), '\n', s->tail.len);

                cay_buf_drop(&s->tail, end ? (size_t)(end - cay_buf_data(&s->tail)) + 1 : s->tail.len);
                s->tail_lines -= s->tail_lines > 0;
        }
        if (cay_buf_put(&s->tail, line, len) == 0 && cay_buf_putc(&s->tail, '\n') == 0)
                s->tail_lines++;
}

static struct cay_json *begin_event(struct building *s, const char *kind)
{
        cay_op_event_begin(&s->event, s->call);
        cay_op_key_text(&s->event.j, "event", kind);
        return &s->event.j;
}

static void on_line(struct cay_build *b, const char *line, size_t len)
{
        struct building *s = cay_container_of(b, struct building, build);

        keep_line(s, line, len);
        if (!s->call || !s->streams)
                return;
        cay_op_put_bytes(begin_event(s, "output"), "line", "base64", line, len);
        if (cay_op_event_put(&s->event, s->call, NULL, "output") >= (ssize_t)CAY_OP_HIGH)
                s->engine->ops->build_flow(s->engine, b, CAY_BUILD_PAUSE);
}

static void on_drain(struct cay_op_call *c)
{
        struct building *s = c->state;

        s->engine->ops->build_flow(s->engine, &s->build, CAY_BUILD_FOLLOW);
}

static void on_gone(struct cay_op_call *c)
{
        struct building *s = c->state;

        s->call = NULL;
        cay_op_abort(c);
        s->engine->ops->build_flow(s->engine, &s->build, CAY_BUILD_LEAVE);
}

static void put_result(struct building *s, struct cay_json *j)
{
        cay_op_key_text(j, "template", s->name);
        cay_op_put_members(j, &cay_result_image, &s->build.image);
        cay_op_key_bool(j, "up_to_date", s->build.image.up_to_date);
        cay_op_put_bytes(j, "output", "output_base64", cay_buf_data(&s->tail), s->tail.len);
        cay_op_key_u64(j, "took_ms", cay_clock_ms() - s->from_ms);
}

/* Errors after the stream began are reported in it. */
static void end_stream(struct building *s, const struct cay_error *err)
{
        const char *kind = err->code == CAY_OK ? "end" : "error";
        struct cay_json *j = begin_event(s, kind);

        if (err->code == CAY_OK) {
                put_result(s, j);
        } else {
                cay_op_key_text(j, "code", cay_code_word(err->code));
                cay_op_key_text(j, "message", err->msg);
        }
        cay_op_event_put(&s->event, s->call, NULL, kind);
        cay_op_end(s->call);
}

static void on_built(struct cay_job *job)
{
        struct building *s = cay_container_of(job, struct building, job);
        struct cay_op_result o;

        if (s->call && s->streams) {
                end_stream(s, &job->err);
        } else if (s->call && job->err.code != CAY_OK) {
                cay_op_fail(s->call, &job->err, "name");
        } else if (s->call) {
                cay_op_result_begin(&o, s->call);
                put_result(s, &o.j);
                cay_op_result_answer(&o, s->call, CAY_OP_OK);
        }
        let_go(s);
}

static int check(struct cay_op_call *c, const char *name, struct cay_error *err)
{
        const struct cay_template *t = NULL;

        if (cay_op_find_template(c, name, &t, err) < 0)
                return -1;
        if (!t || t->root != CAY_TEMPLATE_ROOT_DOCKERFILE)
                return cay_fail(err, CAY_CONFLICT,
                                "template '%.63s' has no dockerfile: there is nothing to build", name);
        if (!c->world->builder)
                return cay_fail(err, CAY_UNSUPPORTED,
                                "this daemon cannot build images: it needs the engine docker");
        return 0;
}

static struct building *make(struct cay_op_call *c, const struct args *a)
{
        struct building *s = calloc(1, sizeof(*s));

        if (!s)
                return NULL;
        s->call = c;
        s->engine = c->world->builder;
        s->streams = a->stream || c->wants_stream;
        s->from_ms = cay_clock_ms();
        snprintf(s->name, sizeof(s->name), "%s", a->name);
        s->build.template_name = s->name;
        s->build.no_cache = a->no_cache;
        s->build.cancels = a->cancel;
        s->build.on_line = on_line;
        cay_buf_init(&s->tail, TAIL_MAX);
        return s;
}

static void run_build(struct cay_op_call *c)
{
        const struct args *a = c->args;
        struct cay_error err = { 0 };
        struct building *s;

        if (check(c, a->name, &err) < 0) {
                cay_op_fail(c, &err, "name");
                return;
        }
        s = make(c, a);
        if (!s) {
                cay_op_fail_memory(c);
                return;
        }
        c->state = s;
        c->on_gone = on_gone;
        c->on_drain = on_drain;
        c->works_for_listener = a->cancel;
        if (s->streams && cay_op_begin(c, NULL) < 0) {
                cay_op_abort(c);
                let_go(s);
                return;
        }
        cay_job_init(&s->job, on_built);
        s->engine->ops->build(s->engine, &s->build, &s->job);
}

RESULT(result_built, NULL, TEXT("template"), ALSO(cay_result_image), BOOL("up_to_date"), IF("output", TEXT),
       IF("output_base64", TEXT), NUMBER("took_ms"));

const struct cay_op cay_op_template_build = {
        .name = "template_build",
        .route = "POST /api/templates/{name}/build",
        .doc = "Builds a template's image from its Dockerfile, unless its files have not changed, or follows "
               "the "
               "build that runs; answers when it is done, or streams the output",
        .scope = CAY_SCOPE_ADMIN,
        .flags = CAY_OP_STREAM,
        .fields = fields,
        .args_size = sizeof(struct args),
        .result = &result_built,
        .run = run_build,
};

/* Removing, also for a template that is no longer in the registry */

struct remove_args {
        const char *name;
};

static const struct cay_field remove_fields[] = {
        { "name", CAY_FIELD_TEXT, offsetof(struct remove_args, name), 0, "the template", .min = 1,
          .max = CAY_TEMPLATE_NAME_MAX },
        {},
};

struct removing {
        struct cay_job job;
        struct cay_op_call *call;
        struct cay_image image;
};

static void on_removed(struct cay_job *job)
{
        struct removing *r = cay_container_of(job, struct removing, job);
        const struct remove_args *a = r->call->args;
        struct cay_op_result o;

        if (job->err.code != CAY_OK) {
                cay_op_fail(r->call, &job->err, "name");
        } else {
                cay_op_result_begin(&o, r->call);
                cay_op_key_text(&o.j, "template", a->name);
                cay_op_key_u64(&o.j, "removed", r->image.dropped);
                cay_op_result_answer(&o, r->call, CAY_OP_OK);
        }
        free(r);
}

static void run_remove(struct cay_op_call *c)
{
        const struct remove_args *a = c->args;
        struct cay_engine *e = c->world->builder;
        struct cay_error err = { 0 };
        struct removing *r;

        if (!e) {
                cay_fail(&err, CAY_UNSUPPORTED,
                         "this daemon cannot build images: it needs the engine docker");
                cay_op_fail(c, &err, "name");
                return;
        }
        r = cay_op_alloc(c, sizeof(*r));
        if (!r)
                return;
        r->call = c;
        cay_job_init(&r->job, on_removed);
        e->ops->image_remove(e, a->name, &r->image, &r->job);
}

RESULT(result_image_removed, NULL, TEXT("template"), NUMBER("removed"));

const struct cay_op cay_op_template_remove = {
        .name = "template_remove",
        .route = "DELETE /api/templates/{name}/image",
        .doc = "Removes the image that was built for a template; the template stays",
        .scope = CAY_SCOPE_ADMIN,
        .flags = CAY_OP_DESTRUCTIVE,
        .fields = remove_fields,
        .args_size = sizeof(struct remove_args),
        .result = &result_image_removed,
        .run = run_remove,
};
