/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What changed between two steps of a sandbox, or between one and now (docs/time.md).
 *
 * Theory of operation. Nobody on the host reads what is in a layer. A sandbox of the same template is made
 * for this alone: without a network, with both layers mounted read-only, and destroyed afterwards. Its init
 * compares them (cay-init/files_compare.c). For "now" a snapshot is taken first, and removed afterwards; both
 * expire by themselves if the front dies in between.
 */
#include <stdlib.h>
#include <string.h>

#include "domain/ops/create_args.h"
#include "domain/ops/files.h"
#include "domain/ops/result_rows.h"
#include "domain/ops/results.h"
#include "domain/ops/view.h"
#include "domain/sandboxes/step.h"
#include "foundation/base/log.h"
#include "foundation/base/str.h"
#include "links/box/match.h"

#define LIMIT_DEFAULT 1000u
#define LIMIT_MAX 10000u
#define LIFE_MS (5u * 60 * 1000)

struct args {
        const char *id;
        uint64_t from, to, max;
};

struct diff {
        struct cay_op_channel base;
        struct cay_op_call *call; /* until the channel has it */
        struct cay_viewer viewer;
        struct cay_service *service;
        struct cay_service_call snapshot;
        struct cay_op_call create;
        struct cay_create_args what;
        char template_name[256], now[CAY_NAME_MAX + 1], helper[CAY_NAME_MAX + 1];
        char layers[2][CAY_NAME_MAX + 1];
        struct cay_buf rest;
        struct cay_op_result o;
        bool has_result;
};

static const struct cay_field fields[] = {
        { "id", CAY_FIELD_TEXT, offsetof(struct args, id), 0, "id or name of the sandbox", .min = 1,
          .max = CAY_NAME_MAX },
        { "from", CAY_FIELD_U64, offsetof(struct args, from), 0,
          "number of the step to compare with; default: the newest", .min = 1, .max = UINT32_MAX },
        { "to", CAY_FIELD_U64, offsetof(struct args, to), 0,
          "number of the later step; default: the files as they are now", .min = 1, .max = UINT32_MAX },
        { "limit", CAY_FIELD_U64, offsetof(struct args, max), 0, "at most this many; default 1000", .min = 1,
          .max = LIMIT_MAX },
        {},
};

/* What was made for it goes; nobody waits for that. */

static void on_removed(struct cay_job *job)
{
        struct cay_service_call *c = cay_container_of(job, struct cay_service_call, job);

        if (job->err.code != CAY_OK && job->err.code != CAY_NOT_FOUND)
                cay_log_warn("left by a comparison of steps; it expires", "id=%s error=%s", c->id,
                             job->err.msg);
        free(c);
}

static void remove_made(struct diff *d)
{
        struct cay_service_call *box = d->helper[0] ? calloc(1, sizeof(*box)) : NULL;
        struct cay_service_call *shot = d->now[0] ? calloc(1, sizeof(*shot)) : NULL;

        if (box) {
                cay_job_init(&box->job, on_removed);
                cay_service_destroy(d->service, &d->viewer, d->helper, box);
        }
        if (shot) {
                cay_job_init(&shot->job, on_removed);
                cay_service_snapshot_remove(d->service, &d->viewer, d->now, shot);
        }
        cay_buf_done(&d->rest);
        if (d->has_result)
                cay_op_result_done(&d->o);
}

static void on_channel_done(struct cay_op_channel *base)
{
        remove_made(cay_container_of(base, struct diff, base));
}

static void fail(struct diff *d, const struct cay_error *err)
{
        struct cay_op_call *c = d->call;
        struct cay_error why = *err;

        remove_made(d);
        free(d);
        cay_op_fail(c, &why, NULL);
}

/* Comparing */

static const char *const kinds[] = { ['A'] = "added", ['D'] = "removed", ['M'] = "changed" };

static int take(struct diff *d)
{
        struct cay_box_stat st;
        int n = cay_box_entry_decode(cay_buf_data(&d->rest), d->rest.len, &st);
        unsigned char kind;

        if (n <= 0)
                return n;
        kind = st.name.len > 2 ? (unsigned char)st.name.ptr[0] : 0;
        if (kind >= CAY_COUNT(kinds) || !kinds[kind] || st.name.ptr[1] != ' ')
                return -1;
        st.name.ptr += 2;
        st.name.len -= 2;
        cay_json_begin_object(&d->o.j);
        cay_op_key_text(&d->o.j, "change", kinds[kind]);
        cay_op_put_stat(&d->o.j, &st);
        cay_json_end_object(&d->o.j);
        return n;
}

