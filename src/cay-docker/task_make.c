/* SPDX-License-Identifier: Apache-2.0 */
/* What Docker's answers mean on the way to a box: image, volumes, network, container, ports, init. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "foundation/base/str.h"
#include "cay-docker/extras.h"
#include "cay-docker/no_init.h"
#include "foundation/http/socket.h"
#include "cay-docker/task.h"

enum { READY_MS = 15000 };

/* An id of Docker's goes into paths: it has to look like one. */
static bool take_id(struct docker_task *t, char ret[DOCKER_CONTAINER])
{
        cay_auto(cay_json_in_freep) struct cay_json_in *doc = NULL;
        const char *id = cay_json_value_text(cay_json_value_find(docker_task_parse(t, &doc), "Id"));

        if (id && strlen(id) > 0 && strspn(id, "0123456789abcdef") == strlen(id) &&
            cay_str_copy(ret, DOCKER_CONTAINER, id))
                return true;
        cay_fail(&t->why, CAY_INTERNAL, "Docker's answer has no id");
        return false;
}

void docker_task_on_find(struct docker_task *t)
{
        const struct cay_json_in_limits limits = { .bytes = DOCKER_BODY_MAX, .values = 2000000 };
        cay_auto(cay_json_in_freep) struct cay_json_in *doc = NULL;
        cay_auto_free struct docker_found *found = calloc(DOCKER_FOUND_MAX, sizeof(*found));
        const char *name = t->order.plan.template_name;
        const struct docker_found *newest;
        unsigned count;

        if (t->call.status != 200) {
                docker_task_fail(t, "look for the template's image");
                return;
        }
        if (!found ||
            cay_json_in_parse(cay_buf_data(&t->call.body), t->call.body.len, &limits, &doc, &t->why) < 0) {
                if (t->why.code == CAY_OK)
                        cay_fail(&t->why, CAY_INTERNAL, "no memory");
                docker_task_give_up(t);
                return;
        }
        count = docker_found_read(cay_json_in_root(doc), t->broker->options.instance, name, found,
                                  DOCKER_FOUND_MAX);
        newest = docker_found_newest(found, count, name);
        if (!newest) {
                cay_fail(&t->why, CAY_CONFLICT,
                         "template '%s' is not built yet: `cay template build %s` does it", name, name);
                docker_task_give_up(t);
                return;
        }
        cay_str_copy(t->order.built, sizeof(t->order.built), newest->id);
        docker_task_ask(t, DOCKER_STEP_IMAGE);
}

const char *docker_task_image(const struct docker_order *order)
{
        return order->image ? order->image : order->built;
}

/* What there has to be before the container, one after the other. */
enum docker_step docker_task_before_create(const struct docker_task *t)
{
        if (t->volume < t->order.plan.volume_count)
                return DOCKER_STEP_VOLUME;
        if (t->order.plan.network == DOCKER_NETWORK_BRIDGE && t->box->network[0] == '\0')
                return DOCKER_STEP_NETWORK;
        return DOCKER_STEP_CREATE;
}

static void go_on(struct docker_task *t)
{
        docker_task_ask(t, docker_task_before_create(t));
}

static void tell_made(struct docker_task *t)
{
        t->answer.box.skipped = t->order.skipped;
        t->answer.box.kept = t->box->kept;
        t->answer.box.port_count = t->box->port_count;
        memcpy(t->answer.box.ports, t->box->ports, sizeof(t->answer.box.ports));
        docker_task_finish(t);
}

/* Without an init the container is made when its command is known. */
static void open_no_init(struct docker_task *t)
{
        int r = docker_no_init_open_take(t->broker, t->box, &t->order, cay_take_fd(t->fd));

        if (r < 0) {
                cay_fail_sys(&t->why, CAY_INTERNAL, r, "join the box link");
                docker_task_give_up(t);
                return;
        }
        t->box->live = true;
        tell_made(t);
}

