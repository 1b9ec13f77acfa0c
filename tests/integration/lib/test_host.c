/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libcay in programs with a life of their own: threads, handlers, children, signals that are ignored or
 * blocked, closed descriptors. Each test is such a program; around each, what is on the machine and in the
 * process is compared.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "isolated/leftovers.h"
#include "libcay/cay.h"

#define THREADS 4
#define RUNS 5

static struct cay_leftovers *before;
static unsigned fds_before;

static unsigned open_fds(void)
{
        DIR *dir = opendir("/proc/self/fd");
        unsigned count = 0;

        assert_non_null(dir);
        while (readdir(dir) != NULL)
                count++;
        closedir(dir);
        return count;
}

static int setup(void **state)
{
        before = cay_leftovers_take();
        fds_before = open_fds();
        return 0;
}

static int teardown(void **state)
{
        unsigned differences = cay_leftovers_compare(before, CAY_LEFTOVERS_WAIT_MS);

        cay_leftovers_free(before);
        return differences == 0 && open_fds() == fds_before ? 0 : -1;
}

static struct cay_task *shell(const char *script)
{
        const char *argv[] = { "/bin/sh", "-c", script, NULL };
        struct cay_task *task = cay_task_new();

        assert_non_null(task);
        assert_int_equal(cay_task_set_program_dir(task, getenv("CAY_BUILD_DIR")), 0);
        assert_int_equal(cay_task_set_command(task, argv), 0);
        return task;
}

/* Runs once; true when it printed what it should and nothing is left. */
static bool prints(struct cay_task *task, const char *expected)
{
        struct cay_result *result = NULL;
        int code = cay_task_run(task, &result);
        bool ok = false;

        if (code != 0)
                fprintf(stderr, "%s: %s\n", cay_error_word(code), cay_task_error(task));
        else if (strcmp(cay_result_output(result, CAY_STDOUT, NULL), expected) != 0 ||
                 cay_result_leftover(result)[0] != '\0' || cay_result_status(result) != 0)
                fprintf(stderr, "%s: %s: '%s' '%s' (left: '%s')\n", cay_result_cause(result),
                        cay_result_text(result), (const char *)cay_result_output(result, CAY_STDOUT, NULL),
                        (const char *)cay_result_output(result, CAY_STDERR, NULL),
                        cay_result_leftover(result));
        else
                ok = true;
        cay_result_free(result);
        return ok;
}

static bool greets(void)
{
        struct cay_task *task = shell("echo hello");
        bool ok = prints(task, "hello\n");

        cay_task_free(task);
        return ok;
}

static void *greet_often(void *arg)
{
        unsigned *good = arg;
        struct cay_task *task = shell("echo hello");

        for (unsigned i = 0; i < RUNS; i++)
                *good += prints(task, "hello\n");
        cay_task_free(task);
        return NULL;
}

static void several_threads_at_once(void **state)
{
        pthread_t threads[THREADS];
        unsigned good[THREADS] = { 0 };

        for (unsigned i = 0; i < THREADS; i++)
                assert_int_equal(pthread_create(&threads[i], NULL, greet_often, &good[i]), 0);
        for (unsigned i = 0; i < THREADS; i++) {
                assert_int_equal(pthread_join(threads[i], NULL), 0);
                assert_int_equal(good[i], RUNS);
        }
}

static void set_sigchld(void (*handler)(int), int flags)
{
        struct sigaction act = { .sa_handler = handler, .sa_flags = flags };

        assert_int_equal(sigaction(SIGCHLD, &act, NULL), 0);
}

/* The kernel reaps the warden by itself then. */
static void sigchld_may_be_ignored(void **state)
{
        bool ok;

        set_sigchld(SIG_IGN, 0);
        ok = greets() && greets();
        set_sigchld(SIG_DFL, SA_NOCLDWAIT);
        ok = ok && greets();
        set_sigchld(SIG_DFL, 0);
        assert_true(ok);
}

static void reap_everything(int signo)
{
        int saved_errno = errno;

        while (waitpid(-1, NULL, WNOHANG) > 0)
                ;
        errno = saved_errno;
}

static void a_handler_may_wait_for_any_child(void **state)
{
        bool ok;

        set_sigchld(reap_everything, SA_RESTART);
        ok = greets() && greets();
        set_sigchld(SIG_DFL, 0);
        assert_true(ok);
}

static void children_of_the_program_are_left_alone(void **state)
{
        int status, wait_here[2];
        pid_t own;

        assert_int_equal(pipe2(wait_here, O_CLOEXEC), 0);
        own = fork();
        assert_true(own >= 0);
        if (own == 0) {
                char end;

                close(wait_here[1]);
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                setsid();
                _exit(read(wait_here[0], &end, 1) == 0 ? 42 : 1);
        }
        close(wait_here[0]);
        assert_true(greets());
        close(wait_here[1]);
        assert_true(greets()); /* now there is a zombie of ours to be taken for the warden */
        assert_int_equal(waitpid(own, &status, 0), own);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 42);
}

static volatile sig_atomic_t alarms;

