/* SPDX-License-Identifier: Apache-2.0 */
/* Each rule of the decision, and its edges. How well it does as a whole is test_figures.c's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "foundation/base/utf8.h"
#include "domain/intent/intent_priv.h"

#define RM "\n```bash\nrm -rf ./old\n```\n"
#define PY "\n```python\nprint(1)\n```\n"

static struct cay_intent_result detect(const char *text)
{
        struct cay_intent_result r;
        struct cay_error err = { 0 };

        assert_int_equal(cay_intent_detect(text, strlen(text), &r, NULL, &err), 0);
        assert_true(r.reason[0] && cay_utf8_valid(r.reason, strlen(r.reason)));
        assert_true(r.confidence > 0 && r.confidence < 100);
        return r;
}

static const struct {
        const char *text;
        enum cay_intent want;
} rules[] = {
        /* document 001: will execute */
        { "test this" PY, CAY_INTENT_RUN },
        { "run it" PY, CAY_INTENT_RUN },
        { "try this" PY, CAY_INTENT_RUN },
        { "does it work?" PY, CAY_INTENT_RUN },
        { "is it correct?" PY, CAY_INTENT_RUN },
        { "what's the output?" PY, CAY_INTENT_RUN },
        { "What\342\200\231s the output?" PY, CAY_INTENT_RUN },
        { "what happens?" PY, CAY_INTENT_RUN },
        { PY, CAY_INTENT_RUN },
        { "this one:" PY, CAY_INTENT_RUN },
        /* what destructive code does, said as an order: only beside such code, and never as a question */
        { "wipe my test database" RM, CAY_INTENT_RUN },
        { "wipe my test database" PY, CAY_INTENT_NONE },
        { "don't wipe my test database" RM, CAY_INTENT_NONE },
        { "L\303\266scht das auch die Unterordner?" RM, CAY_INTENT_NONE },
        { "can you do it for me?" PY, CAY_INTENT_RUN },
        { "Please run it as it is." PY, CAY_INTENT_RUN },
        { "please run the following\n\nfor i in 1 2; do echo $i; done", CAY_INTENT_RUN },
        /* won't */
        { "Explain this code" PY, CAY_INTENT_EXPLAIN },
        { "Write me a function that does this" PY, CAY_INTENT_WRITE },
        { "Improve this code" PY, CAY_INTENT_IMPROVE },
        { "Why does this work?" PY, CAY_INTENT_WHY },
        { "RUN THIS" PY, CAY_INTENT_RUN },
        /* words against it win over all */
        { "Don't run this" PY, CAY_INTENT_NONE },
        { "Don\342\200\231t run this" PY, CAY_INTENT_NONE },
        { "dont run this" PY, CAY_INTENT_NONE },
        { "Run this? No, do not run it." PY, CAY_INTENT_NONE },
        { "Explain it without executing it" PY, CAY_INTENT_EXPLAIN },
        { "run this later" PY, CAY_INTENT_NONE },
        { "run this only if I say so" PY, CAY_INTENT_NONE },
        { "Nicht ausf\303\274hren" PY, CAY_INTENT_NONE },
        { "no lo ejecutes" PY, CAY_INTENT_NONE },
        { "ne l'ex\303\251cute pas" PY, CAY_INTENT_NONE },
        /* no order: somebody ran, will run, may run */
        { "I ran this yesterday" PY, CAY_INTENT_NONE },
        { "Should I run this?" PY, CAY_INTENT_EXPLAIN },
        { "How do I run this?" PY, CAY_INTENT_EXPLAIN },
        { "When I run this I get an error" PY, CAY_INTENT_WHY },
        { "My boss told me: run this" PY, CAY_INTENT_NONE },
        /* an order wins over words about the code, not over other code */
        { "Run this and explain the output" PY, CAY_INTENT_RUN },
        { "Explain this, then run it" PY, CAY_INTENT_RUN },
        { "Fix this and run it" PY, CAY_INTENT_IMPROVE },
        { "Run this and then improve it" PY, CAY_INTENT_RUN },
        { "Write a test for this and run it" PY, CAY_INTENT_WRITE },
        /* a hint does not */
        { "Does it work? Improve it." PY, CAY_INTENT_IMPROVE },
        { "Explain what happens" PY, CAY_INTENT_EXPLAIN },
        { "test this code for style violations" PY, CAY_INTENT_EXPLAIN },
        /* words that are not the writer's, and words in code */
        { "He wrote \"run this\" again, sigh" PY, CAY_INTENT_NONE },
        { "> run this\nlovely weather outside" PY, CAY_INTENT_NONE },
        { "some thoughts of mine\n```python\n# run this, does it work?\n```", CAY_INTENT_NONE },
        { "run this\n```python\n# don't run this, explain it\n```", CAY_INTENT_RUN },
        /* little text that asks for something unknown */
        { "Rate this" PY, CAY_INTENT_NONE },
        { "Frobnicate it" PY, CAY_INTENT_NONE },
        /* no code */
        { "run this", CAY_INTENT_NONE },
        { "does it work?", CAY_INTENT_NONE },
        { "explain monads", CAY_INTENT_EXPLAIN },
        { "", CAY_INTENT_NONE },
        { " \n\t", CAY_INTENT_NONE },
        { "```\n```", CAY_INTENT_NONE },
        /* nothing that runs */
        { "```json\n{\"a\": 1}\n```", CAY_INTENT_NONE },
        { "run this\n```yaml\na: 1\n```", CAY_INTENT_NONE },
        { "```\n2024-01-01 10:00:00 INFO up\n```", CAY_INTENT_NONE },
        { "```\nDear Kim\n```", CAY_INTENT_NONE },
        { "```frob\nx\n```", CAY_INTENT_NONE },
        { "run this\n```frob\nx\n```", CAY_INTENT_RUN },
        /* other kinds of code */
        { "Run `ls -l /`", CAY_INTENT_RUN },
        { "`ls -l /`", CAY_INTENT_NONE },
        { "run this:\nimport sys\nprint(sys.argv)\n", CAY_INTENT_RUN },
        { "import sys\nprint(sys.argv)\n", CAY_INTENT_RUN },
        { "ls -la /tmp | head -20", CAY_INTENT_RUN },
        { "import sys\nx = 1\n", CAY_INTENT_NONE },
        { "```python\ndef f():\n    return 1\n```", CAY_INTENT_NONE },
        { ">>> 1 + 1\n2\n", CAY_INTENT_NONE },
        /* denial that is taken back; conditions; questions about running */
        { "Don't explain it, just run it" PY, CAY_INTENT_RUN },
        { "I cannot run it here, please run it for me" PY, CAY_INTENT_RUN },
        { "don't forget to run it" PY, CAY_INTENT_RUN },
        { "what happens if I run this on my server?" PY, CAY_INTENT_EXPLAIN },
        { "does this work on Windows?" PY, CAY_INTENT_EXPLAIN },
        { "once the backup is done, run this" PY, CAY_INTENT_NONE },
        { "run python" PY, CAY_INTENT_RUN },
        { "execute python:" PY, CAY_INTENT_RUN },
};

