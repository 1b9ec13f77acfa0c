/* SPDX-License-Identifier: Apache-2.0 */
/* Phrases: the tables are well formed, and matching does what patterns say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "domain/intent/intent_priv.h"

static void test_table(void **state)
{
        static const char *const speeches[] = { "en", "de", "es", "fr", "it", "pt", "nl",
                                                "pl", "ru", "sv", "tr", "zh", "ja", "ko" };
        unsigned seen[CAY_COUNT(speeches)][CAY_CLASS_COUNT] = { 0 };

        for (unsigned i = 0; i < cay_intent_phrase_count; i++) {
                const struct cay_intent_phrase *p = &cay_intent_phrases[i];

                if (!cay_intent_pattern_valid(p->pattern, p->speech))
                        fail_msg("%s: '%s' is no pattern", p->speech, p->pattern);
                assert_true(p->weight <= 10 || p->what == CAY_CLASS_PICK);
                assert_int_equal(p->weight == 0, p->what == CAY_CLASS_VETO || p->what == CAY_CLASS_MASK);
                for (unsigned k = 0; k < i; k++)
                        if (p->speech == cay_intent_phrases[k].speech)
                                assert_string_not_equal(p->pattern, cay_intent_phrases[k].pattern);
                for (size_t s = 0; s < CAY_COUNT(speeches); s++)
                        seen[s][p->what] += strcmp(speeches[s], p->speech) == 0;
        }
        for (size_t s = 0; s < CAY_COUNT(speeches); s++)
                for (unsigned c = 0; c < CAY_CLASS_COUNT; c++)
                        assert_true(seen[s][c] > 0); /* every language says everything */
        (void)state;
}

static void test_patterns(void **state)
{
        assert_true(cay_intent_pattern_valid("^ run this|it", "en"));
        assert_true(cay_intent_pattern_valid("ejecut~ _2 #", "es"));
        assert_false(cay_intent_pattern_valid("", "en"));
        assert_false(cay_intent_pattern_valid("Run", "en"));
        assert_false(cay_intent_pattern_valid("@nothing", "en"));
        assert_false(cay_intent_pattern_valid("@ing", "de")); /* another language's */
        assert_false(cay_intent_pattern_valid("_2 run", "en"));
        assert_false(cay_intent_pattern_valid("run _2", "en"));
        assert_true(cay_intent_pattern_valid("a _9 b", "en"));
        assert_false(cay_intent_pattern_valid("a _0 b", "en"));
        assert_false(cay_intent_pattern_valid("a _1 b _1 c _1 d", "en"));
        assert_false(cay_intent_pattern_valid("a b c d e f g h i j k l m", "en"));
        assert_false(cay_intent_pattern_valid("@run|execute", "en"));
        (void)state;
}

/* What is found first in a text, and in which words. */
static void check(const char *text, enum cay_intent_class what, const char *words)
{
        struct cay_intent_match m[8];
        struct cay_intent_words w;
        unsigned count;

        assert_int_equal(cay_intent_words(text, strlen(text), &w), 0);
        assert_int_equal(cay_intent_match(&w, m, CAY_COUNT(m), &count), 0);
        if (!words) {
                assert_int_equal(count, 0);
        } else {
                const struct cay_intent_word *from, *to;

                if (count == 0)
                        fail_msg("%s: nothing is found", text);
                from = &w.list[m[0].first];
                to = from + m[0].count - 1;
                if (m[0].phrase->what != what || to->end - from->at != strlen(words) ||
                    memcmp(text + from->at, words, strlen(words)) != 0)
                        fail_msg("%s: %u '%.*s'", text, m[0].phrase->what, (int)(to->end - from->at),
                                 text + from->at);
        }
        cay_intent_words_done(&w);
}

