/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request of the front, carried out.
 *
 * Theory of operation. `step` is what is waited for; each has a row that says how Docker is asked and a case that says what its
 * answer means. What fails after a container was created is undone first, then told. Tasks of one box run in the order in
 * which they came; each task ends exactly once, in finish().
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json_out.h"
#include "base/log.h"
#include "base/str.h"
#include "docker/broker.h"
#include "docker/extras.h"
#include "json/json_in.h"

enum step {
        WAITING,
        FIND,
        IMAGE,
        VOLUME,
        NETWORK,
        CREATE,
        ARCHIVE,
        START,
        AGAIN, /* the container goes, to be created with other ports */
        INSPECT,
        EXEC,
        ATTACH,
        STATS,
        UNPAUSE,
        STOP,
        REMOVE,
        FREEZE,
        THAW,
        UNDO,
        UNNET
};

enum {
        ARCHIVE_MAX = 16 * 1024 * 1024,
        JSON_MAX = 64 * 1024,
        REMOVE_TRIES = 40, /* while Docker says that it is being removed already */
        REMOVE_PAUSE_MS = 100,
        STOP_MS = 60000,
};

struct docker_task {
        struct docker_task *next;
        struct docker_broker *broker;
        unsigned front_serial;
        struct docker_request req;
        struct docker_order order;
        struct docker_box *box; /* borrowed from the broker; NULL: none (any more) */
        int fd;                 /* owned: the link's end; -1: none */
        enum step step;
        struct docker_call call;
        struct cay_timer timer;
        struct cay_buf body; /* of the call */
        char exec[DOCKER_CONTAINER];
        unsigned tries;
        unsigned volume;      /* of the plan: the one that is seen to */
        struct cay_error why; /* the first failure, kept while undoing */
        struct docker_answer answer;
        struct cay_deferred release;
};

static void ask(struct docker_task *t, enum step step);

static const char *id_of(const struct docker_task *t)
{
        return t->req.type == DOCKER_box_make ? t->req.plan.id : t->req.box.id;
}

bool docker_task_is_busy(const struct docker_broker *b, const char *id)
{
        for (const struct docker_task *t = b->tasks; t; t = t->next)
                if (strcmp(id_of(t), id) == 0)
                        return true;
        return false;
}

/* Ends */

static void release(struct cay_deferred *d)
{
        free(cay_container_of(d, struct docker_task, release));
}

static void let_go(struct docker_task *t)
{
        struct docker_broker *b = t->broker;

        for (struct docker_task **at = &b->tasks; *at; at = &(*at)->next) {
                if (*at == t) {
                        *at = t->next;
                        break;
                }
        }
        docker_call_abort(&t->call);
        cay_timer_clear(&t->timer);
        cay_buf_done(&t->body);
        if (t->fd >= 0)
                close(cay_take_fd(t->fd));
        explicit_bzero(&t->req, sizeof(t->req));
        explicit_bzero(&t->order, sizeof(t->order));
        t->release.run = release;
        cay_loop_defer(b->loop, &t->release);
}

static void run(struct docker_task *t);

/* The next one of this box. */
static void wake(struct docker_broker *b, const char *id)
{
        for (struct docker_task *t = b->tasks; t; t = t->next) {
                if (strcmp(id_of(t), id) == 0) {
                        run(t);
                        return;
                }
        }
}

static void finish(struct docker_task *t)
{
        struct docker_broker *b = t->broker;
        char id[CAY_NAME_MAX + 1];

        cay_str_copy(id, sizeof(id), id_of(t));
        if (t->box)
                t->box->making = t->box->ending = false;
        t->answer.type = t->req.type;
        t->answer.seq = t->req.seq;
        t->answer.code = t->why.code;
        t->answer.sys = t->why.sys;
        cay_str_copy(t->answer.box.id, sizeof(t->answer.box.id), id);
        cay_str_copy(t->answer.text, sizeof(t->answer.text), t->why.msg);
        if (t->req.seq != 0 && t->front_serial == b->front_serial)
                docker_broker_answer(b, &t->answer);
        let_go(t);
        wake(b, id);
        docker_broker_idle(b);
}

