/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests about images: who may begin what, who follows it, how it ends. A build that Docker has carried out
 * is an answer, however it ended: with CAY_OK, its state, step and error. Errors are for what was not even
 * begun.
 */
#include "cay-docker/build.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "foundation/base/log.h"
#include "foundation/base/str.h"
#include "cay-docker/build_priv.h"

enum { PATH_MAX_BYTES = DOCKER_PATH_MAX - 16, TASKS_MAX = 32 };

struct docker_image_task *docker_image_building(const struct docker_images *all, const char *name,
                                                const struct docker_image_task *but)
{
        for (struct docker_image_task *t = all->tasks; t; t = t->next)
                if (t != but && !t->ended && t->req.type == DOCKER_image_build &&
                    strcmp(t->req.image.name, name) == 0)
                        return t;
        return NULL;
}

/* Ends */

static void release_build(struct cay_deferred *d)
{
        free(cay_container_of(d, struct docker_image_task, release));
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
        docker_image_steps_stop(t);
        docker_readers_done(&t->readers);
        t->release.run = release_build;
        cay_loop_defer(b->loop, &t->release);
}

/* Behind the rows of templates: one for each image that is not there, named in its error. */
static void put_lacking(const struct docker_broker *b, unsigned nr, struct docker_answer *a)
{
        for (unsigned i = 0; i < b->options.image_count; i++) {
                if (!(b->images.lacking & (UINT32_C(1) << i)) || nr-- > 0)
                        continue;
                cay_str_copy(a->image.name, sizeof(a->image.name), DOCKER_IMAGE_LACKS);
                if (!cay_str_copy(a->image.error, sizeof(a->image.error), b->options.images[i]))
                        a->image.error[0] = '\0';
                a->image.state = DOCKER_IMAGE_NONE;
                return;
        }
}

static struct docker_answer answer_of(struct docker_image_task *t, bool is_building)
{
        struct docker_images *all = &t->broker->images;
        struct docker_answer a = {
                .type = t->req.type, .seq = t->req.seq, .code = t->why.code, .sys = t->why.sys
        };
        const struct docker_image_row *row = t->req.type == DOCKER_image_list
                                                     ? (all->row_count > 0 ? &all->rows[0] : NULL)
                                                     : docker_image_row_find(all, t->req.image.name);

        cay_str_copy(a.text, sizeof(a.text), t->why.msg);
        if (row)
                docker_image_row_put(row, is_building || docker_image_building(all, row->name, t) != NULL,
                                     &a);
        else if (t->req.type == DOCKER_image_list && t->why.code == CAY_OK)
                put_lacking(t->broker, 0, &a);
        a.image.up_to_date = t->up_to_date;
        a.image.dropped = t->dropped;
        return a;
}

void docker_image_finish(struct docker_image_task *t)
{
        t->answer = answer_of(t, false);
        if (t->readers.loop) {
                t->ended = true;
                docker_image_steps_stop(t);
                docker_readers_end(&t->readers);
                return;
        }
        if (t->front_serial == t->broker->server.serial)
                docker_broker_answer(t->broker, &t->answer);
        let_go(t);
}

/* How a build ended */

void docker_image_end_build(struct docker_image_task *t, const char *step, const char *error)
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
        docker_image_finish(t);
}

/* Readers: those who leave are told how things stand */

static void on_reader_done(struct docker_readers *all, const struct docker_reader *who)
{
        struct docker_image_task *t = cay_container_of(all, struct docker_image_task, readers);
        struct docker_answer a = t->ended ? t->answer : answer_of(t, true);

        a.seq = who->seq;
        if (who->front_serial == t->broker->server.serial)
                docker_broker_answer(t->broker, &a);
}

static void on_alone(struct docker_readers *all)
{
        struct docker_image_task *t = cay_container_of(all, struct docker_image_task, readers);

        if (t->ended)
                let_go(t);
        else if (!t->goes_on)
                docker_image_end_build(t, t->stream.step, "cancelled: nobody reads its output any more");
}

/* Requests */

static int check(const struct docker_image_task *t, struct cay_error *err)
{
        const struct docker_broker *b = t->broker;
        unsigned count = 0;

        for (const struct docker_image_task *other = b->images.tasks; other; other = other->next)
                count++;
        if (count > TASKS_MAX)
                return cay_fail(err, CAY_LIMIT, "too many requests about images are pending; try again");
        if (t->req.type == DOCKER_image_list)
                return 0;
        if (!docker_template_is_name(t->req.image.name, sizeof(t->req.image.name)) ||
            t->req.image.flags & ~(unsigned)DOCKER_BUILD_ALL)
                return cay_fail(err, CAY_INVALID, "not a valid name of a template");
        if (docker_image_building(&b->images, t->req.image.name, t))
                return cay_fail(err, CAY_CONFLICT,
                                "template '%s' is being built; remove its image when the build has ended",
                                t->req.image.name);
        return 0;
}

