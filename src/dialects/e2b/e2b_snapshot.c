/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control plane: snapshots and forks of files.
 *
 * Theory of operation of a fork. Not by sandbox_fork, which gives them the template's network, and makes all
 * or none: clients of E2B expect the source's network, and an error for each fork that was not made. So a
 * snapshot is taken, sandboxes are made of it with the source's labels, metadata and network, and it is
 * removed.
 */
#include <stdlib.h>
#include <string.h>

#include "dialects/e2b/e2b_priv.h"
#include "foundation/base/parse.h"
#include "foundation/base/str.h"

#define LIST_MAX 100
#define FORKS_MAX 100
#define TIMEOUT_S 300 /* of a fork whose request says none */
#define QUERY_MAX 512u
#define SNAPSHOT_TIME "30m" /* of the copy that forks are made of, if it cannot be removed */
#define PAIRS_MAX (1u << 20)

/* Snapshots: one has an id of ours; clients expect a tag behind it. */

static void put_snapshot(struct cay_json *j, const struct cay_json_value *snapshot)
{
        const char *name = e2b_text(snapshot, "name");
        char id[E2B_TAGGED_MAX], tagged[E2B_TAGGED_MAX];

        e2b_tagged_name(e2b_text(snapshot, "snapshot_id"), id);
        cay_json_begin_object(j);
        cay_op_key_text(j, "snapshotID", id);
        cay_json_key(j, "names");
        cay_json_begin_array(j);
        if (name) {
                e2b_tagged_name(name, tagged);
                cay_json_text(j, tagged);
        }
        cay_json_end_array(j);
        cay_json_end_object(j);
}

static void on_taken(struct e2b_request *q, const struct cay_json_value *snapshot)
{
        cay_auto_buf struct cay_buf out = { 0 };
        struct cay_json j;

        e2b_begin_json(&j, &out);
        put_snapshot(&j, snapshot);
        e2b_answer_json(q, 201, &j, &out);
}

struct naming { /* of a snapshot that is taken */
        char name[CAY_NAME_MAX + 1];
};

static void take(struct e2b_request *q, void (*on_fail)(struct e2b_request *q, const struct cay_error *err))
{
        const struct naming *n = q->state;
        cay_auto_call_args struct cay_call_args args = { 0 };

        e2b_args_begin(q, &args);
        if (n->name[0])
                cay_op_key_text(&args.j, "name", n->name);
        q->on_fail = on_fail;
        e2b_ask(q, "snapshot_create", &args, on_taken);
}

static void on_old_removed(struct e2b_request *q, const struct cay_json_value *answer)
{
        (void)answer;
        take(q, NULL);
}

/*
 * A name means the newest snapshot that it was given to. The name of a template of the registry cannot be
 * given away.
 */
static void on_not_taken(struct e2b_request *q, const struct cay_error *err)
{
        const struct naming *n = q->state;
        cay_auto_call_args struct cay_call_args args = { 0 };

        if (err->code != CAY_EXISTS || !e2b_is_snapshot(q->world, q->caller.owner, n->name)) {
                e2b_fail(q, err);
                return;
        }
        cay_call_args_begin(&args);
        cay_op_key_text(&args.j, "snapshot", n->name);
        e2b_ask(q, "snapshot_remove", &args, on_old_removed);
}

static void run_take(struct e2b_request *q)
{
        const char *name = cay_json_value_text(e2b_member(q, "name"));
        struct naming *n = calloc(1, sizeof(*n));
        struct cay_error err = { 0 };

        q->state = n;
        q->free_state = free;
        if (!n)
                e2b_fail_memory(q);
        else if (name && name[0] && e2b_snapshot_name(name, NULL, n->name, &err) < 0)
                e2b_fail(q, &err);
        else if (n->name[0] && e2b_is_template(q->world, n->name))
                e2b_refuse(q, CAY_CONFLICT, "name: '%s' is the name of a template; choose another", n->name);
        else
                take(q, on_not_taken);
}

/* Lists */

