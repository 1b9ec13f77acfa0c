/* SPDX-License-Identifier: Apache-2.0 */
/* Events, encoded. */
#include "dialects/rest/rest_events.h"

#include <string.h>

#include "foundation/base/json_out.h"
#include "foundation/http/sse.h"

#define ALIVE_MS 15000u
#define EVENT_MAX (4u * 1024 * 1024)
#define LAST_MAX 4096u
#define NDJSON_TYPE "application/x-ndjson; charset=utf-8"

void cay_rest_events_init(struct cay_rest_events *e, bool is_sse)
{
        *e = (struct cay_rest_events){ .is_sse = is_sse };
        cay_buf_init(&e->event, EVENT_MAX);
}

/*
 * A comment, or in NDJSON a blank before the next line, which every JSON reader accepts. A client that does
 * not read is left to the connection's own deadline.
 */
static void on_alive(struct cay_timer *t)
{
        struct cay_rest_events *e = cay_container_of(t, struct cay_rest_events, alive);
        const char *nothing = e->is_sse ? ":\n\n" : " ";

        if (!e->spoke && cay_http_response_queued(e->req) == 0)
                cay_http_response_write(e->req, nothing, strlen(nothing)); /* gone: on_gone tells */
        e->spoke = false;
        cay_timer_set(e->loop, t, ALIVE_MS, on_alive);
}

int cay_rest_events_begin(struct cay_rest_events *e, struct cay_loop *loop, struct cay_http_request *req)
{
        e->loop = loop;
        e->req = req;
        cay_http_response_add(req, "Cache-Control", "no-store");
        cay_timer_set(loop, &e->alive, ALIVE_MS, on_alive);
        return cay_http_response_begin(req, 200, e->is_sse ? CAY_SSE_TYPE : NDJSON_TYPE, CAY_HTTP_NO_LENGTH);
}

ssize_t cay_rest_events_put(struct cay_rest_events *e, const char *id, const char *kind, const char *json,
                            size_t len)
{
        int r;

        cay_buf_clear(&e->event);
        e->spoke = true;
        if (e->is_sse) {
                r = cay_sse_put(&e->event, id, kind, json, len);
        } else {
                r = cay_buf_put(&e->event, json, len);
                if (r == 0)
                        r = cay_buf_putc(&e->event, '\n');
        }
        return r < 0 ? r : cay_http_response_write(e->req, cay_buf_data(&e->event), e->event.len);
}

int cay_rest_let_go_put(struct cay_buf *out, const char *why)
{
        struct cay_json j;

        cay_json_init(&j, out);
        cay_json_begin_object(&j);
        cay_json_key(&j, "event");
        cay_json_text(&j, "error");
        cay_json_key(&j, "code");
        cay_json_text(&j, "unauthenticated");
        cay_json_key(&j, "message");
        cay_json_text(&j, why);
        cay_json_end_object(&j);
        return cay_json_end(&j);
}

void cay_rest_events_let_go(struct cay_rest_events *e, const char *why)
{
        cay_auto_buf struct cay_buf json = { 0 };

        cay_buf_init(&json, LAST_MAX);
        if (cay_rest_let_go_put(&json, why) == 0)
                cay_rest_events_put(e, NULL, "error", cay_buf_data(&json), json.len);
}

void cay_rest_events_done(struct cay_rest_events *e)
{
        cay_timer_clear(&e->alive);
        cay_buf_done(&e->event);
        e->req = NULL;
}
