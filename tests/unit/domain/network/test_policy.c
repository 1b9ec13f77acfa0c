/* SPDX-License-Identifier: Apache-2.0 */
/* Rules: what is read, what is allowed, and what is not wider than what. */
#include "domain/network/policy.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

/* Rules separated by blanks; "!" in front of one: it denies. */
static void make(struct cay_policy *p, enum cay_policy_mode mode, const char *rules)
{
        struct cay_error err = { 0 };
        char copy[1024], *rest = copy, *rule;

        cay_policy_init(p, mode);
        snprintf(copy, sizeof(copy), "%s", rules);
        while ((rule = strsep(&rest, " ")) != NULL)
                if (rule[0] != '\0' && cay_policy_add(p, rule + (rule[0] == '!'), rule[0] == '!', &err) < 0)
                        fail_msg("%s", err.msg);
}

static struct cay_policy_verdict judge(const struct cay_policy *p, const char *name, const char *address,
                                       uint16_t port, bool udp)
{
        struct cay_policy_target t = { .name = name, .port = port, .is_udp = udp };
        struct cay_policy_verdict v;

        assert_true(cay_address_parse(address, &t.address));
        cay_policy_judge(p, &t, &v);
        assert_true(v.is_allowed == (v.why[0] == '\0'));
        return v;
}

static bool allows(const struct cay_policy *p, const char *name, const char *address, uint16_t port)
{
        return judge(p, name, address, port, false).is_allowed;
}

static void test_names_and_ports(void **state)
{
        struct cay_policy p;

        make(&p, CAY_POLICY_LIST,
             "PyPI.org *.pythonhosted.org github.com:22,443 db.example:5000-5010 any.example:*");
        assert_true(allows(&p, "pypi.org", "8.8.8.8", 443));
        assert_true(allows(&p, "pypi.org", "8.8.8.8", 80));
        assert_false(allows(&p, "pypi.org", "8.8.8.8", 22));
        assert_false(allows(&p, "evil.pypi.org", "8.8.8.8", 443));
        assert_true(allows(&p, "files.pythonhosted.org", "8.8.8.8", 443));
        assert_true(allows(&p, "a.b.pythonhosted.org", "8.8.8.8", 443));
        assert_false(allows(&p, "pythonhosted.org", "8.8.8.8", 443));
        assert_false(allows(&p, "notpythonhosted.org", "8.8.8.8", 443));
        assert_true(allows(&p, "github.com", "8.8.8.8", 22));
        assert_false(allows(&p, "github.com", "8.8.8.8", 80));
        assert_true(allows(&p, "db.example", "8.8.8.8", 5010));
        assert_false(allows(&p, "db.example", "8.8.8.8", 5011));
        assert_true(allows(&p, "any.example", "8.8.8.8", 1));
        assert_false(allows(&p, NULL, "8.8.8.8", 443));
        assert_false(judge(&p, "pypi.org", "8.8.8.8", 443, true).is_allowed);
        assert_true(cay_policy_knows(&p, "pypi.org"));
        assert_true(cay_policy_knows(&p, "x.pythonhosted.org"));
        assert_false(cay_policy_knows(&p, "evil.example"));
        assert_int_equal(cay_policy_egress(&p), CAY_POLICY_EGRESS_NAMES);
        cay_policy_done(&p);
}

static void test_a_name_leads_to_public_addresses_only(void **state)
{
        struct cay_policy_verdict v;
        struct cay_policy p;

        make(&p, CAY_POLICY_LIST, "inside.example rebind.example 10.1.2.0/24:443,5432");
        v = judge(&p, "rebind.example", "127.0.0.1", 443, false);
        assert_false(v.is_allowed);
        assert_non_null(strstr(v.why, "rebind.example leads to 127.0.0.1, which is loopback"));
        assert_true(cay_policy_is_by_address(v.why)); /* allowing the name would not help */
        v = judge(&p, "evil.example", "127.0.0.1", 443, false);
        assert_false(cay_policy_is_by_address(v.why));
        assert_false(allows(&p, "rebind.example", "169.254.169.254", 80));
        assert_false(allows(&p, "rebind.example", "::ffff:10.9.9.9", 443));
        assert_true(allows(&p, "inside.example", "10.1.2.3", 443)); /* a rule for the address */
        assert_true(allows(&p, NULL, "10.1.2.3", 5432));
        assert_false(allows(&p, NULL, "10.1.2.3", 22));
        assert_false(allows(&p, NULL, "10.1.3.3", 5432));
        assert_int_equal(cay_policy_egress(&p), CAY_POLICY_EGRESS_ADDRESSES);
        cay_policy_done(&p);
}

