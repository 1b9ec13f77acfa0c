/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages are told apart; what is none is refused with the code that the protocol has for it, and its id if
 * it has one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "dialects/mcp/rpc.h"

#define MAX (1024u * 1024)

static struct cay_rpc_fault fault;
static struct cay_rpc m;

static int read_text(const char *text)
{
        return cay_rpc_read(&m, text, strlen(text), MAX, &fault);
}

static void kinds(void **state)
{
        (void)state;
        assert_int_equal(read_text("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}"), 0);
        assert_int_equal(m.kind, CAY_RPC_REQUEST);
        assert_string_equal(m.id, "7");
        assert_string_equal(m.method, "ping");
        assert_null(m.params);
        assert_false(cay_rpc_is_modern(&m));
        cay_rpc_done(&m);
        assert_int_equal(read_text("{\"jsonrpc\":\"2.0\",\"id\":\"a\\n\",\"method\":\"x\",\"params\":{}}"),
                         0);
        assert_string_equal(m.id, "\"a\\n\"");
        cay_rpc_done(&m);
        assert_int_equal(read_text("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}"), 0);
        assert_int_equal(m.kind, CAY_RPC_NOTIFICATION);
        cay_rpc_done(&m);
        assert_int_equal(read_text("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"), 0);
        assert_int_equal(m.kind, CAY_RPC_RESPONSE);
        assert_non_null(m.result);
        cay_rpc_done(&m);
        assert_int_equal(read_text("{\"jsonrpc\":\"2.0\",\"id\":9007199254740993,\"method\":\"x\"}"), 0);
        assert_string_equal(m.id, "9007199254740993");
        cay_rpc_done(&m);
}

