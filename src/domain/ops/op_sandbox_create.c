/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a sandbox: is it permitted, confirmed, admitted; then it is made (create_request.h). */
#include <sys/stat.h>

#include "foundation/base/str.h"
#include "domain/ops/create_request.h"
#include "domain/ops/template_use.h"
#include "domain/ops/view.h"
#include "domain/ops/result_rows.h"
#include "domain/ops/results.h"

#define SAID_MAX (4u << 20)

const struct cay_field cay_create_workspace_fields[] = {
        { "path", CAY_FIELD_TEXT, offsetof(struct cay_create_workspace, path), 0,
          "folder on the host; leave it out if its descriptor comes with the request over the unix socket" },
        { "mode", CAY_FIELD_TEXT, offsetof(struct cay_create_workspace, mode), 0, "ro (default), rw or cow" },
        {},
};

static const struct cay_field fields[] = {
#define CAY_CREATE_AT(member) offsetof(struct cay_create_args, member)
#include "domain/ops/create_fields.def"
#undef CAY_CREATE_AT
        { "project_name", CAY_FIELD_TEXT, offsetof(struct cay_create_args, project_name), 0,
          "stored as the label project_name", .max = 256 },
        { "template", CAY_FIELD_TEXT, offsetof(struct cay_create_args, template_name), 0,
          "template, or name of a snapshot; default: host", .max = 63 },
        { "snapshot", CAY_FIELD_TEXT, offsetof(struct cay_create_args, snapshot), 0,
          "id or name of a snapshot whose files it gets; its template, disk and variables are the default",
          .min = 1, .max = 63 },
        { "timeout", CAY_FIELD_DURATION, offsetof(struct cay_create_args, timeout_ms), 0,
          "time to live (\"90s\", \"2h\", seconds); 0: until destroyed",
          .given = CAY_FIELD_GIVEN(struct cay_create_args, has_timeout) },
        { "idle_timeout", CAY_FIELD_DURATION, offsetof(struct cay_create_args, idle_ms), 0,
          "idle time after which it is destroyed",
          .given = CAY_FIELD_GIVEN(struct cay_create_args, has_idle) },
        { "own_user_only", CAY_FIELD_BOOL, offsetof(struct cay_create_args, options.own_user_only), 0,
          "never run commands as another user; makes creation faster" },
        { "purpose", CAY_FIELD_TEXT, offsetof(struct cay_create_args, purpose), 0,
          "purpose (the code, the task); a confirmation applies only to it", .max = 512 * 1024 },
        { "execution_id", CAY_FIELD_TEXT, offsetof(struct cay_create_args, execution_id), 0,
          "single-use id: a second request with it creates nothing (409)", .min = 1,
          .max = CAY_SERVICE_CLAIM_MAX },
        {},
};

struct create {
        struct cay_service_call service;
        struct cay_waiter waiter; /* while too many of its template are alive */
        struct cay_store_commit spend;
        struct cay_confirmation confirmation;
        struct cay_snapshot_use snapshot;
        struct cay_op_call *call;
};

static void on_made(struct cay_job *job)
{
        struct create *s = cay_container_of(job, struct create, service.job);
        struct cay_op_call *c = s->call;
        const struct cay_create_args *a = c->args;
        struct cay_viewer viewer = cay_op_viewer(c);
        struct cay_sandbox_view view;
        struct cay_error err = s->service.job.err;
        struct cay_op_result o;

        memcpy(c->first, s->service.first, sizeof(c->first));
        if (err.code == CAY_OK)
                cay_service_get(c->world->service, &viewer, s->service.id, &view, &err);
        free(s);
        if (err.code != CAY_OK) {
                cay_op_fail(c, &err, NULL);
                return;
        }
        memccpy(c->made, view.id, '\0', CAY_NAME_MAX);
        cay_op_result_begin(&o, c);
        cay_op_put_sandbox(&o.j, &view, c->dialect);
        cay_op_key_text(&o.j, "execution_id", a->execution_id ? a->execution_id : c->request_id);
        cay_op_result_answer(&o, c, CAY_OP_CREATED);
}

static void fail(struct create *s, const struct cay_error *err, const char *field)
{
        struct cay_op_call *c = s->call;

        free(s);
        cay_op_fail(c, err, field);
}

