/* SPDX-License-Identifier: Apache-2.0 */
/* From a request to a terminal: caller, target and handshake. Errors are answered as plain HTTP. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "foundation/base/parse.h"
#include "dialects/rest/rest_error.h"
#include "dialects/page/tty.h"
#include "dialects/page/tty_priv.h"

#define PING_MS 5000u /* as in ttyd; a peer that is silent for two of these is lost */
#define FIRST_MS 10000u
#define MESSAGE_MAX (1024u * 1024)
#define TEXT_MAX 512u

static void on_patience(struct cay_timer *timer)
{
        cay_ws_close(&cay_container_of(timer, struct cay_tty, patience)->ws, CAY_WS_REFUSED,
                     "no first message came");
}

static void on_stop(struct cay_rest_stream *s)
{
        cay_ws_close(&cay_container_of(s, struct cay_tty, stream)->ws, CAY_WS_GOING_AWAY, "the daemon stops");
}

static void refuse(struct cay_http_request *req, const struct cay_error *err, const struct cay_visitor *v)
{
        cay_rest_refuse(req, cay_rest_status(err->code), err->msg, v->request_id);
}

static int read_query(struct cay_tty *t, const struct cay_http_request *req, struct cay_error *err)
{
        char room[TEXT_MAX];
        const char *value;
        int r = cay_http_query_get(req->target.query, "exec", room, sizeof(room), &value);

        if (r < 0 || (r == 1 && (value[0] == '\0' || strlen(value) > CAY_NAME_MAX)))
                return cay_fail(err, CAY_INVALID, "exec: must be the id of one command of this sandbox");
        if (r == 1)
                snprintf(t->exec, sizeof(t->exec), "%.*s", CAY_NAME_MAX, value);
        r = cay_http_query_get(req->target.query, "from", room, sizeof(room), &value);
        if (r < 0 || (r == 1 && cay_parse_u64(value, &t->from) < 0))
                return cay_fail(err, CAY_INVALID, "from: must be one cursor, a whole number");
        return 0;
}

int cay_tty_find(struct cay_tty *t, struct cay_error *err)
{
        const struct cay_op_world *world = t->call.world;
        struct cay_viewer viewer = cay_op_viewer(&t->call);
        struct cay_sandbox_view box;
        struct cay_exec_view exec;

        if (cay_op_check_scope(t->call.op, &t->call.caller, err) < 0 ||
            cay_service_get(world->service, &viewer, t->sandbox, &box, err) < 0)
                return -1;
        snprintf(t->sandbox, sizeof(t->sandbox), "%s", box.id);
        if (!t->exec[0])
                return 0;
        if (cay_service_exec_get(world->service, &viewer, t->sandbox, t->exec, &exec, err) < 0)
                return -1;
        if (!exec.tty)
                return cay_fail(err, CAY_INVALID, "exec: this command has no terminal; start it with tty");
        /* Output that is no longer kept cannot be shown: starts at the oldest kept byte. */
        if (t->from < exec.output_first)
                t->from = exec.output_first;
        return 0;
}

static int read_request(struct cay_tty *t, const struct cay_http_request *req, const char *sandbox,
                        struct cay_error *err)
{
        const char *name = sandbox ? sandbox : req->target.segments[1];

        if (read_query(t, req, err) < 0)
                return -1;
        if (strlen(name) > CAY_NAME_MAX)
                return cay_fail(err, CAY_NOT_FOUND, "there is no sandbox of this name");
        snprintf(t->sandbox, sizeof(t->sandbox), "%s", name);
        return t->is_known ? cay_tty_find(t, err) : 0;
}

static struct cay_tty *make(const struct cay_rest_place *place, const struct cay_visitor *v)
{
        struct cay_tty *t = calloc(1, sizeof(*t));

        if (!t)
                return NULL;
        t->call.op = cay_op_find("exec_run");
        t->call.responder = &cay_tty_responder;
        t->call.world = place->world;
        t->call.caller = v->caller;
        t->call.is_known = true; /* before any request */
        t->is_known = v->is_known;
        t->call.is_two_way = true;
        t->call.wants_stream = true;
        t->call.fd = -1;
        t->guard.pass = v->pass;
        memcpy(t->call.request_id, v->request_id, sizeof(t->call.request_id));
        return t;
}

static void open_ws(struct cay_tty *t, struct cay_rest_stream **streams, struct cay_http_request *req)
{
        const struct cay_ws_options options = { .message_max = MESSAGE_MAX, .ping_ms = PING_MS };
        const char *protocol = cay_ws_offers(req, "tty") ? "tty" : NULL;

        if (cay_ws_accept(&t->ws, req, t->call.world->loop, protocol, &options, &cay_tty_ws_ops) < 0) {
                free(t);
                return;
        }
        t->stream.stop = on_stop;
        cay_rest_stream_add(streams, &t->stream);
        cay_guard_begin(&t->guard, cay_tty_let_go);
        cay_timer_set(t->call.world->loop, &t->patience, FIRST_MS, on_patience);
}

void cay_ui_tty(const void *owner, const struct cay_rest_place *place, struct cay_http_request *req,
                const struct cay_visitor *v)
{
        const struct cay_http_fault *fault = cay_ws_check(req);
        struct cay_error err = { 0 };
        struct cay_tty *t;

        (void)owner;
        if (!v->is_known &&
            (fault || !cay_ws_offers(req, "tty"))) { /* only ttyd's clients authenticate later */
                cay_http_response_add(req, "WWW-Authenticate", "Bearer");
                cay_rest_refuse(
                        req, 401,
                        "a valid token is needed: Authorization: Bearer TOKEN (`cay token` prints one)",
                        v->request_id);
                return;
        }
        if (fault) {
                cay_rest_refuse(req, fault->status, fault->text, v->request_id);
                return;
        }
        if (v->origin && !v->origin_is_fine) {
                cay_rest_refuse(req, 403, "pages of this origin are not allowed; see allow_origins",
                                v->request_id);
                return;
        }
        t = make(place, v);
        if (!t) {
                cay_rest_refuse(req, 503, "no memory for this terminal", v->request_id);
        } else if (read_request(t, req, place->sandbox, &err) < 0) {
                free(t);
                refuse(req, &err, v);
        } else {
                open_ws(t, place->streams, req);
        }
}

/* ttyd's clients ask for the token that they have to send; a client that gets here has shown another one. */
void cay_ui_tty_token(const void *owner, const struct cay_rest_place *place, struct cay_http_request *req,
                      const struct cay_visitor *v)
{
        static const char none[] = "{\"token\": \"\"}";

        (void)owner;
        (void)place;
        (void)v;
        cay_http_response_send(req, 200, CAY_REST_JSON, none, sizeof(none) - 1);
}