static void on_data(struct cay_service_channel *ch, const void *bytes, size_t len)
{
        struct diff *d = cay_container_of(ch, struct diff, base.ch);
        int n = cay_buf_put(&d->rest, bytes, len);
        struct cay_error bad = { 0 };

        cay_op_channel_ack(&d->base, len);
        while (n >= 0 && (n = take(d)) > 0)
                cay_buf_drop(&d->rest, (size_t)n);
        if (n < 0) {
                cay_fail(&bad, CAY_INTERNAL, "the comparison gave an invalid list");
                cay_op_channel_fail(&d->base, &bad);
        }
}

static const char *explain(uint32_t why)
{
        return why & CAY_SEARCH_TIME     ? "it took longer than 20 seconds: not everything was compared"
               : why & CAY_SEARCH_ENOUGH ? "there are more changes than the limit"
               : why & CAY_SEARCH_PASSED ? "some files or folders could not be read: what the numbers of "
                                           "files say is told"
                                         : NULL;
}

static void on_end(struct cay_service_channel *ch, const struct cay_box_end *end, const struct cay_error *err)
{
        struct diff *d = cay_container_of(ch, struct diff, base.ch);

        if (err && err->code != CAY_OK) {
                cay_op_channel_fail(&d->base, err);
                return;
        }
        cay_json_end_array(&d->o.j);
        cay_op_key_u64(&d->o.j, "count", end->file.entries);
        cay_op_key_u64(&d->o.j, "looked_at", end->file.stat.size);
        cay_op_key_bool(&d->o.j, "more", end->file.stat.mode & ~(uint32_t)CAY_SEARCH_PASSED);
        cay_op_key_text(&d->o.j, "why", explain(end->file.stat.mode));
        d->has_result = false;
        cay_op_result_answer(&d->o, cay_op_channel_finish(&d->base), CAY_OP_OK);
}

static void compare(struct diff *d)
{
        struct cay_op_call *c = d->call;
        const struct args *a = c->args;
        struct cay_box_open open = cay_op_file_open(CAY_BOX_COMPARE, CAY_SANDBOX_BEFORE, false);

        open.file.path2 = (struct cay_view){ CAY_SANDBOX_AFTER, strlen(CAY_SANDBOX_AFTER) };
        open.file.max_entries = a->max ? a->max : LIMIT_DEFAULT;
        cay_buf_init(&d->rest, CAY_BOX_ENTRY_MAX + CAY_BOX_WINDOW_MAX);
        d->base.done = on_channel_done;
        d->base.ch.on_data = on_data;
        d->base.ch.on_end = on_end;
        cay_op_result_begin(&d->o, c);
        d->has_result = true;
        cay_op_key_text(&d->o.j, "sandbox_id", a->id);
        cay_json_key(&d->o.j, "changes");
        cay_json_begin_array(&d->o.j);
        cay_op_channel_open(&d->base, c, d->helper, &open);
}

/* The sandbox for it: as if somebody had asked for it */

static void made(struct diff *d, const struct cay_error *err)
{
        memcpy(d->helper, d->create.made, sizeof(d->helper));
        if (err)
                fail(d, err);
        else
                compare(d);
}

static void helper_answer(struct cay_op_call *c, enum cay_op_status status, struct cay_op_result *r)
{
        (void)status;
        (void)r;
        made(cay_container_of(c, struct diff, create), NULL);
}

static void helper_fail(struct cay_op_call *c, const struct cay_error *err, const char *field)
{
        struct cay_error why = *err;

        (void)field;
        cay_wrap(&why, "make the sandbox that compares");
        made(cay_container_of(c, struct diff, create), &why);
}

static void helper_end(struct cay_op_call *c, bool was_cut)
{
        struct cay_error why = { 0 };

        (void)was_cut;
        cay_fail(&why, CAY_UNAVAILABLE, "the sandbox that compares was not made");
        made(cay_container_of(c, struct diff, create), &why);
}

static const struct cay_op_responder helper_responder = {
        .open = cay_op_open_nowhere, .answer = helper_answer, .fail = helper_fail, .end = helper_end
};

