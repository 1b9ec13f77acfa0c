/* SPDX-License-Identifier: Apache-2.0 */
#include "dialects/e2b/e2b_changes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/e2b/e2b_entry.h"
#include "foundation/base/str.h"

#define PENDING_BYTES (1u << 20)

struct e2b_change_pending {
        struct e2b_change_pending *next;
        const char *type;
        char name[];
};

struct e2b_change_asked {          /* outlives its owner until the call's last callback */
        struct e2b_changes *owner; /* NULL: it is gone */
        struct cay_call *call;
};

static const char *type_of(const char *kind)
{
        static const struct {
                const char *ours, *theirs;
        } rows[] = { { "created", "EVENT_TYPE_CREATE" },
                     { "modified", "EVENT_TYPE_WRITE" },
                     { "removed", "EVENT_TYPE_REMOVE" },
                     { "attributes", "EVENT_TYPE_CHMOD" } };

        for (unsigned i = 0; i < CAY_COUNT(rows); i++)
                if (strcmp(rows[i].ours, kind) == 0)
                        return rows[i].theirs;
        return NULL;
}

void e2b_changes_begin(struct e2b_changes *c, const struct e2b_request *q, const char *path, bool as_root)
{
        c->world = q->world;
        c->caller = q->caller;
        cay_str_copy(c->sandbox, sizeof(c->sandbox), q->sandbox);
        cay_str_copy(c->path, sizeof(c->path), path);
        c->as_root = as_root;
        c->with_entries = cay_json_value_is_true(e2b_member(q, "includeEntry")) ||
                          cay_json_value_is_true(e2b_member(q, "include_entry"));
        c->last = &c->first;
}

static size_t size_of(const struct e2b_change_pending *p)
{
        return sizeof(*p) + strlen(p->name) + 1;
}

static struct e2b_change_pending *pop(struct e2b_changes *c)
{
        struct e2b_change_pending *p = c->first;

        c->first = p->next;
        if (!c->first)
                c->last = &c->first;
        c->bytes -= size_of(p);
        return p;
}

static void path_of(const struct e2b_changes *c, const char *name, char ret[2 * E2B_PATH_MAX])
{
        snprintf(ret, 2 * (size_t)E2B_PATH_MAX, "%s/%.4000s", strcmp(c->path, "/") == 0 ? "" : c->path, name);
}

/* The first that waits. */
static void tell(struct e2b_changes *c, const struct cay_json_value *file)
{
        struct e2b_change_pending *p = pop(c);
        char path[2 * E2B_PATH_MAX];

        path_of(c, p->name, path);
        c->put(c->ctx, &(struct e2b_change){ .type = p->type, .name = p->name, .path = path, .file = file });
        free(p);
}

static void go_on(struct e2b_changes *c);

static void on_known(struct cay_call *a, const struct cay_json_value *file)
{
        struct e2b_change_asked *asked = cay_call_user(a);
        struct e2b_changes *c = asked->owner;

        free(asked);
        if (!c)
                return;
        c->asked = NULL;
        tell(c, file);
        if (c->put)
                go_on(c);
}

static void on_answer(struct cay_call *a, enum cay_op_status status, const struct cay_json_value *file)
{
        (void)status;
        on_known(a, file);
}

/* It is gone by now. */
static void on_fail(struct cay_call *a, const struct cay_error *err, const char *field, const char *first)
{
        (void)err;
        (void)field;
        (void)first;
        on_known(a, NULL);
}

/* False: there is no memory for it. */
static bool ask(struct e2b_changes *c)
{
        static const struct cay_call_ops ops = { .on_answer = on_answer, .on_fail = on_fail };
        cay_auto_call_args struct cay_call_args args = { 0 };
        struct e2b_change_asked *asked = calloc(1, sizeof(*asked));
        char path[2 * E2B_PATH_MAX];

        if (!asked)
                return false;
        path_of(c, c->first->name, path);
        cay_call_args_begin(&args);
        cay_op_key_text(&args.j, "id", c->sandbox);
        cay_op_key_text(&args.j, "path", path);
        cay_op_key_bool(&args.j, "as_root", c->as_root);
        cay_op_key_bool(&args.j, "metadata", true);
        asked->owner = c;
        asked->call = cay_call(&(struct cay_call_what){ .op = cay_op_find("file_stat"),
                                                        .world = c->world,
                                                        .caller = c->caller,
                                                        .is_known = true,
                                                        .dialect = CAY_OP_E2B,
                                                        .fd = -1,
                                                        .args = &args,
                                                        .ops = &ops,
                                                        .user = asked });
        if (!asked->call) {
                free(asked);
                return false;
        }
        c->asked = asked;
        return true;
}

static bool wants_entry(const struct e2b_changes *c)
{
        return c->with_entries && strcmp(c->first->type, "EVENT_TYPE_REMOVE") != 0 &&
               strcmp(c->first->type, "EVENT_TYPE_RENAME") != 0;
}

static void go_on(struct e2b_changes *c)
{
        while (c->put && c->first && !c->asked)
                if (!wants_entry(c) || !ask(c))
                        tell(c, NULL);
}

static int queue(struct e2b_changes *c, const char *type, const char *name)
{
        struct e2b_change_pending *p;
        size_t len = name ? strlen(name) : 0;

        if (!name)
                return 0;
        if (c->bytes > PENDING_BYTES)
                return -ENOBUFS;
        p = calloc(1, sizeof(*p) + len + 1);
        if (!p)
                return -ENOMEM;
        p->type = type;
        memcpy(p->name, name, len);
        *c->last = p;
        c->last = &p->next;
        c->bytes += size_of(p);
        return 0;
}

int e2b_changes_add(struct e2b_changes *c, const char *kind, const struct cay_json_value *event)
{
        const char *path = e2b_text(event, "path"), *type = type_of(kind);
        int r = 0;

        if (!c->put)
                return 0; /* nobody listens any more */
        if (strcmp(kind, "moved") == 0) {
                r = queue(c, "EVENT_TYPE_RENAME", path);
                if (r == 0)
                        r = queue(c, "EVENT_TYPE_CREATE", e2b_text(event, "to"));
        } else if (type) {
                r = queue(c, type, path);
        }
        if (r == 0)
                go_on(c);
        return r;
}

void e2b_changes_flush(struct e2b_changes *c)
{
        if (c->asked) {
                c->asked->owner = NULL;
                cay_call_gone(cay_take(c->asked)->call);
        }
        while (c->put && c->first)
                tell(c, NULL);
}

void e2b_changes_done(struct e2b_changes *c)
{
        c->put = NULL;
        if (c->asked) {
                c->asked->owner = NULL;
                cay_call_gone(cay_take(c->asked)->call);
        }
        while (c->first)
                free(pop(c));
}

void e2b_change_put(struct cay_json *j, const struct e2b_change *change)
{
        cay_op_key_text(j, "name", change->name);
        cay_op_key_text(j, "type", change->type);
        if (!change->file)
                return;
        cay_json_key(j, "entry");
        e2b_entry_put(j, change->file, change->path, NULL);
}
