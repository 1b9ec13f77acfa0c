/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots: the files of a sandbox as they were, to make others of (docs/time.md). */
#include <stdlib.h>
#include <string.h>

#include "domain/ops/op_snapshot.h"
#include "domain/ops/result_rows.h"
#include "domain/ops/template_use.h"
#include "domain/ops/view.h"
#include "foundation/base/str.h"

#define LIST_DEFAULT 100u
#define LIST_MAX 1000u

struct args {
        const char *id, *name, *snapshot, *sandbox, *cursor;
        uint64_t timeout_ms, limit;
};

#define SNAPSHOT_FIELD                                                                                       \
        {                                                                                                    \
                "snapshot", CAY_FIELD_TEXT, offsetof(struct args, snapshot), 0,                              \
                        "id or name of the snapshot", .min = 1, .max = CAY_NAME_MAX                          \
        }

void cay_op_put_snapshot(struct cay_json *j, const struct cay_snapshot_view *v)
{
        cay_op_key_text(j, "snapshot_id", v->id);
        cay_json_key(j, "name");
        if (v->name[0])
                cay_json_text(j, v->name);
        else
                cay_json_null(j);
        cay_op_key_text(j, "owner", v->owner);
        cay_op_key_text(j, "sandbox_id", v->sandbox);
        cay_op_key_text(j, "template", v->template_name);
        cay_op_key_text(j, "engine", v->engine);
        cay_op_key_text(j, "status", v->is_missing ? "missing" : "ready");
        cay_op_key_u64(j, "bytes", v->bytes);
        cay_op_key_u64(j, "added_bytes", v->added);
        cay_op_key_u64(j, "disk_bytes", v->limits->disk_bytes);
        cay_op_key_text(j, "method", v->is_shared ? "reflink" : "copy");
        cay_op_key_u64(j, "frozen_ms", (v->frozen_us + 500) / 1000);
        cay_op_key_bool(j, "processes", false);
        cay_op_key_time(j, "created_at", v->created_wall_ms);
        cay_json_key(j, "expires_in_ms");
        if (v->expires)
                cay_json_u64(j, v->expires_in_ms);
        else
                cay_json_null(j);
}

SHARED_RESULT(cay_result_snapshot, "Snapshot", TEXT("snapshot_id"), MAYBE("name", TEXT), TEXT("owner"),
              TEXT("sandbox_id"), TEXT("template"), TEXT("engine"), TEXT("status"), NUMBER("bytes"),
              NUMBER("added_bytes"), NUMBER("disk_bytes"), TEXT("method"), NUMBER("frozen_ms"),
              BOOL("processes"), TIME("created_at"), MAYBE("expires_in_ms", NUMBER));

/* Making and removing */

struct change {
        struct cay_service_call service;
        struct cay_op_call *call;
        struct cay_viewer viewer;
};

static struct change *begin(struct cay_op_call *c, void (*on_done)(struct cay_job *job))
{
        struct change *s = cay_op_alloc(c, sizeof(*s));

        if (!s)
                return NULL;
        s->call = c;
        s->viewer = cay_op_viewer(c);
        cay_job_init(&s->service.job, on_done);
        return s;
}

static void answer(struct cay_op_call *c, const char *id, enum cay_op_status status)
{
        const struct cay_viewer viewer = cay_op_viewer(c);
        struct cay_snapshot_view view;
        struct cay_error err = { 0 };
        struct cay_op_result o;

        if (cay_service_snapshot_get(c->world->service, &viewer, id, &view, &err) < 0) {
                cay_op_fail(c, &err, "snapshot");
                return;
        }
        cay_op_result_begin(&o, c);
        cay_op_put_snapshot(&o.j, &view);
        cay_op_result_answer(&o, c, status);
}

static void on_made(struct cay_job *job)
{
        struct change *s = cay_container_of(job, struct change, service.job);
        struct cay_op_call *c = s->call;
        struct cay_error err = job->err;

        memccpy(c->made, s->service.id, '\0', CAY_NAME_MAX);
        free(s);
        if (err.code != CAY_OK)
                cay_op_fail(c, &err, NULL);
        else
                answer(c, c->made, CAY_OP_CREATED);
}

