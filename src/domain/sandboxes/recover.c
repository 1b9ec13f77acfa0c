/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that an engine keeps and that have no record.
 *
 * Theory of operation. Such files are the remains of an interrupted create or destroy, which nobody wants, or
 * they are all that is left of a sandbox whose record was lost: the database was removed, emptied, repaired,
 * or replaced by an older one. Only a store that is known to be complete can tell the two apart. So the store
 * has a value for each engine, set when a start found no such files. If it is not set (as in a new database),
 * or if the database was repaired, files are never removed automatically. They are listed here, reported in
 * log, journal and health, and wait until an administrator adopts or removes each. After the last one the
 * value is set. If that commit fails it stays unset, which costs disk space but loses nothing.
 */
#include "foundation/base/str.h"
#include "domain/sandboxes/service_priv.h"

#define KNOWN CAY_STORE_FILES_KNOWN /* followed by the engine's name */

struct cay_left {
        struct cay_left *next;
        struct cay_engine_row *row; /* who keeps them */
        bool busy;                  /* being adopted or removed */
        char id[CAY_NAME_MAX + 1];
};

static bool find_known(void *ctx, const void *record)
{
        const struct cay_store_value *v = record;
        struct cay_service *s = ctx;

        if (strncmp(v->name, KNOWN, strlen(KNOWN)) != 0)
                return true;
        for (unsigned i = 0; i < s->engine_count; i++)
                if (strcmp(v->name + strlen(KNOWN), s->engines[i].name) == 0)
                        s->engines[i].files_known = strcmp(v->value, "1") == 0;
        return true;
}

int cay_left_load(struct cay_service *s, struct cay_error *err)
{
        if (s->store->ops->load(s->store, CAY_STORE_VALUE, find_known, s, err) < 0)
                return cay_wrap(err, "read the store");
        for (unsigned i = 0; i < s->engine_count; i++)
                s->engines[i].keeps_left = !s->engines[i].files_known || s->env.keeps_unowned;
        return 0;
}

void cay_left_add(struct cay_engine_row *row, const char *id)
{
        struct cay_service *s = row->service;
        struct cay_left *l = cay_service_alloc(sizeof(*l));

        l->row = row;
        cay_str_copy(l->id, sizeof(l->id), id);
        l->next = s->left;
        s->left = l;
        s->left_count++;
        row->left_count++;
}

static void drop(struct cay_service *s, struct cay_left *l)
{
        for (struct cay_left **at = &s->left; *at != NULL; at = &(*at)->next) {
                if (*at != l)
                        continue;
                *at = l->next;
                s->left_count--;
                l->row->left_count--;
                free(l);
                return;
        }
}

void cay_left_free(struct cay_service *s)
{
        while (s->left != NULL)
                drop(s, s->left);
}

static void on_known_stored(struct cay_async *e, const struct cay_error *err)
{
        if (err->code != CAY_OK)
                cay_log_warn(
                        "not noted whether files without a sandbox may be removed, ignoring: they are left",
                        "engine=%s error=%s", e->engine->name, err->msg);
        else
                e->engine->files_known = e->engine->left_count == 0;
}

void cay_left_note(struct cay_engine_row *row)
{
        struct cay_service *s = row->service;
        char name[sizeof(KNOWN) + CAY_NAME_MAX];
        struct cay_store_batch *b;
        struct cay_async *e;

        if (row->files_known == (row->left_count == 0))
                return;
        snprintf(name, sizeof(name), KNOWN "%s", row->name);
        e = cay_async_new(s, NULL, NULL, on_known_stored);
        e->engine = row;
        b = s->store->ops->begin(s->store);
        cay_store_put_value(s->store, b, name, row->left_count == 0 ? "1" : "");
        cay_async_commit(e, b);
}

static void on_told(struct cay_async *e, const struct cay_error *err)
{
        if (err->code != CAY_OK)
                cay_log_warn("files without a sandbox not recorded in the journal, ignoring", "error=%s",
                             err->msg);
        (void)e;
}

void cay_left_tell(struct cay_service *s)
{
        struct cay_store_batch *b;
        struct cay_async *e;
        char count[16];

        if (s->left == NULL)
                return;
        cay_log_error("files of sandboxes without a record were found and are left: the database was lost or "
                      "damaged, or is an older one; `cay recover` lists them",
                      "count=%u first=%s", s->left_count, s->left->id);
        snprintf(count, sizeof(count), "%u", s->left_count);
        e = cay_async_new(s, NULL, NULL, on_told);
        b = s->store->ops->begin(s->store);
        cay_event_put_daemon(e, b, CAY_EVENT_FILES_UNCLAIMED, "count", count, "first", s->left->id, NULL);
        cay_async_commit(e, b);
}

/* What administrators do with them */

void cay_service_left(struct cay_service *s,
                      void (*each)(void *ctx, const char *id, const char *engine, bool is_busy), void *ctx)
{
        for (const struct cay_left *l = s->left; l != NULL; l = l->next)
                each(ctx, l->id, l->row->name, l->busy);
}

static struct cay_left *find(struct cay_service *s, const char *id, struct cay_error *err)
{
        struct cay_left *l = s->left;

        if (cay_service_check_ready(s, err) < 0)
                return NULL;
        while (l != NULL && strcmp(l->id, id) != 0)
                l = l->next;
        if (l == NULL)
                cay_fail(err, CAY_NOT_FOUND,
                         "files: '%.63s' does not exist; `cay recover` lists files without a record", id);
        else if (l->busy)
                cay_fail(err, CAY_CONFLICT, "files: '%s' is already being adopted or removed", id);
        return err->code == CAY_OK ? l : NULL;
}

