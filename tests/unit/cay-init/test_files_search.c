/* SPDX-License-Identifier: Apache-2.0 */
/* SEARCH and sorted LIST: what is found, in which order, and what hostile trees cannot do. */

#include "test_files.h"

#include "foundation/base/clock.h"
#include "links/box/match.h"

/* Everything found as "name:line:text" lines. */
static char *found(const struct run *r)
{
        static char text[256 * 1024];
        size_t at = 0, len = 0;

        text[0] = '\0';
        while (at < r->out_len) {
                struct cay_box_match m;
                int n = cay_box_match_decode(r->out + at, r->out_len - at, &m);

                assert_true(n > 0);
                at += (size_t)n;
                len += (size_t)snprintf(text + len, sizeof(text) - len, "%.*s:%llu:%s%.*s%s\n",
                                        (int)m.name.len, m.name.ptr, (unsigned long long)m.line,
                                        m.flags & CAY_MATCH_CUT_BEFORE ? "<" : "", (int)m.text.len,
                                        m.text.ptr, m.flags & CAY_MATCH_CUT_BEHIND ? ">" : "");
                assert_true(len < sizeof(text));
        }
        return text;
}

static void lines_are_found_in_order(void **state)
{
        cay_auto(run_done) struct run r = { 0 };

        (void)state;
        shell("mkdir -p b/c && printf 'one\\ntwo foo\\nthree' >a.txt && printf 'foo\\r\\nbar\\n' >b/c/x.c && "
              "echo Foo >b/y.c");
        assert_int_equal(run(&r, cay_file_search, ".", "\nfoo"), CAY_OK);
        assert_string_equal(found(&r), "a.txt:2:two foo\nb/c/x.c:1:foo\n");
        assert_int_equal(r.res.entries, 2);
        assert_int_equal(r.res.size, 3);
        assert_int_equal(r.res.mode, 0);
        assert_int_equal(run(&r, cay_file_search, ".", "*.c\n^foo$"), CAY_OK);
        assert_string_equal(found(&r), "b/c/x.c:1:foo\n");
        assert_int_equal(run(&r, cay_file_search, "a.txt", "\nthree$"), CAY_OK);
        assert_string_equal(found(&r), ":3:three\n");
        r.flags = CAY_BOX_NO_CASE;
        assert_int_equal(run(&r, cay_file_search, "b", "\nFOO"), CAY_OK);
        assert_string_equal(found(&r), "c/x.c:1:foo\ny.c:1:Foo\n");
        r.flags = CAY_BOX_LITERAL;
        assert_int_equal(run(&r, cay_file_search, ".", "\nf.o"), CAY_OK);
        assert_string_equal(found(&r), "");
        r.flags = 0;
        assert_int_equal(run(&r, cay_file_search, ".", "\n(a"), CAY_INVALID);
        assert_non_null(strstr(r.res.msg, "pattern: a group"));
        assert_int_equal(run(&r, cay_file_search, "nosuch", "\na"), CAY_NOT_FOUND);
        assert_int_equal(run(&r, cay_file_search, ".", "a"), CAY_INVALID);
}

static void limits_are_told(void **state)
{
        cay_auto(run_done) struct run r = { .max_entries = 10 };

        (void)state;
        shell("seq 1 1000 >f");
        assert_int_equal(run(&r, cay_file_search, ".", "\n."), CAY_OK);
        assert_int_equal(r.res.entries, 10);
        assert_int_equal(r.res.mode, CAY_SEARCH_ENOUGH);
        r.max_entries = 0;
        r.max_bytes = 30;
        assert_int_equal(run(&r, cay_file_search, ".", "\n."), CAY_OK);
        assert_int_equal(r.res.mode, CAY_SEARCH_ENOUGH);
        assert_true(r.res.entries > 5 && r.res.entries < 30);
}

