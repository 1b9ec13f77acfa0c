/* SPDX-License-Identifier: Apache-2.0 */
/* The list and the life of tasks: how a request begins, waits its turn, and ends. The theory is in task.h. */
#include "cay-docker/task.h"

#include <errno.h>
#include <stdlib.h>

#include "foundation/base/str.h"
#include "cay-docker/measure.h"
#include "cay-docker/no_init.h"

const char *docker_task_id(const struct docker_task *t)
{
        return t->req.type == DOCKER_box_make ? t->req.plan.id : t->req.box.id;
}

bool docker_task_is_busy(const struct docker_broker *b, const char *id)
{
        for (const struct docker_task *t = b->tasks; t; t = t->next)
                if (strcmp(docker_task_id(t), id) == 0)
                        return true;
        return false;
}

/* Ends */

static void release_task(struct cay_deferred *d)
{
        free(cay_container_of(d, struct docker_task, release));
}

static void let_go(struct docker_task *t)
{
        struct docker_broker *b = t->broker;

        for (struct docker_task **at = &b->tasks; *at; at = &(*at)->next) {
                if (*at == t) {
                        *at = t->next;
                        b->task_count--;
                        break;
                }
        }
        docker_call_abort(&t->call);
        docker_relay_forget(&t->wait);
        cay_timer_clear(&t->timer);
        cay_buf_done(&t->body);
        for (unsigned i = 0; i < DOCKER_ACCOUNT_COUNT; i++)
                cay_buf_done(&t->accounts[i]);
        if (t->fd >= 0)
                close(cay_take_fd(t->fd));
        explicit_bzero(&t->req, sizeof(t->req));
        explicit_bzero(&t->order, sizeof(t->order));
        t->release.run = release_task;
        cay_loop_defer(b->loop, &t->release);
}

static void run_task(struct docker_task *t);

/* The next one of this box. */
static void wake(struct docker_broker *b, const char *id)
{
        for (struct docker_task *t = b->tasks; t; t = t->next) {
                if (strcmp(docker_task_id(t), id) == 0) {
                        run_task(t);
                        return;
                }
        }
}

/*
 * What it leaves behind may be another state than the one before; a look or a new stream leaves it as it is.
 */
static bool changes(const struct docker_task *t)
{
        return t->req.type == DOCKER_box_make || t->req.type == DOCKER_TASK_RUN ||
               t->req.type == DOCKER_box_stop || t->req.type == DOCKER_box_drop;
}

void docker_task_finish(struct docker_task *t)
{
        struct docker_broker *b = t->broker;
        char id[CAY_NAME_MAX + 1];

        cay_str_copy(id, sizeof(id), docker_task_id(t));
        if (t->box) {
                t->box->making = t->box->ending = false;
                t->box->stirred |= changes(t);
        }
        t->answer.type = t->req.type;
        t->answer.seq = t->req.seq;
        t->answer.code = t->why.code;
        t->answer.sys = t->why.sys;
        cay_str_copy(t->answer.box.id, sizeof(t->answer.box.id), id);
        cay_str_copy(t->answer.text, sizeof(t->answer.text), t->why.msg);
        if (t->req.seq != 0 && t->front_serial == b->server.serial)
                docker_broker_answer(b, &t->answer);
        if (t->req.type == DOCKER_TASK_RUN && t->box && t->box->no_init)
                docker_no_init_started(t->box->no_init, &t->why);
        let_go(t);
        wake(b, id);
        docker_broker_idle(b);
}

void docker_task_forget_box(struct docker_task *t)
{
        if (t->req.type == DOCKER_TASK_RUN) { /* the box stays, for another command */
                t->box->network[0] = '\0';
                t->box->live = true;
                return;
        }
        if (t->box)
                docker_box_remove(t->broker, cay_take(t->box));
}

/* A half-made container goes; a kept one that did not start again stays as it was. */
void docker_task_give_up(struct docker_task *t)
{
        bool makes = t->req.type == DOCKER_box_make || t->req.type == DOCKER_TASK_RUN;
        bool is_new = makes && t->box && !(t->order.plan.flags & DOCKER_PLAN_GO_ON);

        if (t->req.type == DOCKER_box_make && t->box && !is_new && t->box->live) {
                docker_task_ask(t, DOCKER_STEP_STOP);
                return;
        }
        if (is_new && (t->box->container[0] != '\0' || t->box->network[0] != '\0')) {
                t->tries = 0;
                docker_task_ask(t, t->box->container[0] != '\0' ? DOCKER_STEP_UNDO : DOCKER_STEP_UNNET);
                return;
        }
        if (is_new)
                docker_task_forget_box(t);
        docker_task_finish(t);
}