static void test_denials_win(void **state)
{
        struct cay_policy p;

        make(&p, CAY_POLICY_PUBLIC, "!evil.example !*.ads.example !8.8.4.0/24 !half.example:25 10.0.0.5:80");
        assert_true(allows(&p, NULL, "8.8.8.8", 9999));
        assert_true(allows(&p, "good.example", "8.8.8.8", 443));
        assert_false(allows(&p, "evil.example", "8.8.8.8", 443));
        assert_false(allows(&p, "x.ads.example", "8.8.8.8", 443));
        assert_false(allows(&p, "good.example", "8.8.4.4", 443));
        assert_true(allows(&p, "half.example", "8.8.8.8", 443));
        assert_false(allows(&p, "half.example", "8.8.8.8", 25));
        /* By NAT64, by 6to4: the same server. */
        assert_false(allows(&p, NULL, "64:ff9b::808:404", 443));
        assert_false(allows(&p, "good.example", "2002:808:404::1", 443));
        assert_true(allows(&p, NULL, "64:ff9b::808:808", 443));
        assert_false(allows(&p, "good.example", "10.0.0.6", 80));
        assert_true(allows(&p, NULL, "10.0.0.5", 80));
        assert_false(judge(&p, "good.example", "8.8.8.8", 443, true).is_allowed); /* UDP by rule alone */
        assert_false(cay_policy_knows(&p, "evil.example"));
        assert_true(cay_policy_knows(&p, "half.example"));
        assert_true(cay_policy_knows(&p, "whatever.example"));
        cay_policy_done(&p);
}

static void test_udp_and_ipv6(void **state)
{
        struct cay_policy p;

        make(&p, CAY_POLICY_LIST,
             "ntp.example:123/udp [2606:4700::/32]:443 2606:4701::1 web.example:443/tcp");
        assert_true(judge(&p, "ntp.example", "8.8.8.8", 123, true).is_allowed);
        assert_false(judge(&p, "ntp.example", "8.8.8.8", 123, false).is_allowed);
        assert_true(allows(&p, NULL, "2606:4700::1111", 443));
        assert_false(allows(&p, NULL, "2606:4700::1111", 80));
        assert_true(allows(&p, NULL, "2606:4701::1", 80));
        assert_true(allows(&p, "web.example", "8.8.8.8", 443));
        assert_int_equal(cay_policy_egress(&p), CAY_POLICY_EGRESS_PUBLIC | CAY_POLICY_EGRESS_UDP);
        cay_policy_done(&p);
}

static unsigned egress(enum cay_policy_mode mode, const char *rules)
{
        struct cay_policy p;
        unsigned got;

        make(&p, mode, rules);
        got = cay_policy_egress(&p);
        cay_policy_done(&p);
        return got;
}

/* What the kernel may refuse by itself: never something that a rule allows. */
static void test_egress(void **state)
{
        assert_int_equal(egress(CAY_POLICY_LIST, "a.example"), CAY_POLICY_EGRESS_NAMES);
        assert_int_equal(egress(CAY_POLICY_LIST, "a.example !10.0.0.0/8 !x.example:1/udp"),
                         CAY_POLICY_EGRESS_NAMES);
        assert_int_equal(egress(CAY_POLICY_LIST, "a.example:123/udp"),
                         CAY_POLICY_EGRESS_NAMES | CAY_POLICY_EGRESS_UDP);
        assert_int_equal(egress(CAY_POLICY_LIST, "8.8.8.8:53/udp"),
                         CAY_POLICY_EGRESS_PUBLIC | CAY_POLICY_EGRESS_UDP);
        assert_int_equal(egress(CAY_POLICY_PUBLIC, ""), CAY_POLICY_EGRESS_PUBLIC);
        assert_int_equal(egress(CAY_POLICY_PUBLIC, "10.1.2.3"), CAY_POLICY_EGRESS_ADDRESSES);
        assert_int_equal(egress(CAY_POLICY_PUBLIC, "8.0.0.0/5"), CAY_POLICY_EGRESS_ADDRESSES);
        assert_int_equal(egress(CAY_POLICY_LIST, "[::/0]:1"), CAY_POLICY_EGRESS_ADDRESSES);
        assert_int_equal(egress(CAY_POLICY_LIST, "[2600::/12]:1"), CAY_POLICY_EGRESS_ADDRESSES);
        assert_int_equal(egress(CAY_POLICY_LIST, "[2600::/16]:1"), CAY_POLICY_EGRESS_PUBLIC);
}

