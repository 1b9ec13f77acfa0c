/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A box without init between a front that was taken over and a Docker that lies: whatever either says, in
 * pieces and in any order, ends the stream or the box, and never takes more than was given. A record is a
 * byte that says who speaks, a byte of length, and that many bytes.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz/must.h"
#include "cay-docker/no_init.h"
#include "cay-docker/task.h"

enum { FRONT, DOCKER, DOCKER_END, STARTED, NOT_STARTED, NEW_STREAM, WHO_COUNT };

static struct docker_broker b;
static struct docker_box *box;
static int front;

static struct {
        struct cay_duplex duplex;
        size_t owed;
        bool open;
} docker;

static size_t docker_write(struct cay_duplex *d, const void *bytes, size_t len)
{
        must(docker.open);
        return len < 100 ? len : 100;
}

static void docker_shut(struct cay_duplex *d)
{
        must(docker.open);
}

static void docker_consumed(struct cay_duplex *d, size_t len)
{
        must(docker.open && len <= docker.owed);
        docker.owed -= len;
}

static void docker_close(struct cay_duplex *d)
{
        must(docker.open);
        docker.open = false;
}

static void open_stream(bool first)
{
        struct docker_order order = { .plan.flags = DOCKER_PLAN_NO_INIT };
        int ends[2];

        if (front >= 0)
                close(front);
        must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
        front = ends[0];
        if (first)
                must(docker_no_init_open_take(&b, box, &order, ends[1]) == 0);
        else
                must(docker_no_init_link_take(box->no_init, ends[1]) == 0);
}

static void turn(void)
{
        char bytes[4096];

        for (unsigned i = 0; i < 4; i++) {
                cay_loop_round(b.loop, 0);
                while (read(front, bytes, sizeof(bytes)) > 0)
                        ;
        }
}

static void start(bool fine)
{
        static const struct cay_duplex_ops ops = {
                .write = docker_write, .shut = docker_shut, .consumed = docker_consumed, .close = docker_close
        };
        const struct cay_error bad = { .code = CAY_UNAVAILABLE, .msg = "no" }, good = { 0 };
        struct cay_buf none = { 0 };

        if (box->no_init->state != DOCKER_NO_INIT_STARTING)
                return;
        docker.duplex.ops = &ops;
        docker.open = true;
        docker.owed = 0;
        docker_no_init_join_take(box->no_init, &docker.duplex, &none);
        docker_no_init_started(box->no_init, fine ? &good : &bad);
}

static void speak(unsigned who, const uint8_t *bytes, size_t len)
{
        struct cay_duplex_user *u = docker.duplex.user;

        switch (who) {
        case FRONT:
                must(send(front, bytes, len, MSG_NOSIGNAL) <= (ssize_t)len);
                break;
        case DOCKER:
                if (!docker.open || len == 0)
                        break;
                docker.owed += len;
                u->ops->on_data(u, bytes, len);
                break;
        case DOCKER_END:
                if (docker.open)
                        u->ops->on_eof(u);
                break;
        case STARTED:
        case NOT_STARTED:
                start(who == STARTED);
                break;
        default:
                open_stream(false);
                break;
        }
        turn();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
        struct docker_no_init *o;

        memset(&b, 0, sizeof(b));
        b.options.host.kind = DOCKER_HOST_UNIX; /* at no path: nobody answers */
        b.options.host_text = b.options.instance = "none";
        b.loop = cay_loop_new();
        b.api = (struct docker_api){ .loop = b.loop, .options = &b.options };
        box = docker_box_add(&b, "one");
        must(b.loop && box);
        memcpy(box->container, "cccc", 5);
        front = -1;
        docker.open = false;
        open_stream(true);
        o = box->no_init;
        while (size >= 2) {
                size_t len = bytes[1] < size - 2 ? bytes[1] : size - 2;

                speak(bytes[0] % WHO_COUNT, bytes + 2, len);
                bytes += 2 + len;
                size -= 2 + len;
                must(o->held.len <= DOCKER_NO_INIT_HELD_MAX && o->waiting.len <= CAY_BOX_WINDOW_MAX);
                must(b.no_init_bytes == o->reserved && b.no_init_bytes <= DOCKER_NO_INIT_ALL_MAX);
        }
        docker_tasks_abort(&b);
        docker_box_remove(&b, box);
        must(!docker.open && b.no_init_bytes == 0);
        cay_loop_round(b.loop, 0);
        cay_loop_free(b.loop);
        close(front);
        return 0;
}
