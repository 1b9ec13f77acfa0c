/* SPDX-License-Identifier: Apache-2.0 */
/* The control plane: tags of templates that clients built, and the removal of templates and snapshots. */
#include <stdlib.h>
#include <string.h>

#include "dialects/e2b/e2b_build.h"
#include "foundation/base/str.h"

#define SNAPSHOTS_MAX 1000

/* Tags: a tag more is a snapshot more, of a sandbox that is made of the first. */

struct waiting {
        struct e2b_build *build;
};

static void free_waiting(void *state)
{
        struct waiting *w = state;

        if (w->build) { /* the client is gone; the tags come all the same */
                w->build->waiter = NULL;
                w->build->on_end = NULL;
        }
        free(w);
}

static void answer_tags(struct e2b_request *q, const struct e2b_build *b)
{
        cay_auto_buf struct cay_buf out = { 0 };
        struct cay_json j;

        e2b_begin_json(&j, &out);
        cay_json_begin_object(&j);
        cay_op_key_text(&j, "buildID", b->id);
        e2b_build_put_tags(&j, "tags", b, false);
        cay_json_end_object(&j);
        e2b_answer_json(q, 201, &j, &out);
}

static void on_tagged(struct e2b_build *b)
{
        struct e2b_request *q = b->waiter;
        struct waiting *w = q->state;

        w->build = NULL;
        if (b->state == E2B_BUILD_READY)
                answer_tags(q, b);
        else
                e2b_refuse(q, CAY_INTERNAL, "%s", b->reason);
}

static void run_tag(struct e2b_request *q)
{
        const char *target = cay_json_value_text(e2b_member(q, "target"));
        const struct cay_json_value *tags = e2b_member(q, "tags");
        struct waiting *w = calloc(1, sizeof(*w));
        char base[CAY_NAME_MAX + 1] = "", bare[CAY_NAME_MAX + 1] = "";
        struct cay_error err = { 0 };

        q->state = w;
        q->free_state = free_waiting;
        if (!w) {
                q->free_state = NULL;
                e2b_fail_memory(q);
                return;
        }
        if (!target || cay_json_value_count(tags) == 0) {
                e2b_refuse(q, CAY_INVALID, "target and tags: required");
                return;
        }
        if (e2b_snapshot_name(target, NULL, base, &err) < 0 ||
            e2b_snapshot_name(target, "default", bare, &err) < 0) {
                e2b_fail(q, &err);
                return;
        }
        if (!e2b_is_snapshot(q->world, q->caller.owner, base)) {
                e2b_refuse(q, CAY_NOT_FOUND, "there is no template '%.80s' that was built here", target);
                return;
        }
        w->build = e2b_may(q, "snapshot_create") ? e2b_build_new(q, bare, tags) : NULL;
        if (!w->build)
                return;
        w->build->on_end = on_tagged;
        w->build->waiter = q;
        e2b_build_run(w->build, q, base, NULL, &err);
}

/* Lists and removals go through the owner's snapshots. */

struct removal {
        char names[SNAPSHOTS_MAX][CAY_NAME_MAX + 1];
        unsigned count, at, removed;
};

static void remove_next(struct e2b_request *q);

static void on_removed(struct e2b_request *q, const struct cay_json_value *answer)
{
        struct removal *r = q->state;

        (void)answer;
        r->removed++;
        remove_next(q);
}

static void on_not_removed(struct e2b_request *q, const struct cay_error *err)
{
        if (err->code == CAY_NOT_FOUND)
                remove_next(q);
        else
                e2b_fail(q, err);
}

static void remove_next(struct e2b_request *q)
{
        cay_auto_call_args struct cay_call_args args = { 0 };
        struct removal *r = q->state;

        if (r->at == r->count) {
                if (r->removed > 0)
                        e2b_answer_empty(q, 204);
                else
                        e2b_refuse(q, CAY_NOT_FOUND, "there is no such template, snapshot or tag");
                return;
        }
        cay_call_args_begin(&args);
        cay_op_key_text(&args.j, "snapshot", r->names[r->at++]);
        q->on_fail = on_not_removed;
        e2b_ask(q, "snapshot_remove", &args, on_removed);
}

static struct removal *new_removal(struct e2b_request *q)
{
        struct removal *r = calloc(1, sizeof(*r));

        q->state = r;
        q->free_state = free;
        if (!r)
                e2b_fail_memory(q);
        return r;
}

static void run_untag(struct e2b_request *q)
{
        const char *name = cay_json_value_text(e2b_member(q, "name"));
        const struct cay_json_value *tags = e2b_member(q, "tags"), *tag;
        struct removal *r = new_removal(q);
        struct cay_error err = { 0 };

        if (!r)
                return;
        if (!name || cay_json_value_count(tags) == 0) {
                e2b_refuse(q, CAY_INVALID, "name and tags: required");
                return;
        }
        for (size_t i = 0; r->count < E2B_BUILD_TAGS_MAX && (tag = cay_json_value_at(tags, i)); i++) {
                const char *text = cay_json_value_text(tag);

                if (e2b_snapshot_name(name, text ? text : "", r->names[r->count++], &err) < 0) {
                        e2b_fail(q, &err);
                        return;
                }
        }
        remove_next(q);
}

