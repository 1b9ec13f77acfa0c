/* SPDX-License-Identifier: Apache-2.0 */
/* WebSocket framing: lengths, masks, fragments, controls in between, and the table of what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "foundation/http/ws_codec.h"

enum { MAX = 200000 };

static const uint8_t key[4] = { 0x37, 0xfa, 0x21, 0x3d };
static uint8_t wire[MAX * 2];
static size_t wire_len;

static void put(enum cay_ws_opcode opcode, bool last, const void *bytes, size_t len, bool masked)
{
        wire_len += cay_ws_header(wire + wire_len, opcode, last, len, masked ? key : NULL);
        if (masked)
                cay_ws_mask(wire + wire_len, bytes, len, key, 0);
        else
                memcpy(wire + wire_len, bytes, len);
        wire_len += len;
}

/* Events as text: "T5 B0 P3 Q3 X1000", "!1002". */
static char heard[256];
static uint8_t last_message[MAX];

static const char *read_all(enum cay_ws_role role, const uint8_t *bytes, size_t len, size_t step, size_t max)
{
        struct cay_ws_codec c;
        size_t at = 0, have = 0, n = 0;

        heard[0] = '\0';
        cay_ws_codec_init(&c, role, max);
        while (at < len || have < len) {
                enum cay_ws_event event;
                size_t used;

                if (at == have)
                        have = have + step < len ? have + step : len;
                event = cay_ws_codec_read(&c, bytes + at, have - at, &used);
                at += used;
                assert_true(at <= have);
                if (event == CAY_WS_MORE) {
                        assert_int_equal(at, have);
                        continue;
                }
                if (event == CAY_WS_FAULT) {
                        snprintf(heard + n, sizeof(heard) - n, "%s!%u", n ? " " : "", c.fault);
                        break;
                }
                if (event == CAY_WS_MESSAGE)
                        memcpy(last_message, c.data, c.len);
                n += (size_t)snprintf(heard + n, sizeof(heard) - n, "%s%c%zu", n ? " " : "",
                                      "?TB?????XPQ"[c.opcode],
                                      c.opcode == CAY_WS_CLOSE ? (size_t)c.close_code : c.len);
                assert_true(n < sizeof(heard) - 20);
        }
        cay_ws_codec_done(&c);
        return heard;
}

static void examples_of_the_rfc(void **state)
{
        static const uint8_t plain[] = { 0x81, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f };
        static const uint8_t masked[] = { 0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58 };
        static const uint8_t pieces[] = { 0x01, 0x03, 0x48, 0x65, 0x6c, 0x80, 0x02, 0x6c, 0x6f };
        static const uint8_t ping[] = { 0x89, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f };

        for (size_t step = 1; step < 12; step++) {
                assert_string_equal(read_all(CAY_WS_CLIENT, plain, sizeof(plain), step, MAX), "T5");
                assert_memory_equal(last_message, "Hello", 5);
                assert_string_equal(read_all(CAY_WS_SERVER, masked, sizeof(masked), step, MAX), "T5");
                assert_memory_equal(last_message, "Hello", 5);
                assert_string_equal(read_all(CAY_WS_CLIENT, pieces, sizeof(pieces), step, MAX), "T5");
                assert_memory_equal(last_message, "Hello", 5);
                assert_string_equal(read_all(CAY_WS_CLIENT, ping, sizeof(ping), step, MAX), "P5");
        }
}

static void every_length_both_roles(void **state)
{
        static const size_t lengths[] = { 0, 1, 7, 8, 9, 125, 126, 127, 65535, 65536, 70000, MAX };
        static uint8_t payload[MAX];

        for (size_t i = 0; i < sizeof(payload); i++)
                payload[i] = (uint8_t)(i * 31 ^ i >> 8);
        for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
                for (unsigned masked = 0; masked < 2; masked++) {
                        char wanted[32];

                        wire_len = 0;
                        put(CAY_WS_BINARY, true, payload, lengths[i], masked);
                        snprintf(wanted, sizeof(wanted), "B%zu", lengths[i]);
                        for (size_t step = 1; step < 200000; step = step * 7 + 1) {
                                assert_string_equal(read_all(masked ? CAY_WS_SERVER : CAY_WS_CLIENT, wire,
                                                             wire_len, step, MAX),
                                                    wanted);
                                assert_memory_equal(last_message, payload, lengths[i]);
                        }
                }
        }
}

