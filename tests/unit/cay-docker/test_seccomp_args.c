/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What passes of a row, cut into pieces: exactly what reading the row from the top lets pass, and nothing
 * twice.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "cay-docker/seccomp.h"
#include "cay-docker/seccomp_args.h"
#include "foundation/json/json_in.h"

static struct docker_seccomp_piece pieces[DOCKER_SECCOMP_PIECES_MAX];

static bool is_in(const struct docker_seccomp_test *t, uint32_t arg)
{
        return arg - t->value < 32 && t->mask & 1u << (arg - t->value);
}

static bool holds(const struct docker_seccomp_case *c, const uint32_t *args)
{
        for (const struct docker_seccomp_test *t = c->tests; t->kind != DOCKER_SECCOMP_NO_TEST; t++)
                if (t->kind == DOCKER_SECCOMP_IN
                            ? !is_in(t, args[t->arg])
                            : ((args[t->arg] & t->mask) == t->value) != (t->kind == DOCKER_SECCOMP_IS))
                        return false;
        return true;
}

static bool passes(const struct docker_seccomp_row *row, const uint32_t *args)
{
        for (const struct docker_seccomp_case *c = row->cases; c->tests[0].kind != DOCKER_SECCOMP_NO_TEST;
             c++)
                if (holds(c, args))
                        return c->passes;
        return row->passes;
}

static unsigned count_holding(int count, const uint32_t *args)
{
        unsigned found = 0;

        for (int i = 0; i < count; i++) {
                bool all = true;

                for (unsigned a = 0; a < DOCKER_SECCOMP_ARGS; a++)
                        all = all && (args[a] & pieces[i].mask[a]) == pieces[i].value[a];
                found += all;
        }
        return found;
}

static uint32_t next(uint32_t *seed)
{
        *seed = *seed * 1664525u + 1013904223u;
        return *seed >> 3 ^ *seed << 7;
}

/* Arguments near what the row tests: its own values, with a bit turned now and then, and any. */
static void choose(const struct docker_seccomp_row *row, uint32_t *seed, uint32_t *args)
{
        for (unsigned a = 0; a < DOCKER_SECCOMP_ARGS; a++)
                args[a] = next(seed) & 1 ? next(seed) & 0xff : next(seed);
        for (const struct docker_seccomp_case *c = row->cases; c->tests[0].kind != DOCKER_SECCOMP_NO_TEST;
             c++) {
                for (const struct docker_seccomp_test *t = c->tests; t->kind != DOCKER_SECCOMP_NO_TEST; t++) {
                        uint32_t dice = next(seed) % 6;

                        if (dice < 2)
                                args[t->arg] =
                                        t->value + (t->kind == DOCKER_SECCOMP_IN ? next(seed) % 33 : 0);
                        else if (dice == 2)
                                args[t->arg] = t->value ^ 1u << next(seed) % 32;
                        else if (dice == 3)
                                args[t->arg] &= ~t->mask;
                }
        }
}

static void pieces_are_what_passes(void **state)
{
        uint32_t seed = 7, args[DOCKER_SECCOMP_ARGS];

        for (const struct docker_seccomp_row *row = docker_seccomp_rows; row->name; row++) {
                int count = docker_seccomp_cut(row, pieces);
                unsigned yes = 0, no = 0;

                assert_true(count > 0);
                for (unsigned i = 0; i < 20000; i++) {
                        bool expected;

                        choose(row, &seed, args);
                        expected = passes(row, args);
                        if (count_holding(count, args) != expected)
                                fail_msg("%s(%x, %x, %x): %u pieces, expected %d", row->name, args[0],
                                         args[1], args[2], count_holding(count, args), expected);
                        yes += expected;
                        no += !expected;
                }
                assert_true(yes > 0 && no > 0); /* both were tried */
        }
}

static void a_row_with_too_much(void **state)
{
        struct docker_seccomp_case cases[48] = { 0 };
        const struct docker_seccomp_row row = { "x", true, cases };

        for (unsigned i = 0; i < 47; i++)
                cases[i].tests[0] =
                        (struct docker_seccomp_test){ DOCKER_SECCOMP_IS, i % 6, UINT32_MAX, i * 0x9e3779b9u };
        assert_int_equal(docker_seccomp_cut(&row, pieces), -E2BIG);
}

static bool has_name(const struct cay_json_value *rule, const char *name)
{
        const struct cay_json_value *names = cay_json_value_find(rule, "names");

        for (size_t i = 0; i < cay_json_value_count(names); i++)
                if (strcmp(cay_json_value_text(cay_json_value_at(names, i)), name) == 0)
                        return true;
        return false;
}

/* Without an init: no call for its sake, and none that looks at arguments passes without a look. */
static void the_profile(void **state)
{
        const struct cay_json_in_limits limits = { .bytes = 1 << 20, .values = 100000 };
        struct cay_error err = { 0 };
        struct cay_json_in *doc = NULL;
        const struct cay_json_value *rules;
        struct cay_buf text;
        unsigned clones = 0;

        cay_buf_init(&text, 1 << 20);
        assert_int_equal(docker_seccomp_put(&text, false), 0);
        cay_buf_drop(&text, strlen("seccomp="));
        assert_int_equal(cay_json_in_parse(cay_buf_data(&text), text.len, &limits, &doc, &err), 0);
        rules = cay_json_value_find(cay_json_in_root(doc), "syscalls");
        assert_true(has_name(cay_json_value_at(rules, 0), "execve"));
        assert_false(has_name(cay_json_value_at(rules, 0), "landlock_restrict_self"));
        assert_false(has_name(cay_json_value_at(rules, 0), "setgroups"));
        assert_false(has_name(cay_json_value_at(rules, 0), "clone"));
        assert_true(has_name(cay_json_value_at(rules, 1), "openat2"));
        for (size_t i = 3; i < cay_json_value_count(rules); i++) {
                const struct cay_json_value *rule = cay_json_value_at(rules, i), *args;
                int64_t mask = 0;

                args = cay_json_value_find(rule, "args");
                assert_true(cay_json_value_count(args) > 0);
                if (!has_name(rule, "clone"))
                        continue;
                clones++;
                assert_int_equal(cay_json_value_count(args), 1);
                assert_true(
                        cay_json_value_i64(cay_json_value_find(cay_json_value_at(args, 0), "value"), &mask));
                assert_true(mask & CLONE_NEWUSER && mask & CLONE_NEWNET);
        }
        assert_int_equal(clones, 1);
        cay_json_in_free(doc);
        cay_buf_done(&text);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(pieces_are_what_passes),
                cmocka_unit_test(a_row_with_too_much),
                cmocka_unit_test(the_profile),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
