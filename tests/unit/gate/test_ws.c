/* SPDX-License-Identifier: Apache-2.0 */
/* A token among the subprotocols that a WebSocket offers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "dialect/gate/gate_priv.h"

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

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_find) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
