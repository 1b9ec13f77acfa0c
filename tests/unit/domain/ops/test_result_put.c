/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members of structs, written by their rows: every kind, every size of number, values that are there, empty,
 * or left out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "domain/ops/op.h"
#include "domain/ops/result_rows.h"

struct inner {
        uint16_t number;
        const char *text;
};

struct thing {
        const char *text, *nothing, *empty, *json, *no_json;
        char chars[8], no_chars[8];
        uint64_t big, at, never, zero;
        int64_t at_s, never_s;
        unsigned count, mask, known_count, list_count, far_count;
        uint16_t port;
        uint8_t small;
        bool yes, no;
        struct cay_field_map map;
        struct inner inner, list[3];
        const struct inner *far, *far_list;
};

#define THING struct thing
#define INNER struct inner

static const char *word(unsigned value)
{
        static const char *const words[] = { "none", "one", "two", "three" };

        return words[value];
}

static void put_sum(struct cay_json *j, const void *object, enum cay_op_dialect dialect)
{
        cay_json_u64(j, ((const THING *)object)->port + (unsigned)dialect);
}

static void print(const struct cay_result_table *table, const struct thing *t, enum cay_op_dialect dialect,
                  const char *expected)
{
        cay_auto_buf struct cay_buf out = { 0 };
        struct cay_json j;

        cay_buf_init(&out, 4096);
        cay_json_init(&j, &out);
        cay_json_begin_object(&j);
        cay_op_put_members_for(&j, table, t, dialect);
        cay_json_end_object(&j);
        assert_int_equal(cay_json_end(&j), 0);
        assert_string_equal(cay_buf_data(&out), expected);
}

static const struct thing thing = { .text = "a",
                                    .empty = "",
                                    .json = "{\"a\":1}",
                                    .no_json = "",
                                    .chars = "bcdefgh",
                                    .big = 1ull << 40,
                                    .at = 1000,
                                    .at_s = 1,
                                    .never_s = -1,
                                    .count = 4000000000u,
                                    .mask = 5,
                                    .list_count = 2,
                                    .far_count = 1,
                                    .port = 65535,
                                    .small = 2,
                                    .yes = true,
                                    .map = { (struct cay_field_pair[]){ { "k", "v" } }, 1 },
                                    .inner = { 7, "in" },
                                    .list = { { 1, "x" }, { 2, "y" } },
                                    .far = &(const struct inner){ 8, "far" },
                                    .far_list = (const struct inner[]){ { 9, "z" } } };

RESULT(values, NULL, MEMBER(TEXT, THING, text), TEXT("by_hand"), MAYBE_AS("nothing", TEXT, THING, nothing),
       MAYBE_AS("empty", TEXT, THING, empty), AS("letters", TEXT, THING, chars),
       MAYBE_AS("no_letters", TEXT, THING, no_chars), MEMBER(NUMBER, THING, big), MEMBER(TIME, THING, at),
       MEMBER(TIME, THING, never), SECONDS("at_s", THING, at_s), SECONDS("never_s", THING, never_s),
       MEMBER(NUMBER, THING, count), MEMBER(NUMBER, THING, port), MEMBER(BOOL, THING, yes),
       MEMBER(BOOL, THING, no), WORD("word", THING, small, word), MASK("words", THING, mask, word),
       MAYBE_WORD("no_word", THING, list_count, word), MEMBER(ANY, THING, json), MEMBER(ANY, THING, no_json),
       MEMBER(PAIRS, THING, map), COMPUTED("sum", NUMBER, 0, put_sum));

static void members(void **state)
{
        print(&values, &thing, CAY_OP_REST,
              "{\"text\":\"a\",\"nothing\":null,\"empty\":null,\"letters\":\"bcdefgh\","
              "\"no_letters\":null,\"big\":1099511627776,\"at\":\"1970-01-01T00:00:01.000Z\","
              "\"never\":null,\"at_s\":\"1970-01-01T00:00:01.000Z\",\"never_s\":null,"
              "\"count\":4000000000,\"port\":65535,\"yes\":true,\"no\":false,\"word\":\"two\","
              "\"words\":[\"none\",\"two\"],\"no_word\":\"two\",\"json\":{\"a\":1},\"no_json\":null,"
              "\"map\":{\"k\":\"v\"},\"sum\":65535}");
        (void)state;
}

RESULT(maybe, NULL, MAYBE_AS("zero", NUMBER, THING, zero), IF_AS("left_out", NUMBER, THING, zero),
       IF_AS("big", NUMBER, THING, big), MAYBE_GIVEN("given", NUMBER, THING, zero, yes),
       MAYBE_GIVEN("null", NUMBER, THING, big, no), IF_GIVEN("there", TEXT, THING, empty, yes),
       IF_GIVEN("not_there", TEXT, THING, text, no), IF_WORD("word", THING, small, word, yes),
       IF_WORD("no_word", THING, small, word, no), MAYBE_WORD("none", THING, zero, word),
       COMPUTED_IF("sum", NUMBER, put_sum, THING, yes), COMPUTED_IF("no_sum", NUMBER, put_sum, THING, no));

static void given(void **state)
{
        print(&maybe, &thing, CAY_OP_REST,
              "{\"zero\":null,\"big\":1099511627776,\"given\":0,\"null\":null,\"there\":\"\","
              "\"word\":\"two\",\"none\":null,\"sum\":65535}");
        (void)state;
}

RESULT(inner_rows, "Inner", MEMBER(NUMBER, INNER, number), MEMBER(TEXT, INNER, text));
RESULT(part, NULL, MEMBER(TEXT, THING, text), COMPUTED("sum", NUMBER, 0, put_sum));
RESULT(nested, NULL, OBJECT_AS("inner", inner_rows, THING, inner), OBJECT_AT("far", inner_rows, THING, far),
       OBJECT_HERE("here", part), IF_OBJECT_HERE("not_here", part, THING, no),
       LIST_AS("list", inner_rows, THING, list, list_count), ALSO_AS(inner_rows, THING, inner),
       LIST_AS("far_list", inner_rows, THING, far_list, far_count),
       LIST_AS("no_list", inner_rows, THING, far_list, known_count));

static void objects(void **state)
{
        print(&nested, &thing, CAY_OP_CONTAINERS,
              "{\"inner\":{\"number\":7,\"text\":\"in\"},\"far\":{\"number\":8,\"text\":\"far\"},"
              "\"here\":{\"text\":\"a\",\"sum\":65536},"
              "\"list\":[{\"number\":1,\"text\":\"x\"},{\"number\":2,\"text\":\"y\"}],"
              "\"number\":7,\"text\":\"in\",\"far_list\":[{\"number\":9,\"text\":\"z\"}],\"no_list\":[]}");
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(members),
                cmocka_unit_test(given),
                cmocka_unit_test(objects),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