static void eras(void **state)
{
        (void)state;
        assert_int_equal(read_text("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\"}"), 0);
        assert_true(cay_rpc_is_modern(&m));
        assert_null(m.version);
        cay_rpc_done(&m);
        assert_int_equal(
                read_text("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":{\"_meta\":{"
                          "\"progressToken\":\"t\",\"io.modelcontextprotocol/protocolVersion\":\"v\"}}}"),
                0);
        assert_true(cay_rpc_is_modern(&m));
        assert_string_equal(m.version, "v");
        assert_string_equal(m.progress, "\"t\"");
        cay_rpc_done(&m);
}

static void faults(void **state)
{
        static const struct {
                const char *text;
                int code;
                const char *id;
        } rows[] = {
                { "", CAY_RPC_NOT_JSON, "null" },
                { "{", CAY_RPC_NOT_JSON, "null" },
                { "nope", CAY_RPC_NOT_JSON, "null" },
                { "1,2", CAY_RPC_NOT_JSON, "null" },
                { "5", CAY_RPC_NO_REQUEST, "null" },
                { " true ", CAY_RPC_NO_REQUEST, "null" },
                { "[]", CAY_RPC_NO_REQUEST, "null" },
                { "{}", CAY_RPC_NO_REQUEST, "null" },
                { "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"x\"}", CAY_RPC_NO_REQUEST, "null" },
                { "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"x\"}", CAY_RPC_NO_REQUEST, "null" },
                { "{\"jsonrpc\":\"1.0\",\"id\":3,\"method\":\"x\"}", CAY_RPC_NO_REQUEST, "3" },
                { "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"\"}", CAY_RPC_NO_REQUEST, "3" },
                { "{\"jsonrpc\":\"2.0\",\"id\":3}", CAY_RPC_NO_REQUEST, "3" },
                { "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":1,\"error\":{}}", CAY_RPC_NO_REQUEST, "3" },
                { "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"x\",\"params\":[]}", CAY_RPC_NO_REQUEST, "3" },
                { "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"x\",\"params\":{\"_meta\":1}}",
                  CAY_RPC_BAD_PARAMS, "3" },
                { "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"x\",\"params\":{\"_meta\":{\"progressToken\":{}"
                  "}}}",
                  CAY_RPC_BAD_PARAMS, "3" },
        };

        (void)state;
        for (size_t i = 0; i < CAY_COUNT(rows); i++) {
                assert_int_equal(read_text(rows[i].text), -1);
                assert_int_equal(fault.code, rows[i].code);
                assert_string_equal(fault.id, rows[i].id);
                assert_true(fault.text[0] != '\0');
                assert_null(m.doc);
        }
}

/* Of a message that passes in pieces, wherever they are cut. */
static void passing_ids(void **state)
{
        static const struct {
                const char *text, *id;
        } rows[] = {
                { "{\"id\":7,\"x\":", "7" },
                { "{ \"id\" :\t\"a\\\"b\" ,", "\"a\\\"b\"" },
                { "{\"method\":\"id\",\"params\":{\"id\":1,\"y\":[\"\\\"id\",{\"id\":2}]},\"jsonrpc\":\"2."
                  "0\",\"id\":-3}",
                  "-3" },
                { "{\"idd\":1,\"i\":2,\"\\u0069d\":3,\"id\":4}", "4" },
                { "{\"id\": 12\n}", "12" },
                { "{\"id\":\"\" }", "\"\"" },
                { "{\"id\":7", "null" },
                { "{\"id\":1.5}", "null" },
                { "{\"id\":null,\"id\":3}", "null" },
                { "{\"id\":\"\\x\"}", "null" },
                { "[{\"id\":7}]", "null" },
                { "\"id\":7,", "null" },
                { "", "null" },
        };

        (void)state;
        for (size_t i = 0; i < CAY_COUNT(rows); i++) {
                size_t len = strlen(rows[i].text);
                char id[CAY_RPC_ID_MAX + 1];

                for (size_t cut = 0; cut <= len; cut++) {
                        struct cay_rpc_scan s = { 0 };

                        cay_rpc_scan(&s, rows[i].text, cut);
                        cay_rpc_scan(&s, rows[i].text + cut, len - cut);
                        cay_rpc_scan_id(&s, id);
                        assert_string_equal(id, rows[i].id);
                }
        }
}

static void long_ids(void **state)
{
        char text[CAY_RPC_ID_MAX + 64] = "{\"id\":\"", id[CAY_RPC_ID_MAX + 1];
        size_t begin = strlen(text);

        (void)state;
        memset(text + begin, 'x', CAY_RPC_ID_MAX - 2);
        memcpy(text + begin + CAY_RPC_ID_MAX - 2, "\"}", 3);
        cay_rpc_guess_id(text, strlen(text), id);
        assert_int_equal(strlen(id), CAY_RPC_ID_MAX);
        memcpy(text + begin + CAY_RPC_ID_MAX - 2, "x\"}", 4);
        cay_rpc_guess_id(text, strlen(text), id);
        assert_string_equal(id, "null");
}

static void envelopes(void **state)
{
        cay_auto_buf struct cay_buf out = { 0 };

        (void)state;
        cay_buf_init(&out, 1024);
        assert_int_equal(cay_rpc_put_result(&out, "\"a\"", "{}", 2), 0);
        assert_string_equal(cay_buf_data(&out), "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{}}");
        cay_buf_clear(&out);
        assert_int_equal(cay_rpc_put_error(&out, "1", -32602, "say \"x\"", "{\"uri\":1}"), 0);
        assert_string_equal(cay_buf_data(&out), "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,"
                                                "\"message\":\"say \\\"x\\\"\",\"data\":{\"uri\":1}}}");
}

static void full_buffer(void **state)
{
        cay_auto_buf struct cay_buf out = { 0 };

        (void)state;
        cay_buf_init(&out, 20);
        assert_true(cay_rpc_put_result(&out, "1", "{}", 2) < 0);
        assert_int_equal(out.len, 0);
        assert_true(cay_rpc_put_error(&out, "1", 1, "x", NULL) < 0);
        assert_int_equal(out.len, 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(kinds),     cmocka_unit_test(eras),        cmocka_unit_test(faults),
                cmocka_unit_test(envelopes), cmocka_unit_test(full_buffer), cmocka_unit_test(passing_ids),
                cmocka_unit_test(long_ids),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
