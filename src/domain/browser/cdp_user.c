/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of our own code to a browser; the rules are in cdp_user.h. */
#include "domain/browser/cdp_user.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "foundation/base/str.h"

static struct cay_cdp_user *of_client(struct cay_cdp_client *c)
{
        return cay_container_of(c, struct cay_cdp_user, client);
}

static void unlink_call(struct cay_cdp_call *call)
{
        struct cay_cdp_call **at = &call->user->calls;

        while (*at != call)
                at = &(*at)->next;
        *at = call->next;
        call->next = NULL;
        call->user = NULL;
        cay_timer_clear(&call->timer);
        cay_buf_done(&call->params);
}

void cay_cdp_call_cancel(struct cay_cdp_call *call)
{
        if (call->user)
                unlink_call(call);
}

static void finish_call(struct cay_cdp_call *call)
{
        unlink_call(call);
        call->on_done(call);
}

/* Its error is set: on_done comes from the loop. */
static void finish_soon(struct cay_cdp_call *call);

static void on_soon(struct cay_timer *t)
{
        finish_call(cay_container_of(t, struct cay_cdp_call, timer));
}

static void finish_soon(struct cay_cdp_call *call)
{
        cay_timer_set(call->user->loop, &call->timer, 0, on_soon);
}

static void on_late(struct cay_timer *t)
{
        struct cay_cdp_call *call = cay_container_of(t, struct cay_cdp_call, timer);

        cay_fail(&call->err, CAY_TIMEOUT, "the browser did not answer %s in time", call->method);
        finish_call(call);
}

/* False: it has to wait. */
static bool send_call(struct cay_cdp_user *u, struct cay_cdp_call *call)
{
        struct cay_cdp_message m = { .has_id = true, .id = call->id };
        struct cay_cdp_refusal refusal;
        int r;

        if (!u->is_ready)
                return false;
        cay_str_copy(m.method, sizeof(m.method), call->method);
        cay_str_copy(m.session, sizeof(m.session), call->session);
        m.params = (struct cay_json_view){ cay_buf_data(&call->params), call->params.len };
        r = cay_cdp_client_send(&u->client, &m, &refusal);
        if (r == -EAGAIN)
                return false;
        call->is_sent = true;
        cay_buf_done(&call->params);
        if (r == 1)
                cay_fail(&call->err, CAY_CONFLICT, "%s: %s", call->method, refusal.text);
        else if (r < 0)
                cay_fail(&call->err, CAY_UNAVAILABLE, "%s could not be sent to the browser; retry",
                         call->method);
        if (r != 0)
                finish_soon(call);
        return true;
}

static void send_waiting(struct cay_cdp_client *c)
{
        struct cay_cdp_user *u = of_client(c);

        u->is_ready = true;
        for (struct cay_cdp_call *call = u->calls; call; call = call->next)
                if (!call->is_sent && call->err.code == CAY_OK && !send_call(u, call))
                        return;
}

static void take_reply(struct cay_cdp_user *u, const struct cay_cdp_message *in)
{
        struct cay_cdp_call *call = u->calls;
        char text[200];
        uint64_t code = 0;
        struct cay_json_view number;

        while (call && (call->id != in->id || !call->is_sent))
                call = call->next;
        if (!call)
                return; /* its time was over */
        if (in->error.len > 0) {
                cay_cdp_find_text(in->error, "message", text, sizeof(text));
                number = cay_cdp_find(in->error, "code");
                if (number.len > 1 && number.at[0] == '-') {
                        number.at++;
                        number.len--;
                        if (cay_json_view_u64(number, &code) && code < 100000)
                                call->code = -(int)code;
                }
                cay_fail(&call->err, CAY_CONFLICT, "%s: %s", call->method, text);
        }
        call->result = in->result;
        finish_call(call);
}

static void on_message(struct cay_cdp_client *c, const struct cay_cdp_message *in)
{
        struct cay_cdp_user *u = of_client(c);

        if (in->has_id)
                take_reply(u, in);
        else if (u->on_event)
                u->on_event(u, in);
}

static void on_client_gone(struct cay_cdp_client *c, const struct cay_error *why)
{
        struct cay_cdp_user *u = of_client(c);
        struct cay_error err = *why;

        struct cay_cdp_call *call;
        int32_t last = u->last_id; /* what is called meanwhile fails by itself */

        u->is_ready = false;
        while ((call = u->calls) && call->id <= last) { /* each may cancel others, or close the user */
                call->err = err;
                finish_call(call);
        }
        if (u->loop && u->on_gone)
                u->on_gone(u, &err);
}

int cay_cdp_user_open(struct cay_cdp_user *u, struct cay_cdp_mux *m, struct cay_loop *loop,
                      struct cay_error *err)
{
        u->client = (struct cay_cdp_client){ .on_ready = send_waiting,
                                             .on_room = send_waiting,
                                             .on_message = on_message,
                                             .on_gone = on_client_gone };
        u->is_ready = false;
        if (cay_cdp_client_open(m, &u->client, err) < 0)
                return -1;
        u->loop = loop;
        return 0;
}

void cay_cdp_user_close(struct cay_cdp_user *u)
{
        while (u->calls)
                unlink_call(u->calls);
        u->loop = NULL;
        u->is_ready = false;
        cay_cdp_client_close(&u->client);
}

bool cay_cdp_user_is_open(const struct cay_cdp_user *u)
{
        return u->client.mux != NULL;
}

void cay_cdp_call(struct cay_cdp_user *u, struct cay_cdp_call *call, const char *session, const char *method,
                  const char *params, uint64_t timeout_ms)
{
        struct cay_cdp_call **at = &u->calls;

        call->err = (struct cay_error){ 0 };
        call->code = 0;
        call->result = (struct cay_json_view){ 0 };
        call->user = u;
        call->next = NULL;
        call->timer = (struct cay_timer){ 0 };
        call->is_sent = false;
        u->last_id = u->last_id == INT32_MAX ? 1 : u->last_id + 1;
        call->id = u->last_id;
        cay_str_copy(call->method, sizeof(call->method), method);
        cay_str_copy(call->session, sizeof(call->session), session);
        cay_buf_init(&call->params, CAY_CDP_MESSAGE_MAX);
        while (*at)
                at = &(*at)->next;
        *at = call;
        if (!cay_cdp_user_is_open(u))
                cay_fail(&call->err, CAY_CONFLICT, "the browser has ended");
        else if (params && cay_buf_puts(&call->params, params) < 0)
                cay_fail(&call->err, CAY_LIMIT, "%s: no memory for its parameters", method);
        if (call->err.code != CAY_OK) {
                finish_soon(call);
                return;
        }
        cay_timer_set(u->loop, &call->timer, timeout_ms, on_late);
        send_call(u, call);
}
