/* SPDX-License-Identifier: Apache-2.0 */
/* How Docker is asked for each step, and who reads what it answers. */
#include <stdio.h>

#include "foundation/base/str.h"
#include "cay-docker/extras.h"
#include "cay-docker/task.h"

enum {
        ARCHIVE_MAX = 16 * 1024 * 1024,
        JSON_MAX = 64 * 1024,
        COMMAND_MAX = 4 * 1024 *
                      1024, /* words of a command, each byte of which may be six in JSON, and the filter */
        STOP_MS = 60000,
};

/* Answers */

const struct cay_json_value *docker_task_parse(struct docker_task *t, struct cay_json_in **ret)
{
        struct cay_error err = { 0 };

        if (cay_json_in_parse(cay_buf_data(&t->call.body), t->call.body.len, NULL, ret, &err) < 0)
                return NULL;
        return cay_json_in_root(*ret);
}

static void on_answer(struct docker_call *c)
{
        struct docker_task *t = cay_container_of(c, struct docker_task, call);

        cay_buf_done(&t->body);
        switch (t->step) {
        case DOCKER_STEP_WAITING:
                return;
        case DOCKER_STEP_FIND:
                docker_task_on_find(t);
                return;
        case DOCKER_STEP_IMAGE:
                docker_task_on_image(t);
                return;
        case DOCKER_STEP_VOLUME:
                docker_task_on_volume(t);
                return;
        case DOCKER_STEP_NETWORK:
                docker_task_on_network(t);
                return;
        case DOCKER_STEP_CREATE:
                docker_task_on_create(t);
                return;
        case DOCKER_STEP_ACCOUNT:
                docker_task_on_account(t);
                return;
        case DOCKER_STEP_ARCHIVE:
        case DOCKER_STEP_WORKSPACE:
                docker_task_on_archive(t);
                return;
        case DOCKER_STEP_START:
                docker_task_on_start(t);
                return;
        case DOCKER_STEP_AGAIN:
                docker_task_on_again(t);
                return;
        case DOCKER_STEP_INSPECT:
                docker_task_on_inspect(t);
                return;
        case DOCKER_STEP_EXEC:
                docker_task_on_exec(t);
                return;
        case DOCKER_STEP_JOIN:
                docker_task_fail(t, "join the container's streams");
                return;
        case DOCKER_STEP_ATTACH:
                docker_task_on_no_stream(t);
                return;
        case DOCKER_STEP_UNPAUSE:
                docker_task_ask(t, DOCKER_STEP_STOP);
                return;
        case DOCKER_STEP_STOP:
                docker_task_on_stop(t);
                return;
        case DOCKER_STEP_REMOVE:
        case DOCKER_STEP_UNDO:
                docker_task_on_remove(t);
                return;
        case DOCKER_STEP_UNNET:
                docker_task_on_unnet(t);
                return;
        case DOCKER_STEP_FREEZE:
                docker_task_on_changed(t, "freeze the container");
                return;
        case DOCKER_STEP_THAW:
                docker_task_on_changed(t, "thaw the container");
                return;
        }
}

/* Questions */

/*
 * Another id than that of commands, so that none of them can stop or end it; it has nothing to do with files.
 */
#define HELPER_USER "65533:65533"

static int put_exec(struct cay_buf *out)
{
        static const char body[] =
                "{\"AttachStdin\":true,\"AttachStdout\":true,\"AttachStderr\":true,\"Tty\":false,"
                "\"Privileged\":false,\"User\":\"" HELPER_USER
                "\",\"WorkingDir\":\"/\",\"Cmd\":[\"/.cay/init\","
                "\"attach\"]}";

        return cay_buf_puts(out, body);
}

static int put_body(struct docker_task *t)
{
        const struct docker_broker *b = t->broker;

        cay_buf_init(&t->body, t->step == DOCKER_STEP_ARCHIVE ? ARCHIVE_MAX
                               : t->order.exec                ? COMMAND_MAX
                                                              : JSON_MAX);
        switch (t->step) {
        case DOCKER_STEP_VOLUME:
                return docker_volume_put_create(&t->order.plan, t->volume, &b->options, &t->body);
        case DOCKER_STEP_NETWORK:
                return docker_network_put_create(&t->order.plan, &b->options, &t->body);
        case DOCKER_STEP_CREATE:
                return docker_order_put_json(&t->order, &b->options, &b->facts, &t->body);
        case DOCKER_STEP_ARCHIVE:
                return docker_order_put_archive(&t->order, &b->facts, cay_buf_data(&b->init), b->init.len,
                                                t->accounts, &b->certificates, &t->body);
        case DOCKER_STEP_WORKSPACE:
                return docker_order_put_workspace(&t->body);
        case DOCKER_STEP_EXEC:
                return put_exec(&t->body);
        case DOCKER_STEP_ATTACH:
                return cay_buf_puts(&t->body, "{\"Detach\":false,\"Tty\":false}");
        default:
                return 0;
        }
}

