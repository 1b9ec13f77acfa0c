/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of boxes, and of what dead runs left of theirs.
 *
 * Theory of operation. Destroying stops init first (a stopped subreaper still adopts every orphan, and starts
 * nothing new) and kills everything below it until a scan of /proc finds nothing alive. Then it kills init,
 * reaps the orphans, and empties the scratch folder in portions. No step blocks: each is a timer tick. In a
 * box with its own id (own_id.h) init is killed, then every process with that id until none is left: no pid
 * is looked up, so pid reuse is no problem. What does not die keeps its folder and its id. In a separate
 * program (cay-process/broker.h) a box whose init died unexpectedly is destroyed immediately, even without a
 * front; elsewhere its owner does that.
 *
 * What dead runs left is swept from the loop, in portions, too.
 */
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "foundation/base/clock.h"
#include "engines/process/box.h"
#include "engines/process/own_id.h"
#include "engines/process/tree.h"

#define TICK_MS 2
#define DESTROY_MS 10000 /* after that the box is given up with an error */
#define SWEEP_MS 5
#define SWEEP_MAX_MS 10000 /* how often what is stuck is tried again */

void process_sweep(struct cay_timer *t)
{
        struct process_engine *pe = cay_container_of(t, struct process_engine, sweep);
        enum cay_swept swept = pe->with_ids || pe->may_ids
                                       ? cay_scratch_sweep_ids(&pe->ids, PROCESS_REMOVE_BUDGET)
                                       : cay_scratch_sweep(PROCESS_REMOVE_BUDGET);
        uint64_t later = pe->sweep_ms < SWEEP_MAX_MS / 2 ? pe->sweep_ms * 2 : SWEEP_MAX_MS;

        pe->sweep_ms = swept == CAY_SWEPT_STUCK && later > SWEEP_MS ? later : SWEEP_MS;
        if (swept != CAY_SWEPT)
                cay_timer_set(pe->loop, &pe->sweep, pe->sweep_ms, process_sweep);
}

static void tell_gone(struct process_engine *pe, struct process_box *b)
{
        if (pe->gone != NULL)
                pe->gone(pe->gone_ctx, b->id);
}

static bool is_known(void *ctx, pid_t pid)
{
        const struct process_engine *pe = ctx;

        for (const struct process_box *b = pe->boxes; b != NULL; b = b->next)
                if (b->init.pid == pid && !b->reaped)
                        return true;
        return false;
}

static void reap(struct process_box *b)
{
        if (b->reaped || b->init.pid <= 0)
                return;
        if (waitpid(b->init.pid, NULL, WNOHANG) != 0)
                b->reaped = true;
}

/* Of an engine with ids all children are inits and what they left: whoever has ended is collected. */
static void collect(struct process_engine *pe)
{
        pid_t pid;

        while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
                for (struct process_box *b = pe->boxes; b != NULL; b = b->next)
                        b->reaped |= b->init.pid == pid;
}

void process_box_free(struct process_box *b)
{
        cay_watch_remove(&b->watch);
        cay_timer_clear(&b->tick);
        cay_init_child_close(&b->init);
        cay_scratch_close(&b->scratch);
        free(b);
}

static void unlist(struct process_engine *pe, struct process_box *b)
{
        for (struct process_box **p = &pe->boxes; *p != NULL; p = &(*p)->next) {
                if (*p == b) {
                        *p = b->next;
                        pe->count--;
                        return;
                }
        }
}

static void finish_destroy(struct process_box *b, const struct cay_error *err)
{
        struct process_engine *pe = b->engine;

        unlist(pe, b);
        if (b->asker != NULL) {
                b->asker->stats = b->last;
                b->asker->workspace = NULL;
        }
        if (b->job != NULL)
                cay_job_finish(cay_loop_jobs(pe->loop), b->job, err);
        if (err != NULL) /* its folder says what is left to do */
                cay_timer_set(pe->loop, &pe->sweep, SWEEP_MAX_MS, process_sweep);
        process_box_free(b);
}

/*
 * Kills everything below init; true when nothing alive is left there. With its own id this can wait until
 * init is gone.
 */
static bool kill_below(struct process_box *b)
{
        struct cay_tree_sum sum;

        return b->reaped || b->scratch.id != 0 || cay_tree_signal(b->init.pid, SIGKILL, &sum) < 0 ||
               sum.alive == 0;
}

/* True when init and everything it started are gone; a failed check is not an answer. */
static bool is_over(struct process_box *b)
{
        unsigned orphans = 0;
        bool over;

        reap(b);
        if (!b->reaped)
                return false;
        if (b->scratch.id == 0)
                return cay_tree_end_orphans(is_known, b->engine, &orphans) < 0 || orphans == 0;
        over = cay_own_id_kill(b->scratch.id) == 1;
        if (b->engine->with_ids)
                collect(b->engine);
        else
                cay_tree_end_orphans(is_known, b->engine,
                                     &orphans); /* other children are not ours to wait for */
        return over;
}

/* One step of destroying. Returns true while there is more to do. */
bool process_box_end_step(struct process_box *b)
{
        struct cay_error err = { 0 };
        bool late = cay_clock_ms() >= b->give_up_ms;
        int r;

        switch (b->state) {
        case BOX_LIVES:
        case BOX_GONE:
                assert(!"not being destroyed");
                return false;
        case BOX_KILLING:
                if (!kill_below(b) && !late)
                        return true;
                if (!b->reaped)
                        kill(b->init.pid, SIGKILL);
                b->state = BOX_REAPING;
                return true;
        case BOX_REAPING:
                if (is_over(b)) {
                        b->state = BOX_SWEEPING;
                        return true;
                }
                if (!late)
                        return true;
                cay_fail(&err, CAY_INTERNAL, "processes of box '%s' do not die: %s stays", b->id,
                         b->workspace);
                finish_destroy(b, &err);
                return false;
        case BOX_SWEEPING:
                r = cay_scratch_remove(&b->scratch, PROCESS_REMOVE_BUDGET);
                if (r == 0 && !late)
                        return true;
                if (r <= 0)
                        cay_fail_sys(&err, CAY_INTERNAL, r < 0 ? r : -ETIMEDOUT, "remove %s",
                                     b->scratch.path);
                finish_destroy(b, r == 1 ? NULL : &err);
                return false;
        }
        return false;
}

/* As far as it goes without waiting; the rest from the next tick. */
void process_box_end(struct cay_timer *t)
{
        struct process_box *b = cay_container_of(t, struct process_box, tick);
        enum process_box_state before;

        do {
                before = b->state;
                if (!process_box_end_step(b))
                        return;
        } while (b->state != before);
        cay_timer_set(b->engine->loop, &b->tick, TICK_MS, process_box_end);
}

void process_box_begin_end(struct process_box *b)
{
        if (!b->reaped && b->scratch.id == 0)
                kill(b->init.pid, SIGSTOP);
        b->state = BOX_KILLING;
        b->give_up_ms = cay_clock_ms() + DESTROY_MS;
}

/* The callback may destroy the box, and is notified when that is done. */
void process_box_on_init_gone(struct cay_watch *w, uint32_t events)
{
        struct process_box *b = cay_container_of(w, struct process_box, watch);
        unsigned alive;

        cay_watch_remove(w);
        reap(b);
        if (b->state != BOX_LIVES)
                return;
        if (b->engine->ends_gone) {
                process_box_begin_end(b);
                cay_timer_set(b->engine->loop, &b->tick, 0, process_box_end);
        } else {
                b->state = BOX_GONE;
                cay_tree_end_orphans(is_known, b->engine, &alive);
        }
        tell_gone(b->engine, b);
}
