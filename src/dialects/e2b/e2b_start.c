/* SPDX-License-Identifier: Apache-2.0 */
#include "dialects/e2b/e2b_start.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/e2b/e2b_build.h"
#include "dialects/e2b/e2b_stream.h"
#include "domain/sandboxes/snapshot.h"
#include "domain/settings/config.h"
#include "foundation/base/str.h"

#define RUNNING_MS (30ull * 24 * 60 * 60 * 1000)
#define READY_MS (60u * 1000)

bool e2b_template_variable(const struct cay_op_world *world, const char *owner, const char *snapshot,
                           const char *name, char *ret, size_t size)
{
        const struct cay_viewer viewer = { .owner = owner };
        struct cay_snapshot_view view;
        struct cay_error ignored = { 0 };

        if (e2b_is_template(world, snapshot) ||
            cay_service_snapshot_get(world->service, &viewer, snapshot, &view, &ignored) < 0)
                return false;
        for (unsigned i = 0; i < view.env.count; i++)
                if (strcmp(view.env.pairs[i].name, name) == 0)
                        return cay_str_copy(ret, size, view.env.pairs[i].value);
        return false;
}

void e2b_template_labels_put(struct cay_json *j, const struct cay_op_world *world, const char *owner,
                             const char *snapshot)
{
        char text[256];

        if (e2b_template_variable(world, owner, snapshot, E2B_VARIABLE_USER, text, sizeof(text)) &&
            e2b_is_root(text))
                cay_op_key_text(j, E2B_LABEL_USER, "root");
        if (e2b_template_variable(world, owner, snapshot, E2B_VARIABLE_WORKDIR, text, sizeof(text)) &&
            strcmp(text, "/home/user") != 0)
                cay_op_key_text(j, E2B_LABEL_WORKDIR, text);
}

const char *e2b_time_at_most(const struct cay_op_world *world, const struct cay_caller *caller, uint64_t ms,
                             char ret[32])
{
        uint64_t most = cay_scope_has(caller->scopes, CAY_SCOPE_ADMIN) ? 0 : world->config->most_time;

        snprintf(ret, 32, "%" PRIu64 "ms", most > 0 && most < ms ? most : ms);
        return ret;
}

struct start {
        char start[E2B_START_MAX], ready[E2B_START_MAX];
        void (*then)(struct e2b_request *q);
        char why[300];
};

bool e2b_starts(const struct e2b_request *q, const char *snapshot)
{
        char text[E2B_START_MAX];

        return e2b_template_variable(q->world, q->caller.owner, snapshot, E2B_VARIABLE_START, text,
                                     sizeof(text)) ||
               e2b_template_variable(q->world, q->caller.owner, snapshot, E2B_VARIABLE_READY, text,
                                     sizeof(text));
}

static void refuse(struct e2b_request *q)
{
        const struct start *s = q->state;

        e2b_refuse(q, CAY_INTERNAL, "%s", s->why);
}

static void on_removed(struct e2b_request *q, const struct cay_json_value *answer)
{
        (void)answer;
        refuse(q);
}

static void on_not_removed(struct e2b_request *q, const struct cay_error *err)
{
        static const struct cay_viewer all = { .sees_all = true };

        (void)err;
        cay_service_discard(q->world->service, &all, q->sandbox); /* when its engine is back */
        refuse(q);
}

static void give_up(struct e2b_request *q, const char *why)
{
        struct start *s = q->state;

        snprintf(s->why, sizeof(s->why), "%.280s", why);
        q->on_fail = on_not_removed;
        e2b_ask_sandbox(q, "sandbox_destroy", on_removed);
}

static void on_failed(struct e2b_request *q, const struct cay_error *err)
{
        give_up(q, err->msg);
}

/* As commands of clients are run that name neither user nor folder. */
static void run(struct e2b_request *q, const char *const *words, uint64_t ms, bool in_background,
                void (*on_answer)(struct e2b_request *q, const struct cay_json_value *answer))
{
        cay_auto_call_args struct cay_call_args args = { 0 };
        char cwd[E2B_PATH_MAX], time[32];
        const char *user = e2b_user(q, false);

        if (!user || e2b_path(q, user, NULL, cwd) < 0)
                return;
        e2b_args_begin(q, &args);
        cay_json_key(&args.j, "command");
        cay_json_begin_array(&args.j);
        for (; *words; words++)
                cay_json_text(&args.j, *words);
        cay_json_end_array(&args.j);
        cay_op_key_text(&args.j, "cwd", cwd);
        if (e2b_is_root(user))
                cay_op_key_text(&args.j, "user", "root");
        cay_json_key(&args.j, "env");
        cay_json_begin_object(&args.j);
        cay_op_key_text(&args.j, "E2B_SANDBOX_ID", q->sandbox);
        if (e2b_is_root(user))
                cay_op_key_text(&args.j, "HOME", "/root");
        cay_json_end_object(&args.j);
        cay_op_key_text(&args.j, "timeout", e2b_time_at_most(q->world, &q->caller, ms, time));
        if (in_background)
                cay_op_key_bool(&args.j, "background", true);
        q->on_fail = on_failed;
        e2b_ask(q, "exec_run", &args, on_answer);
}

static void on_ready(struct e2b_request *q, const struct cay_json_value *answer)
{
        const struct start *s = q->state;
        int64_t code = -1;

        if (e2b_number(answer, "exit_code", &code) && code == 0)
                s->then(q);
        else
                give_up(q,
                        "the template's start command did not get ready within a minute: its ready command "
                        "did not succeed");
}

static void wait_ready(struct e2b_request *q)
{
        struct start *s = q->state;
        const char *const words[] = {
                "/bin/bash", "-c",     "until /bin/bash -l -c \"$1\" >/dev/null 2>&1; do sleep 0.05; done",
                "ready",     s->ready, NULL
        };

        if (s->ready[0])
                run(q, words, READY_MS, false, on_ready);
        else
                s->then(q);
}

static void on_started(struct e2b_request *q, const struct cay_json_value *answer)
{
        (void)answer;
        wait_ready(q);
}

void e2b_start(struct e2b_request *q, const char *snapshot, void (*then)(struct e2b_request *q))
{
        struct start *s = calloc(1, sizeof(*s));
        const char *words[] = { "/bin/bash", "-l", "-c", s ? s->start : NULL, NULL };

        q->state = s;
        q->free_state = free;
        if (!s) {
                e2b_fail_memory(q);
                return;
        }
        s->then = then;
        e2b_template_variable(q->world, q->caller.owner, snapshot, E2B_VARIABLE_START, s->start,
                              sizeof(s->start));
        e2b_template_variable(q->world, q->caller.owner, snapshot, E2B_VARIABLE_READY, s->ready,
                              sizeof(s->ready));
        if (s->start[0])
                run(q, words, RUNNING_MS, true, on_started);
        else
                wait_ready(q);
}
