/* SPDX-License-Identifier: Apache-2.0 */
/* envd: folders, names, and what happens in a folder. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/e2b/e2b_changes.h"
#include "dialects/e2b/e2b_entry.h"
#include "dialects/e2b/e2b_stream.h"
#include "dialects/e2b/e2b_watcher.h"

#define LIST_MAX 10000

struct work {
        const char *user;
        char path[E2B_PATH_MAX], to[E2B_PATH_MAX];
        int64_t depth;
        struct e2b_stream stream;
        struct e2b_changes changes;
        ssize_t queued; /* by the changes that were sent last, or -errno */
        bool has_lost;  /* more changes waited than there may be */
};

static void free_work(void *state)
{
        struct work *w = state;

        e2b_changes_done(&w->changes);
        e2b_stream_done(&w->stream);
        free(w);
}

/* The user and the path of a request; NULL: refused. */
static struct work *new_work(struct e2b_request *q, const char *field)
{
        const char *user = e2b_user(q, false);
        struct work *w = user ? calloc(1, sizeof(*w)) : NULL;

        if (!user)
                return NULL;
        q->state = w;
        q->free_state = free_work;
        if (!w) {
                e2b_fail_memory(q);
                return NULL;
        }
        w->user = user;
        return e2b_path(q, user, cay_json_value_text(e2b_member(q, field)), w->path) < 0 ? NULL : w;
}

static void begin_path(const struct e2b_request *q, struct cay_call_args *args, const char *path)
{
        const struct work *w = q->state;

        e2b_args_begin(q, args);
        cay_op_key_text(&args->j, "path", path);
        cay_op_key_bool(&args->j, "as_root", e2b_is_root(w->user));
}

static void ask_stat(struct e2b_request *q, const char *path, bool follow,
                     void (*on_answer)(struct e2b_request *q, const struct cay_json_value *file))
{
        cay_auto_call_args struct cay_call_args args = { 0 };

        begin_path(q, &args, path);
        cay_op_key_bool(&args.j, "follow", follow);
        cay_op_key_bool(&args.j, "metadata", true);
        e2b_ask(q, "file_stat", &args, on_answer);
}

static void answer_text(struct e2b_request *q, const char *text)
{
        cay_auto_buf struct cay_buf out = { 0 };

        cay_buf_init(&out, 64);
        cay_buf_puts(&out, text);
        e2b_answer(q, 200, &out);
}

/* Stat */

static void answer_entry(struct e2b_request *q, const struct cay_json_value *file)
{
        const struct work *w = q->state;
        cay_auto_buf struct cay_buf out = { 0 };
        struct cay_json j;

        cay_buf_init(&out, E2B_ANSWER_MAX);
        cay_json_init(&j, &out);
        cay_json_begin_object(&j);
        cay_json_key(&j, "entry");
        e2b_entry_put(&j, file, w->path, NULL);
        cay_json_end_object(&j);
        if (cay_json_end(&j) < 0)
                e2b_fail_memory(q);
        else
                e2b_answer(q, 200, &out);
}

static void run_stat(struct e2b_request *q)
{
        struct work *w = new_work(q, "path");

        if (w)
                ask_stat(q, w->path, false, answer_entry);
}

static void then_stat(struct e2b_request *q, const struct cay_json_value *answer)
{
        const struct work *w = q->state;

        (void)answer;
        ask_stat(q, w->path, false, answer_entry);
}

/* MakeDir */

static void make_dir(struct e2b_request *q, const char *path,
                     void (*on_answer)(struct e2b_request *q, const struct cay_json_value *answer))
{
        cay_auto_call_args struct cay_call_args args = { 0 };

        begin_path(q, &args, path);
        cay_op_key_bool(&args.j, "parents", true);
        cay_op_key_text(&args.j, "mode", "0755");
        e2b_ask(q, "file_mkdir", &args, on_answer);
}

static void on_there(struct e2b_request *q, const struct cay_json_value *file)
{
        const struct work *w = q->state;

        if (strcmp(e2b_text(file, "type"), "directory") == 0)
                e2b_refuse(q, CAY_EXISTS, "directory already exists: %.200s", w->path);
        else
                e2b_refuse(q, CAY_INVALID, "path already exists but it is not a directory: %.200s", w->path);
}

static void on_not_there(struct e2b_request *q, const struct cay_error *err)
{
        const struct work *w = q->state;

        if (err->code == CAY_NOT_FOUND)
                make_dir(q, w->path, then_stat);
        else
                e2b_fail(q, err);
}

static void run_make(struct e2b_request *q)
{
        struct work *w = new_work(q, "path");

        if (!w)
                return;
        q->on_fail = on_not_there;
        ask_stat(q, w->path, true, on_there);
}

/* Move: the parents of the new place are made, but not for something that is not there. */

