/* SPDX-License-Identifier: Apache-2.0 */
/* LIST: every entry once, in pages, with any name. */

#include "test_files.h"

struct listed {
        unsigned count;
        struct cay_box_stat last;
};

/* Decodes all of a run's output; `find` is the entry to keep. */
static struct listed decode(const struct run *r, const char *find)
{
        struct listed l = { 0 };
        size_t at = 0;

        while (at < r->out_len) {
                struct cay_box_stat e;
                int n = cay_box_entry_decode(r->out + at, r->out_len - at, &e);

                assert_true(n > 0);
                at += (size_t)n;
                l.count++;
                if (find && e.name.len == strlen(find) && memcmp(e.name.ptr, find, e.name.len) == 0)
                        l.last = e;
        }
        return l;
}

static void entries_are_told(void **state)
{
        cay_auto(run_done) struct run r = { 0 };
        struct listed l;

        (void)state;
        shell("printf abc >f && chmod 640 f && ln -s f l && mkdir d && touch d/x && mkfifo p");
        assert_int_equal(run(&r, cay_file_list, ".", NULL), CAY_OK);
        assert_int_equal(r.res.entries, 4);
        l = decode(&r, "f");
        assert_int_equal(l.count, 4);
        assert_int_equal(l.last.type, CAY_FILE_REGULAR);
        assert_int_equal(l.last.mode, 0640);
        assert_int_equal(l.last.size, 3);
        l = decode(&r, "l");
        assert_int_equal(l.last.type, CAY_FILE_SYMLINK);
        assert_int_equal(l.last.target.len, 1);
        assert_int_equal(decode(&r, "p").last.type, CAY_FILE_FIFO);
        assert_int_equal(decode(&r, "d").last.type, CAY_FILE_DIRECTORY);
        assert_int_equal(run(&r, cay_file_list, "f", NULL), CAY_CONFLICT);
        assert_int_equal(run(&r, cay_file_list, "none", NULL), CAY_NOT_FOUND);
        assert_int_equal(run(&r, cay_file_list, "/proc/self/fd", NULL), CAY_OK);
}

static void any_name_is_listed_as_it_is(void **state)
{
        static const char *const names[] = { "new\nline", "quo'te\"", "\xff\xfe\x80",
                                             "<script>",  " ",        "\x1b[31m" };
        cay_auto(run_done) struct run r = { 0 };

        (void)state;
        for (size_t i = 0; i < CAY_COUNT(names); i++)
                put_file(names[i], "");
        assert_int_equal(run(&r, cay_file_list, ".", NULL), CAY_OK);
        for (size_t i = 0; i < CAY_COUNT(names); i++)
                assert_int_equal(decode(&r, names[i]).last.type, CAY_FILE_REGULAR);
}

static void pages_fit_together(void **state)
{
        enum { FILES = 3000, PAGE = 700 };
        static bool seen[FILES];
        cay_auto(run_done) struct run r = { .max_entries = PAGE };
        unsigned total = 0;
        char name[32];

        (void)state;
        for (unsigned i = 0; i < FILES; i++) {
                snprintf(name, sizeof(name), "file-with-a-name-%u", i);
                put_file(name, "");
        }
        for (r.offset = 0; r.offset <= FILES; r.offset += PAGE) {
                size_t at = 0;

                assert_int_equal(run(&r, cay_file_list, ".", NULL), CAY_OK);
                while (at < r.out_len) {
                        struct cay_box_stat e;
                        int n = cay_box_entry_decode(r.out + at, r.out_len - at, &e);
                        unsigned long i;

                        assert_true(n > 0);
                        at += (size_t)n;
                        snprintf(name, sizeof(name), "%.*s", (int)e.name.len, e.name.ptr);
                        i = strtoul(name + 17, NULL, 10);
                        assert_true(i < FILES && !seen[i]);
                        seen[i] = true;
                        total++;
                }
        }
        assert_int_equal(total, FILES);
        r.offset = UINT64_MAX;
        assert_int_equal(run(&r, cay_file_list, ".", NULL), CAY_OK);
        assert_int_equal(r.out_len, 0);
}

static void recursive_lists_paths(void **state)
{
        cay_auto(run_done) struct run r = { .flags = CAY_BOX_RECURSIVE };
        struct listed l;

        (void)state;
        shell("mkdir -p a/b/c && touch a/b/f && ln -s / a/root");
        assert_int_equal(run(&r, cay_file_list, ".", NULL), CAY_OK);
        l = decode(&r, "a/b/f");
        assert_int_equal(l.count, 5);
        assert_int_equal(l.last.type, CAY_FILE_REGULAR);
        assert_int_equal(decode(&r, "a/b/c").last.type, CAY_FILE_DIRECTORY);
        /* names that no request could hold are left out, and it is said */
        make_deep("deep", 1500);
        assert_int_equal(run(&r, cay_file_list, ".", NULL), CAY_OK);
        l = decode(&r, NULL);
        assert_int_equal(l.count, 5 + (CAY_BOX_PATH_MAX + 1) / 5);
        assert_non_null(strstr(r.res.msg, "left out"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                FILE_TEST(entries_are_told),
                FILE_TEST(any_name_is_listed_as_it_is),
                FILE_TEST(pages_fit_together),
                FILE_TEST(recursive_lists_paths),
        };

        return cmocka_run_group_tests_name("init/files_list", tests, NULL, NULL);
}
