/* SPDX-License-Identifier: Apache-2.0 */
#include "cay-agent/rules.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "foundation/base/str.h"

struct test {
        char dir[32];
        int store;
        struct agent_rules rules;
        struct cay_error err;
        char question[AGENT_RULE_TEXT];
};

static int setup(void **state)
{
        static struct test t;
        static const char *const names[] = { "own", "own/sub", "own/sealed", "other" };
        char path[128];

        t = (struct test){ .dir = "/tmp/rules-XXXXXX" };
        assert_non_null(mkdtemp(t.dir));
        for (unsigned i = 0; i < CAY_COUNT(names); i++) {
                snprintf(path, sizeof(path), "%s/%s", t.dir, names[i]);
                assert_int_equal(mkdir(path, 0755), 0);
        }
        snprintf(path, sizeof(path), "%s/own/link", t.dir);
        assert_int_equal(symlink("../other", path), 0);
        snprintf(path, sizeof(path), "%s/answers", t.dir);
        t.store = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        assert_true(t.store >= 0);
        agent_rules_init(&t.rules);
        *state = &t;
        return 0;
}

static int teardown(void **state)
{
        struct test *t = *state;
        char command[64];

        agent_rules_done(&t->rules);
        close(t->store);
        snprintf(command, sizeof(command), "rm -r %s", t->dir);
        return system(command);
}

/* DIR in a text is the test's folder. */
static const char *with_dir(const struct test *t, const char *text)
{
        static char out[8192];
        size_t len = 0;

        while (*text) {
                if (cay_str_starts(text, "DIR")) {
                        len += (size_t)snprintf(out + len, sizeof(out) - len, "%s", t->dir);
                        text += 3;
                } else {
                        out[len++] = *text++;
                }
        }
        out[len] = '\0';
        return out;
}

static int parse(struct test *t, const char *text)
{
        bool keeps = t->rules.store >= 0;
        int store = t->rules.store;
        char was[AGENT_RULES_FILE];

        memcpy(was, t->rules.remembered, sizeof(was));
        t->rules.store = -1;
        agent_rules_done(&t->rules);
        t->rules.store = keeps ? store : -1;
        memcpy(t->rules.remembered, was, sizeof(was));
        t->err = (struct cay_error){ 0 };
        return agent_rules_parse(&t->rules, with_dir(t, text), &t->err);
}

static enum agent_verdict judge(struct test *t, const char *folder, enum cay_workspace_mode mode)
{
        char path[2048];
        struct agent_wish wish = { .folder = path, .mode = mode };

        cay_str_copy(path, sizeof(path), with_dir(t, folder));
        t->err = (struct cay_error){ 0 };
        t->question[0] = '\0';
        return agent_rules_judge(&t->rules, &wish, t->question, &t->err);
}

static void without_rules_there_are_sandboxes_and_no_folders(void **state)
{
        struct test *t = *state;

        assert_int_equal(judge(t, "", CAY_WORKSPACE_RW), AGENT_ALLOW);
        assert_int_equal(judge(t, "/", CAY_WORKSPACE_RO), AGENT_DENY);
        assert_int_equal(t->err.code, CAY_DENIED);
        assert_int_equal(parse(t, "sandboxes deny"), 0);
        assert_int_equal(judge(t, "", CAY_WORKSPACE_RO), AGENT_DENY);
        assert_int_equal(parse(t, "# nothing\n\n  sandboxes ask # but\ncommands user\n"), 0);
        assert_int_equal(judge(t, "", CAY_WORKSPACE_RO), AGENT_PROMPT);
        assert_true(t->rules.as_user && strstr(t->question, "as you"));
}

