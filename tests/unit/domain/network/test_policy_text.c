/* SPDX-License-Identifier: Apache-2.0 */
/* Two lists from one text, and that both have to agree. */
#include "domain/network/policy_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct cay_policy_pair pair;
static struct cay_error err;

static int read_text(const char *text)
{
        err = (struct cay_error){ 0 };
        return cay_policy_text_read(text, strlen(text), &pair, &err);
}

static struct cay_policy_target target(const char *name, const char *address, uint16_t port)
{
        struct cay_policy_target t = { .name = name, .port = port };

        assert_true(cay_address_parse(address, &t.address));
        return t;
}

static bool allows(const char *name, const char *address, uint16_t port)
{
        struct cay_policy_target t = target(name, address, port);
        struct cay_policy_verdict v;

        cay_policy_pair_judge(&pair, &t, &v);
        return v.is_allowed;
}

static void both_lists_are_read_and_both_must_allow(void **state)
{
        assert_int_equal(
                read_text("template list\nallow *.example.org\nallow 10.0.0.0/8:5432\n"
                          "own list\nallow a.example.org\nallow b.example.com\nallow 10.1.0.0/16:5432\n"),
                0);
        assert_int_equal(pair.from_template.count, 2);
        assert_int_equal(pair.own.count, 3);
        assert_true(allows("a.example.org", "8.8.8.8", 443));
        assert_false(allows("c.example.org", "8.8.8.8", 443)); /* the template's alone */
        assert_false(allows("b.example.com", "8.8.8.8", 443)); /* its own alone */
        assert_true(allows(NULL, "10.1.2.3", 5432));
        assert_false(allows(NULL, "10.2.2.3", 5432));
        assert_true(cay_policy_pair_knows(&pair, "a.example.org"));
        assert_false(cay_policy_pair_knows(&pair, "b.example.com"));
        cay_policy_pair_done(&pair);
}

static void learn_is_public(void **state)
{
        assert_int_equal(read_text("template public\nown learn\n"), 0);
        assert_true(allows(NULL, "8.8.8.8", 1));
        assert_false(allows(NULL, "10.0.0.1", 1));
        cay_policy_pair_done(&pair);
}

static void a_rule_by_address_is_needed_in_both_lists(void **state)
{
        struct cay_policy_target t = target(NULL, "8.8.8.8", 443);

        assert_int_equal(read_text("template public\nown list\nallow 8.8.8.8:443\n"), 0);
        assert_true(allows(NULL, "8.8.8.8", 443));
        assert_false(cay_policy_pair_names_address(&pair, &t));
        cay_policy_pair_done(&pair);
        assert_int_equal(read_text("template list\nallow 8.8.8.0/24:*\nown list\nallow 8.8.8.8:443\n"), 0);
        assert_true(cay_policy_pair_names_address(&pair, &t));
        cay_policy_pair_done(&pair);
}

static void server_names_count_where_names_decide(void **state)
{
        struct cay_policy_target by_name = target("a.example", "8.8.8.8", 443),
                                 by_address = target(NULL, "8.8.8.8", 443);

        assert_int_equal(read_text("template public\nown public\n"), 0);
        assert_false(cay_policy_pair_checks_names(&pair, &by_name));
        cay_policy_pair_done(&pair);
        assert_int_equal(read_text("template public\nown public\ndeny b.example\n"), 0);
        assert_true(cay_policy_pair_checks_names(&pair, &by_name));
        assert_false(cay_policy_pair_checks_names(&pair, &by_address));
        cay_policy_pair_done(&pair);
        assert_int_equal(read_text("template public\nown list\nallow a.example\n"), 0);
        assert_true(cay_policy_pair_checks_names(&pair, &by_name));
        cay_policy_pair_done(&pair);
}

static void it_may_be_in_a_private_network(void **state)
{
        assert_int_equal(read_text("template list\nown none\nmember ada team db\n"), 0);
        assert_string_equal(pair.member.owner, "ada");
        assert_string_equal(pair.member.network, "team");
        assert_string_equal(pair.member.host, "db");
        cay_policy_pair_done(&pair);
        assert_int_equal(read_text("template list\nown none\nmember ada team\n"), 0);
        assert_string_equal(pair.member.network, "team");
        assert_string_equal(pair.member.host, "");
        cay_policy_pair_done(&pair);
}

static void what_is_malformed_is_told_with_its_line(void **state)
{
        static const struct {
                const char *text, *says;
        } rows[] = {
                { "", "'template' and 'own'" },
                { "template list\n", "'template' and 'own'" },
                { "own list\n", "line 1: 'template' comes first" },
                { "template list\ntemplate list\n", "line 2" },
                { "template list\nown list\nown list\n", "line 3" },
                { "template open\nown list\n", "'open' is not none, list, public or learn" },
                { "allow a.example\n", "line 1: must begin with 'template'" },
                { "template list\nforbid a.example\n", "line 2: must begin with" },
                { "template list\nown list", "ends with a newline" },
                { "template list\n\nown list\n", "line 2" },
                { "template list\nallow -\nown list\n", "neither a host name nor an address" },
                { "template list\nallow preset:nothing\nown list\n", "preset:python" },
                { "template list\nmember ada team db\nown list\n", "line 2: 'member" },
                { "template list\nown list\nmember ada\n", "line 3: 'member" },
                { "template list\nown list\nmember ada Team db\n", "line 3: 'member" },
                { "template list\nown list\nmember ada team db.x\n", "line 3: 'member" },
                { "template list\nown list\nmember ada team db x\n", "line 3: 'member" },
                { "template list\nown list\nmember ada team\nmember ada club\n", "line 4: 'member" },
        };
        char long_line[1000];

        for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
                assert_int_equal(read_text(rows[i].text), -1);
                assert_int_equal(err.code, CAY_INVALID);
                assert_non_null(strstr(err.msg, rows[i].says));
                assert_null(pair.from_template.rules);
                assert_null(pair.own.rules);
        }
        memset(long_line, 'a', sizeof(long_line));
        long_line[sizeof(long_line) - 1] = '\n';
        assert_int_equal(cay_policy_text_read(long_line, sizeof(long_line), &pair, &err), -1);
        assert_int_equal(cay_policy_text_read("template\0list\n", 14, &pair, &err), -1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(both_lists_are_read_and_both_must_allow),
                cmocka_unit_test(learn_is_public),
                cmocka_unit_test(a_rule_by_address_is_needed_in_both_lists),
                cmocka_unit_test(server_names_count_where_names_decide),
                cmocka_unit_test(it_may_be_in_a_private_network),
                cmocka_unit_test(what_is_malformed_is_told_with_its_line),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
