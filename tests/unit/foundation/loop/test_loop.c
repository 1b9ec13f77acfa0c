/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop: what is removed inside a callback stays silent, timers keep their order, jobs and deferred work
 * run in their turn.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/time.h>
#include <unistd.h>

#include "foundation/base/clock.h"
#include "foundation/loop/loop.h"

static struct cay_loop *loop;
static char trail[64];
static size_t steps;

struct source {
        struct cay_watch watch;
        struct source *kills; /* removed, and freed if heap, when this one is told */
        bool frees;
        char name;
        int fd;
        uint32_t seen;
};

struct alarm {
        struct cay_timer timer;
        struct alarm *other;
        char name;
        int again;
        uint64_t again_ms;
};

static void step(char c)
{
        if (steps < sizeof(trail) - 1)
                trail[steps++] = c;
}

static int setup(void **state)
{
        memset(trail, 0, sizeof(trail));
        steps = 0;
        loop = cay_loop_new();
        return loop ? 0 : -1;
}

static int teardown(void **state)
{
        cay_loop_free(loop);
        return 0;
}

static void on_event(struct cay_watch *w, uint32_t events)
{
        struct source *s = cay_container_of(w, struct source, watch), *victim = s->kills;
        uint64_t v;

        s->seen = events;
        step(s->name);
        if (read(s->fd, &v, sizeof(v)) != (ssize_t)sizeof(v))
                step('?');
        if (!victim)
                return;
        cay_watch_remove(&victim->watch);
        close(victim->fd);
        if (s->frees)
                free(victim);
        s->kills = NULL;
}

static void ready(struct source *s, char name)
{
        memset(s, 0, sizeof(*s));
        s->name = name;
        s->fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
        assert_true(s->fd >= 0);
        assert_int_equal(cay_watch_add(loop, &s->watch, s->fd, EPOLLIN, on_event), 0);
}

static void rounds(int count)
{
        while (count-- > 0)
                assert_int_equal(cay_loop_round(loop, 0), 0);
}

static void test_level_triggered(void **state)
{
        struct source s;

        ready(&s, 'a');
        rounds(3);
        assert_string_equal(trail, "a"); /* read, so not told again */
        assert_int_equal(s.seen, EPOLLIN);
        assert_int_equal(eventfd_write(s.fd, 1), 0);
        rounds(1);
        assert_string_equal(trail, "aa");
        cay_watch_remove(&s.watch);
        assert_null(s.watch.loop);
        cay_watch_remove(&s.watch);
        assert_int_equal(eventfd_write(s.fd, 1), 0);
        rounds(1);
        assert_string_equal(trail, "aa");
        close(s.fd);
}

static void test_remove_another_ready_one(void **state)
{
        struct source a, b;

        ready(&a, 'a');
        ready(&b, 'b');
        a.kills = &b;
        b.kills = &a;
        rounds(2);
        assert_int_equal(strlen(trail), 1); /* whoever came first silenced the other */
        cay_watch_remove(&a.watch);
        cay_watch_remove(&b.watch);
        close(trail[0] == 'a' ? a.fd : b.fd);
}

static void test_free_another_ready_one_at_once(void **state)
{
        struct source *many[40], killer[40];

        for (int i = 0; i < 40; i++) {
                ready(&killer[i], 'k');
                many[i] = malloc(sizeof(*many[i]));
                assert_non_null(many[i]);
                ready(many[i], 'm');
                killer[i].kills = many[i];
                killer[i].frees = true;
        }
        rounds(3); /* 80 are ready, a batch holds 64 */
        for (int i = 0; i < 40; i++) {
                assert_null(killer[i].kills);
                cay_watch_remove(&killer[i].watch);
                close(killer[i].fd);
        }
        assert_null(strchr(trail, 'm')); /* epoll tells in the order of readiness, so no victim came first */
        assert_int_equal(strlen(trail), 40);
}

static void remove_and_add_again(struct cay_watch *w, uint32_t events)
{
        struct source *s = cay_container_of(w, struct source, watch);

        step(s->name);
        cay_watch_remove(w);
        assert_int_equal(cay_watch_add(loop, w, s->fd, EPOLLIN, on_event), 0);
}

