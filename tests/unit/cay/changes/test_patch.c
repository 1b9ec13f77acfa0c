/* SPDX-License-Identifier: Apache-2.0 */
/* Patches: known texts, and that others' tools make of them what apply would. */
#include "changes_test.h"

#include "cay/changes/patch.h"

static struct cay_folder folder;
static struct cay_change_set *set;

static int setup(void **state)
{
        return scratch_setup(state) < 0 ? -1 : (folder_open(&folder), 0);
}

static int teardown(void **state)
{
        cay_folder_done(&folder);
        cay_change_set_free(cay_take(set));
        return scratch_teardown(state);
}

static char *text;

static const char *print_as(bool is_terminal)
{
        struct cay_error err = { .code = CAY_OK };
        size_t len = 0;
        FILE *out;

        free(text);
        out = open_memstream(&text, &len);
        if (cay_patch_print(&(struct cay_patch){ set, &folder, out, is_terminal }, &err) < 0)
                fail_msg("%s", err.msg);
        fclose(out);
        return text;
}

static void is_text(const char *expected)
{
        assert_string_equal(print_as(false), expected);
}

static void print_to(const char *path)
{
        struct cay_error err = { .code = CAY_OK };
        FILE *out = fopen(path, "we");

        assert_non_null(out);
        if (cay_patch_print(&(struct cay_patch){ set, &folder, out, false }, &err) < 0)
                fail_msg("%s", err.msg);
        assert_int_equal(fclose(out), 0);
}

static struct cay_patch_lines count(const char *path)
{
        struct cay_patch p = { .set = set, .folder = &folder };
        struct cay_error err = { .code = CAY_OK };
        struct cay_patch_lines lines;

        if (cay_patch_count(&p, cay_change_set_find(set, path), &lines, &err) < 0)
                fail_msg("%s", err.msg);
        return lines;
}

