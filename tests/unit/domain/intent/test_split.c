/* SPDX-License-Identifier: Apache-2.0 */
/* What is code, what is somebody else's, what are the writer's own words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "domain/intent/intent_priv.h"

struct want {
        const char *text;
        unsigned count;
        enum cay_intent_code_kind kind;
        const char *code, *tag; /* of the first piece */
        const char *gone;       /* is in the message, and not among its plain words */
        const char *stays;
};

static const struct want wants[] = {
        { "go\n```py\nx = 1\n```\nend", 1, CAY_INTENT_FENCED, "x = 1\n", "py", "x = 1", "end" },
        { "~~~ python title=a\nx\n~~~\n", 1, CAY_INTENT_FENCED, "x\n", "python", "x\n", NULL },
        { "```{.python}\nx\n```", 1, CAY_INTENT_FENCED, "x\n", "python", NULL, NULL },
        { "````\n```\nx\n```\n````\nout", 1, CAY_INTENT_FENCED, "```\nx\n```\n", "", "x", "out" },
        { "```sh\nls", 1, CAY_INTENT_FENCED, "ls", "sh", "ls", NULL }, /* never closed */
        { "```js\na\n~~~\n```\nb", 1, CAY_INTENT_FENCED, "a\n~~~\n", "js", NULL, "b" },
        { "```\n   \n```\nx", 0, CAY_INTENT_NO_CODE, NULL, NULL, NULL, "x" }, /* nothing in it */
        { "    ```\nno fence", 0, CAY_INTENT_NO_CODE, NULL, NULL, NULL, "no fence" },
        { "a\n```py\n1\n```\nb\n```js\n2\n```", 2, CAY_INTENT_FENCED, "1\n", "py", "js", "b" },
        { "run `ls -l /` now", 1, CAY_INTENT_INLINE, "ls -l /", "", "ls", "now" },
        { "``a ` (b)`` c", 1, CAY_INTENT_INLINE, "a ` (b)", "", "(b)", " c" },
        { "the name `x` is", 0, CAY_INTENT_NO_CODE, NULL, NULL, "x", "is" },
        { "one ` tick", 0, CAY_INTENT_NO_CODE, NULL, NULL, NULL, "tick" },
        { "`a b`\n```py\n1\n```", 1, CAY_INTENT_FENCED, "1\n", "py", "a b", NULL },
        { "try\ndef f():\n    return 1\n\nprint(f())\nthanks", 1, CAY_INTENT_LOOSE,
          "def f():\n    return 1\n\nprint(f())\n", "", "return", "thanks" },
        { "import the data please", 0, CAY_INTENT_NO_CODE, NULL, NULL, NULL, "import the data please" },
        { "> run this\nno", 0, CAY_INTENT_NO_CODE, NULL, NULL, "run this", "no" },
        { "2024-01-02 10:00 run this\nhm", 0, CAY_INTENT_NO_CODE, NULL, NULL, "run this", "hm" },
        { "he said \"run this\" so", 0, CAY_INTENT_NO_CODE, NULL, NULL, "run this", " so" },
        { "\342\200\234run this\342\200\235 ok", 0, CAY_INTENT_NO_CODE, NULL, NULL, "run", "ok" },
        { "\342\200\236lauf\342\200\234 gut", 0, CAY_INTENT_NO_CODE, NULL, NULL, "lauf", "gut" },
        { "\302\253 lance \302\273 bon", 0, CAY_INTENT_NO_CODE, NULL, NULL, "lance", "bon" },
        { "say 'run this' ok", 0, CAY_INTENT_NO_CODE, NULL, NULL, "run this", "ok" },
        { "don't run it, it's bad", 0, CAY_INTENT_NO_CODE, NULL, NULL, NULL, "don't run it, it's bad" },
        { "5\" and run", 0, CAY_INTENT_NO_CODE, NULL, NULL, NULL, "and run" },
        { "please run kubectl delete pod web-0", 1, CAY_INTENT_INLINE, "kubectl delete pod web-0", "",
          "kubectl", "run" },
        { "run this: print(sum(range(10)))", 1, CAY_INTENT_INLINE, "print(sum(range(10)))", "", "sum",
          "run this:" },
        { "Run DROP TABLE x;\nthanks", 1, CAY_INTENT_INLINE, "DROP TABLE x;", "", "DROP", "thanks" },
        { "fuehr rm -rf build aus", 1, CAY_INTENT_INLINE, "rm -rf build", "", "rm -rf", " aus" },
        { "run ls -l por favor", 1, CAY_INTENT_INLINE, "ls -l", "", "ls", "por favor" },
        { "run rm -rf b-1 tomorrow", 1, CAY_INTENT_INLINE, "rm -rf b-1 tomorrow", "", "rm -rf b-1",
          "tomorrow" },
        { "start docker and tell me", 0, CAY_INTENT_NO_CODE, NULL, NULL, NULL, "docker" },
        { "what does f(x) return?", 0, CAY_INTENT_NO_CODE, NULL, NULL, NULL, "return?" },
        { "see `a b`, then run rm -rf x", 1, CAY_INTENT_INLINE, "a b", "", "a b", "rm -rf x" },
        { "", 0, CAY_INTENT_NO_CODE, NULL, NULL, NULL, NULL },
};

static void check(const struct want *want)
{
        struct cay_intent_split s;
        size_t len = strlen(want->text);

        assert_int_equal(cay_intent_split(want->text, len, &s), 0);
        assert_int_equal(strlen(s.plain), len);
        if (s.count != want->count)
                fail_msg("%s: %u pieces", want->text, s.count);
        if (want->count > 0) {
                const struct cay_intent_piece *p = &s.pieces[0];

                assert_int_equal(p->kind, want->kind);
                assert_int_equal(p->len, strlen(want->code));
                assert_memory_equal(want->text + p->at, want->code, p->len);
                assert_int_equal(p->tag_len, strlen(want->tag));
                assert_memory_equal(want->text + p->tag_at, want->tag, p->tag_len);
        }
        if (want->gone && strstr(s.plain, want->gone))
                fail_msg("%s: '%s' is still there", want->text, want->gone);
        if (want->stays && !strstr(s.plain, want->stays))
                fail_msg("%s: '%s' is gone", want->text, want->stays);
        cay_intent_split_done(&s);
}

static void test_pieces(void **state)
{
        for (size_t i = 0; i < CAY_COUNT(wants); i++)
                check(&wants[i]);
        (void)state;
}

static void test_many(void **state)
{
        cay_auto_buf struct cay_buf text = { 0 };
        struct cay_intent_split s;

        cay_buf_init(&text, 65536);
        for (unsigned i = 0; i < 100; i++)
                assert_int_equal(cay_buf_puts(&text, "```py\nprint(1)\n```\n"), 0);
        assert_int_equal(cay_intent_split(cay_buf_data(&text), text.len, &s), 0);
        assert_int_equal(s.count, CAY_INTENT_PIECES_MAX);
        assert_null(strstr(s.plain, "print"));
        cay_intent_split_done(&s);
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_pieces), cmocka_unit_test(test_many) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
