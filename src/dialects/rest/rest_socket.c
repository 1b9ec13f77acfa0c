/* SPDX-License-Identifier: Apache-2.0 */
/* From a request to a WebSocket, by way of a wait. */
#include "dialects/rest/rest_socket.h"

#include "dialects/rest/rest_error.h"
#include "foundation/base/str.h"

static void on_guard_over(struct cay_guard *g, const char *why)
{
        cay_ws_close(&cay_container_of(g, struct cay_rest_socket, guard)->ws, CAY_WS_REFUSED, why);
}

static void on_stop(struct cay_rest_stream *stream)
{
        cay_ws_close(&cay_container_of(stream, struct cay_rest_socket, stream)->ws, CAY_WS_GOING_AWAY,
                     "the daemon stops");
}

bool cay_rest_socket_check(struct cay_http_request *req, const struct cay_visitor *v)
{
        const struct cay_http_fault *fault = cay_ws_check(req);

        if (fault) {
                if (fault->status == 426)
                        cay_http_response_add(req, "Sec-WebSocket-Version", "13");
                cay_rest_refuse(req, fault->status, fault->text, v->request_id);
                return false;
        }
        if (v->origin && !v->origin_is_fine) {
                cay_rest_refuse(req, 403, "pages of this origin are not allowed; see allow_origins",
                                v->request_id);
                return false;
        }
        return true;
}

void cay_rest_socket_init(struct cay_rest_socket *s, const struct cay_rest_place *place,
                          struct cay_http_request *req, const struct cay_visitor *v)
{
        s->req = req;
        s->world = place->world;
        s->streams = place->streams;
        s->guard.pass = v->pass;
        cay_str_copy(s->request_id, sizeof(s->request_id), v->request_id);
}

struct cay_http_request *cay_rest_socket_take(struct cay_rest_socket *s)
{
        struct cay_http_request *req = cay_take(s->req);

        req->handler = NULL;
        return req;
}

void cay_rest_socket_refuse(struct cay_rest_socket *s, const struct cay_error *err)
{
        cay_rest_refuse(cay_rest_socket_take(s), cay_rest_status(err->code), err->msg, s->request_id);
}

int cay_rest_socket_open(struct cay_rest_socket *s, const char *protocol,
                         const struct cay_ws_options *options, const struct cay_ws_ops *ops)
{
        if (cay_ws_accept(&s->ws, cay_rest_socket_take(s), s->world->loop, protocol, options, ops) < 0)
                return -1;
        s->stream.stop = on_stop;
        cay_rest_stream_add(s->streams, &s->stream);
        cay_guard_begin(&s->guard, on_guard_over);
        return 0;
}

void cay_rest_socket_end(struct cay_rest_socket *s)
{
        cay_guard_end(&s->guard);
        cay_rest_stream_remove(&s->stream);
}
