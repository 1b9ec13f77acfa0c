/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The figures of docs/intent.md, counted anew: what is decided about the labelled messages of the half that nothing was tuned on. Fails
 * below what is promised, and when the tables in the document are not these. CAY_INTENT_SHOW=1 names what was decided otherwise.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/intent/labelled.h"

#define MISTAKES_MAX_PERMILLE 10u /* of messages that must not run: are run */
#define FOUND_MIN_PERMILLE 900u   /* of messages that ask for a run: are run */
#define RIGHT_MIN_PERMILLE 850u   /* of all: the very label */

static const char *const speeches[] = { "en", "de", "es", "fr" };

struct figures {
        unsigned table[CAY_INTENT_COUNT][CAY_INTENT_COUNT]; /* label, decision */
        unsigned runs, found, others, mistakes, right, all;
};

static void count_one(struct figures *f, enum cay_intent label, enum cay_intent decision)
{
        bool must_run = label == CAY_INTENT_RUN, runs = decision == CAY_INTENT_RUN;

        f->table[label][decision]++;
        f->all++;
        f->right += label == decision;
        f->runs += must_run;
        f->found += must_run && runs;
        f->others += !must_run;
        f->mistakes += !must_run && runs;
}

static void count_file(struct figures *f, const char *speech, const char *half)
{
        struct labelled l;
        enum cay_intent label;
        const char *text;
        size_t len;

        assert_true(labelled_open(&l, speech, half));
        while (labelled_next(&l, &label, &text, &len)) {
                struct cay_intent_result r;
                struct cay_error err = { 0 };

                assert_true(label < CAY_INTENT_COUNT);
                assert_int_equal(cay_intent_detect(text, len, &r, NULL, &err), 0);
                count_one(f, label, r.decision);
                if (label != r.decision && getenv("CAY_INTENT_SHOW"))
                        print_message("%s %s: %s, not %s: %s\n%.*s\n", speech, half,
                                      cay_intent_word(r.decision), cay_intent_word(label), r.reason,
                                      (int)(len < 200 ? len : 200), text);
        }
        labelled_close(&l);
}

static unsigned permille(unsigned part, unsigned whole)
{
        return whole ? part * 1000 / whole : 0;
}

static void check_bounds(const struct figures *f)
{
        assert_true(f->others > 0 && f->runs > 0);
        assert_true(f->mistakes * 1000 <= MISTAKES_MAX_PERMILLE * f->others);
        assert_true(permille(f->found, f->runs) >= FOUND_MIN_PERMILLE);
        assert_true(permille(f->right, f->all) >= RIGHT_MIN_PERMILLE);
}

static char *read_doc(void)
{
        const char *root = getenv("CAY_SOURCE_DIR");
        char path[PATH_MAX], *text = calloc(1, LABELLED_MAX);
        ssize_t n;
        int fd;

        assert_non_null(text);
        snprintf(path, sizeof(path), "%s/docs/intent.md", root ? root : ".");
        fd = open(path, O_RDONLY | O_CLOEXEC);
        assert_true(fd >= 0);
        n = read(fd, text, LABELLED_MAX - 1);
        close(fd);
        assert_true(n > 0);
        return text;
}

static void check_line(const char *doc, const char *line)
{
        if (!strstr(doc, line)) {
                print_error("docs/intent.md does not have this line:\n%s\n", line);
                fail();
        }
}

/* "| en | test | 109 | 0 | 51 | 50 | 152 of 160 |" */
static void check_row(const char *doc, const char *speech, const char *half, const struct figures *f)
{
        char line[160];

        snprintf(line, sizeof(line), "| %s | %s | %u | %u | %u | %u | %u of %u |", speech, half, f->others,
                 f->mistakes, f->runs, f->found, f->right, f->all);
        check_line(doc, line);
}

/* "| explain | 0 | 1 | 27 |…": label, then what was decided, in the order of the enum. */
static void check_table(const char *doc, const struct figures *f)
{
        for (unsigned i = 0; i < CAY_INTENT_COUNT; i++) {
                char line[160];
                int n = snprintf(line, sizeof(line), "| %s |", cay_intent_word((enum cay_intent)i));

                for (unsigned k = 0; k < CAY_INTENT_COUNT; k++)
                        n += snprintf(line + n, sizeof(line) - (size_t)n, " %u |", f->table[i][k]);
                check_line(doc, line);
        }
}

static void check_half(const char *half, bool has_table)
{
        struct figures all = { 0 };
        char *doc = read_doc();

        for (size_t i = 0; i < CAY_COUNT(speeches); i++) {
                struct figures one = { 0 };

                count_file(&one, speeches[i], half);
                check_row(doc, speeches[i], half, &one);
                count_file(&all, speeches[i], half);
        }
        check_row(doc, "all", half, &all);
        check_bounds(&all);
        if (has_table)
                check_table(doc, &all);
        free(doc);
}

static void test_tune(void **state)
{
        check_half("tune", false);
        (void)state;
}

static void test_test(void **state)
{
        check_half("test", true);
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_tune), cmocka_unit_test(test_test) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