static void forget_box(struct docker_task *t)
{
        if (t->box)
                docker_box_remove(t->broker, cay_take(t->box));
}

/* A half-made container goes; a kept one that did not start again stays as it was. */
static void give_up(struct docker_task *t)
{
        bool is_new = t->req.type == DOCKER_box_make && t->box && !(t->order.plan.flags & DOCKER_PLAN_GO_ON);

        if (t->req.type == DOCKER_box_make && t->box && !is_new && t->box->live) {
                ask(t, STOP);
                return;
        }
        if (is_new && (t->box->container[0] != '\0' || t->box->network[0] != '\0')) {
                t->tries = 0;
                ask(t, t->box->container[0] != '\0' ? UNDO : UNNET);
                return;
        }
        if (is_new)
                forget_box(t);
        finish(t);
}

static void fail(struct docker_task *t, const char *what)
{
        if (t->why.code == CAY_OK)
                docker_call_fail(&t->call, what, &t->why);
        give_up(t);
}

/* Answers */

static const struct cay_json_value *parse(struct docker_task *t, struct cay_json_in **ret)
{
        struct cay_error err = { 0 };

        if (cay_json_in_parse(cay_buf_data(&t->call.body), t->call.body.len, NULL, ret, &err) < 0)
                return NULL;
        return cay_json_in_root(*ret);
}

/* An id of Docker's goes into paths: it has to look like one. */
static bool take_id(struct docker_task *t, char ret[DOCKER_CONTAINER])
{
        cay_auto(cay_json_in_freep) struct cay_json_in *doc = NULL;
        const char *id = cay_json_value_text(cay_json_value_find(parse(t, &doc), "Id"));

        if (id && strlen(id) > 0 && strspn(id, "0123456789abcdef") == strlen(id) &&
            cay_str_copy(ret, DOCKER_CONTAINER, id))
                return true;
        cay_fail(&t->why, CAY_INTERNAL, "Docker's answer has no id");
        return false;
}

static void on_find(struct docker_task *t)
{
        const struct cay_json_in_limits limits = { .bytes = DOCKER_BODY_MAX, .values = 2000000 };
        cay_auto(cay_json_in_freep) struct cay_json_in *doc = NULL;
        cay_auto_free struct docker_found *found = calloc(DOCKER_FOUND_MAX, sizeof(*found));
        const char *name = t->order.plan.template_name;
        const struct docker_found *newest;
        unsigned count;

        if (t->call.status != 200) {
                fail(t, "look for the template's image");
                return;
        }
        if (!found ||
            cay_json_in_parse(cay_buf_data(&t->call.body), t->call.body.len, &limits, &doc, &t->why) < 0) {
                if (t->why.code == CAY_OK)
                        cay_fail(&t->why, CAY_INTERNAL, "no memory");
                give_up(t);
                return;
        }
        count = docker_found_read(cay_json_in_root(doc), t->broker->options.instance, name, found,
                                  DOCKER_FOUND_MAX);
        newest = docker_found_newest(found, count, name);
        if (!newest) {
                cay_fail(&t->why, CAY_CONFLICT,
                         "template '%s' is not built yet: `cay template build %s` does it", name, name);
                give_up(t);
                return;
        }
        cay_str_copy(t->order.built, sizeof(t->order.built), newest->id);
        ask(t, IMAGE);
}

static const char *image_of(const struct docker_order *order)
{
        return order->image ? order->image : order->built;
}

/* What there has to be before the container, one after the other. */
static void go_on(struct docker_task *t)
{
        if (t->volume < t->order.plan.volume_count)
                ask(t, VOLUME);
        else if (t->order.plan.network == DOCKER_NETWORK_BRIDGE && t->box->network[0] == '\0')
                ask(t, NETWORK);
        else
                ask(t, CREATE);
}