static bool has_lang(const struct cay_json_value *env)
{
        for (size_t i = 0; i < cay_json_value_count(env); i++) {
                const char *one = cay_json_value_text(cay_json_value_at(env, i));

                if (one && (cay_str_starts(one, "LANG=") || cay_str_starts(one, "LC_ALL=")))
                        return true;
        }
        return false;
}

void docker_task_on_image(struct docker_task *t)
{
        cay_auto(cay_json_in_freep) struct cay_json_in *doc = NULL;
        const struct cay_json_value *root;
        const char *machine, *id;

        if (t->call.status == 404) {
                cay_fail(&t->why, CAY_NOT_FOUND,
                         "image '%s' is not on this Docker; build or pull it there, because Cay does not",
                         docker_task_image(&t->order));
                docker_task_give_up(t);
                return;
        }
        if (t->call.status != 200) {
                docker_task_fail(t, "look at the image");
                return;
        }
        root = docker_task_parse(t, &doc);
        machine = cay_json_value_text(cay_json_value_find(root, "Architecture"));
        if (!machine || strcmp(machine, t->broker->facts.machine) != 0) {
                cay_fail(&t->why, CAY_UNSUPPORTED, "image '%s' is for %.20s, this Docker runs on %s",
                         docker_task_image(&t->order), machine && machine[0] ? machine : "no machine at all",
                         t->broker->facts.machine);
                docker_task_give_up(t);
                return;
        }
        id = cay_json_value_text(cay_json_value_find(root, "Id"));
        if (!id || !cay_str_copy(t->image_id, sizeof(t->image_id), id))
                t->image_id[0] = '\0';
        t->order.lacks_lang = !has_lang(cay_json_value_find(cay_json_value_find(root, "Config"), "Env"));
        if (t->order.plan.flags & DOCKER_PLAN_NO_INIT)
                open_no_init(t);
        else
                go_on(t);
}

void docker_task_on_volume(struct docker_task *t)
{
        cay_auto(cay_json_in_freep) struct cay_json_in *doc = NULL;

        if (t->call.status != 201 && t->call.status != 200) {
                docker_task_fail(t, "make the volume");
        } else if (!docker_volume_is_owners(&t->order.plan, t->volume, &t->broker->options,
                                            docker_task_parse(t, &doc))) {
                cay_fail(&t->why, CAY_DENIED, "volume '%s': a volume of that name belongs to somebody else",
                         t->order.plan.volumes[t->volume].name);
                docker_task_give_up(t);
        } else {
                t->volume++;
                go_on(t);
        }
}

void docker_task_on_network(struct docker_task *t)
{
        if (t->call.status == 409) {
                cay_fail(&t->why, CAY_EXISTS, "a network of this name exists already");
                docker_task_give_up(t);
        } else if (t->call.status != 201) {
                docker_task_fail(t, "make the network");
        } else if (!take_id(t, t->box->network)) {
                docker_task_give_up(t);
        } else {
                go_on(t);
        }
}

/*
 * Nothing can be put into a read-only root; and of an image that was looked at before it is known that it has
 * the user.
 */
static enum docker_step after_create(struct docker_task *t)
{
        if (t->order.plan.flags & DOCKER_PLAN_READ_ONLY || t->account == DOCKER_ACCOUNT_COUNT ||
            docker_broker_knows_user(t->broker, t->image_id))
                return DOCKER_STEP_ARCHIVE;
        return DOCKER_STEP_ACCOUNT;
}

void docker_task_on_create(struct docker_task *t)
{
        if (t->call.status == 409) {
                cay_fail(&t->why, CAY_EXISTS, "a container of this name exists already");
                docker_task_give_up(t);
        } else if (t->call.status != 201) {
                if (t->order.exec)
                        docker_no_init_explain(t->box->no_init, &t->call, false, &t->why);
                docker_task_fail(t, "create the container");
        } else if (!take_id(t, t->box->container)) {
                docker_task_give_up(t);
        } else {
                t->box->doomed = false; /* of one before it */
                docker_task_ask(t, t->order.exec ? DOCKER_STEP_JOIN : after_create(t));
        }
}

