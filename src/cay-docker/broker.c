/* SPDX-License-Identifier: Apache-2.0 */
/* What cay-docker hears and says: a front's requests on their way to tasks, and answers. */
#include "cay-docker/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "foundation/base/log.h"
#include "foundation/base/str.h"
#include "cay-docker/confine.h"
#include "cay-docker/measure.h"
#include "cay-docker/volumes.h"
#include "cay-docker/no_init.h"
#include "foundation/json/json_in.h"
#include "foundation/sys/fd.h"

#define INIT_MAX (8u * 1024 * 1024)
#define HOST_CERTIFICATES "/etc/ssl/certs/ca-certificates.crt"
#define CLOSE_MS 20000 /* for what is left when the front goes and nobody keeps us */

bool docker_broker_knows_user(const struct docker_broker *b, const char *image_id)
{
        for (unsigned i = 0; image_id[0] && i < DOCKER_WITH_USER_MAX; i++)
                if (strcmp(b->with_user[i], image_id) == 0)
                        return true;
        return false;
}

void docker_broker_note_user(struct docker_broker *b, const char *image_id)
{
        char *slot = b->with_user[b->with_user_next++ % DOCKER_WITH_USER_MAX];

        if (!cay_str_copy(slot, DOCKER_IMAGE_ID, image_id))
                slot[0] = '\0';
}

struct docker_box *docker_box_find(struct docker_broker *b, const char *id)
{
        for (struct docker_box *box = b->boxes; box; box = box->next)
                if (strcmp(box->id, id) == 0)
                        return box;
        return NULL;
}

struct docker_box *docker_box_add(struct docker_broker *b, const char *id)
{
        struct docker_box *box = b->box_count < DOCKER_BOXES_MAX ? calloc(1, sizeof(*box)) : NULL;

        if (!box)
                return NULL;
        cay_str_copy(box->id, sizeof(box->id), id);
        box->next = b->boxes;
        b->boxes = box;
        b->box_count++;
        return box;
}

void docker_box_remove(struct docker_broker *b, struct docker_box *box)
{
        for (struct docker_box **at = &b->boxes; *at; at = &(*at)->next) {
                if (*at != box)
                        continue;
                *at = box->next;
                b->box_count--;
                b->sync.removed = true;
                docker_measure_let_go(b, box, "went");
                docker_no_init_free(box->no_init);
                free(box);
                return;
        }
}

/* Saying */

void docker_broker_answer(struct docker_broker *b, struct docker_answer *a)
{
        helper_server_say(&b->server, a);
}

void docker_broker_gone(struct docker_broker *b, struct docker_box *box)
{
        struct docker_answer a = { .type = DOCKER_box_gone };

        box->live = false;
        cay_str_copy(a.box.id, sizeof(a.box.id), box->id);
        if (b->server.state == HELPER_READY)
                docker_broker_answer(b, &a);
}

void docker_broker_files_lost(struct docker_broker *b, struct docker_box *box)
{
        struct docker_answer a = { .type = DOCKER_files_lost };

        cay_str_copy(a.box.id, sizeof(a.box.id), box->id);
        if (b->server.state == HELPER_READY)
                docker_broker_answer(b, &a);
}

void docker_broker_told_daemon(struct docker_broker *b)
{
        struct docker_answer a = { .type = DOCKER_daemon,
                                   .daemon = { .away = b->sync.away, .can_hold = b->facts.can_hold } };

        cay_str_copy(a.text, sizeof(a.text), b->sync.away ? b->sync.why.msg : "");
        if (b->sync.away)
                cay_log_warn("Docker is away", "error=%s", b->sync.why.msg);
        else
                cay_log_info("Docker is there", "host=%s api=1.%u", b->options.host_text, b->api.minor);
        if (b->server.state == HELPER_READY)
                docker_broker_answer(b, &a);
}

/* A kept one is let in also while Docker is away: it comes back by itself. */
static void answer_hello(struct docker_broker *b)
{
        struct docker_answer a = {
                .type = DOCKER_hello,
                .seq = b->hello_seq,
                .hello = { .version = DOCKER_WIRE_VERSION, .can_hold = b->facts.can_hold },
        };

        if (b->hello_seq == 0)
                return;
        b->hello_seq = 0;
        if (b->sync.away && !b->options.keep) {
                a.code = CAY_UNAVAILABLE;
                cay_str_copy(a.text, sizeof(a.text), b->sync.why.msg);
        }
        b->server.state = HELPER_READY;
        docker_broker_answer(b, &a);
        if (b->sync.away && b->options.keep)
                docker_broker_told_daemon(b);
}

