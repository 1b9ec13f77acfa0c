/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SIGKILL of the CLI, of the warden, of the box, at each step of a run. The steps come from the trace table
 * itself; one without a row below fails the test. After each: every process of the run ends by itself, and
 * after the next start of cay nothing else is left either.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "isolated/leftovers.h"
#include "foundation/base/cleanup.h"
#include "patience.h"
#include "links/helper/steps.h"

#define RUN_MS ((long)test_patience(15000)) /* a run, whoever is killed in it */
#define GONE_MS ((long)test_patience(5000)) /* what was left of it */
#define ARGS_MAX 24

enum expect {
        /* there is no such process at that step, or nobody there who knows it: the run is as any other */
        NEVER,
        DIES,  /* the CLI itself is killed */
        FAILS, /* the CLI lives, and says that the run failed: exit status 125 and a line that says why */
        /* a race with the command's end or the box's birth: its own status, or a failure that is told */
        ENDS,
        WELL, /* it is killed, and the run does not need it any more: the command's own status */
};

/*
 * One row per step of steps.def: what becomes of `cay run` when the CLI, the warden, the box is killed there.
 */
static const struct {
        const char *step;
        enum expect cli, warden, box;
} cases[] = {
        /* clang-format off */
        /* step             CLI   warden box */
        { "cli_start",       DIES, NEVER, NEVER },
        { "warden_spawned",  DIES, FAILS, NEVER },
        { "warden_up",       DIES, FAILS, NEVER },
        { "plan_sent",       DIES, FAILS, NEVER },
        { "confined",        DIES, FAILS, NEVER },
        { "recorded",        DIES, FAILS, NEVER },
        { "proc_files_made", DIES, FAILS, ENDS  },
        { "cloned",          DIES, FAILS, FAILS },
        { "mapped",          DIES, FAILS, FAILS },
        { "mounts_ready",    DIES, FAILS, FAILS },
        /* Beside the box, which builds its root. */
        { "cgroups_made",    DIES, FAILS, FAILS },
        { "limits_set",      DIES, FAILS, FAILS },
        { "box_awake",       DIES, FAILS, FAILS },
        { "box_layer",       DIES, FAILS, FAILS },
        { "box_root",        DIES, FAILS, FAILS },
        { "box_dev",         DIES, FAILS, FAILS },
        { "box_proc",        DIES, FAILS, FAILS },
        { "box_pivoted",     DIES, FAILS, FAILS },
        { "box_dropped",     DIES, FAILS, FAILS },
        { "made",            DIES, FAILS, ENDS  },
        { "opened",          DIES, ENDS,  NEVER },
        /* While the command runs, and nobody waits for it. */
        { "swept",           DIES, ENDS,  ENDS  },
        /* From here on the command's own end is known, but not that everything is cleaned up. */
        { "ended",           DIES, FAILS, NEVER },
        { "drop_asked",      DIES, FAILS, WELL  },
        { "killed",          DIES, FAILS, WELL  },
        { "reaped",          DIES, FAILS, NEVER },
        { "cgroups_gone",    DIES, FAILS, NEVER },
        { "record_gone",     DIES, FAILS, NEVER },
        /* The CLI has its figures and waits for the warden to finish and go. */
        { "gone",            DIES, ENDS,  NEVER },
        /* clang-format on */
};

/* A layer in memory and one on a loop device with a host folder beside it: what is made differs. */
static const char *const kinds[][ARGS_MAX] = {
        { "--memory", "256m", NULL },
        { "--memory", "64m", "--disk", "64m", "--workspace", "WORKSPACE:rw", NULL },
};

static char cay[4096], folder[64];