static void test_remove_and_add_inside(void **state)
{
        struct source s;

        ready(&s, 'a');
        s.watch.on_event = remove_and_add_again;
        rounds(1);
        assert_string_equal(trail, "a");
        rounds(1);
        assert_string_equal(trail, "aa");
        cay_watch_remove(&s.watch);
        close(s.fd);
}

static void test_set(void **state)
{
        struct source s;

        ready(&s, 'a');
        assert_int_equal(cay_watch_set(&s.watch, 0), 0);
        rounds(1);
        assert_string_equal(trail, "");
        assert_int_equal(cay_watch_set(&s.watch, 0), 0);
        assert_int_equal(cay_watch_set(&s.watch, EPOLLIN | EPOLLOUT), 0);
        rounds(1);
        assert_string_equal(trail, "a");
        assert_int_equal(s.seen, EPOLLIN | EPOLLOUT);
        assert_int_equal(cay_watch_add(loop, &s.watch, s.fd, EPOLLIN, on_event), -EEXIST);
        cay_watch_remove(&s.watch);
        assert_int_equal(cay_watch_set(&s.watch, EPOLLIN), -ENOENT);
        close(s.fd);
}

static void test_what_cannot_be_watched(void **state)
{
        struct cay_watch w = { 0 };
        int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

        assert_true(fd >= 0);
        assert_int_equal(cay_watch_add(loop, &w, fd, EPOLLIN, on_event), -EPERM);
        assert_null(w.loop);
        close(fd);
        assert_int_equal(cay_watch_add(loop, &w, fd, EPOLLIN, on_event), -EBADF);
        assert_null(w.loop);
}

static void on_time(struct cay_timer *t)
{
        struct alarm *a = cay_container_of(t, struct alarm, timer);

        assert_null(t->loop);
        step(a->name);
        if (a->other)
                cay_timer_clear(&a->other->timer);
        if (a->again-- > 0)
                assert_int_equal(cay_timer_set(loop, t, a->again_ms, on_time), 0);
}

static void arm(struct alarm *a, uint64_t after_ms)
{
        assert_int_equal(cay_timer_set(loop, &a->timer, after_ms, on_time), 0);
}

static void sleep_ms(unsigned ms)
{
        uint64_t end = cay_clock_ms() + ms + 1;

        while (cay_clock_ms() < end)
                usleep(500);
}

static void test_timer_order(void **state)
{
        struct alarm a = { .name = 'a' }, b = { .name = 'b' }, c = { .name = 'c' };

        /*
         * Minutes apart, so that a busy machine cannot change the order; then all are due, in the same order.
         */
        arm(&a, 400000);
        arm(&b, 200000);
        arm(&c, 300000);
        rounds(1);
        assert_string_equal(trail, "");
        b.timer.due_ms = 1;
        c.timer.due_ms = 2;
        a.timer.due_ms = 3;
        rounds(1);
        assert_string_equal(trail, "bca");
        rounds(2);
        assert_string_equal(trail, "bca");
}

static void test_timer_ties_keep_the_order_of_arming(void **state)
{
        struct alarm a[20];
        char want[21] = { 0 };

        for (int i = 0; i < 20; i++) {
                a[i] = (struct alarm){ .name = (char)('a' + i) };
                arm(&a[i], 5);
                want[i] = (char)('a' + i);
                a[i].timer.due_ms =
                        a[0].timer.due_ms; /* the clock may have ticked in between; the heap stays in order */
        }
        sleep_ms(7);
        rounds(1);
        assert_string_equal(trail, want);
}

static void test_timer_clear_and_rearm_inside(void **state)
{
        struct alarm a = { .name = 'a', .again = 2 }, b = { .name = 'b' }, c = { .name = 'c' };

        a.other = &b; /* due in the same round, cleared by a */
        arm(&a, 1);
        arm(&b, 2);
        arm(&c, 3);
        sleep_ms(5);
        rounds(1);
        assert_string_equal(trail, "ac"); /* re-armed at once, but only for the next round */
        sleep_ms(1);
        rounds(1);
        assert_string_equal(trail, "aca");
        sleep_ms(1);
        rounds(3);
        assert_string_equal(trail, "acaa");
        cay_timer_clear(&a.timer);
        cay_timer_clear(&b.timer);
}

