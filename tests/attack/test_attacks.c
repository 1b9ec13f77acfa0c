/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every attack of the table against a real box: held as it is, held with layers off that others stand in for,
 * and successful once all that hold it are off (so that the test is known to test something). After each,
 * nothing is left. CAY_ATTACK_ONLY=TEXT runs the rows whose name has TEXT in it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "attack/attack_run.h"
#include "attack/attack_table.h"
#include "isolated/leftovers.h"

#define TESTS_MAX 400
#define DEADLINE_MS 30000
#define ORDINARY_USER 4242 /* owner of read-write workspaces: neither root nor anybody of this machine's */

struct test {
        const struct attack *row;
        char name[160];
        struct cay_leftovers *before;
};

static const struct attack rows[] = {
#define SECTION(title) { .section = title },
#define ROW(...) { __VA_ARGS__ },
#include "attack/attacks.def"
#undef SECTION
#undef ROW
};

static struct test cases[TESTS_MAX];
static struct CMUnitTest unit_tests[TESTS_MAX];
static size_t case_count;

/* One run of a row with the layers in `off` (NULL: none) switched off. */
static struct attack_result run(const struct attack *row, const char *off)
{
        static char workspace[128], room[512], probe_room[512], script[600];
        const char *words[ATTACK_WORDS_MAX];
        char scratch[64] = "";
        size_t n = 0;
        struct attack_result r;

        n += attack_words(row->options ? row->options : "", room, sizeof(room), words + n, 20);
        if (off) {
                words[n++] = "--test-off";
                words[n++] = off;
                words[n++] = "--env";
                words[n++] = "CAY_ATTACK_OPEN=1";
        }
        if (attack_user()) {
                words[n++] = "--env";
                words[n++] = "CAY_ATTACK_WATCHED=1";
        }
        if (row->place == PLACE_LAYER) {
                snprintf(script, sizeof(script), "cat >probe && chmod +x probe && exec ./probe %s",
                         row->probe);
                words[n++] = "--";
                words[n++] = "sh";
                words[n++] = "-c";
                words[n++] = script;
        } else {
                if (row->place == PLACE_RW)
                        attack_scratch(scratch, attack_user() ? attack_user() : ORDINARY_USER);
                snprintf(workspace, sizeof(workspace), "%s:%s", scratch[0] ? scratch : attack_probe_dir(),
                         scratch[0] ? "rw" : "ro");
                words[n++] = "--workspace";
                words[n++] = workspace;
                words[n++] = "--";
                words[n++] = "/workspace/probe";
                n += attack_words(row->probe, probe_room, sizeof(probe_room), words + n, 20);
        }
        words[n] = NULL;
        r = attack_run(words, row->place == PLACE_LAYER ? attack_probe_path() : NULL, DEADLINE_MS);
        if (scratch[0])
                attack_scratch_remove(scratch);
        return r;
}