static void folders_are_what_is_named_and_below(void **state)
{
        struct test *t = *state;

        assert_int_equal(parse(t, "folder DIR/own rw\nfolder DIR/other cow ask\n"), 0);
        assert_int_equal(judge(t, "DIR/own", CAY_WORKSPACE_RW), AGENT_ALLOW);
        assert_int_equal(judge(t, "DIR/own/sub/deep", CAY_WORKSPACE_COW), AGENT_ALLOW);
        assert_int_equal(judge(t, "DIR/ow", CAY_WORKSPACE_RO), AGENT_DENY);
        assert_int_equal(judge(t, "DIR/owner", CAY_WORKSPACE_RO), AGENT_DENY);
        assert_int_equal(judge(t, "DIR", CAY_WORKSPACE_RO), AGENT_DENY);
        assert_int_equal(judge(t, "DIR/own/../other", CAY_WORKSPACE_RO), AGENT_DENY);
        assert_int_equal(judge(t, "DIR/own//sub", CAY_WORKSPACE_RO), AGENT_DENY);
        assert_int_equal(judge(t, "DIR/own/", CAY_WORKSPACE_RO), AGENT_DENY);
        assert_int_equal(judge(t, "DIR/own/.", CAY_WORKSPACE_RO), AGENT_DENY);
        assert_int_equal(judge(t, "own", CAY_WORKSPACE_RO), AGENT_DENY);
        assert_int_equal(judge(t, "DIR/other", CAY_WORKSPACE_RW), AGENT_DENY);
        assert_int_equal(judge(t, "DIR/other", CAY_WORKSPACE_COW), AGENT_PROMPT);
        assert_non_null(strstr(t->question, "may read the files of"));
}

/* Whoever has a folder has what is below it: the stricter of both rules holds. */
static void stricter_rules_below_hold_too(void **state)
{
        struct test *t = *state;

        assert_int_equal(parse(t, "folder DIR/own rw\nfolder DIR/own/sealed ro ask\n"), 0);
        assert_int_equal(judge(t, "DIR/own/sub", CAY_WORKSPACE_RW), AGENT_ALLOW);
        assert_int_equal(judge(t, "DIR/own", CAY_WORKSPACE_RW), AGENT_DENY);
        assert_int_equal(judge(t, "DIR/own", CAY_WORKSPACE_RO), AGENT_PROMPT);
        assert_int_equal(judge(t, "DIR/own/sealed/x", CAY_WORKSPACE_RW), AGENT_DENY);
        assert_int_equal(parse(t, "folder / ro\nfolder DIR/own rw\n"), 0);
        assert_int_equal(judge(t, "/", CAY_WORKSPACE_RO), AGENT_ALLOW);
        assert_int_equal(judge(t, "/usr", CAY_WORKSPACE_RW), AGENT_DENY);
        assert_int_equal(judge(t, "DIR/own", CAY_WORKSPACE_RW), AGENT_ALLOW);
}

static void a_yes_is_remembered_for_the_rule_as_it_is(void **state)
{
        struct test *t = *state;
        char path[128];
        struct agent_wish wish = { .folder = path, .mode = CAY_WORKSPACE_RW };
        struct agent_rules again;

        t->rules.store = dup(t->store);
        snprintf(path, sizeof(path), "%s/own/sub", t->dir);
        assert_int_equal(parse(t, "folder DIR/own rw ask\nfolder DIR/other ro ask\n"), 0);
        assert_int_equal(judge(t, "DIR/own", CAY_WORKSPACE_RO), AGENT_PROMPT);
        assert_int_equal(agent_rules_remember(&t->rules, &wish, &t->err), 0);
        assert_int_equal(judge(t, "DIR/own", CAY_WORKSPACE_RO), AGENT_ALLOW);
        assert_int_equal(judge(t, "DIR/other", CAY_WORKSPACE_RO), AGENT_PROMPT);
        assert_int_equal(parse(t, "folder DIR/own cow ask\n"), 0); /* another rule */
        assert_int_equal(judge(t, "DIR/own", CAY_WORKSPACE_RO), AGENT_PROMPT);
        /* Another agent reads it from the file. */
        agent_rules_init(&again);
        lseek(t->store, 0, SEEK_SET);
        assert_int_equal(agent_rules_load(&again, AT_FDCWD, NULL, dup(t->store), &t->err), 0);
        assert_int_equal(agent_rules_parse(&again, with_dir(t, "folder DIR/own rw ask\n"), &t->err), 0);
        assert_int_equal(agent_rules_judge(&again, &wish, t->question, &t->err), AGENT_ALLOW);
        agent_rules_done(&again);
}

/*
 * The warden opens it, below the rule's folder and without links (tests/unit and integration of cay-warden).
 */