static void on_alarm(int signo)
{
        alarms++;
}

/*
 * Handlers run in this process only (not in the child that shares its memory for a moment), and nothing is
 * cut short.
 */
static void signals_may_come_all_the_time(void **state)
{
        struct itimerval often = { .it_interval = { .tv_usec = 500 }, .it_value = { .tv_usec = 500 } },
                         never = { 0 };
        struct sigaction act = { .sa_handler = on_alarm }, was;
        bool ok = true;

        alarms = 0;
        assert_int_equal(sigaction(SIGALRM, &act, &was), 0);
        assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
        for (unsigned i = 0; i < 5 && ok; i++)
                ok = greets();
        assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
        assert_int_equal(sigaction(SIGALRM, &was, NULL), 0);
        assert_true(ok);
        assert_true(alarms > 0);
}

/* What the program ignores or blocks is its own business: neither the warden nor the command inherits it. */
static void signals_stay_at_home(void **state)
{
        static const char clean[] = "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n";
        struct cay_task *task = shell("grep -E '^Sig(Blk|Ign)' /proc/self/status");
        struct sigaction ignore = { .sa_handler = SIG_IGN }, pipe_was, now;
        sigset_t usr1, mask_was, mask_now;
        bool ok;

        sigemptyset(&usr1);
        sigaddset(&usr1, SIGUSR1);
        assert_int_equal(sigaction(SIGPIPE, &ignore, &pipe_was), 0);
        assert_int_equal(sigprocmask(SIG_BLOCK, &usr1, &mask_was), 0);
        ok = prints(task, clean);
        assert_int_equal(sigprocmask(SIG_SETMASK, NULL, &mask_now), 0);
        assert_int_equal(sigaction(SIGPIPE, NULL, &now), 0);
        assert_int_equal(sigismember(&mask_now, SIGUSR1), 1);
        assert_int_equal(sigismember(&mask_now, SIGALRM), 0);
        assert_ptr_equal(now.sa_handler, SIG_IGN);
        sigaction(SIGPIPE, &pipe_was, NULL);
        sigprocmask(SIG_SETMASK, &mask_was, NULL);
        cay_task_free(task);
        assert_true(ok);
}

/* SigIgn of the one child there is, as long as a run is under way. */
static int look_at_warden(void *ctx, int stream, const void *bytes, size_t len)
{
        unsigned long long *ignored = ctx;
        char path[64], line[256];
        FILE *file = fopen("/proc/thread-self/children", "re");
        int pid = 0;

        if (file == NULL || fscanf(file, "%d", &pid) != 1)
                return 1;
        fclose(file);
        snprintf(path, sizeof(path), "/proc/%d/status", pid);
        file = fopen(path, "re");
        while (file != NULL && fgets(line, sizeof(line), file) != NULL)
                sscanf(line, "SigIgn: %llx", ignored);
        if (file != NULL)
                fclose(file);
        return 0;
}

/* The warden waits for children of its own: it must not inherit a program's wish never to hear of them. */
static void the_warden_hears_of_its_children(void **state)
{
        unsigned long long ignored = ~0ull;
        struct cay_task *task = shell("echo hello");
        struct cay_result *result = NULL;

        assert_int_equal(cay_task_set_output(task, look_at_warden, &ignored), 0);
        set_sigchld(SIG_IGN, 0);
        assert_int_equal(cay_task_run(task, &result), 0);
        set_sigchld(SIG_DFL, 0);
        assert_string_equal(cay_result_cause(result), "exited");
        assert_true((ignored & 1ull << (SIGPIPE - 1)) != 0); /* it is the warden that was looked at */
        assert_true((ignored & 1ull << (SIGCHLD - 1)) == 0);
        cay_result_free(result);
        cay_task_free(task);
}

/* A daemon may have none of the three: what is opened in their place must not be taken for them. */
static void standard_descriptors_may_be_closed(void **state)
{
        int saved[3];
        bool ok;

        for (int fd = 0; fd < 3; fd++) {
                saved[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 10);
                assert_true(saved[fd] >= 0);
                close(fd);
        }
        ok = greets();
        for (int fd = 0; fd < 3; fd++) {
                ok = ok && fcntl(fd, F_GETFD) < 0; /* nothing of ours has stayed there */
                dup2(saved[fd], fd);
                close(saved[fd]);
        }
        assert_true(ok);
}

static void *cancel_when_it_prints(void *arg)
{
        cay_task_cancel(arg);
        return NULL;
}