static void on_moved(struct e2b_request *q, const struct cay_json_value *answer)
{
        struct work *w = q->state;

        memcpy(w->path, w->to, sizeof(w->path));
        then_stat(q, answer);
}

static void on_parents(struct e2b_request *q, const struct cay_json_value *answer)
{
        const struct work *w = q->state;
        cay_auto_call_args struct cay_call_args args = { 0 };

        (void)answer;
        begin_path(q, &args, w->path);
        cay_op_key_text(&args.j, "to", w->to);
        e2b_ask(q, "file_move", &args, on_moved);
}

static void on_parents_there(struct e2b_request *q, const struct cay_error *err)
{
        if (err->code == CAY_EXISTS)
                on_parents(q, NULL);
        else
                e2b_fail(q, err);
}

static void on_source(struct e2b_request *q, const struct cay_json_value *file)
{
        const struct work *w = q->state;
        char parent[E2B_PATH_MAX];
        char *slash;

        (void)file;
        memcpy(parent, w->to, sizeof(parent));
        slash = strrchr(parent, '/');
        if (slash && slash > parent)
                *slash = '\0';
        else
                snprintf(parent, sizeof(parent), "/");
        q->on_fail = on_parents_there;
        make_dir(q, parent, on_parents);
}

static void run_move(struct e2b_request *q)
{
        struct work *w = new_work(q, "source");

        if (w && e2b_path(q, w->user, cay_json_value_text(e2b_member(q, "destination")), w->to) == 0)
                ask_stat(q, w->path, false, on_source);
}

/* Remove */

static void on_removed(struct e2b_request *q, const struct cay_json_value *answer)
{
        (void)answer;
        answer_text(q, "{}");
}

static void on_not_removed(struct e2b_request *q, const struct cay_error *err)
{
        if (err->code == CAY_NOT_FOUND)
                answer_text(q, "{}");
        else
                e2b_fail(q, err);
}

static void run_remove(struct e2b_request *q)
{
        struct work *w = new_work(q, "path");
        cay_auto_call_args struct cay_call_args args = { 0 };

        if (!w)
                return;
        begin_path(q, &args, w->path);
        cay_op_key_bool(&args.j, "recursive", true);
        q->on_fail = on_not_removed;
        e2b_ask(q, "file_remove", &args, on_removed);
}

/* ListDir */

static int64_t depth_of(const char *name)
{
        int64_t depth = 1;

        for (; *name; name++)
                depth += *name == '/';
        return depth;
}

static void put_entries(struct cay_json *j, const struct work *w, const struct cay_json_value *list)
{
        const struct cay_json_value *file;
        char path[2 * E2B_PATH_MAX];

        for (size_t i = 0; (file = cay_json_value_at(list, i)); i++) {
                const char *name = e2b_text(file, "name");

                if (!name || depth_of(name) > w->depth)
                        continue;
                snprintf(path, sizeof(path), "%s/%s", strcmp(w->path, "/") == 0 ? "" : w->path, name);
                e2b_entry_put(j, file, path, NULL);
        }
}

static void on_listed(struct e2b_request *q, const struct cay_json_value *answer)
{
        const struct work *w = q->state;
        cay_auto_buf struct cay_buf out = { 0 };
        struct cay_json j;

        cay_buf_init(&out, E2B_ANSWER_MAX);
        cay_json_init(&j, &out);
        cay_json_begin_object(&j);
        cay_json_key(&j, "entries");
        cay_json_begin_array(&j);
        put_entries(&j, w, cay_json_value_find(answer, "entries"));
        cay_json_end_array(&j);
        cay_json_end_object(&j);
        if (e2b_flag(answer, "more", false))
                e2b_refuse(q, CAY_LIMIT, "more than %d entries; list a part of them", LIST_MAX);
        else if (cay_json_end(&j) < 0)
                e2b_refuse(q, CAY_LIMIT, "the list is too large; list a part of it");
        else
                e2b_answer(q, 200, &out);
}

static void on_to_list(struct e2b_request *q, const struct cay_json_value *file)
{
        const struct work *w = q->state;
        cay_auto_call_args struct cay_call_args args = { 0 };

        if (strcmp(e2b_text(file, "type"), "directory") != 0) {
                e2b_refuse(q, CAY_INVALID, "path is not a directory: %.200s", w->path);
                return;
        }
        begin_path(q, &args, w->path);
        cay_op_key_bool(&args.j, "recursive", w->depth > 1);
        cay_op_key_bool(&args.j, "sorted", true);
        cay_op_key_bool(&args.j, "metadata", true);
        cay_op_key_u64(&args.j, "limit", LIST_MAX);
        e2b_ask(q, "file_list", &args, on_listed);
}