static void test_rules(void **state)
{
        for (size_t i = 0; i < CAY_COUNT(rules); i++) {
                struct cay_intent_result r = detect(rules[i].text);

                if (r.decision != rules[i].want)
                        fail_msg("%s: %s, not %s: %s", rules[i].text, cay_intent_word(r.decision),
                                 cay_intent_word(rules[i].want), r.reason);
        }
        (void)state;
}

static void test_reasons(void **state)
{
        assert_string_equal(detect("Please run this" PY).reason,
                            "the code block comes with 'Please run this'");
        assert_string_equal(detect("Run `ls -l /`").reason, "the code comes with 'Run'");
        assert_string_equal(detect(PY).reason, "the code block comes with no other text");
        assert_string_equal(detect("Don't run this" PY).reason, "'Don't run' says that it must not run");
        assert_string_equal(detect("Explain it" PY).reason, "'Explain' asks for an explanation");
        assert_string_equal(detect("run this").reason,
                            "the message asks for a run, but there is no code in it");
        assert_string_equal(detect("run this\n```json\n{}\n```").reason,
                            "the block is json, which is nothing that runs");
        (void)state;
}

static void test_code(void **state)
{
        struct cay_intent_result r = detect("run this\n```text\nhi\n```\nand\n```PY3\nprint(2)\n```");

        assert_int_equal(r.code.nr, 2); /* the first that runs */
        assert_int_equal(r.code.count, 2);
        assert_string_equal(r.code.language, "python");
        assert_true(r.code.is_tagged && r.code.is_runnable);
        assert_int_equal(r.code.len, 9);
        assert_memory_equal(r.code.text, "print(2)\n", 9);
        r = detect("execute the second block\n```py\n1\n```\n```js\n2\n```");
        assert_string_equal(r.code.language, "javascript");
        assert_int_equal(r.decision, CAY_INTENT_RUN);
        r = detect("run the last one\n```py\n1\n```\n```js\n2\n```\n```sh\n3\n```");
        assert_string_equal(r.code.language, "shell");
        r = detect("run the third block\n```py\n1\n```"); /* there is none */
        assert_string_equal(r.code.language, "python");
        r = detect("run this\n```\nconsole.log(1)\n```");
        assert_string_equal(r.code.language, "javascript");
        assert_false(r.code.is_tagged);
        r = detect("run this\n```an-extremely-long-tag-that-nobody-uses-at-all\nx\n```");
        assert_string_equal(r.code.language, "an-extremely-long-tag-that-nobo");
        r = detect("hello");
        assert_int_equal(r.code.kind, CAY_INTENT_NO_CODE);
        assert_null(r.code.text);
        (void)state;
}

