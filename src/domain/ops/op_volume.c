/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Named volumes of an owner: they come with the first sandbox that names them, stay when sandboxes go, and
 * are listed and removed here.
 */
#include <stdlib.h>
#include <string.h>

#include "domain/model/port_engine.h"
#include "foundation/base/str.h"
#include "domain/ops/op.h"
#include "domain/ops/result_rows.h"
#include "domain/ops/view.h"

#define ROWS_MAX 1000u

struct args {
        const char *owner, *name, *engine;
};

#define OWNER_FIELD                                                                                          \
        {                                                                                                    \
                "owner", CAY_FIELD_TEXT, offsetof(struct args, owner), 0,                                    \
                        "whose; for admins: default of a list is everybody's", .min = 1, .max = CAY_NAME_MAX \
        }
#define ENGINE_FIELD                                                                                         \
        {                                                                                                    \
                "engine", CAY_FIELD_TEXT, offsetof(struct args, engine), 0,                                  \
                        "engine that keeps it: native or docker; default: any", .min = 1,                    \
                                                                                .max = CAY_NAME_MAX          \
        }

static const struct cay_field list_fields[] = { OWNER_FIELD, ENGINE_FIELD, {} };

static const struct cay_field remove_fields[] = {
        { "name", CAY_FIELD_TEXT, offsetof(struct args, name), 0, "the volume", .min = 1,
          .max = CAY_NAME_MAX },
        OWNER_FIELD,
        ENGINE_FIELD,
        {},
};

/* Engines are asked one after the other; their rows follow each other. */
struct work {
        struct cay_job job;
        struct cay_op_call *call;
        void (*on_listed)(struct work *w); /* takes it */
        char owner[CAY_NAME_MAX + 1];      /* "": all */
        unsigned at;                       /* of the world's keepers: this one is asked */
        unsigned asked;
        struct cay_volumes found;                  /* of this engine: behind the rows of the earlier ones */
        unsigned count, total;                     /* of all engines */
        const char *away[CAY_SERVICE_ENGINES_MAX]; /* engines that did not answer, */
        unsigned away_count;
        struct cay_error away_why; /* the first of them */
        struct cay_volume rows[ROWS_MAX];
        unsigned used[ROWS_MAX]; /* by how many sandboxes */
};

static int check_caller(struct cay_op_call *c, struct cay_error *err)
{
        const struct args *a = c->args;
        const struct cay_viewer viewer = cay_op_viewer(c);

        if (a->owner && !viewer.sees_all && strcmp(a->owner, viewer.owner) != 0)
                return cay_fail(err, CAY_DENIED, "owner: only an admin may name another owner");
        return 0;
}

static void fail(struct work *w, const struct cay_error *err, const char *field)
{
        cay_op_fail(w->call, err, field);
        free(w);
}

static int compare(const void *a, const void *b)
{
        const struct cay_volume *one = a, *other = b;
        int r = strcmp(one->owner, other->owner);

        if (r == 0)
                r = strcmp(one->name, other->name);
        return r != 0 ? r : strcmp(one->engine, other->engine);
}

