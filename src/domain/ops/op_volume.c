/* SPDX-License-Identifier: Apache-2.0 */
/* Named volumes of an owner: they come with the first sandbox that names them, stay when sandboxes go, and are listed and removed here. */
#include <stdlib.h>
#include <string.h>

#include "domain/model/port_engine.h"
#include "foundation/base/str.h"
#include "domain/ops/op.h"
#include "domain/ops/result_rows.h"
#include "domain/ops/view.h"

#define ROWS_MAX 1000u

struct args {
        const char *owner, *name;
};

#define OWNER_FIELD                                                                                          \
        {                                                                                                    \
                "owner", CAY_FIELD_TEXT, offsetof(struct args, owner), 0,                                    \
                        "whose; for admins: default of a list is everybody's", .min = 1, .max = CAY_NAME_MAX \
        }

static const struct cay_field list_fields[] = { OWNER_FIELD, {} };

static const struct cay_field remove_fields[] = {
        { "name", CAY_FIELD_TEXT, offsetof(struct args, name), 0, "the volume", .min = 1,
          .max = CAY_NAME_MAX },
        OWNER_FIELD,
        {},
};

struct work {
        struct cay_job job;
        struct cay_op_call *call;
        char owner[CAY_NAME_MAX + 1]; /* "": all */
        struct cay_volumes found;
        struct cay_volume rows[ROWS_MAX];
        unsigned used[ROWS_MAX]; /* by how many sandboxes */
};

/* NULL: c is answered. */
static struct work *begin(struct cay_op_call *c, void (*on_done)(struct cay_job *job))
{
        const struct args *a = c->args;
        const struct cay_viewer viewer = cay_op_viewer(c);
        struct cay_error err = { 0 };
        struct work *w;

        if (!c->world->volume_keeper)
                cay_fail(&err, CAY_UNSUPPORTED,
                         "this daemon has no volumes: they need the engine docker; files stay in a stopped "
                         "sandbox, and in a workspace");
        else if (a->owner && !viewer.sees_all && strcmp(a->owner, viewer.owner) != 0)
                cay_fail(&err, CAY_DENIED, "owner: only an admin may name another owner");
        if (err.code != CAY_OK) {
                cay_op_fail(c, &err, a->owner ? "owner" : NULL);
                return NULL;
        }
        w = calloc(1, sizeof(*w));
        if (!w) {
                cay_op_fail_memory(c);
                return NULL;
        }
        w->call = c;
        cay_str_copy(w->owner, sizeof(w->owner), a->owner ? a->owner : viewer.owner);
        cay_job_init(&w->job, on_done);
        return w;
}

/* Lists */

static int compare(const void *a, const void *b)
{
        const struct cay_volume *one = a, *other = b;
        int r = strcmp(one->owner, other->owner);

        return r != 0 ? r : strcmp(one->name, other->name);
}

static void count_uses(void *ctx, const struct cay_sandbox_view *view)
{
        struct work *w = ctx;

        for (unsigned i = 0; i < view->volume_count; i++) {
                struct cay_volume key = { 0 }, *row;

                if (!cay_str_copy(key.owner, sizeof(key.owner), view->owner) ||
                    !cay_str_copy(key.name, sizeof(key.name), view->volumes[i].name))
                        continue;
                row = bsearch(&key, w->rows, w->found.count, sizeof(key), compare);
                if (row)
                        w->used[row - w->rows]++;
        }
}

static void look_at_sandboxes(struct work *w)
{
        const struct cay_viewer viewer = { .owner = w->owner, .sees_all = !w->owner[0] };
        const struct cay_sandbox_filter any = { 0 };
        char cursor[CAY_SERVICE_CURSOR_MAX] = "", next[CAY_SERVICE_CURSOR_MAX] = "";
        struct cay_error ignored = { 0 };

        do {
                if (cay_service_list(w->call->world->service, &viewer, &any, cursor, CAY_SERVICE_PAGE_MAX,
                                     count_uses, w, next, &ignored) < 0)
                        return;
                cay_str_copy(cursor, sizeof(cursor), next);
        } while (cursor[0]);
}