static void on_image(struct docker_task *t)
{
        cay_auto(cay_json_in_freep) struct cay_json_in *doc = NULL;
        const char *machine;

        if (t->call.status == 404) {
                cay_fail(&t->why, CAY_NOT_FOUND,
                         "image '%s' is not on this Docker: build or pull it there, Cay does not",
                         image_of(&t->order));
                give_up(t);
                return;
        }
        if (t->call.status != 200) {
                fail(t, "look at the image");
                return;
        }
        machine = cay_json_value_text(cay_json_value_find(parse(t, &doc), "Architecture"));
        if (!machine || strcmp(machine, t->broker->facts.machine) != 0) {
                cay_fail(&t->why, CAY_UNSUPPORTED, "image '%s' is for %.20s, this Docker runs on %s",
                         image_of(&t->order), machine && machine[0] ? machine : "no machine at all",
                         t->broker->facts.machine);
                give_up(t);
                return;
        }
        go_on(t);
}

static void on_volume(struct docker_task *t)
{
        cay_auto(cay_json_in_freep) struct cay_json_in *doc = NULL;

        if (t->call.status != 201 && t->call.status != 200) {
                fail(t, "make the volume");
        } else if (!docker_volume_is_owners(&t->order.plan, t->volume, &t->broker->options, parse(t, &doc))) {
                cay_fail(&t->why, CAY_DENIED, "volume '%s': there is one of that name that is not yours",
                         t->order.plan.volumes[t->volume].name);
                give_up(t);
        } else {
                t->volume++;
                go_on(t);
        }
}

static void on_network(struct docker_task *t)
{
        if (t->call.status == 409) {
                cay_fail(&t->why, CAY_EXISTS, "a network of this name exists already");
                give_up(t);
        } else if (t->call.status != 201) {
                fail(t, "make the network");
        } else if (!take_id(t, t->box->network)) {
                give_up(t);
        } else {
                go_on(t);
        }
}

static void on_create(struct docker_task *t)
{
        if (t->call.status == 409) {
                cay_fail(&t->why, CAY_EXISTS, "a container of this name exists already");
                give_up(t);
        } else if (t->call.status != 201) {
                fail(t, "create the container");
        } else if (!take_id(t, t->box->container)) {
                give_up(t);
        } else {
                ask(t, ARCHIVE);
        }
}

/* Docker has found no free port at the one that was wished for, nor behind it. */
static bool lacks_port(const struct docker_task *t)
{
        const char *text = cay_buf_data(&t->call.body);

        return t->order.plan.port_count > 0 && !t->order.any_port &&
               !(t->order.plan.flags & DOCKER_PLAN_GO_ON) &&
               (strstr(text, "address already in use") || strstr(text, "already allocated"));
}

static void on_again(struct docker_task *t)
{
        if (t->call.status != 204 && t->call.status != 404) {
                fail(t, "remove the container whose ports were taken");
                return;
        }
        t->box->container[0] = '\0';
        t->order.any_port = true;
        ask(t, CREATE);
}

static void on_inspect(struct docker_task *t)
{
        cay_auto(cay_json_in_freep) struct cay_json_in *doc = NULL;

        if (t->call.status != 200) {
                fail(t, "look at the container's ports");
                return;
        }
        t->box->port_count = docker_ports_read(parse(t, &doc), &t->order.plan, t->box->ports);
        ask(t, EXEC);
}

static void on_start(struct docker_task *t)
{
        if (t->call.status == 500 && lacks_port(t)) {
                ask(t, AGAIN);
                return;
        }
        if (t->call.status != 204 && t->call.status != 304) {
                fail(t, "start the container");
                return;
        }
        t->box->live = true;
        ask(t, t->order.plan.port_count > 0 ? INSPECT : EXEC);
}

