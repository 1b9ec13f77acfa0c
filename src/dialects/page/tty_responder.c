/* SPDX-License-Identifier: Apache-2.0 */
/* Sends exec_stream's output as ttyd's frames, and its end as a close. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "dialects/page/tty_priv.h"

#define FRAME (32u * 1024)

static struct cay_tty *self(struct cay_op_call *c)
{
        return cay_container_of(c, struct cay_tty, call);
}

static void over(struct cay_tty *t)
{
        t->follows = false;
        cay_tty_let_go_if_done(t);
}

static void respond_answer(struct cay_op_call *c, enum cay_op_status status, struct cay_op_result *r)
{
        (void)status;
        (void)r;
        cay_ws_close(&self(c)->ws, CAY_WS_INTERNAL, "no stream came");
        over(self(c));
}

static void respond_fail(struct cay_op_call *c, const struct cay_error *err, const char *field)
{
        (void)field;
        cay_ws_close(&self(c)->ws, err->code == CAY_INTERNAL ? CAY_WS_INTERNAL : CAY_WS_REFUSED,
                     err->code == CAY_INTERNAL ? "see the daemon's log" : err->msg);
        over(self(c));
}

static int respond_begin(struct cay_op_call *c, const struct cay_op_bytes *bytes)
{
        (void)bytes;
        return cay_ws_is_open(&self(c)->ws) ? 0 : -EPIPE;
}

ssize_t cay_tty_say(struct cay_tty *t, char kind, const void *bytes, size_t len)
{
        char frame[1 + FRAME];
        ssize_t waits = 0;

        for (size_t n; waits >= 0 && len > 0; len -= n, bytes = (const char *)bytes + n) {
                n = len < FRAME ? len : FRAME;
                frame[0] = kind;
                memcpy(frame + 1, bytes, n);
                waits = cay_ws_send(&t->ws, CAY_WS_BINARY, frame, n + 1);
        }
        return waits;
}

static ssize_t respond_write(struct cay_op_call *c, const void *bytes, size_t len)
{
        struct cay_tty *t = self(c);
        ssize_t waits = cay_tty_say(t, '0', bytes, len);

        return waits >= 0 && waits < (ssize_t)CAY_OP_HIGH && t->paused ? (ssize_t)CAY_OP_HIGH : waits;
}

static void respond_end(struct cay_op_call *c, bool was_cut)
{
        struct cay_tty *t = self(c);
        struct cay_viewer viewer = cay_op_viewer(c);
        struct cay_exec_view view;
        struct cay_error err = { 0 };
        char reason[CAY_WS_REASON_MAX + 1] = "ended";

        if (was_cut) {
                cay_ws_close(&t->ws, CAY_WS_INTERNAL, "the stream was cut");
                over(t);
                return;
        }
        if (cay_service_exec_get(c->world->service, &viewer, t->sandbox, t->exec, &view, &err) == 0) {
                if (view.exit_code >= 0 && view.cause == CAY_CAUSE_EXITED)
                        snprintf(reason, sizeof(reason), "exit %d", view.exit_code);
                else if (view.cause_text[0])
                        snprintf(reason, sizeof(reason), "%.*s", (int)CAY_WS_REASON_MAX, view.cause_text);
        }
        cay_ws_close(&t->ws, CAY_WS_NORMAL, reason);
        over(t);
}

static int respond_read(struct cay_op_call *c)
{
        (void)c;
        return 0;
}

static void respond_resume(struct cay_op_call *c)
{
        cay_ws_resume(&self(c)->ws);
}

const struct cay_op_responder cay_tty_responder = {
        .open = cay_op_open_nowhere,
        .answer = respond_answer,
        .fail = respond_fail,
        .begin = respond_begin,
        .write = respond_write,
        .end = respond_end,
        .read = respond_read,
        .resume = respond_resume,
};
