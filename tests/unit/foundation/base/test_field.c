/* SPDX-License-Identifier: Apache-2.0 */
/* Fields from text: each kind, each bound, the error names its place. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "foundation/base/field.h"

struct args {
        const char *text;
        uint64_t number, size, duration, milli;
        bool yes, given;
        int parsed;
        struct cay_field_texts list;
};

static int parse_int(const struct cay_field *field, const char *where, const char *text, void *at,
                     struct cay_error *err)
{
        if (strcmp(text, "bad") == 0)
                return cay_fail(err, CAY_INVALID, "%s: bad %zu", where, field->nr);
        *(int *)at = (int)field->nr;
        return 0;
}

static const struct cay_field table[] = {
        { "text", CAY_FIELD_TEXT, offsetof(struct args, text), 0, "", .min = 2, .max = 4,
          .given = CAY_FIELD_GIVEN(struct args, given) },
        { "number", CAY_FIELD_U64, offsetof(struct args, number), 0, "", .min = 3, .max = 9 },
        { "size", CAY_FIELD_SIZE, offsetof(struct args, size), 0, "" },
        { "duration", CAY_FIELD_DURATION, offsetof(struct args, duration), 0, "" },
        { "milli", CAY_FIELD_MILLI, offsetof(struct args, milli), 0, "" },
        { "yes", CAY_FIELD_BOOL, offsetof(struct args, yes), 0, "" },
        { "parsed", CAY_FIELD_PARSED, offsetof(struct args, parsed), 0, "", .parse = parse_int, .nr = 42 },
        { "list", CAY_FIELD_TEXTS, offsetof(struct args, list), 0, "" },
        {},
};

static int set(struct args *a, const char *name, const char *text, struct cay_error *err)
{
        const struct cay_field *f = cay_field_find(table, name, strlen(name));

        assert_non_null(f);
        return cay_field_set_text(f, "here", text, a, err);
}

static void fills(const char *name, const char *text)
{
        struct args a = { 0 };
        struct cay_error err = { 0 };

        if (set(&a, name, text, &err) < 0)
                fail_msg("%s = %s: %s", name, text, err.msg);
}

static void refuses(const char *name, const char *text, const char *msg)
{
        struct args a = { 0 }, before = a;
        struct cay_error err = { 0 };

        assert_int_equal(set(&a, name, text, &err), -1);
        assert_int_equal(err.code, CAY_INVALID);
        assert_string_equal(err.msg, msg);
        assert_memory_equal(&a, &before, sizeof(a));
}

static void each_kind_is_parsed(void **state)
{
        struct args a = { 0 };
        struct cay_error err;

        assert_int_equal(set(&a, "text", "abcd", &err), 0);
        assert_int_equal(set(&a, "number", "9", &err), 0);
        assert_int_equal(set(&a, "size", "2k", &err), 0);
        assert_int_equal(set(&a, "duration", "1.5", &err), 0);
        assert_int_equal(set(&a, "milli", "0.25", &err), 0);
        assert_int_equal(set(&a, "yes", "true", &err), 0);
        assert_int_equal(set(&a, "parsed", "x", &err), 0);
        assert_string_equal(a.text, "abcd");
        assert_true(a.given);
        assert_int_equal(a.number, 9);
        assert_int_equal(a.size, 2048);
        assert_int_equal(a.duration, 1500);
        assert_int_equal(a.milli, 250);
        assert_true(a.yes);
        assert_int_equal(a.parsed, 42);
        fills("number", "3");
        fills("text", "ab");
        fills("yes", "0");
}

static void wrong_values_are_refused_with_their_place(void **state)
{
        refuses("text", "abcde", "here: 5 bytes are too many: at most 4");
        refuses("text", "a", "here: 1 bytes are too few: at least 2");
        refuses("text", "", "here: must not be empty");
        refuses("number", "10", "here: 10 is too big: at most 9");
        refuses("number", "2", "here: 2 is too small: at least 3");
        refuses("number", "-1", "here: '-1' is not a whole number");
        refuses("number", "99999999999999999999", "here: '99999999999999999999' is too big");
        refuses("size", "1x", "here: '1x' is not a size (like 256m, 1.5g or 1048576)");
        refuses("yes", "maybe", "here: 'maybe' is not true or false");
        refuses("parsed", "bad", "here: bad 42");
        refuses("list", "a", "here: must be a list of texts");
}

static void names_are_whole(void **state)
{
        assert_null(cay_field_find(table, "numbers", 7));
        assert_null(cay_field_find(table, "numbe", 5));
        assert_ptr_equal(cay_field_find(table, "numbers", 6), &table[1]);
        assert_string_equal(cay_field_kind_text((enum cay_field_kind)99), "nothing");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(each_kind_is_parsed),
                cmocka_unit_test(wrong_values_are_refused_with_their_place),
                cmocka_unit_test(names_are_whole),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