static void run_list(struct e2b_request *q)
{
        struct work *w = new_work(q, "path");

        if (!w)
                return;
        if (!cay_json_value_i64(e2b_member(q, "depth"), &w->depth) || w->depth < 1)
                w->depth = 1;
        ask_stat(q, w->path, true, on_to_list);
}

/* WatchDir */

static int on_begin(struct e2b_request *q, const struct cay_op_bytes *bytes)
{
        struct work *w = q->state;

        (void)bytes;
        return e2b_stream_begin(&w->stream, q, "{\"keepalive\":{}}");
}

static void put_change(void *ctx, const struct e2b_change *change)
{
        struct work *w = ctx;
        struct cay_json j;

        e2b_stream_message(&w->stream, &j);
        cay_json_key(&j, "filesystem");
        cay_json_begin_object(&j);
        e2b_change_put(&j, change);
        cay_json_end_object(&j);
        w->queued = e2b_stream_put(&w->stream, &j);
}

static ssize_t put_ready(struct work *w)
{
        struct cay_json j;

        e2b_stream_message(&w->stream, &j);
        cay_json_key(&j, "start");
        cay_json_begin_object(&j);
        cay_json_end_object(&j);
        return e2b_stream_put(&w->stream, &j);
}

static ssize_t on_event(struct e2b_request *q, const char *kind, const struct cay_json_value *event)
{
        struct work *w = q->state;
        int r;

        if (strcmp(kind, "ready") == 0)
                return put_ready(w);
        w->queued = 0;
        r = e2b_changes_add(&w->changes, kind, event);
        w->has_lost = r < 0;
        return r < 0 ? r : w->queued;
}

static void on_end(struct e2b_request *q, bool was_cut)
{
        struct work *w = q->state;

        (void)was_cut;
        if (!q->is_gone)
                e2b_changes_flush(&w->changes);
        if (w->has_lost && !q->is_gone)
                e2b_refuse(q, CAY_LIMIT,
                           "events were lost: more happened than fits; look at the folder again");
        else if (e2b_runs(q->world, q->sandbox) && !q->is_gone)
                e2b_refuse(q, CAY_NOT_FOUND, "the folder is gone");
        else
                e2b_cut(q);
}

static const struct e2b_stream_ops watch_ops = { .on_begin = on_begin,
                                                 .on_event = on_event,
                                                 .on_end = on_end };

static void on_to_watch(struct e2b_request *q, const struct cay_json_value *file)
{
        struct work *w = q->state;
        cay_auto_call_args struct cay_call_args args = { 0 };

        if (strcmp(e2b_text(file, "type"), "directory") != 0) {
                e2b_refuse(q, CAY_INVALID, "path is not a directory: %.200s", w->path);
                return;
        }
        e2b_changes_begin(&w->changes, q, w->path, e2b_is_root(w->user));
        w->changes.put = put_change;
        w->changes.ctx = w;
        begin_path(q, &args, w->path);
        cay_op_key_bool(&args.j, "recursive", cay_json_value_is_true(e2b_member(q, "recursive")));
        e2b_ask_stream(q, "file_watch", &args, &watch_ops);
}

static void run_watch(struct e2b_request *q)
{
        struct work *w = new_work(q, "path");

        if (w)
                ask_stat(q, w->path, true, on_to_watch);
}

/* CreateWatcher */

static void on_to_poll(struct e2b_request *q, const struct cay_json_value *file)
{
        const struct work *w = q->state;

        if (strcmp(e2b_text(file, "type"), "directory") != 0)
                e2b_refuse(q, CAY_INVALID, "path is not a directory: %.200s", w->path);
        else
                e2b_watcher_begin(q, w->path, e2b_is_root(w->user),
                                  cay_json_value_is_true(e2b_member(q, "recursive")));
}

static void run_create_watcher(struct e2b_request *q)
{
        struct work *w = new_work(q, "path");

        if (w)
                ask_stat(q, w->path, true, on_to_poll);
}

#define UNARY E2B_FORM_UNARY, E2B_TAKES_JSON

static const struct e2b_row rows[] = {
        { "POST /filesystem.Filesystem/Stat", run_stat, UNARY },
        { "POST /filesystem.Filesystem/MakeDir", run_make, UNARY },
        { "POST /filesystem.Filesystem/Move", run_move, UNARY },
        { "POST /filesystem.Filesystem/ListDir", run_list, UNARY },
        { "POST /filesystem.Filesystem/Remove", run_remove, UNARY },
        { "POST /filesystem.Filesystem/CreateWatcher", run_create_watcher, UNARY },
        { "POST /filesystem.Filesystem/WatchDir", run_watch, E2B_FORM_STREAM,
          E2B_TAKES_JSON | E2B_ENVELOPED },
};

const struct e2b_rows e2b_filesystem_rows = { rows, CAY_COUNT(rows) };