static bool has_layer(const char *set, const char *layer)
{
        size_t len = strlen(layer);

        for (const char *p = set; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
                if (strncmp(p, layer, len) == 0 && (p[len] == ',' || p[len] == '\0'))
                        return true;
        return false;
}

static void complain(const struct attack_result *r, const char *off, const char *what)
{
        fail_msg("%s (off: %s): line '%s', cause '%s', status %#x after %u ms\n%.2000s\n%.1000s", what,
                 off ? off : "-", r->line, r->cause, (unsigned)r->status, r->elapsed_ms, r->json, r->errors);
}

/* Held: said so, or was ended with the cause that the row names. */
static void expect_held(const struct attack *row, const char *off)
{
        struct attack_result r = run(row, off);
        const char *cause = row->cause ? row->cause : "exited";
        bool filtered = !has_layer(off, "seccomp");
        bool victim = row->or_cause && strcmp(r.cause, row->or_cause) == 0;

        if (r.status == -1)
                complain(&r, off, "cay did not come back");
        if (!attack_json_is_valid(r.json))
                complain(&r, off, "no valid JSON");
        if (!filtered && strncmp(r.line, "LACKS", 5) == 0) { /* nothing there that could be reached */
                print_message("this kernel lacks it: %s\n", r.line + 6);
                attack_result_free(&r);
                return;
        }
        if (strncmp(r.line, "BROKE", 5) == 0 || strncmp(r.line, "LACKS", 5) == 0)
                complain(&r, off, "the attack was not held");
        if (!row->cause && !victim && strncmp(r.line, "HELD", 4) != 0)
                complain(&r, off, "the probe said nothing");
        if (attack_user() && strcmp(cause, "pids") == 0 && strcmp(r.cause, "exited") == 0)
                victim = true; /* refused by the kernel, and over before anybody looked */
        if (!victim && strcmp(r.cause, cause) != 0)
                complain(&r, off, "wrong cause");
        /* Where a limit is watched, what is over between two looks leaves no hint. */
        if (row->hint && !victim && !attack_user() && !attack_json_has_word(r.json, "hints", row->hint))
                complain(&r, off, "the hint is missing");
        if (row->denied && filtered && !attack_json_has_word(r.json, "denied_syscalls", row->denied))
                complain(&r, off, "the denied call is not reported");
        if (!filtered && attack_json_has_word(r.json, "hints", "syscall"))
                complain(&r, off, "a call was denied without a filter");
        attack_result_free(&r);
}

static void expect_broken(const struct attack *row, const char *off)
{
        struct attack_result r = run(row, off);

        if (r.status == -1)
                complain(&r, off, "cay did not come back");
        if (strncmp(r.line, "LACKS", 5) == 0)
                print_message("this kernel lacks it: %s\n", r.line + 6);
        else if (strncmp(r.line, "BROKE", 5) != 0)
                complain(&r, off,
                         "held although its layers are off: the test proves nothing, or a layer is not in "
                         "its row");
        attack_result_free(&r);
}

static bool has_landlock(void)
{
        return syscall(444 /* landlock_create_ruleset */, NULL, 0, 1 /* only its version */) > 0;
}

/* What an ordinary user's box cannot hold, and says so in SECURITY.md. */
static bool is_beyond(const struct attack *row)
{
        const char *why = row->watched;

        if (!attack_user_has_range() && row->options && strstr(row->options, "--user"))
                why = "there is one id, and it is the sandbox's user";
        if (!attack_user_has_range() && row->one_id)
                why = row->one_id;
        if (why)
                print_message("not held: %s\n", why);
        return why != NULL;
}

static void test_row(void **state)
{
        const struct test *t = *state;
        const struct attack *row = t->row;
        const char *sets[16];
        char room[512];
        size_t n = row->holds ? attack_words(row->holds, room, sizeof(room), sets, 16) : 0;

        if (attack_user() && is_beyond(row))
                skip();
        if (!has_landlock() && row->breaks && strcmp(row->breaks, "landlock") == 0) {
                print_message("not held: this kernel has no landlock\n");
                skip();
        }
        expect_held(row, NULL);
        /* that each layer holds something is shown once, by root, where there are all of them */
        if (attack_user() || !has_landlock())
                return;
        for (size_t i = 0; i < n; i++)
                expect_held(row, sets[i]);
        if (row->breaks)
                expect_broken(row, row->breaks);
        else
                print_message("no switch: %s\n", row->why);
}

static int before_row(void **state)
{
        struct test *t = *state;

        t->before = cay_leftovers_take();
        return 0;
}

static int after_row(void **state)
{
        struct test *t = *state;
        unsigned left;

        attack_scratch_remove_all();
        left = cay_leftovers_compare(t->before, CAY_LEFTOVERS_WAIT_MS);

        cay_leftovers_free(t->before);
        t->before = NULL;
        return left ? -1 : 0;
}

static void collect(void)
{
        const char *only = getenv("CAY_ATTACK_ONLY"), *section = "";

        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
                const struct attack *row = &rows[i];
                struct test *t = &cases[case_count];

                if (row->section) {
                        section = row->section;
                        continue;
                }
                snprintf(t->name, sizeof(t->name), "%s: %s %s", section, row->probe,
                         row->options ? row->options : "");
                if (only && !strstr(t->name, only))
                        continue;
                if (!row->breaks && !row->why) {
                        fprintf(stderr, "%s: neither a layer nor a reason\n", t->name);
                        exit(1);
                }
                t->row = row;
                unit_tests[case_count] = (struct CMUnitTest){ t->name, test_row, before_row, after_row, t };
                if (++case_count == TESTS_MAX)
                        exit(1);
        }
}

int main(void)
{
        struct rlimit plenty = { RLIM_INFINITY, RLIM_INFINITY };
        int failed;

        /* What the host allows, the box must forbid by itself. */
        setrlimit(RLIMIT_CORE, &plenty);
        collect();
        attack_setup();
        failed = _cmocka_run_group_tests("attacks", unit_tests, case_count, NULL, NULL);
        attack_teardown();
        return failed;
}
