/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by ops. */
#include "domain/ops/op.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "domain/ops/result_check.h"

#define FIELD_MAX 80u
#define EVENT_KEPT (64u * 1024) /* bytes that stay allocated between the events of a stream */

int cay_op_check_scope(const struct cay_op *op, const struct cay_caller *caller, struct cay_error *err)
{
        if (op->flags & CAY_OP_OPEN || cay_scope_has(caller->scopes, op->scope))
                return 0;
        return cay_fail_because(err, CAY_DENIED, CAY_REASON_SCOPE,
                                "%s needs the scope %s; this caller has %s", op->name,
                                cay_scope_text(op->scope), cay_scope_text(caller->scopes));
}

struct cay_viewer cay_op_viewer(const struct cay_op_call *c)
{
        return (struct cay_viewer){
                .owner = c->caller.owner,
                .sees_all = cay_scope_has(c->caller.scopes, CAY_SCOPE_ADMIN),
                .by = c->caller.id,
        };
}

/* "limits.memory" for "memory", "path" for "path"; "" if the op has no such field. */
static void find_field(const struct cay_op *op, const char *name, size_t len, char ret[FIELD_MAX])
{
        const char *dot = memchr(name, '.', len);
        const struct cay_field *f = op->fields;

        ret[0] = '\0';
        if (f && cay_field_find(f, name, dot ? (size_t)(dot - name) : len))
                snprintf(ret, FIELD_MAX, "%.*s", (int)len, name);
        for (; f && f->name && !ret[0]; f++)
                if (f->kind == CAY_FIELD_OBJECT && f->fields && cay_field_find(f->fields, name, len))
                        snprintf(ret, FIELD_MAX, "%s.%.*s", f->name, (int)len, name);
}

/* The field that a reason is about, where the text does not begin with it. */
static const char *find_by_reason(const struct cay_op *op, enum cay_reason reason)
{
        static const struct {
                enum cay_reason reason;
                const char *field;
        } rows[] = { { CAY_REASON_NO_SANDBOX, "id" },
                     { CAY_REASON_NO_EXEC, "exec" },
                     { CAY_REASON_ID_USED, "execution_id" } };

        for (unsigned i = 0; op->fields && i < CAY_COUNT(rows); i++)
                if (rows[i].reason == reason &&
                    cay_field_find(op->fields, rows[i].field, strlen(rows[i].field)))
                        return rows[i].field;
        return NULL;
}

/*
 * Errors from below begin with the name of the faulty field, if any ("disk: …", "name: …"). Callers get it as
 * they wrote it, also as the member `field`.
 */
void cay_op_fail(struct cay_op_call *c, const struct cay_error *err, const char *field)
{
        size_t len = strspn(err->msg, "abcdefghijklmnopqrstuvwxyz_.0123456789");
        struct cay_error told = *err;
        char name[FIELD_MAX] = "";
        const char *known;

        if (err->code != CAY_INTERNAL && len > 0 && err->msg[len] == ':')
                find_field(c->op, err->msg, len, name);
        if (strlen(name) > len)
                snprintf(told.msg, sizeof(told.msg), "%s%.*s", name,
                         (int)(sizeof(told.msg) - 1 - strlen(name)), err->msg + len);
        known = find_by_reason(c->op, err->reason);
        if (!field || (known && !name[0]))
                field = name[0] ? name : known;
        c->responder->fail(c, &told, field);
}

bool cay_op_get_sandbox(struct cay_op_call *c, const char *id, struct cay_sandbox_view *ret)
{
        struct cay_viewer viewer = cay_op_viewer(c);
        struct cay_error err = { 0 };

        if (cay_service_get(c->world->service, &viewer, id, ret, &err) == 0)
                return true;
        cay_op_fail(c, &err, "id");
        return false;
}

void cay_op_fail_memory(struct cay_op_call *c)
{
        struct cay_error err = { 0 };

        cay_fail(&err, CAY_INTERNAL, "no memory for %s", c->op->name);
        c->responder->fail(c, &err, NULL);
}

void *cay_op_alloc(struct cay_op_call *c, size_t size)
{
        void *state = calloc(1, size);

        if (!state)
                cay_op_fail_memory(c);
        return state;
}

int cay_op_begin(struct cay_op_call *c, const struct cay_op_bytes *bytes)
{
        if (c->responder->begin)
                return c->responder->begin(c, bytes);
        return c->outer ? cay_op_begin(c->outer, bytes) : -EPIPE;
}

ssize_t cay_op_write(struct cay_op_call *c, const void *bytes, size_t len)
{
        if (c->responder->write)
                return c->responder->write(c, bytes, len);
        return c->outer ? cay_op_write(c->outer, bytes, len) : -EPIPE;
}