static void put_path(const struct docker_task *t, char *path, size_t size)
{
        static const char *const forms[] = {
                [DOCKER_STEP_START] = "/containers/%s/start",
                [DOCKER_STEP_AGAIN] = "/containers/%s?force=1&v=1",
                [DOCKER_STEP_INSPECT] = "/containers/%s/json",
                [DOCKER_STEP_EXEC] = "/containers/%s/exec",
                [DOCKER_STEP_JOIN] = "/containers/%s/attach?stream=1&stdin=1&stdout=1&stderr=1",
                [DOCKER_STEP_UNPAUSE] = "/containers/%s/unpause",
                [DOCKER_STEP_STOP] = "/containers/%s/stop?t=0",
                [DOCKER_STEP_REMOVE] = "/containers/%s?force=1&v=1",
                [DOCKER_STEP_UNDO] = "/containers/%s?force=1&v=1",
                [DOCKER_STEP_FREEZE] = "/containers/%s/pause",
                [DOCKER_STEP_THAW] = "/containers/%s/unpause",
        };
        const char *container = t->box->container;

        if (t->step == DOCKER_STEP_FIND) {
                cay_auto_buf struct cay_buf find = { 0 };

                cay_buf_init(&find, size - 1);
                path[0] = '\0';
                if (docker_found_put_path(t->order.plan.template_name, &find) == 0)
                        cay_str_copy(path, size, cay_buf_data(&find));
        } else if (t->step == DOCKER_STEP_IMAGE)
                snprintf(path, size, "/images/%s/json", docker_task_image(&t->order));
        else if (t->step == DOCKER_STEP_CREATE)
                snprintf(path, size, "/containers/create?name=" DOCKER_NAME_PREFIX "%s", t->order.plan.id);
        else if (t->step == DOCKER_STEP_ARCHIVE)
                snprintf(path, size, "/containers/%s/archive?path=%s", container,
                         docker_order_archive_path(&t->order));
        else if (t->step == DOCKER_STEP_WORKSPACE)
                snprintf(path, size, "/containers/%s/archive?path=/workspace", container);
        else if (t->step == DOCKER_STEP_ACCOUNT)
                snprintf(path, size, "/containers/%s/archive?path=%s", container,
                         docker_account_path((enum docker_account)t->account));
        else if (t->step == DOCKER_STEP_ATTACH)
                snprintf(path, size, "/exec/%s/start", t->exec);
        else if (t->step == DOCKER_STEP_VOLUME)
                snprintf(path, size, "/volumes/create");
        else if (t->step == DOCKER_STEP_NETWORK)
                snprintf(path, size, "/networks/create");
        else if (t->step == DOCKER_STEP_UNNET)
                snprintf(path, size, "/networks/%s", t->box->network);
        else {
                const char *form = forms[t->step], *at = strstr(form, "%s");

                snprintf(path, size, "%.*s%s%s", (int)(at - form), form, container, at + 2);
        }
}

static enum cay_http_method method_of(enum docker_step step)
{
        switch (step) {
        case DOCKER_STEP_FIND:
        case DOCKER_STEP_IMAGE:
        case DOCKER_STEP_INSPECT:
        case DOCKER_STEP_ACCOUNT:
                return CAY_HTTP_GET;
        case DOCKER_STEP_ARCHIVE:
        case DOCKER_STEP_WORKSPACE:
                return CAY_HTTP_PUT;
        case DOCKER_STEP_AGAIN:
        case DOCKER_STEP_REMOVE:
        case DOCKER_STEP_UNDO:
        case DOCKER_STEP_UNNET:
                return CAY_HTTP_DELETE;
        default:
                return CAY_HTTP_POST;
        }
}

void docker_task_ask(struct docker_task *t, enum docker_step step)
{
        char path[320];
        struct docker_call_request req = { .path = path };
        int r;

        t->step = step;
        r = put_body(t);
        if (r < 0) {
                cay_fail_sys(&t->why, CAY_INTERNAL, r, "ask Docker");
                docker_task_give_up(t);
                return;
        }
        put_path(t, path, sizeof(path));
        req.method = method_of(step);
        /*
         * Started, stopped, frozen or removed twice is the same as once; a container or an exec made twice is
         * not.
         */
        req.repeatable = step != DOCKER_STEP_NETWORK && step != DOCKER_STEP_CREATE &&
                         step != DOCKER_STEP_EXEC && step != DOCKER_STEP_ATTACH && step != DOCKER_STEP_JOIN;
        req.body = t->body.len > 0 ? cay_buf_data(&t->body) : NULL;
        req.body_len = t->body.len;
        req.type = step == DOCKER_STEP_ARCHIVE || step == DOCKER_STEP_WORKSPACE ? "application/x-tar" : NULL;
        req.upgrade = step == DOCKER_STEP_ATTACH || step == DOCKER_STEP_JOIN;
        req.wait_ms = step == DOCKER_STEP_STOP || step == DOCKER_STEP_REMOVE || step == DOCKER_STEP_UNDO ||
                                      step == DOCKER_STEP_START || step == DOCKER_STEP_CREATE ||
                                      step == DOCKER_STEP_AGAIN
                              ? STOP_MS
                              : 0;
        t->call.on_done = on_answer;
        t->call.on_stream = docker_task_on_stream;
        docker_call_begin(&t->call, &t->broker->api, &req);
}