static void test_matching(void **state)
{
        check("Run this", CAY_CLASS_RUN, "Run this");
        check("overrun this", CAY_CLASS_RUN, NULL); /* whole words */
        check("runs thistle", CAY_CLASS_RUN, NULL);
        check("good, run this", CAY_CLASS_RUN, "run this"); /* a clause starts */
        check("the horses run this way", CAY_CLASS_RUN, NULL);
        check("when I run this", CAY_CLASS_WHY, "when I run"); /* the longest that starts first */
        check("Could you please run", CAY_CLASS_RUN, "Could you please run");
        check("Could you please not run", CAY_CLASS_VETO, "please not run"); /* no order over a denial */
        check("could you. please. run", CAY_CLASS_RUN, "run"); /* no phrase over a sentence's end */
        check("output?", CAY_CLASS_RUN, "output");
        check("output.", CAY_CLASS_RUN, NULL); /* no question */
        check("Run \002", CAY_CLASS_RUN, "Run \002");
        check("ejecutando", CAY_CLASS_RUN, NULL);
        check("no lo ejecutemos", CAY_CLASS_VETO, "no lo ejecutemos"); /* ejecut~ */
        check("prune this", CAY_CLASS_ACT, "prune this");
        check("wipe my old test database", CAY_CLASS_ACT, "wipe my old test database");
        check("", CAY_CLASS_RUN, NULL);
        (void)state;
}

/* Scripts without blanks: a row of characters, with blanks in the message or without. */
static void test_characters(void **state)
{
        check("\345\256\237\350\241\214\343\201\227\343\201\246\343\201\217\343\201\240\343\201\225\343\201"
              "\204", /* jikko shite kudasai */
              CAY_CLASS_RUN,
              "\345\256\237\350\241\214\343\201\227\343\201\246\343\201\217\343\201\240\343\201\225\343\201"
              "\204");
        check("\354\213\244\355\226\211\355\225\264 \354\244\230", CAY_CLASS_RUN, /* silhaeng hae jwo */
              "\354\213\244\355\226\211\355\225\264 \354\244\230");
        check("\354\213\244\355\226\211\355\225\264\354\244\230", CAY_CLASS_RUN,
              "\354\213\244\355\226\211\355\225\264\354\244\230");
        check("\344\270\215\350\246\201\350\277\220\350\241\214", CAY_CLASS_VETO,
              "\344\270\215\350\246\201\350\277\220\350\241\214"); /* bu yao yunxing */
        (void)state;
}

/* No order and no denial leaves its clause; what was denied and taken back is none. */
static void test_clauses(void **state)
{
        check("don't explain it, run it", CAY_CLASS_MASK, "don't explain");
        check("don't explain it just run it", CAY_CLASS_MASK, "don't explain");
        check("I can't run it here", CAY_CLASS_MASK, "I can't run");
        check("don't forget to run it", CAY_CLASS_RUN, "don't forget to run");
        check("you can't run it here", CAY_CLASS_VETO, "you can't run");
        check("what happens if I run this", CAY_CLASS_ABOUT, "what happens if");
        check("once I say go, run this", CAY_CLASS_VETO, "once I say");
        check("if the tests pass, run this", CAY_CLASS_IF, "if the");
        check("if you can, run this", CAY_CLASS_MASK, "if you can");
        (void)state;
}

static void test_full(void **state)
{
        cay_auto_buf struct cay_buf text = { 0 };
        struct cay_intent_match m[4];
        struct cay_intent_words w;
        unsigned count;

        cay_buf_init(&text, 65536);
        for (unsigned i = 0; i < 3000; i++)
                assert_int_equal(cay_buf_puts(&text, "run this. "), 0);
        assert_int_equal(cay_intent_words(cay_buf_data(&text), text.len, &w), 0);
        assert_int_equal(cay_intent_match(&w, m, CAY_COUNT(m), &count), 0);
        assert_int_equal(count, CAY_COUNT(m));
        cay_intent_words_done(&w);
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_table),    cmocka_unit_test(test_patterns),
                cmocka_unit_test(test_matching), cmocka_unit_test(test_characters),
                cmocka_unit_test(test_clauses),  cmocka_unit_test(test_full),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
