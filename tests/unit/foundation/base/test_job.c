/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs: told in the order of finishing, never inside the call that finishes, once. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "foundation/base/job.h"

static struct cay_job_queue queue;
static char trail[16];
static size_t steps;

struct owner {
        struct cay_job job;
        char name;
        int again; /* finish so many times more */
};

static void on_done(struct cay_job *job)
{
        struct owner *o = cay_container_of(job, struct owner, job);

        trail[steps++] = job->err.code == CAY_OK ? o->name : '!';
        if (o->again-- > 0)
                cay_job_finish(&queue, job, NULL);
}

static void free_owner(struct cay_job *job)
{
        trail[steps++] = 'f';
        free(cay_container_of(job, struct owner, job));
}

static int setup(void **state)
{
        cay_job_queue_init(&queue);
        memset(trail, 0, sizeof(trail));
        steps = 0;
        return 0;
}

static void test_order(void **state)
{
        struct owner o[3] = { { .name = 'a' }, { .name = 'b' }, { .name = 'c' } };

        for (int i = 0; i < 3; i++)
                cay_job_init(&o[i].job, on_done);
        assert_false(cay_job_queue_drain(&queue));
        cay_job_finish(&queue, &o[2].job, NULL);
        cay_job_finish(&queue, &o[0].job, NULL);
        cay_job_finish(&queue, &o[1].job, NULL);
        assert_string_equal(trail, ""); /* not inside finish */
        assert_true(o[0].job.done);
        assert_true(cay_job_queue_drain(&queue));
        assert_string_equal(trail, "cab");
        assert_false(cay_job_queue_drain(&queue));
        assert_string_equal(trail, "cab");
}

static void test_error_is_copied(void **state)
{
        struct owner o = { .name = 'a' };
        struct cay_error err = { 0 };

        cay_job_init(&o.job, on_done);
        cay_fail(&err, CAY_TIMEOUT, "too late");
        cay_job_finish(&queue, &o.job, &err);
        memset(&err, 0, sizeof(err));
        cay_job_queue_drain(&queue);
        assert_string_equal(trail, "!");
        assert_int_equal(o.job.err.code, CAY_TIMEOUT);
        assert_string_equal(o.job.err.msg, "too late");
        cay_job_finish(&queue, &o.job, &o.job.err); /* its own error */
        cay_job_queue_drain(&queue);
        assert_string_equal(o.job.err.msg, "too late");
        cay_job_finish(&queue, &o.job, NULL); /* success leaves nothing of it */
        cay_job_queue_drain(&queue);
        assert_string_equal(trail, "!!a");
        assert_string_equal(o.job.err.msg, "");
}

static void test_started_again_from_on_done(void **state)
{
        struct owner a = { .name = 'a', .again = 2 }, b = { .name = 'b' };

        cay_job_init(&a.job, on_done);
        cay_job_init(&b.job, on_done);
        cay_job_finish(&queue, &a.job, NULL);
        cay_job_finish(&queue, &b.job, NULL);
        assert_true(cay_job_queue_drain(&queue));
        assert_string_equal(trail, "ab"); /* a's second turn waits for the next drain */
        assert_true(cay_job_queue_drain(&queue));
        assert_true(cay_job_queue_drain(&queue));
        assert_false(cay_job_queue_drain(&queue));
        assert_string_equal(trail, "abaa");
}

static void test_freed_in_on_done(void **state)
{
        struct owner *a = calloc(1, sizeof(*a)), *b = calloc(1, sizeof(*b));

        assert_non_null(a);
        assert_non_null(b);
        cay_job_init(&a->job, free_owner);
        cay_job_init(&b->job, free_owner);
        cay_job_finish(&queue, &a->job, NULL);
        cay_job_finish(&queue, &b->job, NULL);
        cay_job_queue_drain(&queue);
        assert_string_equal(trail, "ff");
}

static void test_nobody_to_tell(void **state)
{
        struct cay_job job;

        cay_job_init(&job, NULL);
        assert_false(job.done);
        cay_job_finish(&queue, &job, NULL);
        assert_true(cay_job_queue_drain(&queue));
        assert_true(job.done);
        cay_job_init(&job, NULL);
        assert_false(job.done);
}

static void test_finishing_twice_stops_the_process(void **state)
{
        int status = 0;
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0) {
                const struct rlimit no_core = { 0 };
                struct cay_job job;

                setrlimit(RLIMIT_CORE, &no_core);
                signal(SIGABRT, SIG_DFL);
                fclose(stderr);
                cay_job_init(&job, NULL);
                cay_job_finish(&queue, &job, NULL);
                cay_job_finish(&queue, &job, NULL);
                _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), SIGABRT);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(test_order, setup),
                cmocka_unit_test_setup(test_error_is_copied, setup),
                cmocka_unit_test_setup(test_started_again_from_on_done, setup),
                cmocka_unit_test_setup(test_freed_in_on_done, setup),
                cmocka_unit_test_setup(test_nobody_to_tell, setup),
                cmocka_unit_test_setup(test_finishing_twice_stops_the_process, setup),
        };

        return cmocka_run_group_tests_name("base/job", tests, NULL, NULL);
}