/* What says no is heard wherever it stands, or nothing is run. */
static void test_long(void **state)
{
        cay_auto_buf struct cay_buf text = { 0 };

        cay_buf_init(&text, CAY_INTENT_TEXT_MAX);
        for (unsigned i = 0; i < 500; i++)
                assert_int_equal(cay_buf_puts(&text, "Run this. "), 0);
        assert_int_equal(cay_buf_puts(&text, PY), 0);
        assert_int_equal(detect(cay_buf_data(&text)).decision, CAY_INTENT_RUN);
        assert_int_equal(cay_buf_puts(&text, "Never run it."), 0);
        assert_int_equal(detect(cay_buf_data(&text)).decision, CAY_INTENT_NONE);
        cay_buf_clear(&text);
        for (unsigned i = 0; i < 2000; i++)
                assert_int_equal(cay_buf_puts(&text, "Run this. "), 0);
        assert_int_equal(cay_buf_puts(&text, PY), 0);
        assert_int_equal(detect(cay_buf_data(&text)).decision, CAY_INTENT_NONE);
        (void)state;
}

static void test_result(void **state)
{
        struct cay_intent_result r = detect("F\303\274hr das bitte aus, danke. Don't explain it." PY);

        assert_string_equal(r.speech, "de");
        assert_true(r.scores[CAY_INTENT_RUN] >= 10);
        assert_true(r.hit_count >= 1 && r.hits[0].what == CAY_INTENT_RUN && r.hits[0].weight == 10);
        assert_memory_equal(r.hits[0].text, "F\303\274hr das bitte aus", r.hits[0].len);
        assert_string_equal(detect("hmm").speech, "");
        assert_string_equal(cay_intent_word(CAY_INTENT_COUNT), "none");
        assert_string_equal(cay_intent_code_kind_word(CAY_INTENT_CODE_KIND_COUNT), "none");
        (void)state;
}

static void test_prose(void **state)
{
        cay_auto_buf struct cay_buf prose = { 0 };
        struct cay_intent_result r;
        struct cay_error err = { 0 };
        static const char text[] = "use `x y` in \"run python\"" PY "end";

        cay_buf_init(&prose, CAY_INTENT_TEXT_MAX);
        assert_int_equal(cay_intent_detect(text, strlen(text), &r, &prose, &err), 0);
        assert_int_equal(prose.len, strlen(text));
        assert_null(strstr(cay_buf_data(&prose), "python"));
        assert_non_null(strstr(cay_buf_data(&prose), "use"));
        assert_non_null(strstr(cay_buf_data(&prose), "end"));
        assert_null(strchr(cay_buf_data(&prose), CAY_INTENT_CODE_MARK));
        (void)state;
}

static void check_refused(const char *text, size_t len)
{
        struct cay_intent_result r;
        struct cay_error err = { 0 };

        assert_int_equal(cay_intent_detect(text, len, &r, NULL, &err), -1);
        assert_int_equal(err.code, CAY_INVALID);
}

static void test_refused(void **state)
{
        static char text[CAY_INTENT_TEXT_MAX + 1];
        struct cay_intent_result r;
        struct cay_error err = { 0 };

        memset(text, 'a', sizeof(text));
        check_refused(text, sizeof(text));
        assert_int_equal(cay_intent_detect(text, CAY_INTENT_TEXT_MAX, &r, NULL, &err), 0);
        check_refused("run \377this", 9);
        check_refused("run\0this", 8);
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_rules),   cmocka_unit_test(test_reasons), cmocka_unit_test(test_code),
                cmocka_unit_test(test_long),    cmocka_unit_test(test_result),  cmocka_unit_test(test_prose),
                cmocka_unit_test(test_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
