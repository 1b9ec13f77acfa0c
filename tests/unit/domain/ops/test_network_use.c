/* SPDX-License-Identifier: Apache-2.0 */
/* Networks of requests and templates: which word holds, and the policy that comes of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "domain/network/policy_text.h"
#include "domain/ops/network_use.h"

static const struct cay_template shut = { .name = "shut", .network = "none" },
                                 out = { .name = "out", .network = "bridge" };

static const char *of_listed[] = { "*.a.example", "10.0.0.0/8:5432" }, *of_denied[] = { "b.a.example" };
static const struct cay_template listed = { .name = "listed",
                                            .network = "list",
                                            .allow = { of_listed, 2 },
                                            .deny = { of_denied, 1 },
                                            .limits = { .network_up = 4096 } },
                                 learns = { .name = "learns", .network = "learn" };

static const char *rules[4];

/* Words: the rules, ended by NULL. */
static struct cay_field_texts texts(unsigned at, const char *rule)
{
        rules[at] = rule;
        return (struct cay_field_texts){ &rules[at], rule ? 1 : 0 };
}

static struct cay_network_wish wish(const char *network, const char *allow, const char *deny)
{
        return (struct cay_network_wish){ network, texts(0, allow), texts(1, deny), false };
}

static struct cay_network_wish member_wish(const char *network, const char *allow)
{
        return (struct cay_network_wish){ network, texts(0, allow), texts(1, NULL), true };
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

static void lists_of_templates_bound_requests(void **state)
{
        assert_int_equal(word(&listed, wish(NULL, NULL, NULL), "list"), 0);
        assert_int_equal(word(&listed, wish("list", NULL, NULL), "list"), 0);
        assert_int_equal(word(&listed, wish(NULL, "x.a.example", NULL), "list"), 0);
        assert_int_equal(word(&listed, wish("bridge", NULL, NULL), NULL), CAY_DENIED);
        assert_int_equal(word(&listed, wish("learn", NULL, NULL), NULL), CAY_DENIED);
        assert_int_equal(word(&learns, wish(NULL, NULL, NULL), "learn"), 0);
        assert_int_equal(word(&learns, wish("bridge", NULL, NULL), "bridge"), 0);
        assert_int_equal(word(&out, wish("learn", NULL, NULL), "learn"), 0);
        assert_int_equal(word(&shut, wish("learn", NULL, NULL), NULL), CAY_DENIED);
}

static void a_private_network_alone_has_a_word(void **state)
{
        assert_int_equal(word(&shut, member_wish(NULL, NULL), "private"), 0);
        assert_int_equal(word(NULL, member_wish(NULL, NULL), "private"), 0);
        assert_int_equal(word(NULL, member_wish("private", NULL), "private"), 0);
        assert_int_equal(word(&out, member_wish(NULL, NULL), "bridge"), 0);
        assert_int_equal(word(&out, member_wish(NULL, "a.example"), "list"), 0);
        assert_int_equal(word(NULL, member_wish("none", NULL), NULL), CAY_INVALID);
        assert_int_equal(word(NULL, member_wish("private", "a.example"), NULL), CAY_INVALID);
        assert_int_equal(word(NULL, wish("private", NULL, NULL), NULL), CAY_INVALID);
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
                                CAY_POLICY_TEMPLATE_ANY "own public\n"
                                                        "allow 10.1.2.0/24:5432\n"),
                         0);
}

#define LISTED "template list\nallow *.a.example\nallow 10.0.0.0/8:5432\ndeny b.a.example\n"

static void a_template_has_rules(void **state)
{
        /* Who says nothing has all of them. */
        assert_int_equal(policy(&listed, CAY_NETWORK_LIST, wish(NULL, NULL, NULL),
                                LISTED "own list\nallow *.a.example\nallow 10.0.0.0/8:5432\n"),
                         0);
        assert_int_equal(policy(&listed, CAY_NETWORK_LIST, wish(NULL, "x.a.example:443", NULL),
                                LISTED "own list\nallow x.a.example:443\n"),
                         0);
        assert_int_equal(policy(&listed, CAY_NETWORK_LIST, wish(NULL, "a.example", NULL),
                                "allow: 'a.example"),
                         CAY_DENIED);
        assert_int_equal(policy(&listed, CAY_NETWORK_LIST, wish(NULL, "10.0.0.0/8:22", NULL), "allow: "),
                         CAY_DENIED);
        assert_int_equal(
                policy(&learns, CAY_NETWORK_LEARN, wish(NULL, NULL, NULL), "template learn\nown learn\n"), 0);
        assert_true(cay_op_network_has_rules(&listed, &(struct cay_network_wish){ 0 }));
        assert_true(cay_op_network_has_rules(&learns, &(struct cay_network_wish){ 0 }));
        assert_false(cay_op_network_has_rules(&out, &(struct cay_network_wish){ 0 }));
}

