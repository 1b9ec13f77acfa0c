/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request about images, carried out: a template's files are read, Docker is asked what it has, then for
 * the build, then what it is now, and what is old goes. `step` is what is waited for.
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "foundation/base/log.h"
#include "foundation/base/str.h"
#include "cay-docker/build.h"
#include "cay-docker/build_explain.h"
#include "cay-docker/build_priv.h"

enum step { READING, LOOKING, CHECKING, BUILDING, MEASURING, SWEEPING };

_Static_assert(DOCKER_IMAGES_MAX <= 32, "a bit of lacking for each");

enum { SWEEP_MS = 120000 };

static const char *name_of(const struct docker_image_task *t)
{
        return t->req.type == DOCKER_image_list ? NULL : t->req.image.name;
}

static void unmap(struct docker_image_task *t)
{
        if (t->tar)
                munmap(cay_take(t->tar), t->tar_len);
}

void docker_image_steps_stop(struct docker_image_task *t)
{
        docker_child_abort(&t->child);
        docker_call_abort(&t->call);
        docker_build_stream_done(&t->stream);
        cay_buf_done(&t->path);
        unmap(t);
}

/* Lines: they end before the answer comes, so whoever has that has all of them */

static void on_line(struct docker_build_stream *s, const char *line, size_t len)
{
        docker_readers_put(&cay_container_of(s, struct docker_image_task, stream)->readers, line, len);
}

static void say(struct docker_image_task *t, const char *text)
{
        docker_readers_put(&t->readers, text, strlen(text));
}

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
                docker_image_finish(t);
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
                                          t->req.image.flags & DOCKER_BUILD_NO_CACHE, &t->path);
        if (r < 0) {
                cay_fail_sys(&t->why, CAY_INTERNAL, r, "ask Docker for a build");
                docker_image_finish(t);
                return;
        }
        docker_build_stream_init(&t->stream, on_line);
        req.body = t->tar;
        req.body_len = t->tar_len;
        t->call.on_piece = on_piece;
        ask(t, BUILDING, &req);
}

/* Docker's own words, or ours in addition. */
static void end_failed(struct docker_image_task *t, const char *error)
{
        char text[HELPER_TEXT];

        docker_build_explain(error, text, sizeof(text));
        say(t, text);
        if (error == t->stream.error && !t->context.bridge && strstr(t->stream.step, " : RUN ") &&
            !docker_build_lacks_buildkit(error)) /* whoever knows Docker expects one */
                say(t, "… it had no network: `build: {network_mode: bridge}` in its template gives it one");
        docker_image_end_build(t, t->stream.step, text);
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
                                 "took longer than %llu s; raise its build.timeout in the registry",
                                 (unsigned long long)t->context.build_ms / 1000);
                else
                        docker_call_fail(&t->call, "build", &err);
                end_failed(t, err.msg);
        } else if (s->error[0]) {
                end_failed(t, s->error);
        } else if (!s->image[0]) {
                docker_image_end_build(t, s->step, "Docker told no image");
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
                        docker_image_end_build(t, "", "");
                else
                        docker_image_finish(t);
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
        } else if (is_drop && t->call.status == 409) {
                cay_fail(&t->why, CAY_CONFLICT,
                         "sandboxes are made of the image of '%s': destroy them first (`cay ls --template "
                         "%s`)",
                         t->req.image.name, t->req.image.name);
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
                if (all->rows[i].seen || docker_image_building(all, all->rows[i].name, NULL))
                        all->rows[kept++] = all->rows[i];
        all->row_count = kept;
}

/*
 * Images that templates name: Docker itself says which of them it has, since names have more than one form.
 */
static void check_next(struct docker_image_task *t)
{
        struct docker_call_request req = { .method = CAY_HTTP_GET, .repeatable = true };
        const struct docker_options *o = &t->broker->options;

        cay_buf_clear(&t->path);
        if (t->check_at == o->image_count || docker_image_put_path(o->images[t->check_at], &t->path) < 0) {
                docker_image_finish(t);
                return;
        }
        t->call.on_piece = NULL;
        ask(t, CHECKING, &req);
}

/* Only a plain "no such image" counts. */
static void on_checked(struct docker_image_task *t)
{
        uint32_t bit = UINT32_C(1) << t->check_at++;

        t->broker->images.lacking &= ~bit;
        if (t->call.status == 404)
                t->broker->images.lacking |= bit;
        check_next(t);
}

static void on_looked(struct docker_image_task *t)
{
        struct docker_image_row *row =
                name_of(t) ? docker_image_row_get(&t->broker->images, name_of(t)) : NULL;
        const struct docker_found *newest =
                name_of(t) ? docker_found_newest(t->found, t->found_count, name_of(t)) : NULL;

        if (t->req.type == DOCKER_image_list) {
                fill_rows(t);
                check_next(t);
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
                        !(t->req.image.flags & DOCKER_BUILD_NO_CACHE);
        if (t->up_to_date) {
                say(t, "its files have not changed: there is nothing to build");
                docker_image_end_build(t, "", "");
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
                docker_image_finish(t);
                return;
        }
        switch (t->step) {
        case READING:
                return;
        case LOOKING:
                on_looked(t);
                return;
        case CHECKING:
                on_checked(t);
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
                docker_image_finish(t);
                return;
        }
        if (t->req.type == DOCKER_image_build) {
                t->context = *c;
                if (c->code != CAY_OK) {
                        docker_image_end_build(t, "reading its files", c->text);
                        return;
                }
        }
        look(t, LOOKING);
}

void docker_image_steps_begin(struct docker_image_task *t)
{
        if (t->req.type == DOCKER_image_drop) {
                look(t, LOOKING);
                return;
        }
        t->step = READING;
        t->child.on_done = on_read;
        docker_child_begin(&t->child, t->broker->loop, t->broker->options.registry, name_of(t));
}