static void hostile_trees_are_passed(void **state)
{
        cay_auto(run_done) struct run r = { 0 };

        (void)state;
        shell("printf 'x\\0secret\\n' >binary && mkfifo p && ln -s /etc/passwd l && ln -s . loop && printf "
              "secret >plain && "
              "ln -s plain via && mkdir closed && chmod 0 closed && printf 'secret\\377\\n' >latin");
        assert_int_equal(run(&r, cay_file_search, ".", "\nsecret|root"), CAY_OK);
        assert_string_equal(found(&r), "latin:1:secret\377\nplain:1:secret\n");
        assert_int_equal(run(&r, cay_file_search, "via", "\nsecret"), CAY_OK);
        assert_string_equal(found(&r), ":1:secret\n");
        assert_int_equal(run(&r, cay_file_search, "p", "\nsecret"), CAY_CONFLICT);
}

/* A megabyte in one line: found across the pieces that it is looked at in, told in part. */
static void huge_lines_are_searched(void **state)
{
        cay_auto(run_done) struct run r = { 0 };
        const char *text;

        (void)state;
        shell("head -c 65533 /dev/zero | tr '\\0' a >f; printf needle >>f; head -c 1000000 /dev/zero | tr "
              "'\\0' b >>f; "
              "printf 'END\\nnext needle\\n' >>f");
        assert_int_equal(run(&r, cay_file_search, ".", "\nneedle"), CAY_OK);
        assert_int_equal(r.res.entries, 2);
        text = found(&r);
        assert_true(strncmp(text, "f:1:<aaa", 8) == 0);
        assert_non_null(strstr(text, "aneedlebb"));
        assert_non_null(strstr(text, "b>\nf:2:next needle\n"));
        assert_int_equal(run(&r, cay_file_search, ".", "\n^needle|bEND$"), CAY_OK);
        assert_int_equal(r.res.entries, 1);
        assert_int_equal(run(&r, cay_file_search, ".", "\n(b*)*x"), CAY_OK);
        assert_int_equal(r.res.entries, 1);
}

static void listings_are_sorted(void **state)
{
        cay_auto(run_done) struct run r = { .flags = CAY_BOX_SORTED | CAY_BOX_RECURSIVE };
        static const char *const names[] = { "a", "a/1", "a/z", "a-b", "a.c", "b.c" };
        size_t at = 0;

        (void)state;
        shell("mkdir a && touch b.c a.c a-b a/z a/1");
        assert_int_equal(run(&r, cay_file_list, ".", NULL), CAY_OK);
        for (unsigned i = 0; i < 6; i++) {
                struct cay_box_stat e;
                int n = cay_box_entry_decode(r.out + at, r.out_len - at, &e);

                assert_true(n > 0);
                at += (size_t)n;
                assert_int_equal(e.name.len, strlen(names[i]));
                assert_memory_equal(e.name.ptr, names[i], e.name.len);
        }
        assert_int_equal(at, r.out_len);
        assert_int_equal(run(&r, cay_file_list, ".", "*.c"), CAY_OK);
        assert_int_equal(r.res.entries, 2);
        r.offset = 1;
        r.max_entries = 1;
        assert_int_equal(run(&r, cay_file_list, ".", NULL), CAY_OK);
        assert_int_equal(r.res.entries, 1);
        assert_int_equal(run(&r, cay_file_list, ".", "[z-a]"), CAY_INVALID);
        r.offset = r.max_entries = 0;
        shell("mkdir many && cd many && seq 1 50100 | xargs touch");
        r.flags = CAY_BOX_SORTED;
        assert_int_equal(run(&r, cay_file_list, "many", NULL), CAY_OK);
        assert_int_equal(r.res.entries, 50000);
        assert_non_null(strstr(r.res.msg, "50000"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                FILE_TEST(lines_are_found_in_order), FILE_TEST(limits_are_told),
                FILE_TEST(hostile_trees_are_passed), FILE_TEST(huge_lines_are_searched),
                FILE_TEST(listings_are_sorted),
        };

        return cmocka_run_group_tests_name("init/files_search", tests, NULL, NULL);
}