static void test_no_network(void **state)
{
        struct cay_policy p;

        make(&p, CAY_POLICY_NONE, "");
        assert_false(allows(&p, "pypi.org", "8.8.8.8", 443));
        assert_false(cay_policy_knows(&p, "pypi.org"));
        cay_policy_done(&p);
}

static void test_bad_rules(void **state)
{
        static const char *const bad[][2] = {
                { "", "1 to" },
                { "*", "neither" },
                { "*.", "neither" },
                { "a..b", "neither" },
                { "-a.example", "neither" },
                { "exa mple", "neither" },
                { "http://example.com", "not a" },
                { "example.com:0", "'0' is not a port" },
                { "example.com:65536", "'65536'" },
                { "example.com:99999999999999999999", "not a port" },
                { "example.com:22,", "''" },
                { "example.com:5010-5000", "not a port" },
                { "example.com:ssh", "'ssh'" },
                { "example.com/udp", "needs a port" },
                { "10.0.0.1/8", "beyond the length" },
                { "10.0.0.0/40", "not an address range" },
                { "127.1", "neither" },
                { "0x7f000001", "neither" },
                { "[::1", "[ADDRESS]:PORT" },
                { "[::1]443", "[ADDRESS]:PORT" },
                { "::1:99999:", "not an address range" },
                { "preset:nothing", "preset:python" },
        };
        char many[3 * CAY_POLICY_PORTS_MAX + 20] = "example.com:1";
        struct cay_policy p;

        cay_policy_init(&p, CAY_POLICY_LIST);
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                struct cay_error err = { 0 };

                if (cay_policy_add(&p, bad[i][0], false, &err) == 0)
                        fail_msg("'%s' was taken", bad[i][0]);
                assert_int_equal(err.code, CAY_INVALID);
                if (strstr(err.msg, bad[i][1]) == NULL)
                        fail_msg("'%s': %s", bad[i][0], err.msg);
                assert_int_equal(p.count, 0);
        }
        for (unsigned i = 0; i < CAY_POLICY_PORTS_MAX; i++)
                memcpy(many + strlen(many), ",1", 3);
        assert_int_equal(cay_policy_add(&p, many, false, &(struct cay_error){ 0 }), -1);
        cay_policy_done(&p);
}

static void test_too_many(void **state)
{
        struct cay_error err = { 0 };
        struct cay_policy p;

        cay_policy_init(&p, CAY_POLICY_LIST);
        for (unsigned i = 0; i < CAY_POLICY_RULES_MAX; i++)
                assert_int_equal(cay_policy_add(&p, "a.example", false, &err), 0);
        assert_int_equal(cay_policy_add(&p, "a.example", false, &err), -1);
        assert_int_equal(err.code, CAY_LIMIT);
        assert_int_equal(cay_policy_add(&p, "preset:python", false, &err), -1);
        assert_int_equal(p.count, CAY_POLICY_RULES_MAX);
        cay_policy_done(&p);
}

static void test_presets(void **state)
{
        struct cay_policy p;

        make(&p, CAY_POLICY_LIST, "preset:python preset:git");
        assert_true(allows(&p, "pypi.org", "8.8.8.8", 443));
        assert_true(allows(&p, "github.com", "8.8.8.8", 22));
        assert_false(allows(&p, "evil.example", "8.8.8.8", 443));
        cay_policy_done(&p);
}