void docker_task_on_account(struct docker_task *t)
{
        struct cay_view text = { "", 0 };
        bool there = t->call.status == 200;
        int r = 0;

        if (there ? docker_account_read(cay_buf_data(&t->call.body), t->call.body.len, &text)
                  : t->call.status == 404) {
                if (!docker_account_has_user(text)) {
                        cay_buf_init(&t->accounts[t->account], DOCKER_ACCOUNT_MAX + 256);
                        r = docker_account_put((enum docker_account)t->account, text,
                                               &t->accounts[t->account]);
                        t->lacks_user = true;
                }
        } else if (!there) {
                docker_task_fail(t, "read the image's users");
                return;
        } /* else a link, or a folder: it is left as it is */
        if (r < 0) {
                cay_fail_sys(&t->why, CAY_INTERNAL, r, "add the sandbox's user");
                docker_task_give_up(t);
                return;
        }
        if (++t->account < DOCKER_ACCOUNT_COUNT) {
                docker_task_ask(t, DOCKER_STEP_ACCOUNT);
                return;
        }
        if (!t->lacks_user)
                docker_broker_note_user(t->broker, t->image_id);
        docker_task_ask(t, DOCKER_STEP_ARCHIVE);
}

/* A kept container that somebody else removed: there is nothing to go on with, and no box any more. */
static void give_up_removed(struct docker_task *t)
{
        cay_fail(&t->why, CAY_CONFLICT,
                 "its container was removed from Docker, and its files with it: destroy the sandbox, or make "
                 "another");
        t->why.sys = ENOENT;
        docker_task_forget_box(t);
        docker_task_finish(t);
}

void docker_task_on_archive(struct docker_task *t)
{
        bool fresh = !(t->order.plan.flags & DOCKER_PLAN_GO_ON);

        if (t->call.status == 404 && !fresh) {
                give_up_removed(t);
        } else if (t->call.status != 200)
                docker_task_fail(t, "put cay-init into the container");
        else if (t->step == DOCKER_STEP_ARCHIVE && fresh && docker_order_has_workspace_volume(&t->order))
                docker_task_ask(t, DOCKER_STEP_WORKSPACE);
        else
                docker_task_ask(t, DOCKER_STEP_START);
}

/* The ports that were asked for are taken. */
static bool lacks_port(const struct docker_task *t)
{
        const char *text = cay_buf_data(&t->call.body);

        return t->order.plan.port_count > 0 && t->order.ports != DOCKER_PORT_ANY &&
               !(t->order.plan.flags & DOCKER_PLAN_GO_ON) &&
               (strstr(text, "address already in use") || strstr(text, "already allocated"));
}

/* Its ports were taken; or it was left by a command of the same box that could not be started. */
void docker_task_on_again(struct docker_task *t)
{
        if (t->call.status != 204 && t->call.status != 404) {
                docker_task_fail(t, "remove the container that is in the way");
                return;
        }
        t->box->container[0] = '\0';
        go_on(t);
}

void docker_task_on_inspect(struct docker_task *t)
{
        cay_auto(cay_json_in_freep) struct cay_json_in *doc = NULL;

        if (t->call.status != 200) {
                docker_task_fail(t, "look at the container's ports");
                return;
        }
        t->box->port_count = docker_ports_read(docker_task_parse(t, &doc), &t->order.plan, t->box->ports);
        docker_task_ask(t, DOCKER_STEP_EXEC);
}

void docker_task_on_start(struct docker_task *t)
{
        if (t->order.exec && docker_no_init_is_cut(t->box->no_init, &t->call)) {
                docker_no_init_cut(t->box->no_init);
                docker_task_finish(t);
                return;
        }
        if (t->call.status == 500 && lacks_port(t)) {
                t->order.ports++;
                docker_task_ask(t, DOCKER_STEP_AGAIN);
                return;
        }
        if (t->call.status != 204 && t->call.status != 304) {
                if (t->order.exec)
                        docker_no_init_explain(t->box->no_init, &t->call, true, &t->why);
                docker_task_fail(t, "start the container");
                return;
        }
        t->box->live = true;
        if (t->order.exec) {
                docker_task_finish(t);
                return;
        }
        docker_task_ask(t, t->order.plan.port_count > 0 ? DOCKER_STEP_INSPECT : DOCKER_STEP_EXEC);
}

