/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses: one form each, and none that is private passes for public, however it is written. */
#include "domain/network/address.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <netinet/in.h>
#include <string.h>

static struct cay_address address(const char *text)
{
        struct cay_address a;

        if (!cay_address_parse(text, &a))
                fail_msg("'%s' is an address", text);
        return a;
}

static void test_one_form(void **state)
{
        static const char *const good[] = { "1.2.3.4", "255.255.255.255", "::1", "2001:db8::1", "fe80::1" };
        static const char *const bad[] = { "",           "1.2.3",      "1.2.3.4.5",  "01.2.3.4",
                                           "0x7f.0.0.1", "127.1",      "2130706433", "1.2.3.4 ",
                                           " 1.2.3.4",   "fe80::1%lo", "1.2.3.256",  "::g",
                                           ":::",        "1::2::3",    "localhost",  "[::1]" };
        char text[CAY_ADDRESS_TEXT];
        struct cay_address a;

        for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
                a = address(good[i]);
                assert_string_equal(cay_address_text(&a, text), good[i]);
        }
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
                if (cay_address_parse(bad[i], &a))
                        fail_msg("'%s' is no address", bad[i]);
        a = address("::ffff:10.0.0.1");
        assert_string_equal(cay_address_text(&a, text), "10.0.0.1");
        assert_true(cay_address_is_v4(&a));
}

static void test_ranges(void **state)
{
        static const struct {
                const char *range, *in, *out;
                unsigned bits;
        } rows[] = {
                { "10.0.0.0/8", "10.255.0.1", "11.0.0.0", 104 },
                { "10.1.2.3", "10.1.2.3", "10.1.2.4", 128 },
                { "10.1.2.3/32", "10.1.2.3", "10.1.2.2", 128 },
                { "198.18.0.0/15", "198.19.255.255", "198.20.0.0", 111 },
                { "0.0.0.0/0", "8.8.8.8", "2001:db8::1", 96 },
                { "2001:db8::/33", "2001:db8:7fff::1", "2001:db8:8000::1", 33 },
                { "::/0", "2001:db8::1", "8.8.8.8", 0 },
                { "::/64", "::1", "10.0.0.1", 64 },
                { "::ffff:10.0.0.0/104", "10.1.2.3", "11.0.0.0", 104 },
        };
        static const char *const bad[] = { "10.0.0.1/8",  "10.0.0.0/33", "10.0.0.0/",
                                           "10.0.0.0/-1", "10.0.0.0/08", "::1/64",
                                           "::/129",      "/8",          "10.0.0.0/8/8" };
        struct cay_address_range r, s;

        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
                struct cay_address in = address(rows[i].in);

                assert_true(cay_address_range_parse(rows[i].range, &r));
                assert_int_equal(r.bits, rows[i].bits);
                assert_true(cay_address_in(&in, &r));
                if (rows[i].out != NULL) {
                        struct cay_address out = address(rows[i].out);

                        assert_false(cay_address_in(&out, &r));
                }
        }
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
                if (cay_address_range_parse(bad[i], &r))
                        fail_msg("'%s' is no range", bad[i]);
        assert_true(cay_address_range_parse("10.1.0.0/16", &r) && cay_address_range_parse("10.0.0.0/8", &s));
        assert_true(cay_address_range_in(&r, &s));
        assert_false(cay_address_range_in(&s, &r));
}

static void test_what_is_public(void **state)
{
        static const char *const public[] = { "8.8.8.8",         "1.1.1.1",         "172.15.255.255",
                                              "172.32.0.0",      "100.63.0.1",      "2606:4700::1111",
                                              "2002:808:808::1", "64:ff9b::808:808" };
        static const char *const not [] = {
                "0.0.0.0",
                "10.0.0.1",
                "100.64.0.1",
                "127.0.0.1",
                "127.255.255.254",
                "168.63.129.16", /* what AWS has at 169.254.169.254, Azure has here */
                "64:ff9b::a83f:8110",
                "169.254.169.254",
                "172.16.0.1",
                "172.31.255.255",
                "192.168.1.1",
                "198.18.0.1",
                "224.0.0.1",
                "255.255.255.255",
                "::",
                "::1",
                "::ffff:127.0.0.1",
                "::ffff:10.0.0.1",
                "::10.0.0.1",
                "::7f00:1",
                "fc00::1",
                "fd12:3456::1",
                "fe80::1",
                "fec0::1",
                "ff02::1",
                "2001:db8::1",
                "64:ff9b::a00:1",
                "64:ff9b:1::1",
                "2002:a00:1::1",
                "2002:7f00:1::",
                "fd00:ec2::254",
                "2001:0:1:2:3:4:80ff:fffe",
                "::ffff:0:10.0.0.1",
                "4000::1",
                "1::1",
        };
        struct cay_address a;

        for (size_t i = 0; i < sizeof(public) / sizeof(public[0]); i++) {
                a = address(public[i]);
                if (cay_address_why_not_public(&a) != NULL)
                        fail_msg("%s is public, not %s", public[i], cay_address_why_not_public(&a));
        }
        for (size_t i = 0; i < sizeof(not ) / sizeof(not [0]); i++) {
                a = address(not [i]);
                if (cay_address_why_not_public(&a) == NULL)
                        fail_msg("%s is not public", not [i]);
        }
}

static void test_what_is_inside(void **state)
{
        static const struct {
                const char *text, *inside;
        } rows[] = { { "64:ff9b::808:401", "8.8.4.1" },
                     { "2002:808:401::1", "8.8.4.1" },
                     { "2001:0:1:2:3:4:f7f7:fbfe", "8.8.4.1" },
                     { "64:ff9b:1::808:401", NULL },
                     { "::ffff:8.8.4.1", NULL },
                     { "2606:4700::1111", NULL },
                     { "8.8.4.1", NULL } };
        char text[CAY_ADDRESS_TEXT];

        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
                struct cay_address a = address(rows[i].text), inside;

                if (cay_address_inside(&a, &inside) != (rows[i].inside != NULL))
                        fail_msg("%s", rows[i].text);
                if (rows[i].inside)
                        assert_string_equal(cay_address_text(&inside, text), rows[i].inside);
        }
}

static void test_loopback(void **state)
{
        static const struct {
                const char *text;
                bool is_loopback;
        } rows[] = { { "127.0.0.1", true }, { "127.255.0.9", true },      { "::1", true },
                     { "::2", false },      { "::ffff:127.0.0.1", true }, { "126.0.0.1", false },
                     { "7f00::1", false } };

        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
                struct cay_address a = address(rows[i].text);

                if (cay_address_is_loopback(&a) != rows[i].is_loopback)
                        fail_msg("%s", rows[i].text);
        }
}

static void test_sockets(void **state)
{
        static const char *const both[] = { "192.0.2.1", "2001:db8::1" };
        struct sockaddr_storage s;
        struct cay_address a, back;
        uint16_t port;

        for (size_t i = 0; i < 2; i++) {
                a = address(both[i]);
                assert_int_equal(cay_address_to_socket(&a, 443, &s),
                                 i == 0 ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6));
                assert_true(cay_address_from_socket(&s, &back, &port));
                assert_memory_equal(&a, &back, sizeof(a));
                assert_int_equal(port, 443);
        }
        s.ss_family = AF_UNIX;
        assert_false(cay_address_from_socket(&s, &back, &port));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_one_form),       cmocka_unit_test(test_ranges),
                cmocka_unit_test(test_what_is_public), cmocka_unit_test(test_loopback),
                cmocka_unit_test(test_sockets),        cmocka_unit_test(test_what_is_inside),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