/* It was admitted: reads everything from the arguments now; the service copies it. */
static void make(struct create *s, const struct cay_template *t)
{
        cay_auto(cay_create_request_done) struct cay_create_request r = { 0 };
        const char *field = NULL;
        struct cay_error err = { 0 };

        if (cay_create_request_fill(&r, s->call, t, &s->snapshot, &field, &err) < 0) {
                fail(s, &err, field);
                return;
        }
        cay_job_init(&s->service.job, on_made);
        cay_service_create(s->call->world->service, &r.what, &s->service);
}

static void let_in(struct cay_waiter *w)
{
        struct create *s = cay_container_of(w, struct create, waiter);
        const struct cay_template *t;
        struct cay_error err = { 0 };

        s->call->on_gone = NULL;
        s->call->works_for_listener = false;
        if (cay_op_find_template(s->call,
                                 w->template_name[0] ? w->template_name
                                                     : cay_create_template_name(s->call, &s->snapshot),
                                 &t, &err) < 0)
                fail(s, &err, "template");
        else
                make(s, t);
}

/* A reached limit is not an error of the field template. */
static void refuse_for(struct create *s, const struct cay_error *err)
{
        if (err->code == CAY_LIMIT)
                cay_service_note_refused(s->call->world->service, s->waiter.owner);
        fail(s, err, err->code == CAY_LIMIT ? NULL : "template");
}

static void refuse(struct cay_waiter *w, const struct cay_error *err)
{
        refuse_for(cay_container_of(w, struct create, waiter), err);
}

/* The client is gone. */
static void on_gone(struct cay_op_call *c)
{
        struct create *s = c->state;

        cay_admission_leave(&c->world->templates->admission, &s->waiter);
        free(s);
        cay_op_abort(c);
}

/* Each list ends separately: no word can move from one into the next. */
static void say_list(struct cay_json *j, const struct cay_field_texts *words)
{
        cay_json_begin_array(j);
        for (unsigned i = 0; i < words->count; i++)
                cay_json_text(j, words->items[i]);
        cay_json_end_array(j);
}

/* A folder that came as a descriptor is identified by device and inode. */
static void say_workspace(struct cay_json *j, const struct cay_create_workspace *w, int fd)
{
        struct stat st = { 0 };

        if (fd >= 0)
                fstat(fd, &st); /* a descriptor that is no folder is refused later */
        cay_json_text(j, w->path);
        cay_json_text(j, w->mode);
        cay_json_bool(j, w->given);
        cay_json_u64(j, st.st_dev);
        cay_json_u64(j, st.st_ino);
}

#define SAY_BOOL cay_json_bool
#define SAY_NUMBER cay_json_u64
#define SAY_TEXT cay_json_text

/* Everything that decides what will run: a confirmation covers exactly this. */
static int say_what(const struct cay_create_args *a, int fd, struct cay_buf *out)
{
        struct cay_json j;

        cay_json_init(&j, out);
        cay_json_begin_array(&j);
        cay_json_text(&j, "sandbox_create");
        cay_json_text(&j, a->template_name);
        cay_json_text(&j, a->snapshot);
        cay_json_text(&j, a->purpose);
        cay_json_text(&j, a->name);
        cay_json_text(&j, a->engine);
        cay_json_text(&j, a->network);
        cay_json_text(&j, a->init);
        say_list(&j, &a->allow);
        say_list(&j, &a->deny);
        cay_json_text(&j, a->member.network);
        cay_json_text(&j, a->member.host);
        say_list(&j, &a->ports);
        say_list(&j, &a->volumes);
        say_list(&j, &a->may_skip);
        say_workspace(&j, &a->workspace, fd);
#define CAY_SANDBOX_FIELD(kind, name, uses, head, doc) SAY_##kind(&j, a->options.name);
#include "domain/model/sandbox_fields.def"
#undef CAY_SANDBOX_FIELD
        for (unsigned i = 0; i < a->env.count; i++) {
                cay_json_text(&j, a->env.pairs[i].name);
                cay_json_text(&j, a->env.pairs[i].value);
        }
#define CAY_LIMIT(field, word, kind, min, max, doc) cay_json_u64(&j, a->limits.field);
#include "domain/model/limits.def"
#undef CAY_LIMIT
        cay_json_end_array(&j);
        return cay_json_end(&j);
}

