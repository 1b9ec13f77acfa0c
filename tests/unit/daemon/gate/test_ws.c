/* SPDX-License-Identifier: Apache-2.0 */
/* A token among the subprotocols that a WebSocket offers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/gate/gate.h"
#include "daemon/gate/gate_priv.h"

static void test_find(void **state)
{
        static const struct {
                const char *field;
                int found;
                const char *token;
        } rows[] = {
                { "mcp.auth.T", 1, "T" },
                { "mcp, mcp.auth.T.u-v_w", 1, "T.u-v_w" },
                { " mcp.auth.T ,mcp", 1, "T" },
                { "mcp.auth.", 1, "" },
                { "", 0, NULL },
                { "mcp", 0, NULL },
                { "mcp.aut", 0, NULL },
                { "MCP.AUTH.T", 0, NULL },
                { "xmcp.auth.T", 0, NULL },
                { "mcp.auth.T, mcp.auth.U", -1, NULL },
        };

        for (unsigned i = 0; i < CAY_COUNT(rows); i++) {
                const char *token = NULL;
                size_t len = 0;

                assert_int_equal(cay_gate_offer_find(rows[i].field, &token, &len), rows[i].found);
                if (rows[i].found == 1) {
                        assert_int_equal(len, strlen(rows[i].token));
                        assert_memory_equal(token, rows[i].token, len);
                }
        }
        (void)state;
}

/* What a sandbox's server gets to see of such fields. */
static void test_pass_on(void **state)
{
        static const struct {
                bool upgrade;
                const char *name, *value, *passed;
        } rows[] = {
                { true, "Sec-WebSocket-Protocol", "mcp.auth.T", "" },
                { true, "sec-websocket-protocol", "chat, mcp.auth.T ,v2",
                  "sec-websocket-protocol: chat, v2\r\n" },
                { true, "Sec-WebSocket-Protocol", "mcp.auth.T, mcp.auth.U", "" },
                { false, "Sec-WebSocket-Protocol", "mcp.auth.T", "" },
                { true, "Sec-WebSocket-Protocol", "mcp, x", "Sec-WebSocket-Protocol: mcp, x\r\n" },
                { true, "x-auth-token", "T", "" },
                { false, "X-Auth-Token", "its own", "X-Auth-Token: its own\r\n" },
                { true, "X-Other", "mcp.auth.T", "X-Other: mcp.auth.T\r\n" },
        };

        for (unsigned i = 0; i < CAY_COUNT(rows); i++) {
                struct cay_http_request req = { .upgrade = rows[i].upgrade };
                cay_auto_buf struct cay_buf out = { 0 };
                char all[256];

                cay_buf_init(&out, sizeof(all));
                cay_buf_puts(&out, "A: b\r\n");
                assert_int_equal(cay_gate_put_field(&out, &req, rows[i].name, rows[i].value), 0);
                snprintf(all, sizeof(all), "A: b\r\n%s", rows[i].passed);
                assert_string_equal(cay_buf_data(&out), all);
        }
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_find), cmocka_unit_test(test_pass_on) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