/*
 * A new stream may be had later, of a container that is paused; but there is a Docker, so it is not
 * UNAVAILABLE.
 */
static void give_up_ended(struct docker_task *t)
{
        cay_fail(&t->why, t->req.type == DOCKER_box_link ? CAY_CONFLICT : CAY_UNAVAILABLE,
                 "the container does not run%s%s",
                 t->req.type == DOCKER_box_make ? ": its cay-init ended at once" : " now",
                 t->order.bind_ino ? " (it does where the workspace was replaced by another folder "
                                     "while it was mounted)"
                                   : "");
        docker_task_give_up(t);
}

void docker_task_on_exec(struct docker_task *t)
{
        if (t->call.status == 404 && t->req.type == DOCKER_box_link) {
                cay_fail(&t->why, CAY_UNAVAILABLE, "the container was removed");
                if (t->box->live)
                        docker_broker_gone(t->broker, t->box);
                docker_task_give_up(t);
        } else if (t->call.status == 409) {
                give_up_ended(t);
        } else if (t->call.status != 201) {
                docker_task_fail(t, "reach the container's init");
        } else if (!take_id(t, t->exec)) {
                docker_task_give_up(t);
        } else {
                docker_task_ask(t, DOCKER_STEP_ATTACH);
        }
}

/*
 * An answer in place of a stream: it may have ended since the exec was made, which Docker then calls a
 * failure of its own, or does not know of that exec any more.
 */
void docker_task_on_no_stream(struct docker_task *t)
{
        if (t->call.status == 404 || t->call.status == 409 ||
            (t->call.status == 500 && strstr(cay_buf_data(&t->call.body), "is not running")))
                give_up_ended(t);
        else
                docker_task_fail(t, "join the container's init");
}

/*
 * The helper has reached init (cay-init/docker.c); or it has ended without. Docker answers before the process
 * of an exec is started; a pause in between would freeze that start, and with it all that Docker asks of the
 * container: neither a resume nor a removal would come to an end. So the task goes on until here, and
 * whatever is asked about the box waits behind it.
 */
static void on_ready(struct docker_relay_wait *w, bool is_up)
{
        struct docker_task *t = cay_container_of(w, struct docker_task, wait);

        cay_timer_clear(&t->timer);
        if (is_up)
                tell_made(t);
        else
                give_up_ended(t);
}

static void on_ready_late(struct cay_timer *timer)
{
        struct docker_task *t = cay_container_of(timer, struct docker_task, timer);

        docker_relay_forget(&t->wait);
        cay_fail(&t->why, CAY_TIMEOUT, "cay-init did not answer within %u s of its container's start",
                 READY_MS / 1000);
        docker_task_give_up(t);
}

void docker_task_on_stream(struct docker_call *c, struct cay_duplex *duplex, struct cay_buf *rest)
{
        struct docker_task *t = cay_container_of(c, struct docker_task, call);
        int r;

        if (t->step == DOCKER_STEP_JOIN) {
                docker_no_init_join_take(t->box->no_init, duplex, rest);
                docker_task_ask(t, DOCKER_STEP_START);
                return;
        }
        t->wait.on_ready = on_ready;
        cay_timer_set(t->broker->loop, &t->timer, READY_MS, on_ready_late);
        r = docker_relay_open_take(&t->broker->relays, t->broker->loop, cay_take_fd(t->fd), duplex, rest,
                                   &t->wait);
        if (r < 0) {
                cay_timer_clear(&t->timer);
                cay_fail_sys(&t->why, CAY_INTERNAL, r, "join the box link");
                docker_task_give_up(t);
        }
}
