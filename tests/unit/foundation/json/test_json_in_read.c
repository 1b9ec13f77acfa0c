/* SPDX-License-Identifier: Apache-2.0 */
/* Reading by a table: every kind, and every refusal with the field's path. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "foundation/json/json_in.h"

struct limits {
        uint64_t memory, cpus;
        bool has_memory;
};

struct args {
        const char *name, *note;
        uint64_t count, timeout;
        bool wait;
        struct cay_field_texts argv, command, ports;
        struct cay_field_map labels;
        struct limits limits;
        const struct cay_json_value *any;
        char parsed[32];
};

static int keep(const struct cay_field *field, const char *where, const char *text, void *at,
                struct cay_error *err)
{
        if (text[0] == '!')
                return cay_fail(err, CAY_INVALID, "%s: no '!'", where);
        snprintf(at, field->nr, "%s", text);
        return 0;
}

static const struct cay_field limit_fields[] = {
        { "memory", CAY_FIELD_SIZE, offsetof(struct limits, memory), 0, "", .max = 1ull << 40,
          .given = CAY_FIELD_GIVEN(struct limits, has_memory) },
        { "cpus", CAY_FIELD_MILLI, offsetof(struct limits, cpus), 0, "" },
        {},
};

static const struct cay_field fields[] = {
        { "name", CAY_FIELD_TEXT, offsetof(struct args, name), CAY_FIELD_REQUIRED, "", .min = 1, .max = 8 },
        { "note", CAY_FIELD_TEXT, offsetof(struct args, note), 0, "" },
        { "count", CAY_FIELD_U64, offsetof(struct args, count), 0, "", .min = 1, .max = 5 },
        { "timeout", CAY_FIELD_DURATION, offsetof(struct args, timeout), 0, "" },
        { "wait", CAY_FIELD_BOOL, offsetof(struct args, wait), 0, "" },
        { "argv", CAY_FIELD_TEXTS, offsetof(struct args, argv), 0, "", .min = 1, .max = 3, .item_max = 4 },
        { "ports", CAY_FIELD_TEXTS, offsetof(struct args, ports), CAY_FIELD_NUMBERS, "", .max = 3 },
        { "command", CAY_FIELD_WORDS, offsetof(struct args, command), 0, "", .item_max = 10 },
        { "labels", CAY_FIELD_MAP, offsetof(struct args, labels), 0, "", .max = 2, .item_max = 4 },
        { "limits", CAY_FIELD_OBJECT, offsetof(struct args, limits), 0, "", .fields = limit_fields },
        { "any", CAY_FIELD_ANY, offsetof(struct args, any), 0, "" },
        { "parsed", CAY_FIELD_PARSED, offsetof(struct args, parsed), 0, "", .parse = keep, .nr = 32 },
        {},
};

static struct cay_json_in *doc;

static int drop_doc(void **state)
{
        cay_json_in_free(doc);
        doc = NULL;
        return 0;
}

static int try(const char *text, struct args *args, char *field, struct cay_error *err)
{
        drop_doc(NULL);
        assert_int_equal(cay_json_in_parse(text, strlen(text), NULL, &doc, err), 0);
        return cay_json_in_read(doc, cay_json_in_root(doc), fields, args, field, err);
}

static struct args reads(const char *text)
{
        struct args args = { .count = 77 };
        struct cay_error err = { 0 };
        char field[CAY_JSON_IN_FIELD_MAX + 1];

        if (try(text, &args, field, &err) < 0)
                fail_msg("%s: %s", text, err.msg);
        return args;
}

static void refuses(const char *text, const char *field, const char *msg)
{
        struct args args = { 0 };
        struct cay_error err = { 0 };
        char got[CAY_JSON_IN_FIELD_MAX + 1];

        assert_int_equal(try(text, &args, got, &err), -1);
        assert_int_equal(err.code, CAY_INVALID);
        assert_string_equal(got, field);
        assert_string_equal(err.msg, msg);
}

static void numbers_as_texts(void **state)
{
        struct args a = reads("{\"name\":\"n\",\"ports\":[80,\"3000:80\",-9223372036854775808]}");

        assert_int_equal(a.ports.count, 3);
        assert_string_equal(a.ports.items[0], "80");
        assert_string_equal(a.ports.items[1], "3000:80");
        assert_string_equal(a.ports.items[2], "-9223372036854775808");
}

static void fills_every_kind(void **state)
{
        struct args a =
                reads("{\"name\":\"n\",\"note\":\"x\",\"count\":5,\"timeout\":\"2m\",\"wait\":true,"
                      "\"argv\":[\"a\",\"\"],\"command\":[\"ls\",\"-l\"],\"labels\":{\"k\":\"v\",\"l\":\"\"},"
                      "\"limits\":{\"memory\":\"1g\",\"cpus\":0.1},\"any\":[1],\"parsed\":\"p\"}");

        assert_string_equal(a.name, "n");
        assert_string_equal(a.note, "x");
        assert_int_equal(a.count, 5);
        assert_int_equal(a.timeout, 120000);
        assert_true(a.wait);
        assert_int_equal(a.argv.count, 2);
        assert_string_equal(a.argv.items[0], "a");
        assert_string_equal(a.argv.items[1], "");
        assert_null(a.argv.items[2]);
        assert_null(a.command.line);
        assert_string_equal(a.command.items[1], "-l");
        assert_int_equal(a.labels.count, 2);
        assert_string_equal(a.labels.pairs[0].name, "k");
        assert_string_equal(a.labels.pairs[1].value, "");
        assert_int_equal(a.limits.memory, 1u << 30);
        assert_true(a.limits.has_memory);
        assert_int_equal(a.limits.cpus, 100);
        assert_int_equal(cay_json_value_count(a.any), 1);
        assert_string_equal(a.parsed, "p");
}

static void numbers_and_lines_are_other_forms(void **state)
{
        struct args a =
                reads("{\"name\":\"n\",\"timeout\":1.5,\"command\":\"ls -l\",\"limits\":{\"memory\":1048576,"
                      "\"cpus\":2},\"parsed\":12}");

        assert_int_equal(a.timeout, 1500);
        assert_string_equal(a.command.line, "ls -l");
        assert_null(a.command.items);
        assert_int_equal(a.limits.memory, 1 << 20);
        assert_int_equal(a.limits.cpus, 2000);
        assert_string_equal(a.parsed, "12");
}

static void what_is_not_given_is_untouched(void **state)
{
        struct args a = reads("{\"name\":\"n\",\"note\":null}");

        assert_int_equal(a.count, 77);
        assert_null(a.note);
        assert_false(a.limits.has_memory);
}

static void names_the_field(void **state)
{
        refuses("{}", "name", "name: is required");
        refuses("{\"name\":null}", "name", "name: is required");
        refuses("{\"name\":7}", "name", "name: must be a text, not a number");
        refuses("{\"name\":\"\"}", "name", "name: must not be empty");
        refuses("{\"name\":\"123456789\"}", "name", "name: 9 bytes are too many: at most 8");
        refuses("{\"name\":\"n\",\"nmae\":1}", "nmae", "nmae: unknown field");
        refuses("{\"name\":\"n\",\"count\":6}", "count", "count: 6 is too big: at most 5");
        refuses("{\"name\":\"n\",\"count\":0}", "count", "count: 0 is too small: at least 1");
        refuses("{\"name\":\"n\",\"count\":-1}", "count", "count: -1 is negative");
        refuses("{\"name\":\"n\",\"count\":1.0}", "count",
                "count: must be a whole number, not a number with decimals");
        refuses("{\"name\":\"n\",\"count\":\"1\"}", "count", "count: must be a whole number, not a text");
        refuses("{\"name\":\"n\",\"wait\":1}", "wait", "wait: must be true or false, not a number");
        refuses("{\"name\":\"n\",\"argv\":[]}", "argv", "argv: 0 entries are too few: at least 1");
        refuses("{\"name\":\"n\",\"argv\":[\"a\",\"a\",\"a\",\"a\"]}", "argv",
                "argv: 4 entries are too many: at most 3");
        refuses("{\"name\":\"n\",\"argv\":[\"a\",7]}", "argv.1", "argv.1: must be a text, not a number");
        refuses("{\"name\":\"n\",\"argv\":[\"a\",\"12345\"]}", "argv.1",
                "argv.1: 5 bytes are too many: at most 4");
        refuses("{\"name\":\"n\",\"ports\":[80,8.5]}", "ports.1",
                "ports.1: must be a text, not a number with decimals");
        refuses("{\"name\":\"n\",\"argv\":\"a\"}", "argv", "argv: must be a list of texts, not a text");
        refuses("{\"name\":\"n\",\"command\":7}", "command",
                "command: must be a text or a list of texts, not a number");
        refuses("{\"name\":\"n\",\"command\":\"01234567890\"}", "command",
                "command: 11 bytes are too many: at most 10");
        refuses("{\"name\":\"n\",\"labels\":{\"a\":1}}", "labels.a",
                "labels.a: must be a text, not a number");
        refuses("{\"name\":\"n\",\"labels\":{\"a\":\"\",\"b\":\"\",\"c\":\"\"}}", "labels",
                "labels: 3 entries are too many: at most 2");
        refuses("{\"name\":\"n\",\"labels\":[]}", "labels",
                "labels: must be an object whose values are texts, not a list");
        refuses("{\"name\":\"n\",\"limits\":[]}", "limits", "limits: must be an object, not a list");
        refuses("{\"name\":\"n\",\"limits\":{\"mem\":1}}", "limits.mem", "limits.mem: unknown field");
        refuses("{\"name\":\"n\",\"parsed\":\"!\"}", "parsed", "parsed: no '!'");
}

/* security.md 2.4, row "limits". */
static void limits_that_overflow_are_refused(void **state)
{
        refuses("{\"name\":\"n\",\"limits\":{\"memory\":\"99999999999999g\"}}", "limits.memory",
                "limits.memory: '99999999999999g' is too big");
        refuses("{\"name\":\"n\",\"limits\":{\"memory\":-1}}", "limits.memory",
                "limits.memory: '-1' is not a size (like 256m, 1.5g or 1048576)");
        refuses("{\"name\":\"n\",\"limits\":{\"memory\":9223372036854775807}}", "limits.memory",
                "limits.memory: 9223372036854775807 is too big: at most 1t");
        refuses("{\"name\":\"n\",\"limits\":{\"memory\":\"18446744073709551616\"}}", "limits.memory",
                "limits.memory: '18446744073709551616' is too big");
        refuses("{\"name\":\"n\",\"limits\":{\"memory\":\"NaN\"}}", "limits.memory",
                "limits.memory: 'NaN' is not a size (like 256m, 1.5g or 1048576)");
        refuses("{\"name\":\"n\",\"limits\":{\"memory\":\"inf\"}}", "limits.memory",
                "limits.memory: 'inf' is not a size (like 256m, 1.5g or 1048576)");
        refuses("{\"name\":\"n\",\"limits\":{\"memory\":1e308}}", "limits.memory",
                "limits.memory: '1e+308' is not a size (like 256m, 1.5g or 1048576)");
        refuses("{\"name\":\"n\",\"limits\":{\"memory\":[1]}}", "limits.memory",
                "limits.memory: must be a size (like 256m, 1.5g or 1048576), not a list");
        refuses("{\"name\":\"n\",\"limits\":{\"cpus\":0.0001}}", "limits.cpus",
                "limits.cpus: '0.0001' is not a number with at most three decimals");
}