/* `cay create NAME` means a template first. */
static int check_name(const struct cay_op_call *c, const char *name, struct cay_error *err)
{
        const struct cay_template_set *set = c->world->templates ? c->world->templates->set : NULL;

        if (name && (strcmp(name, CAY_TEMPLATE_DEFAULT) == 0 || (set && cay_template_find(set, name))))
                return cay_fail(err, CAY_EXISTS, "name: '%.63s' is the name of a template; choose another",
                                name);
        return 0;
}

static void run_create(struct cay_op_call *c)
{
        const struct args *a = c->args;
        const struct cay_snapshot_new what = { .name = a->name, .timeout_ms = a->timeout_ms };
        struct cay_error err = { 0 };
        struct change *s;

        if (check_name(c, a->name, &err) < 0) {
                cay_op_fail(c, &err, "name");
                return;
        }
        s = begin(c, on_made);
        if (s)
                cay_service_snapshot(c->world->service, &s->viewer, a->id, &what, &s->service);
}

static const struct cay_field create_fields[] = {
        { "id", CAY_FIELD_TEXT, offsetof(struct args, id), 0, "id or name of the sandbox", .min = 1,
          .max = CAY_NAME_MAX },
        { "name", CAY_FIELD_TEXT, offsetof(struct args, name), 0,
          "name: 1 to 63 characters a-z, 0-9 or '-'; unique per owner, and no template's", .min = 1,
          .max = CAY_NAME_MAX },
        { "timeout", CAY_FIELD_DURATION, offsetof(struct args, timeout_ms), 0,
          "time after which it is removed (\"2h\", seconds); default: never" },
        {},
};

const struct cay_op cay_op_snapshot_create = {
        .name = "snapshot_create",
        .route = "POST /api/sandboxes/{id}/snapshots",
        .doc = "Copies the files of a sandbox, running or stopped, to make others of. Processes, memory and "
               "a "
               "mapped folder are not in it; a running sandbox stands still meanwhile (frozen_ms)",
        .scope = CAY_SCOPE_EXEC,
        .fields = create_fields,
        .args_size = sizeof(struct args),
        .result = &cay_result_snapshot,
        .status = CAY_OP_CREATED,
        .tool = CAY_TOOL("Take a snapshot",
                         "Copies a sandbox's files under a name; make others of it with sandbox_fork. "
                         "Running processes are not in it.",
                         .group = "time"),
        .verb = CAY_OP_VERB(
                "snapshot", "id name?",
                "Copies the files of a sandbox, running or stopped, under a name. What runs in it goes\n"
                "on and is not in the copy. `cay create NAME` makes a sandbox of it; `cay snapshot ls`\n"
                "lists snapshots, `cay snapshot rm` removes one.",
                "snapshot=snapshot_id name=name of=sandbox_id bytes=bytes method=method "
                "frozen_for=frozen_ms"),
        .run = run_create,
};

static void on_removed(struct cay_job *job)
{
        struct change *s = cay_container_of(job, struct change, service.job);
        struct cay_op_call *c = s->call;
        struct cay_op_result o;

        if (job->err.code != CAY_OK) {
                cay_op_fail(c, &job->err, "snapshot");
        } else {
                cay_op_result_begin(&o, c);
                cay_op_key_text(&o.j, "snapshot_id", s->service.id);
                cay_op_key_text(&o.j, "status", "removed");
                cay_op_result_answer(&o, c, CAY_OP_OK);
        }
        free(s);
}

static void run_remove(struct cay_op_call *c)
{
        const struct args *a = c->args;
        struct change *s = begin(c, on_removed);

        if (s)
                cay_service_snapshot_remove(c->world->service, &s->viewer, a->snapshot, &s->service);
}

static const struct cay_field one_fields[] = { SNAPSHOT_FIELD, {} };

RESULT(result_removed, NULL, TEXT("snapshot_id"), TEXT("status"));