static struct cay_left *find_busy(struct cay_service *s, const char *id)
{
        struct cay_left *l = s->left;

        while (l != NULL && strcmp(l->id, id) != 0)
                l = l->next;
        return l;
}

static int check(struct cay_service *s, const struct cay_sandbox_new *w, struct cay_error *err)
{
        return cay_sandbox_check_names(s, w, err) < 0 ? -1 : cay_limits_check(&w->limits, err);
}

static int fill(struct cay_sandbox *sb, const struct cay_left *l, const struct cay_sandbox_new *w,
                struct cay_error *err)
{
        const char *template_name = w->template_name != NULL ? w->template_name : "host";

        sb->engine = l->row;
        cay_str_copy(sb->id, sizeof(sb->id), l->id);
        cay_str_copy(sb->name, sizeof(sb->name), w->name != NULL ? w->name : "");
        cay_str_copy(sb->owner, sizeof(sb->owner), w->owner);
        sb->template_name = cay_arena_copy(&sb->mem, template_name, strlen(template_name));
        if (sb->template_name == NULL || cay_record_make_texts(sb, err) < 0)
                return cay_fail(err, CAY_INTERNAL, "no memory for the sandbox");
        sb->limits = w->limits;
        sb->may_skip = w->may_skip;
        sb->kept = true;
        sb->created_wall_ms = sb->changed_wall_ms = cay_service_wall(sb->service);
        sb->used_ms = cay_service_now(sb->service);
        cay_sandbox_set_cause(sb, CAY_CAUSE_KILLED,
                              "its record was lost; an administrator adopted its files");
        return 0;
}

static void on_adopted(struct cay_async *e, const struct cay_error *err)
{
        struct cay_sandbox *sb = e->sandbox;
        struct cay_service *s = e->service;
        struct cay_left *l;

        if (sb == NULL)
                return;
        l = find_busy(s, sb->id);
        if (err->code != CAY_OK) { /* as if it had not been requested */
                if (l != NULL)
                        l->busy = false;
                cay_sandbox_move(sb, CAY_SANDBOX_EVENT_UNDO);
                cay_sandbox_answer(s, &sb->calls, err);
                cay_sandbox_answer(s, &sb->destroy_calls, err);
                cay_sandbox_free(sb);
                return;
        }
        if (l != NULL)
                drop(s, l);
        cay_sandbox_move(sb, CAY_SANDBOX_EVENT_DONE);
        cay_log_info("files without a record adopted", "id=%s owner=%s", sb->id, sb->owner);
        cay_left_note(sb->engine);
        cay_sandbox_finish(sb, NULL);
}

void cay_service_adopt_left(struct cay_service *s, const char *id, const struct cay_sandbox_new *what,
                            struct cay_service_call *c)
{
        struct cay_error err = { 0 };
        struct cay_left *l = find(s, id, &err);
        struct cay_sandbox *sb = NULL;
        struct cay_store_batch *b;
        struct cay_async *e;

        c->next = NULL;
        if (l != NULL && check(s, what, &err) == 0) {
                sb = cay_sandbox_new(s);
                if (fill(sb, l, what, &err) == 0 && cay_table_add(s, sb) < 0)
                        cay_fail(&err, CAY_LIMIT, "there are too many sandboxes; destroy some");
        }
        if (err.code != CAY_OK) {
                if (sb != NULL)
                        cay_sandbox_free(sb);
                cay_service_fail_job(s, &c->job, &err);
                return;
        }
        l->busy = true;
        cay_sandbox_begin(sb, CAY_SANDBOX_EVENT_CLAIM, c);
        e = cay_async_new(s, sb, NULL, on_adopted);
        b = s->store->ops->begin(s->store);
        cay_record_put_sandbox(sb, b, CAY_STATE_STOPPED);
        cay_event_put(e, b, sb, CAY_EVENT_FILES_ADOPTED, "name", sb->name, NULL);
        cay_async_commit(e, b);
}

static void on_removed(struct cay_async *e, const struct cay_error *err)
{
        struct cay_service *s = e->service;
        struct cay_left *l = find_busy(s, e->box.id);
        struct cay_service_call *c = cay_take(e->call);
        struct cay_store_batch *b;
        struct cay_async *next;

        if (l != NULL && err->code == CAY_OK)
                drop(s, l);
        else if (l != NULL)
                l->busy = false;
        if (err->code == CAY_OK) {
                cay_log_info("files without a record removed on request", "id=%s", e->box.id);
                cay_left_note(e->engine);
                next = cay_async_new(s, NULL, NULL, on_told);
                b = s->store->ops->begin(s->store);
                cay_event_put_daemon(next, b, CAY_EVENT_FILES_REMOVED, "id", e->box.id, NULL);
                cay_async_commit(next, b);
        }
        if (c != NULL)
                cay_service_fail_job(s, &c->job, err);
}

void cay_service_remove_left(struct cay_service *s, const char *id, struct cay_service_call *c)
{
        struct cay_error err = { 0 };
        struct cay_left *l = find(s, id, &err);
        struct cay_async *e;

        c->next = NULL;
        if (l == NULL) {
                cay_service_fail_job(s, &c->job, &err);
                return;
        }
        l->busy = true;
        e = cay_async_new(s, NULL, NULL, on_removed);
        e->engine = l->row;
        e->call = c;
        cay_str_copy(e->box.id, sizeof(e->box.id), l->id);
        cay_str_copy(c->id, sizeof(c->id), l->id);
        cay_async_unmake(e, false, CAY_SERVICE_UNMAKE_MS);
}