/* Now, or when there is room. */
static void enter(struct create *s, const struct cay_template *t)
{
        struct cay_op_call *c = s->call;
        struct cay_error err = { 0 };
        int r;

        cay_str_copy(s->waiter.owner, sizeof(s->waiter.owner), cay_op_viewer(c).owner);
        r = c->world->templates && c->world->templates->set
                    ? cay_admission_ask(&c->world->templates->admission, t, &s->waiter, &err)
                    : 1;
        if (r < 0) {
                refuse_for(s, &err);
        } else if (r > 0) {
                make(s, t);
        } else {
                c->state = s;
                c->on_gone = on_gone;
                c->works_for_listener = true; /* a client that hangs up loses its place in the queue */
        }
}

/* Confirmations */

static void on_spent(struct cay_job *job)
{
        struct create *s = cay_container_of(job, struct create, spend.job);
        const struct cay_template *t = NULL;
        struct cay_error err = job->err;

        if (err.code == CAY_EXISTS)
                cay_fail(&err, CAY_CONFLICT,
                         "confirm: this token was used before; leave it out to get a new one");
        else if (err.code == CAY_OK && !s->confirmation.is_right)
                cay_fail(&err, CAY_CONFLICT,
                         "confirm: belongs to another request; repeat that request, or leave confirm out");
        if (err.code != CAY_OK)
                fail(s, &err, "confirm");
        else if (cay_op_find_template(s->call, cay_create_template_name(s->call, &s->snapshot), &t, &err) < 0)
                fail(s, &err, "template");
        else
                enter(s, t);
}

/* Stored before anything is done for it: a second use finds it, also in the next process. */
static void spend(struct create *s)
{
        struct cay_store *store = s->call->world->store;
        struct cay_store_batch *b = store->ops->begin(store);
        const struct cay_store_claim claim = { .owner = s->call->caller.owner,
                                               .key = s->confirmation.claim,
                                               .result = "confirmed" };

        cay_store_put_claim(store, b, &claim);
        cay_job_init(&s->spend.job, on_spent);
        store->ops->commit(store, b, CAY_STORE_FAST, &s->spend);
}

static int check_confirmed(struct create *s, const struct cay_template *t, struct cay_error *err)
{
        const struct cay_create_args *a = s->call->args;
        cay_auto_buf struct cay_buf what = { 0 };

        cay_buf_init(&what, SAID_MAX);
        if (say_what(a, s->call->fd, &what) < 0)
                return cay_fail(err, CAY_INVALID, "env: too long to be confirmed");
        return cay_op_confirm(s->call, t, a->danger, a->confirm, &what, &s->confirmation, err);
}

static void run_sandbox_create(struct cay_op_call *c)
{
        const struct cay_create_args *a = c->args;
        const struct cay_template *t = NULL;
        struct create *s = calloc(1, sizeof(*s));
        struct cay_engine_view engine;
        struct cay_error err = { 0 };
        const char *field = "template";

        if (!s) {
                cay_op_fail_memory(c);
                return;
        }
        s->call = c;
        s->waiter.let_in = let_in;
        s->waiter.refuse = refuse;
        if (cay_create_check_most(c, &field, &err) < 0 ||
            cay_op_snapshot_choose(c, &s->snapshot, &field, &err) < 0 ||
            cay_op_find_template(c, cay_create_template_name(s->call, &s->snapshot), &t, &err) < 0)
                fail(s, &err, field);
        else if (cay_create_choose_engine(c, t, &engine, &err) < 0)
                fail(s, &err, "engine");
        else if (!a->danger && (!t || !t->needs_confirm))
                enter(s, t);
        else if (check_confirmed(s, t, &err) < 0)
                fail(s, &err, a->danger ? "confirm" : "template");
        else
                spend(s);
}

RESULT(result_created, "CreatedSandbox", ALSO(cay_result_sandbox), TEXT("execution_id"));

const struct cay_op cay_op_sandbox_create = {
        .name = "sandbox_create",
        .route = "POST /api/sandboxes",
        .doc = "Creates a sandbox and answers when it is ready",
        .scope = CAY_SCOPE_EXEC,
        .fields = fields,
        .args_size = sizeof(struct cay_create_args),
        .result = &result_created,
        .status = CAY_OP_CREATED,
        .run = run_sandbox_create,
};