void docker_task_fail(struct docker_task *t, const char *what)
{
        if (t->why.code == CAY_OK)
                docker_call_fail(&t->call, what, &t->why);
        docker_task_give_up(t);
}

/* Requests */

static int begin_make(struct docker_task *t, enum docker_step *ret)
{
        struct docker_broker *b = t->broker;
        bool goes_on = t->req.plan.flags & DOCKER_PLAN_GO_ON;

        if (docker_order_check(&t->req.plan, &b->options, &b->facts, &t->order, &t->why) < 0)
                return -1;
        t->box = docker_box_find(b, t->order.plan.id);
        if (t->box && !(goes_on && t->box->kept && !t->box->live)) {
                t->box = NULL; /* not ours to undo */
                return cay_fail(&t->why, CAY_EXISTS, "box '%s' exists already", t->order.plan.id);
        }
        if (!t->box && goes_on) {
                cay_fail(&t->why, CAY_CONFLICT, "box '%s' has no container to start again", t->order.plan.id);
                t->why.sys = ENOENT;
                return -1;
        }
        if (!t->box)
                t->box = docker_box_add(b, t->order.plan.id);
        if (!t->box)
                return cay_fail(&t->why, CAY_LIMIT, "there are %u boxes already, which is the maximum",
                                b->box_count);
        t->box->making = true;
        t->box->doomed = false;
        t->box->kept = t->order.plan.flags & DOCKER_PLAN_KEEP;
        *ret = goes_on                                   ? DOCKER_STEP_ARCHIVE
               : t->order.plan.flags & DOCKER_PLAN_BUILT ? DOCKER_STEP_FIND
                                                         : DOCKER_STEP_IMAGE;
        return 0;
}

static int begin_run(struct docker_task *t, enum docker_step *ret)
{
        t->box = docker_box_find(t->broker, t->req.box.id);
        if (!t->box || !t->box->no_init || t->box->no_init->state != DOCKER_NO_INIT_STARTING ||
            !t->box->no_init->order.exec) {
                /* the one that was meant has gone: another of its id has nothing to do with this */
                t->box = NULL;
                return -1;
        }
        t->order = t->box->no_init->order;
        *ret = t->box->container[0] != '\0' ? DOCKER_STEP_AGAIN : docker_task_before_create(t);
        return 0;
}

/* One without init may have no container yet, or none that runs. */
static int begin_no_init(struct docker_task *t)
{
        struct docker_no_init *o = t->box->no_init;
        int r;

        if (t->req.type == DOCKER_box_link) {
                r = o->state == DOCKER_NO_INIT_LOST ? -ENOENT
                                                    : docker_no_init_link_take(o, cay_take_fd(t->fd));
                if (r < 0)
                        cay_fail_sys(&t->why, r == -ENOENT ? CAY_NOT_FOUND : CAY_INTERNAL, r,
                                     "join the box link");
                return -1;
        }
        if (o->state != DOCKER_NO_INIT_RUNNING || t->box->container[0] == '\0')
                return cay_fail(
                        &t->why, CAY_CONFLICT,
                        "this sandbox has no init (init: none): it can be frozen while its command runs");
        return 0;
}