static void on_exec(struct docker_task *t)
{
        if (t->call.status == 404 && t->req.type == DOCKER_box_link) {
                cay_fail(&t->why, CAY_UNAVAILABLE, "the container was removed");
                if (t->box->live)
                        docker_broker_gone(t->broker, t->box);
                give_up(t);
        } else if (t->call.status == 409) {
                cay_fail(&t->why, CAY_UNAVAILABLE, "the container does not run%s%s",
                         t->req.type == DOCKER_box_make ? ": its cay-init ended at once" : " now",
                         t->order.bind_ino ? " (it does where the workspace was replaced by another folder "
                                             "while it was mounted)"
                                           : "");
                give_up(t);
        } else if (t->call.status != 201) {
                fail(t, "reach the container's init");
        } else if (!take_id(t, t->exec)) {
                give_up(t);
        } else {
                ask(t, ATTACH);
        }
}

static void on_stream(struct docker_call *c, struct cay_duplex *duplex, struct cay_buf *rest)
{
        struct docker_task *t = cay_container_of(c, struct docker_task, call);
        int r = docker_relay_open_take(&t->broker->relays, t->broker->loop, cay_take_fd(t->fd), duplex, rest);

        if (r < 0) {
                cay_fail_sys(&t->why, CAY_INTERNAL, r, "join the box link");
                give_up(t);
                return;
        }
        t->answer.box.skipped = t->order.skipped;
        t->answer.box.kept = t->box->kept;
        t->answer.box.port_count = t->box->port_count;
        memcpy(t->answer.box.ports, t->box->ports, sizeof(t->answer.box.ports));
        finish(t);
}

static uint64_t number(const struct cay_json_value *object, const char *name)
{
        int64_t value = 0;

        return cay_json_value_i64(cay_json_value_find(object, name), &value) && value > 0 ? (uint64_t)value
                                                                                          : 0;
}

static void read_stats(struct docker_task *t)
{
        cay_auto(cay_json_in_freep) struct cay_json_in *doc = NULL;
        const struct cay_json_value *root = parse(t, &doc),
                                    *memory = cay_json_value_find(root, "memory_stats");
        struct docker_stats *s = &t->answer.box.stats;

        if (!root)
                return;
        *s = (struct docker_stats){
                .memory_bytes = number(memory, "usage"),
                .memory_peak_bytes = number(memory, "max_usage"),
                .oom_kills = t->box->oom_kills,
                .pids = number(cay_json_value_find(root, "pids_stats"), "current"),
                .cpu_us = number(cay_json_value_find(cay_json_value_find(root, "cpu_stats"), "cpu_usage"),
                                 "total_usage") /
                          1000,
        };
}

static void on_stats(struct docker_task *t)
{
        if (t->call.status != 200) {
                fail(t, "measure the container");
                return;
        }
        read_stats(t);
        finish(t);
}

static void on_stop(struct docker_task *t)
{
        if (t->call.status == 404)
                forget_box(t);
        else if (t->call.status == 409 && t->tries++ == 0) {
                ask(t, UNPAUSE); /* a frozen one cannot end */
                return;
        } else if (t->call.status != 204 && t->call.status != 304 && t->why.code == CAY_OK)
                docker_call_fail(&t->call, "stop the container", &t->why);
        if (t->box)
                t->box->live = false;
        finish(t);
}

static void on_remove_time(struct cay_timer *timer)
{
        struct docker_task *t = cay_container_of(timer, struct docker_task, timer);

        ask(t, t->step);
}

/* Also for UNDO. */
static void on_remove(struct docker_task *t)
{
        struct cay_error err = { 0 };

        if (t->call.status == 409 && t->tries++ < REMOVE_TRIES &&
            cay_timer_set(t->broker->loop, &t->timer, REMOVE_PAUSE_MS, on_remove_time) == 0)
                return;
        if (t->call.status == 204 || t->call.status == 404) {
                t->box->container[0] = '\0';
                t->box->live = false;
                if (t->box->network[0] != '\0') {
                        t->tries = 0;
                        ask(t, UNNET);
                        return;
                }
                forget_box(t);
        } else {
                docker_call_fail(&t->call, "remove the container", &err);
                cay_log_error("a container is left", "id=%s error=%s", id_of(t), err.msg);
                if (t->why.code == CAY_OK)
                        t->why = err;
                t->box->making = false;
        }
        finish(t);
}