static void on_listed(struct e2b_request *q, const struct cay_json_value *answer)
{
        const struct cay_json_value *list = cay_json_value_find(answer, "snapshots"), *snapshot;
        const char *next = e2b_text(answer, "next_cursor");
        cay_auto_buf struct cay_buf out = { 0 };
        struct cay_json j;

        e2b_begin_json(&j, &out);
        cay_json_begin_array(&j);
        for (size_t i = 0; (snapshot = cay_json_value_at(list, i)); i++)
                put_snapshot(&j, snapshot);
        cay_json_end_array(&j);
        if (next)
                cay_http_response_add(q->req, "X-Next-Token", next);
        e2b_answer_json(q, 200, &j, &out);
}

static void answer_list_of(struct e2b_request *q, const struct cay_json_value *snapshot)
{
        cay_auto_buf struct cay_buf out = { 0 };
        struct cay_json j;

        e2b_begin_json(&j, &out);
        cay_json_begin_array(&j);
        if (snapshot)
                put_snapshot(&j, snapshot);
        cay_json_end_array(&j);
        e2b_answer_json(q, 200, &j, &out);
}

static void on_not_found(struct e2b_request *q, const struct cay_error *err)
{
        if (err->code == CAY_NOT_FOUND)
                answer_list_of(q, NULL);
        else
                e2b_fail(q, err);
}

static void list_named(struct e2b_request *q, const char *name)
{
        cay_auto_call_args struct cay_call_args args = { 0 };
        char snapshot[CAY_NAME_MAX + 1];
        struct cay_error ignored = { 0 };

        if (e2b_snapshot_name(name, NULL, snapshot, &ignored) < 0) {
                answer_list_of(q, NULL);
                return;
        }
        cay_call_args_begin(&args);
        cay_op_key_text(&args.j, "snapshot", snapshot);
        q->on_fail = on_not_found;
        e2b_ask(q, "snapshot_get", &args, answer_list_of);
}

static int put_filter(struct e2b_request *q, struct cay_json *j)
{
        static const char *const rows[][2] = { { "sandboxID", "sandbox" }, { "nextToken", "cursor" } };
        char room[QUERY_MAX];
        const char *text = NULL;
        uint64_t limit = LIST_MAX;
        int r;

        for (unsigned i = 0; i < CAY_COUNT(rows); i++) {
                r = e2b_query(q, rows[i][0], room, sizeof(room), &text);
                if (r < 0)
                        return -1;
                if (r > 0)
                        cay_op_key_text(j, rows[i][1], text);
        }
        r = e2b_query(q, "limit", room, sizeof(room), &text);
        if (r > 0 && (cay_parse_u64(text, &limit) < 0 || limit < 1 || limit > LIST_MAX)) {
                e2b_refuse(q, CAY_INVALID, "limit: must be a number from 1 to %d", LIST_MAX);
                return -1;
        }
        cay_op_key_u64(j, "limit", limit);
        return r < 0 ? -1 : 0;
}

static void run_list(struct e2b_request *q)
{
        cay_auto_call_args struct cay_call_args args = { 0 };
        char room[QUERY_MAX];
        const char *name = NULL;
        int r = e2b_query(q, "name", room, sizeof(room), &name);

        if (r < 0)
                return;
        if (r > 0 && name[0]) {
                list_named(q, name);
                return;
        }
        cay_call_args_begin(&args);
        if (put_filter(q, &args.j) == 0)
                e2b_ask(q, "snapshot_list", &args, on_listed);
}

/* Forks */

struct forking {
        int64_t count, timeout_s;
        bool has_network;
        char network[16], snapshot[CAY_NAME_MAX + 1];
        struct cay_buf allow, deny;      /* rules, each with a NUL behind it */
        struct cay_buf labels, metadata; /* names and values, each with a NUL behind it */
        unsigned at;
        struct cay_buf answer; /* an array without its end */
        struct cay_json j;
};

static void free_forking(void *state)
{
        struct forking *f = state;

        cay_buf_done(&f->allow);
        cay_buf_done(&f->deny);
        cay_buf_done(&f->labels);
        cay_buf_done(&f->metadata);
        cay_buf_done(&f->answer);
        free(f);
}