static int begin_other(struct docker_task *t, enum docker_step *ret)
{
        bool ends = t->req.type == DOCKER_box_drop || t->req.type == DOCKER_box_stop;

        if (strnlen(t->req.box.id, sizeof(t->req.box.id)) == sizeof(t->req.box.id))
                t->req.box.id[0] = '\0';
        t->box = docker_box_find(t->broker, t->req.box.id);
        if (!t->box)
                return ends ? -1 : cay_fail(&t->why, CAY_NOT_FOUND, "no box '%.63s'", t->req.box.id);
        if (t->box->no_init && !ends && begin_no_init(t) < 0)
                return -1;
        switch (t->req.type) {
        case DOCKER_box_link:
                *ret = DOCKER_STEP_EXEC;
                if (!t->box->live)
                        return cay_fail(&t->why, CAY_NOT_FOUND, "box '%s' has ended", t->box->id);
                break;
        case DOCKER_box_freeze:
                docker_measure_let_go(t->broker, t->box, "was frozen");
                *ret = DOCKER_STEP_FREEZE;
                break;
        case DOCKER_box_thaw:
                *ret = DOCKER_STEP_THAW;
                break;
        default: /* box_stop, box_drop */
                /*
                 * Docker's figures come once a second, so nobody waits for a last look: init has told each
                 * command's.
                 */
                t->box->ending = true;
                docker_measure_let_go(t->broker, t->box, "was stopped");
                if (t->box->no_init)
                        docker_no_init_stop(t->box->no_init);
                t->answer.box.stats.oom_kills = t->box->oom_kills;
                if (t->box->container[0] == '\0' && t->box->network[0] == '\0') { /* no command came */
                        docker_task_forget_box(t);
                        return -1;
                }
                *ret = t->box->container[0] == '\0'                     ? DOCKER_STEP_UNNET
                       : t->req.type == DOCKER_box_stop && t->box->kept ? DOCKER_STEP_STOP
                                                                        : DOCKER_STEP_REMOVE;
                break;
        }
        return 0;
}

static void run_task(struct docker_task *t)
{
        enum docker_step first = DOCKER_STEP_WAITING;
        int r;

        if (!t->broker->has_facts && t->req.seq != 0)
                r = cay_fail(&t->why, CAY_UNAVAILABLE, "Docker has not answered yet: %s",
                             t->broker->sync.why.msg);
        else
                r = t->req.type == DOCKER_box_make   ? begin_make(t, &first)
                    : t->req.type == DOCKER_TASK_RUN ? begin_run(t, &first)
                                                     : begin_other(t, &first);
        if (r == 0)
                docker_task_ask(t, first);
        else
                docker_task_finish(t);
}

static void on_run_time(struct cay_timer *timer)
{
        run_task(cay_container_of(timer, struct docker_task, timer));
}

static void refuse_take(struct docker_broker *b, const struct docker_request *req, int fd)
{
        struct docker_answer full = { .type = req->type, .seq = req->seq, .code = CAY_LIMIT };

        if (fd >= 0)
                close(fd);
        cay_str_copy(full.text, sizeof(full.text), "too many requests wait for Docker");
        if (req->seq != 0)
                docker_broker_answer(b, &full);
}

void docker_task_begin_take(struct docker_broker *b, const struct docker_request *req, int fd)
{
        bool may = req->seq == 0 || b->task_count < DOCKER_TASKS_MAX, waits;
        struct docker_task *t = may ? calloc(1, sizeof(*t)) : NULL, **at = &b->tasks;

        if (!t) {
                refuse_take(b, req, fd);
                return;
        }
        b->task_count++;
        t->broker = b;
        t->front_serial = b->server.serial;
        t->req = *req;
        if (req->type == DOCKER_box_make)
                t->req.plan.id[CAY_NAME_MAX] = '\0'; /* it is compared before it is checked */
        else
                t->req.box.id[CAY_NAME_MAX] = '\0';
        t->fd = fd;
        waits = docker_task_is_busy(b, docker_task_id(t));
        while (*at)
                at = &(*at)->next;
        *at = t;
        if (!waits)
                cay_timer_set(b->loop, &t->timer, 0, on_run_time);
}

static void begin_for_nobody(struct docker_broker *b, uint32_t type, const struct docker_box *box)
{
        struct docker_request req = { .type = type };

        cay_str_copy(req.box.id, sizeof(req.box.id), box->id);
        docker_task_begin_take(b, &req, -1);
}

void docker_task_begin_drop(struct docker_broker *b, const struct docker_box *box)
{
        begin_for_nobody(b, DOCKER_box_drop, box);
}

void docker_task_begin_stop(struct docker_broker *b, const struct docker_box *box)
{
        begin_for_nobody(b, DOCKER_box_stop, box);
}

void docker_tasks_abort(struct docker_broker *b)
{
        while (b->tasks)
                let_go(b->tasks);
}
