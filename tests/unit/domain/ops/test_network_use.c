/* SPDX-License-Identifier: Apache-2.0 */
/* Networks of requests and templates: which word holds, and the policy that comes of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "domain/ops/network_use.h"

static const struct cay_template shut = { .name = "shut", .network = "none" },
                                 out = { .name = "out", .network = "bridge" };

static const char *rules[4];

/* Words: the rules, ended by NULL. */
static struct cay_field_texts texts(unsigned at, const char *rule)
{
        rules[at] = rule;
        return (struct cay_field_texts){ &rules[at], rule ? 1 : 0 };
}

static struct cay_network_wish wish(const char *network, const char *allow, const char *deny)
{
        return (struct cay_network_wish){ network, texts(0, allow), texts(1, deny) };
}

static int word(const struct cay_template *t, struct cay_network_wish w, const char *holds)
{
        struct cay_error err = { 0 };
        const char *ret = NULL;

        if (cay_op_network_word(t, &w, &ret, &err) < 0)
                return (int)err.code;
        assert_string_equal(ret, holds);
        return 0;
}

static void networks_get_tighter_only(void **state)
{
        assert_int_equal(word(&shut, wish(NULL, NULL, NULL), "none"), 0);
        assert_int_equal(word(&out, wish(NULL, NULL, NULL), "bridge"), 0);
        assert_int_equal(word(&out, wish("bridge", NULL, NULL), "bridge"), 0);
        assert_int_equal(word(&out, wish("none", NULL, NULL), "none"), 0);
        assert_int_equal(word(&out, wish(NULL, "a.example", NULL), "list"), 0);
        assert_int_equal(word(&out, wish(NULL, NULL, "a.example"), "bridge"), 0);
        assert_int_equal(word(&shut, wish("bridge", NULL, NULL), NULL), CAY_DENIED);
        assert_int_equal(word(&shut, wish(NULL, "a.example", NULL), NULL), CAY_DENIED);
        assert_int_equal(word(NULL, wish(NULL, NULL, NULL), "none"), 0);
        assert_int_equal(word(NULL, wish("bridge", NULL, NULL), "bridge"), 0);
        assert_int_equal(word(NULL, wish(NULL, "a.example", NULL), "list"), 0);
}

static void rules_need_a_network(void **state)
{
        assert_int_equal(word(NULL, wish("none", "a.example", NULL), NULL), CAY_INVALID);
        assert_int_equal(word(NULL, wish(NULL, NULL, "a.example"), NULL), CAY_INVALID);
        assert_int_equal(word(NULL, wish("list", NULL, NULL), NULL), CAY_INVALID);
        assert_int_equal(word(&shut, wish(NULL, NULL, "a.example"), NULL), CAY_INVALID);
}

static int policy(const struct cay_template *t, enum cay_network network, struct cay_network_wish w,
                  const char *begins)
{
        cay_auto_buf struct cay_buf text = { 0 };
        struct cay_error err = { 0 };

        cay_buf_init(&text, 4096);
        if (cay_op_network_policy(t, network, &w, &text, &err) < 0) {
                assert_int_equal(strncmp(err.msg, begins, strlen(begins)), 0);
                return (int)err.code;
        }
        assert_string_equal(cay_buf_data(&text), begins);
        return 0;
}

static void policies_are_written_whole(void **state)
{
        assert_int_equal(policy(&out, CAY_NETWORK_LIST, wish(NULL, "a.example:443", "b.a.example"),
                                "template public\nown list\nallow a.example:443\ndeny b.a.example\n"),
                         0);
        assert_int_equal(policy(NULL, CAY_NETWORK_BRIDGE, wish(NULL, "10.1.2.0/24:5432", NULL),
                                "template public\nallow 0.0.0.0/0:*\nallow [::/0]:*\nown public\n"
                                "allow 10.1.2.0/24:5432\n"),
                         0);
}

static void mistakes_name_their_field(void **state)
{
        assert_int_equal(policy(NULL, CAY_NETWORK_LIST, wish(NULL, "http://a.example", NULL), "allow: "),
                         CAY_INVALID);
        assert_int_equal(policy(NULL, CAY_NETWORK_LIST, wish(NULL, "a.example", "preset:nothing"), "deny: "),
                         CAY_INVALID);
        /* No rule can begin another line. */
        assert_int_equal(policy(NULL, CAY_NETWORK_LIST, wish(NULL, "a.example\nallow b.example", NULL),
                                "allow: "),
                         CAY_INVALID);
}

static void a_template_bounds_addresses(void **state)
{
        assert_int_equal(policy(&out, CAY_NETWORK_LIST, wish(NULL, "10.1.2.3:80", NULL), "allow: '10.1.2.3"),
                         CAY_DENIED);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(networks_get_tighter_only),   cmocka_unit_test(rules_need_a_network),
                cmocka_unit_test(policies_are_written_whole),  cmocka_unit_test(mistakes_name_their_field),
                cmocka_unit_test(a_template_bounds_addresses),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