/* Docker may not know yet that the last container of it has gone. */
static void on_unnet(struct docker_task *t)
{
        struct cay_error err = { 0 };

        if (t->call.status != 204 && t->call.status != 404 && t->call.status != 0 &&
            t->tries++ < REMOVE_TRIES &&
            cay_timer_set(t->broker->loop, &t->timer, REMOVE_PAUSE_MS, on_remove_time) == 0)
                return;
        if (t->call.status != 204 && t->call.status != 404) {
                docker_call_fail(&t->call, "remove the network", &err);
                cay_log_error("a network is left: it is tried again later", "id=%s error=%s", id_of(t),
                              err.msg);
        }
        forget_box(t);
        finish(t);
}

/* 304, a conflict, and of older daemons a failure with these words say that it is so already. */
static bool is_so_already(const struct docker_call *c)
{
        const char *text = cay_buf_data(&c->body);

        return c->status == 304 || c->status == 409 ||
               (c->status == 500 && (strstr(text, "is not paused") || strstr(text, "is already paused")));
}

static void on_changed(struct docker_task *t, const char *what)
{
        if (t->call.status == 404)
                cay_fail(&t->why, CAY_NOT_FOUND, "no box '%s'", id_of(t));
        else if (t->call.status != 204 && !is_so_already(&t->call))
                docker_call_fail(&t->call, what, &t->why);
        else if (t->call.status != 204 && !t->box->live)
                cay_fail(&t->why, CAY_UNAVAILABLE, "box '%s' has ended", id_of(t));
        finish(t);
}

static void on_answer(struct docker_call *c)
{
        struct docker_task *t = cay_container_of(c, struct docker_task, call);

        cay_buf_done(&t->body);
        switch (t->step) {
        case WAITING:
                return;
        case FIND:
                on_find(t);
                return;
        case IMAGE:
                on_image(t);
                return;
        case VOLUME:
                on_volume(t);
                return;
        case NETWORK:
                on_network(t);
                return;
        case CREATE:
                on_create(t);
                return;
        case ARCHIVE:
                if (c->status == 200)
                        ask(t, START);
                else
                        fail(t, "put cay-init into the container");
                return;
        case START:
                on_start(t);
                return;
        case AGAIN:
                on_again(t);
                return;
        case INSPECT:
                on_inspect(t);
                return;
        case EXEC:
                on_exec(t);
                return;
        case ATTACH: /* an answer in place of a stream */
                fail(t, "join the container's init");
                return;
        case STATS:
                on_stats(t);
                return;
        case UNPAUSE:
                ask(t, STOP);
                return;
        case STOP:
                on_stop(t);
                return;
        case REMOVE:
        case UNDO:
                on_remove(t);
                return;
        case UNNET:
                on_unnet(t);
                return;
        case FREEZE:
                on_changed(t, "freeze the container");
                return;
        case THAW:
                on_changed(t, "thaw the container");
                return;
        }
}

/* Questions */

static int put_exec(struct cay_buf *out)
{
        static const char body[] =
                "{\"AttachStdin\":true,\"AttachStdout\":true,\"AttachStderr\":true,\"Tty\":false,"
                "\"Privileged\":false,\"User\":\"1001:1001\",\"WorkingDir\":\"/\",\"Cmd\":[\"/.cay/init\","
                "\"attach\"]}";

        return cay_buf_puts(out, body);
}

static int put_body(struct docker_task *t)
{
        const struct docker_broker *b = t->broker;

        cay_buf_init(&t->body, t->step == ARCHIVE ? ARCHIVE_MAX : JSON_MAX);
        switch (t->step) {
        case VOLUME:
                return docker_volume_put_create(&t->order.plan, t->volume, &b->options, &t->body);
        case NETWORK:
                return docker_network_put_create(&t->order.plan, &b->options, &t->body);
        case CREATE:
                return docker_order_put_json(&t->order, &b->options, &b->facts, &t->body);
        case ARCHIVE:
                return docker_order_put_archive(&t->order, &b->facts, cay_buf_data(&b->init), b->init.len,
                                                &t->body);
        case EXEC:
                return put_exec(&t->body);
        case ATTACH:
                return cay_buf_puts(&t->body, "{\"Detach\":false,\"Tty\":false}");
        default:
                return 0;
        }
}

