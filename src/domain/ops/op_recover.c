/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of sandboxes whose records were lost: list, adopt as a stopped sandbox, or remove. For administrators
 * only.
 */
#include <stdlib.h>
#include <string.h>

#include "domain/ops/create_args.h"
#include "domain/ops/view.h"
#include "domain/ops/result_rows.h"
#include "domain/ops/results.h"

struct args {
        const char *id, *owner, *name, *template_name;
        struct cay_limits limits;
};

struct recovery {
        struct cay_service_call service;
        struct cay_op_call *call;
};

static void put_each(void *ctx, const char *id, const char *engine, bool is_busy)
{
        cay_json_begin_object(ctx);
        cay_op_key_text(ctx, "sandbox_id", id);
        cay_op_key_text(ctx, "engine", engine);
        cay_op_key_bool(ctx, "busy", is_busy);
        cay_json_end_object(ctx);
}

static void run_list(struct cay_op_call *c)
{
        struct cay_op_result o;

        cay_op_result_begin(&o, c);
        cay_json_key(&o.j, "files");
        cay_json_begin_array(&o.j);
        cay_service_left(c->world->service, put_each, &o.j);
        cay_json_end_array(&o.j);
        cay_op_result_answer(&o, c, CAY_OP_OK);
}

RESULT(result_files_left, "FilesLeft", TEXT("sandbox_id"), TEXT("engine"), BOOL("busy"));
RESULT(result_files_list, NULL, LIST("files", result_files_left));

const struct cay_op cay_op_recover_list = {
        .name = "recover_list",
        .route = "GET /api/recover",
        .doc = "Lists files of sandboxes that the database has no record of: it was lost or damaged",
        .scope = CAY_SCOPE_ADMIN,
        .result = &result_files_list,
        .verb = CAY_OP_VERB(
                "recover", "",
                "Lists files of sandboxes without a record, after the daemon's database was removed,\n"
                "emptied or damaged. They stay until `cay recover adopt FILES --owner OWNER` makes a\n"
                "stopped sandbox of them, or `cay recover rm FILES` removes them.",
                "files: FILES=sandbox_id ENGINE=engine"),
        .run = run_list,
};

#define ID_FIELD                                                                                             \
        {                                                                                                    \
                "files", CAY_FIELD_TEXT, offsetof(struct args, id), 0,                                       \
                        "the id of the sandbox that they were of, as recover_list says it",                  \
                        .min = 1, .max = CAY_NAME_MAX                                                        \
        }

static struct recovery *begin(struct cay_op_call *c, void (*on_done)(struct cay_job *job))
{
        struct recovery *r = cay_op_alloc(c, sizeof(*r));

        if (!r)
                return NULL;
        r->call = c;
        cay_job_init(&r->service.job, on_done);
        return r;
}

static void on_adopted(struct cay_job *job)
{
        struct recovery *r = cay_container_of(job, struct recovery, service.job);
        struct cay_op_call *c = r->call;
        struct cay_viewer viewer = cay_op_viewer(c);
        struct cay_error err = job->err;
        struct cay_sandbox_view view;
        struct cay_op_result o;

        if (err.code != CAY_OK ||
            cay_service_get(c->world->service, &viewer, r->service.id, &view, &err) < 0) {
                cay_op_fail(c, &err, NULL);
        } else {
                cay_op_result_begin(&o, c);
                cay_op_put_sandbox(&o.j, &view, c->dialect);
                memccpy(c->made, view.id, '\0', sizeof(c->made));
                cay_op_result_answer(&o, c, CAY_OP_CREATED);
        }
        free(r);
}

struct engine_of {
        const char *id;
        char engine[CAY_NAME_MAX + 1];
};

static void find_engine(void *ctx, const char *id, const char *engine, bool is_busy)
{
        struct engine_of *f = ctx;

        (void)is_busy;
        if (strcmp(f->id, id) == 0)
                memccpy(f->engine, engine, '\0', sizeof(f->engine));
}

static void run_adopt(struct cay_op_call *c)
{
        const struct args *a = c->args;
        struct cay_sandbox_new what = {
                .owner = a->owner, .name = a->name, .template_name = a->template_name, .limits = a->limits
        };
        struct engine_of of = { .id = a->id };
        struct cay_engine_view engine = { 0 };
        struct cay_error err = { 0 };
        struct recovery *r;

        cay_service_left(c->world->service, find_engine, &of);
        if (of.engine[0] && cay_service_engine_choose(c->world->service, of.engine, &engine, &err) < 0) {
                cay_op_fail(c, &err, NULL);
                return;
        }
        cay_op_fill_limits(&what.limits, c->world->config, engine.holds);
        if (cay_op_check_owner(a->owner, &err) < 0 ||
            cay_op_fit_inodes(&what.limits, a->limits.inodes == 0, &err) < 0) {
                cay_op_fail(c, &err, NULL);
                return;
        }
        r = begin(c, on_adopted);
        if (r)
                cay_service_adopt_left(c->world->service, a->id, &what, &r->service);
}

static const struct cay_field adopt_fields[] = {
        ID_FIELD,
        { "owner", CAY_FIELD_TEXT, offsetof(struct args, owner), CAY_FIELD_REQUIRED, "whose it becomes",
          .min = 1, .max = CAY_NAME_MAX },
        { "name", CAY_FIELD_TEXT, offsetof(struct args, name), 0,
          "a name for it: 1 to 63 of a-z, 0-9 and -; unique among the owner's sandboxes", .max = 63 },
        { "template", CAY_FIELD_TEXT, offsetof(struct args, template_name), 0,
          "the template that it was made from (default: host)", .max = 4096 },
        { "limits", CAY_FIELD_OBJECT, offsetof(struct args, limits), 0,
          "limits, as for a new one; the disk keeps the size that it was made with",
          .fields = cay_op_limit_fields },
        {},
};

const struct cay_op cay_op_recover_adopt = {
        .name = "recover_adopt",
        .route = "POST /api/recover/{files}",
        .doc = "Makes a stopped sandbox of files that had no record; a start goes on with them",
        .scope = CAY_SCOPE_ADMIN,
        .fields = adopt_fields,
        .args_size = sizeof(struct args),
        .result = &cay_result_sandbox,
        .status = CAY_OP_CREATED,
        .run = run_adopt,
};

static void on_removed(struct cay_job *job)
{
        struct recovery *r = cay_container_of(job, struct recovery, service.job);
        struct cay_op_result o;

        if (job->err.code != CAY_OK) {
                cay_op_fail(r->call, &job->err, NULL);
        } else {
                cay_op_result_begin(&o, r->call);
                cay_op_key_text(&o.j, "sandbox_id", r->service.id);
                cay_op_key_text(&o.j, "status", "removed");
                cay_op_result_answer(&o, r->call, CAY_OP_OK);
        }
        free(r);
}

static void run_remove(struct cay_op_call *c)
{
        const struct args *a = c->args;
        struct recovery *r = begin(c, on_removed);

        if (r)
                cay_service_remove_left(c->world->service, a->id, &r->service);
}

static const struct cay_field remove_fields[] = { ID_FIELD, {} };

const struct cay_op cay_op_recover_remove = {
        .name = "recover_remove",
        .route = "DELETE /api/recover/{files}",
        .doc = "Removes files that have no record, for good",
        .scope = CAY_SCOPE_ADMIN,
        .flags = CAY_OP_DESTRUCTIVE,
        .fields = remove_fields,
        .args_size = sizeof(struct args),
        .result = &cay_result_destroyed,
        .run = run_remove,
};