static void test_timer_rearm_from_outside(void **state)
{
        struct alarm a = { .name = 'a' }, b = { .name = 'b' };

        arm(&a, 1);
        arm(&b, 2);
        arm(&a, 100000); /* later */
        sleep_ms(4);
        rounds(1);
        assert_string_equal(trail, "b");
        arm(&a, 0); /* sooner */
        sleep_ms(1);
        rounds(1);
        assert_string_equal(trail, "ba");
        arm(&a, UINT64_MAX); /* never */
        rounds(1);
        cay_timer_clear(&a.timer);
        assert_null(a.timer.loop);
}

static void test_timer_is_never_early(void **state)
{
        struct alarm a = { .name = 'a' };

        /* Looks all the time, so that one that is early is caught; several starts within a millisecond. */
        for (unsigned i = 0; i < 40; i++) {
                uint64_t before = cay_clock_ns();

                steps = 0;
                arm(&a, i % 4);
                while (steps == 0)
                        rounds(1);
                assert_true(cay_clock_ns() - before >= (uint64_t)(i % 4) * 1000000);
                usleep(137);
        }
}

static void test_timer_ends_the_wait(void **state)
{
        struct alarm a = { .name = 'a' };

        arm(&a, 5);
        while (steps == 0)
                assert_int_equal(cay_loop_round(loop, -1), 0);
        assert_string_equal(trail, "a");
}

static void test_round_waits_no_longer_than_told(void **state)
{
        struct alarm a = { .name = 'a' };
        uint64_t before = cay_clock_ms();

        arm(&a, 3600000); /* a round that waits for it ends with the whole test */
        /* Who was stopped for a while is woken before its time: a round or two more. */
        for (unsigned i = 0; i < 10 && cay_clock_ms() - before < 19; i++)
                assert_int_equal(cay_loop_round(loop, 20), 0);
        assert_true(cay_clock_ms() - before >= 19);
        assert_string_equal(trail, "");
        cay_timer_clear(&a.timer);
}

static void test_timers_have_a_limit(void **state)
{
        const unsigned max = 1 << 16;
        cay_auto_free struct alarm *many = calloc(max + 1, sizeof(*many));
        struct cay_timer *last;

        assert_non_null(many);
        last = &many[max].timer;
        for (unsigned i = 0; i < max; i++) {
                many[i].name = 'a';
                arm(&many[i], 100000);
        }
        assert_int_equal(cay_timer_set(loop, last, 1, on_time), -ENOMEM);
        assert_null(last->loop);
        cay_timer_clear(last);
        arm(&many[0], 0); /* what is armed can still be moved */
        cay_timer_clear(&many[1].timer);
        assert_int_equal(cay_timer_set(loop, last, 100000, on_time), 0);
        sleep_ms(1);
        rounds(1);
        assert_string_equal(trail, "a");
        for (unsigned i = 0; i <= max; i++)
                cay_timer_clear(&many[i].timer);
        assert_int_equal(cay_loop_round(loop, 0), 0);
        assert_string_equal(trail, "a");
}

/* Many timers, armed, moved and cleared by chance; what is left must come in order. */
static struct alarm *last_due;
static unsigned told;

static void on_random_time(struct cay_timer *t)
{
        struct alarm *a = cay_container_of(t, struct alarm, timer);

        if (last_due)
                assert_true(last_due->timer.due_ms <= t->due_ms);
        last_due = a;
        told++;
}

static void test_timer_heap_against_chance(void **state)
{
        static struct alarm a[500];
        unsigned seed = 4711, armed = 0;

        memset(a, 0, sizeof(a));
        told = 0;
        last_due = NULL;
        for (int i = 0; i < 20000; i++) {
                struct alarm *x;

                seed = seed * 1103515245 + 12345;
                x = &a[(seed >> 16) % CAY_COUNT(a)];
                if (seed >> 29 == 0)
                        cay_timer_clear(&x->timer);
                else
                        assert_int_equal(cay_timer_set(loop, &x->timer, (seed >> 8) % 20, on_random_time), 0);
        }
        for (size_t i = 0; i < CAY_COUNT(a); i++)
                armed += a[i].timer.loop != NULL;
        assert_true(armed > 300);
        sleep_ms(25);
        rounds(1);
        assert_int_equal(told, armed);
}