static void put_path(const struct docker_task *t, char *path, size_t size)
{
        static const char *const forms[] = {
                [START] = "/containers/%s/start",
                [AGAIN] = "/containers/%s?force=1&v=1",
                [INSPECT] = "/containers/%s/json",
                [EXEC] = "/containers/%s/exec",
                [STATS] = "/containers/%s/stats?stream=false&one-shot=true",
                [UNPAUSE] = "/containers/%s/unpause",
                [STOP] = "/containers/%s/stop?t=0",
                [REMOVE] = "/containers/%s?force=1&v=1",
                [UNDO] = "/containers/%s?force=1&v=1",
                [FREEZE] = "/containers/%s/pause",
                [THAW] = "/containers/%s/unpause",
        };
        const char *container = t->box->container;

        if (t->step == FIND) {
                cay_auto_buf struct cay_buf find = { 0 };

                cay_buf_init(&find, size - 1);
                path[0] = '\0';
                if (docker_found_put_path(t->order.plan.template_name, &find) == 0)
                        cay_str_copy(path, size, cay_buf_data(&find));
        } else if (t->step == IMAGE)
                snprintf(path, size, "/images/%s/json", image_of(&t->order));
        else if (t->step == CREATE)
                snprintf(path, size, "/containers/create?name=" DOCKER_NAME_PREFIX "%s", t->order.plan.id);
        else if (t->step == ARCHIVE)
                snprintf(path, size, "/containers/%s/archive?path=%s", container,
                         docker_order_archive_path(&t->order));
        else if (t->step == ATTACH)
                snprintf(path, size, "/exec/%s/start", t->exec);
        else if (t->step == VOLUME)
                snprintf(path, size, "/volumes/create");
        else if (t->step == NETWORK)
                snprintf(path, size, "/networks/create");
        else if (t->step == UNNET)
                snprintf(path, size, "/networks/%s", t->box->network);
        else {
                const char *form = forms[t->step], *at = strstr(form, "%s");

                snprintf(path, size, "%.*s%s%s", (int)(at - form), form, container, at + 2);
        }
}

static enum cay_http_method method_of(enum step step)
{
        switch (step) {
        case FIND:
        case IMAGE:
        case INSPECT:
        case STATS:
                return CAY_HTTP_GET;
        case ARCHIVE:
                return CAY_HTTP_PUT;
        case AGAIN:
        case REMOVE:
        case UNDO:
        case UNNET:
                return CAY_HTTP_DELETE;
        default:
                return CAY_HTTP_POST;
        }
}

static void ask(struct docker_task *t, enum step step)
{
        char path[320];
        struct docker_call_request req = { .path = path };
        int r;

        t->step = step;
        r = put_body(t);
        if (r < 0) {
                cay_fail_sys(&t->why, CAY_INTERNAL, r, "ask Docker");
                give_up(t);
                return;
        }
        put_path(t, path, sizeof(path));
        req.method = method_of(step);
        /* Started, stopped, frozen or removed twice is the same as once; a container or an exec made twice is not. */
        req.repeatable = step != NETWORK && step != CREATE && step != EXEC && step != ATTACH;
        req.body = t->body.len > 0 ? cay_buf_data(&t->body) : NULL;
        req.body_len = t->body.len;
        req.type = step == ARCHIVE ? "application/x-tar" : NULL;
        req.upgrade = step == ATTACH;
        req.wait_ms = step == STOP || step == REMOVE || step == UNDO || step == START || step == CREATE ||
                                      step == AGAIN
                              ? STOP_MS
                              : 0;
        t->call.on_done = on_answer;
        t->call.on_stream = on_stream;
        docker_call_begin(&t->call, &t->broker->api, &req);
}

/* Requests */

