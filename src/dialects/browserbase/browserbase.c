/* SPDX-License-Identifier: Apache-2.0 */
/* Which row a request is for, and whether its caller may use it. */
#include "dialects/browserbase/browserbase.h"

#include <stdlib.h>
#include <string.h>

#include "dialects/browserbase/bb_request.h"
#include "foundation/base/str.h"

#define KEY_FIELD "X-BB-API-Key"

int cay_bb_new(const struct cay_op_world *world, struct cay_bb **ret, struct cay_error *err)
{
        static const struct bb_rows *const lists[] = { &bb_create_rows,    &bb_session_rows, &bb_look_rows,
                                                       &bb_file_rows,      &bb_context_rows, &bb_project_rows,
                                                       &bb_recording_rows, &bb_missing_rows };
        cay_auto(cay_bb_freep) struct cay_bb *bb = calloc(1, sizeof(*bb));
        unsigned count = 0;

        if (!bb)
                return cay_fail(err, CAY_INTERNAL, "no memory for the dialect browserbase");
        bb->world = world;
        for (unsigned i = 0; i < CAY_COUNT(lists); i++) {
                for (unsigned k = 0; k < lists[i]->count; k++) {
                        if (count == BB_ROUTES_MAX)
                                return cay_fail(err, CAY_INTERNAL,
                                                "more routes of Browserbase than there is room for");
                        bb->routes[count++] = (struct cay_route){ .row = lists[i]->rows[k].row,
                                                                  .owner = &lists[i]->rows[k] };
                }
        }
        bb->router = cay_router_new(bb->routes, count, err);
        if (!bb->router)
                return -1;
        *ret = cay_take(bb);
        return 0;
}

void cay_bb_free(struct cay_bb *bb)
{
        if (!bb)
                return;
        cay_router_free(bb->router);
        free(bb);
}

void cay_bb_stop(struct cay_bb *bb)
{
        while (bb->streams) {
                struct cay_rest_stream *s = bb->streams;

                cay_rest_stream_remove(s);
                s->stop(s);
        }
}

bool cay_bb_find(const struct cay_bb *bb, const struct cay_http_request *req, const struct cay_visitor *v)
{
        struct cay_route_match m;

        if (v->is_published || v->port.port || !cay_str_starts(req->target.path, "/v1/"))
                return false;
        return cay_http_request_header(req, KEY_FIELD) ||
               cay_router_find(bb->router, req->method, &req->target, &m) || m.allowed != 0;
}

void cay_bb_refuse_gate(struct cay_http_request *req, unsigned status, const char *text)
{
        bb_refuse_plain(req, status, text);
}

static void refuse_unknown(struct cay_http_request *req, const struct cay_visitor *v)
{
        bb_refuse_plain(req, 401,
                        v->was_refused
                                ? KEY_FIELD ": this key is not valid; on the daemon's machine `cay key make "
                                            "OWNER` makes one"
                                : KEY_FIELD ": a key is needed; on the daemon's machine `cay key make OWNER` "
                                            "makes one");
}

/* Requests from pages of allow_origins. */
static void answer_options(struct cay_http_request *req, const struct cay_visitor *v)
{
        if (!v->origin_is_fine) {
                bb_refuse_plain(req, 403, "pages of this origin are not allowed; see allow_origins");
                return;
        }
        cay_http_response_add(req, "Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, DELETE");
        cay_http_response_add(req, "Access-Control-Allow-Headers", "Authorization, Content-Type, " KEY_FIELD);
        cay_http_response_add(req, "Access-Control-Max-Age", "600");
        cay_http_response_send(req, 204, NULL, NULL, 0);
}

void cay_bb_handle(struct cay_bb *bb, struct cay_http_request *req, const struct cay_visitor *v)
{
        struct cay_route_match m;
        struct bb_request *q;
        const char *id;

        if (req->method == CAY_HTTP_OPTIONS) {
                answer_options(req, v);
                return;
        }
        if (!v->is_known) {
                refuse_unknown(req, v);
                return;
        }
        if (!cay_router_find(bb->router, req->method, &req->target, &m)) {
                bb_refuse_plain(req, m.allowed == 0 ? 404 : 405,
                                m.allowed == 0 ? "nothing is at this path; docs/browserbase.md lists what is"
                                               : "this path does not support that method");
                return;
        }
        q = bb_request_new(bb, m.route->owner, req, v);
        if (!q) {
                bb_refuse_plain(req, 503, "no memory for this request");
                return;
        }
        q->match = m;
        id = cay_route_value(&m, "id");
        if (id && (strlen(id) != BB_ID_LEN || !bb_id_is_one(id)))
                bb_refuse(q, CAY_NOT_FOUND, "'%.63s' does not exist: ids are UUIDs in small letters", id);
        else {
                cay_str_copy(q->id, sizeof(q->id), id ? id : "");
                bb_request_begin(q);
        }
}