static void a_template_has_limits(void **state)
{
        struct cay_limits l = { 0 };
        struct cay_error err = { 0 };

        assert_int_equal(cay_op_network_limits(&listed, &l, &err), 0);
        assert_int_equal(l.network_up, 4096);
        l.network_up = 2048;
        assert_int_equal(cay_op_network_limits(&listed, &l, &err), 0);
        assert_int_equal(l.network_up, 2048);
        l.network_up = 8192;
        assert_int_equal(cay_op_network_limits(NULL, &l, &err), 0);
        assert_int_equal(cay_op_network_limits(&listed, &l, &err), -1);
        assert_int_equal(err.code, CAY_DENIED);
        assert_non_null(strstr(err.msg, "limits.network_up: 8 KiB"));
}

/* Changes */

static int narrow(const char *before, bool is_admin, enum cay_network network, struct cay_network_wish w,
                  const char *is)
{
        cay_auto_buf struct cay_buf text = { 0 };
        struct cay_error err = { 0 };

        cay_buf_init(&text, 4096);
        if (cay_op_network_narrow(before, is_admin, network, &w, &text, &err) < 0)
                return (int)err.code;
        assert_string_equal(cay_buf_data(&text), is);
        return 0;
}

static void a_sandbox_is_narrowed_by_anybody(void **state)
{
        static const char before[] = "template public\nallow 10.0.0.0/8:*\nown list\nallow *.a.example\n"
                                     "allow 10.1.0.0/16:80\ndeny b.a.example\n";
        static const char part[] = "template public\nallow 10.0.0.0/8:*\n";
        char want[256];

        snprintf(want, sizeof(want), "%sown list\nallow x.a.example\ndeny b.a.example\n", part);
        assert_int_equal(
                narrow(before, false, CAY_NETWORK_LIST, wish(NULL, "x.a.example", "b.a.example"), want), 0);
        /* Not wider, not to everything, and not with a denial less. */
        assert_int_equal(narrow(before, false, CAY_NETWORK_LIST, wish(NULL, "a.example", "b.a.example"),
                                NULL),
                         CAY_DENIED);
        assert_int_equal(narrow(before, false, CAY_NETWORK_BRIDGE, wish(NULL, NULL, "b.a.example"), NULL),
                         CAY_DENIED);
        assert_int_equal(narrow(before, false, CAY_NETWORK_LIST, wish(NULL, "x.a.example", NULL), NULL),
                         CAY_DENIED);
        assert_int_equal(narrow(before, false, CAY_NETWORK_LIST, wish(NULL, "http://x", NULL), NULL),
                         CAY_INVALID);
        assert_int_equal(narrow(NULL, false, CAY_NETWORK_LIST, wish(NULL, "x.a.example", NULL), NULL),
                         CAY_DENIED);
        /* An administrator is bound by the template's list alone. */
        snprintf(want, sizeof(want), "%sown public\nallow 10.9.9.9:22\n", part);
        assert_int_equal(narrow(before, true, CAY_NETWORK_BRIDGE, wish(NULL, "10.9.9.9:22", NULL), want), 0);
        assert_int_equal(narrow(before, true, CAY_NETWORK_LIST, wish(NULL, "192.168.0.1:22", NULL), NULL),
                         CAY_DENIED);
}

static const struct cay_field_texts *one(const char *rule)
{
        static struct cay_field_texts t;

        t = texts(0, rule);
        return &t;
}

static void single_rules_come_and_go(void **state)
{
        static const char policy_text[] = "template public\nallow no.example\nown list\nallow a.example\n"
                                          "deny x.example\nallow b.example\nallow c.example\n";
        static struct cay_network_rules r;
        struct cay_error err = { 0 };

        cay_op_network_own_rules(policy_text, "deny", &r);
        assert_int_equal(r.count, 1);
        cay_op_network_own_rules(NULL, "allow", &r);
        assert_int_equal(r.count, 0);
        cay_op_network_own_rules(policy_text, "allow", &r);
        assert_int_equal(r.count, 3);
        assert_int_equal(cay_op_network_remove_rules(&r, "remove_allow", one("a.example"), &err), 0);
        assert_int_equal(cay_op_network_add_rules(&r, "add_allow", one("d.example"), &err), 0);
        assert_int_equal(cay_op_network_add_rules(&r, "add_allow", one("b.example"), &err), 0);
        assert_int_equal(r.count, 3);
        assert_string_equal(r.items[0], "b.example");
        assert_string_equal(r.items[1], "c.example");
        assert_string_equal(r.items[2], "d.example");
        assert_int_equal(cay_op_network_remove_rules(&r, "remove_allow", one("a.example"), &err), -1);
        assert_non_null(strstr(err.msg, "remove_allow: 'a.example'"));
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
                cmocka_unit_test(networks_get_tighter_only),
                cmocka_unit_test(a_private_network_alone_has_a_word),
                cmocka_unit_test(rules_need_a_network),
                cmocka_unit_test(policies_are_written_whole),
                cmocka_unit_test(mistakes_name_their_field),
                cmocka_unit_test(a_template_bounds_addresses),
                cmocka_unit_test(lists_of_templates_bound_requests),
                cmocka_unit_test(a_template_has_rules),
                cmocka_unit_test(a_template_has_limits),
                cmocka_unit_test(a_sandbox_is_narrowed_by_anybody),
                cmocka_unit_test(single_rules_come_and_go),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
