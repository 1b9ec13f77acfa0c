/* SPDX-License-Identifier: Apache-2.0 */
/* Limits, figures and freezing. */
#include "contract/contract.h"

#include "fake/fake_engine.h"

void tells_figures(void **state)
{
        struct subject *s = subject(state);
        uint64_t end = cay_clock_ms() + WAIT_MS;
        struct cay_job job;
        static struct exec e;
        static struct box b;

        make_box(s, &b, "figures");
        begin_exec(&b, &e, WAIT, 0);
        wait_for(s, &e.opened);
        fake_plan.stats.pids = 1;
        while (b.box.stats.pids == 0 && cay_clock_ms() < end) {
                cay_loop_round(s->loop, 10); /* the command counts once it has joined */
                prepare_job(&job);
                s->kind->ops->stats(s->engine, &b.box, &job);
                assert_int_equal(job_result(s, &job), CAY_OK);
        }
        assert_true(b.box.stats.pids >= 1);
        end_exec(&e);
        assert_int_equal(destroy(&b), CAY_OK);
        prepare_job(&job);
        s->kind->ops->stats(s->engine, &b.box, &job);
        assert_int_equal(job_result(s, &job), CAY_NOT_FOUND);
}

/* Every limit by itself: held, or refused, or skipped with a word about it. */
void a_limit_is_held_refused_or_skipped_never_dropped(void **state)
{
        struct subject *s = subject(state);
        const struct cay_limits all = {
                .memory_bytes = 64u << 20,
                .cpu_milli = 500,
                .pids = 20,
                .disk_bytes = 16u << 20,
                .inodes = 1000,
                .files = 64,
                .output_bytes = 1000,
                .wall_ms = 5000,
                .cpu_time_ms = 5000,
                .swap_bytes = 4096,
        };
        unsigned can_hold, some = 0;

        fake_plan.cannot_hold = CAY_LIMIT_BIT(pids) | CAY_LIMIT_BIT(disk_bytes);
        can_hold = s->kind->ops->can_hold(s->engine);
        for (unsigned nr = 0; nr < CAY_LIMIT_NR_COUNT; nr++) {
                uint64_t *value;
                unsigned need;
                static struct box b;

                prepare_box(s, &b, "limit");
                b.spec.limits = (struct cay_limits){ 0 };
                value = &b.spec.limits.memory_bytes + nr;
                *value = (&all.memory_bytes)[nr];
                b.spec.may_skip = 0;
                need = cay_limits_set_mask(&b.spec.limits);
                if ((need & ~can_hold) == 0) {
                        assert_int_equal(create(&b), CAY_OK);
                        assert_int_equal(b.box.skipped, 0);
                        assert_int_equal(destroy(&b), CAY_OK);
                        continue;
                }
                some++;
                assert_int_equal(create(&b), CAY_UNSUPPORTED);
                assert_int_equal(listed(s), 0);
                b.spec.may_skip = need & ~can_hold;
                assert_int_equal(create(&b), CAY_OK);
                assert_int_equal(b.box.skipped, need & ~can_hold);
                assert_int_equal(destroy(&b), CAY_OK);
        }
        if (s->kind->ops->lacks & CAY_ENGINE_LACKS_ISOLATION)
                assert_true(some > 0);
}

/* Nothing comes for as long as twenty lines would have taken. */
static bool is_quiet(struct subject *s, const struct exec *e)
{
        uint64_t end = cay_clock_ms() + 200;
        size_t before = e->out.len;

        while (cay_clock_ms() < end)
                cay_loop_round(s->loop, 20);
        return e->out.len == before;
}

void freezes_or_says_that_it_cannot(void **state)
{
        static const char *const ticks[] = { "/bin/sh", "-c", "while :; do echo tick; sleep 0.01; done",
                                             NULL };
        struct subject *s = subject(state);
        enum cay_code code;
        struct cay_job job;
        static struct exec e;
        static struct box b;
        bool quiet = false;
        size_t before;

        make_box(s, &b, "cold");
        if (s->kind->is_fake)
                begin_exec(&b, &e, WAIT, 0);
        else
                begin_command(&b, &e, ticks, 0);
        wait_for(s, &e.opened);
        prepare_job(&job);
        s->kind->ops->freeze(s->engine, &b.box, &job);
        code = job_result(s, &job);
        if (code != CAY_UNSUPPORTED) {
                assert_int_equal(code, CAY_OK);
                for (unsigned i = 0; i < 50 && !quiet; i++)
                        quiet = is_quiet(s, &e); /* what was under way comes first */
                assert_true(quiet);
                before = e.out.len;
                prepare_job(&job);
                s->kind->ops->thaw(s->engine, &b.box, &job);
                assert_int_equal(job_result(s, &job), CAY_OK);
                for (unsigned i = 0; i < 1000 && e.out.len == before && !s->kind->is_fake; i++)
                        cay_loop_round(s->loop, 20);
                assert_true(e.out.len > before || s->kind->is_fake);
                prepare_job(&job);
                s->kind->ops->freeze(s->engine, &b.box, &job); /* frozen ones can be destroyed */
                assert_int_equal(job_result(s, &job), CAY_OK);
        }
        end_exec(&e);
        assert_int_equal(destroy(&b), CAY_OK);
        prepare_job(&job);
        cay_str_copy(b.box.id, sizeof(b.box.id), "never-was");
        s->kind->ops->freeze(s->engine, &b.box, &job);
        assert_int_equal(job_result(s, &job), CAY_NOT_FOUND);
}
