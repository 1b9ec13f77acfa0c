/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration files of other programs: what is added, what stays, what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "cay/cli/config_edit.h"

#define VALUE "{\"command\":\"cay\"}"
#define BODY "command = \"cay\"\n"

struct row {
        const char *what, *old, *new; /* new NULL: refused */
        int kind;
};

static void check(const struct row *rows, size_t count,
                  int (*edit)(const char *, size_t, const char *, const char *, const char *,
                              struct cay_buf *, struct cay_error *),
                  const char *value)
{
        for (size_t i = 0; i < count; i++) {
                cay_auto_buf struct cay_buf out = { 0 };
                struct cay_error err = { 0 };
                int r;

                cay_buf_init(&out, 65536);
                r = edit(rows[i].old, strlen(rows[i].old), "servers", "cay", value, &out, &err);
                print_message("%s\n", rows[i].what);
                if (!rows[i].new) {
                        assert_int_equal(r, -1);
                        assert_true(err.msg[0] != '\0');
                        continue;
                }
                assert_int_equal(cay_buf_putc(&out, '\0'), 0);
                assert_string_equal(cay_buf_data(&out), rows[i].new);
                assert_int_equal(r, rows[i].kind);
        }
}

static void test_json(void **state)
{
        static const struct row rows[] = {
                { "an empty file", "", "{\n  \"servers\": { \"cay\": " VALUE " }\n}\n", CAY_CONFIG_ADDED },
                { "a byte order mark alone", "\xef\xbb\xbf",
                  "\xef\xbb\xbf{\n  \"servers\": { \"cay\": " VALUE " }\n}\n", CAY_CONFIG_ADDED },
                { "an empty object", "{}", "{\n  \"servers\": { \"cay\": " VALUE " }\n}", CAY_CONFIG_ADDED },
                { "on one line", "{\"a\": 1}\n", "{\"a\": 1, \"servers\": { \"cay\": " VALUE " }}\n",
                  CAY_CONFIG_ADDED },
                { "members, as they are indented", "{\n\t\"a\": [1, 2],\n\t\"b\": \"x, }\"\n}\n",
                  "{\n\t\"a\": [1, 2],\n\t\"b\": \"x, }\",\n\t\"servers\": { \"cay\": " VALUE " }\n}\n",
                  CAY_CONFIG_ADDED },
                { "other servers", "{\n  \"servers\": {\n    \"b\": {\"c\": 1}\n  },\n  \"z\": null\n}\n",
                  "{\n  \"servers\": {\n    \"b\": {\"c\": 1},\n    \"cay\": " VALUE
                  "\n  },\n  \"z\": null\n}\n",
                  CAY_CONFIG_ADDED },
                { "a group without servers", "{\n  \"servers\": {}\n}\n",
                  "{\n  \"servers\": {\n    \"cay\": " VALUE "\n  }\n}\n", CAY_CONFIG_ADDED },
                { "comments and a last comma", "// head\n{\n  /* { */ \"a\": 1, // one\n  // end\n}\n",
                  "// head\n{\n  /* { */ \"a\": 1, // one\n  // end\n  \"servers\": { \"cay\": " VALUE
                  " }\n}\n",
                  CAY_CONFIG_ADDED },
                { "a comment behind the last value", "{\n  \"a\": 1 // one\n}\n",
                  "{\n  \"a\": 1, // one\n  \"servers\": { \"cay\": " VALUE " }\n}\n", CAY_CONFIG_ADDED },
                { "line ends of two bytes", "{\r\n  \"a\": true\r\n}\r\n",
                  "{\r\n  \"a\": true,\r\n  \"servers\": { \"cay\": " VALUE " }\r\n}\r\n", CAY_CONFIG_ADDED },
                { "a comment before line ends of two bytes", "{\r\n  \"a\": 1 // one\r\n}",
                  "{\r\n  \"a\": 1, // one\r\n  \"servers\": { \"cay\": " VALUE " }\r\n}", CAY_CONFIG_ADDED },
                { "a byte order mark", "\xef\xbb\xbf{\"a\": -1.5e3}",
                  "\xef\xbb\xbf{\"a\": -1.5e3, \"servers\": { \"cay\": " VALUE " }}", CAY_CONFIG_ADDED },
                { "it is there, in another layout", "{\"servers\": {\"cay\":\n { \"command\" : \"cay\" } }}",
                  "{\"servers\": {\"cay\":\n { \"command\" : \"cay\" } }}", CAY_CONFIG_SAME },
                { "another of that name", "{\"servers\": {\"cay\": {\"x\": 1}, \"b\": 2}}",
                  "{\"servers\": {\"cay\": " VALUE ", \"b\": 2}}", CAY_CONFIG_OTHER },
                { "the name in a text, and deeper",
                  "{\"a\": {\"servers\": 1}, \"b\": \"\\\"servers\\\": {\"}",
                  "{\"a\": {\"servers\": 1}, \"b\": \"\\\"servers\\\": {\", \"servers\": { \"cay\": " VALUE
                  " }}",
                  CAY_CONFIG_ADDED },
                { "not an object", "[1]", NULL, 0 },
                { "no JSON", "hello", NULL, 0 },
                { "cut off", "{\"a\": 1", NULL, 0 },
                { "a text that is cut off", "{\"a\": \"1", NULL, 0 },
                { "a comma that is missing", "{\"a\": 1 \"b\": 2}", NULL, 0 },
                { "something behind it", "{} {}", NULL, 0 },
                { "a group that is no object", "{\"servers\": []}", NULL, 0 },
                { "twice", "{\"servers\": {}, \"servers\": {}}", NULL, 0 },
                { "a comment without an end", "{} /* x", NULL, 0 },
                { "not UTF-8", "{\"a\": \"\xff\"}", NULL, 0 },
                { "a word that is none", "{\"a\": maybe}", NULL, 0 },
                { "single quotes", "{'a': 1}", NULL, 0 },
        };
        char deep[300];

        (void)state;
        check(rows, sizeof(rows) / sizeof(rows[0]), cay_config_edit_json, VALUE);
        memset(deep, '[', sizeof(deep));
        memcpy(deep, "{\"a\":", 5);
        deep[sizeof(deep) - 1] = '\0';
        check(&(struct row){ "too deep", deep, NULL, 0 }, 1, cay_config_edit_json, VALUE);
}