static void count_uses(void *ctx, const struct cay_sandbox_view *view)
{
        struct work *w = ctx;

        for (unsigned i = 0; i < view->volume_count; i++) {
                struct cay_volume key = { .engine = view->engine }, *row;

                if (!cay_str_copy(key.owner, sizeof(key.owner), view->owner) ||
                    !cay_str_copy(key.name, sizeof(key.name), view->volumes[i].name))
                        continue;
                row = bsearch(&key, w->rows, w->count, sizeof(key), compare);
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

static void ask_next(struct work *w);

static void on_engine(struct cay_job *job)
{
        struct work *w = cay_container_of(job, struct work, job);
        const char *engine = w->call->world->volume_keepers[w->at]->ops->name;

        if (job->err.code != CAY_OK) {
                if (w->away_count == 0)
                        w->away_why = job->err;
                w->away[w->away_count++] = engine;
        } else {
                for (unsigned i = 0; i < w->found.count; i++)
                        w->rows[w->count++].engine = engine;
                w->total += w->found.total;
        }
        w->at++;
        ask_next(w);
}

static void ask_next(struct work *w)
{
        const struct cay_op_world *world = w->call->world;
        const struct args *a = w->call->args;
        struct cay_error err = { 0 };

        for (; w->at < world->volume_keeper_count; w->at++) {
                struct cay_engine *e = world->volume_keepers[w->at];

                if (!(e->caps & CAY_ENGINE_CAN_VOLUMES) ||
                    (a->engine && strcmp(a->engine, e->ops->name) != 0))
                        continue;
                w->asked++;
                w->found = (struct cay_volumes){ .rows = w->rows + w->count, .max = ROWS_MAX - w->count };
                cay_job_init(&w->job, on_engine);
                e->ops->volumes(e, w->owner, &w->found, &w->job);
                return;
        }
        if (w->asked == 0) {
                cay_fail(&err, CAY_UNSUPPORTED,
                         "%s has no volumes: they need the native engine of a daemon with root's rights, or "
                         "docker; files stay in a stopped sandbox, and in a workspace",
                         a->engine ? "this engine" : "this daemon");
                fail(w, &err, a->engine ? "engine" : NULL);
        } else if (w->away_count == w->asked) {
                fail(w, &w->away_why, NULL);
        } else {
                qsort(w->rows, w->count, sizeof(w->rows[0]), compare);
                look_at_sandboxes(w);
                w->on_listed(w);
        }
}

static void begin(struct cay_op_call *c, bool all_owners, void (*on_listed)(struct work *w))
{
        const struct args *a = c->args;
        struct cay_error err = { 0 };
        struct work *w;

        if (check_caller(c, &err) < 0) {
                cay_op_fail(c, &err, "owner");
                return;
        }
        w = cay_op_alloc(c, sizeof(*w));
        if (!w)
                return;
        w->call = c;
        w->on_listed = on_listed;
        if (!all_owners || a->owner)
                cay_str_copy(w->owner, sizeof(w->owner), a->owner ? a->owner : cay_op_viewer(c).owner);
        ask_next(w);
}

/* Lists */

#define VOLUME struct cay_volume

RESULT(result_volume, "NamedVolume", MEMBER(TEXT, VOLUME, name), MEMBER(TEXT, VOLUME, owner),
       MEMBER(TEXT, VOLUME, engine), SECONDS("created_at", VOLUME, created_s), NUMBER("sandboxes"),
       IF_GIVEN("size_bytes", NUMBER, VOLUME, size_bytes, is_measured),
       IF_GIVEN("used_bytes", NUMBER, VOLUME, used_bytes, is_measured));

static void put_volume(struct cay_json *j, const struct cay_volume *v, unsigned used)
{
        cay_json_begin_object(j);
        cay_op_put_members(j, &result_volume, v);
        cay_op_key_u64(j, "sandboxes", used);
        cay_json_end_object(j);
}

static void tell_list(struct work *w)
{
        struct cay_op_result o;

        cay_op_result_begin(&o, w->call);
        cay_json_key(&o.j, "volumes");
        cay_json_begin_array(&o.j);
        for (unsigned i = 0; i < w->count; i++)
                put_volume(&o.j, &w->rows[i], w->used[i]);
        cay_json_end_array(&o.j);
        cay_op_key_u64(&o.j, "count", w->total);
        cay_op_key_bool(&o.j, "more", w->total > w->count);
        if (w->away_count > 0) {
                cay_json_key(&o.j, "unavailable");
                cay_json_begin_array(&o.j);
                for (unsigned i = 0; i < w->away_count; i++)
                        cay_json_text(&o.j, w->away[i]);
                cay_json_end_array(&o.j);
        }
        cay_op_result_answer(&o, w->call, CAY_OP_OK);
        free(w);
}

static void run_list(struct cay_op_call *c)
{
        begin(c, cay_op_viewer(c).sees_all, tell_list);
}

RESULT(result_volumes, NULL, LIST("volumes", result_volume), NUMBER("count"), BOOL("more"),
       IF("unavailable", TEXTS));

const struct cay_op cay_op_volume_list = {
        .name = "volume_list",
        .route = "GET /api/volumes",
        .doc = "Lists named volumes, with how many sandboxes have each, running or stopped. Of the native "
               "engine also how much of the disk each may take and takes. count says how many there are, "
               "more "
               "that some are left out, unavailable which engines did not answer",
        .scope = CAY_SCOPE_READ,
        .fields = list_fields,
        .args_size = sizeof(struct args),
        .result = &result_volumes,
        .verb = CAY_OP_VERB(
                "volume", "",
                "Lists your named volumes, with how many sandboxes have each, running or stopped.\n"
                "`cay volume rm NAME` removes one.",
                "volumes: NAME=name OWNER=owner ENGINE=engine SANDBOXES=sandboxes USED=used_bytes/bytes "
                "SIZE=size_bytes/bytes CREATED=created_at"),
        .run = run_list,
};

/* Removals */

static void on_removed(struct cay_job *job)
{
        struct work *w = cay_container_of(job, struct work, job);
        const struct args *a = w->call->args;
        struct cay_op_result o;

        if (job->err.code != CAY_OK) {
                fail(w, &job->err, "name");
                return;
        }
        cay_op_result_begin(&o, w->call);
        cay_op_key_text(&o.j, "name", a->name);
        cay_op_key_text(&o.j, "owner", w->owner);
        cay_op_key_text(&o.j, "status", "removed");
        cay_op_result_answer(&o, w->call, CAY_OP_OK);
        free(w);
}

/* The one row of this name; -1: err says why there is none. */
static int choose(const struct work *w, struct cay_error *err)
{
        const struct args *a = w->call->args;
        int one = -1;

        for (unsigned i = 0; i < w->count; i++) {
                if (strcmp(w->rows[i].name, a->name) != 0)
                        continue;
                if (one >= 0)
                        return cay_fail(
                                err, CAY_CONFLICT,
                                "engine: '%s' and '%s' both have a volume '%.63s'; say which is meant",
                                w->rows[one].engine, w->rows[i].engine, a->name);
                one = (int)i;
        }
        if (one < 0 && w->away_count > 0)
                return cay_fail(err, CAY_UNAVAILABLE,
                                "there is no volume '%.63s', but %s does not answer: %s", a->name, w->away[0],
                                w->away_why.msg);
        if (one < 0)
                return cay_fail(err, CAY_NOT_FOUND, "there is no volume '%.63s'", a->name);
        if (w->used[one] > 0)
                return cay_fail(err, CAY_CONFLICT,
                                "%u %s the volume '%.63s', running or stopped; destroy what has it first",
                                w->used[one], w->used[one] == 1 ? "sandbox has" : "sandboxes have", a->name);
        return one;
}

static void remove_one(struct work *w)
{
        const struct cay_op_world *world = w->call->world;
        const struct args *a = w->call->args;
        struct cay_error err = { 0 };
        int one = choose(w, &err);

        if (one < 0) {
                fail(w, &err, "name");
                return;
        }
        for (unsigned i = 0; i < world->volume_keeper_count; i++) {
                struct cay_engine *e = world->volume_keepers[i];

                if (strcmp(e->ops->name, w->rows[one].engine) != 0)
                        continue;
                cay_job_init(&w->job, on_removed);
                e->ops->volume_remove(e, w->owner, a->name, &w->job);
                return;
        }
}

static void run_remove(struct cay_op_call *c)
{
        const struct args *a = c->args;
        struct cay_error err = { 0 };

        if (cay_id_is_valid(a->name)) {
                begin(c, false, remove_one);
                return;
        }
        cay_fail(&err, CAY_INVALID,
                 "name: 1 to %u characters a-z, 0-9 or '-'; must not begin or end with '-'", CAY_NAME_MAX);
        cay_op_fail(c, &err, "name");
}

RESULT(result_removed, NULL, TEXT("name"), TEXT("owner"), TEXT("status"));

const struct cay_op cay_op_volume_remove = {
        .name = "volume_remove",
        .route = "DELETE /api/volumes/{name}",
        .doc = "Removes a named volume and what is in it; refused while a sandbox has it, running or stopped",
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
