/* SPDX-License-Identifier: Apache-2.0 */
/* Words: folding, clauses, sentences, questions, and long messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "domain/intent/intent_priv.h"

static void check_folded(const char *text, const char *expected)
{
        struct cay_intent_words w;
        char got[512] = "";
        size_t n = 0;

        assert_int_equal(cay_intent_words(text, strlen(text), &w), 0);
        for (unsigned i = 0; i < w.count; i++) {
                assert_true(n + w.list[i].flen + 2 < sizeof(got));
                memcpy(got + n, w.folded + w.list[i].fold, w.list[i].flen);
                n += w.list[i].flen;
                got[n++] = ' ';
        }
        got[n ? n - 1 : 0] = '\0';
        assert_string_equal(got, expected);
        cay_intent_words_done(&w);
}

static void test_folding(void **state)
{
        check_folded("", "");
        check_folded("RUN This!", "run this");
        check_folded("don't Don\342\200\231t", "don t don t");
        check_folded("F\303\274hr Stra\303\237e \303\211crire \305\222uf \302\277Qu\303\251?",
                     "fuhr strasse ecrire oeuf que");
        check_folded("a\302\240b\342\200\224c \360\237\231\217 d", "a b c d");
        check_folded("\320\237\321\200\320\270 main.py 3.5 x_1", "\320\277\321\200\320\270 main py 3 5 x_1");
        check_folded("run \002 now", "run # now");
        check_folded("e\314\201crire", "ecrire");             /* an accent of its own */
        check_folded("\320\201\320\266", "\320\265\320\266"); /* io is e */
        check_folded("\345\256\237\350\241\214abc",
                     "\345\256\237 \350\241\214 abc"); /* every character is a word */
        check_folded("\354\213\244\355\226\211", "\354\213\244 \355\226\211");
        (void)state;
}

static void test_clauses(void **state)
{
        static const char text[] = "Ok please run it, then go. Is it?\n\nLast";
        static const bool starts[] = { 1, 1, 1, 0, 1, 1, 1, 0, 1 };
        static const unsigned sentences[] = { 0, 0, 0, 0, 0, 0, 1, 1, 2 };
        struct cay_intent_words w;

        assert_int_equal(cay_intent_words(text, strlen(text), &w), 0);
        assert_int_equal(w.count, CAY_COUNT(starts));
        for (unsigned i = 0; i < w.count; i++) {
                assert_int_equal(w.list[i].starts, starts[i]);
                assert_int_equal(w.list[i].is_question, sentences[i] == 1);
                if (i > 0)
                        assert_int_equal(w.list[i].sentence != w.list[i - 1].sentence,
                                         sentences[i] != sentences[i - 1]);
        }
        assert_int_equal(w.list[2].at, 10);
        assert_int_equal(w.list[2].end, 13);
        cay_intent_words_done(&w);
        (void)state;
}

/* Of very many words the first and the last ones are kept, and no phrase reaches over the gap. */
static void test_long(void **state)
{
        static char text[CAY_INTENT_TEXT_MAX];
        struct cay_intent_words w;

        for (size_t i = 0; i < sizeof(text); i++)
                text[i] = i % 2 ? ' ' : i < sizeof(text) / 2 ? 'a' : 'b';
        assert_int_equal(cay_intent_words(text, sizeof(text), &w), 0);
        assert_int_equal(w.count, CAY_INTENT_WORDS_MAX);
        assert_true(w.is_cut);
        assert_int_equal(w.folded[w.list[0].fold], 'a');
        assert_int_equal(w.folded[w.list[w.count - 1].fold], 'b');
        assert_int_equal(w.list[w.count - 1].end, sizeof(text) - 1);
        assert_true(w.list[w.count / 2 - 1].sentence != w.list[w.count / 2].sentence);
        cay_intent_words_done(&w);
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_folding),
                cmocka_unit_test(test_clauses),
                cmocka_unit_test(test_long),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