static void folders_are_named_by_their_rule(void **state)
{
        struct test *t = *state;
        const char *below = NULL;
        char path[128];
        struct agent_wish wish = { .folder = path };

        assert_int_equal(parse(t, "folder DIR/own rw\nfolder DIR/other ro\n"), 0);
        snprintf(path, sizeof(path), "%s/other", t->dir);
        assert_int_equal(agent_rules_place(&t->rules, &wish, &below), 2);
        assert_string_equal(below, ".");
        snprintf(path, sizeof(path), "%s/own/a/b", t->dir);
        assert_int_equal(agent_rules_place(&t->rules, &wish, &below), 1);
        assert_string_equal(below, "a/b");
        snprintf(path, sizeof(path), "%s/owned", t->dir);
        assert_int_equal(agent_rules_place(&t->rules, &wish, &below), 0);
        path[0] = '\0';
        assert_int_equal(agent_rules_place(&t->rules, &wish, &below), 0);
}

static void limits_are_bounded(void **state)
{
        struct test *t = *state;
        struct cay_limits l = {
                .memory_bytes = 1u << 30, .cpu_milli = 2000, .pids = 256, .disk_bytes = 1u << 30
        };

        assert_int_equal(parse(t, "sandboxes allow\n"), 0);
        assert_false(agent_rules_has_most(&t->rules));
        assert_int_equal(agent_rules_check_limits(&t->rules, &(struct cay_limits){ 0 }, 1000, &t->err), 0);
        assert_int_equal(
                parse(t, "most memory 1g\nmost cpus 2\nmost pids 256\nmost disk 1g\nmost sandboxes 2\n"), 0);
        assert_true(agent_rules_has_most(&t->rules));
        assert_int_equal(agent_rules_check_limits(&t->rules, &l, 1, &t->err), 0);
        assert_int_equal(agent_rules_check_limits(&t->rules, &l, 2, &t->err), -1);
        assert_int_equal(t->err.code, CAY_LIMIT);
        for (unsigned i = 0; i < 8; i++) {
                uint64_t *const values[] = { &l.memory_bytes, &l.cpu_milli, &l.pids, &l.disk_bytes };
                uint64_t was = *values[i / 2];

                *values[i / 2] = i % 2 ? was + 1 : 0; /* more, or no limit at all */
                t->err = (struct cay_error){ 0 };
                assert_int_equal(agent_rules_check_limits(&t->rules, &l, 0, &t->err), -1);
                assert_int_equal(t->err.code, CAY_DENIED);
                *values[i / 2] = was;
        }
}

static void mistakes_are_told_with_their_line(void **state)
{
        static const struct {
                const char *text, *words;
        } rows[] = {
                { "folders", "line 1" },
                { "\n\nfolder DIR/own", "line 3" },
                { "most", "most memory SIZE" },
                { "most memory", "most memory SIZE" },
                { "most memory 0", "more than 0" },
                { "most memory -1", "most memory SIZE" },
                { "most memory 99999999999999g", "most memory SIZE" },
                { "most fun 1", "most memory SIZE" },
                { "most cpus 1 2", "most memory SIZE" },
                { "folder DIR/own rx", "ro|cow|rw" },
                { "folder DIR/own rw deny", "allow|ask" },
                { "folder DIR/own rw ask too", "allow|ask" },
                { "folder own rw", "absolute" },
                { "folder DIR/own/ rw", "absolute" },
                { "folder DIR/none rw", "open the folder" },
                { "folder DIR/own rw\nfolder DIR/own ro", "line 2" },
                { "sandboxes", "allow|ask|deny" },
                { "sandboxes maybe", "allow|ask|deny" },
                { "commands root", "isolated|user" },
                { "commands user now", "isolated|user" },
                { "commands user\nmost memory 1g", "most sandboxes" }, /* nothing would enforce it */
                { "most pids 10\ncommands user", "most sandboxes" },
        };
        struct test *t = *state;
        static char longer[2000];

        for (unsigned i = 0; i < CAY_COUNT(rows); i++) {
                assert_int_equal(parse(t, rows[i].text), -1);
                if (!strstr(t->err.msg, rows[i].words))
                        fail_msg("'%s': %s", rows[i].text, t->err.msg);
        }
        memset(longer, 'x', sizeof(longer) - 1);
        assert_int_equal(parse(t, longer), -1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
                T(without_rules_there_are_sandboxes_and_no_folders),
                T(folders_are_what_is_named_and_below),
                T(stricter_rules_below_hold_too),
                T(a_yes_is_remembered_for_the_rule_as_it_is),
                T(folders_are_named_by_their_rule),
                T(limits_are_bounded),
                T(mistakes_are_told_with_their_line),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