/* Whether a snapshot's name is the template's, with or without a tag. */
static bool is_of(const char *snapshot, const char *template_name)
{
        char tagged[E2B_TAGGED_MAX];
        size_t len = strlen(template_name);

        e2b_tagged_name(snapshot, tagged);
        return strncmp(tagged, template_name, len) == 0 && tagged[len] == ':';
}

static void list_snapshots(struct e2b_request *q,
                           void (*on_list)(struct e2b_request *q, const struct cay_json_value *answer))
{
        cay_auto_call_args struct cay_call_args args = { 0 };

        cay_call_args_begin(&args);
        cay_op_key_u64(&args.j, "limit", SNAPSHOTS_MAX);
        e2b_ask(q, "snapshot_list", &args, on_list);
}

/* Names are those of the caller's snapshots; an administrator's list has all owners'. */
static bool is_own(const struct e2b_request *q, const struct cay_json_value *snapshot)
{
        return strcmp(e2b_text(snapshot, "owner"), q->caller.owner) == 0;
}

/* A template goes with all of its tags; a tag alone, or a snapshot, is named as such. */
static void on_to_remove(struct e2b_request *q, const struct cay_json_value *answer)
{
        const struct cay_json_value *list = cay_json_value_find(answer, "snapshots"), *snapshot;
        struct removal *r = q->state;
        char wanted[CAY_NAME_MAX + 1];

        memcpy(wanted, r->names[0], sizeof(wanted));
        r->count = 0;
        for (size_t i = 0; r->count < SNAPSHOTS_MAX && (snapshot = cay_json_value_at(list, i)); i++) {
                const char *name = e2b_text(snapshot, "name"), *id = e2b_text(snapshot, "snapshot_id");

                if (strcmp(id, wanted) == 0 ||
                    (name && is_own(q, snapshot) && (strcmp(name, wanted) == 0 || is_of(name, wanted))))
                        cay_str_copy(r->names[r->count++], sizeof(r->names[0]), id);
        }
        remove_next(q);
}

static void run_remove(struct e2b_request *q)
{
        const char *name = cay_route_value(&q->match, "template");
        struct removal *r = new_removal(q);
        struct cay_error ignored = { 0 };

        if (!r)
                return;
        if (e2b_is_template(q->world, name))
                e2b_refuse(q, CAY_DENIED, "template '%.63s' is this server's operator's", name);
        else if (e2b_snapshot_name(name, NULL, r->names[0], &ignored) < 0)
                e2b_refuse(q, CAY_NOT_FOUND, "there is no template or snapshot '%.80s'", name);
        else
                list_snapshots(q, on_to_remove);
}

static void on_to_tell(struct e2b_request *q, const struct cay_json_value *answer)
{
        const struct cay_json_value *list = cay_json_value_find(answer, "snapshots"), *snapshot;
        const char *template_name = cay_route_value(&q->match, "template");
        cay_auto_buf struct cay_buf out = { 0 };
        char tagged[E2B_TAGGED_MAX];
        struct cay_json j;
        unsigned count = 0;

        e2b_begin_json(&j, &out);
        cay_json_begin_array(&j);
        for (size_t i = 0; (snapshot = cay_json_value_at(list, i)); i++) {
                const char *name = e2b_text(snapshot, "name");

                if (!name || !is_own(q, snapshot) || !is_of(name, template_name))
                        continue;
                e2b_tagged_name(name, tagged);
                cay_json_begin_object(&j);
                cay_op_key_text(&j, "tag", strchr(tagged, ':') + 1);
                cay_op_key_text(&j, "buildID", e2b_text(snapshot, "snapshot_id"));
                cay_json_key(&j, "createdAt");
                cay_json_value_put(&j, cay_json_value_find(snapshot, "created_at"));
                cay_json_end_object(&j);
                count++;
        }
        cay_json_end_array(&j);
        if (count == 0)
                e2b_refuse(q, CAY_NOT_FOUND, "there is no template '%.80s' that was built here",
                           template_name);
        else
                e2b_answer_json(q, 200, &j, &out);
}

static void run_tags(struct e2b_request *q)
{
        list_snapshots(q, on_to_tell);
}

static const struct e2b_row rows[] = {
        { "POST /templates/tags", run_tag, E2B_FORM_REST, E2B_TAKES_JSON },
        { "DELETE /templates/tags", run_untag, E2B_FORM_REST, E2B_TAKES_JSON },
        { "GET /templates/{template}/tags", run_tags, E2B_FORM_REST, 0 },
        { "DELETE /templates/{template}", run_remove, E2B_FORM_REST, 0 },
};

const struct e2b_rows e2b_tag_rows = { rows, CAY_COUNT(rows) };