static void only_an_object_has_fields(void **state)
{
        struct args args = { 0 };
        struct cay_error err = { 0 };
        char field[CAY_JSON_IN_FIELD_MAX + 1] = "x";

        assert_int_equal(try("[1]", &args, field, &err), -1);
        assert_string_equal(field, "");
        assert_string_equal(err.msg, "must be an object, not a list");
}

static void a_long_name_is_cut(void **state)
{
        char text[600], field[CAY_JSON_IN_FIELD_MAX + 1];
        struct args args = { 0 };
        struct cay_error err = { 0 };

        snprintf(text, sizeof(text), "{\"name\":\"n\",\"%0500d\":1}", 0);
        assert_int_equal(try(text, &args, field, &err), -1);
        assert_int_equal(strlen(field), CAY_JSON_IN_FIELD_MAX);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_teardown(fills_every_kind, drop_doc),
                cmocka_unit_test_teardown(numbers_as_texts, drop_doc),
                cmocka_unit_test_teardown(numbers_and_lines_are_other_forms, drop_doc),
                cmocka_unit_test_teardown(what_is_not_given_is_untouched, drop_doc),
                cmocka_unit_test_teardown(names_the_field, drop_doc),
                cmocka_unit_test_teardown(limits_that_overflow_are_refused, drop_doc),
                cmocka_unit_test_teardown(only_an_object_has_fields, drop_doc),
                cmocka_unit_test_teardown(a_long_name_is_cut, drop_doc),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