static int on_output(void *ctx, int stream, const void *bytes, size_t len)
{
        pthread_t thread;

        assert_int_equal(pthread_create(&thread, NULL, cancel_when_it_prints, ctx), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        return 0;
}

static void a_run_can_be_cancelled(void **state)
{
        struct cay_task *task = shell("echo here; sleep 600");
        struct cay_result *result = NULL;

        assert_int_equal(cay_task_set_output(task, on_output, task), 0);
        assert_int_equal(cay_task_set_limit(task, "wall_time", "10m"), 0);
        assert_int_equal(cay_task_run(task, &result), 0);
        assert_string_equal(cay_result_cause(result), "killed");
        assert_int_equal(cay_result_status(result), 128 + SIGTERM);
        cay_result_free(result);
        cay_task_free(task);
}

static void limits_hold_and_are_told(void **state)
{
        struct cay_task *task = shell("x=$(tail -c 100000000 /dev/zero | tr '\\0' y); echo ${#x}");
        struct cay_result *result = NULL;

        assert_int_equal(cay_task_set_limit(task, "memory", "32m"), 0);
        assert_int_equal(cay_task_run(task, &result), 0);
        assert_string_equal(cay_result_cause(result), "memory");
        assert_int_equal(cay_result_status(result), 137);
        cay_result_free(result);
        cay_task_free(task);
        task = shell("sleep 600");
        assert_int_equal(cay_task_set_limit(task, "wall_time", "200ms"), 0);
        assert_int_equal(cay_task_run(task, &result), 0);
        assert_string_equal(cay_result_cause(result), "wall_time");
        assert_int_equal(cay_result_status(result), 124);
        cay_result_free(result);
        cay_task_free(task);
}

static char folder[] = "/tmp/cay-test-lib-XXXXXX";

static int make_folder(void **state)
{
        return mkdtemp(folder) != NULL ? setup(state) : -1;
}

static int remove_folder(void **state)
{
        return rmdir(folder) == 0 ? teardown(state) : -1;
}

static void a_copied_workspace_stays_and_its_changes_are_a_file(void **state)
{
        struct cay_task *task = shell("echo new > file");
        struct cay_result *result = NULL;
        FILE *changes = tmpfile();
        char name[100] = "";

        assert_non_null(changes);
        assert_int_equal(cay_task_set_workspace(task, folder, CAY_WORKSPACE_COPY), 0);
        assert_int_equal(cay_task_set_changes_fd(task, fileno(changes)), 0);
        assert_int_equal(cay_task_run(task, &result), 0);
        assert_int_equal(cay_result_status(result), 0);
        assert_string_equal(cay_result_changes_error(result), "");
        assert_int_equal(cay_result_number(result, CAY_NUMBER_CHANGES), 1);
        assert_int_equal(cay_result_number(result, CAY_NUMBER_CHANGES_LEFT_OUT), 0);
        assert_true(fseek(changes, 0, SEEK_END) == 0 && ftell(changes) >= 1024);
        rewind(changes);
        /* Its own pax header comes first; the name of a tar entry is at the front of its block. */
        while (strcmp(name, "file") != 0)
                assert_true(fread(name, 100, 1, changes) == 1 && fseek(changes, 512 - 100, SEEK_CUR) == 0);
        fclose(changes);
        cay_result_free(result);
        cay_task_free(task);
}

static void a_network_holds_its_rules(void **state)
{
        static const char *const allow[] = { "a.example", NULL }, *const wrong[] = { "a b", NULL };
        struct cay_task *task = shell("getent hosts a.example && ! getent hosts b.example");
        struct cay_result *result = NULL;

        assert_int_equal(cay_task_set_network(task, "wide", NULL, NULL), CAY_E_INVALID);
        assert_non_null(strstr(cay_task_error(task), "none, list or bridge"));
        assert_int_equal(cay_task_set_network(task, "list", wrong, NULL), 0);
        assert_int_equal(cay_task_run(task, &result), CAY_E_INVALID);
        assert_int_equal(cay_task_set_network(task, "list", allow, NULL), 0);
        assert_int_equal(cay_task_run(task, &result), 0);
        if (cay_result_status(result) != 0)
                fprintf(stderr, "%s %s\n", cay_result_text(result),
                        (const char *)cay_result_output(result, CAY_STDERR, NULL));
        assert_int_equal(cay_result_status(result), 0);
        assert_string_equal(cay_result_blocked(result), "b.example");
        assert_string_equal(cay_result_leftover(result), "");
        cay_result_free(result);
        cay_task_free(task);
}

static void a_missing_warden_is_told(void **state)
{
        struct cay_task *task = shell("true");
        struct cay_result *result = NULL;

        assert_int_equal(cay_task_set_program_dir(task, "/no/such"), 0);
        assert_int_equal(cay_task_run(task, &result), CAY_E_UNAVAILABLE);
        assert_null(result);
        assert_non_null(strstr(cay_task_error(task), "/no/such/cay-warden"));
        cay_task_free(task);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                CASE(several_threads_at_once),
                CASE(sigchld_may_be_ignored),
                CASE(a_handler_may_wait_for_any_child),
                CASE(children_of_the_program_are_left_alone),
                CASE(signals_may_come_all_the_time),
                CASE(signals_stay_at_home),
                CASE(the_warden_hears_of_its_children),
                CASE(standard_descriptors_may_be_closed),
                CASE(a_run_can_be_cancelled),
                CASE(limits_hold_and_are_told),
                cmocka_unit_test_setup_teardown(a_copied_workspace_stays_and_its_changes_are_a_file,
                                                make_folder, remove_folder),
                CASE(a_network_holds_its_rules),
                CASE(a_missing_warden_is_told),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