static int begin_make(struct docker_task *t, enum step *ret)
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
                cay_fail(&t->why, CAY_CONFLICT, "box '%s' has left nothing to go on with", t->order.plan.id);
                t->why.sys = -ENOENT;
                return -1;
        }
        if (!t->box)
                t->box = docker_box_add(b, t->order.plan.id);
        if (!t->box)
                return cay_fail(&t->why, CAY_LIMIT, "there are %u boxes already", b->box_count);
        t->box->making = true;
        t->box->kept = t->order.plan.flags & DOCKER_PLAN_KEEP;
        *ret = goes_on ? ARCHIVE : t->order.plan.flags & DOCKER_PLAN_BUILT ? FIND : IMAGE;
        return 0;
}

static int begin_other(struct docker_task *t, enum step *ret)
{
        bool ends = t->req.type == DOCKER_box_drop || t->req.type == DOCKER_box_stop;

        if (strnlen(t->req.box.id, sizeof(t->req.box.id)) == sizeof(t->req.box.id))
                t->req.box.id[0] = '\0';
        t->box = docker_box_find(t->broker, t->req.box.id);
        if (!t->box)
                return ends ? -1 : cay_fail(&t->why, CAY_NOT_FOUND, "no box '%.63s'", t->req.box.id);
        switch (t->req.type) {
        case DOCKER_box_link:
                *ret = EXEC;
                if (!t->box->live)
                        return cay_fail(&t->why, CAY_UNAVAILABLE, "box '%s' has ended", t->box->id);
                break;
        case DOCKER_box_freeze:
                *ret = FREEZE;
                break;
        case DOCKER_box_thaw:
                *ret = THAW;
                break;
        case DOCKER_box_stop:
        case DOCKER_box_drop:
                /* Docker's figures come once a second, so nobody waits for a last look: init has told each command's. */
                t->box->ending = true;
                t->answer.box.stats.oom_kills = t->box->oom_kills;
                *ret = t->box->container[0] == '\0'                     ? UNNET
                       : t->req.type == DOCKER_box_stop && t->box->kept ? STOP
                                                                        : REMOVE;
                break;
        default:
                *ret = STATS;
                break;
        }
        return 0;
}

static void run(struct docker_task *t)
{
        enum step first = WAITING;
        int r;

        if (!t->broker->has_facts && t->req.seq != 0)
                r = cay_fail(&t->why, CAY_UNAVAILABLE, "Docker has not answered yet: %s",
                             t->broker->sync.why.msg);
        else
                r = t->req.type == DOCKER_box_make ? begin_make(t, &first) : begin_other(t, &first);
        if (r == 0)
                ask(t, first);
        else
                finish(t);
}

static void on_run_time(struct cay_timer *timer)
{
        run(cay_container_of(timer, struct docker_task, timer));
}

void docker_task_begin_take(struct docker_broker *b, const struct docker_request *req, int fd)
{
        struct docker_task *t = calloc(1, sizeof(*t)), **at = &b->tasks;
        struct docker_answer full = { .type = req->type, .seq = req->seq, .code = CAY_LIMIT };
        bool waits;

        if (!t) {
                if (fd >= 0)
                        close(fd);
                docker_broker_answer(b, &full);
                return;
        }
        t->broker = b;
        t->front_serial = b->front_serial;
        t->req = *req;
        if (req->type == DOCKER_box_make)
                t->req.plan.id[CAY_NAME_MAX] = '\0'; /* it is compared before it is checked */
        else
                t->req.box.id[CAY_NAME_MAX] = '\0';
        t->fd = fd;
        waits = docker_task_is_busy(b, id_of(t));
        while (*at)
                at = &(*at)->next;
        *at = t;
        if (!waits)
                cay_timer_set(b->loop, &t->timer, 0, on_run_time);
}

void docker_task_begin_drop(struct docker_broker *b, const struct docker_box *box)
{
        struct docker_request req = { .type = DOCKER_box_drop };

        cay_str_copy(req.box.id, sizeof(req.box.id), box->id);
        docker_task_begin_take(b, &req, -1);
}

void docker_tasks_abort(struct docker_broker *b)
{
        while (b->tasks)
                let_go(b->tasks);
}