static void masks_at_any_place(void **state)
{
        uint8_t from[64], whole[64], parts[64];

        for (unsigned i = 0; i < sizeof(from); i++)
                from[i] = (uint8_t)(i * 7);
        cay_ws_mask(whole, from, sizeof(from), key, 0);
        for (unsigned cut = 0; cut <= sizeof(from); cut++) {
                cay_ws_mask(parts, from, cut, key, 0);
                cay_ws_mask(parts + cut, from + cut, sizeof(from) - cut, key, cut);
                assert_memory_equal(parts, whole, sizeof(whole));
        }
}

static void controls_may_come_between_fragments(void **state)
{
        wire_len = 0;
        put(CAY_WS_TEXT, false, "a\xc3", 2, true); /* a character may be cut in two */
        put(CAY_WS_PING, true, "?", 1, true);
        put(CAY_WS_CONTINUATION, false, "", 0, true);
        put(CAY_WS_PONG, true, "", 0, true);
        put(CAY_WS_CONTINUATION, true, "\xa4z", 2, true);
        put(CAY_WS_BINARY, true, "\xff", 1, true);
        put(CAY_WS_CLOSE, true, "\x03\xe8ok", 4, true);
        for (size_t step = 1; step < 30; step++)
                assert_string_equal(read_all(CAY_WS_SERVER, wire, wire_len, step, 5), "P1 Q0 T4 B1 X1000");
        wire_len = 0;
        put(CAY_WS_CLOSE, true, "", 0, true);
        assert_string_equal(read_all(CAY_WS_SERVER, wire, wire_len, 100, 5), "X1005");
}

static void refused(const char *name, const char *bytes, size_t len, enum cay_ws_role role,
                    const char *wanted)
{
        for (size_t step = 1; step <= len; step++) {
                const char *got = read_all(role, (const uint8_t *)bytes, len, step, 1000);

                if (strcmp(got, wanted) != 0)
                        fail_msg("%s: '%s', not '%s'", name, got, wanted);
        }
}

#define R(name, bytes, role, wanted) refused(name, bytes, sizeof(bytes) - 1, role, wanted)

static void refuses_what_is_off(void **state)
{
        R("reserved bit 1", "\xc1\x80....", CAY_WS_SERVER, "!1002");
        R("reserved bit 2", "\xa1\x80....", CAY_WS_SERVER, "!1002");
        R("reserved bit 3", "\x91\x80....", CAY_WS_SERVER, "!1002");
        for (char op = 3; op < 16; op++) {
                char bytes[] = { (char)(0x80 | op), (char)0x80, 0, 0, 0, 0 };

                if (op < 8 || op > 10)
                        refused("unknown kind", bytes, sizeof(bytes), CAY_WS_SERVER, "!1002");
        }
        R("unmasked to a server", "\x81\x01x", CAY_WS_SERVER, "!1002");
        R("masked to a client", "\x81\x81....x", CAY_WS_CLIENT, "!1002");
        R("continuation of nothing", "\x80\x80....", CAY_WS_SERVER, "!1002");
        R("message in a message", "\x01\x80....\x81\x80....", CAY_WS_SERVER, "!1002");
        R("continuation after the end", "\x81\x80....\x80\x80....", CAY_WS_SERVER, "T0 !1002");
        R("fragmented ping", "\x09\x80....", CAY_WS_SERVER, "!1002");
        R("fragmented close", "\x08\x80....", CAY_WS_SERVER, "!1002");
        R("long ping", "\x89\xfe\x00\x7e....", CAY_WS_SERVER, "!1002");
        R("short length in two bytes", "\x81\xfe\x00\x7d....", CAY_WS_SERVER, "!1002");
        R("short length in eight bytes", "\x81\xff\x00\x00\x00\x00\x00\x00\xff\xff....", CAY_WS_SERVER,
          "!1002");
        R("negative length", "\x81\xff\x80\x00\x00\x00\x00\x00\x00\x00....", CAY_WS_SERVER, "!1002");
        R("huge length", "\x81\xff\x7f\xff\xff\xff\xff\xff\xff\xff....", CAY_WS_SERVER, "!1009");
        R("one byte too long", "\x82\x7e\x03\xe9", CAY_WS_CLIENT, "!1009");
        R("too long in fragments", "\x02\x7e\x03\xe7", CAY_WS_CLIENT, "");
        R("bad text", "\x81\x01\xff", CAY_WS_CLIENT, "!1007");
        R("overlong text", "\x81\x02\xc0\xaf", CAY_WS_CLIENT, "!1007");
        R("surrogate", "\x81\x03\xed\xa0\x80", CAY_WS_CLIENT, "!1007");
        R("cut text", "\x81\x01\xc3", CAY_WS_CLIENT, "!1007");
        R("bad text in fragments", "\x01\x01\xc3\x80\x01(", CAY_WS_CLIENT, "!1007");
        R("binary may be anything", "\x82\x01\xff", CAY_WS_CLIENT, "B1");
        R("close of one byte", "\x88\x01\x03", CAY_WS_CLIENT, "!1002");
        R("close with a bad reason", "\x88\x03\x03\xe8\xff", CAY_WS_CLIENT, "!1007");
}