struct work {
        struct cay_job job;
        struct cay_deferred deferred;
        char name;
        int again;
};

static void on_done(struct cay_job *job)
{
        struct work *w = cay_container_of(job, struct work, job);

        step(w->name);
        if (w->again-- > 0)
                cay_job_finish(cay_loop_jobs(loop), job, NULL);
}

static void on_deferred(struct cay_deferred *d)
{
        struct work *w = cay_container_of(d, struct work, deferred);

        step(w->name);
        if (w->again-- > 0)
                cay_loop_defer(loop, d);
}

static void test_jobs_do_not_wait(void **state)
{
        struct work w = { .name = 'j', .again = 3 };

        cay_job_init(&w.job, on_done);
        cay_job_finish(cay_loop_jobs(loop), &w.job, NULL);
        assert_int_equal(cay_loop_round(loop, -1), 0); /* would hang if it waited */
        assert_string_equal(trail, "jj"); /* a job from a job: the next drain, and a round has two */
        assert_int_equal(cay_loop_round(loop, -1), 0); /* the rest: the next round, at once */
        assert_string_equal(trail, "jjjj");
        rounds(1);
        assert_string_equal(trail, "jjjj");
}

static struct work from_watch;

static void finish_job(struct cay_watch *w, uint32_t events)
{
        step('w');
        cay_watch_remove(w);
        cay_loop_defer(loop, &from_watch.deferred);
        cay_job_finish(cay_loop_jobs(loop), &from_watch.job, NULL);
}

static void test_order_of_a_round(void **state)
{
        struct alarm a = { .name = 't' };
        struct source s;

        from_watch = (struct work){ .name = 'x', .deferred.run = on_deferred };
        cay_job_init(&from_watch.job, on_done);
        ready(&s, 's');
        s.watch.on_event = finish_job;
        arm(&a, 0);
        sleep_ms(2);
        rounds(1);
        assert_string_equal(trail, "wxtx"); /* watch, job, timer, deferred */
        close(s.fd);
}

static void finish_on_time(struct cay_timer *t)
{
        step('t');
        cay_loop_defer(loop, &from_watch.deferred);
        cay_job_finish(cay_loop_jobs(loop), &from_watch.job, NULL);
}

static void test_a_job_of_a_timer_is_told_in_its_round(void **state)
{
        struct cay_timer t = { 0 };

        from_watch = (struct work){ .name = 'x', .deferred.run = on_deferred };
        cay_job_init(&from_watch.job, on_done);
        assert_int_equal(cay_timer_set(loop, &t, 0, finish_on_time), 0);
        sleep_ms(2);
        rounds(1);
        assert_string_equal(trail, "txx"); /* timer, job, deferred */
}

static struct alarm patience;

static void answer(struct cay_watch *w, uint32_t events)
{
        step('w');
        cay_watch_remove(w);
        cay_timer_clear(&patience.timer);
}

/* Who looks late finds an answer and the end of the wait for it: the answer counts. */
static void test_answer_before_its_deadline(void **state)
{
        struct source s;

        ready(&s, 's');
        s.watch.on_event = answer;
        patience = (struct alarm){ .name = 't' };
        arm(&patience, 0);
        sleep_ms(2);
        rounds(2);
        assert_string_equal(trail, "w");
        close(s.fd);
}

static struct cay_job asked;

static void on_told(struct cay_job *job)
{
        step('j');
        cay_timer_clear(&patience.timer);
}

static void answer_by_job(struct cay_watch *w, uint32_t events)
{
        step('w');
        cay_watch_remove(w);
        cay_job_finish(cay_loop_jobs(loop), &asked, NULL);
}

/* The same where the answer is a job, as every engine's is. */
static void test_answer_by_job_before_its_deadline(void **state)
{
        struct source s;

        ready(&s, 's');
        s.watch.on_event = answer_by_job;
        cay_job_init(&asked, on_told);
        patience = (struct alarm){ .name = 't' };
        arm(&patience, 0);
        sleep_ms(2);
        rounds(2);
        assert_string_equal(trail, "wj");
        close(s.fd);
}

static int answer_fd;

