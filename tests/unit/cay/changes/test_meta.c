/* SPDX-License-Identifier: Apache-2.0 */
/* The text file of a kept run goes both ways, and nothing else is taken for one. */
#include "changes_test.h"

#include "cay/changes/meta.h"

static struct cay_meta good(void)
{
        struct cay_meta m = {
                .id = "abc-1",
                .state = CAY_META_KEPT,
                .folder = "/home/u/a b\n\xc3\xa4%",
                .folder_dev = 7,
                .folder_ino = UINT64_MAX,
                .command = "make 'all'",
                .started_ms = 1700000000123,
                .expires_ms = 1700000999123,
                .began_ns = 1700000000120000000,
                .counts = { 1, 2, 3, 4 },
                .left_out = 5,
        };

        return m;
}

static void files_go_both_ways(void **state)
{
        struct cay_meta m = good(), back;
        cay_auto_buf struct cay_buf text;

        (void)state;
        cay_buf_init(&text, CAY_META_MAX);
        assert_int_equal(cay_meta_format(&m, &text), 0);
        for (size_t i = 0; i < text.len; i++)
                assert_true(cay_buf_data(&text)[i] == '\n' ||
                            (cay_buf_data(&text)[i] >= ' ' && cay_buf_data(&text)[i] <= '~'));
        assert_int_equal(cay_meta_parse(cay_buf_data(&text), text.len, &back), 0);
        assert_string_equal(back.id, m.id);
        assert_int_equal(back.state, m.state);
        assert_string_equal(back.folder, m.folder);
        assert_string_equal(back.command, m.command);
        assert_true(back.folder_dev == m.folder_dev && back.folder_ino == m.folder_ino);
        assert_true(back.started_ms == m.started_ms && back.expires_ms == m.expires_ms &&
                    back.began_ns == m.began_ns);
        assert_memory_equal(&back.counts, &m.counts, sizeof(m.counts));
        assert_int_equal(back.left_out, 5);
}

static void anything_else_is_refused(void **state)
{
        struct cay_meta m = good(), back;
        cay_auto_buf struct cay_buf text;
        char *copy;

        (void)state;
        cay_buf_init(&text, CAY_META_MAX);
        assert_int_equal(cay_meta_format(&m, &text), 0);
        copy = malloc(text.len + 2);
        for (size_t len = 0; len < text.len; len++)
                assert_int_equal(cay_meta_parse(cay_buf_data(&text), len, &back), -EINVAL);
        /* A byte more, and each byte in turn another one: refused, or another value; never a crash. */
        memcpy(copy, cay_buf_data(&text), text.len);
        copy[text.len] = '\n';
        assert_int_equal(cay_meta_parse(copy, text.len + 1, &back), -EINVAL);
        for (size_t i = 0; i < text.len; i++) {
                char kept = copy[i];

                copy[i] = '\0';
                assert_int_equal(cay_meta_parse(copy, text.len, &back), -EINVAL);
                copy[i] = '%';
                cay_meta_parse(copy, text.len, &back);
                copy[i] = kept;
        }
        assert_int_equal(cay_meta_parse("", 0, &back), -EINVAL);
        assert_int_equal(cay_meta_parse("cay-run 2\n", 10, &back), -EINVAL);
        free(copy);
        cay_buf_clear(&text);
        snprintf(m.folder, sizeof(m.folder), "relative");
        assert_int_equal(cay_meta_format(&m, &text), 0);
        assert_int_equal(cay_meta_parse(cay_buf_data(&text), text.len, &back), -EINVAL);
}

static void the_longest_folder_fits(void **state)
{
        struct cay_meta m = good(), back;
        cay_auto_buf struct cay_buf text;

        (void)state;
        memset(m.folder, '\x01', sizeof(m.folder));
        m.folder[0] = '/';
        m.folder[sizeof(m.folder) - 1] = '\0';
        cay_buf_init(&text, CAY_META_MAX);
        assert_int_equal(cay_meta_format(&m, &text), 0);
        assert_int_equal(cay_meta_parse(cay_buf_data(&text), text.len, &back), 0);
        assert_string_equal(back.folder, m.folder);
}

static void commands_are_readable(void **state)
{
        const char *plain[] = { "make", "-j2", "a b", "", NULL }, *odd[] = { "x\033[31m\n", NULL };
        const char *many[100];
        struct cay_meta m;

        (void)state;
        cay_meta_set_command(&m, plain);
        assert_string_equal(m.command, "make -j2 'a b' ''");
        cay_meta_set_command(&m, odd);
        assert_string_equal(m.command, "'x?[31m?'");
        for (size_t i = 0; i < CAY_COUNT(many); i++)
                many[i] = i + 1 < CAY_COUNT(many) ? "word" : NULL;
        cay_meta_set_command(&m, many);
        assert_int_equal(strlen(m.command), CAY_META_COMMAND - 1);
        assert_string_equal(m.command + CAY_META_COMMAND - 4, "...");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(files_go_both_ways),
                cmocka_unit_test(anything_else_is_refused),
                cmocka_unit_test(the_longest_folder_fits),
                cmocka_unit_test(commands_are_readable),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