/*
 * What has come of a message that is too long: whole frames before, and the bytes behind the header that says
 * so.
 */
static void the_beginning_of_what_is_too_long(void **state)
{
        static uint8_t payload[2000];
        struct cay_ws_codec c;
        char first[700];
        size_t used = 0;

        (void)state;
        memset(payload, 'x', sizeof(payload));
        memcpy(payload, "begin", 5);
        for (unsigned fragments = 0; fragments < 2; fragments++) {
                wire_len = 0;
                if (fragments)
                        put(CAY_WS_TEXT, false, "a first part", 12, true);
                put(fragments ? CAY_WS_CONTINUATION : CAY_WS_TEXT, true, payload, sizeof(payload), true);
                cay_ws_codec_init(&c, CAY_WS_SERVER, 1000);
                assert_int_equal(cay_ws_codec_read(&c, wire, wire_len, &used), CAY_WS_FAULT);
                assert_int_equal(c.fault, CAY_WS_TOO_BIG);
                assert_int_equal(cay_ws_codec_first(&c, wire + used, wire_len - used, first, sizeof(first)),
                                 sizeof(first));
                assert_memory_equal(first, fragments ? "a first partbeginxxx" : "beginxxxxxxxxxxxxxxx", 20);
                assert_int_equal(cay_ws_codec_first(&c, wire + used, 3, first, sizeof(first)),
                                 fragments ? 15 : 3);
                cay_ws_codec_done(&c);
        }
}

static void too_long_in_fragments(void **state)
{
        static uint8_t payload[600];

        wire_len = 0;
        put(CAY_WS_BINARY, false, payload, 600, true);
        put(CAY_WS_CONTINUATION, true, payload, 400, true);
        assert_string_equal(read_all(CAY_WS_SERVER, wire, wire_len, 100, 1000), "B1000");
        wire_len = 0;
        put(CAY_WS_BINARY, false, payload, 600, true);
        put(CAY_WS_CONTINUATION, true, payload, 401, true);
        assert_string_equal(read_all(CAY_WS_SERVER, wire, wire_len, 100, 1000), "!1009");
        wire_len = 0;
        put(CAY_WS_BINARY, true, payload, 600, true); /* the limit is per message */
        put(CAY_WS_BINARY, true, payload, 600, true);
        assert_string_equal(read_all(CAY_WS_SERVER, wire, wire_len, 100, 1000), "B600 B600");
}

/* RFC 6455, 7.4; and the registry's later ones. */
static void close_codes(void **state)
{
        for (unsigned code = 0; code < 70000; code++) {
                bool fine = (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
                            (code >= 3000 && code <= 4999);

                assert_int_equal(cay_ws_code_is_valid(code), fine);
                if (code < 65536 && (code < 5100 || code % 1000 == 0)) {
                        char payload[2] = { (char)(code >> 8), (char)code }, wanted[16];

                        wire_len = 0;
                        put(CAY_WS_CLOSE, true, payload, 2, true);
                        snprintf(wanted, sizeof(wanted), "%c%u", fine ? 'X' : '!', fine ? code : 1002);
                        assert_string_equal(read_all(CAY_WS_SERVER, wire, wire_len, 100, 1000), wanted);
                }
        }
}

static void a_fault_stays(void **state)
{
        struct cay_ws_codec c;
        size_t used;

        cay_ws_codec_init(&c, CAY_WS_CLIENT, 100);
        assert_int_equal(cay_ws_codec_read(&c, "\xff\x00", 2, &used), CAY_WS_FAULT);
        assert_int_equal(cay_ws_codec_read(&c, "\x81\x00", 2, &used), CAY_WS_FAULT);
        assert_int_equal(used, 0);
        cay_ws_codec_done(&c);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(examples_of_the_rfc),
                cmocka_unit_test(every_length_both_roles),
                cmocka_unit_test(masks_at_any_place),
                cmocka_unit_test(controls_may_come_between_fragments),
                cmocka_unit_test(refuses_what_is_off),
                cmocka_unit_test(too_long_in_fragments),
                cmocka_unit_test(the_beginning_of_what_is_too_long),
                cmocka_unit_test(close_codes),
                cmocka_unit_test(a_fault_stays),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