static void make_helper(struct diff *d)
{
        const struct cay_op_call *c = d->call;

        d->what = (struct cay_create_args){ .template_name = d->template_name,
                                            .network = "none",
                                            .purpose = "compares steps",
                                            .timeout_ms = LIFE_MS,
                                            .has_timeout = true,
                                            .brief = true,
                                            .compare = { d->layers[0], d->layers[1] } };
        d->create = (struct cay_op_call){ .op = &cay_op_sandbox_create,
                                          .responder = &helper_responder,
                                          .world = c->world,
                                          .caller = c->caller,
                                          .is_known = c->is_known,
                                          .dialect = c->dialect,
                                          .args = &d->what,
                                          .fd = -1 };
        memcpy(d->create.request_id, c->request_id, sizeof(d->create.request_id));
        d->create.op->run(&d->create);
}

static void on_taken(struct cay_job *job)
{
        struct diff *d = cay_container_of(job, struct diff, snapshot.job);

        if (job->err.code != CAY_OK) {
                fail(d, &job->err);
                return;
        }
        cay_str_copy(d->now, sizeof(d->now), d->snapshot.id);
        cay_str_copy(d->layers[1], sizeof(d->layers[1]), d->snapshot.id);
        make_helper(d);
}

static int find(struct diff *d, const char *id, char ret_id[CAY_NAME_MAX + 1], const char **ret_field,
                struct cay_error *err)
{
        const struct args *a = d->call->args;
        struct cay_sandbox_view view;
        struct cay_snapshot_view step;

        *ret_field = "id";
        if (cay_service_get(d->service, &d->viewer, id, &view, err) < 0)
                return -1;
        cay_str_copy(ret_id, CAY_NAME_MAX + 1, view.id);
        *ret_field = "from";
        if (cay_service_step_get(d->service, &d->viewer, ret_id, a->from, &step, err) < 0)
                return -1;
        cay_str_copy(d->layers[0], sizeof(d->layers[0]), step.id);
        if (!cay_str_copy(d->template_name, sizeof(d->template_name), step.template_name))
                return cay_fail(err, CAY_CONFLICT, "the name of its template is too long");
        *ret_field = "to";
        if (a->to == 0)
                return 0;
        if (cay_service_step_get(d->service, &d->viewer, ret_id, a->to, &step, err) < 0)
                return -1;
        if (strcmp(step.id, d->layers[0]) == 0)
                return cay_fail(err, CAY_INVALID, "to: is the same step as from");
        cay_str_copy(d->layers[1], sizeof(d->layers[1]), step.id);
        return 0;
}

static void run_diff(struct cay_op_call *c)
{
        const struct args *a = c->args;
        const struct cay_snapshot_new what = { .timeout_ms = LIFE_MS };
        struct diff *d = calloc(1, sizeof(*d));
        struct cay_error err = { 0 };
        const char *field = NULL;
        char id[CAY_NAME_MAX + 1] = "";

        if (!d) {
                cay_op_fail_memory(c);
                return;
        }
        d->call = c;
        d->service = c->world->service;
        d->viewer = (struct cay_viewer){ .owner = c->caller.owner };
        if (find(d, a->id, id, &field, &err) < 0) {
                free(d);
                cay_op_fail(c, &err, field);
                return;
        }
        if (d->layers[1][0]) {
                make_helper(d);
                return;
        }
        cay_job_init(&d->snapshot.job, on_taken);
        cay_service_snapshot(d->service, &d->viewer, id, &what, &d->snapshot);
}

RESULT(result_change, "Change", TEXT("change"), ALSO(cay_result_file));
RESULT(result_diff, NULL, TEXT("sandbox_id"), LIST("changes", result_change), NUMBER("count"),
       NUMBER("looked_at"), BOOL("more"), MAYBE("why", TEXT));

const struct cay_op cay_op_step_diff = {
        .name = "step_diff",
        .route = "POST /api/sandboxes/{id}/diff",
        .doc = "Lists the files that differ between two steps of a sandbox, or between one and now. A "
               "sandbox "
               "of its own compares them",
        .scope = CAY_SCOPE_EXEC,
        .fields = fields,
        .args_size = sizeof(struct args),
        .result = &result_diff,
        .tool = CAY_TOOL("Show changes",
                         "Lists the files that changed since a step (the newest by default), or between two.",
                         .group = "time"),
        .verb = CAY_OP_VERB(
                "log diff", "id from? to?",
                "Lists the files that changed since a step, by default the newest: what the last\n"
                "command did. With two steps: between them.",
                "changes: CHANGE=change SIZE=size MODE=mode NAME=name"),
        .run = run_diff,
};