static void next_fork(struct e2b_request *q);

static void answer_forks(struct e2b_request *q)
{
        struct forking *f = q->state;

        cay_json_end_array(&f->j);
        e2b_answer_json(q, 201, &f->j, &f->answer);
}

static void on_unneeded(struct e2b_request *q, const struct cay_json_value *answer)
{
        (void)answer;
        answer_forks(q);
}

/* It is removed when its time is over. */
static void on_still_there(struct e2b_request *q, const struct cay_error *err)
{
        (void)err;
        answer_forks(q);
}

static void remove_snapshot(struct e2b_request *q)
{
        const struct forking *f = q->state;
        cay_auto_call_args struct cay_call_args args = { 0 };

        cay_call_args_begin(&args);
        cay_op_key_text(&args.j, "snapshot", f->snapshot);
        q->on_fail = on_still_there;
        e2b_ask(q, "snapshot_remove", &args, on_unneeded);
}

static void on_fork(struct e2b_request *q, const struct cay_json_value *sandbox)
{
        struct forking *f = q->state;

        cay_json_begin_object(&f->j);
        cay_json_key(&f->j, "sandbox");
        cay_json_begin_object(&f->j);
        e2b_put_made(q, &f->j, sandbox);
        cay_json_end_object(&f->j);
        cay_json_end_object(&f->j);
        f->at++;
        next_fork(q);
}

static void on_no_fork(struct e2b_request *q, const struct cay_error *err)
{
        struct forking *f = q->state;

        cay_json_begin_object(&f->j);
        cay_json_key(&f->j, "error");
        cay_json_begin_object(&f->j);
        cay_op_key_u64(&f->j, "code", e2b_status(err->code));
        cay_op_key_text(&f->j, "message", err->msg);
        cay_json_end_object(&f->j);
        cay_json_end_object(&f->j);
        f->at++;
        next_fork(q);
}

static void put_rules(struct cay_json *j, const char *key, const struct cay_buf *rules)
{
        const char *text = cay_buf_data(rules);

        if (rules->len == 0)
                return;
        cay_json_key(j, key);
        cay_json_begin_array(j);
        for (size_t at = 0; at < rules->len; at += strlen(text + at) + 1)
                cay_json_text(j, text + at);
        cay_json_end_array(j);
}

static void put_pairs(struct cay_json *j, const char *key, const struct cay_buf *pairs)
{
        const char *text = cay_buf_data(pairs);

        cay_json_key(j, key);
        cay_json_begin_object(j);
        for (size_t at = 0; at < pairs->len;) {
                const char *name = text + at, *value = name + strlen(name) + 1;

                cay_op_key_text(j, name, value);
                at += strlen(name) + strlen(value) + 2;
        }
        cay_json_end_object(j);
}

/* One after the other: a client that is gone leaves only those that were made, which end with their time. */
static void next_fork(struct e2b_request *q)
{
        struct forking *f = q->state;
        cay_auto_call_args struct cay_call_args args = { 0 };

        if (f->at == f->count || q->is_gone) {
                remove_snapshot(q);
                return;
        }
        cay_call_args_begin(&args);
        cay_op_key_text(&args.j, "snapshot", f->snapshot);
        cay_op_key_u64(&args.j, "timeout", (uint64_t)f->timeout_s);
        cay_op_key_u64(&args.j, "idle_timeout", 0);
        put_pairs(&args.j, "labels", &f->labels);
        put_pairs(&args.j, "metadata", &f->metadata);
        if (f->has_network) {
                cay_op_key_text(&args.j, "network", f->network);
                put_rules(&args.j, "allow", &f->allow);
                put_rules(&args.j, "deny", &f->deny);
        }
        q->on_fail = on_no_fork;
        e2b_ask(q, "sandbox_create", &args, on_fork);
}

static void on_forkable(struct e2b_request *q, const struct cay_json_value *snapshot)
{
        struct forking *f = q->state;

        cay_str_copy(f->snapshot, sizeof(f->snapshot), e2b_text(snapshot, "snapshot_id"));
        e2b_begin_json(&f->j, &f->answer);
        cay_json_begin_array(&f->j);
        next_fork(q);
}