const struct cay_op cay_op_snapshot_remove = {
        .name = "snapshot_remove",
        .route = "DELETE /api/snapshots/{snapshot}",
        .doc = "Removes a snapshot; sandboxes that were made of it keep their files",
        .scope = CAY_SCOPE_EXEC,
        .flags = CAY_OP_DESTRUCTIVE,
        .fields = one_fields,
        .args_size = sizeof(struct args),
        .result = &result_removed,
        .tool = CAY_TOOL("Remove a snapshot", NULL,
                         .params = CAY_TOOL_PARAMS(
                                 { "snapshot", "snapshot", NULL, NULL, true, "snapshot_id name id" }),
                         .group = "time"),
        .verb = CAY_OP_VERB("snapshot rm", "snapshot+",
                            "Removes snapshots. Sandboxes that were made of them keep their files.",
                            "removed=snapshot_id"),
        .run = run_remove,
};

/* Looking */

static void run_get(struct cay_op_call *c)
{
        const struct args *a = c->args;

        answer(c, a->snapshot, CAY_OP_OK);
}

const struct cay_op cay_op_snapshot_get = {
        .name = "snapshot_get",
        .route = "GET /api/snapshots/{snapshot}",
        .doc = "Shows a snapshot",
        .scope = CAY_SCOPE_READ,
        .fields = one_fields,
        .args_size = sizeof(struct args),
        .result = &cay_result_snapshot,
        .verb = CAY_OP_VERB("snapshot get", "snapshot", "Shows a snapshot."),
        .run = run_get,
};

struct listing {
        struct cay_op_result o;
        unsigned count;
        char last[CAY_NAME_MAX + 1];
};

static void put_each(void *ctx, const struct cay_snapshot_view *view)
{
        struct listing *l = ctx;

        cay_json_begin_object(&l->o.j);
        cay_op_put_snapshot(&l->o.j, view);
        cay_json_end_object(&l->o.j);
        l->count++;
        cay_str_copy(l->last, sizeof(l->last), view->id);
}

static void run_list(struct cay_op_call *c)
{
        const struct args *a = c->args;
        const struct cay_viewer viewer = cay_op_viewer(c);
        struct listing l = { 0 };
        bool more;

        cay_op_result_begin(&l.o, c);
        cay_json_key(&l.o.j, "snapshots");
        cay_json_begin_array(&l.o.j);
        more = cay_service_snapshot_list(c->world->service, &viewer, a->sandbox, a->cursor,
                                         a->limit > 0 ? (unsigned)a->limit : LIST_DEFAULT, put_each, &l);
        cay_json_end_array(&l.o.j);
        cay_op_key_u64(&l.o.j, "count", l.count);
        cay_json_key(&l.o.j, "next_cursor");
        if (more)
                cay_json_text(&l.o.j, l.last);
        else
                cay_json_null(&l.o.j);
        cay_op_result_answer(&l.o, c, CAY_OP_OK);
}

static const struct cay_field list_fields[] = {
        { "sandbox", CAY_FIELD_TEXT, offsetof(struct args, sandbox), 0, "id of the sandbox that they are of",
          .min = 1, .max = CAY_NAME_MAX },
        { "limit", CAY_FIELD_U64, offsetof(struct args, limit), 0, "at most this many; default 100", .min = 1,
          .max = LIST_MAX },
        { "cursor", CAY_FIELD_TEXT, offsetof(struct args, cursor), 0, "next_cursor of the page before",
          .min = 1, .max = CAY_NAME_MAX },
        {},
};

RESULT(result_list, NULL, LIST("snapshots", cay_result_snapshot), NUMBER("count"),
       MAYBE("next_cursor", TEXT));

const struct cay_op cay_op_snapshot_list = {
        .name = "snapshot_list",
        .route = "GET /api/snapshots",
        .doc = "Lists snapshots, the newest first",
        .scope = CAY_SCOPE_READ,
        .fields = list_fields,
        .args_size = sizeof(struct args),
        .result = &result_list,
        .tool = CAY_TOOL("List snapshots", NULL, .group = "time"),
        .verb = CAY_OP_VERB("snapshot ls", "", "Lists your snapshots, the newest first.",
                            "snapshots: SNAPSHOT=snapshot_id NAME=name SANDBOX=sandbox_id TEMPLATE=template "
                            "BYTES=bytes ADDED=added_bytes CREATED=created_at"),
        .run = run_list,
};