static void test_what_is_wider(void **state)
{
        static const struct {
                enum cay_policy_mode inner;
                const char *inner_rules;
                enum cay_policy_mode outer;
                const char *outer_rules, *wider;
        } rows[] = {
                { CAY_POLICY_LIST, "pypi.org", CAY_POLICY_LIST, "pypi.org", NULL },
                { CAY_POLICY_LIST, "pypi.org:443", CAY_POLICY_LIST, "pypi.org", NULL },
                { CAY_POLICY_LIST, "pypi.org:22", CAY_POLICY_LIST, "pypi.org", "pypi.org:22" },
                { CAY_POLICY_LIST, "a.b.example", CAY_POLICY_LIST, "*.example", NULL },
                { CAY_POLICY_LIST, "*.b.example", CAY_POLICY_LIST, "*.example", NULL },
                { CAY_POLICY_LIST, "*.example", CAY_POLICY_LIST, "a.example", "*.example" },
                { CAY_POLICY_LIST, "example", CAY_POLICY_LIST, "*.example", "example" },
                { CAY_POLICY_LIST, "10.1.2.0/24:5432", CAY_POLICY_LIST, "10.0.0.0/8:5000-6000", NULL },
                { CAY_POLICY_LIST, "10.0.0.0/8:5432", CAY_POLICY_LIST, "10.1.2.0/24:5432",
                  "10.0.0.0/8:5432" },
                { CAY_POLICY_LIST, "x.example:53/udp", CAY_POLICY_LIST, "x.example:53", "x.example:53/udp" },
                { CAY_POLICY_LIST, "!evil.example", CAY_POLICY_LIST, "", NULL },
                { CAY_POLICY_LIST, "any.example", CAY_POLICY_PUBLIC, "", NULL },
                { CAY_POLICY_LIST, "10.0.0.1", CAY_POLICY_PUBLIC, "", "10.0.0.1" },
                /* Every address of a range counts, not its first alone. */
                { CAY_POLICY_LIST, "8.0.0.0/8:80", CAY_POLICY_PUBLIC, "", NULL },
                { CAY_POLICY_LIST, "8.0.0.0/5:80", CAY_POLICY_PUBLIC, "", "8.0.0.0/5:80" },
                { CAY_POLICY_LIST, "128.0.0.0/1:80", CAY_POLICY_PUBLIC, "", "128.0.0.0/1:80" },
                { CAY_POLICY_LIST, "[2600::/12]:80", CAY_POLICY_PUBLIC, "", NULL },
                { CAY_POLICY_LIST, "[2000::/3]:80", CAY_POLICY_PUBLIC, "", "[2000::/3]:80" },
                { CAY_POLICY_LIST, "[2002:808:808::/48]:80", CAY_POLICY_PUBLIC, "",
                  "[2002:808:808::/48]:80" },
                { CAY_POLICY_PUBLIC, "", CAY_POLICY_LIST, "pypi.org", "every public address" },
                { CAY_POLICY_PUBLIC, "", CAY_POLICY_PUBLIC, "!evil.example", NULL },
                { CAY_POLICY_LIST, "pypi.org", CAY_POLICY_NONE, "", "pypi.org" },
                { CAY_POLICY_NONE, "", CAY_POLICY_NONE, "", NULL },
        };

        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
                struct cay_policy inner, outer;
                const char *wider;

                make(&inner, rows[i].inner, rows[i].inner_rules);
                make(&outer, rows[i].outer, rows[i].outer_rules);
                wider = cay_policy_wider(&inner, &outer);
                if (rows[i].wider == NULL)
                        assert_null(wider);
                else
                        assert_string_equal(wider, rows[i].wider);
                cay_policy_done(&inner);
                cay_policy_done(&outer);
        }
}

/* Who was given all public addresses was not given UDP. */
static void test_what_is_wider_than_before(void **state)
{
        struct cay_policy now, before;

        make(&before, CAY_POLICY_PUBLIC, "");
        make(&now, CAY_POLICY_LIST, "dns.example:53/udp");
        assert_null(cay_policy_wider(&now, &before)); /* a template permits it */
        assert_string_equal(cay_policy_wider_own(&now, &before), "dns.example:53/udp");
        cay_policy_done(&now);
        make(&now, CAY_POLICY_LIST, "dns.example:53");
        assert_null(cay_policy_wider_own(&now, &before));
        cay_policy_done(&now);
        cay_policy_done(&before);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_names_and_ports),
                cmocka_unit_test(test_a_name_leads_to_public_addresses_only),
                cmocka_unit_test(test_denials_win),
                cmocka_unit_test(test_udp_and_ipv6),
                cmocka_unit_test(test_egress),
                cmocka_unit_test(test_no_network),
                cmocka_unit_test(test_bad_rules),
                cmocka_unit_test(test_too_many),
                cmocka_unit_test(test_presets),
                cmocka_unit_test(test_what_is_wider),
                cmocka_unit_test(test_what_is_wider_than_before),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