void docker_broker_settled(struct docker_broker *b)
{
        answer_hello(b);
}

/* Ends */

static void on_close_time(struct cay_timer *t)
{
        cay_log_error("containers may be left: Docker does not stop or remove them");
        _exit(1);
}

/* What has to go goes. True: this one is seen to. */
static bool see_off(struct docker_broker *b, struct docker_box *box)
{
        bool is_done = b->stopping && box->kept && !box->live;

        if (is_done || box->ending || docker_task_is_busy(b, box->id))
                return is_done;
        if (b->stopping && box->kept)
                docker_task_begin_stop(b, box);
        else
                docker_task_begin_drop(b, box);
        return false;
}

void docker_broker_idle(struct docker_broker *b)
{
        static struct cay_timer give_up; /* one per process, which ends with it */
        bool is_done = true;

        if (!b->closing)
                return;
        if (!give_up.loop)
                cay_timer_set(b->loop, &give_up, CLOSE_MS, on_close_time);
        for (struct docker_box *box = b->boxes, *next; box; box = next) {
                next = box->next;
                is_done &= see_off(b, box);
        }
        if (is_done && !b->tasks)
                cay_loop_stop(b->loop);
}

/* Hearing */

static void answer_list(struct docker_broker *b, const struct docker_request *req)
{
        struct docker_answer a = { .type = DOCKER_box_list, .seq = req->seq };
        const struct docker_box *box = b->boxes;
        uint32_t at = 0;

        for (; box && (at < req->list.from || box->making); box = box->next)
                at++;
        if (box) {
                cay_str_copy(a.list.id, sizeof(a.list.id), box->id);
                a.list.next = at + 1;
                a.list.live = box->live;
                a.list.kept = box->kept;
        }
        docker_broker_answer(b, &a);
}

static int serve_take(struct helper_server *e, const void *request, int fd)
{
        struct docker_broker *b = cay_container_of(e, struct docker_broker, server);
        const struct docker_request *req = request;

        if (req->type == DOCKER_hello) {
                if (req->hello.version != DOCKER_WIRE_VERSION) {
                        helper_server_let_front_go(e);
                        return 0;
                }
                b->hello_seq = req->seq;
                if (b->sync.settled)
                        answer_hello(b);
        } else if (req->type == DOCKER_box_list) {
                answer_list(b, req);
        } else if (req->type == DOCKER_image_build || req->type == DOCKER_image_list ||
                   req->type == DOCKER_image_drop) {
                docker_images_serve_take(b, req, fd);
        } else if (req->type == DOCKER_volume_list || req->type == DOCKER_volume_drop) {
                docker_volumes_serve(b, req);
        } else if (req->type == DOCKER_box_stat) {
                docker_measure_ask(b, req);
        } else {
                docker_task_begin_take(b, req, fd);
        }
        return 0;
}

static void on_front_end(struct helper_server *e)
{
        struct docker_broker *b = cay_container_of(e, struct docker_broker, server);

        b->hello_seq = 0;
        if (b->options.keep)
                return;
        b->closing = true;
        docker_broker_idle(b);
}

static void on_keeper_end(struct helper_server *e)
{
        struct docker_broker *b = cay_container_of(e, struct docker_broker, server);
        unsigned live = 0;

        for (const struct docker_box *box = b->boxes; box; box = box->next)
                live += box->live;
        helper_server_let_front_go(e);
        docker_images_done(b); /* builds go on without anybody who could end them */
        if (live > 0)
                cay_log_warn("stopping containers: nothing would enforce their time limits", "count=%u",
                             live);
        b->closing = b->stopping = true;
        docker_broker_idle(b);
}

static const struct helper_server_kind front = {
        .protocol = &docker_protocol,
        .serve_take = serve_take,
        .on_front_end = on_front_end,
        .on_keeper_end = on_keeper_end,
};

/* Start */

/* Beside this program, unless it was named. */
static int find_init(const struct docker_options *o, char *path, size_t size, struct cay_error *err)
{
        static const char name[] = "/cay-init";
        ssize_t n;
        char *slash;

        if (o->init_path[0])
                return cay_str_copy(path, size, o->init_path)
                               ? 0
                               : cay_fail(err, CAY_INVALID, "the path of cay-init is too long");
        n = readlink("/proc/self/exe", path, size - sizeof(name));
        if (n < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "find cay-init");
        path[n] = '\0';
        slash = strrchr(path, '/');
        memcpy(slash ? slash : path, name, sizeof(name));
        return 0;
}

