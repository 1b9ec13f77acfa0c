/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ordinary programs in a box: every control of controls.def, and those written in C (probe ctl_*), must work,
 * and nothing that they do may be reported as blocked. A box that holds and runs nothing is no box.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "attack/attack_run.h"
#include "isolated/leftovers.h"

#define TESTS_MAX 100
#define DEADLINE_MS 90000

struct control {
        const char *name, *needs, *script;
};

static const struct control scripts[] = {
#define CONTROL(name, needs, script) { #name, needs, script },
#include "attack/controls.def"
#undef CONTROL
};

/* In C, because a shell can't say it. */
static const char *const probes[] = {
        "ctl_threads", "ctl_processes", "ctl_fork_server", "ctl_signals",  "ctl_events",     "ctl_inotify",
        "ctl_tcp",     "ctl_unix",      "ctl_pty",         "ctl_jit",      "ctl_shm",        "ctl_sysv",
        "ctl_files",   "ctl_pipes",     "ctl_misc",        "ctl_debugger", "ctl_own_filter",
};

struct test {
        const char *name, *needs;
        char script[2048];
        struct cay_leftovers *before;
};

static struct test cases[TESTS_MAX];
static struct CMUnitTest unit_tests[TESTS_MAX];
static size_t case_count;

static void test_control(void **state)
{
        const struct test *t = *state;
        const char *words[] = { "--memory",  "1g", "--cpus", "2",  "--pids", "200",     "--disk", "256m",
                                "--timeout", "60", "--",     "sh", "-c",     t->script, NULL };
        char out[4096] = "", err[2048] = "", text[256] = "";
        struct attack_result r;
        const char *last;

        if (t->needs && access(t->needs, X_OK) < 0) {
                print_message("%s is not installed here\n", t->needs);
                skip();
        }
        r = attack_run(words, attack_probe_path(), DEADLINE_MS);
        attack_json_text(r.json, "stdout", out, sizeof(out));
        attack_json_text(r.json, "stderr", err, sizeof(err));
        attack_json_text(r.json, "cause_text", text, sizeof(text));
        if (out[0] && out[strlen(out) - 1] == '\n')
                out[strlen(out) - 1] = '\0';
        last = strrchr(out, '\n') ? strrchr(out, '\n') + 1 : out;
        if (!WIFEXITED(r.status) || WEXITSTATUS(r.status) != 0 || strcmp(last, "fine") != 0)
                fail_msg("status %#x, %s\nstdout: %s\nstderr: %s\n%.500s", (unsigned)r.status, text, out, err,
                         r.errors);
        if (attack_json_has_word(r.json, "hints", "syscall"))
                fail_msg("reported as blocked: %s", strstr(r.json, "\"denied_syscalls\""));
        attack_result_free(&r);
}

static int before(void **state)
{
        struct test *t = *state;

        t->before = cay_leftovers_take();
        return 0;
}

static int after(void **state)
{
        struct test *t = *state;
        unsigned left = cay_leftovers_compare(t->before, CAY_LEFTOVERS_WAIT_MS);

        cay_leftovers_free(t->before);
        return left ? -1 : 0;
}

static struct test *add(const char *name)
{
        struct test *t = &cases[case_count];
        const char *only = getenv("CAY_ATTACK_ONLY");

        if (only && !strstr(name, only))
                return NULL;
        if (case_count == TESTS_MAX)
                exit(1);
        t->name = name;
        unit_tests[case_count++] = (struct CMUnitTest){ name, test_control, before, after, t };
        return t;
}

int main(void)
{
        struct test *t;
        int failed;

        /* The workspace is empty and the box's own: the probe comes through standard input. */
        for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
                t = add(scripts[i].name);
                if (!t)
                        continue;
                t->needs = scripts[i].needs;
                snprintf(t->script, sizeof(t->script), "%s", scripts[i].script);
        }
        for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++) {
                t = add(probes[i]);
                if (t)
                        snprintf(t->script, sizeof(t->script),
                                 "cat >probe && chmod +x probe && ./probe %s && echo fine", probes[i]);
        }
        attack_setup();
        failed = _cmocka_run_group_tests("controls", unit_tests, case_count, NULL, NULL);
        attack_teardown();
        return failed;
}