static long now_ms(void)
{
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void nap_ms(long ms)
{
        struct timespec t = { .tv_nsec = ms * 1000000 };

        nanosleep(&t, NULL);
}

struct outcome {
        int status;
        char err[4096];
};

static pid_t start(const char *const *args, const char *kill_spec, int err_fd)
{
        const char *argv[ARGS_MAX + 8] = { cay, "run" };
        char workspace[128];
        unsigned count = 2;
        pid_t pid;

        snprintf(workspace, sizeof(workspace), "%s:rw", folder);
        for (; *args; args++)
                argv[count++] = strcmp(*args, "WORKSPACE:rw") == 0 ? workspace : *args;
        argv[count++] = "--";
        argv[count++] = "/bin/true";
        argv[count] = NULL;
        fflush(NULL);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                int null = open("/dev/null", O_RDWR);

                dup2(null, 0);
                dup2(null, 1);
                dup2(err_fd, 2);
                if (kill_spec)
                        setenv("CAY_TEST_KILL", kill_spec, 1);
                else
                        unsetenv("CAY_TEST_KILL");
                execv(cay, (char *const *)argv);
                _exit(126);
        }
        return pid;
}

/* We are everybody's reaper: when there is no child left, no process of the run is. */
static bool all_gone(long deadline_ms)
{
        long until = now_ms() + deadline_ms;

        for (;;) {
                pid_t pid = waitpid(-1, NULL, WNOHANG);

                if (pid < 0)
                        return errno == ECHILD;
                if (pid > 0)
                        continue;
                if (now_ms() > until)
                        return false;
                nap_ms(1);
        }
}

/* Runs cay to its end; false when it does not come. */
static bool run(const char *const *args, const char *kill_spec, struct outcome *ret)
{
        FILE *err = tmpfile();
        long until = now_ms() + RUN_MS;
        pid_t pid, got;
        size_t len;

        assert_non_null(err);
        pid = start(args, kill_spec, fileno(err));
        while ((got = waitpid(pid, &ret->status, WNOHANG)) == 0 && now_ms() < until)
                nap_ms(1);
        if (got != pid) {
                kill(pid, SIGKILL);
                waitpid(pid, NULL, 0);
        }
        rewind(err);
        len = fread(ret->err, 1, sizeof(ret->err) - 1, err);
        ret->err[len] = 0;
        fclose(err);
        return got == pid;
}

static const char *judge(enum expect expect, const struct outcome *o)
{
        bool killed = WIFSIGNALED(o->status) && WTERMSIG(o->status) == SIGKILL;
        int code = WIFEXITED(o->status) ? WEXITSTATUS(o->status) : -1;

        switch (expect) {
        case NEVER:
        case WELL:
                return code == 0 ? NULL : "the run should have been as any other";
        case DIES:
                return killed ? NULL : "the CLI was not killed";
        case FAILS:
                if (code != 125)
                        return "the CLI should have said 125";
                break;
        case ENDS:
                if (code != 0 && code != 125)
                        return "neither the command's own status nor 125";
                break;
        }
        return code == 125 && strncmp(o->err, "cay", 3) != 0 ? "it does not say why" : NULL;
}

static unsigned one_case(const char *who, const char *step, enum expect expect, const char *const *args)
{
        struct cay_leftovers *before = cay_leftovers_take();
        struct outcome o = { 0 }, next = { 0 };
        unsigned faults = 0;
        const char *fault;
        char spec[64];

        snprintf(spec, sizeof(spec), "%s@%s", who, step);
        if (!run(args, spec, &o)) {
                fprintf(stderr, "%s: the run does not end\n", spec);
                faults++;
        } else if ((fault = judge(expect, &o))) {
                fprintf(stderr, "%s: %s (status 0x%x): %s\n", spec, fault, (unsigned)o.status, o.err);
                faults++;
        }
        if (!all_gone(GONE_MS)) {
                fprintf(stderr, "%s: processes stay after the end of the run\n", spec);
                faults++;
        }
        if (!run(args, NULL, &next) || next.status != 0) {
                fprintf(stderr, "%s: the next run fails (status 0x%x): %s\n", spec, (unsigned)next.status,
                        next.err);
                faults++;
        }
        if (cay_leftovers_compare(before, CAY_LEFTOVERS_WAIT_MS) > 0) {
                fprintf(stderr, "%s: left after the next run\n", spec);
                faults++;
        }
        cay_leftovers_free(before);
        return faults;
}

static void test_every_step_has_a_case(void **state)
{
        for (unsigned step = 0; step < CAY_STEP_COUNT; step++) {
                unsigned found = 0;

                for (unsigned i = 0; i < CAY_COUNT(cases); i++)
                        found += strcmp(cases[i].step, cay_step_name(step)) == 0;
                if (found != 1)
                        fail_msg("step '%s' of steps.def has %u cases: say what becomes of the run when "
                                 "somebody is killed there",
                                 cay_step_name(step), found);
        }
        assert_int_equal(CAY_COUNT(cases), CAY_STEP_COUNT);
}

