/* SPDX-License-Identifier: Apache-2.0 */
/* Edits between texts: known answers, and on random texts that they are right and as few as can be. */
#include "changes_test.h"

#include "cay/changes/line_diff.h"

static void texts(struct cay_text *a, struct cay_text *b, const char *old, const char *new)
{
        assert_int_equal(cay_text_init(a, old, strlen(old)), 0);
        assert_int_equal(cay_text_init(b, new, strlen(new)), 0);
}

/* The edits as "a_at-a_count+b_at+b_count" joined by blanks. */
static void check(const char *old, const char *new, const char *expected)
{
        struct cay_text a, b;
        struct cay_edits e;
        char got[512] = "";
        size_t n = 0;

        texts(&a, &b, old, new);
        assert_int_equal(cay_line_diff(&a, &b, &e), 0);
        for (size_t i = 0; i < e.count; i++)
                n += (size_t)snprintf(got + n, sizeof(got) - n, "%s%u-%u+%u+%u", i ? " " : "", e.list[i].a_at,
                                      e.list[i].a_count, e.list[i].b_at, e.list[i].b_count);
        assert_string_equal(got, expected);
        cay_edits_done(&e);
        cay_text_done(&a);
        cay_text_done(&b);
}

static void lines_are_split(void **state)
{
        struct cay_text t;

        (void)state;
        assert_int_equal(cay_text_init(&t, "", 0), 0);
        assert_int_equal(t.lines, 0);
        cay_text_done(&t);
        assert_int_equal(cay_text_init(&t, "a\n\nbc", 5), 0);
        assert_int_equal(t.lines, 3);
        assert_int_equal(t.starts[1], 2);
        assert_int_equal(t.starts[2], 3);
        assert_int_equal(t.starts[3], 5);
        cay_text_done(&t);
}

static void known_answers(void **state)
{
        (void)state;
        check("", "", "");
        check("a\n", "a\n", "");
        check("", "a\nb\n", "0-0+0+2");
        check("a\nb\n", "", "0-2+0+0");
        check("a\nb\nc\n", "a\nX\nc\n", "1-1+1+1");
        check("a\nb\nc\n", "a\nc\n", "1-1+1+0");
        check("a\nc\n", "a\nb\nc\n", "1-0+1+1");
        check("a\nb", "a\nb\n", "1-1+1+1"); /* the newline is part of the line */
        check("a\nb\nc\nd\ne\nf\ng\nh\n", "b\nc\nd\ne\nf\ng\nh\ni\n", "0-1+0+0 8-0+7+1");
        /* Added lines are told as far down as they fit. */
        check("f {\n}\n", "f {\n}\ng {\n}\n", "2-0+2+2");
        check("x\nx\nx\n", "x\nx\n", "2-1+2+0");
}

/* Deterministic, so that a failure can be looked at. */
static uint32_t seed;

static uint32_t next(uint32_t below)
{
        seed = seed * 1103515245 + 12345;
        return (seed >> 8) % below;
}

static size_t random_text(char *to, unsigned lines, unsigned letters)
{
        size_t n = 0;

        for (unsigned i = 0; i < lines; i++) {
                to[n++] = (char)('a' + next(letters));
                to[n++] = '\n';
        }
        return n > 0 && next(4) == 0 ? n - 1 : n;
}

static size_t changed_text(char *to, const char *from, size_t len, unsigned letters)
{
        size_t n = 0;

        for (size_t i = 0; i < len; i += 2) {
                if (next(6) == 0)
                        continue;
                if (next(6) == 0) {
                        to[n++] = (char)('a' + next(letters));
                        to[n++] = '\n';
                }
                to[n++] = from[i];
                if (i + 1 < len)
                        to[n++] = '\n';
        }
        return n;
}

static bool same_line(const struct cay_text *a, uint32_t i, const struct cay_text *b, uint32_t j)
{
        uint32_t len = a->starts[i + 1] - a->starts[i];

        return len == b->starts[j + 1] - b->starts[j] &&
               memcmp(a->bytes + a->starts[i], b->bytes + b->starts[j], len) == 0;
}

