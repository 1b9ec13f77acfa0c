/* SPDX-License-Identifier: Apache-2.0 */
/* A terminal's own shell: starts with its first message, ends with its client. */
#include <stdio.h>

#include "foundation/base/log.h"
#include "dialects/page/tty_priv.h"

/* A login shell if there is bash, else sh. */
static const char shell[] = "command -v bash >/dev/null 2>&1 && exec bash -l; exec sh -l";

void cay_tty_end_shell(struct cay_tty *t)
{
        struct cay_viewer viewer = cay_op_viewer(&t->call);
        struct cay_error err = { 0 };

        if (t->is_ours && t->exec[0] &&
            cay_service_exec_kill(t->call.world->service, &viewer, t->sandbox, t->exec, &err) < 0)
                cay_log_debug("a terminal's shell was not ended, ignoring", "exec=%s error=%s", t->exec,
                              err.msg);
}

static void on_answer(struct cay_call *a, enum cay_op_status status, const struct cay_json_value *answer)
{
        struct cay_tty *t = cay_call_user(a);
        const char *id = cay_json_value_text(cay_json_value_find(answer, "exec_id"));

        (void)status;
        t->ask = NULL;
        snprintf(t->exec, sizeof(t->exec), "%s", id ? id : "");
        if (t->closed) {
                cay_tty_end_shell(t);
                cay_tty_let_go_if_done(t);
        } else {
                cay_tty_follow(t);
        }
}

static void on_fail(struct cay_call *a, const struct cay_error *err, const char *field, const char *first)
{
        struct cay_tty *t = cay_call_user(a);

        (void)field;
        (void)first;
        t->ask = NULL;
        cay_ws_close(&t->ws, CAY_WS_REFUSED, err->msg);
        cay_tty_let_go_if_done(t);
}

static const struct cay_call_ops ask_ops = { .on_answer = on_answer, .on_fail = on_fail };

static void put_shell(struct cay_json *j, const struct cay_tty *t)
{
        cay_op_key_text(j, "id", t->sandbox);
        cay_op_key_text(j, "command", shell);
        cay_op_key_bool(j, "tty", true);
        cay_op_key_bool(j, "open_stdin", true);
        cay_op_key_bool(j, "background", true);
        cay_op_key_text(j, "term", "xterm-256color");
        cay_op_key_u64(j, "rows", t->size.rows);
        cay_op_key_u64(j, "cols", t->size.cols);
}

void cay_tty_start_shell(struct cay_tty *t)
{
        struct cay_call_args args;
        struct cay_call_what what = { .op = cay_op_find("exec_run"),
                                      .world = t->call.world,
                                      .caller = t->call.caller,
                                      .is_known = true,
                                      .fd = -1,
                                      .args = &args,
                                      .request_id = t->call.request_id,
                                      .ops = &ask_ops,
                                      .user = t };

        t->is_ours = true;
        cay_call_args_begin(&args);
        put_shell(&args.j, t);
        t->ask = cay_call(&what);
        if (!t->ask)
                cay_ws_close(&t->ws, CAY_WS_INTERNAL, "no memory for a shell");
}