static void fork_it(struct e2b_request *q)
{
        cay_auto_call_args struct cay_call_args args = { 0 };

        e2b_args_begin(q, &args);
        cay_op_key_text(&args.j, "timeout", SNAPSHOT_TIME);
        e2b_ask(q, "snapshot_create", &args, on_forkable);
}

static bool copy_pair(void *ctx, const char *name, const struct cay_json_value *value)
{
        const char *text = cay_json_value_text(value);
        struct cay_buf *ret = ctx;

        return !text || (cay_buf_put(ret, name, strlen(name) + 1) == 0 &&
                         cay_buf_put(ret, text, strlen(text) + 1) == 0);
}

static int copy_rules(const struct cay_json_value *list, struct cay_buf *ret)
{
        cay_buf_init(ret, 1u << 20);
        for (size_t i = 0; i < cay_json_value_count(list); i++) {
                const char *text = cay_json_value_text(cay_json_value_at(list, i));

                if (text && cay_buf_put(ret, text, strlen(text) + 1) < 0)
                        return -1;
        }
        return 0;
}

static void on_network(struct e2b_request *q, const struct cay_json_value *network)
{
        struct forking *f = q->state;

        if (copy_rules(cay_json_value_find(network, "allow"), &f->allow) < 0 ||
            copy_rules(cay_json_value_find(network, "deny"), &f->deny) < 0)
                e2b_fail_memory(q);
        else
                fork_it(q);
}

static void on_source(struct e2b_request *q, const struct cay_json_value *source)
{
        struct forking *f = q->state;
        const char *network = e2b_text(source, "network");

        if (!e2b_state(source)) {
                e2b_refuse(q, CAY_NOT_FOUND, "sandbox '%s' has ended", q->sandbox);
                return;
        }
        cay_buf_init(&f->labels, PAIRS_MAX);
        cay_buf_init(&f->metadata, PAIRS_MAX);
        cay_json_value_each(cay_json_value_find(source, "labels"), copy_pair, &f->labels);
        cay_json_value_each(cay_json_value_find(source, "metadata"), copy_pair, &f->metadata);
        f->has_network = network && strcmp(network, "none") != 0 &&
                         cay_str_copy(f->network, sizeof(f->network), network);
        if (f->has_network)
                e2b_ask_sandbox(q, "network_get", on_network);
        else
                fork_it(q);
}

static void run_fork(struct e2b_request *q)
{
        struct forking *f = calloc(1, sizeof(*f));
        const struct cay_json_value *body = q->body ? cay_json_in_root(q->body) : NULL;

        q->state = f;
        q->free_state = free_forking;
        if (!f) {
                e2b_fail_memory(q);
                return;
        }
        f->count = 1;
        f->timeout_s = TIMEOUT_S;
        if (cay_json_value_type(e2b_member(q, "count")) != CAY_JSON_NULL &&
            (!e2b_number(body, "count", &f->count) || f->count < 1 || f->count > FORKS_MAX))
                e2b_refuse(q, CAY_INVALID, "count: must be a number from 1 to %d", FORKS_MAX);
        else if (cay_json_value_type(e2b_member(q, "timeout")) != CAY_JSON_NULL &&
                 (!e2b_number(body, "timeout", &f->timeout_s) || f->timeout_s < 1))
                e2b_refuse(q, CAY_INVALID, "timeout: must be a number of seconds, at least 1");
        else
                e2b_ask_sandbox(q, "sandbox_get", on_source);
}

static const struct e2b_row rows[] = {
        { "POST /sandboxes/{id}/snapshots", run_take, E2B_FORM_REST, E2B_TAKES_JSON },
        { "POST /sandboxes/{id}/fork", run_fork, E2B_FORM_REST, E2B_TAKES_JSON },
        { "GET /snapshots", run_list, E2B_FORM_REST, 0 },
};

const struct e2b_rows e2b_snapshot_rows = { rows, CAY_COUNT(rows) };