static void begin(struct docker_image_task *t)
{
        if (check(t, &t->why) < 0) {
                t->req.image.name[0] = '\0'; /* whatever it is, it is not told as this one's row */
                docker_image_finish(t);
        } else {
                docker_image_steps_begin(t);
        }
}

/* Rows behind the first are told as they stand. */
static void answer_row(struct docker_broker *b, const struct docker_request *req)
{
        struct docker_answer a = { .type = DOCKER_image_list, .seq = req->seq };

        if (req->list.from < b->images.row_count) {
                const struct docker_image_row *row = &b->images.rows[req->list.from];

                docker_image_row_put(row, docker_image_building(&b->images, row->name, NULL) != NULL, &a);
        } else {
                put_lacking(b, req->list.from - b->images.row_count, &a);
        }
        docker_broker_answer(b, &a);
}

static void refuse(struct docker_broker *b, const struct docker_request *req, const struct cay_error *why)
{
        struct docker_answer a = { .type = req->type, .seq = req->seq, .code = why->code, .sys = why->sys };

        cay_str_copy(a.text, sizeof(a.text), why->msg);
        docker_broker_answer(b, &a);
}

/* Takes fd, also when it fails. */
static int add_reader_take(struct docker_image_task *t, const struct docker_request *req, int fd,
                           struct cay_error *err)
{
        int r = docker_readers_add_take(&t->readers, fd, req->seq, t->broker->server.serial);

        if (r == -EMFILE)
                return cay_fail(err, CAY_LIMIT, "%u clients follow the build of template '%s' already",
                                DOCKER_READERS_MAX, t->req.image.name);
        if (r < 0)
                return cay_fail_sys(err, CAY_INVALID, r, "send a build's output");
        if (!(req->image.flags & DOCKER_BUILD_CANCEL))
                t->goes_on = true;
        return 0;
}

/* A build that runs is followed, by who asks for the same. */
static void join_take(struct docker_image_task *t, const struct docker_request *req, int fd)
{
        struct cay_error err = { 0 };

        if (req->image.flags & ~t->req.image.flags & DOCKER_BUILD_NO_CACHE) {
                close(fd);
                cay_fail(&err, CAY_CONFLICT,
                         "template '%s' is being built with Docker's cache; wait for it, or follow it "
                         "without no_cache",
                         t->req.image.name);
        } else {
                add_reader_take(t, req, fd, &err);
        }
        if (err.code != CAY_OK)
                refuse(t->broker, req, &err);
}

static struct docker_image_task *make(struct docker_broker *b, const struct docker_request *req)
{
        struct docker_image_task *t = calloc(1, sizeof(*t));

        if (!t)
                return NULL;
        t->broker = b;
        t->front_serial = b->server.serial;
        t->req = *req;
        t->child.tar_fd = -1;
        cay_buf_init(&t->path, PATH_MAX_BYTES);
        return t;
}

static void begin_take(struct docker_broker *b, const struct docker_request *req, int fd)
{
        struct docker_image_task *t = make(b, req);
        struct cay_error err = { 0 };

        if (!t) {
                if (fd >= 0)
                        close(fd);
                cay_fail(&err, CAY_LIMIT, "no memory for a request");
                refuse(b, req, &err);
                return;
        }
        t->next = b->images.tasks;
        b->images.tasks = t;
        if (fd >= 0) {
                docker_readers_init(&t->readers, b->loop, on_reader_done, on_alone);
                if (add_reader_take(t, req, fd, &err) < 0) {
                        refuse(b, req, &err);
                        let_go(t);
                        return;
                }
        }
        begin(t);
}

/* Only what is a name is looked up: it may not even end. */
void docker_images_serve_take(struct docker_broker *b, const struct docker_request *req, int fd)
{
        struct docker_image_task *runs = NULL;

        if (req->type == DOCKER_image_build &&
            docker_template_is_name(req->image.name, sizeof(req->image.name)) &&
            !(req->image.flags & ~(unsigned)DOCKER_BUILD_ALL))
                runs = docker_image_building(&b->images, req->image.name, NULL);
        if (runs)
                join_take(runs, req, fd);
        else if (req->type == DOCKER_image_list && req->list.from > 0)
                answer_row(b, req);
        else
                begin_take(b, req, fd);
}

void docker_images_done(struct docker_broker *b)
{
        while (b->images.tasks)
                let_go(b->images.tasks);
}