/* While the loop sleeps, or just before it: the answer comes and the wait is over. */
static void on_interrupt(int signo)
{
        uint64_t one = 1;

        patience.timer.due_ms = 0;
        if (write(answer_fd, &one, sizeof(one)) < 0)
                _exit(1);
}

static void test_answer_after_an_interruption(void **state)
{
        const struct itimerval soon = { .it_value.tv_usec = 20000 };
        struct sigaction now = { .sa_handler = on_interrupt }, before;
        struct source s;
        uint64_t v;

        ready(&s, 's');
        assert_int_equal(read(s.fd, &v, sizeof(v)), sizeof(v));
        s.watch.on_event = answer;
        answer_fd = s.fd;
        patience = (struct alarm){ .name = 't' };
        arm(&patience, 60000);
        assert_int_equal(sigaction(SIGALRM, &now, &before), 0);
        assert_int_equal(setitimer(ITIMER_REAL, &soon, NULL), 0);
        for (unsigned i = 0; i < 1000 && steps == 0; i++) /* once, unless something else wakes it */
                assert_int_equal(cay_loop_round(loop, -1), 0);
        rounds(1);
        assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
        assert_string_equal(trail, "w");
        close(s.fd);
}

static void test_deferred(void **state)
{
        struct work a = { .name = 'a', .deferred.run = on_deferred, .again = 1 };
        struct work b = { .name = 'b', .deferred.run = on_deferred };

        cay_loop_defer(loop, &a.deferred);
        cay_loop_defer(loop, &b.deferred);
        assert_string_equal(trail, "");
        assert_int_equal(cay_loop_round(loop, -1), 0);
        assert_string_equal(trail, "ab");
        assert_int_equal(cay_loop_round(loop, -1), 0);
        assert_string_equal(trail, "aba");
}

static void free_deferred(struct cay_deferred *d)
{
        step('f');
        free(cay_container_of(d, struct work, deferred));
}

static void test_free_runs_what_is_deferred(void **state)
{
        struct work *w = calloc(1, sizeof(*w));

        assert_non_null(w);
        w->deferred.run = free_deferred;
        cay_loop_defer(loop, &w->deferred);
        cay_loop_free(cay_take(loop));
        assert_string_equal(trail, "f");
        cay_loop_free(NULL);
}

static void stop(struct cay_timer *t)
{
        step('s');
        cay_loop_stop(loop);
        cay_job_finish(cay_loop_jobs(loop), &from_watch.job, NULL);
}

static void test_run_and_stop(void **state)
{
        struct alarm a = { .name = 'a' };

        from_watch = (struct work){ .name = 'j' };
        cay_job_init(&from_watch.job, on_done);
        assert_int_equal(cay_timer_set(loop, &a.timer, 1, stop), 0);
        assert_int_equal(cay_loop_run(loop), 0);
        assert_string_equal(trail, "sj"); /* the round is ended properly */
        assert_int_equal(cay_timer_set(loop, &a.timer, 1, stop), 0);
        assert_int_equal(cay_loop_run(loop), 0); /* and it can run again */
        assert_string_equal(trail, "sjsj");
        cay_loop_stop(loop);
        assert_int_equal(cay_loop_run(loop), 0); /* stopped ahead: returns at once */
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                T(test_level_triggered),
                T(test_remove_another_ready_one),
                T(test_free_another_ready_one_at_once),
                T(test_remove_and_add_inside),
                T(test_set),
                T(test_what_cannot_be_watched),
                T(test_timer_order),
                T(test_timer_ties_keep_the_order_of_arming),
                T(test_timer_clear_and_rearm_inside),
                T(test_timer_rearm_from_outside),
                T(test_timer_is_never_early),
                T(test_timer_ends_the_wait),
                T(test_round_waits_no_longer_than_told),
                T(test_timers_have_a_limit),
                T(test_timer_heap_against_chance),
                T(test_jobs_do_not_wait),
                T(test_order_of_a_round),
                T(test_a_job_of_a_timer_is_told_in_its_round),
                T(test_answer_before_its_deadline),
                T(test_answer_by_job_before_its_deadline),
                T(test_answer_after_an_interruption),
                T(test_deferred),
                T(test_free_runs_what_is_deferred),
                T(test_run_and_stop),
        };

        return cmocka_run_group_tests_name("loop/loop", tests, NULL, NULL);
}