/* Following the edits turns a into b. */
static void must_be_right(const struct cay_text *a, const struct cay_text *b, const struct cay_edits *e)
{
        uint32_t i = 0, j = 0;
        uint64_t removed = 0, added = 0;

        for (size_t k = 0; k <= e->count; k++) {
                uint32_t until = k < e->count ? e->list[k].a_at : a->lines;

                while (i < until) {
                        assert_true(j < b->lines && same_line(a, i, b, j));
                        i++, j++;
                }
                if (k == e->count)
                        break;
                assert_int_equal(j, e->list[k].b_at);
                assert_true(e->list[k].a_count > 0 || e->list[k].b_count > 0);
                i += e->list[k].a_count;
                j += e->list[k].b_count;
                removed += e->list[k].a_count;
                added += e->list[k].b_count;
        }
        assert_int_equal(i, a->lines);
        assert_int_equal(j, b->lines);
        assert_true(removed == e->removed && added == e->added);
}

static uint32_t longest_common(const struct cay_text *a, const struct cay_text *b)
{
        static uint32_t length[100][100];

        for (uint32_t i = 0; i < a->lines; i++)
                for (uint32_t j = 0; j < b->lines; j++) {
                        uint32_t best =
                                length[i][j + 1] > length[i + 1][j] ? length[i][j + 1] : length[i + 1][j];

                        length[i + 1][j + 1] = same_line(a, i, b, j) ? length[i][j] + 1 : best;
                }
        return length[a->lines][b->lines];
}

static void small_texts_get_the_shortest_answer(void **state)
{
        (void)state;
        for (unsigned round = 0; round < 20000; round++) {
                char old[128], new[256];
                unsigned letters;
                size_t n, m;
                struct cay_text a, b;
                struct cay_edits e;
                uint32_t common;

                seed = round;
                letters = 1 + next(6);
                n = random_text(old, next(40), letters);
                m = next(2) ? random_text(new, next(40), letters) : changed_text(new, old, n, letters);
                assert_int_equal(cay_text_init(&a, old, n), 0);
                assert_int_equal(cay_text_init(&b, new, m), 0);
                assert_int_equal(cay_line_diff(&a, &b, &e), 0);
                must_be_right(&a, &b, &e);
                common = longest_common(&a, &b);
                assert_int_equal(e.removed, a.lines - common);
                assert_int_equal(e.added, b.lines - common);
                cay_edits_done(&e);
                cay_text_done(&a);
                cay_text_done(&b);
        }
}

/* So different that the search is cut short: the answer is longer, but right. */
static void large_texts_get_a_right_answer(void **state)
{
        enum { LINES = 20000 };
        char *old = malloc(2 * LINES), *new = malloc(2 * LINES);
        struct cay_text a, b;
        struct cay_edits e;
        size_t n, m;

        (void)state;
        seed = 7;
        n = random_text(old, LINES, 26);
        m = random_text(new, LINES, 26);
        assert_int_equal(cay_text_init(&a, old, n), 0);
        assert_int_equal(cay_text_init(&b, new, m), 0);
        assert_int_equal(cay_line_diff(&a, &b, &e), 0);
        must_be_right(&a, &b, &e);
        assert_true(e.removed < LINES * 9 / 10); /* and yet not all of it */
        cay_edits_done(&e);
        cay_text_done(&a);
        cay_text_done(&b);
        free(old);
        free(new);
}

static void too_many_lines_are_refused(void **state)
{
        char *mem = malloc(CAY_LINES_MAX + 1);
        struct cay_text t;

        (void)state;
        memset(mem, '\n', CAY_LINES_MAX + 1);
        assert_int_equal(cay_text_init(&t, mem, CAY_LINES_MAX + 1), -E2BIG);
        assert_int_equal(cay_text_init(&t, mem, CAY_LINES_MAX), 0);
        assert_int_equal(t.lines, CAY_LINES_MAX);
        cay_text_done(&t);
        free(mem);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(lines_are_split),
                cmocka_unit_test(known_answers),
                cmocka_unit_test(small_texts_get_the_shortest_answer),
                cmocka_unit_test(large_texts_get_a_right_answer),
                cmocka_unit_test(too_many_lines_are_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
