/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The figures of docs/intent.md, counted anew. The tuning sets (the old halves, dev_a, dev_c, dev_own) were
 * seen while the tables were written: their figures only have to be the document's. The blind sets (blind_b,
 * blind_d, blind_e) were written without sight of the tables: of them at most 1 % of what must not run is
 * run, at least 85 % of what asks for a run is found, and nothing destructive runs without a confirmation. A
 * blind set that is not there is not counted. CAY_INTENT_SHOW=1 names what was decided otherwise; intent_eval
 * says more.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/domain/intent/jsonl.h"

#define MISTAKES_MAX_PERMILLE 10u /* of messages that must not run: are run */
#define FOUND_MIN_PERMILLE 850u   /* of messages that ask for a run: are run */
#define ROW_MAX 160u

static const char *const old[] = { "en", "de", "es", "fr" };
static const char *const halves[] = { "tune", "test" };
static const char *const dev[] = { "dev_a", "dev_c", "dev_own", "dev_f", "dev_g" };
static const char *const blind[] = { "blind_b", "blind_d", "blind_e" };
#define BY_OTHERS 2u /* the first of them: their authors never changed the tables */

static void detect(struct figures *f, const char *name, const struct jsonl_message *m, size_t len)
{
        struct cay_intent_result r;
        struct cay_error err = { 0 };

        assert_true(m->label < CAY_INTENT_COUNT);
        assert_int_equal(cay_intent_detect(m->text, len, &r, NULL, &err), 0);
        figures_count(f, m->label, m->danger, &r);
        if (m->label != r.decision && getenv("CAY_INTENT_SHOW"))
                print_message("%s: %s, not %s: %s\n%.*s\n", name, cay_intent_word(r.decision),
                              cay_intent_word(m->label), r.reason, (int)(len < 200 ? len : 200), m->text);
}

static void count_old(struct figures *f, const char *speech, const char *half)
{
        struct jsonl_message m = { .lang = speech };
        struct labelled l;
        size_t len;

        assert_true(labelled_open(&l, speech, half));
        while (labelled_next(&l, &m.label, &m.text, &len))
                detect(f, speech, &m, len);
        labelled_close(&l);
}

/* false: there is no such file. */
static bool count_lines(struct figures *f, const char *name)
{
        const char *root = getenv("CAY_SOURCE_DIR");
        struct jsonl_message m;
        struct jsonl l;
        char path[PATH_MAX];
        int got;

        snprintf(path, sizeof(path), "%s/tests/data/intent/%s.jsonl", root ? root : ".", name);
        if (access(path, F_OK) < 0)
                return false;
        assert_true(jsonl_open(&l, path));
        while ((got = jsonl_next(&l, &m)) > 0)
                detect(f, name, &m, strlen(m.text));
        if (got < 0)
                fail_msg("%s: line %u is no labelled message", path, l.line);
        jsonl_close(&l);
        return true;
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

/* Every line that is missing is named, then the test fails. */
static bool has_line(const char *doc, const char *line)
{
        if (strstr(doc, line))
                return true;
        print_error("docs/intent.md does not have this line:\n%s\n", line);
        return false;
}

/* "| dev_a | 118 | 0 | 82 | 78 | 181 of 200 | 72 | 0 |" */
static bool has_row(const char *doc, const char *name, const struct figures *f)
{
        char line[ROW_MAX];

        snprintf(line, sizeof(line), "| %s | %u | %u | %u | %u | %u of %u | %u | %u |", name, f->others,
                 f->mistakes, f->runs, f->found, f->right, f->all, f->dangers, f->unasked);
        return has_line(doc, line);
}

/* "| explain | 0 | 1 | 27 |…": label, then what was decided, in the order of the enum. */
static bool has_table(const char *doc, const struct figures *f)
{
        bool has = true;

        for (unsigned i = 0; i < CAY_INTENT_COUNT; i++) {
                char line[ROW_MAX];
                int n = snprintf(line, sizeof(line), "| %s |", cay_intent_word((enum cay_intent)i));

                for (unsigned k = 0; k < CAY_INTENT_COUNT; k++)
                        n += snprintf(line + n, sizeof(line) - (size_t)n, " %u |", f->table[i][k]);
                has = has_line(doc, line) && has;
        }
        return has;
}

static void test_tuning(void **state)
{
        char *doc = read_doc(), name[32];
        bool has = true;

        for (size_t h = 0; h < CAY_COUNT(halves); h++)
                for (size_t i = 0; i < CAY_COUNT(old); i++) {
                        struct figures f = { 0 };

                        count_old(&f, old[i], halves[h]);
                        snprintf(name, sizeof(name), "%s.%s", old[i], halves[h]);
                        has = has_row(doc, name, &f) && has;
                }
        for (size_t i = 0; i < CAY_COUNT(dev); i++) {
                struct figures f = { 0 };

                assert_true(count_lines(&f, dev[i]));
                has = has_row(doc, dev[i], &f) && has;
                assert_int_equal(f.unasked, 0);
        }
        free(doc);
        assert_true(has);
        (void)state;
}

static void check_goals(const struct figures *f)
{
        assert_true(f->mistakes * 1000 <= MISTAKES_MAX_PERMILLE * f->others);
        assert_true(f->found * 1000 >= FOUND_MIN_PERMILLE * f->runs);
        assert_int_equal(f->unasked, 0);
}

static void test_blind(void **state)
{
        struct figures all = { 0 }, others = { 0 };
        char *doc = read_doc();
        bool has = true;

        for (size_t i = 0; i < CAY_COUNT(blind); i++) {
                struct figures f = { 0 };

                if (count_lines(&f, blind[i])) {
                        has = has_row(doc, blind[i], &f) && has;
                        count_lines(&all, blind[i]);
                        if (i < BY_OTHERS)
                                count_lines(&others, blind[i]);
                }
        }
        if (all.all > 0) {
                has = has_row(doc, "all blind", &all) && has_table(doc, &all) && has;
                check_goals(&all);
        }
        if (others.all > 0) {
                has = has_table(doc, &others) && has;
                check_goals(&others);
        }
        free(doc);
        assert_true(has);
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_tuning), cmocka_unit_test(test_blind) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