/* A step that nobody reaches cannot be killed at: the trace of an ordinary run has them all. */
static void test_every_step_is_reached(void **state)
{
        static const char *const traced[] = { "--trace", NULL };
        struct outcome o = { 0 };

        assert_true(run(traced, NULL, &o));
        assert_int_equal(o.status, 0);
        for (unsigned step = 0; step < CAY_STEP_COUNT; step++) {
                char word[64];

                snprintf(word, sizeof(word), " %s\n", cay_step_name(step));
                if (!strstr(o.err, word))
                        fail_msg("no '%s' in the trace:\n%s", cay_step_name(step), o.err);
        }
}

static void kill_at_every_step(const char *const *args)
{
#ifdef CAY_TEST_HOOKS
        unsigned faults = 0;

        for (unsigned i = 0; i < CAY_COUNT(cases); i++) {
                faults += one_case("cli", cases[i].step, cases[i].cli, args);
                faults += one_case("warden", cases[i].step, cases[i].warden, args);
                faults += one_case("box", cases[i].step, cases[i].box, args);
        }
        if (faults > 0)
                fail_msg("%u faults", faults);
#else
        (void)args;
        (void)one_case;
        print_message("skipped: this build has no kill points (test_hooks)\n");
        skip();
#endif
}

static void test_kill_with_layer_in_memory(void **state)
{
        kill_at_every_step(kinds[0]);
}

static void test_kill_with_layer_on_loop_device(void **state)
{
        kill_at_every_step(kinds[1]);
}

/* Whatever moment: the CLI and its warden at once, or one of them, at times that no step has. */
static void test_kill_at_random_moments(void **state)
{
        struct cay_leftovers *before = cay_leftovers_take();
        struct outcome next = { 0 };
        unsigned seed = (unsigned)now_ms();
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);

        print_message("seed %u\n", seed);
        for (int round = 0; round < 60; round++) {
                struct timespec t = { .tv_nsec = rand_r(&seed) % 20000 * 1000 };
                pid_t pid = start(kinds[round % 2], NULL, null);
                char path[64], text[64];
                long child = 0;
                ssize_t n;
                int fd;

                nanosleep(&t, NULL);
                snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
                fd = open(path, O_RDONLY | O_CLOEXEC);
                n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
                if (n > 0) {
                        text[n] = 0;
                        child = strtol(text, NULL, 10);
                }
                if (fd >= 0)
                        close(fd);
                if (round % 3 != 0 && child > 0)
                        kill((pid_t)child, SIGKILL);
                if (round % 3 != 1)
                        kill(pid, SIGKILL);
                if (!all_gone(RUN_MS))
                        fail_msg("round %d: processes stay", round);
        }
        close(null);
        assert_true(run(kinds[0], NULL, &next));
        assert_int_equal(next.status, 0);
        assert_int_equal(cay_leftovers_compare(before, CAY_LEFTOVERS_WAIT_MS), 0);
        cay_leftovers_free(before);
}

static int set_up(void **state)
{
        const char *build = getenv("CAY_BUILD_DIR");

        if (geteuid() != 0 || !build) {
                fprintf(stderr, "skipped: %s\n", build ? "needs root" : "CAY_BUILD_DIR is not set");
                exit(77);
        }
        snprintf(cay, sizeof(cay), "%s/cay", build);
        snprintf(folder, sizeof(folder), "/tmp/cay-kill-XXXXXX");
        if (access(cay, X_OK) < 0 || !mkdtemp(folder))
                return -1;
        return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

static int tear_down(void **state)
{
        return rmdir(folder);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_every_step_has_a_case),
                cmocka_unit_test(test_every_step_is_reached),
                cmocka_unit_test(test_kill_with_layer_in_memory),
                cmocka_unit_test(test_kill_with_layer_on_loop_device),
                cmocka_unit_test(test_kill_at_random_moments),
        };

        return cmocka_run_group_tests(tests, set_up, tear_down);
}
