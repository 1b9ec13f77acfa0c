/* SPDX-License-Identifier: Apache-2.0 */
/* Writes files by sub-calls. */
#include "domain/ops/put_files.h"

#include <errno.h>
#include <string.h>

static void on_next(struct cay_timer *t);

static struct cay_put_files *self(struct cay_op_call *c)
{
        return cay_container_of(c, struct cay_put_files, call);
}

static void done(struct cay_put_files *p, const struct cay_error *err)
{
        cay_timer_clear(&p->timer);
        p->on_done(p, err);
}

static void soon(struct cay_put_files *p, void (*what)(struct cay_timer *t))
{
        cay_timer_set(p->parent->world->loop, &p->timer, 0, what);
}

/* The op takes as much as the box has room for, and says when there is room again. */
static void on_feed(struct cay_timer *t)
{
        struct cay_put_files *p = cay_container_of(t, struct cay_put_files, timer);
        const char *text = p->files->pairs[p->at].value;
        size_t len = strlen(text);

        if (p->sent < len)
                p->sent += p->call.on_body(&p->call, text + p->sent, len - p->sent);
        if (!p->reads || p->sent < len) /* it failed meanwhile, or waits for room */
                return;
        p->reads = false;
        p->call.on_body_end(&p->call);
}

static void respond_answer(struct cay_op_call *c, enum cay_op_status status, struct cay_op_result *r)
{
        struct cay_put_files *p = self(c);

        (void)status;
        (void)r;
        p->reads = p->under_way = false;
        p->at++;
        soon(p, on_next);
}

static void respond_fail(struct cay_op_call *c, const struct cay_error *err, const char *field)
{
        struct cay_put_files *p = self(c);
        struct cay_error told = *err;

        (void)field;
        p->reads = p->under_way = false;
        if (told.code != CAY_INTERNAL)
                cay_fail(&told, err->code, "files: '%.80s': %.150s", p->files->pairs[p->at].name, err->msg);
        done(p, &told);
}

static void respond_end(struct cay_op_call *c, bool was_cut)
{
        struct cay_put_files *p = self(c);
        struct cay_error err = { 0 };

        (void)was_cut;
        cay_fail(&err, CAY_UNAVAILABLE, "files: the transfer was cancelled");
        p->reads = p->under_way = false;
        done(p, &err);
}

static int respond_read(struct cay_op_call *c)
{
        self(c)->reads = true;
        soon(self(c), on_feed);
        return 0;
}

static void respond_resume(struct cay_op_call *c)
{
        if (self(c)->reads)
                soon(self(c), on_feed);
}

static const struct cay_op_responder responder = { .open = cay_op_open_nowhere,
                                                   .answer = respond_answer,
                                                   .fail = respond_fail,
                                                   .end = respond_end,
                                                   .read = respond_read,
                                                   .resume = respond_resume };

static void on_next(struct cay_timer *t)
{
        struct cay_put_files *p = cay_container_of(t, struct cay_put_files, timer);
        const struct cay_op_call *c = p->parent;
        struct cay_error err = { 0 };

        if (p->is_stopped)
                cay_fail(&err, CAY_UNAVAILABLE, "files: the transfer was cancelled");
        if (p->is_stopped || p->at == p->files->count) {
                done(p, &err);
                return;
        }
        p->sent = 0;
        p->args = (struct cay_file_bytes_args){ .id = p->sandbox,
                                                .path = p->files->pairs[p->at].name,
                                                .parents = true };
        p->call = (struct cay_op_call){ .op = &cay_op_file_write,
                                        .responder = &responder,
                                        .world = c->world,
                                        .caller = c->caller,
                                        .is_known = c->is_known,
                                        .args = &p->args,
                                        .fd = -1 };
        memcpy(p->call.request_id, c->request_id, sizeof(p->call.request_id));
        p->under_way = true;
        cay_op_run(&p->call);
}

void cay_put_files_begin(struct cay_put_files *p, const struct cay_op_call *parent, const char *sandbox,
                         const struct cay_field_map *files)
{
        p->parent = parent;
        p->sandbox = sandbox;
        p->files = files;
        p->at = 0;
        soon(p, on_next);
}

void cay_put_files_stop(struct cay_put_files *p)
{
        p->is_stopped = true;
        if (p->under_way && p->call.on_gone)
                p->call.on_gone(&p->call);
}
