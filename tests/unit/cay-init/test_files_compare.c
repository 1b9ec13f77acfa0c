/* SPDX-License-Identifier: Apache-2.0 */
/*
 * COMPARE: what differs is told by the names that the sandbox knows, and hostile trees cannot lead it
 * elsewhere.
 */

#include "test_files.h"

#include "links/box/match.h"

static int by_text(const void *a, const void *b)
{
        return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Every entry's name, sorted, with newlines between. */
static char *told(const struct run *r)
{
        static char text[64 * 1024], names[256][512];
        char *sorted[256];
        size_t at = 0, len = 0, count = 0;

        while (at < r->out_len) {
                struct cay_box_stat st;
                int n = cay_box_entry_decode(r->out + at, r->out_len - at, &st);

                assert_true(n > 0 && count < 256 && st.name.len < sizeof(names[0]));
                at += (size_t)n;
                snprintf(names[count], sizeof(names[0]), "%.*s", (int)st.name.len, st.name.ptr);
                sorted[count] = names[count];
                count++;
        }
        qsort(sorted, count, sizeof(sorted[0]), by_text);
        text[0] = '\0';
        for (size_t i = 0; i < count; i++)
                len += (size_t)snprintf(text + len, sizeof(text) - len, "%s\n", sorted[i]);
        return text;
}

static void differences_are_told(void **state)
{
        cay_auto(run_done) struct run r = { 0 };

        (void)state;
        shell("mkdir -p a/workspace/d/e a/etc-up a/etc-work a/usr-low && cd a/workspace && echo 1 >same && "
              "echo 1 >other && "
              "echo 1 >gone && echo 1 >size && echo 1 >mode && echo 1 >d/e/f && ln -s x link && echo 1 "
              ">becomes && cd ../.. && "
              "cp -a a b && cd b/workspace && echo 2 >other && rm gone && echo 22 >size && chmod 600 mode && "
              "ln -sfn y link && "
              "rm -r d becomes && mkdir becomes && echo 1 >becomes/new && echo 1 >same && cd .. && echo 1 "
              ">etc-work/x && "
              "echo 1 >etc-up/cay-test-of-compare");
        assert_int_equal(run(&r, cay_file_compare, "a", "b"), CAY_OK);
        assert_string_equal(told(&r), "A /etc/cay-test-of-compare\nA /workspace/becomes/new\nD /workspace/d\n"
                                      "D /workspace/gone\nM /workspace/becomes\nM /workspace/link\n"
                                      "M /workspace/mode\nM /workspace/other\nM /workspace/size\n");
        assert_int_equal(r.res.entries, 9);
        assert_int_equal(r.res.mode, 0);
        assert_int_equal(run(&r, cay_file_compare, "a", "a"), CAY_OK);
        assert_string_equal(told(&r), "");
        r.max_entries = 3;
        assert_int_equal(run(&r, cay_file_compare, "a", "b"), CAY_OK);
        assert_int_equal(r.res.entries, 3);
        assert_int_equal(r.res.mode, CAY_SEARCH_ENOUGH);
        assert_int_equal(run(&r, cay_file_compare, "a", "nosuch"), CAY_NOT_FOUND);
}

static void links_lead_nowhere(void **state)
{
        cay_auto(run_done) struct run r = { 0 };

        (void)state;
        shell("mkdir -p a/tmp/d b/tmp && ln -s ../../a/tmp/d b/tmp/d && echo 1 >a/tmp/d/f && mkfifo a/tmp/p "
              "b/tmp/p && "
              "ln -s / a/tmp/up && ln -s / b/tmp/up && echo 1 >a/tmp/x && ln -s ../../a/tmp/x b/tmp/x");
        assert_int_equal(run(&r, cay_file_compare, "a", "b"), CAY_OK);
        assert_string_equal(told(&r), "M /tmp/d\nM /tmp/x\n");
}

int main(void)
{
        const struct CMUnitTest tests[] = { FILE_TEST(differences_are_told), FILE_TEST(links_lead_nowhere) };

        return cmocka_run_group_tests_name("init/files_compare", tests, NULL, NULL);
}