static void test_toml(void **state)
{
        static const struct row rows[] = {
                { "an empty file", "", "[servers.cay]\n" BODY, CAY_CONFIG_ADDED },
                { "other tables", "model = \"x\"\n\n[servers.b]\ncommand = \"b\"\n",
                  "model = \"x\"\n\n[servers.b]\ncommand = \"b\"\n\n[servers.cay]\n" BODY, CAY_CONFIG_ADDED },
                { "no line end at the end", "a = 1", "a = 1\n\n[servers.cay]\n" BODY, CAY_CONFIG_ADDED },
                { "line ends of two bytes", "a = 1\r\n",
                  "a = 1\r\n\r\n[servers.cay]\r\ncommand = \"cay\"\r\n", CAY_CONFIG_ADDED },
                { "it is there", "[servers.cay]\n" BODY "\n[z]\n", "[servers.cay]\n" BODY "\n[z]\n",
                  CAY_CONFIG_SAME },
                { "it is there, quoted", "[ servers . \"cay\" ]\n" BODY, "[ servers . \"cay\" ]\n" BODY,
                  CAY_CONFIG_SAME },
                { "another of that name", "[servers.cay]\ncommand = \"old\"\n[z]\na = 1\n",
                  "[servers.cay]\n" BODY "\n[z]\na = 1\n", CAY_CONFIG_OTHER },
                { "a head in a text",
                  "a = \"\"\"\n[servers.cay]\n\"\"\"\nb = '''\n[servers.cay]'''\n# [servers.cay]\n",
                  "a = \"\"\"\n[servers.cay]\n\"\"\"\nb = '''\n[servers.cay]'''\n# "
                  "[servers.cay]\n\n[servers.cay]\n" BODY,
                  CAY_CONFIG_ADDED },
                { "an array over several lines", "a = [\n  [1],\n  \"]\", # ]\n]\n",
                  "a = [\n  [1],\n  \"]\", # ]\n]\n\n[servers.cay]\n" BODY, CAY_CONFIG_ADDED },
                { "an inline table", "servers = { b = {} }\n", NULL, 0 },
                { "a dotted name", "servers.cay = { command = \"x\" }\n", NULL, 0 },
                { "a member of the group's table", "[servers]\ncay = { command = \"x\" }\n", NULL, 0 },
                { "a text without an end", "a = \"x\n", NULL, 0 },
                { "a long text without an end", "a = \"\"\"x\n", NULL, 0 },
                { "a bracket without an end", "a = [1,\n", NULL, 0 },
                { "twice", "[servers.cay]\nx = 1\n[a]\n[servers.cay]\n", NULL, 0 },
                { "not UTF-8", "a = \"\xff\"\n", NULL, 0 },
        };

        (void)state;
        check(rows, sizeof(rows) / sizeof(rows[0]), cay_config_edit_toml, BODY);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_json),
                cmocka_unit_test(test_toml),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
