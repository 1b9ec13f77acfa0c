/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests about images, carried out. `step` is what is waited for; each task ends exactly once, in finish(). A build that Docker has
 * carried out is an answer, however it ended: with CAY_OK, its state, step and error. Errors are for what was not even begun.
 */
#include "docker/build.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/str.h"
#include "docker/broker.h"
#include "docker/build_child.h"
#include "docker/build_stream.h"

enum step { READING, LOOKING, BUILDING, MEASURING, SWEEPING };

enum { PATH_MAX_BYTES = DOCKER_PATH_MAX - 16, TASKS_MAX = 32, SWEEP_MS = 120000 };

struct docker_image_task {
        struct docker_image_task *next;
        struct docker_broker *broker;
        unsigned front_serial;
        struct docker_request req;
        enum step step;
        struct docker_child child;
        struct docker_call call;
        struct cay_buf path;
        struct docker_context context; /* of what is built */
        void *tar;                     /* mapped; NULL: none */
        size_t tar_len;
        struct docker_build_stream stream;
        struct cay_watch reader; /* of the lines; its fd is owned while it is added */
        int lines_fd;            /* owned; -1: nobody reads */
        unsigned left_out;       /* lines that were not taken in time */
        struct docker_found found[DOCKER_FOUND_MAX];
        unsigned found_count, sweep_at;
        bool up_to_date, failed; /* how a build ended */
        unsigned dropped;
        char step_text[DOCKER_TEXT], error[DOCKER_TEXT];
        struct cay_error why;
        struct cay_deferred release;
};

static const char *name_of(const struct docker_image_task *t)
{
        return t->req.type == DOCKER_image_list ? NULL : t->req.image.name;
}

static struct docker_image_task *building(const struct docker_images *all, const char *name,
                                          const struct docker_image_task *but)
{
        for (struct docker_image_task *t = all->tasks; t; t = t->next)
                if (t != but && t->req.type == DOCKER_image_build && strcmp(t->req.image.name, name) == 0)
                        return t;
        return NULL;
}

/* Ends */

static void release(struct cay_deferred *d)
{
        free(cay_container_of(d, struct docker_image_task, release));
}

static void close_lines(struct docker_image_task *t)
{
        cay_watch_remove(&t->reader);
        if (t->lines_fd >= 0)
                close(cay_take_fd(t->lines_fd));
}

static void unmap(struct docker_image_task *t)
{
        if (t->tar)
                munmap(cay_take(t->tar), t->tar_len);
}

static void let_go(struct docker_image_task *t)
{
        struct docker_broker *b = t->broker;

        for (struct docker_image_task **at = &b->images.tasks; *at; at = &(*at)->next) {
                if (*at == t) {
                        *at = t->next;
                        break;
                }
        }
        docker_child_abort(&t->child);
        docker_call_abort(&t->call);
        docker_build_stream_done(&t->stream);
        cay_buf_done(&t->path);
        close_lines(t);
        unmap(t);
        t->release.run = release;
        cay_loop_defer(b->loop, &t->release);
}

/* The lines end before the answer comes: whoever has that has all of them. */
static void finish(struct docker_image_task *t)
{
        struct docker_broker *b = t->broker;
        struct docker_answer a = {
                .type = t->req.type, .seq = t->req.seq, .code = t->why.code, .sys = t->why.sys
        };
        const struct docker_image_row *row = t->req.type == DOCKER_image_list
                                                     ? (b->images.row_count > 0 ? &b->images.rows[0] : NULL)
                                                     : docker_image_row_find(&b->images, t->req.image.name);

        cay_str_copy(a.text, sizeof(a.text), t->why.msg);
        if (row)
                docker_image_row_put(row, building(&b->images, row->name, t) != NULL, &a);
        a.image.up_to_date = t->up_to_date;
        a.image.dropped = t->dropped;
        close_lines(t);
        if (t->front_serial == b->front_serial)
                docker_broker_answer(b, &a);
        let_go(t);
}

/* Lines */

