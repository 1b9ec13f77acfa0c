/* SPDX-License-Identifier: Apache-2.0 */
/* Queries of programs, as libraries write them and as nobody should. */
#include "domain/network/dns.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <resolv.h>
#include <string.h>

/* By the C library, so that the other side is not ours. */
static size_t query(const char *name, int type, uint8_t *ret, size_t size)
{
        int n = res_mkquery(ns_o_query, name, ns_c_in, type, NULL, 0, NULL, ret, (int)size);

        assert_true(n > 0);
        return (size_t)n;
}

static void test_a_library_reads_our_answer(void **state)
{
        static const struct {
                int type;
                const char *address;
        } rows[] = { { CAY_DNS_A, "198.18.0.7" }, { CAY_DNS_AAAA, "fdca:c0de::7" } };

        for (size_t i = 0; i < 2; i++) {
                uint8_t bytes[CAY_DNS_MESSAGE_MAX], answer[CAY_DNS_MESSAGE_MAX];
                size_t len = query("Files.PythonHosted.org", rows[i].type, bytes, sizeof(bytes));
                char text[CAY_ADDRESS_TEXT];
                enum cay_dns_code code;
                struct cay_dns_query q;
                struct cay_address a;
                ns_msg message;
                ns_rr record;

                assert_int_equal(cay_dns_read(bytes, len, &q, &code), 0);
                assert_string_equal(q.name, "files.pythonhosted.org");
                assert_int_equal(q.type, rows[i].type);
                assert_true(cay_address_parse(rows[i].address, &a));
                len = cay_dns_answer(&q, CAY_DNS_OK, &a, answer);
                assert_int_equal(ns_initparse(answer, (int)len, &message), 0);
                assert_int_equal(ns_msg_id(message), bytes[0] << 8 | bytes[1]);
                assert_int_equal(ns_msg_getflag(message, ns_f_rcode), 0);
                assert_int_equal(ns_msg_getflag(message, ns_f_qr), 1);
                assert_int_equal(ns_msg_count(message, ns_s_an), 1);
                assert_int_equal(ns_parserr(&message, ns_s_an, 0, &record), 0);
                assert_string_equal(ns_rr_name(record), "Files.PythonHosted.org");
                assert_int_equal(ns_rr_type(record), rows[i].type);
                assert_int_equal(ns_rr_ttl(record), CAY_DNS_TTL_S);
                inet_ntop(i == 0 ? AF_INET : AF_INET6, ns_rr_rdata(record), text, sizeof(text));
                assert_string_equal(text, rows[i].address);
        }
}

static void test_no_record_and_no_name(void **state)
{
        uint8_t bytes[CAY_DNS_MESSAGE_MAX], answer[CAY_DNS_MESSAGE_MAX];
        size_t len = query("example.com", ns_t_mx, bytes, sizeof(bytes));
        enum cay_dns_code code;
        struct cay_dns_query q;
        ns_msg message;

        assert_int_equal(cay_dns_read(bytes, len, &q, &code), 0);
        len = cay_dns_answer(&q, CAY_DNS_NXDOMAIN, NULL, answer);
        assert_int_equal(ns_initparse(answer, (int)len, &message), 0);
        assert_int_equal(ns_msg_getflag(message, ns_f_rcode), ns_r_nxdomain);
        assert_int_equal(ns_msg_count(message, ns_s_an), 0);
        assert_int_equal(ns_msg_count(message, ns_s_qd), 1);
}

static int read_raw(const char *head, const char *name, size_t name_len, struct cay_dns_query *q,
                    enum cay_dns_code *code)
{
        static const uint8_t tail[] = { 0, 1, 0, 1 };
        uint8_t bytes[600];

        memcpy(bytes, head, 12);
        memcpy(bytes + 12, name, name_len);
        memcpy(bytes + 12 + name_len, tail, sizeof(tail));
        return cay_dns_read(bytes, 12 + name_len + sizeof(tail), q, code);
}

#define HEAD "\1\2\1\0\0\1\0\0\0\0\0\0"

static void test_odd_names(void **state)
{
        struct cay_dns_query q;
        enum cay_dns_code code;
        char longest[260];
        size_t len = 0;

        assert_int_equal(read_raw(HEAD, "\1a\1b", 5, &q, &code), 0);
        assert_string_equal(q.name, "a.b");
        assert_int_equal(read_raw(HEAD, "\3a.b", 5, &q, &code), 0); /* a dot inside a label */
        assert_string_equal(q.name, "");
        assert_int_equal(read_raw(HEAD, "\3a\0b", 5, &q, &code), 0);
        assert_string_equal(q.name, "");
        assert_int_equal(read_raw(HEAD, "", 1, &q, &code), 0); /* the root */
        assert_string_equal(q.name, "");
        assert_int_equal(read_raw(HEAD, "\300\14", 2, &q, &code), 1); /* a pointer */
        assert_int_equal(code, CAY_DNS_FORMERR);
        assert_int_equal(read_raw(HEAD, "\77abc", 4, &q, &code), 1); /* longer than there is */
        while (len + 64 < 254) {
                longest[len] = 63;
                memset(longest + len + 1, 'a', 63);
                len += 64;
        }
        longest[len] = 61;
        memset(longest + len + 1, 'b', 61);
        len += 62;
        longest[len++] = 0;
        assert_int_equal(read_raw(HEAD, longest, len, &q, &code), 0);
        assert_int_equal(strlen(q.name), CAY_POLICY_NAME_MAX);
        longest[len - 63] = 62;
        longest[len - 1] = 'b';
        longest[len++] = 0;
        assert_int_equal(read_raw(HEAD, longest, len, &q, &code), 1); /* one too long */
}

static void test_odd_messages(void **state)
{
        struct cay_dns_query q;
        enum cay_dns_code code;

        assert_int_equal(cay_dns_read("", 0, &q, &code), -1);
        assert_int_equal(cay_dns_read(HEAD, 11, &q, &code), -1);
        assert_int_equal(read_raw("\1\2\201\0\0\1\0\0\0\0\0\0", "\1a", 3, &q, &code), -1); /* an answer */
        assert_int_equal(read_raw("\1\2\50\0\0\1\0\0\0\0\0\0", "\1a", 3, &q, &code), 1);   /* an update */
        assert_int_equal(code, CAY_DNS_NOTIMP);
        assert_int_equal(read_raw("\1\2\1\0\0\2\0\0\0\0\0\0", "\1a", 3, &q, &code), 1); /* two questions */
        assert_int_equal(code, CAY_DNS_FORMERR);
        assert_int_equal(cay_dns_read(HEAD "\1a\0\0\1\0\3", 19, &q, &code), 1); /* another class */
        assert_int_equal(code, CAY_DNS_NOTIMP);
        assert_int_equal(cay_dns_read(HEAD "\1a\0\0\1\0", 18, &q, &code), 1);
        assert_int_equal(code, CAY_DNS_FORMERR);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_library_reads_our_answer),
                cmocka_unit_test(test_no_record_and_no_name),
                cmocka_unit_test(test_odd_names),
                cmocka_unit_test(test_odd_messages),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