static void changed_lines(void **state)
{
        struct cay_patch_lines n;

        (void)state;
        put("f/a", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n");
        set_begin();
        set_file("a", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\nmore\n", 0644);
        set_reopen(&set);
        is_text("diff --git a/a b/a\n--- a/a\n+++ b/a\n"
                "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"
                "@@ -14,3 +14,4 @@\n 14\n 15\n 16\n+more\n");
        n = count("a");
        assert_int_equal(n.added, 2);
        assert_int_equal(n.removed, 1);
        assert_false(n.is_binary || n.is_same);
}

static void near_changes_share_a_hunk(void **state)
{
        (void)state;
        put("f/a", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
        set_begin();
        set_file("a", "one\n2\n3\n4\n5\n6\n7\neight\n9\n", 0644);
        set_reopen(&set);
        is_text("diff --git a/a b/a\n--- a/a\n+++ b/a\n"
                "@@ -1,9 +1,9 @@\n-1\n+one\n 2\n 3\n 4\n 5\n 6\n 7\n-8\n+eight\n 9\n");
}

static void new_and_deleted_files(void **state)
{
        (void)state;
        put("f/gone", "x\n");
        set_begin();
        set_file("empty", "", 0644);
        set_file("new", "a\nb", 0755);
        set_link("link", "to");
        set_removed("gone");
        set_reopen(&set);
        is_text("diff --git a/empty b/empty\nnew file mode 100644\n"
                "diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 "
                "@@\n-x\n"
                "diff --git a/link b/link\nnew file mode 120000\n--- /dev/null\n+++ b/link\n@@ -0,0 +1 "
                "@@\n+to\n"
                "\\ No newline at end of file\n"
                "diff --git a/new b/new\nnew file mode 100755\n--- /dev/null\n+++ b/new\n@@ -0,0 +1,2 "
                "@@\n+a\n+b\n"
                "\\ No newline at end of file\n");
}

static void modes_types_and_binaries(void **state)
{
        (void)state;
        put("f/mode", "x\n");
        put("f/type", "x\n");
        put("f/bin", "text\n");
        set_begin();
        set_file("mode", "x\n", 0755);
        set_link("type", "t");
        set_file_of("bin", "\0x", 2, 0644, base_of("bin"));
        set_reopen(&set);
        is_text("diff --git a/bin b/bin\nBinary files a/bin and b/bin differ\n"
                "diff --git a/mode b/mode\nold mode 100644\nnew mode 100755\n"
                "diff --git a/type b/type\ndeleted file mode 100644\n--- a/type\n+++ /dev/null\n@@ -1 +0,0 "
                "@@\n-x\n"
                "diff --git a/type b/type\nnew file mode 120000\n--- /dev/null\n+++ b/type\n@@ -0,0 +1 "
                "@@\n+t\n"
                "\\ No newline at end of file\n");
        assert_true(count("bin").is_binary);
        assert_int_equal(count("bin").old_size, 5);
        assert_int_equal(count("bin").new_size, 2);
}

static void what_is_applied_or_not_selected_is_not_shown(void **state)
{
        const char *paths[] = { "b" };
        struct cay_error err = { .code = CAY_OK };

        (void)state;
        set_begin();
        set_file("a", "same\n", 0644);
        set_file("b", "other\n", 0644);
        set_file("c", "c\n", 0644);
        set_reopen(&set);
        put("f/a", "same\n");
        assert_int_equal(cay_change_set_select(set, paths, 1, &err), 0);
        is_text("diff --git a/b b/b\nnew file mode 100644\n--- /dev/null\n+++ b/b\n@@ -0,0 +1 @@\n+other\n");
        assert_true(count("a").is_same);
}

static void names_are_quoted(void **state)
{
        (void)state;
        set_begin();
        set_file("a\n\"\\\033\xc3\xa4\xff\xe2\x80\xae", "", 0644);
        set_file("plain \xc3\xa4", "x\n", 0644);
        set_reopen(&set);
        is_text("diff --git \"a/a\\n\\\"\\\\\\033\xc3\xa4\\377\\342\\200\\256\" "
                "\"b/a\\n\\\"\\\\\\033\xc3\xa4\\377\\342\\200\\256\"\nnew file mode 100644\n"
                "diff --git \"a/plain \xc3\xa4\" \"b/plain \xc3\xa4\"\nnew file mode 100644\n--- "
                "/dev/null\n+++ "
                "b/plain \xc3\xa4\t\n"
                "@@ -0,0 +1 @@\n+x\n");
}

/* What would move the cursor, set colours or turn the text around is shown as what it is. */
static void a_terminal_gets_no_commands(void **state)
{
        (void)state;
        set_begin();
        set_file("a", "\033[31mred\r\b\x7f \xc2\x9b \xe2\x80\xae \xff\ttab \xc3\xa4\n", 0644);
        set_reopen(&set);
        assert_non_null(
                strstr(print_as(true), "+^[[31mred^M^H^? <C2><9B> <E2><80><AE> <FF>\ttab \xc3\xa4\n"));
        assert_non_null(strstr(print_as(false), "+\033[31mred\r"));
}

static void many_lines_are_replaced_as_a_whole(void **state)
{
        enum { LINES = (2 << 20) + 10 };
        char *big = malloc(LINES + 1);
        struct cay_patch_lines n;

        (void)state;
        put("f/a", "old\n");
        memset(big, '\n', LINES);
        big[LINES] = '\0';
        set_begin();
        set_file("a", big, 0644);
        set_reopen(&set);
        n = count("a");
        assert_int_equal(n.added, LINES);
        assert_int_equal(n.removed, 1);
        assert_non_null(strstr(print_as(false), "@@ -1 +1,2097162 @@\n-old\n+\n+\n"));
        free(big);
}

/* --- Others' tools --- */

static uint32_t seed;

static uint32_t next(uint32_t below)
{
        seed = seed * 1103515245 + 12345;
        return (seed >> 8) % below;
}

static void random_text(char *to, size_t size)
{
        size_t n = 0;

        for (unsigned lines = next(60); lines > 0 && n + 8 < size; lines--)
                n += (size_t)snprintf(to + n, size - n, "%u\n", next(12));
        if (n > 0 && next(5) == 0)
                n--;
        to[n] = '\0';
}

static void change_text(char *to, size_t size, const char *from)
{
        size_t n = 0;

        for (const char *line = from; *line && n + 16 < size;) {
                size_t len = strcspn(line, "\n") + (strchr(line, '\n') != NULL);

                if (next(7) == 0)
                        n += (size_t)snprintf(to + n, size - n, "new %u\n", next(9));
                if (next(7) > 0) {
                        memcpy(to + n, line, len);
                        n += len;
                }
                line += len;
        }
        to[n] = '\0';
}

static bool has(const char *program)
{
        char line[128];

        snprintf(line, sizeof(line), "command -v %s >/dev/null 2>&1", program);
        return system(line) == 0;
}

/* A folder, a random change of it, its patch, and what the tool makes of the folder with it. */
static void round_trip(unsigned round, const char *tool)
{
        char old[600], new[1200], name[32], path[64], line[256];

        seed = round * 2654435761u;
        shell("rm -rf f want && mkdir f want");
        cay_folder_done(&folder);
        folder_open(&folder);
        set_begin();
        for (unsigned i = 0; i < 6; i++) {
                snprintf(name, sizeof(name), i % 2 ? "d%u/file %u" : "file%u%u", i, i);
                if (i % 2) {
                        snprintf(line, sizeof(line), "mkdir -p f/d%u want/d%u", i, i);
                        shell(line);
                }
                random_text(old, sizeof(old));
                if (i == 5 && old[0] == '\0')
                        snprintf(old, sizeof(old), "x\n"); /* patch asks before it deletes an empty file */
                change_text(new, sizeof(new), old);
                if (i != 4) {
                        snprintf(path, sizeof(path), "f/%s", name);
                        put(path, old);
                }
                if (i == 5) {
                        set_removed(name);
                        continue;
                }
                if (i == 4 || strcmp(old, new) != 0)
                        set_file(name, new, 0644);
                snprintf(path, sizeof(path), "want/%s", name);
                put(path, new);
        }
        set_reopen(&set);
        print_to("patch");
        shell(tool);
        /* Neither keeps directories that became empty. */
        shell("find f want -mindepth 1 -type d -empty -delete && diff -r f want");
}

static void patch_takes_them(void **state)
{
        (void)state;
        if (!has("patch"))
                skip();
        for (unsigned round = 0; round < 40; round++)
                round_trip(round, "cd f && if [ -s ../patch ]; then patch -s -p1 --no-backup-if-mismatch "
                                  "<../patch; fi");
}

static void git_takes_them(void **state)
{
        (void)state;
        if (!has("git"))
                skip();
        for (unsigned round = 0; round < 40; round++)
                round_trip(1000 + round, "cd f && if [ -s ../patch ]; then GIT_DIR=/nonexistent git apply "
                                         "--whitespace=nowarn ../patch; fi");
}

static void git_takes_modes_links_and_odd_names(void **state)
{
        (void)state;
        if (!has("git"))
                skip();
        put("f/mode", "x\n");
        put("f/type", "x\n");
        put("f/gone \xc3\xa4", "x\n");
        shell("ln -s a f/link && mkdir f/dir && echo 1 >f/dir/x");
        set_begin();
        set_file("mode", "x\n", 0755);
        set_link("type", "t");
        set_link("link", "b");
        set_removed("gone \xc3\xa4");
        set_file("empty", "", 0755);
        set_file("sp ace", "1\n", 0644);
        set_file("\t\"odd\"\n", "2\n", 0644);
        set_file("dir", "a file\n", 0644);
        set_removed("dir/x");
        set_reopen(&set);
        print_to("patch");
        shell("cd f && GIT_DIR=/nonexistent git apply ../patch");
        assert_int_equal(mode_of("f/mode"), 0755);
        assert_string_equal(link_of("f/type"), "t");
        assert_string_equal(link_of("f/link"), "b");
        assert_false(is_there("f/gone \xc3\xa4"));
        assert_string_equal(get("f/empty"), "");
        assert_int_equal(mode_of("f/empty") & 0111, 0111);
        assert_string_equal(get("f/sp ace"), "1\n");
        assert_string_equal(get("f/\t\"odd\"\n"), "2\n");
        assert_string_equal(get("f/dir"), "a file\n");
}

static int group_teardown(void **state)
{
        (void)state;
        free(text);
        return 0;
}

#define PATCH_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                PATCH_TEST(changed_lines),
                PATCH_TEST(near_changes_share_a_hunk),
                PATCH_TEST(new_and_deleted_files),
                PATCH_TEST(modes_types_and_binaries),
                PATCH_TEST(what_is_applied_or_not_selected_is_not_shown),
                PATCH_TEST(names_are_quoted),
                PATCH_TEST(a_terminal_gets_no_commands),
                PATCH_TEST(many_lines_are_replaced_as_a_whole),
                PATCH_TEST(patch_takes_them),
                PATCH_TEST(git_takes_them),
                PATCH_TEST(git_takes_modes_links_and_odd_names),
        };

        return cmocka_run_group_tests(tests, NULL, group_teardown);
}
