/* SPDX-License-Identifier: Apache-2.0 */
/* Remembers messages, and repeats them. */
#include "cay/cli/mcp_memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "foundation/base/json_out.h"
#include "foundation/base/json_view.h"

#define OURS "\"cay-mcp-"

void cay_mcp_memory_done(struct cay_mcp_memory *m)
{
        cay_buf_done(&m->hello);
        cay_buf_done(&m->level);
        for (unsigned i = 0; i < CAY_MCP_SUBSCRIPTIONS_MAX; i++)
                cay_buf_done(&m->subscriptions[i]);
        for (unsigned i = 0; i < CAY_MCP_FLIGHTS_MAX; i++)
                free(m->flights[i]);
        *m = (struct cay_mcp_memory){ 0 };
}

static void keep(struct cay_buf *buf, struct cay_json_view params)
{
        cay_buf_done(buf);
        cay_buf_init(buf, CAY_MCP_KEPT_MAX);
        if (params.len == 0 || cay_buf_put(buf, params.at, params.len) < 0)
                cay_buf_done(buf);
}

static bool is_same(const struct cay_buf *buf, struct cay_json_view params)
{
        return buf->len > 0 && buf->len == params.len &&
               memcmp(cay_buf_data(buf), params.at, params.len) == 0;
}

static void subscribe(struct cay_mcp_memory *m, struct cay_json_view params, bool is_on)
{
        struct cay_buf *free_one = NULL;

        for (unsigned i = 0; i < CAY_MCP_SUBSCRIPTIONS_MAX; i++) {
                struct cay_buf *at = &m->subscriptions[i];

                if (is_same(at, params)) {
                        if (!is_on)
                                cay_buf_done(at);
                        return;
                }
                if (at->len == 0 && !free_one)
                        free_one = at;
        }
        if (is_on && free_one)
                keep(free_one, params);
}

static void take_off(struct cay_mcp_memory *m, struct cay_json_view id)
{
        char text[CAY_MCP_FLIGHT_ID];

        if (id.len >= sizeof(text))
                return;
        memcpy(text, id.at, id.len);
        text[id.len] = '\0';
        for (unsigned i = 0; i < CAY_MCP_FLIGHTS_MAX; i++) {
                if (!m->flights[i]) {
                        m->flights[i] = strdup(text);
                        return;
                }
        }
}

static void land(struct cay_mcp_memory *m, struct cay_json_view id)
{
        for (unsigned i = 0; i < CAY_MCP_FLIGHTS_MAX; i++) {
                if (m->flights[i] && strlen(m->flights[i]) == id.len &&
                    memcmp(m->flights[i], id.at, id.len) == 0) {
                        free(m->flights[i]);
                        m->flights[i] = NULL;
                        return;
                }
        }
}

void cay_mcp_memory_said(struct cay_mcp_memory *m, const char *line, size_t len)
{
        struct cay_json_view root, id, params;
        char method[40];

        if (cay_json_view_open(line, len, &root) < 0)
                return;
        id = cay_json_view_find(root, "id");
        params = cay_json_view_find(root, "params");
        cay_json_view_copy(cay_json_view_find(root, "method"), method, sizeof(method));
        if (strcmp(method, "notifications/cancelled") == 0) /* its answer will never come */
                land(m, cay_json_view_find(params, "requestId"));
        if (!method[0] || id.len == 0)
                return;
        take_off(m, id);
        if (strcmp(method, "initialize") == 0)
                keep(&m->hello, params);
        else if (strcmp(method, "logging/setLevel") == 0)
                keep(&m->level, params);
        else if (strcmp(method, "resources/subscribe") == 0 || strcmp(method, "resources/unsubscribe") == 0)
                subscribe(m, params, method[strlen("resources/")] == 's');
}

bool cay_mcp_memory_heard(struct cay_mcp_memory *m, const char *line, size_t len)
{
        struct cay_json_view root, id;

        if (cay_json_view_open(line, len, &root) < 0 || cay_json_view_find(root, "method").len > 0)
                return true;
        id = cay_json_view_find(root, "id");
        if (id.len > strlen(OURS) && memcmp(id.at, OURS, strlen(OURS)) == 0)
                return false;
        land(m, id);
        return true;
}

static int put_request(struct cay_mcp_memory *m, struct cay_buf *out, const char *method,
                       const struct cay_buf *params)
{
        int r = cay_buf_printf(out, "{\"jsonrpc\":\"2.0\",\"id\":" OURS "%u\",\"method\":\"%s\",\"params\":",
                               ++m->lines, method);

        if (r == 0)
                r = cay_buf_put(out, cay_buf_data(params), params->len);
        return r == 0 ? cay_buf_puts(out, "}\n") : r;
}

int cay_mcp_memory_again(struct cay_mcp_memory *m, struct cay_buf *out)
{
        int r = 0;

        if (m->hello.len == 0)
                return 0; /* not initialized, or of a protocol version without initialization */
        r = put_request(m, out, "initialize", &m->hello);
        if (r == 0)
                r = cay_buf_puts(out, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
        if (r == 0 && m->level.len > 0)
                r = put_request(m, out, "logging/setLevel", &m->level);
        for (unsigned i = 0; i < CAY_MCP_SUBSCRIPTIONS_MAX && r == 0; i++)
                if (m->subscriptions[i].len > 0)
                        r = put_request(m, out, "resources/subscribe", &m->subscriptions[i]);
        return r;
}

int cay_mcp_memory_lost(struct cay_mcp_memory *m, const char *why, struct cay_buf *out)
{
        int r = 0;

        for (unsigned i = 0; i < CAY_MCP_FLIGHTS_MAX && r == 0; i++) {
                struct cay_json j;

                if (!m->flights[i])
                        continue;
                r = cay_buf_printf(out,
                                   "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":-32603,\"message\":",
                                   m->flights[i]);
                cay_json_init(&j, out);
                cay_json_text(&j, why);
                if (r == 0)
                        r = cay_json_end(&j);
                if (r == 0)
                        r = cay_buf_puts(out, "}}\n");
                free(m->flights[i]);
                m->flights[i] = NULL;
        }
        return r;
}