/* ret: with its maximum. */
static int read_file(const char *path, struct cay_buf *ret)
{
        cay_auto_close int fd = sys_open_at(AT_FDCWD, path, O_RDONLY | O_NONBLOCK, 0);
        char *room = NULL;
        ssize_t n;

        if (fd < 0)
                return fd;
        do {
                room = cay_buf_room(ret, 64 * 1024);
                n = room ? read(fd, room, 64 * 1024) : -1;
                if (n > 0)
                        cay_buf_added(ret, (size_t)n);
        } while (n > 0);
        return n == 0 ? 0 : room ? -errno : -EFBIG;
}

static int read_init(struct docker_broker *b, struct cay_error *err)
{
        char path[4096];
        int r;

        if (find_init(&b->options, path, sizeof(path), err) < 0)
                return -1;
        cay_buf_init(&b->init, INIT_MAX);
        r = read_file(path, &b->init);
        return r < 0 ? cay_fail_sys(err, CAY_UNAVAILABLE, r, "read %.200s", path) : 0;
}

/*
 * A host without certificates has none to add to the daemon's. They are as they were at the start: later no
 * file can be opened.
 */
static void read_certificates(struct docker_broker *b)
{
        cay_buf_init(&b->certificates, DOCKER_CERTIFICATES_MAX);
        if (read_file(HOST_CERTIFICATES, &b->certificates) < 0)
                cay_buf_done(&b->certificates);
}

static int set_up(struct docker_broker *b, int argc, char **argv, struct cay_error *err)
{
        int r;

        if (docker_options_read(argc, argv, &b->options, err) < 0)
                return -1;
        b->loop = cay_loop_new();
        if (!b->loop)
                return cay_fail(err, CAY_INTERNAL, "no memory");
        read_certificates(b);
        if (read_init(b, err) < 0 || docker_api_init(&b->api, b->loop, &b->options, err) < 0)
                return -1;
        b->server.kind = &front;
        b->server.loop = b->loop;
        b->server.request = &b->request;
        fcntl(HELPER_FRONT_FD, F_SETFD, FD_CLOEXEC);
        r = helper_server_open_front(&b->server, HELPER_FRONT_FD);
        if (r == 0 && b->options.keep) {
                fcntl(HELPER_KEEPER_FD, F_SETFD, FD_CLOEXEC);
                r = helper_server_open_keeper(&b->server, HELPER_KEEPER_FD);
        }
        return r < 0 ? cay_fail_sys(err, CAY_INTERNAL, r, "watch the front's socket") : 0;
}

/*
 * What cannot be done at all is told to the front, too: it shows to whoever started us as an end without an
 * answer otherwise.
 */
static void refuse(const struct cay_error *why)
{
        struct docker_answer a = { .type = DOCKER_hello, .seq = 1 };

        helper_answer_put_error(&a, why);
        helper_answer_seal(&docker_protocol, &a);
        send(HELPER_FRONT_FD, &a, sizeof(a), MSG_NOSIGNAL | MSG_DONTWAIT);
}

int docker_main(int argc, char **argv)
{
        static struct docker_broker b;
        struct cay_error err = { 0 };

        sigset_t none;

        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL); /* whoever started us has them blocked until here */
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        signal(SIGPIPE, SIG_IGN);
        if (set_up(&b, argc, argv, &err) < 0) {
                cay_log_error("cay-docker cannot start", "error=%s", err.msg);
                refuse(&err);
                return 1;
        }
        if (docker_confine(&b.options, &err) < 0) {
                cay_log_error("cay-docker cannot be confined", "error=%s", err.msg);
                refuse(&err);
                return 1;
        }
        docker_sync_start(&b);
        cay_loop_run(b.loop);
        docker_relays_close(&b.relays);
        docker_sync_stop(&b);
        docker_tasks_abort(&b);
        docker_images_done(&b);
        docker_volumes_done(&b);
        while (b.boxes)
                docker_box_remove(&b, b.boxes);
        cay_loop_round(b.loop, 0);
        docker_api_done(&b.api);
        cay_buf_done(&b.init);
        cay_buf_done(&b.certificates);
        cay_loop_free(b.loop);
        return b.left ? 1 : 0;
}