static void send_line(struct docker_image_task *t, const char *line, size_t len)
{
        char message[DOCKER_LINE_MAX];
        int n;

        if (t->lines_fd < 0)
                return;
        if (t->left_out > 0) {
                n = snprintf(message, sizeof(message), "… %u lines left out: they were not read in time\n",
                             t->left_out);
                if (send(t->lines_fd, message, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL) == n)
                        t->left_out = 0;
        }
        memcpy(message, line, len); /* at most DOCKER_LINE_MAX - 1 */
        message[len] = '\n';
        if (t->left_out > 0 || send(t->lines_fd, message, len + 1, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
                t->left_out++;
}

static void on_line(struct docker_build_stream *s, const char *line, size_t len)
{
        send_line(cay_container_of(s, struct docker_image_task, stream), line, len);
}

static void say(struct docker_image_task *t, const char *text)
{
        send_line(t, text, strlen(text));
}

/* How a build ended */

static void end_build(struct docker_image_task *t, const char *step, const char *error)
{
        struct docker_image_row *row = docker_image_row_get(&t->broker->images, t->req.image.name);

        t->failed = error[0] != '\0';
        if (row) {
                cay_str_copy(row->step, sizeof(row->step), t->failed ? step : "");
                cay_str_copy(row->error, sizeof(row->error), error);
        }
        cay_log_info(t->failed       ? "an image was not built"
                     : t->up_to_date ? "an image is up to date"
                                     : "an image was built",
                     "template=%s %s=%s", t->req.image.name, t->failed ? "error" : "image",
                     t->failed ? error
                     : row     ? row->id
                               : "");
        finish(t);
}

static void on_reader(struct cay_watch *w, uint32_t events)
{
        struct docker_image_task *t = cay_container_of(w, struct docker_image_task, reader);

        (void)events;
        docker_child_abort(&t->child);
        docker_call_abort(&t->call);
        end_build(t, t->stream.step, "cancelled: nobody reads its output any more");
}

/* Steps */

static void on_answer(struct docker_call *c);

static void ask(struct docker_image_task *t, enum step step, struct docker_call_request *req)
{
        t->step = step;
        req->path = cay_buf_data(&t->path);
        t->call.on_done = on_answer;
        docker_call_begin(&t->call, &t->broker->api, req);
}

static void look(struct docker_image_task *t, enum step step)
{
        struct docker_call_request req = { .method = CAY_HTTP_GET, .repeatable = true };
        int r;

        cay_buf_clear(&t->path);
        r = docker_found_put_path(name_of(t), &t->path);
        if (r < 0) {
                cay_fail_sys(&t->why, CAY_INTERNAL, r, "ask Docker for images");
                finish(t);
                return;
        }
        t->call.on_piece = NULL;
        ask(t, step, &req);
}

static void on_piece(struct docker_call *c, const char *bytes, size_t len)
{
        docker_build_stream_feed(&cay_container_of(c, struct docker_image_task, call)->stream, bytes, len);
}

static int map_archive(struct docker_image_task *t)
{
        struct stat st;
        void *map;

        if (fstat(t->child.tar_fd, &st) < 0)
                return -errno;
        map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, t->child.tar_fd, 0);
        if (map == MAP_FAILED)
                return -errno;
        t->tar = map;
        t->tar_len = (size_t)st.st_size;
        return 0;
}

static void begin_build(struct docker_image_task *t)
{
        struct docker_call_request req = { .method = CAY_HTTP_POST,
                                           .type = "application/x-tar",
                                           .wait_ms = (uint32_t)t->context.build_ms };
        int r = map_archive(t);

        cay_buf_clear(&t->path);
        if (r == 0)
                r = docker_build_put_path(&t->context, t->broker->options.instance,
                                          t->req.image.flags & DOCKER_BUILD_ANEW, &t->path);
        if (r < 0) {
                cay_fail_sys(&t->why, CAY_INTERNAL, r, "ask Docker for a build");
                finish(t);
                return;
        }
        docker_build_stream_init(&t->stream, on_line);
        req.body = t->tar;
        req.body_len = t->tar_len;
        t->call.on_piece = on_piece;
        ask(t, BUILDING, &req);
}

static void on_built(struct docker_image_task *t)
{
        struct docker_build_stream *s = &t->stream;
        struct cay_error err = { 0 };

        docker_build_stream_end(s);
        unmap(t);
        if (t->call.status != 200) {
                if (t->call.status == 0 && t->call.err.code == CAY_TIMEOUT)
                        cay_fail(&err, CAY_TIMEOUT,
                                 "took longer than %llu s: have its build.timeout in the registry raised",
                                 (unsigned long long)t->context.build_ms / 1000);
                else
                        docker_call_fail(&t->call, "build", &err);
                say(t, err.msg);
                end_build(t, s->step, err.msg);
        } else if (s->error[0]) {
                say(t, s->error);
                end_build(t, s->step, s->error);
        } else if (!s->image[0]) {
                end_build(t, s->step, "Docker told no image");
        } else {
                look(t, MEASURING);
        }
}

/* Removing: images before the one that holds now, or all of a template */

static void sweep(struct docker_image_task *t)
{
        struct docker_call_request req = { .method = CAY_HTTP_DELETE,
                                           .repeatable = true,
                                           .wait_ms = SWEEP_MS };
        const char *keep = t->req.type == DOCKER_image_build ? t->stream.image : "";

        while (t->sweep_at < t->found_count && strcmp(t->found[t->sweep_at].id, keep) == 0)
                t->sweep_at++;
        if (t->sweep_at == t->found_count) {
                if (t->req.type == DOCKER_image_build)
                        end_build(t, "", "");
                else
                        finish(t);
                return;
        }
        cay_buf_clear(&t->path);
        cay_buf_printf(&t->path, "/images/%s", t->found[t->sweep_at].id);
        ask(t, SWEEPING, &req);
}

static void on_swept(struct docker_image_task *t)
{
        bool is_drop = t->req.type == DOCKER_image_drop;

        if (t->call.status == 200 || t->call.status == 404) {
                t->dropped++;
        } else if (is_drop && t->why.code == CAY_OK) {
                docker_call_fail(&t->call, "remove the image", &t->why);
        } else if (!is_drop && t->call.status != 409) {
                struct cay_error err = { 0 };

                docker_call_fail(&t->call, "remove an older image", &err);
                cay_log_warn("an image is left, ignoring", "template=%s error=%s", t->req.image.name,
                             err.msg);
        }
        t->sweep_at++;
        sweep(t);
}

/* Looking */

static int read_found(struct docker_image_task *t)
{
        const struct cay_json_in_limits limits = { .bytes = DOCKER_BODY_MAX, .values = 2000000 };
        cay_auto(cay_json_in_freep) struct cay_json_in *doc = NULL;

        if (t->call.status != 200)
                return docker_call_fail(&t->call, "look for images", &t->why);
        if (cay_json_in_parse(cay_buf_data(&t->call.body), t->call.body.len, &limits, &doc, &t->why) < 0)
                return cay_wrap(&t->why, "look for images");
        t->found_count = docker_found_read(cay_json_in_root(doc), t->broker->options.instance, name_of(t),
                                           t->found, DOCKER_FOUND_MAX);
        return 0;
}

/* A row for each template that can be built; errors of builds before stay until the next. */
static void fill_rows(struct docker_image_task *t)
{
        struct docker_images *all = &t->broker->images;
        const struct docker_context *c;
        unsigned kept = 0;

        for (unsigned i = 0; i < all->row_count; i++)
                all->rows[i].seen = false;
        for (unsigned i = 0; (c = docker_child_record(&t->child, i)) && c->name[0]; i++) {
                struct docker_image_row *row = docker_image_row_get(all, c->name);

                if (!row)
                        break;
                row->seen = true;
                cay_str_copy(row->files, sizeof(row->files), c->code == CAY_OK ? c->hash : "");
                docker_image_row_set(row, docker_found_newest(t->found, t->found_count, c->name));
                cay_str_copy(row->trouble, sizeof(row->trouble), c->code == CAY_OK ? "" : c->text);
        }
        for (unsigned i = 0; i < all->row_count; i++)
                if (all->rows[i].seen || building(all, all->rows[i].name, NULL))
                        all->rows[kept++] = all->rows[i];
        all->row_count = kept;
}

static void on_looked(struct docker_image_task *t)
{
        struct docker_image_row *row =
                name_of(t) ? docker_image_row_get(&t->broker->images, name_of(t)) : NULL;
        const struct docker_found *newest =
                name_of(t) ? docker_found_newest(t->found, t->found_count, name_of(t)) : NULL;

        if (t->req.type == DOCKER_image_list) {
                fill_rows(t);
                finish(t);
                return;
        }
        if (row)
                docker_image_row_set(row, t->req.type == DOCKER_image_drop ? NULL : newest);
        if (t->req.type == DOCKER_image_drop) {
                if (row)
                        row->error[0] = row->step[0] = '\0';
                if (t->found_count == 0)
                        cay_fail(&t->why, CAY_NOT_FOUND, "template '%s' has no image", name_of(t));
                sweep(t);
                return;
        }
        if (row) {
                cay_str_copy(row->files, sizeof(row->files), t->context.hash);
                row->trouble[0] = '\0';
        }
        t->up_to_date = newest && strcmp(newest->context, t->context.hash) == 0 &&
                        !(t->req.image.flags & DOCKER_BUILD_ANEW);
        if (t->up_to_date) {
                say(t, "up to date: its files have not changed");
                end_build(t, "", "");
        } else {
                begin_build(t);
        }
}

static void on_measured(struct docker_image_task *t)
{
        struct docker_image_row *row = docker_image_row_get(&t->broker->images, t->req.image.name);

        for (unsigned i = 0; row && i < t->found_count; i++)
                if (strcmp(t->found[i].id, t->stream.image) == 0)
                        docker_image_row_set(row, &t->found[i]);
        sweep(t);
}

static void on_answer(struct docker_call *c)
{
        struct docker_image_task *t = cay_container_of(c, struct docker_image_task, call);

        if ((t->step == LOOKING || t->step == MEASURING) && read_found(t) < 0) {
                finish(t);
                return;
        }
        switch (t->step) {
        case READING:
                return;
        case LOOKING:
                on_looked(t);
                return;
        case BUILDING:
                on_built(t);
                return;
        case MEASURING:
                on_measured(t);
                return;
        case SWEEPING:
                on_swept(t);
                return;
        }
}

static void on_read(struct docker_child *child)
{
        struct docker_image_task *t = cay_container_of(child, struct docker_image_task, child);
        const struct docker_context *c = docker_child_record(child, 0);

        if (child->err.code != CAY_OK) {
                t->why = child->err;
                finish(t);
                return;
        }
        if (t->req.type == DOCKER_image_build) {
                t->context = *c;
                if (c->code != CAY_OK) {
                        end_build(t, "reading its files", c->text);
                        return;
                }
        }
        look(t, LOOKING);
}

/* Requests */

static int check(const struct docker_image_task *t, struct cay_error *err)
{
        const struct docker_broker *b = t->broker;
        unsigned count = 0;

        for (const struct docker_image_task *other = b->images.tasks; other; other = other->next)
                count++;
        if (count > TASKS_MAX)
                return cay_fail(err, CAY_LIMIT, "too much is asked about images at once");
        if (t->req.type == DOCKER_image_list)
                return 0;
        if (!docker_template_is_name(t->req.image.name, sizeof(t->req.image.name)) ||
            t->req.image.flags & ~(unsigned)DOCKER_BUILD_ALL)
                return cay_fail(err, CAY_INVALID, "this is no name of a template");
        if (building(&b->images, t->req.image.name, t))
                return cay_fail(err, CAY_CONFLICT, "template '%s' is being built already", t->req.image.name);
        return 0;
}

static void begin(struct docker_image_task *t)
{
        struct docker_broker *b = t->broker;

        if (check(t, &t->why) < 0) {
                t->req.image.name[0] = '\0'; /* whatever it is, it is not told as this one's row */
                finish(t);
        } else if (t->req.type == DOCKER_image_drop) {
                look(t, LOOKING);
        } else {
                if (t->req.type == DOCKER_image_build && t->req.image.flags & DOCKER_BUILD_CANCEL)
                        cay_watch_add(b->loop, &t->reader, t->lines_fd, EPOLLRDHUP, on_reader);
                t->step = READING;
                t->child.on_done = on_read;
                docker_child_begin(&t->child, b->loop, b->options.registry, name_of(t));
        }
}

/* Rows behind the first are told as they stand. */
static void answer_row(struct docker_broker *b, const struct docker_request *req)
{
        struct docker_answer a = { .type = DOCKER_image_list, .seq = req->seq };

        if (req->list.from < b->images.row_count) {
                const struct docker_image_row *row = &b->images.rows[req->list.from];

                docker_image_row_put(row, building(&b->images, row->name, NULL) != NULL, &a);
        }
        docker_broker_answer(b, &a);
}

void docker_images_hear_take(struct docker_broker *b, const struct docker_request *req, int fd)
{
        struct docker_image_task *t;

        if (req->type == DOCKER_image_list && req->list.from > 0) {
                answer_row(b, req);
                return;
        }
        t = calloc(1, sizeof(*t));
        if (!t) {
                struct docker_answer full = { .type = req->type, .seq = req->seq, .code = CAY_LIMIT };

                if (fd >= 0)
                        close(fd);
                docker_broker_answer(b, &full);
                return;
        }
        t->broker = b;
        t->front_serial = b->front_serial;
        t->req = *req;
        t->lines_fd = fd;
        t->child.tar_fd = -1;
        cay_buf_init(&t->path, PATH_MAX_BYTES);
        t->next = b->images.tasks;
        b->images.tasks = t;
        begin(t);
}

void docker_images_done(struct docker_broker *b)
{
        while (b->images.tasks)
                let_go(b->images.tasks);
}
