/* SPDX-License-Identifier: Apache-2.0 */
/* What Docker's answers mean for a box that is there: stopped, frozen, removed, its network too. */
#include "foundation/base/log.h"
#include "cay-docker/task.h"

enum {
        REMOVE_TRIES = 40, /* while Docker says that it is being removed already */
        REMOVE_PAUSE_MS = 100,
};

/*
 * Somebody removed it. The event of that is no news any more: it comes while we stop it, or after we forgot
 * it.
 */
static void lose(struct docker_task *t)
{
        if (t->box && t->box->kept)
                docker_broker_files_lost(t->broker, t->box);
        docker_task_forget_box(t);
}

void docker_task_on_stop(struct docker_task *t)
{
        if (t->call.status == 404)
                lose(t);
        else if (t->call.status == 409 && t->tries++ == 0) {
                docker_task_ask(t, DOCKER_STEP_UNPAUSE); /* a frozen one cannot end */
                return;
        } else if (t->call.status != 204 && t->call.status != 304 && t->why.code == CAY_OK)
                docker_call_fail(&t->call, "stop the container", &t->why);
        if (t->why.code != CAY_OK && t->req.seq == 0) {
                cay_log_error("a container may run on", "id=%s error=%s", docker_task_id(t), t->why.msg);
                t->broker->left = true;
        }
        /*
         * One that Docker did not stop runs on, and counts as such; unless we end, and nobody is left to try
         * again.
         */
        if (t->box && (t->call.status == 204 || t->call.status == 304 || t->broker->stopping))
                t->box->live = false;
        docker_task_finish(t);
}

static void on_remove_time(struct cay_timer *timer)
{
        struct docker_task *t = cay_container_of(timer, struct docker_task, timer);

        docker_task_ask(t, t->step);
}

void docker_task_on_remove(struct docker_task *t)
{
        struct cay_error err = { 0 };

        if (t->call.status == 409 && t->tries++ < REMOVE_TRIES &&
            cay_timer_set(t->broker->loop, &t->timer, REMOVE_PAUSE_MS, on_remove_time) == 0)
                return;
        if (t->call.status == 204 || t->call.status == 404) {
                t->box->container[0] = '\0';
                t->box->live = t->box->doomed = false;
                if (t->box->network[0] != '\0') {
                        t->tries = 0;
                        docker_task_ask(t, DOCKER_STEP_UNNET);
                        return;
                }
                docker_task_forget_box(t);
        } else {
                docker_call_fail(&t->call, "remove the container", &err);
                cay_log_error("a container is left: it is tried again later", "id=%s error=%s",
                              docker_task_id(t), err.msg);
                t->box->doomed = true;
                if (t->why.code == CAY_OK)
                        t->why = err;
                t->box->making = false;
        }
        docker_task_finish(t);
}

/* Docker may not know yet that the last container of it has gone. */
void docker_task_on_unnet(struct docker_task *t)
{
        struct cay_error err = { 0 };

        if (t->call.status != 204 && t->call.status != 404 && t->call.status != 0 &&
            t->tries++ < REMOVE_TRIES &&
            cay_timer_set(t->broker->loop, &t->timer, REMOVE_PAUSE_MS, on_remove_time) == 0)
                return;
        if (t->call.status != 204 && t->call.status != 404) {
                docker_call_fail(&t->call, "remove the network", &err);
                cay_log_error("a network is left: it is tried again later", "id=%s error=%s",
                              docker_task_id(t), err.msg);
        }
        docker_task_forget_box(t);
        docker_task_finish(t);
}

/*
 * 304, a conflict, and of older daemons a failure with these words say that it is so already. One that has
 * ended conflicts as well.
 */
static bool is_so_already(const struct docker_call *c)
{
        const char *text = cay_buf_data(&c->body);

        return c->status == 304 || (c->status == 409 && !strstr(text, "not running")) ||
               (c->status == 500 && (strstr(text, "is not paused") || strstr(text, "is already paused")));
}

void docker_task_on_changed(struct docker_task *t, const char *what)
{
        if (t->call.status == 404)
                cay_fail(&t->why, CAY_NOT_FOUND, "no box '%s'", docker_task_id(t));
        else if (t->call.status != 204 && !is_so_already(&t->call))
                docker_call_fail(&t->call, what, &t->why);
        else if (t->call.status != 204 && !t->box->live)
                cay_fail(&t->why, CAY_UNAVAILABLE, "box '%s' has ended", docker_task_id(t));
        docker_task_finish(t);
}