static void on_listed(struct cay_job *job)
{
        struct work *w = cay_container_of(job, struct work, job);
        struct cay_op_result o;

        if (job->err.code != CAY_OK) {
                cay_op_fail(w->call, &job->err, NULL);
                free(w);
                return;
        }
        look_at_sandboxes(w);
        cay_op_result_begin(&o, w->call);
        cay_json_key(&o.j, "volumes");
        cay_json_begin_array(&o.j);
        for (unsigned i = 0; i < w->found.count; i++) {
                cay_json_begin_object(&o.j);
                cay_op_key_text(&o.j, "name", w->rows[i].name);
                cay_op_key_text(&o.j, "owner", w->rows[i].owner);
                cay_op_key_time(&o.j, "created_at",
                                w->rows[i].created_s > 0 ? (uint64_t)w->rows[i].created_s * 1000 : 0);
                cay_op_key_u64(&o.j, "sandboxes", w->used[i]);
                cay_json_end_object(&o.j);
        }
        cay_json_end_array(&o.j);
        cay_op_key_u64(&o.j, "count", w->found.total);
        cay_op_key_bool(&o.j, "more", w->found.total > w->found.count);
        cay_op_result_answer(&o, w->call, CAY_OP_OK);
        free(w);
}

static void run_list(struct cay_op_call *c)
{
        const struct args *a = c->args;
        struct work *w = begin(c, on_listed);
        struct cay_engine *e = c->world->volume_keeper;

        if (!w)
                return;
        if (!a->owner && cay_op_viewer(c).sees_all)
                w->owner[0] = '\0';
        w->found = (struct cay_volumes){ .rows = w->rows, .max = ROWS_MAX };
        e->ops->volumes(e, w->owner, &w->found, &w->job);
}

RESULT(result_volume, "NamedVolume", TEXT("name"), TEXT("owner"), TIME("created_at"), NUMBER("sandboxes"));
RESULT(result_volumes, NULL, LIST("volumes", result_volume), NUMBER("count"), BOOL("more"));

const struct cay_op cay_op_volume_list = {
        .name = "volume_list",
        .route = "GET /api/volumes",
        .doc = "Lists named volumes, with how many sandboxes have each, running or stopped (docker). count "
               "says how many there are, more that some are left out",
        .scope = CAY_SCOPE_READ,
        .fields = list_fields,
        .args_size = sizeof(struct args),
        .result = &result_volumes,
        .verb = CAY_OP_VERB(
                "volume", "",
                "Lists your named volumes, with how many sandboxes have each, running or stopped.\n"
                "`cay volume rm NAME` removes one.",
                "volumes: NAME=name OWNER=owner SANDBOXES=sandboxes CREATED=created_at"),
        .run = run_list,
};

/* Removals */

static void on_removed(struct cay_job *job)
{
        struct work *w = cay_container_of(job, struct work, job);
        const struct args *a = w->call->args;
        struct cay_op_result o;

        if (job->err.code != CAY_OK) {
                cay_op_fail(w->call, &job->err, "name");
        } else {
                cay_op_result_begin(&o, w->call);
                cay_op_key_text(&o.j, "name", a->name);
                cay_op_key_text(&o.j, "owner", w->owner);
                cay_op_key_text(&o.j, "status", "removed");
                cay_op_result_answer(&o, w->call, CAY_OP_OK);
        }
        free(w);
}

static void run_remove(struct cay_op_call *c)
{
        const struct args *a = c->args;
        struct work *w = begin(c, on_removed);
        struct cay_engine *e = c->world->volume_keeper;

        if (w)
                e->ops->volume_remove(e, w->owner, a->name, &w->job);
}

RESULT(result_removed, NULL, TEXT("name"), TEXT("owner"), TEXT("status"));

const struct cay_op cay_op_volume_remove = {
        .name = "volume_remove",
        .route = "DELETE /api/volumes/{name}",
        .doc = "Removes a named volume and what is in it; refused while a sandbox has it, running or stopped "
               "(docker)",
        .scope = CAY_SCOPE_EXEC,
        .flags = CAY_OP_DESTRUCTIVE,
        .fields = remove_fields,
        .args_size = sizeof(struct args),
        .result = &result_removed,
        .verb = CAY_OP_VERB("volume rm", "name+",
                            "Removes named volumes and what is in them. One that a sandbox has, running or\n"
                            "stopped, is not removed.",
                            "removed=name"),
        .run = run_remove,
};