static ssize_t put_event(struct cay_op_call *c, const char *id, const char *kind, struct cay_op_result *r)
{
        if (c->responder->put_event)
                return c->responder->put_event(c, id, kind, r);
        return c->outer ? put_event(c->outer, id, kind, r) : -EPIPE;
}

void cay_op_end(struct cay_op_call *c)
{
        c->responder->end(c, false);
}

void cay_op_abort(struct cay_op_call *c)
{
        c->responder->end(c, true);
}

int cay_op_read(struct cay_op_call *c)
{
        if (c->responder->read)
                return c->responder->read(c);
        return c->outer ? cay_op_read(c->outer) : -EPIPE;
}

void cay_op_resume(struct cay_op_call *c)
{
        if (c->responder->resume)
                c->responder->resume(c);
        else if (c->outer)
                cay_op_resume(c->outer);
}

static struct cay_json_sink *open_sink(struct cay_op_call *c, bool is_event)
{
        if (c->responder->open)
                return c->responder->open(c, is_event);
        return c->outer ? open_sink(c->outer, is_event) : NULL;
}

static void open_result(struct cay_op_result *r, struct cay_op_call *c, bool is_event)
{
        if (r->sink)
                r->sink->free(r->sink);
        r->sink = open_sink(c, is_event);
        if (r->text.max == 0)
                cay_buf_init(&r->text, is_event ? CAY_OP_EVENT_MAX : CAY_OP_JSON_MAX);
        cay_buf_clear(&r->text);
        if (r->sink)
                cay_json_init_sink(&r->j, r->sink);
        else
                cay_json_init(&r->j, &r->text);
}

#ifdef CAY_TEST_HOOKS
static void begin_check(struct cay_op_result *r, const struct cay_op *op)
{
        r->check = op->result ? calloc(1, sizeof(*r->check)) : NULL;
        if (!r->check)
                return;
        cay_result_check_init(r->check, op->result);
        r->j.watch = &r->check->watch;
}
#endif

void cay_op_result_begin(struct cay_op_result *r, struct cay_op_call *c)
{
        *r = (struct cay_op_result){ 0 };
        open_result(r, c, false);
#ifdef CAY_TEST_HOOKS
        begin_check(r, c->outer ? c->outer->op : c->op);
#endif
        cay_json_begin_object(&r->j);
}

void cay_op_event_begin(struct cay_op_result *r, struct cay_op_call *c)
{
        open_result(r, c, true);
        cay_json_begin_object(&r->j);
}

void cay_op_result_done(struct cay_op_result *r)
{
        if (r->sink)
                r->sink->free(r->sink);
        free(r->check);
        cay_buf_done(&r->text);
        *r = (struct cay_op_result){ 0 };
}

void cay_op_result_move(struct cay_op_result *to, struct cay_op_result *from)
{
        *to = *from;
        *from = (struct cay_op_result){ 0 };
}

struct cay_json_sink *cay_op_open_nowhere(struct cay_op_call *c, bool is_event)
{
        (void)c;
        (void)is_event;
        return cay_json_nowhere();
}

static int end(struct cay_op_result *r)
{
        cay_json_end_object(&r->j);
        return cay_json_end(&r->j);
}

void cay_op_result_answer(struct cay_op_result *r, struct cay_op_call *c, enum cay_op_status status)
{
        struct cay_error err = { 0 };
        int why;

        if (c->add_members)
                c->add_members(c, &r->j);
        why = end(r);
        if (why == 0) {
                c->responder->answer(c, status, r);
        } else if (why == -EPROTO && r->check) {
                cay_fail(&err, CAY_INTERNAL, "the answer of %s is not as its table says: %s", c->op->name,
                         r->check->wrong);
                c->responder->fail(c, &err, NULL);
        } else {
                cay_fail_sys(&err, why == -ENOSPC ? CAY_LIMIT : CAY_INTERNAL, why, "write the answer");
                c->responder->fail(c, &err, NULL);
        }
        cay_op_result_done(r);
}

ssize_t cay_op_event_put(struct cay_op_result *r, struct cay_op_call *c, const char *id, const char *kind)
{
        int why = end(r);
        ssize_t queued = why < 0 ? why : put_event(c, id, kind, r);

        if (r->text.cap > EVENT_KEPT) /* large ones are rare, and a stream may last long */
                cay_buf_done(&r->text);
        return queued;
}

void cay_op_key_text(struct cay_json *j, const char *key, const char *value)
{
        cay_json_key(j, key);
        cay_json_text(j, value);
}

void cay_op_key_u64(struct cay_json *j, const char *key, uint64_t value)
{
        cay_json_key(j, key);
        cay_json_u64(j, value);
}

void cay_op_key_bool(struct cay_json *j, const char *key, bool value)
{
        cay_json_key(j, key);
        cay_json_bool(j, value);
}
